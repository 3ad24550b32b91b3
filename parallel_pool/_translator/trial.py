"""Trial: whether a pool's environments could be compiled; translates them, and compiles nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.envs import registration

from parallel_pool.errors import SourceError

if TYPE_CHECKING:
    from parallel_pool._engine.maker import Maker


def translate(maker: Maker) -> str:
    """Translates the class of a pool's environments, and drops the result.

    Some environments of the class are made in this process, and one of them does a few steps. The
    state of the global generators of random numbers is as before.

    Args:
        maker: of the pool.

    Returns:
        What to write so that the pool is compiled, a clause.

    Raises:
        SourceError: the class can't be translated.
        Exception: it can't be found, or it fails.
    """
    # imported only when needed
    from parallel_pool._translator import translation
    from parallel_pool._translator.refusal import Refusal

    cls = _class_of(maker)
    name = cls.__name__
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        translation.translate(cls, maker.task_id or f"{name}-v0", options=dict(maker.options))
    except Refusal as refusal:
        raise SourceError(f"{name} can't be compiled as it is: {refusal}") from None
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
    if maker.task_id:
        return f'make the pool of {maker.task_id} with backend="compiled"'
    return f"call parallel_pool.compile({name}), and make the pool from the id that it returns"


def _class_of(maker: Maker) -> Any:
    from parallel_pool._translator import reader

    entry = maker.entry_point
    found: Any = registration.load_env_creator(entry) if isinstance(entry, str) else entry
    if not reader.is_environment(found):
        raise TypeError(f"{found} is no class of environments")
    return found
