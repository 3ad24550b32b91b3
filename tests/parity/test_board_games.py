"""Classic games equal PettingZoo's: their AEC environments, the pool's rows, and pictures."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium.error import UnregisteredEnv
from gymnasium.vector import AutoresetMode
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, seed_test
from pettingzoo.utils.env_logger import EnvLogger

import parallel_pool
from parallel_pool import MissingDependencyError, PoolParallelEnv
from parallel_pool._apis.pettingzoo import single
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from tests.support.agent_arrays import check_order_only
from tests.support.parallel_loop import Loop, sample
from tests.support.same import assert_same
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc/envs/classic")

MODULES = {
    "classic/tictactoe_v3": "pettingzoo.classic.tictactoe.tictactoe",
    "classic/connect_four_v3": "pettingzoo.classic.connect_four.connect_four",
    "classic/rps_v2": "pettingzoo.classic.rps.rps",
}
IDS = list(MODULES)
GRIDS = IDS[:2]
# of rock, paper, scissors
OPTIONS: list[dict[str, Any]] = [
    {"num_actions": 5, "max_cycles": 4},
    {},
    {"max_cycles": 1},
    {"num_actions": 11, "max_cycles": 30},
]


def reference(task_id: str, **options: Any) -> Any:
    return importlib.import_module(MODULES[task_id]).env(**options)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keeps PettingZoo's warnings about illegal moves for the test that wants them."""
    EnvLogger.suppress_output()
    yield
    EnvLogger.unsuppress_output()
    EnvLogger.flush()


def draw(rng: np.random.Generator, mask: Any, illegal: float) -> Any:
    """Returns a legal move, or with some probability an illegal one if there is any."""
    wants = bool(mask.all()) or rng.random() >= illegal
    return rng.choice(np.flatnonzero(mask == wants))


class Pair:
    """PettingZoo's environment and ours, played with the same actions and compared all the time."""

    def __init__(self, task_id: str, illegal: float = 0.0, seed: int = 0, **options: Any) -> None:
        self.theirs = reference(task_id, **options)
        self.ours = single.env(task_id, **options)
        self.rng = np.random.default_rng(seed)
        self.illegal = illegal
        self.where = ""

    def close(self) -> None:
        self.ours.close()

    def compare(self) -> None:
        ours, theirs = self.ours, self.theirs
        names = ("agents", "agent_selection", "rewards", "_cumulative_rewards", "num_agents")
        for name in (*names, "terminations", "truncations", "infos"):
            # numbers compare equal as int and float
            assert getattr(ours, name) == getattr(theirs, name), f"{self.where}: {name}"
        for agent in theirs.possible_agents:
            assert_same(ours.observe(agent), theirs.observe(agent), f"{self.where}: {agent}")
        if theirs.agents:
            mine, *others = ours.last()
            expected, *rest = theirs.last()
            assert_same(mine, expected, self.where)
            assert others == rest, self.where
            assert ours.last(observe=False)[0] is None

    def reset(self) -> None:
        for env in (self.ours, self.theirs):
            env.reset(seed=3, options={"whatever": 1})
        self.compare()

    def choose(self) -> Any:
        """Returns an action of the agent in turn; None if its game is over."""
        seen, _, terminated, truncated, _ = self.theirs.last()
        if terminated or truncated:
            return None
        if not isinstance(seen, dict):
            return self.rng.integers(self.theirs.action_space(self.theirs.agent_selection).n)
        return draw(self.rng, seen["action_mask"], self.illegal)

    def step(self) -> None:
        action = self.choose()
        self.ours.step(action)
        self.theirs.step(action)
        self.compare()

    def play(self) -> tuple[bool, float]:
        """Plays a game until all agents have left; returns whether it was ended by an illegal move,
        and the reward of the first agent."""
        self.reset()
        is_illegal, reward = False, 0.0
        while self.theirs.agents:
            self.step()
            if len(self.theirs.agents) == 2 and any(self.theirs.terminations.values()):
                is_illegal = any(self.theirs.truncations.values())
                reward = next(iter(self.theirs.rewards.values()))
        return is_illegal, reward


# --------------------------------------------------------------------------- games one by one --


