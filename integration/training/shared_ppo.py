"""PPO for agents that share a policy: `ppo.py` on the stacked arrays of a `PoolParallelEnv`.

Each agent of each environment is a row. Rows of agents that are not live are no experience, as
resets are none in `ppo.py`. With an indicator of the agent in its observation, one policy plays all
sides of a game against itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from integration.training import ppo
from parallel_pool import PoolParallelEnv
from parallel_pool._apis.pettingzoo.groups import AgentArrays


def rows(arrays: AgentArrays) -> Tensor:
    """Returns the observations of all agents, (n * k, ...), images with their planes first."""
    (block,) = arrays.observations
    all_rows = ppo.tensor(block).flatten(0, 1)
    return all_rows if all_rows.ndim == 2 else all_rows.permute(0, 3, 1, 2)


def flat(values: np.ndarray) -> Tensor:
    """Returns values of agents (n, k) as those of rows (n * k,)."""
    return torch.as_tensor(values).flatten()


class SharedPlayer:
    """Plays one rollout after another with one policy for all agents; a `ppo.Player`."""

    def __init__(
        self, envs: PoolParallelEnv, seed: int, view: Callable[[AgentArrays], Tensor] = rows
    ) -> None:
        """Takes the environments; `view` returns what the policy sees of their arrays."""
        self.envs, self.view = envs, view
        (group,) = envs.groups
        self.actions = group.action_space
        self.arrays = envs.reset_arrays(seed=seed)
        self.observations = view(self.arrays)
        self.running_returns = np.zeros_like(self.arrays.rewards)
        self.steps = 0

    @torch.no_grad()
    def fill(self, rollout: ppo.Rollout, training: ppo.Training) -> Tensor:
        """Plays one rollout; returns the values (n * k,) of what follows."""
        for t in range(len(rollout.rewards)):
            actions, log_probs, values = training.agent.act(self.observations)
            rollout.observations[t], rollout.actions[t] = self.observations, actions
            rollout.log_probs[t], rollout.values[t] = log_probs, values
            rollout.is_real[t] = flat(self.arrays.live)

            shape = (*self.arrays.live.shape, *actions.shape[1:])
            self.arrays = arrays = self.envs.step_arrays(actions.view(shape).numpy())
            self.observations = self.view(arrays)
            ended = arrays.terminations | arrays.truncations
            rollout.rewards[t] = flat(arrays.rewards)
            rollout.terminated[t] = flat(arrays.terminations)
            rollout.ended[t] = flat(ended)

            self.running_returns += arrays.rewards
            self.steps += ended.size
            training.returns += self.running_returns[ended].tolist()
            training.ends += [self.steps] * int(ended.sum())
            self.running_returns[ended] = 0
        return training.agent.evaluate(self.observations)[1]


def train(
    envs: PoolParallelEnv,
    settings: ppo.Settings,
    report: Callable[[ppo.Training, int], object] = lambda training, steps: None,
    view: Callable[[AgentArrays], Tensor] = rows,
) -> ppo.Training:
    """Trains one policy for all agents, whose spaces must be equal, with NEXT_STEP autoreset.

    Args:
        report: called after each rollout with the steps of all agents so far; if it returns True,
            training ends.
        view: returns what the policy sees of the environments' arrays, (n * k, ...).
    """
    return ppo.learn(SharedPlayer(envs, settings.seed, view), settings, report)
