"""Speed: how long a step of an environment takes, alone, among many and on all cores."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.pool import Pool
from parallel_pool._testing.guards import without_step_many

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# environments, so many that the cost of a call of Python's is small
MANY = 1024
# seconds of each measurement
SECONDS = 0.3


def report(definition: Definition, options: Mapping[str, Any]) -> str:
    """Returns a line with the time of a step and the steps per second on all cores."""
    single = _rate(without_step_many(definition), options, num_threads=1)
    parts = [f"{_nanoseconds(single)} a step"]
    if definition.raw.step_many:
        many = _rate(definition, options, num_threads=1)
        parts.append(f"{_nanoseconds(many)} with step_many")
    else:
        parts.append("no step_many")
    rate, threads = _fastest(definition, options)
    return f"{', '.join(parts)}; {_count(rate)} steps/s on {threads} threads"


def _fastest(definition: Definition, options: Mapping[str, Any]) -> tuple[float, int]:
    with Pool(definition, MANY, options=options) as pool:
        return _measured(pool), pool.num_threads


def _rate(definition: Definition, options: Mapping[str, Any], num_threads: int) -> float:
    with Pool(definition, MANY, options=options, num_threads=num_threads) as pool:
        return _measured(pool)


def _measured(pool: Pool) -> float:
    """Returns steps per second."""
    space = pool.spec.action_space()
    space.seed(0)
    import numpy as np

    samples = [space.sample() for _ in range(MANY)]
    actions = np.stack([samples[i % len(samples)] for i in range(pool.num_envs)])
    pool.reset(seed=0)
    pool.step(actions)
    begun, steps = time.perf_counter(), 0
    while time.perf_counter() - begun < SECONDS:
        pool.step(actions)
        steps += pool.num_envs
    return steps / (time.perf_counter() - begun)


def _nanoseconds(rate: float) -> str:
    return _count(1e9 / rate) + " ns"


def _count(value: float) -> str:
    """Returns three digits, with k or M."""
    for unit, suffix in ((1e6, " M"), (1e3, " k")):
        if value >= unit:
            return f"{value / unit:.3g}{suffix}"
    return f"{value:.3g}"
