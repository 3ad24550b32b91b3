"""Turns: how the settings of a round run, one after another or side by side."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from parallel_pool._command import signals_wait
from parallel_pool._engine.arguments import usable_memory
from parallel_pool._tuner.guard import Guard
from parallel_pool._tuner.run import START, Outcome, Script, outcome
from parallel_pool._tuner.running import EndedError, Running, Slice
from parallel_pool._tuner.setting import Setting

# Seconds for which one runs side by side with others before the next has its turn, and for which
# one is stopped at most, as a pool may have a timeout.
TURN, MAX_STOPPED = 0.2, 1.0
# part of the usable memory that scripts side by side may take
MEMORY_SHARE = 0.5
# seconds in which a process answers
ANSWER = 10.0


class Round(NamedTuple):
    """What a round has found.

    Attributes:
        gains: by setting, how many times as fast as the script as it is.
        failed: by setting, why.
        is_whole: whether there was time for all.
    """

    gains: Mapping[Setting, float]
    failed: Mapping[Setting, str]
    is_whole: bool = True


class Turns(Protocol):
    """Plays rounds of settings against the script as it is."""

    def play(self, settings: Sequence[Setting]) -> Round | None:
        """Plays a round of settings other than the script as it is; None if there is no time."""
        ...


def is_long(count: int) -> bool:
    """Returns whether the script as it is also ends a round of so many settings."""
    return count > 2


class OneByOne:
    """Runs each setting anew and alone; the script as it is begins a round, and ends a long one."""

    def __init__(
        self, run: Callable[[Setting], Outcome], deadline: float, longest: float = 0.0
    ) -> None:
        """
        Args:
            run: runs the script with a setting.
            deadline: of `time.monotonic`, after which no run begins.
            longest: seconds that a run takes, as far as that is known.
        """
        self._run, self._deadline, self._longest = run, deadline, longest

    def play(self, settings: Sequence[Setting]) -> Round | None:
        if time.monotonic() + 2 * self._longest > self._deadline:
            return None
        before = self.once(Setting())
        found: dict[Setting, Outcome] = {}
        for setting in settings:
            played = self.once(setting)
            if played is None:
                break
            found[setting] = played
        after = self.once(Setting()) if is_long(len(settings)) else None
        # What the machine does else may change during a round. A run that failed says nothing of
        # the speed.
        known = [each.rate for each in (before, after) if each is not None and each.rate]
        gains = {
            setting: played.rate * len(known) / sum(known)
            for setting, played in found.items()
            if played.rate and known
        }
        failed = {setting: played.error for setting, played in found.items() if not played.rate}
        return Round(gains, failed, len(found) == len(settings))

    def once(self, setting: Setting) -> Outcome | None:
        """Runs the script with a setting; None if there is no time for it."""
        if time.monotonic() + self._longest > self._deadline:
            return None
        found = self._run(setting)
        self._longest = max(self._longest, found.seconds)
        return found


class _ApartError(Exception):
    """The script does not run beside itself."""


class SideBySide:
    """Keeps all that play running, and stops all but one, in turns of less than a second.

    So a machine that is slower for some seconds is slower for all, and each starts only once. Where
    the script does not run beside itself, because of a port or a GPU's memory, or where it ends by
    itself, settings play one by one from then on.
    """

    def __init__(
        self,
        script: Script,
        deadline: float,
        memory: int,
        one_by_one: OneByOne,
        say: Callable[[str], object],
    ) -> None:
        """
        Args:
            script: what runs.
            deadline: of `time.monotonic`, after which nothing starts and no round begins.
            memory: bytes that it takes; 0 if that isn't known, and then settings play one by one.
            one_by_one: plays where they do not run side by side.
            say: is told the speeds.
        """
        self._script, self._deadline, self._memory = script, deadline, memory
        self._one_by_one, self._say = one_by_one, say
        self._running: dict[Setting, Running] = {}
        self._guard: Guard | None = None
        self._can = memory > 0
        # seconds of the longest start
        self._longest = 0.0

    def play(self, settings: Sequence[Setting]) -> Round | None:
        players = [Setting(), *settings]
        if self._can and self._memory * len(players) <= MEMORY_SHARE * usable_memory():
            for setting in self._running.keys() - set(players):
                self._end(setting)
            try:
                return self._play(players)
            except (_ApartError, EndedError):
                self._can = False
                self._say("  the script does not run beside itself: one by one from here on")
        self.close()
        return self._one_by_one.play(settings)

    def close(self) -> None:
        """Ends all that run."""
        self._end_all()
        if self._guard is not None:
            self._guard.close()
            self._guard = None

    def _play(self, players: Sequence[Setting]) -> Round | None:
        failed: dict[Setting, str] = {}
        seconds = len(players) * self._script.seconds
        if not self._start_all(players, failed) or not self._has_time(seconds):
            return None
        rates: dict[Setting, float] = {}
        for setting, found in self._measured([each for each in players if each in self._running]):
            if found.rate:
                rates[setting] = found.rate
                self._say(f"  {setting}: {found.rate:,.0f} steps/s")
            else:
                failed[setting] = found.error
        if Setting() in failed:
            raise _ApartError
        for setting, error in failed.items():
            self._say(f"  {setting}: failed: {error}")
            self._end(setting)
        base = rates.pop(Setting())
        return Round({setting: rate / base for setting, rate in rates.items()}, failed)

    def _has_time(self, seconds: float) -> bool:
        return time.monotonic() + seconds <= self._deadline

    # ------------------------------------------------------------------------------- processes --

    def _start_all(self, players: Sequence[Setting], failed: dict[Setting, str]) -> bool:
        """Starts what does not run yet; returns whether there was time.

        Raises:
            _ApartError: what fails to start beside others starts alone.
        """
        for setting in players:
            if setting in self._running or setting in failed:
                continue
            if not self._has_time(self._longest + self._script.seconds):
                return False
            try:
                self._start(setting)
            except EndedError:
                self._end_all()
                if setting == Setting():
                    raise
                alone = self._one_by_one.once(setting)
                if alone is None or alone.rate:
                    raise _ApartError from None
                failed[setting] = alone.error
                return self._start_all(players, failed)
        return True

    def _start(self, setting: Setting) -> None:
        """Starts the script with a setting, warms it up, and stops it."""
        if self._guard is None:
            with signals_wait():
                self._guard = Guard()
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            running = stack.enter_context(contextlib.closing(self._script.start(setting)))
            self._guard.add(running.pid)
            self._running[setting] = running
            running.warm_up(self._script.skipped, min(self._deadline, began + START))
            running.stop()
            stack.pop_all()
        self._longest = max(self._longest, time.monotonic() - began)

    def _end(self, setting: Setting) -> None:
        running = self._running.pop(setting, None)
        if running is not None:
            running.close()
            assert self._guard is not None
            self._guard.remove(running.pid)

    def _end_all(self) -> None:
        for setting in list(self._running):
            self._end(setting)

    # ----------------------------------------------------------------------------------- turns --

    def _measured(self, players: Sequence[Setting]) -> Iterator[tuple[Setting, Outcome]]:
        """Measures those that play side by side.

        Raises:
            EndedError: one ends by itself.
        """
        slices: dict[Setting, list[Slice]] = {setting: [] for setting in players}
        for setting in players:
            with self._turn_of(setting) as running:
                running.begin(time.monotonic() + ANSWER)
        turn = min(TURN, MAX_STOPPED / max(1, len(players) - 1))
        for _ in range(math.ceil(self._script.seconds / turn)):
            for setting in players:
                start = time.monotonic_ns()
                with self._turn_of(setting):
                    time.sleep(turn)
                slices[setting].append((start, time.monotonic_ns()))
        for setting in players:
            with self._turn_of(setting) as running:
                found = running.end(slices[setting], time.monotonic() + ANSWER)
            yield setting, outcome(running, found, self._script.seconds)

    @contextlib.contextmanager
    def _turn_of(self, setting: Setting) -> Iterator[Running]:
        running = self._running[setting]
        running.go_on()
        yield running
        running.stop()
