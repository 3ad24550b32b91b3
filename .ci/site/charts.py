"""The benchmarks' charts and menu: the committed results, as a script that the page loads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pages

# Groups of scenes in the page's menu, by a pattern of names; the first that matches counts.
GROUPS = {
    "Python environments": r"cartpole-python|image|exponential|workers|idle-workers",
    "Classic control": r"cartpole|engine-overhead",
    "Toy text": r"frozen-lake|taxi",
    "MiniGrid": r"minigrid",
    "Procgen": r"procgen",
    "Atari": r"pong|breakout|atari|create-pong",
    "MuJoCo": r"ant|halfcheetah|hopper|walker2d|humanoid|create-ant",
    "Control Suite": r"cheetah-run",
    "Gymnasium-Robotics": r"fetch",
    "Box2D": r"lunar-lander|bipedal-walker|car-racing",
}
PLACE = '<div id="charts"></div>'
PAGE = """<div id="charts"><noscript>The charts need JavaScript; the tables do not.</noscript></div>
<script src="assets/chart-data.js"></script>"""


def results(root: Path) -> list[Path]:
    """Returns the files with the results of each machine's full benchmark."""
    return sorted(root.glob("benchmarks/results/*/results.json"))


def menu(root: Path = pages.ROOT) -> list[tuple[str, Any]]:
    """Returns titles and pages of the results, by machine."""
    return [
        (
            machine(json.loads(file.read_text()), file.parent.name)["name"],
            [
                (
                    page.stem.replace("-", " ").capitalize(),
                    f"benchmarks/results/{file.parent.name}/{page.name}",
                )
                for page in sorted(file.parent.glob("*.md"))
            ],
        )
        for file in results(root)
    ]


def write(target: Path, root: Path = pages.ROOT) -> None:
    """Puts charts into the page of benchmarks, and their data beside it."""
    page = target / "benchmarks.md"
    text = page.read_text()
    if text.count(PLACE) != 1:
        raise ValueError(f"docs/benchmarks.md needs one line {PLACE}")
    page.write_text(text.replace(PLACE, PAGE))
    files = results(root)
    machines = [machine(json.loads(file.read_text()), file.parent.name) for file in files]
    data = json.dumps(machines, separators=(",", ":"))
    pages.write_text(target / "assets/chart-data.js", f"window.parallelPoolResults = {data};\n")


def machine(results: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns what the charts show of one machine's results."""
    facts = results["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items() if v)
    scenes = [scene(each) for each in results["scenes"]]
    order = list(GROUPS)
    return {
        "name": f"{plain(facts['cpu'])}, {facts['cores']} cores",
        "page": f"{name}/results/",
        "versions": f"Python {facts['python']}, {versions}",
        "scenes": sorted(scenes, key=lambda each: order.index(each["group"])),
    }


def plain(cpu: str) -> str:
    """Returns a processor's name without trade marks."""
    return re.sub(r"\(R\)|\(TM\)| Processor", "", cpu).strip()


def group(name: str) -> str:
    """Returns the group of a scene."""
    for title, pattern in GROUPS.items():
        if re.match(rf"(?:{pattern})(?:-|$)", name):
            return title
    raise ValueError(f"scene {name!r} is in none of GROUPS in .ci/site/charts.py")


def scene(result: dict[str, Any]) -> dict[str, Any]:
    moment = result["moment"]
    return {
        "group": group(result["name"]),
        "title": result["title"],
        "unit": result["unit"],
        "series": series(result),
        "note": f"{result['rounds']} rounds, {moment['time'][:10]}, commit {moment['commit']}",
        "rows": [row(each) for each in result["rows"]],
    }


def series(result: dict[str, Any]) -> list[str]:
    """Returns what each bar of a game is, in a scene whose rows are games; else an empty list."""
    comparison, first = result["comparison"], result["rows"][0]
    if "faster" in comparison:
        return []
    than_others = comparison.startswith("x ")
    return [
        f"times as fast as {who}" if than_others else f"{who}: times as fast as {first['setting']}"
        for who in first["ratios"]
    ]


def row(result: dict[str, Any]) -> dict[str, Any]:
    """Returns one row; numbers have four digits, as the tables have three."""
    return {
        "who": result["who"],
        "setting": result["setting"],
        "ours": result["role"] == "ours",
        "value": quartiles(result["value"]),
        "cpu": result["cpu_us"] and quartiles(result["cpu_us"]),
        "ratios": {who: quartiles(value) for who, value in result["ratios"].items()},
    }


def quartiles(value: dict[str, float]) -> list[float]:
    return [float(f"{value[key]:.4g}") for key in ("low", "median", "high")]
