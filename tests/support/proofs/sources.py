"""The files on which the result of a proven test depends, and their hash.

In Python:

- the test's file, and what it imports of `tests`, `benchmarks` and `integration`, transitively,
  with the files beside them that they name in strings;
- for each API that these name, its folder in `_apis`, and `_apis/common`, without COLLECTORS;
- the modules of `_families` that they import, or that a named family of environments has;
- any other folder of the package that they import from, except those of the engine (ENGINE).

In C: all files of the folders that the test's mark names, and what they include of others, with the
C file of each header. Other paths that the mark names count, too, so a test names folders of the
engine if it tests them.

Comments, white space and docstrings do not count.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import parallel_pool._families  # noqa: F401 - fills `families`
from parallel_pool._engine.registry import families
from parallel_pool._prove_atari.sources import tokens
from tests.support.proofs import kept, plugin

ROOT = Path(__file__).resolve().parents[3]
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "parallel_pool"
APIS = PACKAGE / "_apis"

# Folders and files that all environments share. Quick tests, a sample of the slow ones, and the
# tests of the engine itself run whatever changes.
ENGINE = {Path(name).stem for name in plugin.ENGINE}
# Modules of `_apis` that put steps together, which other modules have made. Their own tests are not
# proven, and a proven file has quick cases of them at most.
COLLECTORS = {
    *("async_collection.py", "async_rollout_buffer.py", "replay_buffer.py", "rollout.py"),
    *("rollout_buffer.py", "rollout_method.py", "rollout_storage.py", "sorted_storage.py"),
    "torch_rollouts.py",
}
# programs beside the package, whose imports are followed
PROGRAMS = ("tests", "benchmarks", "integration", "build_ffi")
# It is imported by all tests, and every change of it would void all proofs.
ROOT_CONFTEST = ROOT / "tests" / "conftest.py"
# what the build copies from CSRC
HEADERS = PACKAGE / "include"
C_SUFFIXES = {".c", ".h", ".inl", ".def"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# functions that import what a string names, such as import_module(f"mpe2.{name}"), or look for it
IMPORTERS = {"import_module", "importorskip", "find_spec"}
MODULE = re.compile(r"[A-Za-z_]\w*(\.\w*)*")
FILE = re.compile(r"[\w-]+\.\w+")
FAMILY = re.compile(r'\.family = "(\w+)"')


class Import(NamedTuple):
    """A module that a file imports, and which name of it; None if it imports no single name."""

    module: str
    name: str | None = None


class Sources(NamedTuple):
    """Files, and top-level names of what they import from elsewhere, and of what may be such."""

    files: frozenset[Path]
    packages: frozenset[str]


def of_test(test: Path, named: Iterable[str]) -> Sources:
    """Returns what a test's result depends on.

    Args:
        test: its file.
        named: files and folders below ROOT, of C or of anything else.

    Raises:
        ValueError: there is no such file or folder.
    """
    found = _Search()
    found.follow(test)
    # importing the package adds make_vec to Gymnasium, whatever else a test imports
    found.folder(APIS / "gymnasium")
    found.folder(APIS / "common")
    # its fixtures
    if (conftest := test.with_name("conftest.py")).exists() and conftest != ROOT_CONFTEST:
        found.follow(conftest)
    for path in (ROOT / name for name in named):
        if not path.exists():
            raise ValueError(f"{path} does not exist: correct the mark `proven` of {test}")
        found.named(path)
    return Sources(frozenset(found.files), frozenset(found.packages))


def below(folders: Iterable[str]) -> frozenset[Path]:
    """Returns files and those of folders below ROOT, without what they import."""
    every = (path for name in folders for path in (ROOT / name, *(ROOT / name).rglob("*")))
    return frozenset(path for path in every if path.is_file() and not _is_made(path))


def digest(files: Iterable[Path]) -> str:
    """Returns the hash of files, with their paths."""
    lines = [f"{path.relative_to(ROOT)} {_digest(path)}" for path in sorted(files)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def families_of(path: str) -> frozenset[str]:
    """Returns the families of environments that C files below a path define."""
    return frozenset(name for file in _c_files(ROOT / path) for name in _c_source(file).families)


def newer_than(module: Path, folders: Iterable[str] = ()) -> Path | None:
    """Returns a file that was changed after the engine's module was built, None for none.

    Args:
        module: the engine's.
        folders: of Python code that was copied when it was built.
    """
    built = module.stat().st_mtime
    every = (*_c_files(CSRC), *below(folders))
    return next((path for path in every if path.stat().st_mtime > built), None)


class _Search:
    """Finds the files on which a test depends."""

    def __init__(self) -> None:
        self.files: set[Path] = set()
        self.folders: set[Path] = set()
        self.packages: set[str] = set()

    def named(self, path: Path) -> None:
        """Adds a path that a mark names."""
        if path.is_relative_to(CSRC):
            self._c(_c_files(path))
            for family in families_of(str(path.relative_to(ROOT))) & families.keys():
                has = families[family]
                for module in filter(None, (has.options, has.renderer, has.copies)):
                    self._module(Import(module))
        elif path.is_dir():
            self.folder(path)
        else:
            self.files.add(path)

    def folder(self, path: Path) -> None:
        """Adds the files of a folder, and of what they import only other packages."""
        if path in self.folders:
            return
        self.folders.add(path)
        every = below([str(path.relative_to(ROOT))])
        found = {each for each in every if path.parent != APIS or each.name not in COLLECTORS}
        self.files |= found
        for each in found:
            if each.suffix == ".py":
                names = {wanted.module.partition(".")[0] for wanted in _python(each).imports}
                self.packages |= names - {"parallel_pool", *PROGRAMS}

    def follow(self, path: Path) -> None:
        """Adds a Python file, and what it imports."""
        # the code of proofs chooses which cases run, and changes no result
        if path in self.files or path.parent == Path(__file__).parent:
            return
        self.files.add(path)
        table = path.with_suffix(".json")
        self.files |= {table} if table.exists() else set()
        for each in _python(path).imports | _mentioned(path):
            self._module(each)
        for each in _neighbours(path):
            self.follow(each) if each.suffix == ".py" else self.files.add(each)

    def _module(self, wanted: Import) -> None:
        first, *rest = wanted.module.split(".")
        if first in PROGRAMS:
            for name in (wanted.module, f"{wanted.module}.{wanted.name}"):
                path = _file(name)
                if path and path.name != "__init__.py":
                    self.follow(path)
        elif first != "parallel_pool":
            self.packages.add(first)
        elif not any(part.startswith("_") for part in rest):
            self._public(wanted)
        elif rest[0] == "_apis":
            self.folder(APIS / "common")
            for api in rest[1:2]:
                self.folder(APIS / api)
        elif rest[0] == "_families":
            self._family(wanted)
        elif rest[0] not in ENGINE:
            self.folder(PACKAGE / rest[0])

    def _family(self, wanted: Import) -> None:
        for name in (wanted.module, f"{wanted.module}.{wanted.name}"):
            path = _file(name)
            if path and path.name != "__init__.py":
                self.follow(path)

    def _public(self, wanted: Import) -> None:
        """Adds the private module that defines a name of a public one."""
        inner = f"{wanted.module}.{wanted.name}"
        if wanted.name and _file(inner):
            self._public(Import(inner))
        elif path := _file(wanted.module):
            places = _places(path)
            # a module without a name is imported for all of them
            names = [wanted.name] if wanted.name else places
            for name in names if wanted.module != "parallel_pool" or wanted.name else ():
                for module in places.get(name, ()):
                    self._module(Import(module, name))

    def _c(self, files: Iterable[Path]) -> None:
        left = list(files)
        while left:
            path = left.pop()
            if path in self.files:
                continue
            self.files.add(path)
            left += _included(path)


# ---------------------------------------------------------------------------------- one file --


@cache
def _included(path: Path) -> list[Path]:
    """Returns the files that a C file includes, and the C file of a header."""
    beside = path.with_suffix(".c")
    found = [beside] if beside.exists() else []
    for name in _c_source(path).includes:
        places = (folder / name for folder in (path.parent, CSRC, CSRC / "include"))
        found += [place.resolve() for place in places if place.exists()][:1]
    return found


@cache
def _c_files(path: Path) -> list[Path]:
    found = path.rglob("*") if path.is_dir() else [path]
    return sorted(each for each in found if each.suffix in C_SUFFIXES)


def _is_made(path: Path) -> bool:
    """Returns whether Python or the build makes this file."""
    return path.suffix in (".pyc", ".so", ".partial") or path.is_relative_to(HEADERS)


@cache
def _file(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


class _C(NamedTuple):
    """What a C file says.

    Attributes:
        digest: of its tokens.
        includes: names of files.
        families: of the environments that it defines.
    """

    digest: str
    includes: list[str]
    families: list[str]


class _Python(NamedTuple):
    """What a Python file says.

    Attributes:
        digest: of its code.
        imports: what it imports, anywhere in it.
        imported: packages that IMPORTERS are called with.
        texts: strings that look like names of modules or files.
    """

    digest: str
    imports: frozenset[Import]
    imported: frozenset[str]
    texts: frozenset[str]


@cache
def _c_source(path: Path) -> _C:
    content = path.read_bytes()
    return _C(*kept.of_proofs.found("C", content, lambda: _c_answers(content.decode())))


def _c_answers(text: str) -> list[Any]:
    return [_hash("\n".join(tokens(text))), INCLUDE.findall(text), FAMILY.findall(text)]


@cache
def _python(path: Path) -> _Python:
    content = path.read_bytes()
    digest, imports, imported, texts = kept.of_proofs.found(
        "Python", content, lambda: _python_answers(ast.parse(content))
    )
    found = frozenset(Import(*each) for each in imports)
    return _Python(digest, found, frozenset(imported), frozenset(texts))


def _python_answers(tree: ast.Module) -> list[Any]:
    nodes = list(ast.walk(tree))
    texts = {node.value for node in nodes if _is_text(node)}
    named = {text for text in texts if MODULE.fullmatch(text) or FILE.fullmatch(text)}
    calls = (node for node in nodes if isinstance(node, ast.Call))
    imported = {
        part.value.partition(".")[0]
        for call in calls
        if ast.unparse(call.func).rpartition(".")[2] in IMPORTERS
        for part in ast.walk(call)
        if _is_text(part)
    }
    imports = sorted(set(_imports(nodes)), key=str)
    # the last, as it changes the tree
    return [_hash(ast.dump(_without_docstrings(tree))), imports, sorted(imported), sorted(named)]


def _imports(nodes: Iterable[ast.AST]) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (Import(node.module, each.name) for each in node.names)
        elif isinstance(node, ast.Attribute) and _is_package(node.value):
            # parallel_pool.make_vec
            yield Import("parallel_pool", node.attr)


def _is_package(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "parallel_pool"


@cache
def _mentioned(path: Path) -> frozenset[Import]:
    """Returns our modules that strings name, and packages that IMPORTERS are called with."""
    found = _python(path)
    ours = (text for text in found.texts if text.partition(".")[0] in _top_level())
    modules = {text for text in ours if MODULE.fullmatch(text) and _file(text)}
    return frozenset(map(Import, modules | found.imported))


@cache
def _top_level() -> frozenset[str]:
    """Returns names of modules that may be in ROOT, without looking for each."""
    return frozenset(path.stem for path in ROOT.iterdir())


@cache
def _neighbours(path: Path) -> frozenset[Path]:
    """Returns the files in a Python file's folder that it names in strings."""
    names = (text for text in _python(path).texts if FILE.fullmatch(text))
    return frozenset(path.parent / name for name in names if (path.parent / name).is_file())


def _is_text(node: ast.AST) -> TypeGuard[_Text]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


class _Text(ast.Constant):
    value: str


def _places(path: Path) -> dict[str, set[str]]:
    """Returns in which modules a public module finds each of its names."""
    places: dict[str, set[str]] = {}
    for module, name in _python(path).imports:
        if name and module.startswith("parallel_pool"):
            places.setdefault(name, set()).add(module)
    return places


@cache
def _digest(path: Path) -> str:
    if path.suffix in C_SUFFIXES:
        return _c_source(path).digest
    if path.suffix == ".py":
        return _python(path).digest
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return tree
