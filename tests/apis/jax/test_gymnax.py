"""`make_gymnax`: native environments as pure functions, with the bits of pools."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.errors import JaxRuntimeError

import parallel_pool
from parallel_pool._engine.pool import Pool
from parallel_pool.compat.jax import EnvParams, EnvState, GymnaxEnv, make_gymnax
from tests.contract.test_every_id import IDS
from tests.support.sampling import sampled
from tests.support.timeouts import TEST_TIMEOUT

pytestmark = pytest.mark.proven("csrc", "parallel_pool/_engine")

ROWS, LIMIT = 3, 7
# Pong's states are large, and Box2D's hold the actions of their episode
QUICK = {"CartPole-v1", "Pong-v5", "LunarLander-v3"}
# JAX raises the second one if the program has been called before
ERRORS = (JaxRuntimeError, ValueError)


@pytest.fixture
def x64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def cartpole() -> Iterator[GymnaxEnv]:
    env, _ = make_gymnax("CartPole-v1", num_envs=4)
    with closing(env):
        yield env


def keys_of(seeds: Any) -> Any:
    return jax.vmap(jax.random.key)(jnp.asarray(seeds))


def many(env: GymnaxEnv) -> tuple[Any, Any]:
    """Returns reset and step of many rows."""
    return (
        jax.jit(jax.vmap(env.reset, in_axes=(0, None))),
        jax.jit(jax.vmap(env.step, in_axes=(0, 0, 0, None))),
    )


def rollout(env: GymnaxEnv, keys: Any, steps: int) -> Any:
    """Plays in one program; returns the last state, and observations and ends of all steps."""
    reset, step = many(env)

    def play(keys: Any) -> Any:
        def once(carry: Any, _: Any) -> Any:
            observation, state = carry
            action = (observation[:, 2] > 0).astype(jnp.int32)
            observation, state, _, done, _ = step(keys, state, action, env.default_params)
            return (observation, state), (observation, done)

        return lax.scan(once, reset(keys, env.default_params), length=steps)

    (_, state), found = jax.jit(play)(keys)
    return state, *found


# ------------------------------------------------------------------------------------ results --


def compare_observations(pool: Pool, found: Any, batch: Any, row: int, where: str) -> None:
    for i, field in enumerate(pool.spec.observations):
        own = found
        for key in field.name.split(".") if pool.spec.has_keys else ():
            own = own[key]
        assert own.dtype == batch[i].dtype
        np.testing.assert_array_equal(own[row], batch[i][0], where)


def compare(task_id: str, steps: int = 20) -> None:
    """Compares rows, more than there are environments, with a pool for each of them."""
    try:
        env, params = make_gymnax(task_id, num_envs=2, max_episode_steps=LIMIT)
    except ValueError as error:
        assert "players" in str(error) or "gymnax's spaces lack" in str(error)
        return
    reset, step = many(env)
    pools = [
        Pool(task_id, autoreset="disabled", max_episode_steps=LIMIT, seed=0) for _ in range(ROWS)
    ]
    space = pools[0].spec.action_space()
    space.seed(1)
    rng = np.random.default_rng(0)
    observations, state = reset(keys_of([5, 6, 7]), params)
    for i, pool in enumerate(pools):
        compare_observations(pool, observations, pool.reset(seed=5 + i), i, "reset")
    for at in range(steps):
        actions = np.array([space.sample() for _ in range(ROWS)])
        seeds = rng.integers(1000, size=ROWS)
        observations, state, rewards, done, infos = step(
            keys_of(seeds), state, actions - getattr(space, "start", 0), params
        )
        for i, pool in enumerate(pools):
            where = f"{task_id}, step {at}, row {i}"
            batch = pool.step(actions[i : i + 1])
            assert rewards[i] == batch.reward[0], where
            assert infos["terminated"][i] == batch.terminated[0], where
            assert infos["truncated"][i] == batch.truncated[0], where
            assert done[i] == (batch.terminated[0] | batch.truncated[0]), where
            assert state.time[i] == (0 if done[i] else batch.elapsed_step[0]), where
            if done[i]:
                batch = pool.reset(seed=int(seeds[i]))
            compare_observations(pool, observations, batch, i, where)
    for each in (env, *pools):
        each.close()


@pytest.mark.slow
@pytest.mark.parametrize("task_id", sampled(IDS, QUICK))
def test_rows_are_those_of_pools(task_id: str, x64: None) -> None:
    compare(task_id)


def test_a_key_is_gymnasiums_seed(cartpole: GymnaxEnv) -> None:
    """That of a step seeds the episode that follows."""
    theirs = gymnasium.make("CartPole-v1")
    expected, _ = theirs.reset(seed=2**32 + 7)
    found, state = cartpole.reset(jax.random.wrap_key_data(jnp.array([1, 7], np.uint32)))
    np.testing.assert_array_equal(found, expected)
    ends = 0
    while ends < 3:
        found, state, reward, done, _ = cartpole.step(jax.random.PRNGKey(ends), state, 1)
        expected, theirs_reward, terminated, *_ = theirs.step(1)
        if terminated:
            expected, _ = theirs.reset(seed=ends)
            ends += 1
        np.testing.assert_array_equal(found, expected)
        assert (reward, done) == (theirs_reward, terminated)


@pytest.mark.slow
def test_a_state_may_be_stepped_twice_and_in_any_order(cartpole: GymnaxEnv) -> None:
    key = jax.random.key(3)
    _, first = cartpole.reset(key)
    _, second, *_ = cartpole.step(key, first, 0)
    again = cartpole.step(key, first, 0)
    for own, other in zip(jax.tree.leaves(again[1]), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(own, other)
    # branches of one state
    branches = jax.vmap(cartpole.step, in_axes=(None, None, 0))(key, second, jnp.array([0, 1, 0]))
    for i, action in enumerate((0, 1, 0)):
        alone = cartpole.step(key, second, action)
        for own, other in zip(jax.tree.leaves(branches), jax.tree.leaves(alone), strict=True):
            np.testing.assert_array_equal(own[i], other)


def test_a_key_has_no_effect_within_an_episode(cartpole: GymnaxEnv) -> None:
    _, state = cartpole.reset(jax.random.key(3))
    one, two = (cartpole.step(jax.random.key(seed), state, 0)[1] for seed in (1, 2))
    np.testing.assert_array_equal(one.snapshot, two.snapshot)


@pytest.mark.slow
def test_maps_of_maps_are_rows(cartpole: GymnaxEnv) -> None:
    keys = jax.random.split(jax.random.key(0), (2, 3))
    found = jax.vmap(jax.vmap(cartpole.reset))(keys)
    assert found[0].shape == (2, 3, 4)
    flat = jax.vmap(cartpole.reset)(keys.reshape(6))
    np.testing.assert_array_equal(found[0].reshape(6, 4), flat[0])


@pytest.mark.slow
def test_a_while_loop_plays_an_episode(cartpole: GymnaxEnv) -> None:
    def play(key: Any) -> Any:
        _, state = cartpole.reset(key)

        def once(carry: Any) -> Any:
            state, _, count = carry
            _, state, _, done, _ = cartpole.step(key, state, 0)
            return state, done, count + 1

        return lax.while_loop(lambda carry: ~carry[1], once, (state, False, 0))[2]

    lengths = jax.jit(jax.vmap(play))(keys_of([1, 2]))
    for seed, length in zip((1, 2), lengths, strict=True):
        with Pool("CartPole-v1", seed=seed) as pool:
            pool.reset()
            count = 1
            while not pool.step([0]).terminated[0]:
                count += 1
            assert length == count


@pytest.mark.slow
def test_step_returns_six_values_as_in_gymnax_1() -> None:
    five, _ = make_gymnax("CartPole-v1", num_envs=16, max_episode_steps=15)
    six, _ = make_gymnax("CartPole-v1", num_envs=16, max_episode_steps=15, splits_done=True)
    keys = jax.random.split(jax.random.key(3), 16)
    seen = set()
    with closing(five), closing(six):
        _, states = jax.vmap(six.reset)(keys)
        step_five, step_six = jax.vmap(five.step), jax.vmap(six.step)
        for step in range(16):
            # half of the poles fall, the others last until the limit
            actions = np.where(np.arange(16) < 8, 1, step % 2)
            obs, after, reward, done, info = step_five(keys, states, actions)
            *others, terminated, truncated, infos = step_six(keys, states, actions)
            jax.tree.map(
                np.testing.assert_array_equal, [obs, after, reward, info], [*others, infos]
            )
            np.testing.assert_array_equal(terminated | truncated, done)
            seen |= set(zip(terminated.tolist(), truncated.tolist(), strict=True))
            states = after
    assert seen == {(False, False), (True, False), (False, True)}


@pytest.mark.slow
def test_derivatives_are_zero() -> None:
    env, _ = make_gymnax("Pendulum-v1", num_envs=1)
    key = jax.random.key(0)
    _, state = env.reset(key)

    def loss(torque: Any) -> Any:
        observation, _, reward, *_ = env.step(key, state, torque[None])
        return (observation * torque).sum() + reward

    observation = env.step(key, state, jnp.ones(1))[0]
    np.testing.assert_allclose(jax.grad(loss)(1.0), observation.sum(), rtol=1e-6)
    env.close()


@pytest.mark.slow
def test_an_action_may_come_without_axes_of_length_1() -> None:
    """rejax's evaluation squeezes an action, so that Pendulum's is a number."""
    env, params = make_gymnax("Pendulum-v1", num_envs=4)
    keys = keys_of(range(3))
    torques = jnp.array([-1.5, 0.0, 0.5])
    reset, step = many(env)
    with closing(env):
        _, state = reset(keys, params)
        expected = step(keys, state, torques[:, None], params)
        found = step(keys, state, torques, params)
        jax.tree.map(np.testing.assert_array_equal, found, expected)
        with pytest.raises(ValueError, match=r"the action has shape \(2,\): give shape \(1,\)"):
            env.step(keys[0], jax.tree.map(lambda array: array[0], state), jnp.zeros(2))


def test_infos_have_the_last_observation() -> None:
    env, params = make_gymnax("CartPole-v1", num_envs=2, max_episode_steps=3, infos=True)
    key = jax.random.key(1)
    with closing(env), Pool("CartPole-v1", max_episode_steps=3, autoreset="disabled") as pool:
        assert params == EnvParams(3)
        _, state = env.reset(key)
        pool.reset(seed=1)
        for step in range(3):
            observation, state, _, done, infos = env.step(key, state, 0)
            np.testing.assert_array_equal(infos["final_observation"], pool.step([0]).obs[0])
            assert done == (step == 2) and infos["discount"] == 1
        np.testing.assert_array_equal(observation, pool.reset(seed=1).obs[0])


@pytest.mark.slow
def test_threads_take_turns(cartpole: GymnaxEnv) -> None:
    """Programs that run at the same time step the same environments."""
    keys = [keys_of(range(first, first + 10)) for first in (0, 100)]
    expected = [rollout(cartpole, own, 200) for own in keys]
    found: dict[int, Any] = {}

    def play(i: int) -> None:
        found[i] = jax.block_until_ready(rollout(cartpole, keys[i], 200))

    threads = [threading.Thread(target=play, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, other in enumerate(expected):
        for own, array in zip(jax.tree.leaves(found[i]), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(own, array)


SHARDS = """
import jax, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from parallel_pool.compat.jax import make_gymnax
from tests.apis.jax.test_gymnax import keys_of, rollout
env, _ = make_gymnax("CartPole-v1", num_envs=3)
mesh = Mesh(np.array(jax.devices()), ("shard",))
outs = (P("shard"), P(None, "shard"), P(None, "shard"))
play = jax.shard_map(lambda keys: rollout(env, keys, 50), mesh=mesh, in_specs=P("shard"),
                     out_specs=outs)
