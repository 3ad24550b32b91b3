"""Seeding: what reset() does with its seed, which the engine does instead."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parallel_pool._translator.values import SeedArgument

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

# functions that seed generators, by the ends of their names
SEEDING = ("super().reset", "Env.reset", ".seed", "seeding.np_random", "default_rng")
GENERATORS = ("np_random", "_np_random", "_np_random_seed")


def asks(body: Body, test: ast.expr) -> bool | None:
    """Returns whether a condition holds if there is a seed; None if it is about something else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        found = asks(body, test.operand)
        return None if found is None else not found
    if isinstance(test, ast.Name):
        return True if isinstance(body.names.get(test.id), SeedArgument) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    is_none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
    if not is_none or asks(body, test.left) is None or not isinstance(test.left, ast.Name):
        return None
    return isinstance(test.ops[0], (ast.IsNot, ast.NotEq))


def refuse_what_depends(body: Body, given: Sequence[ast.stmt], missing: Sequence[ast.stmt]) -> None:
    """Raises Refusal unless statements for a seed, and for none, do no more than to seed.

    Args:
        body: where they are.
        given: what is done if reset() gets a seed.
        missing: what is done if it gets none.
    """
    for each in (*given, *missing):
        if not _only_seeds(each):
            body.at = each
            raise body.refuse(
                "what depends on whether reset() got a seed is not translated: use the seed for"
                " super().reset(seed=seed) only"
            )


def _only_seeds(tree: ast.stmt) -> bool:
    if isinstance(tree, ast.Pass):
        return True
    if isinstance(tree, ast.Expr):
        return _is_seeding(tree.value)
    if not isinstance(tree, ast.Assign) or not _is_seeding(tree.value):
        return False
    return all(_is_generator(each) for each in tree.targets)


def _is_seeding(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Call) and ast.unparse(tree.func).endswith(SEEDING)


def _is_generator(tree: ast.expr) -> bool:
    """Returns whether a target is the engine's generator, or a name that nothing needs."""
    if isinstance(tree, ast.Tuple):
        return all(map(_is_generator, tree.elts))
    if isinstance(tree, ast.Attribute):
        return tree.attr in GENERATORS
    return isinstance(tree, ast.Name)
