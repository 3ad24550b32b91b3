"""The quick benchmark: a few scenes within a time limit, each player in a process of its own.

The limit is divided among the scenes. A player that takes too long to start, does not answer, or
fails, is ended and named, and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

from parallel_pool._bench import player_proxy, race
from parallel_pool._bench.contender import Contender, Task, maker
from parallel_pool._bench.outcome import Played
from parallel_pool._bench.quick_scenes import NEEDS
from parallel_pool._bench.record import Measured
from parallel_pool._bench.rounds import CLOCK, Clock, Player, Sample, interleave
from parallel_pool._command import signals_wait

if TYPE_CHECKING:
    from typing import Self

    from parallel_pool._bench.scene import Scene

ROUNDS = 5
# seconds of a player's turn in a round: the longest, and the shortest that is still a measurement
MAX_TURN_SECONDS, MIN_TURN_SECONDS = 0.4, 0.02
# the share of a scene's time in which its players must have started
STARTS = 0.6
# the most seconds to wait for one answer, and the fewest, when the scene's time is up
PATIENCE, MIN_PATIENCE = 6.0, 1.0
# seconds for a player's own end
GRACE = 2.0


class Starting(Player, Protocol):
    """A player whose process was started."""

    def made(self, patience: float | None = None) -> Self:
        """Waits until it can play."""
        ...


# Starts the process of a contender's player; the function returns the seconds it may take to answer
Start = Callable[[Contender, Task, Callable[[], float]], Starting]
# called with the share of the scene that is done
Tick = Callable[[float], None]


def start(who: Contender, task: Task, patience: Callable[[], float]) -> Starting:
    """Starts the process of a player."""
    module = maker(who.name).__module__
    return player_proxy.PlayerProxy(
        who.name,
        player_proxy.command(module, who.name, task),
        player_proxy.environment(""),
        patience=patience,
        grace=GRACE,
        is_quiet=True,
    )


def run(
    scenes: Sequence[Scene],
    seconds: float,
    *,
    begin: Callable[[Scene], Tick],
    start: Start = start,
    clock: Clock = CLOCK,
) -> Iterator[Measured]:
    """Yields what was measured in each scene, once it is done.

    Args:
        seconds: for all scenes together. Each gets an equal share of what is left.
        begin: called before each scene.
    """
    end = clock.wall() + seconds
    for i, scene in enumerate(scenes):
        share = (end - clock.wall()) / (len(scenes) - i)
        yield measure(scene, max(share, 0.0), start=start, clock=clock, tick=begin(scene))


def measure(
    scene: Scene, seconds: float, *, start: Start = start, clock: Clock = CLOCK, tick: Tick
) -> Measured:
    """Measures one scene within about this many seconds."""
    entries, lacks = entries_of(scene)
    heat = Heat(entries, seconds, clock, tick)
    samples = heat.run(start)
    played = [
        Played(entry.who.name, runs_on(entry), entry.role, samples[entry.name])
        for entry in entries
        if samples.get(entry.name)
    ]
    return Measured(scene.name, scene.title, scene.task.frame_skip, played, heat.lost, lacks)


class Heat:
    """The players of one scene while it is measured.

    Attributes:
        lost: sentences about players that failed.
    """

    def __init__(
        self, entries: Sequence[race.Entry], seconds: float, clock: Clock, tick: Tick
    ) -> None:
        self.lost: list[str] = []
        self._entries = {entry.name: entry for entry in entries}
        self._seconds, self._clock, self._tick = seconds, clock, tick
        self._end = clock.wall() + seconds
        self._done = 0

    def run(self, start: Start) -> dict[str, list[Sample]]:
        """Starts all players, and lets them play in rounds; returns their samples by name."""
        with ExitStack() as stack:
            started = {}
            # all at once, as most of a start is waiting for files
            for name, entry in self._entries.items():
                with signals_wait():
                    started[name] = start(entry.who, entry.task, self.patience)
                    stack.callback(started[name].close)
            players = {name: each for name, each in started.items() if self._is_ready(name, each)}
            turn = self._left() / max(1, len(players)) / (ROUNDS + 1)
            return interleave(
                players,
                ROUNDS,
                min(MAX_TURN_SECONDS, max(MIN_TURN_SECONDS, turn)),
                clock=self._clock,
                tick=self._step,
                lost=self._leave,
                is_over=lambda: self._left() <= 0,
            )

    def patience(self) -> float:
        """Returns the seconds to wait for an answer: few if the time is up."""
        return max(MIN_PATIENCE, min(PATIENCE, self._left()))

    def _left(self) -> float:
        return self._end - self._clock.wall()

    def _is_ready(self, name: str, player: Starting) -> bool:
        """Waits until a player can play, and lets every environment step a few times."""
        task = self._entries[name].task
        starting = self._left() - (1 - STARTS) * self._seconds
        try:
            # those that are ready answer even if the time for starts is up
            player.made(max(MIN_PATIENCE, starting))
            player.play(race.WARM_UP * task.num_envs // task.batch_size)
        except (RuntimeError, OSError) as why:
            self._leave(name, why)
            return False
        finally:
            self._step()
        return True

    def _leave(self, name: str, why: Exception) -> None:
        """Notes that a player is not in the race any more."""
        self.lost.append(f"{self._entries[name].who.name} was not measured: {why}")

    def _step(self) -> None:
        self._done += 1
        self._tick(min(1.0, self._done / (len(self._entries) * (ROUNDS + 1))))


def runs_on(entry: race.Entry) -> str:
    """Returns what a player keeps busy: all are synchronous, so there is no batch size to tell."""
    task = entry.task
    if entry.who.workers:
        count, what = entry.who.workers(task), "process"
        return f"{count} {what}{'es' * (count > 1)}"
    count = 1 if entry.role == "only" else task.num_threads
    return f"{count} thread{'s' * (count > 1)}"


def entries_of(scene: Scene) -> tuple[list[race.Entry], list[str]]:
    """Returns the players that can play, and sentences about what is not installed."""
    unmet = [need for need in NEEDS.get(scene.name, ()) if not need.is_met]
    lacks = [need.lack for need in unmet]
    if any(not need.of_gymnasium for need in unmet):
        return [], lacks
    entries = []
    for who in (*scene.ours, *scene.rivals):
        if unmet and who.family == "gymnasium":
            continue
        if not race.is_installed(who):
            lacks.append(race.absent(who))
            continue
        role = "ours" if who.family == "ours" else "same" if who.tunable else "only"
        entries.append(race.Entry(who, who.task(scene.task), role))
    return entries, lacks
