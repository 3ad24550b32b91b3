"""Elements: what a subscript reads, of arrays, lists, dicts and texts."""

from __future__ import annotations

import ast
import enum
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    containers,
    defaults,
    displays,
    indexing,
    numpy_arrays,
    operators,
    python_calls,
    reset_options,
    storage,
    texts,
)
from parallel_pool._translator.choice import Choice
from parallel_pool._translator.displays import ListDisplay
from parallel_pool._translator.types import INT, Constant
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Flat,
    Functions,
    Lst,
    Mapping,
    Mem,
    Num,
    Options,
    Rec,
    Tup,
    Txt,
    Uni,
    Value,
    as_number,
    cast,
    is_function,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def indices_of(body: Body, tree: ast.expr) -> list[Any]:
    """Returns the indices of a subscript: values, slices of values, None and Ellipsis."""
    trees = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    found: list[Any] = []
    for i, each in enumerate(trees):
        if isinstance(each, ast.Slice):
            found.append(
                slice(
                    *(
                        None if part is None else body.kept(body.value(part))
                        for part in (each.lower, each.upper, each.step)
                    )
                )
            )
            continue
        if isinstance(each, ast.Starred):
            items = body.items(body.value(each.value))
            if items is None:
                raise body.refuse("this index is not translated")
            found.extend(items)
            continue
        value = body.value(each)
        is_known = isinstance(value, Fixed)
        if is_known and (value.value is None or value.value is Ellipsis):  # type: ignore[attr-defined]
            found.append(value.value)  # type: ignore[attr-defined]
        else:
            found.append(body.before(value, trees[i + 1 :]))
    return found


def spread(body: Body, index: list[Any]) -> list[Any]:
    """array[a_tuple] is array[its, items]."""
    index = [body.plain(each) if isinstance(each, Value) else each for each in index]
    if len(index) == 1 and isinstance(index[0], Tup) and not isinstance(index[0], ListDisplay):
        return list(index[0].items)
    if len(index) == 1 and isinstance(index[0], Fixed) and isinstance(index[0].value, tuple):
        return [Fixed(each) for each in index[0].value]
    return [
        Num(INT, as_number(each).c) if isinstance(each, Mem) else each  # type: ignore[union-attr]
        for each in index
    ]


def subscript(body: Body, tree: ast.Subscript) -> Value:
    value = body.before(body.plain(body.value(tree.value)), [tree.slice])
    if isinstance(value, Fixed) and value.value is np.r_:
        parts = [body.array(each) for each in indices_of(body, tree.slice)]
        return numpy_arrays.in_a_row(body, parts)
    if isinstance(value, Fixed) and (
        isinstance(value.value, (type, types.GenericAlias))
        and not isinstance(value.value, enum.EnumMeta)
    ):
        return value
    return element(body, value, indices_of(body, tree.slice))


def element(body: Body, value: Value, index: list[Any]) -> Value:
    """Returns value[index]."""
    if isinstance(value, Uni):
        return body.spread([value], lambda given: element(body, given[0], list(index)))
    if isinstance(value, Fixed) and isinstance(value.value, np.ndarray):
        if value.value.dtype.str in ("<U1", "|S1"):
            return _character(body, value.value, spread(body, index))
        value = body.program.tables.array(value.value)
    if isinstance(value, Arr):
        return indexing.subscript(body, value, spread(body, index))
    if isinstance(value, Options):
        return reset_options.item(body, value, index[0])
    if len(index) == 1 and isinstance(index[0], slice):
        return _slice_of(body, value, index[0])
    key = index[0] if len(index) == 1 else Tup(tuple(index))
    if key is None:
        key = Fixed(None)
    if not isinstance(key, Value):
        raise body.refuse("this index is not translated")
    is_dict = isinstance(value, Rec) or (isinstance(value, Fixed) and isinstance(value.value, dict))
    displays.check_read(body, value)
    own = body.special(value, "getitem", key)
    if own is not None:
        return own
    if isinstance(value, Rec) and value.cls is not None:
        raise body.refuse(f"{value.cls.__name__} has no __getitem__")
    key = key if is_dict else body.plain(key)
    if isinstance(value, Lst):
        at = containers.place_in(body, value, key)
        return storage.load(body, value.list_type.item, f"{value.c}->v[{at}]", value.root)
    if isinstance(value, Mapping) and value.map_type.missing is not None:
        return defaults.item(body, value, key)
    if isinstance(value, Mapping):
        place = containers.entry(body, value, key)
        return storage.load(body, value.map_type.item, place, value.root)
    known = None
    if isinstance(value, (Rec,)):
        known = value
    elif isinstance(value, Fixed) and isinstance(value.value, dict):
        return _of_known_dict(body, value.value, key)
    if known is not None:
        return _entry(body, known, key)
    if isinstance(value, Fixed) and isinstance(value.value, enum.EnumMeta):
        if isinstance(key, Fixed):
            return Fixed(value.value[key.value])
        raise body.refuse("a member of an enum by a name that changes is not translated")
    return _item(body, value, key)


