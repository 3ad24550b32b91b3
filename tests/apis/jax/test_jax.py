"""`parallel_pool.compat.jax`: compiled programs step pools, with the bits of Python's calls."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from jax import lax
from jax.errors import JaxRuntimeError

import parallel_pool
from parallel_pool._apis.jax import programs
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool.compat.jax import xla
from parallel_pool.errors import ClosedError, StateError
from tests.contract.test_every_id import IDS
from tests.support.forked import in_child
from tests.support.jax_scans import actions_of, compare, scan
from tests.support.same import assert_same
from tests.support.sampling import sampled
from tests.support.timeouts import TEST_TIMEOUT, wait_for

pytestmark = pytest.mark.proven("csrc", "parallel_pool/_engine")

MODES = list(AutoresetMode)


@pytest.fixture
def x64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


# ------------------------------------------------------------------------------------- results --


# compiling a program takes a second
QUICK = {"CartPole-v1", "mpe/simple_tag_v3", "Pong-v5", "Reacher-v5"}


@pytest.mark.slow
@pytest.mark.parametrize("env", sampled(IDS, QUICK))
def test_a_scan_has_the_bits_of_python(env: str, x64: None) -> None:
    """In arrays of 64 bits too; integration/compare/same_in_jax.py does this for longer."""
    compare(env, 100)


def test_arrays_of_64_bits_become_arrays_of_32() -> None:
    with Pool("HalfCheetah-v5", 2, seed=0) as ours, Pool("HalfCheetah-v5", 2, seed=0) as theirs:
        functions = xla(ours)
        handle, first = functions.reset(functions.handle)
        assert first.obs.dtype == np.float32
        np.testing.assert_array_equal(first.obs, theirs.reset().obs.astype(np.float32))
        actions = np.full((2, 6), 0.5, np.float32)
        _, second = functions.step(handle, actions)
        expected = theirs.step(actions)
        for own, other in zip(second, expected, strict=True):
            assert own.dtype == jax.dtypes.canonicalize_dtype(other.dtype)
            np.testing.assert_array_equal(own, other.astype(own.dtype))


@pytest.mark.slow
@pytest.mark.parametrize("env", sampled(["CartPole-v1", "Hopper-v5", "ALE/Pong-v5"], QUICK))
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_a_vector_environment_returns_what_it_does_in_python(
    env: str, mode: AutoresetMode, x64: None
) -> None:
    """But infos are there at every step: keys that Python leaves out have an empty mask."""
    steps = 60
    options: dict[str, Any] = {"max_episode_steps": 17, "autoreset_mode": mode}
    with (
        closing(parallel_pool.PoolVectorEnv(env, 3, **options)) as ours,
        closing(parallel_pool.PoolVectorEnv(env, 3, **options)) as theirs,
    ):
        functions = xla(ours)
        seeds = np.array([7, 8, 9])
        handle, found = functions.reset(functions.handle, seeds)
        expected: Any = theirs.reset(seed=seeds.tolist())
        compare_results(found, expected)
        for step, actions in enumerate(actions_of(theirs.pool, steps)):
            if step % 2 and env == "Hopper-v5":
                actions = actions.astype(np.float64)
            expected = theirs.step(actions)
            handle, found = functions.step(handle, jnp.asarray(actions))
            compare_results(found, expected)
            ended = expected[2] | expected[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                ids = np.flatnonzero(ended)
                theirs.reset(options={"reset_mask": ended.copy()})
                # a receive of some environments has as many rows, so Python resets here
                ours.pool.reset(ids)
                assert step
        # Python goes on where the program has stopped
        if mode is not AutoresetMode.DISABLED:
            ours.reset(seed=3)
            theirs.reset(seed=3)
            handle = xla(ours).handle
            for actions in actions_of(theirs.pool, 17, seed=1):
                expected = theirs.step(actions)
                handle, found = functions.step(handle, actions)
            actions = actions_of(theirs.pool, 1, seed=2)[0]
            assert_same(ours.step(actions), theirs.step(actions), "after programs")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name)
def test_observations_that_are_tuples_are_tuples_in_programs(
    mode: AutoresetMode, x64: None
) -> None:
    with (
        closing(parallel_pool.PoolVectorEnv("Blackjack-v1", 3, autoreset_mode=mode)) as ours,
        closing(parallel_pool.PoolVectorEnv("Blackjack-v1", 3, autoreset_mode=mode)) as theirs,
    ):
        functions = xla(ours)
        handle, found = functions.reset(functions.handle, np.array([7, 8, 9]))
        compare_results(found, theirs.reset(seed=7))
        step = jax.jit(functions.step)
        for actions in actions_of(theirs.pool, 30):
            handle, found = step(handle, actions)
            compare_results(found, theirs.step(actions))


def compare_results(found: Any, expected: Any) -> None:
    """Compares results with Python's, whose infos may lack keys."""
    parts = zip(jax.tree.leaves(found[:-1]), jax.tree.leaves(expected[:-1]), strict=True)
    assert jax.tree.structure(found[:-1]) == jax.tree.structure(expected[:-1])
    for own, other in parts:
        np.testing.assert_array_equal(own, other)
        assert own.dtype == other.dtype
    compare_infos(found[-1], expected[-1])


