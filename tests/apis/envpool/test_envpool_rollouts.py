"""Rollouts on EnvPool's API: the bits of steps by hand, whatever the order in which they end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool.compat.envpool import AsyncRolloutBuffer
from parallel_pool.compat.gymnasium import RolloutBuffer
from parallel_pool.errors import ClosedError, EnvError, NotResetError, StateError
from tests.support.rollout_steps import check_step
from tests.support.same import assert_same, leaves

NUM_ENVS, STEPS = 5, 12
# ids and options of environments, whose episodes end now and then
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "array": ("CartPole-v1", {}),
    "box actions": ("Pendulum-v1", {"max_episode_steps": 7}),
    "infos": ("Taxi-v3", {"max_episode_steps": 8}),
    "dict": ("FetchReach-v4", {"max_episode_steps": 5}),
    "frames": ("Pong-v5", {"max_episode_steps": 6}),
    "players": ("mpe/simple_tag_v3", {"max_episode_steps": 6}),
    "players alike": ("mpe/simple_spread_v3", {"max_episode_steps": 6}),
}
ONE_PLAYER = [case for case in CASES if not case.startswith("players")]


def make(case: str, env_type: str = "gymnasium", **options: Any) -> Any:
    env, own = CASES[case]
    chosen = {"num_envs": NUM_ENVS, "num_threads": 2, "seed": 3, **own, **options}
    return getattr(parallel_pool, f"make_{env_type}")(env, **chosen)


def pair(case: str, stack: ExitStack, **options: Any) -> tuple[Any, Any]:
    """Returns a pool with these options, and a synchronous one with the same environments."""
    return stack.enter_context(make(case, **options)), stack.enter_context(make(case))


def begin(envs: Any) -> None:
    """Resets all environments; an asynchronous pool's are in flight."""
    envs.async_reset()
    if not envs.is_async:
        envs.recv()


def receive_all(envs: Any) -> None:
    """Receives what is in flight, which may be less than a batch."""
    while envs.pool.in_flight:
        envs.recv(min_rows=1)


class Policy:
    """Takes drawn actions, which depend on the environment and its step, and notes its calls."""

    def __init__(self, envs: Any, number: int = 0) -> None:
        envs.action_space.seed(number)
        self.ids = envs.all_env_ids
        rows = STEPS, len(self.ids), envs.spec.num_players
        drawn = np.array([envs.action_space.sample() for _ in range(int(np.prod(rows)))])
        self.drawn = drawn.reshape(*rows, *drawn.shape[1:])
        self.made = np.zeros(len(self.ids), np.intp)
        self.calls: list[tuple[Any, Any]] = []

    def __call__(self, observations: Any, env_ids: Any = None) -> Any:
        ids = self.ids if env_ids is None else env_ids.copy()
        actions = self.drawn[self.made[ids], ids]
        actions = actions.reshape(-1, *actions.shape[2:])
        self.made[ids] += 1
        self.calls.append((ids, actions))
        if env_ids is not None:
            # what it is given is its own
            env_ids[:] = -7
        first = next(leaves(observations)).reshape(len(ids), -1)[:, 0].astype(np.float64)
        return actions, {"first": first}

    @property
    def sizes(self) -> list[int]:
        """The numbers of environments of its calls."""
        return [len(ids) for ids, _ in self.calls]


