"""KeptTable: the table of a long comparison, which goes on where it was stopped."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

SAME = "the same"
# the cells that name a play, and what plays it: it returns the other cells, the last is SAME or
# what differs
Case = tuple[str, Callable[[], tuple[str, ...]]]


@dataclass(frozen=True)
class KeptTable:
    """The table of a comparison, in one file for all runs of it.

    Runs may follow each other, or add their rows at the same time. Rows stand under the machine and
    the commit that they are from.

    Attributes:
        title: of the file.
        how: machine, commit and command, and what was compared: one line.
        columns: the lines with the names of the columns and with their alignment.
    """

    title: str
    how: str
    columns: str

    def play_all(self, cases: Iterable[Case], path: Path | None) -> int:
        """Plays the cases that a file has no row of; prints each row.

        Rows in which nothing differs are added to the file as soon as they are known.

        Args:
            cases: rows begin with their cells.
            path: the file, which is made with its folder if there is none; None for no file.

        Returns:
            1 if any play differs, else 0.
        """
        failed = False
        for cells, play in cases:
            begin = f"| {cells} |"
            if path and path.exists() and begin in path.read_text():
                continue
            outcome = play()
            row = f"{begin} {' | '.join(outcome)} |\n"
            print(row, end="", flush=True)
            if outcome[-1] != SAME:
                failed = True
            elif path:
                self._add(begin, row, path)
        return int(failed)

    def _add(self, begin: str, row: str, path: Path) -> None:
        """Adds a row, unless another run has added it meanwhile."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+") as file:
            # until the file is closed
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            text = file.read()
            if begin not in text:
                file.write(self._head_after(text) + row)

    def _head_after(self, text: str) -> str:
        """Returns what stands between the file's text and the next row."""
        head = f"{self.how}\n\n{self.columns}\n"
        if not text:
            return f"# {self.title}\n\n{head}"
        others = [line for line in text.splitlines() if line and not line.startswith("|")]
        return "" if others[-1:] == [self.how] else f"\n{head}"
