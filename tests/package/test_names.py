"""Checks names that the glossary gives one meaning, docs/internals/glossary.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "parallel_pool"

# an environment's name; its number is an int, or Any where the caller gives it
NAMED = re.compile(r"\benv_id: [^=,)\n]*\bstr\b")
# has the argument of gymnax.make
GYMNAX = "_apis/jax/gymnax_env.py"
ADJECTIVE = re.compile(
    r"^\s*(?:[A-Z]\w*, )*_?(?:MOST|LEAST|LONGEST|SHORTEST|FEWEST|LARGEST|SMALLEST)\w*(?:, \w+)*"
    r"(?:: \w+)? = ",
    re.MULTILINE,
)


def test_env_id_is_a_number() -> None:
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if NAMED.search(path.read_text())
    ]
    assert found == [GYMNAX], f"the name of an environment is task_id: {found}"
    assert NAMED.search("def make(env_id: str | None = None)")
    assert not NAMED.search("def reset(self, env_id: int, name: str)")


def test_thresholds_are_nouns() -> None:
    files = [*PACKAGE.rglob("*.py"), *(ROOT / ".ci").rglob("*.py")]
    found = [path.name for path in sorted(files) if ADJECTIVE.search(path.read_text())]
    assert not found, f"begin with MAX_ or MIN_: {found}"
    for line in ("MOST = 3", "LONGER, LONGEST = 3.0, 30.0", "    MOST_STAGES: int = 4"):
        assert ADJECTIVE.search(line), line
    assert not ADJECTIVE.search("MAX_FRAMES, LONG = 3, 4")
