"""Results belong to the caller, in every API: no later call changes them, nor they a later call."""

from __future__ import annotations

import copy
import gc
from pathlib import Path
from typing import Any

import pytest

from tests.contract.api_cases import CASES, Case
from tests.contract.reading import plain
from tests.contract.test_refused_calls import compare, made
from tests.support.same import leaves

pytestmark = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
# calls of `play`: more than an episode of the environments in Python, whose arrays would be reused
CALLS = 6


@pytest.mark.quick(4, sanitizers=9)
def test_no_later_call_changes_a_result(case: Case, tmp_path: Path) -> None:
    with made(case, tmp_path) as (env, _, _):
        kept: list[tuple[Any, Any]] = []
        for _ in range(CALLS):
            result = case.kind.play(env)
            kept.append((result, copy.deepcopy(plain(result))))
        env.close()
        del env
        gc.collect()
        for i, (result, as_it_was) in enumerate(kept):
            compare(result, as_it_was, f"call {i}")


@pytest.mark.quick(4, sanitizers=9)
def test_what_is_written_into_a_result_changes_no_later_one(case: Case, tmp_path: Path) -> None:
    with made(case, tmp_path) as (env, twin, _):
        for i in range(CALLS):
            result = case.kind.play(env)
            compare(result, case.kind.play(twin), f"call {i}")
            for array in leaves(plain(result)):
                if array.flags.writeable and array.dtype.kind in "biuf":
                    array.fill(85)
