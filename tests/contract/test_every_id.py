"""Tests of the contract that every registered environment keeps.

The ids come from the registry, so a new environment is tested without a change here. The tests know
nothing of an environment except its definition: they compare pools whose results must agree.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from parallel_pool import registry
from parallel_pool.errors import ClosedError, StateError
from parallel_pool.pool import Pool
from tests.sampling import sampled

# families whose steps cost a thousand times as much as CartPole's: emulated games and physics
EXPENSIVE = ("ale", "atari", "atari_players", "box2d", "mujoco")
# all Atari games of one API share the code that is tested here: these stand for all
VARIANTS = {"pong", "breakout", "adventure"}
# the older ids of a MuJoCo task are the newest with other options: those of two tasks stand for all
OLDER = re.compile(r"(?!Hopper-|Reacher-).*-v[234]$")
# particle worlds share nearly all of it, too: these differ in spaces, messages and random numbers
WORLDS = {"mpe/simple_tag_v3", "mpe/simple_speaker_listener_v4", "mpe/collect_treasure_v1"}
IDS = sorted(
    id
    for id, found in registry.definitions().items()
    if (not found.variant or found.variant in VARIANTS)
    and not (found.family == "mujoco" and OLDER.match(id))
    and not (found.family == "mpe" and id not in WORLDS)
)
# make check tests one or two ids of each family, and all of the family test
SAMPLED = {
    *("ALE/Pong-v5", "CartPole-v1", "LunarLander-v3", "Pendulum-v1", "Pong-v5", "Reacher-v5"),
    *("atari/pong_v3", "classic/connect_four_v3", "mpe/simple_speaker_listener_v4"),
    *("Blackjack-v1", "Catch-v0", "Taxi-v4"),
}
CASES = sampled(IDS, {env for env in IDS if registry.find(env).family == "test"} | SAMPLED)
# those whose definition has step_many
IN_RUNS = [env for env in IDS if registry.find(env).raw.step_many]
QUICK_RUNS = {
    *("Blackjack-v1", "CartPole-v1", "Catch-v0", "FrozenLake-v1", "NChain-v0", "Taxi-v4"),
    *("classic/tictactoe_v3", "test/Template-v0"),
}
MODES = ("next_step", "same_step", "disabled")
SEED = 11

# a poisoned byte: no bool, no small number, no sensible float
POISON = 0xAB
# columns that contain the number of an environment, and no results
ID_COLUMNS = ("env_id", "players.env_id")
# any 300 steps of these contain the end of an episode, which the tests must have seen
ENDING = {"CartPole-v0", "CartPole-v1", "test/Duel-v0", "test/Heap-v0", "test/Template-v0"} | {
    "classic/tictactoe_v3",
    "classic/connect_four_v3",
    "classic/rps_v2",
    *("FrozenLake-v1", "FrozenLake8x8-v1", "Blackjack-v1", "Catch-v0"),
}
# it counts its calls over all episodes
COUNTING = {"test/Fault-v0"}
# nothing in them is random
CONSTANT = COUNTING | {
    "CliffWalking-v1",
    "atari/pong_v3",
    "classic/tictactoe_v3",
    "classic/connect_four_v3",
    "classic/rps_v2",
}

Row = tuple[bytes, ...]


def is_expensive(env: str) -> bool:
    return registry.find(env).family in EXPENSIVE


class Run:
    """A pool, and the rows that it has returned.

    Each environment has its own sequence of actions. Its next action depends only on how many steps
    it has taken, so its results are the same whatever the others do, and in every autoreset mode.

    Attributes:
        made: for each environment, the rows that it has returned, column by column.
        ends: for each row, whether it ended an episode.
        steps: how many steps each environment has taken.
    """

    def __init__(self, env: str, num_envs: int | None = None, **settings: Any) -> None:
        count = num_envs or (2 if is_expensive(env) else 5)
        extras = {"step_type": True, "discount": True, "players": True, "statistics": True}
        self.pool = Pool(env, count, **{"seed": SEED, **extras, **settings})
        space = self.pool.spec.action_space()
        space.seed(1)
        self.actions = np.stack([space.sample() for _ in range(101)])
        self.steps = np.zeros(count, np.int64)
        self.made: list[list[Row]] = []
        self.ends: list[list[bool]] = []
        self.forget()

    def forget(self) -> None:
        self.made = [[] for _ in range(self.pool.num_envs)]
        self.ends = [[] for _ in range(self.pool.num_envs)]

    def engine(self, batch: tuple[Any, ...], name: str) -> Any:
        """Returns one of the engine's columns, even if an environment's info has the same name."""
        for column, array in zip(self.pool.columns, batch, strict=True):
            if column.name == name and column.field < 0:
                return array
        raise KeyError(name)

    def flags(self, batch: tuple[Any, ...]) -> dict[int, tuple[bool, bool]]:
        """Returns (terminated, truncated) of each environment of a batch."""
        columns = [self.engine(batch, name) for name in ("env_id", "terminated", "truncated")]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {env_id: (terminated, truncated) for env_id, terminated, truncated in rows}

    def action(self, env_ids: Any) -> Any:
        env_ids = np.asarray(env_ids)
        return self.actions[(7 * self.steps[env_ids] + 13 * env_ids) % len(self.actions)]

    def take(self, batch: tuple[Any, ...]) -> tuple[Any, ...]:
        """Adds the rows of a batch to `made`; returns the batch."""
        ended = self.engine(batch, "terminated") | self.engine(batch, "truncated")
        stepped = self.engine(batch, "step_type") != 0
        for row, env_id in enumerate(self.engine(batch, "env_id").tolist()):
            self.made[env_id].append(
                tuple(
                    array[row].tobytes() if ended[row] or not column.is_final else b""
                    for column, array in zip(self.pool.columns, batch, strict=True)
                )
            )
            self.ends[env_id].append(bool(ended[row]))
            self.steps[env_id] += stepped[row]
        return batch

    def step(self, env_ids: Any = None) -> tuple[Any, ...]:
        """Makes one row of every environment, or of each of env_ids.

        With autoreset "disabled" it resets those that need it. Their rows come first.
        """
        pool = self.pool
        ids = np.arange(pool.num_envs) if env_ids is None else env_ids
        if pool.autoreset != "disabled":
            return self.take(pool.step(self.action(ids), env_ids))
        reset = np.array([pool.needs_reset(env_id) for env_id in ids])
        if reset.any():
            pool.send_reset(ids[reset])
        if not reset.all():
            pool.send(self.action(ids[~reset]), ids[~reset])
        return self.take(pool.recv())

    def play(self, rounds: int) -> Run:
        for _ in range(rounds):
            self.step()
        return self

    def play_async(self, rounds: int) -> Run:
        """Plays an unordered pool until at least one environment has this many rows."""
        pool = self.pool
        pool.send_reset()
        for _ in range(pool.num_envs * rounds // pool.batch_size):
            env_ids = self.engine(self.take(pool.recv()), "env_id").copy()
            pool.send(self.action(env_ids), env_ids)
        pool.recv()
        return self

    def without_ids(self, rows: list[Row]) -> list[Row]:
        """Returns rows without the columns that contain the environment's number."""
        keep = [i for i, column in enumerate(self.pool.columns) if column.name not in ID_COLUMNS]
        return [tuple(row[i] for i in keep) for row in rows]


