"""Seeding: what reset() does with its seed, which the engine does instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING

from parallel_pool._translator import reader
from parallel_pool._translator.values import Rng, SeedArgument, Tup, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body
    from parallel_pool._translator.reader import Function

# functions that make generators, and others that seed them, by the ends of their names
MAKING = ("seeding.np_random", "default_rng")
SEEDING = ("super().reset", "Env.reset", ".seed", *MAKING)
GENERATORS = ("np_random", "_np_random", "_np_random_seed")
WHY = (
    "what depends on whether reset() got a seed is not translated: use the seed for"
    " super().reset(seed=seed) only"
)


def either(body: Body, one: Value, other: Value) -> Value:
    """Returns what is one value if there is a seed, and another if there is none."""
    if not isinstance(one, Rng) or not isinstance(other, Rng):
        raise body.refuse(WHY)
    return one if one.name else other


def generators(functions: Sequence[Function]) -> frozenset[str]:
    """Returns the attributes that functions assign from what makes generators."""
    return frozenset(
        target.attr
        for function in functions
        for each in ast.walk(function.tree)
        if isinstance(each, ast.Assign) and _makes(each.value)
        for target in _flat(each.targets)
        if isinstance(target, ast.Attribute)
    )


def _makes(tree: ast.expr) -> bool:
    if isinstance(tree, ast.IfExp):
        return _makes(tree.body) or _makes(tree.orelse)
    return _is_call(tree, MAKING)


def _flat(targets: Sequence[ast.expr]) -> Iterator[ast.expr]:
    for each in targets:
        yield from _flat(each.elts) if isinstance(each, ast.Tuple) else (each,)


def made(body: Body, name: str, given: Sequence[Value]) -> Value:
    """Returns what default_rng(seed) or np_random(seed) returns: the engine's generator.

    Raises:
        Refusal: the seed is not that of reset().
    """
    if len(given) != 1 or not isinstance(given[0], SeedArgument):
        raise body.refuse(
            f"{name}() with another seed than that of reset() is not translated: write"
            f" {name}(seed) in reset()"
        )
    made = Rng()
    return Tup((made, given[0])) if name == "np_random" else made


def asks(body: Body, test: ast.expr) -> bool | None:
    """Returns whether a condition holds if there is a seed; None if it is about something else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        found = asks(body, test.operand)
        return None if found is None else not found
    if isinstance(test, ast.BoolOp):
        return _asks_more(body, test)
    if isinstance(test, ast.Name):
        return True if isinstance(body.names.get(test.id), SeedArgument) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    is_none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
    if not is_none or asks(body, test.left) is None or not isinstance(test.left, ast.Name):
        return None
    return isinstance(test.ops[0], (ast.IsNot, ast.NotEq))


def _asks_more(body: Body, test: ast.BoolOp) -> bool | None:
    """Returns the same of conditions that are joined: others may ask whether there is a generator,
    as in `seed is not None or self.np_random is None`."""
    found = [asks(body, each) for each in test.values]
    if all(each is None for each in found):
        return None
    wanted = isinstance(test.op, ast.Or)
    for each, has_seed in zip(test.values, found, strict=True):
        if has_seed is not wanted and not (wanted and _asks_generator(body, each)):
            raise body.refuse(WHY)
    return wanted


def _asks_generator(body: Body, test: ast.expr) -> bool:
    """Returns whether a condition asks if there is no generator yet."""
    names = (*GENERATORS, *body.program.template.generators)
    text = ast.unparse(test)
    asked = [(f"self.{name} is None", f"not hasattr(self, '{name}')") for name in names]
    return any(text in each for each in asked)


def refuse_what_depends(body: Body, given: Sequence[ast.stmt], missing: Sequence[ast.stmt]) -> None:
    """Raises Refusal unless statements for a seed, and for none, do no more than to seed.

    Args:
        body: where they are.
        given: what is done if reset() gets a seed.
        missing: what is done if it gets none.
    """
    names = {name for name, value in body.names.items() if isinstance(value, SeedArgument)}
    for each in (*given, *missing):
        if not _only_seeds(body, each, names):
            body.at = each
            raise body.refuse(WHY)


def _only_seeds(body: Body, tree: ast.stmt, seeds: Set[str]) -> bool:
    """Returns whether a statement only seeds.

    Args:
        body: where it is.
        tree: the statement.
        seeds: names of the seed.
    """
    if isinstance(tree, ast.Pass):
        return True
    if isinstance(tree, ast.Expr):
        return _is_call(tree.value, SEEDING) or _is_seeding_method(body, tree.value)
    if not isinstance(tree, ast.Assign) or not _is_call(tree.value, SEEDING):
        return False
    if _is_call(tree.value, MAKING) and not _takes_seed(tree.value, seeds):
        return False
    return all(_is_generator(body, each) for each in _flat(tree.targets))


def _is_call(tree: ast.expr, names: tuple[str, ...]) -> bool:
    return isinstance(tree, ast.Call) and ast.unparse(tree.func).endswith(names)


def _takes_seed(tree: ast.expr, seeds: Set[str]) -> bool:
    """Returns whether a call gets the seed of reset(), and nothing else."""
    assert isinstance(tree, ast.Call)
    given = [*tree.args, *(each.value for each in tree.keywords)]
    return len(given) == 1 and ast.unparse(given[0]) in seeds


def _is_seeding_method(body: Body, tree: ast.expr) -> bool:
    """Returns whether an expression calls a method of the class that only seeds."""
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute):
        return False
    method = reader.find(body.program.template.cls, tree.func.attr)
    if method is None:
        return False
    names = {each.arg for each in method.tree.args.args}
    return all(_only_seeds(body, each, names) for each in method.tree.body)


def _is_generator(body: Body, tree: ast.expr) -> bool:
    """Returns whether a target is the engine's generator, or a name that nothing needs."""
    if isinstance(tree, ast.Attribute):
        return tree.attr in (*GENERATORS, *body.program.template.generators)
    return isinstance(tree, ast.Name)
