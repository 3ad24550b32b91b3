"""Episodes of a VecEnv are those that Minari's own collector records of single environments."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool._workers.run.episode_seeds import of_episode
from parallel_pool.errors import PoolError, StateError

minari = pytest.importorskip("minari", reason="recording needs Minari")
pytest.importorskip("h5py", reason="recording needs h5py")
pytest.importorskip("stable_baselines3", reason="VecEnvs need Stable-Baselines3")

from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize  # noqa: E402

from parallel_pool.compat.minari import VecEnvDataCollector  # noqa: E402
from parallel_pool.compat.sb3 import AgentVecEnv, PoolVecEnv  # noqa: E402
from tests.support import sampling  # noqa: E402
from tests.support.minari_envs import KEPT, Mortal, Shown, Tired, Walk  # noqa: E402
from tests.support.minari_files import (  # noqa: E402
    Singles,
    assert_leaves_whole_episodes,
    assert_same_episodes,
    assert_whole,
    contents,
    metadata,
)
from tests.support.timeouts import has_ended, wait_for  # noqa: E402

pytestmark = [pytest.mark.usefixtures("alarm"), pytest.mark.filterwarnings("ignore::UserWarning")]


def pole() -> Any:
    return gymnasium.make("CartPole-v1")


def dummy(count: int) -> Any:
    return DummyVecEnv([Walk] * count)


def monitored(count: int) -> Any:
    return VecMonitor(DummyVecEnv([Walk] * count))


def dummy_poles(count: int) -> Any:
    return DummyVecEnv([pole] * count)


def native(count: int) -> Any:
    return PoolVecEnv("CartPole-v1", count, backend="native")


def workers(count: int) -> Any:
    return PoolVecEnv([Walk] * count, num_workers=1)


def here(count: int) -> Any:
    return PoolVecEnv([Walk] * count, num_workers=0)


MAKERS: dict[Callable[[int], Any], Callable[[], Any]] = {
    dummy: Walk,
    monitored: Walk,
    dummy_poles: pole,
    native: pole,
    workers: Walk,
    here: Walk,
}


def sampled(envs: Any) -> Any:
    return np.stack([envs.action_space.sample() for _ in range(envs.num_envs)])


def play(envs: Any, singles: Singles, steps: int, seed: int) -> None:
    """Steps both, after a reset, with random actions."""
    envs.seed(seed)
    envs.set_options({"low": -0.5})
    envs.reset()
    for i in range(envs.num_envs):
        singles.reset(i, seed + i, {"low": -0.5})
    for _ in range(steps):
        actions = sampled(envs)
        _, _, dones, _ = envs.step(actions)
        for i in range(envs.num_envs):
            singles.step(i, actions[i])
            if dones[i]:
                singles.reset(i)


@pytest.mark.slow
@pytest.mark.parametrize("make", sampling.sampled(MAKERS, {native}), ids=lambda make: make.__name__)
def test_episodes_are_those_of_minaris_collector(
    make: Callable[[int], Any], datasets: Path
) -> None:
    single = MAKERS[make]
    infos: Any = KEPT if single is Walk else False
    envs = VecEnvDataCollector(make(3), "sb3/many-v3", record_infos=infos, write_every=20)
    envs.action_space.seed(4)
    fns = [lambda: Shown(Walk())] * 3 if infos else [single] * 3
    singles = Singles(fns, record_infos=bool(infos))
    # the second reset cuts episodes off
    play(envs, singles, 60, seed=5)
    play(envs, singles, 7, seed=9)
    dataset = envs.finish()
    envs.close()
    found = contents(datasets / "sb3" / "many-v3")
    assert_same_episodes(found, singles.finish(datasets))
    assert minari.load_dataset("sb3/many-v3").total_episodes == dataset.total_episodes > 8


@pytest.mark.parametrize("make", [dummy_poles, native], ids=lambda make: make.__name__)
def test_metadata_are_those_of_minaris_collector(
    make: Callable[[int], Any], datasets: Path
) -> None:
    envs = VecEnvDataCollector(make(1), "one-v0", author="me", description="some")
    singles = Singles([pole])
    envs.action_space.seed(1)
    play(envs, singles, 30, seed=1)
    envs.close()
    singles.finish(datasets, author="me", description="some")
    assert metadata(datasets / "one-v0") == metadata(datasets / "single" / "env_0-v0")
    assert minari.load_dataset("one-v0").recover_environment().spec.id == "CartPole-v1"


@pytest.mark.slow
def test_an_agent_learns_what_it_learns_without_the_collector() -> None:
    def learn(envs: Any) -> Any:
        model = PPO("MlpPolicy", envs, n_steps=16, batch_size=32, seed=3, device="cpu")
        return model.learn(128).policy.state_dict()

    # as make_vec_env makes them, each in a Monitor
    expected = learn(make_vec_env("CartPole-v1", 2, seed=7))
    envs = VecEnvDataCollector(make_vec_env("CartPole-v1", 2, seed=7), "learned-v0")
    found = learn(VecNormalize(envs, norm_obs=False, norm_reward=False))
    assert all(bool((found[name] == expected[name]).all()) for name in expected)
    dataset = envs.finish()
    assert dataset.total_steps == 128
    known = dataset.storage.get_episode_metadata(range(dataset.total_episodes))
    # PPO seeds the environments by its own seed
    assert sorted(each["seed"] for each in known if each.get("seed") is not None) == [3, 4]
    envs.close()


def test_what_it_returns_is_what_the_environments_return() -> None:
    alone, envs = dummy(2), VecEnvDataCollector(dummy(2), "same-v0", record_infos=["kind"])
    for each in (alone, envs):
        each.seed(3)
    assert str(envs.reset()) == str(alone.reset())
    for _ in range(20):
        actions = sampled(envs)
        assert str(envs.step(actions)) == str(alone.step(actions))
        assert envs.reset_infos == alone.reset_infos
    assert envs.get_attr("taken") == alone.get_attr("taken")
    envs.close()


def test_actions_may_be_changed_while_the_step_runs() -> None:
    envs = VecEnvDataCollector(native(2), "changed-v0")
    envs.reset()
    actions = np.array([1, 0])
    envs.step_async(actions)
    actions[:] = 5
    envs.step_wait()
    dataset = envs.finish()
    assert [episode.actions.tolist() for episode in dataset] == [[1], [0]]
    envs.close()


@pytest.mark.slow
def test_a_step_in_flight_at_a_reset_is_not_recorded() -> None:
    """It may have begun episodes, so that the seeds of the next ones are not known."""
    made = PoolVecEnv([Walk] * 2, num_workers=0, episode_seeds=True)
    envs = VecEnvDataCollector(made, "dropped-v0")
    for seed in (7, 70, 700):
        envs.seed(seed)
        envs.reset()
        for steps in (12, *range(1, 9)):
            for _ in range(steps):
                envs.step(sampled(envs))
            envs.step_async(sampled(envs))
            envs.reset()
    dataset = envs.finish()
    envs.close()
    assert dataset.total_steps == 2 * 3 * (12 + sum(range(1, 9)))
    recorded = dataset.storage.get_episode_metadata(range(len(dataset)))
    begun = [each.get("seed") for each in recorded]
    assert {7, 8, of_episode(7, 1), of_episode(8, 1), 700, 701, None} <= set(begun)
    for given, episode in zip(begun, dataset, strict=True):
        if given is not None:
            first = Walk().reset(seed=given)[0]
            np.testing.assert_array_equal(episode.observations["box"][0], first["box"])


def test_both_flags_are_recorded_as_terminated() -> None:
    envs = VecEnvDataCollector(DummyVecEnv([Tired]), "both-v0")
    envs.reset()
    for _ in range(20):
        envs.step(sampled(envs))
    *whole, _ = envs.finish()
    assert whole
    for episode in whole:
        assert episode.terminations[-1] and not episode.truncations.any()
    envs.close()


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [None, 0])
def test_an_exception_drops_what_has_not_ended(num_workers: Any, datasets: Path) -> None:
    made: Any = DummyVecEnv([Mortal, Walk])
    if num_workers is not None:
        made = PoolVecEnv([Mortal, Walk], num_workers=num_workers)
    envs = VecEnvDataCollector(made, "raising-v0", record_infos=KEPT)
    envs.action_space.seed(3)
    singles = Singles([lambda: Shown(Walk())] * 2, record_infos=True)
    # until the step that raises, episodes are those of environments that do not
    with pytest.raises(ZeroDivisionError):
        play(envs, singles, 30, seed=2)
    before = len(singles.order)
    for _ in range(30):
        envs.step(sampled(envs))
    dataset = envs.finish()
    found, expected = contents(datasets / "raising-v0"), singles.finish(datasets)
    assert_same_episodes(found[:before], expected[:before])
    assert len(found) > before > 0
    for episode in dataset.iterate_episodes(range(before, len(found))):
        assert_whole(episode)
        # no step is missing
        halves = np.arange(len(episode.rewards) + 1) / 2
        np.testing.assert_array_equal(episode.infos["nested"]["half"], halves)
    envs.close()


def test_wrong_actions_drop_what_has_not_ended() -> None:
    envs = VecEnvDataCollector(native(2), "wrong-v0")
    envs.reset()
    envs.step([0, 1])
    with pytest.raises(ValueError, match="actions"):
        envs.step_async([0, 1, 0])
    envs.step([0, 1])
    assert envs.finish().total_steps == 0
    envs.close()


@pytest.mark.slow
def test_episodes_of_environments_made_again_are_dropped() -> None:
    made = PoolVecEnv([Mortal], num_workers=1, on_error="restart", timeout=60)
    envs = VecEnvDataCollector(made, "mortal-v0", record_infos=KEPT)
    envs.reset()
    restarts = 0
    for _ in range(60):
        infos = envs.step(sampled(envs))[3]
        restarts += "worker_restarted" in infos[0]
    dataset = envs.finish()
    envs.close()
    assert restarts > 2
    for episode in dataset:
        assert_whole(episode)
        # a row that reports a restart has reward 0
        assert (episode.rewards != 0).all()
    assert 5 < dataset.total_steps < 60 - restarts


@pytest.mark.slow
@pytest.mark.parametrize("on_error", ["raise", "restart"])
def test_episodes_of_a_worker_that_was_killed_are_dropped(on_error: str) -> None:
    options: dict[str, Any] = {"timeout": 60} if on_error == "restart" else {}
    made = PoolVecEnv([Walk] * 2, num_workers=2, on_error=on_error, **options)
    envs = VecEnvDataCollector(made, "killed-v0")
    envs.seed(1)
    envs.reset()
    for _ in range(20):
        envs.step(sampled(envs))
    (pid, _) = made.pool.worker_pids
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: has_ended(pid))
    if on_error == "raise":
        # a StateError if its death was noticed before the step
        with pytest.raises(PoolError, match="SIGKILL"):
            envs.step(sampled(envs))
    else:
        restarts = [envs.step(sampled(envs))[3][0].get("worker_restarted") for _ in range(20)]
        assert restarts.count(True) == 1
    dataset = envs.finish()
    envs.close()
    assert dataset.total_episodes > 3
    for episode in dataset:
        assert_whole(episode)
        assert (episode.rewards != 0).all()


KILLED = """
import os, signal, sys
import gymnasium
from stable_baselines3.common.vec_env import DummyVecEnv
from parallel_pool.compat.minari import VecEnvDataCollector

