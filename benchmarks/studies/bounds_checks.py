"""What the bounds checks of translated classes cost.

    python -m benchmarks.studies.bounds_checks

An index of a translated class is checked in every step, as in Python. Here the C files of the
classes of python_classes.py are compiled once more, with a function in place of the check that
takes every index for right. Both step in the same rounds, on one thread, by CPU time, after their
results have been compared.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import parallel_pool
from benchmarks.harness.report import page, publish, table
from benchmarks.studies import python_classes
from benchmarks.studies.python_env import NUM_ENVS, STEPS, compare, pool, timed
from parallel_pool._source import cache
from parallel_pool._translator import load

CLASSES = (
    python_classes.CartPole,
    python_classes.ArrayCartPole,
    python_classes.GridWorld,
    python_classes.Trading,
)
CHECK, MESSAGE = "pp_python_index", b"is out of bounds for axis"
INCLUDE = '#include "base/python.h"\n'
# it adds the length to a negative index, as the check does
UNCHECKED = f"""{INCLUDE}
static inline bool unchecked_index(int64_t *index, int64_t length) {{
  if (*index < 0) *index += length;
  return true;
}}
#define {CHECK} unchecked_index
"""
# the most that checks may cost, in percent
BAR = 12.0


def without_checks(cls: type[Any], folder: Path) -> tuple[str, int]:
    """Compiles and loads a class without checks; returns its id, and how many checks it has."""
    made = load.translate(cls, f"unchecked/{cls.__name__}-v0", None, None, {})
    text = made.path.read_text()
    assert INCLUDE in text
    path = folder / made.path.name
    path.write_text(text.replace(INCLUDE, UNCHECKED))
    library = cache.build(path).library
    # the compiler has removed what a failed check says
    assert MESSAGE not in library.read_bytes()
    (task_id,) = load.load_translated(replace(made, path=path), library)
    return task_id, text.count(f"{CHECK}(")


def measure(cls: type[Any], folder: Path, rounds: int) -> list[str]:
    """Returns the row of a class."""
    (checked,) = parallel_pool.compile(cls, f"checked/{cls.__name__}-v0")
    unchecked, count = without_checks(cls, folder)
    draws = np.random.default_rng(0)
    actions = [draws.integers(cls().action_space.n, size=NUM_ENVS) for _ in range(STEPS)]
    compare(pool(checked, NUM_ENVS), pool(unchecked, NUM_ENVS), actions)
    makers = {each: partial(pool, each, NUM_ENVS) for each in (checked, unchecked)}
    times = timed(makers, {}, {}, actions, rounds)
    with_checks, without = (times[name] for name in (checked, unchecked))
    shares = [100 * (a / b - 1) for a, b in zip(with_checks, without, strict=True)]
    low, middle, high = statistics.quantiles(shares, n=4)
    missed = f" (bar {BAR:g})" if middle > BAR else ""
    return [
        cls.__name__,
        str(count),
        f"{statistics.median(with_checks) * 1e9:.1f}",
        f"{statistics.median(without) * 1e9:.1f}",
        f"{middle:.1f}{missed}",
        f"{low:.1f} to {high:.1f}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and writes the result; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.bounds_checks", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the table goes, too")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(cls, Path(folder), options.rounds) for cls in CLASSES]
    heads = [
        *("class", "checks in the C file", "ns a step", "without checks"),
        *("checks cost, %", "quartiles"),
    ]
    report = page(
        "Bounds checks of translated classes",
        f"`python -m benchmarks.studies.bounds_checks`: CPU time, one thread, {NUM_ENVS}"
        f" environments, {options.rounds} interleaved rounds, medians; {STEPS * NUM_ENVS:,} steps"
        " gave the same in both.",
        *table(heads, rows),
    )
    publish(report, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
