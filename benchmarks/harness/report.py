"""Writes outcomes as terminal tables, Markdown, JSON and plots."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool._bench.machine import summary
from parallel_pool._bench.outcome import Outcome, Row
from parallel_pool._bench.rounds import Spread

if TYPE_CHECKING:
    from rich.table import Table

ROLES = {"ours": "", "only": "", "same": "same", "best": "its best"}

# Families of scenes, each with a picture of its own. A scene belongs to the first family that has a
# prefix of its name.
FAMILIES = {
    "python": ("cartpole-python-", "image-", "exponential-", "workers-", "idle-"),
    "classic-control": ("cartpole-", "engine-"),
    "toy-text": ("frozen-lake-", "taxi-"),
    "minigrid": ("minigrid-",),
    "box2d": ("lunar-lander-", "bipedal-walker-", "car-racing-"),
    "procgen": ("procgen-",),
    "atari": ("pong-", "breakout-", "create-pong-"),
    "mujoco": ("ant-", "halfcheetah-", "hopper-", "walker2d-", "humanoid-", "create-ant-"),
    "control-suite": ("cheetah-run-",),
    "robotics": ("fetch-",),
}
# A picture with more panels than this has two columns.
COLUMN = 8

INK, QUIET, OURS, THEIRS = "#1f2933", "#7b8794", "#0b7285", "#adb5bd"


def short(value: float) -> str:
    """Returns three digits and a letter: 46800000 is "46.8 M"."""
    for unit, letter in ((1e6, " M"), (1e3, " k")):
        if abs(value) >= 0.9995 * unit:
            return f"{value / unit:#.3g}".rstrip(".") + letter
    return f"{value:.3g}"


def spread(each: Spread, unit: str = "") -> str:
    """Returns a median and its quartiles as text."""
    return f"{short(each.median)}{unit} ({short(each.low)}-{short(each.high)})"


def share(each: Spread) -> str:
    """Returns the median of a ratio and its quartiles as text, with two decimals."""
    return f"{each.median:.2f} ({each.low:.2f}-{each.high:.2f})"


def headings(outcome: Outcome) -> list[str]:
    """Returns the headings of a table."""
    names = ["who", "setting", outcome.unit]
    if outcome.unit == "env steps/s":
        if outcome.frame_skip > 1:
            names.append(f"frames/s (x {outcome.frame_skip})")
        names.append("CPU us/step")
    ours = list(dict.fromkeys(name for row in outcome.rows for name in row.ratios))
    return [
        *names,
        *(outcome.comparison.format(name.removeprefix("parallel_pool.")) for name in ours),
    ]


def cells(outcome: Outcome, row: Row) -> list[str]:
    """Returns a row's cells, as many as there are headings."""
    role = ROLES.get(row.role, row.role)
    texts = [row.who, f"{row.setting} ({role})" if role else row.setting, spread(row.value)]
    if outcome.unit == "env steps/s":
        if outcome.frame_skip > 1:
            texts.append(short(row.value.median * outcome.frame_skip))
        texts.append(short(row.cpu_us.median) if row.cpu_us else "")
    texts += [spread(each, "x") for each in row.ratios.values()]
    return texts + [""] * (len(headings(outcome)) - len(texts))


def rich_table(outcome: Outcome) -> Table:
    """Returns the outcome as a table for a terminal."""
    from rich import box
    from rich.table import Table

    table = Table(
        title=outcome.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD
    )
    for i, name in enumerate(headings(outcome)):
        table.add_column(name, justify="left" if i < 2 else "right")
    for row in outcome.rows:
        table.add_row(*cells(outcome, row), style="bold cyan" if row.role == "ours" else "")
    return table


