"""The dtypes in which callbacks receive actions, by the definition's action_dtypes."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine import specs
from parallel_pool._engine.pool import Pool
from parallel_pool._native import lib

# An environment whose observation is its action, and whose info is the code of the action's dtype.
# There is one definition for each value of action_dtypes in the tests, with step_many and ("slow")
# without it; and one of an older ABI.
SOURCE = """
#include "pp_env.h"

typedef struct echo { double seen[2]; int64_t dtype; } echo;

static const pp_field fields[] = {
    {.name = "seen", .dtype = PP_FLOAT64, .ndim = 1, .shape = {2}},
    {.name = "dtype", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64},
};

static void store(echo *it, const void *action, int32_t dtype) {
  for (int i = 0; i < 2; i++) {
    it->seen[i] = dtype == PP_FLOAT32 ? ((const float *)action)[i] : ((const double *)action)[i];
  }
  it->dtype = dtype;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)env; (void)how;
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  (void)result;
  store(env->state, action, *env->action_dtype);
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  const echo *it = env->state;
  (void)is_reset;
  if (rows[0]) for (int i = 0; i < 2; i++) ((double *)rows[0])[i] = it->seen[i];
  if (rows[1]) *(int64_t *)rows[1] = it->dtype;
  return PP_OK;
}

static int step_many(void *shared, const pp_run *run) {
  int32_t size = run->action_dtype == PP_FLOAT32 ? sizeof(float) : sizeof(double);
  (void)shared;
  for (int32_t i = 0; i < run->count; i++) {
    echo *it = (echo *)(void *)(run->states + (size_t)i * run->state_stride);
    store(it, (const char *)run->actions + 2 * size * i, run->action_dtype);
    run->reward[i] = 0;
    ((double *)run->fields[0])[2 * i] = it->seen[0];
    ((double *)run->fields[0])[2 * i + 1] = it->seen[1];
    ((int64_t *)run->fields[1])[i] = it->dtype;
  }
  return PP_OK;
}

#define ECHO(def, text, abi_number, dtypes, many)                                              \\
  const pp_env_def def = {.abi = abi_number, .size = sizeof(pp_env_def), .id = text,          \\
    .family = "mine", .reference = "none", .state_size = sizeof(echo), .num_fields = 2,        \\
    .fields = fields, .reset = reset, .step = step, .observe = observe, .step_many = many,     \\
    .action_dtypes = dtypes, .action = {.name = "action", .dtype = PP_FLOAT32, .ndim = 1,      \\
    .shape = {2}, .low = -1, .high = 1}}

ECHO(echo_none, "Echo-none", PP_ENV_ABI, 0, step_many);
ECHO(echo_none_slow, "Echo-none-slow", PP_ENV_ABI, 0, NULL);
ECHO(echo_double, "Echo-double", PP_ENV_ABI, 1 << PP_FLOAT64, step_many);
ECHO(echo_double_slow, "Echo-double-slow", PP_ENV_ABI, 1 << PP_FLOAT64, NULL);
ECHO(echo_all, "Echo-all", PP_ENV_ABI, PP_ALL_ACTION_DTYPES | 1 << PP_PYTHON, step_many);
ECHO(echo_all_slow, "Echo-all-slow", PP_ENV_ABI, PP_ALL_ACTION_DTYPES | 1 << PP_PYTHON, NULL);
ECHO(echo_old, "Echo-old", PP_ENV_ABI - 1, 0, step_many);
"""
KINDS = ["none", "none_slow", "double", "double_slow", "all", "all_slow"]
VALUES = np.array([[0.1, 1], [0.7, 0], [-0.3, 1]])


# For the whole session: loaded ids stay registered, so a second copy of the library is refused. A
# pytest worker may run tests of this file, then of others, then of this file again.
@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("echo")
    source, library = folder / "echo.c", folder / "echo.so"
    source.write_text(SOURCE)
    flags = ["-std=c11", "-O2", "-shared", "-fPIC", f"-I{parallel_pool.get_include()}"]
    subprocess.run(["cc", *flags, str(source), "-o", str(library)], check=True)
    return library


def code_for(kind: str, dtype: np.dtype[Any], is_python: bool) -> int:
    """Returns the dtype code that callbacks of this kind get for an action of this dtype."""
    if kind == "all":
        return specs.NUMBER_CODES[dtype] | (lib.PP_PYTHON if is_python else 0)
    is_wide = dtype not in (np.float32, np.float16)
    return int(lib.PP_FLOAT64 if kind == "double" and is_wide else lib.PP_FLOAT32)


@pytest.mark.parametrize("kind", KINDS)
def test_callbacks_get_the_dtypes_that_they_support(library: Path, kind: str) -> None:
    given: list[Any] = [VALUES.astype(dtype) for dtype in specs.NUMBER_CODES if dtype.kind == "f"]
    given += [VALUES.round().astype(dtype) for dtype in specs.NUMBER_CODES if dtype.kind in "ib"]
    given += [abs(VALUES).round().astype(d) for d in specs.NUMBER_CODES if d.kind == "u"]
    given += [VALUES.tolist(), VALUES.round().astype(int).tolist(), list(VALUES)]
    definition = parallel_pool.load(library, f"echo_{kind}")
    with Pool(definition, 3) as pool:
        pool.reset()
        # there and back: the dtype of one step must not affect a later step
        for action in itertools.chain(given, reversed(given)):
            seen, dtypes, *_ = pool.step(action)
            is_python = isinstance(action, list) and isinstance(action[0], list)
            expected = code_for(kind.removesuffix("_slow"), np.asarray(action).dtype, is_python)
            assert dtypes.tolist() == [expected] * 3
            wanted = np.asarray(action, np.float64)
            if expected == lib.PP_FLOAT32:
                wanted = wanted.astype(np.float32).astype(np.float64)
            assert seen.tolist() == wanted.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_each_environment_has_its_own_dtype(library: Path, kind: str) -> None:
    definition = parallel_pool.load(library, f"echo_{kind}")
    names = ["f4", "f8", "f2", "f8", "i4", "f4", "f4", "u1"]
    rows = [np.array([1, 0], name) for name in names]
    with Pool(definition, 8) as pool, Pool(definition, 8, batch_size=4) as part:
        pool.reset()
        wanted = [code_for(kind.removesuffix("_slow"), row.dtype, False) for row in rows]
        for order in (list(range(8)), list(range(7, -1, -1))):
            _, dtypes, *_ = pool.step([rows[i] for i in order])
            assert dtypes.tolist() == [wanted[i] for i in order]
        part.send_reset()
        for _ in range(10):
            batch = part.recv()
            ids = batch[[column.name for column in part.columns].index("env_id")]
            part.send([rows[i] for i in ids], ids)
        for _ in range(2):
            _, dtypes, *rest = part.recv()
            assert dtypes.tolist() == [wanted[i] for i in rest[3]]


def test_a_definition_of_an_older_abi_is_refused(library: Path) -> None:
    message = r"has ABI \d+ and \d+ bytes, this engine ABI \d+ .*: compile it against this version"
    with pytest.raises(ValueError, match=message):
        parallel_pool.load(library, "echo_old")