@pytest.mark.quick(1, sanitizers=2)
@pytest.mark.parametrize(
    ("task_id", "illegal", "games"),
    [
        ("classic/tictactoe_v3", 0.0, 40),
        ("classic/tictactoe_v3", 0.1, 40),
        ("classic/connect_four_v3", 0.0, 10),
        ("classic/connect_four_v3", 0.3, 20),
        *(
            pytest.param(task_id, illegal, 400, marks=pytest.mark.slow)
            for task_id in GRIDS
            for illegal in (0.0, 0.1)
        ),
    ],
)
def test_games_in_turns_are_identical(task_id: str, illegal: float, games: int) -> None:
    with closing(Pair(task_id, illegal, seed=games)) as pair:
        ends = set()
        for game in range(games):
            pair.where = f"game {game}"
            ends.add(pair.play())
    # both players win; nobody does; both make illegal moves
    assert {(False, 1.0), (False, -1.0)} <= ends
    assert {(True, -1.0), (True, 0.0)} <= ends or not illegal
    assert (False, 0.0) in ends or games < 40 or task_id == GRIDS[1]


@pytest.mark.parametrize("options", thinned(OPTIONS, 2), ids=str)
def test_rounds_are_identical(options: dict[str, Any]) -> None:
    with closing(Pair("classic/rps_v2", **options)) as pair:
        for game in range(4):
            pair.where = f"game {game}"
            pair.play()


def test_a_full_board_without_a_line_is_a_draw() -> None:
    columns = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 2, 3, 2, 3, 2, 3, 3, 2, 3, 2, 3, 2]
    columns += [4, 5, 4, 5, 4, 5, 5, 4, 5, 4, 5, 4, 6, 6, 6, 6, 6, 6]
    with closing(Pair("classic/connect_four_v3")) as pair:
        pair.choose = lambda: next(moves, None)  # type: ignore[method-assign]
        moves = iter(columns)
        pair.reset()
        for move in range(42):
            pair.where = f"move {move}"
            pair.step()
        assert pair.ours.terminations == {"player_0": True, "player_1": True}
        assert pair.ours.rewards == {"player_0": 0, "player_1": 0}
        pair.step()
        pair.step()
        assert pair.ours.agents == []


def test_a_game_may_be_reset_at_any_time() -> None:
    """Also before the agents of a game that an illegal move has ended have left."""
    with closing(Pair("classic/tictactoe_v3", illegal=0.4)) as pair:
        for game in range(30):
            pair.where = f"game {game}"
            pair.reset()
            for _ in range(pair.rng.integers(12)):
                if pair.theirs.agents:
                    pair.step()


@pytest.mark.parametrize("task_id", IDS)
def test_spaces_and_metadata_are_identical(task_id: str) -> None:
    with closing(Pair(task_id)) as pair:
        ours, theirs = pair.ours, pair.theirs
        assert ours.possible_agents == theirs.possible_agents
        assert ours.metadata == theirs.metadata
        assert (str(ours), ours.max_num_agents) == (str(theirs), theirs.max_num_agents)
        assert ours.render_mode is None
        for agent in theirs.possible_agents:
            for name in ("observation_space", "action_space"):
                own, expected = getattr(ours, name)(agent), getattr(theirs, name)(agent)
                assert own == expected and repr(own) == repr(expected)
                assert own is getattr(ours, name)(agent)
                own.seed(5)
                expected.seed(5)
                assert_same(own.sample(), expected.sample(), name)
        for name in ("observation_spaces", "action_spaces"):
            assert getattr(ours.unwrapped, name) == getattr(theirs.unwrapped, name)
        with pytest.raises(AttributeError, match="rewards cannot be accessed before reset"):
            _ = ours.rewards


def test_wrong_actions_change_nothing() -> None:
    with closing(Pair("classic/connect_four_v3")) as pair:
        pair.reset()
        for env in (pair.ours, pair.theirs):
            with pytest.raises(AssertionError, match="not in action space"):
                env.step(7)
            with pytest.raises(AssertionError, match="not in action space"):
                env.step(None)
        with pytest.raises(ValueError, match="action 9 of environment 0 is outside its space"):
            pair.ours.unwrapped.step(9)
        with pytest.raises(ValueError, match="no agent 'player_2': choose one of"):
            pair.ours.observe("player_2")
        pair.compare()
        pair.play()
        pair.reset()
        while not any(pair.theirs.terminations.values()):
            pair.step()
        for env in (pair.ours, pair.theirs):
            with pytest.raises(ValueError, match="the only valid action is None"):
                env.step(0)
        pair.compare()


@pytest.mark.parametrize("action", [True, np.True_])
@pytest.mark.parametrize("task_id", ["classic/connect_four_v3", "classic/tictactoe_v3"])
def test_a_bool_is_no_move(task_id: str, action: Any) -> None:
    """PettingZoo's games raise whatever NumPy raises for such an index."""
    game = single.env(task_id)
    game.reset(seed=0)
    with pytest.raises((TypeError, AssertionError)):
        game.step(action)
    assert game.agent_selection == game.possible_agents[0]
    assert game.last()[0]["action_mask"].all()
    game.close()


