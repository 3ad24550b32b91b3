"""Expressions: names, attributes, elements, displays, conditions and calls."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import (
    arrays,
    calls,
    containers,
    displays,
    elements,
    open_dicts,
    operators,
    order,
    python_calls,
    seeding,
    storage,
    texts,
)
from parallel_pool._translator.choice import Choice
from parallel_pool._translator.displays import ListDisplay
from parallel_pool._translator.flow import Lost
from parallel_pool._translator.types import INT, OpenDict
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Flat,
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
    Uni,
    Value,
    is_iterator,
    is_number,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


# items of a comprehension that is written out
MAX_WRITTEN = 16


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
        return body.program.attributes.read(body, name, value.after)
    value = body.plain(value)
    if isinstance(value, Uni):
        if value.is_number or name not in ("shape", "size", "ndim", "T"):
            return Method(value, name)
        return body.spread([value], lambda given: attribute(body, given[0], name))
    if isinstance(value, Fixed):
        return body.program.instances.attribute_of_known(body, value.value, name)
    if isinstance(value, Mem):
        return body.program.instances.attribute_of_member(body, value, name)
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
        return body.program.instances.attribute_of_object(body, value, name)
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
                displays.put(keys, items, key, item)
            continue
        key_value = body.value(key_tree)
        assert isinstance(key_value, Fixed)
        value = body.before(body.value(item_tree), later)
        if order.changed_later(body, tree, value):
            raise body.refuse(
                f"`{ast.unparse(item_tree)}` changes after it was put into this dict: put a copy"
                " there, or make the dict behind the change"
            )
        displays.put(keys, items, key_value.value, body.kept(value))
    if not keys:
        return open_dicts.written(body, tree)
    return Rec(tuple(keys), tuple(items))


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
    if items is None or len(items) > MAX_WRITTEN:
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
    is_short = items is not None and len(items) <= MAX_WRITTEN
    if items is not None and is_short and len(tree.generators) == 1 and not part.ifs:
        keys: list[Any] = []
        values: list[Value] = []
        kept = dict(body.names)
        for item in items:
            body.assign_to(part.target, item)
            key = body.value(tree.key)
            if not isinstance(key, Fixed):
                raise body.refuse("the keys of this dict are not known")
            displays.put(keys, values, key.value, body.kept(body.value(tree.value)))
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
    body.program.functions.yielded(body, value)
    return Fixed(None)


def _yield_from(body: Body, tree: ast.YieldFrom) -> Value:
    value = body.plain(body.value(tree.value))
    python_calls.each_item(body, value, lambda item: body.program.functions.yielded(body, item))
    return Fixed(None)


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
    ast.Subscript: elements.subscript,
    ast.Yield: lambda body, tree: _yield(body, tree),
    ast.YieldFrom: lambda body, tree: _yield_from(body, tree),
    ast.Call: lambda body, tree: calls.call(body, tree),
}
