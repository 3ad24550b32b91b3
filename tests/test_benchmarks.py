"""The benchmarks' machinery, with made-up players on a made-up clock: nothing here is timed."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import (
    atari_games,
    counting,
    creation,
    engine_overhead,
    idle,
    machine,
    mujoco_bare,
    pinned,
    player_process,
    player_proxy,
    python_envs,
    python_rivals,
    python_scenes,
    race,
    report,
    rivals,
    rounds,
    scenes,
    soak,
    tree,
)
from benchmarks.ledger import Ledger
from benchmarks.outcome import Bar, Outcome, Row, reached
from benchmarks.rivals import Contender, Task
from benchmarks.rounds import Sample, Spread
from parallel_pool import registry


class Watch(rounds.Clock):
    """A clock that goes on only when players say so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.used = 0.0
        self.asked: list[Sequence[int]] = []

    def wall(self) -> float:
        return self.now

    def cpu(self, children: Sequence[int]) -> float:
        self.asked.append(children)
        return self.used


@dataclass
class Made:
    """A player whose batches take a known time."""

    watch: Watch
    seconds: float
    steps: int = 10
    cores: float = 2.0
    children: Sequence[int] = ()
    played: int = 0
    closed: bool = False

    def play(self, batches: int) -> int:
        assert not self.closed
        self.played += batches
        self.watch.now += batches * self.seconds
        self.watch.used += batches * self.seconds * self.cores
        return batches * self.steps

    def close(self) -> None:
        self.closed = True


# -------------------------------------------------------------------------------------- rounds --


def test_a_sample_divides() -> None:
    sample = Sample(steps=1000, seconds=2.0, cpu_seconds=3.0)
    assert sample.rate == 500
    assert sample.cpu_us == 3000


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


def test_interleave_lets_everybody_play_in_turn() -> None:
    watch, order = Watch(), []

    class Noted(Made):
        def play(self, batches: int) -> int:
            order.append(self.seconds)
            return super().play(batches)

    players = {"a": Noted(watch, 0.01), "b": Noted(watch, 0.02), "c": Noted(watch, 0.04)}
    ticks: list[None] = []
    samples = rounds.interleave(players, 3, 0.1, clock=watch, tick=lambda: ticks.append(None))
    # after everybody's calibration, each round starts with another
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
    # 0.2 s each; whoever was first is second in the next turn, and in the next round
    a, b = (0.01, 20), (0.02, 10)
    assert order[-12:] == [a, b, b, a, a, b, b, a, a, b, b, a]
    assert len(ticks) == 4
    assert [(sample.steps, round(sample.seconds, 9)) for sample in samples["a"]] == [(600, 0.6)] * 2
    assert [(sample.steps, round(sample.seconds, 9)) for sample in samples["b"]] == [(300, 0.6)] * 2


def test_cpu_time_of_children_counts(tmp_path: Path) -> None:
    watch = Watch()
    rounds.timed(Made(watch, 1.0, children=(4, 5)), 1, watch)
    assert watch.asked == [(4, 5), (4, 5)]


def test_the_real_clock_sees_this_process_as_its_own_child() -> None:
    import os

    clock = rounds.Clock()
    alone, twice = clock.cpu(()), clock.cpu((os.getpid(),))
    assert twice >= 2 * alone - 0.02 > 0


# ---------------------------------------------------------------------------------------- race --


TASK = Task("CartPole-v1", 8, 8, 2, 2, 500)


def field_of(watch: Watch) -> tuple[scenes.Scene, list[Made]]:
    """A scene of made-up contenders, and every player they made.

    Ours take 1 and 2 ms for a batch of 8; the rival 10 ms, but 6 ms at 1 thread and batches of 4;
    the other rival 4 ms, and it has nothing to set.
    """
    made: list[Made] = []

    def contender(name: str, family: str, seconds: float, tunable: bool = False) -> Contender:
        def make(task: Task) -> Made:
            liked = tunable and (task.num_threads, task.batch_size) == (1, 4)
            made.append(Made(watch, 0.0015 if liked else seconds, steps=task.batch_size))
            return made[-1]

        return Contender(name, family, make, "numpy", tunable)

    scene = scenes.Scene(
        name="made-up",
        title="Made up",
        task=TASK,
        ours=(contender("quick", "ours", 0.001), contender("slow", "ours", 0.002)),
        rivals=(contender("rival", "envpool", 0.01, True), contender("other", "ale", 0.004)),
        bars={"rival": 1.5, "other": 2.5},
    )
    return scene, made


def test_race_finds_the_rivals_best_and_judges_by_it() -> None:
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


def test_a_rival_at_its_best_from_the_start_has_one_row() -> None:
    watch = Watch()
    scene, _ = field_of(watch)
    scene = replace(scene, task=replace(TASK, num_threads=1, batch_size=4))
    outcome = race.run(scene, ("envpool",), race.QUICK, clock=watch)
    assert [(row.who, row.role) for row in outcome.rows[2:]] == [("rival", "same = best")]


def test_rivals_not_asked_for_or_not_installed_are_not_measured() -> None:
    watch = Watch()
    scene, _ = field_of(watch)
    absent = replace(scene.rivals[0], package="no-such-package")
    scene = replace(scene, rivals=(absent, scene.rivals[1]))
    outcome = race.run(scene, ("envpool",), race.QUICK, clock=watch)
    assert [row.who for row in outcome.rows] == ["quick", "slow"]
    assert [bar.is_met for bar in outcome.bars] == [None, None]
    assert outcome.notes == ["no-such-package is not installed: pip install no-such-package"]


def test_bars_may_be_on_cpu_time() -> None:
    watch = Watch()
    scene, _ = field_of(watch)
    scene = replace(scene, bars={}, cpu_bars={"other": 1.9})
    outcome = race.run(scene, ("ale",), race.QUICK, clock=watch)
    # all of them use two cores, so it is the ratio of the clock here
    assert [str(bar) for bar in outcome.bars] == ["CPU time vs other >= 1.9x: 2x, met"]


def test_a_scene_may_draw_conclusions() -> None:
    watch = Watch()
    scene, _ = field_of(watch)
    scene = replace(scene, conclude=lambda rows: [f"{len(rows)} rows"])
    assert race.run(scene, (), race.QUICK, clock=watch).notes == ["2 rows"]


def test_a_player_may_have_a_number_of_environments_of_its_own() -> None:
    watch = Watch()
    scene, made = field_of(watch)
    few = replace(scene.rivals[1], num_envs=4)
    scene = replace(scene, task=replace(TASK, batch_size=2), rivals=(few,), bars={})
    outcome = race.run(scene, ("ale",), race.QUICK, clock=watch)
    assert outcome.rows[2].setting == "4 envs"
    assert made[-1].steps == 2
    assert made[-1].played >= 4 * race.WARM_UP // 2


def pinned_scene(version: str) -> scenes.Scene:
    return replace(field_of(Watch())[0], mujoco=version)


