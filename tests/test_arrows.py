"""Holds the arrows of docs/design.md: who may include, import and export what."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "parallel_pool"

C_FILES = sorted(path for path in CSRC.rglob("*") if path.suffix in (".c", ".h", ".inl"))
PYTHON_FILES = sorted(PACKAGE.rglob("*.py"))

# Where a heavy module may be imported, at the top of a file or inside a function.
HEAVY = {
    "gymnasium": ("compat/", "envs/", "registry.py", "specs.py", "demo", "workers/"),
    "torch": ("compat/sb3.py",),
    # its helpers are imported by workers, too, who would wait for torch
    "stable_baselines3": ("compat/sb3.py",),
    "pettingzoo": ("compat/pettingzoo.py", "envs/python"),
    "dm_env": ("compat/dm_env.py", "envs/python"),
    "mujoco": ("envs/mujoco",),
    "ale_py": ("envs/atari", "demo", "prove_atari/"),
    "cv2": ("demo",),
    "matplotlib": ("demo",),
    "rich": ("demo", "prove_atari/"),
    "ray": (),
}

# The classes that users hold. Each belongs to one package's conventions and knows no other face;
# the functions that make them (compat/envpool.py, ...) load the one that is asked for.
FACES = (
    "ale",
    "gymnasium",
    "gymnasium_process",
    "envpool_gymnasium",
    "dm_env",
    "sb3",
    "pettingzoo",
)
# but PettingZoo's conventions are Gymnasium's, with a dict of agents around each value
STANDS_ON = {"pettingzoo": {"gymnasium_process"}}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# ------------------------------------------------------------------------------------------ C --


def includes(path: Path) -> list[Path]:
    """The project's own files that a C file includes, found as the compiler finds them."""
    found = []
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE):
        places = [path.parent / name, CSRC / "include" / name, CSRC / name]
        existing = [place.resolve() for place in places if place.exists()]
        assert existing, f"{name_of(path)} includes {name}, which is nowhere"
        found.append(existing[0])
    return found


def may_include(path: Path) -> tuple[Path, ...]:
    """Files and folders that a C file may take its includes from."""
    room = path.relative_to(CSRC).parts[0]
    if room == "include":
        return (CSRC / "include",)
    if room == "base":
        return (CSRC / "base", CSRC / "include" / "pp_env.h")
    if room == "pool":
        return (CSRC / "pool", CSRC / "base", CSRC / "include")
    assert room == "envs", f"{name_of(path)} is in no room of docs/design.md"
    family, *deeper = path.relative_to(CSRC / "envs").parts
    own = [CSRC / "envs" / family] if deeper else []
    return (*own, CSRC / "base", CSRC / "include" / "pp_env.h")


@pytest.mark.parametrize("path", C_FILES, ids=name_of)
def test_c_file_includes_only_what_its_room_may(path: Path) -> None:
    for included in includes(path):
        assert any(included.is_relative_to(place) for place in may_include(path)), (
            f"{name_of(path)} must not include {name_of(included)}"
        )


@pytest.mark.parametrize("path", C_FILES, ids=name_of)
def test_c_file_opens_with_its_purpose(path: Path) -> None:
    assert re.match(r"/\*|//", path.read_text()), f"{name_of(path)} opens without a comment"


@pytest.mark.parametrize("path", C_FILES, ids=name_of)
def test_c_file_neither_prints_nor_ends_the_process(path: Path) -> None:
    code = without_comments(path.read_text())
    if name_of(path) == "csrc/pool/os_process.c":
        # a worker ends with its creator: the one place for it, called by workers alone
        assert code.count("_exit(") == 1
        code = code.replace("_exit(", "")
    found = re.findall(r"\b(?:v?f?printf|puts|perror|exit|_exit|abort|assert)\s*\(", code)
    assert not found, f"{name_of(path)} calls {', '.join(found)}"


