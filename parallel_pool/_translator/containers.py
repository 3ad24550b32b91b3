"""Containers: tuples, lists, deques, sets and dictionaries, and texts of exceptions."""

from __future__ import annotations

import ast
import enum
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import arrays, displays, operators, reductions, storage, texts
from parallel_pool._translator.refusal import Refusal, Wider
from parallel_pool._translator.types import (
    INT,
    Array,
    Constant,
    Empty,
    List,
    Map,
    Optional,
    TableRecord,
    Text,
    Type,
    unbounded,
)
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Flat,
    Generator,
    Lst,
    Mapping,
    Num,
    Opt,
    Rec,
    Span,
    Tup,
    Txt,
    Uni,
    Value,
    as_number,
    cast,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def c_text(text: str) -> str:
    """Returns a string literal of C."""
    escaped = []
    for letter in text:
        if letter in '"\\':
            escaped.append("\\" + letter)
        elif letter == "\n":
            escaped.append("\\n")
        elif letter == "?":
            escaped.append("\\?")
        elif " " <= letter <= "~":
            escaped.append(letter)
        else:
            escaped.extend(f"\\{byte:03o}" for byte in letter.encode())
    return '"' + "".join(escaped) + '"'


def message(body: Body, tree: ast.expr | None) -> tuple[str, list[str]]:
    """Returns the text of an exception as a format of printf, and its arguments."""
    if tree is None:
        return "", []
    parts: list[str] = []
    arguments: list[str] = []

    def add(value: Value) -> None:
        value = body.plain(value)
        if isinstance(value, Fixed):
            parts.append(str(value.value).replace("%", "%%"))
            return
        number = as_number(value)
        if number is None:
            parts.append(f"<{value.type}>".replace("%", "%%"))
        elif number.number.kind == "f":
            parts.append("%.17g")
            arguments.append(f"(double){number.c}")
        elif number.number.kind == "b":
            parts.append("%s")
            arguments.append(f'({number.c} ? "True" : "False")')
        else:
            parts.append("%lld")
            arguments.append(f"(long long){number.c}")

    def attempt(part: ast.expr) -> None:
        """Adds a value, or dots: a text is not worth a refusal."""
        kept, indent, at = dict(body.names), body.indent, body.at
        with body.buffer() as lines:
            try:
                add(body.value(part))
            except Refusal:
                lines.clear()
                parts.append("...")
        body.names, body.indent, body.at = kept, indent, at
        body.lines.extend(lines)

    if isinstance(tree, ast.JoinedStr):
        for each in tree.values:
            if isinstance(each, ast.Constant):
                parts.append(str(each.value).replace("%", "%%"))
            elif isinstance(each, ast.FormattedValue):
                attempt(each.value)
    else:
        attempt(tree)
    text = "".join(parts)
    return (text, arguments) if arguments else (text.replace("%%", "%"), [])


def is_output(body: Body, tree: ast.expr) -> bool:
    """Returns whether an expression prints or draws, which compiled environments do not do."""
    if not isinstance(tree, ast.Call):
        return False
    text = ast.unparse(tree.func)
    return text in (
        "print",
        "warnings.warn",
        "gym.logger.warn",
        "logger.warn",
        "gymnasium.logger.warn",
    ) or (text.startswith(("logging.", "logger.")))


# ---------------------------------------------------------------------------------- reading --


def items(body: Body, value: Value) -> tuple[Value, ...] | None:
    """Returns the items of a value whose number is known; None if it has none."""
    if isinstance(value, Tup):
        return value.items
    if isinstance(value, Uni):
        return _items_of_types(body, value)
    if isinstance(value, Fixed):
        body.check_order(value)
        if isinstance(value.value, (tuple, list, range, str, frozenset, set)) or (
            isinstance(value.value, type) and issubclass(value.value, enum.Enum)
        ):
            return tuple(Fixed(each) for each in value.value)
        if isinstance(value.value, dict):
            return tuple(Fixed(each) for each in value.value)
        if isinstance(value.value, np.ndarray) and value.value.size <= 64:
            return tuple(Fixed(each) for each in value.value)
        return None
    if isinstance(value, Rec):
        return tuple(Fixed(key) for key in value.keys) if value.cls is None else None
    if isinstance(value, Arr) and value.dims and isinstance(value.dims[0], int):
        array = value if value.is_place or len(value.dims) == 1 else arrays.in_memory(body, value)
        return tuple(arrays.row(body, array, str(i)) for i in range(value.dims[0]))
    if isinstance(value, Flat) and value.kind in ("items", "values", "keys"):
        return _entries(body, value)
    if isinstance(value, Flat):
        parts = [items(body, part) for part in value.parts]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        if value.kind == "enumerate":
            return tuple(Tup((Fixed(i + value.start), each)) for i, each in enumerate(known[0]))
        if value.kind == "zip":
            return tuple(Tup(each) for each in zip(*known, strict=False))
        if value.kind == "reversed":
            return known[0][::-1]
        if value.kind == "iter":
            return known[0]
    if isinstance(value, Span) and isinstance(value.start, Fixed) and isinstance(value.stop, Fixed):
        span = range(value.start.value, value.stop.value, value.step)
        return tuple(Fixed(each) for each in span)
    return None


