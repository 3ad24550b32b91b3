"""`python -m parallel_pool tune`: the process in which the script runs, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parallel_pool._tuner.run import Script
from parallel_pool._tuner.setting import Setting
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for

ROOT = Path(__file__).resolve().parents[2]

# steps for ever
STEPS = """
import numpy as np
import parallel_pool
envs = parallel_pool.make_vec("CartPole-v1", 4, num_threads=1)
envs.reset(seed=0)
while True:
    envs.step(np.zeros(4, int))
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path / "script.py"


@pytest.mark.slow
def test_a_forked_child_of_the_script_ends_as_it_says(script: Path) -> None:
    script.write_text(
        "import os, sys\n"
        "if not (pid := os.fork()):\n"
        "    sys.exit(3)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3\n" + STEPS
    )
    outcome = Script(script, [], 0.5, 0.0).run(Setting())
    assert outcome.error == "" and outcome.rate > 0


@pytest.mark.slow
@pytest.mark.parametrize("last_work", ["", "envs.close()"])
@pytest.mark.parametrize("asks", [False, True])
def test_a_script_that_steps_no_more_when_it_is_measured(
    script: Path, asks: bool, last_work: str
) -> None:
    steps = STEPS.replace("while True", "for _ in range(9)")
    script.write_text(f"{steps}{last_work}\nimport time\ntime.sleep(1)")
    outcome = Script(script, [], TEST_TIMEOUT, 0.0).run(Setting(), asks=asks)
    assert outcome.error == "" and outcome.rate > 0
    assert (outcome.facts["num_envs"], outcome.facts["place"]) == (4, "script.py:4")


@pytest.mark.quick(1)
@pytest.mark.parametrize("stream", ["None", "object()"])
def test_a_run_ends_whatever_the_script_prints_to(script: Path, stream: str) -> None:
    script.write_text(f"import sys\nsys.stdout = {stream}\n{STEPS}")
    outcome = Script(script, [], 0.5, 0.0).run(Setting(), limit=TEST_TIMEOUT / 2)
    assert outcome.rate > 0 and outcome.seconds < TEST_TIMEOUT / 2


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_script_ends_with_a_command_that_is_killed(script: Path, number: int) -> None:
    """Even if it steps no pool."""
    mark = script.with_suffix(".ran")
    script.write_text(f"import time\nopen({str(mark)!r}, 'w').close()\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "parallel_pool", "tune", str(script)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        wait_for(mark.exists)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        (child,) = map(int, children.read_text().split())
        process.send_signal(number)
        assert process.wait(TEST_TIMEOUT) in (-number, 128 + number)
        try:
            wait_for(lambda: has_ended(child))
        except AssertionError:
            os.kill(child, signal.SIGKILL)
            raise


@pytest.mark.slow
def test_a_pool_that_keeps_its_workers_says_so(script: Path) -> None:
    """Nothing else was measured than the script as it is."""
    script.write_text(
        "import gymnasium, numpy as np, parallel_pool\n"
        "make = [lambda: gymnasium.make('CartPole-v1')] * 2\n"
        "envs = parallel_pool.PoolVectorEnv(make, episode_seeds=True, prepare_resets=True)\n"
        "envs.reset(seed=0)\n"
        "while True:\n"
        "    envs.step(np.zeros(2, int))\n"
    )
    run = Script(script, [], 2.0, 0.0)
    outcome = run.run(Setting(num_workers=1))
    assert (outcome.rate, outcome.error) == (0.0, "the pool keeps 2 workers")
    assert run.run(Setting(num_workers=2)).rate > 0
