"""Comparison: trains one agent on several vectorisers, and draws how long each takes.

The command of a comparison trains all its players with one seed before the next. It writes
NAME.json (all curves) after each training, and NAME.png at the end. The same command goes on where
it was stopped: it skips the trainings that the file has; remove the file to begin again. Each
training is a process of its own.

The agent is `ppo.py`'s, unless a task says otherwise: the same network, settings, seeds, number of
environments and threads of torch for all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium.vector import VectorEnv

from integration.training import ppo
from parallel_pool._bench import machine
from parallel_pool._bench.player_proxy import ROOT, environment

Env = VectorEnv[Any, Any, Any]

# names of players
OURS, ENVPOOL, SYNC, ASYNC = "parallel_pool", "EnvPool", "Gymnasium, sync", "Gymnasium, async"
DUMMY, SUBPROC = "DummyVecEnv", "SubprocVecEnv"
COLOURS = {
    OURS: "#0b7285",
    ENVPOOL: "#e8590c",
    **dict.fromkeys((SYNC, DUMMY), "#7b8794"),
    **dict.fromkeys((ASYNC, SUBPROC), "#adb5bd"),
}
# of a player that has none
COLOUR = "#9c36b5"


# gets what has `returns`, as a `ppo.Training` has, and the steps so far; True ends the training
Record = Callable[[Any, int], bool]


class Evaluation(Protocol):
    """Plays an agent beside its training, in environments from which it does not learn."""

    def play(self, agent: ppo.Agent) -> float | None:
        """Returns the mean return of the last episodes; None before one has ended."""
        ...

    def close(self) -> None: ...


def run_one(program: str, one: Sequence[Any], env: Mapping[str, str]) -> dict[str, Any]:
    """Has a program of this folder train once in a process of its own.

    Args:
        program: its name; it takes `--one` and prints the result as JSON in its last line.
        one: what it trains.
        env: the process's environment variables.

    Returns:
        The result, and the machine's state before it.
    """
    moment = machine.moment()
    done = subprocess.run(
        [sys.executable, "-m", f"integration.training.{program}", "--one", json.dumps(one)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        # MKL's results must not depend on where a matrix lies in memory
        env={**env, "MKL_CBWR": "AUTO", "PYTHONWARNINGS": "ignore"},
    )
    return {**json.loads(done.stdout.splitlines()[-1]), "moment": moment}


@dataclass(frozen=True)
class Task:
    """A task to learn, and the return at which it counts as learned.

    Attributes:
        task_id: the name in results, and Gymnasium's id.
        settings: of `learn`, with the fields total_steps and seed.
        target: mean return of the last `window` episodes that ends the training; None: it takes all
            its steps.
        wrap: adds the wrappers that the agent needs, the same for all vectorisers.
        options: of `gymnasium.make_vec`.
        envpool_id: EnvPool's id; None: it has no such environment.
        envpool_options: of EnvPool's `make`.
        ale_game: ale-py's name of the game; None: it is no Atari game.
        evaluate: makes, for a seed, what plays the agent after each rollout; its time does not
            count.
        score: what the returns are, for the picture.
        learn: trains an agent on environments, and calls `record` from time to time.
        folder: beside Python's packages, which its processes import first.
    """

    task_id: str
    num_envs: int
    target: float | None
    window: int
    settings: Any
    wrap: Callable[[Any], Any] = lambda env: env
    options: Mapping[str, Any] = field(default_factory=dict)
    envpool_id: str | None = None
    envpool_options: Mapping[str, Any] = field(default_factory=dict)
    ale_game: str | None = None
    evaluate: Callable[[int], Evaluation] | None = None
    score: str = "mean return"
    learn: Callable[[Any, Any, Record], object] = ppo.train
    folder: str = ""


# makes a task's environments, for a seed
Player = Callable[[Task, int], Any]


def shortened(task: Task, steps: int) -> Task:
    return replace(task, settings=replace(task.settings, total_steps=steps))


# ---------------------------------------------------------------------------------- training --


# seconds between two lines that say how far a training is
PROGRESS = 60.0


class Curve:
    """What a training has reached, after each rollout; a line on stderr says so each minute.

    Attributes:
        points: seconds, environment steps, mean return (None before the first episode has ended);
            with an evaluation, the mean return there, too.
    """

    def __init__(self, task: Task, seed: int) -> None:
        self.points: list[tuple[float | None, ...]] = []
        self._task = task
        self._evaluation = task.evaluate(seed) if task.evaluate else None
        self._start = self._said = time.monotonic()

    @property
    def is_reached(self) -> bool:
        """Whether the last mean return is the target's; always true without a target."""
        if self._task.target is None:
            return True
        mean = self.points[-1][2]
        return mean is not None and mean >= self._task.target

    def record(self, training: Any, steps: int) -> bool:
        """Adds a point; returns whether the training is over."""
        now = time.monotonic()
        recent = training.returns[-self._task.window :]
        point = (now - self._start, steps, float(np.mean(recent)) if recent else None)
        if self._evaluation is not None:
            self.points.append((*point, self._evaluation.play(training.agent)))
            self._start += time.monotonic() - now
        else:
            self.points.append(point)
        if now - self._said >= PROGRESS:
            self._said = now
            print(f"  {progress(self.points[-1])}", file=sys.stderr, flush=True)
        is_full = self._task.target is not None and len(recent) == self._task.window
        return is_full and self.is_reached

    def close(self) -> None:
        if self._evaluation is not None:
            self._evaluation.close()


