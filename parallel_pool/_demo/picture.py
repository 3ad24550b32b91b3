"""The demo's picture: a still of the animation beside charts of the speeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from parallel_pool._bench.numbers import WORDS, rounded
from parallel_pool._demo.speeds import Speed, Task

INK, QUIET, PAPER = "#16202b", "#6b7785", "#ffffff"
OURS, THEIRS = "#0b7285", "#c3cad1"
# Gap between a bar and its number, in points.
GAP = 5


def draw(speeds: Sequence[Speed], still: Any, file: Path) -> None:
    """Writes the picture.

    Args:
        speeds: of all runners.
        still: from the animation, uint8 (height, width, 3).
        file: the PNG to write; its folder must exist.
    """
    tasks = list(dict.fromkeys(each.runner.task for each in speeds))
    figure = Figure(figsize=(14, 8.6), dpi=110, facecolor=PAPER)
    FigureCanvasAgg(figure)
    figure.text(0.03, 0.955, "parallel_pool", fontsize=22, weight="bold", color=INK, va="center")
    figure.text(
        0.97,
        0.955,
        "all step the same number of environments",
        fontsize=12,
        color=QUIET,
        va="center",
        ha="right",
    )
    ax = figure.add_axes((0.03, 0.03, 0.40, 0.88))
    ax.imshow(still, interpolation="nearest")
    ax.set_axis_off()
    height = 0.88 / len(tasks)
    for i, task in enumerate(tasks):
        ax = figure.add_axes((0.57, 0.92 - (i + 1) * height + 0.01, 0.40, height - 0.06))
        _draw_speeds(ax, task, [each for each in speeds if each.runner.task is task])
    figure.savefig(file, facecolor=PAPER)


def _draw_speeds(ax: Any, task: Task, speeds: Sequence[Speed]) -> None:
    """Draws the bars of one task on a linear scale, each with its number."""
    values = [each.steps_per_second for each in speeds]
    heights = list(range(len(values)))
    colours = [OURS if each.runner.is_ours else THEIRS for each in speeds]
    ax.barh(heights, values, color=colours, height=0.72)
    labels = [f"{each.runner.name}\n{each.runner.runs_on}" for each in speeds]
    ax.set_yticks(heights, labels, fontsize=8.5, color=INK, linespacing=1.2)
    ax.invert_yaxis()
    numbers = [
        ax.annotate(
            rounded(each.steps_per_second, WORDS),
            (each.steps_per_second, bar_height),
            (GAP, 0),
            textcoords="offset points",
            va="center",
            fontsize=10.5,
            color=INK,
            weight="bold" if each.runner.is_ours else "normal",
        )
        for bar_height, each in zip(heights, speeds, strict=True)
    ]
    ax.set_xlim(0, max(map(_end, numbers, values)))
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.spines["left"].set_color(QUIET)
    unit = "steps per second"
    if task.frame_skip > 1:
        unit += f" (1 step = {task.frame_skip} frames)"
    ax.set_title(
        f"{task.num_envs} x {task.title}: {unit}",
        loc="left",
        fontsize=12,
        color=INK,
        weight="bold",
        pad=8,
    )


def _end(number: Any, value: float) -> float:
    """Returns the end of an axis that is long enough for a bar and the number behind it."""
    gap = GAP / 72 * number.figure.dpi
    share: float = (gap + number.get_window_extent().width) / number.axes.bbox.width
    return value / (1 - share)
