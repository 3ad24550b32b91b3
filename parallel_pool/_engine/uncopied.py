"""Uncopied: base class of what holds threads or processes, and so can't be copied or pickled."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex


class Uncopied:
    """Refuses `copy.copy`, `copy.deepcopy` and `pickle`.

    A copy would share the pool: closing it, or its end, would close the original.
    """

    # what it holds, for the message
    _holds = "threads or processes"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} holds {self._holds} and cannot be pickled or copied: make a new"
            " one"
        )
