"""The builds of our console: one source, compiled for several processors, that all give one result.

A pool takes the best build that the processor can run, unless the environment variable
PP_ATARI_BUILD names another one while the pool is made.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cache

from parallel_pool._engine import registry
from parallel_pool._families import atari_proofs

VARIABLE = "PP_ATARI_BUILD"

# what each build is compiled for, weakest first
NAMES = {"base": "plain C", "v3": "AVX2", "v4": "AVX-512"}


@contextlib.contextmanager
def using(build: str) -> Iterator[None]:
    """Within this context, pools of Atari games are made with this build."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = build
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


@cache
def available() -> tuple[str, ...]:
    """Returns the builds that this machine can run."""
    return tuple(name for name in NAMES if _runs(name))


def _runs(build: str) -> bool:
    definition = registry.find("ALE/Pong-v5")
    # the program is never played
    options = {"rom": bytes(2048)}
    with using(build), atari_proofs.proving():
        try:
            definition.configure(registry.fill_options(definition, options))
        except ValueError as error:
            if VARIABLE not in str(error):
                raise
            return False
    return True
