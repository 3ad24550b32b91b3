"""Checks names that the glossary gives one meaning, docs/internals/glossary.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "parallel_pool"
FOLDERS = ("parallel_pool", ".ci", "benchmarks", "integration", "tests")

# an environment's name; its number is an int, or Any where the caller gives it
NAMED = re.compile(r"\benv_id: [^=,)\n]*\bstr\b")
# has the argument of gymnax.make
GYMNAX = "_apis/jax/gymnax_env.py"

# constants, and what they are set to; only the first of several values is sure to be whole
ASSIGNMENT = re.compile(
    r"^ *(_?[A-Z][A-Z0-9_]*(?:, _?[A-Z][A-Z0-9_]*)*)(?:: [^=\n]+)? = (.+)$", re.MULTILINE
)
SUPERLATIVES = {
    *("BEST", "DEEPEST", "FASTEST", "FEWEST", "HIGHEST", "LARGEST", "LEAST", "LONGEST", "LOWEST"),
    *("MOST", "NEAREST", "NEWEST", "OLDEST", "SHORTEST", "SLOWEST", "SMALLEST", "WIDEST", "WORST"),
}
# Past participles end in ED, but for SEED and SPEED; or they are among the adjectives.
PARTICIPLE = re.compile(r"\w+[^E]ED")
ADJECTIVES = {
    *("ALL", "DEEP", "DRIVEN", "ENDLESS", "EXPENSIVE", "FAR", "FAST", "FEW", "FRESH", "HELD"),
    *("HUGE", "IDLE", "LARGE", "LONG", "LONGER", "MANY", "NEAR", "NEW", "QUICK", "SAFE", "SHORT"),
    *("SHORTER", "SHOWN", "SLOW", "SMALL", "SPARE", "STICKY", "STRAGGLING", "THOROUGH", "WAITING"),
    "WIDE",
}
NUMBER = re.compile(r"[-(]?\d[\w.,()+*<> -]*")

# Their rename is due with the next change of `_workers`, and of `tests/contract`.
EXCEPTIONS = {
    "parallel_pool/_workers/data/info_copies.py: SHOWN",
    "parallel_pool/_workers/start/interpreter.py: OLDEST",
    "tests/contract/sliders.py: FAR",
}


def test_env_id_is_a_number() -> None:
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if NAMED.search(path.read_text())
    ]
    assert found == [GYMNAX], f"the name of an environment is task_id: {found}"
    assert NAMED.search("def make(env_id: str | None = None)")
    assert not NAMED.search("def reset(self, env_id: int, name: str)")


def adjectives(text: str) -> Iterator[str]:
    """Yields constants of a file that are superlatives, or numbers without a noun."""
    for names, values in ASSIGNMENT.findall(text):
        each_name = names.split(", ")
        value = values.partition("  #")[0]
        each_value = value.split(", ") if len(each_name) > 1 else [value]
        for name, number in zip(each_name, each_value, strict=False):
            words = name.strip("_").split("_")
            if words[0] in ("MAX", "MIN"):
                continue
            is_adjective = words[-1] in ADJECTIVES or PARTICIPLE.fullmatch(words[-1])
            if {words[0], words[-1]} & SUPERLATIVES or (is_adjective and NUMBER.fullmatch(number)):
                yield name


def test_thresholds_are_nouns() -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        for name in adjectives(path.read_text())
    }
    wrong = sorted(found - EXCEPTIONS)
    assert not wrong, f"begin with MAX_ or MIN_, or end with a noun or a unit: {wrong}"
    assert found >= EXCEPTIONS, f"no longer needed: {sorted(EXCEPTIONS - found)}"


def test_adjectives_are_found() -> None:
    for line, names in {
        "MOST = 3": ["MOST"],
        "LONGER, LONGEST = 3.0, 30.0": ["LONGER", "LONGEST"],
        "    MOST_STAGES: int = 4": ["MOST_STAGES"],
        "LEAST = {": ["LEAST"],
        "ENVPOOL_LEAST, BAR = 5.5, 7": ["ENVPOOL_LEAST"],
        "CROWDED = 0.75": ["CROWDED"],
        "CHANGED = 0.03  # of a ROM's bytes": ["CHANGED"],
        "FORGED, OTHERS = 1, (0, 2)": ["FORGED"],
        "_HELD = (1, 8)": ["_HELD"],
        "FEW, TOO_LONG = 10**6, 1e-3": ["FEW", "TOO_LONG"],
    }.items():
        assert list(adjectives(line)) == names, line
    for line in (
        *(
            "MAX_FRAMES, LONG_RUN = 3, 4",
            "CLOCK_SEED = 2**32 - 1",
            "SPEED = 3",
            "RED = 1",
            "MAX_LONGEST = 8",
        ),
        *("REFUSED = [(TypeError, 3)]", "TERMINATED, TRUNCATED = range(2)", "LONG = 'text'"),
    ):
        assert not list(adjectives(line)), line
