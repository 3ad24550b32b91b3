"""Compares our Atari games, or their model, with the installed EnvPool wheel, bit by bit.

    python -m integration.compare.envpool_atari
    python -m integration.compare.envpool_atari --subject parallel_pool --games Pong Breakout
    python -m integration.compare.envpool_atari --sets default life --steps 20000
    python -m integration.compare.envpool_atari --subject parallel_pool --games all --sets default

The subject is the model in tests/support/reference/envpool_atari.py, or parallel_pool. Each run
plays random actions on two environments, with two forced resets (one partial) in between. Every
step compares observation, reward, terminated, truncated, the infos lives, reward, terminated, ram
and elapsed_step, and, in the sets that use the dm API, step_type and discount. A run stops at its
first difference. The exit status is 1 if any run differs.

The comparison allows two intended differences of parallel_pool: on the step of the time limit it
also reports the end of the game, and its discount stays 1 if only the time limit ended the episode.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import envpool
import numpy as np
from ale_py import roms
from numpy.typing import NDArray

from tests.support.reference.envpool_atari import OPTION_SETS, EnvPoolAtari, Output

NUM_ENVS = 2
Array = NDArray[Any]
Rows = dict[str, Array]

# These sets run through the dm API, which returns step_type and discount; the others through
# Gymnasium's, which returns terminated and truncated.
DM_SETS = {"dm", "zero life", "zero"}
SETS = {**OPTION_SETS, "dm": {}}


class Participant(Protocol):
    """A pool of NUM_ENVS environments."""

    def reset(self, env_ids: list[int]) -> Rows:
        """Resets environments; returns one row for each id."""

    def step(self, actions: Array) -> Rows: ...


class EnvPool:
    """EnvPool's wheel."""

    def __init__(self, task: str, seed: int, api: str, options: Mapping[str, Any]) -> None:
        self.dm = api == "dm"
        self.pool = envpool.make(task, env_type=api, num_envs=NUM_ENVS, seed=seed, **options)
        space = self.pool.spec.gymnasium_action_space
        self.num_actions = int(space.n)

    def reset(self, env_ids: list[int]) -> Rows:
        ids = np.array(env_ids, np.int32)
        if self.dm:
            return self._time_step(self.pool.reset(ids))
        observation, info = self.pool.reset(ids)
        still = np.zeros(len(ids), bool)
        return self._rows(observation, np.zeros(len(ids)), still, still, info)

    def step(self, actions: Array) -> Rows:
        if self.dm:
            return self._time_step(self.pool.step(actions))
        return self._rows(*self.pool.step(actions))

    @staticmethod
    def _rows(observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any) -> Rows:
        return {
            "observation": observation,
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
            "lives": info["lives"],
            "info reward": info["reward"],
            "info terminated": info["terminated"],
            "ram": info["ram"],
            "elapsed_step": info["elapsed_step"],
        }

    @staticmethod
    def _time_step(step: Any) -> Rows:
        return {
            "observation": step.observation.obs,
            "reward": step.reward,
            "step_type": step.step_type,
            "discount": step.discount,
            "lives": step.observation.lives,
            "info reward": step.observation.reward,
            "info terminated": step.observation.terminated,
            "ram": step.observation.ram,
        }


class Model:
    """The model in tests/support/reference/envpool_atari.py."""

    def __init__(self, task: str, seed: int, options: Mapping[str, Any]) -> None:
        rom = rom_name(task)
        self.envs = [EnvPoolAtari(rom, seed + i, **options) for i in range(NUM_ENVS)]

    def reset(self, env_ids: list[int]) -> Rows:
        return self._rows([self.envs[i].reset() for i in env_ids])

    def step(self, actions: Array) -> Rows:
        return self._rows([env.step(int(a)) for env, a in zip(self.envs, actions, strict=True)])

    @staticmethod
    def _rows(outputs: list[Output]) -> Rows:
        return {
            "observation": np.stack([o.observation for o in outputs]),
            "reward": np.array([o.reward for o in outputs]),
            "terminated": np.array([o.terminated for o in outputs]),
            "truncated": np.array([o.truncated for o in outputs]),
            "step_type": np.array([o.step_type for o in outputs]),
            "discount": np.array([o.discount for o in outputs]),
            "lives": np.array([o.lives for o in outputs]),
            "info reward": np.array([o.raw_reward for o in outputs]),
            "info terminated": np.array([o.game_over for o in outputs]),
            "ram": np.stack([o.ram for o in outputs]),
            "elapsed_step": np.array([o.elapsed for o in outputs]),
        }


class ParallelPool:
    """parallel_pool through its EnvPool-style make."""

    def __init__(self, task: str, seed: int, api: str, options: Mapping[str, Any]) -> None:
        import parallel_pool

        self._inner = EnvPool.__new__(EnvPool)
        self._inner.dm = api == "dm"
        self._inner.pool = parallel_pool.make(
            task, env_type=api, num_envs=NUM_ENVS, seed=seed, **options
        )

    def reset(self, env_ids: list[int]) -> Rows:
        return self._inner.reset(env_ids)

    def step(self, actions: Array) -> Rows:
        return as_envpool(self._inner.step(actions))


