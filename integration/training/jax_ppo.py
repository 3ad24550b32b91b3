"""Proximal policy optimisation in JAX, all of it in one compiled program, environments included.

    python -m integration.newest_envpool training.jax_ppo CartPole-v1|Pong-v5
    python -m integration.training.jax_ppo CartPole-v1|Pong-v5 --library parallel_pool

It is written for EnvPool's `env.xla()`, and runs unchanged on EnvPool and on parallel_pool. In the
manner of PureJaxRL, `train` is one function under `jax.jit`: rollouts are a `lax.scan` over `step`,
and updates a `lax.scan` over rollouts. The step after the end of an episode is a reset in EnvPool's
API: it is no experience, and is excluded from the losses.

Without a library it trains on both by turns, several seeds, and writes results/jax_ppo.json after
each training. The same command goes on after Ctrl-C; remove the file to begin again. On Pong the
agent sees the difference of two frames, as numbers, and pong-training.png shows its returns.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from parallel_pool._bench import machine

RESULT = Path(__file__).parents[1] / "results" / "jax_ppo.json"
LIBRARIES = ("parallel_pool", "envpool")
GOAL = 475.0
PONG = "Pong-v5"
PONG_GOAL = 20.0


def as_they_are(observations: Any) -> Any:
    """Returns observations of a few numbers."""
    return observations


def movement(observations: Any) -> Any:
    """Returns what moved on Pong's field between two frames of 42 x 42 pixels."""
    court = observations[:, :, 7:39].astype(jnp.float32)
    return (court[:, 1] - court[:, 0]).reshape(len(observations), -1) / 64.0


@dataclass(frozen=True)
class Settings:
    """Hyperparameters. The defaults solve CartPole."""

    num_envs: int = 32
    rollout_steps: int = 64
    updates: int = 100
    epochs: int = 4
    minibatches: int = 4
    learning_rate: float = 2e-3
    gamma: float = 0.98
    gae_lambda: float = 0.9
    clip: float = 0.2
    entropy_weight: float = 0.005
    value_weight: float = 0.5
    max_gradient: float = 0.5
    width: int = 64
    options: Mapping[str, Any] = field(default_factory=dict)
    encode: Callable[[Any], Any] = as_they_are


SETTINGS = {
    "CartPole-v1": Settings(),
    PONG: Settings(
        rollout_steps=128,
        updates=600,
        epochs=3,
        learning_rate=1e-3,
        gamma=0.99,
        gae_lambda=0.95,
        entropy_weight=0.001,
        width=128,
        options={"img_height": 42, "img_width": 42, "stack_num": 2},
        encode=movement,
    ),
}


class Experience(NamedTuple):
    """Steps of all environments, (steps, num_envs, ...)."""

    observations: Any
    actions: Any
    log_probs: Any
    values: Any
    rewards: Any
    terminated: Any
    ended: Any
    is_real: Any
    returned: Any


# ----------------------------------------------------------------------------------- the agent --


orthogonal = jax.nn.initializers.orthogonal


def network(
    key: Any, sizes: Sequence[int], last_scale: float, initializer: Any = orthogonal
) -> list[dict[str, Any]]:
    """Returns the weights of a network of linear layers; `initializer(scale)` draws them."""
    scales = [2**0.5] * (len(sizes) - 2) + [last_scale]
    keys = jax.random.split(key, len(scales))
    return [
        {"weights": initializer(scale)(key, pair), "bias": jnp.zeros(pair[1])}
        for key, pair, scale in zip(keys, pairwise(sizes), scales, strict=True)
    ]


def outputs(layers: Sequence[dict[str, Any]], inputs: Any) -> Any:
    """Returns what a network makes of its inputs."""
    for each in layers[:-1]:
        inputs = jnp.tanh(inputs @ each["weights"] + each["bias"])
    return inputs @ layers[-1]["weights"] + layers[-1]["bias"]


def agent(
    key: Any, inputs: int, num_actions: int, width: int, initializer: Any = orthogonal
) -> dict[str, Any]:
    """Returns the weights of a policy and a value function."""
    first, second = jax.random.split(key)
    return {
        "policy": network(first, (inputs, width, width, num_actions), 0.01, initializer),
        "value": network(second, (inputs, width, width, 1), 1.0, initializer),
    }


def evaluate(weights: Any, observations: Any, actions: Any) -> tuple[Any, Any, Any]:
    """Returns log probabilities of actions, entropies and values."""
    logits = jax.nn.log_softmax(outputs(weights["policy"], observations))
    log_probs = jnp.take_along_axis(logits, actions[..., None], -1)[..., 0]
    entropies = -(jnp.exp(logits) * logits).sum(-1)
    return log_probs, entropies, outputs(weights["value"], observations)[..., 0]


# ------------------------------------------------------------------------------------ learning --


