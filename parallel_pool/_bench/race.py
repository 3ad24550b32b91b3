"""Runs one scene: finds the best setting of each rival, then measures all players in turn."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parallel_pool._bench import machine
from parallel_pool._bench.contender import Contender, Task
from parallel_pool._bench.outcome import Bar, Outcome, Played, Row, reached, rows_of
from parallel_pool._bench.rounds import (
    CLOCK,
    Clock,
    Player,
    Spread,
    batches_in,
    interleave,
    timed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parallel_pool._bench.scene import Scene


ROOT = Path(__file__).resolve().parents[2]

# Steps of every environment before anything is timed.
WARM_UP = 8


@dataclass(frozen=True)
class Effort:
    """How much work to put into a measurement.

    Attributes:
        rounds: number of rounds.
        seconds: playing time of each player in each round.
        turns: number of turns into which that time is divided.
        trial: seconds per setting in the search for a rival's best setting.
        all_settings: tries all numbers of threads, not only the task's.
    """

    rounds: int = 9
    seconds: float = 0.5
    turns: int = 6
    trial: float = 0.3
    all_settings: bool = True


SHORT = Effort(rounds=5, seconds=0.1, turns=1, trial=0.05, all_settings=False)


@dataclass(frozen=True)
class Entry:
    """One contender at one setting."""

    who: Contender
    task: Task
    role: str

    @property
    def name(self) -> str:
        """The name, unique within the scene."""
        return f"{self.who.name} ({self.role})"

    @property
    def setting(self) -> str:
        """The setting, for tables."""
        if self.who.workers:
            return workers_setting(self.who.workers(self.task), self.task.batch_size)
        if self.role == "only":
            return f"{self.task.num_envs} env{'s' * (self.task.num_envs > 1)}"
        threads = f"{self.task.num_threads} thread{'s' * (self.task.num_threads > 1)}"
        return f"{threads}, batch {self.task.batch_size}"


def workers_setting(count: int, batch_size: int) -> str:
    """Returns the setting of worker processes for tables; says if they outnumber the cores."""
    text = f"{count} worker{'s' * (count > 1)}, batch {batch_size}"
    return f"{text}, oversubscribed" if count > machine.usable_cores() else text


def is_installed(contender: Contender) -> bool:
    """Returns whether a contender is installed, in the environment or in a folder of its own."""
    if contender.needs:
        return not lacking(contender.needs)
    if contender.folder:
        return contender.place.exists()
    try:
        importlib.metadata.version(contender.package)
    except importlib.metadata.PackageNotFoundError:
        # a checkout that was only built in place has no metadata, but our package is there
        return contender.family == "ours"
    return True


def lacking(needs: str) -> str:
    """Returns why "module:name" can't be imported; empty if it can."""
    module, _, name = needs.partition(":")
    try:
        found = hasattr(importlib.import_module(module), name)
    except ImportError as error:
        return str(error)
    return "" if found else f"no {name} in {module}"


def absent(contender: Contender) -> str:
    """Returns what a contender lacks, and how to install it."""
    if contender.needs:
        return f"{contender.name} is not measured: {lacking(contender.needs)}"
    if contender.folder:
        place = contender.place
        return f"{contender.package} is not in {place}: make {os.path.relpath(place, ROOT)}"
    return f"{contender.package} is not installed: pip install {contender.package}"


