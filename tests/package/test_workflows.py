"""The workflows of a public forge: what their steps run exists here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yields the file and the words of each command that a step runs."""
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            for step in job["steps"]:
                for line in step.get("run", "").splitlines():
                    yield path.name, shlex.split(line)


COMMANDS = list(commands())
TARGETS = sorted({words[1] for _, words in COMMANDS if words[0] == "make"})


def test_there_are_workflows() -> None:
    assert {path.stem for path in WORKFLOWS} == {"docs", "release", "test"}
    assert set(TARGETS) == {"check", "docs", "release", "test"}


@pytest.mark.parametrize("target", TARGETS)
def test_make_has_the_target(target: str) -> None:
    # `make --dry-run` would take a folder of that name for the target
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("file", "words"), COMMANDS, ids=lambda value: str(value)[:40])
def test_files_of_a_step_exist(file: str, words: list[str]) -> None:
    for word in words:
        if re.match(r"(tests|integration|\.ci)/", word):
            assert (ROOT / word).exists(), f"{file}: {word}"


def test_what_is_published_was_tested() -> None:
    """Also where a job that failed does not stop the others."""
    jobs = yaml.safe_load((WORKFLOWS[0].parent / "release.yml").read_text())["jobs"]
    publish = jobs["publish"]
    machines = {each["runs-on"] for name, each in jobs.items() if name.startswith("installed")}
    assert machines == {"${{ matrix.os }}", "macos-14"}
    assert not any("continue-on-error" in each for each in jobs.values())
    assert set(publish["needs"]) == jobs.keys() - {"publish"}
    for name in ("build", "installed"):
        assert f"needs.{name}.result == 'success'" in publish["if"]
    (remove,) = (step for step in publish["steps"] if "run" in step)
    assert remove == {
        "if": "needs.installed-macos.result != 'success'",
        "run": "rm dist/*macosx*",
    }


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_has_no_more_rights_than_it_needs(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        if "permissions" in job:
            assert name == "publish"
