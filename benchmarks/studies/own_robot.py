"""A robot of one's own beside the bare loop over mj_step, the built-in task and `mujoco.batch`.

    python -m benchmarks.studies.own_robot --threads 2

Gymnasium's half-cheetah is compiled from tests/families/robots/half_cheetah.c. All step the same
model with the same actions, in turn, round by round. The start that `new --mujoco` writes shows
what values of the model cost that are drawn at each reset. The other models (Ant, Humanoid, a
quadruped, a hand with touch sensors) are stepped by their starts, in C and in Python, and last by
the start in Python with many worlds, whose step is compared with the `Batch.step` in it.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import parallel_pool
from benchmarks.harness.report import page, publish
from benchmarks.scenes import robots
from benchmarks.scenes.mujoco_bare import Bare
from benchmarks.scenes.robots import Robot
from parallel_pool._bench.contender import Task
from parallel_pool._families.mujoco import assets
from parallel_pool._source import start

ROOT = Path(__file__).resolve().parents[2]
MODEL = "half_cheetah.xml"
FRAME_SKIP = 5
LIMIT = 300

# returns the environment steps of a round
Player = Callable[[], int]


def load(folder: Path) -> tuple[str, str]:
    """Compiles the robots; returns the ids of the half-cheetah and of the start."""
    shutil.copy(assets() / MODEL, folder)
    shutil.copy(ROOT / "tests" / "families" / "robots" / "half_cheetah.c", folder)
    start.write(folder / "start.c", folder / MODEL)
    (cheetah,) = parallel_pool.load_source(folder / "half_cheetah.c")
    (varied,) = parallel_pool.load_source(folder / "start.c")
    return cheetah, varied


def pool_player(task_id: str, actions: np.ndarray, threads: int, **options: Any) -> Player:
    pool = parallel_pool.Pool(
        task_id,
        actions.shape[1],
        num_threads=threads,
        seed=0,
        max_episode_steps=LIMIT,
        options=options,
    )
    pool.reset()

    def play() -> int:
        for action in actions:
            pool.step(action)
        return int(actions.shape[0] * actions.shape[1])

    return play


def bare_player(actions: np.ndarray, threads: int) -> Player:
    count, envs = actions.shape[:2]
    task = Task(
        task_id="HalfCheetah-v5",
        num_actions=0,
        action_size=actions.shape[2],
        num_envs=envs,
        batch_size=envs,
        num_threads=threads,
        max_episode_steps=LIMIT,
    )
    bare = Bare(task, data_per_thread=True, switches=False)
    return lambda: bare.play(count)


def batch_player(actions: np.ndarray, threads: int) -> Player | None:
    """The same observation and reward, in NumPy, on MuJoCo's own batches; None: it has none."""
    import mujoco

    try:
        from mujoco.batch import Batch
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_path(str(assets() / MODEL))
    batch = Batch(model, actions.shape[1], threads)
    rng = np.random.default_rng(0)
    dt, elapsed = model.opt.timestep * FRAME_SKIP, np.zeros(1, int)

    def reset() -> None:
        batch.reset()
        batch.qpos[:] += rng.uniform(-0.1, 0.1, batch.qpos.shape)
        batch.qvel[:] += 0.1 * rng.standard_normal(batch.qvel.shape)

    def play() -> int:
        for action in actions:
            if elapsed[0] % LIMIT == 0:
                reset()
            elapsed[0] += 1
            before = batch.qpos[:, 0].copy()
            batch.ctrl[:] = action
            batch.step(nstep=FRAME_SKIP)
            np.concatenate([batch.qpos[:, 1:], batch.qvel], axis=1)
            (batch.qpos[:, 0] - before) / dt - 0.1 * np.square(action).sum(axis=1)
        return int(actions.shape[0] * actions.shape[1])

    reset()
    return play


