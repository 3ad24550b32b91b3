"""Limits of address space (`ulimit -v`): pools stay within them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.programs import Program

# each limit in a child process of its own, because it can't be raised again
SCRIPT = """
import resource
from parallel_pool._workers.start import address_space

fns = [Env] * 8

def play(limit, start_method):
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with ProcessPool(fns, num_workers=4, start_method=start_method, on_error="restart") as pool:
        pool.reset(seed=0)
        for _ in range(3):
            pool.step(np.zeros(8, np.int64))
        # the worker that replaces this one must map as much
        os.kill(pool.worker_pids[1], signal.SIGKILL)
        while not pool.replies().get(2, {}):
            pool.step(np.zeros(8, np.int64))
        assert address_space.remaining() > limit // 4

def within(limit, start_method):
    pid = os.fork()
    if not pid:
        try:
            play(limit, start_method)
        except BaseException as error:
            print(limit, type(error).__name__, error, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]
"""


@pytest.mark.slow
def test_pools_work_under_any_limit(program: Callable[..., Program]) -> None:
    script = """
for gigabytes in (1, 2, 3, 4, 6, 8, 10, 20):
    assert within(gigabytes << 30, "fork") == 0
assert within(1 << 30, "forkserver") == 0
print("end")
"""
    done = program(SCRIPT + script).end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


@pytest.mark.slow
def test_too_little_is_an_error_with_a_cure(program: Callable[..., Program]) -> None:
    script = """
class Large(Env):
    observation_space = gymnasium.spaces.Box(0, 255, (1 << 20,), np.uint8)

fns = [Large] * 8
print(within(address_space.used() + (48 << 20), "fork"))
"""
    done = program(SCRIPT + script).end()
    assert done.out.endswith("\n256\n"), done
    assert "MemoryError no shared memory for num_envs=8" in done.out, done
    assert "ulimit -v" in done.out, done
