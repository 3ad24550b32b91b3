"""What a stage that failed says last, of its failing tests: short, so that any tail shows it all.

CI shows a few kilobytes of what a run prints, so the end of that must tell what went wrong.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

# how many tests are named, how many lines each may say, and how much all of it may be
TESTS, LINES, CHARACTERS = 20, 15, 2800
# a name or a line is no longer than this
WIDTH = 110

# colours of pytest's and of sanitizers' reports
COLOURS = re.compile(r"\x1b\[[0-9;]*m|#x1B\[[0-9;]*m")


def clipped(line: str, width: int = WIDTH) -> str:
    return line if len(line) <= width else f"{line[: width - 4]} ..."


def head(lines: Iterable[str], characters: int) -> str:
    """The first lines of something, as many as there is room for, each with a newline."""
    text = ""
    for line in list(lines)[:LINES]:
        line = f"  {clipped(line)}\n"
        if len(text) + len(line) > characters:
            break
        text += line
    return text


def error_of(report: str) -> list[str]:
    """What matters of a test's report: pytest's lines about the error, and where it was."""
    lines = [line.rstrip() for line in COLOURS.sub("", report).splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if re.match(r"E\s", line)]
    if not errors:
        return lines
    places = [line for line in lines if re.match(r"\S+:\d+: ?", line)]
    return [*places[-1:], *errors]


def failing(report: Path) -> list[tuple[str, str]]:
    """Name and report of each test of a junit file that failed or could not be run."""
    found = []
    for case in ElementTree.parse(report).iter("testcase"):
        for end in (*case.iter("failure"), *case.iter("error")):
            name = f"{case.get('classname')}::{case.get('name')}"
            found.append((name, end.text or end.get("message") or ""))
            break
    return found


def told(report: Path) -> str:
    """Which tests of a junit file failed, and how each: at most CHARACTERS."""
    if not report.exists():
        return "pytest has left no report: it was ended, or a test hung and ended it\n"
    tests = failing(report)
    if not tests:
        return "no test failed: pytest itself did, see above\n"
    shown = tests[:TESTS]
    names = "".join(f"FAILED {clipped(name)}\n" for name, _ in shown)
    if len(tests) > len(shown):
        names += f"... and {len(tests) - len(shown)} more\n"
    text = ""
    for number, (_, error) in enumerate(shown):
        # what those before have left is shared by the rest; a few words each are of no use
        room = CHARACTERS - len(names) - len(text)
        share = max(room // (len(shown) - number), min(room, 400))
        title = f"-- {number + 1}:\n"
        said = head(error_of(error), share - len(title))
        if said:
            text += title + said
    return names + text
