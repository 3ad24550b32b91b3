"""Compares the structure of the EnvPool-style API's results with the installed EnvPool wheel.

    python -m integration.compare.envpool_api

For each task and both APIs (Gymnasium's and dm_env's) it makes the same calls to both packages. It
compares the nesting of results, the order of names, shapes and dtypes; for Atari games also all
values; and for specs the options, their defaults, spaces and array specs. EXPECTED lists the
intended differences, as the migration page does. The exit status is 1 if anything else differs, or
if an expected difference is gone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import envpool
import numpy as np

import parallel_pool

TASKS = ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Pong-v5"]
APIS = ["make_gymnasium", "make_dm"]
SAME_VALUES = {"Pong-v5"}
STEPS = 200

EXPECTED = {
    # our default seed is fresh entropy; we have no files to look for
    "{task} config seed",
    "{task} config base_path",
    # classic control has Gymnasium's options; Atari has no option that names another game's ROM
    "CartPole-v1 config options",
    "MountainCar-v0 config options",
    "MountainCarContinuous-v0 config options",
    "Pendulum-v1 config options",
    "Pong-v5 config options",
    # our infos have one value for each environment, not one for each player
    "Pong-v5 state_array_spec info:lives",
    "Pong-v5 state_array_spec info:reward",
    "Pong-v5 state_array_spec info:terminated",
}


def leaves(result: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every array of a result with its path."""
    if isinstance(result, dict):
        for key, value in result.items():
            yield from leaves(value, f"{path}[{key!r}]")
    elif hasattr(result, "_fields"):
        for key, value in zip(result._fields, result, strict=True):
            yield from leaves(value, f"{path}.{key}")
    elif isinstance(result, tuple):
        for key, value in enumerate(result):
            yield from leaves(value, f"{path}[{key}]")
    else:
        yield path, result


def results(theirs: Any, ours: Any, with_values: bool) -> Iterator[str]:
    """Yields the differences between two results."""
    a, b = list(leaves(theirs)), list(leaves(ours))
    if [path for path, _ in a] != [path for path, _ in b]:
        yield "names"
        return
    for (path, x), (_, y) in zip(a, b, strict=True):
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            yield f"{path} {x.shape} {x.dtype} {y.shape} {y.dtype}"
        elif with_values and not np.array_equal(x, y):
            yield f"{path} values"


def pools(task: str, api: str) -> Iterator[str]:
    """Yields the differences between the results of EnvPool's pool and ours."""
    theirs = getattr(envpool, api)(task, num_envs=3, seed=5)
    ours = getattr(parallel_pool, api)(task, num_envs=3, seed=5)
    with_values = task in SAME_VALUES
    space = parallel_pool.make_spec(task).action_space
    space.seed(0)
    some = np.array([2, 0], np.int32)
    yield from results(theirs.reset(), ours.reset(), with_values)
    for step in range(STEPS):
        action = np.array([space.sample() for _ in range(3)])
        yield from results(theirs.step(action), ours.step(action), with_values)
        if step % 50 == 25:
            part = action[:2]
            yield from results(theirs.step(part, some), ours.step(part, some), with_values)
            yield from results(theirs.reset(some), ours.reset(some), with_values)
    ours.close()


def specs(task: str) -> Iterator[str]:
    """Yields the differences between EnvPool's spec and ours."""
    theirs, ours = envpool.make_spec(task), parallel_pool.make_spec(task)
    a, b = theirs.config._asdict(), ours.config._asdict()
    if list(a) != list(b):
        yield "config options"
    yield from (f"config {name}" for name in a if name in b and a[name] != b[name])
    for space in ("observation_space", "action_space"):
        if getattr(theirs, space) != getattr(ours, space):
            yield space
    for table in ("state_array_spec", "action_array_spec"):
        a, b = getattr(theirs, table), getattr(ours, table)
        if list(a) != list(b):
            yield f"{table} names"
        for name in a:
            if list(a[name].shape) != b[name].shape or a[name].dtype != b[name].dtype:
                yield f"{table} {name}"
    if theirs.reward_threshold != ours.reward_threshold:
        yield "reward_threshold"
    if theirs.action_spec() != ours.action_spec():
        yield "action_spec"


def main() -> int:
    warnings.simplefilter("ignore")
    found: set[str] = set()
    for task in TASKS:
        differences = {f"{task} {what}" for what in specs(task)}
        for api in APIS:
            differences |= {f"{task} {api} {what}" for what in pools(task, api)}
        found |= differences
        print(f"{task}: {len(differences)} differences")
    expected = {what.format(task=task) for what in EXPECTED for task in TASKS}
    for what in sorted(found - expected):
        print(f"not expected: {what}")
    for what in sorted(expected - found):
        print(f"expected, but gone: {what}")
    print("as expected" if found == expected else "NOT as expected")
    return int(found != expected)


if __name__ == "__main__":
    sys.exit(main())
