"""A policy and its environments in turns: the bits of a plain loop, and what exceptions leave."""

from __future__ import annotations

import copy
import itertools
import pickle
import signal
import threading
import weakref
from collections.abc import Callable
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import NoAsyncCallError
from gymnasium.vector import AsyncVectorEnv

import parallel_pool
from parallel_pool._apis.turns import policy_loop, trial
from parallel_pool._engine.trees import map_leaves
from parallel_pool.errors import ClosedError, EnvError, ForkedError, NotResetError
from parallel_pool.turns import PolicyLoop, Turn
from tests.support.forked import in_child
from tests.support.same import assert_same

N = 5
Make = Callable[[range], Any]


def maker(task_id: str = "CartPole-v1", **options: Any) -> Make:
    return lambda rows: parallel_pool.make_vec(task_id, len(rows), **options)


def balance(observations: Any) -> Any:
    """Acts by each row alone, so that episodes end at different times."""
    return (observations[:, 2] > 0).astype(np.int64)


def swing(observations: Any) -> Any:
    return np.tanh(observations[:, :6]).astype(np.float32)


def constant(observations: Any) -> Any:
    return np.full(len(observations), 2)


def of_row(infos: Any, row: int) -> dict[str, Any]:
    """Returns the infos of one environment, those that it has."""
    return {
        key: of_row(value, row) if isinstance(value, dict) else value[row]
        for key, value in infos.items()
        if not key.startswith("_") and infos.get(f"_{key}", [True] * N)[row]
    }


def assert_same_as_plain(make: Make, policy: Any, depth: int, steps: int) -> None:
    """Compares every turn with the step of a plain loop, for the same seeds."""
    with PolicyLoop(make, N, policy, depth=depth) as loop:
        plain = make(range(N))
        loop.reset(seed=7)
        observations, _ = plain.reset(seed=7)
        turns = loop.play(steps)
        for step in range(steps):
            actions = policy(observations)
            received, *others, infos = plain.step(actions)
            ended = 0
            for turn in itertools.islice(turns, depth):
                where, rows = f"step {step}, {turn.rows}", turn.rows
                assert rows.start == ended
                ended = rows.stop
                own = (turn.observations, turn.actions, turn.next_observations)
                expected = (observations, actions, received)
                assert_same(own, map_leaves(lambda a, rows=rows: a[rows], expected), where)
                parts = (turn.rewards, turn.terminations, turn.truncations)
                assert_same(parts, tuple(each[rows] for each in others), where)
                for row in range(rows.stop - rows.start):
                    mine = of_row(turn.infos, row)
                    theirs = of_row(infos, rows.start + row)
                    assert_same(mine, theirs, f"{where}, infos", ordered=False)
            assert ended == N
            observations = received
        assert next(turns, None) is None
        plain.close()


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_turns_have_the_bits_of_a_plain_loop(depth: int) -> None:
    assert_same_as_plain(maker(), balance, depth, 60)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "policy"),
    [
        (maker("HalfCheetah-v5"), swing),
        (maker("ALE/Pong-v5"), constant),
        (maker(autoreset_mode="SameStep"), balance),
        (maker(backend="process", num_workers=1), balance),
        (maker(backend="process", num_workers=0), balance),
    ],
    ids=["mujoco", "atari", "same_step", "workers", "no_workers"],
)
def test_other_environments_have_the_bits_of_a_plain_loop(make: Make, policy: Any) -> None:
    assert_same_as_plain(make, policy, 2, 30)


@pytest.mark.slow
def test_gymnasiums_own_workers_can_take_turns() -> None:
    def make(rows: range) -> Any:
        return AsyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * len(rows))

    assert_same_as_plain(make, balance, 2, 20)


def test_several_plays_are_one_long_play() -> None:
    found = []
    for parts in ([9], [2, 0, 3, 4]):
        with PolicyLoop(maker(), N, balance, depth=2) as loop:
            loop.reset(seed=1)
            found.append([turn for part in parts for turn in loop.play(part)])
            assert not any(envs.pool.in_flight for envs in loop.chunks)
    assert len(found[0]) == 18
    assert_same([tuple(turn) for turn in found[1]], [tuple(turn) for turn in found[0]], "turns")


