"""The newest EnvPool: it needs Python 3.12 or newer, and plays in a process of such a Python.

`make bench` installs it, if it finds a Python 3.12, with what it needs into a folder of its own.
"""

from __future__ import annotations

from parallel_pool._bench.contender import Task
from parallel_pool._bench.player_proxy import in_own_process
from parallel_pool._bench.rivals import envpool
from parallel_pool._bench.rounds import Player

VERSION = "1.2.7"


@in_own_process(
    f"EnvPool {VERSION}",
    "envpool",
    package="envpool",
    folder=f"envpool-{VERSION}",
    tunable=True,
)
def newest_envpool(task: Task) -> Player:
    """The newest EnvPool, through its own `make`."""
    return envpool.make(task)