def is_set(value: Value) -> bool:
    """Returns whether a value is a set whose order Python may choose otherwise."""
    if isinstance(value, Lst):
        return value.list_type.is_set
    return (
        isinstance(value, Fixed)
        and isinstance(value.value, (set, frozenset))
        and not all(map(_has_known_hash, value.value))
    )


def _has_known_hash(value: Any) -> bool:
    """Returns whether the hash of an object is the same in all processes."""
    if isinstance(value, tuple):
        return all(map(_has_known_hash, value))
    return isinstance(value, (int, float)) and not isinstance(value, enum.Enum)


def _items_of_types(body: Body, value: Uni) -> tuple[Value, ...] | None:
    """Returns the items of arrays of one length, each of them of several types."""
    shapes = {each.shape for each in value.union.items if isinstance(each, Array)}
    if value.is_number or len(shapes) != 1:
        return None

    def item(i: int) -> Value:
        return body.spread([value], lambda given: arrays.row(body, body.array(given[0]), str(i)))

    return tuple(map(item, range(shapes.pop()[0])))


def _entries(body: Body, value: Flat) -> tuple[Value, ...] | None:
    held = value.parts[0]
    if isinstance(held, Fixed) and isinstance(held.value, dict):
        held = Rec(tuple(held.value), tuple(Fixed(each) for each in held.value.values()))
    if not isinstance(held, Rec):
        return None
    if value.kind == "keys":
        return tuple(Fixed(key) for key in held.keys)
    if value.kind == "values":
        return held.items
    return tuple(Tup((Fixed(k), v)) for k, v in zip(held.keys, held.items, strict=True))


def known_texts(value: Value) -> tuple[str, ...] | None:
    """Returns the texts of a sequence that was written down; None for others."""
    found: Any = ()
    if isinstance(value, Fixed) and isinstance(value.value, (list, tuple, set, frozenset, dict)):
        found = tuple(value.value)
    elif isinstance(value, Rec) and value.cls is None:
        found = value.keys
    elif isinstance(value, Tup):
        found = tuple(getattr(each, "value", None) for each in value.items)
    return found if found and all(isinstance(each, str) for each in found) else None


def record(body: Body, value: Value) -> Rec | None:
    """Returns a dict with known keys; None for others."""
    if isinstance(value, Rec):
        return value
    if isinstance(value, Mapping) and value.is_always_empty:
        return Rec((), ())
    if isinstance(value, Fixed) and isinstance(value.value, dict):
        return Rec(tuple(value.value), tuple(Fixed(each) for each in value.value.values()))
    return None


def listed(value: Value) -> Value:
    """Returns the list of an iterator that runs over one."""
    return value.parts[0] if isinstance(value, Flat) and value.kind == "iter" else value


def unpacked(body: Body, value: Value, count: int, has_star: bool) -> tuple[Value, ...]:
    """Returns the items of a value that is assigned to several targets."""
    value = listed(body.plain(value))
    if isinstance(value, texts.Parts) and not has_star:
        return texts.unpacked(body, value, count)
    if isinstance(value, Generator):
        value = body.unrolled(value.tree) or made_of(body, value)
    found = items(body, value)
    if found is None and isinstance(value, Arr) and not has_star and value.dims:
        body.check(f"{value.dims[0]} == {count}", "ValueError", f"{count} values were expected")
        return tuple(arrays.row(body, value, str(i)) for i in range(count))
    if found is None and isinstance(value, Lst) and not has_star:
        body.check(f"{value.c}->count == {count}", "ValueError", f"{count} values were expected")
        return tuple(
            storage.load(body, value.list_type.item, f"{value.c}->v[{i}]", value.root)
            for i in range(count)
        )
    if found is None:
        raise body.refuse(f"{value.type} can't be unpacked")
    if not has_star and len(found) != count:
        raise body.refuse(f"{len(found)} values are unpacked into {count}")
    return found


def table(body: Body, values: Sequence[Any]) -> Callable[[str], Value] | None:
    """Returns how items of a known sequence are found by an index; None if they differ in type."""
    if not values:
        return None
    if all(isinstance(each, np.ndarray) for each in values):
        return _table_of_arrays(body, values)
    try:
        of = storage.table_type(list(values))
    except Refusal:
        return None
    assert isinstance(of, List)
    item = of.item
    if isinstance(item, Constant) or not body.program.tables.can_hold(item):
        return None
    name = body.program.tables.fixed(item, values)
    return lambda i: storage.load(body, item, f"{name}[{i}]")


def _table_of_arrays(body: Body, values: Sequence[Any]) -> Callable[[str], Value] | None:
    try:
        found = np.asarray(values)
    except ValueError:
        return None
    if found.dtype.kind not in "biuf":
        return None
    array = body.program.tables.array(found)
    return lambda i: arrays.row(body, array, i)


# ----------------------------------------------------------------------------------- making --


