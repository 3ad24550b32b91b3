"""Flow: the ways of control through a function, and what names mean on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from parallel_pool._translator.types import Type
from parallel_pool._translator.values import Value

Names = dict[str, Value]


@dataclass
class Maybe(Value):
    """What a name is, if it was assigned; flag: the C variable that says so."""

    value: Value
    flag: str

    @property
    def type(self) -> Type:
        return self.value.type


@dataclass
class Lost(Value):
    """What a name is where it can't be said; reason: what a program that reads it is told."""

    reason: str


@dataclass
class Pending:
    """Where control goes to a place at which the names are not known yet.

    Attributes:
        names: what they mean here.
        lines: what is stored on the way.
        is_break: a loop is left by `break`.
        handler: the label to which an exception goes; "" for other ways.
    """

    names: Names
    indent: int
    lines: list[Any] = field(default_factory=list)
    is_break: bool = False
    handler: str = ""


@dataclass
class Loop:
    """A loop that is being translated.

    Attributes:
        label: of the places behind its statements and behind the loop.
        is_unrolled: it is one copy of several.
        breaks, going, exits: where control leaves it, goes to its next item, or finds that its
            condition fails.
    """

    label: str
    is_unrolled: bool = False
    breaks: list[Pending] = field(default_factory=list)
    going: list[Pending] = field(default_factory=list)
    exits: list[Pending] = field(default_factory=list)
