"""Attributes of public classes: each is documented, and users meet it on a page or in a program.

What only other modules of the package need is a function of a private module, or has an underscore.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from parallel_pool._engine.buffers import Array
from tests.support.array_docs import entries, sections
from tests.support.docstrings import OURS, public_objects

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.py")]
# use_*.py have a line for what no page needs
PROGRAMS = sorted((ROOT / "tests" / "package" / "typing").glob("use_*.py"))

OBJECTS = public_objects()
CLASSES = {path: value for path, value in OBJECTS.items() if isinstance(value, type)}

# attributes without a type, and why
ANY = {
    "EnvSpec.config": "a namedtuple with the options of the task",
    "Functions.handle": "replaced by programs with what they return",
    "Task.model": "of MuJoCo's class, or what makes one",
}


def is_ours(value: type) -> bool:
    return value.__module__.startswith(OURS)


@cache
def texts() -> dict[str, str]:
    """Returns the sources of the package by the modules' names."""
    files = (ROOT / "parallel_pool").rglob("*.py")
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): file.read_text() for file in files
    }


def definition(owner: type) -> ast.ClassDef:
    """Returns the code of a class of the package, which may say that it is of a public module.

    `inspect` would look for it in that module.
    """
    public = owner.__module__.partition(".")[2]
    decorators = {f"public('{public}')" if public else "public()"}
    for module, text in texts().items():
        if re.search(rf"^class {owner.__name__}\b", text, re.MULTILINE):
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and node.name == owner.__name__:
                    outermost = set(map(ast.unparse, node.decorator_list[:1]))
                    if module == owner.__module__ or outermost == decorators:
                        return node
    raise LookupError(f"no source of {owner}")


def source(owner: type) -> ast.AST | None:
    """Returns the code of a class; None for one of C."""
    if owner.__module__.startswith("parallel_pool"):
        return definition(owner)
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(owner)))
    except (OSError, TypeError):
        return None


@cache
def assigned(owner: type) -> frozenset[str]:
    """Returns the attributes of `self` that a class's own code assigns."""
    tree = source(owner)
    if tree is None:
        return frozenset()
    return frozenset(
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if ast.unparse(node.value) == "self"
    )


def attributes(owner: type) -> set[str]:
    """Returns the names of a class's own attributes and of its objects'."""
    annotated = vars(owner).get("__annotations__", {})
    return {name for name in {*vars(owner), *annotated, *assigned(owner)} if name[0] != "_"}


def added(value: type) -> Iterator[str]:
    """Yields the public attributes that a class has besides those of its API's own class."""
    bases = [base for base in value.__mro__ if base is not object]
    inherited = set().union(*(attributes(base) for base in bases if not is_ours(base)))
    yield from set().union(*(attributes(base) for base in bases if is_ours(base))) - inherited


def is_documented(value: type, name: str) -> bool:
    """Returns whether a method or property has a docstring, or Attributes names the attribute."""
    member = inspect.getattr_static(value, name, None)
    for wrapped in ("__func__", "fget", "func"):
        member = getattr(member, wrapped, member)
    if isinstance(member, FunctionType):
        return bool(member.__doc__)
    ours = [base for base in value.__mro__ if is_ours(base)]
    return any(name in entries(sections(base).get("Attributes", "")) for base in ours)


@cache
def named() -> frozenset[str]:
    """Returns the names that pages, programs and docstrings of public objects use as attributes."""
    texts = [path.read_text() for path in (*PAGES, *PROGRAMS)]
    texts += [value.__doc__ or "" for value in OBJECTS.values()]
    described = [entries(sections(value).get("Attributes", "")) for value in CLASSES.values()]
    used = (re.findall(r"[.`](\w+)", text) for text in texts)
    return frozenset(set[str]().union(*described, *used))


def undocumented(value: type) -> list[str]:
    return sorted(name for name in added(value) if not is_documented(value, name))


def unnamed(value: type) -> list[str]:
    return sorted(set(added(value)) - named())


def test_public_attributes_are_documented() -> None:
    found = {path: undocumented(value) for path, value in CLASSES.items()}
    assert {path: names for path, names in found.items() if names} == {}


def test_public_attributes_are_for_users() -> None:
    found = {path: unnamed(value) for path, value in CLASSES.items()}
    assert {path: names for path, names in found.items() if names} == {}, (
        "name them on a page or in a program of tests/package/typing, or make them private"
    )


class Mistaken(CLASSES["parallel_pool.PoolVectorEnv"]):  # type: ignore[misc]
    """Has attributes that no user asked for.

    Attributes:
        internal_rows: of nothing.
    """

    internal_rows: Array
    internal_size = 3

    def __init__(self) -> None:
        self.internal_state = 0
        self.render_mode = None
        self._private = 1

    def step(self, actions: Any) -> Any:
        return super().step(actions)

    def internal_check(self) -> None: ...


def test_assigned_attributes_are_found_in_classes_that_are_public_elsewhere() -> None:
    assert "num_threads" in assigned(CLASSES["parallel_pool.Pool"])
    assert "env_fns" in assigned(CLASSES["parallel_pool.compat.gymnasium.ProcessVectorEnv"])


def with_bare_any(owner: type) -> set[str]:
    """Returns the public attributes that a class's own code annotates with `Any` alone."""
    tree = source(owner)
    return {
        node.target.attr if isinstance(node.target, ast.Attribute) else ast.unparse(node.target)
        for node in ast.walk(tree or ast.Module([], []))
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "Any"
        if isinstance(node.target, ast.Attribute) or node in getattr(tree, "body", ())
    }


def test_attributes_have_a_type() -> None:
    found = {
        f"{value.__name__}.{name}"
        for value in CLASSES.values()
        for name in with_bare_any(value)
        if not name.startswith("_")
    }
    assert found - ANY.keys() == set(), "say the type, or in ANY why there is none"
    assert ANY.keys() - found == set(), "these have a type now"


def test_mistakes_are_noticed() -> None:
    assert set(undocumented(Mistaken)) == {"internal_size", "internal_state", "internal_check"}
    assert set(unnamed(Mistaken)) == {
        *("internal_rows", "internal_size", "internal_state", "internal_check")
    }
