"""Compares worker processes with SyncVectorEnv on any environment of the registry, by id.

python -m integration.compare.same_as_sync dm_control/walker-walk-v0 --register shimmy --limit 60
"""

from __future__ import annotations

import argparse
import copy
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode

import parallel_pool  # noqa: F401  adds a mode to make_vec
from tests.support.same import assert_same

NUM_ENVS, NUM_WORKERS = 4, 2
SEED = 3


def assert_same_as_sync(
    id: str,
    *,
    steps: int = 300,
    ends: int = 1,
    mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    wrappers: Sequence[Callable[[Any], Any]] | None = None,
    **options: Any,
) -> list[str]:
    """Steps both with the same seed and actions; asserts that all results have the same bits.

    Args:
        id: id in Gymnasium's registry.
        steps: steps of each environment.
        ends: number of episodes that must end, in all environments together.
        mode: autoreset mode.
        wrappers, options: arguments of make_vec.

    Returns:
        The names of all infos that appeared.
    """

    def make(kind: str, **more: Any) -> Any:
        vector = {"autoreset_mode": mode, **more}
        given: dict[str, Any] = {"vectorization_mode": kind, "wrappers": wrappers, **options}
        return gymnasium.make_vec(id, NUM_ENVS, vector_kwargs=vector, **given)

    theirs = make("sync")
    ours = make("parallel_pool", backend="process", num_workers=NUM_WORKERS)
    try:
        assert ours.backend == "process" and ours.pool.num_workers == NUM_WORKERS
        first = theirs.reset(seed=SEED)
        assert_same(ours.reset(seed=SEED), first, f"{id}: reset")
        theirs.action_space.seed(SEED)
        ended, seen = 0, set(first[1])
        for step in range(steps):
            actions = theirs.action_space.sample()
            expected = theirs.step(copy.deepcopy(actions))
            assert_same(ours.step(actions), expected, f"{id}: step {step}")
            ended += int((expected[2] | expected[3]).sum())
            seen |= set(expected[4])
        assert ended >= ends, f"{ended} episodes ended"
    finally:
        ours.close()
        theirs.close()
    return sorted(seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("id", nargs="+", help="ids of the registry")
    parser.add_argument("--register", help="module whose import registers them")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--limit", type=int, help="max_episode_steps")
    arguments = parser.parse_args()
    if arguments.register:
        importlib.import_module(arguments.register)
    for id in arguments.id:
        ends = NUM_ENVS * (arguments.steps // (arguments.limit + 1)) if arguments.limit else 0
        infos = assert_same_as_sync(
            id, steps=arguments.steps, ends=ends, max_episode_steps=arguments.limit
        )
        print(f"{id}: the same for {arguments.steps} steps; infos: {', '.join(infos) or 'none'}")


if __name__ == "__main__":
    main()
