"""parallel_pool.compat.ale.AtariVectorEnv equals ale-py's class of the same name, bit by bit."""

from __future__ import annotations

import inspect
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ale_py.vector_env import AtariVectorEnv as Reference
from gymnasium.vector import AutoresetMode, VectorEnv

import parallel_pool
from parallel_pool._engine import registry
from parallel_pool._families import atari
from parallel_pool.compat.ale import ActionError, AtariVectorEnv
from parallel_pool.errors import ClosedError, StateError, UnprovenError
from tests.support.same import assert_same
from tests.support.sampling import sampled

pytestmark = pytest.mark.proven("csrc/envs/atari")

NUM_ENVS = 2
STEPS = 180
BATCHES = 90

# a game, options, and the number of episodes that must end
CASES: list[tuple[str, dict[str, Any], int]] = [
    ("pong", {}, 0),
    ("breakout", {}, 0),
    ("breakout", {"episodic_life": True}, 8),
    ("breakout", {"life_loss_info": True}, 8),
    ("breakout", {"life_loss_info": True, "autoreset_mode": "SameStep"}, 8),
    ("breakout", {"episodic_life": True, "autoreset_mode": AutoresetMode.SAME_STEP}, 8),
    ("breakout", {"episodic_life": True, "life_loss_info": True, "frameskip": 2}, 1),
    ("qbert", {"autoreset_mode": "SameStep", "episodic_life": True, "noop_max": 400}, 2),
    ("breakout", {"noop_max": 700, "frameskip": 2, "episodic_life": True}, 2),
    ("breakout", {"max_num_frames_per_episode": 30, "life_loss_info": True}, 20),
    ("breakout", {"max_num_frames_per_episode": 64, "autoreset_mode": "SameStep"}, 10),
    ("space_invaders", {"max_num_frames_per_episode": 3}, 100),
    ("space_invaders", {"repeat_action_probability": 0.25, "grayscale": False}, 0),
    ("ms_pacman", {"repeat_action_probability": 2, "reward_clipping": False}, 0),
    ("ms_pacman", {"reward_clipping": False, "max_num_frames_per_episode": 400}, 2),
    ("asterix", {"reward_clipping": False, "frameskip": 5, "repeat_action_probability": -1}, 0),
    ("freeway", {"stack_num": 1, "frameskip": 1, "noop_max": 1}, 0),
    ("qbert", {"frameskip": 1, "maxpool": False, "noop_max": 0}, 0),
    ("seaquest", {"maxpool": False, "episodic_life": True, "stack_num": 2}, 1),
    ("king_kong", {"use_fire_reset": False, "img_height": 250, "img_width": 160}, 0),
    ("king_kong", {"full_action_space": True, "grayscale": False, "stack_num": 1}, 0),
    ("carnival", {"img_height": 7, "img_width": 5, "frameskip": 7}, 0),
    ("carnival", {"img_height": 300, "img_width": 200, "grayscale": False, "stack_num": 2}, 0),
    ("montezuma_revenge", {"img_height": 210, "img_width": 160, "frameskip": 3}, 0),
    ("enduro", {"img_height": 105, "img_width": 80, "full_action_space": True}, 0),
    ("pong", {"continuous": True}, 0),
    ("breakout", {"continuous": True, "repeat_action_probability": 0.25}, 0),
    ("space_invaders", {"continuous": True, "continuous_action_threshold": 0.2}, 0),
    ("centipede", {"noop_max": 3, "num_threads": 2}, 0),
]
# the cases of make check; all others are slow
QUICK = {12}

Result = tuple[Any, ...]


def cases() -> Iterator[Any]:
    for i, (game, options, ends) in enumerate(CASES):
        name = "-".join([game, *(f"{key}={value}" for key, value in options.items())])
        marks = [] if i in QUICK else [pytest.mark.slow]
        yield pytest.param(game, options, ends, id=name, marks=marks)


def pair(game: str, num_envs: int = NUM_ENVS, **options: Any) -> tuple[AtariVectorEnv, Reference]:
    options = {"num_threads": 1, **options}
    return AtariVectorEnv(game, num_envs, **options), Reference(game, num_envs, **options)


