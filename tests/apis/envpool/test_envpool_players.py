"""EnvPool's API where not all players act: rows of those that do, and last rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from pettingzoo.classic import tictactoe_v3

import parallel_pool
from parallel_pool import Pool, make_dm, make_gym, make_gymnasium, make_spec
from parallel_pool.errors import EnvError, StateError
from tests.support.envpool_cases import equal
from tests.support.same import assert_same

TURNS, DROPS, BOARD = "test/Turns-v0", "test/Elimination-v0", "classic/connect_four_v3"
SPREAD = "mpe/simple_spread_v3"
GAMES = [TURNS, DROPS, BOARD]
NUM_ENVS = 5


class Ledger:
    """Selects rows of players from the arrays of a `Pool`, one player after another."""

    def __init__(self, pool: Pool) -> None:
        self.fields = {field.name: field for field in pool.spec.fields}
        self.names = [field.name for field in pool.spec.fields]
        self.per_player = {field.name for field in pool.spec.fields if field.per_player}
        self.seen = [field.name for field in pool.spec.observations]
        self.players = pool.spec.num_players
        self.owed: dict[tuple[int, int], float] = {}
        self.over: set[tuple[int, int]] = set()
        # how often a player's rewards of several steps came in one row, and a player had no row
        self.sums = self.gaps = 0

    def rows(self, batch: Any) -> dict[str, Any]:
        """Returns the expected arrays of a result by name."""
        found: dict[str, list[Any]] = {name: [] for name in (*self.per_player, *self.extra())}
        for row, env in enumerate(batch.env_id.tolist()):
            done = batch.terminated[row] or batch.truncated[row]
            for player in range(self.players):
                self.add_row(found, batch, row, (env, player), done)
        single = [name for name in self.names if name not in self.per_player]
        return {
            **{name: self.array(name, rows) for name, rows in found.items()},
            **{name: getattr(batch, name) for name in single},
        }

    def array(self, name: str, rows: list[Any]) -> Any:
        if rows or name in self.extra():
            return np.array(rows, np.float32 if name == "reward" else None)
        return np.zeros((0, *self.fields[name].shape), self.fields[name].dtype)

    @staticmethod
    def extra() -> tuple[str, ...]:
        return "reward", "players.env_id", "players.id"

    def add_row(self, found: Any, batch: Any, row: int, who: tuple[int, int], done: bool) -> None:
        player = who[1]
        if batch.elapsed_step[row] == 0:
            self.owed[who] = 0.0
            self.over.discard(who)
        before = self.owed[who]
        self.owed[who] += float(batch.reward[row, player])
        live = bool(batch.live[row, player]) and not done
        ends = done
        if "ended" in self.names:
            ends = bool(self.own(batch, "ended")[row, player]) or done
        is_last = ends and who not in self.over
        if live or is_last:
            for name in self.per_player:
                found[name].append(live if name == "live" else self.own(batch, name)[row, player])
            for name, value in zip(
                self.extra(), (np.float32(self.owed[who]), who[0], player), strict=True
            ):
                found[name].append(value)
            self.sums += before != 0 and batch.reward[row, player] != 0
            self.owed[who] = 0.0
        else:
            self.gaps += 1
        if is_last and not live:
            self.over.add(who)

    def own(self, batch: Any, name: str) -> Any:
        """Returns the environments' own column, which may have the name of an engine's."""
        return batch[self.names.index(name)]


def flat(step: Any) -> dict[str, Any]:
    """Returns the arrays of a result by the names that `Ledger` has."""
    observation, reward, _, _, info = step
    found = dict(observation) if isinstance(observation, dict) else {"obs": observation}
    found |= {key: value for key, value in info.items() if key not in ("players", "elapsed_step")}
    found |= {f"players.{key}": value for key, value in info["players"].items()}
    return found | {"reward": reward}


def compare(step: Any, expected: Mapping[str, Any], batch: Any) -> None:
    found = flat(step)
    for name, array in expected.items():
        own = found[name] if name in found else found[f"players.{name}"]
        np.testing.assert_array_equal(own, array, name)
        assert own.dtype == array.dtype or name.startswith("players."), name
    np.testing.assert_array_equal(step[2], batch[batch._fields.index("reward") + 1])
    np.testing.assert_array_equal(found["env_id"], batch.env_id)
    assert found["players.env_id"].dtype == found["players.id"].dtype == np.int32


def table(pool: Pool, rng: np.random.Generator) -> Any:
    """Returns an action for each player of each environment."""
    field = pool.spec.action
    shape = (pool.num_envs, pool.spec.num_players, *field.shape)
    if field.dtype.kind == "f":
        return rng.uniform(-1, 1, shape).astype(np.float32)
    return rng.integers(0, field.n, shape)


def sent(step: Any, actions: Any, rng: np.random.Generator, num_envs: int) -> Iterator[Any]:
    """Yields the actions of a table in all forms that a step accepts."""
    players = step[4]["players"]
    owners, ids, live = players["env_id"], players["id"], players["live"]
    rows = actions[owners, ids]
    yield rows
    yield rows[live]
    # the players of an environment in order, but environments mixed
    order = np.argsort(rng.permutation(num_envs)[owners], kind="stable")
    yield {"action": rows[order], "players": {"env_id": owners[order]}}
    order = order[live[order]]
    yield {"action": rows[order], "players.env_id": owners[order]}
    order = rng.permutation(len(rows))
    yield {
        "action": rows[order],
        "players": {"env_id": owners[order], "id": ids[order]},
        "env_id": rng.permutation(num_envs),
    }
    order = order[live[order]]
    yield {"action": rows[order], "players.env_id": owners[order], "players.id": ids[order]}


@pytest.mark.quick(1)
@pytest.mark.parametrize("game", GAMES)
def test_rows_are_those_of_players_that_act(game: str) -> None:
    rng = np.random.default_rng(0)
    counts = set()
    with Pool(game, NUM_ENVS, seed=range(NUM_ENVS)) as plain:
        ledger = Ledger(plain)
        with make_gymnasium(game, num_envs=NUM_ENVS, seed=0) as pool:
            batch = plain.reset()
            observation, info = pool.reset()
            step = observation, np.zeros(len(info["players"]["id"])), batch.terminated, None, info
            expected = ledger.rows(batch)
            for number in range(60):
                if number:
                    compare(step, expected, batch)
                actions = table(plain, rng)
                forms = list(sent(step, actions, rng, NUM_ENVS))
                chosen = forms[number % len(forms)]
                ids = chosen.get("env_id") if isinstance(chosen, dict) else None
                step = pool.step(chosen)
                batch = plain.step(actions if ids is None else actions[ids], ids)
                expected = ledger.rows(batch)
                counts.add(len(step[4]["players"]["id"]))
    assert ledger.gaps > 30 and len(counts) > 1
    assert (ledger.sums > 20) == (game == TURNS)


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize("game", GAMES)
def test_an_asynchronous_pool_has_the_rows_of_a_synchronous_one(game: str) -> None:
    rng = np.random.default_rng(3)
    rounds = 25
    with (
        Pool(game, NUM_ENVS, seed=range(NUM_ENVS)) as plain,
        make_gymnasium(game, num_envs=NUM_ENVS, batch_size=2, num_threads=2, seed=0) as pool,
    ):
        actions = [table(plain, rng) for _ in range(rounds)]
        ledger = Ledger(plain)
        batches = [plain.reset(), *(plain.step(each) for each in actions)]
        expected = [ledger.rows(batch) for batch in batches]
        pool.async_reset()
        steps = np.zeros(NUM_ENVS, int)
        while steps.min() < rounds:
            result = flat(step := pool.recv())
            ids, owners, players = (
                result[name] for name in ("env_id", "players.env_id", "players.id")
            )
            for row, env in enumerate(ids.tolist()):
                theirs = expected[steps[env]] if steps[env] <= rounds else {}
                for name, array in theirs.items():
                    found = result[name] if name in result else result[f"players.{name}"]
                    if name in ledger.per_player or name in ledger.extra():
                        own = theirs["players.env_id"] == env
                        np.testing.assert_array_equal(found[owners == env], array[own], name)
                    else:
                        assert found[row] == array[env], name
            at = np.minimum(steps[owners], rounds - 1)
            rows = np.array([actions[s][e, p] for s, e, p in zip(at, owners, players, strict=True)])
            live = step[4]["players"]["live"]
            steps[ids] += 1
            if steps.sum() % 2:
                pool.send(rows.reshape(len(rows), *plain.spec.action.shape), ids)
            else:
                # environments that no row names are named by env_id
                owned = {"action": rows[live], "players.env_id": owners[live]}
                pool.send({**owned, "env_id": ids})


def test_a_board_game_is_played_as_in_pettingzoo() -> None:
    """Rows are what PettingZoo's `last` returns to each agent at its turn."""
    rng = np.random.default_rng(1)
    reference = tictactoe_v3.env()
    reference.reset()
    results = set()
    with make_gymnasium("classic/tictactoe_v3", num_envs=1) as pool:
        observation, info = pool.reset()
        reward, done = np.zeros(1), False
        for _ in range(12):
            while not done:
                (player,) = info["players"]["id"].tolist()
                assert reference.agent_selection == f"player_{player + 1}"
                seen, earned, *_ = reference.last()
                for name, array in observation.items():
                    np.testing.assert_array_equal(array[0], seen[name])
                assert reward.tolist() == [earned]
                move = int(rng.choice(np.flatnonzero(seen["action_mask"])))
                observation, reward, terminated, truncated, info = pool.step([move])
                reference.step(move)
                done = bool(terminated[0] or truncated[0])
            assert info["players"]["id"].tolist() == [0, 1] and not info["players"]["live"].any()
            assert reward.tolist() == [reference.rewards[agent] for agent in reference.agents]
            results.add(tuple(reward.tolist()))
            # the step that resets takes no action
            observation, reward, *_, info = pool.step(np.zeros(0, int))
            reference.reset()
            done = False
    assert len(results) == 3


