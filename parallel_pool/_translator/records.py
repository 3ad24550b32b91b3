"""Records: classes of the user's whose objects are a few attributes, dataclasses and plain ones.

The __init__ of a plain class is translated as a function that returns its attributes, which are
names in it.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import enum
import functools
import inspect
import sys
from typing import Any

import gymnasium

from parallel_pool._translator import reader
from parallel_pool._translator.reader import Function
from parallel_pool._translator.refusal import Refusal

# not the user's, though they are written in Python
LIBRARIES = ("numpy", "gymnasium", "pygame", "Box2D", "mujoco", "torch", "jax", "matplotlib")
# what the attribute x is called in __init__, and the object
ATTRIBUTE = "self_{}"
MAKER = "object_of_the_class"


def is_class(value: Any) -> bool:
    """Returns whether a value is a class whose objects are records."""
    return isinstance(value, type) and (dataclasses.is_dataclass(value) or is_plain(value))


def is_object(value: Any) -> bool:
    """Returns whether a value is an object that is a record."""
    return not isinstance(value, type) and is_class(type(value))


@functools.cache
def is_plain(cls: Any) -> bool:
    """Returns whether a class is plain: all its bases are the user's, and __init__ is."""
    bases = cls.__mro__[:-1]
    is_users: bool = all(
        type(each) is type
        and each.__module__.partition(".")[0] not in (*LIBRARIES, *sys.stdlib_module_names)
        and reader.is_own(each)
        and not dataclasses.is_dataclass(each)
        and "__slots__" not in vars(each)
        for each in bases
    )
    unusual = (BaseException, enum.Enum, gymnasium.Env, gymnasium.Space, tuple, list, dict)
    return is_users and not issubclass(cls, unusual) and inspect.isfunction(cls.__init__)


def names(value: Any) -> tuple[str, ...]:
    """Returns the names of a class's attributes, or of an object's.

    Raises:
        Refusal: an object has others than its class gives it.
    """
    cls = value if isinstance(value, type) else type(value)
    if dataclasses.is_dataclass(cls):
        return tuple(each.name for each in dataclasses.fields(cls))
    found = attributes(cls)
    if value is not cls and set(vars(value)) != set(found):
        other = sorted(set(vars(value)) ^ set(found))[0]
        raise Refusal(
            f"{cls.__name__}.{other} is not in all objects of the class from the beginning: assign"
            " it in __init__"
        )
    return found


def parts(value: Any) -> list[Any]:
    """Returns what an object's attributes are."""
    if dataclasses.is_dataclass(value):
        return [getattr(value, each.name, None) for each in dataclasses.fields(value)]
    return list(vars(value).values())


