"""dm_env's names at one path: `DMEnvAdapter`, and those that this module held in 0.1."""

from __future__ import annotations

from parallel_pool.compat.envpool.dm_env import DMEnvPool as DMEnvPool
from parallel_pool.compat.envpool.dm_specs import Structure as Structure
from parallel_pool.compat.envpool.dm_specs import array_spec as array_spec
from parallel_pool.compat.envpool.dm_specs import observation_spec as observation_spec
from parallel_pool.compat.envpool.single_dm_env import SingleDMEnv as SingleDMEnv
from parallel_pool.workers.dm_adapter import DMEnvAdapter as DMEnvAdapter