def check_rollout(rollout: Any, twin: Any, before: Any, name: str) -> tuple[Any, int]:
    """Compares a rollout with steps by hand; returns what follows, and how many episodes ended."""
    num_ended = 0
    for at in range(len(rollout.rewards)):
        actions = rollout.actions[at]
        step = twin.step(actions)
        check_step(rollout, at, before, step, actions, f"{name} {at}")
        np.testing.assert_array_equal(rollout.resets[at], step[4]["elapsed_step"] == 0)
        if "first" in rollout.extras:
            seen = next(leaves(before)).reshape(NUM_ENVS, -1)[:, 0]
            np.testing.assert_array_equal(rollout.extras["first"][at], seen)
        before = step[0]
        num_ended += int((step[2] | step[3]).sum())
    return before, num_ended


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize("env_type", ["gymnasium", "gym"])
@pytest.mark.parametrize("case", CASES)
def test_same_bits_as_by_hand(case: str, env_type: str) -> None:
    with ExitStack() as stack:
        envs, twin = pair(case, stack)
        if env_type == "gym":
            envs = stack.enter_context(make(case, "gym"))
        envs.reset()
        before, _ = twin.reset()
        buffer, ended = envs.rollout(STEPS), 0
        assert type(buffer) is RolloutBuffer
        for number in range(3):
            rollout = buffer.collect(Policy(envs, number))
            before, more = check_rollout(rollout, twin, before, f"{case} {number}")
            ended += more
            # by hand in between: the next rollout goes on from there
            actions = rollout.actions[0]
            envs.step(actions)
            before = twin.step(actions)[0]
        assert ended > 3 and rollout.final_observations is None


@pytest.mark.sanitizers
@pytest.mark.parametrize("batch_size", [1, 2, 3, 4])
@pytest.mark.parametrize("case", ONE_PLAYER)
def test_same_bits_in_any_order(case: str, batch_size: int) -> None:
    with ExitStack() as stack:
        envs, twin = pair(case, stack, batch_size=batch_size)
        envs.async_reset()
        before, _ = twin.reset()
        buffer, ended = envs.rollout(STEPS), 0
        assert type(buffer) is AsyncRolloutBuffer
        for number in range(3):
            policy = Policy(envs, number)
            rollout = buffer.collect(policy)
            before, more = check_rollout(rollout, twin, before, f"{case} {number}")
            ended += more
            assert sum(policy.sizes) == NUM_ENVS * STEPS and max(policy.sizes) == batch_size
            assert envs.pool.in_flight == 0
        assert ended > 3


@pytest.mark.parametrize("batch_size", [1, 3])
def test_same_bits_as_sends_and_receives_in_the_same_order(batch_size: int) -> None:
    with ExitStack() as stack:
        envs = stack.enter_context(make("array", batch_size=batch_size))
        hand = stack.enter_context(make("array", batch_size=batch_size))
        envs.async_reset()
        policy = Policy(envs)
        rollout = envs.rollout(STEPS).collect(policy)
        hand.reset(np.arange(NUM_ENVS))
        receive_all(hand)
        made = np.zeros(NUM_ENVS, int)
        for env_ids, actions in policy.calls:
            hand.send(actions, env_ids)
            received = []
            while hand.pool.in_flight:
                step = hand.recv(min_rows=min(batch_size, hand.pool.in_flight))
                received.append([part[: step[4]["num_rows"]] for part in step[:4]])
                for i, env_id in enumerate(step[4]["env_id"][: step[4]["num_rows"]]):
                    at = made[env_id], env_id
                    assert_same(rollout.next_observations[at], step[0][i], str(at))
                    assert rollout.rewards[at] == step[1][i]
                    assert (
                        rollout.infos[at[0]]["elapsed_step"][env_id] == (step[4]["elapsed_step"][i])
                    )
                    made[env_id] += 1
        assert (made == STEPS).all()


def test_it_goes_on_with_what_is_in_flight() -> None:
    """Whether nothing is, all or some are, and what they were sent."""
    with ExitStack() as stack:
        envs, twin = pair("array", stack, batch_size=2)
        buffer = envs.rollout(3)
        # the first two of five are received
        envs.reset()
        before, _ = twin.reset()
        before, _ = check_rollout(buffer.collect(Policy(envs)), twin, before, "after reset")
        envs.send(np.ones(2, np.int32), np.array([3, 1]))
        twin.step(np.ones(2, np.int32), np.array([3, 1]))
        before = twin.pool.observe().obs
        before, _ = check_rollout(buffer.collect(Policy(envs)), twin, before, "some")
        envs.send(np.ones(5, np.int32))
        before = twin.step(np.ones(5, np.int32))[0]
        before, _ = check_rollout(buffer.collect(Policy(envs)), twin, before, "all")
        envs.step(np.zeros(2, np.int32), np.array([4, 0]))
        twin.step(np.zeros(2, np.int32), np.array([4, 0]))
        before = twin.pool.observe().obs
        check_rollout(buffer.collect(Policy(envs)), twin, before, "none")


