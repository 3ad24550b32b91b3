"""Every kind of death of the parent process: its workers end by themselves and leave nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from parallel_pool._workers.start.launch import METHODS
from tests.support.programs import Program

# each runs a program for a few seconds
pytestmark = pytest.mark.slow

Start = Callable[..., Program]

DEATHS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "os.kill(os.getpid(), signal.SIGTERM)",
    "os._exit": "os._exit(9)",
    "segfault": "ctypes.string_at(0)",
    "from a thread": "threading.Thread(target=os._exit, args=(9,)).start(); time.sleep(1e5)",
}
CODES = {"killed": -9, "terminated": -15, "os._exit": 9, "segfault": -11, "from a thread": 9}

# pools of several start methods: a worker sleeps in a step, one holds the GIL there, one is idle
STEPPING = """
pools, methods = [], sys.argv[1:]
for method in methods:
    fns = [make("sleeps", method), make("sleeps with lock", method + "2"), make()]
    pools.append(ProcessPool(fns, num_workers=3, start_method=method))
    pools[-1].reset(seed=1)
    pools[-1].step([0, 0, 0])
    pools[-1].step([0, 0, 0])
    pools[-1].send([0, 0, 0])
meet(*("step" + method + which for method in methods for which in ("", "2")))
print(len(others()), flush=True)
"""


@pytest.mark.parametrize("death", DEATHS)
def test_workers_end_with_their_parent(program: Start, death: str) -> None:
    """`Program.end` fails if one of its processes is left."""
    methods = METHODS if death == "killed" else ("forkserver", "fork")
    done = program(STEPPING + DEATHS[death], *methods).end()
    assert (done.code, done.out, done.err) == (CODES[death], f"{3 * len(methods)}\n", "")


def test_workers_in_a_constructor_end_with_their_parent(program: Start) -> None:
    script = """
for method in METHODS:
    fns = [make(name=method + "1"), make(name=method + "2", making="sleeps with lock")]
    options = dict(num_workers=2, start_method=method)
    threading.Thread(target=ProcessPool, args=(fns,), kwargs=options, daemon=True).start()
meet(*("make" + method + which for method in METHODS for which in "12"))
print(len(others()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = program(script).end()
    assert (done.code, done.out, done.err) == (-9, "6\n", "")


@pytest.mark.parametrize("method", METHODS)
def test_workers_that_have_not_started_end_with_their_parent(program: Start, method: str) -> None:
    script = """
from parallel_pool._workers.start import startup
workers = startup.Launcher(sys.argv[1]).start([startup.Share(i, i, [make()]) for i in range(3)])
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = program(script, method).end()
    assert (done.code, done.out, done.err) == (-9, "", "")


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("sys.exit(5)", 5, ""),
        ("raise LookupError('of the user')", 1, "LookupError: of the user\n"),
        ("", 0, ""),
        ("cycle = [pool]; cycle.append(cycle); del pool, cycle", 0, ""),
        # close waits for the worker, then kills it
        ("pool.step([0, 0]); pool.send([0, 0]); meet('step')", 0, ""),
    ],
)
def test_a_program_that_does_not_close_its_pool_exits_normally(
    program: Start, end: str, code: int, said: str
) -> None:
    """The pool causes no error, and the program does not wait for ever for a worker that hangs."""
    script = """
pool = ProcessPool([make("sleeps"), make()], num_workers=2)
pool.reset(seed=1)
pool.step([0, 0])
"""
    done = program(script + end).end()
    assert (done.code, done.out) == (code, "")
    assert done.err.endswith(said) and ("Traceback" in done.err) == bool(said)


def test_a_fork_of_the_parent_keeps_no_worker_alive(program: Start) -> None:
    script = """
import select
pools = []
for method in METHODS:
    pools.append(ProcessPool([make(), make()], num_workers=2, start_method=method))
pidfds = [os.pidfd_open(pid) for pid in others()]
if not os.fork():
    for pidfd in pidfds:
        select.select([pidfd], [], [])
    print("all", len(pidfds), "have ended")
    sys.exit()
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = program(script).end()
    assert (done.code, done.out, done.err) == (-9, "all 6 have ended\n", "")


def test_pools_inside_environments_end_with_the_parent(program: Start) -> None:
    script = """
class Nesting(Env):
    def __init__(self):
        self.pool = ProcessPool([make("sleeps"), make()], num_workers=2)

    def reset(self, *, seed=None, options=None):
        self.pool.reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        for _ in range(3):
            self.pool.step([0, 0])

pool = ProcessPool([Nesting])
pool.reset(seed=1)
pool.send([0])
meet("step")
print(len(others()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = program(script).end()
    assert (done.code, done.out, done.err) == (-9, "3\n", "")
