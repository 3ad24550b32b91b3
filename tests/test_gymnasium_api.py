"""The Gymnasium face beyond parity: infos, misuse, attributes, the hook into make_vec."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.envs import registration
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import AlreadyPendingCallError, ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import parallel_pool
from parallel_pool.compat import gymnasium_hook as hook
from parallel_pool.compat import gymnasium_ids
from parallel_pool.compat.gymnasium import NotResetError, PoolVectorEnv
from parallel_pool.errors import ClosedError, EnvError, MissingDependencyError, StateError
from parallel_pool.pool import Pool
from tests.same import assert_same

MODES = list(AutoresetMode)


def name_of(mode: AutoresetMode) -> str:
    return mode.name


@pytest.fixture
def cartpoles() -> Iterator[PoolVectorEnv]:
    env = PoolVectorEnv("CartPole-v1", 3)
    yield env
    env.close()


def run_python(script: str) -> str:
    """Runs a script in a fresh interpreter and returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ------------------------------------------------------------------------------------- infos --


class Twin(gymnasium.Env[Any, Any]):
    """One native environment as a Gymnasium environment, for SyncVectorEnv to make batches of.

    Rewards of several players are left out: SyncVectorEnv has no room for them.
    """

    def __init__(self, env_id: str, **options: Any) -> None:
        self.pool = Pool(env_id, autoreset="disabled", max_episode_steps=11, options=options)
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


@pytest.mark.parametrize("mode", MODES, ids=name_of)
@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        ("test/Template-v0", {"length": 4}),  # an info with every row
        ("test/Heap-v0", {}),  # one with steps only
        ("test/Duel-v0", {}),  # both, a Dict observation, two players
    ],
)
def test_infos_are_those_of_sync(env_id: str, options: Any, mode: AutoresetMode) -> None:
    theirs = SyncVectorEnv([lambda: Twin(env_id, **options)] * 4, autoreset_mode=mode)
    ours = PoolVectorEnv(env_id, 4, autoreset_mode=mode, max_episode_steps=11, **options)
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
    assert second["final_obs"][0].base is None, "to keep one is not to keep its whole batch"
    for _ in range(6):
        env.step([1, 1, 1])
    assert all((row == copy).all() for row, copy in zip(second["final_obs"], kept, strict=True))
    env.close()


def test_rewards_of_several_players() -> None:
    env = PoolVectorEnv("test/Duel-v0", 5)
    env.reset(seed=1)
    _, rewards, terminations, _, _ = env.step(env.action_space.sample())
    assert (rewards.shape, rewards.dtype) == ((5, 2), np.float64)
    assert terminations.shape == (5,)
    env.close()


# ---------------------------------------------------------------------------- wrong arguments --


@pytest.mark.parametrize("mask", [[True, False, True], (True,) * 3, True, None])
def test_mask_that_is_no_array(cartpoles: PoolVectorEnv, mask: Any) -> None:
    cartpoles.reset()
    with pytest.raises(TypeError, match="reset_mask"):
        cartpoles.reset(options={"reset_mask": mask})


@pytest.mark.parametrize(
    ("mask", "kind"),
    [
        (np.ones(4, np.bool_), ValueError),
        (np.ones((3, 1), np.bool_), ValueError),
        (np.ones(3, np.int8), TypeError),
        (np.zeros(3, np.bool_), ValueError),
        (np.ones(3), TypeError),
    ],
)
def test_mask_that_is_wrong(cartpoles: PoolVectorEnv, mask: Any, kind: type[Exception]) -> None:
    cartpoles.reset(seed=1)
    theirs = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="sync")
    theirs.reset(seed=1)
    said = []
    for env in (theirs, cartpoles):
        with pytest.raises(kind, match="reset_mask") as refused:
            env.reset(options={"reset_mask": mask})
        said.append(str(refused.value))
    # and the cure after that
    assert said[1].startswith(said[0])
    # and nothing has happened
    actions = np.array([0, 1, 0])
    assert_same(cartpoles.step(actions), theirs.step(actions), "step")
    theirs.close()


def test_masks_of_masked_arrays_are_not_overlooked(cartpoles: PoolVectorEnv) -> None:
    cartpoles.reset()
    options = {"reset_mask": np.ma.masked_array([True, False, True], [True, False, False])}
    with pytest.raises(TypeError, match=r"got a masked array .*filled"):
        cartpoles.reset(options=options)
    assert "reset_mask" in options


