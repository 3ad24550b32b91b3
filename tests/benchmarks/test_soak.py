"""The soak test finds every kind of fault in a pool, and none in a pool that works."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.harness import counting
from benchmarks.harness.ledger import Ledger
from benchmarks.scenes.forging import Forging
from benchmarks.scenes.refusing import Refusing
from benchmarks.studies import soak
from parallel_pool._bench import race, rivals
from parallel_pool._engine.pool import Pool
from parallel_pool.compat.gymnasium import PoolVectorEnv
from tests.support.timeouts import TEST_TIMEOUT


class Restarting:
    """A vector environment in this process that restarts what crashes, like ours in the soak test.

    `spoil` may be set to change what `step` returns, as a faulty pool would.
    """

    def __init__(self, num_envs: int, crash_every: int) -> None:
        self.num_envs, self._crash_every = num_envs, crash_every
        self.envs = [self._make(i) for i in range(num_envs)]
        self.ended = [False] * num_envs
        self.spoil = lambda self, result: result

    def _make(self, i: int) -> counting.Counting:
        return counting.Counting(i, ("raises", "talks")[i % 2], self._crash_every)

    def get_attr(self, name: str) -> tuple[int, ...]:
        return tuple(getattr(env, name) for env in self.envs)

    def reset(self, *, seed: int) -> tuple[dict[str, rivals.np.ndarray], dict[str, object]]:
        self.last = [env.reset()[0] for env in self.envs]
        return self._stacked(), {}

    def _stacked(self) -> dict[str, rivals.np.ndarray]:
        return {
            key: rivals.np.stack([obs[key] for obs in self.last]) for key in ("count", "picture")
        }

    def step(self, actions: Sequence[int]) -> list[object]:
        columns: list[list[object]] = []
        for i, action in enumerate(actions):
            columns.append(self.step_one(i, int(action)))
        rewards, terminated, truncated, restarted, totals, said = map(
            rivals.np.array, zip(*columns, strict=True)
        )
        infos = {
            "total": totals,
            "said": said,
            "_said": said != "",
            "_worker_restarted": restarted,
            "_restart_seed": restarted.copy(),
        }
        return self.spoil(self, [self._stacked(), rewards, terminated, truncated, infos])

    def step_one(self, i: int, action: int) -> list[object]:
        env = self.envs[i]
        try:
            if self.ended[i]:
                self.last[i], info = env.reset()
                reward, terminated, truncated = 0.0, False, False
            else:
                self.last[i], reward, terminated, truncated, info = env.step(action)
        except counting.Crash:
            self.envs[i] = self._make(i)
            self.ended[i] = True
            return [0.0, False, True, True, 0, ""]
        self.ended[i] = terminated or truncated
        return [reward, terminated, truncated, False, info["total"], info.get("said", "")]


def soaked(env: Restarting, steps: int = 3000) -> soak.Result:
    return soak.soak(env, steps, kill_every=500, sample_every=steps // 6)


@pytest.mark.slow
def test_a_soak_finds_no_fault_in_a_correct_pool() -> None:
    # other tests may have left zombies of this process
    before = soak.Sample.take(0).zombies
    result = soaked(Restarting(4, crash_every=60))
    assert result.faults == []
    assert result.rows == 3000
    # a life of a crashing environment has 20 + 60 calls on average
    assert result.restarts > 5
    # its environments are in this process, which is not killed
    assert result.killed == 0
    assert len(result.samples) == 6
    assert all(s.memory_kb > 1000 and s.files > 2 for s in result.samples)
    assert all(s.zombies <= before for s in result.samples)
    assert "3000 rows" in result.summary()
    assert "FAULT" not in result.summary()


@pytest.mark.slow
def test_a_soak_restores_forged_snapshots() -> None:
    forging = Forging()
    result = soak.soak(
        Restarting(4, crash_every=10**9), 20_000, 0, sample_every=3000, forging=forging
    )
    forging.close()
    assert result.faults == []
    assert result.accepted + result.refused == 100
    assert min(result.accepted, result.refused) > 5
    assert f"{result.refused} refused" in result.summary()


@pytest.mark.slow
def test_a_neighbour_that_a_forged_snapshot_changes_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a write beyond a state would do."""
    forging = Forging(["CartPole-v1"])

    def spoil(self: Forging, pool: Pool) -> None:
        pool.step([0], [2])

    monkeypatch.setattr(Forging, "go_on", spoil)
    result = soak.soak(Restarting(2, crash_every=10**9), 4000, 0, sample_every=600, forging=forging)
    forging.close()
    assert len(result.faults) == result.accepted > 5
    assert result.faults[0].startswith("CartPole-v1, ")
    assert result.faults[0].endswith("a neighbour changed")


