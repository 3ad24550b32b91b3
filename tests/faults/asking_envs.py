"""An environment that asks something about its worker process, and the questions.

Workers import this module, so it imports little.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing import resource_tracker, shared_memory
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

# numbers that an answer may have
SIZE = 4


class Asking(gymnasium.Env[Any, Any]):
    """Observes the answer to its question: numbers, filled up with zeros."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (SIZE,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, question: Callable[..., Any], *arguments: Any) -> None:
        self.question, self.arguments = question, arguments

    def answer(self) -> Any:
        found = [float(number) for number in self.question(*self.arguments)]
        return np.array(found + [0.0] * (SIZE - len(found)))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.answer(), {}

    def step(self, action: Any) -> Any:
        return self.answer(), 0.0, False, False, {}


# ----------------------------------------------------------------------------- shared objects --


def read_own(shared: Any, key: int, count: int) -> Any:
    """Reads a key of a manager's dict many times; returns whether it had its own value each."""
    return [all(shared[key] == key for _ in range(count))]


def use_queue(queue: Any) -> Any:
    queue.put(os.getpid())
    return [1]


def use_pipe(pipe: Any) -> Any:
    pipe[0].send(os.getpid())
    return [1]


def use_value(value: Any) -> Any:
    with value.get_lock():
        value.value += 1
    return [1]


def use_array(lock: Any, array: Any) -> Any:
    with lock:
        array[0] += 1
    return [1]


def use_event(event: Any) -> Any:
    return [event.wait(60)]


def read_shared_memory(name: str) -> Any:
    own = shared_memory.SharedMemory(name)
    first = own.buf[0]
    own.close()
    return [first]


def tracker_pipe() -> Any:
    """Returns the number of the resource tracker's pipe, and whether a program inherits it."""
    number = os.fstat(resource_tracker.getfd() or -1).st_ino
    code = "import os; print(*[os.stat(f'/proc/self/fd/{fd}').st_ino for fd in range(3, 99)"
    code += " if os.path.exists(f'/proc/self/fd/{fd}')])"
    command = [sys.executable, "-SEc", code]
    there = subprocess.run(command, capture_output=True, text=True, close_fds=False, check=True)
    return number, str(number) in there.stdout.split()


# --------------------------------------------------------------------------------- processes --


def number_and_parent() -> Any:
    """Returns the process's number, how many it has, its parent, and whether that is alive."""
    own: Any = multiprocessing.current_process()
    parent = multiprocessing.parent_process()
    assert parent is not None and parent.name == "MainProcess" and own.name != parent.name
    assert own.pid == os.getpid() and own.is_alive() and multiprocessing.active_children() == []
    parent.join(timeout=0.0)
    return own._identity[0], len(own._identity), parent.pid, parent.is_alive()


def start_children() -> Any:
    """Starts a child by each start method; returns the numbers of their first two, and exit codes.

    A child finds the worker as its parent.
    """
    codes, numbers = [], []
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        child: Any = context.Process(target=check_parent, args=(os.getpid(),))
        child.start()
        child.join()
        codes.append(child.exitcode)
        numbers.append(child._identity[-1])
    return *numbers, *codes


def check_parent(pid: int) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None and parent.pid == pid


def interrupt_program() -> Any:
    """Returns how a program ends by SIGINT; -1 if it does not."""
    # "sleep" has the signal's disposition that it inherits
    program = subprocess.Popen(["sleep", "600"])
    program.send_signal(signal.SIGINT)
    try:
        return [program.wait(60)]
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
        return [-1]


def interrupt_itself() -> Any:
    """Returns whether this process, a fork of it, and a wait of it survive SIGINT."""
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    time.sleep(0.3)
    signal.signal(signal.SIGALRM, before)
    waited = time.monotonic() - start >= 0.3
    pid = os.fork()
    if not pid:
        os.kill(os.getpid(), signal.SIGINT)
        os._exit(7)
    return waited, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def draw() -> Any:
    """Draws from the global generators; from torch's only if that is loaded."""
    torch: Any = sys.modules.get("torch")
    numpy: Any = np.random
    return numpy.random(), random.random(), 0 if torch is None else torch.rand(1).item()


# ---------------------------------------------------------------------------------- the end --


class Logging(Asking):
    """Writes a line per step to a file that it never closes, and how it ends."""

    def __init__(self, path: str, is_cyclic: bool = False) -> None:
        super().__init__(lambda: [1])
        self.log = Path(path).open("w")  # noqa: SIM115 (it is never closed)
        self.own = self if is_cyclic else None

    def step(self, action: Any) -> Any:
        self.log.write("step\n")
        return super().step(action)

    def close(self) -> None:
        self.log.write("close\n")

    def __del__(self) -> None:
        self.log.write("del\n")


def hang() -> None:
    time.sleep(1e5)


class Hanging(Asking):
    """Hangs when it is freed."""

    def __init__(self) -> None:
        super().__init__(lambda: [os.getpid()])

    def __del__(self) -> None:
        # not of the environment that AsyncVectorEnv makes in the parent process
        if multiprocessing.parent_process() is not None:
            hang()
