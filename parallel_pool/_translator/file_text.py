"""File text: what is the same in all translated C files."""

# with str.format; "{{" is a brace of C
TEXT = """\
/* {id}: translated from Python by parallel_pool. Change the Python file, not this one. */
#if defined(__GNUC__) && !defined(__clang__)
/* small arrays are cleared faster by stores than by `rep stos` */
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/normal.h"
#include "base/python.h"
#include "base/python_numpy.h"
#include "base/run.h"
#include "base/state_check.h"
{distributions}#include "pp_env.h"

#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-label"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#pragma GCC diagnostic ignored "-Wformat-zero-length"

{types}

struct state {{
{state}
}};

struct shared {{
{shared}
}};

static const char FILE_NAME[] = {file};
static numpy_loop numpy_loops[{num_loops}];

{tables}

{declarations}

{functions}

{step}

{reset}

/* rows: of the observations and infos; null for one that is not wanted */
{show}

/* ------------------------------------------------------------------------------- callbacks -- */

static int init(pp_env *env) {{
  struct state *s = env->state;
  (void)s;
{initial}
  return PP_OK;
}}

static int reset(pp_env *env, pp_reset *how) {{
  pp_python c;
  int status;
  (void)how;
  pp_python_begin(&c, env->error, env->rng, FILE_NAME);
  status = env_reset(&c, env->state, env->shared{reset_arguments});
  pp_python_end(&c);
  return status;
}}

static int step(pp_env *env, const void *action, pp_result *result) {{
  pp_python c;
  int status;
  pp_python_begin(&c, env->error, env->rng, FILE_NAME);
  status = env_step(&c, env->state, env->shared, (const {action_type})action, result);
  pp_python_end(&c);
  return status;
}}

static int observe(pp_env *env, void *const *rows, bool is_reset) {{
  pp_python c;
  int status;
  (void)is_reset;
  pp_python_begin(&c, env->error, env->rng, FILE_NAME);
  status = env_show(&c, env->state, env->shared, rows);
  pp_python_end(&c);
  return status;
}}

/* is_whole: all rows are wanted, nearly always; so none is asked for one by one */
static inline __attribute__((always_inline)) int step_rows(void *shared, const pp_run *run,
                                                           bool is_whole) {{
  const {action_type}actions = run->actions;
  void *rows[{num_fields}];
  size_t strides[{num_fields}];
  pp_error error;
  pp_python c;
{row_pointers}
  pp_python_begin(&c, &error, NULL, FILE_NAME);
  for (int32_t i = 0; i < run->count; i++) {{
    struct state *s = pp_run_state(run, i);
    pp_result result = {{.reward = run->reward + (size_t)i * {num_players}}};
    int status;
    if (!run->ended[i]) {{
      pp_python_again(&c, &run->rngs[i]);
      status = env_step(&c, s, shared, actions + (size_t)i * {action_size}, &result);
      if (is_whole && ({has_none})) __builtin_unreachable();
      if (status >= 0) status = env_show(&c, s, shared, rows);
      run->terminated[i] = result.terminated;
      run->truncated[i] = result.truncated;
      if (__builtin_expect(status < 0, 0)) {{
        pp_run_fail(run, i, status, "%s", error.text);
        memset(result.reward, 0, {num_players} * sizeof(double));
        c.raised = -1;
        c.depth = 0;
      }}
    }} else {{
      memset(result.reward, 0, {num_players} * sizeof(double));
    }}
    for (int f = 0; f < {num_fields}; f++) rows[f] = (char *)rows[f] + strides[f];
  }}
  pp_python_end(&c);
  return PP_OK;
}}

static int step_many(void *shared, const pp_run *run) {{
{whole}  return step_rows(shared, run, false);
}}

/* Returns whether rows of a state can be computed: its lists may be too short for that. */
static int check_rows(const pp_env *env, const pp_saved *saved) {{
  static const size_t sizes[] = {{{field_sizes}}};
  struct state *copy = malloc(sizeof(*copy));
  void *rows[{num_fields}] = {{NULL}};
  pp_rng rng = *env->rng;
  pp_python c;
  int status = PP_ERR_MEMORY;
  bool has_memory = copy != NULL;
  for (int f = 0; f < {num_fields}; f++) {{
    rows[f] = malloc(sizes[f]);
    has_memory = has_memory && rows[f];
  }}
  if (has_memory) {{
    memcpy(copy, saved->state, sizeof(*copy));
    pp_python_begin(&c, env->error, &rng, FILE_NAME);
    status = env_show(&c, copy, env->shared, rows);
    pp_python_end(&c);
  }}
  for (int f = 0; f < {num_fields}; f++) free(rows[f]);
  free(copy);
  return status < 0 ? PP_ERR_ARGUMENT : PP_OK;
}}

static int check_state(const pp_env *env, const pp_saved *saved) {{
  const struct state *s = saved->state;
  (void)s;
{checks}
  return saved->phase == PP_FRESH ? PP_OK : check_rows(env, saved);
}}

/* target: what parallel_pool reads in Python: the generator, and the attributes */
static int expose(pp_env *env, void *target) {{
  const struct state *s = env->state;
  char *to = target;
  (void)s;
  memcpy(to, env->rng, sizeof(pp_rng));
{expose}
  return PP_OK;
}}

/* ------------------------------------------------------------------------------ definition -- */

static const pp_field fields[] = {{
{fields}
}};

enum {{ NUM_OPTIONS = {num_options} }};

static const pp_option options[NUM_OPTIONS] = {{
{options}
    {{.name = "_constants", .type = PP_OPT_BYTES, .doc = "what all environments share"}},
    {{.name = "_numpy", .type = PP_OPT_BYTES, .doc = "addresses of NumPy's functions"}},
}};

{reset_options}static void release(void *shared) {{
  free(shared);
}}

static int configure(pp_config *config) {{
  const pp_value *image = &config->options[NUM_OPTIONS - 2], *loops = image + 1;
  struct shared *shared;
  if (loops->size == (int64_t)sizeof(numpy_loops)) {{
    memcpy(numpy_loops, loops->s, sizeof(numpy_loops));
  }}
  if (image->size != (int64_t)sizeof(*shared)) {{
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "the constants of %s are missing: make it by its id", {c_id});
  }}
  shared = malloc(sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  memcpy(shared, image->s, sizeof(*shared));
  config->shared = shared;
  return PP_OK;
}}

static const char about[] = {about};

const pp_env_def {symbol} = {{
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = {c_id},
    .family = "python",
    .reference = "none",{threshold}
    .max_episode_steps = {limit},{players}
    .options = options,
    .num_options = NUM_OPTIONS,{reset_members}
    .state_size = sizeof(struct state),
    .num_fields = {num_fields},
    .fields = fields,
    .action = {action_field},
    .configure = configure,
    .release = release,
    .reset = reset,
    .step = step,
    .observe = observe,
    .step_many = step_many,
    .check_state = check_state,
    .expose = expose,
    .data = about,
    .init = init,
}};
"""
