"""Pictures as observations: `python -m benchmarks.studies.pixels`.

cheetah-run of the Control Suite with `from_pixels`, 84 x 84, 16 environments on two threads: here,
in EnvPool, and here without pictures, in interleaved rounds. A loop over `mujoco.Renderer`, which
draws a picture of the same size and computes nothing, tells what OpenGL alone takes. CPU time is of
all threads, OpenGL's too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import parallel_pool
from benchmarks.harness.report import page, publish, table

NUM_ENVS, NUM_THREADS, SIZE, CAMERA = 16, 2, 84, 0
# of a turn
STEPS = 4
TASK = "dm_control/cheetah-run-v0"
THEIRS = "CheetahRun-v1"


def ours(**options: Any) -> Callable[[np.ndarray], object]:
    """Returns the step of a pool of ours."""
    pool = parallel_pool.make_vec(TASK, NUM_ENVS, num_threads=NUM_THREADS, **options).pool
    pool.reset(seed=1)
    return pool.step


def envpool_step() -> Callable[[np.ndarray], object]:
    """Returns the step of EnvPool's."""
    import envpool

    pool = envpool.make(
        THEIRS,
        "gymnasium",
        num_envs=NUM_ENVS,
        num_threads=NUM_THREADS,
        seed=1,
        from_pixels=True,
        frame_stack=1,
        render_width=SIZE,
        render_height=SIZE,
        render_camera_id=CAMERA,
    )
    pool.reset()
    return pool.step


def renderer() -> Callable[[np.ndarray], object]:
    """Returns a function that draws a picture of each environment, and does nothing else."""
    import mujoco

    pool = parallel_pool.make_vec(TASK, 1).pool
    model = pool.spec.options["_link"].model
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    draws = mujoco.Renderer(model, SIZE, SIZE)

    def play(actions: np.ndarray) -> None:
        for _ in actions:
            draws.update_scene(data, camera=CAMERA)
            draws.render()

    return play


def measure(rounds: int) -> list[list[str]]:
    """Returns the rows of the table: milliseconds of each picture, and quartiles of CPU time."""
    pixels = {"render_width": SIZE, "render_height": SIZE, "render_camera_id": CAMERA}
    players = {
        "parallel_pool": ours(from_pixels=True, frame_stack=1, **pixels),
        "EnvPool": envpool_step(),
        "parallel_pool without pictures": ours(),
        "mujoco.Renderer, one thread": renderer(),
    }
    draws = np.random.default_rng(1)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in players}
    for _ in range(rounds + 1):
        actions = draws.uniform(-1, 1, (STEPS, NUM_ENVS, 6))
        for name, play in players.items():
            wall, cpu = time.perf_counter(), time.process_time()
            for each in actions:
                play(each)
            count = STEPS * NUM_ENVS
            spent[name].append(
                ((time.perf_counter() - wall) / count, (time.process_time() - cpu) / count)
            )
    rows = []
    base = spent["parallel_pool"][1:]
    for name, times in spent.items():
        walls, cpus = zip(*times[1:], strict=True)
        low, _, high = statistics.quantiles(cpus, n=4)
        ratios = [a[0] / b[0] for a, b in zip(times[1:], base, strict=True)]
        rows.append(
            [
                name,
                f"{1e3 * statistics.median(walls):.3f}",
                f"{1e3 * statistics.median(cpus):.3f} ({1e3 * low:.3f} to {1e3 * high:.3f})",
                f"{statistics.median(ratios):.2f}",
            ]
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and writes the result; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.pixels", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the table goes, too")
    options = parser.parse_args(arguments)
    os.environ.setdefault("MUJOCO_GL", "egl")
    rows = measure(options.rounds)
    heads = ["who", "ms a picture", "ms of CPU time (quartiles)", "time / parallel_pool's"]
    report = page(
        "Pictures as observations",
        f"`python -m benchmarks.studies.pixels`: cheetah-run, {NUM_ENVS} environments on"
        f" {NUM_THREADS} threads, {SIZE} x {SIZE} pixels, {options.rounds} interleaved rounds,"
        " medians.",
        *table(heads, rows),
    )
    publish(report, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
