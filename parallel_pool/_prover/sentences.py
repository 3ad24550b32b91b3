"""Sentences: a difference in words, with both sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from parallel_pool._prover.comparison import Difference
from parallel_pool._prover.match import Finding
from parallel_pool._prover.program import place_text
from parallel_pool._prover.script import Reset

# characters of a whole field that are shown
MAX_SHOWN_LETTERS = 600


def one_line(finding: Finding) -> str:
    """Returns what differs, and where, in a line."""
    found = finding.difference
    values = f"ours {_shown(found.ours)}, reference {_shown(found.theirs)}"
    return f"{_where(found)}{_when(finding)}: {values}{_distance(found)}".replace("\n", " ")


def full(finding: Finding) -> str:
    """Returns what differs with both sides, the settings and the policy."""
    found, script = finding.difference, finding.script
    lines = [
        f"{_where(found)} differs{_when(finding)}",
        f"  ours       {_shown(found.ours)}",
        f"  reference  {_shown(found.theirs)}",
    ]
    if distance := _distance(found):
        lines.append(f"  distance   {distance.strip(' ()')}")
    lines += [f"  settings   {script.case}"]
    if script.policy:
        lines.append(f"  policy     {script.policy}")
    name = found.path[0]
    if len(found.path) > 1 and name in finding.ours:
        lines.append(f"  all of it, ours       {_whole(finding.ours[name])}")
        lines.append(f"  all of it, reference  {_whole(finding.theirs[name])}")
    return "\n".join(lines)


def _where(found: Difference) -> str:
    text = f"{found.path[0]}{place_text(found.path[1:])}"
    return text if found.kind in ("value", "error", "process") else f"{found.kind} of {text}"


def _when(finding: Finding) -> str:
    events = finding.script.events
    if not events:
        return ", before the first step"
    segments = finding.script.segments()
    seeds, steps = segments[0][0], sum(len(actions) for _, actions in segments)
    resets = len(segments) - 1
    seed = f"seed {seeds[0]}" if seeds is not None and len(seeds) == 1 else f"seeds {seeds}"
    after = f" and {resets} more reset{'s' if resets > 1 else ''}" if resets else ""
    if isinstance(events[-1], Reset):
        return f", at a reset after {steps} steps{after}, {seed}"
    return f", in step {steps}{after}, {seed}"


def _distance(found: Difference) -> str:
    if found.ulp is None:
        return ""
    gap = abs(float(found.ours) - float(found.theirs))
    return f" ({found.ulp} ulp, {gap:.3g})"


def _shown(value: Any) -> str:
    """Returns a value with all of its digits, and with its type if NumPy has it."""
    if isinstance(value, np.generic):
        return f"{value.dtype}({value.item()!r})" if value.dtype.kind != "f" else _float(value)
    return repr(value) if not isinstance(value, str) else value


def _float(value: Any) -> str:
    """Returns the shortest text that reads as the same number of this type."""
    size = abs(float(value))
    if size == 0 or 1e-5 <= size < 1e17:
        text = np.format_float_positional(value, unique=True, trim="0")
    else:
        text = np.format_float_scientific(value, unique=True)
    return f"{value.dtype}({text})"


def _whole(value: Any) -> str:
    with np.printoptions(precision=17, threshold=40, linewidth=1000, floatmode="unique"):
        text = repr(value)
    return text if len(text) <= MAX_SHOWN_LETTERS else f"{text[:MAX_SHOWN_LETTERS]}..."
