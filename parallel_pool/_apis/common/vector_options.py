"""Options of a vector environment, as opposed to those of the environments in it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode

from parallel_pool._engine.arguments import quote

ObservationMode = str | tuple[Space[Any], Space[Any]]


@dataclass(frozen=True)
class VectorOptions:
    """What make_vec calls vector_kwargs; see `PoolVectorEnv` for their meaning."""

    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP
    num_threads: int = 0
    thread_affinity_offset: int = -1
    copy: bool = True
    observation_mode: ObservationMode = "same"
    backend: str = "auto"

    def given(self) -> dict[str, Any]:
        """Returns the options that differ from their defaults."""
        values = {name: getattr(self, name) for name in DEFAULTS}
        return {name: value for name, value in values.items() if value != DEFAULTS[name]}

    def mode(self) -> AutoresetMode:
        """Returns the autoreset mode; raises ValueError for an unknown one."""
        try:
            return AutoresetMode(self.autoreset_mode)
        except ValueError:
            known = " or ".join(f"AutoresetMode.{mode.name}" for mode in AutoresetMode)
            raise ValueError(
                f"autoreset_mode={quote(self.autoreset_mode)}: choose {known}"
            ) from None


DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(VectorOptions)}


def autoreset_of(mode: AutoresetMode) -> str:
    """Returns a mode's name as pools take it, such as "next_step"."""
    return mode.name.lower()
