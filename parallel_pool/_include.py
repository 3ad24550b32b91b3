"""Finds the folder of the C headers against which users compile their own environments."""

from __future__ import annotations

from pathlib import Path


def get_include() -> str:
    """Returns the folder for the compiler's option -I, an absolute path.

    It holds `pp_env.h`, the environment ABI, and `base/`, the helpers of the built-in environments:
    headers, and C files to compile with the environment if it uses their functions.

    Example:
        >>> flags = ["-shared", "-fPIC", f"-I{parallel_pool.get_include()}"]
    """
    return str(Path(__file__).resolve().parent / "include")
