"""What annotations and docstrings of public functions say about arrays."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, get_overloads

import parallel_pool
from tests.support.docstrings import public_methods

# not those of dm_env.specs, which describe arrays
ARRAY = re.compile(r"(?<!specs\.)\b(Array|ndarray|NDArray|NamedBatch|AgentArrays)\b")
SHAPE = re.compile(r"\(")
DTYPE = re.compile(r"\b(u?int(8|32|64)|float(32|64)?|bool|dtypes?|integers|objects)\b")
# Names of types that are not followed: an array of integers is one of the forms of seeds, and views
# are functions.
OTHERS = {"Seed", "Views"}

SECTION = re.compile(r"^(Args|Attributes|Example|Raises|Returns|Warns):$", re.MULTILINE)


@cache
def aliases() -> Mapping[str, str]:
    """Returns the package's names of types and what they stand for; some are defined repeatedly."""
    found: dict[str, str] = {}
    for file in Path(parallel_pool.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name) and re.match(r"[A-Z]\w*[a-z]", target.id):
                    value = ast.unparse(node.value)
                    found[target.id] = f"{found.get(target.id, '')} {value}"
    return {name: text for name, text in found.items() if name not in OTHERS}


def holds_arrays(annotation: str, depth: int = 3) -> bool:
    """Returns whether a type is an array, or has arrays inside, directly or by an alias."""
    if ARRAY.search(annotation):
        return True
    names = set(re.findall(r"(?<![\w.])[A-Z]\w+", annotation)) & aliases().keys()
    return depth > 0 and any(holds_arrays(aliases()[name], depth - 1) for name in names)


def sections(value: Any) -> dict[str, str]:
    """Returns the parts of a docstring by title; the first part has the title ""."""
    parts = SECTION.split(inspect.cleandoc(value.__doc__ or ""))
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(section: str) -> dict[str, str]:
    """Returns what a section of names says of each."""
    found: dict[str, str] = {}
    for entry in re.split(r"^    (?=\S)", section, flags=re.MULTILINE):
        names, _, text = entry.partition(":")
        found |= {name.strip(): text for name in names.split(",")}
    return found


def says_what_arrays(text: str) -> bool:
    """Returns whether a text has a shape and a dtype."""
    return bool(SHAPE.search(text) and DTYPE.search(text))


class Reader:
    """Reads docstrings that may refer to others.

    Attributes:
        classes: the public classes by name.
    """

    def __init__(self, classes: Mapping[str, type]) -> None:
        self.classes = classes

    def untold(self, function: FunctionType, owner: type | None) -> Iterator[str]:
        """Yields the arguments ("return": the result) whose arrays a docstring does not describe.

        Args:
            function: a function, or a method of owner.
            owner: the class of whose methods `name` in the docstring is one.
        """
        for name, annotation in function.__annotations__.items():
            if holds_arrays(str(annotation)) and not self._is_told(function, name, owner):
                yield name

    def untold_fields(self, owner: type) -> Iterator[str]:
        """Yields the annotated attributes that are arrays without shape and dtype in Attributes."""
        told = entries(sections(owner).get("Attributes", ""))
        for name, annotation in vars(owner).get("__annotations__", {}).items():
            is_told = name.startswith("_") or says_what_arrays(told.get(name, ""))
            if holds_arrays(str(annotation)) and not is_told:
                yield name

    def _is_told(
        self, function: FunctionType, what: str, owner: type | None, depth: int = 3
    ) -> bool:
        """A docstring may name a function with the same argument, or that returns the same."""
        parts = sections(function)
        if what == "return":
            own = parts.get("Returns") or parts[""]
        else:
            own = entries(parts.get("Args", "")).get(what, "")
        return says_what_arrays(own) or (
            depth > 0
            and any(
                self._is_told(other, what, others, depth - 1)
                for other, others in self._referred(own + parts[""], owner)
                if other is not function
            )
        )

    def _referred(
        self, text: str, owner: type | None
    ) -> Iterator[tuple[FunctionType, type | None]]:
        """Yields the methods that a text names as `method` or `Class.method`, with their class."""
        for name in re.findall(r"`([\w.]+)`", text):
            path, _, last = name.rpartition(".")
            named = self.classes.get(path.rpartition(".")[2]) if path else owner
            for found, function in public_methods(named) if named else ():
                if found == last:
                    yield function, named


def has_bare_any(function: FunctionType) -> bool:
    """Returns whether the result's type is `Any`, and no overload says more."""
    given = function.__annotations__.get("return", "Any")
    return bool(given == "Any" and not get_overloads(function))