@pytest.mark.parametrize("options", [3, "abc", ["reset_mask"], True, np.ones(3, np.bool_)])
def test_reset_options_that_are_no_dict(cartpoles: PoolVectorEnv, options: Any) -> None:
    with pytest.raises(TypeError, match=rf"options=.* is a {type(options).__name__}: give a dict"):
        cartpoles.reset(options=options)


def test_functions_have_gymnasiums_name() -> None:
    env = PoolVectorEnv(env_fns=[lambda: gymnasium.make("CartPole-v1")] * 2, num_workers=1)
    assert (env.backend, env.num_envs) == ("process", 2)
    env.close()
    with pytest.raises(TypeError, match="env and env_fns are both given"):
        PoolVectorEnv("CartPole-v1", env_fns=[lambda: gymnasium.make("CartPole-v1")])
    with pytest.raises(TypeError, match="give an id, an EnvSpec, or functions"):
        PoolVectorEnv(num_envs=3)


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        (-1, ValueError),
        ([1, -2, 3], ValueError),
        (np.int64(-5), ValueError),
        ([1, 2], ValueError),
        (np.arange(4), ValueError),
        (1.5, TypeError),
        ("12", TypeError),
        ([1, 2.0, 3], TypeError),
        (True, TypeError),
    ],
)
def test_wrong_seeds(cartpoles: PoolVectorEnv, seed: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="seed"):
        cartpoles.reset(seed=seed)
    cartpoles.reset(seed=1)


@pytest.mark.parametrize(
    ("actions", "kind"),
    [
        ([0, 1, 2], ValueError),
        ([0, 1, -1], ValueError),
        ([0, 1], ValueError),
        ([0, 1, 0, 1], ValueError),
        (1, TypeError),
        (np.zeros((3, 1), np.int64), ValueError),
        ([0.0, 1.0, 0.0], TypeError),
        (np.array([True, False, True]), TypeError),
        (None, (TypeError, ValueError)),
    ],
)
def test_wrong_actions(cartpoles: PoolVectorEnv, actions: Any, kind: Any) -> None:
    cartpoles.reset(seed=1)
    before = cartpoles.pool.get_state()
    with pytest.raises(kind, match="action"):
        cartpoles.step(actions)
    assert cartpoles.pool.get_state() == before
    cartpoles.step([0, 1, 0])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_box_actions_that_are_no_numbers(wrong: float) -> None:
    env = PoolVectorEnv("Pendulum-v1", 2)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="action"):
        env.step(np.array([[0.0], [wrong]], np.float32))
    env.close()


def test_wrong_options(cartpoles: PoolVectorEnv) -> None:
    with pytest.raises(TypeError, match="no option heigh"):
        PoolVectorEnv("CartPole-v1", 3, heigh=1)
    with pytest.raises(TypeError, match="sutton_barto_reward=1"):
        PoolVectorEnv("CartPole-v1", 3, sutton_barto_reward=1)
    with pytest.raises(TypeError, match="x_init"):
        cartpoles.reset(options={"x_init": 1.0})
    with pytest.raises(ValueError, match="low"):
        cartpoles.reset(options={"low": 1.0, "high": 0.0})
    with pytest.raises(ValueError, match=r"AutoresetMode\.SAME_STEP"):
        PoolVectorEnv("CartPole-v1", 3, autoreset_mode="same_step")
    with pytest.raises(ValueError, match="observation_mode"):
        PoolVectorEnv("CartPole-v1", 3, observation_mode="other")
    with pytest.raises(ValueError, match="max_episode_steps=0"):
        PoolVectorEnv("CartPole-v1", 3, max_episode_steps=0)
    with pytest.raises(ValueError, match="num_envs=0"):
        PoolVectorEnv("CartPole-v1", 0)
    with pytest.raises(ValueError, match="render_mode='ansi'"):
        PoolVectorEnv("CartPole-v1", 3, render_mode="ansi")
    with pytest.raises(ValueError, match="render_mode='human'"):
        PoolVectorEnv("test/Template-v0", 3, render_mode="human")


def test_autoreset_mode_by_value() -> None:
    env = PoolVectorEnv("CartPole-v1", autoreset_mode="SameStep")
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert env.num_envs == 1
    env.close()


