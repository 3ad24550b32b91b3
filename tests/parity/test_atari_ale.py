"""ALE/<Game>-v5 and its older ids equal ale-py's AtariEnv in Gymnasium's SyncVectorEnv, bit by bit.

This includes AtariEnv inside AtariPreprocessing and FrameStackObservation.
"""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers import (
    AtariPreprocessing,
    ClipReward,
    FrameStackObservation,
    OrderEnforcing,
    RecordEpisodeStatistics,
    TimeLimit,
)

from parallel_pool._apis.common import ale_ids
from parallel_pool._apis.common.warn_once import warn_once
from parallel_pool._apis.gymnasium import backends
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool._families import atari
from tests.support.pairs import pair
from tests.support.same import assert_same
from tests.support.sampling import sampled

pytestmark = pytest.mark.proven("csrc/envs/atari")

# importing ale_py registers its environments, which linters cannot see
assert ale_py.__version__
GAMES = sorted(each.id for each in ale_ids.by_game().values() if each.id in gymnasium.registry)


@dataclass(frozen=True)
class Case:
    """An environment, how its episodes restart, and how many steps to play."""

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    mode: AutoresetMode = AutoresetMode.NEXT_STEP
    steps: int = 300
    wrappers: Sequence[Any] = ()
    # the number of episodes that must end, so that their resets are compared too
    ends: int = 0

    def __str__(self) -> str:
        names = [getattr(each, "func", each).__name__ for each in self.wrappers]
        parts = [f"{name}={value}" for name, value in self.kwargs.items()]
        return "-".join([self.id, *parts, *names, self.mode.name])


SAME, DISABLED = AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
SHORT = {"max_num_frames_per_episode": 101}

CASES = [
    Case("ALE/Pong-v5"),
    Case("ALE/Breakout-v5", {"repeat_action_probability": 0.0}, SAME, ends=2),
    Case("ALE/Breakout-v5", {"frameskip": 1, "max_num_frames_per_episode": 31}, DISABLED, ends=10),
    Case("ALE/SpaceInvaders-v5", {"obs_type": "ram", "frameskip": (2, 5)}),
    Case("ALE/Qbert-v5", {"obs_type": "grayscale", **SHORT}, SAME, ends=10),
    # PAL, 250 lines, and a mode
    Case("ALE/Adventure-v5", {"full_action_space": True, **SHORT}, ends=10),
    Case("ALE/Pong-v5", {"mode": 1, "difficulty": 2}),
    Case("ALE/Breakout-v5", {"mode": 8, "difficulty": 1, "obs_type": "ram", **SHORT}, ends=10),
    # continuous actions that turn a paddle by degrees, and others that only choose directions
    Case("ALE/Breakout-v5", {"continuous": True, "repeat_action_probability": 0.5}),
    Case("ALE/MsPacman-v5", {"continuous": True, "continuous_action_threshold": 0.3, **SHORT}),
    Case("SpaceInvaders-v0", {"max_num_frames_per_episode": None}),
    Case("Seaquest-v4", {"obs_type": "ram"}),
    Case("MontezumaRevengeNoFrameskip-v0", {"render_mode": "rgb_array"}, steps=100),
    Case("PongNoFrameskip-v4", {"max_episode_steps": 30}, ends=10),
]

PICTURES, STACK = AtariPreprocessing, partial(FrameStackObservation, stack_size=4)
ONE = {"frameskip": 1}
PREPROCESSED = [
    Case("ALE/Pong-v5", ONE, wrappers=[PICTURES, STACK]),
    Case(
        "BreakoutNoFrameskip-v4",
        mode=SAME,
        wrappers=[
            OrderEnforcing,
            partial(AtariPreprocessing, terminal_on_life_loss=True, noop_max=10),
            RecordEpisodeStatistics,
            partial(ClipReward, min_reward=-1, max_reward=1),
            partial(FrameStackObservation, stack_size=3, padding_type="zero"),
        ],
        ends=6,
    ),
    # episodes that end within a step, at its last frame or before
    Case(
        "ALE/Breakout-v5",
        {**ONE, "max_num_frames_per_episode": 49},
        wrappers=[partial(AtariPreprocessing, frame_skip=7, scale_obs=True), STACK],
        ends=60,
    ),
    Case(
        "ALE/SpaceInvaders-v5",
        {**ONE, "max_num_frames_per_episode": 40},
        wrappers=[partial(AtariPreprocessing, grayscale_obs=False, frame_skip=2, noop_max=9)],
        ends=20,
    ),
    # and within the no-op steps of a reset, which then resets again with the same seed
    Case(
        "ALE/SpaceInvaders-v5",
        {"frameskip": (2, 5), "max_num_frames_per_episode": 60},
        wrappers=[partial(AtariPreprocessing, frame_skip=1, grayscale_newaxis=True)],
        ends=10,
    ),
    # sizes that are larger, equal and not square; a time limit around the frame skip
    Case(
        "ALE/Adventure-v5",
        ONE,
        mode=DISABLED,
        wrappers=[
            partial(AtariPreprocessing, screen_size=(160, 250), grayscale_obs=False),
            partial(TimeLimit, max_episode_steps=9),
        ],
        ends=10,
        steps=100,
    ),
    Case(
        "ALE/Qbert-v5",
        {**ONE, "obs_type": "grayscale"},
        wrappers=[partial(AtariPreprocessing, screen_size=(60, 300), scale_obs=True, noop_max=0)],
        steps=100,
    ),
]


