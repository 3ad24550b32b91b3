"""Page: what a browser shows at /web, on which a person plays a session."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from importlib.resources import files

from parallel_pool._apis.openenv import asgi
from parallel_pool._apis.openenv.asgi import Header, Send

PATHS = ("/", "/web", "/web/")
# nothing of another host, no script but its own, and no page of another site around it
POLICY = (
    "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    "; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


async def respond(send: Send) -> None:
    """Answers a request with the page, which knows nothing of the environment or the token."""
    body, headers = _page()
    await asgi.send_body(send, 200, body, *headers)


@functools.cache
def _page() -> tuple[bytes, list[Header]]:
    """Returns the page and its headers."""
    body = files("parallel_pool._apis.openenv").joinpath("page.html").read_bytes()
    script, style = (_hash_of(body, tag) for tag in (b"script", b"style"))
    headers = {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": f"{POLICY}; script-src '{script}'; style-src '{style}'",
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
    return body, [(name.encode(), text.encode()) for name, text in headers.items()]


def _hash_of(page: bytes, tag: bytes) -> str:
    """Returns the hash of an element's text, by which a browser knows that it is ours."""
    found = re.search(b"<%b>(.*?)</%b>" % (tag, tag), page, re.DOTALL)
    assert found is not None
    digest = hashlib.sha256(found[1]).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
