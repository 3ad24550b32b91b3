"""PoolParallelEnv after `pool.set_state`: agents that live, and all results, are the snapshot's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool import PoolParallelEnv
from parallel_pool._engine import base_pool
from parallel_pool._native import lib
from parallel_pool.compat.gymnasium import PendingCallError
from parallel_pool.errors import NotResetError
from tests.apis.pettingzoo.test_agent_failures import Race
from tests.core.test_native_players import GAME
from tests.support.parallel_loop import sample
from tests.support.same import assert_same

MODES = list(AutoresetMode)
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, MODES[-1]
NUM_ENVS = 4
# agents that leave one by one, that act in turn, and that all act until the end
GAMES: dict[str, dict[str, Any]] = {
    GAME: {},
    "classic/tictactoe_v3": {},
    "mpe/simple_spread_v3": {"max_cycles": 3},
}
of_games = pytest.mark.parametrize("task_id", GAMES)


def made(task_id: str, mode: AutoresetMode = NEXT_STEP, **options: Any) -> PoolParallelEnv:
    return PoolParallelEnv(
        task_id, NUM_ENVS, autoreset_mode=mode, **GAMES.get(task_id, {}), **options
    )


def table(envs: PoolParallelEnv) -> Any:
    """Which agents live, bool (n, k)."""
    return np.stack([*envs.live.values()], axis=1)


def play(envs: PoolParallelEnv, steps: int) -> list[tuple[Any, ...]]:
    """Returns of each step the states before it, who lived then, the actions, and its results."""
    rng = np.random.default_rng(2)
    envs.reset(seed=1)
    turns = []
    for _ in range(steps):
        over = ~table(envs).any(1)
        if envs.autoreset_mode is DISABLED and over.any():
            envs.reset(options={"reset_mask": over})
        before = envs.pool.get_state(), table(envs)
        actions = sample(envs, rng)
        turns.append((*before, actions, envs.step(actions)))
    return turns


def check_again(envs: PoolParallelEnv, turns: list[tuple[Any, ...]]) -> None:
    """Plays the steps again, in another order, each from its snapshots."""
    for at in np.random.default_rng(3).permutation(len(turns)).tolist():
        states, live, actions, results = turns[at]
        envs.pool.set_state(states)
        assert_same(table(envs), live, f"live before step {at}")
        assert_same(envs.step(actions), results, f"step {at}")


@of_games
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_steps_go_on_from_snapshots(task_id: str, mode: AutoresetMode) -> None:
    with made(task_id, mode) as envs:
        turns = play(envs, 20)
        # with these modes all agents of a particle world live before each step
        lives = {live.tobytes() for _, live, *_ in turns}
        assert len(lives) > 1 or (task_id.startswith("mpe/") and mode is not NEXT_STEP)
        check_again(envs, turns)


@pytest.mark.slow
def test_steps_of_a_translated_class_go_on_from_snapshots() -> None:
    (race_id,) = parallel_pool.compile(Race)
    with PoolParallelEnv(race_id, 2) as envs:
        envs.reset(seed=1)
        start = envs.pool.get_state()
        actions = {"a": np.ones(2, int), "b": np.ones(2, int)}
        for _ in range(2):
            envs.step(actions)
        late = envs.pool.get_state()
        assert table(envs).tolist() == [[False, True]] * 2
        envs.pool.set_state(start)
        assert table(envs).tolist() == [[True, True]] * 2
        envs.pool.set_state(late[:1], [1])
        assert table(envs).tolist() == [[True, True], [False, True]]
        _, rewards, *_ = envs.step(actions)
        assert rewards["a"].tolist() == [1, 0] and rewards["b"].tolist() == [1, 1]


def test_only_the_environments_named_change() -> None:
    with made(GAME) as envs:
        (first, *_), *turns = play(envs, 9)
        live = [before for _, before, *_ in turns]
        at = next(i for i, before in enumerate(live) if before[2].any() and not before[2].all())
        envs.pool.set_state(turns[at][0])
        envs.pool.clone(2, [0])
        assert_same(table(envs), live[at][[2, 1, 2, 3]], "a clone")
        envs.pool.set_state([first[3]], [3])
        expected = live[at][[2, 1, 2, 3]]
        expected[3] = True
        assert_same(table(envs), expected, "one snapshot")
        # whoever lives must act
        assert envs.agents == envs.possible_agents
        with pytest.raises(ValueError, match="no actions for agent 'player_0', which is live"):
            envs.step({"player_1": [0] * 4, "player_2": [0] * 4})


def test_snapshots_of_an_asynchronous_pool() -> None:
    with made(GAME) as envs:
        turns = play(envs, 9)
    at = next(i for i, turn in enumerate(turns) if not turn[1][0].all() and turn[1][0].any())
    states, live = turns[at][0], turns[at][1][0]
    with made(GAME, batch_size=2, num_threads=1) as envs:
        envs.async_reset(seed=5)
        # two environments are idle now, and the others in flight
        first, _ = envs.recv().env_ids.tolist()
        envs.pool.set_state(states[:1], [first])
        assert_same(table(envs)[first], live, "live")
        chosen = np.where(live, 1, 99)[None]
        envs.send(chosen, [first])
        rows: dict[int, Any] = {}
        while first not in rows:
            arrays = envs.recv()
            rows |= {env_id: arrays.terminations[i] for i, env_id in enumerate(arrays.env_ids)}
            others = arrays.env_ids[arrays.env_ids != first]
            if len(others):
                envs.send(np.zeros((len(others), 3), int), others)
        assert not rows[first][~live].any()


def test_snapshots_before_the_first_reset() -> None:
    with made(GAME) as envs:
        turns = play(envs, 6)
    states, live, actions, results = turns[3]
    with made(GAME) as envs:
        envs.pool.set_state(states[:3], [0, 1, 2])
        assert_same(table(envs), live & (np.arange(4) < 3)[:, None], "live")
        with pytest.raises(NotResetError, match="call reset"):
            envs.step(actions)
        envs.pool.set_state(states[3:], [3])
        assert_same(table(envs), live, "live")
        assert_same(envs.step(actions), results, "step")
        # all have a state, so some may be reset alone
        envs.reset(options={"reset_mask": np.arange(4) < 1})


def test_a_snapshot_that_is_refused_changes_nothing() -> None:
    with made(GAME) as envs:
        turns = play(envs, 6)
        before = table(envs)
        with pytest.raises(ValueError, match=r"snapshot|state"):
            envs.pool.set_state([*turns[0][0][:3], b"nonsense"])
        assert_same(table(envs), before, "live")


def test_rows_that_live_in_a_snapshot_must_be_named_in_a_mask() -> None:
    with made(GAME, DISABLED) as envs:
        rows = envs.as_vector_env()
        rows.reset(seed=0)
        start = envs.pool.get_state()
        terminated = np.zeros(12, bool)
        while not terminated[:3].any():
            _, _, terminated, *_ = rows.step(np.ones(12, int))
        envs.pool.set_state(start)
        some = (np.arange(12) < 3) & ~terminated
        with pytest.raises(ValueError, match="names rows of environment 0, but not row"):
            rows.reset(options={"reset_mask": some})


def test_other_agents_see_the_snapshot() -> None:
    shown: list[Any] = []

    def others(observations: dict[str, Any]) -> dict[str, Any]:
        shown.append(observations["player_0"])
        return dict.fromkeys(observations, np.ones(NUM_ENVS, int))

    with made(GAME) as envs:
        rows = envs.as_vector_env(["player_2"], others)
        rows.reset(seed=1)
        states = envs.pool.get_state()
        for _ in range(2):
            rows.step(np.ones(4, int))
        with pytest.raises(ValueError, match="action 9 of environment 0 is outside"):
            rows.step(np.full(4, 9))
        last, as_it_was = shown[-1], shown[-1].copy()
        envs.pool.set_state(states[:2], [0, 1])
        rows.step(np.ones(4, int))
        assert_same(shown[-1][:2], shown[0][:2], "restored")
        assert_same(shown[-1][2:], as_it_was[2:], "not restored")
        assert not np.array_equal(as_it_was[:2], shown[0][:2])
        assert_same(last, as_it_was, "given before")


# ---------------------------------------------------------------------------------- interrupted --


def test_agents_after_an_interrupted_step_and_a_reset_of_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The others go on from the step whose results were dropped."""

    def interrupted(handle: Any, ids: Any, count: int, data: Any, code: int, *rest: Any) -> int:
        assert lib.pp_pool_send(handle, ids, count, data, code, rest[-1]) == 0
        raise KeyboardInterrupt

    losses = dict.fromkeys(["player_0", "player_1", "player_2"], np.full(NUM_ENVS, 2))
    with made(GAME) as envs, made(GAME) as twin:
        for each in (envs, twin):
            each.reset(seed=3)
            each.step(losses)
        twin.step(losses)
        with monkeypatch.context() as patch:
            patch.setattr(base_pool, "step", interrupted)
            with pytest.raises(KeyboardInterrupt):
                envs.step(losses)
        mask = np.arange(NUM_ENVS) < 1
        results = [each.reset(seed=8, options={"reset_mask": mask.copy()}) for each in (envs, twin)]
        assert_same(results[0], results[1], "reset")
        assert_same(table(envs), table(twin), "live")
        assert not table(envs).all()
        assert_same(envs.step(losses), twin.step(losses), "step")


def test_a_step_after_actions_that_were_not_received_names_reset() -> None:
    losses = dict.fromkeys(["player_0", "player_1", "player_2"], np.full(NUM_ENVS, 2))
    with made(GAME) as envs:
        envs.reset(seed=3)
        envs.pool.send(np.full((NUM_ENVS, 3), 2))
        with pytest.raises(
            PendingCallError, match=r"whose results of 4 .* call reset\(\)"
        ) as caught:
            envs.step(losses)
        assert caught.value.name == "step"
        envs.reset()
        envs.step(losses)


def test_an_asynchronous_pool_draws_no_pictures() -> None:
    with pytest.raises(TypeError, match=r"render_mode='rgb_array': an asynchronous pool \(batch_s"):
        made("mpe/simple_spread_v3", batch_size=2, render_mode="rgb_array")
