"""Progress: a bar of rich's on a terminal if rich is installed, elsewhere a line for each step."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

WIDTH = 44


class Steps:
    """Shows which of several steps is done.

    Args:
        count: number of steps.
    """

    def __init__(self, count: int) -> None:
        self._count, self._begun = count, 0
        self._progress, self._bar = bar(count)

    def begin(self, what: str) -> None:
        """Begins the next step."""
        self._update(self._begun, what)
        self._begun += 1
        if self._progress is None:
            print(f"{self._begun} of {self._count}: {what}", flush=True)

    def tick(self, share: float) -> None:
        """Shows the share of the current step that is done."""
        self._update(self._begun - 1 + share)

    def print(self, text: str) -> None:
        """Prints text above the bar."""
        if self._progress is None:
            print(text, flush=True)
        else:
            self._progress.console.print(text, highlight=False, soft_wrap=True)

    def _update(self, completed: float, what: str | None = None) -> None:
        if self._progress is not None:
            more = {} if what is None else {"description": what[:WIDTH]}
            self._progress.update(self._bar, completed=completed, **more)

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if self._progress is not None:
            if kind is None:
                self._update(self._begun, "done")
            self._progress.stop()


def bar(count: int) -> tuple[Any, Any]:
    """Returns rich's progress display and its bar; None without rich or a terminal."""
    if not sys.stdout.isatty():
        return None, None
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError:
        return None, None
    columns = (TextColumn(f"{{task.description:{WIDTH}}}"), BarColumn(), TimeElapsedColumn())
    # without markup, which would take [mujoco] of a command for a style
    progress = Progress(*columns, console=Console(markup=False))
    return progress, progress.add_task("", total=count)
