"""Every program in examples/ runs as written and shows what its head says; the page lists it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.examples import CLUSTER, EXAMPLES, FOLDER, output_of

# what a program prints, if its numbers are the same on every machine
SHOWN = {
    "dm_env_steps": r"1000 steps: \d+ episodes, \d\d+ of them up to the time limit",
    "gymnasium_make": r"\d+ steps of .* are those of .*, bit by bit",
    "gymnasium_make_vec": r"\d{4} episodes",
    "gymnax_lookahead": r"32 environments, 100 steps .*: 0 episodes ended",
    "jax_search": r"best of 256 policies: 500 steps",
    "leases": r"seed 1: a step took too long",
    "minari_dataset": r"32 episodes, 16000 steps\nmean return 500",
    "mujoco_batch": r"a rule: 0 falls in 400 steps of 256 worlds",
    "openenv_sessions": r"4800 steps of 8 sessions: \d+ episodes",
    "own_env": r"example/Guess-v0: \d+ games, 3\.[34] guesses for each",
    "pettingzoo_agents": r"at random: .* -2\d\.\d\nby the rule: .* -1\d\.\d",
    "pettingzoo_game": r"after \d+ moves player_[01] has won",
    "python_workers": r"fell off the cliff, in environments \(0, 2, 3, 7\)",
}

# what a program needs that may be missing
NEEDS = {
    "minari_dataset": "minari",
    "mujoco_batch": "mujoco.batch",
    "openenv_sessions": "uvicorn",
}


def head(name: str) -> str:
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text()))
    assert text is not None, f"{name}.py does not say what it shows"
    return text


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != CLUSTER])
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{name}.py needs {NEEDS[name]}")
    assert re.search(SHOWN.get(name, r"\w"), output_of(name, tmp_path))


def test_heads_say_how_to_run_a_program() -> None:
    for name in EXAMPLES:
        assert re.search(rf"^Run: python examples/{name}\.py\b", head(name), re.MULTILINE), name


def test_the_page_lists_every_file() -> None:
    page = (FOLDER / "README.md").read_text()
    listed = re.findall(r"^\| \[(\w+\.\w+)\]\(\1\) \|", page, re.MULTILINE)
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".py", ".c")}
    assert sorted(listed) == sorted(files) and len(files) >= 12
