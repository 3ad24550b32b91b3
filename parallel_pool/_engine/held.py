"""Held: memory of which users hold arrays, or nobody does."""

from __future__ import annotations

from sys import getrefcount
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array


class Held:
    """Memory whose arrays users get, and hold for as long as they like.

    They get views only. The `base` of a view is its owner (NumPy collapses chains of views), so
    the owner's reference count shows whether a user holds one. Nothing runs when an array is
    dropped: who wants to use the memory again asks.

    Attributes:
        owner: the array that all others are views of; users never get it.
        own_count: references to the owner while no user holds a view.
    """

    owner: Array
    own_count: int

    def __init__(self, owner: Array) -> None:
        self.owner = owner

    def settle(self) -> None:
        """Counts the present references as our own; no local variable may be among them."""
        self.own_count = getrefcount(self.owner)

    def is_free(self) -> bool:
        """Returns whether no user holds a view."""
        return getrefcount(self.owner) == self.own_count
