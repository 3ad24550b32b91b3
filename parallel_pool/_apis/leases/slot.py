"""Slot: one environment of a pool of leases, who has it, and its call in flight."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from parallel_pool._apis.leases.waiters import Waiter
    from parallel_pool._workers.branches import Order
    from parallel_pool._workers.watch.failures import Death

# kinds of calls, and their names in messages
STEP, RESET, CALL, BRANCH = range(4)
NAMES = ("step", "reset", "call", "call of branches")
# those after which an environment may have to be reset
CHANGES = (STEP, RESET)

# why an environment must be reset before its next step
NEW = "it was not reset in this lease"
ENDED = "its episode has ended"
FAILED = "its last call failed"
ABANDONED = "its last call was cancelled or took too long"


class Call:
    """A step, a reset or the call of a method, from its start until its row has arrived.

    Attributes:
        kind: STEP, RESET, CALL or BRANCH.
        argument: the action, the keyword arguments of the reset, the `TurnCall`, or `Copies`.
        waiter: who waits for the result; None once nobody does.
        timeout: seconds, as given; None for none.
        due: monotonic time after which its worker is killed.
        was_taken: whether it was put into a slot; else it was refused.
        was_sent: whether it is known that the environment was sent it.
        is_torn: whether an exception such as Ctrl-C ended its sending.
    """

    __slots__ = (
        *("argument", "due", "is_torn", "kind", "timeout", "waiter", "was_sent", "was_taken"),
    )

    def __init__(self, kind: int, argument: Any, waiter: Waiter, timeout: float | None) -> None:
        self.kind = kind
        self.argument = argument
        self.waiter: Waiter | None = waiter
        self.timeout = timeout
        self.due = math.inf if timeout is None else time.monotonic() + timeout
        self.was_taken = self.was_sent = self.is_torn = False


@dataclass
class Copies:
    """What a call of branches makes.

    Attributes:
        slots: of the branches.
        seeds: of each; None: its generators go on.
        needs_episode: it fails if another worker has died with the episode that was begun.
        order: what a worker was asked for; None before, and for native environments.
    """

    slots: Sequence[Slot]
    seeds: Sequence[int | None]
    needs_episode: bool = False
    order: Order | None = None

    @property
    def env_ids(self) -> list[int]:
        return [slot.env_id for slot in self.slots]


class Row(NamedTuple):
    """What has arrived for one environment.

    Attributes:
        env_id: the environment.
        value: for `result` of what received it; None with an error.
        error: what the call raises.
        has_failed: the environment has failed, or its worker has died; else a call or its result.
    """

    env_id: int
    value: Any
    error: Exception | None = None
    has_failed: bool = False


class Slot:
    """One environment. All attributes are read and written under the pool's lock.

    Attributes:
        env_id: its number.
        holder: the lease that has it; None if it is free, or is about to be.
        call: what is in flight.
        queued: the call of the holder that follows once `call` is over.
        refusal: why it must be reset before its next step; empty: it need not.
        death: of its worker, as known at its last reset.
    """

    __slots__ = ("call", "death", "env_id", "holder", "queued", "refusal")

    def __init__(self, env_id: int) -> None:
        self.env_id = env_id
        self.holder: object | None = None
        self.call: Call | None = None
        self.queued: Call | None = None
        self.refusal = NEW
        self.death: Death | None = None
