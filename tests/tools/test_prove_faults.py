"""The prover: what it writes, where, and what names mean."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.studies.planted_ports import PORT_TEXTS
from parallel_pool import __main__ as cli
from parallel_pool import testing
from parallel_pool._engine import registry
from parallel_pool._prover import committed, program, prove
from parallel_pool._prover.comparison import Difference
from parallel_pool._prover.match import Finding
from parallel_pool._prover.script import Case, Reset, Script, Step
from parallel_pool._prover.settings import Settings
from parallel_pool._prover.target import Native, Reference


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


# ------------------------------------------------------------------------- what is written --


@pytest.mark.parametrize("words", ['it is "so"', "\\", "\\N", '"""'])
def test_a_program_says_what_an_error_says(words: str) -> None:
    events = (Reset((0,)), Step(np.zeros((1,), np.int64)))
    found = Finding(Script(Case(), 1, events), Difference(("error",), "error", "a result", words))
    text = program.program_text(
        found, (Native("", "CartPole-v1"), "CartPole-v1"), Reference("CartPole-v1"), words
    )
    scope: dict[str, Any] = {}
    exec(compile(text.partition("\n\n")[0], "again.py", "exec"), scope)
    assert scope["__doc__"] == words


@pytest.mark.parametrize("module", ["my-env", "class", "2048", "plain"])
def test_a_program_imports_from_any_file(module: str) -> None:
    Path(f"{module}.py").write_text("def Made():\n    raise SystemExit(7)\n")
    events = (Reset((0,)), Step(np.zeros((1,), np.int64)))
    found = Finding(Script(Case(), 1, events), Difference(("reward", 0), "value", 0.0, 1.0))
    theirs = Reference(make_one=print, folder=os.getcwd(), module=module, name="Made")
    text = program.program_text(found, (Native("", "CartPole-v1"), "CartPole-v1"), theirs, "it")
    with pytest.raises(SystemExit) as error:
        exec(compile(text, "again.py", "exec"), {})
    assert error.value.code == 7
    sys.path.remove(os.getcwd())
    del sys.modules[module]


def test_a_test_without_a_limit_of_time_is_python() -> None:
    settings = {"options": None, "steps": 3, "seconds": math.inf, "seed": 0, "tolerance": 0.0}
    text = committed.test_text(Path("test_it.py"), "x.c", "CartPole-v1", settings, (), False)
    assert 'seconds=float("inf"),' in text
    compile(text, "test_it.py", "exec")


@pytest.mark.slow
def test_a_difference_in_a_folder_that_cannot_be_written_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/proc")
    arguments = ["check", "CartPole-v1", "--against", "MountainCar-v0", "--steps", "100"]
    assert cli.main(arguments) == 1
    printed = capsys.readouterr()
    assert "CartPole-v1 and MountainCar-v0 differ" in printed.out and printed.err == ""
    (path,) = [line for line in printed.out.splitlines() if "the program above is in" in line]
    Path(path.split()[5].rstrip(":")).unlink()


@pytest.mark.parametrize("option", ["--report", "--write-test", "--program"])
def test_sources_are_not_written_over(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("port.c", "reference.py"):
        Path(name).write_text("mine")
        arguments = ["check", "port.c", "--against", "reference.py:Made", option, name]
        assert cli.main(arguments) == 1
        assert "it is a source: name another file" in capsys.readouterr().err
        assert Path(name).read_text() == "mine"
    arguments = ["check", "CartPole-v1", "--against", "CartPole-v1"]
    assert cli.main([*arguments, "--report", "x", "--write-test", "./x"]) == 1
    assert "'x' is named twice: name another file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [("--report", "r.md"), ("--write-test", "t.py"), ("--tolerance", "0.1"), ("--seed", "3")],
)
def test_options_of_a_proof_need_a_reference(
    arguments: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", "CartPole-v1", *arguments]) == 1
    expected = f"{arguments[0]}: is for a proof: name its reference with --against\n"
    assert capsys.readouterr().err == expected and not os.listdir()


# ----------------------------------------------------------------------------------------- names --


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("against", "message"),
    [
        ("os:sep", "os:sep is a str: give a class, or a function that makes one"),
        (".os:path", ".os:path can't be imported: TypeError: "),
        ("broken:Env", "broken:Env can't be imported: ZeroDivisionError: "),
        ("needs.py:Needs", "Needs can't be made: TypeError: "),
    ],
)
def test_references_that_are_none_are_named(
    against: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(os.getcwd())
    Path("broken.py").write_text("1 / 0")
    Path("needs.py").write_text("def Needs(more):\n    pass\n")
    assert cli.main(["check", "CartPole-v1", "--against", against]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_name_with_a_colon_is_a_name() -> None:
    Path("a:b").mkdir()
    Path("a:b/cart.c").write_text(PORT_TEXTS["cart"]())
    settings = Settings(steps=100, coverage=False)
    outcome = prove.run("a:b/cart.c", "a:b/cart.c", settings)
    assert outcome.finding is None


@pytest.mark.slow
def test_timeouts_may_be_endless() -> None:
    proof = testing.prove(
        "CartPole-v1", "CartPole-v1", steps=100, timeout=math.inf, seconds=math.inf, coverage=False
    )
    assert proof.steps >= 100
