"""Expressions: names, attributes, elements, displays, conditions and calls."""

from __future__ import annotations

import ast
import copy
import enum
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    arrays,
    calls,
    containers,
    defaults,
    displays,
    methods,
    numpy_calls,
    objects,
    operators,
    order,
    python_calls,
    reset_options,
    seeding,
    storage,
    texts,
)
from parallel_pool._translator.choice import Choice
from parallel_pool._translator.displays import EmptyDict, ListDisplay
from parallel_pool._translator.flow import Lost
from parallel_pool._translator.refusal import Restart
from parallel_pool._translator.types import INT, Constant, Entry, OpenDict, Record, unbounded
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Flat,
    Functions,
    Generator,
    Lambda,
    Lst,
    Mapping,
    Mem,
    Method,
    Num,
    Opt,
    Options,
    Rec,
    Self,
    Tup,
    Txt,
    Uni,
    Value,
    as_number,
    cast,
    is_function,
    is_iterator,
    is_number,
    kept_type,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


# items of a comprehension that is written out
MOST_WRITTEN = 16


def translate(body: Body, tree: ast.expr) -> Value:
    """Translates an expression."""
    function: Callable[[Body, Any], Value] | None = FUNCTIONS.get(type(tree))
    if function is None:
        raise body.refuse(f"`{ast.unparse(tree)[:60]}` is not translated")
    return function(body, tree)


def is_type_checking(tree: ast.expr) -> bool:
    return ast.unparse(tree) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _constant(body: Body, tree: ast.Constant) -> Value:
    return Fixed(tree.value)


def _name(body: Body, tree: ast.Name) -> Value:
    found = body.look_up(tree.id)
    if is_iterator(found):
        body.names[tree.id] = Lost(
            f"{tree.id} is used up when it has been looped over: make a list of it"
        )
    if isinstance(found, Flat) and found.names:
        return replace(found, parts=tuple(map(body.look_up, found.names)), names=())
    return found


def begun(body: Body, name: str, value: Value) -> Value:
    """Returns an iterator that gets a name: what it runs over is found now."""
    if isinstance(value, Flat):
        order.check_reads(body, value, None)
        names = tuple(f"{name}__over{i}" for i in range(len(value.parts)))
        for each, part in zip(names, value.parts, strict=True):
            body.assign(each, _running(body, part))
        return replace(value, names=names)
    assert isinstance(value, Generator)
    over = f"{name}__over"
    tree = copy.deepcopy(value.tree)
    first = tree.generators[0]
    body.assign(over, _running(body, body.value(first.iter)))
    first.iter = ast.copy_location(ast.Name(over, ast.Load()), first.iter)
    return Generator(tree)


def _running(body: Body, value: Value) -> Value:
    if isinstance(value, (Lst, Mapping)) and value.is_always_empty:
        raise body.refuse("this is empty so far: make the iterator where it is used")
    return value


def scoped(body: Body, tree: Any) -> Any:
    """Returns a comprehension whose names are no variables, and not those of one around it."""
    arguments = {
        each.arg for each in ast.walk(body.function.tree.args) if isinstance(each, ast.arg)
    }
    outer = {*body.names, *body.function.locals, *arguments}
    bound = {
        each.id
        for part in tree.generators
        for each in ast.walk(part.target)
        if isinstance(each, ast.Name) and each.id in outer
    }
    if not bound:
        return tree
    first = tree.generators[0].iter
    made = _Renamed({each: _unused(each, outer) for each in bound}).visit(copy.deepcopy(tree))
    made.generators[0].iter = first
    return made


def _unused(name: str, names: set[str]) -> str:
    while name in names:
        name = f"{name}__in"
    return name


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node


def _attribute(body: Body, tree: ast.Attribute) -> Value:
    return attribute(body, body.value(tree.value), tree.attr)


