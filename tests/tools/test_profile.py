"""`python -m parallel_pool profile`: how a script runs, and what is reported of its pools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from parallel_pool import __main__ as cli
from parallel_pool._tracing import opened
from tests.support.timeouts import TEST_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]

# steps a pool of so many environments
STEP = """
import sys
import numpy as np
from parallel_pool._engine.pool import Pool
def play(count, batches=3):
    with Pool("CartPole-v1", count) as pool:
        pool.reset()
        for _ in range(batches):
            pool.step(np.zeros(count, np.int64))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "script.py"


def profile(*arguments: object) -> int:
    return cli.main(["profile", *map(str, arguments)])


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "parallel_pool", "profile", *map(str, arguments)],
        capture_output=True,
        text=True,
        # the script's folder takes the place of the current one, so it must be named for workers;
        # these may take long to end
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "ignore:closing the pool",
        },
        timeout=TEST_TIMEOUT,
        check=False,
    )


def tids(path: Path) -> set[int]:
    """Returns the rows of a trace that have intervals."""
    events = json.loads(path.read_text())["traceEvents"]
    return {event["tid"] for event in events if event["ph"] == "X"}


def test_a_script_runs_as_it_would_by_itself(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its arguments, its folder to import from, and its own module `__main__`."""
    (script.parent / "beside_the_script.py").write_text("VALUE = 7")
    script.write_text(
        STEP
        + """
import __main__
from beside_the_script import VALUE
print(sys.argv, VALUE, __name__, __file__, __main__.play is play, sys.path[0])
play(2)
"""
    )
    before = list(sys.argv), list(sys.path)
    assert profile(script, "--out", "x", "--", "-v", "7") == 0
    out, err = capsys.readouterr()
    argv = [str(script), "--out", "x", "--", "-v", "7"]
    assert out.startswith(f"{argv} 7 __main__ {script} True {script.parent}\n")
    assert "\n2 x CartPole-v1, " in out and "4 batches" in out and err == ""
    assert (sys.argv, sys.path, opened.listeners) == (*before, [])
    sys.modules.pop("beside_the_script")


def test_each_pool_is_reported(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that were stepped, and those that are dropped or still open."""
    out = script.parent / "trace.json"
    script.write_text(
        STEP + "play(2)\nPool('Acrobot-v1', 5)\nplay(3)\nPool('CartPole-v1', 4).reset()"
    )
    assert profile("--out", out, script) == 0
    shown = capsys.readouterr().out
    firsts = [line.split(" x ")[0] for line in shown.splitlines() if " x CartPole-v1, " in line]
    assert firsts == ["2", "3", "4"]
    files = [out, out.with_name("trace-2.json"), out.with_name("trace-3.json")]
    assert sorted(script.parent.glob("*.json")) == sorted(files)
    for path in files:
        assert tids(path)
        assert f"{path}: open it in ui.perfetto.dev" in shown


def test_a_trace_that_is_too_long_says_how_to_keep_all_of_it(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an option that the command has."""
    script.write_text(
        STEP
        + """
import gc
from parallel_pool._tracing.trace import Trace
with Pool("CartPole-v1", 2) as pool:
    pool.reset()
    traces = [each for each in gc.get_objects() if type(each) is Trace]
    while sys.argv[1:] == ["long"] and not any(each.is_cut for each in traces):
        pool.reset()
"""
    )
    assert profile("--max-spans", 4, script, "long") == 0
    assert "raise max_spans (profile: --max-spans)" in capsys.readouterr().out
    assert profile("--max-spans", 100_000_000, script) == 0
    assert "max_spans" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        profile("--max-spans", 0, script)
    assert "--max-spans: '0': give 1 or more" in capsys.readouterr().err


def test_a_script_without_a_pool(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("print('done')")
    assert profile(script) == 0
    assert capsys.readouterr() == (
        "done\n",
        "parallel_pool profile: the script has stepped no pool\n",
    )


@pytest.mark.slow
def test_time_before_the_first_call_and_after_the_last_does_not_count(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pause of 0.2 s at each end would be at least that long in the report."""
    script.write_text(
        STEP
        + """
import time
from parallel_pool._tracing import profile
found = []
show = profile.show
profile.show = lambda records, out: found.extend(records) or show(records, out)
with Pool("CartPole-v1", 2) as pool:
    time.sleep(0.2)
    pool.reset()
    time.sleep(0.2)
sys.modules["found_by_the_script"] = found
"""
    )
    from parallel_pool._tracing import profile as module

    show = module.show
    try:
        assert profile(script) == 0
    finally:
        module.show = show
    (record,) = sys.modules.pop("found_by_the_script")  # type: ignore[misc]
    spans = record.of_kinds(range(8))
    assert spans["start"].min() == record.start and spans["end"].max() == record.end
    assert "2 x CartPole-v1" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('enough')", 1, "enough\n"),
        ("raise KeyboardInterrupt", 130, "interrupted\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
    ],
)
def test_the_end_of_the_script_is_that_of_the_command(
    script: Path, code: str, status: int, words: str
) -> None:
    script.write_text(f"{STEP}\nplay(2)\n{code}\n")
    done = run(script)
    assert done.returncode == status
    assert done.stderr.endswith(words)
    assert ("Traceback" in done.stderr) == ("Error" in words)
    # reported all the same
    assert "\n2 x CartPole-v1, " in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("code", "status"), [("", 1), ("sys.exit(3)", 3), ("1 / 0", 1)])
