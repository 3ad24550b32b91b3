"""Callbacks in C that fail and write no reason: the message names the environment, the callback and
the status all the same."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import parallel_pool
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool, write_state
from parallel_pool._engine.specs import Definition

SILENT = r"""
#include <string.h>
#include "pp_env.h"
#define FAILS(name) (strcmp(chosen, name) == 0 ? PP_ERR_ENV : PP_OK)
#define CHOSEN(env) const char *chosen = (env)->options[0].s
static const char *chosen_of_all = "";
static const pp_field fields[] = {{.name = "obs", .dtype = PP_INT64, .low = 0, .high = 9}};
static const pp_option options[] = {
    {.name = "fail_on", .type = PP_OPT_STRING, .text = "none", .doc = "a callback"}};
static const pp_option reset_options[] = {
    {.name = "start", .type = PP_OPT_INT, .number = 0, .low = 0, .high = 9, .doc = "ignored"}};
static int configure(pp_config *config) {
  CHOSEN(config);
  config->shared = strcmp(chosen, "check_reset") == 0 ? (void *)&chosen_of_all : NULL;
  return FAILS("configure");
}
static int init(pp_env *env) { CHOSEN(env); return FAILS("init"); }
static int seed(pp_env *env, const pp_seed *it) { CHOSEN(env); (void)it; return FAILS("seed"); }
static int reset(pp_env *env, pp_reset *how) {
  CHOSEN(env);
  (void)how;
  return FAILS("reset");
}
static int step(pp_env *env, const void *action, pp_result *result) {
  CHOSEN(env);
  (void)action, (void)result;
  return FAILS("step");
}
static int observe(pp_env *env, void *const *rows, bool is_reset) {
  CHOSEN(env);
  if (rows[0]) *(int64_t *)rows[0] = 0;
  return is_reset ? PP_OK : FAILS("observe");
}
#ifdef MANY
static int step_many(void *shared, const pp_run *run) { (void)shared, (void)run; return -77; }
#endif
static int check_reset(void *shared, const pp_value *given, pp_error *error) {
  (void)given, (void)error;
  return shared ? PP_ERR_ARGUMENT : PP_OK;
}
static int64_t save(pp_env *env, void *bytes) {
  CHOSEN(env);
  if (bytes) memset(bytes, 0, 4);
  return strcmp(chosen, "save") == 0 ? -77 : 4;
}
static int load(pp_env *env, const void *bytes, int64_t size) {
  CHOSEN(env);
  (void)bytes, (void)size;
  return FAILS("load");
}
static int render(pp_env *env, pp_image *image) {
  CHOSEN(env);
  (void)image;
  return FAILS("render");
}
static int write_state(pp_env *env, void *target) {
  CHOSEN(env);
  (void)target;
  return FAILS("expose");
}
const pp_env_def pp_env_silent = {
    .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = "mine/Silent-v0",
    .num_options = 1, .options = options, .num_reset_options = 1, .reset_options = reset_options,
    .state_size = 8, .num_fields = 1, .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .configure = configure, .init = init, .seed = seed, .reset = reset, .step = step,
    .observe = observe, .check_reset = check_reset, .save = save, .load = load,
    .render = render, .expose = write_state,
#ifdef MANY
    .step_many = step_many,
#endif
};
"""


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Definition, Definition]:
    """Environments that are stepped one by one, and in runs."""
    folder = tmp_path_factory.mktemp("silent")
    source = folder / "silent.c"
    source.write_text(SILENT)
    made = []
    for name, flags in (("one", ()), ("many", ("-DMANY",))):
        library = folder / f"{name}.so"
        command = ["cc", "-shared", "-fPIC", *flags, f"-I{parallel_pool.get_include()}"]
        subprocess.run([*command, str(source), "-o", str(library)], check=True)
        made.append(registry.open_library(library, "pp_env_silent")[0])
    return made[0], made[1]


def observe_twice(pool: Pool) -> None:
    pool.reset()
    pool.step([0])
    pool.observe()


CALLS: dict[str, tuple[Callable[[Pool], Any], str]] = {
    "configure": (Pool.reset, "mine/Silent-v0: {}"),
    "init": (Pool.reset, "mine/Silent-v0: environment 0 can't be made: {}"),
    "seed": (Pool.reset, "mine/Silent-v0: environment 0 failed: {}"),
    "reset": (Pool.reset, "mine/Silent-v0: environment 0 failed: {}"),
    "step": (observe_twice, "mine/Silent-v0: environment 0 failed: {}"),
    "observe": (observe_twice, "mine/Silent-v0: environment 0 failed: {}"),
    "check_reset": (lambda pool: pool.reset(options={"start": 1}), "mine/Silent-v0: {}"),
    "load": (lambda pool: pool.set_state(pool.get_state()), "environment 0 can't be restored: {}"),
    "render": (Pool.render, "environment 0 can't be drawn: {}"),
    "expose": (
        lambda pool: (pool.reset(), write_state(pool, 0, 64)),
        "environment 0 can't be exposed: {}",
    ),
}


@pytest.mark.parametrize("callback", CALLS)
def test_a_callback_without_a_reason_is_named(
    callback: str, definitions: tuple[Definition, Definition]
) -> None:
    call, words = CALLS[callback]
    status = "-1 (PP_ERR_ARGUMENT)" if callback == "check_reset" else "-6 (PP_ERR_ENV)"
    reason = f"its callback {callback} returned {status} and wrote no reason to error->text"
    with (
        pytest.raises(Exception, match=f"^{re.escape(words.format(reason))}$"),
        Pool(definitions[0], 1, seed=1, options={"fail_on": callback}) as pool,
    ):
        call(pool)


def test_a_status_that_is_none_is_shown(definitions: tuple[Definition, Definition]) -> None:
    reason = r"returned -77 \(unknown status\) and wrote no reason"
    with Pool(definitions[0], options={"fail_on": "save"}) as pool:
        message = f"environment 0 can't be saved: its callback save {reason}"
        with pytest.raises(Exception, match=message):
            pool.get_state()
    with Pool(definitions[1], 64, num_threads=1) as pool:
        pool.reset()
        # how many are stepped together depends on the measured cost of a step
        message = rf"environment \d+ \(and \d+ more\) failed: its callback step_many {reason}"
        with pytest.raises(Exception, match=message):
            pool.step([0] * 64)
