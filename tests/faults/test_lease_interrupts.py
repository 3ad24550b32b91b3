"""Ctrl-C at any moment of a thread's lease: no environment is lost, and no call hangs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from parallel_pool.leases import LeasePool
from tests.faults.lease_envs import LONG_SECONDS, pool_of
from tests.support.timeouts import wait_for


class Interrupt(BaseException):
    """What stands for Ctrl-C."""


class Interrupter:
    """A profile function that raises an Interrupt at its n-th event where Ctrl-C may arrive.

    Such events are the start of a function, and the return of one in C. Before `__exit__` begins
    no program can do anything.
    """

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if event not in ("call", "c_return") or "parallel_pool" not in frame.f_code.co_filename:
            return
        if event == "call" and frame.f_code.co_name == "__exit__":
            return
        self.left -= 1
        if not self.left:
            raise Interrupt


Game = Callable[[LeasePool, Any], None]


def was_interrupted(game: Game, pool: LeasePool, action: Any, at: int) -> bool:
    """Plays with a pool, and interrupts it at one event; returns False if there are fewer."""
    sys.setprofile(Interrupter(at))
    try:
        game(pool, action)
    except Interrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def play(pool: LeasePool, action: Any) -> None:
    with pool.lease(timeout=LONG_SECONDS) as env:
        env.reset(seed=1, timeout=LONG_SECONDS)
        env.step(action, timeout=LONG_SECONDS)


def play_branches(pool: LeasePool, action: Any) -> None:
    with pool.lease(timeout=LONG_SECONDS) as env:
        env.reset(seed=1, timeout=LONG_SECONDS)
        with env.branches(2, timeout=LONG_SECONDS) as branches:
            branches[0].step(action, timeout=LONG_SECONDS)


MAKERS: dict[str, tuple[Callable[[], LeasePool], Any]] = {
    "native": (lambda: LeasePool("CartPole-v1", 2, max_branches=2), 0),
    "workers": (lambda: pool_of(2, max_branches=2), "on"),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("kind", "game"),
    [
        *(("native", play), ("workers", play)),
        pytest.param("native", play_branches, marks=pytest.mark.sanitizers),
        # a hundred branches, each with new processes
        pytest.param("workers", play_branches, marks=pytest.mark.slow),
    ],
)
def test_a_thread_that_is_interrupted_anywhere(kind: str, game: Game) -> None:
    make, action = MAKERS[kind]
    with make() as pool:
        at = 1
        while was_interrupted(game, pool, action, at):
            wait_for(lambda: pool.num_free == 2 and pool.num_branches == 0)
            # rounds with processes take longer
            at += 1 if kind == "native" else 3
        assert at > 100
        # both environments step
        with pool.lease() as one, pool.lease() as two:
            for env in (one, two):
                env.reset(timeout=LONG_SECONDS)
                assert env.step(action, timeout=LONG_SECONDS)[1] == 1.0
