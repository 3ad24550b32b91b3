"""Tally: what the compared results have shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces

from parallel_pool._engine.buffers import Array
from parallel_pool._prover import archive
from parallel_pool._prover.player import ERROR, PROCESS, Result
from parallel_pool._prover.script import Reset, Script

# components of an observation whose ranges are told apart
MAX_COMPONENTS = 32


@dataclass
class Range:
    """The least and the greatest number seen at one place."""

    low: float = np.inf
    high: float = -np.inf

    def add(self, values: Array) -> None:
        """Counts numbers; NaN are left out."""
        if values.size and not np.isnan(values).all():
            self.low = min(self.low, float(np.nanmin(values)))
            self.high = max(self.high, float(np.nanmax(values)))


@dataclass
class Tally:
    """What was compared.

    Attributes:
        scripts, resets, steps: how many; steps of single environments, up to the first error.
        ends: of episodes, by kind.
        longest: steps of the longest episode.
        errors: results that were an error on both sides.
        error: the last of them, in the reference's words.
        observations: the range of each component.
        rewards: the range of rewards.
        infos: how many results had each key.
        actions: how often each action of a small space was taken, and the range of others.
        options: how many steps were taken with each value of each option.
        modes, limits, policies: how many steps were taken with each.
        pictures: how many were compared.
    """

    scripts: int = 0
    resets: int = 0
    steps: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    longest: int = 0
    errors: int = 0
    error: str = ""
    observations: dict[str, Range] = field(default_factory=dict)
    rewards: Range = field(default_factory=Range)
    infos: Counter[str] = field(default_factory=Counter)
    actions: Counter[int] = field(default_factory=Counter)
    action_ranges: dict[str, Range] = field(default_factory=dict)
    options: dict[str, Counter[str]] = field(default_factory=dict)
    modes: Counter[str] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    policies: Counter[str] = field(default_factory=Counter)
    pictures: int = 0
    _lengths: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    _options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def episodes(self) -> int:
        """Episodes that ended."""
        return sum(self.ends.values())

    def add_script(self, script: Script, options: Mapping[str, Any]) -> None:
        """Counts a script that will be played with these options, defaults included."""
        self.scripts += 1
        self._lengths = np.zeros(script.num_envs, np.int64)
        self._options = options

    def add(self, script: Script, results: list[Result], spaces_: tuple[Any, Any]) -> None:
        """Counts results of events from the first of a script, or of its part, on."""
        space, action_space = spaces_
        failed = [each for each in results if ERROR in each or PROCESS in each]
        # what follows an error was not played
        events = script.events[: len(results) - len(failed)]
        steps = [each for each in events if not isinstance(each, Reset)]
        self.resets += len(events) - len(steps)
        self.steps += script.num_envs * len(steps)
        self._add_settings(script, script.num_envs * len(steps))
        self._add_actions(action_space, [each.actions for each in steps])
        for result in failed:
            self.errors += 1
            self.error = result.get(ERROR) or result[PROCESS]
        for result in results[: len(events)]:
            self._add_result(result, script.case.mode)
        rows = [each["observation"] for each in results if "observation" in each]
        self._add_observations(space, rows)

    def _add_settings(self, script: Script, steps: int) -> None:
        case = script.case
        self.policies[script.policy] += steps
        self.modes[case.mode] += steps
        self.limits["the registration's" if case.limit is None else str(case.limit)] += steps
        for name, value in self._options.items():
            self.options.setdefault(name, Counter())[repr(value)] += steps

    def _add_result(self, result: Result, mode: str) -> None:
        for key in result["info"]:
            if not key.startswith("_"):
                self.infos[key] += 1
        self.pictures += len(result.get("pictures") or ())
        if "reward" not in result:
            self._lengths[:] = 0
            return
        self.rewards.add(result["reward"])
        terminated, truncated = result["terminated"], result["truncated"]
        self._count_lengths(terminated | truncated, mode)
        self.ends["terminated"] += int((terminated & ~truncated).sum())
        self.ends["truncated"] += int((truncated & ~terminated).sum())
        self.ends["both"] += int((terminated & truncated).sum())

    def _count_lengths(self, ended: Array, mode: str) -> None:
        self._lengths += 1
        self.longest = max(self.longest, int(self._lengths.max()))
        # the next step of such an environment is its reset
        self._lengths[ended] = -1 if mode == "next_step" else 0

    def _add_observations(self, space: Any, rows: list[Any]) -> None:
        parts = [[leaf for _, leaf in archive.leaves(space, row)] for row in rows]
        for number, leaves in enumerate(zip(*parts, strict=True)):
            name = f"obs[{number}]" if len(parts[0]) > 1 else "obs"
            stacked = np.concatenate(leaves)
            if stacked.dtype.kind == "U":
                # texts have no range
                continue
            flat = stacked.reshape(len(stacked), -1).astype(np.float64)
            if flat.shape[1] > MAX_COMPONENTS:
                self.observations.setdefault(name, Range()).add(flat)
                continue
            for at in range(flat.shape[1]):
                self.observations.setdefault(f"{name}[{at}]", Range()).add(flat[:, at])

    def _add_actions(self, space: Any, actions: list[Array]) -> None:
        if not actions:
            return
        taken = np.concatenate(actions)
        if isinstance(space, spaces.Discrete):
            values, counts = np.unique(taken, return_counts=True)
            self.actions.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
            return
        flat = taken.reshape(len(taken), -1).astype(np.float64)
        for at in range(min(flat.shape[1], MAX_COMPONENTS)):
            self.action_ranges.setdefault(f"action[{at}]", Range()).add(flat[:, at])
