"""The former place of ProcessVectorEnv, which programs may still import."""

from __future__ import annotations

from parallel_pool.compat.gymnasium.process_vector_env import ProcessVectorEnv as ProcessVectorEnv
