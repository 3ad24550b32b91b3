"""Aliasing: memories that hold copies of what is one object in Python, and what changes in place.

The program copies where Python refers to one object. That is the same as long as no copy changes
while another one is still read. Copies are noted where they are made, changes where they happen;
a change that a living copy would miss is refused.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import records
from parallel_pool._translator.displays import NUMBERS, ListDisplay
from parallel_pool._translator.flow import Maybe
from parallel_pool._translator.liveness import is_read_later
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import (
    Array,
    DynamicArray,
    List,
    Map,
    Optional,
    Record,
    Tuple,
    Type,
    Union,
)
from parallel_pool._translator.values import Arr, Fixed, Lst, Mapping, Opt, Rec, Tup, Uni, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

# the name under which the flow is kept among those of a function
FLOW = "\0flow"
ATTRIBUTE = re.compile(r"[(*&]*[sk]->a_(\w+)")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# of a dict's entries, as of an array
CAST = re.compile(r"\(\(\w+ [* ]*\)&")

TEMPORARY = re.compile(r"(?:(display )|[a-z]+_)(\d+)(?:_|$)")

# ("attribute", name), ("memory", the C variable) or ("object", the id of one in Python)
Region = tuple[str, str]
# the last numbers of C variables and of displays
Mark = tuple[int, int]
Kind = tuple[Any, ...]
Kinds = frozenset[Kind]
NOTHING: Kinds = frozenset()


@dataclass(frozen=True)
class Edge:
    """What two memories share.

    Attributes:
        kinds: of the objects that are one in Python.
        line: where that came about.
        is_copy: they hold copies; False: both refer to the same memory, as Python does.
    """

    one: Region
    other: Region
    kinds: Kinds
    line: int
    is_copy: bool = True


@dataclass
class Flow(Value):
    """What is known of memories on a way through a function.

    Attributes:
        edges: what they share.
        points: what variables that are pointers refer to.
        owned: attributes whose object was made in this function, and is nowhere else.
    """

    edges: frozenset[Edge] = frozenset()
    points: frozenset[tuple[str, Region]] = frozenset()
    owned: frozenset[str] = frozenset()

    def joined(self, other: Flow) -> Flow:
        return Flow(self.edges | other.edges, self.points | other.points, self.owned & other.owned)

    def before(self, mark: Mark) -> Flow:
        """Returns what is known of memories that have been there at a moment."""
        edges = {e for e in self.edges if not (_is_after(e.one, mark) or _is_after(e.other, mark))}
        points = {e for e in self.points if not (_is_after(("memory", e[0]), mark))}
        points = {e for e in points if not _is_after(e[1], mark)}
        return replace(self, edges=frozenset(edges), points=frozenset(points))


def _is_after(region: Region, mark: Mark) -> bool:
    """Returns whether a memory has got its name after a moment."""
    found = TEMPORARY.match(region[1]) if region[0] == "memory" else None
    return found is not None and int(found[2]) > mark[found[1] == "display "]


@dataclass
class Effects:
    """What a function does to memories of its caller.

    Attributes:
        changes: what changes in place, and in which line of which file.
        edges: what is one object after it.
        moves: containers whose items move in memory, and the kinds of the items.
        rebinds: attributes that it assigns.
        compared: memories whose objects it compares by `is`.
    """

    changes: set[tuple[Region, Kind, str, int]] = field(default_factory=set)
    edges: set[Edge] = field(default_factory=set)
    moves: set[tuple[Region, Kinds]] = field(default_factory=set)
    rebinds: set[str] = field(default_factory=set)
    compared: set[Compared] = field(default_factory=set)


# ------------------------------------------------------------------------------------ kinds --


def kind_of(of: Type) -> Kind | None:
    """Returns the kind of an object that can change in place; None for others."""
    if isinstance(of, (Array, DynamicArray)):
        return ("array", of.item.dtype.str)
    if isinstance(of, List) and not of.is_tuple and not of.is_constant:
        return (of.kind, kinds_of(of.item))
    if isinstance(of, Map) and not of.is_constant:
        return ("dict", kinds_of(of.item))
    if isinstance(of, Record) and not records.is_frozen(of.cls):
        return ("object", of.cls or of.keys)
    return None


@cache
def kinds_of(of: Type) -> Kinds:
    """Returns the kinds of all objects in a value of a type that can change in place."""
    own = kind_of(of)
    found: Kinds = NOTHING if own is None else frozenset({own})
    if isinstance(of, (List, Map, Optional)):
        return found | kinds_of(of.item)
    if isinstance(of, (Tuple, Record, Union)):
        return found.union(*map(kinds_of, of.items))
    return found


def items_of(of: Type) -> Kinds:
    """Returns the kinds of the items of a container."""
    if isinstance(of, Record):
        return NOTHING.union(*map(kinds_of, of.items))
    return kinds_of(of.item) if isinstance(of, (List, Map, Optional)) else NOTHING


# ---------------------------------------------------------------------------------- regions --


def flow_of(body: Body) -> Flow:
    found = body.names[FLOW]
    assert isinstance(found, Flow)
    return found


def _update(body: Body, **parts: Any) -> None:
    body.names[FLOW] = replace(flow_of(body), **parts)


def regions_of_text(body: Body, text: str) -> set[Region]:
    """Returns the memories in which a C lvalue or pointer is."""
    text = CAST.sub("", text, count=1)
    attribute = ATTRIBUTE.match(text)
    if attribute:
        return {("attribute", attribute[1])}
    found = IDENTIFIER.search(text)
    if found is None:
        return set()
    known = body.parameters.get(found[0])
    if known:
        return set(known)
    pointed = {region for name, region in flow_of(body).points if name == found[0]}
    return pointed or {("memory", found[0])}


def regions_of(body: Body, value: Value) -> set[Region]:
    """Returns the memories in which a value is; none for a new object."""
    if isinstance(value, Maybe):
        return regions_of(body, value.value)
    if isinstance(value, ListDisplay):
        inner = set().union(*(regions_of(body, each) for each in value.items))
        is_named = any(
            isinstance(each, ListDisplay) and each.number == value.number
            for each in body.names.values()
        )
        return inner | {("memory", f"display {value.number}")} if is_named else inner
    if isinstance(value, Tup) or (isinstance(value, Rec) and not value.place):
        return set().union(*(regions_of(body, each) for each in value.items))
    if isinstance(value, Fixed):
        is_known = body.program.template.is_shared(value.value)
        return {("object", str(id(value.value)))} if is_known else set()
    root = getattr(value, "root", None)
    if root is not None and root[0] == "attribute":
        return {root}
    text = _text_of(value)
    return regions_of_text(body, text) if text else set()


def _text_of(value: Value) -> str:
    if isinstance(value, Arr):
        return (value.pointer or value.key) if value.is_place else ""
    if isinstance(value, (Lst, Mapping)):
        return value.c
    if isinstance(value, Opt) and value.pointer:
        return value.pointer
    return value.place if isinstance(value, (Rec, Opt, Uni)) else ""


# ----------------------------------------------------------------------------------- copies --


@contextlib.contextmanager
def unnoted(body: Body) -> Iterator[None]:
    """Copies that are no other names of one object."""
    kept, body.notes_copies = body.notes_copies, False
    yield
    body.notes_copies = kept


def stored(body: Body, of: Type, place: str, value: Value, is_pointer: bool) -> None:
    """Notes that a value was stored in a C lvalue of a type."""
    kinds = kinds_of(of)
    if not kinds or not body.notes_copies or _gets_its_type(body, value):
        return
    sources = regions_of(body, value)
    if place.isidentifier() and (is_pointer or _is_open(of)):
        points = {each for each in flow_of(body).points if each[0] != place}
        pointed = sources if is_pointer else {("memory", place)}
        _update(body, points=frozenset(points | {(place, each) for each in pointed}))
        if is_pointer:
            return
    targets = regions_of_text(body, place)
    if "[" not in place:
        sources -= targets
    elif not is_pointer:
        _stored_again(body, sources, targets, kinds)
    link(body, sources, targets, kinds, not is_pointer)


def _gets_its_type(body: Body, value: Value) -> bool:
    """Returns whether a value is a list without items so far, which has one name."""
    if not isinstance(value, (Lst, Mapping)) or not value.is_always_empty:
        return False
    inner = [getattr(each, "value", each) for each in body.names.values()]
    names = [each for each in inner if isinstance(each, (Lst, Mapping)) and each.c == value.c]
    return len(names) == 1


def _stored_again(body: Body, sources: set[Region], targets: set[Region], kinds: Kinds) -> None:
    """Notes which memories hold an object twice now."""
    edges = [each for each in flow_of(body).edges if each.kinds & kinds and each.is_copy]
    for one in targets:
        if any(
            {e.one, e.other} == {one, each}
            for e in edges
            for each in sources
            if _is_one(body, each)
        ):
            link(body, {one}, {one}, kinds)


def _is_one(body: Body, region: Region) -> bool:
    """Returns whether a memory holds one object, not several."""
    if region[0] == "attribute":
        of = body.program.template.state.get(region[1])
        return isinstance(of, (Array, Record))
    kind = body.variables.get(region[1], "")
    return region[1].startswith("v_") and kind.startswith(("array", "record"))


def link(
    body: Body, some: Iterable[Region], others: Iterable[Region], kinds: Kinds, is_copy: bool = True
) -> None:
    """Notes that memories share objects."""
    line = getattr(body.at, "lineno", 0)
    edges = {Edge(a, b, kinds, line, is_copy) for a in some for b in others}
    if kinds and edges:
        _update(body, edges=flow_of(body).edges | edges)


def items_shared(body: Body, made: Value, value: Value) -> None:
    """Notes that a new container has the items of another one."""
    of = made.type
    item = getattr(of, "item", None)
    if item is not None and (kinds := items_of(of)):
        is_pointer = isinstance(item, (List, Map)) and not item.capacity
        link(body, regions_of(body, value), regions_of(body, made), kinds, not is_pointer)


def forget(body: Body, regions: set[Region]) -> None:
    """Notes that memories get other objects; what they shared is shared by the others still."""
    flow = flow_of(body)
    touching = {each for each in flow.edges if each.one in regions or each.other in regions}
    if not touching:
        return
    left: set[Edge] = set()
    for region in regions:
        ends = [(_other_end(each, region), each) for each in touching if _touches(each, region)]
        for i, (one, first) in enumerate(ends):
            for other, second in ends[i + 1 :]:
                kinds = first.kinds & second.kinds
                if kinds and one not in regions and other not in regions and one != other:
                    is_copy = first.is_copy or second.is_copy
                    left.add(Edge(one, other, kinds, second.line, is_copy))
    _update(body, edges=(flow.edges - touching) | left)


def _touches(edge: Edge, region: Region) -> bool:
    return region in (edge.one, edge.other)


def _other_end(edge: Edge, region: Region) -> Region:
    return edge.other if edge.one == region else edge.one


def assigned(body: Body, name: str, value: Value) -> None:
    """Notes that a name is about to mean another value."""
    places = {("memory", place) for place in body.places.get(name, ())}
    forget(body, places - regions_of(body, value))


def attribute_assigned(body: Body, name: str, value: Value) -> None:
    """Notes that an attribute is about to be assigned."""
    body.effects.rebinds.add(name)
    region = ("attribute", name)
    sources = regions_of(body, value)
    if region not in sources:
        forget(body, {region})
    flow = flow_of(body)
    is_fresh = not any(
        each[0] != "memory" or each[1].startswith("p_")
        for each in {*sources, *(r for s in sources for r, _, _ in _reached(flow, s, None))}
    )
    _update(body, owned=flow.owned | {name} if is_fresh else flow.owned - {name})


def separate(
    body: Body, held: list[tuple[str, Value]], leaving: set[Region], stays: bool = False
) -> None:
    """Gives names memory of their own for what is about to leave another one.

    Args:
        body: of the function.
        held: the names, and what they mean.
        leaving: the memories.
        stays: the object may be there, too, after that.
    """
    owned: list[tuple[set[Region], Kinds]] = []
    for name, value in held:
        regions = regions_of(body, value)
        kinds = kinds_of(value.type)
        if _is_pointer(value):
            body.names[name] = body.in_variable(name, value)
            continue
        with unnoted(body):
            body.names[name] = body.in_variable(name, value, body.unbounded(value))
        places = {("memory", each) for each in body.places[name]}
        shared = {
            _other_end(each, region)
            for region in regions & leaving
            for each in flow_of(body).edges
            if _touches(each, region) and each.kinds & kinds
        }
        others = (regions - leaving) | shared | (regions & leaving if stays else set())
        link(body, places, others - places, kinds)
        for before, theirs in owned:
            link(body, places, before, kinds & theirs)
        owned.append((places, kinds))


def moved(body: Body, value: Value) -> None:
    """Notes that the items of a container are about to move: names that mean one get a copy."""
    kinds = items_of(value.type)
    if kinds:
        for region in regions_of(body, value):
            body.effects.moves.add((region, kinds))
            _separate_items(body, region, kinds, _text_of(value))


def taken(body: Body, value: Value, place: str) -> None:
    """Notes that an item was taken out of a container: it may have other names still."""
    kinds = items_of(value.type)
    for region in regions_of(body, value) if kinds else ():
        touching = [each for each in flow_of(body).edges if _touches(each, region)]
        others = {_other_end(each, region) for each in touching if each.kinds & kinds}
        link(body, {("memory", place)}, others, kinds)


def _separate_items(body: Body, region: Region, kinds: Kinds, text: str = "") -> None:
    held = [
        (name, inner)
        for name, inner in _references(body)
        if (items_of(inner.type) if isinstance(inner, Opt) else {kind_of(inner.type)}) & kinds
        and region in regions_of(body, inner)
        and _text_of(inner) != text
        and not _is_pointer(inner)
    ]
    separate(body, held, {region}, stays=True)


def _is_pointer(value: Value) -> bool:
    """Returns whether a value is in the memory of the call, which does not move."""
    return _is_open(value.type)


def _is_open(of: Type) -> bool:
    return isinstance(of, (List, Map)) and not of.capacity


def _references(body: Body) -> list[tuple[str, Value]]:
    """Returns the names that mean a part of some memory."""
    inner = ((name, getattr(value, "value", value)) for name, value in body.names.items())
    kinds = (Arr, Rec, Lst, Mapping, Uni, Opt)
    return [(name, each) for name, each in inner if isinstance(each, kinds) and each.root]


# ---------------------------------------------------------------------------------- changes --


def changed(body: Body, value: Value) -> None:
    """Notes that an object changes in place.

    Raises:
        Refusal: a copy that would miss the change is read later.
    """
    kind = kind_of(value.type)
    if kind is not None:
        line = getattr(body.at, "lineno", 0)
        for region in regions_of(body, value):
            _changed(body, region, kind, body.function.file, line)


def _changed(body: Body, region: Region, kind: Kind, file: str, line: int) -> None:
    flow = flow_of(body)
    if not (region[0] == "attribute" and region[1] in flow.owned):
        body.effects.changes.add((region, kind, file, line))
        if region[0] == "attribute":
            body.program.changes.add((region, kind, file, line))
    for other, is_copy, since in _reached(flow, region, kind):
        if is_copy and _is_read_later(body, other):
            raise conflict(kind, line, since, body.at)


def compared(body: Body, one: Value, other: Value) -> None:
    """Notes that two objects are compared by `is`, as places in memory.

    Raises:
        Refusal: one object may be in both places.
    """
    kind = kind_of(one.type)
    line = getattr(body.at, "lineno", 0)
    for a in regions_of(body, one):
        for b in regions_of(body, other):
            _compared(body, Compared(a, b, kind, body.function.file, line))


def _compared(body: Body, each: Compared) -> None:
    each.check(flow_of(body))
    body.effects.compared.add(each)
    if each.one[0] == each.other[0] == "attribute":
        body.program.compared.add(each)


@dataclass(frozen=True)
class Compared:
    """Memories of which an object of one is compared with an object of the other by `is`."""

    one: Region
    other: Region
    kind: Kind | None
    file: str
    line: int

    def check(self, flow: Flow) -> None:
        """Raises Refusal if one object of Python's may be in both."""
        found = {each for each, is_copy, _ in _reached(flow, self.one, self.kind) if is_copy}
        twice = any({each.one, each.other} == {self.one} for each in flow.edges)
        if self.other in found or (twice and self.one == self.other):
            raise Refusal(
                "whether this is the same object is not translated, as it has two names: compare a"
                " number of each, such as an index",
                ast.Pass(lineno=self.line),
                self.file,
            )


