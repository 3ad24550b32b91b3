"""Liveness: whether a function reads what a name means after a statement."""

from __future__ import annotations

import ast
from collections.abc import Sequence

LOOPS = (ast.For, ast.While)


def is_read_later(function: ast.FunctionDef, at: ast.AST, name: str) -> bool:
    """Returns whether what a name means at a place of a function may be read after it."""
    found = _after(function.body, at, name)
    return found is not False and found is not None


def _after(block: Sequence[ast.stmt], at: ast.AST, name: str) -> bool | None:
    """Returns whether a name is read in a block after a place in it: True, False if it means
    another value from some statement on, None if it is neither read nor assigned."""
    for i, each in enumerate(block):
        if not _holds(each, at):
            continue
        inner = [_after(part, at, name) for part in _blocks(each) if _holds_any(part, at)]
        if inner and inner[0] is not None:
            return inner[0]
        if inner and isinstance(each, LOOPS) and goes_around(each, name):
            return True
        if not inner and _is_behind(each, at, name):
            return True
        return _first(block[i + 1 :], name)
    return None


def goes_around(loop: ast.For | ast.While, name: str) -> bool:
    """Returns whether a name is read when a loop goes around."""
    if isinstance(loop, ast.For) and _binds(loop.target, name):
        return False
    test = isinstance(loop, ast.While) and _reads(loop.test, name)
    return test or _first(loop.body, name) is True


def _first(block: Sequence[ast.stmt], name: str) -> bool | None:
    """Returns whether a block reads a name: True, False if it leaves or assigns before, or None."""
    for each in block:
        if isinstance(each, ast.For) and _binds(each.target, name):
            if _reads(each.iter, name) or _first(each.orelse, name):
                return True
        elif _reads(each, name) or _jumps(each):
            return True
        elif _assigns(each, name) or isinstance(each, ast.Return):
            return False
    return None


def _assigns(tree: ast.stmt, name: str) -> bool:
    targets = tree.targets if isinstance(tree, ast.Assign) else ()
    return any(_binds(each, name) for each in targets)


def _jumps(tree: ast.stmt) -> bool:
    """Returns whether control may leave a statement for another place of the function."""
    return any(isinstance(each, (ast.Break, ast.Continue, ast.Raise)) for each in ast.walk(tree))


def _is_behind(tree: ast.stmt, at: ast.AST, name: str) -> bool:
    """Returns whether a name is read in a statement, behind a place in it."""
    place = (getattr(at, "lineno", 0), getattr(at, "col_offset", 0))
    return any(
        isinstance(each, ast.Name)
        and each.id == name
        and isinstance(each.ctx, ast.Load)
        and (each.lineno, each.col_offset) > place
        for each in ast.walk(tree)
    )


def _reads(tree: ast.AST, name: str) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load))
        or (isinstance(each, ast.AugAssign) and _binds(each.target, name))
        for each in ast.walk(tree)
    )


def _binds(target: ast.expr, name: str) -> bool:
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return any(isinstance(each, ast.Name) and each.id == name for each in parts)


def _blocks(tree: ast.stmt) -> list[Sequence[ast.stmt]]:
    """Returns the blocks of statements in a statement."""
    found: list[Sequence[ast.stmt]] = [
        getattr(tree, name, []) for name in ("body", "orelse", "finalbody")
    ]
    found += [each.body for each in getattr(tree, "handlers", [])]
    return found + [each.body for each in getattr(tree, "cases", [])]


def _holds_any(block: Sequence[ast.stmt], at: ast.AST) -> bool:
    return any(_holds(each, at) for each in block)


def _holds(tree: ast.stmt, at: ast.AST) -> bool:
    line, column = getattr(at, "lineno", 0), getattr(at, "col_offset", 0)
    start, end = (tree.lineno, tree.col_offset), (tree.end_lineno or 0, tree.end_col_offset or 0)
    return start <= (line, column) < end