def played(interrupt: Callable[[PolicyLoop], list[Turn]]) -> None:
    """Compares the turns of an interrupted loop, and 4 steps more, with those of 10 steps."""
    with PolicyLoop(maker(), N, balance, depth=2) as loop:
        loop.reset(seed=3)
        expected = list(loop.play(10))
        loop.reset(seed=3)
        found = interrupt(loop)
        while len(found) < 20:
            found += loop.play(1)
        assert not any(envs.pool.in_flight for envs in loop.chunks)
    for i, (turn, other) in enumerate(zip(found, expected, strict=False)):
        assert_same(tuple(turn), tuple(other), f"turn {i}")


def test_leaving_early_loses_nothing() -> None:
    def leave(loop: PolicyLoop) -> list[Turn]:
        found: list[Turn] = []
        for count in (1, 2, 5):
            found += itertools.islice(loop.play(9), count)
        assert sum(envs.pool.in_flight for envs in loop.chunks) == N
        return found

    played(leave)


@pytest.mark.parametrize("call", range(1, 8))
def test_a_policy_that_raises_loses_nothing(call: int) -> None:
    """It is asked again for the same observations."""

    def fail(loop: PolicyLoop) -> list[Turn]:
        policy, calls, asked = loop.policy, itertools.count(1), []

        def fails_once(observations: Any) -> Any:
            asked.append(observations)
            if next(calls) == call:
                raise KeyError("policy")
            return policy(observations)

        loop.policy = fails_once
        found: list[Turn] = []
        with pytest.raises(KeyError, match="policy"):
            for turn in loop.play(10):
                found.append(turn)
        found += loop.play(2)
        np.testing.assert_array_equal(asked[call], asked[call - 1])
        return found

    played(fail)


def test_wrong_actions_lose_nothing() -> None:
    def give_wrong(loop: PolicyLoop) -> list[Turn]:
        policy, calls = loop.policy, itertools.count(1)
        loop.policy = lambda seen: policy(seen) + 9 * (next(calls) == 4)
        found: list[Turn] = []
        with pytest.raises(ValueError, match="action"):
            for turn in loop.play(10):
                found.append(turn)
        return found

    played(give_wrong)


def interrupted(loop: PolicyLoop, name: str, call: int, *, before: bool) -> list[Turn]:
    """Plays until Ctrl-C comes right before or after a call of the second chunk's environments."""
    envs = loop.chunks[1]
    real, calls = getattr(envs, name), itertools.count(1)

    def interrupts(*arguments: Any) -> Any:
        is_now = next(calls) == call
        if is_now and before:
            signal.raise_signal(signal.SIGINT)
        result = real(*arguments)
        if is_now:
            signal.raise_signal(signal.SIGINT)
        return result

    setattr(envs, name, interrupts)
    found: list[Turn] = []
    with pytest.raises(KeyboardInterrupt):
        for turn in loop.play(10):
            found.append(turn)
    return found


@pytest.mark.parametrize("call", [1, 2, 5])
@pytest.mark.parametrize("before", [True, False])
def test_ctrl_c_around_a_send_loses_nothing(call: int, before: bool) -> None:
    played(lambda loop: interrupted(loop, "step_async", call, before=before))


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_nothing_is_in_flight_after_a_play_that_follows_ctrl_c(steps: int) -> None:
    """It came when the second chunk had a turn and stepped again."""

    def interrupt(loop: PolicyLoop) -> list[Turn]:
        found = interrupted(loop, "step_async", 2, before=False)
        found += loop.play(steps)
        assert len(found) == 1 + 2 * steps
        assert not any(envs.pool.in_flight for envs in loop.chunks)
        return found

    played(interrupt)


@pytest.mark.parametrize("call", [1, 2, 5])
def test_ctrl_c_during_a_wait_loses_nothing(call: int) -> None:
    played(lambda loop: interrupted(loop, "step_wait", call, before=True))


