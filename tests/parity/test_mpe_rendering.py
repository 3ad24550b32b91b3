"""Pictures of particle worlds equal mpe2's, pixel by pixel."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pygame
import pytest

from parallel_pool import MissingDependencyError, Pool, PoolParallelEnv, PoolVectorEnv, StateError
from parallel_pool._engine.pool import write_state
from parallel_pool._families.mpe_renderer import Renderer
from parallel_pool.compat import pettingzoo
from tests.parity.test_mpe_single import WORLDS, draw
from tests.support.sampling import thinned

pytestmark = [pytest.mark.proven("csrc/envs/mpe"), pytest.mark.filterwarnings("ignore")]

SPEAKERS = {
    "simple_crypto_v3",
    "simple_reference_v3",
    "simple_speaker_listener_v4",
    "simple_world_comm_v3",
}


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def theirs_of(name: str, **options: Any) -> Any:
    return importlib.import_module(f"mpe2.{name}").parallel_env(render_mode="rgb_array", **options)


# ------------------------------------------------------------------------------------ pixels --


@pytest.mark.quick(1)
@pytest.mark.parametrize("is_continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize("name", thinned(WORLDS, 4))
def test_pictures_of_one_game_are_identical(name: str, is_continuous: bool) -> None:
    options = {**WORLDS[name], "continuous_actions": is_continuous, "max_cycles": 9}
    # what speakers say is written in every picture, and other worlds do not depend on the actions
    options["dynamic_rescaling"] = name in SPEAKERS or is_continuous
    ours = pettingzoo.parallel_env(f"mpe/{name}", render_mode="rgb_array", **options)
    theirs = theirs_of(name, **options)
    rng = np.random.default_rng(1)
    for seed in (11, None):
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        for step in range(9):
            if step % 3 == 0:
                picture, expected = ours.render(), theirs.render()
                assert (picture.shape, picture.dtype) == ((700, 700, 3), np.uint8)
                np.testing.assert_array_equal(picture, expected, f"{seed}, step {step}")
                assert np.ptp(picture) > 0
            actions = {agent: draw(theirs, agent, rng) for agent in theirs.agents}
            ours.step({agent: np.array(action) for agent, action in actions.items()})
            theirs.step(actions)
            if not theirs.agents:
                break
    ours.close()


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", thinned(WORLDS, 3))
def test_pictures_of_a_pool_are_identical(name: str) -> None:
    """The pictures after a reset in a step are those of the new episode."""
    options = {**WORLDS[name], "max_cycles": 2}
    options.pop("terminate_on_success", None)
    theirs = [theirs_of(name, **options) for _ in range(3)]
    rng = np.random.default_rng(2)
    with PoolParallelEnv(f"mpe/{name}", 3, render_mode="rgb_array", **options) as ours:
        assert (ours.render_mode, ours.metadata["render_fps"]) == ("rgb_array", 10)
        assert ours.metadata["render_modes"] == ["human", "rgb_array"]
        ours.reset(seed=5)
        for i, each in enumerate(theirs):
            each.reset(seed=5 + i)
        for step in range(5):
            pictures = ours.render()
            for i, each in enumerate(theirs):
                np.testing.assert_array_equal(pictures[i], each.render(), f"{i}, step {step}")
            actions = {
                agent: rng.integers(ours.action_space(agent).n, size=3)
                for agent in ours.possible_agents
            }
            ours.step(actions)
            for i, each in enumerate(theirs):
                if not each.agents:
                    each.reset()
                else:
                    each.step({agent: int(values[i]) for agent, values in actions.items()})


@pytest.mark.slow
def test_pictures_of_collectors_with_treasures_are_identical() -> None:
    """Collectors have the colour of what they hold; treasures that were picked up are missing."""
    options = {"num_collectors": 16, "num_treasures": 30}
    ours = pettingzoo.parallel_env("mpe/collect_treasure_v1", render_mode="rgb_array", **options)
    theirs = theirs_of("collect_treasure_v1", **options)
    ours.reset(seed=8)
    theirs.reset(seed=8)
    holding, fewest = set(), 30
    for _ in range(4):
        for each in (ours, theirs):
            each.step(dict.fromkeys(theirs.agents, 1))
        np.testing.assert_array_equal(ours.render(), theirs.render())
        world = theirs.unwrapped.world
        holding |= {agent.holding for agent in world.agents if agent.collector}
        fewest = min(fewest, sum(treasure.alive for treasure in world.landmarks))
    assert holding == {None, 0, 1} and fewest < 30
    ours.close()


def test_all_forms_of_render_draw_the_same() -> None:
    options = {"render_mode": "rgb_array_list", "dynamic_rescaling": False}
    envs = PoolVectorEnv("mpe/simple_tag_v3", 2, **options)
    envs.reset(seed=3)
    (frame,), _ = envs.render()
    pool = Pool("mpe/simple_tag_v3", 2)
    pool.reset(seed=3)
    # the pool's own pictures have mpe2's default options; at the start nothing is rescaled but by
    # the factor 0.9
    own = pool.render([0])
    assert own.shape == (1, 700, 700, 3) and not np.array_equal(own[0], frame)
    np.testing.assert_array_equal(Renderer(pool).draw(0), own[0])
    flat = Renderer(pool, dynamic_rescaling=False)
    np.testing.assert_array_equal(flat.draw(0), frame)
    # a snapshot holds all that a picture shows
    pool.step(np.full((2, 4), 1))
    before = pool.render([0])
    (snapshot,) = pool.get_state([0])
    pool.set_state([snapshot], [1])
    np.testing.assert_array_equal(pool.render([1]), before)
    envs.close()
    pool.close()


def test_human_mode_shows_every_step_in_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[int] = []
    monkeypatch.setattr("pygame.time.Clock", lambda: SimpleNamespace(tick=ticks.append))
    shown = pettingzoo.env("mpe/simple_reference_v3", render_mode="human")
    drawn = pettingzoo.env("mpe/simple_reference_v3", render_mode="rgb_array")
    for game in (shown, drawn):
        game.reset(seed=2)
        for action in (7, 31, 12):
            game.step(action)
    assert ticks == [10] * 3
    window = pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)
    np.testing.assert_array_equal(window, drawn.render())
    assert shown.render() is None
    shown.close()
    assert not pygame.display.get_init()
    # the end of one window is not the end of another game's pictures
    np.testing.assert_array_equal(drawn.render(), window)
    drawn.close()


def test_a_pool_in_human_mode_shows_its_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[int] = []
    monkeypatch.setattr("pygame.time.Clock", lambda: SimpleNamespace(tick=ticks.append))
    with PoolParallelEnv("mpe/simple_v3", 3, render_mode="human") as envs:
        envs.reset(seed=0)
        envs.step({"agent_0": np.ones(3, int)})
        assert ticks == [10] * 6
        assert pygame.display.get_surface().get_size() == (700, 700)
    assert not pygame.display.get_init()


def test_pictures_outlive_the_end_of_pygame() -> None:
    """mpe2 ends all of pygame when one of its worlds is closed."""
    game = pettingzoo.parallel_env("mpe/simple_reference_v3", render_mode="rgb_array")
    game.reset(seed=1)
    first = game.render()
    pygame.quit()
    np.testing.assert_array_equal(game.render(), first)
    pygame.quit()
    theirs = theirs_of("simple_reference_v3")
    np.testing.assert_array_equal(game.render(), first)
    theirs.close()


def test_pictures_leave_mpe2_as_it_is() -> None:
    """mpe2's worlds share one dict of metadata, into which each new world writes its name."""
    theirs = theirs_of("simple_push_v3")
    ours = pettingzoo.parallel_env("mpe/simple_tag_v3", render_mode="rgb_array")
    ours.reset(seed=0)
    ours.render()
    assert str(theirs) == "simple_push_v3" and str(ours) == "simple_tag_v3"


