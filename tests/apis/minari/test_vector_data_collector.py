"""Recorded episodes are those that Minari's own collector records of single environments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import parallel_pool
from parallel_pool._workers.run.episode_seeds import of_episode
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.pettingzoo import PoolParallelEnv
from parallel_pool.errors import StateError

minari = pytest.importorskip("minari", reason="recording needs Minari")
pytest.importorskip("h5py", reason="recording needs h5py")

from minari.dataset._storages.hdf5_storage import HDF5Storage  # noqa: E402

from parallel_pool.compat.minari import VectorDataCollector  # noqa: E402
from tests.support.minari_files import (  # noqa: E402
    Singles,
    action_of,
    assert_same_episodes,
    contents,
    metadata,
)
from tests.support.sampling import sampled  # noqa: E402

pytestmark = [pytest.mark.usefixtures("alarm"), pytest.mark.filterwarnings("ignore::UserWarning")]

MODES = list(AutoresetMode)
ABOUT = {
    "author": "A. Author",
    "author_email": "author@example.org",
    "description": "some episodes",
    "algorithm_name": "random",
    "code_permalink": "https://example.org/code",
    "eval_env": "CartPole-v0",
    "requirements": ["gymnasium>=1.0"],
}
KEPT = ["kind", "nested", "pair"]


class Zoo(gymnasium.Env[Any, Any]):
    """Spaces and infos of many kinds; draws the length of each episode, and how it ends."""

    observation_space = spaces.Dict(
        {
            "box": spaces.Box(-9, 9, (2,), np.float32),
            "parts": spaces.Tuple([spaces.Discrete(50), spaces.MultiBinary(3)]),
            "picture": spaces.Box(0, 255, (40, 40, 3), np.uint8),
            "text": spaces.Text(5),
        }
    )
    action_space = spaces.Dict(
        {"x": spaces.Discrete(3), "y": spaces.Tuple([spaces.Box(-1, 1, (2,), np.float32)])}
    )

    def __init__(self, fails_at: int = -1) -> None:
        self.fails_at, self.taken = fails_at, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps, self.length = 0, int(self.np_random.integers(2, 9))
        return self._show(), self._info((options or {}).get("low", -1))

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.taken += 1
        if self.taken == self.fails_at:
            raise ZeroDivisionError("as asked")
        is_over, drawn = self.steps == self.length, self.np_random.random()
        info = self._info(int(action["x"])) | ({"last": 1.0} if is_over else {})
        return self._show(), drawn, is_over and drawn < 0.5, is_over and drawn >= 0.5, info

    def _show(self) -> Any:
        drawn = self.np_random.integers(0, 50, 5)
        return {
            "box": drawn[:2].astype(np.float32) / 7,
            "parts": (drawn[2], (drawn[:3] % 2).astype(np.int8)),
            "picture": self.np_random.integers(0, 256, (40, 40, 3), np.uint8),
            "text": "abcde"[: 1 + drawn[4] % 5],
        }

    def _info(self, low: int) -> Any:
        return {
            "kind": "cat",
            "nested": {"low": low, "half": np.float32(self.steps / 2)},
            "pair": np.array([self.steps, low], np.int16),
        }


def cart_pole(count: int, mode: AutoresetMode) -> Any:
    return PoolVectorEnv("CartPole-v1", count, autoreset_mode=mode, backend="native")


def blackjack(count: int, mode: AutoresetMode) -> Any:
    return PoolVectorEnv("Blackjack-v1", count, autoreset_mode=mode, backend="native")


def zoo(count: int, mode: AutoresetMode) -> Any:
    return PoolVectorEnv([Zoo] * count, autoreset_mode=mode, num_workers=1)


def zoo_here(count: int, mode: AutoresetMode) -> Any:
    return PoolVectorEnv([Zoo] * count, autoreset_mode=mode, num_workers=0)


def zoo_of_gymnasium(count: int, mode: AutoresetMode) -> Any:
    return SyncVectorEnv([Zoo] * count, autoreset_mode=mode)


MAKERS: dict[Callable[..., Any], Callable[[], Any]] = {
    cart_pole: lambda: gymnasium.make("CartPole-v1"),
    blackjack: lambda: gymnasium.make("Blackjack-v1"),
    zoo: Zoo,
    zoo_here: Zoo,
    zoo_of_gymnasium: Zoo,
}


def play(envs: Any, singles: Singles, steps: int, seed: int) -> None:
    """Steps both, after a reset, with random actions."""
    mode, over = envs.metadata["autoreset_mode"], np.zeros(envs.num_envs, np.bool_)
    has_options = envs.spec is None or envs.spec.id == "CartPole-v1"
    options = {"low": -0.5} if has_options else None
    envs.reset(seed=seed, options=options)
    for i in range(envs.num_envs):
        singles.reset(i, seed + i, options)
    for _ in range(steps):
        actions = envs.action_space.sample()
        _, _, terminated, truncated, _ = envs.step(actions)
        ended = terminated | truncated
        for i in range(envs.num_envs):
            if over[i]:
                singles.reset(i)
                continue
            singles.step(i, action_of(envs.single_action_space, actions, i))
            if ended[i] and mode is AutoresetMode.SAME_STEP:
                singles.reset(i)
        if mode is AutoresetMode.NEXT_STEP:
            over = ended
        if mode is AutoresetMode.DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})
            for i in np.flatnonzero(ended).tolist():
                singles.reset(i)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize("make", sampled(MAKERS, {cart_pole}), ids=lambda make: make.__name__)
def test_episodes_are_those_of_minaris_collector(
    make: Callable[..., Any], mode: AutoresetMode, datasets: Path
) -> None:
    infos: Any = KEPT if MAKERS[make] is Zoo else False
    envs = VectorDataCollector(
        make(3, mode), "pools/many-v3", record_infos=infos, write_every=20, **ABOUT
    )
    envs.action_space.seed(4)
    singles = Singles([MAKERS[make]] * 3, record_infos=False)
    if infos:
        singles = Singles([lambda: OnlyInfos(MAKERS[make](), KEPT)] * 3, record_infos=True)
    # the second reset cuts episodes off
    play(envs, singles, 60, seed=5)
    play(envs, singles, 7, seed=9)
    dataset = envs.finish()
    envs.close()
    found = contents(datasets / "pools" / "many-v3")
    assert_same_episodes(found, singles.finish(datasets, **ABOUT))
    about, own = metadata(datasets / "pools" / "many-v3"), metadata(datasets / "single/env_0-v0")
    totals = {name: about.pop(name) for name in ("total_episodes", "total_steps")}
    assert totals == {
        "total_episodes": len(found),
        "total_steps": sum(episode["attributes"]["total_steps"] for episode in found),
    }
    assert about.items() >= {k: v for k, v in own.items() if not k.startswith("total")}.items()
    loaded = minari.load_dataset("pools/many-v3")
    assert loaded.total_episodes == dataset.total_episodes == len(found) > 10
    assert sum(map(len, loaded)) == totals["total_steps"]


class OnlyInfos(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Shows these infos only: Minari's collector stores all, or fails."""

    def __init__(self, env: Any, names: list[str]) -> None:
        super().__init__(env)
        self.names = names

    def reset(self, **arguments: Any) -> Any:
        observation, info = self.env.reset(**arguments)
        return observation, {name: info[name] for name in self.names}

    def step(self, action: Any) -> Any:
        *results, info = self.env.step(action)
        return *results, {name: info[name] for name in self.names}