def conflict(kind: Kind, line: int, since: int, at: ast.AST | None = None) -> Refusal:
    """Returns why a change is refused."""
    what = str(kind[0])
    if since < 0:
        return Refusal(
            f"this {what} is one for all environments, as the class or the module holds it: make"
            " one in __init__() or reset()",
            at,
        )
    where = f"line {since}" if since else "__init__() or reset()"
    return Refusal(
        f"this {what} changes here, and has another name since {where}, which Python changes with"
        f" it: write {'.copy()' if what != 'object' else 'copy.copy()'} there if both are apart, or"
        " use one name for it",
        at,
    )


def _reached(flow: Flow, start: Region, kind: Kind | None) -> set[tuple[Region, bool, int]]:
    """Returns the memories that hold objects of a memory, whether by a copy, and since which line.

    Args:
        flow: what is known.
        start: the memory.
        kind: of the object; None: any.
    """
    edges = [each for each in flow.edges if kind is None or kind in each.kinds]
    found: set[tuple[Region, bool, int]] = set()
    seen: set[tuple[Region, bool, Any]] = set()
    todo: list[tuple[Region, bool, Any]] = [(start, False, None)]
    for region, is_copy, last in todo:
        for each in edges:
            # back over the same edge is the object itself
            way = frozenset({each.one, each.other})
            if not _touches(each, region) or (way == last and each.one != each.other):
                continue
            other = _other_end(each, region)
            state = (other, is_copy or each.is_copy, way)
            found.add((*state[:2], each.line))
            if state not in seen and other != start:
                seen.add(state)
                todo.append((*state[:2], way))
    selves = {each for each in edges if each.one == each.other}
    return {each for each in found if each[0] != start or selves}