def list_of(body: Body, values: Sequence[Value], of: Type | None = None) -> Lst:
    """Returns a new list of these values."""
    item: Type = of or Empty()
    if of is None:
        for each in values:
            item = storage.join_items(item, storage.item_type(each))
    firsts = [next(i for i, one in enumerate(values) if one is each) for each in values]
    values = [body.kept(each) for each in values] if len(values) > 1 else values
    made = new_list(body, List(item), str(max(4, len(values))))
    for i, (each, first) in enumerate(zip(values, firsts, strict=True)):
        if first < i and body.may_change(List(item)):
            each = storage.load(body, item, f"{made.c}->v[{first}]")
        storage.store(body, item, f"{made.c}->v[{i}]", each, "an item")
    body.emit(f"{made.c}->count = {len(values)};")
    return made


def new_list(body: Body, of: List, capacity: str) -> Lst:
    """Returns a new, empty list in the memory of the call."""
    of = of.holding(of.item)
    struct = body.program.types.struct(of)
    name = body.variable("l", of)
    body.emit(f"{name} = pp_python_memory(c, sizeof({struct}));")
    body.check(f"{name} != NULL", "MemoryError", "")
    body.emit(f"{name}->count = 0;")
    body.emit(f"{name}->capacity = {capacity};")
    body.emit(f"{name}->v = pp_python_memory(c, (size_t)({capacity}) * sizeof(*{name}->v));")
    body.check(f"{name}->v != NULL", "MemoryError", "")
    return Lst(of, name)


def made_of(body: Body, generator: Generator) -> Lst:
    """Returns the list of a comprehension."""
    # the type of its items: translated once for nothing
    found: list[Type] = []

    def note(value: Value) -> None:
        found.append(storage.item_type(value))

    kept = dict(body.names), body.alive
    is_set = isinstance(generator.tree, ast.SetComp)
    with body.buffer(), body.any_order(is_set):
        repeat(body, generator, note)
    body.names, body.alive = kept
    item: Type = Empty()
    for each in found:
        item = storage.join_items(item, each)
    made = new_list(body, List(item, is_set=is_set), "8")
    with body.any_order(is_set):
        repeat(body, generator, lambda value: (add if is_set else append)(body, made, value))
    return made


def map_made_of(body: Body, tree: ast.DictComp) -> Mapping:
    """Returns the dict of a comprehension whose keys are not known."""
    pair = ast.copy_location(ast.Tuple([tree.key, tree.value], ast.Load()), tree)
    generator = Generator(ast.copy_location(ast.GeneratorExp(pair, tree.generators), tree))
    return map_of(body, lambda each: repeat(body, generator, each))


def map_of(body: Body, pairs: Callable[[Callable[[Value], None]], None]) -> Mapping:
    """Returns a new dict; pairs: calls a function where the next key and item are at hand."""
    # the types of keys and items: translated once for nothing
    of = Map(Empty(), Empty())

    def note(pair: Value) -> None:
        nonlocal of
        key, item = map(storage.item_type, unpacked(body, pair, 2, False))
        of = Map(storage.join_items(of.key, key), storage.join_items(of.item, item))

    with body.tried():
        pairs(note)
    made = new_map(body, of)
    pairs(lambda pair: set_entry(body, made, *unpacked(body, pair, 2, False)))
    return made


def repeat(body: Body, generator: Generator, each: Callable[[Value], None]) -> None:
    """Calls a function where a comprehension has its next item."""
    tree = body.scoped(generator.tree)
    outer = dict(body.names)
    bound = {
        name.id
        for clause in tree.generators
        for name in ast.walk(clause.target)
        if isinstance(name, ast.Name)
    }

    def clause(number: int) -> None:
        if number == len(tree.generators):
            each(body.value(tree.elt))
            return
        part = tree.generators[number]

        def guarded(tests: list[ast.expr]) -> None:
            if not tests:
                clause(number + 1)
                return
            found = body.condition(tests[0])

            def fits() -> None:
                body.narrow(tests[0])
                guarded(tests[1:])

            body.branch(found, fits, lambda: None)

        later = [*part.ifs, *tree.generators[number + 1 :], tree.elt]
        body.iterate(
            body.before(body.value(part.iter), later),
            lambda item: body.assign_to(part.target, item),
            lambda: guarded(part.ifs),
        )

    clause(0)
    for name in bound:
        body.names.pop(name, None)
        if name in outer:
            body.names[name] = outer[name]


def as_list(body: Body, value: Value, of: List) -> Lst:
    """Returns a value as a list whose items have a type."""
    if isinstance(value, Lst):
        same = value.list_type
        if same.item == of.item or isinstance(same.item, Empty):
            if isinstance(same.item, Empty) and same.item != of.item:
                return new_list(body, of, "8")
            is_kept = same.capacity and not of.capacity
            return _moved(body, value, of) if is_kept or _differ(same, of) else value
        made = new_list(body, of, f"{value.c}->count + 1")
        index = body.c_variable("i", "int64_t")
        with body.block(f"for ({index} = 0; {index} < {value.c}->count; {index}++) {{"):
            item = storage.load(body, same.item, f"{value.c}->v[{index}]")
            storage.store(body, of.item, f"{made.c}->v[{index}]", item, "an item")
        body.emit(f"{made.c}->count = {value.c}->count;")
        return made
    if isinstance(value, Generator):
        return as_list(body, made_of(body, value), of)
    found = items(body, value)
    if found is None:
        raise body.refuse(f"{value.type} is no list")
    return list_of(body, found, of.item)


