"""`new` and `build`: names, full disks and libraries that are in use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import parallel_pool
from parallel_pool import __main__ as cli
from parallel_pool._engine import registry
from parallel_pool._source import start
from tests.support.timeouts import TEST_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CFLAGS", "-O1")
    monkeypatch.chdir(tmp_path)


def change(*pairs: tuple[str, str]) -> str:
    """Writes a start in C with changes; returns the id."""
    task_id = start.write(Path("my_env.c"))
    text = Path("my_env.c").read_text()
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    Path("my_env.c").write_text(text)
    return task_id


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=TEST_TIMEOUT,
        check=False,
    )


# --------------------------------------------------------------------------------------------- new


@pytest.mark.parametrize(
    ("name", "cls"),
    [("2048.py", "My2048"), ("none.py", "MyNone"), ("true.py", "MyTrue"), ("maze.py", "Maze")],
)
def test_a_class_has_a_name_that_python_takes(name: str, cls: str) -> None:
    assert start.write(Path(name)) == f"{cls}-v0"
    text = Path(name).read_text()
    compile(text, name, "exec")
    assert f"class {cls}(gymnasium.Env):" in text


@pytest.mark.parametrize("name", ["walker.py", "walker.c"])
def test_the_name_of_a_model_stays_as_it_is(name: str) -> None:
    pytest.importorskip("mujoco")
    model = Path("MyRobot", "my_robot.config.xml")
    model.parent.mkdir()
    model.write_text(
        "<mujoco><worldbody><body><joint name='MyRobot'/><geom size='1'/></body></worldbody>"
        "<actuator><motor joint='MyRobot'/></actuator></mujoco>"
    )
    start.write(Path(name), model)
    assert str(model) in Path(name).read_text()


@pytest.mark.slow
def test_a_start_is_written_whole_or_not_at_all() -> None:
    """The disk is full after 1,000 bytes."""
    # Python would cut the modules' compiled files short, too, and later processes would load them
    limit = (
        "import resource, sys; sys.dont_write_bytecode = True\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    )
    done = python(f"{limit}from parallel_pool.__main__ import main; main(['new', 'my_env.c'])")
    assert "my_env.c can't be written: File too large" in done.stderr
    assert not Path("my_env.c").exists()


# ------------------------------------------------------------------------------------------- build


@pytest.mark.slow
def test_a_library_that_is_in_use_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    """Not written over: that would end the processes that have loaded it."""
    change()
    assert cli.main(["build", "my_env.c", "--out", "my_env.so"]) == 0
    Path("link.so").symlink_to("my_env.so")
    Path("my_env.so").chmod(0o640)
    with open("my_env.so", "rb") as loaded:
        before = loaded.read()
        change_again = Path("my_env.c").read_text().replace("0.2 * it->speed", "0.3 * it->speed")
        Path("my_env.c").write_text(change_again)
        assert cli.main(["build", "my_env.c", "--out", "link.so"]) == 0
        loaded.seek(0)
        assert loaded.read() == before
    assert Path("my_env.so").read_bytes() != before and Path("link.so").is_symlink()
    assert Path("my_env.so").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir()) == ["cache", "link.so", "my_env.c", "my_env.so"]


@pytest.mark.slow
def test_a_suffix_in_capitals_is_the_same_language() -> None:
    task_id = start.write(Path("my_env.c"))
    Path("my_env.c").rename("my_env.C")
    assert parallel_pool.load_source("my_env.C") == [task_id]