def test_a_scene_of_another_mujoco_needs_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinned.importlib.metadata, "version", lambda name: "3.6.0")
    assert [pinned.is_needed(pinned_scene(v)) for v in ("", "3.6.0", "3.5.0")] == [
        False,
        False,
        True,
    ]


def test_a_mujoco_that_is_not_there_is_named() -> None:
    each = pinned.run(pinned_scene("0.1"), ("envpool",), race.QUICK)
    assert [bar.is_met for bar in each.bars] == [None, None]
    assert "MuJoCo 0.1 is not in" in each.notes[-1]


@pytest.mark.slow
def test_a_pinned_scene_is_measured_in_its_process() -> None:
    scene = next(scene for scene in scenes.RACES if scene.name == "halfcheetah-32-16")
    ticks: list[str] = []
    effort = race.Effort(rounds=1, seconds=0.01, trial=0.01, all_settings=False)
    each = pinned.run(scene, ("bare",), effort, tick=ticks.append)
    assert [row.who for row in each.rows][:2] == [
        "parallel_pool.make",
        mujoco_bare.bare_per_env.name,
    ]
    # EnvPool is one of the family, and not everywhere
    there = [who for who in scene.rivals if who.family == "bare" and race.is_there(who)]
    assert len(each.rows) == len(scene.ours) + len(there)
    assert ticks


def test_players_are_closed_when_one_fails() -> None:
    watch = Watch()
    scene, made = field_of(watch)

    def fail(task: Task) -> Made:
        raise RuntimeError("no")

    scene = replace(scene, rivals=(replace(scene.rivals[1], make=fail),))
    with pytest.raises(RuntimeError):
        race.run(scene, ("ale",), race.QUICK, clock=watch)
    assert len(made) == 2
    assert all(player.closed for player in made)


# -------------------------------------------------------------------------------------- scenes --


def test_scenes_have_names_of_their_own_and_bars_for_those_who_play() -> None:
    assert len({scene.name for scene in scenes.RACES}) == len(scenes.RACES)
    for scene in scenes.RACES:
        assert {*scene.bars, *scene.cpu_bars} <= {who.name for who in scene.rivals}
        assert all(who.family == "ours" for who in scene.ours)


def test_everybody_gets_the_same_actions() -> None:
    ours, theirs = TASK.actions(rivals.np.int64), TASK.actions(rivals.np.int32)
    assert len(ours) == rivals.ROWS
    assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))
    assert {len(row) for row in replace(TASK, batch_size=4).actions(rivals.np.int32)} == {4}


def test_box_actions_are_within_bounds_and_rounded_for_everybody() -> None:
    task = replace(TASK, num_actions=0, action_size=3, action_bound=0.4)
    ours, theirs = task.actions(rivals.np.int64), task.actions(rivals.np.int32, rivals.np.float64)
    assert ours[0].shape == (8, 3)
    assert (ours[0].dtype, theirs[0].dtype) == (rivals.np.float32, rivals.np.float64)
    assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))
    assert 0.39 < max(abs(row).max() for row in theirs) <= rivals.np.float32(0.4)


def test_settings_are_threads_times_batches() -> None:
    found = [(task.num_threads, task.batch_size) for task in TASK.settings()]
    assert found == [(t, b) for t in (1, 2, 3) for b in (8, 4, 2)]
    one = replace(TASK, num_envs=1, batch_size=1)
    assert [(task.num_threads, task.batch_size) for task in one.settings()] == [
        (1, 1),
        (2, 1),
        (3, 1),
    ]


def test_asynchronous_cart_poles_are_compared_with_one_thread() -> None:
    scene = scenes.cart_pole_async(8, 4)
    one = rivals.envpool_face_1_thread
    assert scene.bars == {one.name: 1.3}
    assert one.task(scene.task) == replace(scene.task, num_threads=1)
    with race.playing(one, one.task(scene.task)) as player:
        assert player.play(3) == 12


@pytest.mark.parametrize("scene", scenes.RACES, ids=lambda scene: scene.name)
def test_ours_play_every_scene(scene: scenes.Scene) -> None:
    for who in scene.ours:
        with race.playing(who, scene.task) as player:
            assert player.play(3) == 3 * scene.task.batch_size


@pytest.mark.parametrize(
    "who",
    [rivals.gymnasium_numpy, rivals.gymnasium_sync, rivals.gymnasium_async, rivals.gymnasium_loop],
    ids=lambda who: who.name,
)
def test_gymnasium_plays(who: Contender) -> None:
    task = scenes.cart_pole(2, 1)
    with race.playing(who, task) as player:
        assert len(player.children) == (2 if who is rivals.gymnasium_async else 0)
        # long enough for episodes to end
        assert player.play(60) == 120


@pytest.mark.parametrize("name", scenes.MUJOCO)
@pytest.mark.parametrize("data_per_thread", [False, True])
def test_the_bare_loop_does_the_same_work(name: str, data_per_thread: bool) -> None:
    """Its states are ours bit by bit, through resets and time limits: no step is left out."""
    import numpy as np

    import parallel_pool

    num_envs, limit = 3, 40
    task = replace(scenes.mujoco(name, num_envs, num_envs, 1), max_episode_steps=limit)
    env = parallel_pool.make_vec(
        task.env_id, num_envs, max_episode_steps=limit, vector_kwargs={"num_threads": 1}
    )
    obs, _ = env.reset(seed=1)
    bare = mujoco_bare.Bare(task, data_per_thread=data_per_thread)
    # its resets take the place of a step, and so of a row
    bare.play(1)
    # observations begin with the positions, but for the runner's place
    hidden = 2 if name in ("Ant", "Humanoid") else 1
    ends = 0
    for row in task.actions(np.int64)[1:]:
        obs, _, terminated, truncated, _ = env.step(row)
        bare.play(1)
        ends += int((terminated | truncated).sum())
        for i in range(num_envs):
            qpos, _ = bare.look(i)
            assert (obs[i, : len(qpos) - hidden] == qpos[hidden:]).all()
    bare.close()
    env.close()
    assert ends >= 3 * num_envs


def test_the_bare_loop_shares_its_steps_among_threads() -> None:
    task = scenes.mujoco("HalfCheetah", 4, 2, 2)
    with race.playing(mujoco_bare.bare_per_env, task) as player:
        assert player.play(5) == 10


def test_the_gain_is_split_into_factors() -> None:
    def row(who: str, cpu_us: float, role: str = "only") -> Row:
        return Row(who, "", role, Spread(1, 1, 1), Spread(cpu_us, cpu_us, cpu_us))

    rows = [
        row("parallel_pool.make", 10, "ours"),
        row("EnvPool", 32, "same"),
        row("EnvPool", 33, "best"),
        row(mujoco_bare.bare_envpool.name, 16),
        row(mujoco_bare.bare_stock.name, 12),
        row(mujoco_bare.bare_per_env.name, 8),
    ]
    assert mujoco_bare.gain(rows) == [
        "3.2x less CPU time per step than EnvPool at the same setting = 2 (EnvPool's engine) x"
        " 1.33 (MuJoCo's build) x 1.5 (switched options) x 0.8 (our engine)"
    ]
    assert mujoco_bare.gain(rows[:-1]) == []