@pytest.mark.slow
def test_a_soak_makes_calls_that_are_refused() -> None:
    env = PoolVectorEnv(counting.factories(4, 10**9), num_workers=0)
    refusing = Refusing(env)
    result = soak.soak(env, 12_000, 0, sample_every=2000, refusing=refusing)
    env.close()
    assert result.faults == []
    assert result.refused_calls == 2 * 13
    assert "26 calls refused" in result.summary()


def test_a_call_that_is_not_refused_is_a_fault() -> None:
    env = PoolVectorEnv(counting.factories(2, 10**9), num_workers=0)
    env.reset(seed=0)
    refusing = Refusing(env)
    refusing.refuse("a good step", lambda: env.step([0, 0]), ValueError)
    refusing.refuse("a wrong step", lambda: env.step([0]), TypeError)
    env.close()
    assert refusing.refused == 0
    assert refusing.faults == [
        "a good step was not refused",
        "a wrong step: ValueError in place of TypeError",
    ]


@pytest.mark.slow
def test_a_soak_agrees_with_gymnasiums_own_vector_environment() -> None:
    import gymnasium

    env = gymnasium.vector.SyncVectorEnv(counting.factories(4, 10**9))
    # the last batch exceeds the number of steps; no process is killed
    result = soak.soak(env, 3002, kill_every=0, sample_every=500)
    assert (result.rows, result.faults) == (3004, [])
    env.close()


SPOILED: dict[str, tuple[object, str]] = {
    "a row lost": (lambda pool, result: lost(pool, result), "does not follow"),
    "rows swapped": (lambda pool, result: swapped(result), "does not follow"),
    "a torn picture": (lambda pool, result: torn(result), "does not follow"),
    "an end of nothing": (lambda pool, result: changed(result, 2, 0, True), "does not follow"),
    "another's info": (lambda pool, result: in_infos(result, "total", -5), "has a wrong info"),
    "another's words": (lambda pool, result: in_infos(result, "said", "?", 1), "has a wrong info"),
    "a restart of nothing": (
        lambda pool, result: in_infos(result, "_worker_restarted", True),
        "does not follow",
    ),
}


def lost(pool: Restarting, result: list[object]) -> list[object]:
    """Steps one environment once too often."""
    pool.step_one(1, 0)
    return result


def swapped(result: list[object]) -> list[object]:
    result[0] = {key: value[::-1].copy() for key, value in result[0].items()}
    return result


def torn(result: list[object]) -> list[object]:
    result[0]["picture"][1, 20, 3] ^= 1
    return result


def changed(result: list[object], column: int, i: int, value: object) -> list[object]:
    result[column][i] = value
    return result


def in_infos(result: list[object], key: str, value: object, i: int = 0) -> list[object]:
    result[4][key][i] = value
    return result


@pytest.mark.slow
@pytest.mark.parametrize("how", SPOILED)
def test_a_soak_finds_the_faults_of_a_pool(how: str) -> None:
    spoil, expected = SPOILED[how]
    pool, steps = Restarting(4, crash_every=10**9), 0

    def once(pool: Restarting, result: list[object]) -> list[object]:
        nonlocal steps
        steps += 1
        spoiled = spoil(pool, result) if steps == 5 else result
        return spoiled

    pool.spoil = once
    result = soaked(pool, 400)
    assert result.faults[0].endswith("wrong rows")
    assert any(expected in fault for fault in result.faults)
    assert "FAULT" in result.summary()