def test_players_that_never_acted_have_a_last_row() -> None:
    with make_gymnasium(TURNS, num_envs=1, max_episode_steps=2) as pool:
        for _ in range(3):
            pool.step(np.zeros((0, 2)))
            pool.step(np.full((1, 2), 0.25))
            _, reward, _, truncated, info = pool.step(np.full((1, 2), 0.5))
            assert truncated.all() and info["players"]["id"].tolist() == [0, 1, 2]
            # player 0 got its reward in the first step, after which it had no row
            assert reward.tolist() == [0.25, 0.5, 0.5]


# -------------------------------------------------------------------------------- resets, snapshots


def test_resets_of_some_environments_return_their_rows() -> None:
    with make_gymnasium(TURNS, num_envs=3, seed=0) as pool:
        pool.reset()
        pool.step(np.full((3, 2), 0.5))
        *_, info = pool.step(np.full((3, 2), 0.5))
        assert info["players"]["id"].tolist() == [2, 2, 2]
        _, info = pool.reset([2, 0])
        assert info["players"]["id"].tolist() == [0, 0]
        assert info["players"]["env_id"].tolist() == [2, 0]
        _, reward, *_, info = pool.step(np.full((3, 2), 0.25))
        assert info["players"]["id"].tolist() == [1, 1]
        # those of the bank's turn in environment 1 come later
        assert reward.tolist() == [0.25, 0.25]
        assert info["players"]["env_id"].tolist() == [0, 2]


