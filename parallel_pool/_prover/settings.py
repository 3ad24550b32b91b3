"""Settings: what a caller of `prove` chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parallel_pool._prover.script import MODES

STEPS, SECONDS, TIMEOUT = 100_000, 30.0, 10.0


@dataclass(frozen=True)
class Settings:
    """What a caller of `prove` chooses; see there."""

    options: Mapping[str, Any] | None = None
    steps: int = STEPS
    seconds: float = SECONDS
    seed: int = 0
    tolerance: float = 0.0
    modes: Sequence[str] = MODES
    sequences: Sequence[tuple[int, Sequence[Any]]] = ()
    coverage: bool = True
    timeout: float = TIMEOUT

    def check(self) -> None:
        """Raises ValueError for what is out of range."""
        for name in ("steps", "seconds", "timeout"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name)}: give a number above 0")
        if not self.tolerance >= 0:
            raise ValueError(f"tolerance={self.tolerance}: give 0 or a number above it")
        unknown = [mode for mode in self.modes if mode not in MODES]
        if unknown or not self.modes:
            raise ValueError(f"modes={list(self.modes)}: choose from {', '.join(MODES)}")
