"""Episodes of EnvPool's API are those that Minari's own collector records of one environment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import TransformReward

from parallel_pool.compat.envpool import make_dm, make_gym, make_gymnasium
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.errors import EnvError, PoolTimeoutError, StateError

minari = pytest.importorskip("minari", reason="recording needs Minari")
pytest.importorskip("h5py", reason="recording needs h5py")

from minari.dataset._storages.hdf5_storage import HDF5Storage  # noqa: E402

from parallel_pool.compat.minari import EnvPoolDataCollector, VectorDataCollector  # noqa: E402
from tests.support.minari_files import (  # noqa: E402
    Singles,
    assert_leaves_whole_episodes,
    assert_same_episodes,
    assert_whole,
    contents,
    metadata,
)
from tests.support.sampling import sampled  # noqa: E402
from tests.support.timeouts import TEST_TIMEOUT  # noqa: E402

pytestmark = [pytest.mark.usefixtures("alarm"), pytest.mark.filterwarnings("ignore::UserWarning")]

POLE = "CartPole-v1"
# ids and their options, the same here and in Gymnasium
TASKS: dict[str, dict[str, Any]] = {
    POLE: {"max_episode_steps": 25},
    "MountainCarContinuous-v0": {"max_episode_steps": 9},
    "FrozenLake-v1": {"is_slippery": False},
}


def rounded(reward: Any) -> float:
    return float(np.float32(reward))


def single(task: str) -> Callable[[], Any]:
    """Returns a function that makes one environment, with rewards as EnvPool's API has them."""
    return lambda: TransformReward(
        gymnasium.make(task, **TASKS[task]), lambda r: float(np.float32(r))
    )


class Player:
    """Plays a pool, and single environments in the order of its results."""

    def __init__(self, envs: Any, singles: Singles) -> None:
        self.envs, self.singles = envs, singles
        self.rng = np.random.default_rng(1)
        self.sent: dict[int, Any] = {}
        self.seeds: dict[int, int] = {}

    def expect_reset(self, seed: int | None, env_ids: Any = None) -> None:
        """Tells which seeds the next results of environments have."""
        ids = range(self.envs.num_envs) if env_ids is None else env_ids
        self.seeds = {} if seed is None else {i: seed + i for i in ids}

    def see(self, infos: dict[str, Any]) -> Any:
        """Lets single environments do what the results say; returns the environments of these."""
        env_ids = infos["env_id"][: infos.get("num_rows")]
        for row, i in enumerate(env_ids.tolist()):
            if infos["elapsed_step"][row] == 0:
                self.singles.reset(i, self.seeds.pop(i, None))
            else:
                self.singles.step(i, self.sent[i])
        return env_ids

    def actions(self, env_ids: Any) -> Any:
        """Draws actions that are sent to these environments."""
        space = self.envs.action_space
        if isinstance(space, spaces.Discrete):
            drawn: Any = self.rng.integers(0, space.n, len(env_ids), np.int32)
        else:
            drawn = self.rng.uniform(-1, 1, (len(env_ids), *space.shape)).astype(np.float32)
        self.sent |= dict(zip(env_ids.tolist(), drawn, strict=True))
        return drawn

    def step(self, count: int, env_ids: Any = None) -> None:
        """Steps environments of a synchronous pool (None: all)."""
        ids = self.envs.all_env_ids if env_ids is None else env_ids
        for _ in range(count):
            self.see(self.envs.step(self.actions(ids), env_ids)[4])


@pytest.mark.slow
@pytest.mark.parametrize("env_type", ["gym", "gymnasium"])
@pytest.mark.parametrize("task", sampled(TASKS, {POLE}))
def test_episodes_are_those_of_minaris_collector(task: str, env_type: str, datasets: Path) -> None:
    make = make_gym if env_type == "gym" else make_gymnasium
    made = make(task, num_envs=3, **TASKS[task])
    envs = EnvPoolDataCollector(made, "pools/many-v3", write_every=20)
    player = Player(envs, Singles([single(task)] * 3))
    for seed in (5, 9):
        # the second reset cuts episodes off
        player.expect_reset(seed)
        result = envs.reset(seed=seed)
        assert isinstance(result, np.ndarray) == (env_type == "gym")
        player.see({"env_id": envs.all_env_ids, "elapsed_step": np.zeros(3)})
        player.step(60)
    # some environments only
    some = np.array([2, 0], np.int32)
    player.step(7, some)
    player.expect_reset(30, [2, 0])
    envs.reset(some, seed=[32, 30])
    player.see({"env_id": some, "elapsed_step": np.zeros(2)})
    player.step(7)
    dataset = envs.finish()
    envs.close()
    found = contents(datasets / "pools" / "many-v3")
    assert_same_episodes(found, player.singles.finish(datasets))
    assert minari.load_dataset("pools/many-v3").total_episodes == dataset.total_episodes > 10


