"""System resources of worker pools: all are released, shortage is an error, forks own none."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import resource
import signal
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.start import child_process, forkserver
from parallel_pool.errors import ForkedError, PoolError, StateError, WorkerError
from tests.support.forked import in_child
from tests.support.programs import Program
from tests.support.timeouts import TEST_TIMEOUT, limited, wait_for
from tests.support.worker_processes import children, descriptors, kinds, methods
from tests.support.workers_targets import Env

Start = Callable[..., Program]

quick_methods = pytest.mark.parametrize("method", ["forkserver", "fork"])

ACTIONS = np.zeros(3, np.int64)


def pool_of(method: str, **options: Any) -> ProcessPool:
    """Makes a pool of three environments in two workers, and resets it."""
    pool = ProcessPool([Env] * 3, num_workers=2, start_method=method, **options)
    pool.reset(seed=1)
    return pool


def assert_steps(pool: ProcessPool, count: int) -> None:
    """Steps the pool; checks that this is step number `count` of each environment."""
    np.testing.assert_array_equal(pool.step(ACTIONS)[0], np.full((3, 2), count))


# children of this process that have outlasted ten seconds of waiting: they belong to other tests
LASTING: set[int] = set()


def lasting() -> set[int]:
    return LASTING | {forkserver.current().pid}


def owned() -> Any:
    """Returns descriptors, processes, threads and shared memory of this process."""
    maps = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    threads = [thread.name for thread in threading.enumerate()]
    return (
        kinds(),
        children() - {forkserver.current().pid},
        # Python lists a foreign thread that has ended until another thread gets its id
        Counter(name for name in threads if not name.startswith("Dummy")),
        [line for line in maps if "memfd:" in line],
    )


def assert_releases_all(work: Callable[[], Any]) -> None:
    """Fails unless this process owns the same resources before and after a function."""
    # garbage, threads and processes of earlier tests must not end meanwhile
    gc.collect()
    end = time.monotonic() + 10
    while children() - lasting() and time.monotonic() < end:
        time.sleep(0.01)
    LASTING.update(children())
    # outlasts a pool that starts it
    child_process.tracker_fd()
    before = owned()
    work()
    # threads of closed pools may take a moment to end
    end = time.monotonic() + TEST_TIMEOUT / 2
    while owned() != before and time.monotonic() < end:
        time.sleep(0.01)
    assert owned() == before


@pytest.fixture(autouse=True)
def hang_fails() -> Iterator[None]:
    with limited():
        yield


# --------------------------------------------------------------------------------------- leaks --


@pytest.mark.slow
@methods
def test_pools_release_all_resources(method: str) -> None:
    def work() -> None:
        for _ in range(1 if method == "spawn" else 20):
            with pool_of(method) as pool:
                assert_steps(pool, 1)

    assert_releases_all(work)


@pytest.mark.slow
def test_the_vector_environment_releases_all_resources() -> None:
    def work() -> None:
        for _ in range(5):
            envs = ProcessVectorEnv([Env] * 3, num_workers=2, context="fork")
            envs.reset(seed=1)
            envs.close()

    assert_releases_all(work)


@pytest.mark.slow
def test_workers_that_are_replaced_release_all_resources() -> None:
    def work() -> None:
        with pool_of("fork", on_error="restart") as pool:
            for _ in range(5):
                for _ in range(3):
                    pool.step(ACTIONS)
                pid = pool.worker_pids[1]
                assert pid is not None
                os.kill(pid, signal.SIGKILL)
                while pool.worker_pids[1] in (None, pid):
                    pool.step(ACTIONS)

    assert_releases_all(work)


@pytest.mark.sanitizers
@quick_methods
@pytest.mark.parametrize("is_held", [False, True])
def test_a_deleted_pool_ends_its_workers_at_once(method: str, is_held: bool) -> None:
    """Without the garbage collector; results stay valid."""

    def work() -> None:
        pool = pool_of(method)
        assert_steps(pool, 1)
        held = pool.step(ACTIONS) if is_held else None
        workers = pool.worker_pids
        pool.send(ACTIONS)
        gone = weakref.ref(pool)
        del pool
        assert gone() is None and len(workers) == 2
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers))
        if held is not None:
            assert (held[0] == 2).all()
            held[0][:] = 7

    gc.collect()
    gc.disable()
    try:
        assert_releases_all(work)
    finally:
        gc.enable()


@pytest.mark.slow
def test_results_outlive_their_pool() -> None:
    def work() -> None:
        pool = pool_of("fork")
        held = [pool.step(ACTIONS)[0] for _ in range(8)]
        pool.close()
        del pool
        with pool_of("fork") as other:
            for _ in range(8):
                other.step(ACTIONS)
        for i, shown in enumerate(held):
            assert (shown == i + 1).all()

    assert_releases_all(work)


# ---------------------------------------------------------------------------------------- fork --


def assert_not_its_own(pool: ProcessPool) -> None:
    """Checks in a child that calls are refused with a cure, and that close may be called."""
    calls: list[Callable[[], Any]] = [
        lambda: pool.step(ACTIONS),
        lambda: pool.step(ACTIONS, timeout=600),
        lambda: pool.send(ACTIONS),
        lambda: pool.send_reset(),
        lambda: pool.reset(seed=3),
        lambda: pool.recv(),
        lambda: pool.recv(timeout=600),
        lambda: pool.call("render"),
        lambda: pool.get_attr("steps"),
        lambda: pool.set_attr("steps", [1, 2, 3]),
        lambda: pool.apply(repr),
    ]
    for call in calls:
        with pytest.raises(ForkedError, match="belongs to the parent process: make a new one"):
            call()
    pool.close()
    pool.close()
    assert len(pool) == 3


@pytest.mark.sanitizers
@methods
def test_a_fork_does_not_own_the_pool(method: str) -> None:
    """Closing the pool in the fork ends no worker."""
    with pool_of(method) as pool:
        in_child(lambda: assert_not_its_own(pool))
        assert_steps(pool, 1)
        pool.send(ACTIONS)
        in_child(lambda: assert_not_its_own(pool))
        assert (pool.recv()[0] == 2).all()
        assert_steps(pool, 3)


@pytest.mark.slow
def test_the_process_may_fork_at_any_time() -> None:
    """Also while another thread waits for results, and while dead workers are replaced."""
    with pool_of("fork", on_error="restart", timeout=600) as pool:
        is_over = False
        steps = 0
        trouble: list[BaseException] = []

        def work() -> None:
            nonlocal steps
            try:
                while not is_over:
                    pool.step(ACTIONS)
                    steps += 1
            except BaseException as error:
                trouble.append(error)

        # There must be steps between two deaths, because a worker that is killed several times
        # before it has stepped is given up. One step is not enough: this process may write the
        # first rows after a death.
        def has_gone_on(before: int) -> bool:
            return bool(trouble) or steps > before + 3

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(10):
            pid = pool.worker_pids[0]
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
            goes_on = partial(has_gone_on, steps)
            in_child(pool.close)
            wait_for(goes_on)
        is_over = True
        thread.join()
        assert trouble == []


def test_a_fork_may_delete_the_inherited_pool() -> None:
    kept: list[Any] = [pool_of("fork")]
    kept.append(kept[0].step(ACTIONS))

    def child() -> None:
        kept.clear()
        gc.collect()

    in_child(child)
    pool, batch = kept
    assert (batch[0] == 1).all()
    assert_steps(pool, 2)
    assert (batch[0] == 1).all()
    pool.close()


@pytest.mark.slow
@methods
def test_a_fork_can_make_a_pool_of_its_own(method: str) -> None:
    def child() -> None:
        with pool_of(method) as own:
            assert_steps(own, 1)
            in_child(lambda: assert_not_its_own(own))

    with pool_of("fork") as pool:
        in_child(child)
        assert_steps(pool, 1)


@pytest.mark.slow
def test_a_multiprocessing_child_exits_normally() -> None:
    with pool_of("forkserver") as pool:

        def child() -> None:
            with pytest.raises(ForkedError):
                pool.step(ACTIONS)

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
        assert process.exitcode == 0
        assert_steps(pool, 1)


@pytest.mark.slow
def test_a_fork_may_exit_as_programs_do(program: Start) -> None:
    script = """
