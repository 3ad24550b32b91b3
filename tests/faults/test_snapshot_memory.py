"""Snapshots when memory runs out: one MemoryError with a text, and the pool goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parallel_pool._source import cache
from tests.support.programs import Program

# a state of 64 MB of random numbers, which do not shrink when they are packed
SOURCE = r"""
#include <string.h>
#include "base/random.h"
#include "pp_env.h"

enum { WORDS = 8 << 20 };
static const pp_field fields[] = {{.name = "obs", .dtype = PP_INT64, .low = 0, .high = 1e18}};

static int reset(pp_env *env, pp_reset *how) {
  uint64_t *words = env->state;
  (void)how;
  for (int i = 1; i < WORDS; i++) words[i] = pp_rng_next64(env->rng);
  words[0] = 0;
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  (void)action, (void)result;
  ++*(int64_t *)env->state;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  if (rows[0]) memcpy(rows[0], env->state, 8);
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  (void)env;
  return *(const int64_t *)saved->state < 0 ? PP_ERR_ARGUMENT : PP_OK;
}

const pp_env_def pp_env_large = {
    .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = "mine/Large-v0",
    .state_size = WORDS * 8, .num_fields = 1, .fields = fields, .reset = reset, .step = step,
    .observe = observe, .check_state = check_state,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
};
"""

SCRIPT = """
import mmap, resource
import parallel_pool
from parallel_pool._engine.pool import Pool

env = parallel_pool.load(sys.argv[1], "pp_env_large")
hard = resource.getrlimit(resource.RLIMIT_AS)[1]

def limit(megabytes):
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), hard))

def unlimited():
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))

pool = Pool(env, 2, num_threads=1, seed=1)
pool.reset()
states = pool.get_state()

def refused(call, megabytes):
    pool.step([0, 0])
    before = pool.observe().obs.tolist()
    limit(megabytes)
    try:
        call()
    except MemoryError as error:
        print(str(error))
    # with what memory there is
    assert pool.observe().obs.tolist() == before
    assert pool.step([0, 0]).obs.tolist() == [before[0] + 1] * 2
    unlimited()
"""


@pytest.mark.slow
def test_no_memory_for_a_snapshot_is_one_error(
    program: Callable[..., Program], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
# the room for C to write; then also the bytes object
refused(pool.get_state, 16)
refused(lambda: pool.get_state([1]), 100)
refused(lambda: pool.clone(0, [1]), 16)
# the copy that check_state sees
refused(lambda: pool.set_state(states), 16)
pool.set_state(states)
assert pool.observe().obs.tolist() == [0, 0]
assert pool.get_state() == states
pool.close()
print("end")
"""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "large.c"
    source.write_text(SOURCE)
    done = program(SCRIPT + script, str(cache.build(source).library)).end()
    assert (done.code, done.err) == (0, "")
    saved = "no memory for a snapshot of environment {}, up to"
    expected = [
        saved.format(0),
        saved.format(1),
        saved.format(0),
        "no memory for a state of",
        "end",
    ]
    lines = done.out.splitlines()
    assert len(lines) == len(expected), done.out
    assert all(line.startswith(words) for line, words in zip(lines, expected, strict=True)), lines