def compare_infos(found: dict[str, Any], expected: dict[str, Any]) -> None:
    # ALE's seeds are those of a reset in Python
    missing = expected.keys() - found.keys() - {"seeds", "_seeds"}
    assert not missing
    for key, own in found.items():
        if key.startswith("_"):
            mask = expected.get(key, np.zeros(len(own), np.bool_))
            np.testing.assert_array_equal(own, mask, key)
        elif key == "final_info":
            compare_infos(own, expected.get(key, {}))
        elif key in expected:
            mask = expected[f"_{key}"]
            other = expected[key]
            if isinstance(own, tuple):
                own = np.stack(own, axis=1)
            if other.dtype == object:
                other = np.array([np.zeros_like(own[0]) if x is None else x for x in other])
            np.testing.assert_array_equal(own[mask], other[mask], key)


@pytest.mark.slow
@pytest.mark.parametrize("make", [parallel_pool.make_gymnasium, parallel_pool.make_dm])
@pytest.mark.parametrize("env", sampled(["Pong-v5", "Ant-v4", "mpe/simple_spread_v3"], QUICK))
def test_envpools_functions(make: Callable[..., Any], env: str, x64: None) -> None:
    with make(env, num_envs=3, seed=1) as ours, make(env, num_envs=3, seed=1) as theirs:
        ours.reset()
        theirs.reset()
        handle, recv, send, step = ours.xla()
        for i, actions in enumerate(actions_of(theirs.pool, 30)):
            expected = theirs.step(actions)
            if i % 2:
                handle, found = jax.jit(step)(handle, actions)
            else:
                handle = jax.jit(send)(handle, actions)
                handle, found = jax.jit(recv)(handle)
            # JAX sorts the keys of dicts
            assert_same(jax.tree.map(np.asarray, found), expected, f"step {i}", ordered=False)


@pytest.mark.slow
def test_the_first_come_are_received() -> None:
    """EnvPool's loop, of an asynchronous pool, in one program."""
    count, batch = 6, 2
    with parallel_pool.make_gymnasium("CartPole-v1", num_envs=count, batch_size=batch) as env:
        env.async_reset()
        handle, recv, send, _ = env.xla()

        def once(carry: Any, _: Any) -> Any:
            handle, seen = carry
            handle, (_, _, _, _, info) = recv(handle)
            handle = send(handle, jnp.ones(batch, np.int32), info["env_id"])
            return (handle, seen.at[info["env_id"]].add(1)), info["elapsed_step"]

        (handle, seen), _ = jax.jit(lambda carry: lax.scan(once, carry, length=300))(
            (handle, jnp.zeros(count, np.int32))
        )
        assert seen.sum() == 300 * batch and (np.asarray(seen) > 0).all()
        # Python receives what programs have sent
        assert env.recv()[0].shape == (batch, 4)