def make_subject(
    name: str, task: str, seed: int, api: str, options: Mapping[str, Any]
) -> Participant:
    """Makes the subject.

    Raises:
        NotImplementedError: parallel_pool does not support this game.
    """
    if name == "model":
        return Model(task, seed, options)
    return ParallelPool(task, seed, api, options)


def as_envpool(rows: Rows) -> Rows:
    """Undoes parallel_pool's two intended differences; any other remains visible."""
    if "truncated" in rows:
        return {**rows, "terminated": rows["terminated"] & ~rows["truncated"]}
    discount = np.where(rows["step_type"] == 2, 0, rows["discount"])
    return {**rows, "discount": discount.astype(rows["discount"].dtype)}


def rom_name(task: str) -> str:
    """Returns ale-py's name of a task's game: space_invaders for "SpaceInvaders-v5"."""
    game = task.removesuffix("-v5")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", game).lower()
    return {"tic_tac_toe3d": "tic_tac_toe_3d"}.get(words, words)


def every_game() -> list[str]:
    """Returns EnvPool's names of all games whose ROM ale-py contains."""
    known = {path.stem for path in Path(str(roms.get_rom_path("pong"))).parent.glob("*.bin")}
    tasks = (task for task in envpool.list_all_envs() if task.endswith("-v5"))
    return [task.removesuffix("-v5") for task in tasks if rom_name(task) in known]


@dataclass
class Run:
    """The result of one comparison."""

    steps: int = 0
    dones: int = 0
    truncations: int = 0
    lives_lost: int = 0
    difference: str = ""


def first_difference(expected: Rows, got: Rows) -> str:
    for name, wanted in expected.items():
        seen = got[name]
        if wanted.shape != seen.shape:
            return f"{name}: shape {seen.shape}, EnvPool has {wanted.shape}"
        if not np.array_equal(wanted, seen):
            where = np.argwhere(wanted != seen)
            at = tuple(int(i) for i in where[0])
            return f"{name}{list(at)}: {seen[at]}, EnvPool has {wanted[at]} ({len(where)} differ)"
    return ""


def compare(rival: EnvPool, subject: Participant, steps: int, actions_seed: int) -> Run:
    """Plays both until they differ or all steps are done."""
    rng = np.random.default_rng(actions_seed)
    run = Run()
    forced = {0: [0, 1], steps * 2 // 5: [1], steps * 7 // 10: [0, 1]}
    lives = np.zeros(NUM_ENVS)
    for t in range(steps):
        if t in forced:
            run.difference = first_difference(rival.reset(forced[t]), subject.reset(forced[t]))
            if run.difference:
                run.difference = f"reset before step {t}: {run.difference}"
                return run
        actions = rng.integers(0, rival.num_actions, NUM_ENVS)
        expected, got = rival.step(actions), subject.step(actions)
        run.steps = t + 1
        done = expected["step_type"] == 2 if rival.dm else np.zeros(NUM_ENVS, bool)
        if not rival.dm:
            done = expected["terminated"] | expected["truncated"]
            run.truncations += int(expected["truncated"].sum())
        run.dones += int(done.sum())
        run.lives_lost += int((expected["lives"] < lives).sum())
        lives = expected["lives"].copy()
        run.difference = first_difference(expected, got)
        if run.difference:
            run.difference = f"step {t}: {run.difference}"
            return run
    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--subject", choices=["model", "parallel_pool"], default="model")
    parser.add_argument("--games", nargs="+", default=["Pong", "Breakout"], help="or: all")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seeds", nargs="+", type=int, default=[42])
    parser.add_argument(
        "--subject-seed-offset", type=int, default=0, help="not 0: the runs must differ (a control)"
    )
    args = parser.parse_args()
    print(f"envpool {envpool.__version__} against {args.subject}")
    print(f"{'game':16} {'options':16} {'seed':>6} {'steps':>6} {'dones':>6} {'trunc':>6}", end="")
    print(f" {'lives':>6} {'s':>6}  result")
    bad = 0
    for game in every_game() if args.games == ["all"] else args.games:
        for name in args.sets:
            options, api = SETS[name], "dm" if name in DM_SETS else "gymnasium"
            for seed in args.seeds:
                start = time.perf_counter()
                task, shifted = f"{game}-v5", seed + args.subject_seed_offset
                try:
                    rival = EnvPool(task, seed, api, options)
                except RuntimeError as error:
                    print(f"{game:16} {name:16} {seed:6}  not compared: EnvPool says {error}")
                    continue
                try:
                    subject = make_subject(args.subject, task, shifted, api, options)
                except NotImplementedError as error:
                    print(f"{game:16} {name:16} {seed:6}  not compared: {error}")
                    continue
                run = compare(rival, subject, args.steps, actions_seed=seed)
                bad += bool(run.difference)
                print(
                    f"{game:16} {name:16} {seed:6} {run.steps:6} {run.dones:6} {run.truncations:6}"
                    f" {run.lives_lost:6} {time.perf_counter() - start:6.1f}"
                    f"  {run.difference or 'same'}",
                    flush=True,
                )
    print("all the same" if bad == 0 else f"{bad} runs differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
