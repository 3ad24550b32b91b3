"""How episodes follow each other, in every autoreset mode of every API.

Each environment's rows must be those of a model that plays the same episodes alone (`Episodes`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool.errors import StateError
from tests.contract.api_cases import CASES, Case
from tests.contract.episodes import DISABLED, Episodes, Row, Rows, assert_rows
from tests.contract.small_envs import Gate

SEED = 7
# of each environment; the longest episodes have twelve steps and a reset
TURNS = 26
# of all of them together: one that is alone plays more
ALL_TURNS = 52


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Ignores warnings, which some APIs and mpe2 give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Comparison:
    """Plays environments of a case and, beside them, the model of each."""

    def __init__(self, case: Case, mode: str, env: Any) -> None:
        self.case, self.env = case, env
        self.models = [Episodes(case.envs, mode) for _ in range(case.kind.count(env))]
        self.turns = np.zeros(len(self.models), int)
        # first rows that did not come yet: some asynchronous APIs return those of a batch only
        self.firsts: Rows = {}
        # environments of the last result
        self.last: list[int] = []

    def begin(self) -> None:
        self.firsts = {i: model.reset(SEED + i) for i, model in enumerate(self.models)}
        self.compare(self.case.kind.begin(self.env, SEED))

    def play(self) -> None:
        """Compares one result."""
        over = [i for i, model in enumerate(self.models) if model.needs_reset]
        if over:
            self.restart(over)
        self.compare(self.case.kind.turn(self.env, self.last, self.choose))

    def compare(self, rows: Rows) -> None:
        expected = {i: self.firsts.pop(i) if i in self.firsts else self.step(i) for i in rows}
        assert_rows(rows, expected, f"turns {self.turns}")
        self.last = list(rows)

    def step(self, i: int) -> Row:
        """Steps the model of an environment as the environment was."""
        row = self.models[i].step(int(self.choose([i])[0]))
        self.turns[i] += 1
        if self.case.kind.shows_one_flag and row.terminated:
            row = row._replace(truncated=False)
        return row

    def choose(self, ids: Any) -> Any:
        """Returns actions that differ among environments, turns and episodes."""
        numbers = self.turns[list(ids)] * 5 + np.array(list(ids)) * 3
        return (numbers % 7 < 6).astype(np.int64)

    def restart(self, over: list[int]) -> None:
        """Resets environments whose episodes are over; a step is refused and changes nothing."""
        with pytest.raises(StateError):
            self.case.kind.turn(self.env, self.last, self.choose)
        # some asynchronous APIs reset as many as fill a batch, or all
        others = [i for i in range(len(self.models)) if i not in over]
        named = sorted(over + others[: -len(over) % self.case.kind.at_once(self.env)])
        (reset, *_) = self.case.kind.resets().values()
        rows = reset(self.env, named, None)
        expected = {i: self.models[i].reset() for i in named}
        assert_rows({i: rows[i] for i in named}, expected, f"reset after {self.turns}")


CASES_AND_MODES = [(case, mode) for case in CASES for mode in case.kind.modes]
of_modes = pytest.mark.parametrize(
    ("case", "mode"),
    CASES_AND_MODES,
    ids=[f"{case.name}, {mode}" for case, mode in CASES_AND_MODES],
)


@pytest.mark.quick(4, sanitizers=9)
@of_modes
def test_episodes(case: Case, mode: str, tmp_path: Path) -> None:
    with closing(case.make(Gate(tmp_path), **case.kind.modes[mode])) as env:
        comparison = Comparison(case, mode, env)
        comparison.begin()
        while comparison.turns.min() < TURNS or comparison.turns.sum() < ALL_TURNS:
            comparison.play()
        # a reset that must name other environments too ends their episodes early
        cuts_episodes = mode == DISABLED and case.kind.at_once(env) > 1
    ends = [end for model in comparison.models for end in model.ends]
    assert len(ends) >= 2
    if not cuts_episodes:
        # the test must see all that can happen, but not both flags, of which some APIs show one
        assert min(len(model.ends) for model in comparison.models) >= 2
        terminations = set() if case.envs.are_only_truncated else {(True, False)}
        if case.kind.shows_one_flag:
            ends = [(terminated, truncated and not terminated) for terminated, truncated in ends]
        assert set(ends) == {(False, True), *terminations}
