"""Statements: what becomes of each kind of statement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import (
    aliasing,
    assignment,
    containers,
    displays,
    expressions,
    loops,
    operators,
    order,
    seeding,
)
from parallel_pool._translator.flow import Lost, Names, Pending
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.template import may_change
from parallel_pool._translator.values import Fixed, Tup, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def _pass(body: Body, tree: ast.Pass) -> None:
    pass


def _import(body: Body, tree: ast.Import) -> None:
    import importlib

    for each in tree.names:
        module = importlib.import_module(each.name)
        if each.asname is None and "." in each.name:
            module = importlib.import_module(each.name.partition(".")[0])
        body.names[each.asname or each.name.partition(".")[0]] = Fixed(module)


def _importfrom(body: Body, tree: ast.ImportFrom) -> None:
    import importlib

    module = importlib.import_module(tree.module or "")
    for each in tree.names:
        body.names[each.asname or each.name] = Fixed(getattr(module, each.name))


def _expr(body: Body, tree: ast.Expr) -> None:
    if isinstance(tree.value, ast.Constant):
        return
    if containers.is_output(body, tree.value):
        return
    body.value(tree.value)


def _assign(body: Body, tree: ast.Assign) -> None:
    if isinstance(tree.value, ast.Tuple) and isinstance(tree.targets[0], (ast.Tuple, ast.List)):
        # no tuple is made: the names mean its items
        value: Value = Tup(tuple(expressions.displayed(body, tree.value.elts)))
    else:
        value = body.value(tree.value)
    order.refuse_stale(body, tree, value)
    for target in tree.targets:
        body.assign_to(target, value)
        if len(tree.targets) > 1 and isinstance(target, (ast.Name, ast.Attribute)):
            # the next one is another name of the same object
            value = body.value(_as_read(target))


def _annassign(body: Body, tree: ast.AnnAssign) -> None:
    if tree.value is not None:
        body.assign_to(tree.target, body.value(tree.value))


def _delete(body: Body, tree: ast.Delete) -> None:
    for target in tree.targets:
        if isinstance(target, ast.Name):
            body.names.pop(target.id, None)
        else:
            containers.delete(body, target)


def _assert(body: Body, tree: ast.Assert) -> None:
    found = expressions.condition(body, tree.test)
    text, arguments = containers.message(body, tree.msg)
    if found is True:
        return
    if found is False:
        body.fail("AssertionError", text, *arguments)
        body.alive = False
        return
    body.check(str(found), "AssertionError", text, *arguments)


def _raise(body: Body, tree: ast.Raise) -> None:
    if tree.exc is None:
        raise body.refuse("a raise without an exception is not translated: name one")
    call = tree.exc if isinstance(tree.exc, ast.Call) else None
    found = body.value(call.func if call else tree.exc)
    cls = found.value if isinstance(found, Fixed) else None
    if not (isinstance(cls, type) and issubclass(cls, BaseException)):
        raise body.refuse("this exception is not translated: raise a class, with a text")
    text, arguments = containers.message(body, call.args[0] if call and call.args else None)
    body.fail(cls.__name__, text, *arguments)
    body.program.exceptions_by_name.setdefault(cls.__name__, cls)
    body.alive = False


def _return(body: Body, tree: ast.Return) -> None:
    if body.entry is not None:
        body.entry(body, tree.value)
        if body.is_unresolved:
            raise body.refuse("functions call each other in a way that is not translated")
        aliasing.returned(body, None)
        body.emit("return PP_OK;")
        body.alive = False
        return
    value = body.value(tree.value) if tree.value is not None else Fixed(None)
    body.give(value)


def _if(body: Body, tree: ast.If) -> None:
    if expressions.is_type_checking(tree.test):
        return
    has_seed = seeding.asks(body, tree.test)
    if has_seed is not None:
        ways = (tree.body, tree.orelse) if has_seed else (tree.orelse, tree.body)
        seeding.refuse_what_depends(body, *ways)
        return
    found = expressions.condition(body, tree.test)

    def then() -> None:
        expressions.narrow(body, tree.test, True)
        body.statements(tree.body)

    def otherwise() -> None:
        expressions.narrow(body, tree.test, False)
        body.statements(tree.orelse)

    body.branch(found, then, otherwise)


def _match(body: Body, tree: ast.Match) -> None:
    subject = body.value(tree.subject)
    _cases(body, body.kept(subject), tree.cases)


def _cases(body: Body, subject: Value, cases: Sequence[ast.match_case]) -> None:
    if not cases:
        return
    first, *others = cases
    captured: dict[str, Value] = {}
    found = _matches(body, subject, first.pattern, captured)

    def matched() -> None:
        for name, value in captured.items():
            body.assign(name, value)

    def statements() -> None:
        if first.guard is None:
            matched()
        body.statements(first.body)

    if first.guard is not None:
        found = _guarded(body, found, matched, first.guard)
    body.branch(found, statements, lambda: _cases(body, subject, others))


def _guarded(
    body: Body, found: str | bool, matched: Callable[[], None], guard: ast.expr
) -> str | bool:
    """Returns whether a pattern fits and its guard holds, which is looked at only then."""
    if isinstance(found, bool):
        if found:
            matched()
        return found and expressions.condition(body, guard)
    result = body.c_variable("t", "bool")

    def look() -> None:
        matched()
        body.emit(f"{result} = {operators.c_truth(expressions.condition(body, guard))};")

    body.branch(found, look, lambda: body.emit(f"{result} = false;"))
    return result


def _matches(
    body: Body, subject: Value, pattern: ast.pattern, captured: dict[str, Value]
) -> str | bool:
    if isinstance(pattern, ast.MatchValue):
        return body.truth(operators.compare(body, ast.Eq(), subject, body.value(pattern.value)))
    if isinstance(pattern, ast.MatchSingleton):
        return body.truth(operators.compare(body, ast.Is(), subject, Fixed(pattern.value)))
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        if pattern.name:
            captured[pattern.name] = subject
        return True
    if isinstance(pattern, ast.MatchOr):
        result: str | bool = False
        for each in pattern.patterns:
            result = operators.either(body, result, _matches(body, subject, each, captured))
        return result
    if isinstance(pattern, ast.MatchSequence):
        items = body.items(subject)
        if items is None or len(items) != len(pattern.patterns):
            return False
        result = True
        for item, each in zip(items, pattern.patterns, strict=True):
            result = operators.both(body, result, _matches(body, item, each, captured))
        return result
    raise body.refuse("this pattern is not translated: write if and elif")


def _functiondef(body: Body, tree: ast.FunctionDef) -> None:
    raise body.refuse(
        f"{tree.name} is a function in a function, which is translated if it reads the"
        " other's variables only, and is only called: make it a method"
    )


def _with(body: Body, tree: ast.With) -> None:
    for each in tree.items:
        call = each.context_expr
        if isinstance(call, ast.Call) and "errstate" in ast.unparse(call.func):
            continue
        raise body.refuse("a with statement is not translated")
    body.statements(tree.body)


def _try(body: Body, tree: ast.Try) -> None:
    if tree.finalbody:
        raise body.refuse("finally is not translated")
    part_of_try = ast.Module(tree.body, [])
    for name, held in list(body.names.items()):
        if isinstance(held, displays.ListDisplay) and may_change(part_of_try, name):
            # what it is when an exception comes must be one list
            body.listed(name)
    label, end = body.name("handler"), body.name("after")
    flows: list[Pending] = []
    first = len(body.lines)
    body.handlers.append(label)
    body.statements(tree.body)
    body.handlers.pop()
    raised = [each for each in _pendings(body.lines[first:]) if each.handler == label]
    if body.alive or not raised:
        body.statements(tree.orelse)
    if not raised:
        return
    entry = _caught(body, raised)
    if body.alive:
        _go(body, flows, end)
    body.emit(f"{label}:;")
    for each in tree.handlers:
        body.names, body.alive = dict(entry), True
        with body.block(f"if ({body.program.catches(body, each)}) {{"):
            _handle(body, each)
            if body.alive:
                _go(body, flows, end)
    body.names, body.is_checked = dict(entry), True
    body.goto_handler()
    body.emit(f"{end}:;")
    body.alive = bool(flows)
    if flows:
        target = body.joined([each.names for each in flows])
        body.settle(flows, target)
        body.names = target


def _caught(body: Body, raised: Sequence[Pending]) -> Names:
    """Returns what names mean to those who handle exceptions that were raised."""
    entry: Names = {}
    ways = [each.names for each in raised]
    for name in {name: None for way in ways for name in way}:
        try:
            found = body.joined([{name: way[name]} if name in way else {} for way in ways])
        except Refusal as refusal:
            found = {name: Lost(f"when an exception comes, {refusal.args[0]}")}
        entry.update(found)
    body.settle(raised, entry)
    return entry


def _go(body: Body, flows: list[Pending], label: str) -> None:
    """Goes to a place where several ways meet."""
    flows.append(Pending(dict(body.names), body.indent))
    body.lines.append(flows[-1])
    body.emit(f"goto {label};")


def _handle(body: Body, tree: ast.ExceptHandler) -> None:
    body.emit("status = PP_OK;")
    if tree.name:
        body.names[tree.name] = Lost(
            f"what {tree.name} is, an exception, is not translated: read nothing of it"
        )
    body.statements(tree.body)
    if tree.name:
        body.names.pop(tree.name, None)


def _as_read(target: ast.Name | ast.Attribute) -> ast.expr:
    """Returns the expression that reads what was assigned."""
    read = (
        ast.Name(target.id)
        if isinstance(target, ast.Name)
        else ast.Attribute(target.value, target.attr)
    )
    read.ctx = ast.Load()
    return ast.copy_location(read, target)


def _pendings(lines: Sequence[Any]) -> Iterator[Pending]:
    for line in lines:
        if isinstance(line, Pending):
            yield line
            yield from _pendings(line.lines)


FUNCTIONS: dict[type, Callable[[Body, Any], None]] = {
    ast.Pass: _pass,
    ast.Import: _import,
    ast.ImportFrom: _importfrom,
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AnnAssign: _annassign,
    ast.AugAssign: assignment.augment,
    ast.Delete: _delete,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.Return: _return,
    ast.If: _if,
    ast.Match: _match,
    ast.For: loops.translate_for,
    ast.While: loops.translate_while,
    ast.Break: lambda body, tree: loops.leave(body),
    ast.Continue: lambda body, tree: loops.go_on(body),
    ast.FunctionDef: _functiondef,
    ast.With: _with,
    ast.Try: _try,
}
