"""The tables of the quick benchmark on a terminal, of plain text."""

from __future__ import annotations

from collections.abc import Sequence

from parallel_pool._bench.numbers import SYMBOLS, rounded
from parallel_pool._bench.outcome import Row
from parallel_pool._bench.record import Measured, Record

HEADINGS = ("", "runs on", "steps/s", "spread", "per core", "ours is", "reference")


def per_core(row: Row) -> float:
    """Returns environment steps per second of CPU time, of all threads and processes."""
    assert row.cpu_us is not None
    return 1e6 / row.cpu_us.median


def times(row: Row) -> float | None:
    """Returns how many times faster ours is than this player; None if it is ours."""
    return min((each.median for each in row.ratios.values()), default=None)


def times_text(ratio: float) -> str:
    """Returns a ratio with three digits: "71.3x"."""
    return f"{ratio:#.3g}x".replace(".x", "x") if ratio < 1000 else f"{ratio:.0f}x"


def quartiles(row: Row) -> str:
    """Returns the quartiles of the rounds: "41.1 M - 45.2 M"."""
    return f"{rounded(row.value.low, SYMBOLS)} - {rounded(row.value.high, SYMBOLS)}"


def spread(row: Row) -> str:
    """Returns half the distance of the quartiles, in percent of the median: "4 %"."""
    value = row.value
    return f"{50 * (value.high - value.low) / value.median:.0f} %"


def medians(record: Record, name: str) -> dict[str, float]:
    """Returns the medians of a record's scene, in steps/s, by player."""
    rows = next((scene.rows for scene in record.scenes if scene.name == name), [])
    return {row.who: row.value.median for row in rows}


def scene_table(scene: Measured, reference: Record) -> str:
    """Returns the table of one scene, with the steps/s of the reference."""
    ours = medians(reference, scene.name)
    lines = [[*HEADINGS]]
    for row in scene.rows:
        ratio, theirs = times(row), ours.get(row.who)
        lines.append(
            [
                row.who,
                row.setting,
                rounded(row.value.median, SYMBOLS),
                spread(row),
                rounded(per_core(row), SYMBOLS),
                "" if ratio is None else times_text(ratio),
                "" if theirs is None else rounded(theirs, SYMBOLS),
            ]
        )
    if len(lines) == 1:
        lines = []
    notes = [f"  {note}" for note in (*scene.lost, *scene.lacks)]
    frames = [f"  a step is {scene.frame_skip} frames"] if scene.frame_skip > 1 and lines else []
    return "\n".join([scene.title, *aligned(lines), *frames, *notes, ""])


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Returns lines of columns: two of text, then numbers, which end at the same place."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