@pytest.mark.slow
@pytest.mark.parametrize("task", sampled([POLE, "MountainCarContinuous-v0"], {POLE}))
def test_episodes_of_asynchronous_pools(task: str, datasets: Path) -> None:
    made = make_gymnasium(task, num_envs=5, batch_size=2, num_threads=2, **TASKS[task])
    envs = EnvPoolDataCollector(made, "pools/async-v0", write_every=20)
    with pytest.raises(PoolTimeoutError):
        envs.recv(timeout=0.0)
    player = Player(envs, Singles([single(task)] * 5))
    shape = made.action_space.shape
    player.expect_reset(5)
    envs.async_reset(seed=5)
    for step in range(200):
        if step % 3 == 0:
            *_, infos = envs.recv(min_rows=1, timeout=TEST_TIMEOUT)
        elif step == 1:
            _, infos = envs.recv(reset=True)
        else:
            *_, infos = envs.recv()
        env_ids = player.see(infos)
        # the next steps of some come later than those of others
        envs.send(player.actions(env_ids), env_ids)
        with pytest.raises(StateError, match="already in flight"):
            # which changes nothing
            envs.send(np.zeros((len(env_ids), *shape)).astype(int), env_ids)
    envs.finish()
    envs.close()
    assert_same_episodes(contents(datasets / "pools" / "async-v0"), player.singles.finish(datasets))


@pytest.mark.slow
def test_episodes_are_those_of_the_vector_collector(datasets: Path) -> None:
    """For the same seeds and actions; so is the environment's spec, with its options."""
    about = {"author": "me", "description": "some", "algorithm_name": "random"}
    options = {"sutton_barto_reward": True, "max_episode_steps": 30}
    next_step = AutoresetMode.NEXT_STEP
    one: Any = PoolVectorEnv(POLE, 3, autoreset_mode=next_step, backend="native", **options)
    one = VectorDataCollector(one, "one-v0", **about)
    other = EnvPoolDataCollector(make_gymnasium(POLE, num_envs=3, **options), "other-v0", **about)
    rng = np.random.default_rng(2)
    for each in (one, other):
        each.reset(seed=3, options={"low": -0.01, "high": 0.01})
    for _ in range(100):
        actions = rng.integers(0, 2, 3)
        for each in (one, other):
            each.step(actions)
    one.close()
    other.close()
    assert_same_episodes(contents(datasets / "other-v0"), contents(datasets / "one-v0"))
    assert metadata(datasets / "other-v0") == metadata(datasets / "one-v0")
    recovered = minari.load_dataset("other-v0").recover_environment()
    assert recovered.spec.max_episode_steps == 30 and recovered.spec.id == POLE


def seeds_of(dataset: Any) -> list[Any]:
    return [each.get("seed") for each in dataset.storage.get_episode_metadata(range(len(dataset)))]


@pytest.mark.slow
@pytest.mark.parametrize("resets", [True, False])
def test_the_seed_of_make_is_that_of_the_first_episodes(resets: bool) -> None:
    envs = EnvPoolDataCollector(make_gymnasium(POLE, num_envs=2, seed=7), "seeded-v0")
    if resets:
        envs.reset()
    for _ in range(200):
        envs.step(np.zeros(2, int))
    dataset = envs.finish()
    assert seeds_of(dataset)[:2] == [7, 8]
    assert set(seeds_of(dataset)[2:]) == {None} and len(dataset) > 10
    for seed, episode in zip((7, 8), dataset, strict=False):
        first = gymnasium.make(POLE).reset(seed=seed)[0]
        np.testing.assert_array_equal(episode.observations[0], first)
    envs.close()


