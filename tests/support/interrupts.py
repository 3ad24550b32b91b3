"""Interrupts: Ctrl-C at a chosen place of Python code."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from tests.support.same import assert_same


class Interrupter:
    """Raises KeyboardInterrupt at the n-th place where Python would check for signals."""

    def __init__(self, place: int) -> None:
        self.left = place

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        # Python checks for signals at the start of a function and after a call of C
        if event not in ("call", "c_return"):
            return
        # the call of sys.setprofile that removes this profiler
        if argument is sys.setprofile:
            return
        # no Ctrl-C arrives there
        if signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
            return
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def run(self, function: Any, *arguments: Any) -> Any:
        sys.setprofile(self)
        try:
            return function(*arguments)
        finally:
            sys.setprofile(None)


def interrupt_every_step_wait(
    envs: Any,
    actions: Any,
    expect: Callable[[], Any],
    twin: Any,
    *,
    turns: int,
    wait: Callable[[Interrupter], Any] | None = None,
    same: Callable[[Any, Any, str], None] = assert_same,
) -> None:
    """Interrupts `step_wait` of a VecEnv at each place in turn, and compares its results.

    Args:
        envs: what is interrupted, after a reset.
        actions: of each step.
        expect: takes the same step in what is compared with, and returns its results.
        twin: has what resets have told there.
        turns: steps with one place: steps that end episodes, and those that do not, have others.
        wait: calls `envs.step_wait` with an interrupter.
        same: compares results.
    """
    wait = wait or (lambda interrupter: interrupter.run(envs.step_wait))
    interrupted = calm = place = 0
    while calm < 3 * turns:
        place += 1
        for turn in range(turns):
            envs.step_async(actions)
            calm += 1
            try:
                result = wait(Interrupter(place))
            except KeyboardInterrupt:
                interrupted, calm = interrupted + 1, 0
                result = envs.step_wait()
            where = f"place {place}, turn {turn}"
            same(result, expect(), where)
            same(list(envs.reset_infos), list(twin.reset_infos), f"{where}: resets")
    assert interrupted > 20
