"""Races games of several agents: `python -m benchmarks.studies.agents [SCENE ...]`.

Each scene has players that take turns in one process, as those of `parallel_pool._bench.race` do.
The table shows steps of whole games per second, and how many times faster
`PoolParallelEnv.step_arrays` is: medians of the rounds, quartiles in brackets. SuperSuit plays if
it is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from benchmarks.harness.scene_race import SceneRace
from parallel_pool import PoolParallelEnv
from parallel_pool._bench import tree
from parallel_pool._bench.python_players import started_since
from parallel_pool._bench.rounds import Player
from parallel_pool._command import until_interrupted

OURS = "PoolParallelEnv.step_arrays"
DICTS = "PoolParallelEnv.step"
LOOP = "a Python loop"
LOOPS = "a Python loop on each core"
SUPERSUIT = "SuperSuit, 2 workers"
WORLDS = 256


class Stacked:
    """`PoolParallelEnv` with stacked arrays."""

    children: Sequence[int] = ()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        before = tree.descendants(os.getpid())
        self.envs = PoolParallelEnv(*arguments, **options)
        self.children = started_since(before)
        n = self.envs.num_envs
        self.envs.reset_arrays(seed=0)
        self.actions = [
            np.ones((n, len(group.agents), *(group.action_space.shape or ())), int)
            for group in self.envs.groups
        ]

    def play(self, batches: int) -> int:
        for _ in range(batches):
            self.envs.step_arrays(self.actions)
        return batches * self.envs.num_envs

    def close(self) -> None:
        self.envs.close()


class Dicts(Stacked):
    """`PoolParallelEnv` with PettingZoo's dicts."""

    def play(self, batches: int) -> int:
        actions = {agent: np.ones(self.envs.num_envs, int) for agent in self.envs.possible_agents}
        for _ in range(batches):
            self.envs.step(actions)
        return batches * self.envs.num_envs


class Loop:
    """One of PettingZoo's games in a loop, which costs the same as many of them."""

    children: Sequence[int] = ()

    def __init__(self, make: Callable[[], Any]) -> None:
        self.env = make()
        self.env.reset(seed=0)

    def play(self, batches: int) -> int:
        env = self.env
        for _ in range(batches):
            if not env.agents:
                env.reset()
            env.step(dict.fromkeys(env.agents, 1))
        return batches

    def close(self) -> None:
        self.env.close()


class LoopOnEachCore:
    """A loop in each of two processes: what two cores can do at best."""

    def __init__(self, make: Callable[[], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for _ in range(2):
            here, there = context.Pipe()
            process = context.Process(target=serve_loop, args=(make, there), daemon=True)
            process.start()
            self.pipes.append(here)
            self.processes.append(process)
        self.children = [process.pid for process in self.processes]

    def play(self, batches: int) -> int:
        for pipe in self.pipes:
            pipe.send(batches)
        return sum(pipe.recv() for pipe in self.pipes)

    def close(self) -> None:
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            pipe.send(None)
            process.join()


def serve_loop(make: Callable[[], Any], pipe: Any) -> None:
    """Plays a game in a loop, as many steps as are asked for."""
    loop = Loop(make)
    while (batches := pipe.recv()) is not None:
        pipe.send(loop.play(batches))


class SuperSuit:
    """Games in SuperSuit's vector environment, with two workers."""

    children: Sequence[int] = ()

    def __init__(self, make: Callable[[], Any]) -> None:
        import supersuit

        single = supersuit.pettingzoo_env_to_vec_env_v1(make())
        self.envs = supersuit.concat_vec_envs_v1(single, WORLDS, num_cpus=2, base_class="gymnasium")
        self.rows, self.agents = self.envs.num_envs, single.num_envs
        self.envs.reset(seed=0)

    def play(self, batches: int) -> int:
        actions = np.ones(self.rows, int)
        for _ in range(batches):
            self.envs.step(actions)
        return batches * self.rows // self.agents

    def close(self) -> None:
        self.envs.close()


class Crowd(ParallelEnv[str, Any, Any]):
    """64 agents of one space; a step costs a few microseconds for each, as in small games."""

    def __init__(self) -> None:
        self.metadata = {"name": "crowd_v0"}
        self.possible_agents = [f"agent_{i}" for i in range(64)]
        self.agents = []
        self.seen = spaces.Box(-1, 1, (16,), np.float32)
        self.acts = spaces.Discrete(5)
        self.moves = np.linspace(-1, 1, 5 * 16, dtype=np.float32).reshape(5, 16)

    def observation_space(self, agent: str) -> Any:
        return self.seen

    def action_space(self, agent: str) -> Any:
        return self.acts

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        self.agents, self.steps = self.possible_agents[:], 0
        self.at = {agent: np.zeros(16, np.float32) for agent in self.agents}
        return dict(self.at), {agent: {} for agent in self.agents}

    def step(self, actions: Mapping[str, Any]) -> Any:
        self.steps += 1
        ends = self.steps == 100
        agents = self.agents
        moved = {agent: self.at[agent] + self.moves[actions[agent]] for agent in agents}
        seen = {agent: np.clip(at, -1, 1) for agent, at in moved.items()}
        self.at.update(seen)
        rewards = {agent: float(actions[agent]) for agent in agents}
        if ends:
            self.agents = []
        over = dict.fromkeys(agents, ends)
        return seen, rewards, dict.fromkeys(agents, False), over, {agent: {} for agent in agents}


def particles(name: str, shares_space: bool) -> Mapping[str, Callable[[], Player]]:
    make = importlib.import_module(f"mpe2.{name}").parallel_env
    players: dict[str, Callable[[], Player]] = {
        OURS: partial(Stacked, f"mpe/{name}", WORLDS, num_threads=2),
        DICTS: partial(Dicts, f"mpe/{name}", WORLDS, num_threads=2),
        LOOP: partial(Loop, make),
    }
    if shares_space and importlib.util.find_spec("supersuit"):
        players[SUPERSUIT] = partial(SuperSuit, make)
    return players


def pong() -> Mapping[str, Callable[[], Player]]:
    from parallel_pool._prove_atari.players import reference

    kind = {"obs_type": "grayscale_image"}
    return {
        OURS: partial(Stacked, "atari/pong_v3", 32, num_threads=2, **kind),
        LOOP: partial(Loop, partial(reference, "pong_v3", **kind)),
    }


def crowd() -> Mapping[str, Callable[[], Player]]:
    return {
        OURS: partial(Stacked, [Crowd] * 32, num_workers=2),
        LOOP: partial(Loop, Crowd),
        LOOPS: partial(LoopOnEachCore, Crowd),
    }


SCENES: Mapping[str, Callable[[], Mapping[str, Callable[[], Player]]]] = {
    "simple_spread, 256 worlds, 2 threads": partial(particles, "simple_spread_v3", True),
    "simple_tag, 256 worlds, 2 threads": partial(particles, "simple_tag_v3", False),
    "two-player Pong, 32 games, 2 threads": pong,
    "64 agents in Python, 32 games, 2 workers": crowd,
}


RACE = SceneRace(
    "benchmarks.studies.agents",
    __doc__,
    SCENES,
    OURS,
    "steps of games/s",
    "stacked arrays are faster",
    digits=2,
)
main = RACE.main

if __name__ == "__main__":
    sys.exit(until_interrupted(main))
