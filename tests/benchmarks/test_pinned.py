"""Scenes that need another MuJoCo run in a process that has it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.harness import pinned
from benchmarks.scenes import mujoco_bare, native_scenes
from parallel_pool._bench import race
from parallel_pool._bench.scene import Scene
from tests.benchmarks.made_up import Watch, field_of


def pinned_scene(version: str) -> Scene:
    return replace(field_of(Watch())[0], mujoco=version)


def test_a_scene_of_another_mujoco_needs_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinned.importlib.metadata, "version", lambda name: "3.6.0")
    assert [pinned.is_needed(pinned_scene(v)) for v in ("", "3.6.0", "3.5.0")] == [
        False,
        False,
        True,
    ]


def test_a_missing_mujoco_is_named() -> None:
    each = pinned.run(pinned_scene("0.1"), ("envpool",), race.SHORT)
    assert [bar.is_met for bar in each.bars] == [None, None]
    assert "MuJoCo 0.1 is not in" in each.notes[-1]


STUDY = """
import json, os, sys
import mujoco, beside
print(json.dumps([mujoco.__version__, os.environ["MUJOCO_GL"], sys.argv[1:]]))
sys.exit(3)
"""


def test_a_study_runs_with_the_packages_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pinned_mujoco, more = tmp_path / "mujoco-0.1", tmp_path / "more"
    for folder, name, text in (
        (pinned_mujoco, "mujoco", "__version__ = '0.1'"),
        (more, "mujoco", "__version__ = '0.2'"),
        (more, "beside", ""),
        (more, "study", STUDY),
    ):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(text)
    monkeypatch.setattr(pinned, "folder", lambda version: tmp_path / f"mujoco-{version}")
    assert pinned.run_study("study", ["--rounds", "1"], "0.1", [more]) == 3
    assert json.loads(capfd.readouterr().out) == ["0.1", "disabled", ["--rounds", "1"]]
    # without it the study would start itself again and again
    assert pinned.run_study("study", [], "0.3", [more]) == 1
    assert f"MuJoCo 0.3 is not in {tmp_path}/mujoco-0.3: make " in capfd.readouterr().err


@pytest.mark.slow
def test_a_pinned_scene_is_measured_in_its_process() -> None:
    scene = next(scene for scene in native_scenes.RACES if scene.name == "halfcheetah-32-16")
    ticks: list[str] = []
    effort = race.Effort(rounds=1, seconds=0.01, trial=0.01, all_settings=False)
    each = pinned.run(scene, ("bare",), effort, tick=ticks.append)
    assert [row.who for row in each.rows][:2] == [
        "parallel_pool.make",
        mujoco_bare.bare_per_env.name,
    ]
    # EnvPool is in this family, and may not be installed
    there = [who for who in scene.rivals if who.family == "bare" and race.is_installed(who)]
    assert len(each.rows) == len(scene.ours) + len(there)
    assert ticks
