"""The former path of DMEnvPool and dm_env's specs, which programs may still import."""

from __future__ import annotations

from parallel_pool.compat.envpool.dm_env import DMEnvPool as DMEnvPool
from parallel_pool.compat.envpool.dm_specs import Structure as Structure
from parallel_pool.compat.envpool.dm_specs import array_spec as array_spec
from parallel_pool.compat.envpool.dm_specs import observation_spec as observation_spec
