"""Order: what evaluating an expression changes of what was evaluated before it.

Python evaluates from left to right. A value that only refers to memory is copied if what comes
after it, before it is used, may put something else there; nothing is copied otherwise.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import (
    containers,
    displays,
    library,
    liveness,
    purity,
    reader,
    records,
)
from parallel_pool._translator.aliasing import kind_of
from parallel_pool._translator.reader import Function
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.template import CHANGING
from parallel_pool._translator.types import INT, Array, DynamicArray, Number, Type, is_filled
from parallel_pool._translator.values import (
    Arr,
    Bound,
    Fixed,
    Flat,
    Generator,
    Lst,
    Mapping,
    Mem,
    Method,
    Num,
    Opt,
    Rec,
    Self,
    Tup,
    Txt,
    Uni,
    Value,
    is_iterator,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

Root = tuple[str, str]

# whose functions change nothing of what they are given
LIBRARIES = ("numpy", "math", "copy", "dataclasses", "collections", "gymnasium")


@dataclass(frozen=True)
class Effects:
    """What may be changed.

    Attributes:
        rebound: attributes and variables that become other objects.
        changed: those whose objects change.
        refilled: those of lists, dicts and objects whose parts become other objects.
        is_wild: objects change of which it is not known whose they are.
    """

    rebound: frozenset[Root] = frozenset()
    changed: frozenset[Root] = frozenset()
    refilled: frozenset[Root] = frozenset()
    is_wild: bool = False

    def __bool__(self) -> bool:
        return bool(self.rebound or self.changed or self.refilled or self.is_wild)

    def may_change(self, root: Root | None) -> bool:
        """Returns whether an object may change; None: it has no name."""
        return root is not None and (self.is_wild or root in self.changed)

    def __or__(self, other: Effects) -> Effects:
        return Effects(
            self.rebound | other.rebound,
            self.changed | other.changed,
            self.refilled | other.refilled,
            self.is_wild or other.is_wild,
        )


def before(body: Body, value: Value, later: Sequence[ast.AST]) -> Value:
    """Returns a value as it is before later expressions are evaluated."""
    if isinstance(value, (Fixed, Self)):
        return value
    found = effects(body, later)
    return held(body, value, found) if found else value


def held(body: Body, value: Value, found: Effects) -> Value:
    """Returns a value that means the same object after something has changed."""
    if isinstance(value, (Num, Opt, Txt, Mem)) or (isinstance(value, Uni) and value.is_number):
        return body.kept(value)
    if isinstance(value, Tup):
        return displays.like(value, tuple(held(body, each, found) for each in value.items))
    if isinstance(value, Method):
        return Method(held(body, value.receiver, found), value.name)
    if isinstance(value, Flat):
        check_reads(body, value, found)
        return replace(value, parts=tuple(held(body, each, found) for each in value.parts))
    if isinstance(value, Arr) and not value.is_place and not value.is_read_only:
        return body.fresh(value)
    root = getattr(value, "root", None)
    if getattr(value, "is_read_only", False) or not (
        root in found.rebound or (root in found.refilled and not _is_whole(body, value, root))
    ):
        return value
    is_pointer = isinstance(value, (Lst, Mapping)) and not value.type.capacity  # type: ignore[attr-defined]
    if (root in found.changed or found.is_wild) and not is_pointer:
        raise body.refuse(
            f"{root[1]} is changed and assigned anew while this refers to it: write what comes"
            " later in a line of its own, or loop over a copy"
        )
    return copied(body, value)


def check_reads(body: Body, value: Value, found: Effects | None) -> None:
    """Raises Refusal if something changes what a generator reads; None: it may be anything."""
    parts = value.parts if isinstance(value, Flat) else ()
    for each in parts:
        check_reads(body, each, found)
    for root in sorted(value.reads if isinstance(value, Flat) else ()):
        if found is None or found.may_change(root) or root in found.rebound | found.refilled:
            raise body.refuse(
                f"a generator reads {root[1]}, which may change before its last item: return a list"
                " instead"
            )


def read_by(body: Body, function: Function, given: Sequence[Value]) -> frozenset[Root]:
    """Returns what a generator of the user's reads.

    Raises:
        Refusal: it changes something itself, or draws.
    """
    functions = _called_by(body, function, {})
    found = Effects()
    for each in functions:
        found |= _of_called(body, each)
    changed = {each for each in found.changed | found.rebound if each[0] == "attribute"}
    if changed or found.is_wild:
        what = f"self.{min(changed)[1]}" if changed else "what it is given"
        raise body.refuse(f"{function.name}() yields, and changes {what}: return a list instead")
    trees = [part for each in functions for part in ast.walk(each.tree)]
    names = {each.attr for each in trees if isinstance(each, ast.Attribute)}
    if "np_random" in names:
        raise body.refuse(f"{function.name}() yields, and draws: return a list instead")
    read = {("attribute", name) for name in names if name in body.program.template.state}
    for value in given:
        is_container = isinstance(value, (Lst, Mapping))
        if is_container or (not isinstance(value, Self) and body.may_change(value.type)):
            root = getattr(value, "root", None)
            read |= {("variable", name) for name in _names_of(body, value)}
            read |= set() if root is None else {root}
    return frozenset(read)


def _names_of(body: Body, value: Value) -> list[str]:
    place = getattr(value, "c", "") or getattr(value, "place", "") or getattr(value, "pointer", "")
    return [
        name
        for name, each in body.names.items()
        if each is value
        or (place and place in [getattr(each, part, "") for part in ("c", "place", "pointer")])
    ]


def _called_by(body: Body, function: Function, found: dict[int, Function]) -> list[Function]:
    """Returns a function, and those of the user's that it may call."""
    if id(function.tree) not in found:
        found[id(function.tree)] = function
        for each in _named_in(body, function.tree, function):
            _called_by(body, each, found)
    return list(found.values())


