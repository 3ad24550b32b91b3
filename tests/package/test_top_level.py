"""The names of `import parallel_pool`: listed without importing what they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import parallel_pool

ROOT = Path(__file__).resolve().parents[2]
LAZY = (
    "PoolParallelEnv",
    "PoolVecEnv",
    "PoolVectorEnv",
    "ProcessPool",
    "list_all_envs",
    "load_source",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
    "make_vec",
    "mosaic",
    "register",
    "testing",
)


def run(script: str) -> str:
    """Runs code in a fresh interpreter; returns what it printed."""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    names = [name for name in dir(parallel_pool) if not name.startswith("_")]
    assert names == sorted({*parallel_pool.__all__, "PoolVecEnv"})
    assert set(LAZY) <= set(names)
    for name in names:
        assert getattr(parallel_pool, name) is not None


def test_dir_loads_nothing() -> None:
    heavy = {"gymnasium", "torch", "stable_baselines3", "pettingzoo", "matplotlib"}
    script = f"import sys, parallel_pool; dir(parallel_pool); print({heavy} & sys.modules.keys())"
    assert run(script) == "set()\n"


@pytest.mark.parametrize("name", LAZY)
def test_names_are_imported_at_first_use(name: str) -> None:
    value = getattr(parallel_pool, name)
    assert value.__name__ in (name, f"parallel_pool.{name}")
    assert vars(parallel_pool)[name] is value


@pytest.mark.slow
def test_without_stable_baselines3_the_other_names_work() -> None:
    """Every name in dir() exists, `import *` works, and PoolVecEnv's error names the cure."""
    out = run(
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "import importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name: None if name == 'stable_baselines3' else find(name)\n"
        "import parallel_pool\n"
        "from parallel_pool import *\n"
        "print(all(hasattr(parallel_pool, name) for name in dir(parallel_pool)))\n"
        "print('PoolVecEnv' in dir(parallel_pool))\n"
        "try: from parallel_pool import PoolVecEnv\n"
        "except parallel_pool.MissingDependencyError as error: print(error)\n"
    )
    assert out.splitlines() == [
        "True",
        "False",
        "PoolVecEnv needs Stable-Baselines3: pip install 'parallel_pool[sb3]'",
    ]


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'parallel_pool' has no attribute 'Pol'"):
        parallel_pool.Pol  # noqa: B018
