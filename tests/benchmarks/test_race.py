"""One scene: the settings of rivals, the rows, the bars and the notes of its outcome."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest

from benchmarks.scenes import python_rivals, python_scenes
from parallel_pool._bench import race, rivals
from parallel_pool._bench.contender import Task
from parallel_pool._bench.outcome import Row
from parallel_pool._bench.rounds import Spread
from tests.benchmarks.made_up import TASK, Made, Watch, field_of


def test_bars_are_against_the_best_setting_of_a_rival() -> None:
    watch = Watch()
    scene, made = field_of(watch)
    ticks: list[str] = []
    outcome = race.run(
        scene, ("envpool", "ale"), race.Effort(rounds=5), clock=watch, tick=ticks.append
    )

    assert [(row.who, row.role, row.setting) for row in outcome.rows] == [
        ("quick", "ours", "2 threads, batch 8"),
        ("slow", "ours", "2 threads, batch 8"),
        ("rival", "same", "2 threads, batch 8"),
        ("rival", "best", "1 thread, batch 4"),
        ("other", "only", "8 envs"),
    ]
    ratios = [{n: round(r.median, 6) for n, r in row.ratios.items()} for row in outcome.rows]
    assert ratios == [
        {},
        {},
        {"quick": 10, "slow": 5},
        {"quick": 3, "slow": 1.5},
        {"quick": 4, "slow": 2},
    ]
    # the slower of ours against the better of theirs
    assert [round(bar.reached or 0, 6) for bar in outcome.bars] == [1.5, 2]
    assert all(len(row.samples) == 5 for row in outcome.rows)
    assert all(player.closed for player in made)
    # nine settings tried, then five players
    assert len(made) == 14
    assert len(ticks) == race.ticks_of(scene, scene.rivals, race.Effort(rounds=5)) == 9 + 5 * 6


def test_a_rival_whose_best_setting_is_ours_has_one_row() -> None:
    watch = Watch()
    scene, _ = field_of(watch)
    scene = replace(scene, task=replace(TASK, num_threads=1, batch_size=4))
    outcome = race.run(scene, ("envpool",), race.SHORT, clock=watch)
    assert [(row.who, row.role) for row in outcome.rows[2:]] == [("rival", "same = best")]


def test_a_rival_that_takes_whole_batches_alone_is_tried_with_these() -> None:
    scene, _ = field_of(Watch())
    rival = replace(scene.rivals[0], parts=1)
    tried = race.settings_of(rival, TASK, race.Effort())
    assert [(task.num_threads, task.batch_size) for task in tried] == [(1, 8), (2, 8), (3, 8)]


def test_rivals_not_chosen_or_not_installed_are_not_measured() -> None:
    watch = Watch()
    scene, _ = field_of(watch)
    absent = replace(scene.rivals[0], package="no-such-package")
    scene = replace(scene, rivals=(absent, scene.rivals[1]))
    outcome = race.run(scene, ("envpool",), race.SHORT, clock=watch)
    assert [row.who for row in outcome.rows] == ["quick", "slow"]
    assert [bar.is_met for bar in outcome.bars] == [None, None]
    assert outcome.notes == ["no-such-package is not installed: pip install no-such-package"]


def test_bars_may_be_on_cpu_time() -> None:
    watch = Watch()
    scene, _ = field_of(watch)
    scene = replace(scene, bars={}, cpu_bars={"other": 1.9})
    outcome = race.run(scene, ("ale",), race.SHORT, clock=watch)
    # all of them use two cores, so it equals the ratio of wall time here
    assert [str(bar) for bar in outcome.bars] == ["CPU time vs other >= 1.9x: 2x, met"]


def test_a_scene_may_add_notes() -> None:
    watch = Watch()
    scene, _ = field_of(watch)
    scene = replace(scene, conclude=lambda rows: [f"{len(rows)} rows"])
    assert race.run(scene, (), race.SHORT, clock=watch).notes == ["2 rows"]


def test_a_player_may_have_a_number_of_environments_of_its_own() -> None:
    watch = Watch()
    scene, made = field_of(watch)
    few = replace(scene.rivals[1], num_envs=4)
    scene = replace(scene, task=replace(TASK, batch_size=2), rivals=(few,), bars={})
    outcome = race.run(scene, ("ale",), race.SHORT, clock=watch)
    assert outcome.rows[2].setting == "4 envs"
    assert made[-1].steps == 2
    assert made[-1].played >= 4 * race.WARM_UP // 2


def test_players_are_closed_when_one_fails() -> None:
    watch = Watch()
    scene, made = field_of(watch)

    def fail(task: Task) -> Made:
        raise RuntimeError("no")

    scene = replace(scene, rivals=(replace(scene.rivals[1], make=fail),))
    with pytest.raises(RuntimeError):
        race.run(scene, ("ale",), race.SHORT, clock=watch)
    assert len(made) == 2
    assert all(player.closed for player in made)


def test_a_share_is_of_as_many_loops_as_there_are_workers() -> None:
    watch = Watch()
    scene, _ = field_of(watch)
    scene = replace(scene, bars={}, shares={"other": 0.9})
    # the slower of ours is twice as fast as one loop, so it reaches all of the ceiling
    outcome = race.run(scene, ("ale",), race.SHORT, clock=watch)
    assert [str(bar) for bar in outcome.bars] == ["share of the ceiling, 2 x other, >= 0.9: 1, met"]
    assert race.run(scene, (), race.SHORT, clock=watch).bars[0].reached is None


def test_a_rival_with_other_environments_is_compared_by_its_own_loop() -> None:
    def row(who: str, *rates: float, role: str = "only") -> Row:
        spread = Spread.of(rates)
        return Row(who, "", role, spread, ratios={"ours": spread}, samples=list(rates))

    rows = [
        row("quick", 300, 300, 600, role="ours"),
        row("ours", 150, 150, 300, role="ours"),
        row("loop", 100, 100, 100),
        row("puffer", 200, 50, 200),
        row("its loop", 400, 200, 400),
    ]
    # 1.5, 1.5 and 3 times our loop against 0.5, 0.25 and 0.5 times its own
    assert race.reached_on_own(rows, "puffer", "its loop", "loop") == 6
    assert race.reached_on_own(rows[:-1], "puffer", "its loop", "loop") is None
    assert race.reached_on_own(rows[2:], "puffer", "its loop", "loop") is None
    scene = replace(field_of(Watch())[0], own_loops={"puffer": ("its loop", "loop")})
    bars = [race.bar_of(scene, who, 1.0, rows) for who in ("puffer", "loop")]
    assert [str(bar) for bar in bars] == [
        "vs puffer, each against its own loop, >= 1x: 6x, met",
        "vs loop >= 1x: 100x, met",
    ]


def test_more_workers_than_cores_are_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race.os, "sched_getaffinity", lambda pid: {0, 1})
    task = python_scenes.RACES[-1].task
    found = {}
    for who in (python_rivals.process_pool, *python_scenes.RACES[-1].rivals):
        found[who.name] = race.Entry(who, who.task(task), "only").setting
    assert found == {
        "parallel_pool ProcessPool": "2 workers, batch 8",
        "plain Python loop": "16 envs",
        "plain Python loops, all cores at once": "16 envs",
        "AsyncVectorEnv": "16 workers, batch 16, oversubscribed",
        "SB3 SubprocVecEnv": "16 workers, batch 16, oversubscribed",
        "Tianshou ShmemVectorEnv": "16 workers, batch 8, oversubscribed",
        "PufferLib Multiprocessing, 1 worker": "1 worker, batch 16",
        "PufferLib Multiprocessing": "2 workers, batch 16",
        "PufferLib Multiprocessing, async": "2 workers, batch 8",
    }
    assert race.Entry(rivals.gymnasium_async, TASK, "only").setting.endswith("oversubscribed")


def test_ours_may_be_absent_and_the_others_still_play() -> None:
    watch = Watch()
    scene, made = field_of(watch)
    absent = replace(scene.ours[0], needs="parallel_pool._bench.race:no_such_name")
    elsewhere = replace(scene.rivals[1], folder="no-such-folder")
    scene = replace(scene, ours=(absent,), rivals=(scene.rivals[0], elsewhere))
    outcome = race.run(scene, ("envpool", "ale"), race.SHORT, clock=watch)
    assert {row.who for row in outcome.rows} == {"rival"}
    assert [bar.is_met for bar in outcome.bars] == [None, None]
    assert outcome.notes == [
        f"numpy is not in {sys.prefix}/no-such-folder: make "
        + os.path.relpath(f"{sys.prefix}/no-such-folder", race.ROOT),
        "quick is not measured: no no_such_name in parallel_pool._bench.race",
    ]
    assert not race.is_installed(replace(absent, needs="no_such_module:name"))
    assert race.is_installed(replace(absent, needs="parallel_pool._bench.race:run"))
    assert made
