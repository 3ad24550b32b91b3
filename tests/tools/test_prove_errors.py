"""The prover: errors and crashes of both sides, texts, and more steps than there is time for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from benchmarks.studies.planted_ports import PORT_TEXTS, PORTS
from parallel_pool import testing
from parallel_pool._engine import registry
from parallel_pool._prover import prove
from parallel_pool._prover.match import Match
from parallel_pool._prover.script import Case, Reset, Script, Step
from parallel_pool._prover.settings import Settings
from parallel_pool._prover.tally import Tally


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CFLAGS", "-O1")
    monkeypatch.chdir(tmp_path)


def write(name: str, *edits: tuple[str, str]) -> str:
    """Writes a port with edits; returns its file."""
    text = PORT_TEXTS[name]()
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    Path(f"{name}.c").write_text(text)
    return f"{name}.c"


# -------------------------------------------------------------------------- errors of both sides --


def failing(step: int) -> tuple[str, str]:
    """Returns a port and its reference, which fail at the same step."""
    text, line = (PORTS / "glider.py").read_text(), "        self.steps += 1\n"
    text = text.replace(line, f"{line}        assert self.steps < {step}\n")
    # no other end, so that each script ends there
    for end in ("bool(self.height <= 0 or self.height > 4)", "self.steps >= 40"):
        assert text.count(end) == 1
        text = text.replace(end, "False")
    Path("failing.py").write_text(text)
    fails = f'if (it->steps >= {step}) return pp_fail(env->error, PP_ERR_ENV, "no");'
    env = write(
        "glider",
        ('#include "pp_env.h"', '#include "base/fail.h"\n#include "pp_env.h"'),
        ("  it->steps++;", f"  it->steps++;\n  {fails}"),
        ("it->height <= 0 || it->height > 4", "0"),
        ("it->steps >= 40", "0"),
    )
    return env, "failing.py"


@pytest.mark.slow
def test_steps_after_an_error_of_both_sides_are_not_counted() -> None:
    env, reference = failing(2)
    proof = testing.prove(env, reference, steps=600, coverage=False)
    errors = next(each for each in proof.not_covered if "errors that both sides raised" in each)
    count = int(errors.split()[2])
    # one step of each of few environments of a script, and the next one fails
    assert 0 < proof.steps <= 10 * count
    assert all(sum(each.values()) == proof.steps for each in proof.options.values())


@pytest.mark.slow
def test_lines_are_counted_up_to_an_error_of_both_sides() -> None:
    """The error is in the first of several parts of a script."""
    env, reference = failing(100)
    proof = testing.prove(env, reference, steps=4000)
    assert proof.lines_reached > 20


class Crashing:
    """A side whose process ends in the second event."""

    facts: Any = None
    spaces = (gymnasium.spaces.Box(-1, 1, (1,)), gymnasium.spaces.Discrete(2))

    def __init__(self) -> None:
        self.begun = 0

    def open(self, case: Case, num_envs: int) -> str:
        return ""

    def begin(self, events: Any) -> None:
        self.begun += 1

    def finish(self) -> list[dict[str, Any]]:
        return [{"observation": np.zeros((1, 1)), "info": {}}, {"process": "it ended"}]

    def close(self) -> None:
        pass


def test_a_crash_of_both_sides_is_an_error_of_both() -> None:
    sides = Crashing(), Crashing()
    # of several parts
    events = (Reset((0,)), *[Step(np.zeros(1, np.int64))] * 600)
    script, tally = Script(Case(), 1, events), Tally()
    tally.add_script(script, {"wind": 3})
    found = Match(*sides, 0.0).play(
        script, see=lambda part, results: tally.add(part, results, Crashing.spaces)
    )
    assert found is None and [side.begun for side in sides] == [1, 1]
    assert (tally.errors, tally.error, tally.resets, tally.steps) == (1, "it ended", 1, 0)


@pytest.mark.slow
def test_more_steps_than_there_is_time_for_are_not_drawn() -> None:
    begun = time.monotonic()
    proof = testing.prove("CartPole-v1", "CartPole-v1", steps=10**8, seconds=1, coverage=False)
    assert time.monotonic() - begun < 30
    assert "the rest of the search: its seconds were over" in proof.not_covered


# -------------------------------------------------------------------------------------- pictures --


@pytest.mark.slow
def test_pictures_are_compared_before_the_time_is_over() -> None:
    env = write("glider", ("int line = 7 - (int)(clipped * 2)", "int line = (int)(clipped * 2)"))
    outcome = prove.run(env, str(PORTS / "glider.py"), Settings(steps=2000, coverage=False))
    assert outcome.finding is not None and outcome.finding.difference.path[0] == "pictures"
    # before all sweeps, which take time
    assert outcome.proof.steps == 0 and "pictures: " not in outcome.proof.report


@pytest.mark.slow
def test_it_is_said_that_no_picture_was_compared() -> None:
    env, reference = write("glider"), str(PORTS / "glider.py")
    proof = testing.prove(env, reference, seconds=1e-9, coverage=False)
    assert proof.pictures == proof.steps == 0
    assert "pictures: none was compared" in proof.not_covered
    assert "\n- pictures: none was compared\n" in proof.report
    proof = testing.prove(env, reference, steps=300, coverage=False)
    assert proof.pictures > 10 and "pictures" not in " ".join(proof.not_covered)


@pytest.mark.slow
def test_a_reference_that_is_not_made_with_a_render_mode_is_named() -> None:
    text = (PORTS / "glider.py").read_text().replace("render_mode: str | None", "mode: str | None")
    Path("modeless.py").write_text(text.replace("= render_mode", "= mode"))
    proof = testing.prove(write("glider"), "modeless.py", steps=300, coverage=False)
    failing = next(each for each in proof.not_covered if each.startswith("pictures: "))
    assert "the reference fails: TypeError: " in failing and "'render_mode'" in failing


# ---------------------------------------------------------------------------------------- spaces --


@pytest.mark.slow
def test_observations_that_are_texts() -> None:
    proof = testing.prove("test/Orders-v0", "test/Orders-v0", steps=2000)
    assert proof.steps > 1000 and proof.cells > 10
    assert "what spaces of these kinds hold: Text" in proof.not_covered
