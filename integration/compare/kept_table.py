"""KeptTable: the table of a long comparison, which goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

SAME = "the same"
# the cells that name a play, and what plays it: it returns the other cells, the last is SAME or
# what differs
Case = tuple[str, Callable[[], tuple[str, ...]]]


def play_all(cases: Iterable[Case], head: str, path: Path | None) -> int:
    """Plays the cases that a file has no row of; prints each row. Returns 1 if any differs, else 0.

    Rows in which nothing differs are added to the file as soon as they are known.

    Args:
        cases: rows begin with their cells.
        head: text of a new file.
        path: the file; None for none.
    """
    table = path.read_text() if path and path.exists() else head
    failed = False
    for cells, play in cases:
        begin = f"| {cells} |"
        if begin in table:
            continue
        outcome = play()
        row = f"{begin} {' | '.join(outcome)} |\n"
        print(row, end="", flush=True)
        if outcome[-1] != SAME:
            failed = True
            continue
        table += row
        if path:
            path.write_text(table)
    return int(failed)
