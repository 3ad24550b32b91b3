"""Frozen programs: PyInstaller finds the hook, and the hook what this package imports unseen."""

from __future__ import annotations

import importlib
import runpy
import sys
import tomllib
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_hook_names_what_pyinstaller_does_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyInstaller itself is not installed for the tests: functions of it are replaced."""
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    module, _, function = entry_points["pyinstaller40"]["hook-dirs"].partition(":")
    (folder,) = getattr(importlib.import_module(module), function)()
    hooks = types.ModuleType("PyInstaller.utils.hooks")
    found = {"collect_submodules": lambda name: [f"{name}.all"], "collect_data_files": lambda n: n}
    vars(hooks).update(found)
    for name in ("PyInstaller", "PyInstaller.utils"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, hooks.__name__, hooks)
    # PyInstaller looks for the name of the module that is imported
    given = runpy.run_path(str(Path(folder) / "hook-parallel_pool.py"))
    assert given["hiddenimports"] == ["_cffi_backend", "parallel_pool.all"]
    assert given["datas"] == "parallel_pool"
