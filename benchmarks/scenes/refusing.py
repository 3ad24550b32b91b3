"""Makes calls of a vector environment that are refused, for the soak test.

A refused call changes nothing: the step that is pending meanwhile, and those after it, are whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from parallel_pool.errors import StateError


class Refusing:
    """Steps a vector environment that has `step_async`, with refused calls before and meanwhile.

    Attributes:
        refused: number of calls that were refused.
        faults: descriptions of all faults.
    """

    def __init__(self, env: Any) -> None:
        self.refused = 0
        self.faults: list[str] = []
        self._env = env
        good = np.zeros(env.num_envs, np.int64)
        # with nothing pending: wrong arguments, and waits for nothing
        self._idle: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
            "too few actions": (lambda: env.step(good[1:]), ValueError),
            "a negative seed": (lambda: env.reset(seed=-1), ValueError),
            "options that are no dict": (lambda: env.reset(options=3), TypeError),
            "an empty mask": (
                lambda: env.reset(options={"reset_mask": np.zeros(env.num_envs, bool)}),
                ValueError,
            ),
            "step_wait": (env.step_wait, StateError),
            "reset_wait": (env.reset_wait, StateError),
            "call(step)": (lambda: env.call("step"), ValueError),
        }
        # while a step is pending
        self._pending: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
            "a second step": (lambda: env.step(good), StateError),
            "a second step_async": (lambda: env.step_async(good), StateError),
            "a reset_async": (env.reset_async, StateError),
            "a call": (lambda: env.call("life"), StateError),
            "reset_wait": (env.reset_wait, StateError),
        }

    def step(self, actions: Any) -> Any:
        """Returns what `step` returns for these actions."""
        for what, (call, error) in self._idle.items():
            self.refuse(what, call, error)
        self._env.step_async(actions)
        for what, (call, error) in self._pending.items():
            self.refuse(f"{what} while a step is pending", call, error)
        what = "a step of another thread"
        call, error = self._pending["a second step"]
        thread = threading.Thread(target=self.refuse, args=(what, call, error))
        thread.start()
        thread.join()
        return self._env.step_wait()

    def refuse(self, what: str, call: Callable[[], Any], error: type[Exception]) -> None:
        try:
            call()
        except error:
            self.refused += 1
        except Exception as other:
            self.faults.append(f"{what}: {type(other).__name__} in place of {error.__name__}")
        else:
            self.faults.append(f"{what} was not refused")