def rounds_for(env: str) -> int:
    return 60 if is_expensive(env) else 300


# ---------------------------------------------------------------------------------- results --


@pytest.mark.parametrize("mode", sampled(MODES, {"same_step"}))
@pytest.mark.parametrize("env", CASES)
def test_results_are_in_their_spaces(env: str, mode: str) -> None:
    run = Run(env, autoreset=mode)
    pool, spec = run.pool, run.pool.spec
    space = spec.observation_space()
    names = [field.name for field in spec.observations]
    seen_ends = 0

    def observation(batch: tuple[Any, ...], row: int, is_final: bool) -> Any:
        values = {
            column.name: array[row]
            for column, array in zip(pool.columns, batch, strict=True)
            if 0 <= column.field < len(names) and column.is_final == is_final
        }
        if names == ["obs"]:
            return values["obs"]
        # a scalar of an array is no ndarray; Gymnasium's Box wants one
        return {name: np.asarray(value)[()] for name, value in values.items()}

    for _ in range(40 if is_expensive(env) else 120):
        batch = run.step()
        assert len(batch) == len(pool.columns)
        for column, array in zip(pool.columns, batch, strict=True):
            assert (array.dtype, array.shape) == (column.dtype, (pool.num_envs, *column.shape))
            assert array.flags.c_contiguous and array.flags.writeable and array.flags.aligned
        for field, column in zip(spec.fields, pool.columns, strict=False):
            players = (spec.num_players,) if field.per_player else ()
            assert (column.name, column.dtype) == (field.name, field.dtype)
            assert column.shape == (*players, *field.shape)
        for row in range(pool.num_envs):
            seen = observation(batch, row, is_final=False)
            assert space.contains(seen), seen
            if mode == "same_step" and run.ends[row][-1]:
                last = observation(batch, row, is_final=True)
                assert space.contains(last), last
            seen_ends += run.ends[row][-1]
    assert seen_ends or env not in ENDING


