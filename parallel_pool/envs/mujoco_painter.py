"""The former place of Painter, which programs may still import."""

from __future__ import annotations

from parallel_pool.envs.mujoco_renderer import Painter as Painter