def test_a_result_that_ctrl_c_has_lost_is_no_secret() -> None:
    """It comes between two instructions of Python; the next play must not step without saying."""
    with PolicyLoop(maker(), N, balance, depth=2) as loop:
        loop.reset(seed=3)
        interrupted(loop, "step_wait", 2, before=False)
        with pytest.raises(NoAsyncCallError):
            list(loop.play(1))
        with pytest.raises(NotResetError):
            list(loop.play(1))
        loop.reset(seed=3)
        assert len(list(loop.play(2))) == 4


@pytest.mark.parametrize("name", ["step_async", "step_wait"])
@pytest.mark.parametrize("before", [True, False])
def test_a_reset_after_ctrl_c(name: str, before: bool) -> None:
    with PolicyLoop(maker(), N, balance, depth=2) as loop:
        loop.reset(seed=3)
        expected = [tuple(turn) for turn in loop.play(3)]
        interrupted(loop, name, 2, before=before)
        loop.reset(seed=3)
        assert_same([tuple(turn) for turn in loop.play(3)], expected, "turns")


def test_after_failed_environments_a_reset_is_needed() -> None:
    class Fails(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(0, 1, (1,))
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **_: Any) -> Any:
            super().reset(seed=_.get("seed"))
            return np.zeros(1, np.float32), {}

        def step(self, action: Any) -> Any:
            if action:
                raise RuntimeError("planted")
            return np.zeros(1, np.float32), 0.0, False, False, {}

    def make(rows: range) -> Any:
        return parallel_pool.PoolVectorEnv([Fails] * len(rows), num_workers=0)

    fails = threading.Event()

    def policy(observations: Any) -> Any:
        chosen = np.zeros(len(observations), np.int64)
        chosen[0] = fails.is_set() and loop.rows.start > 0
        return chosen

    with PolicyLoop(make, 4, policy, depth=2) as loop:
        loop.reset(seed=1)
        assert len(list(loop.play(2))) == 4
        fails.set()
        with pytest.raises(RuntimeError, match="planted"):
            list(loop.play(2))
        fails.clear()
        with pytest.raises(NotResetError, match=r"2 to 3 .*reset\(\) first"):
            list(loop.play(2))
        loop.reset(seed=1)
        assert [turn.rows.start for turn in loop.play(2)] == [0, 2, 0, 2]
        # a reset drops a turn that fails, too
        fails.set()
        next(loop.play(2))
        fails.clear()
        loop.reset(seed=1)
        assert [turn.rows.start for turn in loop.play(2)] == [0, 2, 0, 2]


def test_a_reset_drops_turns_in_flight() -> None:
    with PolicyLoop(maker(), N, balance, depth=2) as loop:
        loop.reset(seed=1)
        expected = [tuple(turn) for turn in loop.play(3)]
        next(loop.play(3))
        loop.reset(seed=1)
        assert_same([tuple(turn) for turn in loop.play(3)], expected, "turns")


def test_seeds_are_one_for_each_environment() -> None:
    with PolicyLoop(maker(), 4, balance, depth=2) as loop:
        loop.reset(seed=[9, 8, 7, 6])
        seen = np.concatenate([turn.observations for turn in loop.play(1)])
        envs = parallel_pool.make_vec("CartPole-v1", 4)
        np.testing.assert_array_equal(seen, envs.reset(seed=[9, 8, 7, 6])[0])
        envs.close()
        with pytest.raises(ValueError, match="3 seeds for 4"):
            loop.reset(seed=[1, 2, 3])


