"""The quadruped with randomised friction, payload and gains, and pushes; tested outside the ranges.

    python -m integration.training.quadruped_randomised --seeds 1 2 3

It trains one agent in the same world all the time and one with `TRAINED`, and measures both in
worlds that neither has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from integration.training import quadruped
from integration.training.quadrupeds import Ranges

TRAINED = Ranges(friction=(0.4, 1.6), payload=(0.0, 2.0), gain=(0.75, 1.25), push=0.6)
COMMAND = (0.5, 0.0)
# what is outside of what either agent was trained with
TESTS = {
    "as trained without": Ranges(),
    "within the ranges": TRAINED,
    "slippery: friction x 0.2": Ranges(friction=(0.2, 0.2)),
    "loaded: 4 kg, as heavy as the trunk": Ranges(payload=(4.0, 4.0)),
    "weak: gain x 0.5": Ranges(gain=(0.5, 0.5)),
    "pushed: up to 1.5 m/s": Ranges(push=1.5),
    "all of it, by half": Ranges((0.3, 0.3), (3.0, 3.0), (0.65, 0.65), 1.0),
}
AGENTS = {"one world": Ranges(), "randomised": TRAINED}


def draw(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws falls and errors of both agents in each test, means of seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    titles = {"falls": "falls a minute", "error": "error of the speed, m/s"}
    for axes, (key, title) in zip(panels, titles.items(), strict=True):
        for offset, name in zip((-0.2, 0.2), AGENTS, strict=True):
            means = [
                np.mean([each["tests"][test][key] for each in results if each["name"] == name])
                for test in TESTS
            ]
            axes.barh(np.arange(len(TESTS)) + offset, means, 0.38, label=name)
        axes.set(title=title, yticks=range(len(TESTS)), yticklabels=list(TESTS))
        axes.grid(axis="x", alpha=0.3)
    panels[0].invert_yaxis()
    panels[1].legend()
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains both agents with each seed, and writes the results."""
    options = quadruped.arguments_of("quadruped_randomised", __doc__).parse_args(arguments)
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    results = []
    for seed in options.seeds:
        for name, ranges in AGENTS.items():
            agent, result = quadruped.trained(
                *(ranges, quadruped.settings_of(options, seed), options.minutes),
                *(options.worlds, options.threads),
            )
            tests = {key: quadruped.followed(agent, COMMAND, own) for key, own in TESTS.items()}
            for key, found in tests.items():
                print(f"{name:12} {key:38} {found}", flush=True)
            results.append({"name": name, "ranges": asdict(ranges), **result, "tests": tests})
    quadruped.write({"runs": results}, options, options.out / "quadruped_randomised.json")
    quadruped.draw_curves(results, options.out / "quadruped_randomised_curves.png")
    draw(results, options.out / "quadruped_randomised.png")


if __name__ == "__main__":
    main()
