"""The programs of rejax, unchanged, learn on our environments in gymnax's form.

They run in a process of their own, with the packages that make installs into a folder beside the
others, because spaces are of gymnax's classes where gymnax has been imported.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    not (Path(sys.prefix) / "rejax-0.1.3").exists(), reason="make could not install rejax"
)


def trained(*programs: str, **settings: Any) -> list[list[float]]:
    """Trains by programs of `integration.training.gymnax_libraries`; returns their returns."""
    command = ["-m", "integration.training.gymnax_libraries", *programs]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *command, "--settings", json.dumps(settings)],
        cwd=ROOT,
        # a program of a few steps is compiled for longer than it runs
        env={**os.environ, "XLA_FLAGS": "--xla_backend_optimization_level=0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(programs)
    return [[float(word) for word in line.partition(": ")[2].split()] for line in lines]


def test_rejax_learns() -> None:
    (returns,) = trained("rejax.ppo", total_timesteps=65536)
    assert len(returns) == 5 and returns[0] < 30 and max(returns) > 100


@pytest.mark.parametrize(
    ("programs", "sizes"),
    [
        (("rejax.ppo:Pendulum-v1", "rejax.pqn"), {"num_steps": 16}),
        (
            ("rejax.sac:Pendulum-v1", "rejax.dqn"),
            {"buffer_size": 128, "fill_buffer": 64, "batch_size": 16},
        ),
    ],
    ids=["on policy", "off policy"],
)
def test_other_algorithms_of_rejax_train(programs: tuple[str, ...], sizes: dict[str, int]) -> None:
    """Their evaluation gives Pendulum's actions as numbers."""
    found = trained(*programs, num_envs=8, total_timesteps=256, eval_freq=256, **sizes)
    for program, returns in zip(programs, found, strict=True):
        assert len(returns) == 2, program
        low, high = (-2000, 0) if "Pendulum" in program else (5, 500)
        assert low < min(returns) and max(returns) <= high, program
