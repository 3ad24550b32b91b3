"""Reports and advice, from records whose shares are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from parallel_pool._tracing.advice import Model, advise, model_of, predict
from parallel_pool._tracing.record import (
    DELIVER,
    INLINE,
    RECV,
    RESET,
    SEND,
    STEP,
    WORK,
    clipped,
    clipped_names,
    written_by_worker,
)
from parallel_pool._tracing.report import Report, Stragglers
from tests.support.made_records import MS, Loop, record, spans


def assert_shares(report: Report, **expected: float) -> None:
    shares = report.shares
    assert sum(shares.values()) == pytest.approx(1)
    assert dict(shares) == pytest.approx({"policy": 0, "environments": 0, "waiting": 0, **expected})


# --------------------------------------------------------------------------------------- shares --


def test_shares_of_a_loop() -> None:
    report = Report(Loop([3, 1], policy_ms=2, num_threads=2).record())
    assert_shares(report, policy=2 / 5, environments=2 / 5, waiting=1 / 5)
    assert report.busy == pytest.approx({"caller": 3 / 5, "thread 2": 1 / 5})
    assert (report.seconds, report.steps, report.batches) == (0.25, 100, 50)


def test_shares_of_worker_processes() -> None:
    report = Report(Loop([3, 1, 1], 2, 3, overhead_ms=1, in_processes=True).record())
    assert_shares(report, policy=2 / 6, environments=5 / 3 / 6, waiting=(4 - 5 / 3) / 6)
    expected = {"worker 0": 3 / 6, "worker 1": 1 / 6, "worker 2": 1 / 6}
    assert report.busy == pytest.approx(expected)


def test_shares_of_a_caller_that_does_what_workers_do() -> None:
    """With num_workers=0 it steps between a send and a receive, and infos belong to the steps."""
    calls = spans((0, 1, RECV, -1, 2), (6, 7, RECV, -1, 2)), spans((1, 2, SEND, -1, 2))
    steps = spans((2, 4, WORK, 0), (4, 5, WORK, 1), (5, 5.5, DELIVER, -1, 2))
    made = record([*calls, steps], 10, num_envs=2, num_threads=1, in_processes=True, is_local=True)
    found = Report(made)
    assert found.shares == pytest.approx({"policy": 0.35, "environments": 0.35, "waiting": 0.3})
    assert found.busy == {"worker 0": pytest.approx(0.35)}


def test_no_more_threads_count_than_there_are_environments() -> None:
    report = Report(Loop([2], policy_ms=2, num_threads=3).record())
    assert_shares(report, policy=1 / 2, environments=1 / 2)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ([("learn", 5, 9)], {"policy": 2, "learn": 4}),
        # a call inside of an interval is not part of it
        ([("learn", 2, 9)], {"policy": 1, "learn": 5}),
        # within each other, of the same name or not, and in any order
        ([("learn", 4, 10), ("loss", 5, 7)], {"policy": 0, "learn": 4, "loss": 2}),
        ([("loss", 5, 7), ("learn", 5, 10)], {"policy": 1, "learn": 3, "loss": 2}),
        ([("learn", 4, 10), ("learn", 5, 7), ("learn", 5, 6)], {"policy": 0, "learn": 6}),
        # of two threads, and overlapping
        ([("learn", 4, 7, 1), ("save", 6, 9, 2)], {"policy": 1, "learn": 2, "save": 3}),
        ([("learn", 4, 7, 1), ("learn", 4, 7, 2)], {"policy": 3, "learn": 3}),
        # names that the report uses itself
        ([("policy", 4, 7)], {"policy": 6}),
        ([("environments", 3, 7)], {"policy": 3, "named environments": 3}),
        ([("waiting", 3, 7)], {"policy": 3, "named waiting": 3}),
        ([("empty", 5, 5)], {"policy": 6, "empty": 0}),
    ],
)
def test_shares_of_named_intervals(named: Any, expected: Mapping[str, float]) -> None:
    """The call takes 4 ms of 10, and the one thread steps for 3 of them."""
    tracks = [spans((0, 4, STEP, -1, 1), (1, 4, WORK, 0))]
    report = Report(record(tracks, 10, named=named, num_envs=1, num_threads=1))
    tenths = {name: value / 10 for name, value in expected.items()}
    assert_shares(report, **tenths, environments=0.3, waiting=0.1)


def test_calls_of_two_threads_at_once_count_once() -> None:
    received = spans((0, 6, RECV, -1, 2), (8, 9, RECV, -1, 2))
    sent = spans((1, 3, SEND, -1, 2), (5, 7, SEND, -1, 2))
    made = record([received, sent], 10, named=[("learn", 2, 8)], batch_size=2, num_envs=4)
    assert_shares(Report(made), policy=0.1, learn=0.1, waiting=0.8)


def test_time_between_merged_calls_is_the_callers() -> None:
    tracks = [spans((0, 4, INLINE, -1, 20, 3), (6, 8, INLINE, -1, 10, 1.5))]
    report = Report(record(tracks, 10))
    assert_shares(report, policy=0.85, environments=0.15)
    assert report.batches == 15
    assert report.busy["caller"] == pytest.approx(0.15)


def test_an_empty_trace_is_policy() -> None:
    for end in (0, 5):
        report = Report(record([], end))
        assert_shares(report, policy=1)
        assert (report.steps, report.batches) == (0, 0)
        assert (report.stragglers, report.env_times) == (None, [])
        assert "No batch was received while the trace ran." in str(report)


def test_what_overlaps_in_a_track_counts_once() -> None:
    """As it may where environments have written over a worker's spans."""
    tracks = [
        spans((0, 8, STEP, -1, 2)),
        spans(),
        spans((1, 5, WORK, 0), (2, 3, WORK, 1), (4, 6, WORK, 0)),
    ]
    report = Report(record(tracks, 10, num_threads=1, in_processes=True))
    assert report.busy == pytest.approx({"worker 0": 0.5})
    assert_shares(report, policy=0.2, environments=0.5, waiting=0.3)