pool = ProcessPool([make("waits"), make()], num_workers=2)
pool.reset(seed=1)
for _ in range(2):
    pool.step([0, 0])
pool.send([0, 0])
for drops in (True, False):
    child = os.fork()
    if not child:
        if drops:
            del pool
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
come("go")
assert (pool.recv()[0] == 3).all()
print("end")
"""
    done = program(script).end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


# --------------------------------------------------------------------------------- descriptors --


def numbers_up_to(free: int) -> int:
    """Returns the limit that lets this process open this many more files."""
    taken = descriptors()
    return [fd for fd in range(len(taken) + free + 10) if str(fd) not in taken][free]


@contextmanager
def few_files(limit: int) -> Iterator[None]:
    """Lets this process open only descriptors with numbers below this limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
@quick_methods
def test_too_few_descriptors_are_a_clear_error(method: str) -> None:
    """Whichever descriptor is one too many, an error says so and nothing is left open."""
    refused = []

    def work(free: int) -> bool:
        with few_files(numbers_up_to(free)):
            try:
                with pool_of(method) as pool:
                    assert_steps(pool, 1)
                return True
            except (OSError, PoolError) as error:
                refused.append(repr(error))
                return False

    works: list[bool] = []
    for free in range(30):
        assert_releases_all(lambda free=free: works.append(work(free)))
        if works[-2:] == [True, True]:
            break
    assert works == sorted(works) and len(refused) > 5
    for said in refused:
        assert said.startswith("OSError") and ("files" in said or "no shared memory" in said), said


