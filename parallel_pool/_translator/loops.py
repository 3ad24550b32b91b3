"""Loops: `for` and `while`, and what names mean where they go around."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from parallel_pool._translator import aliasing, arrays, containers, order, storage
from parallel_pool._translator.flow import Loop, Maybe, Pending
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import INT
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Flat,
    Generator,
    Lst,
    Mapping,
    Num,
    Span,
    Tup,
    Txt,
    Value,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

# passes over a loop until the types of its variables are found
MAX_PASSES = 8
# items of a loop that is written out, as they have different types
MAX_UNROLLED = 64
# items of one that is written out, as its statements need to know them
MAX_REPEATED = 16

Way = Callable[[], None]


def translate_while(body: Body, tree: ast.While) -> None:
    def head() -> None:
        found = body.condition(tree.test)
        if found is True:
            return
        body.emit(f"if (!({'false' if found is False else found})) goto {label}_end;")
        _pending_exit(body)

    label = body.name("loop")
    exits = not (isinstance(tree.test, ast.Constant) and bool(tree.test.value))
    around(body, label, "for (;;) {", head, lambda: body.statements(tree.body), exits)
    _or_else(body, label, tree.orelse)


def translate_for(body: Body, tree: ast.For) -> None:
    over = order.looped(body, tree, _as_list(tree.iter))
    with body.any_order(body.is_any_order or _has_any_order(body.function.tree, tree)):
        iterate(
            body,
            over,
            lambda item: body.assign_item(tree.target, item),
            lambda: body.statements(tree.body),
            tree.orelse,
        )


# parts of indices that change nothing, and do not depend on what the loop changes
PLAIN = (
    ast.Name,
    ast.Attribute,
    ast.Constant,
    ast.Tuple,
    ast.BinOp,
    ast.operator,
    ast.expr_context,
)


def _has_any_order(function: ast.AST, tree: ast.For) -> bool:
    """Returns whether a loop has the same result in any order of its items: all it does is set
    elements to a constant, or add one to them, and its items are not read behind it."""
    names = {each.id for each in ast.walk(tree.target) if isinstance(each, ast.Name)}
    inside = {id(each) for each in ast.walk(tree)}
    return (
        not tree.orelse
        and len(tree.body) == 1
        and _sets_constant(tree.body[0])
        and not any(
            isinstance(each, ast.Name) and each.id in names and id(each) not in inside
            for each in ast.walk(function)
        )
    )


def _sets_constant(tree: ast.stmt) -> bool:
    if isinstance(tree, ast.AugAssign) and isinstance(tree.op, (ast.Add, ast.Sub)):
        target: ast.expr = tree.target
    elif isinstance(tree, ast.Assign) and len(tree.targets) == 1:
        target = tree.targets[0]
    else:
        return False
    return (
        isinstance(tree.value, ast.Constant)
        and isinstance(target, ast.Subscript)
        and all(map(_is_plain, (target.value, *ast.walk(target.slice))))
    )


def _is_plain(tree: ast.AST) -> bool:
    is_part = isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant)
    return is_part or isinstance(tree, PLAIN)


def _as_list(tree: ast.expr) -> ast.expr:
    """Returns a tuple of attributes to loop over as a list, which refers to them."""
    is_of_parts = isinstance(tree, ast.Tuple) and all(
        isinstance(each, (ast.Attribute, ast.Subscript)) for each in tree.elts
    )
    if not isinstance(tree, ast.Tuple) or not is_of_parts:
        return tree
    return ast.copy_location(ast.List(tree.elts, ast.Load()), tree)


def iterate(
    body: Body,
    over: Value,
    begin: Callable[[Value], None],
    inside: Way,
    orelse: list[ast.stmt] | None = None,
) -> None:
    """Repeats for each item of a value."""
    over = body.plain(over)
    body.check_order(over)
    label = body.name("loop")
    if _is_always_empty(over):
        # what its items are is not known yet
        body.statements(orelse or [])
        return
    if isinstance(over, Fixed) and not isinstance(over.value, (range, list, tuple)):
        items = body.items(over)
        if items is not None:
            over = Fixed(tuple(item.value for item in items if isinstance(item, Fixed)))
    if isinstance(over, Generator):
        over = containers.made_of(body, over)
    if isinstance(over, Flat) and over.kind == "map":
        over = body.list_from(over)
    if isinstance(over, Flat) and over.kind == "part":
        inside = _staying(body, over.parts[0], inside)
    kept = _Moment(body)
    try:
        _rolled(body, label, over, begin, inside)
    except Refusal:
        # what the items are may be known if the loop is written out
        kept.restore(body)
        items = _known_items(body, over)
        if items is None or len(items) > MAX_REPEATED:
            raise
        _unroll(body, label, items, begin, inside)
    _or_else(body, label, orelse or [])


def _is_always_empty(over: Value) -> bool:
    """Returns whether a loop has no items, as far as is known."""
    if isinstance(over, Flat) and over.kind != "map":
        return any(map(_is_always_empty, over.parts))
    return isinstance(over, (Lst, Mapping)) and over.is_always_empty


def _staying(body: Body, value: Value, inside: Way) -> Way:
    """Returns what a loop repeats, in which the items of a list must stay where they are."""

    def checked() -> None:
        effects = body.effects
        moves, rebinds = effects.moves, effects.rebinds
        effects.moves, effects.rebinds = set(), set()
        inside()
        regions = aliasing.regions_of(body, value)
        assert isinstance(value, Lst)
        kind = aliasing.kind_of(value.list_type.item)
        changed = {region for region, kinds in effects.moves if kind in kinds}
        changed |= {("attribute", name) for name in effects.rebinds}
        effects.moves, effects.rebinds = moves | effects.moves, rebinds | effects.rebinds
        if regions & changed:
            raise body.refuse("a loop over a part of a list changes the list: loop over a copy")

    return checked


class _Moment:
    """What a body was before a loop was translated."""

    def __init__(self, body: Body) -> None:
        self.lines, self.names = len(body.lines), dict(body.names)
        self.alive, self.indent, self.at = body.alive, body.indent, body.at
        self.loops, self.handlers = list(body.loops), list(body.handlers)

    def restore(self, body: Body) -> None:
        del body.lines[self.lines :]
        body.names, body.alive, body.indent, body.at = self.names, self.alive, self.indent, self.at
        body.loops, body.handlers = self.loops, self.handlers


def _rolled(
    body: Body, label: str, over: Value, begin: Callable[[Value], None], inside: Way
) -> None:
    if isinstance(over, Span):
        _count(body, label, over, begin, inside)
    elif (found := source(body, over)) is not None:
        length, item = found
        index = body.c_variable("i", "int64_t")
        guard = _guard(body, over)
        if guard is not None:
            _guarded(body, label, index, lambda: begin(item(index)), inside, guard)
            return
        head = f"for ({index} = 0; {index} < {length}; {index}++) {{"
        around(body, label, head, lambda: begin(item(index)), inside)
    else:
        items = body.items(over)
        if items is None:
            raise body.refuse(f"{over.type} can't be looped over")
        if len(items) > MAX_UNROLLED:
            raise body.refuse(
                f"a loop over {len(items)} items of different types is not translated"
            )
        _unroll(body, label, items, begin, inside)


def _guard(body: Body, over: Value) -> tuple[str, str, str] | None:
    """Returns the count of a dict, set or deque that may change while it is looped over, the count
    that it has now, and what Python says if they differ. None for others."""
    if isinstance(over, Flat) and over.is_changed:
        found = [_guard(body, each) for each in over.parts]
        return next((each for each in found if each is not None), None)
    if not isinstance(over, (Lst, Mapping)) or not over.is_changed:
        return None
    kind = "dictionary" if isinstance(over, Mapping) else over.list_type.kind
    if kind in ("list", "tuple"):
        return None
    size = "mutated" if kind == "deque" else "changed size"
    count = f"{over.c}->count"
    what = f"{'Set' if kind == 'set' else kind} {size} during iteration"
    return count, body.temporary("int64_t", count), what


def _guarded(
    body: Body, label: str, index: str, begin: Way, inside: Way, guard: tuple[str, str, str]
) -> None:
    """Translates a loop over what must not change; Python looks before each item, and at the
    end."""
    count, first, what = guard

    def before() -> None:
        body.check(f"{count} == {first}", "RuntimeError", what)
        body.emit(f"if (!({index} < {first})) goto {label}_end;")
        _pending_exit(body)
        begin()

    around(body, label, f"for ({index} = 0;; {index}++) {{", before, inside)


def _known_items(body: Body, over: Value) -> tuple[Value, ...] | None:
    """Returns the items of a loop if their number is known, or known to be the most."""
    if isinstance(over, Flat) and over.kind in ("zip", "enumerate"):
        parts = [_known_items(body, body.plain(part)) for part in over.parts]
        counts = [len(part) for part in parts if part is not None]
        if not counts:
            return None
        count = min(counts)
        columns: list[tuple[Value, ...]] = []
        for part, found in zip(over.parts, parts, strict=True):
            if found is not None:
                columns.append(found[:count])
                continue
            held = source(body, body.plain(part))
            if held is None:
                return None
            length, item = held
            body.check(
                f"{length} >= {count}", "ValueError", "zip() of a list that is shorter than others"
            )
            columns.append(tuple(item(str(i)) for i in range(count)))
        if over.kind == "enumerate":
            return tuple(Tup((Fixed(i + over.start), each)) for i, each in enumerate(columns[0]))
        return tuple(Tup(each) for each in zip(*columns, strict=True))
    if isinstance(over, (Lst, Mapping)):
        return None
    return body.items(over)


def source(body: Body, over: Value) -> tuple[str, Callable[[str], Value]] | None:
    """Returns the length of something to loop over, and what its items are by their index."""
    body.check_order(over)
    if isinstance(over, Lst):
        it = over
        root = it.root or ("memory", it.c)
        return (
            f"{it.c}->count",
            lambda i: storage.load(body, it.list_type.item, f"{it.c}->v[{i}]", root),
        )
    if isinstance(over, Mapping):
        held = over
        return (
            f"{held.c}->count",
            lambda i: storage.load(body, held.map_type.key, f"{held.c}->k[{i}]"),
        )
    if isinstance(over, Arr):
        if not over.dims:
            raise body.refuse("an array without axes can't be looped over")
        array = over if over.is_place else body.in_memory(over)
        return str(array.dims[0]), lambda i: arrays.row(body, array, i)
    if isinstance(over, Txt):
        text = body.temporary("int32_t", over.c)
        letters = body.program.texts.letter
        return body.program.texts.length(text), lambda i: Txt(letters(body, text, i))
    if isinstance(over, Fixed) and isinstance(over.value, (tuple, list)):
        table = containers.table(body, over.value)
        if table is None:
            return None
        return str(len(over.value)), table
    if isinstance(over, Tup) and len(over.items) > 8:
        of = over.items[0].type
        if all(item.type == of for item in over.items):
            made = containers.list_of(body, over.items)
            return source(body, made)
    if isinstance(over, Span):
        start = body.temporary("int64_t", body.as_int(over.start))
        stop = body.as_int(over.stop)
        step = over.step
        count = body.temporary("int64_t", f"pp_python_range({start}, {stop}, {step})")
        if step == 1:
            return count, lambda i: Num(INT, f"({start} + {i})")
        # a step times an index may leave 64 bits on the way
        return count, lambda i: Num(
            INT, f"(int64_t)((uint64_t){start} + (uint64_t)({i}) * (uint64_t)INT64_C({step}))"
        )
    if isinstance(over, Flat) and over.kind == "part":
        return _part(body, over)
    if isinstance(over, Flat):
        return _flat(body, over)
    return None


def _part(body: Body, over: Flat) -> tuple[str, Callable[[str], Value]]:
    """Returns the items of a slice of a list."""
    held, first, count = over.parts
    found = source(body, held)
    assert found is not None
    length, item = found
    whole = body.temporary("int64_t", length)
    start = body.as_int(first)

    def checked(i: str) -> Value:
        text = "a loop over a part of a list that becomes longer or shorter is not translated"
        body.check(f"{length} == {whole}", "NotImplementedError", text)
        return item(f"{start} + {i}")

    return body.as_int(count), checked


def _flat(body: Body, over: Flat) -> tuple[str, Callable[[str], Value]] | None:
    parts = [source(body, body.plain(part)) for part in over.parts]
    if any(part is not None for part in parts):
        parts = [
            source(body, _listed(body, each)) if part is None else part
            for part, each in zip(parts, over.parts, strict=True)
        ]
    if any(part is None for part in parts):
        return None
    found = [part for part in parts if part is not None]
    if over.kind == "iter":
        return found[0]
    if over.kind == "enumerate":
        length, item = found[0]
        return length, lambda i: Tup((Num(INT, f"({i} + {over.start})"), item(i)))
    if over.kind == "zip":
        if over.is_changed:
            lengths = [each for each, _ in found]
            least = functools.reduce(lambda a, b: f"({a} < {b} ? {a} : {b})", lengths)
            return least, lambda i: Tup(tuple(item(i) for _, item in found))
        length = body.temporary("int64_t", found[0][0])
        for other, _ in found[1:]:
            body.emit(f"if ({other} < {length}) {length} = {other};")
        return length, lambda i: Tup(tuple(item(i) for _, item in found))
    if over.kind == "reversed":
        length, item = found[0]
        if over.is_changed:
            return _backwards(body, length, item)
        return length, lambda i: item(f"({length} - 1 - {i})")
    if over.kind == "ndindex":
        return None
    held = over.parts[0]
    if isinstance(held, Mapping):

        def value(i: str) -> Value:
            root = held.root or ("memory", held.c)
            return storage.load(body, held.map_type.item, f"{held.c}->v[{i}]", root)

        if over.kind == "values":
            return f"{held.c}->count", value
        if over.kind == "items":
            length, key = found[0]
            return length, lambda i: Tup((key(i), value(i)))
        return found[0]
    return None


def _listed(body: Body, value: Value) -> Value:
    """Returns a written tuple or list as one in memory, if its items are of one type."""
    if not isinstance(value, Tup) or not value.items:
        return value
    try:
        return containers.list_of(body, value.items)
    except Refusal:
        return value


def _backwards(
    body: Body, length: str, item: Callable[[str], Value]
) -> tuple[str, Callable[[str], Value]]:
    """Returns the items of a list that changes, from that on which was its last at first."""
    first = body.temporary("int64_t", length)

    def found(i: str) -> Value:
        body.check(
            f"{first} - 1 - {i} < {length}",
            "RuntimeError",
            "the list became shorter than where reversed() is: loop over a copy",
        )
        return item(f"({first} - 1 - {i})")

    return first, found


def _count(body: Body, label: str, over: Span, begin: Callable[[Value], None], inside: Way) -> None:
    start, stop = body.as_int(over.start), body.as_int(over.stop)
    if not stop.lstrip("-").isdigit():
        stop = body.temporary("int64_t", stop)
    index = body.c_variable("i", "int64_t")
    sign = "<" if over.step > 0 else ">"
    head = f"for ({index} = {start}; {index} {sign} {stop}; {_stepped(index, stop, over.step)}) {{"
    number = INT
    around(body, label, head, lambda: begin(Num(number, index)), inside)


def _stepped(index: str, stop: str, step: int) -> str:
    """Returns how the index of a range goes on, which must not leave 64 bits behind its end."""
    if abs(step) == 1 or stop.lstrip("-").isdigit():
        return f"{index} += {step}"
    if step > 0:
        return f"{index} = {index} > INT64_MAX - {step} ? {stop} : {index} + {step}"
    return f"{index} = {index} < INT64_MIN + {-step} ? {stop} : {index} - {-step}"


def _unroll(
    body: Body, label: str, items: tuple[Value, ...], begin: Callable[[Value], None], inside: Way
) -> None:
    """Writes a loop out, one copy for each item."""
    leaving: list[Pending] = []
    for number, item in enumerate(items):
        if not body.alive:
            break
        loop = Loop(f"{label}_{number}", is_unrolled=True)
        body.loops.append(loop)
        begin(item)
        inside()
        body.loops.pop()
        leaving += loop.breaks
        if loop.going:
            ends = list(loop.going)
            if body.alive:
                ends.append(Pending(dict(body.names), body.indent))
                body.lines.append(ends[-1])
            target = body.joined([each.names for each in ends])
            body.settle(ends, target)
            body.names, body.alive = target, True
            body.emit(f"{loop.label}_next:;")
    _meet(body, label, leaving)


def _meet(body: Body, label: str, leaving: list[Pending]) -> None:
    ends = list(leaving)
    if body.alive:
        ends.append(Pending(dict(body.names), body.indent))
        body.lines.append(ends[-1])
    if not ends:
        return
    body.loop_ends[label] = ends


def around(body: Body, label: str, head: str, before: Way, inside: Way, exits: bool = True) -> None:
    """Translates a loop until what names mean at its head is found."""
    entry, indent, mark = dict(body.names), body.indent, aliasing.mark(body)
    header = dict(entry)
    start = len(body.lines)
    for _ in range(MAX_PASSES):
        del body.lines[start:]
        body.names, body.alive, body.indent = dict(entry), True, indent
        body.convert(header)
        header[aliasing.FLOW] = body.join_flows(header, body.names)
        body.names = dict(header)
        loop = Loop(label)
        body.loops.append(loop)
        body.emit(head)
        body.indent += 1
        before()
        inside()
        if body.alive:
            pending = Pending(dict(body.names), body.indent)
            body.lines.append(pending)
            loop.going.append(pending)
        body.emit(f"{label}_next:;")
        body.indent -= 1
        body.emit("}")
        body.loops.pop()
        going = loop.going
        joined = body.joined([header, *(each.names for each in going)])
        body.settle(going, joined)
        is_found = _equal(body, joined, header, mark)
        header[aliasing.FLOW] = joined[aliasing.FLOW]
        if is_found:
            break
        header = joined
    else:
        raise body.refuse("the types of this loop's variables can't be found")
    body.names, body.alive = dict(header), exits
    leaving = [*loop.breaks, *loop.exits]
    if loop.exits:
        body.alive = False
    _meet(body, label, leaving)


def _equal(body: Body, one: dict[str, Value], other: dict[str, Value], mark: aliasing.Mark) -> bool:
    def same(a: Value, b: Value) -> bool:
        if isinstance(a, aliasing.Flow) and isinstance(b, aliasing.Flow):
            return a.before(mark) == b.before(mark)
        if isinstance(a, Maybe) and isinstance(b, Maybe):
            return a.flag == b.flag and body._same(a.value, b.value)
        return body._same(a, b)

    return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)


def _pending_exit(body: Body) -> None:
    """Notes that a loop ends here because its condition fails."""
    # the jump is before: what it stores must be, too
    jump = body.lines.pop()
    pending = Pending(dict(body.names), body.indent + 1)
    condition, _, target = jump.strip().rpartition(" goto ")
    body.emit(f"{condition} {{")
    body.lines.append(pending)
    body.emit(f"  goto {target}")
    body.emit("}")
    body.loops[-1].exits.append(pending)


def _or_else(body: Body, label: str, orelse: list[ast.stmt]) -> None:
    ends = body.loop_ends.pop(label, [])
    breaks = [each for each in ends if each.is_break]
    others = [each for each in ends if not each.is_break]
    if not ends:
        return
    if orelse and others:
        target = body.joined([each.names for each in others])
        body.settle(others, target)
        body.names, body.alive = target, True
        body.emit(f"{label}_end:;")
        body.statements(orelse)
        if body.alive:
            last = Pending(dict(body.names), body.indent)
            body.lines.append(last)
            breaks = [*breaks, last]
        body.alive = bool(breaks)
        if breaks:
            target = body.joined([each.names for each in breaks])
            body.settle(breaks, target)
            body.names = target
        body.emit(f"{label}_break:;")
        return
    target = body.joined([each.names for each in ends])
    body.settle(ends, target)
    body.names, body.alive = target, True
    body.emit(f"{label}_end:;")
    body.emit(f"{label}_break:;")


def leave(body: Body) -> None:
    """break."""
    loop = body.loops[-1]
    pending = Pending(dict(body.names), body.indent, is_break=True)
    body.lines.append(pending)
    loop.breaks.append(pending)
    label = loop.label.rpartition("_")[0] if loop.is_unrolled else loop.label
    body.emit(f"goto {label}_break;")
    body.alive = False


def go_on(body: Body) -> None:
    """continue."""
    loop = body.loops[-1]
    pending = Pending(dict(body.names), body.indent)
    body.lines.append(pending)
    loop.going.append(pending)
    body.emit(f"goto {loop.label}_next;")
    body.alive = False