def widened(body: Body, value: Value, wider: Wider) -> Lst:
    """Returns a list of the call's memory after its items got another type, for all its names."""
    if not isinstance(value, Lst):
        raise body.refuse(str(wider))
    if value.root is not None and value.root[0] == "parameter":
        raise Wider(value.c, wider.item)
    names = [n for n, held in body.names.items() if isinstance(held, Lst) and held.c == value.c]
    found: Value | None = _widened_part(body, value, wider)
    if found is None and not names:
        raise body.refuse(f"{value.type} gets {wider.item}: make all its items of one type")
    if found is None:
        body.assign(names[0], as_list(body, value, value.list_type.holding(wider.item)))
        found = body.names[names[0]]
    for name in names:
        body.names[name] = found
    assert isinstance(found, Lst)
    return found


def _widened_part(body: Body, value: Lst, wider: Wider) -> Lst | None:
    """Returns a list in a list or dict that has a name, after that can hold its items.

    None: it is in no such.
    """
    owner, is_part, at = value.c.rpartition("->v[")
    names = [
        name
        for name, held in body.names.items()
        if is_part and isinstance(held, (Lst, Mapping)) and held.c == owner
    ]
    if not names:
        return None
    held = body.names[names[0]]
    if isinstance(held, Mapping):
        item: Type = value.list_type.holding(wider.item)
        body.assign(names[0], as_map(body, held, held.map_type.holding(held.map_type.key, item)))
    else:
        assert isinstance(held, Lst)
        item = value.list_type.holding(wider.item)
        body.assign(names[0], as_list(body, held, held.list_type.holding(item)))
    whole = body.names[names[0]]
    for name in names:
        body.names[name] = whole
    assert isinstance(whole, (Lst, Mapping))
    found = storage.load(body, item, f"{whole.c}->v[{at}", whole.root)
    assert isinstance(found, Lst)
    return found


def _differ(one: List, other: List) -> bool:
    """Returns whether lists in the memory of a call have different structs."""
    return not one.capacity and not other.capacity and one != other


def _moved(body: Body, value: Lst, of: List) -> Lst:
    made = new_list(body, of, f"{value.c}->count + 4")
    size = f"(size_t){value.c}->count * sizeof(*{made.c}->v)"
    body.emit(f"memcpy({made.c}->v, {value.c}->v, {size});")
    body.emit(f"{made.c}->count = {value.c}->count;")
    body.items_shared(made, value)
    return made


def new_map(body: Body, of: Map) -> Mapping:
    of = of.holding(of.key, of.item)
    struct = body.program.types.struct(of)
    name = body.variable("d", of)
    body.emit(f"{name} = pp_python_memory(c, sizeof({struct}));")
    body.check(f"{name} != NULL", "MemoryError", "")
    body.emit(f"{name}->count = {name}->capacity = 0;")
    return Mapping(of, name)


def as_map(body: Body, value: Value, of: Map) -> Mapping:
    if isinstance(value, Mapping):
        return value if of.capacity or value.map_type == of else _map_moved(body, value, of)
    found = record(body, value)
    if found is None:
        raise body.refuse(f"{value.type} is no dict")
    made = new_map(body, of)
    for key, item in zip(found.keys, found.items, strict=True):
        set_entry(body, made, Fixed(key), item)
    return made


def _map_moved(body: Body, value: Mapping, of: Map) -> Mapping:
    made = new_map(body, of)
    if value.is_always_empty:
        return made
    index = body.c_variable("i", "int64_t")
    with body.block(f"for ({index} = 0; {index} < {value.c}->count; {index}++) {{"):
        key = storage.load(body, value.map_type.key, f"{value.c}->k[{index}]")
        item = storage.load(body, value.map_type.item, f"{value.c}->v[{index}]")
        set_entry(body, made, key, item)
    return made


def copied_map(body: Body, value: Mapping, *, is_plain: bool = False) -> Mapping:
    """Returns a new dict with the same items; is_plain: a dict in any case."""
    of = value.map_type
    made = _map_moved(body, value, Map(of.key, of.item) if is_plain else of)
    body.items_shared(made, value)
    return made


def copied(body: Body, value: Lst) -> Lst:
    """Returns a copy of a list."""
    made = new_list(body, value.list_type, f"{value.c}->count + 4")
    size = f"(size_t){value.c}->count * sizeof(*{made.c}->v)"
    body.emit(f"memcpy({made.c}->v, {value.c}->v, {size});")
    body.emit(f"{made.c}->count = {value.c}->count;")
    body.items_shared(made, value)
    return made


# --------------------------------------------------------------------------------- changing --


def changeable(body: Body, value: Value) -> None:
    """Raises Refusal if a list or dict can't be changed."""
    of = value.type if isinstance(value, (Lst, Mapping, Rec)) else None
    if isinstance(of, List) and of.is_tuple:
        raise body.refuse("a tuple can't be changed")
    if isinstance(of, TableRecord) or (isinstance(of, (List, Map)) and of.is_constant):
        raise body.refuse("this is the same for all environments: copy it before it is changed")
    body.changed(value)


