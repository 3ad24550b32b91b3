"""Prepared resets: the same results as resets in turn, without their time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode
from pettingzoo import ParallelEnv

from parallel_pool import ProcessPool
from parallel_pool._workers.run import worker
from parallel_pool._workers.run.episode_seeds import of_episode
from parallel_pool._workers.start import orphans
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.pettingzoo import PoolParallelEnv
from parallel_pool.errors import EnvError, PoolError, WorkerError
from tests.support.same import assert_same
from tests.support.sampling import sampled
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")

MODES = ("next_step", "same_step", "disabled")
STEPS = 40


class Episodes(gymnasium.Env[Any, Any]):
    """Draws how long each episode is, and what it observes. Infos say which process it is in.

    Attributes:
        offset: added to observations.
        gate: each reset but the first two waits until this file exists; None: it does not wait.
        fails: resets with an odd draw raise.
    """

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = gymnasium.spaces.Discrete(4)

    def __init__(self, gate: Path | None = None, fails: bool = False) -> None:
        self.offset, self.gate, self.fails, self.resets = 0.0, gate, fails, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps, self.length = 0, int(self.np_random.integers(2, 7))
        self.resets += 1
        if self.gate is not None and self.resets > 1:
            while not self.gate.exists():
                time.sleep(0.001)
        if self.fails and self.length % 2:
            raise ValueError(f"an episode of {self.length} steps")
        return self._show(), {"seed": -1 if seed is None else seed, "text": "begun"}

    def step(self, action: Any) -> Any:
        if action == 1:
            os._exit(3)
        if action == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if action == 3:
            time.sleep(1e6)
        self.steps += 1
        return self._show(), 0.5, self.steps == self.length, False, {"at": self.steps}

    def _show(self) -> Any:
        return self.offset + self.np_random.uniform(-1, 1, 3)

    def pid(self) -> int:
        return os.getpid()


class Duo(ParallelEnv[Any, Any, Any]):
    """An episode of two agents, of which the second leaves after the first step."""

    metadata = {"name": "duo_v0"}  # noqa: RUF012
    render_mode = None

    def __init__(self) -> None:
        self.env, self.possible_agents = Episodes(), ["first", "second"]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Space[Any]:
        return self.env.observation_space

    def action_space(self, agent: str) -> Space[Any]:
        return self.env.action_space

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        observation, info = self.env.reset(seed=seed, options=options)
        self.agents = list(self.possible_agents)
        return {a: observation + i for i, a in enumerate(self.agents)}, {"first": info}

    def step(self, actions: Any) -> Any:
        observation, reward, is_over, _, info = self.env.step(actions["first"])
        agents = self.agents
        self.agents = [] if is_over else ["first"]
        ends = {agent: agent not in self.agents for agent in agents}
        rewards = {agent: reward + self.env.steps + i for i, agent in enumerate(agents)}
        shown = {agent: observation + i for i, agent in enumerate(agents)}
        return shown, rewards, ends, dict.fromkeys(agents, False), {"first": info}

    def pid(self) -> int:
        return os.getpid()


class Play(Protocol):
    def __call__(self, *, autoreset: str, steps: int = STEPS, **options: Any) -> list[Any]: ...


def columns_of(batch: Any) -> list[Any]:
    """Returns copies of a batch's columns. The last observations are those of episodes that ended:
    in other rows lies what an earlier batch in the same memory had."""
    *columns, finals = (np.array(column) for column in batch)
    if "final_obs" not in batch._fields:
        return [*columns, finals]
    return [*columns, finals[batch.terminated | batch.truncated]]


def play(count: int = 3, steps: int = STEPS, **options: Any) -> list[Any]:
    """Returns everything that a pool returns in some steps."""
    found: list[Any] = []
    with ProcessPool([Episodes] * count, episode_seeds=True, **options) as pool:
        for seed in (5, None, [1, None, 3]):
            batches = [pool.reset(seed=seed)]
            found.append(pool.replies())
            for _ in range(steps):
                batches.append(pool.step(np.zeros(count, np.int64)))
                found.append(pool.replies())
                ended = np.flatnonzero(batches[-1].terminated)
                if pool.autoreset == "disabled" and len(ended):
                    batches.append(pool.reset(ended))
            found += [columns_of(batch) for batch in batches]
    return found


def play_sb3(*, autoreset: str, steps: int = STEPS, **options: Any) -> list[Any]:
    """Returns everything that a PoolVecEnv returns in some steps."""
    # torch takes seconds to import
    from parallel_pool.compat.sb3 import PoolVecEnv

    assert autoreset == "same_step"
    found: list[Any] = []
    with closing(PoolVecEnv([Episodes] * 3, episode_seeds=True, **options)) as envs:
        for seed in (5, None, 1):
            if seed is not None:
                envs.seed(seed)
            found += [envs.reset(), [dict(info) for info in envs.reset_infos]]
            for _ in range(steps):
                found += [envs.step(np.zeros(3, np.int64)), [dict(i) for i in envs.reset_infos]]
    return found


NOTHING = {"first": np.zeros(3, np.int64), "second": np.zeros(3, np.int64)}


def play_pettingzoo(*, autoreset: str, steps: int = STEPS, **options: Any) -> list[Any]:
    """Returns everything that a PoolParallelEnv returns in some steps."""
    found: list[Any] = []
    fns = [Duo] * 3
    options |= {"autoreset_mode": AutoresetMode[autoreset.upper()], "episode_seeds": True}
    with PoolParallelEnv(fns, **options) as envs:
        for seed in (5, None, [1, None, 3]):
            found += [envs.reset(seed=seed), envs.live]
            for _ in range(steps):
                found += [envs.step(NOTHING), envs.live]
                over = ~envs.live["first"]
                if autoreset == "disabled" and over.any():
                    found.append(envs.reset(options={"reset_mask": over}))
    return found


def play_unordered(*, autoreset: str, steps: int = STEPS, **options: Any) -> list[Any]:
    """Returns the rows of each environment of an asynchronous PoolParallelEnv."""
    found: dict[int, list[Any]] = {0: [], 1: [], 2: []}
    options |= {"autoreset_mode": AutoresetMode[autoreset.upper()], "episode_seeds": True}
    options["batch_size"] = 2
    with PoolParallelEnv([Duo] * 3, **options) as envs:
        envs.async_reset(seed=1)
        while min(map(len, found.values())) < steps:
            got = envs.recv()
            for at, env_id in enumerate(got.env_ids.tolist()):
                (seen,) = got.observations
                columns = seen, got.rewards, got.terminations, got.truncations, got.live
                found[env_id].append([column[at].copy() for column in columns])
            envs.send(np.zeros((2, 2), np.int64), got.env_ids.copy())
    return [each[:steps] for each in found.values()]


PLAYS: list[tuple[Play, str]] = [
    *((play, autoreset) for autoreset in MODES),
    (play_sb3, "same_step"),
    *((play_pettingzoo, autoreset) for autoreset in MODES),
    *((play_unordered, autoreset) for autoreset in MODES[:2]),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "play, autoreset", PLAYS, ids=lambda value: getattr(value, "__name__", value)
)
def test_results_are_those_of_resets_in_turn(play: Play, autoreset: str) -> None:
    prepared = play(autoreset=autoreset, prepare_resets=True)
    assert_same(prepared, play(autoreset=autoreset, num_workers=1), "rows")


@pytest.mark.slow
@pytest.mark.parametrize("method", sampled(["spawn", "fork"], {"fork"}))
def test_results_do_not_depend_on_the_start_method(method: str) -> None:
    prepared = play(steps=15, start_method=method, prepare_resets=True)
    assert_same(prepared, play(steps=15, num_workers=0), "rows")


@pytest.mark.slow
def test_an_episode_equals_one_with_its_seed() -> None:
    with closing(PoolVectorEnv([Episodes] * 2, episode_seeds=True, prepare_resets=True)) as envs:
        observations, infos = envs.reset(seed=[7, 8])
        assert infos["seed"].tolist() == [7, 8]
        singles = [Episodes(), Episodes()]
        firsts = [env.reset(seed=7 + i)[0] for i, env in enumerate(singles)]
        assert_same(observations, np.stack(firsts), "reset")
        episodes, ended = [0, 0], [False, False]
        for _ in range(STEPS):
            results = envs.step(np.zeros(2, np.int64))
            for i, env in enumerate(singles):
                if ended[i]:
                    episodes[i] += 1
                    seed = of_episode(7 + i, episodes[i])
                    observation, ended[i] = env.reset(seed=seed)[0], False
                    assert results[4]["seed"][i] == seed
                else:
                    observation, _, ended[i], _, _ = env.step(0)
                assert_same(results[0][i], observation, f"environment {i}")
        assert min(episodes) > 3


@pytest.mark.slow
def test_rows_of_unordered_pools_are_the_same() -> None:
    def rows(**options: Any) -> dict[int, list[Any]]:
        found: dict[int, list[Any]] = {0: [], 1: [], 2: []}
        fns = [Episodes] * 3
        with ProcessPool(fns, batch_size=2, episode_seeds=True, **options) as pool:
            pool.send_reset(seed=1)
            while min(map(len, found.values())) < STEPS:
                batch = pool.recv()
                for at, env_id in enumerate(batch.env_id):
                    row = [np.array(column[at]) for column in batch]
                    found[env_id].append((row, pool.replies().get(env_id)))
                pool.send(np.zeros(2, np.int64), batch.env_id.copy())
        return {env_id: each[:STEPS] for env_id, each in found.items()}

    assert_same(rows(prepare_resets=True), rows(num_workers=2), "rows")


@pytest.mark.slow
def test_two_processes_play_in_turn_while_the_other_prepares(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    fns = [lambda: Episodes(gate)]
    with ProcessPool(fns, episode_seeds=True, prepare_resets=True) as pool:
        pool.reset(seed=1)
        pids = [pool.call("pid")[0]]
        # the other process has done its first reset, and the next episode is in this one's second
        until_reset(pool)
        pids.append(pool.call("pid")[0])
        # steps go on while that waits
        for _ in range(2):
            pool.step([0])
        assert not gate.exists()
        gate.touch()
        for _ in range(4):
            until_reset(pool)
            pids.append(pool.call("pid")[0])
    assert len(set(pids[:2])) == 2 and pids == pids[:2] * 3
    assert all(map(has_ended, pids))


def until_reset(pool: ProcessPool) -> Any:
    """Steps one environment until its next episode has begun; returns the batch."""
    while not pool.step([0]).terminated[0]:
        pass
    return pool.step([0])


def test_a_masked_reset_repeats_what_the_other_process_has_begun() -> None:
    with ProcessPool([Episodes], episode_seeds=True, prepare_resets=True) as pool:
        pool.reset(seed=1)
        for _ in range(3):
            first = until_reset(pool).obs.copy()
            pool.send_reset(mask=np.array([False]))
            assert_same(pool.recv().obs, first, "repeated")


@pytest.mark.slow
def test_attributes_are_set_for_this_episode_and_the_next() -> None:
    def seen(**options: Any) -> list[Any]:
        found = []
        with closing(PoolVectorEnv([Episodes] * 2, episode_seeds=True, **options)) as envs:
            envs.set_attr("offset", 50.0)
            found.append(envs.reset(seed=3)[0])
            for step in range(STEPS):
                if step % 9 == 0:
                    envs.set_attr("offset", [100.0 * step, -100.0 * step])
                found.append(envs.step(np.zeros(2, np.int64))[0])
        return found

    assert_same(seen(prepare_resets=True), seen(num_workers=1), "results")


@pytest.mark.slow
def test_options_and_seeds_begin_an_episode_at_once() -> None:
    def seen(**options: Any) -> list[Any]:
        found = []
        with closing(PoolVectorEnv([Episodes] * 2, episode_seeds=True, **options)) as envs:
            for seed in (3, None, 3):
                found += [envs.reset(seed=seed, options={"a": 1}), envs.reset()]
                found += [envs.step(np.zeros(2, np.int64)) for _ in range(12)]
        return found

    assert_same(seen(prepare_resets=True), seen(num_workers=1), "results")


@pytest.mark.slow
@pytest.mark.parametrize("autoreset", MODES[:2])
def test_a_prepared_reset_that_raises_fails_its_own_turn(autoreset: str) -> None:
    def seen(**options: Any) -> list[Any]:
        found: list[Any] = []
        fns = [lambda: Episodes(fails=True)]
        with ProcessPool(fns, episode_seeds=True, autoreset=autoreset, **options) as pool:
            for turn in range(STEPS):
                try:
                    found.append(columns_of(pool.step([0]) if turn else pool.reset(seed=2)))
                except ValueError as error:
                    found.append(str(error))
                    assert isinstance(error.__cause__, EnvError)
                    assert "in reset" in str(error.__cause__)
        assert any(isinstance(each, str) for each in found)
        return found

    assert_same(seen(prepare_resets=True), seen(num_workers=1), "results")


class FailsLater(Episodes):
    """Its first reset never raises: one that was restarted has no seed, so any could."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.fails = self.resets > 0
        return super().reset(seed=seed, options=options)


