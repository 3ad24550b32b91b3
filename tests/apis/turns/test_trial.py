"""What a trial predicts, from traces and policies whose times are known."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from parallel_pool._apis.turns.trial import gain

# of all environments, one after another
ENVS = 8.0


def report(
    policy: float,
    *,
    threads: int = 2,
    cores: int = 2,
    in_processes: bool = False,
    is_local: bool = False,
    worker_cpu: float = 0.0,
    waiting: float = 0.0,
) -> Any:
    """Returns the report of one batch whose environments take ENVS seconds on one thread."""
    plain = policy + ENVS / threads + waiting
    setting = Made(cores=cores, in_processes=in_processes, is_local=is_local)
    return Made(
        record=Made(setting=setting, worker_cpu=[worker_cpu] if in_processes else []),
        seconds=plain,
        batches=1,
        threads=threads,
        busy={"all": ENVS / plain},
        shares={"waiting": waiting / plain},
    )


def gained(made: Any, half: float, cpu: float | None = None) -> float:
    return gain(made, Made(wall=half, cpu=half if cpu is None else cpu), 2)  # type: ignore[arg-type]


def test_balanced_loads_take_the_time_of_one() -> None:
    """A policy of 8 s beside 8 s of environments: 8 + 8 / 2 become 8."""
    assert gained(report(8.0), 4.0) == pytest.approx(12 / 8)


def test_more_cores_hide_the_shorter_of_both() -> None:
    many = report(2.0, threads=4, cores=4)
    # 3 threads do 6 s of the steps during the policy's 2, and all of them the rest
    assert gained(many, 1.0) == pytest.approx((2 + 8 / 4) / (2 + 2 / 4))
    assert gained(report(20.0, threads=4, cores=4), 10.0) == pytest.approx(22 / 20)


def test_a_policy_that_has_all_cores_gains_nothing() -> None:
    assert gained(report(4.0), 2.0, cpu=4.0) == pytest.approx(1.0)


def test_a_policy_that_takes_as_long_for_half_of_the_rows() -> None:
    assert gained(report(8.0), 8.0) == pytest.approx(12 / 16)


def test_calls_cost_what_they_cost_before() -> None:
    assert gained(report(8.0, waiting=2.0), 4.0) == pytest.approx(14 / 10)


def test_environments_that_wait_need_no_core() -> None:
    waits = report(4.0, threads=8, in_processes=True, worker_cpu=0.1)
    assert gained(waits, 2.0) == pytest.approx(5 / 4)
    computes = report(4.0, threads=8, in_processes=True, worker_cpu=ENVS)
    assert gained(computes, 2.0) == pytest.approx(5 / 6)


def test_the_caller_alone_can_do_only_one_thing() -> None:
    assert gained(report(8.0, threads=1), 4.0) == 1.0
    assert gained(report(8.0, in_processes=True, is_local=True), 4.0) == 1.0
