"""What the tests of the EnvPool-style API share: comparisons, samples, programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
IDS = [
    "Acrobot-v1",
    "Breakout-v5",
    "CartPole-v0",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "Pong-v5",
]


def run(script: str) -> str:
    """Runs a program in a fresh interpreter; returns what it printed."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def equal(a: Any, b: Any) -> bool:
    """Returns whether two results have equal arrays in the same structure."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


def sample(pool: Any, rows: int, seed: int = 0) -> np.ndarray:
    """Random actions for `rows` rows."""
    pool.action_space.seed(seed)
    return np.array([pool.action_space.sample() for _ in range(rows)])