@pytest.mark.parametrize("depth", [2, 3])
def test_other_chunks_step_while_the_policy_decides(depth: int) -> None:
    """And while the caller has a turn; only the first and the last turns find others idle."""

    def in_flight(besides: int) -> int:
        others = [envs for envs in loop.chunks if envs is not loop.chunks[besides]]
        return sum(envs.pool.in_flight > 0 for envs in others)

    def policy(observations: Any) -> Any:
        during_policy.append(in_flight(loop.rows.start // 2))
        return balance(observations)

    during_policy: list[int] = []
    with PolicyLoop(maker(), 2 * depth, policy, depth=depth) as loop:
        loop.reset(seed=1)
        during_turns = [in_flight(turn.rows.start // 2) for turn in loop.play(4)]
    others = depth - 1
    assert during_policy == [*range(others), *[others] * (3 * depth + 1)]
    assert during_turns == [*[others] * (3 * depth + 1), *reversed(range(others))]


def test_extras_and_rows_of_a_policy() -> None:
    def policy(observations: Any) -> Any:
        rows.append(loop.rows)
        return balance(observations), {"values": observations[:, 0]}

    rows: list[slice] = []
    with PolicyLoop(maker(), N, policy, depth=2) as loop:
        loop.reset(seed=1)
        for turn in loop.play(3):
            np.testing.assert_array_equal(turn.extras["values"], turn.observations[:, 0])
    assert rows == [slice(0, 2), slice(2, 5)] * 3


def test_tuple_actions_are_no_extras() -> None:
    class Pair(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(0, 1, (1,))
        action_space = gymnasium.spaces.Tuple(
            (
                gymnasium.spaces.Discrete(2),
                gymnasium.spaces.Dict(one=gymnasium.spaces.Discrete(2)),
            )
        )

        def reset(self, **_: Any) -> Any:
            super().reset(seed=_.get("seed"))
            return np.zeros(1, np.float32), {}

        def step(self, action: Any) -> Any:
            return np.zeros(1, np.float32), float(action[1]["one"]), False, False, {}

    def policy(observations: Any) -> Any:
        ones = np.ones(len(observations), np.int64)
        return (ones, {"one": ones})

    def make(rows: range) -> Any:
        return parallel_pool.PoolVectorEnv([Pair] * len(rows), num_workers=0)

    with PolicyLoop(make, 2, policy, depth=2) as loop:
        loop.reset(seed=1)
        for turn in loop.play(1):
            assert turn.rewards == [1.0] and not turn.extras


def test_tensors_stay_tensors() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(4, 2)

    def policy(observations: Any) -> Any:
        with torch.inference_mode():
            return module(observations).argmax(1)

    def make(rows: range) -> Any:
        return parallel_pool.make_vec("CartPole-v1", len(rows)).torch()

    with PolicyLoop(make, 4, policy, depth=2) as loop:
        loop.reset(seed=1)
        for turn in loop.play(5):
            parts = (turn.observations, turn.actions, turn.rewards, turn.next_observations)
            assert all(isinstance(each, torch.Tensor) for each in parts)


def test_functions_of_jax_are_policies() -> None:
    jax = pytest.importorskip("jax")
    policy = jax.jit(lambda observations: (observations[:, 2] > 0).astype("int32"))
    found = []
    for each in (policy, balance):
        with PolicyLoop(maker(), 4, each, depth=2) as loop:
            loop.reset(seed=1)
            found.append([turn.next_observations for turn in loop.play(20)])
    assert_same(found[0], found[1], "observations")


@pytest.mark.sanitizers
def test_depth_is_chosen_by_a_trial() -> None:
    with PolicyLoop(maker(), 4, balance) as loop:
        assert loop.gain is not None and loop.gain > 0
        assert loop.depth == (2 if loop.gain >= 1.05 else 1)
        loop.reset(seed=1)
        assert len(list(loop.play(2))) == 2 * loop.depth
    with PolicyLoop(maker(), 1, balance) as loop:
        assert (loop.depth, loop.gain) == (1, None)


def test_resets_without_a_seed_differ_after_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_loop, "MIN_GAIN", np.inf)
    for name in ("SECONDS", "POLICY_SECONDS"):
        monkeypatch.setattr(trial, name, 0.0)
    firsts: list[Any] = []
    for _ in range(2):
        with PolicyLoop(maker(), 4, balance) as loop:
            assert loop.depth == 1
            loop.reset()
            firsts += [turn.observations for turn in loop.play(1)]
    assert not np.array_equal(*firsts)


def test_a_trial_keeps_no_result_and_leaves_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_loop, "MIN_GAIN", np.inf)
    monkeypatch.setattr(trial, "POLICY_SECONDS", 0.0)
    monkeypatch.setattr(trial, "SECONDS", 0.0)
    monkeypatch.setattr(trial, "STEPS", 50)
    kept: list[Any] = []
    alive: list[int] = []

    def policy(observations: Any) -> Any:
        kept.append(weakref.ref(observations))
        alive.append(len({id(each()) for each in kept if each() is not None}))
        return balance(observations)

    with PolicyLoop(maker(), 4, policy) as loop:
        assert loop.depth == 1 and len(kept) > 50 and max(alive) < 10
        with pytest.raises(NotResetError):
            list(loop.play(1))
        loop.reset(only_failed=True)
        (turn,) = loop.play(1)
        assert turn.observations.shape == (4, 4) and np.abs(turn.observations).max() <= 0.05


def test_a_trial_needs_a_trace() -> None:
    class Untraced:
        def __init__(self, rows: range) -> None:
            self.envs = parallel_pool.make_vec("CartPole-v1", len(rows))

        def __getattr__(self, name: str) -> Any:
            if name == "trace":
                raise AttributeError(name)
            return getattr(self.envs, name)

    made: list[Untraced] = []

    def make(rows: range) -> Any:
        made.append(Untraced(rows))
        return made[-1]

    with pytest.raises(ValueError, match=r"depth=None needs environments with trace\(\)"):
        PolicyLoop(make, 4, balance)
    assert made[0].envs.closed
    PolicyLoop(make, 4, balance, depth=2).close()


def test_a_policy_that_raises_in_the_trial() -> None:
    made: list[Any] = []

    def make(rows: range) -> Any:
        made.append(parallel_pool.make_vec("CartPole-v1", len(rows)))
        return made[-1]

    def policy(observations: Any) -> Any:
        raise KeyError("policy")

    with pytest.raises(KeyError, match="policy"):
        PolicyLoop(make, 4, policy)
    assert len(made) == 1 and made[0].closed


def test_wrong_arguments() -> None:
    cases: list[tuple[Any, ...]] = [
        (TypeError, "make='CartPole-v1' is a str: give a function", "CartPole-v1", 4, balance, 2),
        (TypeError, "policy=3 is an int", maker(), 4, 3, 2),
        (ValueError, "num_envs=0: choose 1 or more", maker(), 0, balance, 2),
        (ValueError, "depth=5: choose 1 to 4", maker(), 4, balance, 5),
        (ValueError, "depth=0", maker(), 4, balance, 0),
        (TypeError, "make returned .*without reset", lambda rows: 3, 4, balance, 2),
        (
            ValueError,
            r"make\(range\(0, 2\)\) returned 3 environments: return 2",
            lambda rows: too_many(rows),
            *(4, balance, 2),
        ),
    ]
    made: list[Any] = []

    def too_many(rows: range) -> Any:
        made.append(parallel_pool.make_vec("CartPole-v1", 3))
        return made[0]

    for error, message, make, count, policy, depth in cases:
        with pytest.raises(error, match=message):
            PolicyLoop(make, count, policy, depth=depth)
    assert made[0].closed


def test_environments_that_were_made_are_closed_if_others_fail() -> None:
    made: list[Any] = []

    def make(rows: range) -> Any:
        if rows.start:
            raise OSError("planted")
        made.append(parallel_pool.make_vec("CartPole-v1", len(rows)))
        return made[0]

    with pytest.raises(OSError, match="planted"):
        PolicyLoop(make, 4, balance, depth=2)
    assert made[0].closed


def test_close(recwarn: pytest.WarningsRecorder) -> None:
    loop = PolicyLoop(maker(), 4, balance, depth=2)
    chunks = loop.chunks
    loop.reset(seed=1)
    turns = loop.play(5)
    turn = next(turns)
    loop.close()
    loop.close()
    assert loop.closed and all(envs.closed for envs in chunks)
    assert turn.rewards.sum() == 2 and not recwarn.list
    for call in (lambda: next(turns), lambda: loop.play(1), lambda: loop.reset()):
        with pytest.raises(ClosedError, match=r"PolicyLoop\(num_envs=4, depth=2\) is closed"):
            call()


def test_before_a_reset_and_copies() -> None:
    with PolicyLoop(maker(), 4, balance, depth=2) as loop:
        with pytest.raises(NotResetError, match="0 to 1 have no observations"):
            list(loop.play(1))
        for copying in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="PolicyLoop holds"):
                copying(loop)
        for steps, error in ((-1, ValueError), (1.5, TypeError)):
            with pytest.raises(error, match="steps"):
                loop.play(steps)  # type: ignore[arg-type]


def arrays_of(turn: Turn) -> tuple[Any, ...]:
    return turn.observations, turn.actions, turn.next_observations, turn.rewards


def test_turns_are_the_callers_and_a_forked_child_has_none() -> None:
    """Calls of the child are refused; the turns of the parent, and those it kept, are the same."""
    with PolicyLoop(maker(), 4, balance, depth=2) as loop, closing(maker()(range(4))) as plain:
        loop.reset(seed=7)
        kept = list(loop.play(3))
        as_they_were = [tuple(each.copy() for each in arrays_of(turn)) for turn in kept]

        def refused() -> None:
            for call in (lambda: list(loop.play(1)), lambda: loop.reset(seed=1)):
                with pytest.raises(ForkedError):
                    call()
            loop.close()

        in_child(refused)
        found = list(loop.play(3))
        observations, _ = plain.reset(seed=7)
        for _ in range(6):
            observations, *_ = plain.step(balance(observations))
        last = np.concatenate([turn.next_observations for turn in found[-2:]])
        np.testing.assert_array_equal(last, observations)
    assert_same([arrays_of(turn) for turn in kept], as_they_were, "kept")


def test_a_failed_turn_leaves_those_of_other_chunks() -> None:
    """An environment in C that fails: the chunk before it has delivered all its turns."""
    with PolicyLoop(maker(), 4, balance, depth=2) as loop:
        loop.reset(seed=1)
        envs = loop.chunks[1]

        def fail() -> Any:
            wait()
            raise EnvError("planted", [0], ())

        wait, envs.step_wait = envs.step_wait, fail
        turns = loop.play(3)
        assert next(turns).rows == slice(0, 2)
        with pytest.raises(EnvError, match="planted"):
            next(turns)
        del envs.step_wait
        loop.reset(seed=1)
        assert len(list(loop.play(1))) == 2


@pytest.mark.parametrize("failed", [0, 1])
def test_a_reset_of_failed_environments_keeps_the_turns_of_others(failed: int) -> None:
    with PolicyLoop(maker(), 4, balance, depth=2) as loop:
        loop.reset(seed=1)
        rows = [slice(0, 2), slice(2, 4)]
        expected = [tuple(turn) for turn in loop.play(6) if turn.rows != rows[failed]]
        loop.reset(seed=1)
        envs, calls = loop.chunks[failed], itertools.count(1)
        wait = envs.step_wait

        def fail() -> Any:
            result = wait()
            if next(calls) == 3:
                raise EnvError("planted", [0], ())
            return result

        envs.step_wait = fail
        found: list[Turn] = []
        with pytest.raises(EnvError, match="planted"):
            for turn in loop.play(6):
                found.append(turn)
        with pytest.raises(NotResetError, match=r"reset\(only_failed=True\)"):
            list(loop.play(3))
        loop.reset(seed=7, only_failed=True)
        later = list(loop.play(3))
        assert len(later) == 6 and not any(envs.pool.in_flight for envs in loop.chunks)
        kept = [tuple(turn) for turn in found + later if turn.rows != rows[failed]]
        assert_same(kept, expected[: len(kept)], "others")
        first = next(turn for turn in later if turn.rows == rows[failed])
        plain = maker()(range(4))
        begun = plain.reset(seed=7)[0][rows[failed]]
        plain.close()
        assert_same(first.observations, begun, "failed")
        # nothing has failed since
        loop.reset(seed=1, only_failed=True)
        assert not np.array_equal(next(loop.play(1)).observations, begun)
