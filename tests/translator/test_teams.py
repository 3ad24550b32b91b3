"""Classes of PettingZoo's parallel API, translated, return what they return in Python."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import parallel_pool
from parallel_pool._testing import twins

pytest.importorskip("pettingzoo")

TEAMS = Path(__file__).parent / "teams"
CLASSES = [
    ("commons", "Commons"),
    ("drift", "Drift"),
    ("market", "Market"),
    ("prisoner", "PrisonerAndGuard"),
    ("torus", "Pursuit"),
    ("relay", "Relay"),
    ("rps", "MaskedRPS"),
    ("tag", "ContinuousTag"),
    ("tanks", "Tanks"),
    ("team_grid", "TeamGrid"),
]


def team(module: str, name: str) -> Any:
    sys.path.insert(0, str(TEAMS))
    try:
        return getattr(importlib.import_module(module), name)
    finally:
        sys.path.remove(str(TEAMS))


@pytest.mark.parametrize("module, name", CLASSES)
def test_a_class_gives_the_same_bits(module: str, name: str) -> None:
    cls = team(module, name)
    (env_id,) = parallel_pool.compile(cls)
    for seed in (3, 10):
        twins.compare(cls, env_id, steps=200, seed=seed)
