"""Session: the connection to Ray that workers were started in. All calls of Ray go through it.

A call of Ray after `ray.shutdown()` starts Ray anew, where these workers do not exist; and a call
that waits at that moment raises SystemExit.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeAlias

from parallel_pool._apis.cluster import runtime
from parallel_pool._engine.arguments import env_names
from parallel_pool.errors import WorkerError

# seconds after which a thread that waits looks whether the connection has ended
CHECK_PERIOD = 0.2

# the result of a call of an actor's method, or the exception that Ray has in place of it
Call: TypeAlias = "Future[Any]"


class Session:
    """A connection to Ray: the program's, or a new one if it has none.

    Attributes:
        errors: Ray's module of exceptions.
    """

    def __init__(self, env_ids: Sequence[int]) -> None:
        """Connects to Ray.

        Args:
            env_ids: of all environments, which fail when the connection ends.
        """
        runtime.connect()
        self._ray = runtime.ray()
        self._env_ids = tuple(env_ids)
        self._identity = self._current()
        # set whenever a call is done
        self._done = threading.Event()
        self.errors: Any = self._ray.exceptions

    def remote(self, cls: type[Any], **options: Any) -> Any:
        """Returns a class of actors."""
        return self._ray.remote(**options)(cls)

    def send(self, function: Callable[..., Any], *arguments: Any) -> Call:
        """Calls an actor's method; `wait` waits for the result."""
        found: Call = self.call(function, *arguments).future()
        found.add_done_callback(lambda _: self._done.set())
        return found

    def wait(self, calls: Sequence[Call], count: int, timeout: float) -> list[Call]:
        """Waits until `count` calls are done, for `timeout` seconds; returns those that are.

        It does not wait inside of Ray: a thread that does may never return if another thread ends
        the connection.
        """
        end = time.monotonic() + timeout
        while True:
            self._done.clear()
            found = [call for call in calls if call.done()]
            left = end - time.monotonic()
            if len(found) >= count or left <= 0:
                return found
            self.check()
            self._done.wait(min(left, CHECK_PERIOD))

    def result(self, call: Call) -> Any:
        """Returns the result of a call that is done, or raises what Ray has in place of it."""
        return self.call(call.result, 0)

    def put(self, value: Any) -> Any:
        """Stores a value; returns the reference to it."""
        return self.call(self._ray.put, value)

    def nodes(self) -> list[dict[str, Any]]:
        """Returns Ray's description of each node."""
        found: list[dict[str, Any]] = self.call(self._ray.nodes)
        return found

    def kill(self, actor: Any) -> None:
        """Ends an actor; does nothing if the connection has ended, and its actors with it."""
        with contextlib.suppress(WorkerError):
            self.call(self._ray.kill, actor, no_restart=True)

    def call(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Returns the result of a function of Ray, or of an actor's method.

        Raises:
            parallel_pool.errors.WorkerError: the connection has ended, or ended in this call.
        """
        self.check()
        try:
            return function(*arguments, **keywords)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # a waiting thread gets SystemExit, others whatever their step of Ray's code finds
            if self._current() == self._identity:
                raise
            raise self._ended() from error

    def check(self) -> None:
        """Raises WorkerError if the connection has ended."""
        if self._current() != self._identity:
            raise self._ended()

    def _current(self) -> tuple[str, str] | None:
        """Returns what identifies the program's connection; None without one."""
        # Another thread may end it in between. A second connection to one cluster is another job,
        # and another cluster has other nodes.
        with contextlib.suppress(Exception):
            if self._ray.is_initialized():
                context = self._ray.get_runtime_context()
                return context.get_node_id(), context.get_job_id()
        return None

    def _ended(self) -> WorkerError:
        return WorkerError(
            f"{env_names(self._env_ids)}: ray.shutdown() has ended the session of Ray that their"
            " workers belonged to: close these environments, and make new ones",
            self._env_ids,
            (),
        )