# --------------------------------------------------------------------------------- environments --


def test_times_of_environments() -> None:
    tracks = [
        spans((0, 9, STEP, -1, 2)),
        spans(),
        spans(
            (0, 1, WORK, 1), (1, 6, WORK, 1), (6, 8, WORK, 0), (8, 9, WORK, 0, 4), (9, 9, RESET, 2)
        ),
    ]
    slow, fast = Report(record(tracks, 10, num_envs=3)).env_times
    assert slow == (1, 2, 3.0, 5.0)
    assert fast == (0, 1, 2.0, 2.0)


def test_times_of_one_environment_that_the_caller_steps() -> None:
    tracks = [spans((0, 2, INLINE, -1), (3, 7, INLINE, -1), (8, 9, INLINE, -1, 30, 0.5))]
    (only,) = Report(record(tracks, 10, num_envs=1, num_threads=1)).env_times
    assert only == (0, 2, 3.0, 4.0)


STRAGGLER = Loop([1, 1, 1, 9], policy_ms=1, num_threads=2, in_processes=True, batches=20)


def test_stragglers() -> None:
    """Worker 1 steps environments 2 and 3: it works alone for 8 of 10 ms."""
    assert Report(STRAGGLER.record()).stragglers == Stragglers(20, 20, 8.0, 3, 1.0)
    assert Report(Loop([1, 1, 1, 1], 1, 2, in_processes=True).record()).stragglers is None


def test_a_slow_reset_is_a_straggler() -> None:
    made = STRAGGLER.record()
    made.tracks[3]["kind"][made.tracks[3]["env_id"] == 3] = RESET
    assert Report(made).stragglers == Stragglers(20, 20, 8.0, 3, 1.0)


def test_many_environments_are_no_straggler() -> None:
    made = STRAGGLER.record()
    made.tracks[3]["count"][made.tracks[3]["env_id"] == 3] = 7
    assert Report(made).stragglers is None