@pytest.mark.slow
def test_environments_that_raise_are_made_again() -> None:
    fns = [FailsLater] * 2
    options: dict[str, Any] = {"on_error": "restart", "timeout": 30}
    with closing(PoolVectorEnv(fns, episode_seeds=True, prepare_resets=True, **options)) as envs:
        reports, episodes = 0, 0
        envs.reset(seed=[of_length(2), of_length(4)])
        for _ in range(STEPS):
            *_, infos = envs.step(np.zeros(2, np.int64))
            reports += int(np.sum(infos.get("worker_restarted", 0)))
            episodes += int(np.sum(infos.get("_seed", 0)))
        assert reports and episodes


def of_length(length: int) -> int:
    """Returns a seed whose episode has that many steps."""
    for seed in range(1000):
        env = Episodes()
        env.reset(seed=seed)
        if env.length == length:
            return seed
    raise AssertionError


@dataclass
class Opened:
    """Two environments in worker processes, behind an API.

    Attributes:
        reset: begins their episodes.
        step: steps them with two actions.
        pids: returns the processes in which they play.
    """

    envs: Any
    reset: Any
    step: Any
    pids: Any


@contextmanager
def opened(api: str, **options: Any) -> Iterator[Opened]:
    """Makes environments whose resets are prepared, behind an API."""
    options |= {"episode_seeds": True, "prepare_resets": True}
    if api == "pettingzoo":
        with PoolParallelEnv([Duo] * 2, **options) as agents:
            others = np.zeros(2, np.int64)

            def step(actions: Any) -> Any:
                return agents.step({"first": actions, "second": others})

            pids = lambda: agents.call("pid")  # noqa: E731
            yield Opened(agents, lambda: agents.reset(seed=1), step, pids)
    elif api == "sb3":
        from parallel_pool.compat.sb3 import PoolVecEnv

        with closing(PoolVecEnv([Episodes] * 2, seed=1, **options)) as envs:
            yield Opened(envs, envs.reset, envs.step, lambda: envs.env_method("pid"))
    else:
        with ProcessPool([Episodes] * 2, **options) as pool:
            pids = lambda: pool.call("pid")  # noqa: E731
            yield Opened(pool, lambda: pool.reset(seed=1), pool.step, pids)


