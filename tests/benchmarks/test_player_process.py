"""Players in a process of their own: failures, and stops between two plays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from parallel_pool._bench import player_process, player_proxy
from tests.benchmarks.made_up import TASK, state_of


@pytest.mark.slow
def test_a_process_that_cannot_play_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="the process of no-such-player ended"):
        player_proxy.PlayerProxy(
            name := "no-such-player",
            player_proxy.command("benchmarks.scenes.python_rivals", name, TASK),
            player_proxy.environment(""),
        ).made()
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


def child(code: str, **options: object) -> player_proxy.PlayerProxy:
    """Returns the proxy of a process that runs a program of Python."""
    return player_proxy.PlayerProxy("child", [sys.executable, "-c", code], os.environ, **options)


def test_a_player_that_does_not_start_in_time_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    # a machine that stands still for a second adds nothing to what it says
    monkeypatch.setattr(player_proxy, "time", SimpleNamespace(monotonic=lambda: 5.0))
    # its worker is in the way of the end of its output
    code = "import subprocess, sys; subprocess.run(['sleep', '1000'])"
    proxy = child(code)
    with pytest.raises(player_proxy.PlayerLostError, match="no answer within 0 s: it was ended"):
        proxy.made(0.1)
    # a second time it does nothing
    proxy.close()


def test_a_player_that_hangs_is_killed() -> None:
    code = "print('{\"children\": []}', flush=True); import time; time.sleep(1000)"
    # close() does not wait for one that was killed
    proxy = child(code, patience=lambda: 0.1, grace=1e6).made()
    (pid,) = proxy.children
    with pytest.raises(player_proxy.PlayerLostError, match="no answer"):
        proxy.play(1)
    proxy.close()
    assert not Path(f"/proc/{pid}").exists()


def test_the_last_words_of_a_quiet_player_are_in_the_message(
    capfd: pytest.CaptureFixture[str],
) -> None:
    code = "import sys; print('one'); sys.exit('no such game\\n\\n')"
    with pytest.raises(player_proxy.PlayerLostError, match="it wrote 'one', which is no answer"):
        child(code, is_quiet=True).made()
    with pytest.raises(player_proxy.PlayerLostError, match=r"child ended: no such game$"):
        child(code.replace("print", "str"), is_quiet=True).made()
    with pytest.raises(player_proxy.PlayerLostError, match=r"child ended: it said nothing$"):
        child("", is_quiet=True).made()
    assert capfd.readouterr().err == ""
