"""Copies and pickles are refused in every API, or are new games, and do nothing to the original."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from tests.contract.api_cases import CASES, Case
from tests.contract.small_envs import Gate
from tests.contract.test_refused_calls import compare, made
from tests.support.forked import in_child

NAME = operator.attrgetter("name")
# as PettingZoo's
GAMES = [case for case in CASES if case.kind.copies_are_new]
COPIES: tuple[Callable[[Any], Any], ...] = (
    copy.copy,
    copy.deepcopy,
    lambda env: pickle.loads(pickle.dumps(env)),
)


@pytest.mark.quick(1, sanitizers=9)
@pytest.mark.parametrize("case", [case for case in CASES if case not in GAMES], ids=NAME)
def test_copies_and_pickles_are_refused(case: Case, tmp_path: Path) -> None:
    """A copy would be an alias that closes the original; a forked child gets the same error."""
    with made(case, tmp_path) as (env, twin, _):

        def refused() -> None:
            for copied in COPIES:
                with pytest.raises(TypeError, match=r"holds .* and cannot be pickled or copied"):
                    copied(env.unwrapped if isinstance(env, gymnasium.Wrapper) else env)
            gc.collect()

        refused()
        compare(case.kind.play(env), case.kind.play(twin), "after copies")
        in_child(refused)
        compare(case.kind.play(env), case.kind.play(twin), "after the child")


@pytest.mark.quick(2, sanitizers=True)
@pytest.mark.parametrize("case", GAMES, ids=NAME)
def test_copies_and_pickles_of_games_are_new(case: Case, tmp_path: Path) -> None:
    """They begin like any other game, in a forked child too, and do nothing to the original."""
    with made(case, tmp_path) as (env, twin, _):

        def played() -> None:
            for copied in COPIES[1:]:
                games = copied(env), case.make(Gate(tmp_path))
                compare(*map(case.kind.start, games), "start of a copy")
                compare(*map(case.kind.play, games), "a copy")
                for game in games:
                    game.close()

        played()
        gc.collect()
        compare(case.kind.play(env), case.kind.play(twin), "after copies")
        in_child(played)
        compare(case.kind.play(env), case.kind.play(twin), "after the child")
