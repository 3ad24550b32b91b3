"""In pictures of the demo and the benchmarks no text is cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from benchmarks.harness import report
from parallel_pool._bench.outcome import Outcome
from parallel_pool._demo import picture
from parallel_pool._demo.speeds import Speed, runners

RESULTS = Path(report.__file__).parents[1] / "results" / "amd-epyc-2-cores"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are saved, in order."""
    figures: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, *arguments: Any, **settings: Any) -> None:
        save(figure, *arguments, **settings)
        figures.append(figure)

    monkeypatch.setattr(Figure, "savefig", keep)
    return figures


def texts(figure: Figure) -> Iterator[tuple[str, float, float]]:
    """Texts with their left and right ends, in fractions of the figure's width."""
    for text in figure.findobj(Text):
        if text.get_text() and text.get_visible():
            extent = text.get_window_extent()
            yield text.get_text(), extent.x0 / figure.bbox.width, extent.x1 / figure.bbox.width


@pytest.mark.slow
@pytest.mark.parametrize("best", [1.0, 888.0, 24_600.0, 888_000.0, 46_800_000.0, 8.88e9])
def test_the_demos_numbers_stay_within_the_margins(
    best: float, drawn: list[Figure], tmp_path: Path
) -> None:
    all_runners = runners()
    # the best has the longest bar, but the next one may have the longer number
    speeds = [Speed(each, best / (1 + 0.012 * i)) for i, each in enumerate(all_runners)]
    picture.draw(speeds, np.zeros((854, 654, 3), np.uint8), tmp_path / "demo.png")
    (figure,) = drawn
    written = [text for text, _, _ in texts(figure)]
    assert {picture.rounded(each.steps_per_second, picture.WORDS) for each in speeds} <= {*written}
    # a name and a number each, and a title for each task
    assert len(written) > 2 * len(speeds) + len({each.task for each in all_runners})
    for text, left, right in texts(figure):
        assert left > 0.0299 and right < 0.9701, text


@pytest.mark.slow
def test_the_benchmarks_titles_end_within_the_picture(drawn: list[Figure], tmp_path: Path) -> None:
    machine = json.loads((RESULTS / "results.json").read_text())["machine"]
    # games have pictures of their own
    outcomes = [each for each in report.read(RESULTS) if not each.is_of_games]
    longer = Outcome.from_json(outcomes[0].to_json())
    longer.title = "a scene that is not easily said in so few words, " * 3 + "as others are"
    report.plot([*outcomes, longer], machine, tmp_path / "family.png")
    (figure,) = drawn
    written = " ".join(" ".join(text.split()) for text, _, _ in texts(figure))
    assert all(each.title in written for each in [*outcomes, longer])
    for text, left, right in texts(figure):
        assert left >= 0 and right <= 1, text