found, expected = jax.jit(play)(keys_of(range(8))), rollout(env, keys_of(range(8)), 50)
same = jax.tree.map(lambda own, other: bool((own == other).all()), found, expected)
print(len(jax.devices()), all(jax.tree.leaves(same)))
"""


@pytest.mark.slow
def test_shards_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    done = subprocess.run(
        [sys.executable, "-c", SHARDS],
        capture_output=True,
        text=True,
        check=False,
        timeout=TEST_TIMEOUT,
    )
    assert done.stdout.split() == ["2", "True"], done.stderr


# ---------------------------------------------------------------------------------- wrong use --


def started(env: GymnaxEnv, count: int = 6) -> tuple[Any, EnvState]:
    keys = keys_of(range(count))
    return keys, many(env)[0](keys, env.default_params)[1]


def goes_on(env: GymnaxEnv) -> None:
    keys, state = started(env)
    jax.block_until_ready(many(env)[1](keys, state, jnp.zeros(6, int), env.default_params))


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 8, 40, 150])
def test_a_damaged_state_is_an_error_that_names_its_row(cartpole: GymnaxEnv, at: int) -> None:
    keys, state = started(cartpole)
    damaged = state._replace(snapshot=state.snapshot.at[5, at].add(1))
    with pytest.raises(ERRORS, match=r"row 5: the (snapshot|state) is damaged"):
        jax.block_until_ready(
            many(cartpole)[1](keys, damaged, jnp.zeros(6, int), cartpole.default_params)
        )
    goes_on(cartpole)


@pytest.mark.slow
def test_zeros_and_states_of_others_are_errors(cartpole: GymnaxEnv) -> None:
    keys, state = started(cartpole)
    zeros = state._replace(snapshot=jnp.zeros_like(state.snapshot))
    with pytest.raises(ERRORS, match="row 0: these bytes are no snapshot"):
        jax.block_until_ready(many(cartpole)[1](keys, zeros, jnp.zeros(6, int), None))
    other, _ = make_gymnax("CartPole-v1", num_envs=1, sutton_barto_reward=True)
    with closing(other), pytest.raises(ERRORS, match="of other options"):
        jax.block_until_ready(many(other)[1](keys, state, jnp.zeros(6, int), None))
    with pytest.raises(ERRORS, match="the state of this compiled call"):
        short = state._replace(snapshot=state.snapshot[:, :-8])
        jax.block_until_ready(many(cartpole)[1](keys, short, jnp.zeros(6, int), None))
    goes_on(cartpole)


@pytest.mark.slow
def test_a_wrong_action_is_an_error_that_names_its_row(cartpole: GymnaxEnv) -> None:
    keys, state = started(cartpole)
    with pytest.raises(ERRORS, match="action 2 of row 5 is outside its space"):
        jax.block_until_ready(many(cartpole)[1](keys, state, jnp.zeros(6, int).at[5].set(2), None))
    with pytest.raises(TypeError, match="float32: give integers"):
        cartpole.step(keys[0], jax.tree.map(lambda array: array[0], state), 0.5)
    with pytest.raises(ValueError, match=r"the action has shape \(6,\): give shape \(\)"):
        cartpole.step(keys[0], jax.tree.map(lambda array: array[0], state), jnp.zeros(6, int))
    goes_on(cartpole)


def test_a_failing_environment_is_an_error_that_names_its_row() -> None:
    env, _ = make_gymnax("test/Fault-v0", num_envs=2, fail_on="step", fail_at_step=2, fail_env=1)
    keys, state = started(env, 4)
    step = many(env)[1]
    _, state, *_ = step(keys, state, jnp.zeros(4, int), None)
    with pytest.raises(ERRORS, match="row 1: "):
        jax.block_until_ready(step(keys, state, jnp.zeros(4, int), None))
    # the states that the program still has are good
    jax.block_until_ready(many(env)[0](keys, None))
    env.close()


def test_states_that_grow_need_room() -> None:
    env, _ = make_gymnax("LunarLander-v3", num_envs=1, state_size=256)
    key = jax.random.key(0)
    _, state = env.reset(key)
    with closing(env), pytest.raises(ERRORS, match=r"row 0: its state takes .* state_siz"):
        for _ in range(99):
            _, state, *_ = jax.block_until_ready(env.step(key, state, 0))


def test_a_closed_environment_is_an_error() -> None:
    env, _ = make_gymnax("CartPole-v1", num_envs=1)
    key = jax.random.key(0)
    _, state = env.reset(key)
    env.close()
    with pytest.raises(ERRORS, match="the pool is closed"):
        jax.block_until_ready(env.step(key, state, 0))


def test_what_has_no_such_form() -> None:
    with pytest.raises(ValueError, match="has 3 players, and gymnax's form one"):
        make_gymnax("mpe/simple_spread_v3")
    with pytest.raises(ValueError, match="must not differ"):
        make_gymnax(
            "CartPole-v1", num_envs=2, sutton_barto_reward=parallel_pool.each([True, False])
        )
    with pytest.raises(ValueError, match=r"params=.*max_steps_in_episode=9"):
        env, params = make_gymnax("CartPole-v1", num_envs=1)
        env.reset(jax.random.key(0), params.replace(max_steps_in_episode=9))
    with pytest.raises(TypeError, match="the key is int32"):
        env.reset(jnp.zeros(2, np.int32))
    env.close()


def test_programs_may_copy_it(cartpole: GymnaxEnv) -> None:
    assert copy.deepcopy({"env": cartpole})["env"] is cartpole is copy.copy(cartpole)


class Wrapper:
    """Has the attributes of its environment, as wrappers of gymnax and rejax have."""

    def __init__(self, env: GymnaxEnv) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)


def test_copies_of_a_wrapper_are_wrappers(cartpole: GymnaxEnv) -> None:
    for copied in (copy.copy(Wrapper(cartpole)), copy.deepcopy(Wrapper(cartpole))):
        assert isinstance(copied, Wrapper) and copied.env is cartpole


def test_it_can_not_be_pickled(cartpole: GymnaxEnv) -> None:
    with pytest.raises(TypeError, match=r"GymnaxEnv holds threads .*cannot be pickled"):
        pickle.dumps(cartpole)


# ------------------------------------------------------------------------------------- spaces --


@pytest.mark.slow
def test_spaces_have_gymnaxs_form(cartpole: GymnaxEnv) -> None:
    actions, observations = cartpole.action_space(), cartpole.observation_space()
    assert (actions.n, actions.shape, cartpole.num_actions) == (2, (), 2)
    assert (observations.shape, observations.dtype) == ((4,), np.float32)
    key = jax.random.key(0)
    assert actions.contains(actions.sample(key)) and not actions.contains(2)
    np.testing.assert_array_equal(
        observations.high, gymnasium.make("CartPole-v1").observation_space.high
    )
    assert observations.contains(cartpole.reset(key)[0])
    env, _ = make_gymnax("Pendulum-v1", num_envs=1)
    with closing(env):
        torque = env.action_space(None).sample(key)
        assert torque.shape == (1,) and env.num_actions == 1
        assert env.action_space(None).contains(torque) and not env.action_space().contains(
            3 * torque + 9
        )


@pytest.mark.slow
def test_actions_have_one_dtype_with_and_without_64_bits(cartpole: GymnaxEnv) -> None:
    for is_wide in (False, True):
        with jax.enable_x64(is_wide):
            drawn = cartpole.action_space().sample(jax.random.key(0))
            assert drawn.dtype == np.int32 and drawn.shape == ()