def test_a_while_loop_plays_until_an_episode_ends() -> None:
    with Pool("CartPole-v1", 1, seed=3) as ours, Pool("CartPole-v1", 1, seed=3) as theirs:
        ours.reset()
        theirs.reset()
        functions = xla(ours)

        def play(state: Any) -> Any:
            handle, _, count = state
            handle, result = functions.step(handle, jnp.zeros(1, np.int32))
            return handle, result.terminated[0], count + 1

        _, _, count = jax.jit(
            lambda handle: lax.while_loop(lambda state: ~state[1], play, (handle, False, 0))
        )(functions.handle)
        expected = 1
        while not theirs.step([0]).terminated[0]:
            expected += 1
        assert count == expected


def test_calls_whose_results_nobody_uses_are_made() -> None:
    with Pool("CartPole-v1", 2) as pool:
        functions = xla(pool)

        @jax.jit
        def sends(handle: Any) -> int:
            functions.async_reset(handle)
            return 0

        sends(functions.handle)
        assert pool.in_flight == 2


# ------------------------------------------------------------------------- Python and programs --


@pytest.mark.slow
def test_python_and_programs_take_turns() -> None:
    """Each sees what the other has done, and arrays that Python keeps never change."""
    make = partial(Pool, "Acrobot-v1", 4, seed=2)
    with make() as ours, make() as theirs:
        functions = xla(ours)
        handle = functions.handle
        step = jax.jit(functions.step)
        rng = np.random.default_rng(0)
        assert_same(ours.reset(), theirs.reset(), "reset")
        kept = []
        for i, by_program in enumerate(rng.random(200) < 0.5):
            actions = rng.integers(3, size=4).astype(np.int32)
            expected = theirs.step(actions)
            if by_program:
                handle, found = step(handle, actions)
            else:
                found = ours.step(actions)
                kept.append((found, [array.copy() for array in found]))
            for own, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(own, other, f"step {i}")
        for arrays, copies in kept:
            assert_same(tuple(arrays), tuple(copies), "kept")
        assert ours.stats()["env_steps"] == theirs.stats()["env_steps"]


@pytest.mark.parametrize("mode", MODES)
def test_python_goes_on_after_the_reset_of_a_program(mode: AutoresetMode) -> None:
    actions = np.array([0, 1, 0])
    make = partial(parallel_pool.make_vec, "CartPole-v1", 3, autoreset_mode=mode)
    with closing(make()) as ours, closing(make()) as theirs:
        functions = xla(ours)
        # no program has made a call yet
        with pytest.raises(StateError, match=r"step\(\) before reset\(\)"):
            ours.step(actions)
        _, (found, _) = functions.reset(functions.handle, np.arange(3, dtype=np.uint32))
        assert_same(np.asarray(found), theirs.reset(seed=0)[0], "reset")
        for _ in range(3):
            assert_same(ours.step(actions), theirs.step(actions), "step")


def test_python_resets_some_after_the_reset_of_a_program() -> None:
    options = {"reset_mask": np.array([False, True, False])}
    make = partial(parallel_pool.make_vec, "CartPole-v1", 3)
    with closing(make()) as ours, closing(make()) as theirs:
        functions = xla(ours)
        jax.block_until_ready(functions.reset(functions.handle, np.arange(3, dtype=np.uint32)))
        theirs.reset(seed=0)
        found = ours.reset(seed=5, options=dict(options))
        assert_same(found, theirs.reset(seed=5, options=dict(options)), "reset")
        ours.step_async(np.zeros(3, np.int64))
        theirs.step_async(np.zeros(3, np.int64))
        assert_same(ours.step_wait(), theirs.step_wait(), "step")


