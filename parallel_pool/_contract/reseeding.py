"""Reseeding: classes whose reset draws a new seed from the system if it gets none.

Their later episodes do not follow from the first seed, so only the first one can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def is_reseeded(cls: Any, options: Mapping[str, Any]) -> bool:
    """Returns whether generators of two objects differ after a reset without a seed."""
    one, other = (_states(cls, options) for _ in range(2))
    return one != other


def _states(cls: Any, options: Mapping[str, Any]) -> list[Any]:
    env = cls(**options)
    env.reset(seed=1)
    env.reset()
    held = (value for value in vars(env).values() if isinstance(value, np.random.Generator))
    return [each.bit_generator.state for each in held]
