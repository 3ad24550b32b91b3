"""Measures turns of a policy and its environments: `python -m benchmarks.studies.policy_loop`.

A `PolicyLoop` of two chunks plays against a plain loop of one pool, with policies in NumPy, torch
and JAX, for CartPole, Atari and MuJoCo. The network has as many layers as make it take as long as
the environments, where turns can gain most. Two further players say what the loop could reach: the
policy alone, called for both chunks, and the environments alone, both chunks one after another, on
the cores that the policy leaves in the loop. The bar: turns take at most 1.1 times the longer of
the two. The plain loop has all cores for its environments.

Cores that work at once slow each other down, by their clock, caches and memory. So a last player
has a thread for the policy alone and a thread for the environments alone, which do not wait for
each other: no loop can be faster than the longer of these two.

The policy has one core: start it with OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import parallel_pool
from benchmarks.harness import report
from parallel_pool._bench import machine
from parallel_pool._bench.rounds import Sample, Spread, interleave, ratio
from parallel_pool._command import until_interrupted
from parallel_pool._native import ffi, lib
from parallel_pool.turns import PolicyLoop

BAR = 1.1
# calls in a trial that measures a layer, and such trials; the layers of a trial
CALLS, TRIALS, LAYERS = 20, 20, 8
PLAIN, TURNS, POLICY, ENVS = "plain loop", "turns", "policy alone", "environments alone"
BESIDE = "each in a thread"
HEADER = (
    "| environments | policy | layers | plain loop, ms | turns, ms | policy alone |"
    " environments alone | each in a thread | turns / longer | turns / each in a thread |"
    " plain / turns | CPU time, turns / plain |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)
Network = Callable[[Any], Any]
# called with layers and width
MakeNetwork = Callable[[int, int], Network]


class Scene(NamedTuple):
    """Environments, their number, the width of the network, and what makes actions of its results.

    A narrow network makes it possible to balance environments whose steps take 10 ns.
    """

    task_id: str
    num_envs: int
    width: int
    act: Callable[[Any], Any]


def push(rows: Any) -> Any:
    return (rows[:, 0] > 0).astype(np.int64)


def swing(rows: Any) -> Any:
    return np.tanh(rows[:, :6])


SCENES = {
    "cartpole": Scene("CartPole-v1", 16_384, 4, push),
    "atari": Scene("ALE/Pong-v5", 32, 256, push),
    "mujoco": Scene("HalfCheetah-v5", 32, 256, swing),
}


def weights(layers: int, width: int) -> list[Any]:
    """Returns the weights of each layer, float32 (width, width)."""
    rng = np.random.default_rng(0)
    return [rng.normal(0, width**-0.5, (width, width)).astype(np.float32) for _ in range(layers)]


def numpy_network(layers: int, width: int) -> Network:
    """Returns a network of NumPy: float32 (k, width) to the same."""
    own = weights(layers, width)

    def network(rows: Any) -> Any:
        for layer in own:
            rows = np.maximum(rows @ layer, 0)
        return rows

    return network


def torch_network(layers: int, width: int) -> Network:
    """Returns a network of torch that takes and returns arrays."""
    import torch

    torch.set_num_threads(1)
    own = [torch.from_numpy(layer) for layer in weights(layers, width)]

    @torch.inference_mode()
    def network(rows: Any) -> Any:
        found = torch.from_numpy(rows)
        for layer in own:
            found = torch.relu(found @ layer)
        return found.numpy()

    return network


def jax_network(layers: int, width: int) -> Network:
    """Returns a network of JAX that takes arrays."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import jax

    own = jax.numpy.stack(weights(max(1, layers), width))

    @jax.jit
    def network(rows: Any) -> Any:
        return jax.lax.fori_loop(
            0, layers, lambda i, found: jax.numpy.maximum(found @ own[i], 0), rows
        )

    return lambda rows: np.asarray(network(rows))


NETWORKS = {"numpy": numpy_network, "torch": torch_network, "jax": jax_network}


def policy_of(network: Network, scene: Scene) -> Callable[[Any], Any]:
    """Returns a policy that gives the network the first numbers of each observation, and 0 behind
    its end, so that its time does not depend on the size of observations."""

    def policy(observations: Any) -> Any:
        flat = observations.reshape(len(observations), -1)[:, : scene.width]
        rows = np.zeros((len(flat), scene.width), np.float32)
        rows[:, : flat.shape[1]] = flat
        return scene.act(network(rows))

    return policy


