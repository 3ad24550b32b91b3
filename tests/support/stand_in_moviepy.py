"""A stand-in for moviepy, whose files hold the pictures themselves.

The recorders of Gymnasium and Stable-Baselines3 give their pictures to moviepy. It is not installed
for tests: it wants an older Pillow, and brings 68 MB of ffmpeg.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest


class ImageSequenceClip:
    """Writes its pictures as NumPy does."""

    def __init__(self, sequence: Sequence[npt.NDArray[Any]], fps: float) -> None:
        assert fps > 0
        self._pictures = np.array(sequence)

    def write_videofile(self, filename: str, logger: str | None = "bar") -> None:
        with Path(filename).open("wb") as file:
            np.save(file, self._pictures)


def put_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets recorders import it."""
    parts = "moviepy", "video", "io", "ImageSequenceClip"
    for i in range(len(parts)):
        name = ".".join(parts[: i + 1])
        module = ModuleType(name)
        module.__dict__["ImageSequenceClip"] = ImageSequenceClip
        monkeypatch.setitem(sys.modules, name, module)


def videos(folder: Path) -> dict[str, npt.NDArray[Any]]:
    """Returns the pictures of each video that was written, (count, height, width, 3)."""
    return {path.name: np.load(path) for path in sorted(folder.glob("*.mp4"))}
