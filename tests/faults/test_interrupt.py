"""Ctrl-C at any point: no result is lost or delivered twice, and the pool goes on."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.rollouts import RolloutMemory, rolling
from parallel_pool.errors import StateError
from parallel_pool.testing import inspect
from tests.support.interrupts import Interrupter


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["ordered", "one", "async"])
def test_interrupt_anywhere_in_step_loses_nothing(kind: str) -> None:
    num_envs = {"ordered": 3, "one": 1, "async": 4}[kind]
    batch_size = 2 if kind == "async" else num_envs
    options = {"num_envs": num_envs, "batch_size": batch_size, "num_threads": 1}
    pool = Pool("test/Fault-v0", **options)  # type: ignore[arg-type]
    names = [column.name for column in pool.columns]
    id_column, count_column = names.index("env_id"), names.index("count")
    seen = dict.fromkeys(range(num_envs), 0)
    kept = []
    interrupted = pending = 0

    def note(batch: Any) -> np.ndarray[Any, Any]:
        for env_id, count in zip(batch[id_column], batch[count_column], strict=True):
            # the environment counts its steps itself
            assert count == seen[env_id]
            seen[env_id] += 1
        kept.append((batch, [array.copy() for array in batch]))
        return batch[id_column]

    pool.send_reset()
    ready = note(pool.recv())
    for place in range(1, 60):
        for _ in range(2):
            try:
                batch = Interrupter(place).run(pool.step, np.zeros(len(ready), np.int64), ready)
            except KeyboardInterrupt:
                interrupted += 1
                sent = pool.in_flight >= batch_size and (kind != "async" or pool.in_flight > 2)
                if not sent:
                    batch = pool.step(np.zeros(len(ready), np.int64), ready)
                else:
                    pending += 1
                    with pytest.raises(StateError):
                        pool.step(np.zeros(len(ready), np.int64), ready)
                    batch = pool.recv()
            ready = note(batch)
    assert interrupted > 10
    assert pending > 2
    for batch, copies in kept:
        for array, copy in zip(batch, copies, strict=True):
            np.testing.assert_array_equal(array, copy)


def test_interrupt_anywhere_in_recv_loses_nothing() -> None:
    pool = Pool("test/Fault-v0", 2, num_threads=1)
    count_column = [column.name for column in pool.columns].index("count")
    pool.reset()
    interrupted = 0
    for place in range(1, 40):
        pool.send([0, 1])
        try:
            batch = Interrupter(place).run(pool.recv)
        except KeyboardInterrupt:
            interrupted += 1
            assert pool.in_flight == 2
            with pytest.raises(StateError, match="already in flight"):
                pool.send([0, 1])
            with pytest.raises(StateError, match="already in flight"):
                pool.reset()
            batch = pool.recv()
        assert list(batch[count_column]) == [place, place]
    assert interrupted > 5


@pytest.mark.parametrize("call", ["recv_as", "recv_as within", "step_as", "step_as within"])
def test_interrupt_anywhere_in_a_conversion_loses_nothing(call: str) -> None:
    """Also a second one, when the next call takes the batch that was left there."""
    pool = Pool("test/Fault-v0", 2, num_threads=1)
    count_column = [column.name for column in pool.columns].index("count")
    pool.reset()
    is_sent = call.startswith("recv")
    timeout = 60.0 if call.endswith("within") else None
    cuts: list[type[BaseException]] = []

    def convert(views: Any) -> list[int]:
        counts: list[int] = views[count_column]().tolist()
        if cuts:
            raise cuts.pop()
        return counts.copy()

    def receive() -> list[int]:
        return pool.recv_as(convert, timeout)

    def step() -> list[int]:
        if is_sent:
            return receive()
        return pool.step_as(convert, np.zeros(2, np.int64), None, timeout)

    def count() -> list[int]:
        """Returns the counts of a step, however often it is interrupted."""
        nonlocal again
        if is_sent:
            pool.send([0, 0])
        try:
            return Interrupter(place if not cuts else 10**6).run(step)
        except KeyboardInterrupt:
            if not pool.in_flight:
                return step()
        try:
            return Interrupter(place).run(receive)
        except KeyboardInterrupt:
            again += 1
        return receive()

    again = 0
    for place in range(1, 40):
        assert count() == [2 * place - 1] * 2, f"place {place}"
        cuts.append(KeyboardInterrupt)
        assert count() == [2 * place] * 2, f"place {place}, after one in the conversion"
    assert again > 20
    pool.close()


@pytest.mark.parametrize("kind", ["batch", "rollout"])
def test_ctrl_c_while_memory_is_freed_is_not_lost(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception in code of Python's that is called then would be printed and ignored."""
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    held: list[Any] = []
    with Pool("test/Fault-v0", 2, num_threads=1) as pool:
        held += [pool.reset()[0]] if kind == "batch" else RolloutMemory(pool, 4).arrays[:1]
    first = int(held[0].ctypes.data)
    del pool
    gc.collect()
    assert is_mapped(first)
    with pytest.raises(KeyboardInterrupt):
        Interrupter(1).run(held.clear)
    assert not held and not ignored
    assert not is_mapped(first)


