"""Gymnasium's vector API beyond parity: infos, attributes, pictures, vector wrappers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import parallel_pool
from parallel_pool._engine.actions import ActionReader
from parallel_pool._engine.pool import Pool
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.errors import ClosedError, MissingDependencyError, StateError
from tests.support.gymnasium_cases import MODES, name_of, run_python
from tests.support.same import assert_same


@pytest.fixture
def cartpoles() -> Iterator[PoolVectorEnv]:
    env = PoolVectorEnv("CartPole-v1", 3)
    yield env
    env.close()


# ----------------------------------------------------------------------------------------- infos --


class Twin(gymnasium.Env[Any, Any]):
    """One native environment as a Gymnasium environment, so that SyncVectorEnv can batch it.

    Its reward is always 0: SyncVectorEnv can't hold rewards of several players.
    """

    def __init__(self, task_id: str, **options: Any) -> None:
        self.pool = Pool(task_id, autoreset="disabled", max_episode_steps=11, options=options)
        self.observation_space = self.pool.spec.observation_space()
        self.action_space = self.pool.spec.action_space()

    def _read(self, batch: tuple[Any, ...], when: str) -> tuple[Any, dict[str, Any]]:
        rows = {c.name: array[0] for c, array in zip(self.pool.columns, batch, strict=True)}
        spec = self.pool.spec
        names = [field.name for field in spec.observations]
        observation = rows["obs"] if names == ["obs"] else {name: rows[name] for name in names}
        return observation, {f.name: rows[f.name] for f in spec.infos if getattr(f, when)}

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self._read(self.pool.reset(seed=seed, options=options), "on_reset")

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        batch = self.pool.step(np.asarray(action)[None])
        rows = {c.name: array[0] for c, array in zip(self.pool.columns, batch, strict=True)}
        observation, infos = self._read(batch, "on_step")
        return observation, 0.0, bool(rows["terminated"]), bool(rows["truncated"]), infos


@pytest.mark.quick(2)
@pytest.mark.parametrize("mode", MODES, ids=name_of)
@pytest.mark.parametrize(
    ("task_id", "options"),
    [
        ("test/Template-v0", {"length": 4}),  # an info in every row
        ("test/Heap-v0", {}),  # an info in rows of steps only
        ("test/Duel-v0", {}),  # both kinds, a Dict observation, two players
    ],
)
def test_infos_are_those_of_sync(task_id: str, options: Any, mode: AutoresetMode) -> None:
    theirs = SyncVectorEnv([lambda: Twin(task_id, **options)] * 4, autoreset_mode=mode)
    ours = PoolVectorEnv(task_id, 4, autoreset_mode=mode, max_episode_steps=11, **options)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert_same(ours.reset(seed=1), theirs.reset(seed=1), "reset")
    theirs.action_space.seed(3)
    rng = np.random.default_rng(2)
    finals = 0
    for step in range(120):
        action = theirs.action_space.sample()
        expected, actual = theirs.step(action), ours.step(action)
        for i in (0, 2, 3, 4):
            assert_same(actual[i], expected[i], f"step {step}, result {i}")
        finals += "final_info" in expected[4]
        ended = expected[2] | expected[3]
        must = ended if mode is AutoresetMode.DISABLED else np.zeros(4, np.bool_)
        if must.any() or rng.random() < 0.2:
            mask = must | (rng.random(4) < 0.4)
            mask[rng.integers(4)] = True
            options_of = [{"reset_mask": mask.copy()} for _ in range(2)]
            expected_reset = theirs.reset(options=options_of[0])
            assert_same(ours.reset(options=options_of[1]), expected_reset, f"reset at {step}")
    assert (finals > 3) is (mode is AutoresetMode.SAME_STEP)
    ours.close()


def test_results_are_the_callers_own() -> None:
    """Masks, arrays of infos and final observations may be kept and written to."""
    env = PoolVectorEnv(
        "test/Heap-v0", 3, autoreset_mode=AutoresetMode.SAME_STEP, max_episode_steps=2
    )
    env.reset(seed=1)
    _, _, _, _, first = env.step([0, 1, 2])
    first["_last"][:] = False
    _, _, _, ended, second = env.step([0, 1, 2])
    assert ended.all()
    assert "last" not in second, "rows of a reset carry no info that only steps have"
    assert second["final_info"]["_last"].all()
    kept = [row.copy() for row in second["final_obs"]]
    assert second["final_obs"][0].base is None, "a final observation keeps its batch alive"
    for _ in range(6):
        env.step([1, 1, 1])
    assert all((row == copy).all() for row, copy in zip(second["final_obs"], kept, strict=True))
    env.close()


@pytest.mark.parametrize("task_id", ["FrozenLake-v1", "Hopper-v5", "ALE/Pong-v5"])
def test_infos_that_are_written_to_change_no_later_ones(task_id: str) -> None:
    ours, twin = (PoolVectorEnv(task_id, 3, max_episode_steps=4) for _ in range(2))
    assert_same(ours.reset(seed=1), twin.reset(seed=1), "reset")
    rng = np.random.default_rng(1)
    ours.action_space.seed(1)
    for step in range(30):
        actions = ours.action_space.sample()
        found = ours.step(actions)
        assert_same(found, twin.step(actions), f"step {step}")
        assert found[4]
        for values in found[4].values():
            values[...] = rng.integers(2, size=values.shape)
    ours.close()
    twin.close()


def test_rewards_of_several_players() -> None:
    env = PoolVectorEnv("test/Duel-v0", 5)
    env.reset(seed=1)
    _, rewards, terminations, _, _ = env.step(env.action_space.sample())
    assert (rewards.shape, rewards.dtype) == ((5, 2), np.float64)
    assert terminations.shape == (5,)
    env.close()


# --------------------------------------------------------------------------------- Pool.observe --


@pytest.mark.parametrize("task_id", ["CartPole-v1", "test/Duel-v0", "Breakout-v5"])
def test_observe_returns_the_last_observation(task_id: str) -> None:
    """Pool.observe, which partial resets use, changes nothing and shares no memory."""
    pool = Pool(task_id, 3, seed=1)
    with pytest.raises(StateError, match="environment 0 is not reset"):
        pool.observe()
    pool.reset()
    actions = np.zeros((pool.num_envs, *ActionReader(pool.spec).shape), np.int64)
    for _ in range(5):
        batch = pool.step(actions)
    shown = [array.copy() for array in batch[: len(pool.spec.observations)]]
    states = pool.get_state()
    for array in batch:
        array[...] = 1
    assert_same(list(pool.observe()), shown, "all")
    assert_same(list(pool.observe([2, 0])), [array[[2, 0]] for array in shown], "some")
    pool.observe()[0][...] = 1
    assert pool.get_state() == states
    pool.step(actions)
    pool.set_state(states)
    assert_same(list(pool.observe()), shown, "after set_state")
    pool.send(actions)
    with pytest.raises(StateError, match="in flight"):
        pool.observe()
    pool.close()
    with pytest.raises(ClosedError):
        pool.observe()


# ------------------------------------------------------------------------------------ attributes --


def test_get_attr_and_call() -> None:
    env = parallel_pool.make_vec("Pendulum-v1", 2, g=9.0, render_mode="rgb_array")
    env.reset(seed=5)
    theirs = gymnasium.make_vec("Pendulum-v1", 2, vectorization_mode="sync", g=9.0)
    theirs.reset(seed=5)
    for name in ("g", "observation_space", "action_space", "np_random_seed", "metadata"):
        assert env.get_attr(name) == env.call(name) == theirs.get_attr(name), name
    assert env.get_attr("render_mode") == ("rgb_array",) * 2
    assert env.get_attr("reward_threshold") == (None,) * 2
    assert [frame.shape for frame in env.call("render")] == [(500, 500, 3)] * 2
    for name in ("reset", "step", "close"):
        with pytest.raises(ValueError, match=f"call {name} directly"):
            env.call(name)
    with pytest.raises(AttributeError, match=r"state lives in C.*g, m, l, spec"):
        env.get_attr("state")
    with pytest.raises(AttributeError, match="no such method"):
        env.call("g", 1)
    with pytest.raises(AttributeError, match="seed them by"):
        env.np_random  # noqa: B018
    env.close()
    theirs.close()


@pytest.mark.parametrize(
    ("limit", "wrappers"),
    [
        (None, []),
        (7, []),
        (-1, []),
        (None, [partial(gymnasium.wrappers.TimeLimit, max_episode_steps=9)]),
        (7, [partial(gymnasium.wrappers.TimeLimit, max_episode_steps=9)]),
    ],
    ids=str,
)
def test_the_time_limit_is_an_attribute(limit: int | None, wrappers: list[Any]) -> None:
    """That of the outermost wrapper, as Gymnasium finds it."""
    options = {} if limit is None else {"max_episode_steps": limit}
    ours = parallel_pool.make_vec("CartPole-v1", 2, wrappers=wrappers, backend="native", **options)
    theirs = gymnasium.make_vec(
        "CartPole-v1", 2, vectorization_mode="sync", wrappers=wrappers, **options
    )
    if limit == -1:
        for envs in (ours, theirs):
            with pytest.raises(AttributeError, match="_max_episode_steps"):
                envs.get_attr("_max_episode_steps")
    else:
        assert_same(*(envs.get_attr("_max_episode_steps") for envs in (ours, theirs)), "limit")
    ours.close(), theirs.close()


def test_time_limits_that_differ_are_attributes() -> None:
    limits = parallel_pool.each([3, 4])
    envs = parallel_pool.make_vec("CartPole-v1", 2, max_episode_steps=limits)
    assert envs.get_attr("_max_episode_steps") == (3, 4)
    envs.close()


def test_set_attr_is_refused_with_the_cure(cartpoles: PoolVectorEnv) -> None:
    with pytest.raises(AttributeError, match=r"give sutton_barto_reward=\.\.\. to make_vec"):
        cartpoles.set_attr("sutton_barto_reward", True)
    with pytest.raises(AttributeError, match=r'fixed .*backend="process"'):
        cartpoles.set_attr("force_mag", [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="2 values for 3"):
        cartpoles.set_attr("sutton_barto_reward", [True, False])


def test_attributes_of_a_vector_env(cartpoles: PoolVectorEnv) -> None:
    assert isinstance(cartpoles, gymnasium.vector.VectorEnv)
    assert not isinstance(cartpoles, gymnasium.Env)
    assert cartpoles.unwrapped is cartpoles
    assert repr(cartpoles) == "NativeVectorEnv(CartPole-v1, num_envs=3)"
    assert cartpoles.single_action_space.seed(3) == 3
    assert cartpoles.render_mode is None
    assert cartpoles.metadata is not PoolVectorEnv("CartPole-v1").metadata
    cartpoles.metadata["render_modes"].clear()
    reference = gymnasium.make("CartPole-v1")
    assert reference.metadata["render_modes"], "metadata must be a copy of Gymnasium's"
    reference.close()


def test_render_without_a_mode_warns(cartpoles: PoolVectorEnv) -> None:
    cartpoles.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert cartpoles.render() == (None,) * 3


# -------------------------------------------------------------------------------------- pictures --


def test_pictures_drawn_in_c() -> None:
    env = PoolVectorEnv("test/Template-v0", 2, render_mode="rgb_array")
    env.reset(seed=1)
    frames = env.render()
    assert len(frames) == 2
    assert (np.stack(frames) == env.pool.render()).all()
    env.close()
    env = PoolVectorEnv("test/Template-v0", 2, render_mode="rgb_array_list")
    env.reset(seed=1)
    env.step([1, 0])
    assert [len(frames) for frames in env.render()] == [2, 2]
    assert [len(frames) for frames in env.render()] == [0, 0]
    env.close()


def test_pictures_without_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = PoolVectorEnv("CartPole-v1", 2, render_mode="rgb_array")
    env.reset(seed=1)
    with pytest.raises(MissingDependencyError, match="pip install"):
        env.render()
    env.step([0, 1])
    env.close()


@pytest.mark.slow
def test_window_shows_steps() -> None:
    """Runs in its own process: SDL chooses its driver once."""
    printed = run_python(
        """
        import os
        os.environ["SDL_VIDEODRIVER"] = "dummy"
        import pygame, parallel_pool
        env = parallel_pool.make_vec("CartPole-v1", 2, render_mode="human")
        env.reset(seed=1)
        first = pygame.surfarray.array3d(pygame.display.get_surface()).copy()
        for _ in range(5):
            env.step([1, 1])
        last = pygame.surfarray.array3d(pygame.display.get_surface())
        print(env.render(), first.shape, bool((first != last).any()))
        env.close()
        """
    )
    assert printed.splitlines()[-1] == "(None, None) (600, 400, 3) True"


# ------------------------------------------------------------------------------- vector wrappers --

WRAPPERS: dict[str, Any] = {
    "RecordEpisodeStatistics": lambda env: wrappers.vector.RecordEpisodeStatistics(env),
    "NormalizeObservation": lambda env: wrappers.vector.NormalizeObservation(env),
    "NormalizeReward": lambda env: wrappers.vector.NormalizeReward(env),
    "ClipReward": lambda env: wrappers.vector.ClipReward(env, -1.0, 0.5),
    "ClipAction": lambda env: wrappers.vector.ClipAction(env),
    "RescaleAction": lambda env: wrappers.vector.RescaleAction(env, -1.0, 1.0),
    "RescaleObservation": lambda env: wrappers.vector.RescaleObservation(env, -1.0, 1.0),
    "FlattenObservation": lambda env: wrappers.vector.FlattenObservation(env),
    "DtypeObservation": lambda env: wrappers.vector.DtypeObservation(env, np.float64),
    "DictInfoToList": lambda env: wrappers.vector.DictInfoToList(
        wrappers.vector.RecordEpisodeStatistics(env)
    ),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_vector_wrappers(name: str) -> None:
    """Each returns the same with our environments as with Gymnasium's."""
    wrap = WRAPPERS[name]
    ours, theirs = (
        wrap(gymnasium.make_vec("Pendulum-v1", 3, mode, max_episode_steps=8))
        for mode in ("parallel_pool", "sync")
    )
    theirs.action_space.seed(4)
    assert_same(ours.reset(seed=9)[0], theirs.reset(seed=9)[0], "reset")
    for step in range(25):
        actions = theirs.action_space.sample()
        actual, expected = ours.step(actions), theirs.step(actions)
        for i in range(4):
            assert_same(actual[i], expected[i], f"step {step}, result {i}")
        assert len(actual[4]) == len(expected[4])
    if name == "RecordEpisodeStatistics":
        assert ours.return_queue == theirs.return_queue
        assert len(ours.return_queue) > 3
    ours.close()
    theirs.close()


def test_observation_wrappers_refuse_same_step() -> None:
    """As with SyncVectorEnv: the mode is read from metadata."""
    env = PoolVectorEnv("CartPole-v1", 2, autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(ValueError, match="SAME_STEP"):
        wrappers.vector.NormalizeObservation(env)
    env.close()