def test_a_long_wait_is_several_calls() -> None:
    """The engine returns to Python every 50 ms, and the call goes on."""
    calls = spans((0, 50, STEP, -1, 0), (50.1, 100, RECV, -1, 0), (100.2, 120, RECV, -1, 2))
    works = spans((0, 10, WORK, 0)), spans((0, 118, WORK, 1))
    found = Report(record([calls, spans(), *works], 130, in_processes=True)).stragglers
    assert found == Stragglers(1, 1, 108.0, 1, 1.0)
    # a receive whose timeout has passed, and much later another one
    calls = spans((0, 1, RECV, -1, 0), (100, 120, RECV, -1, 2))
    found = Report(record([calls, spans(), *works], 130, in_processes=True)).stragglers
    assert found == Stragglers(1, 1, 18.0, 1, 1.0)


def test_batches_of_fewer_rows_are_batches() -> None:
    """As those of a step of some of the environments."""
    made = STRAGGLER.record()
    made.tracks[0]["count"] = 1
    report = Report(made)
    assert (report.batches, report.steps) == (20, 20)
    assert "stragglers: 100% of batches waited 8 ms for one environment" in str(report)


@pytest.mark.parametrize(("batches", "is_shown"), [(20, True), (21, False)])
def test_rare_stragglers_are_not_shown(batches: int, is_shown: bool) -> None:
    """Only the first batch waits, by 3 ms of 4."""
    ends = [(10 * i, 10 * i + (1 if i else 4)) for i in range(batches)]
    calls = spans(*[(start, end, STEP, -1, 2) for start, end in ends])
    fast = spans(*[(start, start + 1, WORK, 0) for start, _ in ends])
    slow = spans(*[(start, end, WORK, 1) for start, end in ends])
    made = record([calls, spans(), fast, slow], 10 * batches, in_processes=True)
    expected = Stragglers(1, batches, 3.0, 1, 1.0) if is_shown else None
    assert Report(made).stragglers == expected


# -------------------------------------------------------------------------------------- showing --


def test_a_report_on_one_screen() -> None:
    made = STRAGGLER.record()
    made.lost, made.is_cut = 1234, True
    assert str(Report(made)).splitlines() == [
        "4 x Made-v0, 2 workers: 0.22 s, 20 batches, 364 steps/s",
        "",
        "  policy            9.1%  ####",
        "  environments     54.5%  ######################",
        "  waiting          36.4%  ###############",
        "",
        "  busy: worker 0 18%, worker 1 91%",
        "  slowest environments: 3: 9 ms (at most 9), 0: 1 ms (at most 1), 1: 1 ms (at most 1),"
        " 2: 1 ms (at most 1)",
        "  stragglers: 100% of batches waited 8 ms for one environment, 100% of them for"
        " environment 3",
        "  1,234 spans found no room, so shares are too low",
        "  only the first part of the trace: raise max_spans (profile: --max-spans)",
        "",
        str(advise(Report(made))),
    ]


def test_many_threads_are_a_range() -> None:
    report = Report(Loop([2, *[1] * 8], 0, 9, in_processes=True).record())
    assert "busy: 9 of them, from 50% to 100%, median 50%" in str(report)


def test_asynchronous_batches_are_named() -> None:
    made = record([spans((0, 1, RECV, -1, 2))], 2, num_envs=4, batch_size=2, num_threads=1)
    assert "4 x Made-v0, batches of 2, 1 thread: 0.002 s, 1 batches" in str(Report(made))


# --------------------------------------------------------------------------------------- advice --


def advice(loop: Loop) -> tuple[str, dict[str, int], float]:
    found = advise(Report(loop.record()))
    assert str(found) == found.text
    return found.text, dict(found.change), found.gain


def test_advice_for_a_slow_policy() -> None:
    text, change, gain = advice(Loop([1, 1], policy_ms=9, num_threads=2))
    assert text == (
        "The caller's own code takes 90%: environments are not the bottleneck (without them it is"
        " at most 1.11 times as fast)."
    )
    assert (change, gain) == ({}, 1.0)


