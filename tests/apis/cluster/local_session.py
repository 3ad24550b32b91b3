"""LocalSession: takes the place of the connection to Ray, with actors in this process."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, ClassVar

CORES = 8.0


class Gone(Exception):
    """What a call of a dead actor raises."""


class Failed(Exception):
    """What a call raises whose arguments could not be read."""


class Actor:
    """An actor, whose calls are done at once.

    Attributes:
        worker: the object.
        is_dead: whether its calls fail.
    """

    def __init__(self, cls: Callable[[], Any]) -> None:
        self.worker = cls()
        self.is_dead = False
        self.do = SimpleNamespace(remote=self._call)

    def _call(self, method: str, *arguments: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        if self.is_dead:
            answer.set_exception(Gone("it is dead"))
        else:
            # results travel: the worker goes on with its own
            answer.set_result(copy.deepcopy(self.worker.do(method, *arguments)))
        return answer


class LocalSession:
    """A session with one node of `CORES` cores.

    Attributes:
        made: all sessions, the newest last.
        actors: all that were started, in order.
        before_wait: called before each wait.
        before_put: called before a value is stored.
    """

    made: ClassVar[list[LocalSession]] = []
    errors = SimpleNamespace(RayError=Gone, RayTaskError=Failed)

    def __init__(self, env_ids: Sequence[int]) -> None:
        self.actors: list[Actor] = []
        self.before_wait: Callable[[], None] = _nothing
        self.before_put: Callable[[], None] = _nothing
        self.made.append(self)

    def remote(self, cls: Callable[[], Any], **options: Any) -> Any:
        return SimpleNamespace(remote=lambda: self._start(cls))

    def _start(self, cls: Callable[[], Any]) -> Actor:
        self.actors.append(Actor(cls))
        return self.actors[-1]

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    send = call

    def wait(self, calls: Sequence[Future[Any]], count: int, timeout: float) -> Any:
        self.before_wait()
        return [call for call in calls if call.done()]

    def result(self, call: Future[Any]) -> Any:
        return call.result(0)

    def put(self, value: Any) -> Any:
        self.before_put()
        return value

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": CORES}}]

    def kill(self, actor: Actor) -> None:
        actor.is_dead = True
        if actor.worker.envs is not None:
            actor.worker.envs.close()

    def check(self) -> None:
        pass


def _nothing() -> None:
    pass
