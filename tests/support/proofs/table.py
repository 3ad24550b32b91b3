"""The committed table of proofs: for each machine, the hash with which files of tests passed.

`make test` and `make prove` write it; it is never edited by hand.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.proofs import facts, kept, sources

TESTS = sources.ROOT / "tests"
PATH = TESTS / "proofs.json"
HEX_DIGITS = 16

Table = Mapping[str, Mapping[str, str]]


def digest(test: Path, named: Iterable[str]) -> str:
    """Returns the hash of what the result of a file of tests depends on, on this machine.

    Args:
        test: the file.
        named: what its mark `proven` names.
    """
    found = sources.of_test(test, named)
    return _hash([sources.digest(found.files), facts.flags(), *facts.packages(found.packages)])


def sanitized_digest(test: Path, paths: Iterable[str], sanitizers: str, options: str) -> str:
    """Returns the hash of what a file's result under sanitizers depends on, on this machine.

    Args:
        test: the file.
        paths: of sources.
        sanitizers: their names, with commas.
        options: of the sanitizers, and those with which pytest chooses the cases.
    """
    own = {path for path in sources.of_test(test, ()).files if path.is_relative_to(TESTS)}
    files = {test, *own, *sources.below(paths)}
    return _hash([sources.digest(files), facts.flags(sanitizers), options])


def read() -> dict[str, dict[str, str]]:
    """Returns the table: by machine, then by group of tests; an empty one if there is no file."""
    if not PATH.exists():
        return {}
    return {name: dict(rows) for name, rows in json.loads(PATH.read_text()).items()}


def add(proofs: Mapping[str, str]) -> None:
    """Writes new proofs of this machine; those of files that are gone are dropped."""
    with _changing() as table:
        table[facts.machine()] = {**table.get(facts.machine(), {}), **proofs}


def remove(proofs: Mapping[str, str]) -> None:
    """Removes proofs, of all machines."""
    with _changing() as table:
        for rows in table.values():
            for group, digest in proofs.items():
                if rows.get(group) == digest:
                    del rows[group]


@contextmanager
def _changing() -> Iterator[dict[str, dict[str, str]]]:
    """Yields the table to be changed, then writes it; two processes take turns."""
    place = kept.of_proofs.path.with_suffix(".lock")
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        table = read()
        yield table
        partial = PATH.with_suffix(".partial")
        partial.write_text(text(table))
        partial.replace(PATH)


def text(table: Table) -> str:
    """Returns a table as JSON, with a line for each proof, so that a diff is readable."""
    shown = {
        name: {group: rows[group] for group in sorted(rows) if _file(group).exists()}
        for name, rows in sorted(table.items())
    }
    return json.dumps(shown, indent=1) + "\n"


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:HEX_DIGITS]


def _file(group: str) -> Path:
    return sources.ROOT / group.partition("[")[0]