@pytest.mark.parametrize("batch", ["all", "some"])
@pytest.mark.parametrize("mode", sampled(MODES, {"same_step"}))
@pytest.mark.parametrize("env", CASES)
def test_every_byte_is_defined(env: str, mode: str, batch: str) -> None:
    """A block that is used again shows nothing of what it held, not even what the user wrote."""
    clean, dirty = Run(env, autoreset=mode), Run(env, autoreset=mode)
    rounds, places = (20 if is_expensive(env) else 120), set()
    some = list(range(clean.pool.num_envs - 1))
    clean.step()
    dirty.step()
    for i in range(rounds):
        ours = list(clean.take(partial(clean, some)) if batch == "some" else clean.step())
        theirs = list(dirty.take(partial(dirty, some)) if batch == "some" else dirty.step())
        del ours
        for array in theirs:
            array.view(np.uint8).fill(POISON)
        places.add(theirs[0].ctypes.data)
        del theirs, array
        assert clean.made == dirty.made, f"round {i}"
        clean.forget()
        dirty.forget()
    # blocks have been used again
    assert len(places) < rounds / 2


def partial(run: Run, env_ids: list[int]) -> tuple[Any, ...]:
    """Makes rows of some environments, which lie where rows of others were before."""
    if run.pool.autoreset == "disabled" and any(map(run.pool.needs_reset, env_ids)):
        return run.pool.reset(env_ids)
    return run.pool.step(run.action(env_ids), env_ids)


# --------------------------------------------------------------------------------- episodes --


@pytest.mark.parametrize("env", CASES)
def test_the_autoreset_modes_return_the_same_episodes(env: str) -> None:
    """A mode returns what "disabled" returns when it is reset where that mode resets."""
    limit = 17
    disabled, following, same = (
        Run(env, autoreset=mode, max_episode_steps=limit).play(rounds_for(env))
        for mode in ("disabled", "next_step", "same_step")
    )
    assert following.made == disabled.made
    assert following.ends == disabled.ends

    # same_step: a row has the next episode's first observation and the ended episode's flags
    fields = len(same.pool.spec.fields)
    first_final = [column.is_final for column in same.pool.columns].index(True)
    for env_id, rows in enumerate(same.made):
        expected: list[Row] = []
        history = disabled.made[env_id]
        at = 0
        while at + 1 < len(history):
            ended = disabled.ends[env_id][at]
            fields_now = history[at + 1][:fields] if ended else history[at][:fields]
            final = history[at][:fields] if ended else (b"",) * fields
            expected.append((*fields_now, *history[at][fields:first_final], *final))
            at += 2 if ended else 1
        assert rows[: len(expected)] == expected
        assert sum(same.ends[env_id][: len(expected)]) >= 2


@pytest.mark.parametrize("env", CASES)
def test_disabled_autoreset_refuses_to_step_an_ended_episode(env: str) -> None:
    # some episodes are over after a step, so this limit is the one that all reach together
    run = Run(env, autoreset="disabled", max_episode_steps=1)
    with pytest.raises(StateError, match="reset"):
        run.pool.step(run.action(range(run.pool.num_envs)))
    run.play(2)
    assert all(run.pool.needs_reset(env_id) for env_id in range(run.pool.num_envs))
    with pytest.raises(StateError, match="reset"):
        run.pool.step(run.action([1]), [1])
    assert run.pool.in_flight == 0
    run.play(2)
    # the same as without the refused calls
    assert run.made == Run(env, autoreset="disabled", max_episode_steps=1).play(4).made


