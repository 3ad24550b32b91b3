"""State: reads the native state of a translated environment as attributes in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.pool import write_state
from parallel_pool._native import ffi
from parallel_pool._translator import classes, layout

if TYPE_CHECKING:
    from parallel_pool._engine.pool import Pool


class State:
    """What attributes of an environment are, as its library describes them.

    Attributes:
        names: of the attributes.
    """

    def __init__(self, about: Mapping[str, Any]) -> None:
        """about: as `options.about_of` returns it."""
        self._forms: dict[str, layout.Form] = about["state"]
        self._picture = layout.Picture(self._forms)
        self._values = layout.Values(about["texts"], lambda name: classes.find(name, about["file"]))
        self.names = frozenset(self._forms)

    def read(self, pool: Pool, env_id: int) -> tuple[dict[str, Any], np.random.Generator]:
        """Returns the attributes of an environment, and its generator.

        Raises:
            StateError: it is in flight, or not reset.
            ValueError: an attribute can't be read.
        """
        if unknown := self._picture.unknown:
            name, what = next(iter(unknown.items()))
            raise ValueError(f"self.{name} is {what}, which can't be read from a native state")
        memory = ffi.new("char[]", self._picture.size)
        write_state(pool, env_id, int(ffi.cast("uintptr_t", memory)))
        data, attributes = ffi.buffer(memory)[:], {}
        generator = self._values.generator = _generator(ffi.cast("pp_rng *", memory))
        for name, place in self._picture.places.items():
            of = self._forms[name]
            held = np.frombuffer(data, layout.dtype(of), 1, place)[0]
            attributes[name] = self._values.read(of, held)
        return attributes, generator


def _generator(rng: Any) -> np.random.Generator:
    """Returns NumPy's generator with the state of a pp_rng."""
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {
            "state": rng.state_high << 64 | rng.state_low,
            "inc": rng.inc_high << 64 | rng.inc_low,
        },
        "has_uint32": rng.has_uint32,
        "uinteger": rng.uinteger,
    }
    return np.random.Generator(bits)
