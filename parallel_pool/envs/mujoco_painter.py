"""The former module of the MuJoCo renderer, which programs may still import."""

from __future__ import annotations

from parallel_pool.envs.mujoco_renderer import Painter as Painter
