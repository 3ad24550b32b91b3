"""Programs: scripts that tests run as processes of their own, with all their child processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.timeouts import TEST_TIMEOUT, wait_for

# environment variable that marks all processes of a program
MARK = "MARK"


@dataclass(frozen=True)
class Done:
    """A program that has ended, with all its processes.

    Attributes:
        code: its exit code, as in `subprocess`.
        out, err: output of all its processes.
    """

    code: int
    out: str
    err: str


class Program:
    """A program that is running.

    Attributes:
        process: the program's own process, which leads a session and a process group.
        folder: where its processes report the points that they reach: see `PRELUDE`.
    """

    def __init__(self, command: Sequence[str], folder: Path, **options: Any) -> None:
        self.folder = folder
        self._mark = uuid.uuid4().hex
        own = {
            MARK: self._mark,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TMPDIR": str(folder / "tmp"),
            "MEETING": str(folder / "meeting"),
        }
        for name in ("tmp", "meeting"):
            (folder / name).mkdir(exist_ok=True)
        environ = {**os.environ, **own, **options.pop("env", {})}
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            start_new_session=True,
            **options,
        )

    def meet(self, name: str) -> None:
        """Waits until one of its processes has reached a point: see `PRELUDE`."""
        wait_for(
            lambda: (self.folder / "meeting" / name).exists() or self.process.poll() is not None
        )
        assert (self.folder / "meeting" / name).exists(), self.end()

    def end(self, text: str = "") -> Done:
        """Writes a text to stdin and waits for the end of all its processes.

        Fails if a process does not end or leaves temporary files.
        """
        try:
            # returns once no process has stdout or stderr open
            out, err = self.process.communicate(text, timeout=TEST_TIMEOUT)
            wait_for(lambda: not self.processes())
        finally:
            self.kill()
        assert list((self.folder / "tmp").iterdir()) == []
        return Done(self.process.returncode, out, err)

    def processes(self) -> list[int]:
        """Returns the ids of its processes, without zombies: these have no environment to read."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if f"{MARK}={self._mark}".encode() in Path(f"/proc/{name}/environ").read_bytes():
                    found.append(int(name))
        return found

    def kill(self) -> None:
        """Kills the processes that are left."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


# Scripts start with this. Environments report the points that they reach, and other code may wait
# for these: "make" + name in the constructor, "step" + name at the third step. At the first point
# an environment does what its argument `making` says, at the second what `how` says: see WAYS.
PRELUDE = """
import ctypes, os, pathlib, signal, sys, threading, time
import gymnasium
import numpy as np
from parallel_pool.errors import *
from parallel_pool._workers.start.launch import METHODS
from parallel_pool._workers.process_pool import ProcessPool

MEETING = pathlib.Path(os.environ["MEETING"])


def come(name):
    (MEETING / name).touch()


def meet(*names):
    while not all((MEETING / name).exists() for name in names):
        time.sleep(0.005)


def sleep_with_lock():
    # holds the GIL: no Python code runs in this process meanwhile
    ctypes.PyDLL(None).sleep(100000)


WAYS = {
    "sleeps": lambda: time.sleep(1e5),
    "sleeps with lock": sleep_with_lock,
    "waits": lambda: meet("go"),
    "does nothing": lambda: None,
}


def others():
    # all processes of this program except this one, the fork server, and the resource tracker of
    # multiprocessing
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (
                ("MARK=" + os.environ["MARK"]).encode() in (folder / "environ").read_bytes()
                and folder.name != str(os.getpid())
                and not (folder / "comm").read_text().startswith("parallel_pool-f")
                and b"resource_tracker" not in (folder / "cmdline").read_bytes()
            ):
                found.append(int(folder.name))
        except OSError:
            pass
    return found


def interrupt_at(*names):
    # Ctrl-C for this process alone, as soon as these points are reached
    def work():
        meet(*names)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=work, daemon=True).start()


def interrupted(function, *names):
    # the function must raise KeyboardInterrupt once these points are reached
    try:
        interrupt_at(*names)
        function()
    except KeyboardInterrupt:
        return
    raise AssertionError("no KeyboardInterrupt")


class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, how="does nothing", name="", making="does nothing"):
        self.how, self.name, self.steps = how, name, 0
        come("make" + name)
        WAYS[making]()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.steps == 3:
            come("step" + self.name)
            WAYS[self.how]()
        return np.full(2, self.steps, np.float32), 1.0, False, False, {}


def make(*arguments, **options):
    return lambda: Env(*arguments, **options)
"""
