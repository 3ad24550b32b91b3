"""Lifting: functions in a method become methods, which get the variables of the other as arguments.

A variable that belongs to the outer function has the value that it has at the call, which is what
Python gives. A function that is used otherwise than called by its name stays where it is.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
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
        defaults, captured = _defaults(inner.args), _captured(method, inner)
        if defaults is None or captured is None:
            break
        calls = _Calls(method, inner, captured)
        lifted.append(Lifted(calls.method(inner), defaults))
        method = calls.visit(copy.deepcopy(method))
    return method, lifted


def assigned(trees: Sequence[ast.AST]) -> Iterator[str]:
    """Yields the names that statements assign; comprehensions and functions have their own."""
    for tree in trees:
        if isinstance(tree, ast.FunctionDef):
            yield tree.name
            continue
        if isinstance(tree, ast.Name) and isinstance(tree.ctx, (ast.Store, ast.Del)):
            yield tree.id
        elif isinstance(tree, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and tree.name:
            yield tree.name
        if isinstance(tree, ast.comprehension):
            yield from assigned([tree.iter, *tree.ifs])
        else:
            yield from assigned(list(ast.iter_child_nodes(tree)))


def _inner(method: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    for statement in method.body:
        for each in ast.walk(statement):
            if isinstance(each, ast.FunctionDef):
                yield each


def _captured(method: ast.FunctionDef, inner: ast.FunctionDef) -> list[str] | None:
    """Returns the variables of the method that a function reads; None if it can't be lifted."""
    own, every = inner.args, list(ast.walk(inner))
    kinds = (ast.Nonlocal, ast.Global, ast.Yield, ast.YieldFrom, ast.Lambda)
    is_plain = not (inner.decorator_list or own.vararg or own.kwarg or own.posonlyargs)
    holds_functions = any(isinstance(each, ast.FunctionDef) for each in every[1:])
    if not is_plain or holds_functions or any(isinstance(each, kinds) for each in every):
        return None
    if not method.args.args or not _is_only_called(method, inner):
        return None
    first = method.args.args[0].arg
    mine = _parameters(own) | set(assigned(inner.body))
    theirs = _parameters(method.args) | set(assigned(method.body))
    read = {each.id for each in every if isinstance(each, ast.Name)} - mine
    captured = (read & theirs) - {first, inner.name}
    if first in mine or captured & _hidden(method, inner):
        return None
    return sorted(captured)


def _hidden(method: ast.FunctionDef, inner: ast.FunctionDef) -> set[str]:
    """Returns the names that mean something else in parts of a method that may call a function."""
    found: set[str] = set()
    for each in ast.walk(method):
        if isinstance(each, ast.comprehension):
            found |= set(assigned([each.target]))
        elif isinstance(each, ast.Lambda):
            found |= _parameters(each.args)
        elif isinstance(each, ast.FunctionDef) and each not in (method, inner):
            found |= _parameters(each.args) | set(assigned(each.body))
    return found


def _is_only_called(method: ast.FunctionDef, inner: ast.FunctionDef) -> bool:
    """Returns whether a name means one function, which is only called, and is there by then."""
    called = {
        id(each.func)
        for each in ast.walk(method)
        if isinstance(each, ast.Call)
        and not any(isinstance(argument, ast.Starred) for argument in each.args)
        and all(keyword.arg for keyword in each.keywords)
    }
    names = [each for each in ast.walk(method) if isinstance(each, ast.Name)]
    meant = [each for each in names if each.id == inner.name]
    defined = [each for each in _inner(method) if each.name == inner.name]
    is_known = inner in method.body and all(each.lineno > inner.lineno for each in meant)
    return is_known and len(defined) == 1 and all(id(each) in called for each in meant)


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


class _Calls(ast.NodeTransformer):
    """Replaces calls of a function by calls of the method that it becomes, and drops it."""

    def __init__(
        self, method: ast.FunctionDef, inner: ast.FunctionDef, captured: Sequence[str]
    ) -> None:
        self._function, self._own = inner.name, method.args.args[0].arg
        self._method = f"{method.name}__{inner.name}"
        self._captured = captured

    def method(self, inner: ast.FunctionDef) -> ast.FunctionDef:
        """Returns the function as a method, in which it calls itself as such."""
        made = copy.deepcopy(inner)
        made.name, made.body = self._method, [self.visit(each) for each in made.body]
        own = made.args
        own.args.insert(0, ast.arg(self._own))
        own.kwonlyargs += [ast.arg(name) for name in self._captured]
        own.defaults, own.kw_defaults = [], [None] * len(own.kwonlyargs)
        return made

    def visit_FunctionDef(self, tree: ast.FunctionDef) -> ast.AST:
        self.generic_visit(tree)
        return ast.copy_location(ast.Pass(), tree) if tree.name == self._function else tree

    def visit_Call(self, tree: ast.Call) -> ast.AST:
        self.generic_visit(tree)
        if not isinstance(tree.func, ast.Name) or tree.func.id != self._function:
            return tree
        tree.func = ast.Attribute(ast.Name(self._own, ast.Load()), self._method, ast.Load())
        for name in self._captured:
            tree.keywords.append(ast.keyword(name, ast.Name(name, ast.Load())))
        return ast.fix_missing_locations(tree)