def grow(body: Body, value: Lst, count: str = "1") -> None:
    """Makes room for more items."""
    of = value.list_type
    if of.capacity:
        body.check(
            f"{value.c}->count + {count} <= {of.capacity}",
            "MemoryError",
            f"a list of this environment holds {of.capacity} items at most: write `# at most N` in"
            " the line of __init__ that makes it",
        )
        return
    with body.block(f"if ({value.c}->count + {count} > {value.c}->capacity) {{"):
        more = body.c_variable("n", "int64_t")
        body.emit(f"{more} = 2 * ({value.c}->count + {count});")
        memory = body.c_variable("m", "void *")
        body.emit(f"{memory} = pp_python_memory(c, (size_t){more} * sizeof(*{value.c}->v));")
        body.check(f"{memory} != NULL", "MemoryError", "")
        size = f"(size_t){value.c}->count * sizeof(*{value.c}->v)"
        body.emit(f"if ({value.c}->count) memcpy({memory}, {value.c}->v, {size});")
        body.emit(f"{value.c}->v = {memory};")
        body.emit(f"{value.c}->capacity = {more};")


def append(body: Body, value: Lst, item: Value) -> None:
    of = value.list_type
    item = body.kept(item) if isinstance(item, Tup) else item
    if of.most:
        body.items_moved(value)
        with body.block(f"if ({value.c}->count == {of.most}) {{"):
            _shift_left(body, value, "0")
    grow(body, value)
    storage.store(body, of.item, f"{value.c}->v[{value.c}->count]", item, "an item")
    body.emit(f"{value.c}->count++;")


def insert(body: Body, value: Lst, at: str, item: Value) -> None:
    of = value.list_type
    kept = body.kept(item)
    body.items_moved(value)
    if of.most and at == "0":
        body.emit(f"if ({value.c}->count == {of.most}) {value.c}->count--;")
    elif of.most:
        full = f"{value.c}->count < {of.most}"
        body.check(full, "IndexError", "deque already at its maximum size")
    grow(body, value)
    body.emit(
        f"memmove({value.c}->v + {at} + 1, {value.c}->v + {at},"
        f" (size_t)({value.c}->count - {at}) * sizeof(*{value.c}->v));"
    )
    storage.store(body, of.item, f"{value.c}->v[{at}]", kept, "an item")
    body.emit(f"{value.c}->count++;")


def _shift_left(body: Body, value: Lst, at: str) -> None:
    body.items_moved(value)
    body.emit(f"{value.c}->count--;")
    body.emit(
        f"memmove({value.c}->v + {at}, {value.c}->v + {at} + 1,"
        f" (size_t)({value.c}->count - {at}) * sizeof(*{value.c}->v));"
    )


def taken(body: Body, value: Lst, at: str) -> Value:
    """Removes an item and returns it."""
    of = value.list_type
    name = body.variable("t", of.item)
    body.emit(f"{name} = {value.c}->v[{at}];")
    _shift_left(body, value, at)
    body.item_taken(value, name)
    return storage.load(body, of.item, name)


def place_in(body: Body, value: Lst, index: Value, what: str = "list") -> str:
    """Returns the C expression of an index of a list, checked."""
    at = body.c_variable("t", "int64_t")
    body.emit(f"{at} = {body.as_int(index, 'an index')};")
    body.check(
        f"pp_python_index(&{at}, {value.c}->count)", "IndexError", f"{what} index out of range"
    )
    return at


def find_item(body: Body, value: Lst, item: Value) -> str:
    """Returns a variable with the place of an item, or -1."""
    at = body.c_variable("t", "int64_t")
    index = body.c_variable("i", "int64_t")
    item = body.kept(item)
    body.emit(f"{at} = -1;")
    if isinstance(value.list_type.item, Empty):
        return at
    check_no_nan(body, item)
    with body.block(f"for ({index} = 0; {index} < {value.c}->count; {index}++) {{"):
        each = storage.load(body, value.list_type.item, f"{value.c}->v[{index}]")
        same = operators.equal(body, each, item)
        text = operators.c_truth(same)
        body.emit(f"if ({text}) {{ {at} = {index}; break; }}")
    return at


def check_no_nan(body: Body, item: Value) -> None:
    """Raises in the program if a NaN is looked for: Python finds it if it is the same object."""
    if isinstance(item, Tup):
        for each in item.items:
            check_no_nan(body, each)
        return
    number = as_number(item)
    is_number = isinstance(item, Fixed) and item.value == item.value
    if number is not None and number.number.kind == "f" and not is_number:
        text = "whether a NaN is in a list is not translated: ask math.isnan() before"
        body.check(f"!isnan({number.c})", "NotImplementedError", text)


def add(body: Body, value: Lst, item: Value) -> None:
    """set.add."""
    item = body.kept(item)
    at = find_item(body, value, item)
    with body.block(f"if ({at} < 0) {{"):
        append(body, value, item)


