"""Messages: the objects that the parent process and its worker processes send to each other.

When a worker starts, they are exchanged over its `Connection`, in this order:

1. parent: "start", see `bootstrap.run`
2. worker: ("made", Description), or ("failed", Failure, index of the environment)
3. parent: ("assignment", Assignment), with two descriptors: the pool's memory, the lane's replies
4. worker: ("ready",)

Afterwards they travel through the pool's shared memory: as payloads and replies of turns, and as
requests and answers. Only a turn that forks branches (`BRANCH`) is accompanied by two messages of
the connection, as it needs descriptors:

- parent, before the turn: (number, ancestry of each branch), with descriptors: the pool's memory,
  and for each branch the replies of its lane and its end of a connection of its own
- worker, before the row: (number, process id of each branch), with a pidfd of each

A branch waits for "start" on its own connection. If it can't open its lane, it sends ("failed",
text) and ends.

A worker whose resets are prepared has a second process, see `standby`. When it starts, these
messages are exchanged over a connection of the two:

1. second: ("made",), or ("failed", Failure)
2. worker: ("assignment", Assignment), with the two descriptors
3. second: ("ready",), or ("failed", Failure)

Afterwards one of the two plays and sends these, in this order, to the other:

- ("prepare", seed, arguments of requests that set attributes since the last message of this kind);
  the answer is the reset's (observation, info), or a Failure
- ("play", its `EpisodeSeeds`, its failures): the roles change
- ("end",): the pool is closed
"""

from __future__ import annotations

import importlib
import os
import pickle
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.actions import described
from parallel_pool._engine.strict_zip import zip
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._engine.registry import Origin
    from parallel_pool._workers.start.child_process import Ancestry
    from parallel_pool._workers.start.connection import Dumps

# keys of a worker's reply to a turn; a reply has only those that it needs
INFO, FINAL_INFO, OBSERVATION, FINAL_OBSERVATION, FAILURE = range(5)
# The only part of a reply that is not pickled: infos of consecutive environments, in the reply of
# the first. An `InfoColumns`, or a `LocalInfos` if this process steps the environments.
INFOS = 5
Reply = dict[int, Any]
# the result of a `TurnCall`
ANSWER = 6
# kind of a `TurnCall` that is for the worker: it forks branches of itself
BRANCH = "branch"
# payload in place of a reset's arguments: no reset, the row repeats the last observation
NO_RESET = "no reset"
# most restarts in a row without a step; after that a worker, or an environment, is given up
MAX_RESTARTS = 3
# bits of the seeds that recreated environments start with; infos store them as int64
SEED_BITS = 63


@dataclass(frozen=True)
class NamedFunction:
    """A function that makes an environment, found by its name where it is called.

    Attributes:
        name: "module:function".
    """

    name: str

    def __call__(self) -> Any:
        module, _, function = self.name.partition(":")
        return getattr(importlib.import_module(module), function)()


@dataclass(frozen=True)
class TurnCall:
    """Payload in place of a reset's arguments: asks the environment something in its turn.

    Attributes:
        kind: of `env_requests.KINDS`, or BRANCH.
        arguments: for that function, or `Brancher.fork`.
        needs_episode: it fails if another worker has died with the episode that was begun.
    """

    kind: str
    arguments: tuple[Any, ...]
    needs_episode: bool = False


@dataclass(frozen=True)
class Task:
    """What a worker needs to make its environments.

    Attributes:
        env_fns: functions that make them.
        specs: Gymnasium's registry, see `gymnasium_registry`; empty if the worker has it.
        origins: of the native environments that this process has loaded.
        first: number of the first environment, for messages.
        may_branch: it may be asked to fork branches.
        standby: what the process is that prepares resets; None for none.
    """

    env_fns: list[Callable[[], Any]]
    specs: list[bytes]
    origins: list[Origin]
    first: int = 0
    may_branch: bool = False
    standby: Ancestry | None = None


