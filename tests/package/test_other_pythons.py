"""The wheel on other Pythons and on the oldest NumPy: it loads, steps, and starts workers."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.package

ROOT = Path(__file__).resolve().parents[2]
OLD_NUMPY = "1.26.4"

PROGRAM = """
import sys
import gymnasium, numpy as np, parallel_pool

NUM_ENVS = 3
sync = gymnasium.make_vec("CartPole-v1", NUM_ENVS, vectorization_mode="sync")
pools = [
    gymnasium.make_vec(
        "CartPole-v1",
        NUM_ENVS,
        vectorization_mode="parallel_pool",
        vector_kwargs={"backend": backend},
    )
    for backend in ("native", "process")
]
expected = sync.reset(seed=4)[0]
for pool in pools:
    assert (pool.reset(seed=4)[0] == expected).all()
for step in range(100):
    actions = np.full(NUM_ENVS, step % 2)
    expected = sync.step(actions)
    for pool in pools:
        found = pool.step(actions)
        assert all((a == b).all() for a, b in zip(found[:4], expected[:4])), step
for pool in pools:
    pool.close()
print(*sys.version_info[:2], np.__version__, parallel_pool.__file__)
"""


def other_pythons() -> Any:
    spec = importlib.util.spec_from_file_location("others", ROOT / ".ci" / "other_pythons.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OTHERS = other_pythons()


@pytest.fixture(scope="module")
def unpacked(packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the unpacked wheel."""
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(packages[1]) as archive:
        archive.extractall(folder)
    return folder


def run(python: Path | str, *path: Path, cwd: Path, program: str = PROGRAM) -> list[str]:
    """Runs a program with the standard library and these folders only."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(
        [python, "-c", program], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("version", OTHERS.VERSIONS)
def test_the_wheel_runs_on_another_python(version: str, unpacked: Path, tmp_path: Path) -> None:
    python = OTHERS.find(version)
    if python is None:
        pytest.skip(f"no Python {version} on the PATH or among pyenv's")
    packages = Path(sys.prefix) / "other-pythons" / version
    assert packages.is_dir(), "make installs it: rm -r .venv/other-pythons .venv/.dev; make check"
    major, minor, _, file = run(python, unpacked, packages, cwd=tmp_path)
    assert f"{major}.{minor}" == version
    assert Path(file).is_relative_to(unpacked)
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert programs
    for program in programs:
        run(python, unpacked, packages, cwd=tmp_path, program=program)


def test_the_wheel_runs_on_the_oldest_numpy(unpacked: Path, tmp_path: Path) -> None:
    numpy = Path(sys.prefix) / f"numpy-{OLD_NUMPY}"
    assert numpy.is_dir(), "make installs it"
    *_, version, file = run(sys.executable, unpacked, numpy, cwd=tmp_path)
    assert version == OLD_NUMPY
    assert Path(file).is_relative_to(unpacked)