def test_episodes_from_before_are_not_recorded() -> None:
    """Neither is the seed of `make`, which they had."""
    made = make_gymnasium(POLE, num_envs=2, seed=7)
    made.reset()
    made.step(np.zeros(2, int))
    envs = EnvPoolDataCollector(made, "late-v0")
    while envs.step(np.zeros(2, int))[4]["elapsed_step"].min() > 0:
        pass
    for _ in range(30):
        envs.step(np.zeros(2, int))
    dataset = envs.finish()
    assert set(seeds_of(dataset)) == {None} and len(dataset) > 3
    for episode in dataset:
        # CartPole begins near 0
        assert abs(episode.observations[0]).max() <= 0.05
    envs.close()


def test_resets_of_some_have_their_seeds_and_options(datasets: Path) -> None:
    envs = EnvPoolDataCollector(make_gymnasium(POLE, num_envs=4, batch_size=2), "some-v0")
    envs.async_reset(np.arange(2), seed=7, options={"low": -0.01, "high": 0.01})
    envs.async_reset(np.arange(2, 4))
    first = [envs.recv()[4]["env_id"] for _ in range(2)]
    for env_ids in first:
        envs.send(np.zeros(2, int), env_ids)
    for _ in range(2):
        envs.recv()
    # all are idle
    envs.reset(options={"reset_mask": np.array([False, True, True, False])}, seed=[1, 2, 3, 4])
    envs.step(np.zeros(2, int), np.array([1, 2]))
    envs.finish()
    envs.close()
    found = [episode["attributes"] for episode in contents(datasets / "some-v0")]
    known = sorted((each.get("seed", -1), each.get("options/low")) for each in found)
    assert known[:2] == [(-1, None), (-1, None)]
    assert known[2:] == [(2, None), (3, None), (7, -0.01), (8, -0.01)]


def test_rows_without_results_are_not_recorded() -> None:
    """`recv(min_rows=...)` fills up its arrays with rows whose env_id is -1."""
    envs = EnvPoolDataCollector(make_gymnasium(POLE, num_envs=4, batch_size=2), "rows-v0")
    envs.async_reset()
    for _ in range(2):
        envs.recv()
    for env_ids in ([0, 3], [0], [3]):
        envs.send([0] * len(env_ids), env_ids)
        assert envs.recv(min_rows=len(env_ids))[4]["num_rows"] == len(env_ids)
    assert [len(episode.rewards) for episode in envs.finish()] == [2, 2]
    envs.close()


def test_infos_are_the_environments_own() -> None:
    made = make_gymnasium("FrozenLake-v1", num_envs=3)
    envs = EnvPoolDataCollector(made, "lake-v0", record_infos=True)
    envs.reset(seed=1)
    seen: list[list[float]] = [[] for _ in range(3)]
    for _ in range(3):
        *_, infos = envs.step(np.zeros(3, int))
        for own, value in zip(seen, infos["prob"], strict=True):
            own.append(float(value))
    dataset = envs.finish()
    assert len(dataset) == 3
    for episode, own in zip(dataset, seen, strict=True):
        assert list(episode.infos) == ["prob"]
        np.testing.assert_array_equal(episode.infos["prob"][1:], own)
    envs.close()


@pytest.mark.slow
def test_one_thread_may_send_while_another_receives() -> None:
    made = make_gymnasium(POLE, num_envs=6, batch_size=2, seed=1)
    envs = EnvPoolDataCollector(made, "threads-v0")
    waiting: list[Any] = []
    has_some, is_over = threading.Condition(), threading.Event()

    def act() -> None:
        while not is_over.is_set():
            with has_some:
                has_some.wait_for(lambda: waiting or is_over.is_set(), timeout=1.0)
                env_ids = waiting.pop() if waiting else None
            if env_ids is not None:
                # the action says the environment and the step
                envs.send((env_ids + steps[env_ids]) % 2, env_ids)

    steps = np.zeros(6, int)
    thread = threading.Thread(target=act)
    thread.start()
    try:
        envs.async_reset()
        for _ in range(400):
            *_, infos = envs.recv(timeout=TEST_TIMEOUT)
            env_ids = infos["env_id"]
            steps[env_ids] = infos["elapsed_step"]
            with has_some:
                waiting.append(env_ids)
                has_some.notify()
    finally:
        is_over.set()
        thread.join()
    dataset = envs.finish()
    envs.close()
    assert dataset.total_steps > 700
    for episode in dataset:
        # actions alternate: none is another step's
        assert (np.diff(episode.actions) != 0).all()