def test_a_slow_environment_is_waited_for() -> None:
    options = {"sleep_ms": 5, "slow_env": 2, "num_threads": 2, "batch_size": 2}
    with parallel_pool.make_gymnasium("test/Fault-v0", num_envs=4, **options) as envs:
        envs.async_reset()
        sizes = []

        def policy(observations: Any, env_ids: Any) -> Any:
            sizes.append(len(env_ids))
            return np.zeros(len(env_ids), np.int64), {"ids": env_ids}

        rollout = envs.rollout(6).collect(policy)
        wanted = np.broadcast_to(np.arange(1, 7)[:, None], (6, 4))
        np.testing.assert_array_equal([info["count"] for info in rollout.infos], wanted)
        np.testing.assert_array_equal(rollout.next_observations[:, :, 0], wanted)
        np.testing.assert_array_equal(rollout.extras["ids"], [np.arange(4)] * 6)
        assert sum(sizes) == 24 and max(sizes) == 2


@pytest.mark.parametrize("batch_size", [3, 5])
def test_rollouts_are_the_callers_and_memory_is_used_again(batch_size: int) -> None:
    with make("array", batch_size=batch_size) as envs:
        begin(envs)
        buffer = envs.rollout(4)
        held = []
        for number in range(6):
            rollout = buffer.collect(Policy(envs))
            # one array of each is enough
            every = (rollout.rewards, rollout.next_observations, rollout.infos[2]["env_id"])
            held.append((every[number % 3], every[number % 3].copy()))
            del rollout, every
        for array, copy in held:
            np.testing.assert_array_equal(array, copy)
        buffer, addresses, last = envs.rollout(4), [], None
        for _ in range(8):
            # the last one is read while the next is collected
            last = buffer.collect(Policy(envs))
            addresses.append(last.observations.__array_interface__["data"][0])
        assert len(set(addresses)) == 2
        assert last.observations.flags.c_contiguous and last.actions.flags.c_contiguous
    assert last.observations.shape == (4, 5, 4)


@pytest.mark.parametrize("batch_size", [3, 5])
def test_tensors(batch_size: int) -> None:
    torch = pytest.importorskip("torch")

    def policy(observations: Any, env_ids: Any = None) -> Any:
        assert env_ids is None or env_ids.dtype == torch.int32
        return (observations[:, 2] > 0).int(), {"value": observations.sum(1)}

    with ExitStack() as stack:
        envs, twin = pair("array", stack, batch_size=batch_size)
        begin(envs)
        rollout = envs.torch().rollout(4).collect(policy)
        assert rollout.extras["value"].shape == (4, 5) and rollout.rewards.dtype == torch.float32
        check_rollout(rollout.map(torch.Tensor.numpy), twin, twin.reset()[0], "tensors")


@pytest.mark.sanitizers
@pytest.mark.parametrize("batch_size", [2, 5])
def test_frames_are_kept_once(batch_size: int) -> None:
    with ExitStack() as stack:
        envs, twin = pair("frames", stack, batch_size=batch_size)
        begin(envs)
        twin.reset()
        buffer, plain, held = envs.rollout(STEPS, frames=True), twin.rollout(STEPS), []
        for number in range(4):
            rollout = buffer.collect(Policy(envs, number))
            wanted = plain.collect(Policy(twin, number))
            for name in ("observations", "next_observations"):
                assert_same(np.array(getattr(rollout, name)), getattr(wanted, name), name)
            for name in ("rewards", "resets", "infos", "actions", "extras"):
                assert_same(getattr(rollout, name), getattr(wanted, name), name)
            assert rollout.observations.nbytes < 0.9 * wanted.observations.nbytes
            held.append((rollout.observations, wanted.observations))
            # by hand in between
            for each in (envs, twin):
                each.step(np.zeros(2, np.int32), np.array([4, 0]))
        for stacks, array in held:
            assert_same(np.array(stacks), array, "held")


