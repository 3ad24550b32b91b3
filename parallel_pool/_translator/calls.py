"""Calls: which function is called, and with which arguments."""

from __future__ import annotations

import ast
import enum
import inspect
import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from parallel_pool._translator import (
    defaults,
    library,
    math_calls,
    methods,
    numpy_arguments,
    numpy_calls,
    objects,
    python_calls,
    records,
)
from parallel_pool._translator.arguments import bound
from parallel_pool._translator.choice import Choice
from parallel_pool._translator.types import Number
from parallel_pool._translator.values import (
    Arr,
    Bound,
    Fixed,
    Functions,
    Lambda,
    Lst,
    Method,
    Num,
    Rec,
    Rng,
    Self,
    Uni,
    Value,
    is_number,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def call(body: Body, tree: ast.Call) -> Value:
    """Translates a call."""
    if isinstance(tree.func, ast.Name) and tree.func.id == "super":
        return Self(body.function.owner)
    trees = [*tree.args, *(each.value for each in tree.keywords)]
    function = body.before(body.value(tree.func), trees)
    arguments: list[Value] = []
    for i, each in enumerate(tree.args):
        later = trees[i + 1 :]
        if isinstance(each, ast.Starred):
            found = body.items(body.plain(body.value(each.value)))
            if found is None:
                raise body.refuse("* of something whose length is not known is not translated")
            arguments.extend(body.before(one, later) for one in found)
        elif _is_for_once(function, each):
            with body.without_notes():
                arguments.append(body.value(each))
        else:
            arguments.append(body.before(body.value(each), later))
    if len(arguments) > 1:
        arguments = [body.kept(a) if is_number(a) else a for a in arguments]
    keywords: dict[str, Value] = {}
    for i, keyword in enumerate(tree.keywords, len(tree.args)):
        if keyword.arg is None:
            held = body.record(body.value(keyword.value))
            if held is None:
                raise body.refuse("** of this is not translated")
            keywords.update(zip(held.keys, held.items, strict=True))
        else:
            keywords[keyword.arg] = body.before(body.value(keyword.value), trees[i + 1 :])
    return apply(body, function, arguments, keywords, tree)


def _is_for_once(function: Value, tree: ast.expr) -> bool:
    """Returns whether an argument is a list that is joined of others and only copied from."""
    copying = (np.concatenate, np.array)
    is_copying = isinstance(function, Fixed) and any(function.value is each for each in copying)
    is_joined = isinstance(tree, ast.BinOp) and isinstance(tree.left, ast.List)
    return is_copying and is_joined and not any(isinstance(e, ast.Call) for e in ast.walk(tree))


def apply(
    body: Body,
    function: Value,
    arguments: list[Value],
    keywords: dict[str, Value],
    tree: ast.Call | None = None,
) -> Value:
    """Returns function(*arguments, **keywords)."""
    if isinstance(function, Bound):
        return body.program.functions.call(body, function, arguments, keywords)
    if isinstance(function, Method):
        return _method_of_types(body, function, arguments, keywords, tree)
    if isinstance(function, Lambda):
        return body.called_lambda(function, arguments)
    if isinstance(function, Functions):
        return _one_of_functions(body, function, arguments, keywords)
    if (cls := objects.class_of(function)) and (own := objects.written(cls, "__call__")):
        method = body.program.instances.method(own, function)
        return body.program.functions.call(body, method, arguments, keywords)
    if isinstance(function, Self):
        raise body.refuse("the environment can't be called")
    if isinstance(function, Fixed):
        return known(body, function.value, arguments, keywords)
    raise body.refuse(f"{function.type} can't be called")


def _one_of_functions(
    body: Body, function: Functions, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    """Calls the function that is chosen when the program runs."""
    first, *others = function.items

    def call_first() -> Value:
        return apply(body, first, arguments, keywords)

    if not others:
        return call_first()
    rest = Functions(tuple(others), function.at, function.first + 1)
    chosen = Choice(body)
    chosen.branch(
        f"({function.at} == {function.first})",
        call_first,
        lambda: apply(body, rest, arguments, keywords),
    )
    return chosen.value()


FUNCTIONS = {
    **python_calls.FUNCTIONS,
    **math_calls.FUNCTIONS,
    defaultdict: ("factory? mapping? | **", defaults.new_default_dict),
    Counter: ("iterable? | **", defaults.new_counter),
}
# functions whose result does not depend on the order of what they are given
ORDERLESS = (sorted, min, max, any, all, set, frozenset, len)


def known(body: Body, function: Any, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """Calls a function that is known before the program runs."""
    is_sum = function is sum and _is_set_of_ints(body.plain(arguments[0]))
    if is_sum or (_is_hashable(function) and function in ORDERLESS and "key" not in keywords):
        with body.any_order():
            return _known(body, function, arguments, keywords)
    return _known(body, function, arguments, keywords)


def _is_set_of_ints(value: Value) -> bool:
    of = value.list_type if isinstance(value, Lst) else None
    return of is not None and of.is_set and isinstance(of.item, Number) and of.item.kind in "bi"


# classes of the library that people use for what else can be written
UNKNOWN: dict[Any, str] = {
    OrderedDict: "an OrderedDict is not translated: a dict keeps its order, too",
}


def _known(body: Body, function: Any, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    own = FUNCTIONS.get(function) if _is_hashable(function) else None
    if own is not None:
        takes, translate = own
        arguments, keywords = bound(body, takes, arguments, keywords)
        if function in python_calls.KEEPING:
            return translate(body, arguments, keywords)
        return _of_types(body, translate, arguments, keywords)
    if isinstance(function, type) and issubclass(function, enum.Enum):
        return python_calls.member(body, function, arguments[0])
    found = numpy_calls.find(function)
    if found is not None:
        arguments = numpy_arguments.of_one_type(body, function, arguments, keywords)
        return _of_types(body, found, arguments, keywords)
    if isinstance(function, type) and issubclass(function, BaseException):
        return Fixed(function)
    if (written := library.written(function)) is not None:
        return body.program.functions.call_function(body, written, arguments, keywords)
    if function in UNKNOWN:
        raise body.refuse(UNKNOWN[function])
    if isinstance(function, records.Maker):
        return Rec(function.names, tuple(map(body.kept, arguments)), cls=function.cls)
    if records.is_class(function):
        return body.program.instances.make(body, function, arguments, keywords)
    if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
        return python_calls.named_tuple(body, function, arguments, keywords)
    if inspect.isfunction(function) and not function.__module__.startswith("numpy"):
        return body.program.functions.call_function(body, function, arguments, keywords)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, gymnasium.Space):
        return python_calls.of_space(body, owner, function.__name__, arguments)
    if (
        all(isinstance(each, Fixed) for each in (*arguments, *keywords.values()))
        and (
            owner is None
            or isinstance(owner, (str, tuple, frozenset, int, float, dict, list))
            or inspect.ismodule(owner)
        )
        and _is_pure(function, owner)
    ):
        try:
            result = function(
                *(each.value for each in arguments),  # type: ignore[attr-defined]
                **{k: v.value for k, v in keywords.items()},  # type: ignore[attr-defined]
            )
            if isinstance(owner, dict) and function.__name__ in ("keys", "values", "items"):
                result = tuple(result)
            return Fixed(result)
        except Exception as error:
            raise body.refuse(f"{type(error).__name__}: {error}") from None
    if isinstance(owner, (str, *methods.HELD)):
        method = Method(Fixed(owner), function.__name__)
        return methods.method(body, method, arguments, keywords, None)
    if (
        isinstance(function, type)
        and inspect.isclass(function)
        and function.__module__
        not in (
            "builtins",
            "numpy",
        )
    ):
        return body.program.instances.make(body, function, arguments, keywords)
    name = getattr(function, "__qualname__", repr(function))
    module = getattr(function, "__module__", "") or ""
    raise body.refuse(f"{module + '.' if module else ''}{name}() is not translated")


def _of_types(
    body: Body, function: Callable[..., Value], given: list[Value], keywords: dict[str, Value]
) -> Value:
    """Calls a function for each type that an argument may have."""
    count = len(given)

    def called(values: list[Value]) -> Value:
        return function(body, values[:count], dict(zip(keywords, values[count:], strict=True)))

    return body.spread([*given, *keywords.values()], called)


def _method_of_types(
    body: Body,
    method: Method,
    given: list[Value],
    keywords: dict[str, Value],
    tree: ast.Call | None,
) -> Value:
    """Calls a method for each type that the value, and numbers among the arguments, may have."""
    if not isinstance(method.receiver, (Arr, Num, Rng, Uni)):
        return methods.method(body, method, given, keywords, tree)

    def called(body: Body, values: list[Value], keywords: dict[str, Value]) -> Value:
        return methods.method(body, Method(values[0], method.name), values[1:], keywords, tree)

    return _of_types(body, called, [method.receiver, *given], keywords)


PURE_TYPES = (str, tuple, frozenset, int, float)


def _is_pure(function: Any, owner: Any) -> bool:
    if isinstance(owner, PURE_TYPES) or owner is math:
        return True
    if isinstance(owner, (dict, list)):
        return function.__name__ in ("get", "keys", "values", "items", "index", "count", "copy")
    return (
        function
        in (
            *(
                len,
                range,
                tuple,
                list,
                dict,
                set,
                frozenset,
                sorted,
                zip,
                enumerate,
                str,
                int,
                float,
            ),
            *(bool, min, max, sum, abs, round, ord, chr, divmod, isinstance, type, map, reversed),
            *(hasattr, getattr, callable, issubclass, repr, hash),
        )
        or getattr(function, "__module__", "") == "math"
    )


def _is_hashable(function: Any) -> bool:
    try:
        hash(function)
    except TypeError:
        return False
    return True