def test_an_illegal_move_is_logged_as_pettingzoo_does() -> None:
    logged = []
    for env in (single.env(GRIDS[0]), reference(GRIDS[0])):
        env.reset()
        env.step(4)
        EnvLogger.flush()
        env.step(4)
        logged.append(list(EnvLogger.mqueue))
    assert logged[0] == logged[1] and "Illegal move made" in logged[0][0]


@pytest.mark.parametrize("task_id", IDS)
@pytest.mark.filterwarnings("ignore:Observation numpy array is all zeros")
def test_pettingzoos_own_tests_pass(task_id: str) -> None:
    api_test(single.env(task_id), num_cycles=30)
    seed_test(partial(single.env, task_id), num_cycles=30)
    copy = pickle.loads(pickle.dumps(single.env(task_id)))
    copy.reset()
    assert copy.agent_selection == copy.possible_agents[0]


def test_pettingzoos_test_of_cycles_passes() -> None:
    rps = "classic/rps_v2"
    forms = {"env": single.env, "parallel_env": single.parallel_env}
    max_cycles_test(SimpleNamespace(**{name: partial(make, rps) for name, make in forms.items()}))
    parallel_api_test(single.parallel_env(rps), num_cycles=30)


# ------------------------------------------------------------------------------------- the pool --


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize("task_id", GRIDS)
def test_rows_of_a_pool_are_those_of_the_players(task_id: str) -> None:
    """Each row shows what PettingZoo's environment shows to both players after the same move."""
    rng = np.random.default_rng(6)
    theirs = reference(task_id)
    with Pool(task_id, num_threads=1, autoreset="disabled", reward_dtype="float64") as pool:
        assert list(pool.spec.player_names) == theirs.possible_agents
        ends = set()
        for game in range(25):
            batch = pool.reset()
            theirs.reset()
            move = 0
            while True:
                where = f"game {game}, move {move}"
                for player, agent in enumerate(theirs.possible_agents):
                    seen = theirs.observe(agent)
                    for key in ("observation", "action_mask"):
                        assert_same(getattr(batch, key)[0, player], seen[key], where)
                    assert batch.reward[0, player] == theirs.rewards[agent], where
                ended = any(theirs.terminations.values())
                assert bool(batch.terminated[0]) == ended, where
                assert bool(batch.truncated[0]) == any(theirs.truncations.values()), where
                turn = [agent == theirs.agent_selection for agent in theirs.possible_agents]
                assert batch.live[0].tolist() == ([False, False] if ended else turn), where
                if ended:
                    ends.add((bool(batch.truncated[0]), batch.reward[0, 0]))
                    break
                # the action of the other player does not count
                actions = rng.integers(pool.spec.action.n, size=2)
                mask = theirs.observe(theirs.agent_selection)["action_mask"]
                actions[turn.index(True)] = draw(rng, mask, 0.1)
                theirs.step(actions[turn.index(True)])
                batch = pool.step(actions[np.newaxis])
                move += 1
        assert {(True, -1.0), (True, 0.0), (False, 1.0), (False, -1.0)} <= ends


def rounds(**options: Any) -> Any:
    return importlib.import_module(MODULES["classic/rps_v2"]).parallel_env(**options)


@pytest.mark.parametrize("mode", thinned(list(AutoresetMode), 3), ids=lambda mode: mode.name)
@pytest.mark.parametrize("options", thinned(OPTIONS, 4), ids=str)
def test_rounds_of_many_are_those_of_a_plain_loop(
    options: dict[str, Any], mode: AutoresetMode
) -> None:
    loop = Loop([partial(rounds, **options)] * 3, mode)
    rng = np.random.default_rng(2)
    with PoolParallelEnv("classic/rps_v2", 3, autoreset_mode=mode, **options) as envs:
        assert envs.possible_agents == loop.envs[0].possible_agents
        for agent in envs.possible_agents:
            assert envs.observation_space(agent) == loop.envs[0].observation_space(agent)
            assert envs.action_space(agent) == loop.envs[0].action_space(agent)
        assert_same(envs.reset(seed=1), loop.reset(1), "reset")
        for step in range(40):
            assert_same(envs.live, loop.live(), f"live before step {step}")
            actions = sample(envs, rng)
            assert_same(envs.step(actions), loop.step(actions), f"step {step}")
            over = ~np.any(list(envs.live.values()), axis=0)
            if mode is AutoresetMode.DISABLED and over.any():
                again = envs.reset(seed=step, options={"reset_mask": over.copy()})
                assert_same(again, loop.reset(step, over), f"reset at {step}")