@pytest.mark.parametrize("batch_size", [2, 5])
def test_extras_are_exact_and_those_of_this_rollout(batch_size: int) -> None:
    with make("array", batch_size=batch_size) as envs:
        begin(envs)
        buffer = envs.rollout(4)

        def collect(values: Callable[[int, Any], dict[str, Any]]) -> dict[str, Any]:
            """Extras that depend on the number of the call, and on how many rows it asks for."""
            calls = iter(range(100))

            def policy(seen: Any, ids: Any = None) -> Any:
                return np.zeros(len(seen), np.int64), values(next(calls), len(seen))

            rollout = buffer.collect(policy)
            return {name: array.copy() for name, array in rollout.extras.items()}

        def mixed(call: int, count: int) -> dict[str, Any]:
            text = np.array(["hello" if call else "a"] * count)
            return {"value": np.full(count, 0.7 if call else 0), "text": text}

        for _ in range(2):
            whole = collect(lambda call, count: {"value": np.full(count, 7), "old": np.ones(count)})
            assert whole["value"].dtype == np.int64 and (whole["value"] == 7).all()
            assert list(collect(lambda call, count: {})) == []
            found = collect(mixed)
            assert found["value"].dtype == np.float64 and found["text"].dtype == "<U5"
            assert np.unique(found["value"]).tolist() == [0, 0.7]
            assert np.unique(found["text"]).tolist() == ["a", "hello"]
            # what is left out is 0
            late = collect(lambda call, count: {"old": np.full(count, 3.0)} if call % 2 else {})
            assert np.unique(late["old"]).tolist() == [0, 3]
        with pytest.raises(TypeError, match="extra value of"):
            collect(lambda call, count: {"value": np.array(["a" if call else 0] * count)})
        with pytest.raises(ValueError, match="extra value of shape"):
            collect(lambda call, count: {"value": np.zeros((count, call + 1))})
        assert envs.pool.in_flight == 0


# --------------------------------------------------------------------------------- failures --


def zeros(observations: Any, env_ids: Any) -> Any:
    return np.zeros(len(env_ids), np.int64)


@pytest.mark.parametrize("batch_size", [2, 5])
def test_refusals(batch_size: int) -> None:
    act: Callable[..., Any] = lambda seen, ids=None: np.zeros(len(seen), np.int64)  # noqa: E731
    with make("array", batch_size=batch_size) as envs:
        with pytest.raises(NotResetError, match=r"reset\(\)"):
            envs.rollout(2).collect(act)
        with pytest.raises(ValueError, match="steps=0"):
            envs.rollout(0)
        with pytest.raises(TypeError, match="steps"):
            envs.rollout(2.5)
        envs.reset(np.arange(NUM_ENVS))
        receive_all(envs)
        first = envs.pool.observe().obs
        for wrong in (first[:1], first[0], first[:, :2]):
            with pytest.raises(ValueError, match=r"give \(5, 4\)"):
                envs.rollout(2).collect(act, wrong)
        with pytest.raises(MemoryError, match="choose fewer steps"):
            envs.rollout(10**9).collect(act)
        with pytest.raises(TypeError, match="returned None"):
            envs.rollout(2).collect(lambda *shown: None)
        with pytest.raises(TypeError, match="as a name"):
            envs.rollout(2).collect(lambda *shown: (act(*shown), {1: act(*shown)}))
        envs.send(np.zeros(2, np.int64), np.arange(2))
        with pytest.raises(StateError, match="receive them first"):
            envs.rollout(2).collect(act, first)
    with pytest.raises(ClosedError):
        envs.rollout(2).collect(act)


def test_refusals_of_asynchronous_pools() -> None:
    with make("array", batch_size=2) as envs:
        envs.async_reset()
        with pytest.raises(ValueError, match="one row for each of 2"):
            envs.rollout(2).collect(lambda seen, ids: (zeros(seen, ids), {"value": np.zeros(1)}))
        assert envs.pool.in_flight == 0
        envs.rollout(2).collect(zeros)
    with make("array", batch_size=2) as envs, pytest.raises(ValueError, match="frames=True"):
        envs.async_reset()
        envs.rollout(2, frames=True).collect(zeros)
    with make("players", batch_size=2) as envs, pytest.raises(ValueError, match="4 players"):
        envs.rollout(2)