def check(ours: Result, theirs: Result, where: str) -> None:
    """Asserts that results are equal, except for rows of final_obs that ale-py does not write."""
    mine, reference = {**ours[-1]}, {**theirs[-1]}
    assert list(mine) == list(reference), where
    if "final_obs" in mine:
        # a reset restarts the frame count; a lost life that is only reported does not
        rows = (ours[2] | ours[3]) & (ours[-1]["episode_frame_number"] < 60)
        final, expected = mine.pop("final_obs"), reference.pop("final_obs")
        assert (final.dtype, final.shape) == (expected.dtype, expected.shape), where
        assert np.array_equal(final[rows], expected[rows]), where
    assert_same((*ours[:-1], mine), (*theirs[:-1], reference), where)


def draw(rng: np.random.Generator, env: Any, rows: int) -> np.ndarray[Any, Any]:
    if env.continuous:
        low, high = [-0.2, -4, -0.2], [1.5, 4, 1.2]
        return rng.uniform(low, high, (rows, 3)).astype(np.float32)
    return rng.integers(0, env.single_action_space.n, rows)


# -------------------------------------------------------------------------------------- play --


@pytest.mark.parametrize(("game", "options", "ends"), [*cases()])
def test_play_is_identical(game: str, options: dict[str, Any], ends: int) -> None:
    ours, theirs = pair(game, **options)
    rng = np.random.default_rng(3)
    seen = 0
    check(ours.reset(seed=11), theirs.reset(seed=11), "reset")
    for t in range(STEPS):
        if t == STEPS * 3 // 4:
            check(ours.reset(), theirs.reset(), "reset without a seed")
        actions = draw(rng, theirs, NUM_ENVS)
        mine = ours.step(actions)
        check(mine, theirs.step(actions), f"step {t}")
        seen += int((mine[2] | mine[3]).sum())
    assert seen >= ends
    ours.close()


@pytest.mark.slow
def test_games_that_end_in_the_no_ops_restart() -> None:
    ours, theirs = pair("atlantis", noop_max=5000)
    again = 0
    for seed in (3, 4):
        mine = ours.reset(seed=seed)
        check(mine, theirs.reset(seed=seed), f"seed {seed}")
        again += int((mine[1]["frame_number"] > mine[1]["episode_frame_number"]).sum())
        for t in range(3):
            actions = np.array([1, 1])
            check(ours.step(actions), theirs.step(actions), f"seed {seed} step {t}")
    assert again


@pytest.mark.slow
def test_actions_of_int32_and_strided_actions() -> None:
    ours, theirs = pair("pong")
    ours.reset(seed=1), theirs.reset(seed=1)
    for actions in (np.array([2, 3], np.int32), np.array([4, 0, 5, 0])[::2]):
        check(ours.step(actions), theirs.step(actions), str(actions))


@pytest.mark.slow
def test_sticks_far_outside_their_range() -> None:
    ours, theirs = pair("pong", continuous=True)
    ours.reset(seed=1), theirs.reset(seed=1)
    for radius in (3.0, -2.0, 33.5, 40.0, 1e4):
        sticks = np.array([[radius, 0.1, 0], [radius, 3.1, 1]], np.float32)
        check(ours.step(sticks), theirs.step(sticks), f"radius {radius}")
        check(ours.step(-sticks), theirs.step(-sticks), f"radius {-radius}")


# the results that each environment must have, and the most batches to wait for them: an environment
# whose thread waits for a core comes late
MIN_RESULTS, MAX_BATCHES = 12, 10_000


