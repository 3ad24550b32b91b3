"""Says which systems cannot run the engine. build_ffi.py runs this file: it imports no other."""

from __future__ import annotations

import sys


def unsupported() -> str | None:
    """Returns one sentence that says why this Python cannot run the engine; None if it can."""
    if not sys.platform.startswith(("linux", "darwin")):
        import platform

        return (
            f"parallel_pool does not run on {platform.system()}: its engine needs Linux"
            " (on Windows, install it inside WSL 2)."
        )
    if "t" in sys.abiflags:
        return (
            "parallel_pool does not run on a free-threaded Python, which has no stable ABI for the"
            " engine's module: use the usual build of Python."
        )
    if sys.maxsize < 2**32:
        return "parallel_pool needs a 64-bit Python, and this one has 32 bits."
    return None


def check() -> None:
    """Raises ImportError on a Python that cannot run the engine."""
    sentence = unsupported()
    if sentence:
        raise ImportError(sentence)