@pytest.mark.parametrize(
    "path",
    [path for path in C_FILES if path.suffix == ".h"],
    ids=name_of,
)
def test_header_is_included_once(path: Path) -> None:
    """The guard is the first thing after the opening comment, and the #endif the last."""
    code = without_comments(path.read_text()).strip()
    guard = re.match(r"#ifndef (PP_\w+_H_?)\n#define \1\n", code)
    assert guard and code.endswith("#endif"), f"{name_of(path)} has no include guard"


def without_comments(source: str) -> str:
    """C without comments and without the text of its strings."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
    return re.sub(pattern, lambda m: '""' if m[0][0] == '"' else " ", source, flags=re.DOTALL)


def test_module_exports_only_its_init_function() -> None:
    (module,) = PACKAGE.glob("_core.*.so")
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--format=just-symbols", module],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert listed == ["PyInit__core"]


# ------------------------------------------------------------------------------------- Python --


def imports(path: Path, *, in_functions: bool = True) -> Iterator[str]:
    """Full names of what a Python file imports when it runs, at any depth of the file.

    Without in_functions: what it imports when it is loaded.
    """
    package = path.relative_to(ROOT).parent.parts
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.FunctionDef) and not in_functions:
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def reaches(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def test_only_native_imports_the_c_module() -> None:
    users = {
        name_of(path)
        for path in PYTHON_FILES
        if any(reaches(name, "parallel_pool._core") for name in imports(path))
    }
    assert users == {"parallel_pool/_native.py"}


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name_of)
def test_core_never_imports_a_face(path: Path) -> None:
    """compat stands on the core, never under it."""
    inside = path.relative_to(PACKAGE).parts
    # the package's own page and its command line hand faces out; they are no part of the core
    # and so do the modules that are there because EnvPool has them
    pages = ("__init__.py", "__main__.py", "registration.py", "python", "demo", "compat")
    if inside[0] in pages:
        return
    faces = [name for name in imports(path) if reaches(name, "parallel_pool.compat")]
    assert not faces, f"{name_of(path)} imports {', '.join(faces)}"


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name_of)
def test_nothing_imports_the_command_line(path: Path) -> None:
    commands = [f"parallel_pool.{name}" for name in ("__main__", "demo", "prove_atari")]
    if path.relative_to(PACKAGE).parts[0] in ("__main__.py", "demo", "prove_atari"):
        return
    used = [name for name in imports(path) if any(reaches(name, each) for each in commands)]
    assert not used, f"{name_of(path)} imports {', '.join(used)}"


def test_turns_know_no_kind_of_pool() -> None:
    """Pools of threads and of processes stand on base_pool, which knows C, batches and errors."""
    known = {"_native", "arguments", "buffers", "errors", "named_batch"}
    prefix = "parallel_pool."
    names = [name for name in imports(PACKAGE / "base_pool.py") if name.startswith(prefix)]
    assert {name.split(".")[1] for name in names} == known


@pytest.mark.parametrize("face", FACES)
def test_no_face_loads_another(face: str) -> None:
    """Neither by itself at any time, nor through the helpers that are loaded with it."""
    loaded: set[str] = set()
    waiting = [face]
    while waiting:
        module = waiting.pop()
        path = PACKAGE / "compat" / f"{module}.py"
        if module in loaded or not path.exists():
            continue
        loaded.add(module)
        names = imports(path, in_functions=module == face)
        prefix = "parallel_pool.compat."
        waiting += [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    assert loaded & set(FACES) == {face} | STANDS_ON.get(face, set())
    assert len(loaded) > 1


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name_of)
def test_heavy_modules_stay_where_they_belong(path: Path) -> None:
    inside = path.relative_to(PACKAGE).as_posix()
    for name in imports(path):
        homes = HEAVY.get(name.partition(".")[0])
        assert homes is None or inside.startswith(homes), f"{inside} must not import {name}"


def test_import_is_light() -> None:
    script = "import sys, parallel_pool; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "parallel_pool" in loaded
    assert not loaded & HEAVY.keys()
