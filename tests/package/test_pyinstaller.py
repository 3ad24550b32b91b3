"""Frozen programs: PyInstaller finds the hook, the hook what this package imports unseen, and a
program that PyInstaller made steps environments, in forked workers, too."""

from __future__ import annotations

import contextlib
import importlib
import os
import runpy
import signal
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import clean_envs
from tests.support.timeouts import TEST_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]
# make installs it, beside the packages of the tests
PYINSTALLER = Path(sys.prefix) / "pyinstaller-6.22.3"

# Its argument is the start method of the workers, or "default". Each start of it writes a line, and
# the sixth is the last.
PROGRAM = """
import os
import sys

with open(os.environ["STARTS"], "a+") as starts:
    print(os.getpid(), file=starts, flush=True)
    starts.seek(0)
    if len(starts.readlines()) > 5:
        sys.exit("the program starts itself")

import gymnasium
import numpy as np

import parallel_pool


class Counter(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 100, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = np.zeros(1, np.float32)
        return self.at.copy(), {}

    def step(self, action):
        self.at += action
        return self.at.copy(), float(os.getpid()), False, False, {}


assert sys.frozen
with parallel_pool.Pool("CartPole-v1", 4) as pool:
    pool.reset(seed=0)
    print("native", pool.step([0, 1, 0, 1]).reward.tolist())
envs = parallel_pool.make_vec("FrozenLake-v1", 2)
envs.reset(seed=0)
print(envs.backend, envs.step(np.array([2, 1]))[0].shape)
envs.close()
method = None if sys.argv[1] == "default" else sys.argv[1]
with parallel_pool.ProcessPool([Counter] * 4, num_workers=2, start_method=method) as pool:
    pool.reset(seed=0)
    pool.step([0, 1, 0, 1])
    batch = pool.step([1, 1, 1, 1])
    print("workers", batch.obs[:, 0].tolist())
    assert len(set(batch.reward) - {os.getpid()}) == 2
"""


def test_the_hook_names_what_pyinstaller_does_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick: PyInstaller itself is not called, functions of it are replaced."""
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    module, _, function = entry_points["pyinstaller40"]["hook-dirs"].partition(":")
    (folder,) = getattr(importlib.import_module(module), function)()
    hooks = types.ModuleType("PyInstaller.utils.hooks")

    def collect(name: str, filter: Callable[[str], bool] = bool) -> list[str]:
        return [each for each in (f"{name}.all", f"{name}.tabular.cliff") if filter(each)]

    vars(hooks).update({"collect_submodules": collect, "collect_data_files": lambda n: n})
    for name in ("PyInstaller", "PyInstaller.utils"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, hooks.__name__, hooks)
    # PyInstaller looks for the name of the module that is imported
    given = runpy.run_path(str(Path(folder) / "hook-parallel_pool.py"))
    own = ["parallel_pool.all", "parallel_pool.tabular.cliff"]
    assert given["hiddenimports"] == ["_cffi_backend", *own, "gymnasium.envs.all"]
    assert given["datas"] == "parallel_pool"


def freeze(program: Path, python: Path, folder: Path) -> Path:
    """Has PyInstaller make a program in a folder; returns the program's path."""
    options = ["--noconfirm", "--log-level=WARN", "--name=frozen"]
    for place in ("distpath", "workpath", "specpath"):
        options.append(f"--{place}={folder / place}")
    done = clean_envs.run(python, "-m", "PyInstaller", *options, str(program), cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "distpath" / "frozen" / "frozen"


def start(program: Path, method: str, starts: Path) -> tuple[int, str, str, int]:
    """Runs a frozen program; returns its exit code, output, errors, and how often it started.

    If it hangs, all of its processes are killed.
    """
    starts.write_text("")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    process = subprocess.Popen(
        [program, method],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**env, "STARTS": str(starts)},
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=TEST_TIMEOUT)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out, err, len(starts.read_text().splitlines())


@pytest.mark.package
@pytest.mark.skipif(not PYINSTALLER.is_dir(), reason="make could not install PyInstaller")
def test_a_frozen_program_runs_and_does_not_start_itself(
    packages: tuple[Path, Path], tmp_path: Path
) -> None:
    """One test, because PyInstaller takes most of its time."""
    metadata = clean_envs.metadata_of(packages[1])
    python = clean_envs.clean(tmp_path / "env", packages[1], metadata, [])
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (site / "pyinstaller.pth").write_text(f"{PYINSTALLER}\n")
    source, starts = tmp_path / "program.py", tmp_path / "starts"
    source.write_text(PROGRAM)
    program = freeze(source, python, tmp_path)

    native = "native [1.0, 1.0, 1.0, 1.0]\nnative (2,)\n"
    code, out, err, count = start(program, "fork", starts)
    assert (code, out, count) == (0, f"{native}workers [1.0, 2.0, 1.0, 2.0]\n", 1), err
    for method in ("default", "spawn"):
        code, out, err, count = start(program, method, starts)
        assert (code, out, count) == (1, native, 1), err
        errors = [line for line in err.splitlines() if line.startswith("RuntimeError: ")]
        says = f"RuntimeError: sys.frozen is true: {str(program)!r} is the program itself"
        assert len(errors) == 1 and errors[0].startswith(says), err
        assert errors[0].endswith("Choose the start method 'fork' (context=\"fork\")")