def quickest(call: Callable[[], Any]) -> float:
    """Returns the seconds of a call: the lower quartile of trials, as interrupts only add time."""
    call()
    took = []
    for _ in range(TRIALS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        took.append((time.perf_counter() - start) / CALLS)
    return Spread.of(took).low


def balanced_layers(make_network: MakeNetwork, scene: Scene, seconds: float) -> int:
    """Returns the layers with which the policy takes so long for one chunk."""
    observations = np.zeros((scene.num_envs // 2, scene.width), np.float32)
    none, some = (
        quickest(partial(policy_of(make_network(count, scene.width), scene), observations))
        for count in (0, LAYERS)
    )
    return max(1, round((seconds - none) / max(1e-9, (some - none) / LAYERS)))


class LoopPlayer:
    """Plays a `PolicyLoop`."""

    children: Sequence[int] = ()

    def __init__(self, scene: Scene, policy: Callable[[Any], Any], depth: int) -> None:
        def make(rows: range) -> Any:
            return parallel_pool.make_vec(scene.task_id, len(rows))

        self._loop = PolicyLoop(make, scene.num_envs, policy, depth=depth)
        self._loop.reset(seed=0)

    def play(self, batches: int) -> int:
        for _ in self._loop.play(batches):
            pass
        return batches * self._loop.num_envs

    def close(self) -> None:
        self._loop.close()


class PolicyPlayer:
    """Calls the policy for both chunks, with the observations of their first step."""

    children: Sequence[int] = ()

    def __init__(self, scene: Scene, policy: Callable[[Any], Any]) -> None:
        with closing(parallel_pool.make_vec(scene.task_id, scene.num_envs // 2)) as envs:
            self._observations, _ = envs.reset(seed=0)
        self._policy = policy

    def play(self, batches: int) -> int:
        for _ in range(2 * batches):
            self._policy(self._observations)
        return 2 * batches * len(self._observations)

    def close(self) -> None:
        """Nothing is open."""


class EnvsPlayer:
    """Steps both chunks, one after the other, on the cores that the policy leaves."""

    children: Sequence[int] = ()

    def __init__(self, scene: Scene) -> None:
        threads = max(1, lib.pp_usable_cores(ffi.NULL) - 1)
        size = scene.num_envs // 2
        self._chunks = [
            parallel_pool.make_vec(scene.task_id, size, num_threads=threads) for _ in range(2)
        ]
        for chunk in self._chunks:
            chunk.reset(seed=0)
        self._actions = scene.act(np.ones((size, scene.width), np.float32))

    def play(self, batches: int) -> int:
        for _ in range(batches):
            for chunk in self._chunks:
                chunk.step(self._actions)
        return batches * 2 * len(self._actions)

    def close(self) -> None:
        for chunk in self._chunks:
            chunk.close()


class BesidePlayer:
    """Calls the policy and steps the environments, in a thread each, without waiting."""

    children: Sequence[int] = ()

    def __init__(self, scene: Scene, policy: Callable[[Any], Any]) -> None:
        self._policy, self._envs = PolicyPlayer(scene, policy), EnvsPlayer(scene)

    def play(self, batches: int) -> int:
        thread = threading.Thread(target=self._envs.play, args=(batches,))
        thread.start()
        steps = self._policy.play(batches)
        thread.join()
        return steps

    def close(self) -> None:
        self._envs.close()


def race(
    scene: Scene, make_network: MakeNetwork, rounds: int, seconds: float
) -> tuple[int, dict[str, list[Sample]]]:
    """Returns the layers of the network, and the samples of each player."""
    with closing(EnvsPlayer(scene)) as envs:
        chunk = quickest(partial(envs.play, 1)) / 2
    layers = balanced_layers(make_network, scene, chunk)
    policy = policy_of(make_network(layers, scene.width), scene)
    makers: Mapping[str, Callable[[], Any]] = {
        PLAIN: partial(LoopPlayer, scene, policy, 1),
        TURNS: partial(LoopPlayer, scene, policy, 2),
        POLICY: partial(PolicyPlayer, scene, policy),
        ENVS: partial(EnvsPlayer, scene),
        BESIDE: partial(BesidePlayer, scene, policy),
    }
    with ExitStack() as stack:
        players = {name: stack.enter_context(closing(make())) for name, make in makers.items()}
        return layers, interleave(players, rounds, seconds, turns=3)


def row_of(
    scene: Scene, name: str, layers: int, samples: Mapping[str, list[Sample]]
) -> tuple[str, float]:
    """Returns a row of the table, and how long turns take of the longer of both."""
    took = {
        player: [scene.num_envs * 1e3 / each.rate for each in own]
        for player, own in samples.items()
    }
    longer = [max(pair) for pair in zip(took[POLICY], took[ENVS], strict=True)]
    share = Spread.of(own / most for own, most in zip(took[TURNS], longer, strict=True))
    beside = Spread.of(own / most for own, most in zip(took[TURNS], took[BESIDE], strict=True))
    gain = Spread.of(own / most for own, most in zip(took[PLAIN], took[TURNS], strict=True))
    times = " | ".join(
        f"{Spread.of(took[player]).median:.3g}" for player in (PLAIN, TURNS, POLICY, ENVS, BESIDE)
    )
    cpu = ratio(samples[PLAIN], samples[TURNS], cpu=True)
    return (
        f"| {scene.num_envs} {scene.task_id} | {name} | {layers} | {times} |"
        f" {report.share(share)} | {report.share(beside)} | {report.share(gain)} |"
        f" {report.share(cpu)} |",
        share.median,
    )


def verdict(shares: Sequence[float]) -> str:
    """Returns a sentence about the bar."""
    kept = sum(share <= BAR for share in shares)
    return (
        f"Turns take at most {BAR} times the longer of policy and environments in {kept} of"
        f" {len(shares)} rows (at most {max(shares):.2f})."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.policy_loop", description=__doc__
    )
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--policies", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--rounds", type=int, default=15, help="of each player (15)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each in a round (0.3)")
    parser.add_argument("--out", type=Path, help="file for the table")
    options = parser.parse_args(arguments)
    if os.environ.get("OMP_NUM_THREADS") != "1":
        parser.error("the policy has one core: start Python with OMP_NUM_THREADS=1")
    lines = [f"{machine.summary()}; medians of {options.rounds} rounds, quartiles in brackets\n"]
    lines.append(HEADER)
    print("\n".join(lines), flush=True)
    shares = []
    for key, name in itertools.product(options.scenes, options.policies):
        scene = SCENES[key]
        layers, samples = race(scene, NETWORKS[name], options.rounds, options.seconds)
        row, share = row_of(scene, name, layers, samples)
        print(row, flush=True)
        lines.append(row)
        shares.append(share)
    lines += ["", verdict(shares)]
    print("\n".join(lines[-2:]))
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
