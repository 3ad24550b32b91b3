"""Interleaved rounds: samples, ratios and turns, with made-up players on a made-up clock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parallel_pool._bench import rounds
from parallel_pool._bench.rounds import Sample, Spread
from tests.benchmarks.made_up import Made, Watch


def test_ratio_is_the_median_of_each_rounds_ratio() -> None:
    ours = [Sample(s, 1.0, 1.0) for s in (100, 400, 300)]
    theirs = [Sample(s, 1.0, 2.0) for s in (50, 100, 100)]
    assert rounds.ratio(ours, theirs) == Spread(3, 2.5, 3.5)
    # CPU time per step: 2/50 over 1/100, 2/100 over 1/400, 2/100 over 1/300
    assert rounds.ratio(ours, theirs, cpu=True).median == pytest.approx(6)


def test_ratio_refuses_unequal_rounds() -> None:
    with pytest.raises(ValueError, match="shorter"):
        rounds.ratio([Sample(1, 1, 1)] * 2, [Sample(1, 1, 1)])


@pytest.mark.parametrize("seconds", [1e-5, 0.003, 0.4, 7.0])
def test_batches_in_fills_the_time(seconds: float) -> None:
    watch = Watch()
    wanted = max(1, round(0.5 / seconds))
    assert rounds.batches_in(Made(watch, seconds), 0.5, watch) == pytest.approx(wanted, rel=1e-9)


def test_interleave_lets_all_players_play_in_turn() -> None:
    watch, order = Watch(), []

    class Noted(Made):
        def play(self, batches: int) -> int:
            order.append(self.seconds)
            return super().play(batches)

    players = {"a": Noted(watch, 0.01), "b": Noted(watch, 0.02), "c": Noted(watch, 0.04)}
    ticks: list[None] = []
    samples = rounds.interleave(players, 3, 0.1, clock=watch, tick=lambda: ticks.append(None))
    # after the calibration of all players, each round starts with another player
    assert order[-9:] == [0.01, 0.02, 0.04, 0.02, 0.04, 0.01, 0.04, 0.01, 0.02]
    assert len(ticks) == 9
    assert {name: len(each) for name, each in samples.items()} == {"a": 3, "b": 3, "c": 3}
    assert [sample.rate for sample in samples["b"]] == pytest.approx([500] * 3)
    assert [sample.cpu_us for sample in samples["b"]] == pytest.approx([4000] * 3)


def test_a_round_of_several_turns_is_their_sum() -> None:
    watch, order = Watch(), []

    class Noted(Made):
        def play(self, batches: int) -> int:
            order.append((self.seconds, batches))
            return super().play(batches)

    players = {"a": Noted(watch, 0.01), "b": Noted(watch, 0.02)}
    ticks: list[None] = []
    samples = rounds.interleave(
        players, 2, 0.6, turns=3, clock=watch, tick=lambda: ticks.append(None)
    )
    # 0.2 s each; the first player changes in each turn, across rounds too
    a, b = (0.01, 20), (0.02, 10)
    assert order[-12:] == [a, b, b, a, a, b, b, a, a, b, b, a]
    assert len(ticks) == 4
    assert [(sample.steps, round(sample.seconds, 9)) for sample in samples["a"]] == [(600, 0.6)] * 2
    assert [(sample.steps, round(sample.seconds, 9)) for sample in samples["b"]] == [(300, 0.6)] * 2


class Failing(Made):
    """A player that fails in one of its plays."""

    fails_at = 0

    def play(self, batches: int) -> int:
        self.fails_at -= 1
        if self.fails_at < 0:
            raise OSError("it is gone")
        return super().play(batches)


@pytest.mark.parametrize("plays", [0, 1, 2, 7])
def test_a_player_that_fails_leaves_the_race(plays: int) -> None:
    """In its calibration, or in one of its turns."""
    watch = Watch()
    failing = Failing(watch, 0.01)
    players = {"a": Made(watch, 0.01), "b": failing, "c": Made(watch, 0.02)}
    lost: list[tuple[str, str]] = []
    failing.fails_at = plays
    samples = rounds.interleave(
        players, 3, 0.1, turns=2, clock=watch, lost=lambda name, why: lost.append((name, str(why)))
    )
    assert lost == [("b", "it is gone")]
    assert {name: len(each) for name, each in samples.items()} == {"a": 3, "c": 3}
    assert [sample.rate for sample in samples["c"]] == pytest.approx([500] * 3)
    failing.fails_at = plays
    with pytest.raises(OSError, match="it is gone"):
        rounds.interleave(players, 3, 0.1, turns=2, clock=watch)


def test_a_race_that_all_players_left_has_no_samples() -> None:
    watch = Watch()
    lost: list[str] = []
    players = {"a": Failing(watch, 1), "b": Failing(watch, 1)}
    found = rounds.interleave(players, 9, 1, clock=watch, lost=lambda name, why: lost.append(name))
    assert (found, lost) == ({}, ["a", "b"])


def test_a_race_may_end_early_but_has_a_round() -> None:
    watch = Watch()
    players = {"a": Made(watch, 0.1), "b": Made(watch, 0.1)}
    ends = iter([False, True])
    samples = rounds.interleave(players, 9, 1, clock=watch, is_over=lambda: next(ends))
    assert {len(each) for each in samples.values()} == {2}
    samples = rounds.interleave(players, 9, 1, clock=watch, is_over=lambda: True)
    assert {len(each) for each in samples.values()} == {1}


def test_cpu_time_of_children_counts(tmp_path: Path) -> None:
    watch = Watch()
    rounds.timed(Made(watch, 1.0, children=(4, 5)), 1, watch)
    assert watch.calls == [(4, 5), (4, 5)]


def test_the_real_clock_sees_this_process_as_its_own_child() -> None:

    clock = rounds.Clock()
    alone, twice = clock.cpu(()), clock.cpu((os.getpid(),))
    assert twice >= 2 * alone - 0.02 > 0
