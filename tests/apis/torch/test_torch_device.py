"""Tensors on a device: the bits of the CPU, and memory that is not written while it is read.

`LateDevice` stands for a GPU, and finds what reads or writes too early. The tests at the end need a
real one.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool._apis.torch import stream_transfers, transfers, uploads
from parallel_pool._apis.torch.cuda_device import CudaDevice
from parallel_pool._apis.torch.pinned_memory import MIN_BYTES, PinnedMemory
from parallel_pool._apis.torch.stream_transfers import StreamTransfers
from parallel_pool._apis.torch.transfers import WaitingTransfers
from parallel_pool._apis.torch.uploads import MAX_FLIGHTS, Uploads
from parallel_pool._engine.pool import Pool
from parallel_pool.compat.torch import TorchEnv
from parallel_pool.errors import EnvError, ForkedError
from parallel_pool.testing import inspect
from tests.apis.torch.test_torch_env import numbers
from tests.support.forked import in_child
from tests.support.interrupts import Interrupter
from tests.support.late_device import LateDevice
from tests.support.same import assert_same
from tests.support.timeouts import TEST_TIMEOUT

SAME = AutoresetMode.SAME_STEP
# whose batches are larger than MIN_BYTES
NUM_ENVS = 2500


def picture_maker() -> Callable[[], gymnasium.Env[Any, Any]]:
    """Returns what makes an environment in a worker, which does not import this file."""

    class Pictures(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Dict(
            {
                "picture": gymnasium.spaces.Box(0, 255, (200, 200), np.uint8),
                "speed": gymnasium.spaces.Box(-1, 1, (), np.float32),
            }
        )
        action_space = gymnasium.spaces.Discrete(2)

        def look(self) -> Any:
            picture = self.np_random.integers(0, 256, (200, 200), np.uint8)
            return {"picture": picture, "speed": np.float32(self.np_random.uniform(-1, 1))}

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.steps = 0
            return self.look(), {"steps": 0}

        def step(self, action: Any) -> Any:
            self.steps += 1
            return self.look(), float(action), self.steps == 6, False, {"steps": self.steps}

    return Pictures


MAKERS: dict[str, Callable[[], Any]] = {
    "vector": partial(parallel_pool.PoolVectorEnv, "CartPole-v1", NUM_ENVS),
    "same step": partial(
        parallel_pool.PoolVectorEnv, "CartPole-v1", 3, max_episode_steps=7, autoreset_mode=SAME
    ),
    "tuple": partial(parallel_pool.PoolVectorEnv, "Blackjack-v1", 3),
    "workers": partial(parallel_pool.PoolVectorEnv, [picture_maker()] * 3, num_workers=1),
    "one process": partial(parallel_pool.PoolVectorEnv, [picture_maker()] * 3, num_workers=0),
    "pool": partial(Pool, "Pendulum-v1", 3, seed=1),
    "gymnasium": partial(parallel_pool.make_gymnasium, "CartPole-v1", num_envs=NUM_ENVS, seed=1),
    "dm_env": partial(parallel_pool.make_dm, "CartPole-v1", num_envs=3, seed=1),
}
# APIs whose `reset` takes no seed
SEEDED = {"pool", "gymnasium", "dm_env"}

Late = Callable[..., LateDevice]


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Iterator[Late]:
    """Returns what makes the devices that are then "cuda", "cuda:1", and so on."""
    devices: dict[int, LateDevice] = {}
    monkeypatch.setitem(transfers.STREAM_DEVICES, "cuda", lambda named: devices[named.index or 0])
    monkeypatch.setattr(uploads, "known", {})
    monkeypatch.setattr(stream_transfers, "pinned", PinnedMemory())

    def make(index: int = 0, **options: Any) -> LateDevice:
        devices[index] = LateDevice(index, **options)
        return devices[index]

    yield make
    for device in devices.values():
        device.finish()
        assert device.violations == []


def reset_both(name: str, ours: Any, theirs: Any) -> tuple[Any, Any]:
    seed = {} if name in SEEDED else {"seed": 3}
    return ours.reset(**seed), theirs.reset(**seed)


def samples(envs: Any, count: int) -> Iterator[np.ndarray[Any, Any]]:
    """Yields actions for all environments."""
    space = envs.spec.action_space() if isinstance(envs, Pool) else None
    space = space or getattr(envs, "single_action_space", gymnasium.spaces.Discrete(2))
    space.seed(0)
    for _ in range(count):
        # dm_env's pools do not say how many they are
        yield np.array([space.sample() for _ in range(getattr(envs, "num_envs", 3))])


def check(kept: list[tuple[Any, Any]], where: str) -> None:
    """Compares results with those that they should be."""
    for step, (found, wanted) in enumerate(kept):
        assert_same(numbers(found), wanted, f"{where}: {step}")


# ------------------------------------------------------------------------------------- results --


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", [None, 0], ids=["late", "random"])
@pytest.mark.parametrize("name", MAKERS)
def test_results_are_those_of_the_environments(name: str, seed: int | None, late: Late) -> None:
    """Actions are arrays, for which nothing waits: as many uploads as may be are in flight."""
    device = late(seed=seed)
    with closing(MAKERS[name]()) as theirs, closing(TorchEnv(MAKERS[name](), "cuda")) as ours:
        kept = [reset_both(name, ours, theirs)]
        for actions in samples(theirs, 20):
            kept.append((ours.step(actions), theirs.step(actions)))
        if seed is None:
            assert device.in_flight > 0
        assert bool(device.registered) == (
            name in ("vector", "workers", "one process", "gymnasium")
        )
        device.finish()
        check(kept, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vector", "workers", "dm_env"])
def test_actions_come_from_the_device(name: str, late: Late) -> None:
    """They are complete when the environments read them, and so is what they were made from."""
    late()
    with closing(MAKERS[name]()) as theirs, closing(TorchEnv(MAKERS[name](), "cuda")) as ours:
        kept = [reset_both(name, ours, theirs)]
        for actions in samples(theirs, 12):
            given = torch.from_numpy(actions).requires_grad_(actions.dtype.kind == "f")
            kept.append((ours.step(given), theirs.step(actions)))
            # that of this step alone
            check(kept[:-1], name)
    check(kept, name)


def test_tensors_are_on_the_device(late: Late) -> None:
    late()
    with parallel_pool.make_vec("CartPole-v1", 2).torch(device="cuda") as envs:
        assert envs.device == torch.device("cuda", 0)


@pytest.mark.parametrize("seed", [None, 1])
def test_an_asynchronous_loop(seed: int | None, late: Late) -> None:
    device = late(seed=seed)
    options = {"num_envs": 8, "batch_size": 8, "seed": 2, "max_episode_steps": 9}
    with (
        parallel_pool.make_gymnasium("CartPole-v1", **options) as theirs,
        parallel_pool.make_gymnasium("CartPole-v1", **{**options, "batch_size": 3}) as envs,
    ):
        ours = envs.torch(device="cuda")
        theirs.async_reset()
        # by the environment and its step
        wanted: list[dict[int, Any]] = []
        for _ in range(40):
            observations, rewards, *_, info = theirs.recv()
            ids = info["env_id"].tolist()
            wanted.append({i: (observations[at], rewards[at]) for at, i in enumerate(ids)})
            theirs.send(np.zeros(8, np.int32), info["env_id"])
        ours.async_reset()
        kept = []
        steps = [0] * 8
        for turn in range(60):
            result = ours.recv(min_rows=1) if turn % 3 else ours.recv()
            info = result[4]
            count = info["num_rows"] if turn % 3 else 3
            kept.append((result, count))
            # ids of the device: what was handed over is there once they are downloaded
            env_ids = info["env_id"][:count]
            if turn % 2:
                device.finish()
                ids = env_ids.numpy()
            else:
                ids = device.download(env_ids).numpy()
            ours.send(np.zeros(count, np.int32), ids)
        device.finish()
        for result, count in kept:
            observations, rewards, *_, info = result
            assert observations.shape == (3, 4)
            for row, env_id in enumerate(info["env_id"][:count].tolist()):
                one = wanted[steps[env_id]][env_id]
                assert_same((observations[row].numpy(), rewards[row].numpy()[()]), one, "row")
                steps[env_id] += 1
        assert max(steps) <= 40


def test_texts_and_objects_stay_as_they_are(late: Late) -> None:
    device = late()
    with (
        closing(MAKERS["same step"]()) as theirs,
        closing(MAKERS["same step"]().torch("cuda")) as ours,
    ):
        reset_both("same step", ours, theirs)
        for _ in range(7):
            found = ours.step(np.zeros(3, np.int64))
            wanted = theirs.step(np.zeros(3, np.int64))
        device.finish()
        finals = found[4]["final_obs"]
        assert finals.dtype == object
        assert_same(finals, wanted[4]["final_obs"], "final_obs")
        assert isinstance(found[4]["_final_obs"], torch.Tensor)


# -------------------------------------------------------------------------------- memory --


def test_what_reads_too_late_is_found(late: Late) -> None:
    """If the device said that uploads were done, memory would be written while they read it."""
    device = late()
    device.is_done = lambda event: True  # type: ignore[method-assign]
    with closing(MAKERS["vector"]()) as theirs, closing(MAKERS["vector"]().torch("cuda")) as ours:
        kept = [reset_both("vector", ours, theirs)]
        for actions in samples(theirs, 6):
            kept.append((ours.step(actions), theirs.step(actions)))
        device.finish()
        assert "a source was let go of before it was read" in device.violations
        with pytest.raises(AssertionError):
            check(kept, "early")
    device.violations.clear()


def test_a_result_waits_if_too_many_are_in_flight(late: Late) -> None:
    device = late()
    with closing(MAKERS["vector"]().torch("cuda")) as envs:
        envs.reset(seed=1)
        device.finish()
        envs.step(np.zeros(NUM_ENVS, np.int64))
        each = device.in_flight
        for _ in range(3 * MAX_FLIGHTS):
            envs.step(np.zeros(NUM_ENVS, np.int64))
            assert device.in_flight <= MAX_FLIGHTS * each
        assert device.in_flight == MAX_FLIGHTS * each


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vector", "workers"])
def test_memory_that_is_refused_is_copied_all_the_same(name: str, late: Late) -> None:
    device = late(is_refusing=True)
    with closing(MAKERS[name]()) as theirs, closing(TorchEnv(MAKERS[name](), "cuda")) as ours:
        kept = [reset_both(name, ours, theirs)]
        for actions in samples(theirs, 40):
            kept.append((ours.step(actions), theirs.step(actions)))
        # it is asked once for each memory
        assert 0 < device.num_registered < 20
        device.finish()
        check(kept, name)


def test_memory_is_unlocked_before_it_is_freed(late: Late) -> None:
    """Otherwise memory that is mapped there later would be locked twice."""
    device = late()
    with closing(MAKERS["vector"]().torch("cuda")) as envs:
        envs.reset(seed=1)
        for _ in range(6):
            for _ in range(12):
                # each needs new memory, as nothing is read
                envs.step(np.zeros(NUM_ENVS, np.int64))
            for _ in range(12):
                # and the pool keeps less than that
                device.finish()
                envs.step(np.zeros(NUM_ENVS, np.int64))
        assert device.num_registered > 30
        assert len(device.registered) < 20


def test_a_loop_needs_few_blocks(late: Late) -> None:
    """What is done is let go of before the pool looks for memory."""
    device = late()
    with closing(MAKERS["vector"]().torch("cuda")) as envs:
        envs.reset(seed=1)
        for _ in range(20):
            envs.step(torch.zeros(NUM_ENVS, dtype=torch.int64))
        assert inspect(envs).blocks == device.num_registered == 4


@pytest.mark.parametrize("name", ["vector", "workers"])
def test_close_waits_for_uploads_and_unlocks_memory(name: str, late: Late) -> None:
    device = late()
    theirs, ours = MAKERS[name](), TorchEnv(MAKERS[name](), "cuda")
    kept = [reset_both(name, ours, theirs)]
    for actions in samples(theirs, 5):
        kept.append((ours.step(actions), theirs.step(actions)))
    assert device.in_flight and device.registered
    ours.close()
    assert not device.in_flight and not device.registered
    ours.close()
    theirs.close()
    check(kept, name)


def test_environments_that_are_dropped_leave_their_uploads(late: Late) -> None:
    """The object that started them may be gone, and the pool goes on."""
    device = late()
    with closing(MAKERS["vector"]()) as theirs, closing(MAKERS["vector"]()) as ours:
        kept = [reset_both("vector", ours.torch("cuda"), theirs)]
        for actions in samples(theirs, 2 * MAX_FLIGHTS):
            kept.append((ours.torch("cuda").step(actions), theirs.step(actions)))
        device.finish()
        check(kept, "dropped")
        # a pool that is dropped, too
        lost = MAKERS["vector"]().torch("cuda").reset(seed=3)
        device.finish()
        check([(lost, kept[0][1])], "dropped pool")


@pytest.mark.slow
@pytest.mark.parametrize("names", [("cuda", "cuda"), ("cuda", "cuda:1"), ("cuda:1", "cuda")])
def test_one_of_two_users_of_a_pool_closes_it(names: tuple[str, str], late: Late) -> None:
    devices = [late(), late(1)]
    theirs, ours = MAKERS["vector"](), MAKERS["vector"]()
    one, other = map(ours.torch, names)
    kept = [reset_both("vector", one, theirs)]
    for step, actions in enumerate(samples(theirs, 24)):
        if step < 20:
            # both use each of the few blocks
            for device in devices:
                device.finish()
        kept.append(((one, other)[step // 2 % 2].step(actions), theirs.step(actions)))
    assert sum(device.in_flight for device in devices)
    one.close()
    other.close()
    theirs.close()
    assert not devices[0].registered and not devices[1].registered
    check(kept, "closed")


@pytest.mark.quick(1)
@pytest.mark.parametrize("how", ["closed", "locked again"])
def test_no_upload_begins_while_memory_is_unlocked(
    how: str, late: Late, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread, which has seen to it that the memory is locked, is about to begin one."""
    device = late()
    one, other = StreamTransfers(device), StreamTransfers(device)
    start, unregister = Uploads.start, device.unregister
    is_locked, may_start = threading.Event(), threading.Event()

    def start_late(self: Uploads, sources: Any) -> Any:
        if threading.current_thread() is thread:
            is_locked.set()
            assert may_start.wait(TEST_TIMEOUT)
        return start(self, sources)

    def unregister_late(address: int) -> None:
        may_start.set()
        # it ends only if nothing keeps it from starting
        thread.join(0.1)
        unregister(address)

    with closing(MAKERS["vector"]()) as envs:
        observations, _ = envs.reset(seed=1)
        one.tensors(observations)
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(other.tensors(observations)))
        monkeypatch.setattr(Uploads, "start", start_late)
        monkeypatch.setattr(device, "unregister", unregister_late)
        thread.start()
        assert is_locked.wait(TEST_TIMEOUT)
        if how == "closed":
            one.close()
        else:
            in_child(lambda: None)
            one.tensors(observations)
        thread.join()
        assert may_start.is_set() and device.violations == []
        other.close()
        assert_same(numbers(found[0]), observations, "observations")
        assert not device.registered