def test_who_moves_is_live_in_many_games() -> None:
    """`PoolParallelEnv` plays games in turns: whoever is not live may send anything."""
    rng = np.random.default_rng(5)
    games = [reference("classic/connect_four_v3") for _ in range(6)]
    with PoolParallelEnv("classic/connect_four_v3", 6) as envs:
        first, second = envs.possible_agents
        observations, _ = envs.reset()
        for game in games:
            game.reset()
        for _ in range(60):
            live = envs.live
            assert not (live[first] & live[second]).any()
            masks = np.where(
                live[first][:, np.newaxis],
                observations[first]["action_mask"],
                observations[second]["action_mask"],
            )
            moves = (masks * rng.random(masks.shape)).argmax(axis=1)
            # -1 is in no space
            actions = {agent: np.where(live[agent], moves, -1) for agent in envs.possible_agents}
            observations, rewards, terminations, truncations, _ = envs.step(actions)
            for i, game in enumerate(games):
                if any(game.terminations.values()):
                    game.reset()
                else:
                    assert live[game.agent_selection][i]
                    game.step(moves[i])
                for agent in game.possible_agents:
                    assert_same(
                        {key: values[i] for key, values in observations[agent].items()},
                        game.observe(agent),
                        agent,
                    )
                    assert rewards[agent][i] == game.rewards[agent]
                    assert terminations[agent][i] == game.terminations[agent]
                    assert truncations[agent][i] == game.truncations[agent]


@pytest.mark.parametrize("task_id", GRIDS)
def test_an_asynchronous_pool_differs_in_order_only(task_id: str) -> None:
    with (
        PoolParallelEnv(task_id, 4) as envs,
        PoolParallelEnv(task_id, 4, batch_size=2) as asynchronous,
    ):
        check_order_only(envs, asynchronous, 20)


def test_actions_outside_the_space_are_refused_before_anything_changes() -> None:
    with Pool("classic/tictactoe_v3", 3, num_threads=1) as pool:
        pool.reset()
        before = pool.get_state()
        for wrong in (9, -1):
            for dtype in (np.int64, np.int8):
                actions = np.array([[0, 0], [0, 0], [wrong, 0]], dtype)
                with pytest.raises(ValueError, match=f"action {wrong} of environment 2 is outside"):
                    pool.step(actions)
        assert pool.get_state() == before
        batch = pool.step(np.array([[0, 0], [1, 1], [2, 2]], np.int8))
        assert np.argwhere(batch.observation[:, 0, ..., 0]).tolist() == [
            [0, 0, 0],
            [1, 0, 1],
            [2, 0, 2],
        ]


# ------------------------------------------------------------------------------------- pictures --


SIZES: dict[str, dict[str, Any]] = {
    "classic/tictactoe_v3": {"screen_height": 101},
    "classic/connect_four_v3": {"screen_scaling": 2},
    "classic/rps_v2": {"screen_height": 150, "num_actions": 5, "max_cycles": 7},
}


@pytest.mark.parametrize("task_id", IDS)
@pytest.mark.parametrize(
    "is_small", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["small", "default"]
)
def test_pictures_are_identical(task_id: str, is_small: bool) -> None:
    options = SIZES[task_id] if is_small else {}
    with closing(Pair(task_id, render_mode="rgb_array", **options)) as pair:
        pair.reset()
        shown = set()
        while True:
            picture = pair.ours.render()
            assert_same(picture, pair.theirs.render(), f"{pair.theirs.agents}")
            shown.add(picture.tobytes())
            if not pair.theirs.agents:
                break
            pair.step()
        assert len(shown) > 5


@pytest.mark.quick(2, sanitizers=5)
@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64, np.array])
@pytest.mark.parametrize("task_id", IDS)
def test_options_are_integers_of_any_type(task_id: str, kind: Any) -> None:
    """But num_actions of rps_v2 is a Python int: PettingZoo's first observations have its type,
    which is not that of their space."""
    name = next(iter(SIZES[task_id]))
    options = {name: kind(SIZES[task_id][name])}
    with closing(Pair(task_id, render_mode="rgb_array", **options)) as pair:
        pair.reset()
        while pair.theirs.agents:
            assert_same(pair.ours.render(), pair.theirs.render(), f"{pair.theirs.agents}")
            pair.step()