def measure(players: Mapping[str, Player], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Returns seconds of CPU and of wall time for a step, by player and round."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in players}
    for play in players.values():
        play()
    for number in range(rounds):
        # who begins changes from round to round
        for name in list(players)[:: 1 if number % 2 else -1]:
            cpu, wall = time.process_time(), time.perf_counter()
            steps = players[name]()
            spent = time.process_time() - cpu, time.perf_counter() - wall
            times[name].append((spent[0] / steps, spent[1] / steps))
    return times


def reset_costs(cheetah: str, varied: str) -> list[str]:
    """Returns rows with the CPU time of resets, with and without values of the model."""
    drawn = {name: parallel_pool.each_reset(0.5, 2.0) for name in ("friction", "mass")}
    settings: dict[str, tuple[str, dict[str, Any]]] = {
        "without vary": (cheetah, {}),
        "with vary, one value": (varied, {}),
        "with vary, drawn values": (varied, drawn),
    }
    rows = []
    for name, (task_id, options) in settings.items():
        with parallel_pool.Pool(task_id, 16, num_threads=1, seed=0, options=options) as pool:
            spent = []
            for _ in range(200):
                begun = time.process_time()
                pool.reset()
                spent.append((time.process_time() - begun) / 16)
        rows.append(f"| reset, {name} | {statistics.median(spent) * 1e6:.1f} |")
    return rows


def of_models(models: Sequence[Robot], options: argparse.Namespace) -> list[str]:
    """Returns the rows of the other models: CPU time of each player's step, and ratios."""
    makers = (robots.bare_player, robots.pool_player, robots.batch_player, robots.python_player)
    rows = []
    for robot in models:
        actions = robot.actions(options.steps, options.envs)
        found = {make.__name__: make(robot, actions, options.threads) for make in makers}
        times = measure(
            {key: play for key, play in found.items() if play is not None}, options.rounds
        )
        micro = [
            f"{statistics.median(cpu for cpu, _ in times[key]) * 1e6:.1f}" if key in times else "-"
            for key in found
        ]
        bare, own, batch, python = found
        to_batch, to_bare = _ratio(times, batch, own), _ratio(times, bare, own)
        python_to_batch = _ratio(times, python, batch)
        rows.append(
            f"| {robot.name} | {' | '.join(micro)} | {to_batch} | {to_bare} | {python_to_batch} |"
        )
    return rows


def _ratio(times: Mapping[str, list[tuple[float, float]]], one: str, other: str) -> str:
    """Returns the median of one player's CPU time / another's."""
    if one not in times or other not in times:
        return "-"
    pairs = zip(times[one], times[other], strict=True)
    return f"{statistics.median(a[0] / b[0] for a, b in pairs):.3f}"


def of_tasks(models: Sequence[Robot], options: argparse.Namespace) -> list[str]:
    """Returns the rows of tasks in vectorised Python with many worlds."""
    rows = []
    for robot in models:
        shares = robots.added_by_task(robot, options.worlds, options.threads, options.task_steps)
        rows.append(f"| {robot.name} | {statistics.median(shares):.4f} |")
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and writes the result; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.own_robot", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100, help="of all environments, in a round")
    parser.add_argument(
        "--models",
        nargs="*",
        default=list(robots.MODELS),
        choices=list(robots.MODELS),
        help="which of the other models",
    )
    parser.add_argument("--worlds", type=int, default=4096, help="of a task in Python")
    parser.add_argument("--task-steps", type=int, default=40, help="of a task in Python; 0: none")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the table goes, too")
    options = parser.parse_args(arguments)
    shape = (options.steps, options.envs, 6)
    actions = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        cheetah, varied = load(Path(folder))
        drawn = {name: parallel_pool.each_reset(0.9, 1.1) for name in ("friction", "mass")}
        own, threads = "a robot of one's own", options.threads
        found: dict[str, Player | None] = {
            "bare loop over mj_step": bare_player(actions, threads),
            own: pool_player(cheetah, actions, threads),
            "built-in HalfCheetah-v5": pool_player(
                "HalfCheetah-v5", actions, threads, speed_switches=False
            ),
            "the start": pool_player(varied, actions, threads),
            "the start, with drawn values": pool_player(varied, actions, threads, **drawn),
            "mujoco.batch.Batch and NumPy": batch_player(actions, threads),
        }
        players = {name: play for name, play in found.items() if play is not None}
        times = measure(players, options.rounds)
        resets = reset_costs(cheetah, varied)
        models = [robots.load(name, Path(folder, name)) for name in options.models]
        others = of_models(models, options)
        tasks = of_tasks(models if options.task_steps else (), options)
    rows = []
    for name, spent in times.items():
        cpu, wall = (
            statistics.median(b[i] / a[i] for a, b in zip(times[own], spent, strict=True))
            for i in range(2)
        )
        micro = statistics.median(each[0] for each in spent) * 1e6
        rows.append(f"| {name} | {micro:.2f} | {cpu:.3f} | {wall:.3f} |")
    report = page(
        "A robot of one's own",
        f"`python -m benchmarks.studies.own_robot`: {options.envs} environments, {threads}"
        f" threads, {options.rounds} interleaved rounds, medians.",
        "| half-cheetah | us of CPU time for a step | its CPU time / the robot's | wall time |",
        "| --- | ---: | ---: | ---: |",
        *rows,
        "",
        "| | us of CPU time |",
        "| --- | ---: |",
        *resets,
        "",
        "The models as their starts step them, in us of CPU time for a step: the loop over"
        " mj_step alone, the start in C, the same work in NumPy on mujoco.batch, the start in"
        " Python.",
        "",
        "| model | bare | C | NumPy | Python | NumPy / C | bare / C | Python / NumPy |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *others,
        "",
        f"The start in Python with {options.worlds} worlds:",
        "",
        "| model | CPU time of a step / of the Batch.step in it |",
        "| --- | ---: |",
        *tasks,
    )
    publish(report, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
