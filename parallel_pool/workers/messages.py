"""Messages: what the creator of a pool and its worker processes say to each other, as bytes."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass, field
from typing import Any

# what a worker's reply to a turn may hold, by key; left out what there is none of
INFO, FINAL_INFO, OBSERVATION, FINAL_OBSERVATION, FAILURE = range(5)
Reply = dict[int, Any]
# an order in place of a reset's arguments: nothing but to show what was shown last
KEEP = "keep"


@dataclass(frozen=True)
class Description:
    """What a worker tells of its environments before it gets its seat.

    Attributes:
        observation_spaces, action_spaces: of each environment.
        metadata, render_mode, spec: of the first; spec is None if it can't travel.
    """

    observation_spaces: list[Any]
    action_spaces: list[Any]
    metadata: dict[str, Any]
    render_mode: str | None
    spec: Any


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
class Seating:
    """What a worker needs to sit down to its lane.

    Attributes:
        creator: process id of the pool's.
        lane: number of the lane.
        reserve: address space of the pool's memory.
        rows, size: of a block of results.
        fields, finals: offset in a block and bytes of a row, for each leaf of an observation; the
            latter with SAME_STEP only.
        observation_space: by whose leaves, in their order, observations lie in the block; None if
            they are told in replies.
        action_space: by which actions lie in the pool's memory; None if they come as orders.
        autoreset: "next_step", "same_step" or "disabled".
        restart: None in the first worker of a lane.
    """

    creator: int
    lane: int
    reserve: int
    rows: int
    size: int
    fields: list[tuple[int, int]]
    finals: list[tuple[int, int]]
    observation_space: Any
    action_space: Any
    autoreset: str
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
    def of(error: BaseException) -> Failure:
        """Describes an exception that was just caught."""
        try:
            pickled = dumps(error)
            pickle.loads(pickled)
        except Exception:
            pickled = b""
        return Failure(
            type(error).__name__,
            str(error),
            "".join(traceback.format_exception(error)),
            pickled,
        )

    def exception(self) -> BaseException | None:
        """Returns the exception as it was raised; None if it could not travel."""
        if not self.pickled:
            return None
        try:
            error = pickle.loads(self.pickled)
        except Exception:
            return None
        return error if isinstance(error, BaseException) else None


def dumps(value: Any) -> bytes:
    """Returns bytes for `pickle.loads`, of what pickle itself refuses too if cloudpickle can."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        import cloudpickle

        pickled: bytes = cloudpickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        return pickled
