"""One particle world with PettingZoo's API equals mpe2's, in turns and in parallel."""

from __future__ import annotations

import copy
import importlib
import pickle
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)
from pettingzoo.test.state_test import state_test
from pettingzoo.utils import conversions

from parallel_pool._engine import registry
from parallel_pool.compat import pettingzoo
from tests.support.same import assert_same
from tests.support.sampling import thinned

IDS = [task_id for task_id in registry.builtin() if task_id.startswith("mpe/")]

# each world once, in the order of IDS, with options that change what it computes
WORLDS: dict[str, dict[str, Any]] = {
    "collect_treasure_v1": {"num_collectors": 8, "num_treasures": 8},
    "simple_v3": {},
    "simple_adversary_v3": {"N": 3, "num_agent_neighbors": None, "num_landmark_neighbors": 2},
    "simple_crypto_v3": {},
    "simple_formation_v1": {"N": 3, "terminate_on_success": True},
    "simple_line_v1": {"N": 1, "terminate_on_success": True},
    "simple_push_v3": {},
    "simple_reference_v3": {"local_ratio": 0.3},
    "simple_speaker_listener_v4": {},
    "simple_spread_v3": {"N": 4, "curriculum": True},
    "simple_tag_v3": {"num_good": 2, "num_adversaries": 6, "terminate_on_success": True},
    "simple_world_comm_v3": {"num_food": 3},
}

