"""One Gymnasium Atari environment with the wrappers for what EnvPool does itself."""

from __future__ import annotations

from typing import Any

import ale_py
import cv2  # noqa: F401  AtariPreprocessing needs it, but fails only when one is made
import gymnasium
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

FRAME_SKIP = 4


def atari_env(
    game: str = "Pong", *, frame_skip: int = FRAME_SKIP, max_episode_steps: int = 27000
) -> Any:
    """Returns one Gymnasium Atari environment, wrapped to have observations like EnvPool's."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)
    env = gymnasium.make(
        f"ALE/{game}-v5",
        frameskip=1,
        repeat_action_probability=0.0,
        max_num_frames_per_episode=max_episode_steps * frame_skip,
    )
    env = AtariPreprocessing(env, noop_max=30, frame_skip=frame_skip, screen_size=84)
    return FrameStackObservation(env, 4)