def attribute(body: Body, value: Value, name: str) -> Value:
    """Returns value.name."""
    if isinstance(value, Self):
        return body.program.attribute(body, name, value.after)
    value = body.plain(value)
    if isinstance(value, Uni):
        if value.is_number or name not in ("shape", "size", "ndim", "T"):
            return Method(value, name)
        return body.spread([value], lambda given: attribute(body, given[0], name))
    if isinstance(value, Fixed):
        return body.program.attribute_of_known(body, value.value, name)
    if isinstance(value, Mem):
        return body.program.attribute_of_member(body, value, name)
    if isinstance(value, Arr):
        if name == "shape":
            return Tup(tuple(_dim(dim) for dim in value.dims))
        if name == "size":
            size: Value = Fixed(1)
            for dim in value.dims:
                size = operators.binary(body, ast.Mult(), size, _dim(dim))
            return size
        if name == "ndim":
            return Fixed(len(value.dims))
        if name == "dtype":
            return Fixed(value.item.dtype)
        if name == "T":
            return arrays.transposed(value)
        if name == "flat":
            return Flat("flat", (value,))
    if isinstance(value, Rec) and value.cls is OpenDict and name == "update":
        return Method(value, name)
    if isinstance(value, Tup) and name in value.names:
        return value.items[value.names.index(name)]
    if isinstance(value, (Rec, Tup)) and value.cls is not None:
        return body.program.attribute_of_object(body, value, name)
    return Method(value, name)


def _dim(dim: int | str) -> Value:
    return Fixed(dim) if isinstance(dim, int) else Num(INT, dim)


def _binop(body: Body, tree: ast.BinOp) -> Value:
    one = body.before(body.value(tree.left), [tree.right])
    if is_number(one) and not isinstance(tree.right, (ast.Constant, ast.Name, ast.Attribute)):
        one = body.kept(one)
    return operators.binary(body, tree.op, one, body.value(tree.right))


def _unaryop(body: Body, tree: ast.UnaryOp) -> Value:
    return operators.unary(body, tree.op, body.value(tree.operand))


def _boolop(body: Body, tree: ast.BoolOp) -> Value:
    """and, or: the value of the last operand that is looked at."""
    return _choose(body, isinstance(tree.op, ast.And), tree.values)


def _choose(body: Body, is_and: bool, trees: Sequence[ast.expr]) -> Value:
    first = body.value(trees[0])
    if len(trees) == 1:
        return first
    found = body.truth(first)
    if isinstance(found, bool):
        return _choose(body, is_and, trees[1:]) if found == is_and else first
    result = Choice(body)
    kept = body.kept(first)

    def rest() -> Value:
        names = dict(body.names)
        narrow(body, trees[0], is_and)
        narrowed = {k: v for k, v in body.names.items() if names.get(k) is not v}
        value = _choose(body, is_and, trees[1:])
        for name, meant in narrowed.items():
            if body.names.get(name) is meant:
                body.names[name] = names[name]
        return value

    if is_and:
        result.branch(found, rest, lambda: kept)
    else:
        result.branch(found, lambda: kept, rest)
    return result.value()


def _ifexp(body: Body, tree: ast.IfExp) -> Value:
    if seeding.asks(body, tree.test) is not None:
        return seeding.either(body, body.value(tree.body), body.value(tree.orelse))
    result = Choice(body)
    found = condition(body, tree.test)

    def one() -> Value:
        narrow(body, tree.test, True)
        return body.value(tree.body)

    def other() -> Value:
        narrow(body, tree.test, False)
        return body.value(tree.orelse)

    result.branch(found, one, other)
    return result.value()


