"""Measures how RLlib samples on our environments: `python -m benchmarks.studies.rllib [ID ...]`.

RLlib's SingleAgentEnvRunner samples on a native pool, and on RLlib's own vectorisations "sync" and
"async", with random actions and with PPO's default network. torch computes on one thread.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from parallel_pool._bench import machine, tree
from parallel_pool._bench.python_players import started_since
from parallel_pool._bench.rounds import Player, Spread, interleave, ratio
from parallel_pool._command import until_interrupted

# ids, and numbers of environments
SCENES = {"CartPole-v1": 64, "LunarLander-v3": 16, "HalfCheetah-v5": 16}
OURS = "parallel_pool"


class Sampling:
    """Samples with an EnvRunner of RLlib."""

    def __init__(self, env: str, num_envs: int, mode: str, is_random: bool) -> None:
        from ray.rllib.algorithms.ppo import PPOConfig
        from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

        config = PPOConfig().environment(env)
        config.env_runners(num_envs_per_env_runner=num_envs, gym_env_vectorize_mode=mode)
        before = tree.descendants(os.getpid())
        self._runner = SingleAgentEnvRunner(config=config)
        self.children = started_since(before)
        self._num_envs = num_envs
        self._is_random = is_random

    def play(self, batches: int) -> int:
        count = batches * self._num_envs
        episodes = self._runner.sample(num_timesteps=count, random_actions=self._is_random)
        return sum(len(episode) for episode in episodes)

    def close(self) -> None:
        self._runner.stop()


def players(task_id: str, is_random: bool) -> dict[str, Callable[[], Player]]:
    """Returns what makes each player."""
    make = partial(Sampling, num_envs=SCENES[task_id], is_random=is_random)
    return {
        OURS: partial(make, f"parallel_pool:parallel_pool/{task_id}", mode="vector_entry_point"),
        "sync": partial(make, task_id, mode="sync"),
        "async": partial(make, task_id, mode="async"),
    }


def race(task_id: str, is_random: bool, rounds: int, seconds: float) -> list[str]:
    """Returns the rows of a scene."""
    with ExitStack() as stack:
        made: Mapping[str, Player] = {
            who: stack.enter_context(closing(make()))
            for who, make in players(task_id, is_random).items()
        }
        samples = interleave(made, rounds, seconds, turns=2)
    actions = "random" if is_random else "PPO's network"
    lines = []
    for who, own in samples.items():
        rate = Spread.of(each.rate for each in own).median
        cpu = Spread.of(each.cpu_us for each in own).median
        faster = (
            f"{times(ratio(samples[OURS], own))} | {times(ratio(samples[OURS], own, cpu=True))}"
        )
        lines.append(
            f"| {task_id}, {SCENES[task_id]} | {actions} | {who} | {rate:,.0f} | {cpu:,.0f} |"
            f" {' | ' if who == OURS else faster} |"
        )
    return lines


def times(spread: Spread) -> str:
    """Returns a ratio with its quartiles, for the table."""
    return f"{spread.median:.1f} ({spread.low:.1f}-{spread.high:.1f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.rllib", description=__doc__)
    parser.add_argument("ids", nargs="*", choices=[[], *SCENES], help="all, if none is named")
    parser.add_argument("--rounds", type=int, default=7, help="(7)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each player in a round (1)")
    parser.add_argument("--out", type=Path, help="file for the table")
    options = parser.parse_args(arguments)
    # where make installs what RLlib imports; behind all other packages
    sys.path.append(str(Path(sys.prefix) / "training-libraries"))
    warnings.filterwarnings("ignore")
    import ray
    import torch

    torch.set_num_threads(1)
    # metrics of RLlib ask for Ray
    ray.init(address="local", num_cpus=1, include_dashboard=False, logging_level="ERROR")
    lines = [
        f"{machine.summary()}, Ray"
        f" {ray.__version__}; medians and quartiles of {options.rounds} rounds\n",
        "| environments | actions | by | steps/s | CPU us a step | parallel_pool is faster by"
        " | by CPU time |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for task_id in options.ids or SCENES:
        for is_random in (True, False):
            lines += race(task_id, is_random, options.rounds, options.seconds)
    print("\n".join(lines))
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
