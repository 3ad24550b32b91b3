"""The command line: its messages, the files that it writes, and how Ctrl-C ends it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from parallel_pool import __main__ as cli
from parallel_pool import _command
from parallel_pool._demo import speeds
from parallel_pool._demo.animation import animate, with_palette

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, code: str | None = None, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    """Runs the command, or code, in a process of its own."""
    start = ["-m", "parallel_pool"] if code is None else ["-c", code]
    command = [sys.executable, *start, *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=env, timeout=250, check=False
    )


# Code that runs the command in a Python that lacks a module.
WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from parallel_pool.__main__ import main
sys.exit(main(sys.argv[1:]))
"""

# Code that sends Ctrl-C in the middle of the demo, once AsyncVectorEnv has its processes.
INTERRUPT = """
import os, signal, sys
from parallel_pool._demo import speeds
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
        (("demo", "--out", "x.jpg"), "'x.jpg': give a folder, or a file that ends in .png"),
        (("demo", "--out", ""), "'' names no folder: give one, such as out"),
        (("demo", "--seconds", "0"), "'0': give seconds above 0"),
        (("demo", "--seconds", "nan"), "'nan': give seconds above 0"),
        (("demo", "--seconds", "soon"), "'soon': give seconds above 0"),
        (("bench", "cartpole"), "no scene cartpole: choose from cartpole-1024"),
        (("bench", "--vs", "baselines"), "no rival baselines: choose from envpool"),
        (("bench", "--rounds", "0"), "'0': give 1 or more"),
        (("bench", "--out", ""), "'': it names no folder: choose a folder"),
        (("bench", "--out", __file__), "File exists"),
        (("bench", "--out", "/proc/out"), "'/proc/out': "),
        (("bench", "--quick", "pong"), "no scene pong: choose from cartpole-1, cartpole-64"),
        (("bench", "--quick", "--budget", "0"), "'0': give seconds above 0"),
        (("bench", "--quick", "--out", __file__), "File exists"),
        (("bench", "--quick", "--read", "none.json"), "'none.json': No such file or directory"),
        (("bench", "--quick", "--read", __file__), "it is not JSON: "),
        (("profile", "nothing" * 10_000), "there is no such file"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: Sequence[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        cli.main(arguments)
    assert error.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [("nosuch",), ("--read", "none.json"), ("--budget", "0"), ("--fast",)]
)
@pytest.mark.parametrize("options", [(), ("--out", "other/results")])
def test_wrong_arguments_of_a_benchmark_make_no_folder(
    options: Sequence[str],
    wrong: Sequence[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as error:
        cli.main(["bench", "--quick", *options, *wrong])
    assert error.value.code == 2
    assert wrong[0] in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["demo", "bench"])
def test_help_of_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        cli.main([command, "--help"])
    assert error.value.code == 0
    assert f"python -m parallel_pool {command}" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("module", ["rich", "matplotlib", "ale_py", "cv2"])
def test_demo_names_a_missing_package(module: str, tmp_path: Path) -> None:
    done = run(module, "demo", "--out", str(tmp_path / "demo.png"), code=WITHOUT)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"parallel_pool demo needs {module}")
    assert line.endswith("pip install 'parallel_pool[demo]'")


@pytest.mark.slow
def test_carry_names_a_missing_package() -> None:
    done = run("elftools", "prove-atari", "--carry", "HEAD", code=WITHOUT)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line == (
        "parallel_pool prove-atari --carry needs elftools, which is not installed: pip install"
        " pyelftools"
    )


def test_demo_says_how_to_install_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(speeds, "runners", list)
    monkeypatch.setattr(speeds, "find_spec", lambda module: None)
    monkeypatch.setattr("parallel_pool._demo.animate", lambda path: None)
    monkeypatch.setattr("parallel_pool._demo.draw", lambda *arguments: None)
    assert cli.main(["demo", "--out", str(tmp_path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "MuJoCo (pip install 'parallel_pool[mujoco]')" in shown


@pytest.mark.slow
def test_bench_names_a_missing_package() -> None:
    done = run("rich", "bench", "cartpole-1", code=WITHOUT)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    cure = "pip install 'parallel_pool[demo]'"
    assert line == f"parallel_pool bench needs rich, which is not installed: {cure}"


def test_bench_without_a_checkout_names_what_works_and_make_bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli.parallel_pool, "__file__", str(tmp_path / "site/parallel_pool/x.py"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "`python -m parallel_pool bench --quick` works here" in line and "make bench" in line


@pytest.mark.slow
def test_commands_import_nothing_heavy_before_they_run() -> None:
    script = "import sys, parallel_pool.__main__; print(*sys.modules)"
    loaded = run(code=script).stdout.split()
    assert "parallel_pool.__main__" in loaded
    assert not {"rich", "matplotlib", "gymnasium", "ale_py", "cv2"} & set(loaded)


@pytest.mark.parametrize(
    ("given", "picture"),
    [("new", "new/demo.png"), ("there", "there/demo.png"), ("a/b.PNG", "a/b.PNG")],
)
def test_out_is_a_folder_or_the_file_of_the_picture(
    given: str, picture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    seen: list[Path] = []
    monkeypatch.setattr("parallel_pool._demo.run", lambda out, seconds: seen.append(out) or 0)
    assert cli.main(["demo", "--out", given]) == 0
    assert seen == [Path(picture)]
    assert (tmp_path / picture).parent.is_dir()


def test_a_folder_that_cannot_be_made_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert cli.main(["demo", "--out", str(tmp_path / "file" / "out")]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"--out: no folder {tmp_path / 'file' / 'out'}: ")
    assert err.endswith("choose another\n")


@pytest.mark.parametrize("name", ["demo.png", "mosaic.gif"])
def test_files_that_cannot_be_written_are_named_before_the_demo(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("parallel_pool._demo.run", lambda out, seconds: pytest.fail("it runs"))
    (tmp_path / name).mkdir()
    assert cli.main(["demo", "--out", str(tmp_path)]) == 1
    message = f"--out: {tmp_path / name}: it is a folder: name a file in it\n"
    assert capsys.readouterr().err == message
    (tmp_path / name).rmdir()
    (tmp_path / name).symlink_to("/dev/full")
    assert cli.main(["demo", "--out", str(tmp_path)]) == 1
    assert "No space left on device: name another file" in capsys.readouterr().err


def test_the_animation_has_the_name_that_is_checked() -> None:
    assert cli.ANIMATION in (ROOT / "parallel_pool" / "_demo" / "__init__.py").read_text()


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"parallel_pool {cli.parallel_pool.__version__}\n"


@pytest.mark.slow
def test_an_animation_is_deterministic_and_moves(tmp_path: Path) -> None:
    games = ("Pong", "Breakout", "Seaquest")
    for name in ("a.gif", "b.gif"):
        still = animate(tmp_path / name, games=games, seconds=0.4)
        assert still.shape == (2 * 107 - 2, 2 * 82 - 2, 3)
    assert (tmp_path / "a.gif").read_bytes() == (tmp_path / "b.gif").read_bytes()
    with Image.open(tmp_path / "a.gif") as image:
        assert image.n_frames == 6
        shown = [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]
    # no colour of the console is lost
    assert np.array_equal(shown[3], still)
    tiles = [(slice(0, 105), slice(0, 80)), (slice(0, 105), slice(82, 162)), (slice(107, 212),)]
    for tile in tiles:
        assert any((shown[0][tile] != later[tile]).any() for later in shown[1:])


def test_more_colours_than_a_gif_can_have() -> None:
    """A colour that is left out is replaced by the nearest one that is kept."""
    many = np.random.default_rng(0).integers(256, size=(40, 40, 3), dtype=np.uint8)
    (numbers,), colours = with_palette([many])
    shown = np.frombuffer(colours, np.uint8).reshape(-1, 3)[numbers]
    assert len(colours) <= 3 * 256
    assert np.abs(shown.astype(int) - many).sum(axis=2).max() < 120


@pytest.mark.slow
def test_demo_shows_tables_and_draws_a_picture_and_an_animation(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    done = run("demo", "--seconds", "0.01", "--out", str(folder), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    lines = done.stdout.splitlines()
    # without a terminal, progress is shown as lines, the first one before the slow imports
    assert lines[0] == "loading Gymnasium, ale_py and matplotlib"
    assert re.fullmatch(r"1 of \d+: 64 x CartPole-v1: parallel_pool, sync", lines[1])
    assert lines[-2:] == [f"picture: {folder / 'demo.png'}", f"animation: {folder / 'mosaic.gif'}"]
    for words in ("64 x CartPole-v1, random", "16 x Pong-v5, random", "frames/s", "batch 16  "):
        assert words in done.stdout
    assert "Gymnasium's async sends every action to another process" in done.stdout
    for module, name in (("mujoco", "MuJoCo"), ("envpool", "EnvPool")):
        assert (f"{name} (pip install" in done.stdout) == (find_spec(module) is None)
    assert max(map(len, lines[:-2])) <= 80
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    with Image.open(folder / "mosaic.gif") as image:
        assert image.n_frames == 60
    assert (folder / "mosaic.gif").stat().st_size < 4e6


def test_demo_names_and_omits_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "find_spec", lambda name: None)
    assert speeds.missing() == [
        "MuJoCo (pip install 'parallel_pool[mujoco]')",
        "EnvPool (pip install envpool)",
    ]
    names = {(each.task.title, each.name) for each in speeds.runners()}
    assert {title for title, _ in names} == {"CartPole-v1", "Pong-v5"}
    assert not [name for _, name in names if name.startswith("EnvPool")]


@pytest.mark.slow
def test_gymnasiums_runners_step_all_environments_of_their_task() -> None:
    for runner in speeds.runners():
        if runner.name.endswith("async") and runner.name.startswith("Gymnasium"):
            assert runner.runs_on == f"{runner.task.num_envs} processes"
        elif runner.name == "Gymnasium, NumPy":
            with speeds.made(runner) as stepping:
                assert stepping.env.num_envs == stepping.num_envs == runner.task.num_envs


def test_processes_of_the_demo_ignore_ctrl_c() -> None:
    from parallel_pool._bench.interrupts import interrupts_ignored

    before = signal.getsignal(signal.SIGINT)
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    with interrupts_ignored():
        assert run(code=code).stdout == "True\n"
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_interrupted_demo_ends_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPT, str(tmp_path / "demo.png")]
    # in a new session: the signal goes to the process group, as from a terminal
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        _, err = process.communicate(timeout=250)
    assert process.returncode == _command.INTERRUPT_STATUS == 128 + signal.SIGINT
    assert err == "interrupted\n"
    assert not (tmp_path / "demo.png").exists()
