"""The contract of every API holds for environments on a cluster: the same checks, on a few cases.

Calls beside another thread and Ctrl-C are missing: the checks hold them in the engine, which runs
in the workers here. `test_cluster_faults.py` has Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from parallel_pool.cluster import ClusterVectorEnv
from parallel_pool.compat.sb3 import ClusterVecEnv
from tests.contract import (
    test_autoreset,
    test_copies,
    test_refused_calls,
    test_reset_masks,
    test_results,
)
from tests.contract.api_cases import CARTPOLE_STEPS, CARTPOLES, WALKERS, Case
from tests.contract.kinds.vec_env import OfVecEnv
from tests.contract.kinds.vector import Vector
from tests.contract.small_envs import Walker


class OfCluster(Vector):
    """`ClusterVectorEnv`."""

    removes_mask = True


# several workers on a core, as a check makes up to three of these
WORKERS = {"num_workers": 2, "cpus_per_worker": 0.25}
CARTPOLE = ("CartPole-v1", 3)

CASES = [
    Case(
        "ClusterVectorEnv",
        OfCluster(),
        CARTPOLES,
        lambda g, **o: ClusterVectorEnv(
            *CARTPOLE, max_episode_steps=CARTPOLE_STEPS, **WORKERS, **o
        ),
    ),
    Case(
        "ClusterVectorEnv of functions",
        OfCluster(),
        WALKERS,
        lambda g, **o: ClusterVectorEnv(partial(Walker, g), 3, **WORKERS, **o),
    ),
    Case(
        "ClusterVecEnv",
        OfVecEnv(),
        CARTPOLES,
        lambda g, **o: ClusterVecEnv(*CARTPOLE, max_episode_steps=CARTPOLE_STEPS, **WORKERS, **o),
    ),
]
# functions differ in what the environments do, not in the calls
of_each_api = pytest.mark.parametrize("case", CASES[::2], ids=lambda case: case.name)
of_masks = pytest.mark.parametrize(
    "case", [case for case in CASES if case.kind.masked()], ids=lambda case: case.name
)


@of_each_api
@pytest.mark.parametrize(
    "check",
    [
        test_refused_calls.test_wrong_arguments,
        test_refused_calls.test_calls_after_close,
        test_refused_calls.test_calls_in_a_forked_child,
        test_copies.test_copies_and_pickles_are_refused,
        test_results.test_no_later_call_changes_a_result,
        test_results.test_what_is_written_into_a_result_changes_no_later_one,
    ],
    ids=lambda check: check.__name__,
)
def test_calls(check: Callable[..., Any], case: Case, tmp_path: Path, cluster: Any) -> None:
    check(case, tmp_path)


@of_masks
@pytest.mark.parametrize(
    "check",
    [
        test_reset_masks.test_named_environments_begin_an_episode_and_others_go_on,
        test_reset_masks.test_a_reset_without_seed_continues_the_generators,
        test_reset_masks.test_wrong_masks_reset_nothing,
        test_reset_masks.test_the_callers_options,
    ],
    ids=lambda check: check.__name__,
)
def test_masks(check: Callable[..., Any], case: Case, tmp_path: Path, cluster: Any) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize(
    ("case", "mode"),
    [(case, mode) for case in CASES for mode in case.kind.modes],
    ids=lambda value: getattr(value, "name", value),
)
def test_episodes(case: Case, mode: str, tmp_path: Path, cluster: Any) -> None:
    test_autoreset.test_episodes(case, mode, tmp_path)
