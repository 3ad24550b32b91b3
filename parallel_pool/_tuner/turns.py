"""Turns: how the settings of a round run, one after another or side by side."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from parallel_pool._command import signals_wait
from parallel_pool._engine.arguments import usable_memory
from parallel_pool._tuner.guard import Guard
from parallel_pool._tuner.run import START, Outcome, Script
from parallel_pool._tuner.running import EndedError, Running, Slice
from parallel_pool._tuner.setting import Setting

# a round one by one of more settings than these also ends with the script as it is
MAX_SHORT_ROUND_SETTINGS = 2
# Seconds for which one runs side by side with others before the next has its turn, and for which
# one is stopped at most, as a pool may have a timeout.
TURN_SECONDS, MAX_STOP_SECONDS = 0.2, 1.0
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

    def renew(self) -> None:
        """Starts all anew in the next round, if there is time."""
        ...


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
        after = self.once(Setting()) if len(settings) > MAX_SHORT_ROUND_SETTINGS else None
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

    def renew(self) -> None:
        pass

    def once(self, setting: Setting) -> Outcome | None:
        """Runs the script with a setting; None if there is no time for it."""
        if time.monotonic() + self._longest > self._deadline:
            return None
        found = self._run(setting)
        self._longest = max(self._longest, found.seconds)
        return found


class _ApartError(Exception):
    """The script can't run beside itself; the message says why."""


class SideBySide:
    """Keeps all that play running, and stops all but one, in turns of less than a second.

    So a machine that is slower for some seconds is slower for all, and starts are few. Where the
    script does not run beside itself, settings play one by one from then on.
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
        self.is_possible = memory > 0
        # seconds of the longest start, and what a round takes beside its turns
        self._longest = self._beside = 0.0

    def play(self, settings: Sequence[Setting]) -> Round | None:
        players = [Setting(), *settings]
        if self.is_possible:
            for setting in self._running.keys() - set(players):
                self._end(setting)
            try:
                return self._play(players)
            except _ApartError as reason:
                self._say(f"  one by one from here on: {reason}")
            except EndedError as reason:
                self._say(f"  one by one from here on: beside itself, {reason}")
            self.is_possible = False
        self.close()
        return self._one_by_one.play(settings)

    def renew(self) -> None:
        if self._has_time([Setting(), Setting()], 2 * self._longest):
            self._end_all()

    def close(self) -> None:
        """Ends all that run."""
        try:
            self._end_all()
        finally:
            if self._guard is not None:
                self._guard.close()
                self._guard = None

    def _play(self, players: Sequence[Setting]) -> Round | None:
        failed: dict[Setting, str] = {}
        self._start_all(players, failed)
        ready = [each for each in players if each in self._running]
        if len(ready) < 2 or not self._has_time(ready):
            return Round({}, failed, False) if failed else None
        is_whole = len(ready) == len(players) - len(failed)
        began = time.monotonic()
        rates: dict[Setting, float] = {}
        for setting, found in self._measured(ready):
            if found["rate"]:
                rates[setting] = found["rate"]
                self._say(f"  {setting}: {found['rate']:,.0f} steps/s")
            elif found["error"]:
                failed[setting] = found["error"]
                self._say(f"  {setting}: failed: {found['error']}")
                self._end(setting)
        self._beside = max(0.0, time.monotonic() - began - self._seconds_of(ready))
        base = rates.pop(Setting(), None)
        if base is None:
            raise _ApartError(f"{Setting()}, it makes no steps")
        gains = {setting: rate / base for setting, rate in rates.items()}
        return Round(gains, failed, is_whole)

    def _seconds_of(self, players: Iterable[Setting]) -> float:
        """Returns how long the turns of a round take."""
        return sum(map(self._script.seconds_of, players))

    def _has_time(self, players: Iterable[Setting], start: float = 0.0) -> bool:
        """Returns whether there is time for a start and a round."""
        seconds = start + self._seconds_of(players) + self._beside
        return time.monotonic() + seconds <= self._deadline

    # ------------------------------------------------------------------------------- processes --

    def _start_all(self, players: Sequence[Setting], failed: dict[Setting, str]) -> None:
        """Starts what does not run yet, as far as there is time.

        Raises:
            _ApartError: what fails to start beside others starts alone, or there is no memory.
        """
        for setting in players:
            if setting in self._running or setting in failed:
                continue
            if not self._has_time([*self._running, setting], self._longest):
                return
            self._check_memory()
            try:
                self._start(setting)
            except EndedError as error:
                if setting == Setting():
                    raise
                if error.is_silent:
                    self._end(setting)
                    failed[setting] = "no first steps"
                    self._say(f"  {setting}: failed: {failed[setting]}")
                    continue
                self._end_all()
                alone = self._one_by_one.once(setting)
                if alone is None:
                    return
                if alone.rate:
                    raise _ApartError(f"{setting} starts only alone") from None
                failed[setting] = alone.error
                return self._start_all(players, failed)

    def _check_memory(self) -> None:
        """Raises _ApartError if one more would need too much memory."""
        own = [running.look() for running in self._running.values()]
        if sum(own) + max([*own, self._memory]) > MEMORY_SHARE * usable_memory():
            raise _ApartError("more processes would take more than half of the memory")

    def _start(self, setting: Setting) -> None:
        """Starts the script with a setting, warms it up, and stops it."""
        if self._guard is None:
            with signals_wait():
                self._guard = Guard()
        began = time.monotonic()
        running = self._running[setting] = self._script.start(setting)
        self._guard.add(running.pid)
        running.warm_up(self._script.skipped, min(self._deadline, began + START))
        running.look()
        running.stop()
        self._longest = max(self._longest, time.monotonic() - began)

    def _end(self, setting: Setting) -> None:
        running = self._running.pop(setting, None)
        if running is not None:
            running.close()
            if self._guard is not None:
                self._guard.remove(running.pid)

    def _end_all(self) -> None:
        with contextlib.ExitStack() as stack:
            for setting in self._running:
                stack.callback(self._end, setting)

    # ----------------------------------------------------------------------------------- turns --

    def _measured(self, players: Sequence[Setting]) -> Iterator[tuple[Setting, Mapping[str, Any]]]:
        """Measures those that play side by side; yields what `child` has found.

        Raises:
            EndedError: one ends by itself.
        """
        if self._guard is None or not self._guard.is_alive:
            # stopped processes would outlive this one if it was killed
            raise _ApartError("the process that guards them was killed")
        slices: dict[Setting, list[Slice]] = {setting: [] for setting in players}
        for setting in players:
            with self._turn_of(setting) as running:
                running.begin(time.monotonic() + ANSWER)
                running.look()
        turn = min(TURN_SECONDS, MAX_STOP_SECONDS / max(1, len(players) - 1))
        # one with longer turns has as many
        longer = {each: self._script.seconds_of(each) / self._script.seconds for each in players}
        for i in range(math.ceil(self._script.seconds / turn)):
            # what one leaves behind, such as cold caches, must not always meet the same
            for setting in players if i % 2 == 0 else reversed(players):
                with self._turn_of(setting) as running:
                    start = time.monotonic_ns()
                    running.let(turn * longer[setting])
                    slices[setting].append((start, time.monotonic_ns()))
        for setting in players:
            with self._turn_of(setting) as running:
                found = running.end(slices[setting], time.monotonic() + ANSWER)
            yield setting, found

    @contextlib.contextmanager
    def _turn_of(self, setting: Setting) -> Iterator[Running]:
        running = self._running[setting]
        running.go_on()
        yield running
        running.stop()
