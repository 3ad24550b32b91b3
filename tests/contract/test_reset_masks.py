"""A reset of some environments begins their next episodes, and the others go on, in every API.

What the APIs differ in is in their `Kind`: how a reset names environments, whether a mask may name
none, and whether the reset removes the mask from the caller's options.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contract.api_cases import CASES, Case
from tests.contract.episodes import Rows, assert_rows
from tests.contract.reading import plain
from tests.contract.small_envs import Gate
from tests.support.same import assert_same

# more than an episode of the environments in Python
TURNS = 5
SOME = [case for case in CASES if case.kind.resets()]
MASKED = [case for case in CASES if case.kind.masked()]
of_some = pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
of_masks = pytest.mark.parametrize("case", MASKED, ids=lambda case: case.name)


@contextlib.contextmanager
def made(case: Case, folder: Path, count: int) -> Iterator[list[Any]]:
    """Makes equal ones and resets them."""
    with contextlib.ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        envs = [case.make(Gate(folder)) for _ in range(count)]
        for env in envs:
            stack.callback(env.close)
            case.kind.begin(env)
        yield envs


def turn(case: Case, env: Any) -> Rows:
    """Acts for all environments, each with another action than its neighbours."""
    return case.kind.turn(env, range(case.kind.count(env)), lambda ids: np.arange(len(ids)) % 2)


def named(case: Case, env: Any) -> list[int]:
    """Some of the environments, not only the first or last ones, as many as a reset must name."""
    count, at_once = case.kind.count(env), case.kind.at_once(env)
    return list(range(0, count, 2)) if count // 2 >= at_once else list(range(count))


def of(rows: Rows, ids: Any) -> Rows:
    return {i: row for i, row in rows.items() if i in ids}


@pytest.mark.quick(4, sanitizers=9)
@of_some
def test_named_environments_begin_an_episode_and_others_go_on(case: Case, tmp_path: Path) -> None:
    """Named rows are those of a third one that was reset as a whole; others those of the twin."""
    with made(case, tmp_path, 3) as (env, twin, fresh):
        ids = named(case, env)
        others = set(range(case.kind.count(env))) - set(ids)
        for name, reset in case.kind.resets().items():
            before = turn(case, env)
            turn(case, twin)
            expected = case.kind.begin(fresh, seed=40)
            found = reset(env, ids, [40 + i for i in ids])
            assert_rows(of(found, ids), of(expected, ids), name)
            assert set(found) == set(ids) | (others if case.kind.returns_all else set())
            for i in set(found) & others:
                assert_same(found[i].observation, before[i].observation, f"{name}: row {i}")
            for number in range(TURNS):
                rows, where = turn(case, env), f"{name}, turn {number}"
                assert_rows(of(rows, ids), of(turn(case, fresh), ids), where)
                assert_rows(of(rows, others), of(turn(case, twin), others), where)


@pytest.mark.quick(4, sanitizers=9)
@of_some
def test_a_reset_without_seed_continues_the_generators(case: Case, tmp_path: Path) -> None:
    """As a reset of all continues them; those of the others are not touched."""
    with made(case, tmp_path, 2) as (env, twin):
        every, some = list(range(case.kind.count(env))), named(case, env)
        for name, reset in case.kind.resets().items():
            found = reset(env, some, None)
            expected = reset(twin, every, None)
            assert_rows(of(found, some), of(expected, some), name)
            rest = [i for i in every if i not in some]
            # both have begun as many episodes now
            if rest:
                assert_rows(of(reset(env, rest, None), rest), of(expected, rest), name)
            assert_rows(turn(case, env), turn(case, twin), name)


def wrong_masks(case: Case, good: Any) -> dict[str, Any]:
    good = np.asarray(good)
    wrong = {
        "short": good[:-1],
        "long": np.append(good, True),
        "two axes": good[:, None],
        "none at all": np.zeros(0, bool),
        "int8": good.astype(np.int8),
        "float64": good.astype(np.float64),
        "ids": np.flatnonzero(good),
        "text": "reset",
        "number": 1,
        "None": None,
        "list": good.tolist(),
        "no environment": np.zeros_like(good),
    }
    allowed = {"list": case.kind.allows_lists, "no environment": case.kind.allows_empty_mask}
    return {name: mask for name, mask in wrong.items() if not allowed.get(name)}


@pytest.mark.quick(4, sanitizers=9)
@of_masks
def test_wrong_masks_reset_nothing(case: Case, tmp_path: Path) -> None:
    with made(case, tmp_path, 2) as (env, twin):
        good = case.kind.mask(np.arange(case.kind.count(env)) > 0)
        for call, reset in case.kind.masked().items():
            for name, mask in wrong_masks(case, good).items():
                options = {"reset_mask": mask}
                with pytest.raises((TypeError, ValueError)):
                    reset(env, options, None)
                    pytest.fail(f"{call}: not refused: {name}")
                assert list(options) == ["reset_mask"] and options["reset_mask"] is mask
                assert_rows(turn(case, env), turn(case, twin), f"{call}: {name}")


@pytest.mark.quick(4, sanitizers=9)
@of_masks
def test_the_callers_options(case: Case, tmp_path: Path) -> None:
    """A reset changes nothing in them, but for the mask that it removes where Gymnasium does."""
    with made(case, tmp_path, 2) as (env, twin):
        for call, reset in case.kind.masked().items():
            mask, same = (
                case.kind.mask(np.isin(np.arange(case.kind.count(env)), named(case, env)))
                for _ in range(2)
            )
            options = {"reset_mask": mask}
            reset(env, options, None)
            reset(twin, {"reset_mask": same}, None)
            assert_same(plain(mask), plain(same), f"{call}: mask")
            assert ("reset_mask" in options) != case.kind.removes_mask, call
            assert options.get("reset_mask", mask) is mask, call
            # the caller may use its mask again
            mask[:] = True
            assert_rows(turn(case, env), turn(case, twin), call)


@pytest.mark.parametrize(
    "case", [case for case in MASKED if case.kind.allows_empty_mask], ids=lambda case: case.name
)
def test_an_empty_mask_that_is_allowed_resets_nothing(case: Case, tmp_path: Path) -> None:
    with made(case, tmp_path, 2) as (env, twin):
        before = turn(case, env)
        turn(case, twin)
        for name, reset in case.kind.masked().items():
            mask = case.kind.mask(np.zeros(case.kind.count(env), bool))
            found = reset(env, {"reset_mask": mask}, None)
            for i, row in found.items():
                assert_same(row.observation, before[i].observation, f"{name}: row {i}")
            assert_rows(turn(case, env), turn(case, twin), name)
