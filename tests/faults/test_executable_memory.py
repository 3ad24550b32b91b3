"""Where the system refuses executable memory, or PP_ATARI_JIT=0, Atari games are interpreted."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from parallel_pool._engine.pool import Pool
from tests.support.c_library import build_library
from tests.support.timeouts import TEST_TIMEOUT

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="nothing is translated")

# refuses to make memory executable, as hardened systems do, and writes how often it did
REFUSING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static int refusals;

int mprotect(void *memory, size_t size, int access) {
  int (*own)(void *, size_t, int);
  if (access & PROT_EXEC) {
    refusals++;
    errno = EACCES;
    return -1;
  }
  *(void **)&own = dlsym(RTLD_NEXT, "mprotect");
  return own(memory, size, access);
}

__attribute__((destructor)) static void report(void) {
  FILE *file = fopen(getenv("REFUSALS"), "w");
  if (file) fprintf(file, "%d", refusals);
  if (file) fclose(file);
}
"""

# Makes the kernel refuse it, from Linux 6.3 on; ends with status 77 if that is not possible.
# systemd's MemoryDenyWriteExecute does the same.
HARDEN = """
import ctypes, sys

PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1
if ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
    sys.exit(77)
"""

# prints a hash of the results, and for each game how many bytes of machine code it has made
PLAY = """
import hashlib
import numpy as np
from parallel_pool._engine.pool import Pool

def code_bytes():
    size = 0
    for line in open("/proc/self/maps"):
        place, access, *_, name = line.rstrip("\\n").split(" ", 5)
        first, last = (int(each, 16) for each in place.split("-"))
        size += last - first if "x" in access and not name.strip() else 0
    return size

played = hashlib.sha256()
made = []
before = code_bytes()
for game in ("Breakout-v5", "Pong-v5", "ALE/Seaquest-v5"):
    with Pool(game, 2, seed=1, num_threads=1) as pool:
        pool.reset()
        made.append(code_bytes() - before)
        rng = np.random.default_rng(0)
        for _ in range(200):
            for array in pool.step(rng.integers(4, size=2)):
                played.update(array.tobytes())
print(played.hexdigest(), *made)
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=TEST_TIMEOUT,
    )


def play(script: str = PLAY, **environment: str) -> tuple[str, list[int]]:
    """Returns the hash of all results, and how many bytes of machine code each game has made."""
    done = run(script, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    played, *made = done.stdout.split()
    return played, [int(each) for each in made]


@pytest.fixture(scope="module")
def translated() -> str:
    """The hash of the results with machine code."""
    played, made = play()
    assert all(size > 4096 for size in made)
    return played


@pytest.mark.sanitizers
def test_games_are_interpreted_where_executable_memory_is_refused(
    tmp_path: Path, translated: str
) -> None:
    library, refusals = build_library(REFUSING, tmp_path), tmp_path / "refusals"
    # after what a sanitizer has there
    preloaded = f"{os.environ.get('LD_PRELOAD', '')} {library}".strip()
    refused = play(LD_PRELOAD=preloaded, REFUSALS=str(refusals))
    # each of the games asked for it
    assert int(refusals.read_text()) >= 3
    assert refused == (translated, [0, 0, 0])


@pytest.mark.sanitizers
def test_nothing_asks_for_executable_memory_if_it_is_switched_off(
    tmp_path: Path, translated: str
) -> None:
    """A system may end a process that asks."""
    library, refusals = build_library(REFUSING, tmp_path), tmp_path / "refusals"
    preloaded = f"{os.environ.get('LD_PRELOAD', '')} {library}".strip()
    played = play(LD_PRELOAD=preloaded, REFUSALS=str(refusals), PP_ATARI_JIT="0")
    assert int(refusals.read_text()) == 0
    assert played == (translated, [0, 0, 0])


@pytest.mark.sanitizers
@pytest.mark.parametrize(("value", "is_translated"), [("", True), ("1", True), ("0", False)])
def test_the_switch(translated: str, value: str, is_translated: bool) -> None:
    played, made = play(PP_ATARI_JIT=value)
    assert played == translated
    assert [size > 0 for size in made] == [is_translated] * 3


def test_another_value_of_the_switch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PP_ATARI_JIT", "off")
    with pytest.raises(ValueError, match=r"PP_ATARI_JIT=off: choose 0 \(interpret programs\) or 1"):
        Pool("Pong-v5")


@pytest.mark.sanitizers
def test_games_are_interpreted_where_the_kernel_denies_writing_and_executing(
    translated: str,
) -> None:
    if run(HARDEN).returncode == 77:
        pytest.skip("this kernel has no PR_SET_MDWE, which came with Linux 6.3")
    assert play(HARDEN + PLAY) == (translated, [0, 0, 0])