def play_async(env: Any, batches: int, seed: int) -> list[list[list[Any]]]:
    """Plays each environment with its own actions; returns the results of each in order."""
    rng = np.random.default_rng(8)
    actions = rng.integers(0, env.single_action_space.n, (env.num_envs, MAX_BATCHES + 1))
    rows: list[list[list[Any]]] = [[] for _ in range(env.num_envs)]
    observations, infos = env.reset(seed=seed)
    empty = np.zeros(env.batch_size, np.int32)
    result = (observations, empty, empty.astype(bool), empty.astype(bool), infos)
    for i in range(MAX_BATCHES):
        if i >= batches and min(map(len, rows)) >= MIN_RESULTS:
            break
        ids = result[4]["env_id"].copy()
        final = result[4].pop("final_obs", result[0])
        ended = result[2] | result[3]
        for row, env_id in enumerate(ids):
            parts = [array[row].tobytes() for array in (*result[:4], *result[4].values())]
            rows[env_id].append([*parts, final[row].tobytes() if ended[row] else b""])
        env.send(np.array([actions[env_id][len(rows[env_id])] for env_id in ids]))
        result = env.recv()
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("mode", sampled(["NextStep", "SameStep"], {"SameStep"}))
def test_asynchronous_play_is_identical_for_each_environment(mode: str) -> None:
    options = {"batch_size": 2, "num_threads": 2, "autoreset_mode": mode, "episodic_life": True}
    ours, theirs = pair("breakout", 4, **options)
    assert ours.observation_space == theirs.observation_space
    mine, reference = (play_async(env, BATCHES, seed=5) for env in (ours, theirs))
    for env_id, (one, other) in enumerate(zip(mine, reference, strict=True)):
        # environments that finish first more often get further
        count = min(len(one), len(other))
        assert count >= MIN_RESULTS, env_id
        assert one[:count] == other[:count], env_id
    # all environments restart, those in flight included
    ours.reset(seed=5)
    again = play_async(ours, BATCHES, seed=5)
    for one, two in zip(mine, again, strict=True):
        count = min(len(one), len(two))
        assert one[:count] == two[:count]


def test_play_does_not_depend_on_threads() -> None:
    rng = np.random.default_rng(0)
    one, two = (AtariVectorEnv("breakout", 5, num_threads=n, episodic_life=True) for n in (1, 3))
    check(one.reset(seed=4), two.reset(seed=4), "reset")
    for t in range(80):
        actions = draw(rng, one, 5)
        check(one.step(actions), two.step(actions), f"step {t}")


def test_snapshots_hold_everything() -> None:
    env = AtariVectorEnv("breakout", 2, num_threads=1, episodic_life=True, noop_max=300)
    rng = np.random.default_rng(5)
    actions = draw(rng, env, 2 * 60).reshape(60, 2)
    env.reset(seed=2)
    for t in range(30):
        env.step(actions[t])
    states = env.pool.get_state()
    first = [env.step(each) for each in actions]
    env.pool.set_state(states)
    for t, (each, expected) in enumerate(zip(actions, first, strict=True)):
        assert_same(env.step(each), expected, f"step {t}")


# ------------------------------------------------------------------------------------ resets --


@pytest.mark.slow
def test_masked_resets_are_identical() -> None:
    ours, theirs = pair("breakout", 3, episodic_life=True)
    rng = np.random.default_rng(1)
    check(ours.reset(seed=3), theirs.reset(seed=3), "reset")
    for t in range(31):
        actions = draw(rng, theirs, 3)
        check(ours.step(actions), theirs.step(actions), f"step {t}")
        if t % 6:
            continue
        mask = rng.random(3) < 0.5
        count = int(mask.sum())
        for seed in (None, t, rng.integers(-5, 2**31, count)):
            arguments = {"seed": seed, "options": {"reset_mask": mask, "unknown": 1}}
            check(ours.reset(**arguments), theirs.reset(**arguments), f"{mask} {seed} at {t}")
        assert arguments["options"] == {"reset_mask": mask, "unknown": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed",
    [
        *sampled((0, 2**31 - 2, True, -1, -5), {-5}),
        np.array([7, -1]),
        *(
            pytest.param(seeds, marks=pytest.mark.slow)
            for seeds in (np.array([3, 4], np.uint8), np.array([2**31 - 1, 0], np.uint64))
        ),
    ],
    ids=str,
)
def test_seeds_are_identical(seed: Any) -> None:
    ours, theirs = pair("breakout", repeat_action_probability=0.3)
    for each in (1, seed, None):
        check(ours.reset(seed=each), theirs.reset(seed=each), f"{each} after 1")
    for t in range(10):
        check(ours.step(np.array([2, 3])), theirs.step(np.array([2, 3])), f"step {t}")


