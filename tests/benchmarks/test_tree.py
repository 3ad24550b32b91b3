"""Process trees: descendants, zombies, CPU time and memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time

from parallel_pool._bench import tree
from tests.benchmarks.made_up import state_of


def test_a_tree_has_grandchildren_and_zombies() -> None:
    script = (
        "import subprocess, sys; p = subprocess.Popen(['sleep', '1000']); print(p.pid, flush=True);"
    )
    script += "sys.stdin.read(); p.kill(); print('killed', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script + " or __import__('time').sleep(1000)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            grandchild = int(process.stdout.readline())
            assert {process.pid, grandchild} <= set(tree.descendants(os.getpid()))
            assert tree.zombies([process.pid, grandchild]) == 0
            assert tree.memory_of([process.pid, grandchild]) > 100
            process.stdin.close()
            assert process.stdout.readline() == "killed\n"
            assert state_of(grandchild, "Z") == "Z"
            assert tree.zombies([process.pid, grandchild]) == 1
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.kill()
    # processes that have ended are ignored
    assert tree.cpu_of([process.pid]) == {}
    assert tree.memory_of([process.pid]) == 0


def test_cpu_time_of_any_process_is_exact() -> None:
    before = time.process_time()
    found = tree.cpu_of([os.getpid()])[os.getpid()]
    assert before <= found <= time.process_time()
