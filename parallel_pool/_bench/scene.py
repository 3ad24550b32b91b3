"""A scene: one comparison of players, and the bars that we set ourselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from parallel_pool._bench.contender import Contender, Task
from parallel_pool._bench.outcome import Row


@dataclass(frozen=True)
class Scene:
    """A comparison of players on one task.

    Attributes:
        name: for the command line.
        title: for tables and plots.
        task: what all players step; rivals also play at their best settings.
        ours: our APIs; each must reach the bars.
        rivals: the other players.
        bars: how many times faster than a rival we must be, by its name; a rival without a bar is
            only shown.
        cpu_bars: how many times less CPU time per step than a rival we must use; for comparisons
            in which wall time would add only noise.
        shares: the share that we must reach of a rival's speed times the task's number of threads
            or workers, by its name; used for the plain loop in one process.
        own_loops: for rivals that step other environments than ours, as they need older packages:
            the names of the plain loops over theirs and over ours, by the rival's name. Such a
            rival's bar compares each side with its own loop.
        notes: what a reader of the table must know.
        conclude: returns more notes, from the rows.
        mujoco: the version of MuJoCo to measure on, in a process of its own if necessary; empty for
            the installed version.
    """

    name: str
    title: str
    task: Task
    ours: tuple[Contender, ...]
    rivals: tuple[Contender, ...]
    bars: Mapping[str, float] = field(default_factory=dict)
    cpu_bars: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    own_loops: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    conclude: Callable[[Sequence[Row]], Sequence[str]] = lambda rows: ()
    mujoco: str = ""
