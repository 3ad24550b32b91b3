"""Assignment: what is assigned to attributes and elements, and what augments them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    aliasing,
    containers,
    defaults,
    displays,
    elements,
    indexing,
    methods,
    numpy_arrays,
    objects,
    open_dicts,
    operators,
    order,
    storage,
    texts,
)
from parallel_pool._translator.displays import EmptyDict, ListDisplay
from parallel_pool._translator.types import OpenDict, Record, unbounded
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Flat,
    Lst,
    Mapping,
    Num,
    Rec,
    Self,
    Tup,
    Txt,
    Uni,
    Value,
    as_number,
    is_number,
    kept_type,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def assign_place(body: Body, target: ast.expr, value: Value) -> None:
    """Assigns to an attribute or an element."""
    if isinstance(target, ast.Attribute):
        value = body.before(value, [target.value])
        owner = body.value(target.value)
        if isinstance(owner, Self):
            body.program.attributes.assign(body, target.attr, value)
            return
        owner = body.plain(owner)
        if isinstance(owner, Rec) and owner.cls is not None and owner.place:
            if target.attr not in owner.keys:
                raise body.refuse(f"{owner.cls.__name__} has no field {target.attr}")
            at = owner.keys.index(target.attr)
            owner = _wide_enough(body, target.value, owner, at, value)
            assert owner.stored is not None
            body.changed(owner)
            body.items_moved(owner)
            storage.store(body, owner.stored.items[at], f"{owner.place}.f{at}", value, target.attr)
            return
        raise body.refuse(f"an attribute of {owner.type} can't be assigned")
    if not isinstance(target, ast.Subscript):
        raise body.refuse(f"`{ast.unparse(target)}` can't be assigned")
    owner_tree = target.value
    value = body.before(value, [owner_tree, target.slice])
    owner = body.before(body.plain(body.value(owner_tree)), [target.slice])
    owner = _changeable(body, owner_tree, owner)
    if isinstance(owner, Flat) and owner.kind == "flat":
        array = owner.parts[0]
        assert isinstance(array, Arr)
        indexing.writable(body, array)
        flat = numpy_arrays.flattened(body, array)
        indexing.assign(body, flat, elements.indices_of(body, target.slice), value)
        return
    if is_number(value):
        value = body.kept(value)
    index = elements.indices_of(body, target.slice)
    if isinstance(owner, Uni):
        body.each_type(owner, lambda array: _assign_element(body, array, index, value))
        return
    if isinstance(owner, Arr):
        _assign_element(body, owner, index, value)
        return
    key = index[0] if len(index) == 1 else Tup(tuple(index))
    word = key.value if isinstance(key, Fixed) else None
    if isinstance(word, str) and open_dicts.set_key(body, owner_tree, owner, word, value):
        return
    if isinstance(owner, Rec) and owner.cls not in (None, OpenDict):
        if not isinstance(key, Value) or body.special(owner, "setitem", key, value) is None:
            raise body.refuse(f"{owner.cls.__name__} has no __setitem__")
        return
    if isinstance(word, str) and displays.is_empty_info(body, owner_tree, owner):
        owner = EmptyDict()
    containers.changeable(body, owner)
    if isinstance(owner, Lst) and isinstance(key, Value):
        place = containers.place_in(body, owner, key, "list assignment")
        body.items_moved(owner)
        storage.store(body, owner.list_type.item, f"{owner.c}->v[{place}]", value, "an item")
        return
    if isinstance(owner, Mapping) and isinstance(key, Value):
        containers.set_entry(body, owner, key, value)
        return
    if isinstance(owner, Rec) and isinstance(key, Fixed):
        set_key(body, owner_tree, owner, key.value, value)
        return
    if isinstance(owner, Rec) and isinstance(key, Value) and owner.place:
        if isinstance(owner_tree, ast.Name) and not any(isinstance(k, str) for k in owner.keys):
            containers.set_entry(body, _growing(body, owner_tree.id, owner), key, value)
            return
        _set_entry(body, owner_tree, owner, key, value)
        return
    raise body.refuse(f"an element of {owner.type} can't be assigned")


def _growing(body: Body, name: str, owner: Rec) -> Mapping:
    """Returns a dict of a name as one to which keys may come."""
    of = storage.as_map_type(Record(owner.keys, tuple(map(storage.item_type, owner.items))))
    body.assign(name, body.as_map(owner, of))
    found = body.look_up(name)
    assert isinstance(found, Mapping)
    return found


def _assign_element(body: Body, owner: Value, index: list[Any], value: Value) -> None:
    """array[index] = value."""
    if isinstance(value, Uni) and not value.is_number:
        body.each_type(value, lambda member: _assign_element(body, owner, index, member))
        return
    assert isinstance(owner, Arr)
    indexing.assign(body, owner, elements.spread(body, index), value)


def _wide_enough(body: Body, tree: ast.expr, owner: Rec, at: int, value: Value) -> Rec:
    """Returns an object one of whose fields can hold a value."""
    assert owner.stored is not None
    have = owner.stored.items[at]
    wanted = storage.join(unbounded(have), kept_type(body.unbounded(value)))
    if wanted == unbounded(have):
        return owner
    items = (*owner.stored.items[:at], wanted, *owner.stored.items[at + 1 :])
    of = Record(owner.keys, tuple(map(unbounded, items)), owner.cls)
    if owner.root is not None and owner.root[0] == "attribute":
        body.program.attributes.widen_record(owner.root[1], owner.stored, of)
    if isinstance(tree, ast.Name):
        names = [n for n, v in body.names.items() if isinstance(v, Rec) and v.place == owner.place]
        with body.without_notes():
            made = body.in_variable(tree.id, owner, of)
        body.names.update(dict.fromkeys([tree.id, *names], made))
        assert isinstance(made, Rec)
        return made
    raise body.refuse(f"{have} gets {wanted}: make it one from the beginning")


def _changeable(body: Body, tree: ast.expr, owner: Value) -> Value:
    """Returns a value that is kept in memory, for a list that was only written down so far."""
    if isinstance(owner, ListDisplay) and isinstance(tree, ast.Name):
        return body.listed(tree.id)
    if isinstance(owner, Fixed) and isinstance(owner.value, (list, np.ndarray, dict)):
        name = body.program.attributes.constant_name(body, tree)
        if name is not None:
            body.program.attributes.add_state(name)
        if isinstance(owner.value, np.ndarray):
            return body.array(owner)
    return owner


def set_key(body: Body, tree: ast.expr, owner: Rec, key: Any, value: Value) -> None:
    if owner.place and key in owner.keys:
        at = owner.keys.index(key)
        owner = _wide_enough(body, tree, owner, at, value)
        assert owner.stored is not None
        body.changed(owner)
        body.items_moved(owner)
        storage.store(body, owner.stored.items[at], f"{owner.place}.f{at}", value, repr(key))
        return
    if isinstance(tree, ast.Name):
        # a dict of this function: it becomes another one
        keys, items = list(owner.keys), list(owner.items)
        displays.put(keys, items, key, value)
        body.changed(owner)
        names = [n for n, v in body.names.items() if isinstance(v, Rec) and v.place == owner.place]
        body.assign(tree.id, Rec(tuple(keys), tuple(items), cls=owner.cls))
        for name in names if owner.place else ():
            body.names[name] = body.names[tree.id]
        return
    raise body.refuse(f"the key {key!r} is new here: set it where the dict is made")


def _set_entry(body: Body, tree: ast.expr, owner: Rec, key: Value, value: Value) -> None:
    """dict[key] = value, for a key of those that are known."""
    at = body.c_variable("t", "int64_t")
    kept, value = body.kept(key), body.kept(value)
    for i in range(len(owner.keys)):
        owner = _wide_enough(body, tree, owner, i, value)
    assert owner.stored is not None
    body.changed(owner)
    body.items_moved(owner)
    if isinstance(kept, Txt) and all(isinstance(each, str) for each in owner.keys):
        body.emit(f"{at} = {texts.place(body, kept, owner.keys)};")
    else:
        body.emit(f"{at} = -1;")
        for i, each in enumerate(owner.keys):
            same = operators.truth(body, operators.compare(body, ast.Eq(), kept, Fixed(each)))
            if same is not False:
                body.emit(f"if ({'true' if same is True else same}) {at} = {i};")
    body.check(f"{at} >= 0", "KeyError", "the key is new: set it where the dict is made")
    if (row := elements.row_place(body, owner, at)) is not None:
        storage.store(body, owner.stored.items[0], row, value, "an entry")
        return
    for i, of in enumerate(owner.stored.items):
        with body.block(f"if ({at} == {i}) {{"):
            storage.store(body, of, f"{owner.place}.f{i}", value, "an entry")


def augment(body: Body, tree: ast.AugAssign) -> None:
    """target OP= value."""
    target = tree.target
    load = ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, target)
    for each in ast.walk(load):
        ast.copy_location(each, target)
    index: list[Any] | None = None
    if isinstance(target, ast.Subscript):
        owner = _changeable(body, target.value, body.plain(body.value(target.value)))
        if isinstance(owner, Flat):
            raise body.refuse("this assignment to .flat is not translated")
        index = elements.indices_of(body, target.slice)
        index = [body.kept(each) if is_number(each) else each for each in index]
        _augment_element(body, tree, owner, index)
        return
    old = _old(body, body.plain(body.value(load)), tree)
    value = body.value(tree.value)
    if isinstance(old, Uni) and not old.is_number:
        body.each_type(old, lambda array: _augment_array(body, tree, array, value))
        return
    if isinstance(old, Arr) and old.dims:
        _augment_array(body, tree, old, value)
        return
    if isinstance(old, Lst) and isinstance(tree.op, ast.Add):
        containers.changeable(body, old)
        methods.extend_with(body, old, body.plain(value))
        return
    if isinstance(old, Lst) and old.list_type.is_set and isinstance(tree.op, ast.BitOr):
        containers.changeable(body, old)
        methods.update_set(body, old, body.plain(value))
        return
    own = f"__i{objects.OPERATORS.get(type(tree.op), '')}__"
    if objects.written(objects.class_of(old), own) is not None:
        raise body.refuse(f"{own} is not translated: write a = a + b")
    if isinstance(old, (Num, Uni)):
        old = body.kept(old) if not isinstance(tree.value, (ast.Constant, ast.Name)) else old
    body.assign_to(target, operators.binary(body, tree.op, old, value))


def _old(body: Body, value: Value, tree: ast.AugAssign) -> Value:
    """Returns what target OP= value begins with."""
    found = body.before(value, [tree.value])
    if found is not value and isinstance(value, (Arr, Lst)):
        raise body.refuse(
            f"`{ast.unparse(tree.target)}` is assigned anew by what is added to it: write two lines"
        )
    return found


def _augment_array(body: Body, tree: ast.AugAssign, old: Value, value: Value) -> None:
    """array OP= value."""
    assert isinstance(old, Arr)
    indexing.writable(body, old)
    given = _in_place(body, operators.binary(body, tree.op, old, value), old)
    _copy_in_place(body, given, old, value)


def _in_place(body: Body, value: Value, old: Arr) -> Arr:
    """Returns what OP= stores in an array."""
    given = body.array(value)
    if given.item.kind == "f" and old.item.kind != "f":
        raise body.refuse(f"Cannot cast ufunc output from {given.item.dtype} to {old.item.dtype}")
    return given


def _is_chosen(body: Body, index: list[Any]) -> bool:
    """Returns whether an index is an array, which chooses a copy."""
    plain = [body.plain(each) for each in elements.spread(body, index) if isinstance(each, Value)]
    return any(as_number(each) is None for each in plain)


def _copy_in_place(body: Body, given: Arr, old: Arr, value: Value) -> None:
    operand = body.plain(value)
    if isinstance(operand, Arr) and indexing.reads(operand, old):
        given = body.fresh(given)
    body.copy_elements(given, old)


def _augment_element(body: Body, tree: ast.AugAssign, owner: Value, index: list[Any]) -> None:
    if isinstance(owner, Uni):
        body.each_type(owner, lambda array: _augment_element(body, tree, array, index))
        return
    if isinstance(owner, Mapping) and owner.map_type.missing is not None:
        owner = defaults.widened(body, owner, index[0] if len(index) == 1 else Tup(tuple(index)))
    old = _old(body, elements.element(body, owner, list(index)), tree)
    value = body.value(tree.value)
    if is_number(old):
        old = body.kept(old)
    if isinstance(old, Arr):
        if isinstance(owner, Arr) and _is_chosen(body, index):
            # a copy changes, and is stored
            chosen = body.fresh(_in_place(body, operators.binary(body, tree.op, old, value), old))
            indexing.assign(body, owner, elements.spread(body, index), chosen)
            return
        indexing.writable(body, old)
        given = _in_place(body, operators.binary(body, tree.op, old, value), old)
        _copy_in_place(body, given, old, value)
        return
    containers.changeable(body, owner)
    if isinstance(old, Lst):
        containers.changeable(body, old)
        methods.extend_with(body, old, body.plain(value))
        return
    new = operators.binary(body, tree.op, body.plain(old), value)
    if isinstance(owner, Arr):
        indexing.assign(body, owner, elements.spread(body, index), new)
        return
    key = index[0] if len(index) == 1 else Tup(tuple(index))
    if isinstance(owner, Lst) and isinstance(key, Value):
        at = containers.place_in(body, owner, key)
        storage.store(body, owner.list_type.item, f"{owner.c}->v[{at}]", new, "an item")
    elif isinstance(owner, Mapping) and isinstance(key, Value):
        containers.set_entry(body, owner, key, new)
    elif isinstance(owner, Rec) and isinstance(key, Fixed):
        target = tree.target
        assert isinstance(target, ast.Subscript)
        set_key(body, target.value, owner, key.value, new)
    elif isinstance(owner, Rec) and isinstance(key, Value) and owner.place:
        assert isinstance(tree.target, ast.Subscript)
        _set_entry(body, tree.target.value, owner, key, new)
    else:
        raise body.refuse(f"an element of {owner.type} can't be assigned")


def unpack(body: Body, target: ast.Tuple | ast.List, value: Value) -> None:
    """Assigns the items of a value to several targets."""
    count = len(target.elts)
    starred = [i for i, each in enumerate(target.elts) if isinstance(each, ast.Starred)]
    items = containers.unpacked(body, value, count, bool(starred))
    if count > 1:
        items = tuple(_apart(body, item, target.elts) for item in items)
    if starred:
        at = starred[0]
        behind = count - at - 1
        middle = items[at : len(items) - behind]
        items = (*items[:at], containers.list_of(body, middle), *items[len(items) - behind :])
    for each, item in zip(target.elts, items, strict=True):
        body.assign_to(each, item)


def _apart(body: Body, item: Value, targets: Sequence[ast.expr]) -> Value:
    """Returns an item that stays what it is while others are assigned to targets."""
    is_item = bool(body.loop_items) and any(item is each for each in body.loop_items[-1])
    if aliasing.is_variable(item):
        return body.pointing(body.name("ref"), item)
    return item if is_item and aliasing.is_reference(item) else order.taken(body, item, targets)
