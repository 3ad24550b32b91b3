"""Import paths that programs use stay valid; a package imports its modules only when used."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import parallel_pool
from tests.sampling import thinned

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

# Paths that are in users' files: entry points in Gymnasium's registry and in pickled specs.
IN_FILES = {
    "compat.entry_points": ("CartPole-v1", "test/Random-v0"),
    "compat.single_entry_points": ("CartPole-v1", "Pendulum-v1"),
}

# What `dir()` of a lazy package shows.
PACKAGES = {
    "compat.ale": {"ActionError", "AtariVectorEnv", "NotResetError"},
    "compat.envpool": {
        *("DMEnvPool", "EnvPool", "EnvSpec", "GymnasiumEnvPool", "MAKERS", "list_all_envs"),
        *("make", "make_dm", "make_gym", "make_gymnasium", "make_spec", "register"),
    },
    "compat.gymnasium": {
        *("NotResetError", "PendingCallError", "PoolVectorEnv", "ProcessVectorEnv", "make_vec"),
    },
    "cluster": {
        *("Adaptive", "Batch", "ClusterVectorEnv", "Every", "Policy", "Rollouts", "Stats"),
    },
    "compat.pettingzoo": {"PoolParallelEnv", "env", "parallel_env"},
    "compat.sb3": {"AgentVecEnv", "ClusterVecEnv", "PoolVecEnv"},
    "python.protocol": {"ArraySpec", "DMEnvPool", "EnvPool", "EnvSpec", "GymnasiumEnvPool"},
}

# Modules that worker processes import for an API, and packages that would slow down their start.
IN_WORKERS = {
    "compat.sb3.in_worker": {"torch", "stable_baselines3"},
    "compat.pettingzoo.joint_env": {"torch", "stable_baselines3", "pettingzoo"},
}


def load(path: str) -> ModuleType:
    return importlib.import_module(f"parallel_pool.{path}")


def modules_after(script: str) -> set[str]:
    """Returns the top-level names of what a fresh interpreter has imported after a script."""
    command = [sys.executable, "-c", f"{script}\nimport sys; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def resolve(path: str) -> Any:
    """Returns the object at a dotted path; imports the modules on the way."""
    value: Any = parallel_pool
    module = "parallel_pool"
    for name in path.split(".")[1:]:
        module = f"{module}.{name}"
        if isinstance(value, ModuleType) and not hasattr(value, name):
            importlib.import_module(module)
        value = getattr(value, name)
    return value


def named_on_pages() -> set[str]:
    """Returns the dotted paths in the text of pages, and what their code imports by name."""
    found: set[str] = set()
    for page in PAGES:
        text = page.read_text()
        # not the second part of a file's name, as in `parallel_pool.so`
        for path in re.findall(r"(?<![\w/.-])parallel_pool(?:\.[A-Za-z_]\w*)+", text):
            found.add(path)
        imported = r"^\s*from (parallel_pool[\w.]*) import ([\w, ]+)$"
        for module, names in re.findall(imported, text, re.MULTILINE):
            found |= {f"{module}.{name.strip()}" for name in names.split(",")}
    return found


@pytest.mark.parametrize("path", IN_FILES)
def test_paths_in_files_have_their_names(path: str) -> None:
    module = load(path)
    for name in IN_FILES[path]:
        assert getattr(module, name) is not None


def test_pages_name_only_what_exists() -> None:
    names = named_on_pages()
    assert len(names) > 20
    for name in sorted(names):
        assert resolve(name) is not None, name


@pytest.mark.parametrize("path", thinned(PACKAGES, 3))
def test_dir_shows_the_public_names_without_importing_them(path: str) -> None:
    public = [name for name in dir(load(path)) if not name.startswith("_")]
    assert public == sorted(PACKAGES[path])
    module = f"parallel_pool.{path}"
    loaded = modules_after(f"import importlib; dir(importlib.import_module({module!r}))")
    assert not loaded & {"gymnasium", "dm_env", "torch", "stable_baselines3", "pettingzoo"}


@pytest.mark.parametrize("path", PACKAGES)
def test_names_are_imported_at_first_use(path: str) -> None:
    module = load(path)
    for name in PACKAGES[path]:
        value = getattr(module, name)
        assert getattr(value, "__name__", name) == name
        assert vars(module)[name] is value


@pytest.mark.parametrize("path", [path for path in PACKAGES if path != "python.protocol"])
def test_no_submodule_has_the_name_of_a_public_object(path: str) -> None:
    """Importing the submodule would replace the object on the package."""
    submodules = {found.name for found in pkgutil.iter_modules(load(path).__path__)}
    assert not submodules & PACKAGES[path]


@pytest.mark.parametrize("path", PACKAGES)
def test_unknown_names_are_attribute_errors(path: str) -> None:
    message = f"module 'parallel_pool.{path}' has no attribute 'PoolVec'"
    with pytest.raises(AttributeError, match=message):
        load(path).PoolVec  # noqa: B018


def test_importing_the_package_imports_no_gymnasium() -> None:
    loaded = modules_after("import parallel_pool")
    assert "parallel_pool" in loaded and "gymnasium" not in loaded


@pytest.mark.parametrize("path", IN_WORKERS)
def test_workers_do_not_import_what_only_the_parent_needs(path: str) -> None:
    loaded = modules_after(f"import parallel_pool.{path}")
    assert "gymnasium" in loaded and not loaded & IN_WORKERS[path]
