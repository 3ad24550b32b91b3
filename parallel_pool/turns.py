"""A policy and its environments in turns, so that both work at the same time: `PolicyLoop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.turns.policy_loop import PolicyLoop
    from parallel_pool._apis.turns.turn import Turn

__all__ = ["PolicyLoop", "Turn"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._apis.turns.policy_loop": ("PolicyLoop",),
        "parallel_pool._apis.turns.turn": ("Turn",),
    },
)
