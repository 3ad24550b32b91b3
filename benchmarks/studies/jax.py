"""Measures environments in compiled programs: `python -m benchmarks.studies.jax [SCENE ...]`.

A loop of steps with a small policy, each written as a JAX user would: one program over our
functions; one over `make_gymnax`, whose states travel through the program; one over `io_callback`,
which calls Python at each step; a Python loop with a jitted policy; and one program over EnvPool's
functions, and over gymnax's own environment, if these are installed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback

from benchmarks.harness import report
from parallel_pool._bench import machine
from parallel_pool._bench.rounds import Player, Spread, interleave, ratio
from parallel_pool._command import until_interrupted
from parallel_pool._engine.pool import Pool
from parallel_pool.compat.jax import make_gymnax, xla

OURS, STATES, CALLBACK, LOOP, ENVPOOL, GYMNAX = (
    *("one program, parallel_pool", "one program, make_gymnax", "one program, io_callback"),
    *("Python loop, jitted policy", "one program, EnvPool's xla()", "one program, gymnax"),
)


@dataclass(frozen=True)
class Scene:
    """What is played.

    Attributes:
        task_id: of ours and of EnvPool's environments.
        count: environments.
        policy: of observations; returns actions.
    """

    task_id: str
    count: int
    policy: Callable[[Any], Any]


def balance(observations: Any) -> Any:
    """A policy for CartPole."""
    return (observations[:, 2] + observations[:, 3] > 0).astype(np.int32)


def look(observations: Any) -> Any:
    """A policy for pictures; it reads one pixel of each frame."""
    return observations[:, :, 42, 42].astype(np.int32).sum(axis=1) % 6


SCENES: Mapping[str, Scene] = {
    "cartpole": Scene("CartPole-v1", 64, balance),
    "pong": Scene("Pong-v5", 32, look),
}


class Program:
    """A program that steps `batches` times; it is compiled once."""

    children: Sequence[int] = ()

    def __init__(self, step: Callable[..., Any], carry: Any, count: int) -> None:
        """
        Args:
            step: of a carry; returns the next, whose last part is a sum of rewards.
            carry: the first.
            count: environments.
        """
        self._run = jax.jit(lambda carry, n: lax.fori_loop(0, n, lambda _, at: step(at), carry))
        self.carry, self._count = carry, count

    def play(self, batches: int) -> int:
        self.carry = jax.block_until_ready(self._run(self.carry, batches))
        return batches * self._count

    def close(self) -> None:
        """Leaves the environments to who made them."""


def ours(scene: Scene) -> Player:
    pool = Pool(scene.task_id, scene.count, seed=0)
    first = pool.reset()
    functions = xla(pool)

    def step(carry: Any) -> Any:
        handle, observations, total = carry
        handle, batch = functions.step(handle, scene.policy(observations))
        return handle, batch.obs, total + batch.reward.sum()

    return _closing(pool, Program(step, (functions.handle, first.obs, 0.0), scene.count))


def by_states(scene: Scene) -> Player:
    env, params = make_gymnax(scene.task_id, num_envs=scene.count)
    return _closing(env, _of_gymnax(scene, env, params))


def gymnaxs(scene: Scene) -> Player:
    import gymnax

    return _of_gymnax(scene, *gymnax.make(scene.task_id))


def _of_gymnax(scene: Scene, env: Any, params: Any) -> Program:
    """Returns the program of an environment in gymnax's form."""
    keys = jax.random.split(jax.random.PRNGKey(0), scene.count)
    take = jax.vmap(env.step, in_axes=(0, 0, 0, None))

    def step(carry: Any) -> Any:
        state, observations, total = carry
        # gymnax 1.0 returns one value more
        observations, state, rewards, *_ = take(keys, state, scene.policy(observations), params)
        return state, observations, total + rewards.sum()

    first, state = jax.jit(jax.vmap(env.reset, in_axes=(0, None)))(keys, params)
    return Program(step, (state, first, 0.0), scene.count)


