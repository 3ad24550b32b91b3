"""The prover: ids that this process has compiled or loaded, which another process does not know."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import parallel_pool
from benchmarks.studies.planted_ports import PORT_TEXTS, ROOT
from parallel_pool import testing
from parallel_pool._engine import registry

CLASSES = """\
from typing import ClassVar

import gymnasium
import numpy as np


class Walk(gymnasium.Env):
    metadata: ClassVar = {"render_modes": ["rgb_array"]}

    def __init__(self, size=5, render_mode=None):
        self.size, self.render_mode = size, render_mode
        self.observation_space = gymnasium.spaces.Box(-100, 100, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return np.array([self.at], np.float32), {}

    def step(self, action):
        self.at += 1 if action else -1
        return np.array([self.at], np.float32), 1.0, abs(self.at) >= self.size, False, {}

    def render(self):
        return np.full((2, 2, 3), self.at % 256, np.uint8)


class Longer(Walk):
    def __init__(self, size=6, render_mode=None):
        super().__init__(size, render_mode)
"""
SETTINGS: dict[str, Any] = {"steps": 300, "coverage": False}


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CFLAGS", "-O1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def classes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module with classes, that other processes find, too."""
    Path("walks_to_prove.py").write_text(CLASSES)
    monkeypatch.syspath_prepend(os.getcwd())
    yield importlib.import_module("walks_to_prove")
    del sys.modules["walks_to_prove"]


def status_of(program: str) -> int:
    """Runs a program that repeats a difference; returns its exit status."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=env)
    assert done.stdout.startswith("ours array("), done.stderr
    return done.returncode


@pytest.mark.slow
def test_a_class_that_was_compiled(classes: Any) -> None:
    parallel_pool.compile(classes.Walk, "proven/Walk-v0")
    proof = testing.prove("proven/Walk-v0", classes.Walk, **SETTINGS)
    assert proof.ours == "proven/Walk-v0" and proof.steps >= 300 and proof.pictures > 10
    with pytest.raises(testing.ContractError, match=r"terminated\[0\] differs, in step 5"):
        testing.prove("proven/Walk-v0", classes.Longer, program="again.py", **SETTINGS)
    assert status_of("again.py") == 1


@pytest.mark.slow
def test_a_source_that_was_loaded() -> None:
    Path("cart.c").write_text(PORT_TEXTS["cart"]())
    (task_id,) = parallel_pool.load_source("cart.c")
    assert testing.prove(task_id, "CartPole-v1", **SETTINGS).steps >= 300
    # in this process it stays what was loaded, whatever is in the file
    Path("cart.c").write_text("no longer C")
    assert testing.prove(task_id, task_id, **SETTINGS).steps >= 300


@pytest.mark.slow
def test_a_library_that_was_loaded() -> None:
    Path("cart.c").write_text(PORT_TEXTS["cart"]().replace("0.02 * it->x_dot", "0.025 * it->x_dot"))
    flags = ["-shared", "-fPIC", "-ffp-contract=off", f"-I{parallel_pool.get_include()}"]
    subprocess.run(["cc", *flags, "cart.c", "-o", "cart.so", "-lm"], check=True)
    task_id = parallel_pool.load("cart.so", "pp_env_cart").id
    with pytest.raises(testing.ContractError, match="observation"):
        testing.prove(task_id, "CartPole-v1", program="again.py", **SETTINGS)
    assert status_of("again.py") == 1
    Path("cart.so").unlink()
    with pytest.raises(ValueError, match=r"the program has loaded it from .*cart\.so"):
        testing.prove(task_id, "CartPole-v1", **SETTINGS)


@pytest.mark.slow
def test_a_loaded_id_is_a_reference(classes: Any) -> None:
    parallel_pool.compile(classes.Walk, "proven/Walk-v0")
    parallel_pool.compile(classes.Longer, "proven/Longer-v0")
    proof = testing.prove("proven/Walk-v0", "proven/Walk-v0", **SETTINGS)
    assert proof.reference == "proven/Walk-v0" and proof.steps >= 300
    with pytest.raises(testing.ContractError, match=r"terminated\[0\] differs, in step 5"):
        testing.prove("proven/Walk-v0", "proven/Longer-v0", program="again.py", **SETTINGS)
    assert status_of("again.py") == 1


def test_a_mixed_pool_is_refused() -> None:
    parallel_pool.mixed("proven/Mixed-v0", ["CartPole-v1", "Acrobot-v1"])
    with pytest.raises(ValueError, match="'proven/Mixed-v0' mixes environments"):
        testing.prove("proven/Mixed-v0", "CartPole-v1")