def advantages(experience: Experience, last_values: Any, settings: Settings) -> Any:
    """Returns generalised advantages; an episode that ends is not continued by the next one."""

    def back(carry: Any, row: Any) -> Any:
        advantage, next_values = carry
        reward, value, terminated, ended = row
        error = reward + settings.gamma * next_values * ~terminated - value
        advantage = error + settings.gamma * settings.gae_lambda * advantage * ~ended
        return (advantage, value), advantage

    rows = (experience.rewards, experience.values, experience.terminated, experience.ended)
    first = (jnp.zeros_like(last_values), last_values)
    return lax.scan(back, first, rows, reverse=True)[1]


def loss(weights: Any, batch: Any, settings: Settings) -> Any:
    """Returns the mean loss over real steps."""
    experience, advantage, target = batch
    log_probs, entropies, values = evaluate(weights, experience.observations, experience.actions)
    ratio = jnp.exp(log_probs - experience.log_probs)
    clipped = jnp.clip(ratio, 1 - settings.clip, 1 + settings.clip)
    losses = (
        -jnp.minimum(ratio * advantage, clipped * advantage)
        + settings.value_weight * 0.5 * (values - target) ** 2
        - settings.entropy_weight * entropies
    )
    return (losses * experience.is_real).sum() / experience.is_real.sum()