envs = DummyVecEnv([lambda: gymnasium.make("CartPole-v1")] * 2)
envs = VecEnvDataCollector(envs, "killed-v0", write_every=60)
envs.action_space.seed(1)
envs.seed(1)
envs.reset()
for _ in range(100):
    envs.step_async([envs.action_space.sample() for _ in range(2)])
    envs.step_wait()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_program_that_is_killed_leaves_whole_episodes() -> None:
    assert_leaves_whole_episodes(KILLED)


def test_what_is_wrong_is_refused(datasets: Path) -> None:
    made = native(2)
    with pytest.raises(TypeError, match=r"venv=.* is .*: give a VecEnv"):
        VecEnvDataCollector(pole(), "a-v0")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="record_infos='kind'"):
        VecEnvDataCollector(made, "a-v0", record_infos="kind")
    with pytest.raises(ValueError, match="dataset_id='b': give a name with a version"):
        VecEnvDataCollector(made, "b")
    with pytest.raises(ValueError, match="write_every=0"):
        VecEnvDataCollector(made, "b-v0", write_every=0)
    rows = AgentVecEnv("mpe/simple_spread_v3", 2)
    with pytest.raises(TypeError, match="AgentDataCollector"):
        VecEnvDataCollector(rows, "b-v0")
    rows.close()
    assert not (datasets / "b-v0").exists()
    envs = VecEnvDataCollector(made, "c-v0")
    envs.reset()
    envs.step([0, 1])
    assert envs.finish() is envs.finish()
    for call in (envs.reset, lambda: envs.step_async([0, 0]), envs.step_wait):
        with pytest.raises(StateError, match="after finish"):
            call()
    envs.close()