def test_metadata_are_those_of_minaris_collector(datasets: Path) -> None:
    """The environment's spec included, from which `recover_environment` makes it."""
    envs = VectorDataCollector(cart_pole(1, MODES[0]), "one-v0", **ABOUT)
    singles = Singles([lambda: gymnasium.make("CartPole-v1")])
    envs.action_space.seed(1)
    play(envs, singles, 30, seed=1)
    envs.close()
    singles.finish(datasets, **ABOUT)
    assert metadata(datasets / "one-v0") == metadata(datasets / "single" / "env_0-v0")
    recovered = minari.load_dataset("one-v0").recover_environment()
    assert recovered.spec.id == "CartPole-v1"


@pytest.mark.slow
def test_long_episodes_cross_blocks(datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps leave the block that environments share when it is full."""
    from parallel_pool._apis.minari import episodes

    monkeypatch.setattr(episodes, "BLOCK_BYTES", 1)
    envs = VectorDataCollector(cart_pole(2, MODES[1]), "long-v0")
    envs.action_space.seed(2)
    singles = Singles([lambda: gymnasium.make("CartPole-v1")] * 2)
    play(envs, singles, 100, seed=3)
    envs.close()
    assert_same_episodes(contents(datasets / "long-v0"), singles.finish(datasets))


class Patient(gymnasium.Env[Any, Any]):
    """Takes every action; an episode has three steps, and the info x in each."""

    observation_space = spaces.Box(-9, 9, (2,), np.float32)

    def __init__(self, action_space: Any, info: Any = 1.0) -> None:
        self.action_space, self.info = action_space, info

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(2, np.float32), {"x": self.info}

    def step(self, action: Any) -> Any:
        self.steps += 1
        shown = np.full(2, self.steps, np.float32)
        return shown, 1.0, self.steps == 3, False, {"x": self.info}


NUMBERS = spaces.Box(-1000, 1000, (2,), np.float32)
# actions of two environments
BATCHES: dict[str, tuple[Any, Any]] = {
    "ints_then_floats": (np.zeros((2, 2), int), np.full((2, 2), 0.5, np.float32)),
    "small_ints_then_large_ones": (np.zeros((2, 2), np.int8), np.full((2, 2), 300)),
    "floats_then_ints": (np.full((2, 2), 0.5, np.float32), np.full((2, 2), 2**30)),
    "short_texts_then_long_ones": (np.array(["a", "b"]), np.array(["hello", "worlds"])),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BATCHES)
def test_actions_have_the_dtypes_that_the_agent_gave(kind: str, datasets: Path) -> None:
    """Also if these change, in an episode or after it: nothing is rounded, cut or refused."""
    space = spaces.Text(9) if "texts" in kind else NUMBERS
    makers = [lambda: Patient(space)] * 2
    envs = VectorDataCollector(SyncVectorEnv(makers), "kinds-v0", write_every=4)
    singles = Singles(makers)
    envs.reset(seed=1)
    for i in range(2):
        singles.reset(i, 1 + i)
    for step, which in enumerate([0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]):
        actions = BATCHES[kind][which]
        envs.step(actions)
        for i in range(2):
            # every fourth step only resets
            if step % 4 == 3:
                singles.reset(i)
            else:
                singles.step(i, actions[i])
    envs.close()
    assert_same_episodes(contents(datasets / "kinds-v0"), singles.finish(datasets))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name.lower())
def test_episode_seeds_are_recorded(mode: AutoresetMode) -> None:
    made = PoolVectorEnv([Zoo] * 2, autoreset_mode=mode, num_workers=0, episode_seeds=True)
    envs = VectorDataCollector(made, "seeded-v0")
    envs.reset(seed=[7, 8])
    for _ in range(40):
        envs.step(envs.action_space.sample())
    dataset = envs.finish()
    known = {of_episode(seed, k): (seed, k) for seed in (7, 8) for k in range(1, 40)}
    begun = [each["seed"] for each in dataset.storage.get_episode_metadata(range(len(dataset)))]
    assert {known.get(seed, (seed, 0)) for seed in begun} >= {(7, 0), (8, 0), (7, 1), (8, 1)}
    for seed, episode in zip(begun, dataset, strict=True):
        first = Zoo().reset(seed=seed)[0]
        np.testing.assert_array_equal(episode.observations["box"][0], first["box"])
    envs.close()


class Mortal(Zoo):
    """Raises in its tenth step."""

    def __init__(self) -> None:
        super().__init__(fails_at=10)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name.lower())
def test_episodes_of_environments_made_again_are_dropped(
    mode: AutoresetMode, datasets: Path
) -> None:
    made = PoolVectorEnv(
        [Mortal], autoreset_mode=mode, num_workers=1, on_error="restart", timeout=60
    )
    envs = VectorDataCollector(made, "mortal-v0", record_infos=KEPT)
    envs.reset(seed=1)
    rows, restarts = 0, 0
    for _ in range(60):
        *_, infos = envs.step(envs.action_space.sample())
        restarts += "worker_restarted" in infos
        rows += 1
    dataset = envs.finish()
    envs.close()
    assert restarts > 2
    for episode in dataset:
        # the last one may be cut off
        assert len(episode.observations["box"]) == len(episode.rewards) + 1
        assert not episode.terminations[:-1].any() and not episode.truncations[:-1].any()
        assert (episode.rewards != 0).all()
    assert 5 < dataset.total_steps < rows


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name.lower())
def test_an_exception_drops_what_has_not_ended(mode: AutoresetMode, datasets: Path) -> None:
    made = PoolVectorEnv([Mortal, Zoo], autoreset_mode=mode, num_workers=0)
    envs = VectorDataCollector(made, "raising-v0")
    envs.action_space.seed(3)
    singles = Singles([Zoo, Zoo])
    # until the step that raises, episodes are those of environments that do not
    with pytest.raises(ZeroDivisionError):
        play(envs, singles, 30, seed=2)
    before = len(singles.order)
    for _ in range(20):
        envs.step(envs.action_space.sample())
    envs.finish()
    found, expected = contents(datasets / "raising-v0"), singles.finish(datasets)
    assert_same_episodes(found[:before], expected[:before])
    for episode in found[before:]:
        # whole episodes: they begin with an observation of a reset, and have an end
        ends = episode["terminations"]["values"] | episode["truncations"]["values"]
        assert ends[-1] and not ends[:-1].any()
    envs.close()


def test_what_is_wrong_is_refused(datasets: Path) -> None:
    made = cart_pole(2, MODES[0])
    with pytest.raises(TypeError, match="record_infos='kind'"):
        VectorDataCollector(made, "a-v0", record_infos="kind")
    # nothing is left, so that the same call with other arguments is taken
    assert not (datasets / "a-v0").exists()
    with pytest.raises(gymnasium.error.NameNotFound):
        VectorDataCollector(made, "a-v0", eval_env="Nothing-v0")
    with pytest.raises(AssertionError):
        # Minari takes a text, or a set
        VectorDataCollector(made, "a-v0", author=["one", "other"])
    VectorDataCollector(made, "a-v0").finish()
    for wrong in ({}, {"authors": "me"}, {"author": ["me"]}):
        with pytest.raises((TypeError, ValueError), match=r"already exists|unexpected keyword"):
            VectorDataCollector(made, "a-v0", **wrong)
    assert minari.load_dataset("a-v0").total_episodes == 0
    with pytest.raises(ValueError, match="dataset_id='b': give a name with a version"):
        VectorDataCollector(made, "b")
    with pytest.raises(ValueError, match="Malformed dataset ID"):
        VectorDataCollector(made, "b b-v0")
    with pytest.raises(ValueError, match="write_every=0"):
        VectorDataCollector(made, "b-v0", write_every=0)
    rows = PoolParallelEnv("mpe/simple_spread_v3", 2).as_vector_env()
    with pytest.raises(TypeError, match="AgentDataCollector"):
        VectorDataCollector(rows, "b-v0")
    rows.close()
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        VectorDataCollector(made, "b-v0", authors="me")
    envs = VectorDataCollector(made, "c-v0")
    envs.reset(seed=1)
    assert envs.finish() is envs.finish()
    with pytest.raises(StateError, match="after finish"):
        envs.step([0, 0])
    envs.close()


def test_one_task_of_a_mixture_is_recorded(datasets: Path) -> None:
    """Rows of several tasks are padded, and a dataset does not tell which has which."""
    parallel_pool.mixed("RecordedLakes-v0", {"small": "FrozenLake-v1", "taxi": "Taxi-v4"})
    made = PoolVectorEnv("RecordedLakes-v0", 4)
    with pytest.raises(ValueError, match=r"have 2 tasks, and a dataset is of one.* task='small'"):
        VectorDataCollector(made, "mixed-v0")
    made.close()
    assert not (datasets / "mixed-v0").exists()
    alone = PoolVectorEnv("RecordedLakes-v0", 2, task="taxi")
    envs = VectorDataCollector(alone, "taxi-v0")
    envs.reset(seed=1)
    envs.step(envs.action_space.sample())
    dataset = envs.finish()
    assert dataset.total_steps == 2
    assert dataset.observation_space == alone.single_observation_space
    envs.close()


@pytest.mark.slow
def test_spaces_that_minari_lacks_are_given(datasets: Path) -> None:
    """Minari can't store MiniGrid's space of missions, which are texts."""
    made = PoolVectorEnv("MiniGrid-Empty-5x5-v0", 2, backend="native")
    with pytest.raises(NotImplementedError, match="MissionSpace"):
        VectorDataCollector(made, "grid-v0")
    assert not (datasets / "grid-v0").exists()
    space = spaces.Dict({**made.single_observation_space, "mission": spaces.Text(60)})
    envs = VectorDataCollector(made, "grid-v0", observation_space=space)

    def make() -> Any:
        # minigrid's rewards of 0 are ints
        env = gymnasium.make("MiniGrid-Empty-5x5-v0")
        return gymnasium.wrappers.TransformReward(env, float)

    singles = Singles([make] * 2, observation_space=space)
    envs.action_space.seed(1)
    play(envs, singles, 150, seed=1)
    envs.close()
    found = contents(datasets / "grid-v0")
    assert_same_episodes(found, singles.finish(datasets))
    assert found[0]["observations"]["mission"]["values"][0] == b"get to the green goal square"


def test_infos_that_come_and_go_are_refused() -> None:
    made = PoolVectorEnv([Zoo], num_workers=0)
    envs = VectorDataCollector(made, "infos-v0", record_infos=True)
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="name such infos by record_infos"):
        for _ in range(10):
            envs.step(envs.action_space.sample())
    envs.close()
    envs = VectorDataCollector(PoolVectorEnv([Zoo], num_workers=0), "b-v0", record_infos=["last"])
    with pytest.raises(ValueError, match="names 'last'"):
        envs.reset(seed=1)
    envs.close()


def patients(*infos: Any) -> Any:
    return SyncVectorEnv(
        [lambda info=info: Patient(spaces.Discrete(3), info) for info in infos],
        autoreset_mode=AutoresetMode.SAME_STEP,
    )


@pytest.mark.parametrize("write_every", [4, 100_000])
def test_an_episode_that_cannot_be_stored_is_dropped_alone(write_every: int) -> None:
    """The next call says so, once and before it steps; no step and no other episode is lost."""
    made = patients(None, 1.0, 2.0)
    envs = VectorDataCollector(made, "dropped-v0", record_infos=True, write_every=write_every)
    envs.reset(seed=1)
    for step in range(1, 4):
        # of the third info on
        made.envs[0].unwrapped.info = None if step < 3 else 0.0
        # the first episodes that end are written at once
        assert (envs.step([0, 0, 0])[0] == step % 3).all()
    message = (
        r"1 episode was dropped, as HDF5 can't store it in the dataset dropped-v0: that of"
        r" environment 0, for the infos \['x'\]: record .* by record_infos=\[\.\.\.\] \(TypeError:"
        r" .*\); all others are kept: call step\(\) again"
    )
    with pytest.raises(ValueError, match=message):
        envs.step([1, 1, 1])
    for step in range(1, 9):
        assert (envs.step([1, 1, 1])[0] == step % 3).all()
    dataset = envs.finish()
    envs.close()
    assert dataset.total_steps == 2 * 3 + 3 * 8
    for episode in dataset:
        assert (episode.actions == episode.actions[0]).all()
        assert (episode.infos["x"] == episode.infos["x"][0]).all()


@pytest.mark.parametrize("level", [None, np.zeros(100_000)], ids=["none", "large"])
def test_options_that_cannot_be_stored_drop_their_episodes(level: Any) -> None:
    envs = VectorDataCollector(patients(1.0, 2.0), "options-v0")
    envs.reset(seed=1, options={"level": level})
    for _ in range(3):
        envs.step([0, 0])
    message = r"2 episodes were .* of environment 0, for the options {'level': (None|array.*)} of"
    with pytest.raises(ValueError, match=message):
        envs.reset()
    envs.reset(options={"level": 3})
    for _ in range(4):
        envs.step([0, 0])
    dataset = envs.finish()
    envs.close()
    assert [len(episode.rewards) for episode in dataset] == [3, 3, 1, 1]


def test_finish_says_what_was_dropped_after_the_dataset_is_complete() -> None:
    envs = VectorDataCollector(patients(None, 1.0), "last-v0", record_infos=True)
    envs.reset(seed=1)
    envs.step([0, 0])
    with pytest.raises(ValueError, match=r"1 episode was .* call finish\(\) again"):
        envs.close()
    assert envs.env.closed
    assert minari.load_dataset("last-v0").total_episodes == 1
    assert envs.finish() is envs.finish()
    envs.close()


def test_a_full_disk_drops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, episodes: Any) -> None:
        raise OSError(28, "No space left on device")

    envs = VectorDataCollector(patients(1.0, 2.0), "full-v0", record_infos=True)
    envs.reset(seed=1)
    for _ in range(10):
        envs.step([0, 0])
    with monkeypatch.context() as patched:
        patched.setattr(HDF5Storage, "update_episodes", fail)
        for _ in range(2):
            with pytest.raises(OSError, match="No space left"):
                envs.finish()
    assert envs.finish().total_steps == 20
    envs.close()


# Records, and kills itself at each operation that changes what the folder shows.
DYING = """
import os, signal, sys, warnings
import gymnasium, minari
from parallel_pool._apis.minari import dataset_stream
from parallel_pool.compat.minari import VectorDataCollector
warnings.simplefilter("ignore")

def record(at):
    calls = 0
    def counted(function):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == at:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*arguments, **options)
            calls += 1
            if calls == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return result
        return call
    made = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2)
    envs = VectorDataCollector(made, f"dying/at_{at}-v0", write_every=40)
    dataset_stream.os.replace = counted(os.replace)
    dataset_stream.shutil.copyfile = counted(dataset_stream.shutil.copyfile)
    envs.action_space.seed(1)
    envs.reset(seed=1)
    for _ in range(100):
        envs.step(envs.action_space.sample())
    envs.finish()

complete = 0
for at in range(1, 60, int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        try:
            record(at)
            os._exit(0)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    dataset = minari.load_dataset(f"dying/at_{at}-v0")
    lengths = [len(episode.rewards) for episode in dataset]
    assert len(lengths) == dataset.total_episodes and sum(lengths) == dataset.total_steps
    assert all((each.terminations | each.truncations)[-1] for each in dataset)
    assert dataset.total_episodes >= complete
    complete = max(complete, dataset.total_episodes)
    if not os.WIFSIGNALED(status):
        break
print(at, complete)
"""


@pytest.mark.slow
@pytest.mark.parametrize("stride", [5, 1])
def test_a_program_that_is_killed_leaves_whole_episodes(stride: int) -> None:
    command = [sys.executable, "-c", DYING, str(stride)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    last, episodes = map(int, done.stdout.split())
    assert 20 < last < 59 and episodes > 5
