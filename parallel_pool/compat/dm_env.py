"""dm_env's names at one path: the adapter of Python environments, and one native environment."""

from __future__ import annotations

from parallel_pool.compat.envpool.single_dm_env import SingleDMEnv as SingleDMEnv
from parallel_pool.workers.dm_adapter import DMEnvAdapter as DMEnvAdapter