def test_a_first_step_is_a_reset_and_ignores_actions() -> None:
    for rows in (0, 6):
        with make_gym(TURNS, num_envs=2) as pool:
            _, reward, *_, info = pool.step(np.full((rows, 2), np.nan))
            assert info["elapsed_step"].tolist() == [0, 0] and reward.tolist() == [0, 0]
            with pytest.raises(ValueError, match="not finite"):
                pool.step(np.full((2, 2), np.nan))


def marks_of(pool: Any) -> Any:
    """Returns bools (3, k) of environment 0's k players: shown, live, ended.

    A snapshot ends with them and with what players are owed, k float64 numbers.
    """
    (state,), players = pool.get_state([0]), pool.config["max_num_players"]
    record = state[-(3 + 8) * players :]
    return np.frombuffer(record, np.bool_, 3 * players).reshape(3, players)


def test_snapshots_hold_what_players_are_owed() -> None:
    def played(pool: Any, steps: int) -> list[Any]:
        found = []
        for _ in range(steps):
            players = pool.config["max_num_players"]
            rows = {"action": np.full((players, 2), 0.5), "env_id": [0]}
            owners, numbers = np.zeros(players, int), np.arange(players)
            live = marks_of(pool)[1]
            rows["action"] = rows["action"][live]
            found.append(
                pool.step({**rows, "players.env_id": owners[live], "players.id": numbers[live]})
            )
        return found

    with make_gymnasium(TURNS, num_envs=3, seed=4) as pool, make_gymnasium(TURNS) as other:
        pool.reset()
        played(pool, 2)
        states = pool.get_state([0])
        pool.clone(0, [2])
        expected = played(pool, 9)
        assert any(len(step[1]) == 0 for step in expected)
        pool.set_state(states, [0])
        assert equal(tuple(played(pool, 9)), tuple(expected))
        other.set_state(states)
        assert equal(tuple(played(other, 9)), tuple(expected))
        pool.set_state(pool.get_state([2]), [0])
        assert equal(tuple(played(pool, 9)), tuple(expected))
        with Pool(TURNS, 1) as plain:
            plain.reset()
            with pytest.raises(ValueError, match=r"states\[0\] does not say which players act"):
                pool.set_state(plain.get_state(), [1])
        with pytest.raises(TypeError, match="give bytes"):
            pool.set_state([3], [1])
        with pytest.raises(TypeError, match="states=3"):
            pool.set_state(3, [1])
        with pytest.raises(ValueError, match="1 states for 3 environments"):
            pool.set_state(states)
        pool.send(np.zeros((1, 2)), [1])
        with pytest.raises(StateError, match="in flight"):
            pool.set_state(states, [1])