def test_games_whose_rows_change_have_no_rollouts() -> None:
    envs = parallel_pool.make_gymnasium("classic/connect_four_v3", num_envs=2)
    with envs, pytest.raises(ValueError, match="number of rows changes"):
        envs.rollout(2)


@pytest.mark.parametrize("at", range(14))
def test_a_policy_that_fails_loses_only_the_rollout(at: int) -> None:
    """What it has sent was done, nothing else was, and nothing is in flight."""
    with ExitStack() as stack:
        envs, twin = pair("array", stack, batch_size=2)
        envs.async_reset()
        twin.reset()
        buffer = envs.rollout(4)
        held = buffer.collect(policy := Policy(envs))
        copy = held.observations.copy()
        sent = list(policy.calls)
        calls = 0

        def fails(observations: Any, env_ids: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > at:
                raise KeyError(calls)
            sent.append((env_ids.copy(), np.ones(len(env_ids), np.int64)))
            return sent[-1][1]

        if at < 10:
            with pytest.raises(KeyError):
                buffer.collect(fails)
        assert envs.pool.in_flight == 0
        for env_ids, actions in sent:
            twin.step(actions, env_ids)
        check_rollout(buffer.collect(Policy(envs)), twin, twin.pool.observe().obs, "after")
        np.testing.assert_array_equal(held.observations, copy)


@pytest.mark.parametrize("batch_size", [1, 3, 4])
def test_an_environment_that_fails(batch_size: int) -> None:
    options = {"fail_on": "step", "fail_at_step": 3, "fail_env": 1, "batch_size": batch_size}
    with parallel_pool.make_gymnasium("test/Fault-v0", num_envs=4, **options) as envs:
        envs.reset(np.arange(4))
        receive_all(envs)
        buffer = envs.rollout(5)
        act: Callable[..., Any] = lambda seen, ids=None: np.zeros(len(seen), np.int64)  # noqa: E731
        with pytest.raises(EnvError, match="environment 1 failed") as caught:
            buffer.collect(act)
        observations, rewards, *_, infos = caught.value.batch
        assert caught.value.env_ids == (1,) and 1 in infos["env_id"] and infos["env_id"].min() >= 0
        assert len(observations) == len(rewards) == len(infos["env_id"])
        assert envs.pool.in_flight == 0
        with pytest.raises(NotResetError, match="environment 1 is not reset"):
            buffer.collect(act)
        envs.async_reset(np.array([1]))
        if batch_size == 4:
            envs.recv()
        rollout = buffer.collect(act)
        counts = np.array([info["count"] for info in rollout.infos])
        np.testing.assert_array_equal(np.diff(counts, axis=0), np.ones((4, 4)))


def test_a_policy_must_not_step() -> None:
    with make("array", batch_size=2) as envs:
        envs.async_reset()
        envs.rollout(2).collect(zeros)

        def receives(observations: Any, env_ids: Any) -> Any:
            envs.send(zeros(observations, env_ids), env_ids)
            envs.recv()
            return zeros(observations, env_ids)

        def collects(observations: Any, env_ids: Any) -> Any:
            envs.rollout(1).collect(zeros)
            return zeros(observations, env_ids)

        for wrong in (receives, collects):
            with pytest.raises(StateError):
                envs.rollout(4).collect(wrong)
            assert envs.pool.in_flight == 0
            envs.rollout(4).collect(zeros)


@pytest.mark.parametrize("at", range(4))
def test_close_within_a_policy(at: int) -> None:
    envs = make("array", batch_size=2)
    envs.async_reset()
    calls = []

    def policy(observations: Any, env_ids: Any) -> Any:
        calls.append(env_ids)
        if len(calls) > at:
            envs.close()
        return zeros(observations, env_ids)

    with pytest.raises(ClosedError):
        envs.rollout(4).collect(policy)