@pytest.mark.slow
def test_an_asynchronous_pool_changes_hands() -> None:
    with Pool("CartPole-v1", 9, batch_size=2, seed=0) as pool:
        functions = xla(pool)
        recv, send = jax.jit(functions.recv), jax.jit(functions.send)
        handle = functions.handle
        pool.send_reset()
        counts = np.zeros(9, int)
        rng = np.random.default_rng(1)
        for _ in range(300):
            if rng.random() < 0.5:
                handle, batch = recv(handle)
            else:
                batch = pool.recv()
            counts[np.asarray(batch.env_id)] += 1
            assert np.all(batch.elapsed_step >= 0)
            if rng.random() < 0.5:
                handle = send(handle, np.zeros(2, np.int32), batch.env_id)
            else:
                pool.send(np.zeros(2, np.int32), np.asarray(batch.env_id))
        assert counts.sum() == 600 and (counts > 0).all()


@pytest.mark.slow
def test_while_python_receives_programs_are_refused() -> None:
    with Pool("CartPole-v1", 2, batch_size=1) as pool:
        functions = xla(pool)
        pool.send_reset([0])
        handle, _ = functions.recv(functions.handle)
        # nothing is in flight: a receive with a timeout waits for it
        errors: list[BaseException] = []

        def receive() -> None:
            try:
                pool.recv(timeout=5)
            except TimeoutError as error:
                errors.append(error)

        thread = threading.Thread(target=receive)
        waits = pool.stats()["caller_waits"]
        thread.start()
        wait_for(lambda: pool.stats()["caller_waits"] > waits)
        with pytest.raises(JaxRuntimeError, match="another call is using this pool"):
            jax.block_until_ready(functions.recv(handle))
        thread.join()
        assert len(errors) == 1
        handle = functions.send(handle, np.zeros(1, np.int32), [0])
        functions.recv(handle)


# --------------------------------------------------------------------------------- wrong use --


@pytest.fixture
def cartpoles() -> Iterator[Any]:
    with Pool("CartPole-v1", 3, seed=0) as pool:
        pool.reset()
        yield pool


def goes_on_from(functions: Any, handle: Any, count: int) -> None:
    jax.block_until_ready(functions.step(handle, np.zeros(count, np.int32)))


def goes_on(pool: Pool) -> None:
    """Checks that programs and Python can step."""
    functions = xla(pool)
    handle, result = functions.step(functions.handle, np.ones(3, np.int32))
    assert np.all(np.isfinite(result.obs))
    assert pool.step([0, 0, 0]).obs.shape == (3, 4)
    functions.step(handle, np.ones(3, np.int32))


@pytest.mark.slow
def test_a_handle_is_valid_for_one_call(cartpoles: Pool) -> None:
    functions = xla(cartpoles)
    zeros = jnp.zeros(3, np.int32)
    jax.block_until_ready(functions.step(functions.handle, zeros))
    with pytest.raises(JaxRuntimeError, match="this handle is of call 0, and the pool is at call"):
        jax.block_until_ready(functions.step(functions.handle, zeros))

    @jax.jit
    def twice(handle: Any) -> Any:
        return functions.step(handle, zeros)[1], functions.step(handle, zeros)[1]

    with pytest.raises(JaxRuntimeError, match=r"a handle is valid for one call|another call"):
        jax.block_until_ready(twice(xla(cartpoles).handle))
    goes_on(cartpoles)