def train(task: Task, make: Player, seed: int) -> dict[str, Any]:
    """Trains once.

    Returns:
        The points of the curve, and whether the target was reached. The seconds exclude making the
        environments, evaluations, and torch's import of its compiler.
    """
    # the first optimizer of a process imports that, which takes seconds
    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])
    envs = task.wrap(make(task, seed))
    curve = Curve(task, seed)
    task.learn(envs, replace(task.settings, seed=seed), curve.record)
    envs.close()
    curve.close()
    return {"curve": curve.points, "reached": curve.is_reached}


def seconds(runs: Sequence[Mapping[str, Any]]) -> float | None:
    """Returns the median time to the target; None if a run did not reach it."""
    if not all(run["reached"] for run in runs):
        return None
    return median(run["curve"][-1][0] for run in runs)


def check_equal(
    task: Task,
    runs: Mapping[str, Sequence[Mapping[str, Any]]],
    seed: int,
    players: Iterable[str] = (OURS, SYNC),
) -> None:
    """Compares the agents of players whose environments have the same bits.

    Raises:
        AssertionError: their curves differ in more than seconds.
    """
    curves = [
        [list(point[1:]) for point in run["curve"]]
        for name in players
        for run in runs.get(name, ())
        if run["seed"] == seed
    ]
    same = all(curve == curves[0] for curve in curves)
    assert same, f"{task.task_id}, seed {seed}: the agents differ"


# ---------------------------------------------------------------------------------- pictures --