def condition(body: Body, tree: ast.expr) -> str | bool:
    """Returns whether an expression counts as true. Operands of `and` and `or` may be of any type
    here."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return operators.negated(condition(body, tree.operand))
    if not isinstance(tree, ast.BoolOp):
        value = body.value(tree)
        body.program.reset_options.test(value)
        return body.truth(value)
    is_and = isinstance(tree.op, ast.And)
    first, *rest = tree.values
    found = condition(body, first)
    for each in rest:
        if found is (not is_and):
            return found
        if found is is_and:
            found = condition(body, each)
            continue
        kept = dict(body.names)
        narrow(body, ast.BoolOp(tree.op, tree.values[: tree.values.index(each)]), is_and)
        with body.buffer() as lines:
            body.indent += 1
            second = condition(body, each)
            body.indent -= 1
        changed = {k for k in body.names if k not in kept}
        body.names = {**kept, **{k: body.names[k] for k in changed}}
        if not lines:
            combine = operators.both if is_and else operators.either
            found = combine(body, found, second)
            continue
        result = body.c_variable("t", "bool")
        body.emit(f"{result} = {found};")
        body.emit(f"if ({'' if is_and else '!'}{result}) {{")
        body.lines.extend(lines)
        text = operators.c_truth(second)
        body.emit(f"  {result} = {text};")
        body.emit("}")
        found = result
    return found


def narrow(body: Body, tree: ast.expr, holds: bool) -> None:
    """Notes what a condition says of names that may be None, and of options of a reset."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        narrow(body, tree.operand, not holds)
        return
    if isinstance(tree, ast.BoolOp):
        if isinstance(tree.op, ast.And) == holds:
            for each in tree.values:
                narrow(body, each, holds)
        return
    name = None
    if isinstance(tree, ast.Name) and holds:
        name = tree.id
    elif isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        right = tree.comparators[0]
        if isinstance(tree.ops[0], ast.In if holds else ast.NotIn):
            _narrow_options(body, tree.left, right)
        if isinstance(right, ast.Constant) and right.value is None:
            is_not = isinstance(tree.ops[0], (ast.IsNot, ast.NotEq))
            if isinstance(tree.left, ast.Name) and is_not == holds:
                name = tree.left.id
    value = body.names.get(name) if name else None
    if name and isinstance(value, Opt):
        inner = storage.held(body, value, ("variable", name))
        if isinstance(inner, Num):
            inner.option = value.option
        body.names[name] = inner


def _narrow_options(body: Body, key: ast.expr, tree: ast.expr) -> None:
    """Notes that an option is there."""
    options = body.names.get(tree.id) if isinstance(tree, ast.Name) else None
    if isinstance(options, Options) and isinstance(key, ast.Constant):
        assert isinstance(tree, ast.Name)
        body.names[tree.id] = replace(options, known=options.known | {str(key.value)})


def _compare(body: Body, tree: ast.Compare) -> Value:
    left = body.before(body.value(tree.left), tree.comparators[:1])
    if len(tree.ops) == 1:
        return operators.compare(body, tree.ops[0], left, body.value(tree.comparators[0]))
    return _chain(body, left, list(zip(tree.ops, tree.comparators, strict=True)))


def _chain(body: Body, left: Value, rest: list[tuple[ast.cmpop, ast.expr]]) -> Value:
    (op, tree), *others = rest
    right = body.before(body.value(tree), [each for _, each in others[:1]])
    right = body.kept(right) if others and is_number(right) else right
    found = operators.compare(body, op, left, right)
    if not others:
        return found
    condition = body.truth(found)
    if isinstance(condition, bool):
        return _chain(body, right, others) if condition else Fixed(False)
    trees = [each for _, each in others]
    if all(map(_is_simple, trees)) and not order.effects(body, trees):
        second = body.truth(_chain(body, right, others))
        return operators.as_bool(operators.both(body, condition, second))
    result = Choice(body)
    result.branch(condition, lambda: _chain(body, right, others), lambda: Fixed(False))
    return result.value()


def _is_simple(tree: ast.expr) -> bool:
    """Returns whether an expression raises nothing and changes nothing."""
    if isinstance(tree, ast.UnaryOp):
        return _is_simple(tree.operand)
    return isinstance(tree, (ast.Constant, ast.Name)) or (
        isinstance(tree, ast.Attribute) and isinstance(tree.value, ast.Name)
    )


def _tuple(body: Body, tree: ast.Tuple) -> Value:
    items = displayed(body, tree.elts)
    if all(isinstance(item, Fixed) for item in items):
        return Fixed(tuple(item.value for item in items))  # type: ignore[attr-defined]
    return Tup(tuple(body.kept(item) if len(items) > 1 else item for item in items))


