"""`profile` and `tune`: a script finds its file and its modules as it does by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parallel_pool._tuner.run import Script
from parallel_pool._tuner.setting import Setting
from tests.support.timeouts import TEST_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]

# goes to another folder before it reads its own file
ELSEWHERE = """
import os, sys
os.chdir(os.path.dirname(sys.executable))
assert open(__file__).read()
import numpy as np
import parallel_pool
envs = parallel_pool.make_vec("CartPole-v1", 4, num_threads=1)
envs.reset(seed=0)
for _ in range(3):
    envs.step(np.zeros(4, int))
"""


def profile(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "parallel_pool", "profile", "script.py"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        timeout=TEST_TIMEOUT,
        check=False,
    )


@pytest.mark.slow
def test_a_script_that_is_profiled_reads_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ELSEWHERE)
    done = profile(tmp_path)
    assert done.returncode == 0 and "4 x CartPole-v1" in done.stdout, done.stderr


def test_a_script_that_is_tuned_reads_its_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(ELSEWHERE)
    outcome = Script(Path("script.py"), [], 0.1, 0.0).run(Setting())
    assert outcome.error == ""
    # the line that makes the pool is found all the same
    assert outcome.facts["place"] == "script.py:7"


def test_what_python_does_not_import_from_is_not_imported_from(tmp_path: Path) -> None:
    """With PYTHONSAFEPATH the script's folder takes nobody's place."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "of_the_library.py").write_text("")
    (tmp_path / "beside_the_script.py").write_text("")
    (tmp_path / "script.py").write_text(
        "import of_the_library\n"
        "try:\n"
        "    import beside_the_script\n"
        "except ModuleNotFoundError:\n"
        "    print('as by itself')\n"
    )
    path = os.pathsep.join([str(library), str(ROOT)])
    done = profile(tmp_path, PYTHONSAFEPATH="1", PYTHONPATH=path)
    assert done.stdout == "as by itself\n", done.stderr
