"""Sampling: `make check` runs a few cases of a long parametrization, `make test` all of them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest

# Atari games that differ in what most code depends on: the cartridge (2K, 4K, F8, F6, E0, FE, DPC,
# with RAM), NTSC and PAL, the controllers, and how the game's rule finds score, lives and end
ATARI_GAMES = {
    *("adventure", "breakout", "double_dunk", "elevator_action", "montezuma_revenge", "pitfall2"),
    *("pong", "robotank", "tutankham", "video_cube"),
}
# MuJoCo tasks that differ most: the one with the most options, and a small one
MUJOCO_TASKS = {"Ant-v5", "Reacher-v5"}


def sampled(cases: Iterable[Any], quick: Container[Any]) -> list[Any]:
    """Returns the cases as parameters of a test; those that are not quick are marked as slow."""
    return [case if case in quick else pytest.param(case, marks=pytest.mark.slow) for case in cases]