@pytest.mark.slow
def test_too_few_descriptors_for_a_replacement_are_a_clear_error() -> None:
    with pool_of("fork", on_error="restart") as pool:
        pid = pool.worker_pids[1]
        assert pid is not None
        # so low that descriptors which are closed meanwhile can't be used
        with few_files(3):
            os.kill(pid, signal.SIGKILL)
            with pytest.raises((WorkerError, StateError), match="Too many open files"):
                while True:
                    pool.step(ACTIONS)
        # the others go on
        pool.send([0], [0])
        with pytest.raises(StateError, match="Too many open files"):
            pool.send([0], [2])


# ----------------------------------------------------------------------- processes and threads --


def become_limited() -> None:
    """Makes the limit of processes apply: root, and who may become root, has none."""
    if os.getuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    drop_from_bounding_set, sys_admin, sys_resource = 24, 21, 24
    for capability in (sys_admin, sys_resource):
        if libc.prctl(drop_from_bounding_set, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
    # the files belong to root
    os.setresuid(64321, 0, 0)


@pytest.mark.slow
def test_too_many_processes_are_a_clear_error(program: Start) -> None:
    """Whichever process or thread is one too many, an error says so."""
    script = """
import resource

def count():
    # all threads of all processes of this user
    total = 0
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "status").read_text()
        except OSError:
            continue
        if f"Uid:\\t{os.getuid()}\\t" in status:
            total += int(status.partition("Threads:")[2].split()[0])
    return total

hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
for method in sys.argv[1:]:
    if method == "forkserver":
        ProcessPool([make()], start_method=method).close()
    refused, works = [], 0
    for more in range(30):
        while others():
            time.sleep(0.01)
        resource.setrlimit(resource.RLIMIT_NPROC, (count() + more, hard))
        try:
            with ProcessPool([make()] * 3, num_workers=2, start_method=method) as pool:
                pool.reset(seed=1)
                assert (pool.step([0] * 3)[0] == 1).all()
            works += 1
        except (OSError, PoolError) as error:
            refused.append(str(error))
        if works == 2:
            break
    assert works == 2 and len(refused) > 3, refused
    for said in refused:
        assert "limits of processes" in said or "limit of processes" in said, said
print("end")
"""
    done = program(script, "forkserver", "fork", preexec_fn=become_limited).end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


# -------------------------------------------------------------------------------------- memory --

# a limit of file sizes also limits shared memory
LIMIT = """
import resource
import sys

# Python would cut compiled modules short, too
sys.dont_write_bytecode = True
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
size = 3_000_000

def limit(bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if bytes is None else bytes, hard))

class Talking(Env):
    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        return observation, {"bytes": bytes((options or {}).get("size", 0))}

    def give(self, argument=b"", size=0):
        return bytes(size)

def fds():
    return sorted(os.listdir("/proc/self/fd"))

def refused(function):
    try:
        function()
    except MemoryError:
        return True
    return False

for method in sys.argv[1:]:
    if method == "forkserver":
        ProcessPool([Talking], start_method=method).close()
"""


@pytest.mark.slow
def test_no_memory_for_a_pool_is_a_clear_error(program: Start) -> None:
    script = """
    made, before = [], fds()
    for pages in (1, 2, 3, 4, 6, 8, 16, 64, 256, 1024):
        limit(4096 * pages)
        try:
            with ProcessPool([Talking] * 3, num_workers=2, start_method=method) as pool:
                pool.reset(seed=1)
                assert (pool.step([0] * 3)[0] == 1).all()
            made.append(True)
        except MemoryError as error:
            made.append(False)
            assert "memory for" in str(error), error
            del error
        limit(None)
        pool = None
        assert others() == []
    assert made == sorted(made) and made[0] < made[-1], made
    assert fds() == before
print("end")
"""
    done = program(LIMIT + script, "fork").end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


@pytest.mark.slow
def test_calls_for_which_there_is_no_memory_are_refused(program: Start) -> None:
    """Only calls that need more memory are refused; the pool goes on."""
    script = """
    limit(1 << 20)
    with ProcessPool([Talking] * 3, num_workers=2, start_method=method) as pool:
        pool.reset(seed=1)
        for function in (
            lambda: pool.reset(options={"given": bytes(size)}),
            lambda: pool.call("give", bytes(size)),
            lambda: pool.set_attr("given", [bytes(size)] * 3),
        ):
            assert refused(function)
            assert (pool.call("give", b"little") == [b""] * 3)
            pool.reset()
            assert (pool.step([0] * 3)[0] == 1).all()
        held = []
        while not refused(lambda: held.append(pool.step([0] * 3))):
            pass
        assert len(held) > 50
        for i, batch in enumerate(held):
            assert (batch[0] == i + 2).all()
        if method == "fork":
            # the replies of workers are limited too
            held.clear()
            assert refused(lambda: pool.recv() if pool.in_flight else None) is False
            assert refused(lambda: pool.reset(options={"size": size}))
            assert refused(lambda: pool.call("give", size=size))
        limit(None)
    limit(None)
print("end")
"""
    done = program(LIMIT + script, "fork", "forkserver").end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


@pytest.mark.slow
def test_no_address_space_is_a_clear_error(program: Start) -> None:
    """In the parent process or in a worker."""
    script = """
import mmap, resource, traceback
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
def limit():
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), hard))

class Large(Env):
    # six batches of two of these observations do not fit into half of what limit() leaves
    observation_space = gymnasium.spaces.Box(0, 255, (4 << 20,), np.uint8)

class Limiting(Large):
    def __init__(self):
        super().__init__()
        limit()

for make_one in (Limiting, Large):
    try:
        if make_one is Large:
            limit()
        ProcessPool([Large, make_one], num_workers=2, start_method="fork")
    except (MemoryError, PoolError) as error:
        # the worker's own exception may have no text, and then its note says what failed
        print(*"".join(traceback.format_exception_only(error)).split())
    assert others() == []
"""
    done = program(script).end()
    assert (done.code, done.err) == (0, "")
    worker, own = done.out.splitlines()
    # what is used up first, by its spaces' copies or its batches, depends on the allocator
    assert "no shared memory" in worker or "environment 1 can't be made" in worker, done.out
    assert own.startswith("MemoryError"), done.out
