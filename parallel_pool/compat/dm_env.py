"""The former place of DMEnvPool, which programs may still import."""

from __future__ import annotations

from parallel_pool.compat.envpool.dm_env import DMEnvPool as DMEnvPool