def test_a_trace_that_cannot_be_written_hides_nothing(
    script: Path, code: str, status: int, tmp_path: Path
) -> None:
    out = tmp_path / "trace.json"
    script.write_text(f"{STEP}\nimport os\nplay(2)\nos.mkfifo({str(out)!r})\n{code}\n")
    done = run("--out", out, script)
    assert done.returncode == status
    reason = "parallel_pool profile: --out can't be written: No such device or address\n"
    assert done.stderr.startswith(reason)
    assert ("ZeroDivisionError" in done.stderr) == (code == "1 / 0")
    assert "\n2 x CartPole-v1, " in done.stdout and done.stderr.count("Traceback") <= 1


@pytest.mark.slow
def test_ctrl_c_ends_the_script_with_a_report(script: Path) -> None:
    """The pool waits for a batch, for longer than the test may last."""
    script.write_text(
        f"""
import os, signal, sys, threading, time
sys.path.insert(0, {str(ROOT)!r})
import numpy as np
from parallel_pool._engine.pool import Pool
from parallel_pool.testing import inspect
def interrupt():
    while inspect(pool).state != "receiving":
        time.sleep(0.005)
    os.kill(os.getpid(), signal.SIGINT)
with Pool("CartPole-v1", 2, batch_size=1) as pool:
    pool.send_reset()
    pool.recv(), pool.recv()
    threading.Thread(target=interrupt, daemon=True).start()
    pool.recv(timeout={10 * TEST_TIMEOUT})
"""
    )
    done = run(script)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert "2 x CartPole-v1, batches of 1, " in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("guard", ['if __name__ == "__main__":', "if True:"])
def test_worker_processes_make_environments_of_the_script(script: Path, guard: str) -> None:
    out = script.parent / "trace.json"
    script.write_text(
        f"""
import gymnasium, numpy as np, parallel_pool
class Own(gymnasium.Wrapper):
    pass
def make():
    return Own(gymnasium.make("CartPole-v1"))
{guard}
    envs = parallel_pool.PoolVectorEnv([make, lambda: Own(gymnasium.make("CartPole-v1"))])
    envs.reset()
    for _ in range(3):
        envs.step(np.zeros(2, np.int64))
    print(envs.get_attr("spec")[0].id)
    envs.close()
"""
    )
    done = run("--out", out, script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("CartPole-v1\n")
    assert "busy: worker 0 " in done.stdout
    assert len(tids(out)) >= 2


@pytest.mark.slow
def test_a_forked_child_reports_nothing(script: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    script.write_text(
        STEP
        + """
import os
pool = Pool("CartPole-v1", 2)
pool.reset()
if not os.fork():
    sys.exit(5)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 5
pool.reset()
"""
    )
    done = run("--out", out, script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("2 x CartPole-v1, ") == 1
    assert "2 batches" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "the following arguments are required: SCRIPT"),
        (("nowhere.py",), "'nowhere.py': there is no such file"),
        ((str(ROOT),), "there is no such file"),
        (
            ("--out", "nowhere/trace.json", __file__),
            "'nowhere/trace.json': name a file in a folder",
        ),
        (("--out", str(ROOT), __file__), "name a file in a folder that exists"),
        (("--fast", __file__), "--fast"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        profile(*arguments)
    assert error.value.code == 2
    assert words in capsys.readouterr().err


def test_a_file_is_where_the_command_was_started(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even if the script goes elsewhere."""
    elsewhere = script.parent / "elsewhere"
    elsewhere.mkdir()
    script.write_text(f"{STEP}\nimport os\nplay(2)\nos.chdir({str(elsewhere)!r})\n")
    monkeypatch.chdir(script.parent)
    assert profile("--out", "trace.json", "script.py") == 0
    assert tids(script.parent / "trace.json")
