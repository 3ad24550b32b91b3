"""Setting: what a run of the script changes, and how a user writes that."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# "{num_envs:16}" among the script's arguments: a number that may change, and what it is now
PLACE = re.compile(r"\{(num_envs|batch_size):(\d+)\}")


@dataclass(frozen=True)
class Setting:
    """What a run changes; None: as the script has it.

    Attributes:
        num_threads, num_workers: of its pools.
        math_threads: of torch and of NumPy's products.
        is_passive: whether these sleep while they wait, instead of spinning.
        numbers: of the script's own arguments, by name; they change what the script does.
    """

    num_threads: int | None = None
    num_workers: int | None = None
    math_threads: int | None = None
    is_passive: bool = False
    numbers: tuple[tuple[str, int], ...] = ()

    def changes(self) -> dict[str, Any]:
        """Returns what it changes, by attribute; torch's threads and how they wait are one."""
        found: dict[str, Any] = {f"numbers {name}": (name, value) for name, value in self.numbers}
        found |= {name: value for name, value in self.overrides().items() if value is not None}
        if self.math_threads is not None or self.is_passive:
            found["math"] = (self.math_threads, self.is_passive)
        return found

    def environment(self) -> dict[str, str]:
        """Returns the environment variables of a run."""
        found = dict(os.environ)
        if self.math_threads is not None:
            found["OMP_NUM_THREADS"] = str(self.math_threads)
        if self.is_passive:
            found["OMP_WAIT_POLICY"] = "PASSIVE"
        return found

    def arguments(self, given: Sequence[str]) -> list[str]:
        """Returns the script's arguments, with numbers in place of "{num_envs:16}"."""
        numbers = dict(self.numbers)
        return [
            PLACE.sub(lambda found: str(numbers.get(found[1], found[2])), each) for each in given
        ]

    def overrides(self) -> dict[str, int | None]:
        """Returns the values of `_engine/overrides.py`."""
        return {"num_threads": self.num_threads, "num_workers": self.num_workers}

    def __str__(self) -> str:
        parts = [f"{name}={value}" for name, value in self.numbers]
        parts += [
            f"{name}={value}" for name, value in self.overrides().items() if value is not None
        ]
        if self.math_threads is not None:
            parts.append(f"torch.set_num_threads({self.math_threads})")
        if self.is_passive:
            parts.append("OMP_WAIT_POLICY=PASSIVE")
        return ", ".join(parts) or "as it is"

    def lines(self, place: str, was: Mapping[str, Any]) -> list[str]:
        """Returns what a user has to write.

        Args:
            place: file and line where the script makes its pool.
            was: values of the script as it is, by the names of the attributes.
        """
        found = [f"argument of the script: {name}={value}" for name, value in self.numbers]
        for name, value in self.overrides().items():
            if value is not None:
                found.append(f"{place}: {name}={value} (was {was.get(name)})")
        if self.math_threads is not None:
            found.append(
                f"at the beginning of the script: torch.set_num_threads({self.math_threads})"
                f" (was {was.get('math_threads')}), or OMP_NUM_THREADS={self.math_threads} in the"
                " environment"
            )
        if self.is_passive:
            found.append("start Python with OMP_WAIT_POLICY=PASSIVE in its environment")
        return found

    @staticmethod
    def of_changes(changes: Mapping[str, Any]) -> Setting:
        """Returns the setting with these changes, as `changes` names them."""
        math_threads, is_passive = changes.get("math", (None, False))
        return Setting(
            changes.get("num_threads"),
            changes.get("num_workers"),
            math_threads,
            is_passive,
            tuple(value for name, value in changes.items() if name.startswith("numbers ")),
        )


def numbers_of(arguments: Sequence[str]) -> dict[str, int]:
    """Returns the numbers among the arguments that may change, and what they are now."""
    return {name: int(value) for each in arguments for name, value in PLACE.findall(each)}
