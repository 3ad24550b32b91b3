"""Checks the dependency rules of docs/internals/overview.md: includes, imports, exports."""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache
from pathlib import Path

import pytest

from tests.support.proofs.kept import Kept

ROOT = Path(__file__).resolve().parents[2]
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "parallel_pool"

C_FILES = sorted(path for path in CSRC.rglob("*") if path.suffix in (".c", ".h", ".inl", ".def"))
PYTHON_FILES = sorted(PACKAGE.rglob("*.py"))

# Where a heavy module may be imported, at the top of a file or inside a function: files whose
# paths begin so.
HEAVY = {
    "gymnasium": (
        *("_apis/", "_families/", "_workers/", "_contract/", "_bench/", "_demo"),
        *("_prover/", "_translator/", "_serve.py"),
        *("_engine/registry.py", "_engine/specs.py"),
    ),
    "torch": ("_apis/sb3/rollout_buffer.py", "_apis/sb3/vec_env.py", "_apis/torch/"),
    # worker processes import other files of these APIs, and must not wait for their libraries
    "stable_baselines3": (
        *("_apis/sb3/rollout_buffer.py", "_apis/sb3/vec_env.py"),
        "_apis/minari/vec_env_data_collector.py",
        "_bench/python_players.py",
    ),
    "pettingzoo": (
        "_apis/pettingzoo/aec_game.py",
        "_apis/pettingzoo/atari_game.py",
        "_apis/pettingzoo/parallel_game.py",
        "_apis/pettingzoo/particle_game.py",
        "_apis/pettingzoo/python_game.py",
        "_apis/pettingzoo/rounds.py",
        "_apis/pettingzoo/turns.py",
        "_families/classic_renderer.py",
    ),
    # minigrid_wrappers.py only looks whether the program has imported it
    "minigrid": ("_families/minigrid.py",),
    # mpe2 draws with pygame
    "mpe2": ("_families/mpe",),
    "Box2D": ("_families/box2d.py",),
    "pygame": (
        *(
            "_families/box2d_renderer.py",
            "_families/racing_kit.py",
            "_families/mpe",
            "_families/classic_renderer.py",
        ),
        "_apis/pettingzoo/atari_game.py",
    ),
    "dm_env": (
        *("_apis/envpool/dm_env.py", "_apis/envpool/dm_specs.py"),
        *("_workers/run/dm_adapter.py", "_workers/data/dm_spaces.py"),
    ),
    "mujoco": ("_families/mujoco",),
    # ale_ids.py imports it so that it registers its ids
    "ale_py": (
        *("_families/atari", "_demo", "_prove_atari/", "_apis/common/ale_ids.py"),
        *("_bench/atari_env.py", "_bench/rivals.py"),
    ),
    "cv2": ("_bench/atari_env.py",),
    "matplotlib": ("_demo",),
    "rich": ("_bench/progress.py", "_demo", "_prove_atari/"),
    "elftools": ("_prove_atari/objects.py",),
    "ray": ("_apis/cluster/",),
    "uvicorn": tuple(
        f"_apis/openenv/{name}.py" for name in ("server", "connection", "web_connection")
    ),
    "websockets": ("_apis/openenv/client.py",),
    # only tests and a study need it
    "openenv": (),
    "jax": ("_apis/jax/", "_apis/ale/programs.py"),
    "minari": ("_apis/minari/",),
    "h5py": ("_apis/minari/",),
}

# Modules with public names, which hold no code of their own but what the names need to be found.
PUBLIC = [
    *(
        "__init__.py",
        "cluster.py",
        "errors.py",
        "leases.py",
        "mujoco_batch.py",
        "registration.py",
        "testing.py",
        "turns.py",
        "compat",
        "python",
    )
]

# The folders and files of the package, and which of the others each may import.
CORE = {"_engine", "_lazy.py", "_native.py", "errors.py"}
LAYERS: dict[str, set[str]] = {
    "errors.py": set(),
    "_lazy.py": set(),
    "_include.py": set(),
    "_native.py": {"errors.py"},
    "_system.py": set(),
    "_command.py": CORE,
    "_pyinstaller": set(),
    "_engine": {*CORE, "_tracing"},
    "_tracing": CORE,
    "_families": CORE,
    "_source": {*CORE, "_families", "_include.py"},
    "_translator": {*CORE, "_families", "_source"},
    "_workers": {*CORE, "_tracing"},
    # backend="compiled" translates
    "_apis": {*CORE, "_families", "_translator", "_workers"},
    # both compare with Gymnasium's own loop
    "_prover": {*CORE, "_apis", "_source", "_translator", "_workers"},
    "_contract": {*CORE, "_apis", "_prover", "_translator"},
    "_testing": {
        *CORE,
        *("_command.py", "_contract", "_prover", "_source", "_translator", "_workers"),
    },
    "_prove_atari": {*CORE, "_families", "_workers"},
    "_bench": {*CORE, "_apis", "_command.py", "_families", "parallel_pool"},
    "_tuner": {*CORE, "_command.py", "_tracing", "_workers"},
    "_demo": {*CORE, "_bench", "parallel_pool"},
    "_serve.py": {*CORE, "_apis", "_command.py", "_workers"},
    "__main__.py": {
        *CORE,
        *("_bench", "_command.py", "_demo", "_prove_atari", "_serve.py", "_source", "_testing"),
        *("_tracing", "_translator", "_tuner"),
    },
}