def taken(body: Body, value: Value, targets: Sequence[ast.expr]) -> Value:
    """Returns a value as it is before several targets are assigned."""
    if isinstance(value, (Num, Txt, Mem)):
        return body.kept(value)
    return before(body, value, targets)


def _is_whole(body: Body, value: Value, root: Root) -> bool:
    """Returns whether a value is what an attribute or variable holds, and not a part of it."""
    if root[0] == "attribute":
        places = (f"s->a_{root[1]}", f"(&s->a_{root[1]})")
    else:
        meant = body.names.get(root[1])
        places = (getattr(meant, "c", ""), getattr(meant, "place", ""))
    return getattr(value, "c", getattr(value, "place", "")) in places


def looped(body: Body, tree: ast.For, over: ast.expr) -> Value:
    """Returns what a loop runs over, which its statements may change or assign anew."""
    found = effects(body, [tree.target, *tree.body])
    for each in ast.walk(over):
        if isinstance(each, ast.Name) and ("variable", each.id) in found.changed | found.refilled:
            meant = body.names.get(each.id)
            if isinstance(meant, displays.ListDisplay):
                body.assign(each.id, containers.list_of(body, meant.items))
    part = _part(body, over, found)
    if part is not None:
        return part
    value = body.plain(body.value(over))
    return _noted(body, held(body, value, found), found) if found else value


def _part(body: Body, over: ast.expr, found: Effects) -> Flat | None:
    """Returns a slice of a list whose items a loop may change, which are those of the list; None
    for others, which are copied."""
    if not isinstance(over, ast.Subscript) or not isinstance(over.slice, ast.Slice):
        return None
    with body.tried():
        value = body.plain(body.value(over.value))
    is_of_objects = isinstance(value, Lst) and kind_of(value.list_type.item) is not None
    if not _is_list(value) or not is_of_objects or over.slice.step is not None:
        return None
    value = body.plain(body.value(over.value))
    value = held(body, value, found) if found else value
    assert isinstance(value, Lst)
    first, count = body.bounds(value, over.slice)
    return Flat("part", (value, Num(INT, first), Num(INT, count)))