def is_frozen(cls: Any) -> bool:
    """Returns whether objects of a class can't change."""
    parameters = getattr(cls, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def has_equality(cls: type) -> bool:
    """Returns whether == compares the attributes of objects."""
    parameters = getattr(cls, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.eq)


@functools.cache
def attributes(cls: type) -> tuple[str, ...]:
    """Returns the attributes that the __init__ of a plain class assigns, in its order."""
    function = reader.find(cls, "__init__")
    assert function is not None
    own = function.tree.args.args[0].arg
    found: dict[str, None] = {}
    for each in ast.walk(function.tree):
        if _is_super_init(each):
            found.update(dict.fromkeys(attributes(_next(cls, function))))
        elif _is_attribute(each, own) and isinstance(each.ctx, ast.Store):  # type: ignore[attr-defined]
            found[each.attr] = None  # type: ignore[attr-defined]
    return tuple(found)


def _next(cls: type, function: Function) -> type:
    """Returns the class whose __init__ super().__init__ calls."""
    order = list(cls.__mro__)
    for each in order[order.index(function.owner or cls) + 1 :]:
        if "__init__" in vars(each) and each is not object:
            return each
    raise Refusal(f"{cls.__name__}: super().__init__() of object is not translated: leave it out")


def _is_attribute(tree: ast.AST, own: str) -> bool:
    return (
        isinstance(tree, ast.Attribute)
        and isinstance(tree.value, ast.Name)
        and tree.value.id == own
    )


def _is_super_init(tree: ast.AST) -> bool:
    return isinstance(tree, ast.Call) and ast.unparse(tree.func) == "super().__init__"


@dataclasses.dataclass(frozen=True)
class Maker:
    """Makes an object of its attributes."""

    cls: type
    names: tuple[str, ...]


@functools.cache
def constructor(cls: type) -> Function:
    """Returns the function that makes an object of a plain class.

    Raises:
        Refusal: __init__ needs the object before all attributes are assigned.
    """
    function = reader.find(cls, "__init__")
    assert function is not None
    tree = copy.deepcopy(function.tree)
    own = tree.args.args.pop(0).arg
    found = next((each for each in ast.walk(tree) if isinstance(each, ast.Return)), None)
    if found is not None:
        raise Refusal(f"{cls.__name__}: a return in __init__ is not translated", found)
    names = attributes(cls)
    parts = _Attributes(cls, function, own)
    block, at = [], 0
    while at < len(tree.body) and not parts.needs_object(tree.body[at]):
        made = parts.visit(tree.body[at])
        block += made if isinstance(made, list) else [made]
        at += 1
    if missing := [each for each in names if each not in parts.assigned]:
        raise Refusal(
            f"{cls.__name__}.__init__ needs its object before {missing[0]} is assigned: assign all"
            " attributes first",
            tree.body[min(at, len(tree.body) - 1)],
        )
    arguments = ", ".join(map(ATTRIBUTE.format, names))
    block += _statements(f"{own} = {MAKER}({arguments})", tree.body[-1])
    block += [*tree.body[at:], *_statements(f"return {own}", tree.body[-1])]
    tree.name, tree.body = cls.__name__, block
    known = {**function.names, **parts.known, MAKER: Maker(cls, names)}
    return Function(tree, function.file, known, None, "function", function.defaults)


def _statements(text: str, at: ast.AST) -> list[ast.stmt]:
    """Returns statements that stand at a place of the file."""
    found = ast.parse(text).body
    for each in (part for statement in found for part in ast.walk(statement)):
        ast.copy_location(each, at)
    return found


class _Attributes(ast.NodeTransformer):
    """Makes names of an object's attributes.

    Attributes:
        known: further names.
        assigned: the attributes so far.
    """

    def __init__(self, cls: type, function: Function, own: str) -> None:
        self.cls, self.function, self.own = cls, function, own
        self.known: dict[str, Any] = {f"{MAKER}_class": cls}
        self.assigned: set[str] = set()

    def needs_object(self, statement: ast.stmt) -> bool:
        """Returns whether a statement does more with the object than to use its attributes."""
        parts = list(ast.walk(statement))
        used = sum(isinstance(each, ast.Name) and each.id == self.own for each in parts)
        return used > sum(map(self._is_simple, parts))

    def _is_simple(self, tree: ast.AST) -> bool:
        if not _is_attribute(tree, self.own):
            return False
        name = tree.attr  # type: ignore[attr-defined]
        return name in attributes(self.cls) or self._is_of_class(name)

    def _is_of_class(self, name: str) -> bool:
        found = inspect.getattr_static(self.cls, name, property())
        return not callable(found) and not hasattr(type(found), "__get__")

    def visit_Expr(self, node: ast.Expr) -> Any:
        if not _is_super_init(node.value):
            return self.generic_visit(node)
        base = _next(self.cls, self.function)
        made = f"{MAKER}_{base.__name__}"
        self.known[f"{made}_class"] = base
        first = _statements(f"{made} = {made}_class()", node)
        assert isinstance(first[0], ast.Assign) and isinstance(node.value, ast.Call)
        call = first[0].value
        assert isinstance(call, ast.Call)
        call.args = [self.visit(each) for each in node.value.args]
        call.keywords = [self.visit(each) for each in node.value.keywords]
        self.assigned.update(attributes(base))
        parts = [f"{ATTRIBUTE.format(each)} = {made}.{each}" for each in attributes(base)]
        return first + [each for part in parts for each in _statements(part, node)]

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not _is_attribute(node, self.own):
            return self.generic_visit(node)  # type: ignore[return-value]
        if node.attr not in attributes(self.cls):
            owner = ast.copy_location(ast.Name(f"{MAKER}_class", ast.Load()), node)
            return ast.copy_location(ast.Attribute(owner, node.attr, node.ctx), node)
        if isinstance(node.ctx, ast.Store):
            self.assigned.add(node.attr)
        return ast.copy_location(ast.Name(ATTRIBUTE.format(node.attr), node.ctx), node)
