"""The types that users get: mypy and pyright check the programs of typing/, in strict mode.

Pyright, which many editors run, also checks the package, which `make lint` checks with mypy.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api as mypy

from tests.support.docstrings import MODULES

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".mypy_cache"
FOLDER = ROOT / "tests" / "package" / "typing"
SETTINGS = FOLDER / "pyrightconfig.json"
PROGRAMS = sorted(FOLDER.glob("use_*.py"))

# the Makefile installs it from npm
PYRIGHT = Path(sys.prefix) / "pyright-1.1.414" / "node_modules" / "pyright" / "index.js"
needs_pyright = pytest.mark.skipif(
    not (PYRIGHT.exists() and shutil.which("node")),
    reason=f"needs node and {PYRIGHT}, which make installs where npm is",
)

WRONG = """
from typing import assert_type
import parallel_pool
assert_type(parallel_pool.Pool("CartPole-v1").num_envs, str)
parallel_pool.make_vec("CartPole-v1", "2")
"""


def run_mypy(*programs: Path) -> str:
    """Returns the errors that mypy finds."""
    # mypy sets a limit of 16,384, which tests of RecursionError would inherit
    limit = sys.getrecursionlimit()
    try:
        # the cache of `make lint` knows NumPy and Gymnasium already
        out, err, status = mypy.run(["--strict", "--cache-dir", str(CACHE), *map(str, programs)])
    finally:
        sys.setrecursionlimit(limit)
    return out + err if status else ""


def run_pyright(*arguments: str | Path) -> list[str]:
    """Returns the errors that pyright finds in files, or ("-p", folder) by a folder's settings."""
    command = ["node", PYRIGHT, "--outputjson", "--pythonpath", sys.executable, *arguments]
    # it finds the settings for files in pyproject.toml
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    assert told["summary"]["filesAnalyzed"], done.stderr
    return [f"{each['file']}: {each['message']}" for each in told["generalDiagnostics"]]


def test_every_public_module_has_a_program() -> None:
    text = "\n".join(path.read_text() for path in PROGRAMS)
    for module in MODULES:
        # two functions without arguments or results
        if module != "parallel_pool.compat.gymnasium_hook":
            assert re.search(rf"\b(from|import) {re.escape(module)}\b", text), module
    assert all("assert_type(" in path.read_text() for path in PROGRAMS)


@pytest.mark.slow
def test_mypy_finds_no_error() -> None:
    assert run_mypy(*PROGRAMS) == ""


@pytest.mark.slow
@needs_pyright
def test_pyright_finds_no_error() -> None:
    assert json.loads(SETTINGS.read_text())["typeCheckingMode"] == "strict"
    assert run_pyright("-p", FOLDER) == []


@pytest.mark.slow
@needs_pyright
def test_pyright_finds_no_error_in_the_package() -> None:
    assert run_pyright(ROOT / "parallel_pool") == []


@pytest.mark.slow
def test_mypy_finds_wrong_types(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text(WRONG)
    assert run_mypy(program).count(": error: ") == 2


@pytest.mark.slow
@needs_pyright
def test_pyright_finds_wrong_types(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    settings = {**json.loads(SETTINGS.read_text()), "extraPaths": [str(ROOT)]}
    (tmp_path / SETTINGS.name).write_text(json.dumps(settings))
    assert len(run_pyright("-p", tmp_path)) == 2