def test_a_forged_record_of_players_does_no_harm() -> None:
    """Bools that are neither 0 nor 1 would make NumPy count more players than there are."""
    with make_gymnasium(TURNS, num_envs=2, seed=4) as pool:
        pool.reset()
        (state,) = pool.get_state([0])
        players = pool.config["max_num_players"]
        begin = len(state) - (3 + 8) * players
        forged = state[:begin] + b"\x07" * (3 * players) + state[begin + 3 * players :]
        pool.set_state([forged], [0])
        assert marks_of(pool).view(np.uint8).tolist() == [[1] * players] * 3
        assert marks_of(pool)[1].all()


def test_a_failed_environment_has_no_rows() -> None:
    with make_gymnasium(TURNS, num_envs=2, seed=0, fail_at=2) as pool:
        _, info = pool.reset([0])
        for _ in range(2):
            *_, info = pool.step(np.ones((1, 2)), [0])
        pool.reset([1])
        with pytest.raises(EnvError, match="environment 0 failed") as caught:
            pool.step(np.ones((2, 2)))
        _, reward, _, _, info = caught.value.batch
        assert info["env_id"].tolist() == [0, 1] and info["players"]["env_id"].tolist() == [1]
        assert len(reward) == 1
        # its next step resets it
        *_, info = pool.step(np.ones((1, 2)))
        assert info["elapsed_step"].tolist() == [0, 2]


# ----------------------------------------------------------------------------------- wrong actions


def owned(owners: Any, rows: int | None = None, **more: Any) -> dict[str, Any]:
    count = len(owners) if rows is None else rows
    return {"action": np.zeros((count, 2)), "players.env_id": owners, **more}


