"""Once: what a `with` or `async with` block enters once."""

from __future__ import annotations

from typing import ClassVar

from parallel_pool._engine.uncopied import Uncopied
from parallel_pool.errors import StateError


class Once(Uncopied):
    """The base of what `lease` and `branches` return."""

    # what a second block is told
    _again: ClassVar[str]

    def __init__(self, timeout: float | None) -> None:
        """
        Args:
            timeout: seconds to wait for environments; None for no limit of its own.
        """
        self._timeout = timeout
        self._was_entered = False

    def _enter(self) -> None:
        if self._was_entered:
            raise StateError(self._again)
        self._was_entered = True

    async def __aexit__(self, *exception: object) -> None:
        # It awaits nothing: a task whose event loop is closed runs this too, when it is deleted.
        self._exit()

    def __exit__(self, *exception: object) -> None:
        try:
            self._exit()
        except BaseException:  # Ctrl-C, perhaps before it has done anything
            self._exit()
            raise

    def _exit(self) -> None:
        """Ends what the block has begun; a second call does the rest."""
        raise NotImplementedError