def _is_read_later(body: Body, region: Region) -> bool:
    if region[0] != "memory" or region[1].startswith("p_"):
        return True
    return any(
        region in regions_of(body, value) and is_read_later(body.function.tree, body.at, name)
        for name, value in body.names.items()
        if name != FLOW
    )


# ------------------------------------------------------------------------------------ calls --


def returned(body: Body, value: Value | None) -> None:
    """Notes what is one object after a function returns here."""
    flow = flow_of(body)
    outer = {
        region
        for each in flow.edges
        for region in (each.one, each.other)
        if region[0] != "memory" or region[1].startswith("p_") or region[1] == "result"
    }
    for region in outer:
        kinds = {kind for each in flow.edges if _touches(each, region) for kind in each.kinds}
        for kind in kinds:
            for other, is_copy, line in _reached(flow, region, kind):
                if other in outer:
                    edge = Edge(region, other, frozenset({kind}), line, is_copy)
                    body.effects.edges.add(edge)
                    if "memory" not in (region[0], other[0]):
                        body.program.edges.add((edge, body.function.file))


def called(body: Body, effects: Effects, regions: dict[str, set[Region]]) -> None:
    """Notes what a call does.

    Args:
        body: of the caller.
        effects: of the function.
        regions: the memories of its arguments and of its result, by their names in C.
    """

    def here(region: Region) -> set[Region]:
        return regions.get(region[1], set()) if region[0] == "memory" else {region}

    for region, kind, file, line in sorted(effects.changes, key=repr):
        for each in here(region):
            _changed(body, each, kind, file, line)
    for pair in sorted(effects.compared, key=repr):
        for one in here(pair.one):
            for other in here(pair.other):
                _compared(body, replace(pair, one=one, other=other))
    for edge in sorted(effects.edges, key=repr):
        link(body, here(edge.one), here(edge.other), edge.kinds, edge.is_copy)
    for region, kinds in effects.moves:
        body.effects.moves.update((each, kinds) for each in here(region))
    body.effects.rebinds |= effects.rebinds
    flow = flow_of(body)
    shared = {r[1] for each in effects.edges for r in (each.one, each.other)}
    _update(body, owned=flow.owned - shared - effects.rebinds)


