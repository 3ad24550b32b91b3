"""The page at /web: who gets it, what it may do in a browser, and how its WebSocket is let in."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import parallel_pool
from parallel_pool.compat.openenv import OpenEnvApp
from parallel_pool.leases import LeasePool
from tests.support.asgi import LOCAL, Peer, exchange

pytestmark = pytest.mark.usefixtures("alarm")

PAGE = Path(parallel_pool.__file__).parent / "_apis" / "openenv" / "page.html"
# attributes with which a page loads something, or runs a script that the policy would refuse
LOADS = {"src", "srcset", "action", "data", "poster", "style"}


class Elements(HTMLParser):
    """Collects the elements of a page, and the texts of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self._tag = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        self._tag = tag

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag in self.inside:
            self.inside[self._tag].append(data)


def app_of(pool: LeasePool, token: str | None) -> OpenEnvApp:
    return OpenEnvApp(pool, token=token)


@pytest.mark.parametrize("token", [None, "secret"])
@pytest.mark.parametrize("path", ["/", "/web", "/web/"])
def test_everybody_gets_the_page(path: str, token: str | None) -> None:
    """It knows nothing: what it shows comes from requests that are checked."""

    async def play(app: OpenEnvApp) -> None:
        link = {**LOCAL, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
        for headers in (LOCAL, link):
            status, found, body = await exchange(app, "GET", path, headers=headers)
            assert (status, found["content-type"]) == (200, "text/html; charset=utf-8")
            assert body == PAGE.read_bytes() and int(found["content-length"]) == len(body)
            assert b"secret" not in body
        assert (await exchange(app, "POST", path))[0] in (401, 404)

    with LeasePool("CartPole-v1") as pool:
        asyncio.run(play(app_of(pool, token)))


def test_the_policy_allows_nothing_but_the_page_itself() -> None:
    with LeasePool("CartPole-v1") as pool:
        _, headers, body = asyncio.run(exchange(app_of(pool, None), "GET", "/web"))
    policy = dict(
        each.strip().split(" ", 1) for each in headers["content-security-policy"].split(";")
    )
    page = Elements(body.decode())
    for tag in ("script", "style"):
        assert len(page.inside[tag]) == 1
        digest = hashlib.sha256(page.inside[tag][0].encode()).digest()
        assert policy.pop(f"{tag}-src") == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert policy == {
        "default-src": "'none'",
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_the_page_loads_nothing_and_writes_no_html() -> None:
    text = PAGE.read_text("utf-8")
    page = Elements(text)
    links = [each for each in page.attributes if each[:2] == ("link", "href")]
    assert links == [("link", "href", "data:,")]
    for _, name, _ in page.attributes:
        assert name not in LOADS and not name.startswith("on")
    assert not re.search(r"https?://|@import|\burl\(", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text)
    names = re.findall(r'get\("([^"]+)"\)', text)
    assert set(names) <= {value for _, name, value in page.attributes if name == "id"}


# letters that base64 writes otherwise than base64url, and a length that it would pad
TOKEN, SECRET = "se>cr?t é", "parallel-pool.bearer.c2U-Y3I_dCDDqQ"


@pytest.mark.parametrize(
    ("offered", "token", "selected"),
    [
        ([], None, None),
        (["parallel-pool"], None, "parallel-pool"),
        (["parallel-pool", SECRET], TOKEN, "parallel-pool"),
        ([SECRET, "parallel-pool"], TOKEN, "parallel-pool"),
        # a token is never sent back
        ([SECRET], TOKEN, None),
    ],
)
def test_the_protocol_that_a_web_socket_gets(
    offered: list[str], token: str | None, selected: str | None
) -> None:
    async def play(app: OpenEnvApp) -> None:
        headers = {**LOCAL, "sec-websocket-protocol": ", ".join(offered)}
        async with Peer(app, "/ws", headers, subprotocols=offered) as peer:
            assert peer.first == {"type": "websocket.accept", "subprotocol": selected}
            assert (await peer.reset(seed=1))["type"] == "observation"

    with LeasePool("CartPole-v1") as pool:
        asyncio.run(play(app_of(pool, token)))


@pytest.mark.slow
def test_a_web_socket_of_a_browser() -> None:
    """Over the network: what the page offers is what uvicorn reads."""
    pytest.importorskip("uvicorn", reason="needs the extra openenv")
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    from tests.support.openenv_server import serving

    with LeasePool("CartPole-v1") as pool, serving(app_of(pool, TOKEN)) as url:
        options: Any = {"origin": url, "proxy": None}
        address = url.replace("http", "ws") + "/ws?arrays=base64"
        with connect(address, subprotocols=["parallel-pool", SECRET], **options) as peer:
            assert peer.subprotocol == "parallel-pool"
            peer.send('{"type": "reset", "data": {}}')
            assert '"observation"' in str(peer.recv(timeout=30))
        for wrong in (["parallel-pool"], ["parallel-pool", f"{SECRET}x"], None):
            with pytest.raises(InvalidStatus, match="401"):
                connect(address, subprotocols=wrong, **options)