def make_train(
    step: Callable[..., Any], inputs: int, num_actions: int, settings: Settings
) -> Callable[..., Any]:
    """Returns the training as a function of a handle, first observations and a key."""
    steps_an_update = settings.epochs * settings.minibatches
    schedule = optax.linear_schedule(
        settings.learning_rate, 0.0, settings.updates * steps_an_update
    )
    optimizer = optax.chain(
        optax.clip_by_global_norm(settings.max_gradient), optax.adam(schedule, eps=1e-5)
    )

    def act(carry: Any, key: Any) -> Any:
        weights, handle, observations, was_end, returns = carry
        actions = jax.random.categorical(key, outputs(weights["policy"], observations))
        actions = actions.astype(jnp.int32)
        log_probs, _, values = evaluate(weights, observations, actions)
        handle, (following, rewards, terminated, truncated, _) = step(handle, actions)
        ended = terminated | truncated
        returns = returns + rewards
        experience = Experience(
            *(observations, actions, log_probs, values, rewards, terminated, ended, ~was_end),
            returns * ended,
        )
        return (weights, handle, settings.encode(following), ended, returns * ~ended), experience

    def improve(state: Any, key: Any, data: Any) -> Any:
        count = settings.rollout_steps * settings.num_envs
        order = jax.random.permutation(key, count).reshape(settings.minibatches, -1)

        def descend(state: Any, chosen: Any) -> Any:
            weights, optimizer_state = state
            batch = jax.tree.map(lambda array: array[chosen], data)
            gradient = jax.grad(loss)(weights, batch, settings)
            change, optimizer_state = optimizer.update(gradient, optimizer_state)
            return (optax.apply_updates(weights, change), optimizer_state), None

        return lax.scan(descend, state, order)[0]

    def update(carry: Any, key: Any) -> Any:
        weights, optimizer_state, handle, observations, was_end, returns = carry
        first, second = jax.random.split(key)
        (_, handle, observations, was_end, returns), experience = lax.scan(
            act,
            (weights, handle, observations, was_end, returns),
            jax.random.split(first, settings.rollout_steps),
        )
        last = outputs(weights["value"], observations)[..., 0]
        advantage = advantages(experience, last, settings)
        target = advantage + experience.values
        real = experience.is_real
        mean = (advantage * real).sum() / real.sum()
        deviation = jnp.sqrt((jnp.square(advantage - mean) * real).sum() / real.sum())
        advantage = (advantage - mean) / (deviation + 1e-8)
        data = jax.tree.map(
            lambda array: array.reshape(-1, *array.shape[2:]), (experience, advantage, target)
        )
        state = (weights, optimizer_state)
        for each in jax.random.split(second, settings.epochs):
            state = improve(state, each, data)
        sums = experience.returned.sum(), experience.ended.sum()
        return (*state, handle, observations, was_end, returns), sums

    def train(handle: Any, observations: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        weights = agent(first, inputs, num_actions, settings.width)
        was_end = jnp.zeros(settings.num_envs, jnp.bool_)
        returns = jnp.zeros(settings.num_envs)
        observations = settings.encode(observations)
        carry = (weights, optimizer.init(weights), handle, observations, was_end, returns)
        carry, sums = lax.scan(update, carry, jax.random.split(second, settings.updates))
        return carry[0], sums

    return train


def run(library: str, task_id: str, seed: int, settings: Settings) -> dict[str, Any]:
    """Trains once; returns the curve and the seconds that it took."""
    module = importlib.import_module(library)
    env = module.make(
        task_id, env_type="gymnasium", num_envs=settings.num_envs, seed=seed, **settings.options
    )
    observations, _ = env.reset()
    handle, _, _, step = env.xla()
    inputs = settings.encode(jnp.asarray(observations)).shape[1]
    train = jax.jit(make_train(step, inputs, int(env.action_space.n), settings))
    key = jax.random.key(seed)
    start = time.perf_counter()
    program = train.lower(handle, observations, key).compile()
    compiled, cpu = time.perf_counter(), time.process_time()
    weights, sums = jax.block_until_ready(program(handle, jnp.asarray(observations), key))
    seconds, cpu = time.perf_counter() - compiled, time.process_time() - cpu
    env.close()
    facts = machine.facts()
    return {
        "library": library,
        "version": module.__version__,
        "task_id": task_id,
        "seed": seed,
        "steps": settings.num_envs * settings.rollout_steps * settings.updates,
        "curve": mean_returns(*map(np.asarray, sums)),
        "evaluated": round(evaluate_agent(weights, task_id, settings), 2),
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "compile_seconds": round(compiled - start, 3),
        **{name: facts[name] for name in ("cpu", "cores")},
    }


def mean_returns(returned: Any, ended: Any, points: int = 100) -> list[float | None]:
    """Returns mean returns of episodes that ended in each part of a training; None: there are none.

    Args:
        returned, ended: sums of returns, and episodes, of each update.
        points: parts.
    """
    parts = min(points, len(ended))
    sums = [np.array_split(each, parts) for each in (returned, ended)]
    return [
        round(float(own.sum() / count.sum()), 2) if count.sum() else None
        for own, count in zip(*sums, strict=True)
    ]


def evaluate_agent(weights: Any, task_id: str, settings: Settings, episodes: int = 50) -> float:
    """Returns the mean return of the best actions in the first episodes of new environments."""
    import parallel_pool

    envs = parallel_pool.make(
        task_id, env_type="gymnasium", num_envs=episodes, seed=1_000, **settings.options
    )
    observations, _ = envs.reset()
    choose = jax.jit(lambda seen: outputs(weights["policy"], settings.encode(seen)).argmax(-1))
    returns, over = np.zeros(episodes), np.zeros(episodes, np.bool_)
    while not over.all():
        observations, rewards, terminated, truncated, _ = envs.step(
            np.asarray(choose(observations))
        )
        returns += np.where(over, 0, rewards)
        over |= terminated | truncated
    envs.close()
    return float(returns.mean())


def seconds_until(run: dict[str, Any], goal: float) -> float | None:
    """Returns the time of a training until the mean return of a part of it reached the goal.

    The program has no clock inside; each part takes the same time, as it has as many steps.
    """
    reached = (at for at, mean in enumerate(run["curve"], 1) if mean is not None and mean >= goal)
    first = next(reached, None)
    return None if first is None else run["seconds"] * first / len(run["curve"])


def draw(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws the returns of Pong's trainings over their time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for library, name, colour in zip(
        LIBRARIES, ("parallel_pool", "EnvPool"), ("#0b7285", "#e8590c"), strict=True
    ):
        own = [run for run in runs if run["library"] == library]
        took = [found for run in own if (found := seconds_until(run, PONG_GOAL)) is not None]
        assert len(took) == len(own), f"{library}: a training has not reached {PONG_GOAL}"
        label = f"{name} {own[0]['version']}: {np.median(took):.0f} s to a return of {PONG_GOAL:g}"
        for run in own:
            times = np.arange(1, len(run["curve"]) + 1) * run["seconds"] / len(run["curve"])
            axes.plot(times, run["curve"], color=colour, alpha=0.8, linewidth=1.3, label=label)
            label = None
    facts = f"{len(own)} seeds; {own[0]['cpu']}, {own[0]['cores']} cores"
    axes.axhline(PONG_GOAL, color="0.6", linestyle=":", linewidth=1)
    axes.set(
        xlabel="seconds of training",
        ylabel="mean return of the episodes that end",
        title=f"The same agent learns Pong from pixels, in one JAX program ({facts})",
    )
    axes.title.set_fontsize(10)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains and prints what came of it."""
    parser = argparse.ArgumentParser(prog="python -m integration.training.jax_ppo")
    parser.add_argument("task_id", choices=SETTINGS)
    parser.add_argument("--library", choices=LIBRARIES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--updates", type=int, help="instead of the settings' own number")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    settings = SETTINGS[options.task_id]
    if options.updates:
        settings = replace(settings, updates=options.updates)
    runs = json.loads(options.out.read_text()) if options.out.exists() else []
    done = {(run["library"], run["task_id"], run["seed"]) for run in runs}
    for seed in range(1, options.seeds + 1):
        for library in [options.library] if options.library else LIBRARIES:
            if not options.library and (library, options.task_id, seed) in done:
                continue
            runs.append(run(library, options.task_id, seed, settings))
            shown = {name: value for name, value in runs[-1].items() if name != "curve"}
            print(json.dumps(shown), flush=True)
            if not options.library:
                options.out.write_text("[\n" + ",\n".join(map(json.dumps, runs)) + "\n]\n")
    # a training that was cut short reaches no goal
    if options.task_id == PONG and not options.library and not options.updates:
        pong = [run for run in runs if run["task_id"] == PONG]
        draw(pong, options.out.with_name("pong-training.png"))


if __name__ == "__main__":
    main()