@pytest.mark.slow
def test_frames_in_which_a_game_is_chosen_count() -> None:
    """The frame number includes the frames of the reset when ALE loads a ROM."""
    ours, theirs = pair("flag_capture", noop_max=1)
    for seed in (None, 5, -1, None):
        check(ours.reset(seed=seed), theirs.reset(seed=seed), f"seed {seed}")
        assert theirs.reset()[1]["frame_number"].min() > 14
        ours.reset()


def test_without_seeds_environments_differ() -> None:
    starts = set()
    for _ in range(2):
        env = AtariVectorEnv("breakout", 8, num_threads=1)
        starts.add(tuple(env.reset()[1]["frame_number"].tolist()))
    assert len(starts) == 2
    assert len(set(starts.pop())) > 1


# ----------------------------------------------------------------------------------- the API --


def test_signature_is_identical() -> None:
    for name in ("__init__", "reset", "step", "send", "recv", "xla"):
        mine, theirs = (
            [
                (each.name, each.kind, each.default)
                for each in inspect.signature(getattr(of, name)).parameters.values()
            ]
            for of in (AtariVectorEnv, Reference)
        )
        assert mine == theirs, name


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"grayscale": False, "stack_num": 3, "img_height": 20},
        {"continuous": True, "autoreset_mode": "SameStep"},
        {"batch_size": 2, "full_action_space": True},
    ],
    ids=str,
)
def test_attributes_are_identical(options: dict[str, Any]) -> None:
    before = dict(VectorEnv.metadata)
    ours = AtariVectorEnv("pong", 3, **options)
    assert VectorEnv.metadata == before
    theirs = Reference("pong", 3, **options)
    for name in (
        *("single_observation_space", "single_action_space", "observation_space", "action_space"),
        *("num_envs", "batch_size", "autoreset_mode", "continuous", "continuous_action_threshold"),
        *("grayscale", "map_action_idx", "is_xla_registered", "spec", "render_mode", "closed"),
    ):
        assert_same(getattr(ours, name), getattr(theirs, name), name)
    assert ours.metadata["autoreset_mode"] is ours.autoreset_mode
    assert isinstance(ours, VectorEnv)
    VectorEnv.metadata.clear()
    VectorEnv.metadata.update(before)


def test_other_apis_cannot_make_it() -> None:
    assert not any(task_id.startswith("_") for task_id in parallel_pool.list_all_envs())
    assert any(task_id.startswith("_") for task_id in registry.builtin())


# ------------------------------------------------------------------------------- XLA's calls --


@pytest.fixture
def jnp(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns jax.numpy; ale-py's xla() also needs chex, of which it uses two assertions."""
    chex = types.ModuleType("chex")
    for name in ("assert_shape", "assert_type"):
        setattr(chex, name, lambda array, expected: None)
    monkeypatch.setitem(sys.modules, "chex", chex)
    return pytest.importorskip("jax.numpy")


def as_numpy(result: Any) -> Any:
    if isinstance(result, dict):
        return {name: np.asarray(value) for name, value in result.items()}
    return tuple(map(as_numpy, result)) if isinstance(result, tuple) else np.asarray(result)


def some_actions(env: Any, rng: np.random.Generator) -> Any:
    if env.continuous:
        return rng.uniform(-1, 1, (env.batch_size, 3)).astype(np.float32)
    return rng.integers(env.single_action_space.n, size=env.batch_size, dtype=np.int32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("breakout", {"episodic_life": True}),
        ("breakout", {"life_loss_info": True, "max_num_frames_per_episode": 64}),
        ("pong", {"continuous": True}),
        ("ms_pacman", {"reward_clipping": False, "grayscale": False, "stack_num": 1}),
    ],
    ids=str,
)
def test_programs_play_as_ale_pys(game: str, options: dict[str, Any], jnp: Any) -> None:
    import jax

    played: list[Any] = []
    for of in (AtariVectorEnv, Reference):
        env, rng, results = of(game, 3, **options), np.random.default_rng(0), []
        handle, reset, step = env.xla()
        assert env.is_xla_registered
        handle, result = reset(handle, seed=5)
        results.append(as_numpy(result))
        jitted = jax.jit(step)
        for t in range(120):
            handle, result = jitted(handle, some_actions(env, rng))
            results.append(as_numpy(result))
            if t == 60:
                # a seed for each, of which a negative one changes nothing
                handle, result = reset(handle, seed=np.array([1, -1, 3], np.int32))
                results.append(as_numpy(result))
            if t == 90:
                mask = np.array([False, True, False])
                handle, result = reset(handle, seed=9, reset_mask=mask)
                results.append(as_numpy(result))
        handle, result = reset(handle)
        played.append([*results, as_numpy(result)])
    for t, (ours, theirs) in enumerate(zip(*played, strict=True)):
        assert_same(ours, theirs, f"result {t}")


