"""WorkerGroup: the actors of a cluster, each with at most one request in flight."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from parallel_pool._apis.cluster.session import Call, Session
from parallel_pool._apis.cluster.worker import Description, Raised, Task, Worker
from parallel_pool._engine.arguments import env_names
from parallel_pool._workers.data.messages import Failure
from parallel_pool._workers.watch.failures import raise_failure
from parallel_pool.errors import EnvError, WorkerError


@dataclass(frozen=True)
class Lost:
    """A worker that is gone, with what it was asked for.

    Attributes:
        reason: a clause, such as "worker 1 died: ...".
        is_final: whether it can't be started again.
    """

    reason: str
    is_final: bool = False


@dataclass(frozen=True)
class Limits:
    """How long a group waits, and how often it tries.

    Attributes:
        timeout: seconds for a request.
        start_timeout: seconds in which an actor must find a node and make its environments.
        max_restarts: most starts in a row without a request that is answered, the first left out.
    """

    timeout: float
    start_timeout: float
    max_restarts: int


@dataclass
class _Member:
    """One worker.

    Attributes:
        task: what it makes.
        actor: None while there is none.
        placed: the call that tells on which node it runs.
        opening: the call that makes the environments; None once they are made.
        request: the method and the arguments in flight; None for none.
        call: of the request, if the actor has got it.
        deadline: of `opening`, or of the request; seconds of time.monotonic.
        starts: since a request was answered.
        description: of the environments; None before they were made.
    """

    task: Task
    actor: Any = None
    placed: Call | None = None
    opening: Call | None = None
    request: tuple[Any, ...] | None = None
    call: Call | None = None
    deadline: float = 0.0
    starts: int = 0
    description: Description | None = None


class WorkerGroup:
    """Starts the workers of a cluster, asks them, and replaces those that are lost.

    Ray would start an actor that died anew by itself, and give it the next call without a word,
    although its environments are gone. So these actors are never restarted by Ray: one that died
    answers no call, and this class makes another.

    Attributes:
        restarts: how many workers were replaced.
        session: the connection to Ray.
    """

    def __init__(
        self,
        session: Session,
        tasks: Sequence[Task],
        rows: Sequence[slice],
        num_cpus: float,
        limits: Limits,
        resources: Mapping[str, float] = MappingProxyType({}),
        worker_class: type[Worker] = Worker,
    ) -> None:
        """Starts the workers and waits until their environments are made.

        Args:
            session: the connection to Ray.
            tasks: of each worker.
            rows: of each worker's environments.
            num_cpus: cores of each actor.
            limits: of all waits.
            resources: that each actor needs, by Ray's names.
            worker_class: of the actors.

        Raises:
            parallel_pool.errors.WorkerError: a worker can't be started.
            Exception: raised while environments were made.
        """
        self.session, self._rows = session, rows
        self._limits, self._num_cpus = limits, num_cpus
        self._resources = dict(resources)
        self._class = session.remote(
            worker_class,
            num_cpus=num_cpus,
            resources=self._resources,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        self._members = [_Member(task) for task in tasks]
        self.restarts = 0
        try:
            self._start_all()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._members)

    def description(self, index: int) -> Description | None:
        """Returns what a worker reported of its environments; None while it starts."""
        return self._members[index].description

    def listed(self) -> list[dict[str, Any]]:
        """Returns what users see of the workers."""
        found: list[dict[str, Any]] = []
        for own, member in zip(self._rows, self._members, strict=True):
            each = member.description
            node, pid = (None, None) if each is None else (each.node, each.pid)
            found.append({"rows": own, "node": node, "pid": pid})
        return found

    # ------------------------------------------------------------------------------ starting --

    def _start_all(self) -> None:
        for member in self._members:
            self._create(member)
        # numbers of workers on their nodes; an actor without a node yet gets number 0
        placed = [member.placed for member in self._members if member.placed is not None]
        self.session.wait(placed, len(placed), self._limits.start_timeout)
        on_node: dict[str, int] = {}
        for member, call in zip(self._members, placed, strict=True):
            try:
                node = self.session.result(call)
            except (TimeoutError, self.session.errors.RayError):
                node = ""
            rank = on_node[node] = on_node.get(node, -1) + 1
            member.task = replace(member.task, rank=rank)
            self._open(member)
        waiting = set(range(len(self)))
        while waiting:
            for index, outcome in self.wait(waiting):
                raise_outcome(outcome, index, self._env_ids(index))
                waiting.discard(index)

    def _env_ids(self, index: int) -> tuple[int, ...]:
        own = self._rows[index]
        return tuple(range(own.start, own.stop))

    def _create(self, member: _Member) -> None:
        member.actor = self.session.call(self._class.remote)
        member.placed = self._send(member, "node")
        member.deadline = time.monotonic() + self._limits.start_timeout
        member.starts += 1

    def _open(self, member: _Member) -> None:
        member.opening = self._send(member, "open", member.task)

    def _send(self, member: _Member, method: str, *arguments: Any) -> Call:
        """Calls a method of `Worker`."""
        return self.session.send(member.actor.do.remote, method, *arguments)

    def restart(self, index: int) -> None:
        """Starts a new actor in place of a lost one, and returns at once."""
        member = self._members[index]
        self._drop(member)
        self.restarts += 1
        self._create(member)
        self._open(member)
        if member.request is not None:
            self._call(member)

    def change_task(self, index: int, **changes: Any) -> None:
        """Changes what the next actor of a worker makes; see `Task`."""
        member = self._members[index]
        member.task = replace(member.task, **changes)

    def forgive(self) -> None:
        """Forgets the starts in a row of all workers, so that they are tried again."""
        for member in self._members:
            member.starts = 0

    def _drop(self, member: _Member) -> None:
        if member.actor is not None:
            self.session.kill(member.actor)
        member.actor = member.placed = member.opening = member.call = member.description = None

    # -------------------------------------------------------------------------------- asking --

    def submit(self, index: int, method: str, *arguments: Any) -> None:
        """Sends a request; `wait` returns its outcome. A lost worker is started first."""
        member = self._members[index]
        assert member.request is None, "one request in flight"
        member.request = (method, *arguments)
        if member.actor is None:
            self.restart(index)
        else:
            self._call(member)

    def _call(self, member: _Member) -> None:
        assert member.request is not None
        member.call = self._send(member, *member.request)
        if member.opening is None:
            member.deadline = time.monotonic() + self._limits.timeout

    def in_flight(self) -> list[int]:
        """Returns the workers that have a request."""
        return [i for i, member in enumerate(self._members) if member.request is not None]

    def wait(self, indices: Iterable[int], timeout: float | None = None) -> list[tuple[int, Any]]:
        """Waits until one of these workers is done or lost, and returns all that are.

        Args:
            indices: workers that have a request, or whose environments are being made.
            timeout: seconds; None for the group's own limits, within which one is done or lost.

        Returns:
            Of each worker its index, and the result, a `Raised` or a `Lost`; nothing if timeout
            passed.
        """
        waiting = {index: self._members[index] for index in indices}
        until = None if timeout is None else time.monotonic() + timeout
        while waiting:
            ready = self._ready(waiting, until)
            found = [(index, self._advance(index)) for index in ready]
            done = [(index, outcome) for index, outcome in found if outcome is not PENDING]
            if done or not ready:
                return done
        return []

    def _ready(self, waiting: Mapping[int, _Member], until: float | None) -> list[int]:
        """Waits for a worker whose next call is done or late; returns all such, or nothing if the
        time `until` passed."""
        by_call = {_head(member): index for index, member in waiting.items()}
        calls = [call for call in by_call if call is not None]
        if len(calls) < len(waiting):
            # a lost worker has no call
            return [index for index, member in waiting.items() if _head(member) is None]
        end = min(member.deadline for member in waiting.values())
        end = end if until is None else min(end, until)
        left = max(0.0, end - time.monotonic())
        ready = self.session.wait(calls, 1, left)
        if ready:
            return [by_call[call] for call in ready]
        now = time.monotonic()
        return [index for index, member in waiting.items() if member.deadline <= now]

    def _advance(self, index: int) -> Any:
        """Takes the result of a worker's next call; returns PENDING if another follows."""
        member = self._members[index]
        outcome = self._result(index, member)
        if isinstance(outcome, Lost):
            return self._lost(index, member, outcome)
        if member.opening is not None:
            member.opening = None
            if isinstance(outcome, Raised):
                member.request = None
                self._drop(member)
                return outcome
            member.description = outcome
            if member.request is None:
                return outcome
            member.deadline = time.monotonic() + self._limits.timeout
            return PENDING
        member.request = member.call = None
        member.starts = 0
        return outcome

    def _lost(self, index: int, member: _Member, lost: Lost) -> Any:
        """Starts a worker again that was lost while it started; else gives its request up."""
        was_starting = member.opening is not None
        self._drop(member)
        can_restart = not lost.is_final and member.starts <= self._limits.max_restarts
        if was_starting and can_restart:
            self.restart(index)
            return PENDING
        member.request = None
        if can_restart or lost.is_final:
            return lost
        tries = "once" if member.starts == 1 else f"{member.starts} times in a row"
        return Lost(f"{lost.reason}; it was started {tries} and answered nothing", is_final=True)

    def _result(self, index: int, member: _Member) -> Any:
        """Returns the result of a call that is done, or why there is none."""
        call = _head(member)
        if call is None:
            return Lost(f"worker {index} is lost", is_final=True)
        errors = self.session.errors
        if not call.done():
            return self._late(index, member)
        try:
            return self.session.result(call)
        except errors.RayTaskError as error:
            # raised outside of Worker.do, where arguments are unpickled, for example
            cause = error.cause if isinstance(error.cause, Exception) else error
            return Raised(Failure(type(cause).__name__, str(cause), str(error)), None)
        except errors.RayError as error:
            what = "died while it made its environments" if member.opening is not None else "died"
            first_line = str(error).strip().partition("\n")[0]
            return Lost(f"worker {index} {what} ({type(error).__name__}: {first_line})")

    def _late(self, index: int, member: _Member) -> Lost:
        if member.opening is None:
            return Lost(
                f"worker {index} took longer than timeout={self._limits.timeout:g} s for"
                f" {member.request[0] if member.request else 'nothing'}, and was killed"
            )
        is_placed = member.placed is not None and member.placed.done()
        limit = f"start_timeout={self._limits.start_timeout:g} s"
        if is_placed:
            return Lost(f"worker {index} took longer than {limit} to make its environments", True)
        return Lost(self._no_room(index, limit), is_final=True)

    def _no_room(self, index: int, limit: str) -> str:
        """Returns why no node has taken a worker; a sentence."""
        wanted = " and ".join([f"{self._num_cpus:g} cores", *_named(self._resources)])
        nodes = [node["Resources"] for node in self.session.nodes() if node["Alive"]]
        lacking = {
            name: need
            for name, need in self._resources.items()
            if all(node.get(name, 0) < need for node in nodes)
        }
        why, cure = "", "add a node, end other work, or choose fewer workers"
        if lacking:
            why = f", and no node has {' or '.join(_named(lacking))} at all"
            cure = (
                f"start a node with --resources='{json.dumps(lacking)}', or choose other resources"
            )
        return f"no node had {wanted} free for worker {index} within {limit}{why}: {cure}"

    def close(self) -> None:
        """Ends the actors."""
        for member in self._members:
            self._drop(member)
            member.request = None


