"""The demo: compares libraries that step environments, and draws a picture and an animation."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from parallel_pool._bench.numbers import SYMBOLS, rounded
from parallel_pool._demo import speeds
from parallel_pool._demo.animation import animate
from parallel_pool._demo.picture import draw
from parallel_pool._demo.speeds import CART_POLE, SYNC, Runner, Speed, Task

if TYPE_CHECKING:
    from typing import Self

# One line, which the console wraps.
WHY_ASYNC_IS_SLOWER = (
    "Gymnasium's async sends every action to another process and waits for its answer. That takes"
    " longer than a step of CartPole, so sync is faster here; where a step takes long, as Pong's"
    " does, the processes pay off on enough cores."
)


def run(picture: Path, seconds: float) -> int:
    """Measures all runners, prints tables, and writes a picture and an animation.

    Args:
        picture: the PNG to write, in a folder that exists; mosaic.gif goes into the same folder.
        seconds: measuring time of each runner.

    Returns:
        The exit status.
    """
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    # without markup, which would take [mujoco] of a command for a style
    console = Console(markup=False)
    animation = picture.with_name("mosaic.gif")
    found: list[Speed] = []
    with Steps(console, speeds.runners()) as steps:
        for runner in steps.runners:
            steps.begin(f"{runner.task.num_envs} x {runner.task.title}: {runner.name}")
            with speeds.made(runner) as stepping:
                found.append(Speed(runner, speeds.measure(stepping, seconds, steps.tick)))
        steps.begin("an animation of 64 Atari games")
        still = animate(animation)
    for task in dict.fromkeys(each.runner.task for each in found):
        console.print(table(task, [each for each in found if each.runner.task is task]))
        if task is CART_POLE:
            console.print(WHY_ASYNC_IS_SLOWER + "\n")
    draw(found, still, picture)
    console.print(
        "steps/s: steps of all environments together; x sync: ratio to Gymnasium's sync.\n"
        "Each was measured once: `make bench` compares with care."
    )
    if missing := speeds.missing():
        console.print(f"not installed, so not shown: {', '.join(missing)}", highlight=False)
    console.print(f"picture: {picture}\nanimation: {animation}", soft_wrap=True)
    return 0


class Steps:
    """Shows progress: a bar on a terminal, elsewhere a line for each step."""

    def __init__(self, console: Console, runners: Sequence[Runner]) -> None:
        self.runners = runners
        self._console = console
        columns = (TextColumn("{task.description:44}"), BarColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        # the animation is one more step
        self._bar = self._progress.add_task("", total=len(runners) + 1)
        self._begun = 0

    def begin(self, what: str) -> None:
        """Begins the next step."""
        self._progress.update(self._bar, description=what[:44], completed=self._begun)
        self._begun += 1
        if not self._console.is_terminal:
            self._console.print(
                f"{self._begun} of {len(self.runners) + 1}: {what}", highlight=False
            )

    def tick(self, share: float) -> None:
        """Shows the share of the current step that is done."""
        self._progress.update(self._bar, completed=self._begun - 1 + share)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.update(self._bar, description="done", completed=self._begun)
        self._progress.stop()


def table(task: Task, found: Sequence[Speed]) -> Table:
    """Returns the table of one task, with ratios to Gymnasium's loop over single environments."""
    made = Table(
        title=f"{task.num_envs} x {task.title}, random actions",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    made.add_column("", no_wrap=True)
    made.add_column("runs on", no_wrap=True)
    made.add_column("steps/s", justify="right", no_wrap=True)
    if task.frame_skip > 1:
        made.add_column("frames/s", justify="right", no_wrap=True)
    made.add_column("x sync", justify="right", no_wrap=True)
    base = next(each for each in found if each.runner.name == SYNC)
    for each in found:
        runner = each.runner
        rate = each.steps_per_second
        cells = [runner.name, runner.runs_on, rounded(rate, SYMBOLS)]
        if task.frame_skip > 1:
            cells.append(rounded(rate * task.frame_skip, SYMBOLS))
        cells.append(f"{rate / base.steps_per_second:.3g}")
        made.add_row(*cells, style="bold cyan" if runner.is_ours else "")
    return made
