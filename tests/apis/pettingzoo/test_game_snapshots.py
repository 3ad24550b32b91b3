"""Single games after `pool.set_state`: they go on as they went on from that state before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool.compat import pettingzoo
from tests.apis.pettingzoo.test_agent_failures import Race
from tests.support.same import assert_same

GAMES: dict[str, dict[str, Any]] = {
    "classic/connect_four_v3": {},
    "classic/tictactoe_v3": {},
    "classic/rps_v2": {"max_cycles": 4},
    "mpe/simple_spread_v3": {"max_cycles": 3},
}
of_games = pytest.mark.parametrize("task_id", GAMES)


def shown(game: Any) -> Any:
    """All that the agents are shown, without the rewards, which no snapshot has."""
    seen = {agent: game.observe(agent) for agent in game.possible_agents}
    ends = dict(game.terminations), dict(game.truncations)
    return game.agent_selection, list(game.agents), seen, *ends


def chosen(game: Any, rng: np.random.Generator) -> Any:
    """An action of the selected agent, one that is allowed."""
    seen = game.observe(game.agent_selection)
    space = game.action_space(game.agent_selection)
    mask = seen["action_mask"] if isinstance(seen, dict) else np.ones(space.n)
    return rng.choice(np.flatnonzero(mask))


def play(game: Any, rng: np.random.Generator) -> Iterator[Any]:
    """Yields of each step before which all agents have the same turns behind them: the state, what
    is shown, the actions of the next steps, and what is shown then, with the rewards."""
    task_id = game.unwrapped.pool.definition.id
    in_turn = task_id.startswith("classic/") and task_id != "classic/rps_v2"
    while not any(game.terminations.values()) and not any(game.truncations.values()):
        (state,) = game.unwrapped.pool.get_state()
        before, actions, after = shown(game), [], []
        for _ in range(1 if in_turn else len(game.possible_agents)):
            actions.append(chosen(game, rng))
            game.step(actions[-1])
            after.append((shown(game), dict(game.rewards)))
        yield state, before, actions, after


@of_games
def test_a_game_in_turns_goes_on_from_snapshots(task_id: str) -> None:
    rng = np.random.default_rng(2)
    with closing(pettingzoo.env(task_id, **GAMES[task_id])) as game:
        game.reset(seed=1)
        turns = list(play(game, rng))
        (end,) = game.unwrapped.pool.get_state()
        assert len(turns) > 2
        # the last of them is over, the first is not
        for at in [*range(len(turns)), *np.random.default_rng(3).permutation(len(turns)).tolist()]:
            state, before, actions, after = turns[at]
            game.unwrapped.pool.set_state([state])
            assert_same(shown(game), before, f"before step {at}")
            assert set(game.rewards.values()) == {0.0}
            for action, expected in zip(actions, after, strict=True):
                game.step(action)
                assert_same((shown(game), dict(game.rewards)), expected, f"after step {at}")
        game.unwrapped.pool.set_state([end])
        # all agents leave
        for _ in game.possible_agents:
            *_, terminated, truncated, _ = game.last()
            assert terminated or truncated
            game.step(None)
        assert game.agents == []


def test_a_game_of_a_translated_class_goes_on_from_snapshots() -> None:
    (race_id,) = parallel_pool.compile(Race)
    with closing(pettingzoo.parallel_env(race_id)) as game:
        game.reset(seed=1)
        turns = []
        while game.agents:
            states, agents = game.pool.get_state(), game.agents
            actions = dict.fromkeys(agents, 1)
            turns.append((states, agents, actions, game.step(actions)))
        end = game.pool.get_state()
        assert [agents for _, agents, *_ in turns] == [["a", "b"]] * 2 + [["b"]] * 2
        for states, agents, actions, results in reversed(turns):
            game.pool.set_state(states)
            assert game.agents == agents
            assert_same(game.step(actions), results, "step")
        game.pool.set_state(turns[0][0])
        game.pool.set_state(end)
        assert game.agents == []


def test_a_snapshot_ends_a_round_in_which_one_has_chosen() -> None:
    game = pettingzoo.env("classic/rps_v2", render_mode="rgb_array", screen_height=60)
    with closing(game):
        game.reset(seed=1)
        states, before = game.unwrapped.pool.get_state(), game.render()
        game.step(1)
        assert not np.array_equal(game.render(), before)
        game.unwrapped.pool.set_state(states)
        assert_same(game.render(), before, "picture")
        assert game.agent_selection == game.possible_agents[0]
