"""Summarises the failing tests of a stage in a few lines.

CI shows only the last few kilobytes of a run's output, so the summary must fit there.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

# At most this many tests are named, with this many lines each, and this many characters in all.
TESTS, LINES, CHARACTERS = 20, 15, 2800
# The longest name or line.
WIDTH = 110

# Colour codes in the reports of pytest and of the sanitizers.
COLOURS = re.compile(r"\x1b\[[0-9;]*m|#x1B\[[0-9;]*m")


def clipped(line: str, width: int = WIDTH) -> str:
    """Returns the line, cut to the width."""
    return line if len(line) <= width else f"{line[: width - 4]} ..."


def head(lines: Iterable[str], characters: int) -> str:
    """Returns the first lines that fit into so many characters, each with a newline."""
    text = ""
    for line in list(lines)[:LINES]:
        line = f"  {clipped(line)}\n"
        if len(text) + len(line) > characters:
            break
        text += line
    return text


def error_of(report: str) -> list[str]:
    """Returns the lines of a test's report that show the error and its place."""
    lines = [line.rstrip() for line in COLOURS.sub("", report).splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if re.match(r"E\s", line)]
    if not errors:
        return lines
    places = [line for line in lines if re.match(r"\S+:\d+: ?", line)]
    return [*places[-1:], *errors]


def failing(report: Path) -> list[tuple[str, str]]:
    """Returns name and report of each test of a JUnit file that failed or could not run."""
    found = []
    for case in ElementTree.parse(report).iter("testcase"):
        for end in (*case.iter("failure"), *case.iter("error")):
            name = f"{case.get('classname')}::{case.get('name')}"
            found.append((name, end.text or end.get("message") or ""))
            break
    return found


def summary(report: Path) -> str:
    """Returns the failing tests of a JUnit file and their errors, at most CHARACTERS long."""
    if not report.exists():
        return "pytest wrote no report: it was killed, or a test hung or ended the process\n"
    tests = failing(report)
    if not tests:
        return "no test failed, but pytest did: see above\n"
    shown = tests[:TESTS]
    names = "".join(f"FAILED {clipped(name)}\n" for name, _ in shown)
    if len(tests) > len(shown):
        names += f"... and {len(tests) - len(shown)} more\n"
    text = ""
    for number, (_, error) in enumerate(shown):
        # the remaining tests share the remaining room; less than 400 characters are of no use
        room = CHARACTERS - len(names) - len(text)
        share = max(room // (len(shown) - number), min(room, 400))
        title = f"-- {number + 1}:\n"
        lines = head(error_of(error), share - len(title))
        if lines:
            text += title + lines
    return names + text
