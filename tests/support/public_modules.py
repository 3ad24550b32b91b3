"""The public modules of the package, whose names programs may use.

All others begin with an underscore, or are in a folder that does, as
tests/package/test_public_names.py checks.
"""

from __future__ import annotations

# paths in the package; "" is the package itself
PUBLIC = [
    "",
    "cluster",
    "compat.ale",
    "compat.dm_env",
    "compat.envpool",
    "compat.gymnasium",
    "compat.gymnasium_hook",
    "compat.jax",
    "compat.minari",
    "compat.openenv",
    "compat.pettingzoo",
    "compat.sb3",
    "compat.torch",
    "errors",
    "leases",
    "mujoco_batch",
    # as in EnvPool
    "python",
    "python.envpool",
    "python.protocol",
    "registration",
    "testing",
    "turns",
]