@contextmanager
def playing(contender: Contender, task: Task) -> Iterator[Player]:
    """Makes a player, steps every environment a few times, and closes the player at the end."""
    player = contender.make(task)
    try:
        # the first results of an asynchronous pool are resets
        player.play(WARM_UP * task.num_envs // task.batch_size)
        yield player
    finally:
        player.close()


def best_setting(
    contender: Contender, settings: Sequence[Task], seconds: float, clock: Clock, tick: Tick
) -> Task:
    """Tries each setting for a short time; returns the one with the most steps per second."""
    rates = []
    for task in settings:
        with playing(contender, task) as player:
            count = batches_in(player, seconds, clock)
            rates.append(max(timed(player, count, clock).rate for _ in range(3)))
        tick(f"{contender.name}: {task.num_threads} threads, batch {task.batch_size}")
    return settings[rates.index(max(rates))]


Tick = Callable[[str], None]


def settings_of(rival: Contender, task: Task, effort: Effort) -> list[Task]:
    """Returns the settings among which the search finds a rival's best."""
    every = list(dict.fromkeys(rival.task(each) for each in task.settings()))
    if effort.all_settings:
        return every
    return [each for each in every if each.num_threads == task.num_threads]


def enter(
    scene: Scene, rivals: Sequence[Contender], effort: Effort, clock: Clock, tick: Tick
) -> list[Entry]:
    """Returns the contenders with their settings."""
    entries = [Entry(who, scene.task, "ours") for who in scene.ours if is_installed(who)]
    for who in rivals:
        if not who.tunable:
            entries.append(Entry(who, who.task(scene.task), "only"))
            continue
        best = best_setting(who, settings_of(who, scene.task, effort), effort.trial, clock, tick)
        if best == scene.task:
            entries.append(Entry(who, best, "same = best"))
        else:
            entries += [Entry(who, scene.task, "same"), Entry(who, best, "best")]
    return entries


def ticks_of(scene: Scene, rivals: Sequence[Contender], effort: Effort) -> int:
    """Returns the largest number of times that `run` can call `tick`."""
    trials = sum(len(settings_of(who, scene.task, effort)) for who in rivals if who.tunable)
    entries = len(scene.ours) + sum(2 if who.tunable else 1 for who in rivals)
    return trials + entries * (1 + effort.rounds)


def run(
    scene: Scene,
    families: Collection[str],
    effort: Effort,
    *,
    clock: Clock = CLOCK,
    tick: Tick = lambda text: None,
) -> Outcome:
    """Measures a scene.

    Args:
        families: families of the rivals to measure.
        effort: how much work to put in.
        tick: called with a description of each finished part.
    """
    wanted = [who for who in scene.rivals if who.family in {"ours", *families}]
    missing = sorted({absent(who) for who in (*scene.ours, *wanted) if not is_installed(who)})
    rivals = [who for who in wanted if is_installed(who)]
    entries = enter(scene, rivals, effort, clock, tick)
    with ExitStack() as stack:
        players = {}
        for entry in entries:
            players[entry.name] = stack.enter_context(playing(entry.who, entry.task))
            tick(f"{entry.name} made")
        samples = interleave(
            players,
            effort.rounds,
            effort.seconds,
            turns=effort.turns,
            clock=clock,
            tick=lambda: tick("round"),
        )
    rows = rows_of(
        Played(entry.who.name, entry.setting, entry.role, samples[entry.name]) for entry in entries
    )
    bars = [bar_of(scene, who, goal, rows) for who, goal in scene.bars.items()]
    bars += [
        Bar(f"CPU time vs {who}", goal, reached(rows, who, cpu=True))
        for who, goal in scene.cpu_bars.items()
    ]
    bars += [share_bar(scene, who, goal, rows) for who, goal in scene.shares.items()]
    notes = [*scene.notes, *scene.conclude(rows), *missing]
    return Outcome(
        scene.name,
        scene.title,
        "env steps/s",
        scene.task.frame_skip,
        effort.rounds,
        rows,
        bars,
        notes,
    )


def bar_of(scene: Scene, who: str, goal: float, rows: Sequence[Row]) -> Bar:
    """Returns the bar on our speed against a rival's, on the same environments or on its own."""
    if who not in scene.own_loops:
        return Bar(f"vs {who}", goal, reached(rows, who))
    theirs, ours = scene.own_loops[who]
    times = reached_on_own(rows, who, theirs, ours)
    return Bar(f"vs {who}, each against its own loop,", goal, times)


def reached_on_own(rows: Sequence[Row], who: str, their_loop: str, our_loop: str) -> float | None:
    """Returns what `reached` does, with each rate divided by that of a plain loop over the same
    environments."""
    samples = {row.who: row.samples for row in rows}
    if not {who, their_loop, our_loop} <= samples.keys():
        return None
    times = [
        Spread.of(
            (our / our_bare) / (their / their_bare)
            for our, our_bare, their, their_bare in zip(
                row.samples, samples[our_loop], samples[who], samples[their_loop], strict=True
            )
        ).median
        for row in rows
        if row.role == "ours"
    ]
    return min(times, default=None)


def share_bar(scene: Scene, who: str, goal: float, rows: Sequence[Row]) -> Bar:
    """Returns the bar on our share of a rival's speed times the number of threads or workers."""
    times, cores = reached(rows, who), scene.task.num_threads
    share = None if times is None else times / cores
    return Bar(f"share of the ceiling, {cores} x {who},", goal, share, unit="")
