"""Environments of the cluster's tests, and how to end a worker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from tests.support.timeouts import wait_for


class Own(Exception):
    """An exception of the tests' own."""


class Teller(gymnasium.Env[Any, Any]):
    """Shows a dict, tells infos of several kinds, and does what its action names.

    Actions: 0 to 2 nothing; 3 raises; 4 ends its process; 5 sleeps for `sleep` seconds.
    """

    observation_space: ClassVar[Any] = spaces.Dict(
        {"at": spaces.Box(-1e6, 1e6, (2,), np.float64), "seen": spaces.MultiBinary(3)}
    )
    action_space: ClassVar[Any] = spaces.Discrete(6)

    def __init__(self, length: int = 7, sleep: float = 0.05) -> None:
        self.length, self.sleep = length, sleep
        self.count = 0
        self.name = "teller"

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        time.sleep((options or {}).get("sleep", 0))
        self.count = int(self.np_random.integers(4))
        return self.show(), {"drawn": self.count}

    def nap(self) -> None:
        time.sleep(self.sleep)

    def show(self) -> dict[str, Any]:
        at = np.array([self.count, self.np_random.random()])
        return {"at": at, "seen": self.np_random.integers(2, size=3).astype(np.int8)}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if action == 3:
            raise Own("asked for")
        if action == 4:
            os._exit(1)
        if action == 5:
            time.sleep(self.sleep)
        self.count += 1
        info: dict[str, Any] = {"part": {"count": self.count}}
        if self.count % 3 == 0:
            info["third"] = np.full(2, self.count, np.float32)
        if self.count % 4 == 0:
            info["word"] = "four"
        ends = self.count >= self.length
        return self.show(), float(action), ends, False, info


class Held(Teller):
    """Its step 5 makes a file in the folder, and lasts until there is one that says "go on"."""

    def __init__(self, folder: Path) -> None:
        super().__init__(length=10**6, sleep=0.0)
        self.folder = folder

    def step(self, action: Any) -> Any:
        if action == 5:
            (self.folder / str(os.getpid())).touch()
            wait_for((self.folder / "go on").exists)
        return super().step(action)


class Linear:
    """Draws from a softmax of a linear function, by numbers that depend on the observation only."""

    def __init__(self, scale: float = 0.0) -> None:
        self.weights = scale * np.arange(8.0).reshape(4, 2)

    def logs(self, observations: Any) -> Any:
        logits = observations @ self.weights
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def act(self, observations: Any) -> Any:
        logs = self.logs(observations)
        drawn = np.abs(observations * 1e4).sum(-1) % 1
        actions = (drawn > np.exp(logs[:, 0])).astype(np.int64)
        return actions, logs[np.arange(len(logs)), actions], {"value": observations[:, 0]}

    def log_prob(self, observations: Any, actions: Any) -> Any:
        return self.logs(observations)[np.arange(len(actions)), actions]

    def state(self) -> Mapping[str, Any]:
        return {"weights": self.weights}

    def load(self, state: Mapping[str, Any]) -> None:
        self.weights = state["weights"]


class Clumsy(Linear):
    """Chooses the action that makes a `Teller` raise."""

    def act(self, observations: Any) -> Any:
        count = len(observations["at"])
        return np.full(count, 3), np.zeros(count), {}


class Sleeper(Linear):
    """Chooses the action that makes a `Teller` sleep."""

    def act(self, observations: Any) -> Any:
        count = len(observations["at"])
        return np.full(count, 5), np.zeros(count), {}


class EndsItsReader:
    """A function that ends the worker that receives it."""

    def __call__(self) -> Any:
        raise AssertionError("never called")

    def __reduce__(self) -> Any:
        return os._exit, (1,)


def add_node(cluster: Any, arguments: dict[str, Any]) -> Any:
    """Adds a node; tries again where a busy machine needs more than Ray's 30 seconds for it."""
    for attempt in range(6):
        try:
            return cluster.add_node(**arguments)
        except Exception:
            if attempt == 5:
                raise


def kill(pid: int) -> None:
    """Kills a worker's process, and waits until it is gone."""
    os.kill(pid, signal.SIGKILL)
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.01)