def test_close_completes_the_dataset_and_closes() -> None:
    envs = VecEnvDataCollector(native(2), "closed-v0")
    envs.reset()
    envs.step([0, 1])
    envs.close()
    assert envs.pool.closed
    assert minari.load_dataset("closed-v0").total_steps == 2
    assert envs.finish().total_steps == 2


def test_an_episode_that_cannot_be_stored_is_dropped_alone() -> None:
    """The next step says so, before it is begun."""
    envs = VecEnvDataCollector(dummy(2), "dropped-v0", record_infos=KEPT, write_every=1)
    envs.seed(1)
    envs.set_options([{"low": 0.5, "name": None}, {"low": 0.5}])
    envs.reset()
    taken = 0
    with pytest.raises(ValueError, match=r"for the options .*'name': None.* call step_async\(\)"):
        for _ in range(20):
            envs.step(sampled(envs))
            taken += 1
    assert {env.taken for env in envs.get_attr("unwrapped")} == {taken}
    for _ in range(20):
        envs.step(sampled(envs))
        taken += 1
    dataset = envs.finish()
    envs.close()
    # all but the first of one
    first = 2 * taken - dataset.total_steps
    assert 2 <= first <= 8
    assert len(dataset) > 2


def test_infos_that_come_and_go_are_refused() -> None:
    envs = VecEnvDataCollector(dummy(1), "infos-v0", record_infos=True)
    envs.reset()
    with pytest.raises(ValueError, match="name such infos by record_infos"):
        for _ in range(10):
            envs.step(sampled(envs))
    envs.close()