# PettingZoo warns of float64 actions, and of those outside the space
pytestmark = [pytest.mark.proven("csrc/envs/mpe"), pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def module_of(task_id: str) -> Any:
    """Returns a world of ours in the form of mpe2's module."""
    return SimpleNamespace(
        env=partial(pettingzoo.env, task_id), parallel_env=partial(pettingzoo.parallel_env, task_id)
    )


def pair(name: str, kind: str, **options: Any) -> tuple[Any, Any]:
    """Returns our world and mpe2's; kind: "env" or "parallel_env"."""
    modules = module_of(f"mpe/{name}"), importlib.import_module(f"mpe2.{name}")
    ours, theirs = (getattr(module, kind)(**options) for module in modules)
    return ours, theirs


def draw(env: Any, agent: str, rng: np.random.Generator) -> Any:
    """Returns a random action: of several types, and some Box actions are outside the space."""
    space = env.action_space(agent)
    if not space.shape:
        kind = rng.choice([int, np.int64, np.uint8, np.array])
        return kind(int(rng.integers(space.n)))
    if rng.random() < 0.1 and space.shape == (5,):
        # mpe2 takes no lists with messages
        return rng.random(5).tolist()
    if rng.random() < 0.1:
        # noise of 0.0 turns it into 0.0
        return np.full(space.shape, -0.0, np.float32)
    values = rng.uniform(*rng.choice([(0, 1), (-0.2, 1.2)]), space.shape)
    return values.astype(rng.choice(["f2", "f4", "f8", "i2", "i4"]))


def compare(ours: Any, theirs: Any, where: str) -> None:
    """Fails unless two dicts, or tuples of dicts, are the same down to the order of their keys."""
    assert_same(ours, theirs, where)
    parts = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
    for one, other in parts:
        assert list(one) == list(other), where


# ------------------------------------------------------------------------ PettingZoo's tests --


# mpe2's own worlds pass all of these tests
@pytest.mark.quick(1)
@pytest.mark.parametrize("task_id", thinned(IDS, 4))
def test_pettingzoos_tests_pass(task_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = module_of(task_id)
    api_test(module.env(), num_cycles=30)
    parallel_api_test(module.parallel_env(), num_cycles=30)
    seed_test(module.env, num_cycles=30)
    parallel_seed_test(module.parallel_env, num_cycles=30)
    max_cycles_test(module)
    state_test(module.env(), module.parallel_env())


@pytest.mark.parametrize("task_id", thinned(IDS, 5))
def test_pettingzoos_test_of_pictures_passes(task_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # "human" would wait for a tenth of a second at each picture
    clock = SimpleNamespace(tick=lambda fps: 0)
    monkeypatch.setattr("pygame.time.Clock", lambda: clock)
    render_test(module_of(task_id).env)


def test_all_worlds_are_compared() -> None:
    assert [f"mpe/{name}" for name in WORLDS] == IDS


# ----------------------------------------------------------------------------- step by step --


@pytest.mark.quick(1)
@pytest.mark.parametrize("is_continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize("name", thinned(WORLDS, 3))
def test_turns_are_identical(name: str, is_continuous: bool) -> None:
    options = {**WORLDS[name], "continuous_actions": is_continuous, "max_cycles": 6}
    rng = np.random.default_rng(len(name))
    ours, theirs = pair(name, "env", benchmark_data=True, **options)
    for seed in (2**33, None):
        for each in (ours, theirs):
            each.reset(seed=seed, options={"unknown": 1})
        steps = 0
        while theirs.agents:
            where = f"seed {seed}, step {steps}"
            same_turn(ours, theirs, where)
            agent = theirs.agent_selection
            over = theirs.terminations[agent] or theirs.truncations[agent]
            action = None if over else draw(theirs, agent, rng)
            # mpe2 changes a scalar in an array
            ours.step(copy.copy(action))
            theirs.step(copy.copy(action))
            steps += 1
        assert ours.agents == []
        assert steps > 2 * len(theirs.possible_agents) or "terminate_on_success" in options
        # nothing but a warning
        ours.step(None)
    ours.close()


def same_turn(ours: Any, theirs: Any, where: str) -> None:
    """Compares all that two games in turns show."""
    assert ours.agent_selection == theirs.agent_selection, where
    assert ours.agents == theirs.agents, where
    assert_same(ours.last(), theirs.last(), where)
    assert_same(ours.last(observe=False), theirs.last(observe=False), where)
    for name in ("rewards", "_cumulative_rewards", "terminations", "truncations", "infos"):
        compare(getattr(ours, name), getattr(theirs, name), f"{where}: {name}")
    for agent in theirs.possible_agents:
        assert_same(ours.observe(agent), theirs.observe(agent), f"{where}: {agent}")
    assert_same(ours.state(), theirs.state(), where)


@pytest.mark.quick(1)
@pytest.mark.parametrize("is_continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize("name", thinned(WORLDS, 3))
def test_parallel_steps_are_identical(name: str, is_continuous: bool) -> None:
    options = {**WORLDS[name], "continuous_actions": is_continuous, "max_cycles": 6}
    rng = np.random.default_rng(len(name))
    ours, theirs = pair(name, "parallel_env", benchmark_data=is_continuous, **options)
    for seed in (7, None):
        compare(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
        while theirs.agents:
            assert ours.agents == theirs.agents
            actions = {agent: draw(theirs, agent, rng) for agent in theirs.agents}
            # a list outside the space is an error in mpe2, too, but after some agents have acted
            results = ours.step(copy.deepcopy(actions)), theirs.step(copy.deepcopy(actions))
            compare(*results, f"seed {seed}")
            assert_same(ours.state(), theirs.state(), "state")
        assert ours.agents == []
        # after the end
        compare(ours.step({}), theirs.step({}), "end")
    ours.close()


@pytest.mark.parametrize("is_continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize("name", thinned(WORLDS, 3))
def test_attributes_are_identical(name: str, is_continuous: bool) -> None:
    options = {**WORLDS[name], "continuous_actions": is_continuous}
    for kind in ("env", "parallel_env"):
        ours, theirs = pair(name, kind, **options)
        assert ours.metadata == theirs.metadata and list(ours.metadata) == list(theirs.metadata)
        assert str(ours) == str(theirs) == name
        assert str(ours.unwrapped) == str(theirs.unwrapped)
        assert ours.render_mode is None
        assert ours.possible_agents == theirs.possible_agents
        assert ours.max_num_agents == theirs.max_num_agents
        assert ours.state_space == theirs.state_space
        for agent in theirs.possible_agents:
            for space in ("observation_space", "action_space"):
                mine = getattr(ours, space)(agent)
                assert mine == getattr(theirs, space)(agent)
                assert mine is getattr(ours, space)(agent)
        ours.reset(seed=1)
        theirs.reset(seed=1)
        assert (ours.agents, ours.num_agents) == (theirs.agents, theirs.num_agents)
        assert ours.unwrapped.observation_spaces == theirs.unwrapped.observation_spaces
        assert ours.unwrapped.action_spaces == theirs.unwrapped.action_spaces
        ours.close()


@pytest.mark.parametrize("is_continuous", [False, True], ids=["discrete", "continuous"])
def test_wrappers_are_those_of_mpe2(is_continuous: bool) -> None:
    ours, theirs = pair("simple_tag_v3", "env", continuous_actions=is_continuous)
    while theirs is not theirs.unwrapped:
        assert type(ours) is type(theirs)
        ours, theirs = ours.env, theirs.env
    assert ours is ours.unwrapped
    game = pettingzoo.parallel_env("mpe/simple_tag_v3")
    # which PettingZoo takes apart again
    assert conversions.parallel_to_aec(game) is game.aec_env
    assert isinstance(game, conversions.ParallelEnv)


def test_stages_of_a_curriculum_are_a_reset_option() -> None:
    """At stage 1 collisions cost something."""
    game = pettingzoo.parallel_env(
        "mpe/simple_spread_v3", N=20, curriculum=True, local_ratio=1.0, max_cycles=2
    )
    costs = []
    for stage in (0, 1):
        game.reset(seed=3, options={"curriculum_stage": stage})
        costs.append(sum(game.step(dict.fromkeys(game.agents, 0))[1].values()))
    assert costs[0] == 0 > costs[1]


def test_results_are_the_callers_own() -> None:
    game = pettingzoo.parallel_env("mpe/simple_tag_v3")
    first, _ = game.reset(seed=1)
    kept = copy.deepcopy(first)
    again = game.aec_env.observe("agent_0")
    again[:] = 9
    game.step(dict.fromkeys(game.agents, 1))
    assert_same(first, kept, "first observations")
    assert not (game.aec_env.observe("agent_0") == 9).any()


@pytest.mark.parametrize("kind", ["env", "parallel_env"])
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))], ids=["copy", "pickle"]
)
def test_copies_are_new_games_with_the_same_options(
    kind: str, copied: Callable[[Any], Any]
) -> None:
    game = getattr(pettingzoo, kind)("mpe/simple_spread_v3", N=2, dynamic_rescaling=False)
    other = copied(game)
    assert other.possible_agents == ["agent_0", "agent_1"]
    for each in (game, other):
        each.reset(seed=4)
    assert_same(other.state(), game.state(), "state")
    other.close()
    assert game.state().shape == (24,)
    game.reset()
