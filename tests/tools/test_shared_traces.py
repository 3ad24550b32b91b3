"""`profile` and `tune` trace a script that traces its own pools."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from parallel_pool._engine.pool import Pool
from parallel_pool._tracing.trace import begin_shared
from parallel_pool._tuner.run import Script
from parallel_pool._tuner.setting import Setting
from parallel_pool.errors import StateError
from tests.support.timeouts import TEST_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import numpy as np
import parallel_pool
envs = parallel_pool.make_vec("CartPole-v1", 4, num_threads=1)
with envs.trace() as trace:
    envs.reset(seed=0)
    for _ in range(9):
        envs.step(np.zeros(4, int))
print("own steps:", trace.report().steps)
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


@pytest.mark.sanitizers
def test_a_part_of_a_trace_has_its_own_spans() -> None:
    with Pool("CartPole-v1", 2) as pool:
        whole = begin_shared(pool.trace())
        pool.reset()
        for count in (5, 3):
            with pool.trace() as part:
                with pytest.raises(StateError, match="another trace of this pool is running"):
                    pool.trace().__enter__()
                for _ in range(count):
                    pool.step(np.zeros(2, np.int64))
            assert (part.report().steps, part.record.lost) == (2 * count, 0)
            assert sum(part.report().shares.values()) == pytest.approx(1)
        pool.step(np.zeros(2, np.int64))
        whole.__exit__(None, None, None)
        assert whole.report().steps == 2 * 10
        # and it is a trace like any other afterwards
        with pool.trace() as last:
            pool.step(np.zeros(2, np.int64))
        assert last.report().steps == 2


def test_a_part_may_outlive_the_whole_and_the_pool() -> None:
    pool = Pool("CartPole-v1", 2)
    whole = begin_shared(pool.trace())
    part = pool.trace().__enter__()
    pool.reset()
    pool.close()
    whole.__exit__(None, None, None)
    part.__exit__(None, None, None)
    assert part.report().steps == whole.report().steps == 2


@pytest.mark.sanitizers
def test_a_script_that_traces_its_pool_is_profiled(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "parallel_pool", "profile", str(script)],
        capture_output=True,
        text=True,
        env=os.environ,
        timeout=TEST_TIMEOUT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("own steps: 40\n") and "10 batches" in done.stdout


@pytest.mark.sanitizers
def test_a_script_that_traces_its_pool_is_tuned(script: Path) -> None:
    outcome = Script(script, [], 0.1, 0.0).run(Setting())
    assert outcome.error == "" and outcome.rate > 0
