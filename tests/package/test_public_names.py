"""The line between public and private names; public modules import others only when used."""

from __future__ import annotations

import ast
import importlib
import pickle
import pkgutil
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import parallel_pool
from tests.support.public_modules import PUBLIC
from tests.support.sampling import thinned

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

# Paths that are in users' files: entry points in Gymnasium's registry and in pickled specs.
IN_FILES = {
    "compat.entry_points": ("CartPole-v1", "test/Random-v0"),
    "compat.single_entry_points": ("CartPole-v1", "Pendulum-v1"),
}

# public modules without names, or with those of all environments
OTHERS = ["__main__", "compat", "compat.entry_points", "compat.single_entry_points"]

# Of public modules, the names that are not listed: those that need a package which may not be
# installed, as `import *` of the package must not fail, and what pickles refer to.
HIDDEN = {
    "": {"DMEnvPool", "EnvPool", "EnvSpec", "GymnasiumEnvPool", "PoolVecEnv"},
    "compat.envpool": {"named_tuple"},
}

LAZY = [name for name in PUBLIC if name.startswith(("compat.", "cluster"))]

# Programs that meet objects without taking their classes from a public module: they list some whose
# classes are public in `met`, and some in `pickled`.
PROGRAMS = {
    "pool": """
        pool = parallel_pool.Pool("CartPole-v1", 2)
        met = [pool]
        each = parallel_pool.each([1, (2.5, "a")])
        drawn = parallel_pool.each_reset(1.5, 2.5, log=True), parallel_pool.each_reset([3, 4])
        pickled = [pool.reset(seed=1), each, *drawn, parallel_pool.each_reset(1, 2)]
    """,
    "gymnasium": """
        kwargs = {"vectorization_mode": "parallel_pool"}
        envs = gymnasium.make_vec("CartPole-v1", 2, **kwargs)
        here = {"backend": "process", "num_workers": 0}
        others = gymnasium.make_vec("CartPole-v1", 2, **kwargs, vector_kwargs=here)
        met = [envs, others]
        try:
            envs.step([0, 0])
        except RuntimeError as error:
            met.append(error)
        envs.reset(seed=1)
        buffer = envs.rollout(2)
        rollout = buffer.collect(lambda seen: np.zeros(2, np.int64))
        met += [buffer, rollout]
        pickled = [met[2], rollout]
    """,
    "envpool": """
        envs = parallel_pool.make_gymnasium("CartPole-v1", num_envs=2)
        met = [envs, envs.spec, envs.spec.state_array_spec["obs"]]
        pickled = [envs.spec, envs.spec.config, envs.spec.state_array_spec]
    """,
    "dm_env": """
        envs = parallel_pool.make_dm("CartPole-v1", num_envs=2)
        one = parallel_pool.make_dm("CartPole-v1", batched=False)
        met = [envs, one]
        pickled = [envs.reset(), one.reset(), envs.observation_spec()]
    """,
    "pettingzoo": """
        envs = parallel_pool.PoolParallelEnv("mpe/simple_spread_v3", 2)
        arrays = envs.reset_arrays(seed=1)
        met = [envs, arrays, *envs.groups, envs.as_vector_env()]
        pickled = [arrays, *envs.groups]
    """,
}

# what a process prints of them: of classes what pickle and cloudpickle look for, and all of the
# package that pickles name
SHOWN = """
import pickle, re
import cloudpickle
for value in met:
    kind = type(value)
    print(f"{kind.__module__}.{kind.__qualname__}")
    assert b"cloudpickle" not in cloudpickle.dumps(kind), kind
for value in pickled:
    for protocol in (2, 5):
        dumped = pickle.dumps(value, protocol)
        print(*(path.decode() for path in re.findall(rb"parallel_pool[\\w.]*", dumped)))
        assert repr(pickle.loads(dumped)) == repr(value)
"""

# what pickles of drafts of 0.1 call, with which arguments
OLDER = {
    "_engine.named_batch _remake": (("obs", "reward"), (np.zeros(2), np.ones(2))),
    "_engine.variation Each": ((1, 2),),
    "_apis.envpool.named_tuples named_tuple": ("State", ("a", "b"), (1, 2)),
    "_apis.envpool.spec _find": ("CartPole-v1", {"num_envs": 3}),
    "_apis.envpool.spec ArraySpec": (np.dtype("f4"), [4], 0.0, 1.0),
}

# Modules that worker processes import for an API, and packages that would slow down their start.
IN_WORKERS = {
    "_apis.sb3.in_worker": {"torch", "stable_baselines3"},
    "_apis.pettingzoo.joint_env": {"torch", "stable_baselines3", "pettingzoo"},
}


def load(path: str) -> ModuleType:
    return importlib.import_module(f"parallel_pool.{path}".rstrip("."))


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