def test_observation_modes() -> None:
    space = spaces.Box(-9, 9, (4,), np.float32)
    batched = spaces.Box(-9, 9, (2, 4), np.float32)
    env = PoolVectorEnv("CartPole-v1", 2, observation_mode=(batched, space), copy=False)
    assert env.observation_space is batched
    assert env.single_observation_space is space
    env.close()
    env = PoolVectorEnv("CartPole-v1", 2, observation_mode="different")
    assert env.observation_space == PoolVectorEnv("CartPole-v1", 2).observation_space
    env.close()


# -------------------------------------------------------------------------------- wrong moment --


@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_step_and_render_before_reset(mode: AutoresetMode) -> None:
    env = PoolVectorEnv("CartPole-v1", 2, autoreset_mode=mode, render_mode="rgb_array")
    for _ in range(2):
        with pytest.raises(ResetNeeded):
            env.step([0, 1])
        with pytest.raises(ResetNeeded):
            env.render()
        with pytest.raises(NotResetError, match="environment 1 was never reset"):
            env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(options={"reset_mask": np.array([True, True])})
    env.step([0, 1])
    env.close()


def test_step_after_the_end_of_an_episode_without_autoreset() -> None:
    kwargs = {"autoreset_mode": AutoresetMode.DISABLED}
    theirs = gymnasium.make_vec(
        "CartPole-v1", 2, vectorization_mode="sync", vector_kwargs=kwargs, max_episode_steps=1
    )
    ours = parallel_pool.make_vec("CartPole-v1", 2, vector_kwargs=kwargs, max_episode_steps=1)
    for env in (theirs, ours):
        env.reset(seed=4)
        env.step(np.array([0, 1]))
        # what SyncVectorEnv raises is an AssertionError, so it must be ours too
        with pytest.raises(AssertionError):
            env.step(np.array([0, 1]))
    with pytest.raises(NotResetError, match=r"environment 0 has ended.*reset_mask"):
        ours.step([0, 1])
    ours.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded, match="environment 1 has ended"):
        ours.step([0, 1])
    ours.reset(options={"reset_mask": np.array([False, True])})
    ours.step([0, 1])
    ours.close()
    theirs.close()


def test_closed() -> None:
    env = PoolVectorEnv("CartPole-v1", 2)
    observations, _ = env.reset(seed=1)
    kept = observations.copy()
    env.close(timeout=1.0)
    env.close()
    assert env.closed
    for use in (lambda: env.step([0, 1]), env.reset, env.pool.get_state):
        with pytest.raises(ClosedError):
            use()
    assert (observations == kept).all()


@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_dropped_without_close(mode: AutoresetMode) -> None:
    """The threads end at once: nothing waits for the garbage collector."""
    env = PoolVectorEnv("CartPole-v1", 2, autoreset_mode=mode)
    env.reset(seed=1)
    results = env.step([0, 1])
    pool = weakref.ref(env.pool)
    gc.disable()
    try:
        del env
        assert pool() is None
    finally:
        gc.enable()
    assert results[1].tolist() == [1, 1]


def test_close_after_a_constructor_that_failed() -> None:
    env = PoolVectorEnv.__new__(PoolVectorEnv)
    with pytest.raises(TypeError):
        env.__init__("CartPole-v1", 2, heigh=1)  # type: ignore[misc]
    env.close()


@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_failure_of_one_environment(mode: AutoresetMode) -> None:
    """The exception names it; then it starts again, with the infos of a reset."""
    env = PoolVectorEnv(
        "test/Fault-v0", 3, autoreset_mode=mode, fail_on="step", fail_at_step=2, fail_env=1
    )
    env.reset(seed=1)
    env.step([0, 1, 0])
    with pytest.raises(EnvError, match="environment 1 failed: told to fail") as caught:
        env.step([0, 1, 0])
    assert caught.value.env_ids == (1,)
    if mode is AutoresetMode.DISABLED:
        with pytest.raises(NotResetError, match="environment 1 is not reset"):
            env.step([0, 1, 1])
        env.reset(options={"reset_mask": np.array([False, True, False])})
    _, rewards, _, _, infos = env.step([1, 1, 1])
    # elsewhere the step after a failure is a reset
    assert rewards.tolist() == [1, 1 if mode is AutoresetMode.DISABLED else 0, 1]
    assert infos["_count"].all()
    env.close()