@pytest.mark.slow
@pytest.mark.parametrize("api", ["pool", "sb3", "pettingzoo"])
@pytest.mark.parametrize("episode", [0, 1])
@pytest.mark.parametrize("action, said", [(1, "exit code 3"), (2, "SIGKILL"), (3, "timeout")])
def test_the_death_of_either_process_is_the_workers(
    episode: int, action: int, said: str, api: str
) -> None:
    options: dict[str, Any] = {"timeout": 3.0} if action == 3 else {}
    with opened(api, **options) as it:
        it.reset()
        first = it.pids()[1]
        while episode and it.pids()[1] == first:
            it.step([0, 0])
        pids = it.pids()
        with pytest.raises(WorkerError, match="environment 1") as caught:
            it.step([0, action])
        assert said in str(caught.value)
        wait_for(lambda: has_ended(pids[1]))
        if api == "pool":
            # the other environment goes on
            it.envs.step([0], [0])
    wait_for(lambda: has_ended(pids[0]))


def deaf() -> Episodes:
    """Returns an environment whose process ignores SIGTERM, which orphans get."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return Episodes()


class Helped(Episodes):
    """It forks a process, which inherits all that the environment's process has open."""

    def __init__(self) -> None:
        super().__init__()
        self.helper = os.fork()
        if not self.helper:
            time.sleep(2 * TEST_TIMEOUT)
            os._exit(0)

    def close(self) -> None:
        os.kill(self.helper, signal.SIGKILL)
        os.waitpid(self.helper, 0)


