"""Environments in Python that are translated to C give the same bits as in Python."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import parallel_pool
from parallel_pool._contract import twins
from parallel_pool._translator import files
from tests.translator import probes
from tests.translator.translator_sources import OF_TRANSLATED

pytestmark = pytest.mark.proven(
    *OF_TRANSLATED, "tests/translator/strangers", "tests/translator/newcomers"
)

ROOT = Path(__file__).resolve().parents[2]
STRANGERS = Path(__file__).parent / "strangers"
# written later, for what the strangers' classes lack: texts, tuples, tables, keys that come and go
NEWCOMERS = Path(__file__).parent / "newcomers"
sys.path.insert(0, str(STRANGERS))
CLASSES = importlib.import_module("classes").CLASSES
sys.path.remove(str(STRANGERS))

# classes that are refused, and a word of the reason
REFUSED = {
    "lander": "self.fuel is an int after reset",
}


# of lander
SUM = "shaping - self.prev_shaping - 0.3 * main - 0.03 * (left + right)"


def stranger(module: str, name: str) -> Any:
    sys.path.insert(0, str(STRANGERS))
    try:
        return getattr(importlib.import_module(module), name)
    finally:
        sys.path.remove(str(STRANGERS))


@pytest.mark.quick(2)
@pytest.mark.parametrize("cls", probes.PROBES, ids=lambda cls: cls.__name__)
def test_a_part_of_the_language_gives_the_same_bits(cls: Any) -> None:
    (task_id,) = parallel_pool.compile(cls)
    twins.compare(cls, task_id)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "module, name, limit", [(m, n, limit) for m, n, _, limit in CLASSES if m not in REFUSED]
)
def test_a_class_of_a_stranger_gives_the_same_bits(
    module: str, name: str, limit: int | None
) -> None:
    cls = stranger(module, name)
    (task_id,) = parallel_pool.compile(cls)
    twins.compare(cls, task_id, limit=limit)


@pytest.mark.quick(1)
@pytest.mark.parametrize("path", sorted(NEWCOMERS.glob("*.py")), ids=lambda path: path.stem)
def test_a_class_of_a_newcomer_gives_the_same_bits(path: Path) -> None:
    (task_id,) = parallel_pool.load_source(path)
    twins.compare(files.classes_by_id[task_id], task_id)


@pytest.mark.parametrize("module, name", [(m, n) for m, n, *_ in CLASSES if m in REFUSED])
def test_what_is_not_translated_is_said(module: str, name: str) -> None:
    cls = stranger(module, name)
    with pytest.raises(parallel_pool.SourceError, match=REFUSED[module]) as found:
        parallel_pool.compile(cls)
    # with the file and the line
    assert f"{module}.py:" in str(found.value)


@pytest.mark.slow
def test_what_the_message_says_is_enough(tmp_path: Path) -> None:
    """Two lines are changed, each as its message says."""
    text = (STRANGERS / "lander.py").read_text()
    for old, new in (
        ("self.fuel = self.start_fuel", "self.fuel = float(self.start_fuel)"),
        (f"reward = {SUM}", f"reward = float({SUM})"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "mended_lander.py"
    path.write_text(text)
    (task_id,) = parallel_pool.load_source(path)
    cls = sys.modules["mended_lander"].SimpleLander
    twins.compare(cls, task_id, limit=400)


@pytest.mark.slow
@pytest.mark.parametrize(
    "module, name, options, limit",
    [(m, n, o, limit) for m, n, all_options, limit in CLASSES for o in all_options[1:]],
)
def test_other_options_of_a_stranger_give_the_same_bits(
    module: str, name: str, options: dict[str, Any], limit: int | None
) -> None:
    if module in REFUSED:
        return
    cls = stranger(module, name)
    (task_id,) = parallel_pool.compile(cls, **options)
    twins.compare(cls, task_id, limit=limit, seed=5, options=options)


BLAS = """
import parallel_pool
from parallel_pool._contract import twins
from tests.translator import probes
for cls in (probes.Arrays, probes.Products):
    twins.compare(cls, parallel_pool.compile(cls)[0])
"""


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["", "Haswell", "Sandybridge", "Nehalem"])
def test_products_have_the_bits_of_every_kernel_of_blas(kernel: str) -> None:
    """OpenBLAS, which NumPy's wheels have, chooses a kernel for the processor, or that one."""
    own = {**os.environ, "OPENBLAS_CORETYPE": kernel, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", BLAS], cwd=ROOT, env=own, check=False)
    assert done.returncode == 0
