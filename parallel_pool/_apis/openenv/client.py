"""OpenEnvEnv: a Gymnasium environment that an OpenEnv server steps."""

from __future__ import annotations

import contextlib
import json
import os
import urllib.request
import weakref
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import gymnasium
from gymnasium import spaces

from parallel_pool._apis.common import dependencies
from parallel_pool._apis.openenv import access
from parallel_pool._apis.openenv.json_reader import from_json
from parallel_pool._apis.openenv.json_values import to_json
from parallel_pool._apis.openenv.space_schemas import KEYWORD, space_of
from parallel_pool._engine.arguments import quote, seconds
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool.errors import (
    BusyError,
    ClosedError,
    ForkedError,
    MissingDependencyError,
    NotResetError,
)

try:
    from websockets.exceptions import ConnectionClosed, WebSocketException
    from websockets.sync.client import ClientConnection, connect
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        f"OpenEnvEnv needs {error.name}: {dependencies.install('openenv')}"
    ) from error

TIMEOUT, CONNECT_TIMEOUT, CLOSE_TIMEOUT = 60.0, 10.0, 1.0
# bytes of a message of the server, which holds an observation
MAX_MESSAGE = 100 << 20
# fields of observations and actions that OpenEnv has besides those of the environment
OF_OPENENV = {"done", "reward", "metadata"}


