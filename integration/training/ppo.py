"""Proximal policy optimisation in the manner of CleanRL: one file that can be read from the top.

It trains on any `gymnasium.vector.VectorEnv` with NEXT_STEP or SAME_STEP autoreset and discrete or
continuous actions, from vectors or from stacks of images. In the first mode the step after the end
of an episode is a reset: its action is ignored and its reward is 0. Such steps are no experience;
`Rollout.is_real` excludes them from the losses. In the second mode there are none, but an episode's
last observation is not in its row, so a truncated episode counts as a terminated one.

Method: Schulman et al., "Proximal Policy Optimization Algorithms" (2017), with generalised
advantage estimation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.utils import RunningMeanStd
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, Independent, Normal


@dataclass(frozen=True)
class Settings:
    """Hyperparameters. The defaults solve CartPole."""

    total_steps: int = 49_152
    rollout_steps: int = 64
    epochs: int = 6
    minibatches: int = 4
    learning_rate: float = 1e-3
    gamma: float = 0.98
    gae_lambda: float = 0.9
    clip: float = 0.2
    entropy_weight: float = 0.005
    value_weight: float = 0.5
    max_gradient: float = 0.5
    # divide rewards by the standard deviation of discounted returns so far, and clip them to
    # -10..10: rare rewards then stand out from what the value function does not know yet
    scales_rewards: bool = False
    # the first standard deviation of continuous actions
    first_deviation: float = 1.0
    seed: int = 1


@dataclass
class Training:
    """The result of training.

    Attributes:
        agent: the trained agent.
        returns: the returns of all episodes, in the order in which they ended.
        ends: for each episode, the steps that all environments together had done when it ended.
    """

    agent: Agent
    returns: list[float] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


class Agent(nn.Module):
    """A policy and a value function.

    For observations (n, numbers) float32, policy and value each have a network of their own. For
    images (n, planes, height, width) uint8, both share an encoder.
    """

    def __init__(
        self, shape: tuple[int, ...], actions: Space[Any], first_deviation: float = 1.0
    ) -> None:
        super().__init__()
        # standard deviations of continuous actions, the same in all states
        self.log_deviations: nn.Parameter | None = None
        if isinstance(actions, Box):
            num_actions = actions.shape[0]
            first = torch.full((num_actions,), math.log(first_deviation))
            self.log_deviations = nn.Parameter(first)
        else:
            num_actions = int(actions.n)  # type: ignore[attr-defined]
        if len(shape) == 1:
            self.encoder: nn.Module = nn.Identity()
            self.policy: nn.Module = network(shape[0], num_actions, last_scale=0.01)
            self.value: nn.Module = network(shape[0], 1, last_scale=1.0)
        else:
            self.encoder = encoder(shape)
            self.policy = scaled(nn.Linear(FEATURES, num_actions), 0.01)
            self.value = scaled(nn.Linear(FEATURES, 1), 1.0)

    def evaluate(self, observations: Tensor) -> tuple[Distribution, Tensor]:
        """Returns the distribution of actions, and values (n,)."""
        features = self.encoder(observations)
        policy, values = self.policy(features), self.value(features).squeeze(-1)
        if self.log_deviations is None:
            return Categorical(logits=policy), values
        return Independent(Normal(policy, self.log_deviations.exp()), 1), values

    def act(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns sampled actions, (n,) or (n, numbers), their log probabilities, (n,), and values,
        (n,)."""
        choice, values = self.evaluate(observations)
        actions = choice.sample()
        return actions, choice.log_prob(actions), values


# the size of the encoder's output for an image
FEATURES = 256


class Scaled(nn.Module):
    """Converts bytes to numbers from 0 to 1, in channels-last order, in which convolutions of few
    planes are up to twice as fast on a CPU."""

    def forward(self, bytes_: Tensor) -> Tensor:
        return bytes_.contiguous(memory_format=torch.channels_last).float().div_(255)


def encoder(shape: tuple[int, ...]) -> nn.Module:
    """Returns two convolutions and a linear layer, for images of about 64 x 64."""
    planes = shape[0]
    layers: list[nn.Module] = [Scaled()]
    for outputs, size, stride in ((16, 8, 4), (32, 4, 2)):
        layers += [scaled(nn.Conv2d(planes, outputs, size, stride), 2**0.5), nn.ReLU()]
        planes = outputs
    layers.append(nn.Flatten())
    with torch.no_grad():
        numbers = nn.Sequential(*layers)(torch.zeros(1, *shape)).shape[1]
    whole = nn.Sequential(*layers, scaled(nn.Linear(numbers, FEATURES), 2**0.5), nn.ReLU())
    return whole.to(memory_format=torch.channels_last)


def scaled(layer: nn.Linear | nn.Conv2d, scale: float) -> nn.Module:
    """Returns the layer, with orthogonal weights of this scale and zero biases."""
    nn.init.orthogonal_(layer.weight, scale)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


