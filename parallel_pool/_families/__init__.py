"""The Python side of those families of environments that need one, and which they are."""

from __future__ import annotations

from parallel_pool._engine.registry import Family, families
from parallel_pool._engine.specs import text_spaces

families |= {
    "ale": Family("parallel_pool._families.ale"),
    "atari": Family("parallel_pool._families.atari"),
    "atari_players": Family("parallel_pool._families.atari_players"),
    "box2d": Family(
        "parallel_pool._families.box2d",
        can_refuse=True,
        renderer="parallel_pool._families.box2d_renderer",
    ),
    "classic": Family(renderer="parallel_pool._families.classic_renderer"),
    "control_suite": Family(
        "parallel_pool._families.control_suite",
        renderer="parallel_pool._families.control_suite_renderer",
    ),
    "minigrid": Family(
        "parallel_pool._families.minigrid",
        renderer="parallel_pool._families.minigrid_renderer",
        copies="parallel_pool._families.minigrid_copies",
    ),
    "mixture": Family("parallel_pool._engine.mixture"),
    "mpe": Family("parallel_pool._families.mpe", renderer="parallel_pool._families.mpe_renderer"),
    "mujoco": Family(
        "parallel_pool._families.mujoco", renderer="parallel_pool._families.mujoco_renderer"
    ),
    "racing": Family(
        "parallel_pool._families.racing",
        can_refuse=True,
        renderer="parallel_pool._families.racing_renderer",
    ),
    "procgen": Family("parallel_pool._families.procgen"),
    "robot": Family(
        "parallel_pool._families.robot", renderer="parallel_pool._families.mujoco_renderer"
    ),
    "robotics": Family(
        "parallel_pool._families.robotics",
        fills_resets=True,
        renderer="parallel_pool._families.robotics_renderer",
        copies="parallel_pool._families.robotics_copies",
    ),
    "toy_text": Family(
        "parallel_pool._families.toy_text", renderer="parallel_pool._families.toy_text_renderer"
    ),
}
text_spaces["minigrid"] = "parallel_pool._families.minigrid"