def test_an_asynchronous_pool_is_idle_between_plays() -> None:
    calls: list[str] = []
    flying = ["a", "b", "c"]

    class Pool:
        def recv(self) -> tuple[object, ...]:
            calls.append(f"recv {flying[0]}")
            return 0, 0, 0, 0, {"env_id": flying.pop(0)}

        def send(self, action: int, env_id: str) -> None:
            calls.append(f"send {action} {env_id}")
            flying.append(env_id)

    player = rivals.SendingEnvPool(Pool(), [0, 1, 2, 3, 4], 6, 2)
    assert (player.play(2), flying) == (4, [])
    calls.clear()
    assert (player.play(5), flying) == (10, [])
    assert calls == [
        *("send 2 c", "send 3 a", "send 4 b"),
        *("recv c", "send 0 c", "recv a", "send 1 a"),
        *("recv b", "recv c", "recv a"),
    ]


def test_looping_resets_what_has_ended_and_counts_it() -> None:
    calls: list[str] = []

    class Short:
        def reset(self) -> None:
            calls.append("reset")

        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, int]]:
            calls.append(f"step {action}")
            return 0, 0.0, len(calls) % 3 == 0, False, {}

        def close(self) -> None:
            calls.append("close")

    player = rivals.Looping([Short()], [[0], [1], [2], [3]])
    assert player.play(5) == 5
    player.close()
    assert calls == ["reset", "step 1", "step 2", "reset", "step 0", "close"]


# ------------------------------------------------------------------------ Python environments --


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Environments take no time in here, those of other processes included."""
    python_envs.turns_per_us.cache_clear()
    monkeypatch.setenv(python_envs.TURNS_PER_US, "0.0")
    for name, cost in python_envs.COSTS.items():
        monkeypatch.setitem(python_envs.COSTS, name, replace(cost, us=0.0))
    yield
    python_envs.turns_per_us.cache_clear()


def at_no_cost(name: str, done: list[int]) -> python_envs.Cost:
    """An environment that writes down its work instead of doing it."""
    return replace(python_envs.COSTS[name], work=done.append)


def played(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[object], list[int]]:
    """What an environment shows in 40 steps, and the work of each."""
    burnt: list[int] = []
    monkeypatch.setitem(python_envs.COSTS, name, at_no_cost(name, burnt))
    env = python_envs.make(name, 500, seed)
    obs, _ = env.reset(seed=3)
    shown = [obs.tobytes()]
    for i in range(40):
        obs, *rest = env.step(i % 2)
        assert env.observation_space.contains(obs)
        shown.append((obs.tobytes(), *rest))
    return shown, burnt


@pytest.mark.parametrize("name", python_envs.COSTS)
def test_python_environments_are_deterministic(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, again = (played(name, 5, monkeypatch) for _ in range(2))
    assert first == again
    assert first != played(name, 6, monkeypatch)
    assert len(first[1]) == 40


def test_a_step_is_always_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(played(python_envs.IMAGE, 0, monkeypatch)[1]) == {500}
    burnt: list[int] = []
    name = python_envs.EXPONENTIAL
    monkeypatch.setitem(python_envs.COSTS, name, at_no_cost(name, burnt))
    env = python_envs.make(name, 500, 0)
    for seed in (1, 2):
        # whatever seed a vectoriser hands over
        env.reset(seed=seed)
        ends = [env.step(0)[3] for _ in range(python_envs.EPISODE)]
        assert ends == [False] * (len(ends) - 1) + [True]
    one, two = burnt[: len(ends)], burnt[len(ends) :]
    assert one == two
    # an exponential distribution's mean and deviation are one
    assert rivals.np.mean(one) == pytest.approx(500, rel=0.1)
    assert rivals.np.std(one) == pytest.approx(500, rel=0.15)


def test_time_is_spent_on_the_processor() -> None:
    before = time.thread_time()
    python_envs.spend(2e-3)
    assert time.thread_time() - before >= 2e-3
    assert python_envs.factories(python_envs.IMAGE, 1)[0].args == (python_envs.IMAGE, 50e-6, 0)


def test_pictures_are_copies() -> None:
    env = python_envs.make(python_envs.IMAGE, 0, 0)
    first, _ = env.reset()
    first[:] = 0
    assert env.reset()[0].any()


def test_processes_inherit_how_much_work_a_microsecond_is(monkeypatch: pytest.MonkeyPatch) -> None:
    python_envs.turns_per_us.cache_clear()
    monkeypatch.delenv(python_envs.TURNS_PER_US, raising=False)
    found = python_envs.turns_per_us()
    assert 1 < found < 10_000
    assert float(os.environ[python_envs.TURNS_PER_US]) == found
    name = python_envs.IMAGE_TURNS
    make = pickle.loads(pickle.dumps(python_envs.factories(name, 2)[1]))
    monkeypatch.setenv(python_envs.TURNS_PER_US, "7")
    assert make.args == (name, round(50 * found), 1)
    python_envs.turns_per_us.cache_clear()
    assert python_envs.turns_per_us() == 7
    python_envs.turns_per_us.cache_clear()


def test_cart_pole_has_the_wrappers_of_gymnasium_make() -> None:
    env = python_envs.factories(python_envs.CART_POLE, 1)[0]()
    names = []
    while env is not env.unwrapped:
        names.append(type(env).__name__)
        env = env.env
    assert names == ["TimeLimit", "OrderEnforcing", "PassiveEnvChecker"]


def test_the_bars_are_those_of_the_issue() -> None:
    found = {
        scene.name: (scene.shares[python_scenes.LOOP], scene.bars[python_scenes.ASYNC])
        for scene in python_scenes.RACES
    }
    assert found == {
        "cartpole-python-64": (0.65, 20),
        "cartpole-python-16": (0.42, 8),
        "image-64": (0.84, 3.9),
        "exponential-16": (0.84, 1.3),
        # the same with a fixed number of instructions, which is harder
        "image-turns-64": (0.84, 3.9),
        "exponential-turns-16": (0.84, 1.3),
    }
    for scene in python_scenes.RACES:
        assert {*scene.bars, *scene.shares} <= {who.name for who in scene.rivals}
        # PufferLib's Gymnasium is another
        is_gymnasiums = scene.name.startswith("cartpole")
        assert (python_rivals.puffer_loop in scene.rivals) is is_gymnasiums
        assert list(scene.own_loops) == [who.name for who in python_scenes.PUFFERS if is_gymnasiums]
        others = [who.name for who in python_scenes.OTHERS]
        assert [scene.bars[name] for name in others] == [1.0] * len(others)
        assert all(who.family == "ours" for who in scene.ours)


def test_the_command_knows_the_python_scenes() -> None:
    names = {scene.name for scene in python_scenes.RACES} | {idle.NAME, "workers-64-start"}
    assert names <= set(command.NAMES)
    assert len(command.NAMES) == len(set(command.NAMES))
    every = [*python_scenes.OTHERS, *(who for scene in python_scenes.RACES for who in scene.rivals)]
    assert {who.family for who in every} <= set(command.FAMILIES)


def test_a_share_is_of_as_many_loops_as_there_are_workers() -> None:
    watch = Watch()
    scene, _ = field_of(watch)
    scene = replace(scene, bars={}, shares={"other": 0.9})
    # the slower of ours is twice as fast as one loop, so as fast as two
    outcome = race.run(scene, ("ale",), race.QUICK, clock=watch)
    assert [str(bar) for bar in outcome.bars] == ["share of the ceiling, 2 x other, >= 0.9: 1, met"]
    assert race.run(scene, (), race.QUICK, clock=watch).bars[0].reached is None


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


def test_workers_are_found_whoever_started_them() -> None:
    before = tree.descendants(os.getpid())
    with subprocess.Popen(["sleep", "1000"]) as process:
        assert python_rivals.started_since(before) == [process.pid]
        process.kill()


class Part:
    """Counts what it is asked to play."""

    children = ()

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def play(self, batches: int) -> int:
        return batches * self.steps

    def close(self) -> None:
        pass


def test_parts_play_in_processes_of_their_own() -> None:
    player = python_rivals.AtOnce([lambda: Part(3), lambda: Part(5)])
    children = player.children
    assert len({os.getpid(), *children}) == 3
    assert [player.play(2), player.play(10)] == [16, 80]
    player.close()
    assert not set(children) & set(tree.descendants(os.getpid()))


def test_all_cores_at_once_are_shown_beside_the_ceiling() -> None:
    rates = {"ours": 120, python_scenes.LOOP: 100, python_scenes.LOOPS: 150}
    rows = [
        Row(who, "", "ours" if who == "ours" else "only", Spread(rate, rate, rate))
        for who, rate in rates.items()
    ]
    assert python_scenes.against_all_cores(rows) == [
        "loops on all cores at once come to 1.50 times one loop; share of that: ours 0.80"
    ]
    assert python_scenes.against_all_cores(rows[:2]) == []


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
    absent = replace(scene.ours[0], needs="benchmarks.race:no_such_name")
    elsewhere = replace(scene.rivals[1], folder="no-such-folder")
    scene = replace(scene, ours=(absent,), rivals=(scene.rivals[0], elsewhere))
    outcome = race.run(scene, ("envpool", "ale"), race.QUICK, clock=watch)
    assert {row.who for row in outcome.rows} == {"rival"}
    assert [bar.is_met for bar in outcome.bars] == [None, None]
    assert outcome.notes == [
        f"numpy is not in {sys.prefix}/no-such-folder: make "
        + os.path.relpath(f"{sys.prefix}/no-such-folder", race.ROOT),
        "quick is not measured: no no_such_name in benchmarks.race",
    ]
    assert not race.is_there(replace(absent, needs="no_such_module:name"))
    assert race.is_there(replace(absent, needs="benchmarks.race:run"))
    assert made


def test_the_makefile_makes_the_rivals_folders() -> None:
    text = (race.ROOT / "Makefile").read_text()
    for folder in (python_rivals.TIANSHOU, python_rivals.PUFFERLIB):
        name, version = folder.rsplit("-", 1)
        assert f"$(VENV)/{folder}" in text
        assert f"$(VENV)/{name}-%:" in text
        assert version


def few(scene: scenes.Scene) -> Task:
    """A scene's task with few environments."""
    return replace(scene.task, num_envs=4, batch_size=2 if scene.task.is_async else 4)


