"""Script: resets and steps that both sides play, and the settings under which they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parallel_pool._engine.buffers import Array

MODES = ("next_step", "same_step", "disabled")


@dataclass(frozen=True)
class Case:
    """The settings of environments.

    Attributes:
        options: of the constructor.
        mode: the autoreset mode.
        limit: steps of an episode; None: those of the registration.
        pictures: whether each result has a picture.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    mode: str = MODES[0]
    limit: int | None = None
    pictures: bool = False

    def __str__(self) -> str:
        parts = [f"{name}={value!r}" for name, value in self.options.items()]
        if self.limit is not None:
            parts.append(f"max_episode_steps={self.limit}")
        return ", ".join([*parts, f"autoreset mode {self.mode}"])


@dataclass(frozen=True)
class Reset:
    """A reset of all environments; seeds is None to go on with their generators."""

    seeds: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Step:
    """A step of all environments; actions has a row for each."""

    actions: Array


Event = Reset | Step


@dataclass(frozen=True)
class Script:
    """What to play.

    Attributes:
        case: the settings.
        num_envs: environments.
        events: the first is a reset with seeds.
        policy: where the actions come from.
    """

    case: Case
    num_envs: int
    events: tuple[Event, ...]
    policy: str = ""

    @property
    def steps(self) -> int:
        """Steps of single environments."""
        return self.num_envs * sum(isinstance(event, Step) for event in self.events)

    def prefix(self, count: int) -> Script:
        """Returns the first events."""
        return replace(self, events=self.events[:count])

    def column(self, at: int) -> Script:
        """Returns what one of the environments does."""
        events = tuple(_column(event, at) for event in self.events)
        return replace(self, num_envs=1, events=events)

    def segments(self) -> list[tuple[tuple[int, ...] | None, list[Array]]]:
        """Returns the seeds of each reset with the actions that follow."""
        found: list[tuple[tuple[int, ...] | None, list[Array]]] = []
        for event in self.events:
            if isinstance(event, Reset):
                found.append((event.seeds, []))
            else:
                found[-1][1].append(event.actions)
        return found


def _column(event: Event, at: int) -> Event:
    if isinstance(event, Step):
        return Step(event.actions[at : at + 1])
    return Reset(None if event.seeds is None else event.seeds[at : at + 1])


def of_segments(
    case: Case,
    segments: Sequence[tuple[tuple[int, ...] | None, Any]],
    policy: str = "",
) -> Script:
    """Makes a script of resets, each with seeds or None and the actions that follow, one array."""
    events: list[Event] = []
    for seeds, actions in segments:
        events.append(Reset(seeds))
        events += [Step(each) for each in actions]
    first = events[0]
    assert isinstance(first, Reset) and first.seeds is not None
    return Script(case, len(first.seeds), tuple(events), policy)


def of_sequence(seed: int, actions: Any, space: Any) -> Script:
    """Makes a script of one environment's seed and actions."""
    rows = [np.asarray(each, space.dtype).reshape(1, *space.shape) for each in actions]
    return of_segments(Case(), [((seed,), rows)], "given")
