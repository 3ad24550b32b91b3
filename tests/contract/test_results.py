"""Results belong to the caller, in every API: no later call changes them, nor they a later call."""

from __future__ import annotations

import copy
import gc
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool._tracing import opened
from tests.contract.api_cases import CASES, Case, of_each
from tests.contract.reading import plain
from tests.contract.small_envs import Gate
from tests.contract.test_refused_calls import compare, made
from tests.support.same import leaves

pytestmark = of_each(CASES)
# calls of `play`: more than an episode of the environments in Python, whose arrays would be reused
CALLS = 6
# a byte that results rarely have
JUNK = 85


@pytest.mark.quick(4, sanitizers=9)
def test_no_later_call_changes_a_result(case: Case, tmp_path: Path) -> None:
    """Nor does it change after the environments were freed, and others use their memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept, owners = results_of_freed(case, tmp_path)
        assert [owner() for owner in owners] == [None] * len(owners)
        other = case.make(Gate(tmp_path))
        case.kind.start(other, 8)
        for _ in range(CALLS):
            case.kind.play(other)
        other.close()
    for i, (result, as_it_was) in enumerate(kept):
        compare(result, as_it_was, f"result {i}")


def results_of_freed(
    case: Case, folder: Path
) -> tuple[list[tuple[Any, Any]], list[weakref.ref[Any]]]:
    """Returns results with copies that were made at once, and what has returned them, freed."""
    owners: list[weakref.ref[Any]] = []
    kept: list[tuple[Any, Any]] = []

    def keep(result: Any) -> None:
        kept.append((result, copy.deepcopy(plain(result))))

    with pytest.MonkeyPatch.context() as patch:
        # the pools of this process
        patch.setattr(opened, "listeners", [lambda pool: owners.append(weakref.ref(pool))])
        env = case.make(Gate(folder))
    owners.append(weakref.ref(env))
    keep(case.kind.start(env))
    for _ in range(CALLS):
        keep(case.kind.play(env))
    keep(case.kind.start(env, None))
    env.close()
    del env
    gc.collect()
    return kept, owners


@pytest.mark.quick(4, sanitizers=9)
def test_what_is_written_into_a_result_changes_no_later_one(case: Case, tmp_path: Path) -> None:
    with made(case, tmp_path) as (env, twin, _):
        for i in range(CALLS):
            for call in (case.kind.play, case.kind.start) if i == 1 else (case.kind.play,):
                result = call(env)
                compare(result, call(twin), f"call {i}")
                overwrite(result)


def overwrite(result: Any) -> None:
    """Writes into all arrays of a result, which the caller may do."""
    for array in arrays_in(plain(result)):
        assert array.flags.writeable
        array.fill(None if array.dtype == object else JUNK)


def arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yields the arrays in a result; those in an array of objects come before it."""
    for array in leaves(value):
        if array.dtype == object:
            yield from arrays_in(array.tolist())
        yield array