def find_key(body: Body, value: Mapping, key: Value) -> str:
    at = body.c_variable("t", "int64_t")
    index = body.c_variable("i", "int64_t")
    key = body.kept(key)
    body.emit(f"{at} = -1;")
    if isinstance(value.map_type.key, Empty):
        return at
    if isinstance(key, Fixed) and isinstance(key.value, str):
        key = Txt(body.program.texts.c(key))
    if isinstance(key, Txt) and value.map_type.key == Text():
        # the place that the agent has if all are there
        body.emit(f"{at} = {key.c} - 1;")
        is_there = f"{at} >= 0 && {at} < {value.c}->count && {value.c}->k[{at}] == {key.c}"
        body.emit(f"if (!({is_there}))")
        search = f"for ({at} = 0; {at} < {value.c}->count; {at}++)"
        body.emit(f"  {search} if ({value.c}->k[{at}] == {key.c}) break;")
        body.emit(f"if ({at} == {value.c}->count) {at} = -1;")
        return at
    number = as_number(key)
    if value.map_type.is_dense and number is not None and number.number.kind in "ib":
        c = cast(number.c, INT, number.number)
        body.emit(f"if ({c} >= 0 && {c} < {value.c}->count) {at} = {c};")
        return at
    with body.block(f"for ({index} = 0; {index} < {value.c}->count; {index}++) {{"):
        each = storage.load(body, value.map_type.key, f"{value.c}->k[{index}]")
        same = operators.equal(body, each, key)
        text = operators.c_truth(same)
        body.emit(f"if ({text}) {{ {at} = {index}; break; }}")
    return at


def entry(body: Body, value: Mapping, key: Value) -> str:
    """Returns the C lvalue of an entry; raises KeyError in the program if there is none."""
    at = find_key(body, value, key)
    body.check(f"{at} >= 0", "KeyError", "the key is not in the dict")
    return f"{value.c}->v[{at}]"


def wide_enough(body: Body, value: Mapping, key: Value, item: Value) -> Mapping:
    """Returns a dict that can hold a key and an item."""
    of = value.map_type
    key_type = storage.join_items(of.key, storage.item_type(key))
    item_type = storage.join_items(of.item, storage.item_type(item))
    if (unbounded(key_type), unbounded(item_type)) == (unbounded(of.key), unbounded(of.item)):
        return value
    if value.root is not None and value.root[0] == "attribute":
        body.program.attributes.widen_map(value.root[1], of, key_type, item_type)
    if value.root is not None and value.root[0] == "parameter":
        raise body.refuse("a function puts the first key into this dict: return a dict")
    names = [n for n, held in body.names.items() if isinstance(held, Mapping) and held.c == value.c]
    if names:
        body.assign(names[0], as_map(body, value, of.holding(key_type, item_type)))
        for name in names:
            body.names[name] = body.names[names[0]]
        found = body.names[names[0]]
        assert isinstance(found, Mapping)
        return found
    if value.is_always_empty:
        raise body.refuse("a key is new in this dict: set it where the dict is made")
    raise body.refuse(f"{of} gets other keys or items: make all of one type")


def update(body: Body, value: Mapping, other: Value) -> None:
    """dict.update; the dict has a name or is an attribute, if its types change."""
    found = record(body, other)
    if found is not None:
        for key, item in zip(found.keys, found.items, strict=True):
            value = wide_enough(body, value, Fixed(key), item)
            set_entry(body, value, Fixed(key), item)
        return
    if not isinstance(other, Mapping):
        raise body.refuse(f"update() with {other.type} is not translated")
    index = body.c_variable("i", "int64_t")
    key = storage.load(body, other.map_type.key, f"{other.c}->k[{index}]")
    item = storage.load(body, other.map_type.item, f"{other.c}->v[{index}]")
    value = wide_enough(body, value, key, item)
    with body.block(f"for ({index} = 0; {index} < {other.c}->count; {index}++) {{"):
        set_entry(body, value, key, item)


def set_entry(body: Body, value: Mapping, key: Value, item: Value) -> None:
    if isinstance(key, Opt) and not isinstance(value.map_type.key, (Empty, Optional)):
        key = body.plain(key)
    value = wide_enough(body, value, key, item)
    of = value.map_type
    key, item = body.kept(key), body.kept(item)
    body.items_moved(value)
    at = find_key(body, value, key)
    with body.block(f"if ({at} < 0) {{"):
        if of.capacity:
            body.check(
                f"{value.c}->count < {of.capacity}",
                "MemoryError",
                f"a dict of this environment holds {of.capacity} keys at most: write `# at most N`"
                " in the line of __init__ that makes it",
            )
        else:
            with body.block(f"if ({value.c}->count == {value.c}->capacity) {{"):
                for part in "kv":
                    memory = body.c_variable("m", "void *")
                    size = f"(size_t)(2 * {value.c}->count + 8) * sizeof(*{value.c}->{part})"
                    body.emit(f"{memory} = pp_python_memory(c, {size});")
                    body.check(f"{memory} != NULL", "MemoryError", "")
                    old = f"(size_t){value.c}->count * sizeof(*{value.c}->{part})"
                    body.emit(f"if ({value.c}->count) memcpy({memory}, {value.c}->{part}, {old});")
                    body.emit(f"{value.c}->{part} = {memory};")
                body.emit(f"{value.c}->capacity = 2 * {value.c}->count + 8;")
        body.emit(f"{at} = {value.c}->count++;")
        storage.store(body, of.key, f"{value.c}->k[{at}]", key, "a key")
    storage.store(body, of.item, f"{value.c}->v[{at}]", item, "an entry")


