"""Shrink: makes the script of a difference as short and as simple as it gets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from parallel_pool._engine.buffers import Array
from parallel_pool._prover import policies
from parallel_pool._prover.comparison import Path
from parallel_pool._prover.match import Finding, Match
from parallel_pool._prover.player import PROCESS
from parallel_pool._prover.script import MODES, Case, Event, Reset, Script, Step, of_segments

# tries and steps that shrinking takes at most; what ends the process costs a new one each time
MAX_TRIES, MAX_STEPS, MAX_CRASHES = 150, 30_000, 12
# steps for which the actions of one episode are tried with other seeds, and most seeds
EPISODES, OTHER_SEEDS = 3000, 64
# runs of actions that are simplified one by one
MAX_RUNS = 24
# times the steps of a long script that may be played in any case
MIN_PLAYS = 6


class Shrinker:
    """Tries simpler scripts, and keeps those that still end in a difference.

    Attributes:
        best: the simplest so far.
        tries: how many were played.
    """

    def __init__(self, match: Match, found: Finding, deadline: float, modes: Sequence[str]) -> None:
        self.best, self.tries = found, 0
        self._mode, self._space = modes[0], match.theirs.spaces[1]
        self._most_steps = max(MAX_STEPS, MIN_PLAYS * found.script.steps)
        self._match, self._deadline = match, deadline
        self._steps = match.steps
        self._most = MAX_CRASHES if found.difference.kind == PROCESS else MAX_TRIES

    def run(self) -> Finding:
        """Returns the simplest script that was found."""
        if self.best.script.events:
            self._settings()
            self._fewer_envs()
            self._later_start()
            self._last_episode()
            self._constant_actions()
            self._fewer_events()
            self._simpler_actions()
            self._small_seed()
        return self.best

    def _try(self, script: Script) -> bool:
        """Plays a script; keeps it if it differs in the same kind of thing."""
        spent = self._match.steps - self._steps
        if (
            self.tries >= self._most
            or spent > self._most_steps
            or time.monotonic() > self._deadline
        ):
            return False
        self.tries += 1
        found = self._match.play(script)
        if found is None or not found.script.events:
            return False
        if (found.difference.kind == PROCESS) != (self.best.difference.kind == PROCESS):
            return False
        self.best, self._space = found, self._match.theirs.spaces[1]
        return True

    def _settings(self) -> None:
        """Tries the defaults of all settings."""
        case = self.best.script.case
        self._try_case(Case(case.options, self._mode, pictures=case.pictures))
        for name in case.options:
            now = self.best.script.case
            rest = {key: value for key, value in now.options.items() if key != name}
            self._try_case(replace(now, options=rest))
        self._try_case(replace(self.best.script.case, mode=self._mode))
        self._try_case(replace(self.best.script.case, limit=None))
        if self.best.difference.path[0] != "pictures":
            self._try_case(replace(self.best.script.case, pictures=False))

    def _try_case(self, case: Case) -> None:
        if case != self.best.script.case:
            self._try(replace(self.best.script, case=case))

    def _fewer_envs(self) -> None:
        script = self.best.script
        if script.num_envs > 1:
            at = row(self.best.difference.path)
            order = sorted(range(script.num_envs), key=lambda each: each != at)
            any(self._try(script.column(each)) for each in order)

    def _later_start(self) -> None:
        """Tries to begin with each later reset that has seeds, the last first."""
        script = self.best.script
        for at in reversed(range(1, len(script.events))):
            event = script.events[at]
            if isinstance(event, Reset) and event.seeds is not None:
                rest = replace(script, events=script.events[at:])
                if self._try(rest):
                    return

    def _last_episode(self) -> None:
        """Tries single episodes with other seeds: the actions of the last one, and others."""
        script, end = self.best.script, self.best.ends[0]
        actions = [each.actions for each in script.events[end + 1 :] if isinstance(each, Step)]
        if script.num_envs > 1 or end < 0 or not actions:
            return
        # of the step after an end that is a reset, the action is of no use
        last = np.stack(actions[script.case.mode == MODES[0] :] or actions)
        count = min(max(EPISODES // len(last), 1), OTHER_SEEDS)
        if not self._try_episodes(np.repeat(last, count, axis=1)):
            space, rng = self._space, np.random.default_rng(0)
            any(
                self._try_episodes(policies.actions(space, policy, len(last) + 1, count, rng))
                for policy in policies.NAMES
            )

    def _try_episodes(self, actions: Array) -> bool:
        """Tries actions, of shape (steps, environments, ...), and then the best environment."""
        seeds, best = tuple(range(actions.shape[1])), self.best
        script = of_segments(best.script.case, [(seeds, actions)], best.script.policy)
        is_found = self._try(script)
        if is_found:
            self._fewer_envs()
        return is_found

    def _constant_actions(self) -> None:
        for action in self._simple_actions():
            if self._try(_with_actions(self.best.script, partial(_constant, action))):
                return

    def _simple_actions(self) -> Iterator[Array]:
        space = self._space
        simple = policies.simplest(space)
        yield simple
        for each in policies.corners(space):
            corner = np.broadcast_to(np.asarray(each, space.dtype), space.shape)
            if not np.array_equal(corner, simple):
                yield corner

    def _fewer_events(self) -> None:
        """Delta debugging: leaves out runs of events, shorter ones each time."""
        size = (len(self.best.script.events) - 1) // 2
        least = max(size // MAX_RUNS, 1)
        while size >= least:
            # the first event stays: it has the seeds
            at = 1
            while at < len(self.best.script.events):
                events = self.best.script.events
                if not self._try(replace(self.best.script, events=_without(events, at, size))):
                    at += size
                if self.tries >= self._most:
                    return
            size //= 2

    def _simpler_actions(self) -> None:
        """Tries the simplest action in ever shorter runs of steps."""
        simple = policies.simplest(self._space)
        size = max(len(self.best.script.events) // 2, 1)
        # of many actions single ones are not worth a try each
        least = max(size // MAX_RUNS, 1)
        while size >= least:
            for at in range(1, len(self.best.script.events), size):
                script = self.best.script
                changed = _with_actions(script, partial(_constant, simple), at, at + size)
                if not _same_actions(script, changed):
                    self._try(changed)
            size //= 2

    def _small_seed(self) -> None:
        for seed in range(3):
            script = self.best.script
            events = tuple(
                Reset(tuple(range(seed, seed + script.num_envs)))
                if isinstance(event, Reset) and event.seeds is not None
                else event
                for event in script.events
            )
            if self._try(replace(script, events=events)):
                return


def _constant(action: Array, step: int) -> Array:
    return action


def row(path: Path) -> int:
    """Returns the environment that a path names, 0 if it names none."""
    numbers = [each for each in path[1:] if isinstance(each, int)]
    return numbers[0] if numbers else 0


def _without(events: Sequence[Event], at: int, size: int) -> tuple[Event, ...]:
    return (*events[:at], *events[at + size :])


def _with_actions(
    script: Script, choose: Callable[[int], Array], start: int = 0, stop: int = 1 << 60
) -> Script:
    """Returns a script with other actions in some events."""

    def change(at: int, event: Event) -> Event:
        if isinstance(event, Reset) or not start <= at < stop:
            return event
        return Step(np.broadcast_to(choose(at), event.actions.shape).astype(event.actions.dtype))

    events = tuple(change(at, event) for at, event in enumerate(script.events))
    return replace(script, events=events)


def _same_actions(one: Script, other: Script) -> bool:
    pairs = zip(one.events, other.events, strict=True)
    return all(
        isinstance(a, Reset) or np.array_equal(a.actions, b.actions)  # type: ignore[union-attr]
        for a, b in pairs
    )