@pytest.mark.parametrize("env", CASES)
def test_a_time_limit_truncates_and_terminates_with_both_flags(env: str) -> None:
    """The step that reaches the limit is truncated, and terminated too if its episode ends there.

    All other flags are as without a limit.
    """
    rounds = rounds_for(env)
    free = Run(env, autoreset="disabled", max_episode_steps=0)
    flags: list[list[tuple[bool, bool]]] = [[] for _ in range(free.pool.num_envs)]
    for _ in range(rounds):
        for env_id, pair in free.flags(free.step()).items():
            flags[env_id].append(pair)
    # row 0 is the reset, so the index of a row is the number of its step in the first episode
    lasts = [next((t for t, f in enumerate(of) if any(f)), rounds) for of in flags]
    assert min(lasts) < rounds or env not in ENDING
    for limit in sorted({5, min(lasts) - 1, min(lasts), min(lasts) + 1}):
        if not 0 < limit < rounds:
            continue
        run = Run(env, autoreset="disabled", max_episode_steps=limit)
        assert run.pool.max_episode_steps == limit
        for step in range(limit + 1):
            for env_id, (terminated, truncated) in run.flags(run.step()).items():
                if step <= lasts[env_id]:
                    own = flags[env_id][step]
                    assert (terminated, truncated) == (own[0], own[1] or step == limit)


@pytest.mark.parametrize("env", CASES)
def test_the_default_time_limit_is_that_of_the_definition(env: str) -> None:
    run = Run(env)
    limit = registry.find(env).max_episode_steps
    assert run.pool.max_episode_steps == limit
    assert Run(env, max_episode_steps=0).pool.max_episode_steps is None
    if limit and limit <= 1000 and not is_expensive(env):
        elapsed = max(int(run.engine(run.step(), "elapsed_step").max()) for _ in range(limit + 2))
        assert elapsed <= limit


# -------------------------------------------------------------------------------- snapshots --


@pytest.mark.parametrize("mode", sampled(MODES, {"next_step"}))
@pytest.mark.parametrize("env", CASES)
def test_a_snapshot_restores_an_environment_exactly(env: str, mode: str) -> None:
    """Whatever was played since, and into any environment of this pool or of another."""
    # a limit shorter than any pendulum takes to fall
    limit, rounds, moments = 5, (24 if is_expensive(env) else 50), [0, 1, 2, 5, 6, 7]
    run = Run(env, autoreset=mode, max_episode_steps=limit)
    other = Run(env, autoreset=mode, max_episode_steps=limit, seed=99, num_threads=3).play(14)
    all_ids = np.arange(run.pool.num_envs)
    kept = []
    for at in range(rounds):
        if at in moments:
            shown = run.pool.observe() if at else None
            kept.append((at, run.pool.get_state(), run.steps.copy(), shown))
        run.step()
    history = run.made
    # a snapshot of each kind: never reset, within an episode, and at the end of one
    assert any(ends[at - 1] for ends in run.ends for at in moments[1:])
    assert any(not ends[at - 1] for ends in run.ends for at in moments[1:])

    for at, states, steps, shown in kept:
        for target, env_ids in ((run, all_ids), (run, np.roll(all_ids, 1)), (other, all_ids)):
            target.pool.set_state(states, env_ids)
            assert target.pool.get_state(env_ids) == states
            if shown is not None:
                seen = target.pool.observe(env_ids)
                assert [a.tobytes() for a in seen] == [a.tobytes() for a in shown]
            target.forget()
            for env_id, origin in zip(env_ids, all_ids, strict=True):
                # continue with the origin's actions: 13 and 7 are those of Run.action
                offset = 13 * (origin - env_id) * pow(7, -1, len(target.actions))
                target.steps[env_id] = steps[origin] + offset % len(target.actions)
            length = min(12 if is_expensive(env) else 30, rounds - at)
            target.play(length)
            for env_id, origin in zip(env_ids, all_ids, strict=True):
                expected = run.without_ids(history[origin][at : at + length])
                assert target.without_ids(target.made[env_id]) == expected, f"{at=} {env_id=}"


# ------------------------------------------------------------------------------ determinism --


@pytest.mark.parametrize("env", CASES)
def test_results_depend_on_the_seed_alone(env: str) -> None:
    rounds = 30 if is_expensive(env) else 60
    run = Run(env, seed=SEED).play(rounds)
    count = run.pool.num_envs
    assert Run(env, seed=[SEED + i for i in range(count)]).play(rounds).made == run.made
    # a reset with a seed at any time equals a new pool with that seed
    late = Run(env, seed=5).play(0 if env in COUNTING else 20)
    late.forget()
    late.steps[:] = 0
    late.take(late.pool.reset(seed=SEED))
    assert late.play(rounds - 1).made == run.made

    # environment i is environment 0 of a pool with seed + i
    for i in range(count):
        alone = Run(env, 1, seed=SEED + i)
        alone.actions = np.roll(alone.actions, -13 * i, axis=0)
        alone.play(rounds)
        assert alone.without_ids(alone.made[0]) == run.without_ids(run.made[i])
    others = Run(env, seed=SEED + 1000).play(rounds)
    assert (others.made == run.made) is (env in CONSTANT)
    # without a seed there is fresh entropy
    fresh = [Run(env, seed=None).play(rounds) for _ in range(2)]
    assert (fresh[0].made == fresh[1].made) is (env in CONSTANT)