SAMPLED = {"ALE/Adventure-v5"}


def play(theirs: VectorEnv, ours: VectorEnv, case: Case) -> int:
    """Plays both with the same actions; returns the number of episodes that ended."""
    theirs.action_space.seed(3)
    ends = 0
    for step in range(case.steps):
        if step in (case.steps // 3, case.steps // 2):
            # with seeds, and without: then the console keeps the state that earlier games left
            seed = None if step == case.steps // 3 else [None, 2**33]
            assert_same(ours.reset(seed=seed), theirs.reset(seed=seed), f"reset at {step}")
        action = theirs.action_space.sample()
        expected = theirs.step(action)
        assert_same(without_time(ours.step(action)), without_time(expected), f"step {step}")
        ended = expected[2] | expected[3]
        ends += int(ended.sum())
        if case.mode is DISABLED and ended.any():
            masks = [{"reset_mask": ended.copy()} for _ in range(2)]
            again = theirs.reset(options=masks[0])
            assert_same(ours.reset(options=masks[1]), again, f"reset at {step}")
    return ends


def without_time(result: Any) -> Any:
    """Returns the results of a step, without the duration of an episode."""
    for infos in (result[4], result[4].get("final_info", {})):
        infos.get("episode", {}).pop("t", None)
        infos.get("episode", {}).pop("_t", None)
    return result


@pytest.mark.parametrize("case", sampled([*CASES, *PREPROCESSED], ()), ids=str)
def test_run_is_the_same(case: Case) -> None:
    vector_kwargs = {"autoreset_mode": case.mode}
    with pair(case.id, 2, wrappers=case.wrappers, vector_kwargs=vector_kwargs, **case.kwargs) as (
        theirs,
        ours,
    ):
        assert ours.single_observation_space == theirs.single_observation_space
        assert ours.single_action_space == theirs.single_action_space
        assert ours.metadata == theirs.metadata
        assert_same(ours.reset(seed=11), theirs.reset(seed=11), "reset")
        assert play(theirs, ours, case) >= case.ends
        if case.kwargs.get("render_mode"):
            assert_same(ours.render(), theirs.render(), "render")


# a third of the games: what differs between games is compared for all in test_atari_proofs.py
@pytest.mark.parametrize("id", sampled(sorted({*GAMES[::3], *SAMPLED}), SAMPLED))
def test_games_are_the_same(id: str) -> None:
    """For a hundred frames; games that are not proven must run on ale_py."""
    game = registry.find(id).variant
    if atari.reason(game, atari.read_rom(game)) is not None:
        with pytest.warns(UserWarning, match="runs on ale_py"):
            warn_once.cache_clear()
            assert backends.choose(id).backend == "process"
        return
    with pair(id, 1) as (theirs, ours):
        assert_same(ours.reset(seed=5), theirs.reset(seed=5), "reset")
        theirs.action_space.seed(3)
        for step in range(25):
            action = theirs.action_space.sample()
            assert_same(ours.step(action), theirs.step(action), f"step {step}")


@pytest.mark.slow
@pytest.mark.parametrize("radius", [-5, 1e3, 93350, 1e6])
def test_paddles_turn_by_any_finite_strength(radius: float) -> None:
    """The sum of position and turn overflows from 93335 on, the turn itself from 93369 on."""
    with pair("ALE/Breakout-v5", 1, continuous=True, repeat_action_probability=0.0) as (
        theirs,
        ours,
    ):
        assert_same(ours.reset(seed=1), theirs.reset(seed=1), "reset")
        for step in range(12):
            angle = np.pi * (step % 4 // 2)
            action = np.array([[radius if step % 3 else 1, angle, 1]], np.float32)
            assert_same(ours.step(action), theirs.step(action), f"step {step}")


@pytest.mark.slow
def test_sticks_on_the_edge_of_a_direction() -> None:
    """Cosines are rounded as NumPy rounds them: at 60 degrees the last bit decides."""
    thirds = np.float32(np.pi) * np.arange(-6, 7, dtype=np.float32) / np.float32(6)
    edges = np.concatenate([thirds, np.nextafter(thirds, np.float32(9))])
    with pair("ALE/Breakout-v5", 1, continuous=True, repeat_action_probability=0.0) as (
        theirs,
        ours,
    ):
        assert_same(ours.reset(seed=0), theirs.reset(seed=0), "reset")
        for radius in np.array([1.0, 0.6, -0.9, 1.5], np.float32):
            for angle in edges:
                stick = np.array([[radius, angle, 0.5]], np.float32)
                assert_same(ours.step(stick), theirs.step(stick), f"{radius} {angle}")


@pytest.mark.slow
def test_stable_baselines_sees_the_same() -> None:
    """Including the infos of resets and of ends of episodes."""
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    from parallel_pool.compat.sb3 import PoolVecEnv

    kwargs = {"obs_type": "ram", "max_num_frames_per_episode": 41}
    theirs = vec_env.DummyVecEnv([lambda: gymnasium.make("ALE/Breakout-v5", **kwargs)] * 2)
    ours = PoolVecEnv("ALE/Breakout-v5", 2, **kwargs)
    for env in (theirs, ours):
        env.seed(7)
    assert_same(ours.reset(), theirs.reset(), "reset")
    assert_same(ours.reset_infos, theirs.reset_infos, "infos")
    for step in range(40):
        actions = np.array([step % 4, step % 3])
        assert_same(ours.step(actions), theirs.step(actions), f"step {step}")
        assert_same(ours.reset_infos, theirs.reset_infos, f"infos {step}")
    ours.close()
    theirs.close()


# ---------------------------------------------------------------------------- our own features --


def played(pool: Pool, steps: int) -> list[bytes]:
    """Returns the next results as bytes of each row; all environments get the same actions."""
    results = []
    for step in range(steps):
        batch = pool.step(np.full(pool.num_envs, step % pool.spec.action_space().n))
        results.append([array.copy() for array in batch])
    compared = [i for i, column in enumerate(pool.columns) if column.name != "env_id"]
    return [
        b"".join(result[i][env_id].tobytes() for result in results for i in compared)
        for env_id in range(pool.num_envs)
    ]


@pytest.mark.parametrize("preprocessing", [False, True])
def test_an_environment_is_cloned_into_another(preprocessing: bool) -> None:
    options = {"frameskip": 1, "ram_info": True, "preprocessing": preprocessing, "stack_size": 4}
    with Pool("ALE/Breakout-v5", 2, seed=3, options=options) as pool:
        pool.reset()
        before = played(pool, 40)
        assert before[0] != before[1]
        (state,) = pool.get_state([0])
        assert isinstance(state, bytes)
        pool.set_state([state], [1])
        # a snapshot includes the generator of random choices, such as sticky actions
        after = played(pool, 60)
        assert after[0] == after[1]
        pool.set_state([state] * 2)
        assert played(pool, 60) == after


def test_ram_info_adds_the_ram() -> None:
    with Pool("ALE/Pong-v5", 2, seed=1, options={"obs_type": "ram", "ram_info": True}) as pool:
        indices = {column.name: i for i, column in enumerate(pool.columns)}
        pool.reset()
        for _ in range(5):
            batch = pool.step(np.zeros(2, np.int64))
            np.testing.assert_array_equal(batch[indices["ram"]], batch[indices["obs"]])
            assert batch[indices["ram"]].any()


@pytest.mark.slow
def test_unproven_games_run_on_ale_py(monkeypatch: pytest.MonkeyPatch) -> None:
    """In worker processes, with one warning."""
    monkeypatch.setattr(atari, "reason", lambda name, rom: f"{name} is not proven")
    warn_once.cache_clear()
    with pytest.warns(UserWarning, match="ALE/Pong-v5 runs on ale_py in worker processes: pong is"):
        ours = gymnasium.make_vec("ALE/Pong-v5", 1, vectorization_mode="parallel_pool")
    try:
        assert ours.backend == "process"
        theirs = gymnasium.make_vec("ALE/Pong-v5", 1, vectorization_mode="sync")
        assert_same(ours.reset(seed=5), theirs.reset(seed=5), "reset")
        assert_same(ours.step([3]), theirs.step([3]), "step")
    finally:
        ours.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert backends.choose("ALE/Pong-v5").backend == "process"
        with pytest.raises(ValueError, match="'native', but pong is not proven"):
            backends.choose("ALE/Pong-v5", vector_kwargs={"backend": "native"})


@pytest.mark.parametrize(
    ("options", "wrappers", "reason"),
    [
        ({"sound_obs": True}, [], "no option sound_obs"),
        ({}, [PICTURES], "frame_skip=4.* needs frameskip=1"),
        ({"frameskip": (1, 2)}, [PICTURES], "needs frameskip=1"),
        ({**ONE, "obs_type": "ram"}, [PICTURES], "does not take obs_type='ram'"),
        ({**ONE, "continuous": True}, [PICTURES], "noop_max=30.* needs continuous=False"),
        ({**ONE, "max_episode_steps": 9}, [PICTURES], "also counts the steps"),
        ({**ONE, "render_mode": "rgb_array_list"}, [PICTURES], "of skipped steps"),
        ({"game": "no_such_game"}, [], "game='no_such_game' has no native"),
    ],
)
def test_options_that_need_ale_py(
    options: dict[str, Any], wrappers: list[Any], reason: str
) -> None:
    choice = backends.choose("ALE/Pong-v5", wrappers, options=options)
    assert choice.backend == "process"
    with pytest.raises(ValueError, match=reason):
        raise ValueError(choice.reason)


def test_the_argument_game_overrides_the_id() -> None:
    """As in Gymnasium."""
    spec = copy.deepcopy(gymnasium.spec("ALE/Pong-v5"))
    spec.kwargs["game"] = "breakout"
    chosen = [
        backends.choose(spec),
        backends.choose("ALE/Pong-v5", options={"game": "breakout"}),
        backends.choose("BreakoutNoFrameskip-v0"),
    ]
    for choice in chosen:
        assert choice.definition is not None
        assert choice.definition.id == "ALE/Breakout-v5"


@pytest.mark.parametrize("frameskip", [(1, "5"), (None, 4), "45", (1, 2.5)], ids=str)
def test_frameskips_that_are_no_integers(frameskip: Any) -> None:
    with pytest.raises(TypeError, match=r"frameskip(_end)?=.*give (two|an) integer"):
        gymnasium.make_vec(
            "ALE/Pong-v5", 1, vectorization_mode="parallel_pool", frameskip=frameskip
        )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"mode": 3}, "mode=3: choose -1, 0, 1"),
        ({"difficulty": 9}, "difficulty=9: choose -1, 0, 1, 2, 3"),
        ({"obs_type": "RGB"}, "obs_type='RGB': choose rgb, grayscale or ram"),
        ({"frameskip": 0}, "frameskip=0: choose 1"),
        ({"frameskip": (4, 4)}, r"frameskip=\(4, 4\): choose low < high"),
        ({"frameskip": (0, 4)}, "frameskip=0: choose 1"),
        ({"frameskip": (1, 2, 3)}, "give a number of frames, or"),
        ({"repeat_action_probability": 1.5}, "choose 0 to 1"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        gymnasium.make_vec("ALE/Pong-v5", 1, vectorization_mode="parallel_pool", **options)


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_ids_need_no_import_of_ale_py() -> None:
    run("""if True:
        import sys
        import numpy
        import parallel_pool

        env = parallel_pool.make_vec("ALE/Pong-v5", 2, frameskip=1)
        observations, infos = env.reset(seed=5)
        assert observations.shape == (2, 210, 160, 3), observations.shape
        assert infos["seeds"][1] == tuple(numpy.random.SeedSequence(6).generate_state(2))
        env.step([0, 3])
        env.close()
        assert "ale_py" not in sys.modules
    """)


@pytest.mark.slow
def test_an_unknown_game_is_refused_with_similar_names() -> None:
    """With the message that Gymnasium gives after an import of ale_py."""
    run("""if True:
        import gymnasium
        import parallel_pool

        try:
            parallel_pool.make_vec("ALE/Pogn-v5", 1)
        except gymnasium.error.NameNotFound as error:
            assert "Did you mean: `Pong`" in str(error), error
        else:
            raise AssertionError("it was made")
    """)


@pytest.mark.slow
def test_unproven_games_import_ale_py() -> None:
    run("""if True:
        import warnings
        import parallel_pool
        from parallel_pool._families import atari

        atari.reason = lambda name, rom: "this is a test"
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            env = parallel_pool.make_vec("ALE/Pong-v5", 1)
        assert any("this is a test" in str(each.message) for each in said), said
        assert env.backend == "process"
        assert env.reset(seed=5)[0].shape == (1, 210, 160, 3)
        env.close()
    """)


@pytest.mark.slow
def test_a_game_that_ends_at_its_limit_sets_both_flags() -> None:
    kwargs = {"frameskip": 1, "obs_type": "ram", "max_num_frames_per_episode": 490}
    with pair("ALE/Breakout-v5", 1, **kwargs) as (theirs, ours):
        assert_same(ours.reset(seed=1), theirs.reset(seed=1), "reset")
        both = 0
        for step in range(495):
            expected = theirs.step([step % 2])
            assert_same(ours.step([step % 2]), expected, f"step {step}")
            both += int(expected[2][0] and expected[3][0])
        assert both == 1