def test_advice_for_more_threads() -> None:
    loop = Loop([1] * 16, policy_ms=4, num_threads=1, cores=4)
    text, change, gain = advice(loop)
    assert change == {"num_threads": 4}
    # 20 ms become 8
    assert gain == pytest.approx(2.5)
    assert text == "num_threads=4, one for each core, is expected to be 2.50 times as fast."


def test_advice_for_more_workers() -> None:
    loop = Loop([1] * 16, policy_ms=4, num_threads=1, cores=4, in_processes=True)
    _, change, gain = advice(loop)
    assert (change, gain) == ({"num_workers": 4}, pytest.approx(2.5))


def test_advice_for_a_pool_whose_caller_steps() -> None:
    """Waking workers costs time, so two of them must be worth that."""
    setting = {"num_envs": 2, "num_threads": 1, "in_processes": True, "is_local": True}
    for length, expected in ((1.0, {"num_workers": 2}), (0.1, {})):
        starts = np.arange(50) * (2 * length + 1)
        calls = [(at + 2 * length, at + 2 * length + 0.01, RECV, -1, 2) for at in starts]
        steps = [
            (at + i * length, at + (i + 1) * length, WORK, i) for at in starts for i in range(2)
        ]
        made = record([spans(*calls), spans(), spans(*steps)], 50 * (2 * length + 1), **setting)
        assert Report(made).advice.change == expected


def test_advice_for_no_worker_processes() -> None:
    """Cheap steps are not worth waking workers for, which the trace shows as waiting."""
    text, change, gain = advice(Loop([0.01] * 4, 0.1, 2, overhead_ms=0.1, in_processes=True))
    assert change == {"num_workers": 0}
    # 0.22 ms become 0.14
    assert gain == pytest.approx(0.22 / 0.14)
    assert text == (
        "num_workers=0, where your own process steps, is expected to be 1.57 times as fast, but"
        " isolates nothing."
    )


def test_advice_for_smaller_batches() -> None:
    loop = Loop([20, *[1] * 7], policy_ms=5, num_threads=8, in_processes=True)
    text, change, gain = advice(loop)
    (size,) = change.values()
    assert list(change) == ["batch_size"] and size in (1, 2, 4, 6)
    # the others need not wait for the slow one
    assert gain > 1.5
    assert text.startswith(f"batch_size={size} of 8 is expected to be {gain:.2f} times as fast:")


def test_advice_for_threads_that_share_cores() -> None:
    loop = Loop([1] * 8, policy_ms=1, num_threads=8, cores=2, cpu_seconds=0.2)
    assert advice(loop)[:2] == (
        "8 threads share 2 cores: num_threads=2 would do.",
        {"num_threads": 2},
    )
    # threads that sleep share nothing, and neither do processes, which have their own times
    for each in (
        Loop([1] * 8, 1, 8, cores=2, cpu_seconds=0.02),
        Loop([1] * 8, 1, 8, cores=2, cpu_seconds=0.2, in_processes=True),
    ):
        assert "share" not in advice(each)[0]


@pytest.mark.parametrize(("waited", "taken"), [(0.06, 0.15), (0.06, 0.01), (0.005, 0.15)])
def test_advice_for_workers_that_wait_for_cores(waited: float, taken: float) -> None:
    """Threads of the caller's own process are only named if they take cores that workers want."""
    loop = Loop([1] * 4, policy_ms=1, num_threads=2, in_processes=True, cores=2)
    made = replace(loop.record(), core_waits=(0.001, waited), other_cpu_seconds=taken)
    report = Report(made)
    assert report.core_waits == pytest.approx({"worker 0": 0.001 / 0.15, "worker 1": waited / 0.15})
    is_named = waited > 0.01 and taken > 0.05
    line = "  waiting for a core: worker 0 1%, worker 1 40%"
    assert (line in str(report).splitlines()) == (waited > 0.01)
    assert ("OMP_WAIT_POLICY=PASSIVE" in report.advice.text) == is_named
    if is_named:
        assert report.advice.text == (
            "A worker waits for a core 40% of the time, while other threads of this process keep 1"
            " cores busy. Threads of PyTorch or OpenMP do so even if they only wait: start Python"
            " with OMP_WAIT_POLICY=PASSIVE in its environment, or call torch.set_num_threads(1);"
            " the loop is expected to be up to 1.67 times as fast."
        )
        assert report.advice.gain == pytest.approx(1 / 0.6)
        assert not report.advice.change


