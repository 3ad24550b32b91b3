"""The names of `import parallel_pool`: listed without importing what they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api as mypy

import parallel_pool

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".mypy_cache"
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

# a user's program, in which mypy --strict must find no error
TYPED = """
from typing import Any, assert_type

import numpy as np
import parallel_pool
from parallel_pool.cluster import ClusterVectorEnv
from parallel_pool.compat.gymnasium import NativeVectorEnv, ProcessVectorEnv
from parallel_pool import NamedBatch, PoolParallelEnv, PoolVecEnv, PoolVectorEnv, ProcessPool

Array = np.ndarray[Any, np.dtype[Any]]
assert_type(parallel_pool.make_vec("CartPole-v1", 2), NativeVectorEnv | ProcessVectorEnv)
assert_type(parallel_pool.make_vec("CartPole-v1", 2, backend="native"), NativeVectorEnv)
assert_type(parallel_pool.make_vec("CartPole-v1", 2, backend="process"), ProcessVectorEnv)
assert_type(parallel_pool.make_vec("CartPole-v1", 2, backend="cluster"), ClusterVectorEnv)
parallel_pool.make_vec("CartPole-v1", 2).step_async([0, 1])
assert_type(parallel_pool.PoolVectorEnv("CartPole-v1", 2), PoolVectorEnv)
assert_type(parallel_pool.PoolVecEnv("CartPole-v1", 2).num_envs, int)
assert_type(PoolParallelEnv([]).num_envs, int)
assert_type(ProcessPool([]).step([0]), NamedBatch)
batch = parallel_pool.Pool("CartPole-v1").reset()
assert_type(batch, NamedBatch)
assert_type(batch.obs, Array)
assert_type(batch[0], Array)
assert_type(batch._fields, tuple[str, ...])
observations, *others = batch
assert_type(observations, Array)
"""


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


@pytest.mark.slow
def test_type_checkers_know_the_names(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(TYPED)
    # the cache of `make lint` knows NumPy and Gymnasium already
    out, err, status = mypy.run(["--strict", "--cache-dir", str(CACHE), str(program)])
    assert not status, out + err