@pytest.mark.slow
def test_programs_play_as_python(jnp: Any) -> None:
    """In a scan, and by turns with Python's calls."""
    import jax

    actions = np.random.default_rng(1).integers(4, size=(50, 2)).astype(np.int32)
    ours, theirs = AtariVectorEnv("breakout", 2), AtariVectorEnv("breakout", 2)
    handle, reset, step = ours.xla()
    handle, _ = jax.jit(reset)(handle, np.array([3, 4], np.int32))
    handle, results = jax.lax.scan(step, handle, actions)
    theirs.reset(seed=3)
    for t, each in enumerate(actions):
        found = jax.tree.map(lambda a, t=t: a[t], as_numpy(results))
        # JAX sorts the keys of dicts
        assert_same(found, theirs.step(each), str(t), ordered=False)
    assert_same(ours.step(actions[0]), theirs.step(actions[0]), "after a program")
    _, result = step(handle, actions[1])
    assert_same(as_numpy(result), theirs.step(actions[1]), "after Python")


@pytest.mark.slow
def test_an_asynchronous_handle_knows_whom_actions_are_for(jnp: Any) -> None:
    """Each environment plays as it does alone, whoever comes first."""
    env = AtariVectorEnv("breakout", 4, batch_size=2, num_threads=2)
    alone = AtariVectorEnv("breakout", 4)
    handle, reset, step = env.xla()
    handle, (observations, infos) = reset(handle, seed=1)
    expected = {i: [row] for i, row in enumerate(alone.reset(seed=1)[0])}
    for _ in range(40):
        noop = np.zeros(4, np.int32)
        for i, row in enumerate(alone.step(noop)[0]):
            expected[i].append(row)
    seen = dict.fromkeys(range(4), 0)
    for _ in range(40):
        for row, env_id in zip(np.asarray(observations), infos["env_id"].tolist(), strict=True):
            assert_same(row, expected[env_id][seen[env_id]], f"environment {env_id}")
            seen[env_id] += 1
        handle, (observations, *_, infos) = step(handle, jnp.zeros(2, int))
    with pytest.raises(StateError, match="a compiled program has received since"):
        env.step(np.zeros(2, int))
    with pytest.raises(StateError, match="use its newest handle"):
        env.xla()
    env.reset(seed=1)
    handle, *_ = env.xla()
    with pytest.raises(Exception, match="of no pool of this process"):
        step(jnp.zeros(4, np.int32), jnp.zeros(2, np.int32))[0].block_until_ready()
    env.step(np.zeros(2, int))


