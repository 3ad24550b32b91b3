"""Advice of a trace: what it says of pools of which only a part was stepped."""

from __future__ import annotations

from parallel_pool._tracing.advice import advise
from parallel_pool._tracing.record import WORK
from parallel_pool._tracing.report import Report
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