@dataclass(frozen=True)
class Description:
    """What a worker reports of its environments once it has made them.

    Attributes:
        observation_spaces, action_spaces: of each environment.
        metadata, render_mode, spec: of the first; spec is None if it can't be pickled.
        address_space: bytes that the worker may still map; None without a limit.
    """

    observation_spaces: list[Any]
    action_spaces: list[Any]
    metadata: dict[str, Any]
    render_mode: str | None
    spec: Any
    address_space: int | None


@dataclass(frozen=True)
class Restart:
    """What a worker that replaces a dead one needs to know.

    Attributes:
        seeds: of each environment, for its first reset without a seed of its own; None for none.
        unreported: of each environment, whether its next row must say that it was restarted.
    """

    seeds: list[int | None]
    unreported: list[bool]


@dataclass(frozen=True)
class Assignment:
    """What a worker needs to serve its lane of the pool.

    Attributes:
        lane: number of the lane.
        reserve: address space of the pool's memory, in bytes.
        rows, size: rows and bytes of a block of results.
        fields, finals: (offset in a block, bytes of a row) of each leaf of an observation; the
            latter with SAME_STEP only.
        observation_space: its leaves, in their order, are the columns of a block; None if
            observations travel in replies.
        action_space: how action records lie in the pool's memory; None if actions travel as
            payloads.
        autoreset: "next_step", "same_step" or "disabled".
        recreates: an environment that raises is made again, and its row says so; so does the row of
            one whose former worker died, which fails otherwise.
        keeps_types: observations whose types their space does not keep also travel in replies.
        reset_arguments: keyword arguments of each explicit reset; those in its payload take
            precedence.
        seeds_episodes: each episode without a seed of its own has one that follows from the last
            seed that was given.
        restart: None for the first worker of a lane.
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
    recreates: bool = False
    keeps_types: bool = False
    reset_arguments: Mapping[str, Any] = field(default_factory=dict)
    seeds_episodes: bool = False
    restart: Restart | None = None


class LostEpisodeError(StateError):
    """An environment must be reset, as another worker has died with its episode."""


@dataclass(frozen=True)
class Failure:
    """An exception in a worker.

    Attributes:
        kind: name of its type.
        text: its message.
        traceback: as Python prints it.
        pickled: the exception itself; empty if it can't be pickled and unpickled.
        pid: of the process that raised it; 0 if unknown.
    """

    kind: str
    text: str
    traceback: str
    pickled: bytes = field(repr=False, default=b"")
    pid: int = 0

    @staticmethod
    def of(error: BaseException, dumps: Dumps) -> Failure:
        """Describes an exception that was just caught; `dumps` is the connection's."""
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        try:
            pickled = dumps(error)
            pickle.loads(pickled)
        except Exception as reason:
            pickled = b""
            trace += f"\nThe exception itself can't be sent: {type(reason).__name__}: {reason}\n"
        try:
            text = str(error)
        except Exception:
            text = "its message can't be shown, because str() of it raises"
        return Failure(type(error).__name__, text, trace, pickled, os.getpid())

    def shortened(self) -> Failure:
        """Returns the same without the exception and with short texts, to save memory."""
        return Failure(self.kind, self.text[:200], self.traceback[-1000:], pid=self.pid)

    def exception(self) -> BaseException | None:
        """Returns the exception as it was raised; None if it could not be sent."""
        if not self.pickled:
            return None
        try:
            error = pickle.loads(self.pickled)
        except Exception:
            return None
        return error if isinstance(error, BaseException) else None


# keys of the infos of environments that were made again
RESTARTED = ("worker_restarted", "restart_seed")


def restart_info(seed: int | None) -> dict[str, Any]:
    """Returns the infos of an environment that was made again and starts with this seed."""
    return dict(zip(RESTARTED, (True, seed), strict=True))


def check_picklable(value: Any, path: str, dumps: Dumps) -> None:
    """Raises TypeError if a value can't be pickled; the message names the failing part's path."""
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
        check_picklable(part, f"{path}[{key!r}]", dumps)
    raise TypeError(
        f"{path} is {described(value)}, which can't be pickled and so can't leave its worker"
        " process: leave it out, or give its class a __reduce__ method"
    ) from reason