PENDING = object()


def _named(resources: Mapping[str, float]) -> list[str]:
    """Returns how a message names resources."""
    return [f"{need:g} {name}" for name, need in resources.items()]


def _head(member: _Member) -> Call | None:
    """Returns the call that a worker must answer next; None for none."""
    return member.opening if member.opening is not None else member.call


def raise_outcome(outcome: Any, index: int, env_ids: Sequence[int], batch: Any = ()) -> None:
    """Raises what a worker raised, or that it is lost; returns if it did neither.

    Args:
        outcome: of `WorkerGroup.wait`.
        index: of the worker.
        env_ids: of its environments.
        batch: the results of the others.
    """
    if isinstance(outcome, Lost):
        raise WorkerError(f"{env_names(env_ids)}: {outcome.reason}", env_ids, batch)
    if not isinstance(outcome, Raised):
        return
    failed = outcome.env_ids
    own = env_ids if failed is None else tuple(env_ids[i] for i in failed if i < len(env_ids))
    what = f"worker {index}, {env_names(own)}"
    error = outcome.failure.exception()
    if isinstance(error, EnvError):
        # the pool's own exception, which counts from the worker's first environment
        error.env_ids, error.batch = tuple(own), batch
        error.add_note(what)
        raise error
    raise_failure(outcome.failure, what, own, batch)
