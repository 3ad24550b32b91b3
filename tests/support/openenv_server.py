"""A server of the loopback, in a thread of this process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from parallel_pool._apis.openenv.server import Server
from parallel_pool.compat.openenv import OpenEnvApp


@contextlib.contextmanager
def serving(app: OpenEnvApp, port: int = 0) -> Iterator[str]:
    """Serves an app, at a free port if none is given; the block has its URL."""
    server = Server(app, "127.0.0.1", port)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join(30)
        assert not thread.is_alive()


def port_of(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


def token_of(app: OpenEnvApp) -> dict[str, Any]:
    """Returns the headers that clients need."""
    return {} if app.token is None else {"Authorization": f"Bearer {app.token}"}