# The packages of _apis, and the others that each may use besides what they share.
APIS: dict[str, set[str]] = {
    "ale": {"jax", "torch"},
    "cluster": {"gymnasium"},
    "common": set(),
    "envpool": {"jax", "torch"},
    "gymnasium": {"cluster", "jax", "torch"},
    "jax": set(),
    "leases": {"gymnasium"},
    "minari": {"envpool", "sb3"},
    "mujoco_batch": {"gymnasium"},
    "openenv": set(),
    "pettingzoo": {"torch"},
    "sb3": {"cluster", "gymnasium", "mujoco_batch", "pettingzoo"},
    "torch": set(),
    "turns": set(),
}
# the folders of benchmarks and integration, and which of them each may use
PROGRAMS: dict[str, set[str]] = {
    "benchmarks/harness": set(),
    "benchmarks/scenes": {"benchmarks/harness"},
    "benchmarks/studies": {"benchmarks/harness", "benchmarks/scenes"},
    "integration/training": set(),
    "integration/compare": set(),
    "integration/tests": {"integration/compare", "integration/training"},
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def for_each(paths: Iterable[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Returns a decorator that turns a check of one file into one test of all files.

    A test for each file would make a thousand tests, for which pytest needs ten seconds.
    """

    def make(check: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            faults = []
            for path in paths:
                try:
                    check(path)
                except AssertionError as fault:
                    faults.append(str(fault))
            assert not faults, "\n".join(faults)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return make


# ------------------------------------------------------------------------------------------ C --


def includes(path: Path) -> list[Path]:
    """Returns the project's files that a C file includes, found as the compiler finds them."""
    found = []
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE):
        candidates = [path.parent / name, CSRC / "include" / name, CSRC / name]
        existing = [file.resolve() for file in candidates if file.exists()]
        assert existing, f"{name_of(path)} includes {name}, which does not exist"
        found.append(existing[0])
    return found


# Folders of csrc, and the files and folders that each may include besides its own files.
FOLDERS = {
    # pp_mujoco.h has callbacks that fail
    "include": ("base/fail.h",),
    "base": ("include/pp_env.h",),
    "os": ("base", "include"),
    "pool": ("os", "base", "include"),
    "native": ("pool", "os", "base", "include"),
    "threads": ("native", "pool", "os", "base", "include"),
    "processes": ("pool", "os", "base", "include"),
    "xla": ("pool", "os", "base", "include"),
    "envs": ("base", "include/pp_env.h", "include/pp_robot.h"),
    "envs/atari/games": ("base", "include/pp_env.h"),
    # translated programs are written to memory that can be executed
    "envs/atari/console": (
        *("envs/atari/games", "os/code_memory.h"),
        *("base", "include/pp_env.h"),
    ),
    "envs/atari/picture": (
        "envs/atari/console",
        "envs/atari/games",
        "base",
        "include/pp_env.h",
    ),
}


def folder_of(path: Path) -> str:
    """Returns the innermost folder of csrc that holds the file and has a rule."""
    parents = [folder.as_posix() for folder in path.relative_to(CSRC).parents]
    known = [folder for folder in parents if folder in FOLDERS]
    assert known, f"{name_of(path)} is in no folder of docs/internals/overview.md"
    return known[0]


def may_include(path: Path) -> tuple[Path, ...]:
    """Returns the files and folders that a C file may include from."""
    folder = folder_of(path)
    own = [CSRC / folder]
    if folder == "envs":
        family = path.relative_to(CSRC / "envs").parts[0]
        own = [CSRC / "envs" / family] if (CSRC / "envs" / family).is_dir() else []
    return (*own, *(CSRC / allowed for allowed in FOLDERS[folder]))


def cycles(edges: Mapping[Path, Iterable[Path]]) -> list[list[str]]:
    """Returns the groups of files in which each file depends on all others, directly or not."""
    reached = {start: reachable(start, edges) for start in edges}
    groups = {
        frozenset(other for other in reached[start] if start in reached.get(other, ()))
        for start in edges
        if start in reached[start]
    }
    return sorted(sorted(name_of(path) for path in group) for group in groups)


def reachable(start: Path, edges: Mapping[Path, Iterable[Path]]) -> set[Path]:
    """Returns the files that a file depends on, directly or not; itself only if in a cycle."""
    found: set[Path] = set()
    waiting = [*edges[start]]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += edges.get(path, ())
    return found


def test_includes_have_no_cycle() -> None:
    assert cycles({path: includes(path) for path in C_FILES}) == []


def test_rules_name_paths_that_exist() -> None:
    for folder, others in FOLDERS.items():
        for each in (folder, *others):
            assert (CSRC / each).exists(), f"{each} does not exist"
    for importers in HEAVY.values():
        for each in importers:
            assert list(PACKAGE.glob(f"{each}*")), f"{each} does not exist"
    assert APIS.keys() == {path.parent.name for path in PACKAGE.glob("_apis/*/__init__.py")}


@for_each(C_FILES)
def test_c_file_includes_only_what_its_folder_may(path: Path) -> None:
    for included in includes(path):
        assert any(included.is_relative_to(allowed) for allowed in may_include(path)), (
            f"{name_of(path)} must not include {name_of(included)}"
        )


@for_each(C_FILES)
def test_c_file_opens_with_a_comment(path: Path) -> None:
    assert re.match(r"/\*|//", path.read_text()), f"{name_of(path)} opens without a comment"


@for_each(C_FILES)
def test_c_file_neither_prints_nor_ends_the_process(path: Path) -> None:
    code = without_comments(path.read_text())
    if name_of(path) == "csrc/os/process.c":
        # ends a worker process when its parent ends: only workers call it
        assert code.count("_exit(") == 1
        code = code.replace("_exit(", "")
    found = re.findall(r"\b(?:v?f?printf|puts|perror|exit|_exit|abort|assert)\s*\(", code)
    assert not found, f"{name_of(path)} calls {', '.join(found)}"


@for_each([path for path in C_FILES if path.suffix == ".h"])
def test_header_has_an_include_guard(path: Path) -> None:
    """The guard is the first thing after the opening comment, and the #endif the last."""
    code = without_comments(path.read_text()).strip()
    guard = re.match(r"#ifndef (PP_\w+_H)\n#define \1\n", code)
    assert guard and code.endswith("#endif"), f"{name_of(path)} has no include guard"


def without_comments(source: str) -> str:
    """Returns C code without comments and without the text of its strings."""
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


def imports(path: Path, *, in_functions: bool = True) -> list[str]:
    """Returns the full names of what a Python file imports; imports for type checkers do not count.

    Args:
        path: the file.
        in_functions: whether imports inside functions count; the others happen when it is loaded.
    """
    when_loaded, later = all_imports(path)
    return when_loaded + later * in_functions


# make clean removes it
KEPT = Kept(ROOT / "build" / "imports.json")


@pytest.fixture(scope="module", autouse=True)
def kept_imports() -> Iterator[None]:
    """Keeps what was found out of files that have changed: to parse all takes three seconds."""
    yield
    KEPT.write()


@cache
def all_imports(path: Path) -> tuple[list[str], list[str]]:
    """Returns what a file imports when it is loaded, and what its functions import."""
    content = path.read_bytes()

    def find() -> tuple[list[str], list[str]]:
        functions: list[ast.AST] = []
        when_loaded = imported(path, [ast.parse(content)], functions)
        return when_loaded, imported(path, functions, None)

    when_loaded, later = KEPT.found(f"{name_of(path)} {rules()}", content, find)
    return when_loaded, later


@cache
def rules() -> str:
    """Returns a hash of this file, which decides what an import is."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def imported(path: Path, waiting: list[ast.AST], functions: list[ast.AST] | None) -> list[str]:
    """Returns what these parts of a file import; with a list, it gets the functions instead."""
    package = path.relative_to(ROOT).parent.parts
    found: list[str] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.FunctionDef) and functions is not None:
            functions.append(node)
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += (module, *(f"{module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Constant) and is_path(node.value):
            found.append(node.value.partition(":")[0])
    return found


def is_path(value: object) -> bool:
    """Returns whether a value names one of our modules, which is imported at run time then."""
    if not isinstance(value, str) or not value.startswith("parallel_pool."):
        return False
    return re.fullmatch(r"parallel_pool(\.\w+)+(:\w+)?", value) is not None


def is_within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def test_only_native_imports_the_c_module() -> None:
    users = {
        name_of(path)
        for path in PYTHON_FILES
        if any(is_within(name, "parallel_pool._core") for name in imports(path))
    }
    assert users == {"parallel_pool/_native.py"}


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


@for_each([path for path in PYTHON_FILES if layer_of(path) not in PUBLIC])
def test_private_modules_import_only_what_their_layer_may(path: Path) -> None:
    """In particular they import no public module: these only hold names of private ones."""
    layer = layer_of(path)
    known = imported_files(path)
    used = {layer_of(file) for file in known if file.is_relative_to(PACKAGE)} - {layer}
    if "__init__.py" in used and "parallel_pool" in LAYERS[layer]:
        used.remove("__init__.py")
    assert used <= LAYERS[layer], f"{name_of(path)} imports {', '.join(used - LAYERS[layer])}"


def test_base_pool_knows_no_kind_of_pool() -> None:
    """Pools of threads and of processes use base_pool, which imports neither."""
    known = {
        *("arguments", "buffers", "closing", "env_ids", "error_slot"),
        *("named_batch", "pool_checks", "uncopied", "views"),
    }
    prefix = "parallel_pool._engine."
    names = imports(PACKAGE / "_engine" / "base_pool.py")
    assert {name.split(".")[2] for name in names if name.startswith(prefix)} == known


@cache
def imported_files(path: Path, *, in_functions: bool = True) -> frozenset[Path]:
    """Returns the project's files that a file imports, without `__init__.py` of their packages."""
    found = set()
    for name in imports(path, in_functions=in_functions):
        stem = ROOT.joinpath(*name.split("."))
        for file in (stem.with_suffix(".py"), stem / "__init__.py"):
            if file.exists():
                found.add(file)
    # `from package import module` also names the package, which Python loads in any case
    return frozenset(file for file in found if not is_package_of_another(file, found))


def is_package_of_another(file: Path, others: Set[Path]) -> bool:
    return file.name == "__init__.py" and any(
        other != file and other.is_relative_to(file.parent) for other in others
    )


@pytest.mark.parametrize("folder", PROGRAMS)
def test_folders_of_programs_import_only_those_that_they_may(folder: str) -> None:
    """Imports inside functions do not count: a process of the harness finds a scene by its name."""
    path = ROOT / folder
    files = set().union(*(imported_files(file, in_functions=False) for file in path.glob("*.py")))
    used = {f"{path.parent.name}/{file.parent.name}" for file in files if is_beside(file, path)}
    assert used <= PROGRAMS[folder] | {folder}


def test_benchmarks_import_no_tests() -> None:
    """The other way round is possible: tests run benchmarks."""
    files = sorted((ROOT / "benchmarks").rglob("*.py"))
    users = {name_of(path) for path in files for name in imports(path) if is_within(name, "tests")}
    assert not users


@pytest.mark.parametrize("folder", ["faults", "workers"])
def test_tests_that_fork_load_no_torch(folder: str) -> None:
    """Each of their hundreds of forks would take three times as long."""
    heavy = ("torch", "jax", "stable_baselines3", "tests.support.sb3_cases")
    users = {
        name_of(path)
        for path in (ROOT / "tests" / folder).glob("*.py")
        for name in imports(path, in_functions=False)
        # a name of a lazy module loads what it needs
        if name.startswith("parallel_pool.compat.sb3.") or any(is_within(name, h) for h in heavy)
    }
    assert not users


def is_beside(file: Path, folder: Path) -> bool:
    """Returns whether a file is in a folder beside this one, or in this one."""
    return file.parent.parent == folder.parent


def test_imports_have_no_cycle() -> None:
    """Not even through imports inside functions."""
    files = [*PYTHON_FILES, *sorted((ROOT / "benchmarks").rglob("*.py"))]
    assert cycles({path: imported_files(path) - {path} for path in files}) == []


@pytest.mark.parametrize("package", APIS)
def test_api_packages_import_the_apis_that_are_named(package: str) -> None:
    apis = PACKAGE / "_apis"
    files = set().union(*(imported_files(path) for path in (apis / package).glob("*.py")))
    used = {path.parent.name for path in files if path.parent.parent == apis}
    assert used - {package, "common"} == APIS[package]


@for_each([path for path in PYTHON_FILES if path.name == "__init__.py"])
def test_packages_import_nothing_when_loaded(path: Path) -> None:
    """A worker process that needs one helper must not load what others need, such as torch."""
    inside = path.relative_to(PACKAGE).as_posix()
    # the package itself; the list of families; two commands and EnvPool's types
    others = {"__init__.py", "_families/__init__.py", "_demo/__init__.py"}
    if inside not in others | {"_prove_atari/__init__.py", "python/__init__.py"}:
        assert not imported_files(path, in_functions=False) - {PACKAGE / "_lazy.py"}, inside


@for_each(PYTHON_FILES)
def test_heavy_modules_are_imported_only_where_allowed(path: Path) -> None:
    inside = path.relative_to(PACKAGE).as_posix()
    for name in imports(path):
        importers = HEAVY.get(name.partition(".")[0])
        assert importers is None or inside.startswith(importers), f"{inside} must not import {name}"


def test_import_of_the_package_loads_no_heavy_module() -> None:
    script = "import sys, parallel_pool; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "parallel_pool" in loaded
    assert not loaded & HEAVY.keys()
