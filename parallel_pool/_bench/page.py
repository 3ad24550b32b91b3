"""The page of the quick benchmark: machines side by side, in one HTML file that loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from parallel_pool._bench.numbers import SYMBOLS, rounded
from parallel_pool._bench.outcome import Row
from parallel_pool._bench.quick_scenes import MEANS
from parallel_pool._bench.record import Measured, Record
from parallel_pool._bench.table import per_core, quartiles, times, times_text

LEGEND = (
    "steps/s: steps of all environments together, random actions, automatic resets: the median of"
    " the rounds, in which all players took turns. per core: steps per second of CPU time, of all"
    " threads and processes. ours is: how many times as fast parallel_pool was in the same rounds."
    " Every player had a process of its own, and those with settings had ours; the full benchmark"
    " (make bench in a clone) also finds each rival's best."
)


def of(records: Sequence[Record], reference: Record, label: str = "") -> str:
    """Returns the page of some machines, which have a label, beside the reference."""
    machines = [*records, reference]
    labels = [*([label] * len(records)), "reference"]
    scenes = {scene.name: scene for each in reversed(machines) for scene in each.scenes}
    # in the order of the reference, then others
    names = [scene.name for scene in reference.scenes]
    names += [name for name in scenes if name not in names]
    title = "parallel_pool, " + " and ".join(each.name for each in machines)
    style = files("parallel_pool._bench").joinpath("page.css").read_text("utf-8")
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{style}</style></head><body><main>",
        "<h1>parallel_pool: the quick benchmark</h1>",
        f'<p class="quiet">{escape(LEGEND)}</p>',
        _summary(machines, [scenes[name] for name in names]),
        *(_section(scenes[name], machines, labels) for name in names),
        "<h2>Machines</h2>",
        _grid(_machine(each, label) for each, label in zip(machines, labels, strict=True)),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _grid(parts: Iterable[str]) -> str:
    return '<div class="grid">\n' + "\n".join(parts) + "\n</div>"


def _find(record: Record, name: str) -> Measured | None:
    return next((scene for scene in record.scenes if scene.name == name), None)


def _ours(scene: Measured | None) -> Row | None:
    rows = scene.rows if scene else []
    return next((row for row in rows if row.role == "ours"), None)


def _summary(machines: Sequence[Record], scenes: Sequence[Measured]) -> str:
    """Returns a table: our speed in each scene on each machine, and the ratio to the fastest."""
    head = "".join(f"<th>{escape(each.name)}</th>" for each in machines)
    lines = []
    for scene in scenes:
        cells = "".join(_summary_cell(_find(each, scene.name)) for each in machines)
        link = f'<a href="#{escape(scene.name)}">{escape(scene.title)}</a>'
        lines.append(f"<tr><th>{link}</th>{cells}</tr>")
    table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<h2>parallel_pool, and the fastest other player</h2><div class="wide">{table}</div>'


def _summary_cell(scene: Measured | None) -> str:
    ours = _ours(scene)
    if scene is None or ours is None:
        return '<td class="quiet">not measured</td>'
    ratios = [(ratio, row.who) for row in scene.rows if (ratio := times(row)) is not None]
    text = f"<b>{_rate(ours.value.median)}</b>"
    if ratios:
        ratio, who = min(ratios)
        text += f"<small>{times_text(ratio)} {escape(who)}</small>"
    return f"<td>{text}</td>"


def _rate(value: float, unit: str = "steps/s") -> str:
    return f"{rounded(value, SYMBOLS)} <i>{unit}</i>"


def _section(scene: Measured, machines: Sequence[Record], labels: Sequence[str]) -> str:
    """Returns the panels of one scene, whose bars have the same scale."""
    found = [_find(each, scene.name) for each in machines]
    rows = [row for each in found if each for row in each.rows]
    top = max((row.value.median for row in rows), default=1.0)
    panels = [
        _panel(each, machine, label, top)
        for each, machine, label in zip(found, machines, labels, strict=True)
    ]
    means = MEANS.get(scene.name, "")
    if scene.frame_skip > 1:
        means += f" frames/s are steps/s x {scene.frame_skip}."
    head = f'<h2 id="{escape(scene.name)}">{escape(scene.title)}</h2><p>{escape(means)}</p>'
    return f"<section>{head}{_grid(panels)}</section>"


def _panel(scene: Measured | None, machine: Record, label: str, top: float) -> str:
    parts = [_name(machine, label)]
    if scene is None or not scene.played:
        parts.append('<p class="quiet">not measured</p>')
    else:
        parts += [_player(row, scene.frame_skip, top) for row in scene.rows]
    if scene:
        parts += [f'<p class="lost">{escape(line)}</p>' for line in (*scene.lost, *scene.lacks)]
    return f'<div class="panel">{"".join(parts)}</div>'


def _name(machine: Record, label: str) -> str:
    text = f"<h3>{escape(machine.name)}"
    return f"{text} <span>{escape(label)}</span></h3>" if label else f"{text}</h3>"


def _player(row: Row, frame_skip: int, top: float) -> str:
    """Returns a player's bar with its numbers."""
    ratio = times(row)
    kind = " ours" if row.role == "ours" else ""
    width = max(0.3, 100 * row.value.median / top)
    facts = [
        f"quartiles {quartiles(row)} <i>steps/s</i>",
        f"{_rate(per_core(row))} <i>per core</i>",
    ]
    if frame_skip > 1:
        facts.insert(0, _rate(frame_skip * row.value.median, "frames/s"))
    versus = "" if ratio is None else f"<em>ours is {times_text(ratio)}</em>"
    return (
        f'<div class="player{kind}"><div class="line"><span>{escape(row.who)}'
        f" <small>{escape(row.setting)}</small></span>"
        f"<b>{_rate(row.value.median)}</b></div>"
        f'<div class="bar"><div style="width:{width:.2f}%"></div></div>'
        f'<div class="line quiet"><span>{", ".join(facts)}</span>{versus}</div></div>'
    )


def _machine(record: Record, label: str) -> str:
    facts = record.facts
    versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items() if v)
    lines = {
        "processor": f"{facts['cpu']}, {facts['cores']} cores usable",
        "system": facts["system"],
        "Python": facts["python"],
        "packages": versions,
        "measured": f"{facts['time']}, load {facts.get('load', 'unknown')}"
        + ("" if record.is_complete else "; interrupted"),
        "not installed": "; ".join(record.lacks),
    }
    body = "".join(
        f"<dt>{name}</dt><dd>{escape(str(text))}</dd>" for name, text in lines.items() if text
    )
    return f'<div class="panel">{_name(record, label)}<dl>{body}</dl></div>'
