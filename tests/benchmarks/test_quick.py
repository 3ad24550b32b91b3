"""The quick benchmark: its scenes, its time limit, and players that fail, hang or are missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from parallel_pool._bench import player_proxy, quick, quick_scenes, race
from parallel_pool._bench.contender import Contender, Task, maker
from parallel_pool._bench.scene import Scene
from tests.benchmarks.made_up import TASK, Made, Watch
from tests.support.timeouts import TEST_TIMEOUT


@dataclass
class Started(Made):
    """A player that also takes time to start, or fails then."""

    start: float = 1.0
    fails: str = ""

    def made(self, patience: float | None = None) -> Started:
        assert patience is not None
        self.watch.now += min(self.start, patience)
        if self.start > patience:
            raise player_proxy.PlayerLostError(f"no answer within {patience:.0f} s")
        return self

    def play(self, batches: int) -> int:
        if self.fails and self.played:
            raise player_proxy.PlayerLostError(self.fails)
        return super().play(batches)


def made_up(watch: Watch, **how: Started) -> tuple[Scene, quick.Start, dict[str, Started]]:
    """Returns a scene whose players start so; the first one is ours."""

    def contender(name: str, family: str) -> Contender:
        return Contender(name, family, lambda task: how[name], "numpy", tunable=False)

    first, *others = how
    scene = Scene(
        name="made-up",
        title="Made up",
        task=TASK,
        ours=(contender(first, "ours"),),
        rivals=tuple(contender(name, "gymnasium") for name in others),
    )

    def start(who: Contender, task: Task, patience: Callable[[], float]) -> Started:
        how[who.name].closed = False
        return how[who.name]

    return scene, start, how


def ignore(share: float) -> None:
    pass


def test_players_play_in_rounds_and_are_closed() -> None:
    watch = Watch()
    scene, start, players = made_up(watch, us=Started(watch, 0.001), them=Started(watch, 0.01))
    shares: list[float] = []
    found = quick.measure(scene, 60, start=start, clock=watch, tick=shares.append)
    assert [(each.who, each.setting, each.role) for each in found.played] == [
        ("us", "2 threads", "ours"),
        ("them", "1 thread", "only"),
    ]
    assert {len(each.samples) for each in found.played} == {quick.ROUNDS}
    assert [row.value.median for row in found.rows] == pytest.approx([10_000, 1_000])
    assert found.rows[1].ratios["us"].median == pytest.approx(10)
    assert shares == pytest.approx([i / 12 for i in range(1, 13)])
    assert all(player.closed for player in players.values())
    assert not found.lost and not found.lacks


def test_a_player_that_starts_too_slowly_is_named_and_the_others_play() -> None:
    watch = Watch()
    slow = Started(watch, 0.01, start=1e6)
    scene, start, _ = made_up(watch, us=Started(watch, 0.001), slow=slow, late=Started(watch, 0.01))
    found = quick.measure(scene, 20, start=start, clock=watch, tick=ignore)
    assert [each.who for each in found.played] == ["us", "late"]
    assert found.lost == ["slow was not measured: no answer within 11 s"]
    assert slow.closed
    assert watch.now <= 20


def test_a_player_that_fails_while_it_plays_is_named() -> None:
    watch = Watch()
    fails = Started(watch, 0.01, fails="it fell over")
    scene, start, _ = made_up(watch, us=Started(watch, 0.001), them=fails)
    found = quick.measure(scene, 20, start=start, clock=watch, tick=ignore)
    assert [each.who for each in found.played] == ["us"]
    assert found.lost == ["them was not measured: it fell over"]
    assert fails.closed


@pytest.mark.parametrize("seconds", [0, 6, 30, 1000])
def test_scenes_share_the_time(seconds: float) -> None:
    """A round is the last if the time is up; starts and the first round are waited for."""
    watch = Watch()
    scene, start, _ = made_up(watch, us=Started(watch, 0.05), them=Started(watch, 0.1))
    begun: list[str] = []

    def begin(each: Scene) -> quick.Tick:
        begun.append(each.name)
        return ignore

    scenes = [scene, replace(scene, name="second")]
    found = list(quick.run(scenes, seconds, begin=begin, start=start, clock=watch))
    assert begun == [each.name for each in found] == ["made-up", "second"]
    counts = [len(each.played[0].samples) for each in found]
    # of both scenes: starts take 4 s, first steps 2.4 s, calibrations and a round up to a second
    assert watch.now <= max(seconds, 6.4) + 2
    assert counts == ([1, 1] if seconds <= 6 else [quick.ROUNDS] * 2)


def test_patience_is_short_when_the_time_is_up() -> None:
    watch = Watch()
    heat = quick.Heat([], 20, watch, ignore)
    found = []
    for watch.now in (0, 16, 25):
        found.append(heat.patience())
    assert found == [quick.PATIENCE, 4, quick.MIN_PATIENCE]


HANGS = "print('{\"children\": []}', flush=True); import time; time.sleep(1000)"


@pytest.mark.slow
def test_a_process_that_hangs_is_killed_and_named() -> None:
    """With real processes: one never starts, one never answers."""
    watch = Watch()
    scene, _, _ = made_up(watch, us=Started(watch, 1), asleep=Started(watch, 1))
    codes = {"us": HANGS, "asleep": "import time; time.sleep(1000)"}
    pids: list[int] = []

    def start(who: Contender, task: Task, patience: Callable[[], float]) -> quick.Starting:
        command = [sys.executable, "-c", codes[who.name]]
        proxy = player_proxy.PlayerProxy(
            who.name, command, os.environ, patience=lambda: 0.2, grace=0.1, is_quiet=True
        )
        pids.append(proxy.pid)
        return proxy

    found = quick.measure(scene, 1, start=start, tick=ignore)
    assert found.played == []
    assert [line.partition(":")[0] for line in found.lost] == [
        "us was not measured",
        "asleep was not measured",
    ]
    assert len(pids) == 2 and not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_ctrl_c_while_a_process_starts_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch()
    scene, _, _ = made_up(watch, us=Started(watch, 1))
    popen = subprocess.Popen
    started: list[Any] = []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        started.append(popen(*args, **kwargs))
        signal.raise_signal(signal.SIGINT)
        return started[0]

    def start(who: Contender, task: Task, patience: Callable[[], float]) -> quick.Starting:
        command = [sys.executable, "-c", "import time; time.sleep(1000)"]
        return player_proxy.PlayerProxy(who.name, command, os.environ, grace=0.1, is_quiet=True)

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quick.measure(scene, 1, start=start, tick=ignore)
    assert started[0].returncode == -signal.SIGKILL


def test_what_is_not_installed_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    scenes = {scene.name: scene for scene in quick_scenes.scenes(2)}
    monkeypatch.setattr(quick_scenes, "find_spec", lambda name: None)
    for name, module, extra in (
        (quick_scenes.PONG, "ale_py", "atari"),
        (quick_scenes.HALF_CHEETAH, "mujoco", "mujoco"),
    ):
        entries, lacks = quick.entries_of(scenes[name])
        assert entries == []
        assert lacks[0] == f"{module} is not installed: pip install 'parallel_pool[{extra}]'"
    monkeypatch.setattr(quick_scenes, "find_spec", lambda name: None if name == "cv2" else name)
    entries, lacks = quick.entries_of(scenes[quick_scenes.PONG])
    assert "Gymnasium sync" not in [entry.who.name for entry in entries]
    assert "cv2 is not installed: pip install 'parallel_pool[demo]'" in lacks
    monkeypatch.setattr(race, "is_installed", lambda who: who.family == "ours")
    entries, lacks = quick.entries_of(scenes[quick_scenes.PYTHON])
    assert [entry.who.family for entry in entries] == ["ours"]
    assert "stable-baselines3 is not installed: pip install stable-baselines3" in lacks


@pytest.mark.parametrize("cores", [1, 2, 100])
def test_scenes_fit_any_number_of_cores(cores: int) -> None:
    scenes = quick_scenes.scenes(cores)
    assert [scene.name for scene in scenes] == list(quick_scenes.MEANS)
    for scene in scenes:
        assert 1 <= scene.task.num_threads <= min(cores, scene.task.num_envs)
        assert not scene.task.is_async
        for who in (*scene.ours, *scene.rivals):
            # what its process imports knows it
            assert maker(who.name).__module__.startswith("parallel_pool._bench.")


@pytest.mark.slow
@pytest.mark.parametrize("scene", quick_scenes.scenes(2), ids=lambda scene: scene.name)
def test_every_installed_player_plays(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    # other tests keep the machine busy
    monkeypatch.setattr(quick, "PATIENCE", TEST_TIMEOUT)
    entries, _ = quick.entries_of(scene)
    found = quick.measure(scene, 200, tick=ignore)
    assert found.lost == []
    assert [each.who for each in found.played] == [entry.who.name for entry in entries]
