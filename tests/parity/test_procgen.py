"""Procgen's games equal the library's own loop, row by row: frames, rewards, ends and infos."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import numpy as np
import pytest

from parallel_pool.errors import StateError
from tests.support import procgen_runs
from tests.support.procgen_runs import (
    GAMES,
    TASKS,
    assert_same,
    assert_same_run,
    make,
    ours,
    read,
)
from tests.support.reference import procgen_player
from tests.support.reference.procgen_player import Play
from tests.support.sampling import thinned

pytestmark = [
    pytest.mark.proven("csrc/envs/procgen"),
    pytest.mark.skipif(
        not procgen_player.is_installed(), reason="procgen-mirror is not installed here"
    ),
]

# one that moves the agent, one that shows the velocity, and so on; each with a game that shows it
OPTIONS: list[tuple[str, str, Mapping[str, Any]]] = [
    ("coinrun", "easy", {"num_levels": 3, "start_level": 17}),
    ("coinrun", "hard", {"num_levels": 1, "start_level": 2**31 - 2}),
    ("coinrun", "hard", {"debug_mode": 14}),
    ("ninja", "easy", {"use_sequential_levels": True, "num_levels": 5}),
    ("leaper", "easy", {"use_sequential_levels": True}),
    ("caveflyer", "hard", {"center_agent": False}),
    ("climber", "hard", {"use_backgrounds": False}),
    ("fruitbot", "hard", {"use_monochrome_assets": True}),
    ("jumper", "hard", {"restrict_themes": True}),
    ("miner", "easy", {"use_generated_assets": True}),
    ("chaser", "hard", {"paint_vel_info": True}),
]


# ------------------------------------------------------------------------------------- steps --


@pytest.mark.sanitizers
@pytest.mark.parametrize(("game", "mode"), thinned(TASKS, 50), ids=str)
def test_one_environment_is_the_same(game: str, mode: str) -> None:
    play = Play(game, mode, seed=5, steps=500, run=3)
    assert_same(ours(play), procgen_player.expected(play))


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize(("game", "mode"), thinned(TASKS, 25), ids=str)
def test_a_vector_is_the_same(game: str, mode: str) -> None:
    play = Play(game, mode, num=64, seed=2**31 - 1, steps=40, run=5)
    assert_same(ours(play, is_vector=True), procgen_player.expected(play))


@pytest.mark.parametrize(
    ("game", "mode", "options"),
    thinned(OPTIONS, 4),
    ids=lambda value: "-".join(value) if isinstance(value, dict) else str(value),
)
def test_options_are_the_same(game: str, mode: str, options: Mapping[str, Any]) -> None:
    play = Play(game, mode, seed=11, steps=400, run=6, options=options)
    assert_same(ours(play), procgen_player.expected(play))


def test_options_change_what_is_seen() -> None:
    """So that a comparison of two that both ignored an option would not pass."""
    frames = {
        ours(Play(game, mode, seed=11, steps=30, run=6, options=options))["frame"].tobytes()
        for game, mode, given in OPTIONS
        for options in (given, {})
    }
    # the velocity's square, generated textures and so on; {} twice for ninja, leaper and coinrun
    assert len(frames) >= 2 * len(OPTIONS) - 3


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_long_runs_are_the_same(game: str) -> None:
    assert assert_same_run(Play(game, "easy", num=4, seed=3, steps=3000, run=4))


def test_planes_are_those_of_the_frame() -> None:
    play = Play("starpilot", "easy", num=2, seed=2, steps=30)
    with make(play) as pool, make(play, channel_first=True) as planes:
        assert np.array_equal(planes.reset().obs, pool.reset().obs.transpose(0, 3, 1, 2))
        for action in play.actions():
            frames = pool.step(action).obs
            assert np.array_equal(planes.step(action).obs, frames.transpose(0, 3, 1, 2))


def test_a_difference_in_a_later_block_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The play after that has its own rows, not those that were asked for already."""
    play = Play("coinrun", "easy", num=2, seed=5, steps=20, run=3)
    right = procgen_runs.ours_in_blocks

    def wrong(*arguments: Any, **options: Any) -> Generator[Any]:
        for block in right(*arguments, **options):
            block["reward"][-1, 1] += 1
            yield block

    with monkeypatch.context() as patch:
        patch.setattr(procgen_runs, "ours_in_blocks", wrong)
        with pytest.raises(AssertionError, match=r"step 7, environment 1: .* should be"):
            procgen_runs.assert_same_run(play, 8)
    assert_same_run(play, 8)


