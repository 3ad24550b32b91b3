"""RPC: the answers of the MCP endpoints, which say that a pool's environments have no tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parallel_pool._apis.openenv import messages
from parallel_pool._apis.openenv.messages import INVALID_JSON, RequestError

# JSON-RPC's codes
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INTERNAL_ERROR = -32700, -32600, -32601, -32603
TOOLS = ("tools/list", "tools/call")


def answer(text: str | bytes) -> dict[str, Any]:
    """Returns the answer to a message of JSON-RPC."""
    try:
        request = messages.read(text)
    except RequestError as error:
        code = PARSE_ERROR if error.code == INVALID_JSON else INVALID_REQUEST
        return _error(code, str(error), None)
    return answer_read(request)


def answer_read(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request of JSON-RPC."""
    method, number = request.get("method"), request.get("id")
    known = number if isinstance(number, (str, int)) else None
    if request.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return _error(INVALID_REQUEST, 'give "jsonrpc": "2.0" and a method', known)
    if method in TOOLS:
        return _error(INTERNAL_ERROR, "Environment does not support MCP", known)
    return _error(METHOD_NOT_FOUND, f"Method not found: {method[:100]}", known)


def _error(code: int, message: str, number: str | int | None) -> dict[str, Any]:
    error = {"code": code, "message": message, "data": None}
    return {"jsonrpc": "2.0", "id": number, "error": error}
