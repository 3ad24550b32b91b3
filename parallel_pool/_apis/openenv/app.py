"""OpenEnvApp: the ASGI application that serves a pool of leases."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.openenv import access, asgi, messages, page, rpc, surface
from parallel_pool._apis.openenv.json_values import as_base64, as_lists
from parallel_pool._apis.openenv.messages import UNKNOWN_TYPE, VALIDATION_ERROR, RequestError
from parallel_pool._apis.openenv.places import Places
from parallel_pool._apis.openenv.session import Session
from parallel_pool._apis.openenv.tasks import Tasks
from parallel_pool._apis.openenv.web_socket import WebSocket
from parallel_pool._engine.arguments import check_count, quote, seconds
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from parallel_pool._apis.leases.lease_pool import LeasePool
    from parallel_pool._apis.openenv.asgi import Receive, Scope, Send

    Body = Mapping[str, Any]
    # gets the bytes of a request's body
    Handler = Callable[[bytes], Awaitable[Any]]

# bytes of a message, and messages of a session in a second
MAX_MESSAGE, RATE = 1 << 20, 5000.0
STEP_TIMEOUT, RESET_TIMEOUT, IDLE_TIMEOUT = 30.0, 60.0, 3600.0
# what asks for a new token
NEW = "new"
BEFORE_RESET = {"episode_id": None, "step_count": 0}
TASK_METHODS = ("splits", "tasks", "num_tasks", "task", "task_range")


@public("compat.openenv")
class OpenEnvApp(Uncopied):
    """An ASGI application that serves a `LeasePool` by OpenEnv's protocol: WebSockets and HTTP.

    A session, which is a WebSocket at /ws, has one environment of the pool for itself. When it
    ends, the environment is free for the next. A browser shows a page at /web that plays one.

    Attributes:
        pool: what it serves.
        name: of the environment.
        token: what clients must send, as "Authorization: Bearer TOKEN"; None for no token.
        max_message: bytes of a request, or of a client's message.
        schemas: JSON schemas of actions, observations and states, by name.

    Example:
        >>> with parallel_pool.leases.LeasePool("CartPole-v1", 4) as pool:
        ...     app = parallel_pool.compat.openenv.OpenEnvApp(pool, token=None)
        ...     app.name, app.schemas["action"]["properties"]["action"]["maximum"]
        ('environment', 1)
    """

    _holds = "sessions"

    def __init__(
        self,
        pool: LeasePool,
        *,
        name: str = "environment",
        token: str | None = NEW,
        step_timeout: float = STEP_TIMEOUT,
        reset_timeout: float = RESET_TIMEOUT,
        idle_timeout: float = IDLE_TIMEOUT,
        max_message: int = MAX_MESSAGE,
        rate: float = RATE,
    ) -> None:
        """Prepares the answers; nothing is bound to a port.

        Args:
            pool: of the environments; one for each session.
            name: of the environment, in its metadata and in paths of the Task API.
            token: what clients must send; "new" draws one; None for no token, for clients of this
                machine alone.
            step_timeout: seconds of a step, after which its worker is killed.
            reset_timeout: seconds of a reset.
            idle_timeout: seconds without a message after which a session ends.
            max_message: bytes of a request or message.
            rate: messages of one session in a second; more are read later.

        Raises:
            TypeError, ValueError: an argument is wrong, or a space has no form in JSON.
        """
        if not name or "/" in name:
            raise ValueError(f"name={quote(name)}: choose a name without a slash")
        if token is not None and len(token) < 1:
            raise ValueError("token='': choose a secret, or None for no token")
        self.pool, self.name = pool, name
        self.token = secrets.token_urlsafe(24) if token == NEW else token
        self.max_message = check_count("max_message", max_message, 1)
        self.schemas = surface.schemas(pool.observation_space, pool.action_space)
        self._step_timeout = _limit("step_timeout", step_timeout)
        self._reset_timeout = _limit("reset_timeout", reset_timeout)
        self._idle_timeout = _limit("idle_timeout", idle_timeout)
        self._rate = _limit("rate", rate)
        self._places = Places(pool, self._reset_timeout)
        self._routes = self._all_routes()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request or serves a WebSocket, as ASGI wants it."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        is_http = scope["type"] == "http"
        if is_http and scope["method"] == "GET" and scope["path"] in page.PATHS:
            await page.respond(send)
            return
        status = access.refusal(scope["headers"], self.token)
        # tells nothing, and those who start containers ask it
        is_open = is_http and scope["path"] == "/health"
        if status and not is_open:
            await asgi.refuse(scope, send, status, access.DETAILS[status])
        elif is_http:
            await self._answer(scope, receive, send)
        else:
            await self._serve(scope, receive, send)

    # ---------------------------------------------------------------------------------- HTTP --

    def _all_routes(self) -> dict[tuple[str, str], tuple[Handler, str]]:
        """Returns handler and summary by method and path."""
        about = surface.metadata(self.name, self.pool.num_envs)
        routes: dict[tuple[str, str], tuple[Handler, str]] = {
            ("GET", "/health"): (_constant({"status": "healthy"}), "Whether the server runs"),
            ("GET", "/metadata"): (_constant(about), "Name and description"),
            ("GET", "/schema"): (_constant(self.schemas), "Schemas of actions and results"),
            ("GET", "/state"): (
                _constant(BEFORE_RESET),
                "State of an environment before its first reset",
            ),
            ("GET", "/list_environments"): (_constant([self.name]), "Names of environments"),
            ("POST", "/reset"): (_reading(self._reset), "First observation of an episode"),
            ("POST", "/step"): (_reading(self._step), "Refused: only sessions at /ws make steps"),
            ("POST", "/mcp"): (_rpc, "JSON-RPC; there are no tools"),
        }
        for method in TASK_METHODS:
            verb = "GET" if method == "splits" else "POST"
            path = f"/{self.name.lower()}/{method}"
            routes[verb, path] = (self._task(method), "Task API")
        described = [(*key, summary) for key, (_, summary) in routes.items()]
        handler = _constant(surface.openapi(described))
        routes["GET", "/openapi.json"] = (handler, "This description")
        return routes

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        # names of environments are the same in any case
        path = scope["path"].lower()
        route = self._routes.get((scope["method"], path))
        try:
            if route is None:
                is_known = any(known == path for _, known in self._routes)
                status, detail = (405, "Method Not Allowed") if is_known else (404, "Not Found")
                raise RequestError(VALIDATION_ERROR, detail, status)
            found = await route[0](await asgi.read_body(receive, self.max_message))
        except ConnectionResetError:
            return
        except RequestError as error:
            await asgi.respond(send, error.status, {"detail": str(error)})
        else:
            await asgi.respond(send, 200, found)

    async def _reset(self, body: Body) -> Any:
        async with self._places.take() as lease:
            session = Session(lease, self._step_timeout, self._reset_timeout, as_lists)
            return await session.reset(body)

    async def _step(self, body: Body) -> Any:
        detail = "a step needs a session, which HTTP does not have: use the WebSocket at /ws"
        raise RequestError(VALIDATION_ERROR, detail, 409)

    def _task(self, method: str) -> Handler:
        async def handle(body: Body) -> Any:
            async with self._places.take() as lease:
                found = await getattr(Tasks(lease, self._step_timeout), method)(body)
            return {**found, "env_name": self.name} if method == "tasks" else found

        return _reading(handle)

    # ----------------------------------------------------------------------------- WebSocket --

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] not in ("/ws", "/mcp"):
            await asgi.refuse(scope, send, 404, "Not Found")
            return
        await receive()
        offers = access.PROTOCOL in scope.get("subprotocols", ())
        await send({"type": "websocket.accept", "subprotocol": access.PROTOCOL if offers else None})
        socket = WebSocket(receive, send, self._rate, self._idle_timeout)
        try:
            if scope["path"] == "/mcp":
                await socket.answer_all(_rpc_text)
            else:
                await self._serve_session(scope, socket)
        except RequestError as error:
            await socket.send(messages.error_frame(error))
        finally:
            await socket.close()

    async def _serve_session(self, scope: Scope, socket: WebSocket) -> None:
        query = scope.get("query_string", b"")
        if b"session_id=" in query:
            raise RequestError(messages.SESSION_ERROR, "Unknown session_id: there are none here")
        arrays = as_base64 if b"arrays=base64" in query.split(b"&") else as_lists
        async with self._places.take() as lease:
            session = Session(lease, self._step_timeout, self._reset_timeout, arrays)

            async def answer(text: str | bytes) -> str | None:
                try:
                    return await _answer_message(session, messages.read(text))
                except RequestError as error:
                    return messages.error_frame(error)

            await socket.answer_all(answer)


async def _answer_message(session: Session, message: Body) -> str | None:
    """Returns the answer to a message of a session; None after "close"."""
    kind = message.get("type", "")
    if kind == "reset" or kind == "step":
        messages.only(message, "type", "data")
        data = messages.typed(message, "data", dict, {} if kind == "reset" else ...)
        result = await (session.reset(data) if kind == "reset" else session.step(data))
        return messages.frame("observation", result)
    if kind == "state":
        messages.only(message, "type")
        return messages.frame("state", session.state())
    if kind == "close":
        messages.only(message, "type")
        return None
    if kind == "mcp":
        return messages.frame("mcp", rpc.answer_read(messages.typed(message, "data", dict)))
    raise RequestError(UNKNOWN_TYPE, f"Unknown message type: {quote(kind)}")


def _limit(name: str, value: float) -> float:
    """Returns seconds, or a number per second, above 0."""
    found = seconds(value, name)
    if found is None or not found > 0:
        raise ValueError(f"{name}={quote(value)}: choose more than 0")
    return found


def _reading(handler: Callable[[Body], Awaitable[Any]]) -> Handler:
    """Returns a handler that gets the object in the body."""

    async def handle(body: bytes) -> Any:
        return await handler(messages.read(body))

    return handle


def _constant(value: Any) -> Handler:
    async def handle(body: bytes) -> Any:
        return value

    return handle


async def _rpc(body: bytes) -> Any:
    return rpc.answer(body)


async def _rpc_text(text: str | bytes) -> str:
    return messages.write(rpc.answer(text))


async def _live(receive: Receive, send: Send) -> None:
    """Answers the events of a server's start and end."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