def displayed(body: Body, trees: Sequence[ast.expr]) -> list[Value]:
    items: list[Value] = []
    for i, tree in enumerate(trees):
        later = trees[i + 1 :]
        if isinstance(tree, ast.Starred):
            found = body.items(body.plain(body.value(tree.value)))
            if found is None:
                raise body.refuse("* of something whose length is not known is not translated")
            items.extend(body.before(each, later) for each in found)
        else:
            value = body.before(body.value(tree), later)
            items.append(body.kept(value) if is_number(value) and len(trees) > 1 else value)
    return items


def _list(body: Body, tree: ast.List) -> Value:
    starred = [each for each in tree.elts if isinstance(each, ast.Starred)]
    if starred and len(tree.elts) >= 1:
        return _list_with_stars(body, tree)
    items = displayed(body, tree.elts)
    if all(isinstance(item, Fixed) for item in items) and not items:
        return containers.list_of(body, items)
    return ListDisplay(tuple(items))


def _list_with_stars(body: Body, tree: ast.List) -> Value:
    parts: list[Value] = []
    for each in tree.elts:
        if isinstance(each, ast.Starred):
            value = body.plain(body.value(each.value))
            known = body.items(value)
            parts.append(containers.list_of(body, known) if known is not None else value)
        else:
            parts.append(containers.list_of(body, [body.value(each)]))
    result = parts[0]
    for part in parts[1:]:
        result = containers.binary(body, ast.Add(), result, part)
    return containers.copied(body, result) if len(parts) == 1 else result  # type: ignore[arg-type]


def _set(body: Body, tree: ast.Set) -> Value:
    items = displayed(body, tree.elts)
    if all(isinstance(item, Fixed) for item in items):
        return Fixed(frozenset(item.value for item in items))  # type: ignore[attr-defined]
    return python_calls.set_of(body, Tup(tuple(items)))


def _has_known_keys(body: Body, tree: ast.Dict) -> bool:
    with body.tried():
        keys = (None if each is None else body.value(each) for each in tree.keys)
        return all(each is None or isinstance(each, Fixed) for each in keys)


def _dict_of_pairs(body: Body, tree: ast.Dict) -> Value:
    """Returns a dict whose keys are known when the program runs."""
    if None in tree.keys:
        raise body.refuse("** beside keys that are not known is not translated")
    trees = list(zip(tree.keys, tree.values, strict=True))

    def pairs(each: Callable[[Value], None]) -> None:
        for key_tree, item_tree in trees:
            assert key_tree is not None
            key = body.before(body.value(key_tree), [item_tree])
            each(Tup((key, body.value(item_tree))))

    return containers.map_of(body, pairs)


def _dict(body: Body, tree: ast.Dict) -> Value:
    if not _has_known_keys(body, tree):
        return _dict_of_pairs(body, tree)
    keys: list[Any] = []
    items: list[Value] = []
    for i, (key_tree, item_tree) in enumerate(zip(tree.keys, tree.values, strict=True)):
        later = tree.values[i + 1 :]
        if key_tree is None:
            held = body.record(body.value(item_tree))
            if held is None:
                raise body.refuse("** of this dict is not translated")
            for key, item in zip(held.keys, held.items, strict=True):
                _put(keys, items, key, item)
            continue
        key_value = body.value(key_tree)
        assert isinstance(key_value, Fixed)
        value = body.before(body.value(item_tree), later)
        if order.changed_later(body, tree, value):
            raise body.refuse(
                f"`{ast.unparse(item_tree)}` changes after it was put into this dict: put a copy"
                " there, or make the dict behind the change"
            )
        _put(keys, items, key_value.value, body.kept(value))
    if not keys:
        return _empty_dict(body, tree)
    return Rec(tuple(keys), tuple(items))


def _empty_dict(body: Body, tree: ast.Dict) -> Rec:
    known = body.program.open_dicts.get(_place(body, tree))
    if known is None:
        return EmptyDict()
    of = Record(tuple(known), tuple(map(Entry, known.values())), OpenDict)
    return Rec((), (), "", of, None, OpenDict)


