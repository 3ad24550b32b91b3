"""What importing parallel_pool adds to Gymnasium: a mode of make_vec, and the native ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._apis.gymnasium.hook import install, uninstall

__all__ = ["install", "uninstall"]

__getattr__, __dir__ = lazy(
    __name__, {"parallel_pool._apis.gymnasium.hook": ("install", "uninstall")}
)
