"""Report: a proof, or a search that found a difference, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from parallel_pool._prover.lines import Lines
from parallel_pool._prover.tally import Range, Tally

# lines of the source that are named
MAX_LINES = 60


@dataclass(frozen=True)
class Summary:
    """What a report is made of.

    Attributes:
        ours, reference: names.
        tolerance, seed, seconds: of the search.
        difference: what was found, in words, and the program that repeats it; "": nothing.
        tally: what was compared.
        cells: coarse cells of states that were reached.
        lines: what was reached of the source.
        not_covered: sentences.
    """

    ours: str
    reference: str
    tolerance: float
    seed: int
    seconds: float
    difference: str
    tally: Tally
    cells: int
    lines: Lines
    not_covered: Sequence[str]


def report_text(it: Summary) -> str:
    """Returns the report."""
    tally = it.tally
    parts = [f"# {it.ours} and {it.reference}\n", _verdict(it)]
    if it.difference:
        parts.append(f"```text\n{it.difference}\n```\n")
    parts.append("## Compared\n")
    parts.append(
        _table(
            ("what", "how much"),
            [
                ("steps of single environments", f"{tally.steps:,}"),
                ("resets by hand", f"{tally.resets:,}"),
                ("episodes that terminated", f"{tally.ends['terminated']:,}"),
                ("episodes that were truncated", f"{tally.ends['truncated']:,}"),
                ("episodes that ended in both ways at once", f"{tally.ends['both']:,}"),
                ("steps of the longest episode", f"{tally.longest:,}"),
                ("rewards", _range(tally.rewards)),
                ("coarse cells of states", f"{it.cells:,}"),
                ("pictures", f"{tally.pictures:,}"),
                *((f"steps by {name}", f"{n:,}") for name, n in tally.policies.items()),
                *((f"steps in mode {name}", f"{n:,}") for name, n in tally.modes.items()),
                *((f"steps with time limit {name}", f"{n:,}") for name, n in tally.limits.items()),
            ],
        )
    )
    ranges = {**tally.observations, **tally.action_ranges}
    parts.append(_table(("component", "seen"), [(k, _range(v)) for k, v in ranges.items()]))
    parts.append(_counts("action", tally.actions))
    parts.append(_counts("info", tally.infos))
    for name, values in tally.options.items():
        parts.append(_counts(f"option {name}", values))
    parts += [_lines_text(it.lines), "## Not covered\n"]
    parts.append("".join(f"- {each}\n" for each in it.not_covered))
    return "\n".join(part for part in parts if part)


def _verdict(it: Summary) -> str:
    rule = "with the same bits" if not it.tolerance else f"within a tolerance of {it.tolerance:g}"
    if it.difference:
        return f"**They differ**, after {it.tally.steps:,} steps that agreed {rule}.\n"
    how = f"seed {it.seed}, {it.seconds:.1f} s"
    return f"No difference was found in {it.tally.steps:,} steps, which agree {rule} ({how}).\n"


def _table(heads: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    rows = list(rows)
    if not rows:
        return ""
    body = "".join(f"| {one} | {other} |\n" for one, other in rows)
    return f"| {heads[0]} | {heads[1]} |\n| --- | --- |\n{body}"


def _counts(head: str, counts: Mapping[object, int] | Mapping[str, int] | Mapping[int, int]) -> str:
    rows = sorted((str(name), f"{count:,}") for name, count in counts.items())
    return _table((head, "steps" if not head.startswith("info") else "results"), rows)


def _range(it: Range) -> str:
    return "nothing" if it.low > it.high else f"{it.low:.6g} to {it.high:.6g}"


def _lines_text(it: Lines) -> str:
    if it.reason:
        return f"## Lines of the source\n\nNot measured: {it.reason}.\n"
    text = (
        f"## Lines of the source\n\nReached in {it.source}: {it.reached} of {it.total} lines,"
        f" {it.branches_reached} of {it.branches} directions of conditions.\n"
    )
    if not it.missed:
        return text
    named = [f"{number:5}  {line}" for number, line in it.missed[:MAX_LINES]]
    more = len(it.missed) - len(named)
    named += [f"and {more} more"] if more else []
    return f"{text}\nNever reached:\n\n```text\n" + "\n".join(named) + "\n```\n"
