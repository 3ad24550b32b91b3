"""The demo: 64 Pongs and 1024 CartPoles beside Gymnasium, a table and a picture of the speeds."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from parallel_pool.demo import speeds
from parallel_pool.demo.picture import draw
from parallel_pool.demo.speeds import PONG, TASKS, Runner, Speed, Task

# environments whose screens are shown
SHOWN = range(4)


def run(out: Path, seconds: float) -> int:
    """Measures everybody for so many seconds each, shows the table and writes the picture.

    Returns:
        The exit status.
    """
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    console = Console()
    everybody = speeds.runners()
    found: list[Speed] = []
    frames = None
    columns = (TextColumn("{task.description:44}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(everybody))
        for i, runner in enumerate(everybody):
            what = f"{runner.num_envs} x {runner.task.title}: {runner.name}"
            progress.update(bar, description=what[:44], completed=i)
            with speeds.made(runner) as stepping:
                rate = speeds.measure(
                    stepping,
                    seconds,
                    lambda share, i=i: progress.update(bar, completed=i + share),  # type: ignore[misc]
                )
                if frames is None and runner.task is PONG:
                    frames = speeds.pictures(stepping, SHOWN)
            found.append(Speed(runner, rate))
        progress.update(bar, description="done", completed=len(everybody))
    for task in TASKS:
        console.print(table(task, [each for each in found if each.runner.task is task]))
    draw(found, frames, out)
    console.print(
        "steps/s: environment steps of all together; x sync: times Gymnasium's sync.\n"
        "Measured once each: `make bench` compares with care."
    )
    console.print(f"picture: {out}", soft_wrap=True)
    return 0


def short(value: float) -> str:
    """Three digits and a letter: 46800000 is "46.8 M"."""
    for unit, letter in ((1e6, " M"), (1e3, " k")):
        if value >= 0.9995 * unit:
            return f"{value / unit:#.3g}".rstrip(".") + letter
    return f"{value:.0f}"


def table(task: Task, found: Sequence[Speed]) -> Table:
    """Returns one task's table, with speeds beside Gymnasium's loop over single environments."""
    made = Table(
        title=f"{task.title}, random actions",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    made.add_column("", no_wrap=True)
    made.add_column("envs", justify="right", no_wrap=True)
    made.add_column("runs on", no_wrap=True)
    made.add_column("steps/s", justify="right", no_wrap=True)
    if task.frame_skip > 1:
        made.add_column("frames/s", justify="right", no_wrap=True)
    # the loop over single environments is what most people run today
    made.add_column("x sync", justify="right", no_wrap=True)
    base = next(each for each in found if each.runner.name == "Gymnasium, sync")
    for each in found:
        runner: Runner = each.runner
        rate = each.steps_per_second
        cells = [runner.name, str(runner.num_envs), runner.runs_on, short(rate)]
        if task.frame_skip > 1:
            cells.append(short(rate * task.frame_skip))
        cells.append(f"{rate / base.steps_per_second:.3g}")
        made.add_row(*cells, style="bold cyan" if runner.is_ours else "")
    return made