@pytest.mark.parametrize(
    ("cpu", "waited", "change"),
    [
        # of 16 s in which two workers stepped eight environments
        ([0.1, 0.1], [0.0, 0.0], {"num_workers": 8}),
        # they ran, or would have
        ([8.0, 8.0], [0.0, 0.0], {}),
        ([0.1, 0.1], [7.0, 7.0], {}),
        # the system does not say
        ([], [], {}),
    ],
)
def test_advice_for_environments_that_wait(
    cpu: list[float], waited: list[float], change: dict[str, int]
) -> None:
    """More workers than cores help those that need no core."""
    loop = Loop([100] * 8, policy_ms=0, num_threads=2, cores=2, in_processes=True, batches=20)
    found = Report(replace(loop.record(), worker_cpu=cpu, core_waits=waited)).advice
    assert found.change == change
    if change:
        assert found.gain == pytest.approx(4.0)
        assert str(found).startswith("Environments wait for 99% of their steps, for another proc")
        assert "num_workers=8, a process for each, is expected to be 4.00 times" in str(found)


def test_advice_for_environments_that_wait_and_compute() -> None:
    """All cores together bound what more workers gain."""
    loop = Loop([100] * 8, policy_ms=0, num_threads=2, cores=2, in_processes=True, batches=20)
    # 0.32 s of each batch's 0.8 s of steps, on two cores
    found = Report(replace(loop.record(), worker_cpu=[3.2, 3.2], core_waits=[0.0, 0.0])).advice
    assert found.gain == pytest.approx(2.5)


def test_advice_for_fewer_threads() -> None:
    text, change, _ = advice(Loop([0.01] * 8, policy_ms=1, num_threads=8, overhead_ms=9))
    assert change == {"num_threads": 1}
    assert text == "1 thread would do: 8 are expected to be at most 2% faster."
    text, change, gain = advice(Loop([0.1] * 8, 1, 8, overhead_ms=9))
    assert (change, text[:18]) == ({"num_threads": 3}, "3 threads would do")
    assert gain >= 0.98


def test_advice_for_slow_environments() -> None:
    for loop in (Loop([2] * 4, 0.01, 2, cores=2), Loop([2] * 4, 0.01, 4, in_processes=True)):
        unit = "worker" if loop.in_processes else "thread"
        text, change, _ = advice(loop)
        assert change == {}
        assert text.startswith("The environments themselves take")
        assert f"with all {unit}s busy: only more cores or cheaper environments" in text


def test_advice_for_one_environment() -> None:
    tracks = [spans(*[(5 * i, 5 * i + 4, INLINE, -1) for i in range(50)])]
    made = record(tracks, 250, num_envs=1, num_threads=1, cores=4)
    assert advise(Report(made)).text == (
        "The one environment takes 80%: several of them could be stepped at once, on 4 cores."
    )


def test_advice_where_nothing_helps() -> None:
    text, change, _ = advice(Loop([0.5] * 4, policy_ms=0.1, num_threads=2, overhead_ms=3, cores=2))
    assert text == "No other setting of this pool is expected to be faster by 5 % or more."
    assert change == {}


