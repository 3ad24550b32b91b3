"""Sides: what plays scripts in this process, in the form that a process of its own has too."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Protocol

from parallel_pool._prover.player import Player, Result
from parallel_pool._prover.script import Case, Event
from parallel_pool._prover.target import Facts, Native, Reference


class Side(Protocol):
    """One of the two that are compared; one case at a time.

    Attributes:
        facts: with the defaults of all options.
        spaces: of an observation and an action of the case that was opened.
    """

    facts: Facts
    spaces: tuple[Any, Any]

    def open(self, case: Case, num_envs: int) -> str:
        """Makes environments in place of those before; returns why it can't, "" if it can."""
        ...

    def begin(self, events: Sequence[Event]) -> None:
        """Begins to play events."""
        ...

    def finish(self) -> list[Result]:
        """Returns the results of what was begun, up to the first error."""
        ...

    def close(self) -> None:
        """Ends it."""
        ...


class Local:
    """A side in this process."""

    def __init__(self, target: Native | Reference) -> None:
        self.facts = target.facts()
        self.spaces = self.facts.observation_space, self.facts.action_space
        self._target = target
        self.player: Player | None = None
        self._events: Sequence[Event] = ()

    def open(self, case: Case, num_envs: int) -> str:
        """As Side.open."""
        self.close()
        try:
            envs = self._target.make(case, num_envs)
            self.player = Player(envs, case)
            self.spaces = envs.single_observation_space, envs.single_action_space
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def begin(self, events: Sequence[Event]) -> None:
        """As Side.begin."""
        self._events = events

    def finish(self) -> list[Result]:
        """As Side.finish."""
        assert self.player is not None
        return play(self.player, self._events)

    def close(self) -> None:
        """As Side.close."""
        player, self.player = self.player, None
        if player is not None:
            with contextlib.suppress(Exception):
                player.close()


def play(player: Player, events: Sequence[Event]) -> list[Result]:
    """Plays events until one raises an error."""
    results: list[Result] = []
    for event in events:
        if player.is_over:
            break
        results.append(player.play(event))
    return results