@pytest.mark.parametrize("mode", sampled(MODES, {"next_step"}))
@pytest.mark.parametrize("env", CASES)
def test_threads_change_nothing(env: str, mode: str) -> None:
    rounds, count = (20, 4) if is_expensive(env) else (60, 11)
    run = Run(env, count, autoreset=mode, num_threads=1, max_episode_steps=13).play(rounds)
    for threads in (2, 3, 4):
        other = Run(env, count, autoreset=mode, num_threads=threads, max_episode_steps=13)
        assert other.play(rounds).made == run.made, f"{threads=}"


@pytest.mark.parametrize("mode", sampled(MODES[:2], {"same_step"}))
@pytest.mark.parametrize("env", CASES)
def test_an_asynchronous_pool_differs_in_order_only(env: str, mode: str) -> None:
    rounds, count = (15, 4) if is_expensive(env) else (40, 11)
    settings = {"autoreset": mode, "max_episode_steps": 13}
    # an environment may run ahead of all others
    expected = Run(env, count, **settings).play(3 * rounds)
    for batch_size, threads in ((1, 1), (2, 2), (3, 3), (count - 1, 4)):
        run = Run(env, count, batch_size=batch_size, num_threads=threads, **settings)
        run.play_async(rounds)
        assert max(map(len, run.made)) >= rounds - 1
        for ours, theirs in zip(run.made, expected.made, strict=True):
            length = min(len(ours), len(theirs))
            assert ours[:length] == theirs[:length], f"{batch_size=} {threads=}"


# ------------------------------------------------------------------------------------- runs --


def play_in_turn(run: Run, rounds: int, direction: int) -> Run:
    """Plays a synchronous pool, whose environments start, and reach a time limit, at three times.

    Only environments with consecutive ids are stepped in runs, so with direction=-1 none are.
    """
    all_ids, some_ended = np.arange(run.pool.num_envs), False
    for at in range(rounds):
        batch = run.step(all_ids[at >= 4 * (all_ids % 3)][::direction])
        ended = run.engine(batch, "terminated") | run.engine(batch, "truncated")
        some_ended |= ended.any() and not ended.all()
    assert some_ended
    return run


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env", sampled(IN_RUNS, QUICK_RUNS))
def test_runs_return_what_single_steps_return(env: str, mode: str) -> None:
    """step_many equals step and observe, whichever environments of a run have just ended."""
    rounds, count = 45, 24
    settings: dict[str, Any] = {"autoreset": mode, "max_episode_steps": 13, "num_threads": 2}
    # an environment of an unordered pool may run ahead of the others
    single = play_in_turn(Run(env, count, **settings), 2 * rounds, -1)
    in_runs = play_in_turn(Run(env, count, **settings), 2 * rounds, 1)
    assert in_runs.made == single.made
    for batch_size in (7, count - 1) if mode != "disabled" else ():
        run = Run(env, count, batch_size=batch_size, **settings).play_async(rounds)
        for ours, theirs in zip(run.made, single.made, strict=True):
            length = min(len(ours), len(theirs))
            assert ours[:length] == theirs[:length], f"{batch_size=}"


# ------------------------------------------------------------------------------------ close --


@pytest.mark.parametrize("env", CASES)
def test_close_ends_all_calls_and_leaves_the_arrays(env: str) -> None:
    run = Run(env)
    batch = run.step()
    before = [array.copy() for array in batch]
    states = run.pool.get_state()
    # with environments in flight, and twice
    run.pool.send(run.action(range(run.pool.num_envs)))
    run.pool.close()
    run.pool.close()
    assert run.pool.closed
    for call in (
        lambda: run.pool.step(run.action(range(run.pool.num_envs))),
        lambda: run.pool.send(run.action([0]), [0]),
        run.pool.recv,
        run.pool.reset,
        run.pool.get_state,
        lambda: run.pool.set_state(states),
        run.pool.observe,
    ):
        with pytest.raises(ClosedError):
            call()
    for array, copy in zip(batch, before, strict=True):
        assert array.tobytes() == copy.tobytes()
        array.view(np.uint8).fill(0)