@pytest.mark.slow
def test_wrong_actions_step_nothing(cartpoles: Pool) -> None:
    functions = xla(cartpoles)
    before = cartpoles.get_state()
    with pytest.raises(JaxRuntimeError, match=r"INVALID_ARGUMENT: .*action 2"):
        jax.block_until_ready(functions.step(functions.handle, jnp.array([0, 2, 1])))
    for actions, error, text in (
        (jnp.zeros(3), TypeError, "dtype float32: give integers"),
        (jnp.zeros(2, np.int32), ValueError, r"shape \(2,\): give shape \(3,\)"),
        (jnp.zeros((3, 1), np.int32), ValueError, r"give shape \(3,\)"),
        (jnp.zeros(3, np.float16), TypeError, "float16: give integers"),
        (jnp.zeros(3, np.bool_), TypeError, "bool: give integers"),
    ):
        with pytest.raises(error, match=text):
            jax.jit(functions.step)(functions.handle, actions)
    with pytest.raises(TypeError, match="handle is float32"):
        functions.step(jnp.zeros(2), jnp.zeros(3, np.int32))
    with pytest.raises(JaxRuntimeError, match="env_id 3: choose 0 to 2"):
        jax.block_until_ready(functions.send(functions.handle, jnp.zeros(1, np.int32), [3]))
    with pytest.raises(TypeError, match="env_ids have dtype float32"):
        functions.send(functions.handle, jnp.zeros(1, np.int32), [0.5])
    with pytest.raises(JaxRuntimeError, match="0 environments are in flight"):
        jax.block_until_ready(functions.recv(functions.handle))
    with pytest.raises(TypeError, match="seeds have dtype float32"):
        functions.reset(functions.handle, jnp.zeros(3))
    with pytest.raises(TypeError, match="seed=None is a NoneType: give an integer"):
        functions.reset(functions.handle, [1, None, 2])
    with pytest.raises(ValueError, match=r"seeds have shape \(2,\)"):
        functions.reset(functions.handle, jnp.zeros(2, np.int32))
    assert cartpoles.get_state() == before
    # none of these calls counts
    functions.step(functions.handle, jnp.zeros(3, np.int32))
    goes_on(cartpoles)


# what is wrong with integers of the host, and of arrays: argument, values, words of Python's error
WRONG_INTEGERS: dict[str, tuple[str, list[int], str]] = {
    "negative seed": ("seeds", [0, -1, 2], "seed=-1: choose 0 or more"),
    "large env_id": ("env_id", [0, 2**32, 1], "env_id 4294967296: choose 0 to 2"),
    "negative env_id": ("env_id", [-1, 1, 2], "env_id -1: choose 0 to 2"),
    "large action": ("action", [0, 1, 2**32], "action 4294967296 of .* is outside its space"),
    "negative action": ("action", [0, 1, -5], "action -5 of .* is outside its space"),
    "largest action": ("action", [0, 2**64 - 1, 0], "is outside its space: choose 0 to 1"),
}


def call_with(pool: Pool, name: str, values: Any) -> Any:
    """Steps or resets with one argument."""
    functions = xla(pool)
    if name == "seeds":
        return functions.reset(functions.handle, values)
    arguments = {"action": jnp.zeros(3, np.int32), "env_id": np.arange(3), name: values}
    return functions.step(functions.handle, **arguments)


@pytest.mark.quick(2)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kind", WRONG_INTEGERS)
def test_wrong_integers_do_not_wrap(kind: str, wide: bool, cartpoles: Pool) -> None:
    name, values, words = WRONG_INTEGERS[kind]
    array = np.array(values, np.uint64 if max(values) > 2**63 else np.int64)
    before = cartpoles.get_state()
    with jax.enable_x64(wide):
        for given in (values, array):
            with pytest.raises((JaxRuntimeError, ValueError), match=words):
                jax.block_until_ready(call_with(cartpoles, name, given))
        if wide or max(values) < 2**31:
            with pytest.raises(JaxRuntimeError, match=words):
                jax.block_until_ready(call_with(cartpoles, name, jnp.asarray(array)))
    assert cartpoles.get_state() == before
    goes_on(cartpoles)


