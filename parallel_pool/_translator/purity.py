"""Purity: which expressions change nothing, so that they can be computed when they are needed."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping
from typing import Any

from parallel_pool._translator import reader
from parallel_pool._translator.template import CHANGING

# calls in each other
MOST_DEPTH = 20


def shown(cls: type, functions: Mapping[str, reader.Function]) -> tuple[ast.expr | None, ...]:
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
    for each in tuples:
        if len(each.elts) not in (2, 5) or not all(
            is_pure(cls, part, step, own) for part in each.elts
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


def is_pure(cls: type, tree: ast.AST, function: reader.Function, own: str, depth: int = 0) -> bool:
    """Returns whether an expression, or a function's statements, change no attribute, no array that
    was there before, and no generator."""
    if depth > MOST_DEPTH:
        return False
    # names that hold what the function has made itself
    fresh = {
        each.targets[0].id
        for each in ast.walk(tree)
        if isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Name)
        and _is_fresh(each.value)
    }
    for each in ast.walk(tree):
        if isinstance(each, ast.Attribute):
            if each.attr in ("np_random", "render") or not isinstance(each.ctx, ast.Load):
                return False
            if _is_own(each.value, own) and not _is_pure_attribute(cls, each.attr, depth):
                return False
        elif isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load):
            if not (isinstance(each.value, ast.Name) and each.value.id in fresh):
                return False
        elif isinstance(each, ast.AugAssign):
            if not isinstance(each.target, ast.Name) and not (
                isinstance(each.target, ast.Subscript)
                and isinstance(each.target.value, ast.Name)
                and each.target.value.id in fresh
            ):
                return False
        elif isinstance(each, ast.Call):
            if not _is_pure_call(cls, each, function, fresh, depth):
                return False
        elif isinstance(each, (ast.Yield, ast.YieldFrom, ast.Delete, ast.Global, ast.Nonlocal)):
            return False
    return True


def _is_own(tree: ast.AST, own: str) -> bool:
    return isinstance(tree, ast.Name) and tree.id == own


def _is_fresh(tree: ast.expr) -> bool:
    """Returns whether an expression makes a new object."""
    if isinstance(tree, (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.BinOp, ast.Constant)):
        return True
    if not isinstance(tree, ast.Call):
        return False
    text = ast.unparse(tree.func)
    return text.rpartition(".")[2] in (
        *("zeros", "ones", "full", "empty", "array", "copy", "astype", "zeros_like", "arange"),
        *("ones_like", "full_like", "empty_like", "concatenate", "stack", "list", "dict", "set"),
    )


def _statements(function: reader.Function) -> ast.Module:
    return ast.Module(function.tree.body, [])


def _is_pure_attribute(cls: type, name: str, depth: int) -> bool:
    """Returns whether reading self.name, or calling it, changes nothing."""
    found = reader.find(cls, name)
    if found is None:
        return True
    own = found.tree.args.args[0].arg if found.tree.args.args else ""
    return is_pure(cls, _statements(found), found, own, depth + 1)


def _is_pure_call(
    cls: type, call: ast.Call, function: reader.Function, fresh: set[str], depth: int
) -> bool:
    target = call.func
    if isinstance(target, ast.Attribute):
        if target.attr not in CHANGING:
            return True
        owner = target.value
        return isinstance(owner, ast.Name) and owner.id in fresh
    if not isinstance(target, ast.Name):
        return False
    value: Any = function.names.get(target.id, getattr(builtins, target.id, None))
    if not inspect.isfunction(value):
        return value is not setattr and value is not delattr
    inner = reader.read(value, None, "function")
    # it may be given a part of self
    return is_pure(cls, _statements(inner), inner, "", depth + 1)