FIRST = {"life": 7, "total": 1, "episode": 1, "step": 0, "action": -1}
STEP = {"life": 7, "total": 2, "episode": 1, "step": 1, "action": 4}
RESET = {"life": 7, "total": 3, "episode": 2, "step": 0, "action": -1, "reward": 0.0}
RESTART = {**STEP, "reward": 0.0, "truncated": True, "restarted": True, "seeded": True}
NEW_LIFE = {"life": 8, "total": 1, "episode": 1, "step": 0, "action": -1, "reward": 0.0}

# correct rows of one environment, each after the row before
HISTORIES = {
    "step": [STEP],
    "reset": [{**STEP, "terminated": True}, RESET],
    "restart": [STEP, RESTART],
    "new life": [STEP, RESTART, NEW_LIFE],
}
# wrong values of the last row of each history, by column; each alone is a fault
WRONG: dict[str, dict[str, object]] = {
    "step": {"life": 8, "total": 3, "episode": 2, "step": 2, "action": 5, "reward": 2.0},
    "reset": {"life": 8, "total": 4, "episode": 3, "step": 1, "action": 4}
    | {"reward": 1.0, "terminated": True, "truncated": True},
    "restart": {"life": 8, "total": 3, "reward": 1.0, "terminated": True}
    | {"truncated": False, "seeded": False},
    "new life": {"life": 7, "total": 2, "step": 1, "action": 4, "reward": 1.0, "truncated": True},
}


def quote(row: dict[str, object]) -> dict[str, rivals.np.ndarray]:
    """Returns the observation that belongs to a row."""
    names = ("life", "total", "episode", "step", "action")
    count = rivals.np.array([[1, *(row[name] for name in names)]])
    picture = rivals.np.full((1, 24, 24), count[0, counting.TOTAL] & 255, rivals.np.uint8)
    return {"count": count, "picture": picture}


def checked(history: Sequence[dict[str, object]]) -> Ledger:
    """Returns a ledger that has checked these rows of one environment."""

    def column(row: dict[str, object], name: str, default: object) -> rivals.np.ndarray:
        return rivals.np.array([row.get(name, default)])

    ledger = Ledger(quote(FIRST))
    for row in history:
        # the info `total` and the default reward match the row, so that only one column is wrong
        infos = {"total": rivals.np.array([row["total"]])}
        infos["_worker_restarted"] = column(row, "restarted", False)
        infos["_restart_seed"] = column(row, "seeded", False)
        flags = (column(row, name, False) for name in ("terminated", "truncated"))
        rewards = column(row, "reward", float(row["step"]))
        ledger.check(rivals.np.array([4]), quote(row), rewards, *flags, infos)
    return ledger


@pytest.mark.parametrize("situation", HISTORIES)
def test_the_ledger_finds_every_wrong_column(situation: str) -> None:
    *before, last = HISTORIES[situation]
    assert checked([*before, last]).num_wrong == 0
    for name, value in WRONG[situation].items():
        assert checked([*before, {**last, name: value}]).num_wrong == 1, name


def test_a_reset_needs_the_end_of_an_episode() -> None:
    assert checked([STEP, RESET]).num_wrong == 1


def test_counts_after_a_restart_are_unknown() -> None:
    ledger = checked([STEP, RESTART])
    ledger.close(rivals.np.array([8]), rivals.np.array([0]))
    assert ledger.num_wrong == 0


def test_a_soak_finds_a_step_without_a_row() -> None:
    pool = Restarting(2, crash_every=10**9)
    ledger = Ledger(pool.reset(seed=0)[0])
    ledger.close(*(rivals.np.array(pool.get_attr(name)) for name in ("life", "total")))
    assert ledger.num_wrong == 0
    pool.envs[1].step(0)
    ledger.close(*(rivals.np.array(pool.get_attr(name)) for name in ("life", "total")))
    assert ledger.num_wrong == 1
    assert ledger.wrong[0].startswith("environment 1 has other counts")


def test_a_restart_needs_a_row() -> None:
    """A new life at the end of an episode, without a row that reports the restart, is an error."""
    pool = Restarting(2, crash_every=10**9)
    ledger = Ledger(pool.reset(seed=0)[0])
    actions = rivals.np.zeros(2, int)
    while not pool.ended[0]:
        ledger.check(actions, *pool.step(actions))
    assert ledger.num_wrong == 0
    pool.envs[0] = pool._make(0)
    ledger.check(actions, *pool.step(actions))
    assert ledger.num_wrong == 1


