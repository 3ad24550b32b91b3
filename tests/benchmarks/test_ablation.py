"""The study of the engine's mechanisms: its edits fit the sources, and its builds play."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.studies import ablation
from benchmarks.studies.ablation import CONTROL, FULL, MECHANISMS, SCENES, Edit, Mechanism
from parallel_pool._bench.rounds import Sample


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: each.name.replace(" ", "_"))
def test_the_edits_of_a_mechanism_fit_the_sources(mechanism: Mechanism) -> None:
    for path, text in ablation.edited(mechanism).items():
        # only a C file: objects that include an edited header would be needed again
        assert path.endswith(".c")
        assert text != (ablation.ROOT / "csrc" / path).read_text()


def test_an_anchor_that_is_not_there_once_is_an_error() -> None:
    for anchor, times in (("no such text", 0), ("return", 2)):
        wrong = replace(MECHANISMS[0], edits=(Edit("threads/leftover.c", anchor, ""),))
        with pytest.raises(LookupError, match=rf"{anchor}.* in csrc/threads/leftover.c"):
            ablation.edited(wrong)
        assert (ablation.ROOT / "csrc/threads/leftover.c").read_text().count(anchor) >= times


def test_ratios_are_to_the_full_engine() -> None:
    full, half = Sample(3_000_000, 1.0, 3.0), Sample(3_000_000, 2.0, 12.0)
    played = {FULL: [full], CONTROL: [full], "shards": [half]}
    scene = SCENES[0]
    assert ablation.row(scene, played, cpu=False) == (
        f"| {scene.name} | 3.00 | 1.00 (1.00-1.00) | 0.50 (0.50-0.50) |"
    )
    assert ablation.row(scene, played, cpu=True) == (
        f"| {scene.name} | 1000.0 | 1.00 (1.00-1.00) | 4.00 (4.00-4.00) |"
    )


def test_the_fastest_turn_counts_and_the_median_of_cpu_time() -> None:
    turns = [Sample(100, 1.0, 3.0), Sample(200, 1.0, 2.0), Sample(100, 2.0, 0.5)]
    assert ablation.best(turns) == Sample(1, 0.005, 0.01)


@pytest.mark.slow
def test_the_builds_play(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "ablation.md"
    scenes = ("CartPole 16", "CartPole 1024/512")
    without = [each.name for each in MECHANISMS]
    arguments = ["--quick", "--rounds", "1", "--out", str(page), "--scenes", *scenes]
    assert ablation.main([*arguments, "--without", *without]) == 0
    assert page.read_text() == capsys.readouterr().out
    for name in scenes:
        assert page.read_text().count(f"| {name} |") == 2