def draw_times(axes: Any, task: Task, runs: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """Draws return over time, with the median time to the target."""
    for name, own in runs.items():
        took = seconds(own) if own else None
        label = f"{name}: " + ("not reached" if took is None else f"{took:.0f} s")
        for run in own:
            curve = [point for point in run["curve"] if point[2] is not None]
            times, returns = [point[0] for point in curve], [point[2] for point in curve]
            colour = COLOURS.get(name, COLOUR)
            axes.plot(times, returns, color=colour, alpha=0.8, linewidth=1.2, label=label)
            label = ""
    if task.target is not None:
        axes.axhline(task.target, color="0.6", linestyle=":", linewidth=1)
    axes.set(
        xlabel="seconds",
        ylabel=f"{task.score} of {task.window} episodes",
        title=f"{task.task_id}, {task.num_envs} environments",
    )


def draw_test(axes: Any, task: Task, runs: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """Draws returns in training and in the evaluation over environment steps."""
    for name, own in runs.items():
        for run in own:
            curve = [point for point in run["curve"] if None not in point]
            steps = [point[1] / 1e6 for point in curve]
            for column, what, style in ((2, "training", "-"), (3, "test", "--")):
                returns = [point[column] for point in curve]
                label = f"{name}, {what}" if run is own[0] else ""
                colour = COLOURS.get(name, COLOUR)
                axes.plot(steps, returns, style, color=colour, linewidth=1.2, label=label)
    axes.set(
        xlabel="million steps",
        ylabel=f"{task.score} of {task.window} episodes",
        title=f"{task.task_id}, training and test",
    )


# ------------------------------------------------------------------------------- comparisons --


@dataclass(frozen=True)
class Comparison:
    """What is trained, on what, and the command.

    Attributes:
        name: of the module in this folder.
        about: the module's docstring.
        result: name of the result's files, without ending.
        tasks: what is learned.
        players: returns the players of a task, by their names.
        equal: players whose environments have the same bits, so that their agents must be equal.
        folders: by player, folders beside Python's packages that its process imports first.
        torch_threads: with which networks learn; environments wait meanwhile.
    """

    name: str
    about: str | None
    result: str
    tasks: Sequence[Task]
    players: Callable[[Task], Mapping[str, Player]]
    equal: Sequence[str] = (OURS, SYNC)
    folders: Mapping[str, str] = field(default_factory=dict)
    torch_threads: int = 1

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """Trains all agents and writes the results."""
        options = self._parsed(arguments)
        torch.set_num_threads(self.torch_threads)
        if options.one:
            task_id, name, seed, steps = options.one
            task = shortened(self._task(task_id), steps)
            print(json.dumps(train(task, self.players(task)[name], seed)))
            return
        path = options.out / f"{self.result}.json"
        result = json.loads(path.read_text()) if path.exists() else {"tasks": {}}
        result["machine"] = machine.facts()

        def save() -> None:
            options.out.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(result) + "\n")

        tasks = [task for task in self.tasks if not options.ids or task.task_id in options.ids]
        if options.steps:
            tasks = [shortened(task, options.steps) for task in tasks]
        until = time.monotonic() + 60 * options.minutes
        seeds = range(1, options.seeds + 1)
        self.measure(tasks, seeds, result, save, until, options.players)
        save()
        self.draw(result, path.with_suffix(".png"))

    def _parsed(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        ids = [task.task_id for task in self.tasks]
        parser = argparse.ArgumentParser(
            prog=f"python -m integration.training.{self.name}", description=self.about
        )
        add = parser.add_argument
        add("ids", nargs="*", metavar="ID", help=f"of {', '.join(ids)} (all)")
        add("--seeds", type=int, default=5, help="trainings of each (5)")
        add("--players", nargs="+", metavar="NAME", help="such as EnvPool (all)")
        add("--minutes", type=float, default=float("inf"), help="none begins later")
        add("--steps", type=int, help="of all environments together, to try the program")
        add("--out", type=Path, default=Path("integration/results"))
        add("--one", type=json.loads, help=argparse.SUPPRESS)
        options = parser.parse_args(arguments)
        if unknown := set(options.ids) - set(ids):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(ids)}")
        return options

    def _task(self, task_id: str) -> Task:
        return next(task for task in self.tasks if task.task_id == task_id)

    def measure(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        result: dict[str, Any],
        save: Callable[[], None],
        until: float,
        players: Sequence[str] | None = None,
    ) -> None:
        """Adds the trainings that a result lacks: all players of a seed, one after another, so that
        a slow hour affects all of them.

        Args:
            save: called after each training.
            until: `time.monotonic` after which none begins.
            players: only these; None for all.
        """
        for seed in seeds:
            for task in tasks:
                runs = result["tasks"].setdefault(task.task_id, {})
                for name in self.players(task):
                    own = runs.setdefault(name, [])
                    is_wanted = players is None or name in players
                    is_there = seed in (run["seed"] for run in own)
                    if is_there or not is_wanted or time.monotonic() > until:
                        continue
                    own.append(self.train_in_a_process(task, name, seed))
                    report(task, name, own[-1])
                    check_equal(task, runs, seed, self.equal)
                    save()

    def train_in_a_process(self, task: Task, name: str, seed: int) -> dict[str, Any]:
        """Trains once, in a process that holds nothing of other players."""
        one = [task.task_id, name, seed, task.settings.total_steps]
        # torch's threads must leave the cores to environments
        own = {**environment(self.folders.get(name, task.folder)), "OMP_WAIT_POLICY": "PASSIVE"}
        return {"seed": seed, **run_one(self.name, one, own)}

    def draw(self, result: Mapping[str, Any], path: Path) -> None:
        """Draws one panel for each task, and one for its evaluation."""
        from matplotlib.figure import Figure

        tasks = [task for task in self.tasks if any(result["tasks"].get(task.task_id, {}).values())]
        panels = [(task, draw_times) for task in tasks]
        panels += [(task, draw_test) for task in tasks if task.evaluate]
        if not panels:
            return
        figure = Figure(figsize=(5 * len(panels), 4), layout="constrained")
        every = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (task, draw) in zip(every, panels, strict=True):
            draw(axes, task, result["tasks"][task.task_id])
            axes.legend(loc="lower right", fontsize=8)
            axes.grid(alpha=0.3)
        title = textwrap.fill(self._title(result, tasks), 70 * len(panels))
        figure.suptitle(title, fontsize=10)
        figure.savefig(path, dpi=110)

    def _title(self, result: Mapping[str, Any], tasks: Sequence[Task]) -> str:
        facts = result["machine"]
        runs = [own for task in tasks for own in result["tasks"][task.task_id].values() if own]
        counts = {len(own) for own in runs}
        seeds = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
        of = "one seed" if counts == {1} else f"median of {seeds} seeds"
        targets = [f"{task.target:g}" for task in tasks if task.target is not None]
        return (
            "The same agent on each vectoriser"
            + (f", to a mean return of {', '.join(targets)}" if targets else "")
            + f" ({of}; {facts['cpu']}, {facts['cores']} cores)"
        )


def report(task: Task, name: str, run: Mapping[str, Any]) -> None:
    """Prints the end of a training."""
    what = f"{task.task_id} seed {run['seed']} {name:22}"
    print(f"{what} {progress(run['curve'][-1])}", flush=True)


def progress(point: Sequence[float | None]) -> str:
    """Returns a point of a curve as text."""
    took, steps, *means = point
    reached = " ".join("no episode" if mean is None else f"{mean:8.4g}" for mean in means)
    return f"{took:7.1f} s {steps:9,d} steps {reached}"