@pytest.mark.slow
@pytest.mark.parametrize("is_well", [True, False])
def test_the_soak_prints_and_writes_its_result(
    is_well: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made: list[dict[str, object]] = []

    class Pool:
        def __init__(self, env_fns: Sequence[object], **options: object) -> None:
            self._env = PoolVectorEnv(counting.factories(len(env_fns), 10**9), num_workers=0)
            made.append(options)

        def __getattr__(self, name: str) -> object:
            return getattr(self._env, name)

        def step(self, actions: object) -> list[object]:
            result = list(self._env.step(actions))
            return result if is_well else torn(result)

        def close(self) -> None:
            self._env.close()
            made.append({})

    monkeypatch.setattr("parallel_pool.compat.gymnasium.PoolVectorEnv", Pool)
    # pytest uses the same alarm
    alarms: list[str] = []
    monkeypatch.setattr(
        soak.faulthandler, "dump_traceback_later", lambda *a, **k: alarms.append("set")
    )
    monkeypatch.setattr(
        soak.faulthandler, "cancel_dump_traceback_later", lambda: alarms.append("off")
    )
    file = tmp_path / "new" / "soak.json"
    arguments = ["--steps", "2000", "--envs", "4", "--out", str(file)]
    assert soak.main(arguments) == (0 if is_well else 1)
    assert made == [{"num_workers": 2, "on_error": "restart"}, {}]
    assert (len(alarms) > 100, alarms[-1]) == (True, "off")
    found = json.loads(file.read_text())
    assert (found["rows"], found["restarts"], found["killed"]) == (2000, 0, 0)
    assert bool(found["faults"]) is not is_well
    assert {"machine", "moment", "samples", "seconds"} <= found.keys()
    assert ("FAULT: 500 wrong rows" in capsys.readouterr().out) is not is_well


def test_memory_that_grows_is_a_fault() -> None:
    def samples(**steps: int) -> list[soak.Sample]:
        return [
            soak.Sample(
                i,
                100_000 + i * steps.get("memory_kb", 0),
                5_000 + i * steps.get("shared_kb", 0),
                20 + i * steps.get("files", 0),
                3,
                0,
            )
            for i in range(20)
        ]

    assert soak.growth(samples()) == []
    # growth at the start, and a little growth later, are allowed
    assert soak.growth(samples(memory_kb=400)) == []
    for name in ("memory_kb", "shared_kb", "files"):
        (found,) = soak.growth(samples(**{name: 1000}))
        assert found.startswith(f"{name} grew")
    assert "give more --steps" in soak.growth(samples()[:4])[0]


def test_a_soak_kills_only_its_own_workers() -> None:
    choose = soak.random.Random(0)
    assert not soak.kill_one([os.getpid(), os.getppid(), 1], choose)
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            assert soak.left_behind([process.pid, 1]) == [
                f"processes [{process.pid}] are left after close()"
            ]
            assert soak.kill_one([process.pid, os.getpid()], choose)
            assert process.wait(TEST_TIMEOUT) == -signal.SIGKILL
        finally:
            process.kill()
    assert soak.left_behind([process.pid]) == []


@pytest.mark.slow
def test_some_of_the_soaks_environments_crash() -> None:
    kinds = [make.args[1] for make in counting.factories(8, 30)]
    assert kinds == [*counting.KINDS] * 2
    calls = {}
    for kind in ("steady", "raises"):
        env = counting.Counting(0, kind, 30)
        with contextlib.suppress(counting.Crash):
            while env.total < 1000:
                env.step(0)
        calls[kind] = env.total
    assert calls["steady"] == 1000
    assert counting.SAFE_CALLS < calls["raises"] < 1000
    script = (
        "from benchmarks.harness.counting import Counting\n"
        "e = Counting(0, 'exits', 5)\n"
        "while 1: e.step(0)"
    )
    assert subprocess.run([sys.executable, "-c", script], cwd=race.ROOT).returncode == 3
