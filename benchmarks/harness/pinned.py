"""Runs a scene, or a study, in a process in which `import mujoco` finds the version that it needs.

`python -m benchmarks.harness.pinned SCENE FAMILIES EFFORT` is a scene's process. It writes lines
of JSON: its progress, and on the last line its result.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool._bench import race
from parallel_pool._bench.json_lines import only_json
from parallel_pool._bench.outcome import Bar, Outcome

if TYPE_CHECKING:
    from parallel_pool._bench.scene import Scene

ROOT = Path(__file__).resolve().parents[2]


def folder(version: str) -> Path:
    """Returns the folder into which the Makefile installs an older MuJoCo."""
    return Path(sys.prefix) / f"mujoco-{version}"


def is_needed(scene: Scene) -> bool:
    """Returns whether this process has another MuJoCo than the scene needs."""
    return bool(scene.mujoco) and is_other(scene.mujoco)


def is_other(version: str) -> bool:
    """Returns whether this process has another MuJoCo than this version."""
    try:
        return importlib.metadata.version("mujoco") != version
    except importlib.metadata.PackageNotFoundError:
        return True


def run_study(
    program: str, arguments: Sequence[str], version: str, more: Sequence[Path] = ()
) -> int:
    """Runs a study that needs a version of MuJoCo, and no OpenGL; returns its exit status.

    Args:
        program: the study's module.
        arguments: its command line.
        version: of MuJoCo.
        more: folders of other packages that it needs.
    """
    place = folder(version)
    if not place.exists():
        print(missing(version, place), file=sys.stderr)
        return 1
    command = [sys.executable, "-m", program, *arguments]
    environment = {**environment_of(place, *more), "MUJOCO_GL": "disabled"}
    return subprocess.run(command, env=environment, check=False).returncode


def environment_of(*folders: Path) -> dict[str, str]:
    """Returns the variables of a process that looks for packages in these folders first."""
    path = os.pathsep.join(filter(None, (*map(str, folders), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def missing(version: str, place: Path) -> str:
    """Returns a sentence that says how to install a version into the place."""
    return f"MuJoCo {version} is not in {place}: make {os.path.relpath(place, ROOT)}"


def run(
    scene: Scene,
    families: Collection[str],
    effort: race.Effort,
    *,
    tick: race.Tick = lambda text: None,
) -> Outcome:
    """Measures a scene as `race.run` does.

    If the MuJoCo that it needs is missing, the outcome has no rows and says how to install it.
    """
    place = folder(scene.mujoco)
    if not place.exists():
        return absent(scene, place)
    command = [sys.executable, "-m", __name__, scene.name, ",".join(families)]
    process = subprocess.Popen(
        [*command, json.dumps(asdict(effort))],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment_of(place),
    )
    message: dict[str, Any] = {}
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            if "tick" in message:
                tick(message["tick"])
    if process.returncode:
        raise RuntimeError(f"{scene.name} failed in its own process: its message is above")
    return Outcome.from_json(message["outcome"])


def absent(scene: Scene, place: Path) -> Outcome:
    """Returns the outcome of a scene whose MuJoCo is not installed."""
    bars = [Bar(f"vs {who}", goal, None) for who, goal in scene.bars.items()]
    notes = [*scene.notes, missing(scene.mujoco, place)]
    return Outcome(scene.name, scene.title, "env steps/s", 1, 0, [], bars, notes)


def main(name: str, families: str, effort: str, send: Callable[[dict[str, Any]], None]) -> None:
    """Measures a scene; sends its progress and its outcome."""
    from benchmarks.scenes.native_scenes import RACES

    scene = next(scene for scene in RACES if scene.name == name)
    if is_needed(scene):
        raise RuntimeError(f"{name} needs MuJoCo {scene.mujoco}, which this process does not find")
    outcome = race.run(
        scene,
        families.split(","),
        race.Effort(**json.loads(effort)),
        tick=lambda text: send({"tick": text}),
    )
    send({"outcome": outcome.to_json()})


if __name__ == "__main__":
    with only_json() as send:
        main(*sys.argv[1:], send=send)