@pytest.mark.parametrize("scene", python_scenes.RACES, ids=lambda scene: scene.name)
def test_ours_and_gymnasiums_play_every_python_scene(scene: scenes.Scene, no_work: None) -> None:
    everybody = (*scene.ours, python_rivals.plain_loop, python_rivals.async_vector_env)
    for who in filter(race.is_there, everybody):
        task = who.task(few(scene))
        with race.playing(who, task) as player:
            assert player.play(30) == 30 * task.batch_size
            if who is not python_rivals.plain_loop:
                # one of ours may be there to start the others
                assert len(player.children) >= (2 if who.family == "ours" else 4)


# those that import torch take seconds to start
REMOTE = [
    pytest.param(who, id=who.name, marks=[] if who.folder == python_rivals.PUFFERLIB else slow)
    for slow in [pytest.mark.slow]
    for who in (*python_scenes.OTHERS, python_rivals.puffer_loop)
    if race.is_there(who)
]


@pytest.mark.parametrize("who", REMOTE)
def test_rivals_play_in_processes_of_their_own(who: Contender, no_work: None) -> None:
    for scene in (python_scenes.RACES[0], python_scenes.RACES[-1]):
        task = who.task(few(scene))
        with race.playing(who, task) as player:
            children = list(player.children)
            assert len(children) == 1 + (who.workers(task) if who.workers else 0)
            # stopped while others play
            assert {state_of(pid, "T") for pid in children[1:]} <= {"T"}
            # Tianshou's answers may be of more, and CartPole's resets come on top
            assert player.play(30) >= 30 * task.batch_size
        # reparented to init, which may take its time to ask for them
        assert {tree.fields(pid)[0] for pid in children if Path(f"/proc/{pid}").exists()} <= {"Z"}


def test_a_process_that_cannot_play_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="the process of nobody ended"):
        player_proxy.PlayerProxy("nobody", TASK)
    assert "KeyError: 'nobody'" in capfd.readouterr().err


def state_of(pid: int, wanted: str) -> str:
    """Its state, once it is the one wanted: signals take a moment to arrive."""
    for _ in range(1000):
        state = tree.fields(pid)[0]
        if state == wanted:
            break
        time.sleep(0.01)
    return state


def test_processes_run_only_when_they_may() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            with player_process.running([process.pid]):
                assert state_of(process.pid, "S") == "S"
            assert state_of(process.pid, "T") == "T"
        finally:
            process.kill()
    # and are not missed when they have gone
    player_process.signal_all([process.pid], signal.SIGCONT)


def test_a_process_pool_is_idle_between_plays() -> None:
    calls: list[str] = []
    flying = ["a", "b", "c"]

    class Pool:
        columns = (replace_name("obs"), replace_name("env_id"))

        def recv(self) -> tuple[object, str]:
            calls.append(f"recv {flying[0]}")
            return 0, flying.pop(0)

        def send(self, action: int, env_id: str) -> None:
            calls.append(f"send {action} {env_id}")
            flying.append(env_id)

    player = python_rivals.SendingPool(Pool(), [0, 1, 2, 3, 4], 6, 2)
    assert (player.play(2), flying) == (4, [])
    calls.clear()
    assert (player.play(5), flying) == (10, [])
    assert calls == [
        *("send 2 c", "send 3 a", "send 4 b"),
        *("recv c", "send 0 c", "recv a", "send 1 a"),
        *("recv b", "recv c", "recv a"),
    ]


