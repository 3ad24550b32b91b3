"""`jax.vmap` over the functions of several pools: one call steps all of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.errors import JaxRuntimeError

from parallel_pool._engine.pool import Pool
from parallel_pool.compat.jax import xla
from tests.support.timeouts import TEST_TIMEOUT

POOLS, ENVS = 4, 3


def make(env: str = "CartPole-v1", count: int = POOLS, **options: Any) -> list[Pool]:
    return [Pool(env, ENVS, seed=10 * i, **options) for i in range(count)]


@pytest.fixture
def pairs() -> Iterator[tuple[list[Pool], list[Pool]]]:
    """Pools, and others that are equal."""
    with ExitStack() as stack:
        ours, theirs = make(), make()
        for pool in (*ours, *theirs):
            stack.enter_context(pool).reset()
        yield ours, theirs


def compare(found: Any, expected: list[Any], where: str) -> None:
    for i, batch in enumerate(expected):
        for own, other in zip(found, batch, strict=True):
            np.testing.assert_array_equal(own[i], other, f"{where}, pool {i}")


@pytest.mark.slow
@pytest.mark.parametrize("env", ["CartPole-v1", pytest.param("Pong-v5", marks=pytest.mark.slow)])
def test_pools_together_are_pools_alone(env: str) -> None:
    """In one scan, with resets in it."""
    ours, theirs = make(env), make(env)
    functions = xla(ours)
    actions = np.random.default_rng(0).integers(2, size=(40, POOLS, ENVS)).astype(np.int32)
    seeds = jnp.arange(POOLS * ENVS).reshape(POOLS, ENVS)

    @jax.jit
    def play(handles: Any) -> Any:
        handles, first = jax.vmap(functions.reset)(handles, seeds)
        return first, lax.scan(jax.vmap(functions.step), handles, actions)

    first, (handles, batches) = play(functions.handle)
    assert handles[:, 1].tolist() == [42] * POOLS
    compare(first, [p.reset(seed=s.tolist()) for p, s in zip(theirs, seeds, strict=True)], "reset")
    for at, each in enumerate(actions):
        step = jax.tree.map(lambda array, at=at: array[at], tuple(batches))
        expected = [pool.step(own) for pool, own in zip(theirs, each, strict=True)]
        compare(step, expected, f"step {at}")
    for pool in (*ours, *theirs):
        pool.close()


@pytest.mark.slow
def test_sends_and_receives_of_all(pairs: tuple[list[Pool], list[Pool]]) -> None:
    ours, theirs = pairs
    functions = xla(ours)
    actions = jnp.ones((POOLS, 2), jnp.int32)
    ids = jnp.array([2, 0])

    @jax.jit
    def step(handles: Any) -> Any:
        handles = jax.vmap(functions.send, in_axes=(0, 0, None))(handles, actions, ids)
        rest = jnp.ones((POOLS, 1), jnp.int32), jnp.array([1])
        handles = jax.vmap(functions.send, in_axes=(0, 0, None))(handles, *rest)
        return jax.vmap(functions.recv)(handles)

    _, found = step(functions.handle)
    for pool in theirs:
        pool.send([1, 1], [2, 0])
        pool.send([1], [1])
    compare(found, [pool.recv() for pool in theirs], "recv")


@pytest.mark.slow
def test_maps_of_maps(pairs: tuple[list[Pool], list[Pool]]) -> None:
    ours, theirs = pairs
    functions = xla(ours)
    handles = functions.handle.reshape(2, 2, 2)
    step = jax.jit(jax.vmap(jax.vmap(functions.step, in_axes=(0, None)), in_axes=(0, 0)))
    actions = jnp.array([[0, 1, 0], [1, 1, 0]])
    handles, batch = step(handles, actions)
    assert handles.shape == (2, 2, 2) and batch.obs.shape == (2, 2, ENVS, 4)
    flat = jax.tree.map(lambda array: array.reshape(POOLS, *array.shape[2:]), tuple(batch))
    compare(flat, [pool.step(actions[i // 2]) for i, pool in enumerate(theirs)], "nested")


@pytest.mark.slow
def test_two_agents_that_learn_together_are_two_alone() -> None:
    """A step of gradient descent for each agent after each step of its environments."""

    def train(functions: Any, handle: Any, weights: Any) -> Any:
        def once(carry: Any, _: Any) -> Any:
            handle, observation, weights = carry
            action = (observation @ weights > 0).astype(jnp.int32)
            handle, batch = functions.step(handle, lax.stop_gradient(action))

            def loss(weights: Any) -> Any:
                return ((batch.obs @ weights - batch.reward) ** 2).mean()

            return (handle, batch.obs, weights - 0.1 * jax.grad(loss)(weights)), None

        handle, first = functions.reset(handle, jnp.arange(ENVS))
        return lax.scan(once, (handle, first.obs, weights), length=50)[0][2]

    starts = jax.random.normal(jax.random.key(0), (2, 4))
    with ExitStack() as stack:
        pools, alone = make(count=2), make(count=2)
        for pool in (*pools, *alone):
            stack.enter_context(pool)
        functions = xla(pools)
        together = jax.jit(jax.vmap(lambda handle, start: train(functions, handle, start)))(
            functions.handle, starts
        )
        for i, pool in enumerate(alone):
            own = xla(pool)
            expected = jax.jit(lambda handle, start, own=own: train(own, handle, start))(
                own.handle, starts[i]
            )
            # the environments have the same bits, and XLA's sums of a batch need not
            np.testing.assert_allclose(together[i], expected, rtol=1e-4)


SHARDS = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from parallel_pool._engine.pool import Pool
from parallel_pool.compat.jax import xla
ours, theirs = ([Pool("CartPole-v1", 3, seed=i) for i in range(2)] for _ in range(2))
functions = xla(ours)
def play(handles):
    handle, first = functions.reset(handles[0])
    step = lambda handle, _: functions.step(handle, jnp.zeros(3, int))
    handle, batch = jax.lax.scan(step, handle, length=20)
    return handle[None], batch.obs[None]
mesh = Mesh(np.array(jax.devices()), ("shard",))
play = jax.shard_map(play, mesh=mesh, in_specs=P("shard"), out_specs=P("shard"))
handles, found = jax.jit(play)(functions.handle)
for own, pool in zip(found, theirs):
    pool.reset()
    for at in range(20):
        assert (own[at] == pool.step([0, 0, 0]).obs).all()
print(len(jax.devices()), handles[:, 1].tolist())
"""