def set_default(body: Body, value: Mapping, key: Value, default: Value) -> Value:
    """Returns what is under a key, which is put there with a default if it is new."""
    value = wide_enough(body, value, key, default)
    key = body.kept(key)
    at = find_key(body, value, key)
    with body.block(f"if ({at} < 0) {{"):
        set_entry(body, value, key, default)
        body.emit(f"{at} = {value.c}->count - 1;")
    return storage.load(body, value.map_type.item, f"{value.c}->v[{at}]", value.root)


def remove_key(body: Body, value: Mapping, at: str) -> None:
    body.items_moved(value)
    body.emit(f"{value.c}->count--;")
    for part in "kv":
        body.emit(
            f"memmove({value.c}->{part} + {at}, {value.c}->{part} + {at} + 1,"
            f" (size_t)({value.c}->count - {at}) * sizeof(*{value.c}->{part}));"
        )


def delete(body: Body, target: ast.expr) -> None:
    """del target."""
    if isinstance(target, ast.Subscript):
        value = body.plain(body.value(target.value))
        changeable(body, value)
        if isinstance(value, Lst):
            _shift_left(body, value, place_in(body, value, body.value(target.slice)))
            return
        if isinstance(value, Mapping):
            at = find_key(body, value, body.value(target.slice))
            if value.map_type.is_counter:
                with body.block(f"if ({at} >= 0) {{"):
                    remove_key(body, value, at)
                return
            body.check(f"{at} >= 0", "KeyError", "the key is not in the dict")
            remove_key(body, value, at)
            return
    raise body.refuse("this del is not translated")


# -------------------------------------------------------------------------------- operators --


def contains(body: Body, value: Value, item: Value) -> str | bool:
    """item in value."""
    own = body.special(value, "contains", item)
    if own is not None:
        return body.truth(own)
    with body.any_order():
        return _contains(body, value, item)


def _contains(body: Body, value: Value, item: Value) -> str | bool:
    value = listed(value)
    if isinstance(value, Fixed) and isinstance(value.value, bytes) and isinstance(item, Txt):
        value = Fixed(tuple(bytes([each]) for each in value.value))
    if isinstance(value, Lst):
        return f"({find_item(body, value, body.plain(item))} >= 0)"
    if isinstance(value, Mapping):
        return f"({find_key(body, value, body.plain(item))} >= 0)"
    if isinstance(value, Span):
        if body.as_num(item).number.kind == "f":
            raise body.refuse("whether a float is in a range is not translated: compare it")
        at = body.temporary("int64_t", body.as_int(item))
        start, stop = body.as_int(value.start), body.as_int(value.stop)
        if value.step == 1:
            return f"({start} <= {at} && {at} < {stop})"
    if isinstance(value, Fixed) and hasattr(value.value, "contains"):
        # a space: the engine has checked the action
        return body.program.space_contains(body, value.value, item)
    if isinstance(value, Fixed) and isinstance(item, Fixed):
        return bool(item.value in value.value)
    if isinstance(value, Txt) and isinstance(item, Fixed) and isinstance(item.value, str):
        return texts.has(body, value, item.value)
    if isinstance(item, Txt) and (known := known_texts(value)) is not None:
        return f"({texts.place(body, item, known)} >= 0)"
    if isinstance(value, Arr):
        number = as_number(body.plain(item))
        if number is not None:
            same = arrays.elementwise(
                body, [value, number], lambda a, b: Num(INT, operators.compared("==", a, b))
            )
            found = reductions.any_or_all(body, same, True)
            assert isinstance(found, Num)
            return found.c
    found_items = items(body, value)
    if found_items is None:
        raise body.refuse(f"`in` {value.type} is not translated")
    result: str | bool = False
    kept = body.kept(item)
    check_no_nan(body, kept)
    for each in found_items:
        if isinstance(each, Fixed) and each.value is None:
            same_none = operators.compare(body, ast.Is(), kept, each)
            result = operators.either(body, result, operators.truth(body, same_none))
            continue
        result = operators.either(body, result, operators.equal(body, each, kept))
    return result


def kind_of(value: Value) -> str:
    """Returns which kind of sequence a value is: those of different kinds are never equal."""
    if isinstance(value, Lst):
        return value.list_type.kind
    if isinstance(value, displays.ListDisplay):
        return "list"
    if isinstance(value, Tup):
        return "tuple"
    if isinstance(value, Fixed):
        of = type(value.value)
        kinds = {list: "list", tuple: "tuple", set: "set", frozenset: "set", deque: "deque"}
        return next((kind for cls, kind in kinds.items() if issubclass(of, cls)), "")
    return ""


def lists_equal(body: Body, one: Value, other: Value) -> str | bool:
    a = one if isinstance(one, Lst) else as_list(body, one, other.list_type)  # type: ignore[attr-defined]
    b = other if isinstance(other, Lst) else as_list(body, other, a.list_type)
    if a.list_type.is_set or b.list_type.is_set:
        return _sets_equal(body, a, b)
    found, index = body.c_variable("t", "bool"), body.c_variable("i", "int64_t")
    body.emit(f"{found} = {a.c}->count == {b.c}->count;")
    with body.block(f"for ({index} = 0; {found} && {index} < {a.c}->count; {index}++) {{"):
        mine = storage.load(body, a.list_type.item, f"{a.c}->v[{index}]")
        theirs = storage.load(body, b.list_type.item, f"{b.c}->v[{index}]")
        same = operators.equal(body, mine, theirs)
        text = operators.c_truth(same)
        body.emit(f"{found} = {text};")
    return found