def test_advice_for_cheap_steps() -> None:
    expected = (
        "Steps are too short to be worth more threads: 50% of the time is in calls; more"
        " environments in each call would make each cheaper."
    )
    merged = [spans((0, 5, STEP, -1, 8)), spans(), spans((0, 5, WORK, 0, 8))]
    assert advise(Report(record(merged, 10, num_envs=8))).text == expected
    # spans of no length, as of a worker that environments have written over
    nothing = [spans((0, 5, STEP, -1, 2)), spans(), spans((1, 1, WORK, 0), (1, 1, WORK, 1))]
    assert advise(Report(record(nothing, 10))).text == expected


def test_advice_for_asynchronous_batches_changes_nothing() -> None:
    made = Loop([20, *[1] * 7], 5, 8, in_processes=True).record()
    made.setting = replace(made.setting, batch_size=4)
    assert advise(Report(made)).change == {}


@pytest.mark.parametrize(
    "loop",
    [
        Loop([2, 2, 2, 2], policy_ms=2, num_threads=2),
        Loop([1, 2, 3, 4], policy_ms=2, num_threads=2, overhead_ms=5),
        Loop([1, 2, 3, 4], policy_ms=2, num_threads=3, overhead_ms=1, in_processes=True),
    ],
)
def test_the_prediction_for_the_settings_as_they_are_is_what_was_measured(loop: Loop) -> None:
    report = Report(loop.record())
    model = model_of(report)
    assert model is not None
    found = predict(model, loop.num_threads, len(loop.step_ms))
    assert found * loop.batches == pytest.approx(report.seconds)


@pytest.mark.parametrize("in_processes", [False, True])
@pytest.mark.parametrize("num_threads", [1, 2, 5])
@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_a_prediction_is_between_the_best_and_the_worst_case(
    in_processes: bool, num_threads: int, batch_size: int
) -> None:
    lengths = np.random.default_rng(0).uniform(0.5, 2.0, (8, 50))
    model = Model(lengths, 0.25, 0.0, num_threads, in_processes)
    found = predict(model, num_threads, batch_size)
    between = 0.25 * 8 / batch_size
    assert max(between, lengths.mean() * 8 / (num_threads + 1)) < found
    assert found < 2.0 * 8 + between


# --------------------------------------------------------------------------------------- records --


def test_spans_outside_of_the_trace_are_dropped() -> None:
    made = spans(
        *((0, 3, WORK, 0), (1, 3, WORK, 1), (4, 9, INLINE, 2, 5, 4), (9, 9, WORK, 3)),
        *((5, 4, WORK, 4), (6, 7, WORK, 5, -1), (6, 7, WORK, 6, 1, -1)),
    )
    kept = clipped(made, 1 * MS, 6 * MS + 1)
    assert kept["env_id"].tolist() == [1, 2, 6]
    assert (kept["end"] <= 6 * MS + 1).all()
    # the time between calls is no longer than all of them
    assert kept["gaps"].tolist() == [0, 2 * MS + 1, 0]
    assert made["end"][2] == 9 * MS


def test_what_no_worker_records_is_dropped() -> None:
    made = spans(
        *((0, 1, WORK, 0), (1, 2, WORK, 9), (2, 3, WORK, -2), (3, 4, STEP, 0), (4, 5, 77, 0)),
        *((5, 6, WORK, 0, 5), (6, 7, WORK, 0, 1, 0.1), (7, 9, RESET, 1), (8, 10, WORK, 0)),
        *((10, 10, DELIVER, -1, 4), (10, 11, WORK, 3)),
    )
    kept = written_by_worker(made, 4)
    assert kept["start"].tolist() == [0, 7 * MS, 10 * MS, 10 * MS]
    assert len(written_by_worker(spans(), 4)) == 0


def test_named_intervals_end_with_the_trace() -> None:
    named = record([], 10, named=[("a", 0, 2), ("b", 1, 4), ("c", 3, 9), ("d", 6, 8)]).named
    found = [
        (name, start / MS, end / MS) for name, start, end, _ in clipped_names(named, 2 * MS, 6 * MS)
    ]
    assert found == [("b", 2, 4), ("c", 3, 6)]
