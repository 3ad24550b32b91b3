"""`python -m parallel_pool tune`: what a search makes of runs that fail, and of its time."""

from __future__ import annotations

import time

import pytest

from parallel_pool._tuner.run import Outcome
from parallel_pool._tuner.search import Search
from parallel_pool._tuner.setting import Setting


@pytest.mark.parametrize("failed", [0, 1])
def test_a_failed_run_of_the_script_as_it_is_is_no_gain_of_others(failed: int) -> None:
    """As when a port is taken for a moment: neither run of a round then counts."""
    own: list[float] = []

    def run(setting: Setting) -> Outcome:
        if setting != Setting():
            return Outcome(90.0, "", {}, 0.0)
        own.append(0.0 if len(own) % 2 == failed else 100.0)
        return Outcome(own[-1], "" if own[-1] else "planted", {}, 0.0)

    settings = [Setting(), *(Setting(num_threads=count) for count in (1, 2, 3))]
    found = Search(run, settings, time.monotonic() + 60)
    _, gain = found.best()
    assert gain.median == pytest.approx(0.9) and gain.high == pytest.approx(0.9)
    assert not gain.is_worth_it