def _noted(body: Body, value: Value, found: Effects) -> Value:
    """Notes in something to loop over that it may change."""
    if isinstance(value, Lst) and value.list_type.most and value.root in found.changed:
        raise body.refuse("a loop over a deque changes it: loop over list(...) of it")
    if isinstance(value, (Lst, Mapping)):
        is_filled = isinstance(value, Mapping) and value.root in found.refilled
        return replace(value, is_changed=is_filled or found.may_change(value.root))
    if not isinstance(value, Flat):
        return value
    parts = tuple(_noted(body, each, found) for each in value.parts)
    changed = [each for each in parts if getattr(each, "is_changed", False)]
    if value.kind == "zip" and not all(map(_is_list, changed)):
        raise body.refuse("a loop over zip() changes what it runs over: loop over a copy")
    return replace(value, parts=parts, is_changed=bool(changed))


def _is_list(value: Value) -> bool:
    return isinstance(value, Lst) and value.list_type.kind == "list"


def copied(body: Body, value: Value) -> Value:
    """Returns an array, list or dict that stays as it is when its name or attribute is assigned."""
    if isinstance(value, Arr):
        return body.fresh(value)
    if isinstance(value, Rec) and not value.place:
        return Rec(value.keys, tuple(map(body.kept, value.items)), cls=value.cls)
    if isinstance(value, (Lst, Mapping, Rec, Uni)):
        return body.in_temporary(value)
    return value


# ---------------------------------------------------------------------------------- effects --


def changed_later(body: Body, tree: ast.expr, value: Value) -> bool:
    """Returns whether an object of an attribute or a name may change after an expression."""
    root = getattr(value, "root", None)
    if root is None or not isinstance(value, (Arr, Lst, Mapping, Rec)):
        return False
    statements = [each for each in ast.walk(body.function.tree) if isinstance(each, ast.stmt)]
    around = [each for each in statements if any(part is tree for part in ast.walk(each))]
    if any(isinstance(each, ast.Return) for each in around):
        return False
    loops = [
        each
        for each in around
        if isinstance(each, (ast.For, ast.While))
        # a name that is assigned anew each time means another object then
        and (root[0] != "variable" or liveness.goes_around(each, root[1]))
    ]
    later = [each for each in statements if _is_later(each, tree)]
    found = effects(body, [*loops, *later])
    return root in found.changed | found.refilled


def refuse_stale(body: Body, tree: ast.Assign, value: Value) -> None:
    """Refuses a name for what a method has returned, if it is read after that has changed.

    It holds a copy here, and the same array in Python.
    """
    names = [each.id for each in tree.targets if isinstance(each, ast.Name)]
    if not names or not isinstance(value, Arr) or not value.shared:
        return
    for each in ast.walk(body.function.tree):
        if not isinstance(each, ast.stmt) or hasattr(each, "body") or not _is_later(each, tree):
            continue
        found = effects(body, [each])
        if value.shared & (found.changed | found.refilled) and _is_read(body, names, each):
            raise body.refuse(
                f"{names[0]} is a part of self, which changes in line {each.lineno} before it is"
                " read: write .copy(), or assign it behind the change"
            )


def _is_read(body: Body, names: Sequence[str], after: ast.stmt) -> bool:
    return any(
        isinstance(each, ast.Name)
        and each.id in names
        and isinstance(each.ctx, ast.Load)
        and _is_later(each, after)
        for each in ast.walk(body.function.tree)
    )


def _is_later(tree: ast.stmt | ast.expr, than: ast.stmt | ast.expr) -> bool:
    return tree.lineno > (than.end_lineno or than.lineno)


def effects(body: Body, trees: Sequence[ast.AST]) -> Effects:
    """Returns what evaluating or executing syntax trees may change."""
    found = _of_function(_Reader(body, body.function), trees)
    for function in _reached(body, trees):
        found |= _of_called(body, function)
    return found