def numbered(owners: Any, players: Any, **more: Any) -> dict[str, Any]:
    return {**owned(owners), "players.id": players, **more}


# player 1 acts in environment 0, player 0 in the others; environment 2 is over, with 3 last rows
WRONG: list[tuple[Any, type[Exception], str]] = [
    (np.zeros((3, 2)), ValueError, "3 actions for 3 environments: give one for each of the 2 play"),
    (np.zeros((2, 3)), ValueError, r"action has shape \(2, 3\): give rows of shape \(2,\)"),
    (np.zeros(()), ValueError, r"action has shape \(\)"),
    (owned([0]), ValueError, r"environment 1 has 0 actions: .* that act, \[0\], or .*, \[0\]"),
    (owned([0, 1, 1]), ValueError, "environment 1 has 2 actions"),
    (owned([0, 1, 2]), ValueError, r"environment 2 has 1 actions: .*, \[\], or .*, \[0, 1, 2\]"),
    (owned([0, 1], 3), ValueError, r"players.env_id has shape \(2,\): give one value for each of"),
    (owned([0.0, 1.0]), TypeError, "players.env_id has dtype float64: give integers"),
    (owned([0, 3]), ValueError, "players.env_id has env_id 3: choose 0 to 2"),
    (owned([0, 1], env_id=[0]), ValueError, r"names environment 1, env_id \[0\]: name the same"),
    (owned([0, 1], env_id=[0, 0]), ValueError, "name an environment twice"),
    (owned([0, 1], env_id=[0, 7]), ValueError, "env_id 7: choose 0 to 2"),
    (owned([0, 1], env_id=[0.5, 1]), TypeError, "env_ids have dtype float64: give integers"),
    (numbered([0, 1], [0, 0]), ValueError, r"player 0 of environment 0 does not act: .*\[1\]"),
    (numbered([0, 1], [1, 3]), ValueError, "players.id has 3: choose 0 to 2"),
    (numbered([0, 1], [1]), ValueError, r"players.id has shape \(1,\)"),
    (numbered([0, 1], ["a", "b"]), TypeError, "players.id has dtype <U1: give integers"),
    (numbered([0], [1]), ValueError, "player 0 of environment 1 acts and has no action"),
    (numbered([0, 0, 1], [1, 1, 0]), ValueError, "player 1 of environment 0 has 2 actions"),
    ({"action": np.zeros((2, 2)), "players.id": [1, 0]}, TypeError, "without players.env_id"),
    (np.full((2, 2), np.nan), ValueError, "environment 0 is not finite"),
    ([["a", "b"]] * 2, TypeError, "dtype"),
]


@pytest.mark.quick(12)
@pytest.mark.parametrize(("action", "error", "match"), WRONG)
def test_wrong_actions_change_nothing(action: Any, error: type[Exception], match: str) -> None:
    with (
        make_gymnasium(TURNS, num_envs=3, seed=0) as pool,
        make_gymnasium(TURNS, num_envs=3, seed=0) as same,
    ):
        for each in (pool, same):
            each.reset()
            *_, info = each.step(np.zeros((1, 2)), [0])
            while not (info["env_id"] == 2).any() or info["players"]["live"].any():
                rows = 0 if info["env_id"][0] == 2 and not len(info["players"]["id"]) else 1
                *_, info = each.step(np.zeros((rows, 2)), [2])
                if info["elapsed_step"][0] in (3, 4) and len(info["players"]["id"]) == 0:
                    *_, info = each.step(np.zeros((0, 2)), [2])
            assert info["players"]["id"].tolist() == [0, 1, 2]
        with pytest.raises(error, match=match):
            pool.step(action)
        right = owned([1, 0])
        assert_same(pool.step(right), same.step(right), "step")


