"""The scenes on threads: names, bars, and a short run of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import __main__ as command
from benchmarks.scenes import native_scenes
from parallel_pool._bench import race, rivals
from parallel_pool._bench.scene import Scene
from tests.support.sampling import thinned


def test_names_are_unique() -> None:
    assert len(command.NAMES) == len(set(command.NAMES))


def test_bars_are_against_players() -> None:
    for scene in command.RACES:
        bars = {*scene.bars, *scene.cpu_bars, *scene.shares, *scene.own_loops}
        assert bars <= {who.name for who in scene.rivals}, scene.name
        assert all(who.family == "ours" for who in scene.ours), scene.name
        assert {who.family for who in scene.rivals} <= {"ours", *command.FAMILIES}, scene.name


def test_asynchronous_cart_poles_are_compared_with_one_thread() -> None:
    scene = native_scenes.cart_pole_async(8, 4)
    one = rivals.envpool_api_1_thread
    assert scene.bars == {one.name: 1.3}
    assert one.task(scene.task) == replace(scene.task, num_threads=1)
    with race.playing(one, one.task(scene.task)) as player:
        assert player.play(3) == 12


@pytest.mark.slow
@pytest.mark.parametrize("scene", thinned(native_scenes.RACES, 3), ids=lambda scene: scene.name)
def test_ours_play_every_scene(scene: Scene) -> None:
    for who in scene.ours:
        with race.playing(who, scene.task) as player:
            assert player.play(3) == 3 * scene.task.batch_size
