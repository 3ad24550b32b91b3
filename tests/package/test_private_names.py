"""Checks that tests, integration and benchmarks name nothing private of the package.

What they want to know of a running pool they ask `parallel_pool.testing.inspect`. What they replace
by something else (a fault, a clock) has a name without underscore. So the package's insides can
change without them.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.proofs.kept import Kept

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "parallel_pool"
FOLDERS = ("tests", "integration", "benchmarks")

# underscored names of others that are meant to be used, or that nothing else gives
OTHERS = {
    "NamedTuple": {"_asdict", "_fields", "_make", "_replace"},
    "Gymnasium": {"_add_info", "_render"},
    "PettingZoo": {"_cumulative_rewards"},
    "Stable-Baselines3": {"_reset_options"},
    "MuJoCo": {"_address"},
    "dm_control": {"_random", "_step_limit"},
    "JAX": {"_at_fork_handler_installed"},
    "Meta-World": {"_N_GOALS"},
    "Python": {"_exit", "_getframe", "_identity", "_pid", "_resource_tracker"},
}
OTHERS_NAMES = frozenset().union(*OTHERS.values())

# files that may name what is private, and why
ALLOWED = {
    "tests/package/test_private_names.py": "holds examples of what it finds",
}

# functions that take the name of an attribute
BY_NAME = {"getattr", "setattr", "delattr", "hasattr", "attrgetter", "object"}


def is_private(name: str) -> bool:
    # a symbol of C++ begins with _Z
    is_underscored = re.fullmatch(r"_(?!Z[A-Z])[A-Za-z]\w*", name) is not None
    return is_underscored and name not in OTHERS_NAMES


def is_module(name: str) -> bool:
    """Returns whether a dotted name is a module, which a test may import."""
    return name in modules()


@cache
def modules() -> frozenset[str]:
    """Returns the dotted names of all modules and packages in the folders that Python imports."""
    found: set[str] = set()
    for folder in ("parallel_pool", *FOLDERS):
        for path in (ROOT / folder).rglob("*.py*"):
            if path.suffix in (".py", ".pyi"):
                parts = path.relative_to(ROOT).with_suffix("").parts
                found |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return frozenset(found)


def private_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields line and name of what a file of tests names that is private to something else."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            # a test's own class; what it derives from may offer a name to derived classes
            if ast.unparse(node.value) not in ("self", "cls", "super()"):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("parallel_pool"):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if is_private(alias.name) and not is_module(name):
                    yield node.lineno, name
        elif isinstance(node, ast.Call):
            yield from names_in_call(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from ((node.lineno, name) for name in names_in_program(node.value))


def names_in_call(call: ast.Call) -> Iterator[tuple[int, str]]:
    """Yields names that are given as strings, as to `getattr` or `monkeypatch.setattr`."""
    function = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if function == "__new__" and ast.unparse(call.func) == "object.__new__":
        yield call.lineno, ast.unparse(call)
    if function not in BY_NAME:
        return
    own = call.args and ast.unparse(call.args[0]) in ("self", "cls")
    for arg in call.args:
        if isinstance(arg, ast.Constant) and isinstance(arg.value, str) and not own:
            name = arg.value.rpartition(".")[2]
            if is_private(name):
                yield call.lineno, name


def names_in_program(text: str) -> Iterator[str]:
    """Yields the private attributes in a text that is a program."""
    if "\n" not in text and ";" not in text and "(" not in text:
        return
    for match in re.finditer(r"((?:\w+\.)*)(_[A-Za-z]\w*)\b", text):
        if match[1] and is_private(match[2]) and match[1] != "self.":
            name = match[0]
            if not is_module(name) and not is_module(match[1].rstrip(".") + "." + match[2]):
                yield name


def files() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


# make clean removes it
KEPT = Kept(ROOT / "build" / "private_names.json")


@cache
def rules() -> str:
    """Returns a hash of all that decides what is private, besides the text of a file."""
    parts = Path(__file__).read_bytes(), "\n".join(sorted(modules())).encode()
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def found_in(path: Path) -> list[str]:
    name, content = path.relative_to(ROOT).as_posix(), path.read_bytes()

    def find() -> list[str]:
        return sorted(
            {f"{name}:{line}: {what}" for line, what in private_names(ast.parse(content))}
        )

    return list(KEPT.found(f"{name} {rules()}", content, find))


def test_no_test_names_what_is_private() -> None:
    found = [each for path in files() for each in found_in(path)]
    KEPT.write()
    wrong = [each for each in found if each.partition(":")[0] not in ALLOWED]
    assert not wrong, "ask parallel_pool.testing.inspect, or name it without underscore:\n" + (
        "\n".join(wrong)
    )


def test_the_allowed_files_need_it() -> None:
    for name in ALLOWED:
        assert found_in(ROOT / name), f"{name} names nothing private: remove it from the list"


EXAMPLES = {
    "pool._supervisor.close()": ["pool._supervisor"],
    "lane._work": ["lane._work"],
    "a.b._supervisor._workers[0].pid": ["a.b._supervisor", "a.b._supervisor._workers"],
    "from parallel_pool._demo.animation import _play": ["parallel_pool._demo.animation._play"],
    "from parallel_pool import _command": [],
    "from parallel_pool._native import lib": [],
    "monkeypatch.setattr(registry, '_loaded', {})": ["_loaded"],
    "monkeypatch.setattr('parallel_pool._engine.registry._loaded', {})": ["_loaded"],
    "hasattr(env, '_pool')": ["_pool"],
    "object.__new__(ReplyReader)": ["object.__new__(ReplyReader)"],
    "self._x": [],
    "state._replace(seed=1)._asdict()": [],
    "os._exit(1)": [],
    "run('import os; os._exit(pool._handle)')": ["pool._handle"],
    "run('from parallel_pool._native import lib; pool.step()')": [],
    "match = 'environment 0 (_link)'": [],
}


@pytest.mark.parametrize("source", EXAMPLES)
def test_private_names_are_found(source: str) -> None:
    assert sorted({name for _, name in private_names(ast.parse(source))}) == EXAMPLES[source]
