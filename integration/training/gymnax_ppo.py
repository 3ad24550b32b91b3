"""Proximal policy optimisation on environments in gymnax's form, several agents in one program.

    python -m integration.training.gymnax_ppo [--agents 4] [--library parallel_pool|gymnax]

`make_train` is written for gymnax's `reset(key, params)` and `step(key, state, action, params)`, as
PureJaxRL's programs are, and `jax.vmap` over keys trains several agents at once: all their
environments are rows of one call. It prints each agent's mean return in the last updates.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from integration.training.jax_ppo import (
    Experience,
    Settings,
    advantages,
    agent,
    evaluate,
    loss,
    outputs,
)

LIBRARIES = ("parallel_pool", "gymnax")


def normal(scale: float) -> Any:
    """Returns an initializer of weights.

    Orthogonal ones, as jax_ppo has, are made by QR decompositions. Those of several agents wait for
    XLA's threads while they occupy them: with two cores, two at the same time wait for ever.
    """
    return jax.nn.initializers.variance_scaling(scale**2, "fan_avg", "normal")


def make(library: str, task_id: str) -> tuple[Any, Any]:
    """Returns an environment and its parameters."""
    if library == "gymnax":
        import gymnax

        return gymnax.make(task_id)
    from parallel_pool.compat.jax import make_gymnax

    return make_gymnax(task_id)


def make_train(env: Any, params: Any, settings: Settings) -> Callable[[Any], Any]:
    """Returns the training of one agent as a function of a key.

    It returns the weights, and of each update the sum of returns of the episodes that ended in it,
    and their number.
    """
    reset = jax.vmap(env.reset, in_axes=(0, None))
    step = jax.vmap(env.step, in_axes=(0, 0, 0, None))
    inputs = int(np.prod(env.observation_space(params).shape))
    optimizer = optax.chain(
        optax.clip_by_global_norm(settings.max_gradient),
        optax.adam(settings.learning_rate, eps=1e-5),
    )

    def act(carry: Any, key: Any) -> Any:
        weights, state, observations, returns = carry
        first, second = jax.random.split(key)
        actions = jax.random.categorical(first, outputs(weights["policy"], observations))
        log_probs, _, values = evaluate(weights, observations, actions)
        keys = jax.random.split(second, settings.num_envs)
        following, state, rewards, done, _ = step(keys, state, actions, params)
        returns = returns + rewards
        # gymnax's form has no rows that are resets, and does not say why an episode ends
        experience = Experience(
            *(observations, actions, log_probs, values, rewards, done, done),
            *(jnp.ones_like(done), returns * done),
        )
        return (weights, state, following, returns * ~done), experience

    def descend(state: Any, batch: Any) -> Any:
        weights, optimizer_state = state
        gradient = jax.grad(loss)(weights, batch, settings)
        change, optimizer_state = optimizer.update(gradient, optimizer_state)
        return (optax.apply_updates(weights, change), optimizer_state), None

    def improve(state: Any, key: Any, data: Any) -> Any:
        count = settings.rollout_steps * settings.num_envs
        order = jax.random.permutation(key, count).reshape(settings.minibatches, -1)
        batches = jax.tree.map(lambda array: array[order], data)
        return lax.scan(descend, state, batches)[0]

    def update(carry: Any, key: Any) -> Any:
        weights, optimizer_state, state, observations, returns = carry
        first, second = jax.random.split(key)
        (_, state, observations, returns), experience = lax.scan(
            act,
            (weights, state, observations, returns),
            jax.random.split(first, settings.rollout_steps),
        )
        last = outputs(weights["value"], observations)[..., 0]
        advantage = advantages(experience, last, settings)
        scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        data = jax.tree.map(
            lambda array: array.reshape(-1, *array.shape[2:]),
            (experience, scaled, advantage + experience.values),
        )
        improved = (weights, optimizer_state)
        for each in jax.random.split(second, settings.epochs):
            improved = improve(improved, each, data)
        sums = experience.returned.sum(), experience.ended.sum()
        return (*improved, state, observations, returns), sums

    def train(key: Any) -> Any:
        first, second, third = jax.random.split(key, 3)
        weights = agent(first, inputs, env.num_actions, settings.width, normal)
        observations, state = reset(jax.random.split(second, settings.num_envs), params)
        carry = (weights, optimizer.init(weights), state, observations)
        carry, sums = lax.scan(
            update,
            (*carry, jnp.zeros(settings.num_envs)),
            jax.random.split(third, settings.updates),
        )
        return carry[0], sums

    return train


def run(library: str, agents: int, settings: Settings) -> tuple[list[float], float, float]:
    """Trains agents together on CartPole.

    Returns:
        The mean return of each in the last tenth of its updates; the seconds and the CPU seconds
        of the program.
    """
    env, params = make(library, "CartPole-v1")
    train = jax.jit(jax.vmap(make_train(env, params, settings)))
    keys = jax.random.split(jax.random.PRNGKey(0), agents)
    program = train.lower(keys).compile()
    start, cpu = time.perf_counter(), time.process_time()
    _, (returned, ended) = jax.block_until_ready(program(keys))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    part = max(settings.updates // 10, 1)
    means = returned[:, -part:].sum(1) / jnp.maximum(ended[:, -part:].sum(1), 1)
    return means.tolist(), seconds, cpu


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--library", choices=LIBRARIES, default="parallel_pool")
    options = parser.parse_args()
    means, seconds, cpu = run(options.library, options.agents, Settings())
    print(f"{options.library}: {seconds:.2f} s, {cpu:.2f} s of CPU time; mean returns {means}")


if __name__ == "__main__":
    main()
