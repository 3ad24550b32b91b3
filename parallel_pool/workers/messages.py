"""Messages: what the creator of a pool and its worker processes say to each other, as bytes."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parallel_pool.actions import described

if TYPE_CHECKING:
    from parallel_pool.workers.connection import Dumps

# what a worker's reply to a turn may hold, by key; left out what there is none of
INFO, FINAL_INFO, OBSERVATION, FINAL_OBSERVATION, FAILURE = range(5)
# infos of several environments in the reply of the first of them: `InfoColumns`
INFOS = 5
Reply = dict[int, Any]
# an order in place of a reset's arguments: nothing but to show what was shown last
KEEP = "keep"
# restarts in a row that bring no step before a worker, or an environment, is given up
TRIES = 3
# of seeds that environments made anew begin with: infos become arrays of int64
SEED_BITS = 63


@dataclass(frozen=True)
class Task:
    """What a worker begins with.

    Attributes:
        env_fns: make its environments.
        specs: Gymnasium's registry, see `parallel_pool.workers.gymnasium_registry`; empty if the
        worker
            has it.
    """

    env_fns: list[Callable[[], Any]]
    specs: list[bytes]


@dataclass(frozen=True)
class Description:
    """What a worker tells of its environments before it gets its seat.

    Attributes:
        observation_spaces, action_spaces: of each environment.
        metadata, render_mode, spec: of the first; spec is None if it can't travel.
        room: bytes of address space that the worker has left, None for any number.
    """

    observation_spaces: list[Any]
    action_spaces: list[Any]
    metadata: dict[str, Any]
    render_mode: str | None
    spec: Any
    room: int | None


@dataclass(frozen=True)
class Restart:
    """What a worker that takes the place of a dead one must know.

    Attributes:
        seeds: of each environment, for its first reset if it is given no other.
        owed: by index; whose next step must say that the episode was cut short.
    """

    seeds: list[int]
    owed: list[bool]


@dataclass(frozen=True)
class Assignment:
    """What a worker needs to sit down to its lane.

    Attributes:
        lane: number of the lane.
        reserve: address space of the pool's memory.
        rows, size: of a block of results.
        fields, finals: offset in a block and bytes of a row, for each leaf of an observation; the
            latter with SAME_STEP only.
        observation_space: by whose leaves, in their order, observations lie in the block; None if
            they are told in replies.
        action_space: by which actions lie in the pool's memory; None if they come as orders.
        autoreset: "next_step", "same_step" or "disabled".
        remakes: an environment that raises is made anew, and its row says so.
        reset_arguments: of each reset that is asked for, where its order has no others.
        restart: None in the first worker of a lane.
    """

    lane: int
    reserve: int
    rows: int
    size: int
    fields: list[tuple[int, int]]
    finals: list[tuple[int, int]]
    observation_space: Any
    action_space: Any
    autoreset: str
    remakes: bool = False
    reset_arguments: Mapping[str, Any] = field(default_factory=dict)
    restart: Restart | None = None


@dataclass(frozen=True)
class Failure:
    """An exception in a worker.

    Attributes:
        kind: name of its type.
        text: its message.
        traceback: as Python prints it.
        pickled: the exception itself, empty if it can't travel.
    """

    kind: str
    text: str
    traceback: str
    pickled: bytes = field(repr=False, default=b"")

    @staticmethod
    def of(error: BaseException, dumps: Dumps) -> Failure:
        """Describes an exception that was just caught, for a connection that pickles so."""
        told = "".join(traceback.format_exception(error))
        try:
            pickled = dumps(error)
            pickle.loads(pickled)
        except Exception as reason:
            pickled = b""
            told += f"\nThe exception itself can't be sent: {type(reason).__name__}: {reason}\n"
        try:
            text = str(error)
        except Exception:
            text = "it can't say what is wrong"
        return Failure(type(error).__name__, text, told, pickled)

    def shortened(self) -> Failure:
        """Returns the same in few words, for want of memory."""
        return Failure(self.kind, self.text[:200], self.traceback[-1000:])

    def exception(self) -> BaseException | None:
        """Returns the exception as it was raised; None if it could not travel."""
        if not self.pickled:
            return None
        try:
            error = pickle.loads(self.pickled)
        except Exception:
            return None
        return error if isinstance(error, BaseException) else None


def restarted(seed: int | None) -> dict[str, Any]:
    """Returns the infos of an environment that was made anew and begins with a seed."""
    return {"worker_restarted": True, "restart_seed": seed}


def check_portable(value: Any, path: str, dumps: Dumps) -> None:
    """Raises TypeError if a value can't be pickled; it names the part at fault by its path."""
    try:
        dumps(value)
        return
    except Exception as error:
        reason = error
    parts: Any = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    for key, part in parts:
        check_portable(part, f"{path}[{key!r}]", dumps)
    raise TypeError(
        f"{path} is {described(value)}, which can't be pickled and so can't leave its worker"
        " process: leave it out, or teach its class by __reduce__"
    ) from reason