def _of_called(body: Body, function: Function) -> Effects:
    """Returns what a call of a function may change; its variables are its own."""
    known = body.program.effects
    key = id(function.tree)
    if key not in known:
        found = _of_function(_Reader(body, function, is_called=True), function.tree.body)
        rebound = frozenset(each for each in found.rebound if each[0] == "attribute")
        known[key] = replace(found, rebound=rebound)
    return known[key]


class _Reader:
    """Says what the expressions of a function refer to."""

    def __init__(self, body: Body, function: Function, is_called: bool = False) -> None:
        self.body, self.function, self.is_called = body, function, is_called
        arguments = function.tree.args.args
        self.own = arguments[0].arg if arguments else ""
        cls = body.program.template.cls
        is_environment = function.owner is not None and function.owner in cls.__mro__
        self.is_method = is_environment and function.kind in ("method", "property")

    def root(self, tree: ast.AST) -> Root | None:
        """Returns what an expression is a part of; None: it is not known."""
        while isinstance(tree, (ast.Subscript, ast.Attribute, ast.Starred)):
            owner = tree.value
            if isinstance(tree, ast.Attribute) and self._is_own(owner):
                return "attribute", tree.attr
            tree = owner
        if not isinstance(tree, ast.Name):
            return None
        held = None if self.is_called else self.body.names.get(tree.id)
        held = getattr(held, "value", held)
        return getattr(held, "root", None) or ("variable", tree.id)

    def _is_own(self, tree: ast.AST) -> bool:
        return self.is_method and isinstance(tree, ast.Name) and tree.id == self.own

    def is_object(self, root: Root) -> bool:
        """Returns whether an augmented assignment changes an object, and does not make one."""
        of: Type | None
        if root[0] == "attribute":
            of = self.body.program.template.state.get(root[1])
            return of is None or not isinstance(of, Number)
        held = None if self.is_called else self.body.names.get(root[1])
        return self.is_called or not isinstance(held, (Num, Fixed, Opt))

    def fills(self, tree: ast.Subscript) -> bool:
        """Returns whether reading an element may put it there, as a defaultdict does."""
        root = self.root(tree)
        if root is not None and root[0] == "attribute":
            of = self.body.program.template.state.get(root[1])
            return of is not None and is_filled(of)
        if self.is_called:
            return any(map(is_filled, self.body.program.template.state.values()))
        held = self.body.names.get(root[1]) if root is not None else None
        return isinstance(held, Mapping) and held.map_type.is_filled

    def is_array(self, root: Root) -> bool:
        """Returns whether parts of an object are views, which an assignment fills."""
        if root[0] == "attribute":
            of = self.body.program.template.state.get(root[1])
            return isinstance(of, (Array, DynamicArray))
        return isinstance(self.body.names.get(root[1]), Arr)


def _of_function(reading: _Reader, trees: Sequence[ast.AST]) -> Effects:
    """Returns what statements of one function may change, without those that it calls."""
    found = Effects()
    augmented: set[int] = set()
    for tree in trees:
        for each in ast.walk(tree):
            if isinstance(each, ast.AugAssign):
                augmented.add(id(each.target))
                found |= _of_augmented(reading, each.target)
            elif isinstance(getattr(each, "ctx", None), (ast.Store, ast.Del)):
                if id(each) not in augmented:
                    found |= _of_target(reading, each)
            elif isinstance(each, ast.Call):
                found |= _of_call(reading, each)
            elif isinstance(each, ast.Subscript) and reading.fills(each):
                found |= _changes(reading, reading.root(each))
    return found


def _of_augmented(reading: _Reader, target: ast.expr) -> Effects:
    root = reading.root(target)
    if isinstance(target, ast.Subscript) or (root and reading.is_object(root)):
        return _changes(reading, root)
    return Effects(rebound=frozenset([root])) if root else Effects(is_wild=True)


