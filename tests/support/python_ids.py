"""An id of Gymnasium's registry that no native environment replaces, for tests of the others."""

from __future__ import annotations

import gymnasium

PYTHON_ID = "PythonLake-v1"

if PYTHON_ID not in gymnasium.registry:
    gymnasium.register(
        PYTHON_ID, "gymnasium.envs.toy_text:FrozenLakeEnv", max_episode_steps=100, kwargs={}
    )