def _character(body: Body, letters: Any, index: list[Any]) -> Value:
    code = {"U": str, "S": bytes}[letters.dtype.kind]
    codes = np.vectorize(lambda each: int(body.program.texts.c(Fixed(code(each)))))(letters)
    found = indexing.subscript(body, body.program.tables.array(codes.astype(np.int32)), index)
    if isinstance(found, Num):
        return Txt(found.c)
    raise body.refuse("a part of an array of letters is not translated")


def _item(body: Body, value: Value, key: Value) -> Value:
    if isinstance(value, Fixed) and isinstance(key, Fixed):
        try:
            return Fixed(value.value[key.value])
        except (IndexError, KeyError, TypeError) as error:
            raise body.refuse(f"{type(error).__name__}: {error}") from None
    if isinstance(value, Fixed) and isinstance(value.value, str):
        value = Fixed(tuple(value.value))
    if isinstance(value, Txt):
        return _letter(body, value, key)
    if isinstance(value, texts.Parts):
        return texts.part(body, value, key)
    items = body.items(value)
    if items is None:
        raise body.refuse(f"an element of {value.type} is not translated")
    if isinstance(key, Fixed):
        try:
            found: Value = items[key.value]
            return found
        except IndexError:
            body.fail("IndexError", "index out of range")
            return items[0]
    if isinstance(value, Fixed) and isinstance(value.value, (tuple, list)):
        table = containers.table(body, value.value)
        if table is not None:
            at = body.c_variable("t", "int64_t")
            body.emit(f"{at} = {body.as_int(key, 'an index')};")
            body.check(
                f"pp_python_index(&{at}, {len(items)})",
                "IndexError",
                f"{type(value.value).__name__} index out of range",
            )
            return table(at)
    if items and all(map(is_function, items)):
        at = body.temporary("int64_t", body.as_int(key, "an index"))
        inside = f"pp_python_index(&{at}, {len(items)})"
        body.check(inside, "IndexError", "index out of range")
        return Functions(items, at)
    made = containers.list_of(body, items)
    at = containers.place_in(body, made, key, "list" if isinstance(value, ListDisplay) else "tuple")
    return storage.load(body, made.list_type.item, f"{made.c}->v[{at}]")


def _letter(body: Body, value: Txt, key: Value) -> Value:
    at = body.as_int(key, "an index")
    return Txt(body.temporary("int32_t", body.program.texts.letter(body, value.c, at)))


def _entry(body: Body, value: Rec, key: Value) -> Value:
    if isinstance(key, Fixed):
        for known, item in zip(value.keys, value.items, strict=True):
            if (known == key.value and type(known) is type(key.value)) or known == key.value:
                return item
        raise body.refuse(f"the dict has no key {key.value!r}")
    if isinstance(key, Txt) and value.place and value.stored is not None:
        at = body.temporary("int64_t", texts.place(body, key, value.keys))
        row = row_place(body, value, at)
        if row is not None:
            body.check(f"{at} >= 0", "KeyError", "the key is not in the dict")
            return storage.load(body, value.stored.items[0], row, value.root)
    return by_key(body, value.keys, value.items, key, None)


def _of_known_dict(body: Body, value: dict[Any, Any], key: Value) -> Value:
    if isinstance(key, Fixed):
        if key.value in value:
            return Fixed(value[key.value])
        raise body.refuse(f"the dict has no key {key.value!r}")
    return by_key(body, tuple(value), tuple(Fixed(each) for each in value.values()), key, None)