def before_call(body: Body, effects: Effects, regions: dict[str, set[Region]]) -> None:
    """Copies what names mean of memories in which a call puts other objects."""
    for name in effects.rebinds:
        region = ("attribute", name)
        held = [(n, v) for n, v in _references(body) if region in regions_of(body, v)]
        separate(body, held, {region}, stays=True)
    for region, kinds in effects.moves:
        for each in regions.get(region[1], set()) if region[0] == "memory" else {region}:
            _separate_items(body, each, kinds)


# ------------------------------------------------------------------------------ the program --


def check(program: Any) -> None:
    """Raises Refusal if an attribute changes in place that is one object with another one."""
    edges = {edge for edge, _ in program.edges} | program.template.shared_edges()
    for edge in sorted(edges, key=repr):
        for region, kind, file, line in sorted(program.changes, key=repr):
            if edge.is_copy and kind in edge.kinds and _touches(edge, region):
                at = ast.Pass(lineno=line)
                refusal = conflict(kind, line, edge.line, at)
                refusal.file = file
                raise refusal
    for compared in sorted(program.compared, key=repr):
        compared.check(Flow(frozenset(edges)))


def mark(body: Body) -> Mark:
    """Returns the present moment of the translation."""
    return body.program.count, next(NUMBERS)


# ------------------------------------------------------------------------------- references --