def test_failure_in_an_environment_whose_infos_come_with_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a failure the next row is a reset's, and an info of steps is masked out."""
    env = PoolVectorEnv("test/Heap-v0", 2)
    env.reset(seed=1)
    batch = env.pool.step([0, 1])
    error = EnvError("made up", (1,), batch)

    def fail(*_: Any) -> Any:
        # what the engine leaves behind: the environment starts again at its next step
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(env.pool, "step", fail)
        with pytest.raises(EnvError):
            env.step([0, 1])
    *_, infos = env.step([0, 1])
    assert infos["_last"].tolist() == [True, False]
    env.close()


def test_interrupted_step_is_made_up_for() -> None:
    """What Ctrl-C leaves in flight is in nobody's way: the next reset drops it."""
    theirs = gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync")
    env = PoolVectorEnv("CartPole-v1", 2)
    env.reset(seed=1)
    env.pool.send([0, 1])
    with pytest.raises(StateError, match=r"interrupted.*call reset\(\)") as refused:
        env.step([0, 1])
    assert isinstance(refused.value, AlreadyPendingCallError)
    theirs.reset(seed=1)
    theirs.step(np.array([0, 1]))
    only_second = np.array([False, True])
    expected = theirs.reset(seed=5, options={"reset_mask": only_second.copy()})
    assert_same(env.reset(seed=5, options={"reset_mask": only_second}), expected, "reset")
    assert_same(env.step([1, 1]), theirs.step(np.array([1, 1])), "step")
    env.close()
    theirs.close()


# ------------------------------------------------------------------------- looking at rest --


@pytest.mark.parametrize("env_id", ["CartPole-v1", "test/Duel-v0", "Breakout-v5"])
def test_observe_shows_what_was_shown_last(env_id: str) -> None:
    """Partial resets stand on Pool.observe: it changes nothing and shares nothing."""
    pool = Pool(env_id, 3, seed=1)
    with pytest.raises(StateError, match="environment 0 is not reset"):
        pool.observe()
    pool.reset()
    actions = np.zeros((pool.num_envs, *pool._reader.shape), np.int64)
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


# ---------------------------------------------------------------------------------- attributes --


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
    with pytest.raises(AttributeError, match=r"state lives in C.*g, spec"):
        env.get_attr("state")
    with pytest.raises(AttributeError, match="no such method"):
        env.call("g", 1)
    with pytest.raises(AttributeError, match="seed them by"):
        env.np_random  # noqa: B018
    env.close()
    theirs.close()


def test_set_attr_says_why_not(cartpoles: PoolVectorEnv) -> None:
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
    assert repr(cartpoles) == "PoolVectorEnv(CartPole-v1, num_envs=3)"
    assert cartpoles.single_action_space.seed(3) == 3
    assert cartpoles.render_mode is None
    assert cartpoles.metadata is not PoolVectorEnv("CartPole-v1").metadata
    cartpoles.metadata["render_modes"].clear()
    reference = gymnasium.make("CartPole-v1")
    assert reference.metadata["render_modes"], "our copy is not Gymnasium's own"
    reference.close()


def test_render_without_a_mode(cartpoles: PoolVectorEnv) -> None:
    cartpoles.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert cartpoles.render() == (None,) * 3


# ------------------------------------------------------------------------------------ pictures --


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


def test_window() -> None:
    """In a process of its own, as SDL's driver is chosen once."""
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


# ------------------------------------------------------------------------------- ids and specs --


def test_environment_functions_go_to_processes() -> None:
    env = PoolVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2, context="fork")
    try:
        assert isinstance(env, PoolVectorEnv)
        assert (env.backend, env.num_envs) == ("process", 2)
    finally:
        env.close()
    with pytest.raises(TypeError, match="int"):
        PoolVectorEnv(3)  # type: ignore[arg-type]


def test_specs_make_the_same_again() -> None:
    made = parallel_pool.make_vec(
        "Pendulum-v1",
        3,
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP, "num_threads": 1},
        g=3.0,
        max_episode_steps=7,
    )
    direct = PoolVectorEnv(
        "Pendulum-v1",
        3,
        autoreset_mode=AutoresetMode.SAME_STEP,
        num_threads=1,
        g=3.0,
        max_episode_steps=7,
    )
    assert made.spec == direct.spec
    single = parallel_pool.make_vec("CartPole-v1")
    assert single.spec is not None
    assert single.spec.kwargs == {"vectorization_mode": "parallel_pool"}, "as in Gymnasium"
    for again in (gymnasium.make_vec(made.spec), PoolVectorEnv(made.spec)):
        assert isinstance(again, PoolVectorEnv)
        assert again.spec == made.spec
        assert again.num_envs == 3
        assert again.autoreset_mode is AutoresetMode.SAME_STEP
        assert again.pool.num_threads == 1
        assert again.pool.max_episode_steps == 7
        assert again.get_attr("g") == (3.0,) * 3
        again.close()