def test_wrong_actions_of_an_asynchronous_pool() -> None:
    with make_gymnasium(TURNS, num_envs=3, batch_size=2) as pool:
        pool.async_reset()
        *_, info = pool.recv()
        with pytest.raises(TypeError, match=r"asynchronous pool .* needs env_id"):
            pool.step(np.zeros((2, 2)))
        with pytest.raises(ValueError, match="1 actions for 2 environments"):
            pool.send(np.zeros((1, 2)), info["env_id"])
        # without env_id, the environments of the rows
        owners = info["players"]["env_id"]
        pool.send({"action": np.zeros((2, 2)), "players.env_id": owners})
        with pytest.raises(StateError, match="in flight"):
            pool.send(np.zeros((2, 2)), info["env_id"])


# ------------------------------------------------------------------------------------ other players


def test_players_that_all_act_may_be_numbered() -> None:
    config = {"num_envs": 3, "seed": 0}
    with (
        make_gymnasium("test/Duel-v0", **config) as pool,
        make_gymnasium("test/Duel-v0", **config) as other,
    ):
        pool.reset()
        other.reset()
        moves = np.array([1, 0, 0, 2, 2, 1])
        order = np.array([4, 1, 2, 3, 0, 5])
        owners, players = np.repeat(np.arange(3), 2)[order], np.tile([0, 1], 3)[order]
        found = {"action": moves[order], "players": {"env_id": owners, "id": players}}
        assert equal(pool.step(found), other.step(moves))
        for wrong, error, match in (
            ([0, 0, 1, 1, 1, 1], ValueError, "give each of its players 0 to 1 one action"),
            ([0.0] * 6, TypeError, "players.id has dtype float64"),
            ([0], ValueError, r"players.id has shape \(1,\), players.env_id \(6,\)"),
        ):
            with pytest.raises(error, match=match):
                pool.step({**found, "players": {"env_id": owners, "id": wrong}})
        with pytest.raises(TypeError, match="id is given without"):
            pool.step({"action": moves, "players.id": players})
        assert equal(pool.step(moves), other.step(moves))


def test_particle_worlds_have_a_row_for_each_player() -> None:
    with (
        parallel_pool.make(SPREAD, env_type="gymnasium", num_envs=4, seed=0) as pool,
        Pool(SPREAD, 4, seed=range(4)) as plain,
    ):
        assert pool.config["max_num_players"] == 3
        assert pool.observation_space.shape == (18,) and "players.id" not in str(pool.spec)
        first, info = pool.reset()
        np.testing.assert_array_equal(first, plain.reset().obs.reshape(12, 18))
        assert list(info["players"]) == ["env_id"]
        assert info["players"]["env_id"].tolist() == np.repeat(range(4), 3).tolist()
        rng = np.random.default_rng(2)
        for _ in range(30):
            actions = rng.integers(0, 5, (4, 3))
            observation, reward, terminated, truncated, info = pool.step(actions.reshape(12))
            batch = plain.step(actions)
            np.testing.assert_array_equal(observation, batch.obs.reshape(12, 18))
            np.testing.assert_array_equal(reward, batch.reward.reshape(12))
            assert reward.dtype == np.float32
            np.testing.assert_array_equal(terminated, batch.terminated)
            np.testing.assert_array_equal(truncated, batch.truncated)


def test_time_steps_have_a_row_for_each_player() -> None:
    with make_dm(TURNS, num_envs=2, seed=0) as pool:
        step = pool.reset()
        assert step.reward.shape == (6,) and step.observation.seen.shape == (6, 2)
        assert step.observation.players.live.tolist() == [True, False, False] * 2
        step = pool.step(np.zeros((6, 2)))
        assert step.observation.players.live.tolist() == [False, True, False] * 2


def test_specs_name_the_numbers_of_players() -> None:
    spec = make_spec(TURNS)
    assert spec.config.max_num_players == 3
    assert spec.state_array_spec["info:players.id"].maximum == 2
    assert spec.state_array_spec["obs:seen"].shape == [-1, 2]
    assert list(spec.action_array_spec) == ["env_id", "players.env_id", "players.id", "action"]
