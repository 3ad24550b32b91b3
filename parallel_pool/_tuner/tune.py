"""Tune: the whole in order, from the first run to what is worth a change."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from parallel_pool._tuner import grid
from parallel_pool._tuner.pace import Pace
from parallel_pool._tuner.run import START, Outcome, Script
from parallel_pool._tuner.search import FINAL_ROUNDS, Gain, Search, most_in
from parallel_pool._tuner.setting import Setting, numbers_of
from parallel_pool._tuner.turns import OneByOne, SideBySide

# part of a run's seconds that does not count, as programs begin slowly
SKIPPED_SHARE = 0.4
# turns of the learner that a run has to contain
CYCLES = 2.5
# A first run that has no whole cycles is made again, so many times as long, up to these seconds.
RUN_FACTOR, MAX_RUN_SECONDS = 3.0, 30.0
# seconds that a script may take to step its first batch even if the limit has nearly passed
MIN_START_SECONDS = 1.0


class FailedScriptError(Exception):
    """The script can't be measured as it is."""


class Result(NamedTuple):
    """What was found.

    Attributes:
        setting: the fastest besides the script as it is; `Setting()` if none could be measured.
        gain: of it.
        facts: of the first run.
    """

    setting: Setting
    gain: Gain
    facts: Mapping[str, Any]

    @property
    def choice(self) -> Setting:
        """The setting to choose: the script as it is, if no other gains more than noise."""
        return self.setting if self.gain.is_worth_it else Setting()


def tune(
    path: Path,
    arguments: Sequence[str],
    seconds: float,
    limit: float,
    say: Callable[[str], object],
) -> Result:
    """Runs a script with different settings.

    Args:
        path, arguments: of the script.
        seconds: of each run.
        limit: seconds of all runs.
        say: is told what happens.

    Raises:
        FailedScriptError: the script fails as it is.
    """
    deadline = time.monotonic() + limit
    script, first = measured(path, arguments, seconds, min(START, limit), deadline)
    say(_first_lines(first))
    every = grid.settings(first.facts, numbers_of(arguments))

    def run(setting: Setting) -> Outcome:
        # one that hangs must not take the time of all
        left = deadline - time.monotonic() - script.seconds - script.skipped
        outcome = script.run(setting, limit=min(START, max(left, MIN_START_SECONDS)))
        rate = f"{outcome.rate:,.0f} steps/s" if outcome.rate else f"failed: {outcome.error}"
        say(f"  {setting}: {rate}")
        return outcome

    one_by_one = OneByOne(run, deadline, first.seconds)
    with closing(SideBySide(script, deadline, first.memory, one_by_one, say)) as turns:
        # seconds until one begins to play, which all do once, or in each round
        start = first.seconds - script.seconds
        own = (
            (start, script.seconds, FINAL_ROUNDS) if turns.is_possible else (0.0, first.seconds, 1)
        )
        others = grid.first(every, most_in(deadline - time.monotonic(), *own))[1:]
        say(f"{len(others)} other setting{'s' * (len(others) != 1)}, and the script as it is:")
        setting, gain = Search(turns, others).best()
    return Result(setting, gain, first.facts)


def measured(
    path: Path,
    arguments: Sequence[str],
    seconds: float,
    limit: float = START,
    deadline: float = math.inf,
) -> tuple[Script, Outcome]:
    """Runs a script as it is; returns what runs it, long enough for its cycles, and the outcome.

    Args:
        path, arguments: of the script.
        seconds: of a run.
        limit: seconds beside those, after which a run has failed.
        deadline: of `time.monotonic`, which no further run may pass.

    Returns:
        What runs it; and the outcome of the last run, whose `seconds` are those that a run will
        take.

    Raises:
        FailedScriptError: it can't be measured.
    """
    script = Script(path, arguments, seconds, SKIPPED_SHARE * seconds)
    first = script.run(Setting(), asks=True, limit=limit)
    while (
        _pace(first).is_part_of_a_cycle(script.seconds)
        and script.seconds <= MAX_RUN_SECONDS / RUN_FACTOR
        and time.monotonic() + first.seconds + (RUN_FACTOR - 1) * script.seconds <= deadline
    ):
        script.seconds *= RUN_FACTOR
        first = script.run(Setting(), asks=True, limit=limit)
    if not first.rate:
        raise FailedScriptError(first.error)
    cycle, ran = _pace(first).cycle, script.seconds
    if cycle:
        script.seconds, script.has_cycles = max(seconds, CYCLES * cycle), True
    return script, first._replace(seconds=first.seconds + script.seconds - ran)


def _pace(outcome: Outcome) -> Pace:
    known = {name: outcome.facts.get(name, 0) for name in Pace._fields}
    return Pace(**known)


def _first_lines(first: Outcome) -> str:
    facts = first.facts
    count = facts["count"]
    lines = [
        f"{facts['num_envs']} x {facts['name']}, {count} {facts['unit']}{'s' * (count != 1)}:"
        f" {first.rate:,.0f} steps/s, {1 - facts['outside']:.0%} of the time in calls"
    ]
    if facts["cycle"]:
        lines.append(f"the learner pauses the steps every {facts['cycle']:.2g} s")
    return "\n".join([*lines, f"trace: {facts['advice']}\n"])
