"""The prover: equal ports are proven equal, and what it says and writes is of use."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from benchmarks.studies.planted_ports import PORT_TEXTS, PORTS, REFERENCES, ROOT
from parallel_pool import __main__ as cli
from parallel_pool import testing
from parallel_pool._engine import registry
from parallel_pool._prover import choices, lines, packing, policies, prove, target
from parallel_pool._prover.comparison import first_difference, is_same
from parallel_pool._prover.player import Player
from parallel_pool._prover.script import Case, Reset, Step
from parallel_pool._prover.settings import Settings
from parallel_pool.errors import SourceError
from tests.support.sampling import thinned
from tests.tools.check_sources import OF_CHECK

pytestmark = pytest.mark.proven(*OF_CHECK, "benchmarks/studies/ports")

F = np.float32
STEPS = 2000


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # compiled sooner, with the same bits
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


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=env)


# ------------------------------------------------------------------------------------- equal --


@pytest.mark.slow
@pytest.mark.parametrize("task_id", ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1", "Taxi-v4"])
def test_built_in_environments_equal_gymnasiums(task_id: str) -> None:
    proof = testing.prove(task_id, task_id, steps=STEPS)
    assert proof.steps >= STEPS and proof.episodes > 20
    assert proof.pictures > 10 and "errors that" not in " ".join(proof.not_covered)
    assert proof.report.startswith(f"# {task_id} and {task_id}\n\nNo difference was found")


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(list(PORT_TEXTS), 2))
def test_correct_ports_are_equal(name: str) -> None:
    proof = testing.prove(write(name), REFERENCES[name], steps=STEPS)
    assert proof.lines_reached > 20
    assert all(text for _, text in proof.lines_missed)


@pytest.mark.slow
def test_what_was_covered_is_said() -> None:
    env = write(
        "glider",
        ("  it->steps++;", "  if (it->height > 100)\n    it->height = 100;\n  it->steps++;"),
    )
    proof = testing.prove(env, str(PORTS / "glider.py"), steps=STEPS)
    assert [text for _, text in proof.lines_missed] == ["it->height = 100;"]
    assert 0 < proof.branches_reached < proof.branches
    assert set(proof.observations) == {f"obs[{at}]" for at in range(4)}
    assert proof.observations["obs[1]"][0] == pytest.approx(-0.3)
    assert proof.actions["action[0]"] == "-1 to 1"
    assert {"left", "score", "distance", "final_obs"} <= set(proof.infos)
    assert set(proof.options["fuel"]) == {"29", "30", "31"}
    assert proof.ends["terminated"] > 10 and proof.longest > 10
    assert "\nNever reached:\n" in proof.report and "it->height = 100;" in proof.report


@pytest.mark.slow
def test_coverage_says_why_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "gcov_command", lambda cpp: None)
    proof = testing.prove(write("cart"), "CartPole-v1", steps=300)
    assert proof.lines == 0
    assert "lines of the source: there is no gcov beside the compiler" in " ".join(
        proof.not_covered
    )


@pytest.mark.slow
def test_the_same_seed_plays_the_same() -> None:
    env = write("cart")
    one, other = (testing.prove(env, "CartPole-v1", steps=600, coverage=False) for _ in range(2))
    third = testing.prove(env, "CartPole-v1", steps=600, seed=1, coverage=False)
    assert (one.observations, one.sequences) == (other.observations, other.sequences)
    assert one.observations != third.observations


@pytest.mark.slow
def test_a_translated_class_equals_itself() -> None:
    Path("gliding.py").write_text((PORTS / "glider.py").read_text())
    Path("gliding.py").write_text(
        Path("gliding.py").read_text().replace("abs(self.speed)", "np.abs(self.speed)")
    )
    proof = testing.prove("gliding.py", "gliding.py:Glider", steps=600)
    assert proof.steps >= 600


# ------------------------------------------------------------------------------- differences --


@pytest.mark.slow
def test_a_difference_is_an_error_with_a_program() -> None:
    env = write("cart", ("0.02 * it->x_dot", "0.025 * it->x_dot"))
    with pytest.raises(testing.ContractError) as caught:
        testing.prove(env, "CartPole-v1", steps=STEPS, program="again.py")
    text = str(caught.value)
    assert "cart.c and CartPole-v1 differ: observation[0][0] differs, in step " in text
    assert " ulp, " in text and "the program above is in again.py" in text
    assert len(Path("again.py").read_text().splitlines()) < 25
    done = python("again.py")
    assert done.returncode == 1 and done.stdout.startswith("ours array("), done.stderr
    write("cart")
    assert python("again.py").returncode == 0


@pytest.mark.slow
def test_a_difference_is_shrunk() -> None:
    env = write("cart", ("it->x = it->x", "it->x = *(const int64_t *)action * 0.001 + it->x"))
    outcome = prove.run(env, "CartPole-v1", Settings(steps=STEPS, coverage=False))
    assert outcome.finding is not None
    script = outcome.finding.script
    assert (script.num_envs, len(script.events), script.case) == (1, 2, Case()), outcome.text
    assert "[([0], [1])]" in outcome.program
    assert "found.append(result[0][0][0])" in outcome.program


@pytest.mark.slow
def test_given_sequences_are_played() -> None:
    """A difference behind a lock of actions, which no search of some steps opens."""
    lock = "it->key = (it->key << 1 | *(const int64_t *)action) & 0xffff;"
    env = write(
        "cart",
        ("x, x_dot, theta, theta_dot;", "x, x_dot, theta, theta_dot;\n  int64_t key;"),
        (
            "  result->terminated =",
            f"  {lock}\n  if (it->key == 0x9b36) it->x += 1;\n  result->terminated =",
        ),
    )
    few: dict[str, Any] = {"steps": 100, "coverage": False}
    testing.prove(env, "CartPole-v1", **few)
    actions = [int(bit) for bit in f"{0x9B36:016b}"]
    with pytest.raises(testing.ContractError, match="in step 16"):
        testing.prove(env, "CartPole-v1", sequences=[(3, actions)], **few)
    files = ("--steps", "100", "--write-test", "test_cart.py")
    assert cli.main(["check", env, "--against", "CartPole-v1", *files]) == 0
    text = Path("test_cart.py").read_text()
    Path("test_cart.py").write_text(
        text.replace("SEQUENCES = [", f"SEQUENCES = [\n    (3, {actions}),")
    )
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_cart.py")
    assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout


@pytest.mark.slow
def test_errors_of_both_sides_are_named() -> None:
    text, step = (PORTS / "glider.py").read_text(), "        self.steps += 1\n"
    Path("failing.py").write_text(text.replace(step, f"{step}        assert self.steps < 9\n"))
    fails = 'if (it->steps >= 9) return pp_fail(env->error, PP_ERR_ENV, "no");'
    env = write(
        "glider",
        ('#include "pp_env.h"', '#include "base/fail.h"\n#include "pp_env.h"'),
        ("  it->steps++;", f"  it->steps++;\n  {fails}"),
    )
    proof = testing.prove(env, "failing.py", steps=600, coverage=False)
    assert "errors that both sides raised, the last: AssertionError" in " ".join(proof.not_covered)


@pytest.mark.slow
def test_a_reference_that_can_not_draw_is_named() -> None:
    Path("blind.py").write_text(
        "from gymnasium.envs.classic_control.cartpole import CartPoleEnv\n\n\n"
        "class Blind(CartPoleEnv):\n"
        "    def render(self):\n"
        "        raise RuntimeError('no display')\n"
    )
    proof = testing.prove("CartPole-v1", "blind.py:Blind", steps=300)
    assert proof.pictures == 0
    assert "the reference fails: RuntimeError: no display" in " ".join(proof.not_covered)


@pytest.mark.slow
def test_a_tolerance_is_kept_and_said() -> None:
    env = write("cart", ("it->x = it->x + 0.02 *", "it->x = it->x + 1e-9 + 0.02 *"))
    proof = testing.prove(env, "CartPole-v1", steps=600, tolerance=1e-4, coverage=False)
    assert "within a tolerance of 0.0001" in proof.report
    with pytest.raises(testing.ContractError):
        testing.prove(env, "CartPole-v1", steps=600, coverage=False)


@pytest.mark.slow
def test_an_older_version_is_a_reference() -> None:
    Path("old.c").write_text(PORT_TEXTS["cards"]())
    assert testing.prove("old.c", "old.c", steps=600, coverage=False).steps >= 600
    env = write("cards", ("LIMIT = 21", "LIMIT = 20"))
    with pytest.raises(testing.ContractError):
        testing.prove(env, "old.c", steps=STEPS, program="again.py")
    done = python("again.py")
    assert done.returncode == 1 and done.stdout.startswith("ours array("), done.stderr


CRASHES = {
    "a null pointer": (
        "it->steps++;",
        "it->steps++; if (it->steps == 4) *(volatile int *)0 = 1;",
        "SIGSEGV",
    ),
    "exit": ("it->steps++;", "it->steps++; if (it->steps == 4) exit(0);", "status 0"),
    "an endless loop": (
        "it->steps++;",
        "it->steps++; for (volatile int k = it->steps; k == 4;) {}",
        "within 1 s",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CRASHES)
def test_a_crash_is_a_difference(kind: str) -> None:
    old, new, words = CRASHES[kind]
    head = ("#include <math.h>", "#include <math.h>\n#include <stdlib.h>")
    env = write("glider", (old, new), head)
    settings = Settings(steps=STEPS, coverage=False)
    if kind == "an endless loop":
        # others end at once, and must not seem endless on a busy machine
        settings = replace(settings, timeout=1.0)
    outcome = prove.run(env, str(PORTS / "glider.py"), settings)
    assert outcome.finding is not None and words in outcome.text
    assert "process differs, in step 4, seed" in outcome.text, outcome.text
    compile(outcome.program, "again.py", "exec")


def test_an_environment_that_can_not_be_loaded_is_refused() -> None:
    Path("wrong.c").write_text(PORT_TEXTS["cart"]() + "\nsyntax error\n")
    with pytest.raises(SourceError, match=r"wrong\.c does not compile"):
        testing.prove("wrong.c", "CartPole-v1")
    env = write("cart", ('.id = "port/Cart-v1"', '.id = "CartPole-v1"'))
    with pytest.raises(ValueError, match="is taken, it is built in"):
        testing.prove(env, "CartPole-v1")


@pytest.mark.parametrize(
    ("against", "settings", "message"),
    [
        ("Nothing-v7", {}, "no environment 'Nothing-v7'"),
        ("nothing:Here", {}, "nothing:Here can't be imported"),
        ("math:Here", {}, "math has no 'Here'"),
        ("CartPole-v1", {"steps": 0}, "steps=0: give a number above 0"),
        ("CartPole-v1", {"tolerance": -1}, "tolerance=-1: give 0"),
        ("CartPole-v1", {"modes": ["never"]}, "choose from next_step, same_step, disabled"),
        pytest.param(
            *("CartPole-v1", {"options": {"tau": [0.1]}}, "reference"), marks=pytest.mark.slow
        ),
    ],
)
def test_wrong_arguments_are_refused(against: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, testing.ContractError), match=message):
        testing.prove("CartPole-v1", against, **settings)


@pytest.mark.slow
def test_options_are_combined() -> None:
    options = {"wind": [0.1, 0.3], "fuel": 7}
    env = write("glider")
    proof = testing.prove(env, str(PORTS / "glider.py"), options=options, steps=600, coverage=False)
    assert set(proof.options["wind"]) == {"0.1", "0.3"} and set(proof.options["fuel"]) == {"7"}


# ----------------------------------------------------------------------------------- command --


@pytest.mark.slow
def test_the_command_writes_report_test_and_program(capsys: pytest.CaptureFixture[str]) -> None:
    env = write("cards")
    files = ("--report", "report.md", "--write-test", "test_cards.py", "--steps", "600")
    assert cli.main(["check", env, "--against", "Blackjack-v1", *files]) == 0
    printed = capsys.readouterr().out
    assert "cards.c and Blackjack-v1 agree with the same bits" in printed
    assert "never reached: line" in printed
    assert Path("report.md").read_text().startswith("# cards.c and Blackjack-v1\n")
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_cards.py")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout
    write("cards", ("DEALER_STICKS = 17", "DEALER_STICKS = 18"))
    assert cli.main(["check", env, "--against", "Blackjack-v1", *files]) == 1
    assert "the program above is in difference_cards.py" in capsys.readouterr().out
    assert "**They differ**" in Path("report.md").read_text()
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_cards.py")
    assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout
    assert python("difference_cards.py").returncode == 1


@pytest.mark.slow
def test_the_command_takes_lists_of_options(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "Blackjack-v1", "--against", "Blackjack-v1", "--steps", "300"]
    assert cli.main([*arguments, "--option", "sab=True,False", "--report", "r.md"]) == 0
    text = Path("r.md").read_text()
    assert "| True | " in text and "| False | " in text
    assert cli.main([*arguments, "--report", "no/folder.md"]) == 1
    assert "there is no folder 'no': make it" in capsys.readouterr().err


# ------------------------------------------------------------------------------------- parts --


def test_comparison_finds_the_first_place() -> None:
    nan, zeros = np.array([np.nan, 1.0]), np.array([0.0, -0.0])
    # NaN of both signs, which have other bits
    assert is_same(nan, np.array([-np.nan, 1.0])) and not is_same(nan, nan[::-1])
    assert not is_same(zeros, np.abs(zeros))
    assert is_same({"a": (1, [2.0])}, {"a": (1, [2.0])})
    assert not is_same((1,), [1])
    found = first_difference(
        {"a": {"b": np.array([[1.0, 2.0]])}}, {"a": {"b": np.array([[1.0, 3.0]])}}
    )
    assert found is not None and found.path == ("a", "b", 0, 1) and found.kind == "value"
    found = first_difference(np.array([F(1)]), np.array([np.nextafter(F(1), F(2))]))
    assert found is not None and found.ulp == 1
    found = first_difference(np.array([-0.0]), np.array([np.nextafter(0.0, 1.0)]))
    assert found is not None and found.ulp == 1
    kinds = [
        (np.zeros(2), np.zeros(2, F), "dtype"),
        (np.zeros(2), np.zeros(3), "shape"),
        ({"a": 1}, {"b": 1}, "keys"),
        ({"a": 1}, 1, "type"),
    ]
    for one, other, kind in kinds:
        found = first_difference(one, other)
        assert found is not None and found.kind == kind
    objects = np.array([None, np.zeros(2)], object), np.array([None, np.ones(2)], object)
    found = first_difference(*objects)
    assert found is not None and found.path == (1, 0)
    assert not is_same(np.array([None], object), np.array([1], object))
    assert first_difference(np.array([1.0]), np.array([1.1]), tolerance=0.2) is None


def test_messages_are_packed_without_a_loss() -> None:
    events = [Reset((1, 2)), *[Step(np.full((2, 3), at, F)) for at in range(5)], Reset(None)]
    again = packing.unpack_events(packing.pack_events(events))
    assert [type(each) for each in again] == [type(each) for each in events]
    player = Player(gymnasium.make_vec("FrozenLake-v1", 2, max_episode_steps=3), Case())
    play = [Reset((1, 2)), *[Step(np.array([1, 2])) for _ in range(9)], Reset(None)]
    results = [player.play(event) for event in play]
    player.close()
    results += [{"one": np.zeros(2)}] * 5 + [{"one": np.zeros(3)}] * 5 + [{"one": np.zeros(3, F)}]
    unpacked = packing.unpack_results(packing.pack_results(results))
    assert len(unpacked) == len(results)
    for one, other in zip(unpacked, results, strict=True):
        assert list(one) == list(other) and is_same(one, other)


def test_actions_lie_in_their_space() -> None:
    rng = np.random.default_rng(0)
    for space in (
        gymnasium.spaces.Discrete(3, start=-1),
        gymnasium.spaces.MultiDiscrete([2, 5]),
        gymnasium.spaces.MultiBinary(4),
        gymnasium.spaces.Box(-1.5, np.float32(0.1), (2, 2), np.float32),
        gymnasium.spaces.Box(0, 255, (3,), np.uint8),
        gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64),
    ):
        for policy in policies.NAMES:
            drawn = policies.actions(space, policy, 40, 3, rng)
            assert drawn.shape == (40, 3, *space.shape) and drawn.dtype == space.dtype
            assert all(space.contains(drawn[at, 0]) for at in range(40))
        assert space.contains(policies.simplest(space)[()])
    with pytest.raises(ValueError, match="the prover takes Discrete"):
        policies.actions(gymnasium.spaces.Text(3), "random", 2, 1, rng)


def test_values_near_the_default_keep_to_the_range() -> None:
    found = registry.find("Pendulum-v1").options["g"]
    assert choices.near(found) == [12.5, 5.0]
    ours, theirs = target.native("Pendulum-v1").facts(), target.reference("Pendulum-v1").facts()
    combinations, unvaried = choices.guessed(ours, theirs)
    assert combinations == [{}, {"g": 12.5}, {"g": 5.0}] and "m" in unvaried
    assert len(choices.combined({"a": [1, 2], "b": (3, 4), "c": 5})) == 4