def replace_name(name: str) -> object:
    """Something with a name, as a pool's columns are."""
    return type("Column", (), {"name": name})()


def test_tianshous_ended_environments_are_reset_and_counted() -> None:
    calls: list[tuple[str, list[int]]] = []
    answers = [[2, 0, 1], [3, 2]]

    class Shmem:
        def step(self, actions: Sequence[int], ids: Sequence[int]) -> tuple[object, ...]:
            assert len(actions) == len(ids)
            calls.append(("step", list(ids)))
            ready = answers.pop(0)
            ended = rivals.np.array([i == 2 for i in ready])
            return 0, 0, ended, ~ended & False, [{"env_id": i} for i in ready]

        def reset(self, ids: Sequence[int]) -> None:
            calls.append(("reset", list(ids)))

    player = python_rivals.SteppingShmem(Shmem(), replace(TASK, num_envs=4, batch_size=2), ())
    assert player.play(2) == 3 + 1 + 2 + 1
    assert calls == [
        ("step", [0, 1, 2, 3]),
        ("reset", [2]),
        ("step", [2, 0, 1]),
        ("reset", [2]),
    ]


def test_pufferlib_is_compared_with_its_own_loop() -> None:
    def row(who: str, rate: float, role: str = "only") -> Row:
        return Row(who, "", role, Spread(rate, rate, rate))

    rows = [
        row("ours", 150, "ours"),
        row(python_scenes.LOOP, 100),
        row(python_scenes.PUFFER_LOOP, 125),
        row(python_rivals.puffer_1.name, 100),
    ]
    assert python_scenes.against_own_loops(rows) == [
        "PufferLib needs Gymnasium 0.29, whose plain loop is 1.25 times as fast as today's; each"
        " against its own loop: ours 1.50x, PufferLib Multiprocessing, 1 worker 0.80x"
    ]
    assert python_scenes.against_own_loops(rows[:2]) == []


# ---------------------------------------------------------------------------- process trees --


def test_a_tree_has_grandchildren_and_zombies() -> None:
    script = (
        "import subprocess, sys; p = subprocess.Popen(['sleep', '1000']); print(p.pid, flush=True);"
    )
    script += "sys.stdin.read(); p.kill(); print('killed', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script + " or __import__('time').sleep(1000)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            grandchild = int(process.stdout.readline())
            assert {process.pid, grandchild} <= set(tree.descendants(os.getpid()))
            assert tree.zombies([process.pid, grandchild]) == 0
            assert tree.memory_of([process.pid, grandchild]) > 100
            process.stdin.close()
            assert process.stdout.readline() == "killed\n"
            assert state_of(grandchild, "Z") == "Z"
            assert tree.zombies([process.pid, grandchild]) == 1
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.kill()
    # nothing is missed of those that have gone
    assert tree.cpu_of([process.pid]) == {}
    assert tree.memory_of([process.pid]) == 0


def test_cpu_time_of_any_process_is_exact() -> None:
    before = time.process_time()
    found = tree.cpu_of([os.getpid()])[os.getpid()]
    assert before <= found <= time.process_time()


def test_idle_time_is_that_of_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [{1: 1.0, 2: 5.0, 3: 1.0}, {1: 1.25, 2: 5.5}]
    monkeypatch.setattr(tree, "cpu_of", lambda pids: told.pop(0))
    monkeypatch.setattr(idle.time, "sleep", lambda seconds: None)
    assert idle.idle_ms(2.0) == 750


def test_idle_pools_are_measured_in_processes_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert idle.in_child(python_rivals.async_vector_env, 0.0) >= 0
    took = {who.name: float(i) for i, who in enumerate((idle.OURS, *idle.RIVALS))}
    monkeypatch.setattr(idle, "in_child", lambda who, seconds: took[who.name])
    monkeypatch.setattr(idle.race, "is_there", lambda who: who is not idle.RIVALS[-1])
    each = idle.run(("gymnasium", "sb3", "tianshou", "pufferlib"), 3)
    assert [row.value.median for row in each.rows] == [0, 1, 2, 3]
    assert [bar.is_met for bar in each.bars] == [True]
    assert each.notes == [race.absent(idle.RIVALS[-1])]
    monkeypatch.setattr(idle.race, "is_there", lambda who: who is not idle.OURS)
    assert [bar.is_met for bar in idle.run((), 1).bars] == [None]


def test_starting_workers_is_compared_with_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = creation.CREATIONS[-1]
    asked: list[str] = []

    def told(who: str, env_id: str, num_envs: int) -> dict[str, float]:
        asked.append(f"{who} {num_envs}")
        return {"seconds": 1.0 if "pool" in who else 4.0, "bytes": num_envs * 1024.0}

    monkeypatch.setattr(creation, "in_child", told)
    monkeypatch.setattr(race, "is_there", lambda who: True)
    each = creation.run(scene, ("gymnasium", "sb3"), 3)
    assert [row.who for row in each.rows] == list(scene.who)
    assert [len(row.samples) for row in each.rows] == [3, 3, 1]
    assert [row.ratios[scene.who[0]].median for row in each.rows[1:]] == [4, 4]
    assert each.rows[1].setting.startswith("64 workers, batch 64")
    assert each.notes[-1] == "SB3 SubprocVecEnv was measured in the first round only"
    assert asked.count("SB3 SubprocVecEnv 64") == 1

    monkeypatch.setattr(race, "is_there", lambda who: who.family != "ours")
    each = creation.run(scene, ("gymnasium",), 1)
    assert [(row.who, row.ratios) for row in each.rows] == [("AsyncVectorEnv", {})]
    assert each.notes[1] == race.absent(python_rivals.pool_vector_env)


def test_started_workers_are_measured_with_their_processes() -> None:
    told = creation.in_child("AsyncVectorEnv", "CartPole-v1", 2)
    assert told["seconds"] > 0
    # two processes of Python's, of which little is shared
    assert told["bytes"] > 2**20


# ---------------------------------------------------------------------------------------- soak --