@pytest.mark.quick(1)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_integers_of_every_dtype_are_taken(dtype: str, wide: bool) -> None:
    with (
        jax.enable_x64(wide),
        Pool("CartPole-v1", 3) as ours,
        Pool("CartPole-v1", 3) as theirs,
    ):
        functions = xla(ours)
        actions, ids, seeds = (np.array(each, dtype) for each in ([1, 0, 1], [2, 0, 1], [7, 8, 9]))
        with warnings.catch_warnings():
            # JAX says that it has no integers of 64 bits
            warnings.simplefilter("ignore", UserWarning)
            arrays = [jnp.asarray(each) for each in (actions, ids, seeds)]
        handle, _ = jax.jit(functions.reset)(functions.handle, arrays[2])
        theirs.reset(seed=seeds)
        _, result = jax.jit(functions.step)(handle, arrays[0], arrays[1])
        assert_same(tuple(map(np.asarray, result)), tuple(theirs.step(actions, ids)), dtype)


def test_seeds_of_64_bits_need_arrays_of_64_bits(cartpoles: Pool) -> None:
    seeds = [2**32, 2**64 - 1, 5]
    with pytest.raises(ValueError, match=r"seed=18446744073709551615: .*jax_enable_x64"):
        call_with(cartpoles, "seeds", seeds)
    with jax.enable_x64(True), Pool("CartPole-v1", 3) as theirs:
        with pytest.raises(ValueError, match=r"seed=18446744073709551616: choose 0 to 2\*\*64 - 1"):
            call_with(cartpoles, "seeds", [0, 1, 2**64])
        _, batch = call_with(cartpoles, "seeds", seeds)
        expected = theirs.reset(seed=seeds)
        assert_same(tuple(map(np.asarray, batch)), tuple(expected), "seeds")


def test_integers_of_a_box_do_not_wrap() -> None:
    with Pool("Pendulum-v1", 2, seed=0) as pool:
        functions = xla(pool)
        functions.reset(functions.handle)
        with pytest.raises(ValueError, match="action 4294967296 of row 1 needs 64 bits"):
            functions.step(xla(pool).handle, np.array([[0], [2**32]]))


def test_arguments_have_envpools_names() -> None:
    env = parallel_pool.make("CartPole-v1", env_type="gymnasium", num_envs=4, batch_size=2)
    env.async_reset()
    handle, recv, send, step = env.xla()
    handle, (*_, info) = recv(handle=handle)
    handle = send(handle=handle, action=jnp.zeros(2, int), env_id=info["env_id"])
    handle, (*_, info) = recv(handle)
    handle, (*_, info) = step(handle=handle, action=jnp.zeros(2, int), env_id=info["env_id"])
    assert info["env_id"].shape == (2,)
    env.close()


@pytest.mark.slow
def test_an_error_in_a_scan_leaves_a_pool_that_goes_on(cartpoles: Pool) -> None:
    functions = xla(cartpoles)
    actions = jnp.zeros((9, 3), np.int32).at[5, 1].set(7)
    with pytest.raises(JaxRuntimeError, match="action 7"):
        jax.block_until_ready(scan(functions.step, functions.handle, actions))
    assert xla(cartpoles).handle[1] == functions.handle[1] + 5
    goes_on(cartpoles)


@pytest.mark.slow
def test_failing_environments_are_errors() -> None:
    with Pool("test/Fault-v0", 3, options={"fail_on": "step", "fail_at_step": 4}) as pool:
        pool.reset()
        functions = xla(pool)
        actions = jnp.zeros((9, 3), np.int32)
        with pytest.raises(JaxRuntimeError, match="ABORTED"):
            jax.block_until_ready(scan(functions.step, functions.handle, actions))
        # they start a new episode
        functions.step(xla(pool).handle, actions[0])


