"""Exit: a process exits normally whatever its pools do, and arrays outlive their pools."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool._engine.pool import Pool
from tests.support.sampling import thinned
from tests.support.threads import threads

# seconds after which a process counts as hanging
TEST_TIMEOUT = 120

START = """
import contextlib, gc, os, sys, threading, time
import numpy as np
from parallel_pool.errors import ClosedError, PoolTimeoutError, StateError
from parallel_pool._engine.pool import Pool


def in_flight(batch_size, num_envs=8, **options):
    \"\"\"Returns a pool with environments in flight, and a batch of it.\"\"\"
    options = {"spin": 100000, **options}
    pool = Pool(
        "test/Fault-v0", num_envs, batch_size=batch_size, num_threads=3, seed=0, options=options
    )
    pool.send_reset()
    batch = pool.recv()
    pool.send(np.zeros(batch_size, int), batch[[c.name for c in pool.columns].index("env_id")])
    return pool, batch


"""

ENDINGS = {
    "batches held": "pool, batch = in_flight(8)",
    "batches held asynchronously": "pool, batch = in_flight(2)",
    "closed with batches held": "pool, batch = in_flight(2)\npool.close()",
    "pool dropped, batch held": "pool, batch = in_flight(2)\ndel pool",
    "batch dropped, pool held": "pool, batch = in_flight(2)\ndel batch",
    "many pools": "kept = [in_flight(1 + i % 8) for i in range(12)]",
    "pool in a cycle": """
class Agent:
    pass
agent = Agent()
agent.self, agent.pool = agent, in_flight(2)
del agent
""",
    "pool in a cycle, collected": """
cycle = list(in_flight(2))
cycle.append(cycle)
del cycle
gc.collect()
""",
    "pool in a thread": """
thread = threading.Thread(target=lambda: in_flight(2))
thread.start()
thread.join()
""",
    "pool in a thread that never ends": """
started = threading.Event()
def work():
    pool, batch = in_flight(2)
    started.set()
    time.sleep(1e6)
threading.Thread(target=work, daemon=True).start()
started.wait()
""",
    "pool in a frame of an exception": """
def work():
    pool, batch = in_flight(2)
    raise ValueError
try:
    work()
except ValueError as error:
    kept = error
""",
    "exit": "pool, batch = in_flight(2)\nsys.exit(0)",
    "exit at once": "pool, batch = in_flight(2)\nos._exit(0)",
    "another thread receives": """
pool, batch = in_flight(8)
pool.recv()
def receive():
    # the end of the process closes the pool, if it does not end this thread first
    with contextlib.suppress(ClosedError):
        pool.recv(timeout=1e6)
threading.Thread(target=receive, daemon=True).start()
# once this is refused, the other thread is receiving
while True:
    try:
        pool.recv(timeout=0)
    except PoolTimeoutError:
        pass
    except StateError:
        break
sys.exit(0)
""",
    "another thread waits for a slow step": """
pool, batch = in_flight(8, sleep_ms=500)
def receive():
    with contextlib.suppress(ClosedError):
        pool.recv()
threading.Thread(target=receive, daemon=True).start()
sys.exit(0)
""",
    "pools of a module": """
import types
module = types.ModuleType("keeper")
module.pool, module.batch = in_flight(2)
sys.modules["keeper"] = module
""",
}


def run(script: str) -> None:
    """Runs a script, which must reach its last line and exit with 0 and without output."""
    done = subprocess.run(
        [sys.executable, "-c", START + script],
        capture_output=True,
        text=True,
        check=False,
        timeout=TEST_TIMEOUT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.sanitizers
@pytest.mark.parametrize("ending", thinned(ENDINGS, 2))
def test_the_process_exits_normally(ending: str) -> None:
    run(ENDINGS[ending])


@pytest.mark.sanitizers
def test_sys_exit_in_a_thread_that_receives_ends_only_that_thread() -> None:
    """After that the pool does not count the thread as receiving."""
    run(
        """
pool, batch = in_flight(8)
def receive():
    pool.recv()
    sys.exit(3)
thread = threading.Thread(target=receive)
thread.start()
thread.join()
count = [c.name for c in pool.columns].index("count")
assert (pool.step(np.zeros(8, int))[count] == 2).all()
"""
    )


def is_ending(thread: str) -> bool:
    """Returns whether a thread of this process has ended or is ending."""
    try:
        return "State:\tZ" in Path(f"/proc/self/task/{thread}/status").read_text()
    except OSError:
        return True


@pytest.mark.parametrize("end", ["close", "drop", "drop in a cycle", "close and drop"])
@pytest.mark.parametrize("batch_size", [6, 2])
def test_arrays_outlive_their_pool(end: str, batch_size: int) -> None:
    before = threads()
    pool: Any = Pool("CartPole-v1", 6, batch_size=batch_size, num_threads=3, seed=0)
    mine = threads() - before
    assert mine
    id_column = [column.name for column in pool.columns].index("env_id")
    pool.send_reset()
    held = []
    for i in range(12):
        batch = pool.recv()
        held.append(batch)
        pool.send(np.full(batch_size, i & 1), batch[id_column])
    copies = [[array.copy() for array in batch] for batch in held]
    gone = weakref.ref(pool)
    if "close" in end:
        pool.close()
    if "cycle" in end:
        cycle: list[Any] = [pool]
        cycle.append(cycle)
        del cycle
    if "drop" in end:
        del pool
        gc.collect()
        assert gone() is None
    # they have been joined, but the system removes them a moment later
    while not all(map(is_ending, mine)):
        pass
    # if the memory had been freed, this pool would get it
    other = Pool("CartPole-v1", 6, batch_size=batch_size, num_threads=3, seed=1)
    other.send_reset()
    for _ in range(12):
        other.send(np.zeros(batch_size, int), other.recv()[id_column])
    for batch, copied in zip(held, copies, strict=True):
        for array, copy in zip(batch, copied, strict=True):
            assert array.tobytes() == copy.tobytes()
            array[...] = 1
            assert (array == 1).all()
    other.close()


def test_arrays_outlive_a_pool_that_lived_in_a_thread() -> None:
    def work() -> tuple[np.ndarray[Any, Any], ...]:
        pool = Pool("Pong-v5", 2, num_threads=2, seed=0)
        pool.send([0, 0])
        batch = pool.recv()
        pool.send([0, 0])
        return batch

    with ThreadPoolExecutor(1) as executor:
        batch = executor.submit(work).result(TEST_TIMEOUT)
    gc.collect()
    with Pool("Pong-v5", 2, seed=0) as pool:
        assert [array.tobytes() for array in batch] == [array.tobytes() for array in pool.reset()]


def test_one_array_keeps_its_batch_alive() -> None:
    pool: Any = Pool("CartPole-v1", 4, num_threads=2, seed=0)
    obs = pool.reset()[0]
    row = obs[2]
    view = memoryview(row)
    expected = obs.copy()
    del pool, obs
    gc.collect()
    assert row.tobytes() == view.tobytes() == expected[2].tobytes()
