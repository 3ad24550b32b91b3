"""Where the C headers lie that an environment of one's own compiles against."""

from __future__ import annotations

from pathlib import Path


def get_include() -> str:
    """Returns the folder to give to the compiler with -I.

    It holds `pp_env.h`, the environment ABI, and `base/`, the helpers of the built-in environments:
    headers and, where a header alone is not enough, C files to compile along.
    """
    return str(Path(__file__).resolve().parent / "include")
