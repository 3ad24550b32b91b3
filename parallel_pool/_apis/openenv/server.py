"""Server: serves an app by uvicorn until a signal ends it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from parallel_pool._apis.common import dependencies
from parallel_pool._apis.openenv import access
from parallel_pool._engine.arguments import quote
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool._apis.openenv.app import OpenEnvApp

HOST, PORT = "127.0.0.1", 8000
MAX_PORT = 65535
BACKLOG = 2048
# bytes of the head of a request
MAX_HEAD = 1 << 14
# connections besides those of sessions
MORE_CONNECTIONS = 64
# seconds between pings, and until their answers: a connection that is lost ends its session then
PING = 20.0
# seconds that requests have when the server ends
GRACE = 3


class Server:
    """A port that is bound, and the server of an app on it.

    Attributes:
        url: where clients connect.
    """

    def __init__(self, app: OpenEnvApp, host: str, port: int) -> None:
        """Binds the port; for arguments and errors see `serve`."""
        if app.token is None and not access.is_local(host):
            raise ValueError(
                f"host={quote(host)}: other machines could connect: give the app a token, or"
                " choose host='127.0.0.1'"
            )
        try:
            import uvicorn

            from parallel_pool._apis.openenv.connection import Connection
            from parallel_pool._apis.openenv.web_connection import WebConnection
        except ModuleNotFoundError as error:
            install = dependencies.install("openenv")
            raise MissingDependencyError(f"serve needs {error.name}: {install}") from error
        self._listener = _bound(host, port)
        self.url = _url(self._listener)
        config = uvicorn.Config(
            app,
            http=Connection,
            ws=WebConnection,
            ws_max_size=app.max_message,
            # a small compressed message could hold a large one
            ws_per_message_deflate=False,
            ws_ping_interval=PING,
            ws_ping_timeout=PING,
            limit_concurrency=app.pool.num_envs + MORE_CONNECTIONS,
            h11_max_incomplete_event_size=MAX_HEAD,
            timeout_graceful_shutdown=GRACE,
            lifespan="off",
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_level="warning",
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serves until a signal or `stop` ends it."""
        with self._listener:
            self._server.run(sockets=[self._listener])

    def stop(self) -> None:
        """Lets `run` return; any thread may call it."""
        self._server.should_exit = True


def serve(
    app: OpenEnvApp,
    *,
    host: str = HOST,
    port: int = PORT,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serves an app until Ctrl-C or SIGTERM; it must run in the main thread to notice them.

    Then it raises what their handlers raise. The pool stays open.

    Args:
        app: what to serve.
        host: the address to bind; without a token only one of this machine's loopback.
        port: to bind; 0 for a free one.
        on_start: called with the URL, once clients can connect.

    Raises:
        ValueError: the app has no token, and others than this machine could connect.
        OSError: the address can't be bound.
        MissingDependencyError: uvicorn or websockets is not installed.
    """
    server = Server(app, host, port)
    if on_start is not None:
        # the port queues connections until the server accepts them
        on_start(server.url)
    server.run()


def _bound(host: str, port: int) -> socket.socket:
    """Returns a socket that listens."""
    if not 0 <= port <= MAX_PORT:
        raise ValueError(f"port={port}: choose one from 0 to {MAX_PORT}")
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, *_, address = found[0]
    return socket.create_server(address[:2], family=family, backlog=BACKLOG)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