# ------------------------------------------------------------------------------------ errors --


def test_without_mpe2_only_pictures_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpe2", None)
    monkeypatch.delitem(sys.modules, "mpe2.simple_v3", raising=False)
    game = pettingzoo.parallel_env("mpe/simple_v3")
    game.reset()
    game.step({"agent_0": 1})
    with pytest.raises(MissingDependencyError, match=r"mpe2\.simple_v3.*pip install mpe2"):
        pettingzoo.parallel_env("mpe/simple_v3", render_mode="rgb_array")
    with PoolParallelEnv("mpe/simple_v3", 2, render_mode="rgb_array") as envs:
        envs.reset(seed=0)
        with pytest.raises(MissingDependencyError, match="pip install mpe2"):
            envs.render()
        envs.step({"agent_0": np.zeros(2, int)})


def test_wrong_drawing_options_are_named() -> None:
    with pytest.raises(ValueError, match="render_mode='ansi': choose 'human' or 'rgb_array'"):
        pettingzoo.env("mpe/simple_v3", render_mode="ansi")
    with pytest.raises(TypeError, match="dynamic_rescaling=1 is an int: give True or False"):
        pettingzoo.env("mpe/simple_v3", dynamic_rescaling=1)
    with pytest.raises(ValueError, match="render_mode='depth_array'"):
        PoolParallelEnv("mpe/simple_v3", 2, render_mode="depth_array")
    with Pool("mpe/simple_v3") as pool, pytest.raises(ValueError, match="mode='ansi'"):
        Renderer(pool, "ansi")


def test_room_of_a_wrong_size_is_refused() -> None:
    pool = Pool("mpe/simple_v3")
    view = np.zeros(20)
    with pytest.raises(StateError):
        write_state(pool, 0, view.ctypes.data)
    pool.reset(seed=1)
    view[0] = 20
    with pytest.raises(ValueError, match="room for 20 numbers, and the world has 10"):
        write_state(pool, 0, view.ctypes.data)
    assert not view[1:].any()
    pool.close()
