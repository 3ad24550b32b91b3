"""Players in a process of their own: failures, and stops between two plays."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parallel_pool._bench import player_process, player_proxy
from tests.benchmarks.made_up import TASK, state_of


def test_a_process_that_cannot_play_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="the process of no-such-player ended"):
        player_proxy.PlayerProxy(
            name := "no-such-player",
            player_proxy.command("benchmarks.scenes.python_rivals", name, TASK),
            player_proxy.environment(""),
        )
    assert "KeyError: 'no-such-player'" in capfd.readouterr().err


def test_stopped_processes_run_only_inside_the_block() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            with player_process.running([process.pid]):
                assert state_of(process.pid, "S") == "S"
            assert state_of(process.pid, "T") == "T"
        finally:
            process.kill()
    # processes that have ended are ignored
    player_process.signal_all([process.pid], signal.SIGCONT)


def test_a_folder_with_a_python_of_its_own_plays_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    for name in ("same", "newer"):
        (tmp_path / name).mkdir()
    (tmp_path / "newer" / "python").symlink_to(sys.executable)
    first = [player_proxy.command("module", "any", TASK, name)[0] for name in ("", "same", "newer")]
    assert first == [sys.executable, sys.executable, str(tmp_path / "newer" / "python")]
