"""The command line: what it says, what it writes, and how Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from parallel_pool import __main__ as cli

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments: str, code: str | None = None, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    """Runs the command, or code that does, in a process of its own."""
    start = ["-m", "parallel_pool"] if code is None else ["-c", code]
    command = [sys.executable, *start, *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=env, timeout=250, check=False
    )


# code that runs the command in a Python that lacks a module
WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from parallel_pool.__main__ import main
sys.exit(main(sys.argv[1:]))
"""

# code that stands for Ctrl-C in the middle of the demo: once somebody's environments are made
INTERRUPT = """
import os, signal, sys
from parallel_pool.demo import speeds
def interrupted(stepping, seconds, tick):
    if isinstance(stepping.env, speeds.AsyncVectorEnv):
        os.killpg(0, signal.SIGINT)
    stepping.play(1)
    return 1.0
speeds.measure = interrupted
from parallel_pool.__main__ import main
sys.exit(main(["demo", "--out", sys.argv[1]]))
"""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "required"),
        (("nonsense",), "choose from"),
        (("demo", "--fast"), "unrecognized arguments: --fast"),
        (("demo", "--seconds", "0"), "'0': give seconds above 0"),
        (("demo", "--seconds", "nan"), "'nan': give seconds above 0"),
        (("demo", "--seconds", "soon"), "'soon': give seconds above 0"),
        (("bench", "cartpole"), "no scene cartpole: choose from cartpole-1024"),
        (("bench", "--vs", "baselines"), "no rival baselines: choose from envpool"),
        (("bench", "--rounds", "0"), "'0': give 1 or more"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: Sequence[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        cli.main(arguments)
    assert error.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("command", ["demo", "bench"])
def test_help_of_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        cli.main([command, "--help"])
    assert error.value.code == 0
    assert f"python -m parallel_pool {command}" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["rich", "matplotlib", "ale_py", "cv2"])
def test_demo_names_a_missing_package(module: str, tmp_path: Path) -> None:
    done = run(module, "demo", "--out", str(tmp_path / "demo.png"), code=WITHOUT)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"the demo needs {module}")
    assert line.endswith("pip install 'parallel_pool[demo]'")


def test_bench_names_a_missing_package() -> None:
    done = run("rich", "bench", "cartpole-1", code=WITHOUT)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line == "the bench needs rich, which is not installed: pip install 'parallel_pool[demo]'"


def test_bench_without_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli.parallel_pool, "__file__", str(tmp_path / "site/parallel_pool/x.py"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench"]) == 1
    assert "make bench" in capsys.readouterr().err


def test_commands_import_nothing_heavy_before_they_run() -> None:
    script = "import sys, parallel_pool.__main__; print(*sys.modules)"
    loaded = run(code=script).stdout.split()
    assert "parallel_pool.__main__" in loaded
    assert not {"rich", "matplotlib", "gymnasium", "ale_py", "cv2"} & set(loaded)


@pytest.mark.slow
def test_demo_shows_a_table_and_draws_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "folder" / "demo.png"
    done = run("demo", "--seconds", "0.01", "--out", str(picture), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert f"picture: {picture}" in done.stdout
    for words in ("CartPole-v1", "Pong-v5", "parallel_pool, sync", "frames/s", "batch 16  "):
        assert words in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= max(80, len(f"picture: {picture}"))
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_processes_of_the_demo_leave_ctrl_c_to_their_parent() -> None:
    from parallel_pool.demo.speeds import deaf_children

    heard = signal.getsignal(signal.SIGINT)
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    with deaf_children():
        assert run(code=code).stdout == "True\n"
    assert signal.getsignal(signal.SIGINT) is heard


@pytest.mark.slow
def test_interrupted_demo_ends_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPT, str(tmp_path / "demo.png")]
    # a session of its own: the signal goes to the group, as a terminal sends it
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        _, err = process.communicate(timeout=250)
    assert process.returncode == cli.INTERRUPTED == 128 + signal.SIGINT
    assert err == "interrupted\n"
    assert not (tmp_path / "demo.png").exists()
