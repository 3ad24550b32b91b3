"""Measures Python environments beside a policy: `python -m benchmarks.studies.with_policy`.

A loop of steps with a policy in torch between them, for each environment, number of environments,
time of the policy and number of torch's threads. `PoolVectorEnv` with worker processes, and without
(num_workers=0), plays against Gymnasium's `SyncVectorEnv`. A second `SyncVectorEnv` shows what the
table can resolve: its ratio to the first one should be 1. The whole grid takes about 25 minutes,
and its table is written into the results of this machine. With `--progress FILE --limit SECONDS` it
is played in parts: a run starts no scene after so many seconds, and the next one goes on. `--infos`
measures what infos cost instead.

torch's threads spin while they wait, unless OMP_WAIT_POLICY=PASSIVE is in the environment when the
program begins. The grid with that has a table of its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import torch
from gymnasium.vector import SyncVectorEnv

from parallel_pool import PoolVectorEnv
from parallel_pool._bench import machine, tree
from parallel_pool._bench.python_players import started_since
from parallel_pool._bench.rounds import Sample, Spread, batches_in, ratio, timed
from parallel_pool._command import until_interrupted

ENV_IDS = ("CartPole-v1", "Hopper-v5", "LunarLander-v3")
COUNTS = (2, 4, 8, 16, 32, 64)
POLICIES = (0.3, 1.0, 5.0)
THREADS = (1, 2)
# steps of a player before its turn: workers that have slept for long need some to wake
WARM_UP = 3
# products in a trial that measures their time, and such trials
TRIAL, TRIALS = 20, 100
OURS, HERE = "PoolVectorEnv", "PoolVectorEnv, no workers"
SYNC, CONTROL = "SyncVectorEnv", "SyncVectorEnv again"
# the infos' table
INFOS_ENV, INFOS_COUNT = "Hopper-v5", 4
INFOS_POLICIES = (0.0, *POLICIES)
STRIPPED = ", infos stripped"
# how torch's threads wait; "": they spin
OMP_WAIT_POLICY = os.environ.get("OMP_WAIT_POLICY", "").lower()
# the file of the whole grid, in the folder of this machine's results
OUT = f"with-policy{OMP_WAIT_POLICY and '-'}{OMP_WAIT_POLICY}.md"

HEADER = (
    "| environments | policy | torch's threads | by | us for a step of all, policy included |"
    " us in `step` | CPU us | times SyncVectorEnv |\n"
    "| --- | --- | --- | --- | ---: | ---: | ---: | ---: |"
)


class Scene(NamedTuple):
    """One line of the grid; the policy's time is in milliseconds, 0 for no policy."""

    task_id: str
    count: int
    policy: float
    threads: int


class Policy:
    """Products of matrices that take about the wanted time."""

    # a hidden layer for 64 rows
    ROWS, WIDTH = 64, 256

    def __init__(self, milliseconds: float, clock: Callable[[], float] = time.perf_counter) -> None:
        """Measures how many products it takes, with as many threads as torch has now."""
        self._rows = torch.ones(self.ROWS, self.WIDTH)
        self._weights = torch.full((self.WIDTH, self.WIDTH), 1 / self.WIDTH)
        self.products = TRIAL
        took = []
        for _ in range(TRIALS):
            start = clock()
            self()
            took.append(clock() - start)
        # the first quarter of them, as interrupts only add time
        per_product = Spread.of(took).low / TRIAL
        self.products = round(milliseconds / 1e3 / per_product)

    def __call__(self) -> None:
        rows = self._rows
        for _ in range(self.products):
            rows = rows @ self._weights


class StepLoop:
    """Steps a vector environment after each call of a policy.

    Attributes:
        step_seconds: of each step so far, without the policy.
    """

    def __init__(self, make: Callable[[], Any], policy: Callable[[], None]) -> None:
        before = tree.descendants(os.getpid())
        self.env, self._policy = make(), policy
        self.children = started_since(before)
        self.step_seconds: list[float] = []
        self.env.reset(seed=0)
        self.env.action_space.seed(0)
        self.actions = [self.env.action_space.sample() for _ in range(128)]

    def play(self, batches: int, *, counts: bool = True) -> int:
        """Steps; `counts`: the steps are added to `step_seconds`."""
        clock, step, policy, spent = time.perf_counter, self.env.step, self._policy, []
        for i in range(batches):
            policy()
            start = clock()
            step(self.actions[i % len(self.actions)])
            spent.append(clock() - start)
        if counts:
            self.step_seconds += spent
        return batches * self.env.num_envs

    def close(self) -> None:
        self.env.close()