def markdown(outcomes: Iterable[Outcome], machine: dict[str, Any]) -> str:
    """Returns all outcomes as a Markdown page."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    parts = [
        "# Results\n",
        f"{machine['cpu']}, {machine['cores']} cores; {machine['system']}; Python"
        f" {machine['python']}; {machine['compiler']}; {versions}.\n",
        "Each cell is the median over the rounds, with quartiles in brackets; the method is in"
        " [benchmarks/README.md](../../README.md).\n",
    ]
    for outcome in outcomes:
        moment = outcome.moment
        names = headings(outcome)
        lines = [f"## {outcome.title}\n", "| " + " | ".join(names) + " |"]
        lines.append("|" + " --- |" * 2 + " ---: |" * (len(names) - 2))
        lines += ["| " + " | ".join(cells(outcome, row)) + " |" for row in outcome.rows]
        lines += ["", *(f"- bar: {bar}" for bar in outcome.bars)]
        lines += [f"- {note}" for note in outcome.notes]
        lines.append(
            f"- {outcome.rounds} rounds, {moment.get('time')}, commit {moment.get('commit')},"
            f" load {moment.get('load')}\n"
        )
        parts.append("\n".join(lines))
    return "\n".join(parts)


def family(name: str) -> str:
    """Returns the family of a scene."""
    for each, prefixes in FAMILIES.items():
        if name.startswith(prefixes):
            return each
    raise ValueError(f"scene {name!r} belongs to no family: add its prefix to report.FAMILIES")


def write(folder: Path, outcomes: Sequence[Outcome], machine: dict[str, Any]) -> list[Path]:
    """Writes results.json, results.md and a picture of each family that was measured.

    Scenes that the folder already holds stay. Scenes of games are in no family's picture, as they
    have pictures of their own.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    merged = {each.name: each for each in read(folder)}
    merged.update({each.name: each for each in outcomes})
    everything = list(merged.values())
    data = {"machine": machine, "scenes": [each.to_json() for each in everything]}
    files = [folder / f"results.{kind}" for kind in ("json", "md")]
    files[0].write_text(json.dumps(data, indent=1) + "\n")
    files[1].write_text(markdown(everything, machine))
    speeds = [each for each in everything if not each.is_of_games]
    measured = {family(each.name) for each in outcomes if not each.is_of_games}
    for name in sorted(measured):
        files.append(folder / f"{name}.png")
        plot([each for each in speeds if family(each.name) == name], machine, files[-1])
    return files


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns the lines of a table in Markdown, whose first column is text, and others numbers."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def page(title: str, how: str, *body: str) -> str:
    """Returns the page of a study in Markdown.

    Args:
        title: its heading.
        how: the command, and what was measured in which way; the page says on which machine.
        body: the lines below.
    """
    return "\n".join([f"# {title}", "", f"{summary()}, {how}", "", *body, ""])


def publish(text: str, out: Path | None) -> None:
    """Prints the page of a study, and writes it to a file if there is one."""
    print(text)
    if out is not None:
        out.write_text(text)


def read(folder: Path) -> list[Outcome]:
    """Returns the outcomes that a folder holds."""
    file = folder / "results.json"
    if not file.exists():
        return []
    return [Outcome.from_json(each) for each in json.loads(file.read_text())["scenes"]]


def plot(outcomes: Sequence[Outcome], machine: dict[str, Any], file: Path) -> None:
    """Draws a panel for each scene: a bar for each row, with whiskers at the quartiles."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = 1 if len(outcomes) <= COLUMN else 2
    lines = -(-len(outcomes) // columns)
    rows = [max(len(each.rows) for each in outcomes[i::lines]) for i in range(lines)]
    heights = [1.0 + 0.32 * each for each in rows]
    figure = Figure(figsize=(10 * columns, sum(heights) + 0.6), dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(lines, columns, squeeze=False, height_ratios=heights).T.ravel()
    for ax, outcome in zip(panels, outcomes, strict=False):
        _draw(ax, outcome)
    for ax in panels[len(outcomes) :]:
        ax.set_axis_off()
    figure.suptitle(
        f"{machine['cpu']}, {machine['cores']} cores. Medians with quartiles; 5x: parallel_pool is"
        " 5 times faster",
        x=0.01,
        ha="left",
        color=QUIET,
        fontsize=10,
    )
    figure.savefig(file)


def _draw(ax: Any, outcome: Outcome) -> None:
    """Draws the bars of one scene; ours are coloured."""
    values = [row.value for row in outcome.rows]
    places = range(len(values))
    colours = [OURS if row.role == "ours" else THEIRS for row in outcome.rows]
    errors = [
        [each.median - each.low for each in values],
        [each.high - each.median for each in values],
    ]
    ax.barh(
        places,
        [each.median for each in values],
        xerr=errors,
        color=colours,
        height=0.7,
        error_kw={"ecolor": INK, "elinewidth": 1},
    )
    labels = [f"{row.who} ({row.setting})" for row in outcome.rows]
    ax.set_yticks(list(places), labels, fontsize=9, color=INK)
    ax.invert_yaxis()
    top = max(each.high for each in values)
    for place, row in zip(places, outcome.rows, strict=True):
        text = short(row.value.median)
        if row.ratios:
            text += "".join(f"   {each.median:.3g}x" for each in row.ratios.values())
        ax.text(row.value.high + 0.01 * top, place, text, va="center", fontsize=9, color=INK)
    ax.set_xlim(0, 1.22 * top)
    ax.set_xticks([])
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.spines["left"].set_color(QUIET)
    ax.tick_params(length=0)
    # the layout reserves room for the height of a title, but not for its width
    title = textwrap.fill(f"{outcome.title}: {outcome.unit}", 70)
    ax.set_title(title, loc="left", fontsize=10, color=INK)