class Restarting:
    """A vector environment in this process that restarts what crashes, as ours is asked to.

    `spoil`, when set, changes what `step` returns: a pool that loses something.
    """

    def __init__(self, num_envs: int, crash_every: int) -> None:
        self.num_envs, self._crash_every = num_envs, crash_every
        self.envs = [self._make(i) for i in range(num_envs)]
        self.ended = [False] * num_envs
        self.spoil = lambda self, result: result

    def _make(self, i: int) -> counting.Counting:
        return counting.Counting(i, ("raises", "talks")[i % 2], self._crash_every)

    def get_attr(self, name: str) -> tuple[int, ...]:
        return tuple(getattr(env, name) for env in self.envs)

    def reset(self, *, seed: int) -> tuple[dict[str, rivals.np.ndarray], dict[str, object]]:
        self.last = [env.reset()[0] for env in self.envs]
        return self._stacked(), {}

    def _stacked(self) -> dict[str, rivals.np.ndarray]:
        return {
            key: rivals.np.stack([obs[key] for obs in self.last]) for key in ("count", "picture")
        }

    def step(self, actions: Sequence[int]) -> list[object]:
        columns: list[list[object]] = []
        for i, action in enumerate(actions):
            columns.append(self._step_one(i, int(action)))
        rewards, terminated, truncated, restarted, totals, said = map(
            rivals.np.array, zip(*columns, strict=True)
        )
        infos = {
            "total": totals,
            "said": said,
            "_said": said != "",
            "_worker_restarted": restarted,
            "_restart_seed": restarted.copy(),
        }
        return self.spoil(self, [self._stacked(), rewards, terminated, truncated, infos])

    def _step_one(self, i: int, action: int) -> list[object]:
        env = self.envs[i]
        try:
            if self.ended[i]:
                self.last[i], info = env.reset()
                reward, terminated, truncated = 0.0, False, False
            else:
                self.last[i], reward, terminated, truncated, info = env.step(action)
        except counting.Crash:
            self.envs[i] = self._make(i)
            self.ended[i] = True
            return [0.0, False, True, True, 0, ""]
        self.ended[i] = terminated or truncated
        return [reward, terminated, truncated, False, info["total"], info.get("said", "")]