def _place(body: Body, tree: ast.AST) -> tuple[str, int, int]:
    return body.function.file, getattr(tree, "lineno", 0), getattr(tree, "col_offset", 0)


def _set_open(body: Body, tree: ast.expr, owner: Value, key: str, value: Value) -> bool:
    """Sets a key of one of several dicts that were written empty, as in `infos[agent]["x"] = 1`.

    Returns whether it is one. If the key is new, the translation begins anew.
    """
    is_empty = isinstance(owner, Mapping) and owner.is_always_empty
    is_open = isinstance(owner, Rec) and owner.cls is OpenDict
    if not (is_empty or is_open) or not isinstance(tree, ast.Subscript):
        return False
    written = _written_empty(body, tree.value)
    if not written:
        return False
    of = storage.item_type(value)
    known = body.program.open_dicts.get(written[0], {})
    wanted = storage.join(known[key], of) if key in known else of
    if wanted != known.get(key):
        for each in written:
            body.program.open_dicts.setdefault(each, {})[key] = wanted
        raise Restart
    assert isinstance(owner, Rec) and owner.stored is not None
    at = owner.keys.index(key)
    storage.store(body, owner.stored.items[at], f"{owner.place}.f{at}", value, repr(key))
    return True


def _written_empty(body: Body, tree: ast.expr) -> list[tuple[str, int, int]]:
    """Returns the places of the empty dicts in the dicts that a name of the function means."""
    if not isinstance(tree, ast.Name):
        return []
    return [
        _place(body, part)
        for each in ast.walk(body.function.tree)
        if isinstance(each, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == tree.id for t in each.targets)
        and isinstance(each.value, (ast.Dict, ast.DictComp))
        for part in ast.walk(each.value)
        if isinstance(part, ast.Dict) and not part.keys and part is not each.value
    ]


def _put(keys: list[Any], items: list[Value], key: Any, item: Value) -> None:
    if key in keys:
        items[keys.index(key)] = item
    else:
        keys.append(key)
        items.append(item)


def _comprehension(body: Body, tree: Any) -> Value:
    generator = Generator(tree)
    if isinstance(tree, ast.GeneratorExp):
        return generator
    written = unrolled(body, tree)
    if written is not None:
        return written
    return containers.made_of(body, generator)


def unrolled(body: Body, tree: Any) -> Tup | None:
    """Returns a comprehension over few known items, written out; None for others."""
    if len(tree.generators) != 1 or tree.generators[0].ifs or isinstance(tree, ast.SetComp):
        return None
    tree = scoped(body, tree)
    part = tree.generators[0]
    with body.buffer():
        kept = dict(body.names)
        over = body.value(part.iter)
        body.names = kept
    if isinstance(over, (Lst, Arr, Mapping, Generator)):
        return None
    over = body.value(part.iter)
    items = body.items(body.plain(over))
    if items is None or len(items) > MOST_WRITTEN:
        return None
    kept = dict(body.names)
    found: list[Value] = []
    for item in items:
        body.assign_to(part.target, item)
        value = body.value(tree.elt)
        found.append(body.kept(value))
    for each in ast.walk(part.target):
        if isinstance(each, ast.Name):
            body.names.pop(each.id, None)
            if each.id in kept:
                body.names[each.id] = kept[each.id]
    return ListDisplay(tuple(found))


def _dictcomp(body: Body, tree: ast.DictComp) -> Value:
    tree = scoped(body, tree)
    part = tree.generators[0]
    items = body.items(body.plain(body.value(part.iter)))
    is_short = items is not None and len(items) <= MOST_WRITTEN
    if items is not None and is_short and len(tree.generators) == 1 and not part.ifs:
        keys: list[Any] = []
        values: list[Value] = []
        kept = dict(body.names)
        for item in items:
            body.assign_to(part.target, item)
            key = body.value(tree.key)
            if not isinstance(key, Fixed):
                raise body.refuse("the keys of this dict are not known")
            _put(keys, values, key.value, body.kept(body.value(tree.value)))
        body.names = kept
        return Rec(tuple(keys), tuple(values))
    return containers.map_made_of(body, tree)


