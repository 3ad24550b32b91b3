"""Assignments: which attributes of an environment its methods may change, found in their source.

An attribute that `reset`, `step` or anything they call assigns or changes in place is no constant,
even if that is rare. What can't be followed counts as a change.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

# methods of arrays, lists and dicts that change nothing; all but PARTS return no part of them
PURE_METHODS = {
    *("copy", "flatten", "astype", "tolist", "item", "sum", "min", "max", "mean", "all", "any"),
    *("index", "count", "get", "keys", "values", "items", "format", "encode", "decode", "tobytes"),
    *("startswith", "endswith", "join", "split", "contains"),
}
# Python's functions that change nothing
PURE_FUNCTIONS = {
    *("len", "min", "max", "sum", "abs", "all", "any", "float", "int", "bool", "str", "round"),
    *("range", "zip", "enumerate", "reversed", "sorted", "list", "tuple", "dict", "set"),
    *("isinstance", "hasattr", "getattr", "type", "repr", "print"),
}
PURE_MODULES = (np, math)
# functions of NumPy and math whose results share no memory with an argument
NEW = {
    *("append", "array", "concatenate", "copy", "zeros_like", "ones_like", "full_like"),
    *("cos", "sin", "tanh", "sqrt", "square", "abs", "sign", "round", "clip", "sum", "cumsum"),
    *("all", "any", "isfinite", "argmax", "argmin"),
}
# functions of NumPy that change an argument; others do only with `out`
CHANGERS = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"}

# results of these are no part of an argument
SCALAR_FUNCTIONS = {
    *("len", "range", "float", "int", "bool", "str", "round", "isinstance", "hasattr", "type"),
    "repr",
}

# methods of PURE_METHODS that return parts
PARTS = {"get", "keys", "values", "items"}

# attributes, and how many subscripts deep a value is in them
Roots = frozenset[tuple[str, int]]
ANYWHERE = -1
MAX_DEPTH = 6
NONE: Roots = frozenset()


class Call(NamedTuple):
    """A function to read, and for its parameters the attributes that they may be parts of."""

    function: Any  # a FunctionType
    given: frozenset[tuple[str, Roots]]


class Assignments:
    """What methods of a class may change.

    Attributes:
        assigned: the names of attributes that may be assigned, of any object.
        mutated: attributes whose values may be changed in place, and how deep.
        is_unsure: whether there is code that can't be followed, so that all may change.
    """

    def __init__(self, kind: type, roots: Iterable[str], *, draws: bool) -> None:
        """
        Args:
            kind: the class.
            roots: names of the methods.
            draws: whether there is a render mode; without it, code for one is left out.
        """
        self.assigned: set[str] = set()
        self.mutated: set[tuple[str, int]] = set()
        self.is_unsure = False
        self._kind, self._draws = kind, draws
        self._package = kind.__module__.partition(".")[0]
        self._seen: set[Call] = set()
        self._left: list[Call] = []
        for name in roots:
            self.reach_method(name)
        while self._left:
            self._read(self._left.pop())

    def may_change(self, name: str, value: Any) -> bool:
        """Returns whether an attribute with this value may change."""
        if self.is_unsure or name in self.assigned:
            return True
        depths = [depth for mutated, depth in self.mutated if mutated == name]
        return any(_is_mutable(value, depth) for depth in depths)

    # ----------------------------------------------------------------------------- reaching --

    def reach(self, function: Any, given: Mapping[str, Roots] | None = None) -> None:
        """Adds a function to those that are read."""
        while isinstance(function, (staticmethod, classmethod)):
            function = function.__func__
        if isinstance(function, property):
            for part in (function.fget, function.fset):
                self.reach(part)
            return
        # a decorator's function
        function = getattr(function, "__wrapped__", function)
        if not isinstance(function, FunctionType):
            return
        call = Call(function, frozenset((given or {}).items()))
        if call not in self._seen:
            self._seen.add(call)
            self._left.append(call)

    def reach_method(self, name: str) -> None:
        """Adds all methods and properties of this name."""
        for each in self._kind.__mro__:
            if name in vars(each):
                self.reach(vars(each)[name])

    def is_own(self, thing: Any) -> bool:
        """Returns whether a function or class belongs to the package of the environment."""
        return str(getattr(thing, "__module__", "")).partition(".")[0] == self._package

    def _read(self, call: Call) -> None:
        try:
            source = textwrap.dedent(inspect.getsource(call.function))
            node = ast.parse(source).body[0]
        except (OSError, TypeError, SyntaxError, IndexError):
            self.is_unsure = True
            return
        if not isinstance(node, ast.FunctionDef):
            self.is_unsure = True
            return
        is_method = any(
            call.function in map(_function, vars(it).values()) for it in self._kind.__mro__
        )
        body = Body(self, node, call, is_method=is_method, draws=self._draws)
        # names are known after a pass, and what they may be parts of after some
        known = -1
        while known != body.known():
            known = body.known()
            body.visit_all()


class Body(ast.NodeVisitor):
    """The body of one function."""

    def __init__(
        self, found: Assignments, node: ast.FunctionDef, call: Call, *, is_method: bool, draws: bool
    ) -> None:
        self._found, self._node, self._draws = found, node, draws
        self._globals: dict[str, Any] = call.function.__globals__
        self._aliases: dict[str, Roots] = dict(call.given)
        arguments = [*node.args.posonlyargs, *node.args.args]
        self._self = arguments[0].arg if is_method and arguments else None

    def known(self) -> int:
        """Returns how much is known; it grows until nothing new is found."""
        return sum(map(len, self._aliases.values()))

    def visit_all(self) -> None:
        for statement in self._node.body:
            self.visit(statement)

    # ---------------------------------------------------------------------------- expressions --

    def roots(self, node: ast.AST | None) -> Roots:
        """Returns the attributes that an expression's value may be, or be a part of."""
        if isinstance(node, ast.Name):
            return self._aliases.get(node.id, NONE)
        if isinstance(node, ast.Attribute):
            return self.roots(node.value) | {(node.attr, 0)}
        if isinstance(node, ast.Subscript):
            return _deeper(self.roots(node.value))
        if isinstance(node, (ast.Starred, ast.NamedExpr)):
            return self.roots(node.value)
        if isinstance(node, ast.Call):
            return self._roots_of_call(node)
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            return NONE.union(*map(self.roots, ast.iter_child_nodes(node)))
        if isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
            return _anywhere(NONE.union(*map(self.roots, ast.iter_child_nodes(node))))
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return _anywhere(self.roots(node.elt))
        if isinstance(node, ast.DictComp):
            return _anywhere(self.roots(node.key) | self.roots(node.value))
        return NONE

    def _escaping(self, node: ast.AST | None) -> Roots:
        """Returns the attributes whose parts go with a value to where they may be changed; a new
        list of them can be changed without them."""
        if isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
            return NONE.union(*map(self._escaping, ast.iter_child_nodes(node)))
        return self.roots(node)

    def _roots_of_call(self, node: ast.Call) -> Roots:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in PURE_METHODS - PARTS:
            return NONE
        if isinstance(function, ast.Name) and function.id in SCALAR_FUNCTIONS:
            return NONE
        if isinstance(function, ast.Attribute) and self._is_new(function, node):
            return NONE
        # what a function that is read returns is noted there
        if self._is_followed(node):
            return NONE
        parts = [*node.args, *(it.value for it in node.keywords)]
        own = [function.value] if isinstance(function, ast.Attribute) else []
        return _anywhere(NONE.union(*map(self.roots, [*own, *parts])))

    def _is_new(self, function: ast.Attribute, node: ast.Call) -> bool:
        is_known = self._resolve(function.value) in PURE_MODULES and function.attr in NEW
        return is_known and all(it.arg == "dtype" for it in node.keywords)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in ("__dict__", "__setattr__", "__setstate__"):
            self._found.is_unsure = True
        if isinstance(node.ctx, ast.Load) and self._is_method(node):
            self._found.reach_method(node.attr)
        # `self` by itself goes to code that is not followed, but not as the object of an attribute
        if not isinstance(node.value, ast.Name):
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id == self._self:
            self._found.is_unsure = True

    def visit_Call(self, node: ast.Call) -> None:
        function, parts = (
            self._resolve(node.func),
            [*node.args, *(it.value for it in node.keywords)],
        )
        if function in (setattr, delattr, vars, exec, eval):
            self._found.is_unsure = True
        follows = self._follow(node, function)
        if isinstance(node.func, ast.Attribute):
            is_pure = node.func.attr in PURE_METHODS or self._is_method(node.func)
            if not is_pure and not isinstance(self._resolve(node.func.value), ModuleType):
                self._found.mutated |= self.roots(node.func.value)
        if not follows and not self._is_pure(node, function):
            self._found.mutated |= NONE.union(*map(self._escaping, parts))
        self.visit(node.func)
        for part in parts:
            is_self = isinstance(part, ast.Name) and part.id == self._self
            if not (is_self and (follows or function in (type, isinstance, hasattr, getattr))):
                self.visit(part)

    def _is_method(self, node: ast.Attribute) -> bool:
        # other classes call their own base's constructor
        if node.attr == "__init__" and self._self is None:
            return False
        return any(node.attr in vars(each) for each in self._found._kind.__mro__)

    def _resolve(self, node: ast.AST) -> Any:
        """Returns the global object that an expression names, None if it is none."""
        if isinstance(node, ast.Name):
            builtin = getattr(__import__("builtins"), node.id, None)
            return self._globals.get(node.id, builtin) if node.id not in self._aliases else None
        if isinstance(node, ast.Attribute):
            module = self._resolve(node.value)
            return getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
        return None

    def _is_pure(self, node: ast.Call, function: Any) -> bool:
        if isinstance(node.func, ast.Name):
            return node.func.id in PURE_FUNCTIONS and function is not None
        if not isinstance(node.func, ast.Attribute):
            return False
        if node.func.attr in PURE_METHODS:
            return True
        is_known = self._resolve(node.func.value) in PURE_MODULES
        return is_known and node.func.attr not in CHANGERS and _without_out(node)

    def _is_followed(self, node: ast.Call) -> bool:
        if any(isinstance(it, ast.Starred) for it in node.args):
            return False
        function = self._resolve(node.func)
        if isinstance(function, FunctionType) and self._found.is_own(function):
            return True
        return isinstance(node.func, ast.Attribute) and self._is_method(node.func)

    def _follow(self, node: ast.Call, function: Any) -> bool:
        """Adds the called function to those that are read; returns whether that is possible."""
        if any(isinstance(it, ast.Starred) for it in node.args):
            return False
        if isinstance(function, type) and self._found.is_own(function):
            # its methods may be called at any time, as those of a contact listener are
            for each in vars(function).values():
                self._found.reach(each)
            return not NONE.union(*map(self.roots, node.args))
        if isinstance(function, FunctionType) and self._found.is_own(function):
            self._found.reach(function, self._given(node, function, 0))
            return True
        if isinstance(node.func, ast.Attribute) and self._is_method(node.func):
            for each in self._found._kind.__mro__:
                own = _function(vars(each).get(node.func.attr))
                if isinstance(own, FunctionType):
                    self._found.reach(own, self._given(node, own, 1))
            return True
        return False

    def _given(self, node: ast.Call, function: FunctionType, skipped: int) -> dict[str, Roots]:
        names = function.__code__.co_varnames[: function.__code__.co_argcount][skipped:]
        given = dict(zip(names, map(self.roots, node.args), strict=False))
        given |= {it.arg: self.roots(it.value) for it in node.keywords if it.arg}
        return {name: roots for name, roots in given.items() if roots}

    # ----------------------------------------------------------------------------- statements --

    def _bind(self, target: ast.AST, roots: Roots) -> None:
        """Notes what a target gets: a name may be a part of attributes, others are changed."""
        if isinstance(target, ast.Name):
            self._aliases[target.id] = self._aliases.get(target.id, NONE) | roots
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self._bind(each, _deeper(roots))
        elif isinstance(target, ast.Starred):
            self._bind(target.value, roots)
        elif isinstance(target, ast.Attribute):
            self._found.assigned.add(target.attr)
            self._found.mutated |= roots | self.roots(target.value)
        elif isinstance(target, ast.Subscript):
            self._found.mutated |= roots | self.roots(target.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            is_kept = isinstance(target, (ast.Attribute, ast.Subscript))
            self._bind(target, self._escaping(node.value) if is_kept else self.roots(node.value))
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, self.roots(node.value))
            self.visit(node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._bind(node.target, self.roots(node.value))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        # it changes arrays and lists in place
        self._found.mutated |= self.roots(node.target)
        self._bind(node.target, NONE)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self._bind(target, NONE)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._bind(node.target, _deeper(self.roots(node.iter)))
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._bind(node.target, _deeper(self.roots(node.iter)))
        self.generic_visit(node)

    def visit_withitem(self, node: ast.withitem) -> None:
        if node.optional_vars is not None:
            self._bind(node.optional_vars, self.roots(node.context_expr))
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        # the caller may change it
        self._found.mutated |= self._escaping(node.value)
        self.generic_visit(node)

    def visit_Yield(self, node: ast.Yield) -> None:
        self._found.mutated |= self.roots(node.value)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        for statement in self._branches(node):
            self.visit(statement)

    def _branches(self, node: ast.If) -> Iterator[ast.stmt]:
        """Yields the statements that may run: without a render mode, `self.render_mode` is None."""
        test, is_true = node.test, None
        if not self._draws and isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, right = test.left, test.comparators[0]
            if (
                isinstance(left, ast.Attribute)
                and left.attr == "render_mode"
                and isinstance(right, ast.Constant)
            ):
                is_none, op = right.value is None, test.ops[0]
                if isinstance(op, (ast.Is, ast.Eq)):
                    is_true = is_none
                elif isinstance(op, (ast.IsNot, ast.NotEq)):
                    is_true = not is_none
        if is_true is not False:
            yield from node.body
        if is_true is not True:
            yield from node.orelse


def _function(thing: Any) -> Any:
    """Returns the function of a static or class method or a property."""
    thing = getattr(thing, "__func__", thing)
    return thing.fget if isinstance(thing, property) else thing


def _without_out(node: ast.Call) -> bool:
    return all(it.arg is not None and it.arg != "out" for it in node.keywords)


def _deeper(roots: Roots) -> Roots:
    return frozenset(
        (name, depth if depth == ANYWHERE else min(depth + 1, MAX_DEPTH)) for name, depth in roots
    )


def _anywhere(roots: Roots) -> Roots:
    return frozenset((name, ANYWHERE) for name, _ in roots)


def _is_mutable(value: Any, depth: int) -> bool:
    """Returns whether something this deep in a value can be changed in place."""
    if isinstance(value, np.ndarray):
        # parts of it may be views
        return True
    if not isinstance(value, (list, tuple, dict, set)):
        return False
    if depth in (0, ANYWHERE) and not isinstance(value, tuple):
        return True
    parts = value.values() if isinstance(value, dict) else value
    inside = depth if depth == ANYWHERE else depth - 1
    return depth != 0 and any(_is_mutable(each, inside) for each in parts)