def _of_target(reading: _Reader, target: ast.AST) -> Effects:
    if isinstance(target, ast.Name):
        return Effects(rebound=frozenset([("variable", target.id)]))
    if isinstance(target, ast.Attribute) and reading._is_own(target.value):
        return Effects(rebound=frozenset([("attribute", target.attr)]))
    if not isinstance(target, (ast.Attribute, ast.Subscript)):
        return Effects()
    root = reading.root(target)
    is_known = root is not None and (root[0] == "attribute" or not reading.is_called)
    if root is not None and is_known and not reading.is_array(root):
        return Effects(refilled=frozenset([root]))
    return _changes(reading, root)


def _of_call(reading: _Reader, call: ast.Call) -> Effects:
    target = call.func
    if not isinstance(target, ast.Attribute) or target.attr not in CHANGING:
        return Effects()
    parts = [target.value, *(call.args[:1] if target.attr == "shuffle" else [])]
    found = Effects()
    for each in parts:
        if not (isinstance(each, ast.Attribute) and each.attr == "np_random"):
            found |= _changes(reading, reading.root(each))
    return found


def _changes(reading: _Reader, root: Root | None) -> Effects:
    if root is None or (reading.is_called and root[0] == "variable"):
        local = root is not None and root[1] in _made(reading.function)
        return Effects() if local else Effects(is_wild=True)
    return Effects(changed=frozenset([root]))


def _made(function: Function) -> set[str]:
    """Returns the names that hold only what a function has made itself."""
    return purity.fresh(function)


def _reached(body: Body, trees: Sequence[ast.AST]) -> list[Function]:
    """Returns the functions of the user's that syntax trees may call, and those that these call."""
    found: dict[int, Function] = {}
    waiting = [one for tree in trees for one in _named_in(body, tree, body.function)]
    waiting += _iterating(body, trees)
    calls = body.program.calls
    while waiting:
        one = waiting.pop()
        key = id(one.tree)
        if key not in found:
            found[key] = one
            if key not in calls:
                calls[key] = _named_in(body, one.tree, one)
            waiting += calls[key]
    return list(found.values())


def _named_in(body: Body, tree: ast.AST, function: Function) -> list[Function]:
    """Returns the functions of the user's that a syntax tree names."""
    known = body.program.methods_by_name
    found: list[Function] = []
    for each in ast.walk(tree):
        if isinstance(each, ast.Attribute):
            found += known.get(each.attr, [])
            found += _functions_of(purity.known(each, function))
        elif isinstance(each, ast.Name) and each.id in function.names:
            found += _functions_of(function.names[each.id])
    return found


def _iterating(body: Body, trees: Sequence[ast.AST]) -> list[Function]:
    """Returns the functions that iterators call which syntax trees name."""
    found: list[Function] = []
    named = {name: value for name, value in body.names.items() if is_iterator(value)}
    for tree in trees if named else ():
        for each in ast.walk(tree):
            value = named.pop(each.id, None) if isinstance(each, ast.Name) else None
            if isinstance(value, Generator):
                found += [
                    *_named_in(body, value.tree, body.function),
                    *_iterating(body, [value.tree]),
                ]
            elif isinstance(value, Flat):
                found += [part.function for part in value.parts if isinstance(part, Bound)]
    return found


def _functions_of(value: Any) -> Iterator[Function]:
    """Yields the user's function, or what makes an object of a class of the user's."""
    if records.is_class(value):
        name = "__init__" if records.is_plain(value) else "__post_init__"
        made = reader.find(value, name)
        if made is not None:
            yield made
    elif (written := library.written(value)) is not None:
        yield reader.read(written, None, "function")
    elif inspect.isfunction(value) and value.__module__.partition(".")[0] not in LIBRARIES:
        with contextlib.suppress(Refusal):
            yield reader.read(value, None, "function")


def methods_by_name(cls: type, env: Any) -> dict[str, list[Function]]:
    """Returns the methods and properties of the user's classes, by their names."""
    found: dict[str, list[Function]] = {}
    for each in (cls, *purity.classes(cls, env)):
        for function in reader.methods(each):
            if not function.name.startswith("__"):
                found.setdefault(function.name, []).append(function)
    return found