@pytest.mark.slow
def test_a_step_that_takes_too_long_is_not_lost() -> None:
    # much longer than a busy machine may take from one call to the next
    made = make_gymnasium("test/Fault-v0", num_envs=2, num_threads=2, sleep_ms=3000)
    envs = EnvPoolDataCollector(made, "slow-v0")
    envs.reset()
    with pytest.raises(PoolTimeoutError):
        envs.step(np.array([1, 0]), timeout=0.01)
    with pytest.raises(PoolTimeoutError):
        envs.recv(timeout=0.0)
    envs.recv()
    assert [episode.rewards.tolist() for episode in envs.finish()] == [[1.0], [0.0]]
    envs.close()


@pytest.mark.slow
def test_a_reset_that_takes_too_long_is_not_lost(datasets: Path) -> None:
    slow: dict[str, Any] = {"sleep_ms": 3000, "slow_env": 0}
    made = make_gymnasium("test/Fault-v0", num_envs=2, batch_size=1, num_threads=1, **slow)
    envs = EnvPoolDataCollector(made, "slow-v0")
    envs.async_reset([0])
    envs.recv()
    envs.send([1], [0])
    # environment 1 waits for the thread
    with pytest.raises(PoolTimeoutError):
        envs.reset([1], seed=[5], timeout=0.01)
    envs.recv()
    envs.recv()
    envs.send([1], [1])
    envs.recv()
    assert seeds_of(envs.finish()) == [None, 5]
    envs.close()


@pytest.mark.parametrize("fails_on", ["step", "reset"])
def test_an_exception_drops_what_has_not_ended(fails_on: str) -> None:
    made = make_gymnasium(
        "test/Fault-v0",
        num_envs=3,
        max_episode_steps=4,
        fail_on=fails_on,
        fail_at_step=6 if fails_on == "step" else 2,
        fail_env=1,
    )
    envs = EnvPoolDataCollector(made, "raising-v0")
    envs.reset(seed=1)
    failures = 0
    for _ in range(30):
        try:
            envs.step(np.ones(3, int))
        except EnvError as error:
            assert error.env_ids == (1,)
            assert error.batch[4]["env_id"].tolist() == [0, 1, 2]
            failures += 1
    assert failures == 1
    *whole, _, _, _ = envs.finish()
    envs.close()
    assert len(whole) >= 12
    for episode in whole:
        assert_whole(episode)
        assert episode.rewards.tolist() == [1.0] * 4
    cut = 1 if fails_on == "step" else 0
    assert sum(map(len, whole)) <= 3 * 24 - cut


def test_failures_have_the_results_that_were_asked_for() -> None:
    fault = {"num_envs": 2, "fail_on": "reset", "fail_at_step": 1, "fail_env": 0}
    for name, call in {
        "a-v0": lambda envs: envs.reset(),
        "b-v0": lambda envs: (envs.async_reset(), envs.recv(reset=True)),
    }.items():
        envs = EnvPoolDataCollector(make_gym("test/Fault-v0", **fault), name)
        with pytest.raises(EnvError, match="environment 0 failed") as caught:
            call(envs)
        assert caught.value.batch.shape == (2, 1)
        envs.close()


