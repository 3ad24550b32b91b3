"""Calls of methods of values: of lists, sets, dicts, texts, arrays and generators."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from parallel_pool._translator import (
    containers,
    defaults,
    numpy_arguments,
    numpy_methods,
    operators,
    ordering,
    random_draws,
    reset_options,
    storage,
    texts,
)
from parallel_pool._translator.arguments import bound
from parallel_pool._translator.choice import Choice
from parallel_pool._translator.displays import EmptyDict, ListDisplay, is_empty_info
from parallel_pool._translator.refusal import Dead, Wider
from parallel_pool._translator.types import BOOL, INT, Empty, List, unbounded
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Flat,
    Lst,
    Mapping,
    Method,
    Num,
    Options,
    Rec,
    Rng,
    Tup,
    Txt,
    Value,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


HELD = (dict, list, tuple, frozenset)


# of the methods of lists, deques and sets, dicts, and texts
METHODS = {
    "append": "item",
    "add": "item",
    "appendleft": "item",
    "insert": "index item",
    "extend": "iterable",
    "update": "* | **",
    "pop": "index? default?",
    "popleft": "",
    "clear": "",
    "remove": "item",
    "discard": "item",
    "index": "item",
    "count": "item",
    "copy": "",
    "sort": "| key reverse",
    "reverse": "",
    "keys": "",
    "values": "",
    "items": "",
    "get": "key default?",
    "setdefault": "key default",
    "total": "",
    "most_common": "n?",
}


def extend_with(body: Body, value: Lst, other: Value) -> None:
    """list.extend."""
    if isinstance(other, Lst):
        if other.c == value.c:
            other = containers.copied(body, other)
        containers.extend(body, value, other)
        return
    body.each_item(other, lambda item: containers.append(body, value, item))


def update_set(body: Body, value: Lst, other: Value) -> None:
    """set.update."""
    with body.any_order():
        value = _extended(body, value, other)
        body.each_item(other, lambda item: containers.add(body, value, item))


def method(
    body: Body,
    method: Method,
    given: list[Value],
    keywords: dict[str, Value],
    tree: ast.Call | None,
) -> Value:
    value, name = body.plain(method.receiver), method.name
    if isinstance(value, Options):
        return reset_options.method(body, value, name, given, keywords)
    if reset_options.option_of(value):
        raise body.refuse(f"{name}() of an option of reset() is not translated: it is a number")
    if isinstance(value, Rng):
        body.program.draw_from(body, value)
        return random_draws.draw(body, name, given, keywords)
    if isinstance(value, Arr):
        return numpy_methods.method(body, value, name, given, keywords)
    if isinstance(value, Num):
        if name in ("item", "copy"):
            if name == "copy":
                return value
            return numpy_arguments.as_python(value)
        if name == "astype":
            return numpy_arguments.scalar(body, given[0], value)
        if name == "is_integer":
            return Num(BOOL, f"(floor({value.c}) == {value.c})")
        return numpy_methods.method(body, body.array(value), name, given, keywords)
    given, keywords = bound(body, METHODS.get(name, "* | **"), given, keywords)
    if name in CHANGES:
        containers.changeable(body, value)
    if isinstance(value, Lst):
        return _of_list(body, value, name, given, keywords)
    owner = tree.func.value if tree is not None and isinstance(tree.func, ast.Attribute) else None
    if name == "update" and isinstance(owner, ast.Name) and is_empty_info(body, owner, value):
        value = body.names[owner.id] = EmptyDict()
    if isinstance(value, Mapping):
        return _of_map(body, value, name, given)
    if (isinstance(value, Fixed) and isinstance(value.value, dict)) or isinstance(value, Rec):
        return _of_dict(body, value, name, given, keywords, tree)
    if isinstance(value, Fixed) and isinstance(value.value, np.ndarray):
        return numpy_methods.method(body, body.array(value), name, given, keywords)
    if isinstance(value, Fixed) and isinstance(value.value, list) and name in CHANGES:
        owner = (
            tree.func.value if tree is not None and isinstance(tree.func, ast.Attribute) else None
        )
        constant_name = (
            body.program.attributes.constant_name(body, owner) if owner is not None else None
        )
        if constant_name is not None:
            body.program.attributes.add_state(constant_name)
        raise body.refuse("this list is the same for all environments: copy it first")
    if isinstance(value, Txt):
        return texts.method(body, value, name, given)
    if isinstance(value, (Tup, Fixed)) and name in CHANGES:
        return _of_display(body, value, name, given, keywords, tree)
    known_texts = containers.known_texts(value)
    if name == "index" and known_texts is not None and isinstance(given[0], Txt):
        at = body.temporary("int64_t", texts.place(body, given[0], known_texts))
        body.check(f"{at} >= 0", "ValueError", "the item is not in the list")
        return Num(INT, at)
    if isinstance(value, (Tup, Fixed)) and name in ("index", "count"):
        made = containers.list_of(body, body.items(value) or ())
        return _of_list(body, made, name, given, keywords)
    if isinstance(value, (Tup, Fixed)) and name == "copy":
        return value
    if isinstance(value, Fixed) and not isinstance(value.value, (str, *HELD)):
        return body.apply(Fixed(getattr(value.value, name)), given, keywords)
    raise body.refuse(
        f"{name}() of {value.type}, with values that change, is not translated: write a loop"
    )


CHANGES = (
    *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "appendleft"),
    *("popleft", "rotate", "add", "discard", "update", "popitem", "setdefault", "extendleft"),
)


def _of_display(
    body: Body,
    value: Value,
    name: str,
    given: list[Value],
    keywords: dict[str, Value],
    tree: ast.Call | None,
) -> Value:
    """A method that changes a list that was only written down so far: it is made now."""
    owner = tree.func.value if tree is not None and isinstance(tree.func, ast.Attribute) else None
    if not isinstance(owner, ast.Name):
        raise body.refuse(f"{name}() of {value.type} is not translated")
    if isinstance(value, ListDisplay):
        found = body.listed(owner.id)
    else:
        body.assign(owner.id, containers.list_of(body, body.items(value) or ()))
        found = body.look_up(owner.id)
    assert isinstance(found, Lst)
    return _of_list(body, found, name, given, keywords)


def _grown(body: Body, value: Lst, item: Value) -> Lst:
    """Tells the program that a list has items of another type; returns the list."""
    of = value.list_type
    wanted = storage.join_items(of.item, storage.item_type(item))
    if unbounded(wanted) == unbounded(of.item):
        return value
    if value.root is not None and value.root[0] == "attribute":
        body.program.attributes.widen_list(value.root[1], of, wanted)
    return containers.widened(body, value, Wider(value.c, wanted))


def _of_list(
    body: Body, value: Lst, name: str, given: list[Value], keywords: dict[str, Value]
) -> Value:
    of = value.list_type
    none = Fixed(None)
    if name in ("append", "add", "appendleft", "insert"):
        value = _grown(body, value, given[-1])
    if name == "append":
        containers.append(body, value, given[0])
        return none
    if name == "add":
        containers.add(body, value, given[0])
        return none
    if name == "appendleft":
        containers.insert(body, value, "0", given[0])
        return none
    if name == "insert":
        at = body.temporary(
            "int64_t", f"pp_python_bound({body.as_int(given[0])}, {value.c}->count)"
        )
        containers.insert(body, value, at, given[1])
        return none
    if name in ("extend", "update"):
        for other in given:
            other = body.plain(other)
            if of.is_set or name == "update":
                update_set(body, value, other)
            else:
                extend_with(body, _extended(body, value, other), other)
        return none
    if name in ("pop", "popleft"):
        body.check_order(value)
        empty = f"pop from an empty {_kind(of)}"
        if value.is_always_empty:
            raise Dead(empty)
        body.check(f"{value.c}->count > 0", "IndexError", empty)
        if name == "popleft":
            return containers.taken(body, value, "0")
        if given:
            return containers.taken(body, value, containers.place_in(body, value, given[0], "pop"))
        result = body.variable("t", of.item)
        body.items_moved(value)
        body.emit(f"{result} = {value.c}->v[--{value.c}->count];")
        body.item_taken(value, result)
        return storage.load(body, of.item, result)
    if name in ("clear", "sort", "reverse"):
        body.items_moved(value)
    if name == "clear":
        body.emit(f"{value.c}->count = 0;")
        return none
    if name in ("remove", "discard"):
        at = containers.find_item(body, value, body.plain(given[0]))
        if name == "remove":
            body.check(f"{at} >= 0", "KeyError" if of.is_set else "ValueError", "not in the list")
        with body.block(f"if ({at} >= 0) {{"):
            containers._shift_left(body, value, at)
        return none
    if name == "index":
        at = containers.find_item(body, value, body.plain(given[0]))
        body.check(f"{at} >= 0", "ValueError", "the item is not in the list")
        return Num(INT, at)
    if name == "count":
        count, index = body.c_variable("n", "int64_t"), body.c_variable("i", "int64_t")
        item = body.kept(given[0])
        body.emit(f"{count} = 0;")
        with body.block(f"for ({index} = 0; {index} < {value.c}->count; {index}++) {{"):
            each = storage.load(body, of.item, f"{value.c}->v[{index}]")
            same = operators.equal(body, each, item)
            body.emit(f"{count} += {'1' if same is True else '0' if same is False else same};")
        return Num(INT, count)
    if name == "copy":
        return containers.copied(body, value)
    if name == "sort":
        ordering.sort(body, value, keywords)
        return none
    if name == "reverse":
        i = body.c_variable("i", "int64_t")
        kept = body.variable("t", of.item)
        with body.block(f"for ({i} = 0; {i} < {value.c}->count / 2; {i}++) {{"):
            body.emit(f"{kept} = {value.c}->v[{i}];")
            body.emit(f"{value.c}->v[{i}] = {value.c}->v[{value.c}->count - 1 - {i}];")
            body.emit(f"{value.c}->v[{value.c}->count - 1 - {i}] = {kept};")
        return none
    if name == "rotate":
        raise body.refuse("rotate() is not translated")
    raise body.refuse(f"{name}() of {of} is not translated")


def _extended(body: Body, value: Lst, other: Value) -> Lst:
    """Returns the list after its type was widened for the items of another."""
    kinds: list[Value] = []
    with body.tried():
        body.each_item(other, kinds.append)
    for item in kinds[:1]:
        with body.buffer():
            wanted = storage.join_items(value.list_type.item, storage.item_type(item))
        if unbounded(wanted) != unbounded(value.list_type.item):
            return _grown(body, value, item)
    return value


def _kind(of: List) -> str:
    return "set" if of.is_set else "deque" if of.is_deque else "list"


def _of_map(body: Body, value: Mapping, name: str, given: list[Value]) -> Value:
    of = value.map_type
    if of.is_counter and (own := defaults.method(body, value, name, given)) is not None:
        return own
    if name in ("keys", "values", "items"):
        return Flat(name, (value,))
    if name == "setdefault":
        return containers.set_default(body, value, *given)
    if name in ("get", "pop"):
        if isinstance(of.key, Empty):
            return given[1] if len(given) > 1 else Fixed(None)
        at = containers.find_key(body, value, given[0])
        if name == "pop" and len(given) < 2:
            body.check(f"{at} >= 0", "KeyError", "the key is not in the dict")
            result = body.variable("t", of.item)
            body.emit(f"{result} = {value.c}->v[{at}];")
            containers.remove_key(body, value, at)
            body.item_taken(value, result)
            return storage.load(body, of.item, result)
        default = given[1] if len(given) > 1 else Fixed(None)
        chosen = Choice(body)
        chosen.branch(
            f"({at} >= 0)",
            lambda: storage.load(body, of.item, f"{value.c}->v[{at}]", value.root),
            lambda: default,
        )
        if name == "pop":
            with body.block(f"if ({at} >= 0) {{"):
                containers.remove_key(body, value, at)
        return chosen.value()
    if name == "clear":
        body.items_moved(value)
        body.emit(f"{value.c}->count = 0;")
        return Fixed(None)
    if name == "copy":
        return containers.copied_map(body, value)
    if name == "update" and len(given) == 1:
        containers.update(body, value, body.plain(given[0]))
        return Fixed(None)
    raise body.refuse(f"{name}() of a dict is not translated")


def _of_dict(
    body: Body,
    value: Value,
    name: str,
    given: list[Value],
    keywords: dict[str, Value],
    tree: ast.Call | None,
) -> Value:
    held = body.record(value)
    assert held is not None
    if name in ("keys", "values", "items"):
        return Flat(name, (value,))
    if name == "get":
        default = given[1] if len(given) > 1 else Fixed(None)
        if isinstance(given[0], Fixed):
            for key, item in zip(held.keys, held.items, strict=True):
                if key == given[0].value:
                    return item
            return default
        return body.by_key(held.keys, held.items, body.plain(given[0]), default)
    if name == "copy":
        return Rec(held.keys, tuple(body.kept(each) for each in held.items))
    if name == "update":
        other = body.record(body.plain(given[0])) if given else Rec((), ())
        if other is None:
            raise body.refuse("update() with this is not translated")
        owner = (
            tree.func.value if tree is not None and isinstance(tree.func, ast.Attribute) else None
        )
        assert owner is not None
        entries = {**dict(zip(other.keys, other.items, strict=True)), **keywords}
        for key, item in entries.items():
            now = body.plain(body.value(owner))
            assert isinstance(now, Rec)
            body.set_key(owner, now, key, item)
        return Fixed(None)
    raise body.refuse(f"{name}() of a dict is not translated")