def soaked(env: Restarting, steps: int = 3000) -> soak.Result:
    return soak.soak(env, steps, kill_every=500, sample_every=steps // 6)


def test_a_soak_finds_nothing_wrong_with_a_pool_that_does_right() -> None:
    # what other tests of this process have left is not its doing
    before = soak.Sample.take(0).zombies
    result = soaked(Restarting(4, crash_every=60))
    assert result.faults == []
    assert result.rows == 3000
    # a life of a crashing environment is of 20 + 60 calls
    assert result.restarts > 5
    # its environments are in this process, which must not be killed
    assert result.killed == 0
    assert len(result.samples) == 6
    assert all(s.memory_kb > 1000 and s.files > 2 for s in result.samples)
    assert all(s.zombies <= before for s in result.samples)
    assert "3000 rows" in result.summary()
    assert "FAULT" not in result.summary()


def test_a_soak_agrees_with_gymnasiums_own_vector_environment() -> None:
    import gymnasium

    env = gymnasium.vector.SyncVectorEnv(counting.factories(4, 10**9))
    # a last batch goes beyond what was asked; nobody is killed
    result = soak.soak(env, 3002, kill_every=0, sample_every=500)
    assert (result.rows, result.faults) == (3004, [])
    env.close()


SPOILED: dict[str, tuple[object, str]] = {
    "a row lost": (lambda pool, result: lost(pool, result), "does not follow"),
    "a row doubled": (lambda pool, result: doubled(pool, result), "does not follow"),
    "rows swapped": (lambda pool, result: swapped(result), "does not follow"),
    "a torn picture": (lambda pool, result: torn(result), "does not follow"),
    "another's action": (lambda pool, result: misheard(result), "does not follow"),
    "another's reward": (lambda pool, result: changed(result, 1, 0, 999.0), "does not follow"),
    "an end of nothing": (lambda pool, result: changed(result, 2, 0, True), "does not follow"),
    "another's info": (lambda pool, result: in_infos(result, "total", -5), "another's info"),
    "another's words": (lambda pool, result: in_infos(result, "said", "?", 1), "another's info"),
    "a restart of nothing": (
        lambda pool, result: in_infos(result, "_worker_restarted", True),
        "does not follow",
    ),
}


def lost(pool: Restarting, result: list[object]) -> list[object]:
    """One environment steps once more than was asked."""
    pool._step_one(1, 0)
    return result


def doubled(pool: Restarting, result: list[object]) -> list[object]:
    result[0] = {key: value.copy() for key, value in result[0].items()}
    result[0]["count"][1] = pool.before
    return result


def swapped(result: list[object]) -> list[object]:
    result[0] = {key: value[::-1].copy() for key, value in result[0].items()}
    return result


def torn(result: list[object]) -> list[object]:
    result[0]["picture"][1, 20, 3] ^= 1
    return result


def misheard(result: list[object]) -> list[object]:
    result[0]["count"][1, counting.HEARD] += 1
    return result


def changed(result: list[object], column: int, i: int, value: object) -> list[object]:
    result[column][i] = value
    return result


def in_infos(result: list[object], key: str, value: object, i: int = 0) -> list[object]:
    result[4][key][i] = value
    return result


@pytest.mark.parametrize("how", SPOILED)
def test_a_soak_finds_what_a_pool_does_wrong(how: str) -> None:
    spoil, expected = SPOILED[how]
    pool, steps = Restarting(4, crash_every=10**9), 0

    def once(pool: Restarting, result: list[object]) -> list[object]:
        nonlocal steps
        steps += 1
        spoiled = spoil(pool, result) if steps == 5 else result
        pool.before = result[0]["count"][1].copy()
        return spoiled

    pool.spoil = once
    result = soaked(pool, 400)
    assert result.faults[0].endswith("wrong rows")
    assert any(expected in fault for fault in result.faults)
    assert "FAULT" in result.summary()


def test_a_soak_finds_a_step_that_no_row_told_of() -> None:
    pool = Restarting(2, crash_every=10**9)
    ledger = Ledger(pool.reset(seed=0)[0])
    ledger.close(*(rivals.np.array(pool.get_attr(name)) for name in ("life", "total")))
    assert ledger.num_wrong == 0
    pool.envs[1].step(0)
    ledger.close(*(rivals.np.array(pool.get_attr(name)) for name in ("life", "total")))
    assert ledger.num_wrong == 1
    assert ledger.wrong[0].startswith("environment 1 has counted otherwise")


def test_a_restart_must_be_told() -> None:
    """A new life after an episode's end, without the row that says so, is a row lost."""
    pool = Restarting(2, crash_every=10**9)
    ledger = Ledger(pool.reset(seed=0)[0])
    actions = rivals.np.zeros(2, int)
    while not pool.ended[0]:
        ledger.check(actions, *pool.step(actions))
    assert ledger.num_wrong == 0
    pool.envs[0] = pool._make(0)
    ledger.check(actions, *pool.step(actions))
    assert ledger.num_wrong == 1


@pytest.mark.slow
@pytest.mark.parametrize("is_well", [True, False])
def test_the_soak_tells_and_writes_what_it_found(
    is_well: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made: list[dict[str, object]] = []

    class Pool(Restarting):
        def __init__(self, env_fns: Sequence[object], **options: object) -> None:
            super().__init__(len(env_fns), 10**9)
            made.append(options)
            if not is_well:
                self.spoil = lambda pool, result: torn(result)

        def close(self) -> None:
            made.append({})

    monkeypatch.setattr("parallel_pool.compat.gymnasium.PoolVectorEnv", Pool)
    # pytest has set its own alarm
    alarms: list[str] = []
    monkeypatch.setattr(
        soak.faulthandler, "dump_traceback_later", lambda *a, **k: alarms.append("set")
    )
    monkeypatch.setattr(
        soak.faulthandler, "cancel_dump_traceback_later", lambda: alarms.append("off")
    )
    file = tmp_path / "new" / "soak.json"
    arguments = ["--steps", "2000", "--envs", "4", "--out", str(file)]
    assert soak.main(arguments) == (0 if is_well else 1)
    assert made == [{"num_workers": 2, "on_error": "restart"}, {}]
    assert (len(alarms) > 100, alarms[-1]) == (True, "off")
    told = json.loads(file.read_text())
    assert (told["rows"], told["restarts"], told["killed"]) == (2000, 0, 0)
    assert bool(told["faults"]) is not is_well
    assert {"machine", "moment", "samples", "seconds"} <= told.keys()
    assert ("FAULT: 500 wrong rows" in capsys.readouterr().out) is not is_well


def test_memory_that_grows_is_a_fault() -> None:
    def samples(**steps: int) -> list[soak.Sample]:
        return [
            soak.Sample(
                i,
                100_000 + i * steps.get("memory_kb", 0),
                5_000 + i * steps.get("shared_kb", 0),
                20 + i * steps.get("files", 0),
                3,
                0,
            )
            for i in range(20)
        ]

    assert soak.growth(samples()) == []
    # the start may cost what it wants, and a little is noise
    assert soak.growth(samples(memory_kb=400)) == []
    for name in ("memory_kb", "shared_kb", "files"):
        (found,) = soak.growth(samples(**{name: 1000}))
        assert found.startswith(f"{name} grew")
    assert "give more --steps" in soak.growth(samples()[:4])[0]


def test_a_soak_kills_only_its_own_workers() -> None:
    choose = soak.random.Random(0)
    assert not soak.kill_one([os.getpid(), os.getppid(), 1], choose)
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            assert soak.left_behind([process.pid, 1]) == [
                f"processes [{process.pid}] are left after close()"
            ]
            assert soak.kill_one([process.pid, os.getpid()], choose)
            assert process.wait(10) == -signal.SIGKILL
        finally:
            process.kill()
    assert soak.left_behind([process.pid]) == []


def test_some_of_the_soaks_environments_crash() -> None:
    kinds = [make.args[1] for make in counting.factories(8, 30)]
    assert kinds == [*counting.KINDS] * 2
    calls = {}
    for kind in ("steady", "raises"):
        env = counting.Counting(0, kind, 30)
        with contextlib.suppress(counting.Crash):
            while env.total < 1000:
                env.step(0)
        calls[kind] = env.total
    assert calls["steady"] == 1000
    assert counting.SAFE < calls["raises"] < 1000
    script = (
        "from benchmarks.counting import Counting\ne = Counting(0, 'exits', 5)\nwhile 1: e.step(0)"
    )
    assert subprocess.run([sys.executable, "-c", script], cwd=race.ROOT).returncode == 3


# ------------------------------------------------------------------------------------- reports --


def outcome(name: str = "made-up", rate: float = 1000.0) -> Outcome:
    ours = Row(
        "ours",
        "2 threads",
        "ours",
        Spread(rate, 0.9 * rate, 1.1 * rate),
        Spread(1, 1, 1),
        samples=[rate],
    )
    theirs = Row(
        "them",
        "3 threads",
        "best",
        Spread(rate / 4, 0.24 * rate, 0.26 * rate),
        Spread(8, 7, 9),
        ratios={"ours": Spread(4, 3.5, 4.5)},
        cpu_ratios={"ours": Spread(8, 7, 9)},
        samples=[rate / 4],
    )
    bars = [Bar("vs them", 5, 4.0), Bar("vs nobody", 2, None)]
    return Outcome(name, f"Title of {name}", "env steps/s", 4, 7, [ours, theirs], bars, ["a note"])


MACHINE = {
    "cpu": "A processor",
    "cores": 2,
    "system": "Linux",
    "python": "3.11",
    "compiler": "cc",
    "versions": {"numpy": "2"},
}


def test_bars_say_what_was_reached() -> None:
    assert str(Bar("vs them", 4.5, 5.21)) == "vs them >= 4.5x: 5.21x, met"
    assert str(Bar("vs them", 4.5, 4.49)) == "vs them >= 4.5x: 4.49x, NOT met"
    assert str(Bar("vs them", 4.5, None)) == "vs them >= 4.5x: not measured"
    assert str(Bar("time", 0.5, 0.5, at_least=False, unit=" s")) == "time < 0.5 s: 0.5 s, NOT met"
    assert Bar("time", 0.5, 0.49, at_least=False).is_met is True


def test_reached_takes_the_worst_of_ours_against_the_best_of_theirs() -> None:
    rows = [
        Row("them", "", "same", Spread(1, 1, 1), ratios={"a": Spread(9, 9, 9)}),
        Row(
            "them", "", "best", Spread(1, 1, 1), ratios={"a": Spread(4, 1, 9), "b": Spread(3, 2, 9)}
        ),
        Row("others", "", "only", Spread(1, 1, 1), ratios={"a": Spread(1, 1, 1)}),
    ]
    assert reached(rows, "them") == 3
    assert reached(rows, "nobody") is None


def test_outcomes_survive_json() -> None:
    each = outcome()
    data = json.loads(json.dumps(each.to_json()))
    assert [bar["met"] for bar in data["bars"]] == [False, None]
    assert Outcome.from_json(data) == each


def test_numbers_are_short() -> None:
    assert [report.short(v) for v in (46_812_345, 999_600, 12_345, 1000, 999.4, 0.0123)] == [
        "46.8 M",
        "1.00 M",
        "12.3 k",
        "1.00 k",
        "999",
        "0.0123",
    ]


def test_tables_label_frames_and_steps() -> None:
    page = report.markdown([outcome()], MACHINE)
    assert "| env steps/s | frames/s (x 4) | CPU us/step |" in page
    assert "| 1.00 k (900-1.10 k) | 4.00 k |" in page
    assert "- bar: vs them >= 5x: 4x, NOT met" in page
    table = report.rich_table(outcome())
    assert table.row_count == 2
    assert len(table.columns) == len(report.headings(outcome()))


def test_written_scenes_stay_until_they_are_measured_again(tmp_path: Path) -> None:
    report.write(tmp_path, [outcome("ant-1"), outcome("pong-1")], MACHINE)
    (tmp_path / "mujoco.png").unlink()
    files = report.write(tmp_path, [outcome("pong-1", rate=2000)], MACHINE)
    # only the family that was measured is drawn
    assert [file.name for file in files] == ["results.json", "results.md", "atari.png"]
    assert files[2].read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "mujoco.png").exists()
    found = {each.name: each.rows[0].value.median for each in report.read(tmp_path)}
    assert found == {"ant-1": 1000, "pong-1": 2000}


def test_every_scene_belongs_to_a_family() -> None:
    named = {name: report.family(name) for name in command.NAMES if not name.startswith("atari-57")}
    assert set(named.values()) == set(report.FAMILIES)
    assert named["cartpole-python-64"] == "python" and named["create-ant-256"] == "mujoco"
    with pytest.raises(ValueError, match=r"'chess-1' belongs to no family: add its prefix"):
        report.family("chess-1")


def test_the_commit_is_dirty_only_if_what_is_measured_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, source = tmp_path / "benchmarks" / "results" / "here" / "r.json", tmp_path / "a.c"
    results.parent.mkdir(parents=True)
    for file in (results, source):
        file.write_text("before")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    clean = machine.commit()
    assert clean and not clean.endswith("-dirty")
    results.write_text("a scene was measured")
    assert machine.commit() == clean
    source.write_text("after")
    assert machine.commit() == f"{clean}-dirty"


def test_machine_tells_what_matters() -> None:
    facts = machine.facts()
    assert facts["cores"] >= 1
    assert facts["versions"]["numpy"]
    assert set(machine.moment()) == {"time", "commit", "load"}
    assert machine.name() == machine.name().lower().replace(" ", "-")


# ------------------------------------------------------------------------------------- special --


def test_creation_compares_in_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    took = {"parallel_pool.make": 0.2, "EnvPool": 8.0}

    def told(who: str, env_id: str, num_envs: int) -> dict[str, float]:
        assert env_id == "Pong-v5"
        return {"seconds": took[who] * num_envs / 64, "bytes": 1e6 + num_envs * 100 * 1024}

    monkeypatch.setattr(creation, "in_child", told)
    monkeypatch.setattr(creation, "is_there", lambda who: who in took)
    each = creation.run(creation.CREATIONS[0], ("envpool", "ale"), 3)
    assert [row.value.median for row in each.rows] == [0.2, 8.0]
    assert each.rows[1].ratios["parallel_pool.make"].median == 40
    assert [bar.is_met for bar in each.bars] == [True, True]
    assert each.bars[1].reached == pytest.approx(100)


def test_creation_in_a_child_makes_what_it_measures() -> None:
    told = creation.in_child("parallel_pool.make", "Pong-v5", 2)
    assert set(told) == {"seconds", "bytes"}
    assert told["seconds"] > 0


def test_overhead_is_read_from_what_c_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"bare_ns": 40, "added_ns": 11, "added_low_ns": 10, "added_high_ns": 13, "rounds": 3}
    monkeypatch.setattr(engine_overhead, "measure", lambda rounds: told)
    each = engine_overhead.run(3)
    assert each.rows[1].value == Spread(11, 10, 13)
    assert [bar.is_met for bar in each.bars] == [True]