def network(num_inputs: int, num_outputs: int, *, last_scale: float) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs, scale in (
        (num_inputs, 64, 2**0.5),
        (64, 64, 2**0.5),
        (64, num_outputs, last_scale),
    ):
        layers += [scaled(nn.Linear(inputs, outputs), scale), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class Rollout:
    """Experience of rollout_steps steps of n rows; arrays (rollout_steps, n, ...)."""

    def __init__(self, steps: int, first: Tensor, actions: Space[Any]) -> None:
        """Takes memory for rows like `first`, observations (n, ...)."""
        assert actions.shape is not None
        num_rows = len(first)
        self.observations = torch.zeros(steps, *first.shape, dtype=first.dtype)
        kind = torch.float32 if isinstance(actions, Box) else torch.int64
        self.actions = torch.zeros(steps, num_rows, *actions.shape, dtype=kind)
        self.log_probs = torch.zeros(steps, num_rows)
        self.values = torch.zeros(steps, num_rows)
        self.rewards = torch.zeros(steps, num_rows)
        self.terminated = torch.zeros(steps, num_rows)
        self.ended = torch.zeros(steps, num_rows)
        self.is_real = torch.zeros(steps, num_rows, dtype=torch.bool)

    def advantages(self, last_values: Tensor, settings: Settings) -> Tensor:
        """Returns generalised advantages, given the values of what follows the last step.

        With NEXT_STEP the observation after the end of an episode is that episode's own last one.
        So the next value is already the right one to continue a truncated episode.
        """
        advantages = torch.zeros_like(self.rewards)
        following, next_values = torch.zeros_like(last_values), last_values
        for t in reversed(range(len(self.rewards))):
            future = settings.gamma * next_values * (1 - self.terminated[t])
            delta = self.rewards[t] + future - self.values[t]
            decay = settings.gamma * settings.gae_lambda * (1 - self.ended[t])
            following = advantages[t] = delta + decay * following
            next_values = self.values[t]
        return advantages


class RewardScale:
    """Divides rewards by the standard deviation of discounted returns so far."""

    def __init__(self, num_rows: int, gamma: float) -> None:
        self._gamma = gamma
        self._returns = torch.zeros(num_rows)
        self._seen = RunningMeanStd()

    def apply(self, rollout: Rollout) -> None:
        """Scales a rollout's rewards; those of -10 and 10 are the largest then."""
        returns = torch.zeros_like(rollout.rewards)
        for t, rewards in enumerate(rollout.rewards):
            returns[t] = self._returns = rewards + self._gamma * self._returns
            self._returns = self._returns * (1 - rollout.ended[t])
        self._seen.update(returns.numpy().ravel())
        deviation = float(self._seen.var + 1e-8) ** 0.5
        rollout.rewards = (rollout.rewards / deviation).clamp(-10, 10)


def tensor(observations: np.ndarray[Any, Any]) -> Tensor:
    """Returns observations as networks take them: bytes unchanged, numbers as float32."""
    same = torch.as_tensor(observations)
    return same if same.dtype == torch.uint8 else same.float()


class Player(Protocol):
    """What `learn` trains on.

    Attributes:
        observations: of all rows, (n, ...).
        actions: the space of one row's actions.
        steps: of all rows together.
    """

    observations: Tensor
    actions: Space[Any]
    steps: int

    def fill(self, rollout: Rollout, training: Training) -> Tensor:
        """Plays one rollout; returns the values (n,) of what follows."""
        ...


class VectorPlayer:
    """Plays one rollout after another without a reset in between, and adds up returns."""

    def __init__(self, envs: VectorEnv[Any, Any, Any], seed: int) -> None:
        self.envs, self.actions = envs, envs.single_action_space
        self.observations = tensor(envs.reset(seed=seed)[0])
        self.is_same_step = envs.metadata.get("autoreset_mode") == AutoresetMode.SAME_STEP
        self.ended = np.zeros(envs.num_envs, bool)
        self.running_returns = np.zeros(envs.num_envs)
        self.steps = 0

    @torch.no_grad()
    def fill(self, rollout: Rollout, training: Training) -> Tensor:
        """Plays one rollout; returns the values of what follows."""
        for t in range(len(rollout.rewards)):
            actions, log_probs, values = training.agent.act(self.observations)
            rollout.observations[t], rollout.actions[t] = self.observations, actions
            rollout.log_probs[t], rollout.values[t] = log_probs, values
            rollout.is_real[t] = torch.as_tensor(~self.ended | self.is_same_step)

            observations, rewards, terminated, truncated, _ = self.envs.step(actions.numpy())
            self.observations = tensor(observations)
            self.ended = terminated | truncated
            rollout.rewards[t] = torch.as_tensor(rewards)
            final = self.ended if self.is_same_step else terminated
            rollout.terminated[t] = torch.as_tensor(final)
            rollout.ended[t] = torch.as_tensor(self.ended)

            self.running_returns += rewards
            self.steps += len(rewards)
            training.returns += self.running_returns[self.ended].tolist()
            training.ends += [self.steps] * int(self.ended.sum())
            self.running_returns[self.ended] = 0
        return training.agent.evaluate(self.observations)[1]


class RolloutPlayer(VectorPlayer):
    """Plays on environments of parallel_pool, whose threads write the rollouts (`envs.rollout`).

    It is the loop of `VectorPlayer` without its copies, and trains the same agent, bit by bit.
    """

    def __init__(self, envs: Any, seed: int, steps: int) -> None:
        super().__init__(envs, seed)
        self.buffer = envs.rollout(steps)

    @torch.no_grad()
    def fill(self, rollout: Rollout, training: Training) -> Tensor:
        """Plays one rollout; returns the values of what follows."""

        def policy(observations: Any) -> tuple[Any, dict[str, Any]]:
            actions, log_probs, values = training.agent.act(tensor(observations))
            return actions.numpy(), {"log_probs": log_probs.numpy(), "values": values.numpy()}

        found = self.buffer.collect(policy)
        ended = found.terminations | found.truncations
        rollout.observations = tensor(found.observations)
        rollout.actions = torch.from_numpy(found.actions)
        rollout.log_probs = torch.from_numpy(found.extras["log_probs"])
        rollout.values = torch.from_numpy(found.extras["values"])
        rollout.rewards = torch.from_numpy(found.rewards).float()
        final = ended if self.is_same_step else found.terminations
        rollout.terminated = torch.from_numpy(final).float()
        rollout.ended = torch.from_numpy(ended).float()
        rollout.is_real = torch.from_numpy(~found.resets)
        self.note_returns(found.rewards, ended, training)
        return training.agent.evaluate(tensor(found.next_observations[-1]))[1]

    def note_returns(self, rewards: Any, ended: Any, training: Training) -> None:
        """Adds up the returns of episodes."""
        for t in range(len(rewards)):
            self.running_returns += rewards[t]
            self.steps += len(rewards[t])
            training.returns += self.running_returns[ended[t]].tolist()
            training.ends += [self.steps] * int(ended[t].sum())
            self.running_returns[ended[t]] = 0


def improve(
    agent: Agent,
    optimizer: torch.optim.Optimizer,
    rollout: Rollout,
    advantages: Tensor,
    settings: Settings,
) -> None:
    """Takes the gradient steps of one rollout, on its real steps only."""
    real = rollout.is_real
    observations, actions = rollout.observations[real], rollout.actions[real]
    log_probs, advantage = rollout.log_probs[real], advantages[real]
    targets = advantage + rollout.values[real]
    size = -(-len(actions) // settings.minibatches)
    for _ in range(settings.epochs):
        for chosen in torch.randperm(len(actions)).split(size):
            choice, values = agent.evaluate(observations[chosen])
            ratio = (choice.log_prob(actions[chosen]) - log_probs[chosen]).exp()
            gain = advantage[chosen]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            policy_loss = -torch.minimum(gain * ratio, gain * clipped).mean()
            value_loss = 0.5 * (values - targets[chosen]).square().mean()
            loss = policy_loss + settings.value_weight * value_loss
            loss = loss - settings.entropy_weight * choice.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), settings.max_gradient)
            optimizer.step()