def is_reference(value: Value) -> bool:
    """Returns whether a value is in memory to which a C pointer can point."""
    if isinstance(value, Arr):
        is_fixed = isinstance(value.type, Array) and bool(value.dims)
        return bool(is_fixed and value.pointer and value.is_place and value.root) and not (
            value.is_read_only or value.is_foreign
        )
    if isinstance(value, (Lst, Mapping)):
        return value.root is not None and not _is_pointer(value)
    return isinstance(value, Rec) and value.root is not None and bool(value.place)


def is_variable(value: Value) -> bool:
    """Returns whether a value is what a C pointer of a name refers to, which may be set anew."""
    is_pointer = is_reference(value) or (isinstance(value, Opt) and bool(value.pointer))
    return is_pointer and pointer_of(value).strip("&(*)").startswith("ref_")


def nullable(one: Value, other: Value) -> Opt | None:
    """Returns what may be None or a reference; None if two values are something else."""
    found: Opt | None = None
    for value in (one, other):
        if isinstance(value, Fixed) and value.value is None:
            continue
        target = value.target if isinstance(value, Opt) else value
        if target is None or not is_reference(target):
            return None
        if found is None:
            found = Opt(Optional(target.type), "", root_of(target), "NULL", target)
        elif found.optional.item != target.type:
            return None
        else:
            found.root = joined_root(found, target)
    return found


