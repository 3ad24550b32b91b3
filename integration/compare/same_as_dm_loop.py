"""Compares worker processes with a plain loop on environments of dm_control, given as functions.

python -m integration.compare.same_as_dm_loop walker-walk manipulation-stack_2_bricks_features
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

from parallel_pool import PoolVectorEnv
from tests.support.same import assert_same

NUM_ENVS, NUM_WORKERS = 3, 2
SEED = 5


def load(name: str, limit: float, seed: int | None = None) -> Any:
    """Returns an environment of dm_control, which derives from dm_env.Environment.

    Args:
        name: "manipulation-TASK", a task of a composer environment, or "DOMAIN-TASK" of the suite.
        limit: seconds after which an episode is truncated; the suite's only.
        seed: of its generator.
    """
    domain, task = name.split("-", 1)
    if domain == "manipulation":
        from dm_control import manipulation

        return manipulation.load(task, seed=seed)
    from dm_control import suite

    return suite.load(domain, task, task_kwargs={"random": seed, "time_limit": limit})


def assert_same_as_loop(name: str, steps: int, limit: float) -> int:
    """Steps both with the same seeds and actions, twice; asserts that all results are the same.

    Returns:
        How many episodes ended in a pass.
    """
    envs = PoolVectorEnv([partial(load, name, limit)] * NUM_ENVS, num_workers=NUM_WORKERS)
    try:
        envs.action_space.seed(SEED)
        actions = [envs.action_space.sample() for _ in range(steps)]
        for run in range(2):
            # the same seed, whatever happened before
            observations, _ = envs.reset(seed=SEED)
            plain = [load(name, limit, SEED + i) for i in range(NUM_ENVS)]
            expected = [env.reset() for env in plain]
            compare_observations(observations, expected, f"{name}, run {run}: reset")
            ends = 0
            for step, chosen in enumerate(actions):
                where = f"{name}, run {run}: step {step}"
                observations, rewards, terminated, truncated, infos = envs.step(chosen)
                expected = [env.step(action) for env, action in zip(plain, chosen, strict=True)]
                compare_observations(observations, expected, where)
                lasts = [each.last() for each in expected]
                zeros = [each.discount == 0 for each in expected]
                assert rewards.tolist() == [each.reward or 0.0 for each in expected], where
                assert (terminated | truncated).tolist() == lasts, where
                assert (terminated & truncated).sum() == 0, where
                assert terminated[lasts].tolist() == [
                    zero for zero, last in zip(zeros, lasts, strict=True) if last
                ], where
                for i, each in enumerate(expected):
                    if not each.first():
                        assert infos["_discount"][i] and infos["discount"][i] == each.discount
                ends += sum(lasts)
    finally:
        envs.close()
    return ends


def compare_observations(observations: Any, expected: list[Any], where: str) -> None:
    names = list(expected[0].observation)
    assert list(observations) == names, where
    for name in names:
        wanted = np.array([each.observation[name] for each in expected])
        assert_same(observations[name], wanted, f"{where}: {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="+", help="DOMAIN-TASK, or manipulation-TASK")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--limit", type=float, default=0.5, help="seconds of an episode")
    arguments = parser.parse_args()
    for name in arguments.name:
        ends = assert_same_as_loop(name, arguments.steps, arguments.limit)
        print(f"{name}: the same for {arguments.steps} steps; {ends} episodes ended")


if __name__ == "__main__":
    main()