def by_callback(scene: Scene) -> Player:
    pool = Pool(scene.task_id, scene.count, seed=0)
    first = pool.reset()
    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in (first.obs, first.reward)]

    def call(actions: Any) -> Any:
        batch = pool.step(np.asarray(actions))
        return batch.obs, batch.reward

    def step(carry: Any) -> Any:
        observations, total = carry
        actions = scene.policy(observations)
        observations, rewards = io_callback(call, shapes, actions, ordered=True)
        return observations, total + rewards.sum()

    return _closing(pool, Program(step, (jnp.asarray(first.obs), 0.0), scene.count))


class Loop:
    """The same steps in a Python loop."""

    children: Sequence[int] = ()

    def __init__(self, scene: Scene) -> None:
        self._pool = Pool(scene.task_id, scene.count, seed=0)
        self.observations = self._pool.reset().obs
        self._policy = jax.jit(scene.policy)
        self.total = 0.0

    def play(self, batches: int) -> int:
        for _ in range(batches):
            batch = self._pool.step(np.asarray(self._policy(self.observations)))
            self.observations = batch.obs
            self.total += float(batch.reward.sum())
        return batches * self._pool.num_envs

    def close(self) -> None:
        self._pool.close()


def envpools(scene: Scene) -> Player:
    import envpool

    env = envpool.make(scene.task_id, env_type="gymnasium", num_envs=scene.count, seed=0)
    first, _ = env.reset()
    handle, _, _, xla_step = env.xla()

    def step(carry: Any) -> Any:
        handle, observations, total = carry
        handle, (observations, rewards, *_) = xla_step(handle, scene.policy(observations))
        return handle, observations, total + rewards.sum()

    return _closing(env, Program(step, (handle, jnp.asarray(first), 0.0), scene.count))


def _closing(env: Any, program: Program) -> Player:
    """Returns a program whose end closes its environments."""
    program.close = env.close  # type: ignore[method-assign]
    return program


def players(scene: Scene) -> dict[str, Callable[[], Player]]:
    """Returns what makes each player."""
    made: dict[str, Callable[[], Player]] = {
        OURS: partial(ours, scene),
        STATES: partial(by_states, scene),
        CALLBACK: partial(by_callback, scene),
        LOOP: partial(Loop, scene),
    }
    if find_spec("envpool") is not None:
        made[ENVPOOL] = partial(envpools, scene)
    if find_spec("gymnax") is not None and scene.task_id == "CartPole-v1":
        made[GYMNAX] = partial(gymnaxs, scene)
    return made


def race(name: str, rounds: int, seconds: float) -> list[str]:
    """Returns the rows of a scene."""
    scene = SCENES[name]
    with ExitStack() as stack:
        made = {who: stack.enter_context(closing(make())) for who, make in players(scene).items()}
        # compiles
        for player in made.values():
            player.play(1)
        samples = interleave(made, rounds, seconds, turns=2)
    lines = []
    for who, own in samples.items():
        microseconds = Spread.of(scene.count * 1e6 / each.rate for each in own)
        against = ratio(samples[OURS], own)
        faster = report.share(against)
        lines.append(
            f"| {scene.task_id}, {scene.count} | {who} | {microseconds.median:,.1f}"
            f" ({microseconds.low:,.1f}-{microseconds.high:,.1f}) |"
            f" {'' if who == OURS else faster} |"
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.jax", description=__doc__)
    parser.add_argument("scenes", nargs="*", choices=[[], *SCENES], help="all, if none is named")
    parser.add_argument("--rounds", type=int, default=9, help="(9)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each player in a round (1)")
    parser.add_argument("--out", type=Path, help="file for the table")
    options = parser.parse_args(arguments)
    lines = [
        f"{machine.summary()}, JAX"
        f" {jax.__version__}; medians and quartiles of {options.rounds} rounds\n",
        "| environments | by | us for a step of all | parallel_pool's program is faster by |",
        "| --- | --- | ---: | ---: |",
    ]
    for name in options.scenes or SCENES:
        lines += race(name, options.rounds, options.seconds)
    print("\n".join(lines))
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