def named_on_pages(pages: Sequence[Path] = tuple(PAGES)) -> set[str]:
    """Returns the dotted paths in the text of pages, and what their code imports by name."""
    found: set[str] = set()
    for page in pages:
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


def test_all_modules_are_public_or_begin_with_an_underscore() -> None:
    found = {
        module.name.removeprefix("parallel_pool.")
        for module in pkgutil.walk_packages(parallel_pool.__path__, "parallel_pool.")
        if not module.name.removeprefix("parallel_pool.").startswith("_")
    }
    assert found == {*PUBLIC, *OTHERS} - {"", "__main__"}


@pytest.mark.parametrize("path", PUBLIC)
def test_a_public_module_lists_all_its_names(path: str) -> None:
    module = load(path)
    listed = set(module.__all__)
    assert sorted(listed) == sorted(module.__all__), "a name is listed twice"
    # loads those that are imported at first use
    for name in {*listed, *HIDDEN.get(path, ())}:
        getattr(module, name)
    shown = {name for name in dir(module) if not name.startswith("_")}
    if path != "errors":
        assert shown <= listed | HIDDEN.get(path, set())
    assert listed <= shown


@pytest.mark.parametrize("path", PUBLIC)
def test_public_objects_say_where_they_are_public(path: str) -> None:
    """Their `__module__` is a public module that has them under their name."""
    module = load(path)
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, type | FunctionType):
            place = value.__module__.removeprefix("parallel_pool").removeprefix(".")
            assert place in PUBLIC, f"{name} says that it is in {value.__module__}"
            assert getattr(load(place), value.__name__) is value


@pytest.mark.quick(2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_objects_say_where_their_classes_are_public(program: str) -> None:
    """Also in a process that took no class from there, and pickles name no private module."""
    lines = ["import gymnasium", "import numpy as np", "import parallel_pool"]
    script = "\n".join([*lines, textwrap.dedent(PROGRAMS[program]), SHOWN])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    paths = set(done.stdout.split())
    assert len(paths) > 1
    assert [path for path in sorted(paths) if "._" in path] == []
    for path in paths:
        assert resolve(path) is not None, path


@pytest.mark.parametrize("name", OLDER)
def test_older_pickles_can_be_read(name: str) -> None:
    """They name private modules."""
    module, function = name.split()
    arguments = pickle.dumps(OLDER[name], 2).removeprefix(b"\x80\x02").removesuffix(b".")
    called = f"cparallel_pool.{module}\n{function}\n".encode()
    value = pickle.loads(b"\x80\x02" + called + arguments + b"R.")
    assert repr(pickle.loads(pickle.dumps(value))) == repr(value)


def test_public_modules_hold_no_code() -> None:
    """They import names; what these do is in private modules."""
    for path in {*PUBLIC, *OTHERS} - {"errors", "__main__", ""}:
        file = load(path).__file__
        assert file is not None
        defined = [
            node.name
            for node in ast.parse(Path(file).read_text()).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        assert set(defined) <= {"__getattr__"}, f"{path} defines {defined}"


@pytest.mark.quick(1)
@pytest.mark.parametrize("path", thinned(LAZY, 3))
def test_dir_shows_the_public_names_without_importing_them(path: str) -> None:
    public = {name for name in dir(load(path)) if not name.startswith("_")}
    assert public == {*load(path).__all__, *HIDDEN.get(path, ())}
    module = f"parallel_pool.{path}"
    loaded = modules_after(f"import importlib; dir(importlib.import_module({module!r}))")
    assert not loaded & {"gymnasium", "dm_env", "torch", "stable_baselines3", "pettingzoo"}


@pytest.mark.parametrize("path", LAZY)
def test_names_are_imported_at_first_use(path: str) -> None:
    module = load(path)
    for name in module.__all__:
        value = getattr(module, name)
        assert getattr(value, "__name__", name) == name
        assert vars(module)[name] is value


@pytest.mark.parametrize("path", LAZY)
def test_unknown_names_are_attribute_errors(path: str) -> None:
    message = f"module 'parallel_pool.{path}' has no attribute 'PoolVec'"
    with pytest.raises(AttributeError, match=message):
        load(path).PoolVec  # noqa: B018


def test_pages_import_from_public_modules() -> None:
    pages = [page for page in PAGES if page.parent.name != "internals"]
    private = sorted(name for name in named_on_pages(pages) if re.search(r"\._(?!_)", name))
    assert private == []


def test_importing_the_package_imports_no_gymnasium() -> None:
    loaded = modules_after("import parallel_pool")
    assert "parallel_pool" in loaded and "gymnasium" not in loaded


@pytest.mark.quick(1)
@pytest.mark.parametrize("path", IN_WORKERS)
def test_workers_do_not_import_what_only_the_parent_needs(path: str) -> None:
    loaded = modules_after(f"import parallel_pool.{path}")
    assert "gymnasium" in loaded and not loaded & IN_WORKERS[path]