@pytest.mark.slow
def test_wrong_arguments_of_programs(jnp: Any) -> None:
    import jax

    with pytest.raises(AssertionError, match="NEXT_STEP only"):
        AtariVectorEnv("pong", 1, autoreset_mode="SameStep").xla()
    env = AtariVectorEnv("pong", 2)
    handle, reset, step = env.xla()
    for seed, error in (
        (2**31, TypeError),
        (np.array([1, 2**31]), TypeError),
        (np.array([1]), ValueError),
        (np.array([0.5, 1]), TypeError),
    ):
        with pytest.raises(error):
            reset(handle, seed)
    for mask, error in ((np.ones(2), TypeError), (np.ones(3, bool), ValueError)):
        with pytest.raises(error, match="reset_mask"):
            reset(handle, reset_mask=mask)
    with pytest.raises(TypeError, match="reset_mask is traced"):
        jax.jit(reset)(handle, 1, jnp.ones(2, bool))
    for actions in (jnp.zeros(3, int), jnp.zeros(2), jnp.zeros((2, 1), int)):
        with pytest.raises(ActionError):
            step(handle, actions)
    handle, _ = reset(handle)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"action 6 .* outside its space"):
        jax.block_until_ready(step(handle, np.array([6, 0])))
    env.close()
    with pytest.raises(ClosedError):
        env.xla()


def test_unproven_games_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atari, "reason", lambda name, rom: "of a reason")
    with pytest.raises(UnprovenError, match="pong is refused because of a reason: use ale_py"):
        AtariVectorEnv("pong", 1)


def test_arrays_are_the_callers() -> None:
    env = AtariVectorEnv("breakout", 4, batch_size=2, num_threads=1)
    _, infos = env.reset(seed=1)
    infos["env_id"][:] = 99
    for _ in range(5):
        env.send(np.array([1, 1]))
        results = env.recv()
        assert all(array.flags.writeable for array in (*results[:4], *results[4].values()))
        results[4]["env_id"][:] = 99


# -------------------------------------------------------------------------- wrong arguments --


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    "options",
    [
        {"frameskip": 0},
        {"frameskip": 2.0},
        {"frameskip": True},
        {"game": "Pong"},
        {"game": "no_such_game"},
        {"game": None},
        {"game": ["pong"]},
        {"num_envs": "x"},
        {"num_envs": 2.5},
        {"num_envs": -1},
        {"stack_num": -1},
        {"img_width": -3},
        {"img_height": 84.0},
        {"grayscale": 2},
        {"noop_max": None},
        {"autoreset_mode": None},
        {"autoreset_mode": "NEXT_STEP"},
        {"autoreset_mode": AutoresetMode.DISABLED},
        {"batch_size": -1},
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_as_ale_py_does(options: dict[str, Any]) -> None:
    arguments = {"game": "breakout", "num_envs": 2, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:
            Reference(**arguments)
    with pytest.raises(theirs.type):
        AtariVectorEnv(**arguments)


# with these ale-py's class hangs, or crashes (num_envs=0 and games without rules)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs=0: choose 1 or more"),
        ({"batch_size": 3}, "batch_size=3 > num_envs=2: choose batch_size <= num_envs"),
        ({"stack_num": 0}, "stack_num=0: choose 1 to 1024"),
        ({"img_height": 0}, "img_height=0: choose 1 to 2048"),
        ({"game": "combat"}, "'combat' is not a game of ale-py"),
        # with 0 frames, ale-py returns only resets
        ({"max_num_frames_per_episode": 0}, "max_num_frames_per_episode=0: choose 1 to"),
        ({"repeat_action_probability": float("nan")}, "repeat_action_probability=nan: choose 0"),
    ],
    ids=str,
)
def test_arguments_that_ale_py_does_not_survive(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, AssertionError), match=message):
        AtariVectorEnv(**{"game": "breakout", "num_envs": 2, **options})


@pytest.mark.slow
@pytest.mark.parametrize(
    "actions",
    [
        [0, 1],
        np.array([0.0, 1.0]),
        np.array([0, 1], np.uint8),
        np.array([0]),
        np.array([[0, 1]]),
    ],
    ids=str,
)
def test_wrong_actions_are_refused_as_ale_py_does(actions: Any) -> None:
    ours, theirs = pair("breakout")
    ours.reset(seed=1), theirs.reset(seed=1)
    with pytest.raises(AssertionError):
        theirs.send(actions)
    with pytest.raises(AssertionError) as failure:
        ours.send(actions)
    assert failure.type is ActionError
    check(ours.step(np.array([1, 2])), theirs.step(np.array([1, 2])), "the next step")