def _namedexpr(body: Body, tree: ast.NamedExpr) -> Value:
    value = body.value(tree.value)
    body.assign_to(tree.target, value)
    return body.look_up(tree.target.id)


def _lambda(body: Body, tree: ast.Lambda) -> Value:
    arguments = tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise body.refuse("a lambda with other than plain arguments is not translated: write def")
    names = {each.arg: body.name(f"{each.arg}__in") for each in arguments.args}
    made = _Renamed(names).visit(copy.deepcopy(tree))
    for each in made.args.args:
        each.arg = names[each.arg]
    return Lambda(made, body)


def called_lambda(body: Body, function: Lambda, given: Sequence[Value]) -> Value:
    """Returns what a lambda returns."""
    if function.owner is not body:
        raise body.refuse("a lambda that is given to a function is not translated: write a method")
    names = [each.arg for each in function.tree.args.args]
    if len(given) != len(names):
        raise body.refuse(f"the lambda takes {len(names)} arguments")
    for name, value in zip(names, given, strict=True):
        body.assign(name, value)
    result: Value = body.kept(body.value(function.tree.body))
    for name in names:
        body.names.pop(name, None)
    return result


def _joinedstr(body: Body, tree: ast.JoinedStr) -> Value:
    parts: list[str] = [""]
    number = None
    for each in tree.values:
        if isinstance(each, ast.Constant):
            parts[-1] += str(each.value)
            continue
        assert isinstance(each, ast.FormattedValue)
        value = body.plain(body.value(each.value))
        if isinstance(value, Fixed) and each.format_spec is None:
            parts[-1] += str(value.value)
            continue
        is_int = isinstance(value, Num) and value.number.kind == "i" and number is None
        if not is_int or each.format_spec is not None or each.conversion != -1:
            raise body.refuse("texts that are made while the program runs are not translated")
        number = body.as_int(value)
        parts.append("")
    if number is None:
        return Fixed(parts[0])
    return texts.of_int(body, number, *parts)


def _yield(body: Body, tree: ast.Yield) -> Value:
    value = Fixed(None) if tree.value is None else body.value(tree.value)
    body.program.yielded(body, value)
    return Fixed(None)


def _yield_from(body: Body, tree: ast.YieldFrom) -> Value:
    value = body.plain(body.value(tree.value))
    python_calls.each_item(body, value, lambda item: body.program.yielded(body, item))
    return Fixed(None)


# --------------------------------------------------------------------------------- elements --


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


def _spread(body: Body, index: list[Any]) -> list[Any]:
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


def _subscript(body: Body, tree: ast.Subscript) -> Value:
    value = body.before(body.plain(body.value(tree.value)), [tree.slice])
    if isinstance(value, Fixed) and value.value is np.r_:
        parts = [body.array(each) for each in indices_of(body, tree.slice)]
        return numpy_calls.in_a_row(body, parts)
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
            return _character(body, value.value, _spread(body, index))
        value = body.program.table(value.value)
    if isinstance(value, Arr):
        return arrays.subscript(body, value, _spread(body, index))
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
    codes = np.vectorize(lambda each: int(body.program.text_id(Fixed(code(each)))))(letters)
    found = arrays.subscript(body, body.program.table(codes.astype(np.int32)), index)
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
    return Txt(body.temporary("int32_t", body.program.letter(body, value.c, at)))


def _entry(body: Body, value: Rec, key: Value) -> Value:
    if isinstance(key, Fixed):
        for known, item in zip(value.keys, value.items, strict=True):
            if (known == key.value and type(known) is type(key.value)) or known == key.value:
                return item
        raise body.refuse(f"the dict has no key {key.value!r}")
    if isinstance(key, Txt) and value.place and value.stored is not None:
        at = body.temporary("int64_t", texts.place(body, key, value.keys))
        row = _row(body, value, at)
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


# ------------------------------------------------------------------------------- assignment --


