"""Where the system refuses executable memory, Atari games are interpreted, with equal results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.c_library import build_library
from tests.support.timeouts import TEST_TIMEOUT

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

PLAY = """
import hashlib
import numpy as np
from parallel_pool._engine.pool import Pool

played = hashlib.sha256()
for game in ("Breakout-v5", "Pong-v5"):
    with Pool(game, 2, seed=1, num_threads=1) as pool:
        pool.reset()
        rng = np.random.default_rng(0)
        for _ in range(200):
            for array in pool.step(rng.integers(4, size=2)):
                played.update(array.tobytes())
print(played.hexdigest())
"""


def play(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PLAY],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=TEST_TIMEOUT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.skipif("avx2" not in Path("/proc/cpuinfo").read_text(), reason="nothing is translated")
def test_games_are_interpreted_where_executable_memory_is_refused(tmp_path: Path) -> None:
    library, refusals = build_library(REFUSING, tmp_path), tmp_path / "refusals"
    # after what a sanitizer has there
    preloaded = f"{os.environ.get('LD_PRELOAD', '')} {library}".strip()
    refused = play(LD_PRELOAD=preloaded, REFUSALS=str(refusals))
    # each of the two games asked for it
    assert int(refusals.read_text()) >= 2
    assert refused == play()