def test_wrong_thresholds_are_refused() -> None:
    with pytest.raises(TypeError, match=r"continuous_action_threshold='a' is a str: give a number"):
        AtariVectorEnv("pong", 2, continuous=True, continuous_action_threshold="a")  # type: ignore
    # without continuous actions the threshold is not used
    AtariVectorEnv("pong", 2, continuous_action_threshold="a").close()  # type: ignore


def test_wrong_sticks_are_refused() -> None:
    env = AtariVectorEnv("pong", 2, continuous=True)
    env.reset(seed=1)
    with pytest.raises(ActionError, match="float64: give an array of float32"):
        env.send(np.zeros((2, 3)))
    with pytest.raises(ActionError, match=r"shape \(2, 2\): give \(2, 3\)"):
        env.send(np.zeros((2, 2), np.float32))
    with pytest.raises(ValueError, match="environment 1 is not finite"):
        env.send(np.array([[1, 1, 1], [np.nan, 1, 1]], np.float32))


@pytest.mark.parametrize("actions", [[4, 0], [-1, 0], [0, 2**40]], ids=str)
def test_actions_with_which_ale_py_hangs(actions: list[int]) -> None:
    env = AtariVectorEnv("breakout", 2)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="is outside its space: choose 0 to 3"):
        env.step(np.array(actions))
    env.step(np.array([1, 2]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": "x"}, "seed='x' is a str: give an int or an array"),
        ({"seed": [1, 2]}, "is a list"),
        ({"seed": np.int64(3)}, "is an int64"),
        ({"seed": 2**31 - 1}, r"seed=2147483648: choose -2\*\*31 to"),
        ({"seed": np.array([1.0, 2.0])}, "seeds have dtype float64: give integers"),
        ({"seed": np.array([2**40, 1])}, "seed=1099511627776: choose -2"),
        ({"seed": np.array([1])}, r"seeds have shape \(1,\): give one for each"),
        ({"options": 5}, "int"),
        ({"options": {"reset_mask": [True, False]}}, "reset_mask is of list"),
        ({"options": {"reset_mask": np.array([1, 0])}}, "reset_mask is of int64"),
        ({"options": {"reset_mask": np.array([True])}}, r"has shape \(1,\): give \(2,\)"),
    ],
    ids=str,
)
def test_wrong_resets_are_refused_as_ale_py_does(arguments: Any, message: str) -> None:
    ours, theirs = pair("breakout")
    ours.reset(seed=1), theirs.reset(seed=1)
    with pytest.raises((TypeError, ValueError)) as failure:
        theirs.reset(**arguments)
    with pytest.raises(failure.type, match=message):
        ours.reset(**arguments)


@pytest.mark.slow
def test_partial_resets_at_a_wrong_moment() -> None:
    mask = {"options": {"reset_mask": np.array([True, False])}}
    for options, first, kind in [({}, False, RuntimeError), ({"batch_size": 1}, True, ValueError)]:
        for env in pair("breakout", **options):
            if first:
                env.reset(seed=1)
            with pytest.raises(kind):
                env.reset(**mask)


@pytest.mark.slow
def test_calls_at_a_wrong_moment() -> None:
    ours, theirs = pair("breakout")
    for env in (ours, theirs):
        with pytest.raises(RuntimeError):
            env.step(np.array([0, 1]))
    ours.reset(seed=1)
    with pytest.raises(StateError):
        ours.recv()
    ours.send(np.array([0, 1]))
    with pytest.raises(StateError, match="in flight"):
        ours.send(np.array([0, 1]))
    # a reset drops the actions that were sent
    theirs.reset(seed=1)
    check(ours.reset(seed=1), theirs.reset(seed=1), "reset")
    ours.close()
    for call in (ours.recv, ours.reset, lambda: ours.step(np.array([0, 1]))):
        with pytest.raises(ClosedError):
            call()
