"""Turns: what a pool changes when it takes turns with others on the same cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._native import lib

if TYPE_CHECKING:
    from parallel_pool._engine.base_pool import BasePool


def stop_spinning(pool: BasePool) -> None:
    """Lets a pool's threads sleep as soon as they have nothing to do.

    A thread that spins, because its pool may soon be sent more, keeps a core from the threads of
    the pool whose turn it is, or from those that handle each row in Python.
    """
    lib.pp_pool_stop_spinning(pool._handle)
