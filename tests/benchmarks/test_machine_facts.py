"""The facts about the machine and the commit that are part of results."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from parallel_pool._bench import machine


def test_the_commit_is_dirty_only_if_what_is_measured_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, source = tmp_path / "benchmarks" / "results" / "here" / "r.json", tmp_path / "a.c"
    results.parent.mkdir(parents=True)
    for file in (results, source):
        file.write_text("before")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    clean = machine.commit()
    assert clean and not clean.endswith("-dirty")
    results.write_text("a scene was measured")
    assert machine.commit() == clean
    source.write_text("after")
    assert machine.commit() == f"{clean}-dirty"
    # a package that is installed inside somebody's checkout
    monkeypatch.setattr(machine, "ROOT", results.parent)
    assert machine.commit() is None


def test_facts_of_the_machine() -> None:
    facts = machine.facts()
    assert facts["cores"] >= 1
    assert facts["versions"]["numpy"]
    assert set(machine.moment()) == {"time", "commit", "load"}
    assert machine.name() == machine.name().lower().replace(" ", "-")
