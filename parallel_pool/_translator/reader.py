"""Reader: the classes of a file, and the methods of a class with their syntax trees."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium

from parallel_pool._translator import lifting, players
from parallel_pool._translator.refusal import Refusal

# methods that draw, by the beginning of their names
DRAWING = ("render", "_render")


@dataclass(frozen=True)
class Function:
    """A function of the user's.

    Attributes:
        tree: its syntax tree, with the line numbers of its file.
        file: the file.
        names: the module's globals, and what the function's closure holds.
        owner: the class that defines it; None for a function of a module.
        kind: "method", "property", "static", "class" or "function".
        defaults: of its parameters.
    """

    tree: ast.FunctionDef
    file: str
    names: dict[str, Any]
    owner: type | None
    kind: str
    defaults: dict[str, Any]

    @functools.cached_property
    def is_generator(self) -> bool:
        return any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(self.tree))

    @functools.cached_property
    def returned_name(self) -> str:
        """The name that the only return statement returns; empty if there is none."""
        found = [each for each in ast.walk(self.tree) if isinstance(each, ast.Return)]
        only = found[0].value if len(found) == 1 else None
        return only.id if isinstance(only, ast.Name) else ""

    @functools.cached_property
    def locals(self) -> frozenset[str]:
        """The names that belong to the function, wherever in it they are assigned."""
        return frozenset(lifting.assigned(self.tree.body)) - {
            name
            for each in ast.walk(self.tree)
            if isinstance(each, (ast.Global, ast.Nonlocal))
            for name in each.names
        }

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def qualified_name(self) -> str:
        return f"{self.owner.__name__}.{self.name}" if self.owner else self.name


# of classes, the functions that were in their methods
_LIFTED: weakref.WeakKeyDictionary[type, dict[str, Function]] = weakref.WeakKeyDictionary()


def is_own(cls: type) -> bool:
    """Returns whether a class is the user's, not a base class of an API or a built-in."""
    is_of_python = cls.__module__ in ("typing", "abc", "builtins")
    return cls not in (object, gymnasium.Env) and not is_of_python and not players.is_base(cls)


def bases(cls: type) -> list[type]:
    """Returns a class and its bases, in the order in which Python looks."""
    return [each for each in cls.__mro__ if is_own(each)]


@functools.cache
def read(function: Any, owner: type | None, kind: str) -> Function:
    """Returns a function's syntax tree.

    Raises:
        Refusal: its source can't be found.
    """
    function = _undecorated(function)
    try:
        lines, first = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or "?"
    except (OSError, TypeError):
        raise Refusal(
            f"the source of {getattr(function, '__qualname__', function)} can't be found: put it in"
            " a file"
        ) from None
    tree = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(tree, first - 1)
    found = next((each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)), None)
    if found is None or (isinstance(found, ast.FunctionDef) and found.name != function.__name__):
        raise Refusal(f"{file}:{first}: a lambda or an async function is not translated")
    names = dict(function.__globals__)
    closure = inspect.getclosurevars(function)
    names.update(closure.nonlocals)
    defaults = {
        name: each.default
        for name, each in inspect.signature(function).parameters.items()
        if each.default is not each.empty
    }
    if owner is not None and kind == "method":
        found, lifted = lifting.lift(found)
        held = _LIFTED.setdefault(owner, {})
        for each in lifted:
            held[each.tree.name] = Function(each.tree, file, names, owner, kind, each.defaults)
    return Function(found, file, names, owner, kind, defaults)


def _undecorated(function: Any) -> Any:
    """Returns the function whose source is translated.

    Raises:
        Refusal: another function runs, which a decorator made of it.
    """
    found = inspect.unwrap(function)
    if found is function:
        return found
    code = found.__code__
    raise Refusal(
        f"{found.__qualname__}() has a decorator that changes what it does, which is not"
        " translated: call the other function where it is needed",
        ast.Pass(lineno=code.co_firstlineno),
        code.co_filename,
    )


def find(cls: type, name: str, after: type | None = None) -> Function | None:
    """Returns a method or property of a class; None if there is none of the user's.

    Args:
        cls: the class of the object.
        name: of the attribute.
        after: look at the bases that follow this one only, as super() does.
    """
    order = list(cls.__mro__)
    if after is not None:
        order = order[order.index(after) + 1 :]
    for each in order:
        if name in _LIFTED.get(each, {}):
            return _LIFTED[each][name]
        if name not in vars(each):
            continue
        if not is_own(each):
            return None
        value = vars(each)[name]
        if isinstance(value, property):
            return read(value.fget, each, "property")
        if isinstance(value, functools.cached_property):
            raise Refusal(f"{each.__name__}.{name} is a cached_property: compute it in __init__")
        if isinstance(value, staticmethod):
            return read(value.__func__, each, "static")
        if isinstance(value, classmethod):
            return read(value.__func__, each, "class")
        if inspect.isfunction(value):
            return read(value, each, "method")
        return None
    return None


def methods(cls: type) -> Iterator[Function]:
    """Yields the methods of a class and of its bases, those that are overridden included."""
    for each in bases(cls):
        for name, value in vars(each).items():
            if isinstance(value, property):
                value = value.fget
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if (inspect.isfunction(value) and not name.startswith("__")) or name in (
                "__init__",
                "__post_init__",
            ):
                try:
                    yield read(value, each, "method")
                except (Refusal, OSError, TypeError):
                    continue
        yield from _LIFTED.get(each, {}).values()


def reachable(cls: type, roots: tuple[str, ...]) -> list[Function]:
    """Returns the methods that others may call, by their names, from some on.

    What draws is left out: it sees a copy of the state.
    """
    by_name: dict[str, list[Function]] = {}
    for each in methods(cls):
        by_name.setdefault(each.name, []).append(each)
    found: list[Function] = []
    names = list(roots)
    for name in names:
        for function in by_name.pop(name, []) if not name.startswith(DRAWING) else []:
            found.append(function)
            for part in ast.walk(function.tree):
                if isinstance(part, (ast.Attribute, ast.Name)):
                    names.append(part.attr if isinstance(part, ast.Attribute) else part.id)
    return found


def is_environment(cls: Any) -> bool:
    """Returns whether something is a class of environments."""
    return inspect.isclass(cls) and (
        issubclass(cls, gymnasium.Env) or (players.is_parallel(cls) and not players.is_base(cls))
    )


def environments(module: Any) -> list[type]:
    """Returns the environments that a module defines, in the order of the file.

    Those whose name begins with "_", and those from which others of the file inherit, are left out.
    """
    own = [
        value
        for name, value in vars(module).items()
        if is_environment(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
        and not inspect.isabstract(value)
    ]
    parents = {base for each in own for base in each.__mro__[1:]}
    return [each for each in own if each not in parents]


def place_of(cls: type) -> tuple[str, int]:
    """Returns the file of a class and its first line; of a class in a notebook, where it is."""
    for function in methods(cls):
        if function.owner is cls:
            return function.file, function.tree.lineno
    return inspect.getsourcefile(cls) or "?", 0