@public("compat.openenv")
class OpenEnvEnv(Uncopied, gymnasium.Env[Any, Any]):
    """An environment whose episodes one session of an OpenEnv server plays.

    The server may be one of parallel_pool, whose environments it then equals: the same spaces, and
    results with the same bits. Of another server, actions and observations are objects with the
    fields of its schemas. Fields that may be null, or that have no space, are left out of actions,
    and are infos of observations, unless you give the spaces.

    A connection that is lost, or whose answer is late, ends the episode, as does Ctrl-C while an
    answer is awaited; `reset` connects again. A forked process can't use the session of its parent.

    Attributes:
        observation_space: of the environment.
        action_space: of the environment.

    Example:
        >>> from parallel_pool.compat.openenv import OpenEnvEnv
        >>> OpenEnvEnv("http://localhost:1")
        Traceback (most recent call last):
            ...
        ConnectionError: http://localhost:1/schema: <urlopen error [Errno 111] Connection refused>
    """

    _holds = "a connection"

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        observation_space: spaces.Space[Any] | None = None,
        action_space: spaces.Space[Any] | None = None,
        timeout: float = TIMEOUT,
        connect_timeout: float = CONNECT_TIMEOUT,
    ) -> None:
        """Asks the server for its schemas; a session begins with the first reset.

        Args:
            url: of the server, such as "http://127.0.0.1:8000".
            token: sent as "Authorization: Bearer TOKEN".
            observation_space: of observations, in place of that of the schema.
            action_space: of actions, in place of that of the schema.
            timeout: seconds in which a reset or step must be answered.
            connect_timeout: seconds in which the server must accept a connection.

        Raises:
            TypeError, ValueError: an argument is wrong, or a schema has no space: give it.
            ConnectionError: the server can't be reached, or refuses.
        """
        self._url = urlsplit(url.rstrip("/"))
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise ValueError(f"url={quote(url)}: give one that begins with http:// or https://")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout, self._connect_timeout = seconds(timeout), seconds(connect_timeout)
        self._connection: ClientConnection | None = None
        # whose end closes it, also if this object is dropped without close()
        self._stack = contextlib.ExitStack()
        weakref.finalize(self, _end, self._stack, os.getpid()).atexit = False
        self._why_over = "it was not reset"
        self._is_closed = self._is_asking = False
        self._pid = os.getpid()
        schema = self._schema()
        action, observation = schema["action"], schema["observation"]
        # ours have one field, whose space is the environment's
        self._is_ours = KEYWORD in action["properties"].get("action", {})
        self.action_space = action_space or self._space(action, "action")
        self.observation_space = observation_space or self._space(observation, "observation")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode; connects if there is no connection.

        Args:
            seed: of the episode.
            options: fields of the request besides the seed, such as `split` and `index` of a task.

        Raises:
            ConnectionError: there is no connection, or it was lost.
            TimeoutError: the answer did not come in time.
            RuntimeError: the server answered with an error.
            ClosedError, ForkedError: it is closed, or belongs to another process.
            BusyError: another thread is in a call.
        """
        self._check_usable()
        self._check_idle()
        super().reset(seed=seed)
        data = {**(options or {}), **({} if seed is None else {"seed": int(seed)})}
        is_new = self._connection is None
        try:
            observation, _, _, _, info = self._ask("reset", to_json(data))
        except ConnectionError:
            if is_new or self._is_closed:
                raise
            # the server may have been restarted since the last episode
            observation, _, _, _, info = self._ask("reset", to_json(data))
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Makes a step; `truncated` is always False of a server that is not parallel_pool's.

        Raises:
            NotResetError: no episode has begun, or the connection was lost.
            ConnectionError, TimeoutError, RuntimeError: as for `reset`.
            ClosedError, ForkedError, BusyError: as for `reset`.
        """
        self._check_usable()
        self._check_idle()
        self._check_begun()
        value = to_json(action)
        return self._ask("step", {"action": value} if self._is_ours else value)

    def close(self) -> None:
        """Ends the session; in a forked process it does nothing, as the session is the parent's."""
        if os.getpid() == self._pid:
            self._is_closed = True
            self._drop("it was closed", {"type": "close"})

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedError(
                f"the session belongs to process {self._pid}, from which this one was forked: make"
                " a new environment here"
            )
        if self._is_closed:
            raise ClosedError("the environment is closed: make a new one")

    def _check_idle(self) -> None:
        if self._is_asking:
            raise BusyError("another thread is in a call: let one thread use the environment")

    def _check_begun(self) -> None:
        if self._connection is None:
            raise NotResetError(f"{self._why_over}: call reset() first")

    # ------------------------------------------------------------------------------- schemas --

    def _schema(self) -> Any:
        """Returns the schemas of the server."""
        url = urlunsplit(self._url._replace(path=f"{self._url.path}/schema"))
        # a proxy has another machine's loopback
        proxies: dict[str, str] | None = {} if self._is_local() else None
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
        request = urllib.request.Request(url, headers=self._headers)
        try:
            with opener.open(request, timeout=self._connect_timeout) as answer:
                found = json.loads(answer.read(MAX_MESSAGE))
            if all("properties" in found[name] for name in ("action", "observation")):
                return found
        except OSError as error:
            raise ConnectionError(f"{url}: {error}") from error
        except (ValueError, KeyError, TypeError):
            pass
        raise ConnectionError(f"{url} has no schemas: is it an OpenEnv server?")

    def _is_local(self) -> bool:
        return access.is_local(self._url.hostname or "")

    def _space(self, schema: Any, name: str) -> spaces.Space[Any]:
        """Returns the space of actions or observations, from those fields that have one."""
        properties = schema["properties"]
        if self._is_ours:
            return space_of(properties[name], schema)
        found = {}
        for field in properties.keys() - OF_OPENENV:
            try:
                found[field] = space_of(properties[field], schema)
            except ValueError as error:
                if name == "action" and field in schema.get("required", ()):
                    raise ValueError(f"action_space: {field}: {error}") from error
        return spaces.Dict([(field, found[field]) for field in properties if field in found])

    # ----------------------------------------------------------------------------- connection --

    def _ask(self, kind: str, data: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Sends a request and returns what a step returns."""
        if self._is_asking:
            self._check_idle()
        # no function call since the check: no other thread can have begun to ask
        self._is_asking = True
        try:
            answer = self._answer(kind, data)
            if answer.get("type") != "observation":
                self._refused(answer)
            return self._result(answer["data"])
        except Exception:
            raise
        except BaseException:
            # Ctrl-C: a later answer must not be taken for that of the next request
            self._drop(f"the {kind} was interrupted")
            raise
        finally:
            self._is_asking = False

    def _answer(self, kind: str, data: Any) -> Any:
        """Sends a request and returns the answer; connects if there is no connection."""
        message = json.dumps({"type": kind, "data": data})
        connection = self._connection
        if connection is None:
            if kind == "step":
                # another thread has closed the environment since the step was checked
                self._check_usable()
                self._check_begun()
            connection = self._connect()
        try:
            # a server that refuses a session says why before it closes the connection
            with contextlib.suppress(ConnectionClosed):
                connection.send(message)
            return json.loads(connection.recv(timeout=self._timeout))
        except TimeoutError:
            self._drop(f"the {kind} took longer than timeout={self._timeout} s")
            raise TimeoutError(f"{self._why_over}: call reset() first") from None
        except Exception as error:
            if self._is_closed:
                raise ClosedError("another thread has closed the environment") from error
            self._drop("the connection to the server was lost")
            if isinstance(error, WebSocketException):
                raise ConnectionError(f"{self._why_over}: {error}") from error
            raise

    def _connect(self) -> ClientConnection:
        scheme = "wss" if self._url.scheme == "https" else "ws"
        url = self._url._replace(scheme=scheme, path=f"{self._url.path}/ws", query="arrays=base64")
        options: dict[str, Any] = {"create_connection": self._new_connection}
        if self._is_local():
            options["proxy"] = None
        try:
            self._connection = self._stack.enter_context(
                connect(
                    urlunsplit(url),
                    additional_headers=self._headers,
                    open_timeout=self._connect_timeout,
                    # what is left of it must not hold up a deadline
                    close_timeout=CLOSE_TIMEOUT,
                    compression=None,
                    max_size=MAX_MESSAGE,
                    **options,
                )
            )
        except (OSError, WebSocketException) as error:
            self._stack.close()
            raise ConnectionError(f"{urlunsplit(self._url)}: {error}") from error
        except BaseException:
            # of a signal handler
            self._stack.close()
            raise
        connection = self._connection
        if self._is_closed:
            # meanwhile, by another thread
            self._drop("it was closed", {"type": "close"})
            self._check_usable()
        return connection

    def _new_connection(self, *args: Any, **kwargs: Any) -> ClientConnection:
        """Makes a connection, which ends with the stack even if Ctrl-C comes before it is open."""
        connection = ClientConnection(*args, **kwargs)
        self._stack.callback(connection.close_socket)
        return connection

    def _refused(self, answer: Any) -> None:
        """Raises what an error of the server says; the session goes on if there is one."""
        data = answer.get("data", {})
        code = data.get("code")
        if code in ("CAPACITY_REACHED", "FACTORY_ERROR", "SESSION_ERROR"):
            self._drop("the server has no session")
        raise RuntimeError(f"the server says {data.get('message')} ({code})")

    def _result(self, data: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        fields = dict(data["observation"])
        info = fields.pop("metadata", None) or data.get("metadata") or {}
        if self._is_ours:
            terminated, truncated = fields["terminated"], fields["truncated"]
            fields = fields["observation"]
        else:
            terminated, truncated = bool(data["done"]), False
        space = self.observation_space
        if not self._is_ours and isinstance(space, spaces.Dict):
            info = {**fields, **info}
            fields = {name: info.pop(name, None) for name in space.spaces}
        observation = from_json(fields, space, "observation", is_action=False)
        return observation, data["reward"], terminated, truncated, info

    def _drop(self, why: str, message: Any = None) -> None:
        """Ends the connection."""
        connection, self._connection = self._connection, None
        self._why_over = why
        with contextlib.suppress(OSError, WebSocketException):
            if connection is not None and message is not None:
                connection.send(json.dumps(message))
        with contextlib.suppress(OSError, WebSocketException):
            self._stack.close()


def _end(stack: contextlib.ExitStack, pid: int) -> None:
    """Ends the connection of an environment of this process."""
    if os.getpid() == pid:
        with contextlib.suppress(OSError, WebSocketException):
            stack.close()