def test_after_a_fork_memory_is_locked_again(late: Late) -> None:
    device = late()
    with closing(MAKERS["vector"]()) as theirs, closing(MAKERS["vector"]().torch("cuda")) as ours:
        kept = [reset_both("vector", ours, theirs)]
        actions = np.zeros(NUM_ENVS, np.int64)
        for _ in range(20):
            # in the same few blocks
            device.finish()
            kept.append((ours.step(actions), theirs.step(actions)))
        before = device.num_registered
        kept.append((ours.step(actions), theirs.step(actions)))
        assert device.num_registered == before and device.in_flight

        def in_a_child() -> None:
            with pytest.raises(ForkedError):
                ours.step(actions)
            ours.close()
            assert device.in_flight and device.num_registered == before

        in_child(in_a_child)
        for _ in range(10):
            device.finish()
            kept.append((ours.step(actions), theirs.step(actions)))
        # each of the same blocks once, and one that was needed when uploads were in flight
        assert 2 * before <= device.num_registered <= 2 * before + 1
        device.finish()
        check(kept, "forked")


def test_a_fork_in_a_rollout_waits_for_uploads(late: Late) -> None:
    """Earlier steps are read from the memory that is locked again."""
    device = late()
    steps = 0

    def policy(observations: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == 9:
            assert device.in_flight and device.num_registered == 1
            in_child(lambda: None)
        return np.zeros(64, np.int64)

    with (
        closing(ROLLOUTS["native"]()) as theirs,
        closing(ROLLOUTS["native"]().torch("cuda")) as ours,
    ):
        ours.reset(seed=1)
        theirs.reset(seed=1)
        rollout, wanted = ours.rollout(STEPS).collect(policy), theirs.rollout(STEPS).collect(first)
        assert device.num_registered == 2
        device.finish()
        assert_same(numbers(rollout.observations), wanted.observations, "observations")


class Odd:
    """Environments with arrays that are no plain ones."""

    def reset(self) -> Any:
        return {
            "turned": np.arange(12.0).reshape(3, 4).T,
            "reversed": np.arange(5, dtype=np.uint8)[::-1],
            "scalar": np.array(3.5, np.float32),
            "empty": np.zeros((0, 3)),
            "number": np.float64(2),
        }

    def step(self, actions: Any) -> None:
        assert actions.tolist() == [1, 2]

    def close(self) -> None:
        pass


def test_arrays_may_have_any_strides(late: Late) -> None:
    device = late()
    with TorchEnv(Odd(), "cuda") as envs:
        found = envs.reset()
        device.finish()
        wanted = Odd().reset()
        for name, array in wanted.items():
            assert_same(numbers(found[name]), array, name)
        assert envs.step(torch.tensor([[1, 9], [2, 9]])[:, 0]) is None


# ------------------------------------------------------------------------------ exceptions --


class Recorded:
    """A pool that keeps a copy of each batch that it returns."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.batches: list[Any] = []

    def _note(self, batch: Any) -> Any:
        self.batches.append(tuple(array.copy() for array in batch))
        return batch

    def reset(self, **options: Any) -> Any:
        return self._note(self.pool.reset(**options))

    def step(self, actions: Any) -> Any:
        return self._note(self.pool.step(actions))

    def recv(self) -> Any:
        return self._note(self.pool.recv())

    def close(self) -> None:
        self.pool.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 0])
def test_interrupt_anywhere_in_step_harms_no_result(seed: int | None, late: Late) -> None:
    device = late(seed=seed)
    recorded = Recorded(Pool("test/Fault-v0", NUM_ENVS, num_threads=1))
    ours = TorchEnv(recorded, "cuda")
    kept = [(ours.reset(), recorded.batches[-1])]
    interrupted = 0
    actions = torch.zeros(NUM_ENVS, dtype=torch.int64)
    for place in range(1, 240):
        try:
            result = Interrupter(place).run(ours.step, actions if place % 2 else actions.numpy())
        except KeyboardInterrupt:
            interrupted += 1
            result = ours.recv() if recorded.pool.in_flight else ours.step(actions.numpy())
        kept.append((result, recorded.batches[-1]))
    assert interrupted > 60
    device.finish()
    for step, (found, wanted) in enumerate(kept):
        assert_same(tuple(numbers(tuple(found))), wanted, str(step))
    ours.close()
    assert not device.registered


def test_failures_bring_tensors(late: Late) -> None:
    device = late()
    options = {"fail_on": "step", "fail_env": 1, "fail_at_step": 3}
    recorded = Recorded(Pool("test/Fault-v0", NUM_ENVS, options=options))
    with closing(TorchEnv(recorded, "cuda")) as ours:
        kept = [(ours.reset(), recorded.batches[-1])]
        for _ in range(2):
            kept.append((ours.step(np.zeros(NUM_ENVS, np.int64)), recorded.batches[-1]))
        with pytest.raises(EnvError) as caught:
            ours.step(np.zeros(NUM_ENVS, np.int64))
        assert device.in_flight > len(caught.value.batch)
        for _ in range(4):
            kept.append((ours.step(np.zeros(NUM_ENVS, np.int64)), recorded.batches[-1]))
        device.finish()
        for step, (found, wanted) in enumerate(kept):
            assert_same(tuple(numbers(tuple(found))), wanted, str(step))
        batch = caught.value.batch
        count = batch[[column.name for column in recorded.pool.columns].index("count")]
        assert batch.env_id.tolist() == list(range(NUM_ENVS))
        assert count[0] == 3 and count[1] == 0


def test_a_device_without_memory_loses_one_result(late: Late) -> None:
    """What was started before goes on, and its source is held."""
    device = late()
    with closing(MAKERS["vector"]()) as theirs, closing(MAKERS["vector"]().torch("cuda")) as ours:
        kept = [reset_both("vector", ours, theirs)]
        for step, actions in enumerate(samples(theirs, 12)):
            device.fails = torch.OutOfMemoryError("no memory") if step % 3 == 0 else None
            if step % 3:
                kept.append((ours.step(actions), theirs.step(actions)))
            else:
                theirs.step(actions)
                with pytest.raises(torch.OutOfMemoryError, match="no memory"):
                    ours.step(actions)
        device.finish()
        check(kept, "failed")


# -------------------------------------------------------------------------------- rollouts --

ROLLOUTS: dict[str, Callable[[], Any]] = {
    "native": partial(parallel_pool.PoolVectorEnv, "CartPole-v1", 64),
    "same step": partial(
        parallel_pool.PoolVectorEnv, "CartPole-v1", 64, max_episode_steps=7, autoreset_mode=SAME
    ),
    "tuple": partial(parallel_pool.PoolVectorEnv, "Blackjack-v1", 64),
    "workers": partial(parallel_pool.PoolVectorEnv, [picture_maker()] * 3, num_workers=1),
    "asynchronous": partial(
        parallel_pool.make_gymnasium, "CartPole-v1", num_envs=64, batch_size=16, seed=1
    ),
}
STEPS = 32
FIELDS = (
    *("observations", "next_observations", "actions", "rewards", "terminations"),
    *("truncations", "resets", "extras", "infos"),
)


def first(*shown: Any) -> Any:
    """Acts with the first action."""
    rows = shown[0]
    while not hasattr(rows, "shape"):
        rows = next(iter(rows.values() if isinstance(rows, dict) else rows))
    return np.zeros(len(rows), np.int64)


@pytest.mark.quick(1)
@pytest.mark.parametrize("is_tensor", [False, True], ids=["arrays", "tensors"])
@pytest.mark.parametrize("name", ROLLOUTS)
def test_rollouts_are_those_of_the_environments(name: str, is_tensor: bool, late: Late) -> None:
    """As many as are kept, with a policy for which uploads have to wait or not."""
    device = late()

    def policy(*shown: Any) -> Any:
        actions = first(*shown)
        extras = np.arange(len(actions), dtype=np.float32)
        if is_tensor:
            return torch.from_numpy(actions), {"row": torch.from_numpy(extras)}
        return actions, {"row": extras}

    def plain(*shown: Any) -> Any:
        actions = first(*shown)
        return actions, {"row": np.arange(len(actions), dtype=np.float32)}

    with closing(ROLLOUTS[name]()) as theirs, closing(ROLLOUTS[name]().torch("cuda")) as ours:
        for envs in (theirs, ours):
            if name == "asynchronous":
                envs.async_reset()
            else:
                envs.reset(seed=3)
        buffer, twin = ours.rollout(STEPS), theirs.rollout(STEPS)
        kept = [(buffer.collect(policy), twin.collect(plain)) for _ in range(5)]
        assert device.in_flight
        device.finish()
        for number, (found, wanted) in enumerate(kept):
            for field in FIELDS:
                one, other = getattr(found, field), getattr(wanted, field)
                if field == "extras" and name == "asynchronous":
                    # which rows a policy is shown depends on which environments are first
                    assert one["row"].shape == other["row"].shape
                    continue
                assert_same(numbers(one), other, f"{name} {number} {field}")
            if name == "same step":
                ended = wanted.terminations | wanted.truncations
                finals = numbers(found.final_observations)
                assert_same(finals[ended], wanted.final_observations[ended], "finals")
            else:
                assert found.final_observations is None
        if name == "native":
            found = kept[0][0]
            # one memory, as on the CPU
            assert found.next_observations[0].data_ptr() == found.observations[1].data_ptr()
        # the others have batches of less than 64 KB, and rollouts in memory of NumPy's
        assert bool(device.registered) == (name in ("native", "same step", "workers"))
    assert not device.registered


def test_a_policy_sees_what_was_uploaded(late: Late) -> None:
    device = late()
    seen = []

    def policy(observations: Any) -> Any:
        seen.append(observations)
        return torch.zeros(64, dtype=torch.int64)

    with closing(ROLLOUTS["native"]().torch("cuda")) as envs:
        envs.reset(seed=1)
        rollout = envs.rollout(STEPS).collect(policy)
        device.finish()
        assert torch.equal(torch.stack(seen), rollout.observations)


def test_frames_that_are_kept_once_stay_arrays(late: Late) -> None:
    device = late()
    with closing(parallel_pool.make_vec("Pong-v5", 2, backend="native").torch("cuda")) as envs:
        envs.reset(seed=1)
        shown = []

        def policy(observations: Any) -> Any:
            shown.append(observations)
            return np.zeros(2, np.int64)

        rollout = envs.rollout(4, frames=True).collect(policy)
        device.finish()
        assert isinstance(rollout.rewards, torch.Tensor)
        stacks = np.asarray(rollout.observations)
        assert_same(np.stack([one.numpy() for one in shown]), stacks, "frames")


# ----------------------------------------------------------------------------------- devices --


@pytest.mark.parametrize("device", ["cuda:99", "meta", torch.device("meta")])
def test_devices_that_are_not_there_are_refused(device: Any) -> None:
    with (
        closing(parallel_pool.PoolVectorEnv("CartPole-v1", 2)) as envs,
        pytest.raises(ValueError, match=r"^device=.*: PyTorch .* can't use it here .*'cpu'"),
    ):
        envs.torch(device=device)


def test_other_devices_get_copies() -> None:
    """As far as a machine without one can tell."""
    copies = WaitingTransfers(torch.device("cpu"))
    texts = np.array(["a", None])
    value = {"a": (np.arange(3), texts), "b": 3}
    there = copies.tensors(value)
    assert isinstance(there["a"][0], torch.Tensor) and there["a"][1] is texts
    assert_same(copies.arrays(there), value, "back")
    with pytest.raises(TypeError, match=r"on meta .*: give a tensor with values"):
        copies.arrays(torch.zeros(2, device="meta"))
    copies.close()


# -------------------------------------------------------------------------------- a real GPU --

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def on_cpu(value: Any) -> Any:
    """Returns a result with arrays in place of tensors, all of which are on the GPU."""
    if isinstance(value, torch.Tensor):
        assert value.is_cuda
        return value.cpu().numpy()
    if isinstance(value, dict):
        return {name: on_cpu(each) for name, each in value.items()}
    if isinstance(value, tuple):
        parts = [on_cpu(each) for each in value]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    return value


@needs_gpu
@pytest.mark.parametrize("are_tensors", [False, True], ids=["arrays", "tensors"])
@pytest.mark.parametrize("name", MAKERS)
def test_results_on_a_gpu(name: str, are_tensors: bool) -> None:
    with closing(MAKERS[name]()) as theirs, closing(TorchEnv(MAKERS[name](), "cuda")) as ours:
        kept = [reset_both(name, ours, theirs)]
        for actions in samples(theirs, 50):
            given = torch.from_numpy(actions).to("cuda") if are_tensors else actions
            kept.append((ours.step(given), theirs.step(actions)))
    for step, (found, wanted) in enumerate(kept):
        assert_same(on_cpu(found), wanted, f"{name}: {step}")


@needs_gpu
@pytest.mark.parametrize("stream", ["default", "other"])
def test_a_busy_gpu(stream: str) -> None:
    """Uploads go on beside the work of the user's stream, which waits for them before it reads."""
    with closing(MAKERS["vector"]()) as theirs, closing(MAKERS["vector"]().torch("cuda")) as ours:
        used = torch.cuda.default_stream() if stream == "default" else torch.cuda.Stream()
        with torch.cuda.stream(used):
            large = torch.rand(4096, 4096, device="cuda")
            kept = [reset_both("vector", ours, theirs)]
            for actions in samples(theirs, 40):
                large = (large @ large).clamp(-1, 1)
                observations, *others = ours.step(actions)
                # of this stream, after long work, and then the memory is given back
                kept.append(((observations + 0, *others), theirs.step(actions)))
                del observations
            used.synchronize()
    for step, (found, wanted) in enumerate(kept):
        assert_same(on_cpu(found), wanted, str(step))


@needs_gpu
@pytest.mark.parametrize("name", ROLLOUTS)
def test_rollouts_on_a_gpu(name: str) -> None:
    def policy(*shown: Any) -> Any:
        return torch.from_numpy(first(*shown)).to("cuda")

    with closing(ROLLOUTS[name]()) as theirs, closing(ROLLOUTS[name]().torch("cuda")) as ours:
        for envs in (theirs, ours):
            if name == "asynchronous":
                envs.async_reset()
            else:
                envs.reset(seed=3)
        buffer, twin = ours.rollout(STEPS), theirs.rollout(STEPS)
        kept = [(buffer.collect(policy), twin.collect(first)) for _ in range(4)]
        for number, (found, wanted) in enumerate(kept):
            for field in FIELDS:
                one, other = getattr(found, field), getattr(wanted, field)
                assert_same(one if field == "infos" else on_cpu(one), other, f"{number} {field}")


@needs_gpu
def test_memory_of_results_is_locked_on_a_gpu() -> None:
    with closing(MAKERS["vector"]()) as plain, closing(plain.torch("cuda")) as envs:
        arrays, _ = plain.reset(seed=1)
        assert arrays.base is not None and arrays.base.nbytes >= MIN_BYTES
        envs.step(np.zeros(NUM_ENVS, np.int64))
        # one of the few blocks that the pool uses
        locked = []
        for _ in range(8):
            envs.step(np.zeros(NUM_ENVS, np.int64))
            torch.cuda.synchronize()
            locked.append(torch.from_numpy(plain.step(np.zeros(NUM_ENVS, np.int64))[0]).is_pinned())
        assert any(locked)
    assert not torch.from_numpy(arrays).is_pinned()


@needs_gpu
def test_a_refusal_leaves_no_error_on_a_gpu() -> None:
    device = CudaDevice(torch.device("cuda"))
    memory = mmap.mmap(-1, 1 << 20)
    address = torch.frombuffer(memory, dtype=torch.uint8).data_ptr()
    assert device.register(address, 1 << 20)
    # a second time
    assert not device.register(address, 1 << 20)
    assert torch.ones(2, device="cuda").sum().item() == 2
    device.unregister(address)
    # not locked any more
    device.unregister(address)
    assert torch.ones(2, device="cuda").sum().item() == 2


@needs_gpu
def test_a_forked_child_on_a_gpu() -> None:
    with closing(MAKERS["vector"]()) as theirs, closing(MAKERS["vector"]().torch("cuda")) as ours:
        kept = [reset_both("vector", ours, theirs)]
        actions = np.zeros(NUM_ENVS, np.int64)
        for _ in range(10):
            kept.append((ours.step(actions), theirs.step(actions)))
        read, write = os.pipe()
        # while the child lives, both have the same pages, until one of them writes
        child = os.fork()
        if not child:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
        for _ in range(20):
            kept.append((ours.step(actions), theirs.step(actions)))
        os.close(write)
        os.waitpid(child, 0)
        os.close(read)
    for step, (found, wanted) in enumerate(kept):
        assert_same(on_cpu(found), wanted, str(step))


@needs_gpu
def test_tensors_of_other_devices_are_refused_on_a_gpu() -> None:
    with parallel_pool.make_vec("Pendulum-v1", 2) as envs:
        envs.reset(seed=0)
        with pytest.raises(TypeError, match=r"on cuda:0 .*: give actions\.cpu\(\)"):
            envs.torch().step(torch.zeros(2, 1, device="cuda"))
