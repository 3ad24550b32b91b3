"""Speed: how long a step of an environment takes, alone, among many and on all cores."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._contract.guards import without_step_many
from parallel_pool._contract.play import Run, require
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool._native import ffi, lib

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# environments, so many that the cost of a call of Python's is small
MAX_ENVS = 1024
# seconds of each measurement
SECONDS = 0.3
# seconds of a step of all environments, of which there are fewer if a step is long
MAX_STEP_SECONDS = 0.5
# seconds of a step or a reset that is too long for step_many, far more than the microseconds that
# pp_env.h allows, so that a busy machine is no reason to refuse an environment
MAX_CALL_SECONDS = 1e-3
# of which the median counts
TIMES = 9


def for_runs(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """Steps and resets are short if there is a step_many, as nothing interrupts its calls."""
    definition = registry.find(env) if isinstance(env, str) else env
    if not definition.raw.step_many:
        return
    # a single environment is stepped alone
    run = Run(definition, 1, num_threads=1, **settings)
    for what, call in (("reset", run.pool.reset), ("step", lambda: run.pool.step(run.action([0])))):
        seconds = statistics.median(_seconds(call) for _ in range(TIMES))
        require(
            seconds < MAX_CALL_SECONDS,
            f"a {what} takes {seconds * 1e3:.1f} ms, and step_many steps up to 256 environments in"
            " a call that nothing interrupts, not even Ctrl-C: leave step_many null if a step or a"
            " reset can take more than microseconds",
        )


def _seconds(call: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def report(definition: Definition, options: Mapping[str, Any]) -> str:
    """Returns a line with the time of a step and the steps per second on all cores."""
    count = _envs(definition, options)
    single = _rate(without_step_many(definition), options, count)
    parts = [f"{_nanoseconds(single)} a step"]
    if definition.raw.step_many:
        many = _rate(definition, options, count)
        parts.append(f"{_nanoseconds(many)} with step_many")
    else:
        parts.append("no step_many")
    rate, threads = _fastest(definition, options, count)
    return f"{', '.join(parts)}; {_count(rate)} steps/s on {threads} threads"


def _envs(definition: Definition, options: Mapping[str, Any]) -> int:
    """Returns how many environments are stepped: no fewer than there are cores."""
    run = Run(definition, 1, num_threads=1, options=options)
    # a reset, and some steps
    seconds = max(_seconds(run.step) for _ in range(4))
    run.pool.close()
    least: int = lib.pp_usable_cores(ffi.NULL)
    return min(MAX_ENVS, max(least, int(MAX_STEP_SECONDS / seconds)))


def _fastest(definition: Definition, options: Mapping[str, Any], count: int) -> tuple[float, int]:
    with Pool(definition, count, options=options) as pool:
        return _measured(pool), pool.num_threads


def _rate(definition: Definition, options: Mapping[str, Any], count: int) -> float:
    with Pool(definition, count, options=options, num_threads=1) as pool:
        return _measured(pool)


def _measured(pool: Pool) -> float:
    """Returns steps per second."""
    space = pool.spec.action_space()
    space.seed(0)
    import numpy as np

    samples = [space.sample() for _ in range(MAX_ENVS)]
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
