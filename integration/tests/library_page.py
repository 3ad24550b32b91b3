"""Reads the code and the diffs of docs/training-libraries.md, and the code of docs/rllib.md.

    python -m integration.tests.library_page DIFF PROGRAM

prints a program after the diff of this number (counted from 0), to try a diff by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "training-libraries.md"
RLLIB = DOCS / "rllib.md"


def blocks(heading: str, page: Path = PAGE) -> list[str]:
    """Returns the blocks of a section, up to the next heading. One # begins a comment in code."""
    text = page.read_text()
    section = re.search(rf"^##+ {re.escape(heading)}\n(.*?)(?=^##+ |\Z)", text, re.M | re.S)
    if section is None:
        raise ValueError(f"{page.name} has no heading {heading!r}")
    return re.findall(r"^```text\n(.*?)^```$", section[1], re.M | re.S)


def diffs() -> list[str]:
    """Returns all diffs of the page."""
    found = re.findall(r"^```text\n(--- .*?)^```$", PAGE.read_text(), re.M | re.S)
    return [str(each) for each in found]


def patched(program: str, diff: str) -> str:
    """Returns a program's text after a diff; raises ValueError unless each part fits one place."""
    for part in diff.split("@@\n")[1:]:
        lines = part.splitlines(keepends=True)
        # an empty line of the context may have lost its space
        before = "".join(line[1:] or line for line in lines if line[0] != "+")
        after = "".join(line[1:] or line for line in lines if line[0] != "-")
        if program.count(before) != 1:
            raise ValueError(f"found {program.count(before)} times instead of once:\n{before}")
        program = program.replace(before, after)
    return program


if __name__ == "__main__":
    print(patched(Path(sys.argv[2]).read_text(), diffs()[int(sys.argv[1])]), end="")
