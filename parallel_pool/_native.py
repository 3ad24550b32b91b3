"""Imports the C engine, and turns its statuses into exceptions. No other module imports it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from parallel_pool import _core, errors
from parallel_pool._core import ffi, lib

if TYPE_CHECKING:
    from parallel_pool._core import CData

__all__ = ["ffi", "lib", "new_error", "path", "raise_error", "text"]

EXCEPTIONS: dict[int, type[Exception]] = {
    lib.PP_ERR_ARGUMENT: ValueError,
    lib.PP_ERR_TYPE: TypeError,
    lib.PP_ERR_STATE: errors.StateError,
    lib.PP_ERR_MEMORY: MemoryError,
    lib.PP_ERR_SYSTEM: OSError,
    lib.PP_ERR_CLOSED: errors.ClosedError,
    lib.PP_ERR_FORKED: errors.ForkedError,
    lib.PP_ERR_ABI: ValueError,
    lib.PP_ERR_BROKEN: errors.BrokenPoolError,
    lib.PP_ERR_TIMEOUT: errors.PoolTimeoutError,
}


def path() -> Path:
    """Returns the file of the compiled engine."""
    assert _core.__file__ is not None
    return Path(_core.__file__)


def new_error() -> CData:
    """Returns a `pp_error` for calls to write into."""
    return ffi.new("pp_error *")


def text(chars: CData) -> str:
    """Decodes a C string; a null pointer gives the empty string."""
    if not chars:
        return ""
    raw = ffi.string(chars)
    return raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)


def raise_error(status: int, error: CData) -> NoReturn:
    """Raises the exception for a negative status, with the text that C wrote to `error`."""
    message = text(error.text) or text(lib.pp_status_name(status))
    raise EXCEPTIONS.get(status, errors.PoolError)(message)