# ------------------------------------------------------------------------------------ resets --


def test_a_reset_after_an_end_changes_nothing() -> None:
    """The last row of an episode has the next level already, and so has the row of the reset."""
    play = Play("leaper", "easy", seed=4, steps=250, run=4)
    rows = iter(procgen_player.expected(play))
    row = np.zeros(1, procgen_player.ROW)
    ends = 0
    with make(play, "next_step") as pool:
        result = pool.reset()
        actions = iter(play.actions())
        next(rows)
        for expected in rows:
            if result.terminated[0]:
                before, result = result, pool.step([0])
                assert np.array_equal(result.obs, before.obs) and result.reward[0] == 0
                ends += 1
            result = pool.step(next(actions))
            read(result, row)
            assert_same(row[None], expected[None])
    assert ends


def test_a_reset_within_an_episode_goes_on_to_the_next_level() -> None:
    """The library's own way to end an episode is the action -1."""
    play = Play("coinrun", "easy", num=2, seed=9, steps=20)
    with make(play) as pool:
        levels = [pool.reset().level_seed.copy()]
        # before the first step nothing has begun
        assert np.array_equal(pool.reset().level_seed, levels[0])
        for _ in range(3):
            pool.step([7, 7])
            result = pool.reset()
            assert np.array_equal(result.prev_level_seed, levels[-1])
            levels.append(result.level_seed.copy())
        assert len(np.unique(levels)) == 8
        assert np.array_equal(pool.reset(seed=9).level_seed, levels[0])


# --------------------------------------------------------------------------------- snapshots --


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize(("game", "mode"), thinned(TASKS, 17), ids=str)
def test_a_snapshot_goes_on_as_the_original(game: str, mode: str) -> None:
    """Also from the first row of a level, and after other episodes of the same handle."""
    play = Play(game, mode, num=4, seed=8, steps=400, run=5)
    with make(play) as pool, make(play) as other:
        result = pool.reset()
        other.reset(seed=99)
        for step, action in enumerate(play.actions()):
            if result.terminated.any() or step % 60 == 0:
                other.set_state(pool.get_state())
                for mine, theirs in zip(other.observe(), pool.observe(), strict=True):
                    assert np.array_equal(mine, theirs), step
            result, restored = pool.step(action), other.step(action)
            for mine, theirs in zip(restored, result, strict=True):
                assert np.array_equal(mine, theirs), step


def test_generated_assets_have_no_snapshots() -> None:
    with make(Play("miner", "easy"), use_generated_assets=True) as pool:
        pool.reset()
        with pytest.raises(StateError, match="use_generated_assets=True: there are no snapshots"):
            pool.get_state()


# ---------------------------------------------------------------------------------- pictures --


@pytest.mark.sanitizers
def test_pictures_change_nothing_and_show_the_level() -> None:
    play = Play("coinrun", "easy", num=2, seed=1, steps=40)
    with make(play) as pool, make(play) as plain:
        pool.reset(), plain.reset()
        for action in play.actions():
            first, _ = pool.render()
            assert first.shape == (512, 512, 3)
            result = pool.step(action)
            assert np.array_equal(result.obs, plain.step(action).obs)
        # the large picture, made smaller, is nearly the small one
        small = pool.render()[0].reshape(64, 8, 64, 8, 3).mean((1, 3))
        assert np.abs(small - result.obs[0]).mean() < 12
