"""Environments that fork: their child processes never do the work of the worker."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool._workers.process_pool import ProcessPool
from tests.faults.failing_envs import ACTIONS, OBS, Counting, WaitFor, pid_of, pool_of
from tests.support.timeouts import has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")


class Fork:
    """Forks and records the child's id; in the child it calls `in_child`, if there is one."""

    def __init__(self, path: Path, in_child: Callable[[], Any] | None = None) -> None:
        self.path, self.in_child = path, in_child

    def __call__(self) -> None:
        pid = os.fork()
        if pid:
            self.path.write_text(str(pid))
        elif self.in_child is not None:
            self.in_child()

    def child(self) -> int:
        """Waits until it has forked; returns the child's id."""
        wait_for(lambda: self.path.exists() and self.path.read_text())
        return int(self.path.read_text())


def fail() -> None:
    raise ValueError("in the child")


def leave() -> None:
    raise SystemExit(3)


class Forking(Counting):
    """Forks at a chosen call. All its processes record steps and closes in one file."""

    def __init__(self, fork: Fork, at: str, steps: Path) -> None:
        self.log = steps
        if at == "init":
            fork()
        super().__init__(fork, 3, at)
        self.at_attribute = fork if at == "attribute" else None

    @property
    def metadata(self) -> Any:
        if self.at_attribute is not None:
            self.at_attribute()
            self.at_attribute = None
        return {}

    def step(self, action: Any) -> Any:
        with self.log.open("a") as file:
            file.write(".")
        return super().step(action)

    def ask(self) -> int:
        assert self.trouble is not None
        self.trouble()
        return os.getpid()

    def close(self) -> None:
        if self.at == "close":
            assert self.trouble is not None
            self.trouble()
        with self.log.open("a") as file:
            file.write("c")


def forking_pool(fork: Fork, at: str, steps: Path, **options: Any) -> ProcessPool:
    fns: list[Callable[[], Any]] = [lambda: Forking(fork, at, steps)]
    return ProcessPool([*fns, Counting, Counting], **{"num_workers": 1, **options})


@pytest.mark.quick(1)
@pytest.mark.parametrize("in_child", [None, fail, leave])
@pytest.mark.parametrize("options", [{}, {"batch_size": 2}, {"on_error": "restart"}])
def test_a_child_that_returns_is_ended(
    in_child: Any, options: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The worker goes on, and steps each environment once for each action."""
    fork, steps = Fork(tmp_path / "child", in_child), tmp_path / "steps"
    with forking_pool(fork, "step", steps, start_method="fork", **options) as pool:
        pool.send_reset(seed=0)
        seen = np.zeros(3, np.int64)
        for _ in range(30):
            batch = pool.recv()
            ids = batch[-2] if pool.columns[-2].name == "env_id" else batch[-1]
            seen[ids] = batch[OBS].view(np.float32).reshape(len(ids), -1)[:, 0]
            if seen.min() >= 6:
                break
            pool.send(np.zeros(len(ids), np.int64), ids)
        assert seen.min() >= 6
        wait_for(lambda: has_ended(fork.child()))
        message = f"process {fork.child()}, forked by an environment in worker process"
        wait_for(lambda: message in "".join(capfd.readouterr().err))
        pool.close()
        # steps and closes by the child would be in the file too
        assert steps.read_text() == "." * int(seen[0]) + "c"


@pytest.mark.quick(1)
@pytest.mark.parametrize("method", ["fork", "forkserver"])
@pytest.mark.parametrize("at", ["init", "attribute", "reset", "ask", "close"])
def test_a_child_that_returns_from_another_call_is_ended(
    at: str, method: str, tmp_path: Path
) -> None:
    fork, steps = Fork(tmp_path / "child"), tmp_path / "steps"
    with forking_pool(fork, at, steps, start_method=method) as pool:
        worker = pid_of(pool, 0)
        for _ in range(4):
            pool.reset(seed=0)
        if at == "ask":
            assert pool.call("ask", env_ids=[0]) == [worker]
        assert pool.step(np.zeros(3, np.int64))[OBS].shape[0] == 3
    wait_for(lambda: has_ended(fork.child()))
    assert fork.child() != worker
    # a fork in close returns into the environment's own code, which runs in the child too
    assert steps.read_text() == ".c" + "c" * (at == "close")


@pytest.mark.slow
def test_a_child_that_does_not_return_is_left_alone(tmp_path: Path) -> None:
    release = tmp_path / "release"

    def wait_and_exit() -> None:
        WaitFor(release)()
        os._exit(0)

    fork = Fork(tmp_path / "child", wait_and_exit)
    with pool_of(fork, when=1) as pool:
        pool.reset(seed=0)
        assert pool.step(ACTIONS)[1].tolist() == [1.0] * 4
        assert not has_ended(fork.child())
        release.touch()
        wait_for(lambda: has_ended(fork.child()))
        assert pool.step(ACTIONS)[1].tolist() == [1.0] * 4
