"""The committed table of proofs: for each machine, the hash with which files of tests passed.

`make test` and `make prove` write it; it is never edited by hand.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.support.proofs import facts, sources

PATH = sources.ROOT / "tests" / "proofs.json"
HEX_DIGITS = 16

Table = Mapping[str, Mapping[str, str]]


def digest(test: Path, named: Iterable[str]) -> str:
    """Returns the hash of all that the result of a file of tests depends on, on this machine.

    Args:
        test: the file.
        named: what its mark `proven` names.
    """
    found = sources.of_test(test, named)
    return _hash([sources.digest(found.files), facts.flags(), *facts.packages(found.packages)])


def sanitized_digest(test: Path, folders: Iterable[str], options: str) -> str:
    """Returns the hash of all that a file's result under a sanitizer depends on.

    Args:
        test: the file.
        folders: of sources.
        options: with which pytest chooses its cases.
    """
    files = {test, *sources.below(folders)}
    return _hash([sources.digest(files), facts.flags(), options])


def read() -> dict[str, dict[str, str]]:
    """Returns the table: by machine, then by group of tests; an empty one if there is no file."""
    if not PATH.exists():
        return {}
    return {name: dict(rows) for name, rows in json.loads(PATH.read_text()).items()}


def add(proofs: Mapping[str, str]) -> None:
    """Writes new proofs of this machine; those of files that are gone are dropped."""
    table = read()
    table[facts.machine()] = {**table.get(facts.machine(), {}), **proofs}
    PATH.write_text(text(table))


def text(table: Table) -> str:
    """Returns a table as JSON, with a line for each proof, so that a diff is readable."""
    kept = {
        name: {group: rows[group] for group in sorted(rows) if _file(group).exists()}
        for name, rows in sorted(table.items())
    }
    return json.dumps(kept, indent=1) + "\n"


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:HEX_DIGITS]


def _file(group: str) -> Path:
    return sources.ROOT / group.partition("[")[0]
