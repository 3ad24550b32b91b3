"""What PyInstaller asks of this package, which it finds by the entry point `pyinstaller40`."""

from __future__ import annotations

import os


def hook_folders() -> list[str]:
    """Returns the folder with the hook, which names what a frozen program needs."""
    return [os.path.dirname(__file__)]