def test_closed_and_dropped_pools() -> None:
    zeros = jnp.zeros(3, np.int32)
    pool = Pool("CartPole-v1", 3)
    functions = xla(pool)
    pool.close()
    with pytest.raises(JaxRuntimeError, match="the pool is closed"):
        jax.block_until_ready(functions.step(functions.handle, zeros))
    with pytest.raises(ClosedError):
        xla(pool)
    for make in (
        Pool,
        partial(parallel_pool.make_gymnasium, num_envs=3),
        partial(parallel_pool.make_dm, num_envs=3),
        parallel_pool.PoolVectorEnv,
    ):
        made: Any = make("CartPole-v1", **({} if isinstance(make, partial) else {"num_envs": 3}))
        functions = xla(made)
        step = jax.jit(functions.step)
        handle, _ = step(functions.handle, zeros)
        del made
        gc.collect()
        with pytest.raises(JaxRuntimeError, match="the pool is closed"):
            jax.block_until_ready(step(handle, zeros))


@pytest.mark.slow
def test_closing_ends_a_program_that_waits() -> None:
    pool = Pool("test/Fault-v0", 2, options={"sleep_ms": 300})
    pool.reset()
    functions = xla(pool)
    errors = []

    def play() -> None:
        try:
            jax.block_until_ready(
                scan(functions.step, functions.handle, jnp.zeros((9, 2), np.int32))
            )
        except JaxRuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=play)
    thread.start()
    time.sleep(0.3)
    pool.close()
    thread.join(TEST_TIMEOUT)
    assert not thread.is_alive()
    assert not errors or "closed" in errors[0]


