"""Numbers of environments in messages: a worker counts from its first row, its caller does not."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

from parallel_pool.errors import EnvError, SlowWorkerWarning, WorkerError

# how messages name environments: "environment 1", "environments 0 to 2", "environments [0, 2]",
# "env_fns[1]" and "actions[1]"
NAMES = re.compile(
    r"\b(?:(?:[Ee]nvironments? )(?:\d+(?: to \d+)?|\[[\d, ]+\])|(?:env_fns|actions)\[\d+\])"
)
# how messages name functions, which no environment does
FUNCTIONS = re.compile(r"\benv_fns\[\d+\]")
# the lines of an EnvError about further environments
FURTHER = re.compile(r"^Environment \d+:", re.MULTILINE)
NUMBER = re.compile(r"\d+")


def shifted(text: str, first: int, names: re.Pattern[str] = NAMES) -> str:
    """Returns a message of a worker's pool with its caller's numbers of environments.

    Args:
        text: the message.
        first: number of the worker's first environment.
        names: what names environments.
    """

    def shift(found: re.Match[str]) -> str:
        return NUMBER.sub(lambda number: str(int(number[0]) + first), found[0])

    return names.sub(shift, text)


def shift_error(error: BaseException, first: int) -> None:
    """Changes what this package says in an exception and its causes; see `shifted`.

    What environments say stays as it is.
    """
    for each in _chain(error):
        notes: list[Any] = getattr(each, "__notes__", [])
        notes[:] = [shifted(note, first) if isinstance(note, str) else note for note in notes]
        if not each.args or not isinstance(each.args[0], str):
            continue
        text = each.args[0]
        if isinstance(each, EnvError) and not isinstance(each, WorkerError):
            # what follows is the environment's own text
            head, failed, rest = text.partition(" failed")
            text = shifted(head, first) + failed + shifted(rest, first, FURTHER)
        elif isinstance(each, WorkerError) or _is_ours(each):
            text = shifted(text, first)
        else:
            text = shifted(text, first, FUNCTIONS)
        each.args = (text, *each.args[1:])


def shift_warnings(first: int) -> None:
    """Makes this process show warnings of its pool with its caller's numbers."""
    show = warnings.showwarning

    def show_shifted(message: Any, category: type[Warning], *arguments: Any, **more: Any) -> None:
        if issubclass(category, SlowWorkerWarning):
            message = category(shifted(str(message), first))
        show(message, category, *arguments, **more)

    warnings.showwarning = show_shifted


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__


def _is_ours(error: BaseException) -> bool:
    """Returns whether code of this package has raised it, and not on an environment's behalf."""
    trace = error.__traceback__
    if trace is None or isinstance(error.__cause__, EnvError):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__", "")).startswith("parallel_pool.")