def is_mapped(address: int) -> bool:
    """Returns whether this process has memory at an address."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    ranges = [line.split()[0].split("-") for line in lines]
    return any(int(first, 16) <= address < int(end, 16) for first, end in ranges)


SLOW = """
import os, signal, threading, time, sys
import numpy as np
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.rollouts import RolloutMemory, rolling
from parallel_pool.errors import StateError
from parallel_pool.testing import inspect
from tests.support.interrupts import Interrupter
pool = Pool("test/Fault-v0", {envs}, batch_size={batch}, num_threads=2, options=dict(sleep_ms=5000))
names = [column.name for column in pool.columns]
pool.send_reset()
first = pool.recv()[names.index("env_id")]

def interrupt():
    while inspect(pool).state != "receiving":
        time.sleep(0.005)
    os.kill(os.getpid(), signal.SIGINT)

try:
    threading.Thread(target=interrupt, daemon=True).start()
    pool.step(np.ones(len(first), int), first)
except KeyboardInterrupt:
    pass
else:
    sys.exit("no KeyboardInterrupt")
try:
    pool.step(np.ones(len(first), int), first)
except StateError as error:
    print(error)
else:
    sys.exit("a step with results pending")
for _ in range({receives}):
    batch = pool.recv()
assert (batch[names.index("count")] == {count}).all(), batch
print("fine")
"""


@pytest.mark.slow
def test_a_real_signal_ends_the_wait() -> None:
    numbers = {"envs": 2, "batch": 2, "receives": 1, "count": 1}
    done = subprocess.run(
        [sys.executable, "-c", SLOW.format(**numbers)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fine" in done.stdout


@pytest.mark.sanitizers
def test_interrupt_anywhere_in_a_rollout_leaves_the_pool_as_it_would_any_step() -> None:
    num_envs, steps = 3, 4
    pool = Pool("test/Fault-v0", num_envs, num_threads=1)
    pool.reset()
    actions = np.zeros(num_envs, np.int64)
    count = 0
    interrupted = pending = 0

    def collect() -> list[Any]:
        memory = RolloutMemory(pool, steps)
        with rolling(pool, memory):
            batches = [pool.step(actions) for _ in range(steps)]
        for at, batch in enumerate(batches):
            assert np.shares_memory(batch.obs, memory.arrays[0][at + 1])
        return batches

    for place in range(1, 600):
        try:
            batches = Interrupter(place).run(collect)
        except KeyboardInterrupt:
            interrupted += 1
            if pool.in_flight:
                pending += 1
                with pytest.raises(StateError, match="pending"):
                    collect()
                pool.recv()
            kept = pool.step(actions)
            # the environment counts its steps itself, and a step is done at most once
            assert count < kept.count_[0] <= count + steps + 1
            count = int(kept.count_[0])
        else:
            assert [int(batch.count_[0]) for batch in batches] == list(
                range(count + 1, count + steps + 1)
            )
            count += steps
        after = [pool.step(actions) for _ in range(5)]
        assert [int(batch.count_[0]) for batch in after] == list(range(count + 1, count + 6))
        count += 5
        if place > 30 and interrupted < place // 2:
            break
    assert interrupted > 40
    assert pending > 3
    del after, kept, batches
    for _ in range(20):
        pool.step(actions)
    assert inspect(pool).blocks < 9
    pool.close()


@pytest.mark.sanitizers
def test_interrupt_anywhere_in_an_asynchronous_rollout_loses_no_step() -> None:
    num_envs, steps = 3, 2
    options = {"num_envs": num_envs, "batch_size": 2, "num_threads": 1}
    envs = parallel_pool.make_gymnasium("test/Fault-v0", **options)
    buffer = envs.rollout(steps)
    # how often the policy has acted for each environment, and the steps that these have counted
    acted, counted = np.zeros(num_envs, int), np.zeros(num_envs, int)
    interrupted = pending = 0

    def policy(observations: Any, env_ids: Any) -> Any:
        acted[env_ids] += 1
        return np.zeros(len(env_ids), np.int64)

    envs.async_reset()
    for place in range(1, 1000, 2):
        before = interrupted
        try:
            Interrupter(place).run(buffer.collect, policy)
        except KeyboardInterrupt:
            interrupted += 1
            pending += envs.pool.in_flight > 0
        # it goes on with what the other has left in flight
        rollout = buffer.collect(policy)
        counts = np.array([info["count"] for info in rollout.infos])
        np.testing.assert_array_equal(counts, counts[0] + np.arange(steps)[:, None])
        np.testing.assert_array_equal(rollout.next_observations[:, :, 0], counts)
        assert (counts[0] > counted).all() and (counts[-1] <= acted).all()
        counted = counts[-1]
        if interrupted == before:
            break
    assert interrupted > 50 and pending > 20
    envs.close()