def _sets_equal(body: Body, one: Lst, other: Lst) -> str:
    found, index = body.c_variable("t", "bool"), body.c_variable("i", "int64_t")
    body.emit(f"{found} = {one.c}->count == {other.c}->count;")
    with body.block(f"for ({index} = 0; {found} && {index} < {one.c}->count; {index}++) {{"):
        item = storage.load(body, one.list_type.item, f"{one.c}->v[{index}]")
        body.emit(f"{found} = {find_item(body, other, item)} >= 0;")
    return found


def binary(body: Body, op: ast.operator, one: Value, other: Value) -> Value:
    """+ and * of tuples and lists."""
    if isinstance(op, ast.Mult):
        if not isinstance(one, (Lst, Tup)) and not (
            isinstance(one, Fixed) and isinstance(one.value, (list, tuple, str))
        ):
            one, other = other, one
        if isinstance(other, Fixed) and isinstance(one, Tup):
            return displays.like(one, one.items * int(other.value))
        if isinstance(one, Lst):
            return _repeated(body, one, body.as_int(other))
        known = items(body, one)
        if known is not None:
            return _repeated(body, list_of(body, known), body.as_int(other))
    if isinstance(op, ast.Add):
        mine, theirs = items(body, one), items(body, other)
        tuples = (Tup, Fixed)
        are_short = isinstance(one, tuples) and isinstance(other, tuples)
        if are_short and mine is not None and theirs is not None:
            return displays.like(one, (*mine, *theirs))
        a = one if isinstance(one, Lst) else None
        b = other if isinstance(other, Lst) else None
        if a is None and b is not None:
            a = _listed_with(body, one, b)
        if b is None and a is not None:
            b = _listed_with(body, other, a)
        if a is not None and b is not None:
            item = storage.join_items(a.list_type.item, b.list_type.item)
            made = copied(body, as_list(body, a, List(item)))
            extend(body, made, as_list(body, b, List(item)))
            return made
    if isinstance(op, (ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub)) and isinstance(one, Lst):
        theirs_set = _listed_with(body, other, one)
        if isinstance(op, ast.BitXor):
            both = [
                _of_sets(body, ast.Sub(), *pair) for pair in ((one, theirs_set), (theirs_set, one))
            ]
            return _of_sets(body, ast.BitOr(), *both)
        return _of_sets(body, op, one, theirs_set)
    sign = ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))[2:-2]
    raise body.refuse(f"{one.type} {sign} {other.type} is not translated")


def _listed_with(body: Body, value: Value, other: Lst) -> Lst:
    """Returns a value as a list that is joined with another one."""
    item = other.list_type.item
    found = items(body, value)
    for each in found or ():
        item = storage.join_items(item, storage.item_type(each))
    return as_list(body, value, other.list_type if found is None else List(item))


def _repeated(body: Body, one: Lst, count: str) -> Lst:
    times = body.temporary("int64_t", count)
    body.emit(f"if ({times} < 0) {times} = 0;")
    made = new_list(body, one.list_type, f"{one.c}->count * {times} + 1")
    body.items_shared(made, one)
    body.items_shared(made, made)
    index = body.c_variable("i", "int64_t")
    with body.block(f"for ({index} = 0; {index} < {times} * {one.c}->count; {index}++) {{"):
        body.emit(f"{made.c}->v[{index}] = {one.c}->v[{index} % {one.c}->count];")
    body.emit(f"{made.c}->count = {times} * {one.c}->count;")
    return made


def _of_sets(body: Body, op: ast.operator, one: Lst, other: Lst) -> Lst:
    made = new_list(body, one.list_type, f"{one.c}->count + {other.c}->count + 1")
    index = body.c_variable("i", "int64_t")
    with body.block(f"for ({index} = 0; {index} < {one.c}->count; {index}++) {{"):
        item = storage.load(body, one.list_type.item, f"{one.c}->v[{index}]")
        if isinstance(op, ast.BitOr):
            append(body, made, item)
        else:
            sign = ">=" if isinstance(op, ast.BitAnd) else "<"
            at = find_item(body, other, item)
            with body.block(f"if ({at} {sign} 0) {{"):
                append(body, made, item)
    if isinstance(op, ast.BitOr):
        with body.block(f"for ({index} = 0; {index} < {other.c}->count; {index}++) {{"):
            add(body, made, storage.load(body, other.list_type.item, f"{other.c}->v[{index}]"))
    return made


def extend(body: Body, value: Lst, other: Lst) -> None:
    count = body.temporary("int64_t", f"{other.c}->count")
    index = body.c_variable("i", "int64_t")
    with body.block(f"for ({index} = 0; {index} < {count}; {index}++) {{"):
        append(body, value, storage.load(body, other.list_type.item, f"{other.c}->v[{index}]"))
