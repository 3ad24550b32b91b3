"""Files in Python that are loaded: names, what they do when they are imported, and no cache."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import parallel_pool
from parallel_pool import __main__ as cli
from parallel_pool._engine import registry
from parallel_pool._source import start
from parallel_pool.errors import SourceError


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CFLAGS", "-O1")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", ["check", "build"])
def test_a_name_that_the_system_does_not_allow(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command, "x" * 300 + ".py"]) == 1
    assert "can't be read: name a Python file" in capsys.readouterr().err


@pytest.mark.parametrize("status", ["0", "", "'all done'"])
def test_a_file_that_ends_the_program_is_an_error(
    status: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ending.py").write_text(f"import sys\nsys.exit({status})\n")
    with pytest.raises(SourceError, match=r"^ending\.py ends the program when it is imported"):
        parallel_pool.load_source("ending.py")
    assert cli.main(["check", "ending.py"]) == 1
    assert "put what does so under if __name__ == '__main__'" in capsys.readouterr().err


def test_half_a_module_is_not_taken_for_the_whole() -> None:
    """After Ctrl-C in the middle of an import."""
    text = (
        "import os\nif not os.path.exists('again'):\n    raise KeyboardInterrupt\nraise KeyError\n"
    )
    Path("half_a_module.py").write_text(text)
    with pytest.raises(KeyboardInterrupt):
        parallel_pool.load_source("half_a_module.py")
    assert "half_a_module" not in sys.modules
    Path("again").write_text("")
    with pytest.raises(SourceError, match="KeyError"):
        parallel_pool.load_source("half_a_module.py")


def test_a_file_that_changes_the_path_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("of_no_path.py").write_text("import sys\nsys.path.pop(0)\n")
    with pytest.raises(SourceError, match="defines no environment"):
        parallel_pool.load_source("of_no_path.py")


@pytest.mark.slow
def test_a_class_is_translated_without_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a file in C is compiled: a folder in /tmp takes the cache's place."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    task_id = start.write(Path("without_a_cache.py"))
    assert parallel_pool.load_source("without_a_cache.py") == [task_id]


def test_no_folder_for_a_translation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setattr("tempfile.tempdir", "/proc")
    start.write(Path("without_a_folder.py"))
    with pytest.raises(SourceError, match=r"^no folder for translated environments .*/proc/nowh"):
        parallel_pool.load_source("without_a_folder.py")