KILLED = """
import os, signal
import numpy as np
import parallel_pool
from parallel_pool.compat.minari import EnvPoolDataCollector

envs = parallel_pool.make_gymnasium("CartPole-v1", num_envs=4, batch_size=2, seed=1)
envs = EnvPoolDataCollector(envs, "killed-v0", write_every=60)
envs.async_reset()
for _ in range(100):
    env_ids = envs.recv()[4]["env_id"]
    envs.send(np.zeros(2, int), env_ids)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_program_that_is_killed_leaves_whole_episodes() -> None:
    assert_leaves_whole_episodes(KILLED)


def test_what_is_wrong_is_refused(datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collect: Any = EnvPoolDataCollector
    made = make_gymnasium(POLE, num_envs=2)
    for other in (gymnasium.make(POLE), gymnasium.Wrapper(made), make_dm(POLE)):
        with pytest.raises(TypeError, match="give a pool of make_gymnasium"):
            collect(other, "a-v0")
    monkeypatch.setitem(sys.modules, "gym", SimpleNamespace(__version__="0.23.1", spaces=spaces))
    with pytest.raises(TypeError, match=r"without gym before 0\.26"):
        collect(make_gym(POLE), "a-v0")
    with pytest.raises(TypeError, match="AgentDataCollector"):
        collect(make_gymnasium("mpe/simple_spread_v3"), "a-v0")
    with pytest.raises(TypeError, match="give it to EnvPoolDataCollector"):
        VectorDataCollector(made, "a-v0")
    with pytest.raises(TypeError, match="record_infos='kind'"):
        collect(made, "a-v0", record_infos="kind")
    with pytest.raises(ValueError, match="dataset_id='b': give a name with a version"):
        collect(made, "b")
    envs = collect(made, "c-v0")
    envs.reset(seed=1)
    assert envs.finish() is envs.finish()
    calls: list[Callable[[], Any]] = [envs.reset, envs.async_reset, envs.recv]
    for call in (*calls, lambda: envs.send([0, 0]), lambda: envs.step([0, 0])):
        with pytest.raises(StateError, match="after finish"):
            call()
    envs.close()


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 3])
def test_actions_have_the_dtypes_that_the_agent_gave(batch_size: int, datasets: Path) -> None:
    """Also if these change, in an episode or after it."""
    task = "MountainCarContinuous-v0"
    made = make_gymnasium(task, num_envs=3, batch_size=batch_size, **TASKS[task])
    envs = EnvPoolDataCollector(made, "kinds-v0", write_every=20)
    player = Player(envs, Singles([single(task)] * 3))
    player.expect_reset(5)
    envs.async_reset(seed=5)
    for turn in range(100):
        env_ids = player.see(envs.recv()[4])
        actions = player.actions(env_ids)
        if turn < 40 or turn % 17 == 0:
            actions = actions.astype(np.int8)
            player.sent |= dict(zip(env_ids.tolist(), actions, strict=True))
        envs.send(actions, env_ids)
    envs.finish()
    envs.close()
    found = contents(datasets / "kinds-v0")
    assert_same_episodes(found, player.singles.finish(datasets))
    forms = {episode["actions"]["form"][0] for episode in found}
    assert forms == {"int8", "float32"}


def test_an_episode_that_cannot_be_stored_is_dropped_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call that follows says so, whichever it is, and does nothing else."""
    store = HDF5Storage.update_episodes

    def refuse(self: Any, episodes: Any) -> None:
        if any(episode.seed == 13 for episode in episodes):
            raise TypeError("thirteen")
        store(self, episodes)

    monkeypatch.setattr(HDF5Storage, "update_episodes", refuse)
    made = make_gymnasium(POLE, num_envs=2, max_episode_steps=3)
    envs = EnvPoolDataCollector(made, "dropped-v0", write_every=6)
    zeros = np.zeros(2, int)
    calls: dict[str, Callable[[], Any]] = {
        "recv": envs.recv,
        "send": lambda: envs.send(zeros),
        "step": lambda: envs.step(zeros),
        "async_reset": envs.async_reset,
        "reset": envs.reset,
    }
    for name, call in calls.items():
        envs.reset(seed=[12, 13])
        for _ in range(3):
            envs.step(zeros)
        if name == "recv":
            made.send(zeros)
        message = rf"^1 .* of environment 1, .*thirteen.* call {name}\(\) again to go on$"
        with pytest.raises(ValueError, match=message):
            call()
        call()
        if name in {"send", "async_reset"}:
            envs.recv()
    dataset = envs.finish()
    envs.close()
    assert seeds_of(dataset) == [12] * len(calls)


def test_close_completes_the_dataset_and_closes() -> None:
    envs = EnvPoolDataCollector(make_gymnasium(POLE, num_envs=2), "closed-v0")
    envs.reset()
    envs.step([0, 1])
    with envs:
        assert len(envs) == envs.num_envs == 2
    assert envs.env.closed
    assert minari.load_dataset("closed-v0").total_steps == 2
    assert envs.finish().total_steps == 2


def test_wrappers_of_pools_take_it() -> None:
    envs = EnvPoolDataCollector(make_gymnasium(POLE, num_envs=2), "wrapped-v0")

    class Scaled(gymnasium.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            observations, *rest = super().step(action)
            return observations * 2, *rest

    wrapped = Scaled(envs)
    wrapped.reset(seed=1)
    assert wrapped.step(np.zeros(2, int))[0].shape == (2, 4)
    assert envs.finish().total_steps == 2
    wrapped.close()
