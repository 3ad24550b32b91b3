"""Messages: reads those of strangers within limits, and writes answers in OpenEnv's form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from parallel_pool._engine.arguments import quote
from parallel_pool._workers.watch.failures import without_traceback

# OpenEnv's codes of errors
INVALID_JSON = "INVALID_JSON"
UNKNOWN_TYPE = "UNKNOWN_TYPE"
VALIDATION_ERROR = "VALIDATION_ERROR"
EXECUTION_ERROR = "EXECUTION_ERROR"
CAPACITY_REACHED = "CAPACITY_REACHED"
FACTORY_ERROR = "FACTORY_ERROR"
SESSION_ERROR = "SESSION_ERROR"

ENCODER = json.JSONEncoder(separators=(",", ":"))
# lists and objects in each other
MAX_DEPTH = 64
# characters of what an environment's exception says
MAX_REASON = 2000
# a string, which may hold brackets, or one bracket; possessive, so that no text takes long
TOKENS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


class RequestError(Exception):
    """A request that can't be answered.

    Attributes:
        code: OpenEnv's.
        status: of HTTP.
        details: more fields of the answer.
    """

    def __init__(self, code: str, message: str, status: int = 422, **details: Any) -> None:
        super().__init__(message)
        self.code, self.status, self.details = code, status, details


def read(text: str | bytes) -> dict[str, Any]:
    """Returns the object that a message holds; `{}` for an empty one.

    Raises:
        RequestError: it is no JSON, is nested too deeply, is something else than an object, or
            there is no memory for what it holds.
    """
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        if _is_deep(decoded):
            raise ValueError(f"more than {MAX_DEPTH} lists and objects are in each other")
        found = json.loads(decoded or "{}")
    except (ValueError, RecursionError) as error:
        raise RequestError(INVALID_JSON, f"Invalid JSON: {error}", 400) from None
    except MemoryError:
        raise no_memory() from None
    if not isinstance(found, dict):
        raise RequestError(VALIDATION_ERROR, f"{quote(found)}: give an object")
    return found


def no_memory() -> RequestError:
    """Returns the error of a message that the server has no memory to read."""
    return RequestError(EXECUTION_ERROR, "no memory is left to read this message", 503)


def _is_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for token in TOKENS.finditer(text):
        first = text[token.start()]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif first in "]}":
            depth -= 1
    return False


def write(value: Any) -> str:
    """Returns a value as JSON, with NaN and Infinity as Python's json writes them."""
    return ENCODER.encode(value)


def frame(kind: str, data: Mapping[str, Any]) -> str:
    """Returns a message of the WebSocket."""
    return write({"type": kind, "data": data})


def error_frame(error: RequestError) -> str:
    """Returns the message of an error."""
    data = {"message": str(error), "code": error.code, **error.details}
    if error.code == VALIDATION_ERROR:
        data.setdefault("errors", [{"type": "value_error", "loc": [], "msg": str(error)}])
    return frame("error", data)


def reason(error: BaseException) -> str:
    """Returns what a client may know of an exception: its type and a text of limited length.

    The traceback of an environment is not for clients: it shows files and lines of the server.
    """
    text = without_traceback(f"{type(error).__name__}: {error}")
    return text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]}..."


def only(data: Mapping[str, Any], *names: str) -> None:
    """Raises RequestError if an object has other fields."""
    if more := data.keys() - set(names):
        raise RequestError(VALIDATION_ERROR, f"unknown fields {quote(sorted(more))}")


def typed(data: Mapping[str, Any], name: str, kind: type, default: Any = ...) -> Any:
    """Returns a field of an object; raises RequestError if it is of another type, or missing."""
    value = data.get(name, default)
    if value is ... or (value is not default and type(value) is not kind):
        shown = "missing" if value is ... else quote(value)
        raise RequestError(VALIDATION_ERROR, f"{name} is {shown}: give {ARTICLES[kind]}")
    return value


ARTICLES = {str: "a string", int: "an integer", dict: "an object"}