def test_spec_from_json_of_a_registered_id() -> None:
    env = gymnasium.make_vec("parallel_pool/CartPole-v1", 2, sutton_barto_reward=True)
    again = gymnasium.make_vec(EnvSpec.from_json(env.spec.to_json()))
    assert again.spec == env.spec
    assert again.get_attr("sutton_barto_reward") == (True, True)
    # the pool's own options stand among the others, as Gymnasium refuses vector_kwargs here
    env = gymnasium.make_vec(
        "parallel_pool/CartPole-v1", 2, num_threads=1, autoreset_mode=AutoresetMode.DISABLED
    )
    assert env.pool.num_threads == 1
    assert env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    # and with the mode by name
    env = gymnasium.make_vec("parallel_pool/CartPole-v1", 2, vectorization_mode="parallel_pool")
    assert isinstance(env, PoolVectorEnv)


def test_spec_of_the_callers_own() -> None:
    spec = gymnasium.spec("CartPole-v1")
    own = EnvSpec(
        "CartPole-v1", spec.entry_point, max_episode_steps=5, kwargs={"sutton_barto_reward": True}
    )
    env = PoolVectorEnv(own, 2)
    assert env.pool.max_episode_steps == 5
    assert env.get_attr("sutton_barto_reward") == (True, True)
    assert own.kwargs == {"sutton_barto_reward": True}, "the caller's spec is left alone"
    env = gymnasium.make_vec(own, 2, vectorization_mode="parallel_pool", max_episode_steps=-1)
    assert env.pool.max_episode_steps is None
    unlimited = EnvSpec("CartPole-v1", spec.entry_point)
    assert PoolVectorEnv(unlimited).pool.max_episode_steps is None


def test_spec_of_other_code_is_not_replaced() -> None:
    spec = EnvSpec("CartPole-v1", entry_point="somewhere.else:CartPole")
    with pytest.raises(ValueError, match=r"entry_point='somewhere\.else:CartPole'"):
        PoolVectorEnv(spec, 2, backend="native")


def test_wrappers_of_python_are_not_native() -> None:
    add_time = wrappers.TimeAwareObservation
    native = {"backend": "native"}
    with pytest.raises(ValueError, match=r"TimeAwareObservation"):
        gymnasium.make_vec(
            "CartPole-v1",
            2,
            vectorization_mode="parallel_pool",
            vector_kwargs=native,
            wrappers=[add_time],
        )
    wrapped = add_time(gymnasium.make("CartPole-v1")).spec
    with pytest.raises(ValueError, match=r"TimeAwareObservation"):
        gymnasium.make_vec(wrapped, 2, vectorization_mode="parallel_pool", vector_kwargs=native)
    gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="parallel_pool", wrappers=[]).close()


def test_ids_nobody_has() -> None:
    with pytest.raises(gymnasium.error.NameNotFound, match="CartPool"):
        gymnasium.make_vec("CartPool-v1", 2, vectorization_mode="parallel_pool")
    with pytest.raises(gymnasium.error.VersionNotFound):
        PoolVectorEnv("CartPole-v7", 2)
    with pytest.raises(ValueError, match="Blackjack-v1 has no native environment"):
        PoolVectorEnv("Blackjack-v1", 2, backend="native")


def test_id_without_a_version() -> None:
    with pytest.warns(UserWarning, match="latest"):
        env = gymnasium.make_vec("CartPole", 2, vectorization_mode="parallel_pool")
    assert env.spec.id == "CartPole-v1"
    with pytest.warns(DeprecationWarning, match="out of date"):
        PoolVectorEnv("CartPole-v0", 2).close()


# ---------------------------------------------------------------------------- hook in make_vec --


@pytest.mark.parametrize(
    "imports",
    [
        "import parallel_pool, gymnasium",
        "import gymnasium, parallel_pool",
        "import parallel_pool, importlib; importlib.reload(parallel_pool); import gymnasium",
        # any module of ours may be the one that imports Gymnasium first
        "from parallel_pool import make_vec; import gymnasium",
        "import parallel_pool.compat.gymnasium, gymnasium",
        "import parallel_pool.compat.env_specs, gymnasium",
        "import parallel_pool as p; p.Pool('CartPole-v1').spec.action_space(); import gymnasium",
    ],
)
def test_hook_whoever_is_imported_first(imports: str) -> None:
    printed = run_python(
        f"""
        {imports}
        from gymnasium.envs import registration
        for make_vec in (gymnasium.make_vec, registration.make_vec):
            print(make_vec("CartPole-v1", num_envs=2, vectorization_mode="parallel_pool"))
        """
    )
    assert printed.split("\n") == ["PoolVectorEnv(CartPole-v1, num_envs=2)"] * 2


