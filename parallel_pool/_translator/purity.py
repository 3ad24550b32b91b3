"""Purity: which expressions change nothing, so that they can be computed when they are needed.

Pure is only what is known to be: an expression of another kind is one that changes something.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
import itertools
import math
import types
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parallel_pool._translator import missing, reader, records
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.template import CHANGING

# objects of an environment whose classes are looked for
MAX_OBJECTS = 4096
PURE_BUILTINS = (
    *(abs, all, any, bool, dict, divmod, enumerate, float, frozenset, int, isinstance, len, list),
    *(
        max,
        min,
        ord,
        pow,
        range,
        reversed,
        round,
        set,
        sorted,
        str,
        sum,
        tuple,
        zip,
        deque,
        Counter,
    ),
    *(dataclasses.astuple, dataclasses.asdict, dataclasses.replace),
)
# methods of arrays, texts, lists and dicts
PURE_METHODS = {
    name
    for of in (np.ndarray, np.generic, str, list, dict, Counter, tuple, set, deque, int, float)
    for name in dir(of)
    if not name.startswith("__")
} - {
    *CHANGING,
    *("byteswap", "itemset", "partition", "put", "resize", "setfield", "setflags", "tofile"),
    *("dump", "difference_update", "intersection_update", "symmetric_difference_update"),
    *("subtract",),
}
# functions of NumPy that return arrays of their own
MAKING = {
    *("zeros", "ones", "full", "empty", "array", "zeros_like", "ones_like", "full_like", "arange"),
    *("empty_like", "concatenate", "stack", "hstack", "vstack", "linspace", "eye", "clip", "where"),
    *("copy", "repeat", "tile", "roll", "sum", "mean"),
}
# expressions and statements whose parts decide
PLAIN = (
    *(ast.Module, ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.If, ast.For),
    *(
        ast.While,
        ast.Pass,
        ast.Break,
        ast.Continue,
        ast.Assert,
        ast.Raise,
        ast.Match,
        ast.match_case,
    ),
    *(ast.pattern, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp),
    *(ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.Slice, ast.ListComp, ast.SetComp),
    *(ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.keyword, ast.JoinedStr),
    *(ast.FormattedValue, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Call),
)


def shown(
    cls: type, functions: Mapping[str, reader.Function], env: Any
) -> tuple[ast.expr | None, ...]:
    """Returns the expressions of the observation and of the info, if they show the state alone.

    They are the same in all results of step and of reset, read nothing but self and constants, and
    neither they nor the other parts of the results change anything. None for one that is not so.
    """
    results = [
        each.value
        for name, function in functions.items()
        for each in ast.walk(function.tree)
        if isinstance(each, ast.Return)
    ]
    tuples = [each for each in results if isinstance(each, ast.Tuple)]
    if len(tuples) != len(results) or not tuples:
        return None, None
    step = functions["step"]
    own = step.tree.args.args[0].arg
    if any(each.tree.args.args[0].arg != own for each in functions.values()):
        return None, None
    purity = _Purity(cls, env)
    for each in tuples:
        if len(each.elts) not in (2, 5) or not all(
            purity.is_pure(part, step, own) for part in each.elts
        ):
            return None, None
    return tuple(_common([each.elts[at] for each in tuples], own, step) for at in (0, -1))


def _common(trees: list[ast.expr], own: str, function: reader.Function) -> ast.expr | None:
    """Returns an expression if all are equal and read nothing of their function."""
    first = trees[0]
    if any(ast.dump(each) != ast.dump(first) for each in trees):
        return None
    bound = {
        each.id
        for each in ast.walk(first)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    read = {each.id for each in ast.walk(first) if isinstance(each, ast.Name)} - bound
    known = {own, *function.names, *dir(builtins)}
    assigned = {
        each.id
        for each in ast.walk(function.tree)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    arguments = {each.arg for each in ast.walk(function.tree) if isinstance(each, ast.arg)}
    return first if read <= known - (assigned | (arguments - {own})) else None


def classes(cls: type, env: Any) -> list[type]:
    """Returns the user's classes of objects that an environment may have, besides its own."""
    found: dict[type, None] = {}
    for function in reader.methods(cls):
        found.update((each, None) for each in function.names.values() if _is_of_objects(each))
    waiting, seen = list(vars(env).values()), set[int]()
    while waiting and len(seen) < MAX_OBJECTS:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            waiting += _parts(value)
            if _is_of_objects(type(value)):
                found[type(value)] = None
    return list(found)


def _is_of_objects(value: Any) -> bool:
    return records.is_class(value) or (inspect.isclass(value) and hasattr(value, "_fields"))