@pytest.mark.slow
def test_overhead_builds_and_runs() -> None:
    told = engine_overhead.measure(1)
    assert told["id"] == "CartPole-v1"
    assert told["num_envs"] == 1024
    assert told["bare_ns"] > 0


def test_command_measures_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def run(scene: scenes.Scene, vs: Sequence[str], effort: race.Effort, *, tick: race.Tick):
        asked.append((scene.name, tuple(vs), effort.rounds))
        tick("round")
        return outcome(scene.name)

    monkeypatch.setattr(race, "run", run)
    arguments = ["cartpole-1", "pong-1", "--vs", "ale,envpool", "--rounds", "6"]
    assert command.main([*arguments, "--out", str(tmp_path)]) == 0
    assert asked == [("cartpole-1", ("ale", "envpool"), 6), ("pong-1", ("ale", "envpool"), 6)]
    assert [each.name for each in report.read(tmp_path)] == ["cartpole-1", "pong-1"]
    shown = capsys.readouterr().out
    assert "Title of pong-1" in shown
    assert "vs them >= 5x: 4x, NOT met" in shown


# --------------------------------------------------------------------------------------- games --


def test_the_57_games_are_known() -> None:
    assert len(set(atari_games.GAMES)) == len(atari_games.GAMES) == 57
    for game in atari_games.GAMES:
        assert registry.find(atari_games.env_id(game)).variant == game


def samples_at(*rates: int) -> list[Sample]:
    return [Sample(rate, 1.0, 2.0) for rate in rates]


def test_games_are_judged_by_their_median_and_their_least(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    theirs = {"a": 10, "b": 20, "c": 40}

    def race_of(game: str, *_: Any) -> dict[str, list[Sample]]:
        rivals_ = {
            "EnvPool": samples_at(theirs[game], theirs[game]),
            "ale-py AtariVectorEnv": samples_at(25, 25),
        }
        return {"parallel_pool.make": samples_at(100, 100), **rivals_}

    monkeypatch.setattr(atari_games, "race_of", race_of)
    ticks: list[str] = []
    outcome = atari_games.run((), race.QUICK, games=tuple(theirs), tick=ticks.append)
    assert ticks == ["a", "b", "c"]
    assert [row.ratios["EnvPool"].median for row in outcome.rows] == [10, 5, 2.5]
    assert [bar.reached for bar in outcome.bars] == [5, 2.5, 4]
    assert report.headings(outcome)[-2:] == ["x EnvPool", "x ale-py AtariVectorEnv"]
    assert Outcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome
    atari_games.draw(outcome, tmp_path / "games.png")
    assert (tmp_path / "games.png").stat().st_size > 10_000
    # beside the pictures of all else
    report.write(tmp_path, [outcome], machine.facts())
    assert "x EnvPool" in (tmp_path / "results.md").read_text()


def test_our_console_and_act_play_the_same_frames() -> None:
    act = atari_games.Act("breakout")
    consoles = [
        atari_games.Console("breakout", act.actions, build, drawn)
        for build, drawn in atari_games.COLUMNS.values()
    ]
    # many a game ends in these, at once or in parts
    frames = act.play(1500)
    assert 4 * 1500 - 100 < frames < 4 * 1500
    assert [console.play(1500) for console in consoles] == [frames] * 3
    again = act.play(700)
    assert consoles[0].play(300) + consoles[0].play(400) == again
    for player in (act, *consoles):
        player.close()


def test_frames_are_measured_beside_act() -> None:
    effort = race.Effort(rounds=2, seconds=0.02, turns=1)
    outcome = atari_games.run_frames(effort, games=("pong",))
    (row,) = outcome.rows
    assert list(row.ratios) == list(atari_games.COLUMNS)
    assert len(outcome.bars) == 2 and all(bar.reached for bar in outcome.bars)
    with pytest.raises(RuntimeError, match="build 'none'"):
        atari_games.Console("pong", b"\0", "none", 4)
