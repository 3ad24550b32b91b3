"""Access: who may use a server."""

from __future__ import annotations

import base64
import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

DETAILS = {
    401: "Not authenticated: send the header Authorization: Bearer TOKEN",
    403: "the request comes from another site, or names a host that is not local",
}
# A browser's WebSocket has no headers of the page's own. It offers protocols: PROTOCOL, which the
# server selects, and BEARER with the token after it, as base64url without padding.
PROTOCOL, BEARER = "parallel-pool", b"parallel-pool.bearer."
# What Sec-Fetch-Site says if a page of this server asks, and if a person typed the address. A
# program that is no browser sends no such header.
OWN_SITE = (b"same-origin", b"none", None)
Headers = Iterable[tuple[bytes, bytes]]


def refusal(headers: Headers, token: str | None) -> int:
    """Returns the HTTP status with which a request is refused, 0 if it may go on.

    With a token, "Authorization: Bearer TOKEN" must be there, or the token among the protocols of a
    WebSocket. Without one a page of another site, which runs in a browser of this machine, must not
    get in: its requests name their origin, or say that they cross sites, or, if the site's name was
    bound to this machine, name a host that is not local.

    Args:
        headers: of the request, names in lower case.
        token: of the server; None for none.
    """
    found = dict(headers)
    if token is not None:
        return 0 if _has_token(found, token.encode()) else 401
    host = found.get(b"host", b"").decode("latin-1")
    origin = found.get(b"origin")
    if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
        return 403
    # reads of other sites have no origin: pictures, say
    if found.get(b"sec-fetch-site") not in OWN_SITE:
        return 403
    return 0 if is_local(_without_port(host)) else 403


def _without_port(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _has_token(found: Mapping[bytes, bytes], token: bytes) -> bool:
    given = found.get(b"authorization", b"")
    if hmac.compare_digest(given, b"Bearer " + token):
        return True
    wanted = BEARER + base64.urlsafe_b64encode(token).rstrip(b"=")
    offered = found.get(b"sec-websocket-protocol", b"").split(b",")
    return any(hmac.compare_digest(each.strip(), wanted) for each in offered)


def is_local(host: str) -> bool:
    """Returns whether a host, by name or number, is this machine's loopback."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