class StripInfos(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Drops all infos."""

    def reset(self, **arguments: Any) -> Any:
        return super().reset(**arguments)[0], {}

    def step(self, action: Any) -> Any:
        *result, _ = super().step(action)
        return *result, {}


def make_env(task_id: str, strips: bool = False) -> Any:
    """Makes one environment, without infos if asked for."""
    env = gymnasium.make(task_id)
    return StripInfos(env) if strips else env


def functions(task_id: str, count: int, strips: bool = False) -> list[Callable[[], Any]]:
    """Returns the functions that make the environments."""
    return [partial(make_env, task_id, strips)] * count


def race(
    makers: Mapping[str, Callable[[], Any]], scene: Scene, rounds: int, seconds: float
) -> tuple[dict[str, list[Sample]], dict[str, Spread]]:
    """Returns the samples of each player, and the microseconds in `step` of each."""
    before = torch.get_num_threads()
    torch.set_num_threads(scene.threads)
    try:
        policy = Policy(scene.policy)
        with ExitStack() as stack:
            players = {}
            for name, make in makers.items():
                players[name] = stack.enter_context(closing(StepLoop(make, policy)))
                players[name].play(8)
            samples = take_turns(players, rounds, seconds)
            steps = {
                name: Spread.of(1e6 * each for each in player.step_seconds)
                for name, player in players.items()
            }
    finally:
        torch.set_num_threads(before)
    return samples, steps


def take_turns(
    players: Mapping[str, StepLoop], rounds: int, seconds: float
) -> dict[str, list[Sample]]:
    """Lets each player play in each round, the first one rotating; returns their samples.

    While the others play, a player's workers sleep and its memory leaves the caches, as never in a
    loop of its own. So it takes a few steps before each turn, which do not count.
    """
    names = list(players)
    batches = {name: batches_in(player, seconds) for name, player in players.items()}
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    for player in players.values():
        player.step_seconds.clear()
    for i in range(rounds):
        first = i % len(names)
        for name in names[first:] + names[:first]:
            players[name].play(WARM_UP, counts=False)
            samples[name].append(timed(players[name], batches[name]))
    return samples


def rows_of(scene: Scene, rounds: int, seconds: float) -> tuple[list[str], list[str]]:
    """Plays a scene; returns the rows of the table, and the players that are slower."""
    fns = functions(scene.task_id, scene.count)
    makers = {
        OURS: partial(PoolVectorEnv, fns),
        HERE: partial(PoolVectorEnv, fns, num_workers=0),
        SYNC: partial(SyncVectorEnv, fns),
        CONTROL: partial(SyncVectorEnv, fns),
    }
    samples, steps = race(makers, scene, rounds, seconds)
    control = ratio(samples[CONTROL], samples[SYNC])
    slower = [
        name for name in (OURS, HERE) if is_slower(ratio(samples[name], samples[SYNC]), control)
    ]
    rows = [
        f"| {scene.count} {scene.task_id} | {scene.policy:g} ms | {scene.threads} | {name} |"
        f" {batch_us(own, scene.count):,.0f} | {steps[name].median:,.0f} |"
        f" {cpu_us(own, scene.count):,.0f} |"
        f" {'' if name == SYNC else times(ratio(own, samples[SYNC]))} |"
        for name, own in samples.items()
    ]
    return rows, slower


class Progress:
    """Scenes that were played, kept in a file of one line of JSON for each.

    Attributes:
        done: the rows and the slower players of each scene.
    """

    def __init__(self, path: Path | None, setting: Sequence[Any]) -> None:
        """Reads the scenes of this setting; others of the file are ignored.

        Args:
            path: of the file, which need not exist; None for no file.
            setting: the commit and all else that a scene's rows depend on.
        """
        self._path, self._setting = path, list(setting)
        self.done: dict[Scene, tuple[list[str], list[str]]] = {}
        lines = path.read_text().splitlines() if path and path.exists() else []
        for setting_of, scene, rows, slower in map(json.loads, lines):
            if setting_of == self._setting:
                self.done[Scene(*scene)] = rows, slower

    def add(self, scene: Scene, rows: list[str], slower: list[str]) -> None:
        """Adds a scene, to the file at once."""
        self.done[scene] = rows, slower
        if self._path:
            with self._path.open("a") as file:
                file.write(json.dumps([self._setting, scene, rows, slower]) + "\n")


def play(
    scenes: Sequence[Scene], progress: Progress, rounds: int, seconds: float, limit: float
) -> bool:
    """Plays the scenes that are not done yet, and shows their rows.

    Returns whether all are done; it starts none after `limit` seconds.
    """
    end = time.monotonic() + limit
    for scene in scenes:
        if scene in progress.done:
            continue
        if time.monotonic() >= end:
            return False
        rows, slower = rows_of(scene, rounds, seconds)
        quote(rows)
        progress.add(scene, rows, slower)
    return True


def is_slower(own: Spread, control: Spread) -> bool:
    """Returns whether ratios to SyncVectorEnv are below 1, and below those of its control."""
    return own.high < min(1.0, control.low)


def verdict(scenes: int, slower: Sequence[str]) -> str:
    """Returns a sentence that counts the rows that are slower than SyncVectorEnv.

    Args:
        scenes: how many were played.
        slower: the players that are slower, of all scenes.
    """
    counts = [f"{slower.count(name)} of {scenes} rows of {name}" for name in (OURS, HERE)]
    return (
        f"Slower than SyncVectorEnv beyond the control's noise: {', '.join(counts)} (the upper"
        " quartile is below 1 and below the control's lower quartile)."
    )


def batch_us(samples: Sequence[Sample], count: int) -> float:
    """Returns the median microseconds of a step of all environments, with the policy."""
    return statistics.median(count * 1e6 / each.rate for each in samples)


def cpu_us(samples: Sequence[Sample], count: int) -> float:
    """Returns the median of the CPU time of all processes for such a step, in microseconds."""
    return statistics.median(count * each.cpu_us for each in samples)


def times(spread: Spread) -> str:
    """Returns a ratio with its quartiles, for the table."""
    return f"{spread.median:.3f} ({spread.low:.3f}-{spread.high:.3f})"


def rows_of_infos(policy: float, rounds: int, seconds: float) -> list[str]:
    """Returns rows that show what infos add to a step, beside a policy of this time."""
    makers: dict[str, Callable[[], Any]] = {}
    for strips, suffix in ((False, ""), (True, STRIPPED)):
        fns = functions(INFOS_ENV, INFOS_COUNT, strips)
        makers[OURS + suffix] = partial(PoolVectorEnv, fns, num_workers=2)
        makers[SYNC + suffix] = partial(SyncVectorEnv, fns)
    samples, steps = race(makers, Scene(INFOS_ENV, INFOS_COUNT, policy, 1), rounds, seconds)
    rows = []
    for name, own in samples.items():
        more = steps[name].median - steps[name.removesuffix(STRIPPED) + STRIPPED].median
        cost = "" if name.endswith(STRIPPED) else f"{more:,.0f}"
        rows.append(
            f"| {INFOS_COUNT} {INFOS_ENV} | {policy:g} ms | {name} | {steps[name].median:,.0f}"
            f" ({steps[name].low:,.0f}-{steps[name].high:,.0f}) |"
            f" {cpu_us(own, INFOS_COUNT):,.0f} | {cost} |"
        )
    return rows


INFOS_HEADER = (
    "| environments | policy | by | us in `step` | CPU us, policy included | us for infos |\n"
    "| --- | --- | --- | ---: | ---: | ---: |"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.with_policy", description=__doc__
    )
    parser.add_argument("--envs", nargs="+", default=ENV_IDS, metavar="ID", help="ids (all three)")
    parser.add_argument("--counts", nargs="+", type=int, default=COUNTS, help="(2 to 64)")
    parser.add_argument("--policies", nargs="+", type=float, help="milliseconds (0.3 1 5)")
    parser.add_argument("--threads", nargs="+", type=int, default=THREADS, help="torch's (1 2)")
    parser.add_argument("--infos", action="store_true", help="measures the cost of infos instead")
    parser.add_argument("--rounds", type=int, default=20, help="of each player (20)")
    parser.add_argument("--seconds", type=float, default=0.1, help="of each in a round (0.1)")
    parser.add_argument("--out", type=Path, help=f"file for the table; of the whole grid {OUT}")
    parser.add_argument("--progress", type=Path, help="file of the scenes that are played")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds, with --progress")
    options = parser.parse_args(arguments)
    if options.limit < math.inf and not options.progress:
        parser.error("--limit without --progress would lose what is played: give both")
    lines = [
        f"{machine.summary()}, torch"
        f" {torch.__version__}{OMP_WAIT_POLICY and f', OMP_WAIT_POLICY={OMP_WAIT_POLICY}'};"
        f" medians of {options.rounds} rounds, quartiles in brackets\n",
        INFOS_HEADER if options.infos else HEADER,
    ]
    print("\n".join(lines), flush=True)
    if options.infos:
        for policy in options.policies or INFOS_POLICIES:
            lines += quote(rows_of_infos(policy, options.rounds, options.seconds))
    else:
        scenes = [
            Scene(*each)
            for each in itertools.product(
                options.envs, options.counts, options.policies or POLICIES, options.threads
            )
        ]
        setting = [machine.cpu_name(), machine.commit(), options.rounds, options.seconds]
        setting.append(OMP_WAIT_POLICY)
        progress = Progress(options.progress, setting)
        if not play(scenes, progress, options.rounds, options.seconds, options.limit):
            print(f"{len(progress.done)} of {len(scenes)} scenes are played: run this again")
            return 0
        slower = [name for scene in scenes for name in progress.done[scene][1]]
        lines += [row for scene in scenes for row in progress.done[scene][0]]
        lines += quote(["", verdict(len(scenes), slower)])
        is_whole = set(scenes) == {
            Scene(*each) for each in itertools.product(ENV_IDS, COUNTS, POLICIES, THREADS)
        }
        if is_whole and options.out is None:
            options.out = machine.ROOT / "benchmarks" / "results" / machine.name() / OUT
            options.out.parent.mkdir(parents=True, exist_ok=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    return 0


def quote(lines: list[str]) -> list[str]:
    """Prints lines at once, and returns them."""
    print("\n".join(lines), flush=True)
    return lines


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
