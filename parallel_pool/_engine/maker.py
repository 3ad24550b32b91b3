"""Maker: the class from which a pool makes its environments in Python, as far as that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# modules with a function `translate(maker)`, which finds out whether the class could be compiled;
# the translator adds its own
trials: list[str] = []


@dataclass(frozen=True)
class Maker:
    """How a pool makes its environments.

    It is of use only where the class is: copied into another process it is None.

    Attributes:
        entry_point: the class, or "module:class" as Gymnasium's registry has it.
        task_id: Gymnasium's id; "" if the pool was made from the class itself.
        options: of the class's constructor.
    """

    entry_point: Any
    task_id: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return type(None), ()


def of(env_fn: Any) -> Maker | None:
    """Returns how a function makes its environment; None if only a call could tell.

    Args:
        env_fn: a class, or a function with an attribute `maker`.
    """
    if isinstance(env_fn, type):
        return Maker(env_fn)
    found = getattr(env_fn, "maker", None)
    return found if isinstance(found, Maker) else None


def of_all(env_fns: Sequence[Any]) -> Maker | None:
    """Returns how functions make their environments; None if they differ in more than options."""
    found = [of(env_fn) for env_fn in env_fns]
    kinds = [(each.entry_point, each.task_id) if each else None for each in found]
    return found[0] if all(kind == kinds[0] for kind in kinds) else None
