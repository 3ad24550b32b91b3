"""Committed: the text of a test that repeats a proof, for a repository."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parallel_pool._prover.program import actions_text
from parallel_pool._prover.target import split

TEMPLATE = '''\
"""{ours} equals {against}, written by `python -m parallel_pool check --write-test`."""

from pathlib import Path

import numpy as np

from parallel_pool import testing

HERE = Path(__file__).resolve().parent
{env_line}
{against_line}
# seeds, each with actions that reached something rare{or_difference}
SEQUENCES = [
{sequences}]


def test_{name}_equals_its_reference() -> None:
    testing.prove(
        ENV,
        AGAINST,
        options={options},
        steps={steps},
        seconds={seconds},
        seed={seed},
        tolerance={tolerance},
        sequences=SEQUENCES,
        coverage=False,
    )
'''


def test_text(
    path: Path,
    env: str,
    against: str,
    settings: Mapping[str, Any],
    sequences: Sequence[tuple[int, Sequence[Any]]],
    difference: bool,
) -> str:
    """Returns the test.

    Args:
        path: where it will be, from which files are named.
        env, against: as given.
        settings: options, steps, seconds, seed and tolerance.
        sequences: to play.
        difference: whether the first of them shows a difference.
    """
    rows = "".join(
        f"    ({seed}, {actions_text([np.asarray(each) for each in actions])}),\n"
        for seed, actions in sequences
    )
    text = TEMPLATE.format(
        ours=Path(env).name,
        against=Path(against).name,
        env_line=_constant("ENV", env, path),
        against_line=_constant("AGAINST", against, path),
        or_difference="; the first showed a difference" if difference else "",
        sequences=rows,
        name=re.sub(r"\W+", "_", Path(env).stem).lower(),
        **{name: _value(value) for name, value in settings.items()},
    )
    return text if "np." in rows else text.replace("import numpy as np\n\n", "")


def _value(value: Any) -> str:
    """Returns a setting as Python reads it."""
    is_infinite = isinstance(value, float) and not math.isfinite(value)
    return f'float("{value}")' if is_infinite else repr(value)


def _constant(name: str, value: str, path: Path) -> str:
    """Returns an assignment; a file is named from the test's folder on."""
    file, rest = split(value)
    tail = f":{rest}" if rest else ""
    if not os.path.isfile(file):
        return f"{name} = {value!r}"
    where = Path(file).resolve()
    here = path.resolve().parent
    if where.is_relative_to(here):
        made = f"HERE / {where.relative_to(here).as_posix()!r}"
        return f"{name} = str({made})" + (f" + {tail!r}" if tail else "")
    return f"{name} = {str(where) + tail!r}"
