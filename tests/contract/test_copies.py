"""Copies and pickles are refused in every API, or are new games, and do nothing to the original."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from tests.contract.api_cases import CASES, Case, of_each
from tests.contract.small_envs import Gate
from tests.contract.test_refused_calls import assert_fine_in_child, compare, made

# as PettingZoo's
GAMES = [case for case in CASES if case.kind.copies_are_new]
COPIES: tuple[Callable[[Any], Any], ...] = (
    copy.copy,
    copy.deepcopy,
    lambda env: pickle.loads(pickle.dumps(env)),
)


@pytest.mark.quick(1, sanitizers=9)
@of_each(case for case in CASES if case not in GAMES)
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
        assert_fine_in_child(refused)
        compare(case.kind.play(env), case.kind.play(twin), "after the child")


@pytest.mark.quick(2, sanitizers=True)
@of_each(GAMES)
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
            # PettingZoo's wrappers are objects like others, whose shallow copies share the game;
            # the game itself is new
            same = copy.copy(env.unwrapped), case.make(Gate(tmp_path)).unwrapped
            seen = []
            for game in same:
                game.reset(seed=7)
                seen.append(tuple(game.pool.observe()))
                game.close()
            compare(seen[0], seen[1], "a shallow copy")

        played()
        gc.collect()
        compare(case.kind.play(env), case.kind.play(twin), "after copies")
        assert_fine_in_child(played)
        compare(case.kind.play(env), case.kind.play(twin), "after the child")