# a program that runs when the process ends, in a daemon thread
AT_EXIT = """
import threading, jax, jax.numpy as jnp
from parallel_pool._native import lib
from parallel_pool.compat.jax import xla
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.sharing import share

pool = Pool("CartPole-v1", 8)
functions = xla(pool)
actions = jnp.zeros(8, int)
start = functions.reset(functions.handle)[0]
run = jax.jit(lambda h: jax.lax.fori_loop(0, 10**9, lambda i, h: functions.step(h, actions)[0], h))
compiled = run.lower(start).compile()
threading.Thread(target=lambda: jax.block_until_ready(compiled(start)), daemon=True).start()
while lib.pp_xla_calls(share(pool)) < 1000:
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_a_program_that_runs_at_exit_does_not_abort_the_process(attempt: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT],
        capture_output=True,
        text=True,
        check=False,
        timeout=TEST_TIMEOUT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_forked_child_has_none_of_them(cartpoles: Pool) -> None:
    functions = xla(cartpoles)
    number = int(functions.handle[0])

    def child() -> None:
        from parallel_pool._native import lib

        # JAX itself does not survive a fork, so this asks the engine
        assert lib.pp_xla_calls(number) == 0
        with pytest.raises(parallel_pool.ForkedError):
            cartpoles.step([0, 0, 0])

    jax.block_until_ready(functions.step(functions.handle, jnp.zeros(3, np.int32)))
    in_child(child)
    goes_on(cartpoles)


@pytest.mark.slow
def test_derivatives_and_maps_are_refused() -> None:
    with Pool("Pendulum-v1", 3, seed=0) as pool:
        functions = xla(pool)
        handle, _ = functions.reset(functions.handle)
        torques = jnp.zeros((3, 1))

        def cost(torques: Any) -> Any:
            return functions.step(handle, torques)[1].reward.sum()

        for function in (jax.grad(cost), jax.jit(jax.grad(cost)), jax.grad(jax.jit(cost))):
            with pytest.raises(NotImplementedError, match="environments have no derivative"):
                function(torques)
        for mapped in (jax.vmap(cost), jax.jit(jax.vmap(cost)), jax.vmap(jax.jit(cost))):
            with pytest.raises(NotImplementedError, match="can't be at two states"):
                mapped(jnp.zeros((2, 3, 1)))

        # actions without a derivative may be stepped inside of what is differentiated
        def loss(weight: Any) -> Any:
            _, result = functions.step(handle, lax.stop_gradient(torques + weight))
            return (result.obs * weight).sum()

        assert np.isfinite(jax.grad(loss)(0.5))


@pytest.mark.parametrize("platform", ["rocm", "tpu"])
def test_other_devices_are_refused(platform: str) -> None:
    with Pool("CartPole-v1", 2) as pool:
        functions = xla(pool)
        traced = jax.jit(functions.step).trace(functions.handle, jnp.zeros(2, np.int32))
        with pytest.raises(
            NotImplementedError, match=r"on the CPU and on CUDA only: .*io_callback"
        ):
            traced.lower(lowering_platforms=(platform,))


def test_functions_are_the_same_while_the_pool_lives() -> None:
    pool = Pool("CartPole-v1", 2)
    first, second = xla(pool), xla(pool)
    assert first[1:] == second[1:]
    number = int(first.handle[0])
    assert number in programs.functions_by_number
    del pool
    gc.collect()
    assert number not in programs.functions_by_number


@pytest.mark.slow
def test_what_has_no_functions() -> None:
    with pytest.raises(TypeError, match="SyncVectorEnv: give a Pool"):
        xla(gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync"))
    with (
        closing(parallel_pool.PoolVectorEnv("CartPole-v1", 2, backend="process")) as envs,
        pytest.raises(TypeError, match="ProcessVectorEnv: give a Pool, a native PoolVectorEnv"),
    ):
        xla(envs)
    wrappers = [gymnasium.wrappers.RecordEpisodeStatistics]
    with (
        closing(parallel_pool.PoolVectorEnv("CartPole-v1", 2, wrappers=wrappers)) as envs,
        pytest.raises(ValueError, match="need Python at every step"),
    ):
        xla(envs)
    with (
        parallel_pool.make_gymnasium("classic/connect_four_v3", num_envs=2) as envs,
        pytest.raises(ValueError, match="the number of rows changes"),
    ):
        envs.xla()


def test_every_id_is_among_the_cases() -> None:
    families = {registry.find(env).family for env in IDS}
    # other tests may have loaded definitions, whose family is the name of their file
    shown = set(registry.definitions().values()) - set(registry.loaded())
    assert families == {each.family for each in shown}


def test_programs_after_rollouts_and_rollouts_after_programs() -> None:
    envs, twin = (parallel_pool.make_vec("CartPole-v1", 4, backend="native") for _ in range(2))
    zeros = np.zeros(4, np.int64)

    def fail(observations: Any) -> Any:
        raise KeyError

    with closing(envs), closing(twin):
        envs.reset(seed=1)
        twin.reset(seed=1)
        buffer = envs.rollout(5)
        buffer.collect(lambda observations: zeros)
        # of one that fails, C still knows the memory
        with pytest.raises(KeyError):
            buffer.collect(fail)
        functions = xla(envs)
        for _ in range(5):
            twin.step(zeros)
        _, result = functions.step(functions.handle, zeros)
        np.testing.assert_array_equal(np.asarray(result[0]), twin.step(zeros)[0])
        rollout = buffer.collect(lambda observations: zeros)
        for after in rollout.next_observations:
            np.testing.assert_array_equal(after, twin.step(zeros)[0])


@pytest.mark.parametrize("batch_size", [2, 4])
def test_rollouts_of_envpools_api_after_programs(batch_size: int) -> None:
    options = {"num_envs": 4, "seed": 1, "num_threads": 1}
    envs = parallel_pool.make_gymnasium("CartPole-v1", batch_size=batch_size, **options)
    twin = parallel_pool.make_gymnasium("CartPole-v1", **options)
    with envs, twin:
        twin.reset()
        envs.async_reset()
        if batch_size == 4:
            envs.recv()
        xla(envs)
        buffer = envs.rollout(6)
        for _ in range(4):
            rollout = buffer.collect(lambda seen, env_ids=None: np.zeros(len(seen), np.int32))
            for at in range(6):
                observations, rewards, *_, infos = twin.step(np.zeros(4, np.int32))
                np.testing.assert_array_equal(rollout.next_observations[at], observations)
                np.testing.assert_array_equal(rollout.rewards[at], rewards)
                np.testing.assert_array_equal(rollout.resets[at], infos["elapsed_step"] == 0)
