"""The scenes on worker processes: bars, notes, and a short run of each player."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from benchmarks import __main__ as command
from benchmarks.scenes import idle, python_rivals, python_scenes
from parallel_pool._bench import python_envs, python_players, race
from parallel_pool._bench.contender import Contender, Task
from parallel_pool._bench.outcome import Row
from parallel_pool._bench.rounds import Spread
from parallel_pool._bench.scene import Scene
from tests.benchmarks.made_up import state_of
from tests.support.timeouts import has_ended, wait_for


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Steps take no time in this test, in other processes too."""
    python_envs.turns_per_us.cache_clear()
    monkeypatch.setenv(python_envs.TURNS_PER_US, "0.0")
    for name, cost in python_envs.COSTS.items():
        monkeypatch.setitem(python_envs.COSTS, name, replace(cost, us=0.0))
    yield
    python_envs.turns_per_us.cache_clear()


def test_bars_of_the_python_scenes() -> None:
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
        # PufferLib needs another version of Gymnasium
        is_gymnasiums = scene.name.startswith("cartpole")
        assert (python_rivals.puffer_loop in scene.rivals) is is_gymnasiums
        assert list(scene.own_loops) == [who.name for who in python_scenes.PUFFERS if is_gymnasiums]
        others = [who.name for who in python_scenes.OTHERS]
        assert [scene.bars[name] for name in others] == [1.0] * len(others)


def test_the_command_knows_the_python_scenes() -> None:
    names = {scene.name for scene in python_scenes.RACES} | {idle.NAME, "workers-64-start"}
    assert names <= set(command.NAMES)


def test_all_cores_at_once_are_shown_beside_the_ceiling() -> None:
    rates = {"ours": 120, python_scenes.LOOP: 100, python_scenes.LOOPS: 150}
    rows = [
        Row(who, "", "ours" if who == "ours" else "only", Spread(rate, rate, rate))
        for who, rate in rates.items()
    ]
    assert python_scenes.against_all_cores(rows) == [
        "loops on all cores at once reach 1.50 times one loop; share of that: ours 0.80"
    ]
    assert python_scenes.against_all_cores(rows[:2]) == []


def few(scene: Scene) -> Task:
    """Returns a scene's task with few environments."""
    return replace(scene.task, num_envs=4, batch_size=2 if scene.task.is_async else 4)


@pytest.mark.slow
@pytest.mark.parametrize("scene", python_scenes.RACES, ids=lambda scene: scene.name)
def test_ours_and_gymnasiums_play_every_python_scene(scene: Scene, no_work: None) -> None:
    contenders = (*scene.ours, python_players.plain_loop, python_players.async_vector_env)
    for who in filter(race.is_installed, contenders):
        task = who.task(few(scene))
        with race.playing(who, task) as player:
            assert player.play(30) == 30 * task.batch_size
            if who is not python_players.plain_loop:
                # ours may have one more process, which starts the others
                assert len(player.children) >= (2 if who.family == "ours" else 4)


IN_OWN_PROCESS = [
    pytest.param(who, id=who.name)
    for who in (*python_scenes.OTHERS, python_rivals.puffer_loop)
    if race.is_installed(who)
]


# rivals that import torch take seconds to start
@pytest.mark.slow
@pytest.mark.parametrize("who", IN_OWN_PROCESS)
def test_rivals_play_in_processes_of_their_own(who: Contender, no_work: None) -> None:
    for scene in (python_scenes.RACES[0], python_scenes.RACES[-1]):
        task = who.task(few(scene))
        with race.playing(who, task) as player:
            children = list(player.children)
            assert len(children) == 1 + (who.workers(task) if who.workers else 0)
            # stopped while others play
            assert {state_of(pid, "T") for pid in children[1:]} <= {"T"}
            # Tianshou's answers may have more rows, and CartPole's resets are counted too
            assert player.play(30) >= 30 * task.batch_size
        # they may stay zombies for a while, until init, their new parent, reaps them
        for pid in children:
            wait_for(partial(has_ended, pid))


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