def pointer_of(value: Value) -> str:
    """Returns the C pointer to a value."""
    if isinstance(value, Fixed):
        return "NULL"
    if isinstance(value, Opt):
        return value.pointer
    if isinstance(value, Arr):
        return value.pointer
    if isinstance(value, (Lst, Mapping)):
        return value.c
    assert isinstance(value, Rec)
    return f"&{value.place}"


def pointed_type(body: Body, value: Value) -> str:
    """Returns the C type to which a pointer to a value points."""
    if isinstance(value, Opt) and value.target is not None:
        return pointed_type(body, value.target)
    return value.item.c if isinstance(value, Arr) else body.program.types.c(value.type)


def root_of(value: Value) -> tuple[str, str]:
    """Returns the root of a reference."""
    found: tuple[str, str] = getattr(value, "root")  # noqa: B009
    return found


def joined_root(*values: Value) -> tuple[str, str]:
    """Returns the root of what may be any of some values."""
    roots = [root_of(each) for each in values]
    if len(set(roots)) == 1:
        found: tuple[str, str] = roots[0]
        return found
    names = sorted({part for root in roots for part in parts_of(root)})
    return ("several", "|".join(names))


def parts_of(root: tuple[str, str]) -> list[str]:
    return root[1].split("|") if root[0] == "several" else [f"{root[0]}:{root[1]}"]


def is_of(root: tuple[str, str] | None, wanted: tuple[str, str]) -> bool:
    """Returns whether a value may be in the memory of a root."""
    return root is not None and f"{wanted[0]}:{wanted[1]}" in parts_of(root)


def point(body: Body, name: str, value: Value) -> None:
    """Lets a C pointer point to a value."""
    body.emit(f"{name} = {pointer_of(value)};")
    regions = regions_of(body, value)
    points = {each for each in flow_of(body).points if each[0] != name}
    _update(body, points=frozenset(points | {(name, each) for each in regions}))


def point_to_root(body: Body, name: str, root: tuple[str, str]) -> None:
    """Notes that a C pointer points to a part of the environment."""
    regions = [tuple(each.split(":", 1)) for each in parts_of(root)]
    points = flow_of(body).points | {(name, (kind, where)) for kind, where in regions}
    _update(body, points=points)


def is_mutable_object(value: Any) -> bool:
    """Returns whether an object in Python can change in place."""
    if isinstance(value, (list, dict, set, deque, np.ndarray)):
        return True
    return records.is_object(value) and not records.is_frozen(type(value))