@pytest.mark.slow
def test_each_shard_has_its_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    done = subprocess.run(
        [sys.executable, "-c", SHARDS],
        capture_output=True,
        text=True,
        check=False,
        timeout=TEST_TIMEOUT,
    )
    assert done.stdout.split("\n")[0] == "2 [22, 22]", done.stderr


# ---------------------------------------------------------------------------------- wrong use --


@pytest.mark.slow
def test_a_wrong_action_names_the_pool_and_the_others_go_on(
    pairs: tuple[list[Pool], list[Pool]],
) -> None:
    ours, theirs = pairs
    functions = xla(ours)
    actions = jnp.zeros((POOLS, ENVS), jnp.int32).at[2, 1].set(7)
    with pytest.raises(JaxRuntimeError, match="pool 2 of 4: action 7 of environment 1 is outside"):
        jax.block_until_ready(jax.vmap(functions.step)(functions.handle, actions))
    assert xla(ours).handle[:, 1].tolist() == [1, 1, 0, 1]
    for i in (0, 1, 3):
        theirs[i].step([0, 0, 0])
    zeros = jnp.zeros((POOLS, ENVS), jnp.int32)
    _, found = jax.vmap(functions.step)(xla(ours).handle, zeros)
    compare(found, [pool.step([0, 0, 0]) for pool in theirs], "after the error")


@pytest.mark.slow
def test_a_failing_environment_names_its_pool() -> None:
    options = {"fail_on": "step", "fail_at_step": 2}
    good, bad = Pool("test/Fault-v0", 2), Pool("test/Fault-v0", 2, options=options)
    with good, bad:
        functions = xla([good, bad])
        handles, _ = jax.vmap(functions.reset)(functions.handle)
        step = jax.jit(jax.vmap(functions.step))
        handles, _ = step(handles, jnp.zeros((2, 2), int))
        with pytest.raises(JaxRuntimeError, match=r"ABORTED: pool 1 of 2: "):
            jax.block_until_ready(step(handles, jnp.zeros((2, 2), int)))
        assert xla([good, bad]).handle[:, 1].tolist() == [4, 3]
        jax.block_until_ready(step(xla([good, bad]).handle, jnp.zeros((2, 2), int)))


def test_a_closed_pool_is_named(pairs: tuple[list[Pool], list[Pool]]) -> None:
    ours, _ = pairs
    functions = xla(ours)
    ours[3].close()
    with pytest.raises(JaxRuntimeError, match=r"pool 3 of 4: .*the pool is closed"):
        jax.block_until_ready(
            jax.vmap(functions.step)(functions.handle, jnp.zeros((POOLS, ENVS), int))
        )


def test_one_pool_cant_be_at_two_states(pairs: tuple[list[Pool], list[Pool]]) -> None:
    ours, _ = pairs
    functions = xla(ours[0])
    actions = jnp.zeros((2, ENVS), jnp.int32)
    with pytest.raises(NotImplementedError, match="can't be at two states"):
        jax.vmap(functions.step, in_axes=(None, 0))(functions.handle, actions)
    twice = jnp.stack([functions.handle] * 2)
    with pytest.raises(JaxRuntimeError, match="pool 1 of 2: another call is using this pool"):
        jax.block_until_ready(jax.vmap(functions.step)(twice, actions))
    assert ours[0].step([0, 0, 0]).obs.shape == (ENVS, 4)


def test_pools_must_be_alike() -> None:
    with Pool("CartPole-v1", 2) as one, Pool("CartPole-v1", 3) as two, Pool("Pong-v5", 2) as three:
        for other in (two, three):
            with pytest.raises(ValueError, match="pool 1 differs from pool 0"):
                xla([one, other])
        with pytest.raises(ValueError, match="no pools"):
            xla([])
        with pytest.raises(ValueError, match="pool 1 is pool 0"):
            xla([one, one])
