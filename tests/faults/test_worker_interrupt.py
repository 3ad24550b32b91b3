"""Ctrl-C and other signals with worker processes: no batch is lost, and workers are unaffected."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from parallel_pool._workers.start import bootstrap, forkserver, launch
from tests.support.programs import Program
from tests.support.timeouts import TEST_TIMEOUT
from tests.support.worker_processes import methods

Start = Callable[..., Program]

quick_methods = pytest.mark.parametrize("method", ["forkserver", "fork"])

# In these tests Ctrl-C reaches only the parent process, while its workers are at a known place.

WAITS = """
def finish():
    # lets environments that wait go on
    come("go")

def begin_again():
    # makes environments wait from now on
    for name in ("go", "step", "call"):
        (MEETING / name).unlink(missing_ok=True)

class Waiting(Env):
    def wait(self):
        come("call")
        meet("go")
        return self.steps

fns = [lambda: Waiting("waits"), Waiting]
"""


@pytest.mark.slow
def test_ctrl_c_in_step_and_recv_loses_no_batch(program: Start) -> None:
    """The next recv returns the batch, in ordered and unordered pools."""
    script = """
for batch_size in (2, 1):
    begin_again()
    with ProcessPool(fns, num_workers=2, batch_size=batch_size) as pool:
        pool.send_reset()
        for _ in range(2 // batch_size):
            pool.recv()
        for _ in range(2):
            pool.send([0, 0], [0, 1])
            for _ in range(2 // batch_size):
                pool.recv()
        if batch_size == 1:
            pool.send([0], [0])
        interrupted(pool.recv if batch_size == 1 else lambda: pool.step([0, 0]), "step")
        assert pool.in_flight == batch_size
        interrupted(pool.recv, "step")
        try:
            pool.send([0], [0])
        except StateError as error:
            assert "environment 0 is already in flight" in str(error)
        finish()
        assert (pool.recv()[0][0] == 3).all()
        assert (pool.step([0] * batch_size, range(batch_size))[0][0] == 4).all()
print("end")
"""
    done = program(WAITS + script).end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


@pytest.mark.slow
def test_ctrl_c_in_a_call_loses_no_answer(program: Start) -> None:
    script = """
with ProcessPool(fns, num_workers=2) as pool:
    pool.reset()
    interrupted(lambda: pool.call("wait"), "call")
    # the workers still run the call
    try:
        pool.get_attr("steps")
    except StateError as error:
        assert "take its answer first" in str(error), error
    finish()
    call = None
    while call is None:
        try:
            call = pool.send_call("wait")
        except StateError:
            time.sleep(0.01)
    assert pool.recv_call(call) == [0, 0]
    assert (pool.step([0, 0])[0] == 1).all()
    begin_again()
    call = pool.send_call("wait")
    interrupted(lambda: pool.recv_call(call), "call")
    finish()
    assert pool.recv_call(call) == [1, 1]
print("end")
"""
    done = program(WAITS + script).end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


@pytest.mark.slow
@quick_methods
def test_ctrl_c_while_environments_are_made_ends_all_workers(program: Start, method: str) -> None:
    """All workers have ended, and another pool can be made."""
    script = """
fns = [make(), make(name="2", making="sleeps"), make(name="3", making="sleeps with lock")]
interrupted(
    lambda: ProcessPool(fns, num_workers=3, start_method=sys.argv[1]), "make", "make2", "make3"
)
assert others() == []
with ProcessPool([make()], start_method=sys.argv[1]) as pool:
    pool.reset()
print("end")
"""
    done = program(script, method).end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


@pytest.mark.slow
def test_ctrl_c_while_a_pool_is_closed_closes_it_sooner(program: Start) -> None:
    """The pool is closed nevertheless, and without waiting for the grace."""
    script = """
pool = ProcessPool([make("sleeps"), make()], num_workers=2)
pool.reset()
for _ in range(2):
    pool.step([0, 0])
pool.send([0, 0])
meet("step")

class Closing(threading.Thread):
    # when the idle worker has ended, the main thread is in close()
    def run(self):
        while len(others()) > 1:
            time.sleep(0.01)
        come("closing")

thread = Closing()
thread.start()
interrupted(lambda: pool.close(timeout=1000), "closing")
thread.join()
assert others() == [] and pool.closed
pool.close()
print("end")
"""
    done = program(script).end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


@pytest.mark.slow
def test_ctrl_c_loses_no_result_of_the_vector_environment(program: Start) -> None:
    script = """
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv

envs = ProcessVectorEnv(fns, num_workers=2)
envs.reset(seed=1)
for _ in range(2):
    envs.step([0, 0])
interrupted(lambda: envs.step([0, 0]), "step")
finish()
assert (envs.step_wait()[0] == 3).all()
begin_again()
interrupted(lambda: envs.call("wait"), "call")
finish()
# reset drops the answer of the interrupted call
assert (envs.reset()[0] == 0).all()
begin_again()
for _ in range(2):
    envs.step([0, 0])
interrupted(lambda: envs.step([0, 0]), "step")
finish()
assert (envs.reset()[0] == 0).all()
assert (envs.step([0, 0])[0] == 1).all()
envs.close()
print("end")
"""
    done = program(WAITS + script).end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


# ---------------------------------------------------------------------------- process groups --


@pytest.mark.slow
@methods
def test_ctrl_c_at_a_terminal_does_not_affect_workers(program: Start, method: str) -> None:
    """At a terminal all processes get the signal: while they start, make, step, and idle."""
    script = """
try:
    ProcessPool([make(name="2", making="sleeps")] * 2, num_workers=2, start_method=sys.argv[1])
except KeyboardInterrupt:
    come("interrupted while making")
# a worker that was just being started ends by itself
while others():
    time.sleep(0.01)
with ProcessPool([make("waits"), make()], num_workers=2, start_method=sys.argv[1]) as pool:
    pool.reset(seed=1)
    for _ in range(2):
        pool.step([0, 0])
    try:
        pool.step([0, 0])
    except KeyboardInterrupt:
        come("interrupted while stepping")
    come("go")
    assert (pool.recv()[0] == 3).all()
    try:
        come("idle")
        time.sleep(1e5)
    except KeyboardInterrupt:
        assert (pool.step([0, 0])[0] == 4).all()
print("end")
"""
    running = program(script, method)
    for place in ("make2", "step", "idle"):
        running.meet(place)
        os.killpg(running.process.pid, signal.SIGINT)
        if place == "make2":
            running.meet("interrupted while making")
    done = running.end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")


def with_interrupts(pids: Callable[[], list[int]], begin: Callable[[], Any]) -> Any:
    """Calls `begin` while these processes get one SIGINT after another; returns its result."""
    is_done = threading.Event()

    def work() -> None:
        while not is_done.wait(0.001):
            for pid in pids():
                os.kill(pid, signal.SIGINT)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        return begin()
    finally:
        is_done.set()
        thread.join()


@methods
def test_a_worker_ignores_sigint_from_its_first_moment_on(method: str) -> None:
    workers = launch.start(method, "tests.support.workers_targets:echo", [1, 2], name="w")
    pids = [worker.pid for worker in workers]
    received = with_interrupts(
        lambda: pids, lambda: [worker.connection.recv(TEST_TIMEOUT) for worker in workers]
    )
    assert [value[2] for value, _ in received] == [1, 2]
    for worker in workers:
        worker.close()


def test_sigint_never_gets_its_default_action(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of the fork server ignores it already when it resets signals once more."""
    given = []
    monkeypatch.setattr(signal, "getsignal", lambda number: print)
    monkeypatch.setattr(signal, "signal", lambda number, handler: given.append((number, handler)))
    for name in ("set_wakeup_fd", "siginterrupt", "pthread_sigmask"):
        monkeypatch.setattr(signal, name, lambda *_: None)
    bootstrap.reset_signals()
    assert (signal.SIGUSR1, signal.SIG_DFL) in given
    assert [callable(handler) for number, handler in given if number == signal.SIGINT] == [True]


@pytest.mark.slow
def test_the_fork_server_ignores_sigint_from_its_first_moment_on() -> None:
    forkserver.retire()
    made = forkserver.current()

    def begin() -> Any:
        (worker,) = launch.start("forkserver", "tests.support.workers_targets:echo", [1], name="w")
        received = worker.connection.recv(TEST_TIMEOUT)
        worker.close()
        return received[0][2]

    assert with_interrupts(lambda: [made.pid], begin) == 1
    assert forkserver.current() is made and not made.is_dead


# --------------------------------------------------------------------------- other signals --


@pytest.mark.slow
@methods
def test_workers_do_not_inherit_the_users_handlers(program: Start, method: str) -> None:
    script = """
import faulthandler

def handle(number, frame):
    where = "here" if os.getpid() == parent else "elsewhere"
    print(signal.Signals(number).name, where, flush=True)

parent = os.getpid()
for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM):
    signal.signal(number, handle)
faulthandler.dump_traceback_later(1e5, exit=True)
read, write = os.pipe()
os.set_blocking(write, False)
signal.set_wakeup_fd(write)
signal.setitimer(signal.ITIMER_REAL, 1e5)
with ProcessPool([make("waits"), make()], num_workers=2, start_method=sys.argv[1]) as pool:
    handlers = pool.apply(lambda env: [signal.getsignal(n) for n in (10, 14, 17)])
    assert handlers == [[signal.SIG_DFL] * 3] * 2, handlers
    pool.reset(seed=1)
    for _ in range(2):
        pool.step([0, 0])
    def work():
        meet("step")
        for number in (signal.SIGINT, signal.SIGINT):
            for pid in [*others(), parent]:
                os.kill(pid, number)
            time.sleep(0.1)
        come("go")
    threading.Thread(target=work).start()
    # a handler that raises nothing interrupts nothing
    assert (pool.step([0, 0])[0] == 3).all()
    os.kill(pool.worker_pids[0], signal.SIGUSR1)
    said = ""
    while "SIGUSR1" not in said:
        try:
            pool.step([0, 0])
        except (WorkerError, StateError) as error:
            said = str(error)
print("end")
"""
    done = program(script, method).end()
    lines = [line for line in done.out.splitlines() if line != "SIGCHLD here"]
    assert (done.code, done.err) == (0, "")
    assert lines[-1] == "end" and set(lines[:-1]) == {"SIGINT here"}


@pytest.mark.slow
@quick_methods
@pytest.mark.parametrize("handler", ["signal.SIG_IGN", "wait_for_all"])
def test_a_death_is_found_when_the_program_reaps_all_children(
    program: Start, method: str, handler: str
) -> None:
    script = """
import contextlib

def wait_for_all(*_):
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass

signal.signal(signal.SIGCHLD, eval(sys.argv[2]))
pool = ProcessPool([make(), make()], num_workers=2, start_method=sys.argv[1])
pool.reset()
os.kill(pool.worker_pids[1], signal.SIGKILL)
try:
    while True:
        pool.step([0, 0])
except (WorkerError, StateError) as error:
    assert "worker process" in str(error), error
pool.close()
assert others() == []
print("end")
"""
    done = program(script, method, handler).end()
    assert (done.code, done.out, done.err) == (0, "end\n", "")