def by_key(
    body: Body, keys: Sequence[Any], items: Sequence[Value], key: Value, default: Value | None
) -> Value:
    """Returns the item of a key that is not known before."""
    at = body.c_variable("t", "int64_t")
    number = as_number(key)
    if isinstance(key, Mem):
        number = None
    if isinstance(key, Txt) and all(isinstance(each, str) for each in keys):
        body.emit(f"{at} = {texts.place(body, key, keys)};")
        return _by_place(body, at, items, default)
    dense = all(isinstance(each, (int, np.integer)) for each in keys) and [
        int(each) for each in keys
    ] == list(range(len(keys)))
    if number is not None and dense and number.number.kind in "iub":
        body.emit(f"{at} = {cast(number.c, INT, number.number)};")
        body.emit(f"if ({at} < 0 || {at} >= {len(keys)}) {at} = -1;")
    else:
        kept = body.kept(key)
        body.emit(f"{at} = -1;")
        for i, each in enumerate(keys):
            if each is None:
                same = body.truth(operators.compare(body, ast.Is(), kept, Fixed(None)))
            else:
                same = operators.truth(body, operators.compare(body, ast.Eq(), kept, Fixed(each)))
            if same is False:
                continue
            text = "true" if same is True else same
            body.emit(f"if ({at} < 0 && {text}) {at} = {i};")
    return _by_place(body, at, items, default)


def _by_place(body: Body, at: str, items: Sequence[Value], default: Value | None) -> Value:
    """Returns an item by its place; -1: the key is not there."""
    if default is None:
        body.check(f"{at} >= 0", "KeyError", "the key is not in the dict")
        if items and all(map(is_function, items)):
            return Functions(tuple(items), at)
    if all(isinstance(each, Fixed) for each in items):
        found = containers.table(body, [each.value for each in items])  # type: ignore[attr-defined]
        if found is not None and default is None:
            return found(at)
        if found is not None:
            result = Choice(body)
            result.branch(f"({at} >= 0)", lambda: found(at), lambda: default)
            return result.value()
    if not items:
        return default if default is not None else Fixed(None)
    return _switch(body, at, list(items), default)


def _switch(body: Body, at: str, items: list[Value], default: Value | None) -> Value:
    if len(items) == 1 and default is None:
        return items[0]
    result = Choice(body)
    if not items:
        assert default is not None
        return default
    last = len(items) - 1
    result.branch(
        f"({at} == {last})",
        lambda: items[last],
        lambda: _switch(body, at, items[:-1], default),
    )
    return result.value()


def bounds(body: Body, value: Lst, tree: ast.Slice) -> tuple[str, str]:
    """Returns the first item and the number of items of a slice of a list."""
    parts = [None if each is None else body.value(each) for each in (tree.lower, tree.upper)]
    return _bounds(body, value, slice(*parts))


def _bounds(body: Body, value: Lst, given: slice) -> tuple[str, str]:
    def bound(each: Value | None, default: str) -> str:
        if each is None:
            return default
        c = body.as_int(each, "the bound of a slice")
        return body.temporary("int64_t", f"pp_python_bound({c}, {value.c}->count)")

    first, last = bound(given.start, "0"), bound(given.stop, f"{value.c}->count")
    return first, body.temporary("int64_t", f"{last} > {first} ? {last} - {first} : 0")


def _slice_of(body: Body, value: Value, given: slice) -> Value:
    if isinstance(value, Txt):
        return texts.piece(body, value, given)
    bounds = (given.start, given.stop, given.step)
    if isinstance(value, (Tup, Fixed)) and all(
        each is None or isinstance(each, Fixed) for each in bounds
    ):
        part = slice(*(None if each is None else each.value for each in bounds))
        if isinstance(value, Fixed):
            return Fixed(value.value[part])
        cls = ListDisplay if isinstance(value, ListDisplay) else None
        return ListDisplay(value.items[part]) if cls else Tup(value.items[part])
    if not isinstance(value, Lst):
        items = body.items(value)
        if items is None:
            raise body.refuse(f"a slice of {value.type} is not translated")
        value = containers.list_of(body, items)
    step = 1 if given.step is None else body.known(given.step, "the step of a slice")
    if step == -1 and given.start is None and given.stop is None:
        return python_calls.list_from(body, Flat("reversed", (value,)))
    if step != 1:
        raise body.refuse("a slice of a list with a step is not translated")

    first, count = _bounds(body, value, given)
    made = containers.new_list(body, value.list_type, f"{count} + 1")
    body.emit(
        f"memcpy({made.c}->v, {value.c}->v + {first}, (size_t){count} * sizeof(*{made.c}->v));"
    )
    body.emit(f"{made.c}->count = {count};")
    body.items_shared(made, value)
    return made


def row_place(body: Body, owner: Rec, at: str) -> str | None:
    """Returns the C lvalue of an entry by its place; None if the entries are of several types."""
    assert owner.stored is not None
    of = owner.stored.items[0]
    if isinstance(of, Constant) or any(each != of for each in owner.stored.items):
        return None
    # members of one type lie in memory like the elements of an array
    return f"(({body.program.types.c(of)} *)&{owner.place})[{at}]"
