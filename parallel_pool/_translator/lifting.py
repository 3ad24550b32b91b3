"""Lifting: functions in a method become methods, which get the variables of the other as arguments.

A variable that belongs to the outer function has the value that it has at the call, which is what
Python gives. A function that is used otherwise than called by its name stays where it is.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class Lifted:
    """A function that was in a method.

    Attributes:
        tree: its syntax tree, as that of a method.
        defaults: of its parameters.
    """

    tree: ast.FunctionDef
    defaults: dict[str, Any]


def lift(method: ast.FunctionDef) -> tuple[ast.FunctionDef, list[Lifted]]:
    """Returns a method without the functions that can be lifted out of it, and these."""
    lifted: list[Lifted] = []
    while (inner := next(_inner(method), None)) is not None:
        parts = _lifted(method, inner)
        if parts is None:
            return method, lifted
        calls = _Calls(inner, parts.tree)
        method = calls.visit(copy.deepcopy(method))
        parts.tree = _as_method(calls, parts.tree)
        for each in lifted:
            each.tree = calls.visit(each.tree)
        lifted.append(parts)
    return method, lifted


def _inner(method: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    for statement in method.body:
        for each in ast.walk(statement):
            if isinstance(each, ast.FunctionDef):
                yield each


def _lifted(method: ast.FunctionDef, inner: ast.FunctionDef) -> Lifted | None:
    """Returns a function as a method; None if it can't be one."""
    every = list(ast.walk(inner))
    own = inner.args
    is_plain = not (inner.decorator_list or own.vararg or own.kwarg or own.posonlyargs)
    kinds = (ast.Nonlocal, ast.Global, ast.Yield, ast.YieldFrom, ast.Lambda)
    if not is_plain or not method.args.args or any(isinstance(each, kinds) for each in every):
        return None
    if any(isinstance(each, ast.FunctionDef) and each is not inner for each in every):
        return None
    if not _is_only_called(method, inner.name):
        return None
    defaults = _defaults(own)
    if defaults is None:
        return None
    first = method.args.args[0].arg
    if first in _parameters(own):
        return None
    captured = (_loaded(inner) - _parameters(own) - _assigned(inner.body)) & (
        _parameters(method.args) | _assigned(method.body)
    )
    made = copy.deepcopy(inner)
    made.args.defaults, made.args.kw_defaults = [], [None] * len(made.args.kwonlyargs)
    made.args.args.insert(0, ast.arg(first))
    for name in sorted(captured - {first, inner.name}):
        made.args.kwonlyargs.append(ast.arg(name))
        made.args.kw_defaults.append(None)
    made.name = f"{method.name}__{inner.name}"
    return Lifted(made, defaults)


def _is_only_called(method: ast.FunctionDef, name: str) -> bool:
    """Returns whether a name means one function, and is only called."""
    called = {
        id(each.func)
        for each in ast.walk(method)
        if isinstance(each, ast.Call)
        and not any(isinstance(argument, ast.Starred) for argument in each.args)
        and all(keyword.arg for keyword in each.keywords)
    }
    meant = [each for each in ast.walk(method) if isinstance(each, ast.Name) and each.id == name]
    defined = [each for each in _inner(method) if each.name == name]
    return len(defined) == 1 and all(id(each) in called for each in meant)


def _defaults(arguments: ast.arguments) -> dict[str, Any] | None:
    """Returns the defaults of a function's parameters; None if they must be computed."""
    names = [each.arg for each in arguments.args]
    trees = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
    for argument, tree in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if tree is not None:
            trees[argument.arg] = tree
    if not all(isinstance(each, ast.Constant) for each in trees.values()):
        return None
    return {name: ast.literal_eval(tree) for name, tree in trees.items()}


def _parameters(arguments: ast.arguments) -> set[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return {each.arg for each in every}


def _loaded(tree: ast.AST) -> set[str]:
    found = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    return found


def _assigned(body: list[ast.stmt]) -> set[str]:
    """Returns the names that statements assign, without those of functions in them."""
    found: set[str] = set()
    left: list[ast.AST] = list(body)
    while left:
        tree = left.pop()
        if isinstance(tree, ast.FunctionDef):
            found.add(tree.name)
            continue
        if isinstance(tree, ast.Name) and isinstance(tree.ctx, ast.Store):
            found.add(tree.id)
        if isinstance(tree, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        left.extend(ast.iter_child_nodes(tree))
    return found


class _Calls(ast.NodeTransformer):
    """Replaces calls of a function by calls of the method that it has become, and drops it."""

    def __init__(self, inner: ast.FunctionDef, made: ast.FunctionDef) -> None:
        self._name, self._place = inner.name, (inner.lineno, inner.col_offset)
        self._method, self._own = made.name, made.args.args[0].arg
        before = _parameters(inner.args)
        self._captured = [each.arg for each in made.args.kwonlyargs if each.arg not in before]

    def visit_FunctionDef(self, tree: ast.FunctionDef) -> ast.AST:
        self.generic_visit(tree)
        if (tree.lineno, tree.col_offset) == self._place and tree.name == self._name:
            return ast.copy_location(ast.Pass(), tree)
        return tree

    def visit_Call(self, tree: ast.Call) -> ast.AST:
        self.generic_visit(tree)
        if not isinstance(tree.func, ast.Name) or tree.func.id != self._name:
            return tree
        own = ast.Name(self._own, ast.Load())
        tree.func = ast.Attribute(own, self._method, ast.Load())
        for name in self._captured:
            tree.keywords.append(ast.keyword(name, ast.Name(name, ast.Load())))
        for each in ast.walk(tree.func):
            ast.copy_location(each, tree)
        for keyword in tree.keywords:
            if not hasattr(keyword, "lineno"):
                for each in ast.walk(keyword):
                    ast.copy_location(each, tree)
        return tree


def _as_method(calls: _Calls, made: ast.FunctionDef) -> ast.FunctionDef:
    """Returns the method, in which calls of itself are calls of the method, too."""
    made.body = [calls.visit(each) for each in made.body]
    return made
