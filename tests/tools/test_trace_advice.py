"""Advice of a trace: what it says of pools of which only a part was stepped, or which can't have
any number of workers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import pytest

from parallel_pool import ProcessPool
from parallel_pool._engine import overrides
from parallel_pool._tracing.advice import advise
from parallel_pool._tracing.record import WORK
from parallel_pool._tracing.report import Report
from parallel_pool._workers import pool_plan
from tests.support.made_records import Loop, record, spans


def test_environments_that_were_not_stepped_are_no_short_steps() -> None:
    """As those of leases that nobody has taken; the others take 100 ms a step."""
    loop = Loop([100] * 4, policy_ms=1, num_threads=2, in_processes=True, batches=20).record()
    tracks = list(loop.tracks)
    for i, track in enumerate(tracks):
        tracks[i] = track[track["env_id"] != 3]
    loop.tracks = tracks
    assert advise(Report(loop)).text == (
        "Only 3 of 4 environments were stepped while the trace ran, so nothing is predicted: step"
        " all of them meanwhile."
    )


def test_steps_in_one_call_are_short() -> None:
    works = spans((0, 2, WORK, 0, 7), (2, 3, WORK, 7))
    made = record([spans((0, 5, 0, -1, 8)), spans(), works], 10, num_envs=8)
    assert advise(Report(made)).text.startswith("Steps are too short to be worth more threads")


def advised(loop: Loop, choices: Sequence[int] | None) -> dict[str, int]:
    """Returns what to change of a pool that could have these numbers of workers instead."""
    made = loop.record()
    made.setting = replace(made.setting, choices=choices)
    return dict(advise(Report(made)).change)


def test_only_numbers_of_workers_that_the_pool_can_have_are_advised() -> None:
    # calls take longer than steps
    calls = Loop([0.1] * 8, policy_ms=1, num_threads=8, overhead_ms=9, in_processes=True)
    assert advised(calls, None) == {"num_workers": 0}
    assert advised(calls, range(1, 9)) == {"num_workers": 3}
    assert advised(calls, [5, 8]) == {"num_workers": 5}
    assert advised(calls, []) == {}
    # there are more cores than workers
    steps = Loop([100] * 8, policy_ms=0, num_threads=2, in_processes=True)
    assert advised(steps, None) == {"num_workers": 8}
    assert "num_workers" not in advised(steps, [2])


def test_environments_that_wait_get_no_more_workers_than_the_pool_can_have() -> None:
    loop = Loop([50] * 8, policy_ms=0, num_threads=2, in_processes=True, cores=2).record()
    loop.worker_cpu = [0.1, 0.1]
    assert advise(Report(loop)).change == {"num_workers": 8}
    loop.setting = replace(loop.setting, choices=())
    assert not advise(Report(loop)).change


def make() -> gymnasium.Env[Any, Any]:
    return gymnasium.make("CartPole-v1")


@pytest.mark.parametrize(
    ("options", "choices"),
    [
        ({}, [0, 1, 2, 3]),
        ({"num_workers": 0}, [0, 1, 2, 3]),
        ({"timeout": 60}, [1, 2, 3]),
        ({"start_timeout": 60}, [1, 2, 3]),
        ({"start_method": "fork"}, [1, 2, 3]),
        ({"python": sys.executable}, [1, 2, 3]),
        # an interpreter has whole workers
        ({"python": [None, sys.executable, sys.executable], "num_workers": 3}, [2, 3]),
        ({"python": [None, sys.executable, None], "num_workers": 3}, [3]),
        ({"prepare_resets": True, "episode_seeds": True}, []),
        ({"max_branches": 1, "num_workers": 3}, []),
    ],
)
def test_the_numbers_of_workers_are_those_that_pools_accept(
    options: Mapping[str, Any], choices: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And `tune` makes a pool try no other."""

    def plan(**changes: Any) -> pool_plan.PoolPlan:
        usual = dict.fromkeys(("num_workers", "batch_size", "start_method", "timeout"))
        usual |= dict.fromkeys(("start_timeout", "python", "reset_arguments"))
        usual |= {"autoreset": "next_step", "reward_dtype": "float32", "on_error": "raise"}
        flags = {"max_branches": 0, "episode_seeds": False, "prepare_resets": False}
        given = {**usual, **flags, "may_have_workers": True, **options, **changes}
        return pool_plan.of([make] * 3, **given)

    own = plan()
    assert list(own.choices) == choices
    for count in set(range(4)) - {own.num_workers, *choices}:
        with pytest.raises(ValueError, match=r"worker"):
            plan(num_workers=count)
    monkeypatch.setattr(overrides, "num_workers", 0)
    assert plan().num_workers == (0 if 0 in choices else own.num_workers)


@pytest.mark.parametrize(("may_have_workers", "choices"), [(True, [0, 1, 2]), (False, [])])
def test_a_trace_records_them(
    may_have_workers: bool, choices: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a pool whose own process alone can step, none."""

    class Own(ProcessPool):
        _may_have_workers = may_have_workers

    if not may_have_workers:
        monkeypatch.setattr(overrides, "num_workers", 1)
    with Own([make] * 2, num_workers=0) as pool, pool.trace() as trace:
        pool.reset()
    found = trace.record.setting.choices
    assert pool.num_workers == 0
    assert found is not None and list(found) == choices
