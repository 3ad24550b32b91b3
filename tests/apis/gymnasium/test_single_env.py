"""Wrong use of one game with PettingZoo's API: named exceptions, and nothing is changed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from gymnasium.error import UnregisteredEnv

from parallel_pool.compat.pettingzoo import env, parallel_env
from parallel_pool.errors import ClosedError, MissingDependencyError, StateError
from tests.support.same import assert_same

# PettingZoo warns of actions outside the space
pytestmark = pytest.mark.filterwarnings("ignore")

TAG = "mpe/simple_tag_v3"
SPEAKER = "mpe/simple_speaker_listener_v4"

Change = Any


@pytest.mark.parametrize("make", [env, parallel_env])
@pytest.mark.parametrize(
    ("task_id", "options", "error", "match"),
    [
        ("mpe/simple_tag_v2", {}, UnregisteredEnv, "did you mean mpe/simple_tag_v3"),
        ("nothing", {}, UnregisteredEnv, "no environment 'nothing'"),
        (3, {}, TypeError, "task_id=3 is an int: give a string"),
        ("CartPole-v1", {}, ValueError, "CartPole-v1 is not a game of PettingZoo: choose one of"),
        (TAG, {"speed": 2}, TypeError, "speed"),
        (TAG, {"num_threads": 2}, TypeError, "num_threads"),
        (TAG, {"max_cycles": 0}, ValueError, "max_cycles=0: choose 1 to"),
        (TAG, {"num_agent_neighbors": 0}, ValueError, "choose 1 or more, or None for all"),
        (TAG, {"continuous_actions": 1}, TypeError, "continuous_actions=1 is an int"),
        (TAG, {"render_mode": "rgb"}, ValueError, "render_mode='rgb': choose"),
    ],
)
def test_wrong_arguments_are_named(
    make: Any, task_id: Any, options: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        make(task_id, **options)


@pytest.mark.parametrize("make", [env, parallel_env])
def test_without_pettingzoo_the_cure_is_named(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "pettingzoo.utils", raising=False)
    for name in ("parallel_game", "particle_game"):
        monkeypatch.delitem(sys.modules, f"parallel_pool._apis.pettingzoo.{name}", raising=False)
    with pytest.raises(MissingDependencyError, match=r"pip install 'parallel_pool\[pettingzoo\]'"):
        make(TAG)


def test_calls_before_the_first_reset_are_refused() -> None:
    game = env(TAG)
    calls = (lambda: game.step(0), game.render, game.state, lambda: game.observe("agent_0"))
    for call in calls:
        with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before"):
            call()
    with pytest.raises(AttributeError, match="agents cannot be accessed before reset"):
        game.agents  # noqa: B018
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before step"):
        parallel_env(TAG).step({})
    with pytest.raises(StateError, match="reset"):
        env(TAG, render_mode="rgb_array").unwrapped.render()


def state_of(game: Any) -> Any:
    """Returns all that a game in turns shows."""
    names = ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos")
    return [getattr(game, name) for name in names] + [game._cumulative_rewards, game.state()]


# by a function of the actions that are right: actions that are not
DISCRETE: list[tuple[Change, type[Exception], str]] = [
    (lambda right: {**right, "agent_0": 5}, AssertionError, "not in action space: 5 of 'agent_0'"),
    (lambda right: {**right, "agent_0": None}, AssertionError, "not in action space: None"),
    (lambda right: {**right, "agent_0": 1.0}, AssertionError, "not in action space: 1.0"),
    (lambda right: {**right, "agent_7": 0}, ValueError, "there is no agent 'agent_7': choose of"),
    (lambda right: {"adversary_0": 1}, KeyError, "no action for agent 'adversary_1'"),
    (lambda right: {}, KeyError, "no action for agent 'adversary_0'"),
    (lambda right: [1, 1, 1, 1], TypeError, "actions are a list: give a dict"),
    (lambda right: None, TypeError, "actions are a NoneType: give a dict"),
]
CONTINUOUS: list[tuple[Change, type[Exception], str]] = [
    (lambda right: {**right, "agent_0": np.full(5, np.nan)}, AssertionError, "nan action"),
    (lambda right: {**right, "agent_0": np.zeros(4)}, AssertionError, r"should have shape \(5,\)"),
    (lambda right: {**right, "agent_0": None}, TypeError, "'agent_0' is None: give an array"),
    (lambda right: {**right, "agent_0": [2.0] * 5}, TypeError, "give an array of shape"),
    (lambda right: {**right, "agent_0": np.zeros(5, bool)}, TypeError, "dtype bool: give floats"),
    (lambda right: {**right, "agent_0": np.zeros(5, "O")}, TypeError, "dtype object: give floats"),
    (lambda right: {**right, "agent_0": 1}, TypeError, "'agent_0' is 1: give an array"),
]
WRONG = [(False, *case) for case in DISCRETE] + [(True, *case) for case in CONTINUOUS]


@pytest.mark.parametrize(("is_continuous", "change", "error", "match"), WRONG)
def test_wrong_parallel_actions_step_no_agent(
    is_continuous: bool, change: Change, error: type[Exception], match: str
) -> None:
    games = [parallel_env(TAG, continuous_actions=is_continuous) for _ in range(2)]
    right: dict[str, Any] = {}
    for game in games:
        game.reset(seed=1)
        action = np.full(5, 0.25, np.float32) if is_continuous else 2
        right = dict.fromkeys(game.agents, action)
        game.step(right)
    used, other = games
    with pytest.raises(error, match=match):
        used.step(change(right))
    assert_same(state_of(used.aec_env), state_of(other.aec_env), "after the error")
    assert_same(used.step(right), other.step(right), "next step")


@pytest.mark.parametrize(
    ("is_continuous", "action", "error"),
    [
        (False, 5, AssertionError),
        (False, None, AssertionError),
        (False, "left", AssertionError),
        (True, np.full(5, np.nan), AssertionError),
        (True, np.zeros(6), AssertionError),
        (True, None, TypeError),
        (True, np.zeros(5, bool), TypeError),
    ],
)
@pytest.mark.parametrize("turn", [0, 3])
def test_wrong_actions_in_turns_change_nothing(
    turn: int, is_continuous: bool, action: Any, error: type[Exception]
) -> None:
    """Neither in the middle of a round nor at its end, where the world steps."""
    used, other = games = [env(TAG, continuous_actions=is_continuous) for _ in range(2)]
    right = np.full(5, 0.5, np.float32) if is_continuous else 1
    for game in games:
        game.reset(seed=1)
        for _ in range(turn):
            game.step(right)
    with pytest.raises(error):
        used.step(action)
    for game in games:
        game.step(right)
    assert_same(state_of(used), state_of(other), "next step")


@pytest.mark.parametrize(
    ("is_continuous", "action", "error", "match"),
    [
        (False, 3, ValueError, r"'speaker_0' is 3: choose from Discrete\(3\)"),
        (False, None, ValueError, "'speaker_0' is None"),
        (True, np.full(3, 1.5), ValueError, "choose from Box"),
        (True, np.zeros(5), ValueError, "choose from Box"),
        (True, np.full(3, np.nan), ValueError, "choose from Box"),
        (True, np.zeros(3, "u1"), TypeError, "give an array of floats"),
    ],
)
def test_a_game_without_wrappers_checks_actions_itself(
    is_continuous: bool, action: Any, error: type[Exception], match: str
) -> None:
    game = env(SPEAKER, continuous_actions=is_continuous).unwrapped
    game.reset(seed=1)
    before = game.state()
    with pytest.raises(error, match=match):
        game.step(action)
    assert game.agent_selection == "speaker_0"
    np.testing.assert_array_equal(game.state(), before)


def test_steps_after_the_end() -> None:
    """As in PettingZoo: agents that have ended take None, and then steps do nothing."""
    game = env(SPEAKER, max_cycles=1)
    game.reset(seed=1)
    game.step(0)
    game.step(0)
    assert all(game.truncations.values())
    with pytest.raises(ValueError, match="the only valid action is None"):
        game.step(0)
    assert game.agents == ["speaker_0", "listener_0"]
    game.step(None)
    game.step(None)
    assert game.agents == []
    game.step(0)
    assert game.agents == []

    parallel = parallel_env(SPEAKER, max_cycles=1)
    parallel.reset(seed=1)
    actions = dict.fromkeys(parallel.agents, 0)
    parallel.step(actions)
    # actions of agents whose episode is over are ignored
    for late in (actions, {}):
        assert all(result == {} for result in parallel.step(late))
    with pytest.raises(ValueError, match="there is no agent 'alice'"):
        parallel.step({"alice": 1})
    parallel.reset()
    assert parallel.agents == ["speaker_0", "listener_0"]


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"seed": -1}, ValueError, "-1"),
        ({"seed": 1.5}, TypeError, "1.5"),
        ({"options": [1]}, TypeError, r"options=\[1\] is a list: give a dict"),
        ({"options": {"curriculum_stage": 9}}, ValueError, "curriculum_stage=9: choose 0 to 2"),
    ],
)
def test_wrong_resets_change_nothing(
    arguments: dict[str, Any], error: type[Exception], match: str
) -> None:
    game = env(TAG)
    game.reset(seed=1)
    game.step(1)
    before = state_of(game)
    with pytest.raises(error, match=match):
        game.reset(**arguments)
    assert_same(state_of(game), before, "after the error")


def test_a_closed_game_is_refused() -> None:
    for make, action in ((env, 0), (parallel_env, {"speaker_0": 0, "listener_0": 0})):
        game = make(SPEAKER, render_mode="rgb_array")
        game.reset(seed=1)
        before = game.state()
        game.close()
        game.close()
        calls = (lambda: game.step(action), game.reset, game.render)  # noqa: B023
        for call in calls:
            with pytest.raises(ClosedError, match="clos"):
                call()
        # as in mpe2, what was seen last stays
        np.testing.assert_array_equal(game.state(), before)


@pytest.mark.filterwarnings("default")
def test_render_without_a_render_mode_warns() -> None:
    game = env(SPEAKER)
    game.reset()
    with pytest.warns(UserWarning, match="simple_speaker_listener_v4 draws nothing"):
        assert game.render() is None