@pytest.mark.slow
@pytest.mark.parametrize("make", [deaf, Helped])
@pytest.mark.parametrize("victim", ["plays", "stands by"])
def test_a_killed_process_takes_the_other_with_it(
    victim: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # else the pool ends the other after two seconds
    monkeypatch.setattr(orphans, "GRACE", 50.0)
    options: dict[str, Any] = {"on_error": "restart", "start_method": "fork"}
    with ProcessPool([make], episode_seeds=True, prepare_resets=True, **options) as pool:
        pool.reset(seed=1)
        first = pool.call("pid")[0]
        until_reset(pool)
        second = pool.call("pid")[0]
        start = time.monotonic()
        os.kill(second if victim == "plays" else first, signal.SIGKILL)
        wait_for(lambda: has_ended(first) and has_ended(second))
        assert time.monotonic() - start < 40
        batch = pool.step([0])
        assert batch.truncated[0] and not batch.terminated[0]
        for _ in range(3):
            until_reset(pool)
        assert pool.call("pid")[0] not in (first, second)


@pytest.mark.slow
def test_a_pool_closes_within_its_bound_while_a_reset_hangs(tmp_path: Path) -> None:
    fns = [lambda: Episodes(tmp_path / "never")]
    pool = ProcessPool(fns, episode_seeds=True, prepare_resets=True)
    pool.reset(seed=1)
    pids = [pool.call("pid")[0]]
    until_reset(pool)
    pids.append(pool.call("pid")[0])
    start = time.monotonic()
    pool.close(timeout=0.2)
    assert time.monotonic() - start < 5
    wait_for(lambda: all(map(has_ended, pids)))


def test_a_function_that_fails_the_second_time_is_reported(tmp_path: Path) -> None:
    def make() -> Any:
        with (tmp_path / "calls").open("ab") as file:
            file.write(b".")
        if (tmp_path / "calls").stat().st_size == 2:
            raise ValueError("only one at a time")
        return Episodes()

    with pytest.raises(ValueError, match="only one at a time"):
        ProcessPool([make], episode_seeds=True, prepare_resets=True, start_method="fork")


def test_an_eof_error_of_a_function_is_no_end_of_the_worker() -> None:
    parent = os.getpid()

    def make() -> Any:
        if os.getppid() != parent:
            raise EOFError("planted in the second process")
        return Episodes()

    with pytest.raises(EOFError, match="planted in the second process"):
        ProcessPool([make], episode_seeds=True, prepare_resets=True, start_method="fork")


def test_a_worker_that_can_not_start_ends_with_the_other_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It closes its end of their connection, which a process of its environment still has."""

    class Leaves(Helped):
        def close(self) -> None:
            pass

    def fail(*_: Any, **__: Any) -> Any:
        raise MemoryError("planted")

    monkeypatch.setattr(worker, "PreparedRunner", fail)
    with pytest.raises(PoolError, match="planted"):
        ProcessPool([Leaves], episode_seeds=True, prepare_resets=True, start_method="fork")


@pytest.mark.parametrize(
    "options, said",
    [
        ({}, "without episode_seeds=True"),
        ({"episode_seeds": True, "num_workers": 1}, "num_workers=2, or leave num_workers out"),
        ({"episode_seeds": True, "num_workers": 0}, "num_workers=2, or leave num_workers out"),
        ({"episode_seeds": True, "max_branches": 1}, "leave one of them out"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ProcessPool([Episodes] * 2, prepare_resets=True, **options)