def _parts(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return list(itertools.islice(value, MAX_OBJECTS))
    if isinstance(value, dict):
        return list(itertools.islice(value.values(), MAX_OBJECTS))
    if not records.is_object(value):
        return []
    return records.parts(value)


@dataclasses.dataclass(frozen=True)
class _Made:
    """The names of what a function has made itself; wholly: its parts, too."""

    objects: set[str]
    wholly: set[str]


class _Purity:
    """Says which expressions of a class change nothing."""

    def __init__(self, cls: type, env: Any) -> None:
        self.cls, self.env = cls, env
        # what an object of another class may run when an attribute is read, by its name
        self.of_objects: dict[str, list[reader.Function]] = {}
        for each in classes(cls, env):
            for function in reader.methods(each):
                self.of_objects.setdefault(function.name, []).append(function)
        kinds = (bool, int, float, np.generic)
        self.numbers = frozenset(k for k, v in vars(env).items() if isinstance(v, kinds))
        # reading a defaultdict puts keys there
        self.is_filled = any(map(missing.is_in, vars(env).values()))
        self._made: dict[int, _Made] = {}
        self._known: dict[tuple[int, str], bool] = {}

    def is_pure(self, tree: ast.AST, function: reader.Function, own: str) -> bool:
        """Returns whether an expression, or a function's statements, change no attribute, no array
        that was there before, and no generator."""
        key = id(function.tree)
        if key not in self._made:
            parts = (fresh(function, self.numbers, wholly) for wholly in (False, True))
            self._made[key] = _Made(*parts)
        made = self._made[key]
        return all(self._is_plain(each, function, own, made) for each in ast.walk(tree))

    def _is_pure_function(self, function: reader.Function, own: str) -> bool:
        key = (id(function.tree), own)
        if key not in self._known:
            # one that calls itself is pure if the rest of it is
            self._known[key] = True
            self._known[key] = self.is_pure(ast.Module(function.tree.body, []), function, own)
        return self._known[key]

    def _is_plain(self, tree: ast.AST, function: reader.Function, own: str, made: _Made) -> bool:
        """Returns whether a part of a syntax tree changes nothing, but for its own parts."""
        if not isinstance(tree, PLAIN):
            return False
        if isinstance(tree, ast.Attribute):
            return isinstance(tree.ctx, ast.Load) and self._may_read(tree, function, own)
        if isinstance(tree, ast.Subscript) and isinstance(tree.ctx, ast.Load):
            return not self.is_filled
        if isinstance(tree, ast.Subscript):
            return _is_of(tree.value, made.objects)
        if isinstance(tree, ast.AugAssign):
            target = tree.target
            return _is_of(target, made.objects) or (
                isinstance(target, ast.Subscript) and _is_of(target.value, made.wholly)
            )
        if isinstance(tree, ast.Call):
            return self._may_call(tree, function, own, made)
        return True

    def _may_read(self, tree: ast.Attribute, function: reader.Function, own: str) -> bool:
        """Returns whether reading an attribute changes nothing; of a method: calling it."""
        if _is_of(tree.value, {own}):
            return tree.attr not in ("np_random", "render") and self._is_pure_method(
                reader.find(self.cls, tree.attr),
            )
        if _is_super(tree.value):
            return self._is_pure_method(reader.find(self.cls, tree.attr, function.owner))
        owner = known(tree.value, function)
        if inspect.isclass(owner) and owner in self.cls.__mro__:
            return self._is_pure_method(reader.find(owner, tree.attr))
        return isinstance(owner, types.ModuleType) or all(
            self._is_pure_function(each, "") for each in self.of_objects.get(tree.attr, [])
        )

    def _is_pure_method(self, found: reader.Function | None) -> bool:
        if found is None:
            return True
        arguments = found.tree.args.args
        own = arguments[0].arg if arguments and found.kind != "static" else ""
        return self._is_pure_function(found, own)

    def _may_call(self, call: ast.Call, function: reader.Function, own: str, made: _Made) -> bool:
        target = call.func
        if any(each.arg in (None, "out") for each in call.keywords):
            return False
        if _is_super(call):
            return True
        if isinstance(target, ast.Attribute):
            return self._may_call_method(target, function, own, made)
        value = known(target, function)
        if _is_of_objects(value):
            return not records.is_plain(value) and not hasattr(value, "__post_init__")
        if value in PURE_BUILTINS or not inspect.isfunction(value):
            return value in PURE_BUILTINS
        try:
            inner = reader.read(value, None, "function")
        except Refusal:
            return False
        # it may be given a part of self
        return self._is_pure_function(inner, "")

    def _may_call_method(
        self, target: ast.Attribute, function: reader.Function, own: str, made: _Made
    ) -> bool:
        """Returns whether a call of a method changes nothing, if reading it does not."""
        owner = known(target.value, function)
        if isinstance(owner, types.ModuleType):
            return _is_pure_of_module(getattr(owner, target.attr, None))
        if _is_of(target.value, {own}) or _is_super(target.value):
            after = function.owner if _is_super(target.value) else None
            return reader.find(self.cls, target.attr, after) is not None
        if inspect.isclass(owner) and owner in self.cls.__mro__:
            return reader.find(owner, target.attr) is not None
        if target.attr in CHANGING:
            return _is_of(target.value, made.objects)
        return target.attr in PURE_METHODS or target.attr in self.of_objects


def _is_pure_of_module(value: Any) -> bool:
    if getattr(math, getattr(value, "__name__", ""), None) is value:
        return True
    from parallel_pool._translator import numpy_calls

    return value in PURE_BUILTINS or numpy_calls.find(value) is not None


def known(tree: ast.expr, function: reader.Function) -> Any:
    """Returns the module, function or class that an expression means; None for others."""
    if isinstance(tree, ast.Attribute):
        owner = known(tree.value, function)
        return getattr(owner, tree.attr, None) if isinstance(owner, types.ModuleType) else None
    if not isinstance(tree, ast.Name) or tree.id in function.locals:
        return None
    return function.names.get(tree.id, getattr(builtins, tree.id, None))


def _is_of(tree: ast.AST, names: Sequence[str] | set[str]) -> bool:
    return isinstance(tree, ast.Name) and tree.id in names


def _is_super(tree: ast.AST) -> bool:
    return isinstance(tree, ast.Call) and _is_of(tree.func, {"super"})


def fresh(
    function: reader.Function, numbers: frozenset[str] = frozenset(), wholly: bool = True
) -> set[str]:
    """Returns the names that hold only numbers, and what a function has made itself.

    Args:
        function: the function.
        numbers: attributes that are numbers.
        wholly: it has made the parts, too.
    """
    made, others = set[str](), set[str]()
    bindings: set[int] = set()
    for each in ast.walk(function.tree):
        if isinstance(each, ast.arg):
            others.add(each.arg)
        elif isinstance(each, (ast.MatchAs, ast.MatchStar)) and each.name:
            others.add(each.name)
        elif isinstance(each, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            is_fresh = isinstance(each, ast.AugAssign) or each.value is None
            if len(targets) == 1 and (
                is_fresh or _is_fresh(each.value, function, numbers, wholly)  # type: ignore[arg-type]
            ):
                bindings.add(id(targets[0]))
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            (made if id(each) in bindings else others).add(each.id)
    return made - others


def _is_fresh(
    tree: ast.expr, function: reader.Function, numbers: frozenset[str], wholly: bool
) -> bool:
    """Returns whether an expression makes a new object; wholly: whose parts are new, too."""
    if isinstance(tree, (ast.Constant, ast.Compare)):
        return True
    if isinstance(tree, ast.Attribute):
        return tree.attr in numbers and _is_of(
            tree.value, [each.arg for each in function.tree.args.args[:1]]
        )
    if isinstance(tree, ast.IfExp):
        parts = [tree.body, tree.orelse]
    elif isinstance(tree, (ast.List, ast.Tuple, ast.Dict, ast.ListComp)):
        parts = _displayed(tree) if wholly else []
    elif isinstance(tree, (ast.UnaryOp, ast.BinOp)):
        return not wholly or not any(
            isinstance(each, (ast.List, ast.Tuple)) for each in ast.walk(tree)
        )
    else:
        return isinstance(tree, ast.Call) and _is_making(tree, function, wholly)
    return all(_is_fresh(each, function, numbers, wholly) for each in parts)


def _displayed(tree: ast.List | ast.Tuple | ast.Dict | ast.ListComp) -> list[ast.expr]:
    if isinstance(tree, ast.ListComp):
        return [tree.elt]
    return tree.values if isinstance(tree, ast.Dict) else tree.elts


def _is_making(call: ast.Call, function: reader.Function, wholly: bool) -> bool:
    if any(each.arg in ("copy", "out") for each in call.keywords):
        return False
    value = known(call.func, function)
    if value is not None:
        name = getattr(value, "__name__", "")
        kinds = (
            float,
            int,
            bool,
            len,
            round,
            *(() if wholly else (list, dict, set, sorted, deque)),
        )
        return value in kinds or (name in MAKING and getattr(np, name, None) is value)
    methods = ("astype",) if wholly else ("astype", "copy")
    return isinstance(call.func, ast.Attribute) and call.func.attr in methods