def test_import_of_gymnasium_looks_as_ever() -> None:
    printed = run_python(
        """
        import sys
        before = list(sys.meta_path)
        import parallel_pool
        assert "gymnasium" not in sys.modules
        import gymnasium, inspect, importlib.resources
        assert sys.meta_path == before
        assert "make_vec" in inspect.getsource(gymnasium)
        assert "exec_module" not in vars(gymnasium.__spec__.loader)
        assert importlib.resources.files(gymnasium).joinpath("py.typed").is_file()
        print(inspect.signature(gymnasium.make_vec).parameters.keys())
        """
    )
    assert "vectorization_mode" in printed


def test_function_bound_before_the_import_stays_as_it_was() -> None:
    printed = run_python(
        """
        from gymnasium import make_vec
        import parallel_pool
        try:
            make_vec("CartPole-v1", vectorization_mode="parallel_pool")
        except ValueError as error:
            print(error)
        print(make_vec("parallel_pool/CartPole-v1", num_envs=2))
        """
    )
    refused, made = printed.split("\n")
    assert "Invalid vectorization mode" in refused
    assert made == "PoolVectorEnv(parallel_pool/CartPole-v1, num_envs=2)"


def test_gymnasium_alone_finds_the_ids() -> None:
    printed = run_python(
        """
        import gymnasium
        print(gymnasium.make_vec("parallel_pool:parallel_pool/CartPole-v1", num_envs=8))
        """
    )
    assert printed == "PoolVectorEnv(parallel_pool/CartPole-v1, num_envs=8)"


def test_hook_can_be_taken_back_and_put_in_twice() -> None:
    wrapped = gymnasium.make_vec
    hook.install()
    assert gymnasium.make_vec is wrapped
    try:
        hook.uninstall()
        hook.uninstall()
        assert gymnasium.make_vec is registration.make_vec
        assert gymnasium.make_vec is not wrapped
        assert "parallel_pool/CartPole-v1" not in gymnasium.registry
        with pytest.raises(ValueError, match="Invalid vectorization mode"):
            gymnasium.make_vec("CartPole-v1", vectorization_mode="parallel_pool")
        # our own short form needs no hook
        assert parallel_pool.make_vec("CartPole-v1", 2).num_envs == 2
    finally:
        hook.install()
    assert "parallel_pool/CartPole-v1" in gymnasium.registry
    gymnasium.make_vec("CartPole-v1", vectorization_mode="parallel_pool").close()


def test_other_modes_are_left_alone() -> None:
    assert type(gymnasium.make_vec("CartPole-v1", 2, "sync")) is SyncVectorEnv
    assert type(gymnasium.make_vec("MountainCar-v0", 2)) is SyncVectorEnv
    assert "CartPoleVectorEnv" in type(gymnasium.make_vec("CartPole-v1", 2)).__name__
    with pytest.raises(ValueError, match="Invalid vectorization mode: 'other'"):
        gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="other")


def test_every_native_id_is_registered() -> None:
    for native_id, definition in parallel_pool.registry.builtin().items():
        # what one face alone makes is no id of anybody's
        if native_id.startswith("_"):
            assert gymnasium_ids.registered_id(native_id) not in gymnasium.registry
            continue
        spec = gymnasium.spec(gymnasium_ids.registered_id(native_id))
        assert spec.max_episode_steps == definition.max_episode_steps
        assert spec.reward_threshold == definition.reward_threshold
        assert spec.entry_point is None
    with pytest.raises(AttributeError):
        from parallel_pool.compat import entry_points

        entry_points.__wrapped__  # noqa: B018


# --------------------------------------------------------------------------- vector wrappers --

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
    """Each gives over our environments what it gives over Gymnasium's."""
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
    """As over SyncVectorEnv: the mode is read from metadata."""
    env = PoolVectorEnv("CartPole-v1", 2, autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(ValueError, match="SAME_STEP"):
        wrappers.vector.NormalizeObservation(env)
    env.close()