@pytest.mark.parametrize("task_id", IDS)
def test_pictures_of_many_games_are_those_of_each(task_id: str) -> None:
    options = SIZES[task_id]
    with (
        PoolParallelEnv(task_id, 3, render_mode="rgb_array", **options) as envs,
        closing(reference(task_id, render_mode="rgb_array", **options)) as theirs,
    ):
        envs.reset()
        theirs.reset()
        for move in (0, 1, 2):
            actions = {agent: np.full(3, move) for agent in envs.possible_agents}
            envs.step(actions)
            # a round takes two steps of PettingZoo's
            for _ in range(2 if task_id == "classic/rps_v2" else 1):
                theirs.step(move)
            pictures, expected = envs.render(), theirs.render()
            assert len(pictures) == 3
            for picture in pictures:
                assert_same(picture, expected, f"move {move}")
        assert_same(envs.pool.render([2])[0], np.ascontiguousarray(expected), "of the pool")
        # when a match is over, its parallel environment has no agents, and shows past rounds only
        if task_id == "classic/rps_v2":
            parallel = rounds(render_mode="rgb_array", **options)
            parallel.reset()
            envs.reset()
            for move in (0, 1, 2, 3, 4, 3, 2):
                envs.step({agent: np.full(3, move) for agent in envs.possible_agents})
                parallel.step(dict.fromkeys(parallel.agents, move))
            assert not parallel.agents
            assert_same(envs.render()[1], parallel.render(), "the end")


@contextmanager
def window_size(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Lists the sizes of the windows that are opened, none of which appears on a screen."""
    import pygame

    opened: list[Any] = []
    monkeypatch.setattr(pygame.display, "init", lambda: None)
    monkeypatch.setattr(pygame.display, "set_caption", lambda title: None)
    monkeypatch.setattr(pygame.display, "update", lambda: None)
    monkeypatch.setattr(pygame.event, "pump", lambda: None)

    def set_mode(size: Any) -> Any:
        opened.append(tuple(map(int, size)))
        return pygame.Surface(size)

    monkeypatch.setattr(pygame.display, "set_mode", set_mode)
    # no second between two moves
    monkeypatch.setattr(pygame.time, "Clock", lambda: SimpleNamespace(tick=lambda fps: None))
    yield opened


@pytest.mark.parametrize(
    ("task_id", "size"), list(zip(IDS, [(101, 101), (198, 172), (53, 150)], strict=True))
)
def test_a_window_opens_and_closes(
    task_id: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with window_size(monkeypatch) as opened:
        env = single.env(task_id, render_mode="human", **SIZES[task_id])
        env.reset()
        env.step(0)
        assert env.render() is None
        env.close()
        assert opened == [size]


def test_without_a_render_mode_nothing_is_drawn() -> None:
    with closing(single.env("classic/rps_v2")) as env:
        env.reset()
        with pytest.warns(UserWarning, match="render_mode='rgb_array'"):
            assert env.render() is None


def test_pictures_need_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame.font", None)
    with Pool("classic/rps_v2") as pool:
        pool.reset()
        with pytest.raises(MissingDependencyError, match=r"'parallel_pool\[pettingzoo,render"):
            pool.render()


# --------------------------------------------------------------------------------------- errors --


@pytest.mark.parametrize(
    ("task_id", "options", "error", "message"),
    [
        ("classic/rps_v2", {"num_actions": 4}, ValueError, "num_actions=4: choose an odd number"),
        ("classic/rps_v2", {"num_actions": 1}, ValueError, "num_actions=1: choose 3 to 1e"),
        ("classic/rps_v2", {"max_cycles": 0}, ValueError, "max_cycles=0: choose 1 to"),
        ("classic/tictactoe_v3", {"size": 4}, TypeError, "no option size: it has screen_height"),
        ("classic/tictactoe_v3", {"screen_height": 0}, ValueError, "screen_height=0: choose 4 to"),
        ("classic/tictactoe_v3", {"render_mode": "ansi"}, ValueError, "'human' or 'rgb_array'"),
        ("classic/tictactoe_v4", {}, UnregisteredEnv, "did you mean classic/tictactoe_v3"),
    ],
)
def test_wrong_arguments_are_named(
    task_id: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        single.env(task_id, **options)


def test_games_have_no_cameras() -> None:
    with pytest.raises(TypeError, match="tictactoe_v3 has no option render_width: it has"):
        parallel_pool.make_gymnasium("classic/tictactoe_v3", render_width=100)


def test_games_in_turns_have_no_parallel_form() -> None:
    for task_id in GRIDS:
        with pytest.raises(ValueError, match=rf"call env\('{task_id}'\) for one game, or PoolPara"):
            single.parallel_env(task_id)


def test_all_classic_games_are_compared() -> None:
    assert {env for env in registry.builtin() if env.startswith("classic/")} == set(IDS)