def train(
    envs: VectorEnv[Any, Any, Any],
    settings: Settings,
    report: Callable[[Training, int], object] = lambda training, steps: None,
) -> Training:
    """Trains a new agent; the same settings and environments give the same agent, bit by bit.

    Args:
        report: called after each rollout with the environment steps so far; if it returns True,
            training ends.
    """
    return learn(VectorPlayer(envs, settings.seed), settings, report)


def learn(
    player: Player, settings: Settings, report: Callable[[Training, int], object]
) -> Training:
    """Trains a new agent on what a player plays."""
    torch.manual_seed(settings.seed)
    first = player.observations
    shape = tuple(first.shape[1:])
    training = Training(Agent(shape, player.actions, settings.first_deviation))
    scale = RewardScale(len(first), settings.gamma)
    optimizer = torch.optim.Adam(training.agent.parameters(), settings.learning_rate, eps=1e-5)
    rollout = Rollout(settings.rollout_steps, first, player.actions)
    iterations = settings.total_steps // (settings.rollout_steps * len(first))
    for iteration in range(iterations):
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * (1 - iteration / iterations)
        last_values = player.fill(rollout, training)
        if settings.scales_rewards:
            scale.apply(rollout)
        advantages = rollout.advantages(last_values, settings)
        improve(training.agent, optimizer, rollout, advantages, settings)
        if report(training, player.steps) is True:
            break
    return training