def assign_place(body: Body, target: ast.expr, value: Value) -> None:
    """Assigns to an attribute or an element."""
    if isinstance(target, ast.Attribute):
        value = body.before(value, [target.value])
        owner = body.value(target.value)
        if isinstance(owner, Self):
            body.program.set_attribute(body, target.attr, value)
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
        arrays.writable(body, array)
        flat = numpy_calls.flattened(body, array)
        arrays.assign(body, flat, indices_of(body, target.slice), value)
        return
    if is_number(value):
        value = body.kept(value)
    index = indices_of(body, target.slice)
    if isinstance(owner, Uni):
        body.each_type(owner, lambda array: _assign_element(body, array, index, value))
        return
    if isinstance(owner, Arr):
        _assign_element(body, owner, index, value)
        return
    key = index[0] if len(index) == 1 else Tup(tuple(index))
    word = key.value if isinstance(key, Fixed) else None
    if isinstance(word, str) and _set_open(body, owner_tree, owner, word, value):
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
    arrays.assign(body, owner, _spread(body, index), value)


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
        body.program.widen_record(owner.root[1], owner.stored, of)
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
        name = body.program.constant_name(body, tree)
        if name is not None:
            body.program.add_state(name)
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
        _put(keys, items, key, value)
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
    if (row := _row(body, owner, at)) is not None:
        storage.store(body, owner.stored.items[0], row, value, "an entry")
        return
    for i, of in enumerate(owner.stored.items):
        with body.block(f"if ({at} == {i}) {{"):
            storage.store(body, of, f"{owner.place}.f{i}", value, "an entry")


def _row(body: Body, owner: Rec, at: str) -> str | None:
    """Returns the C lvalue of an entry by its place; None if the entries are of several types."""
    assert owner.stored is not None
    of = owner.stored.items[0]
    if isinstance(of, Constant) or any(each != of for each in owner.stored.items):
        return None
    # members of one type lie in memory like the elements of an array
    return f"(({body.program.types.c(of)} *)&{owner.place})[{at}]"


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
        index = indices_of(body, target.slice)
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
    arrays.writable(body, old)
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
    plain = [body.plain(each) for each in _spread(body, index) if isinstance(each, Value)]
    return any(as_number(each) is None for each in plain)


def _copy_in_place(body: Body, given: Arr, old: Arr, value: Value) -> None:
    operand = body.plain(value)
    if isinstance(operand, Arr) and arrays.reads(operand, old):
        given = body.fresh(given)
    body.copy_elements(given, old)


def _augment_element(body: Body, tree: ast.AugAssign, owner: Value, index: list[Any]) -> None:
    if isinstance(owner, Uni):
        body.each_type(owner, lambda array: _augment_element(body, tree, array, index))
        return
    if isinstance(owner, Mapping) and owner.map_type.missing is not None:
        owner = defaults.widened(body, owner, index[0] if len(index) == 1 else Tup(tuple(index)))
    old = _old(body, element(body, owner, list(index)), tree)
    value = body.value(tree.value)
    if is_number(old):
        old = body.kept(old)
    if isinstance(old, Arr):
        if isinstance(owner, Arr) and _is_chosen(body, index):
            # a copy changes, and is stored
            chosen = body.fresh(_in_place(body, operators.binary(body, tree.op, old, value), old))
            arrays.assign(body, owner, _spread(body, index), chosen)
            return
        arrays.writable(body, old)
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
        arrays.assign(body, owner, _spread(body, index), new)
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


FUNCTIONS: dict[type, Any] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binop,
    ast.UnaryOp: _unaryop,
    ast.BoolOp: _boolop,
    ast.IfExp: _ifexp,
    ast.Compare: _compare,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _dictcomp,
    ast.NamedExpr: _namedexpr,
    ast.Lambda: _lambda,
    ast.JoinedStr: _joinedstr,
    ast.Subscript: _subscript,
    ast.Yield: lambda body, tree: _yield(body, tree),
    ast.YieldFrom: lambda body, tree: _yield_from(body, tree),
    ast.Call: lambda body, tree: calls.call(body, tree),
}
