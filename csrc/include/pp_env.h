/* The environment ABI: what an environment file declares to the engine, and what the engine passes
 * to its callbacks.
 *
 * An environment is one C file that ends in a definition:
 *
 *     const pp_env_def pp_env_cartpole_v1 = { .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), ... };
 *
 * The build finds it by that line. Both gcc and cffi read this header, so it holds enums, structs
 * and prototypes only.
 */
#ifndef PP_ENV_H
#define PP_ENV_H

#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------- constants -- */

enum {
  PP_ENV_ABI = 2,
  PP_MAX_NDIM = 4,    /* axes of one observation, action or info, rows and players not counted */
  PP_MAX_FIELDS = 32, /* observations and infos of one environment */
  PP_ERROR_TEXT = 256
};

/* the statuses that calls return; every failure is negative */
enum pp_status {
  PP_OK = 0,
  PP_AGAIN = 1,         /* no failure, but nothing is ready: call again */
  PP_ERR_ARGUMENT = -1, /* a value is outside what the callee takes (ValueError) */
  PP_ERR_TYPE = -2,     /* a value has the wrong type or dtype (TypeError) */
  PP_ERR_STATE = -3,    /* the call is not possible in the present state */
  PP_ERR_MEMORY = -4,   /* the system has no memory left */
  PP_ERR_SYSTEM = -5,   /* the system refused something other than memory */
  PP_ERR_ENV = -6,      /* an environment's callback failed */
  PP_ERR_CLOSED = -7,   /* the pool is closed */
  PP_ERR_FORKED = -8,   /* the pool belongs to the parent of this process */
  PP_ERR_ABI = -9,      /* the definition was built against another ABI */
  PP_ERR_BROKEN = -10   /* the pool can return no more results: close it and make a new one */
};

enum pp_dtype { PP_BOOL, PP_UINT8, PP_INT32, PP_INT64, PP_FLOAT32, PP_FLOAT64, PP_NUM_DTYPES };

/* further dtypes that a caller's actions may have; no field has one of these */
enum pp_action_dtype {
  PP_INT8 = PP_NUM_DTYPES,
  PP_INT16,
  PP_UINT16,
  PP_UINT32,
  PP_UINT64,
  PP_FLOAT16,
  PP_NUM_ACTION_DTYPES,
  /* added to a dtype: the action consists of Python's own numbers, which NumPy rounds to the dtype
   * of the other operand */
  PP_PYTHON = 16,
  /* every dtype as bits of action_dtypes, without the bit of PP_PYTHON */
  PP_ALL_ACTION_DTYPES = (1 << PP_NUM_ACTION_DTYPES) - 1
};

/* infos that are computed from the action, and whose dtype depends on the action's */
enum pp_follow {
  PP_FOLLOW_FLOAT = 1, /* float16, float32 or float64; float64 for integer actions */
  PP_FOLLOW_ALL = 2    /* the same, but int64 or uint64 for integer actions */
};

/* how a field appears as a Gymnasium space */
enum pp_space { PP_BOX, PP_DISCRETE, PP_MULTI_DISCRETE, PP_MULTI_BINARY };

enum pp_option_type { PP_OPT_BOOL, PP_OPT_INT, PP_OPT_FLOAT, PP_OPT_STRING, PP_OPT_BYTES };

/* which rows carry an info */
enum pp_when { PP_ON_STEP = 1, PP_ON_RESET = 2, PP_ALWAYS = 3 };

/* ------------------------------------------------------------------------------------ data -- */

/* one failure; callbacks fill in text with snprintf and return a negative status */
typedef struct pp_error {
  int32_t code;
  int32_t env_id; /* -1 when no single environment is to blame */
  char text[PP_ERROR_TEXT];
} pp_error;

/* one observation, action or info of one environment (of one player, if per_player) */
typedef struct pp_field {
  const char *name; /* "obs" for a single observation, else its key; no engine column's name */
  int32_t is_info;  /* 0: part of the observation (or the action); 1: info */
  int32_t when;     /* infos: pp_when */
  int32_t dtype;    /* pp_dtype */
  int32_t space;    /* pp_space */
  int32_t per_player;
  int32_t ndim;
  int64_t shape[PP_MAX_NDIM];
  double low; /* Box: bounds of every element */
  double high;
  const double *lows; /* Box: bounds of each element in C order; null: low and high apply */
  const double *highs;
  int64_t n;           /* Discrete: 0 .. n-1 */
  const int64_t *nvec; /* MultiDiscrete: one n for each element */
  int32_t follows;     /* infos of PP_FLOAT64: a pp_follow; 0: the dtype is always PP_FLOAT64 */
} pp_field;

/* the value of one option; the option's type says which member holds it */
typedef struct pp_value {
  int32_t given; /* 0: the caller did not name this option */
  int64_t i;     /* bool, int */
  double f;      /* float */
  const char *s; /* string (also zero-terminated), bytes */
  int64_t size;  /* of s */
} pp_value;

/* One constructor or reset option. Its name is the Python keyword. An option whose name begins with
 * '_' passes values between Python and C of one process, and is not part of the environment's
 * identity. */
typedef struct pp_option {
  const char *name;
  int32_t type;     /* pp_option_type */
  int32_t required; /* 1: no default */
  double number;    /* default of bool, int and float */
  const char *text; /* default of string */
  double low;       /* int, float: inclusive range */
  double high;
  const char *doc;
} pp_option;

/* the state of NumPy's PCG64, advanced through csrc/base/random.h */
typedef struct pp_rng {
  uint64_t state_high;
  uint64_t state_low;
  uint64_t inc_high;
  uint64_t inc_low;
  uint32_t has_uint32; /* NumPy buffers half of a 64-bit draw */
  uint32_t uinteger;
} pp_rng;

/* entropy of one environment as numpy.random.SeedSequence takes it: little-endian words */
typedef struct pp_seed {
  const uint32_t *words;
  int32_t num_words;
} pp_seed;

/* one environment as every callback sees it */
typedef struct pp_env {
  void *state;                 /* state_size bytes, zeroed before init */
  void *shared;                /* made by configure; read-only from then on */
  const pp_value *options;     /* one for each of the definition's options, defaults filled in */
  pp_rng *rng;                 /* Gymnasium's np_random of this environment */
  const int32_t *elapsed;      /* steps taken in the running episode */
  const uint8_t *action_dtype; /* of the action that step gets: see action_dtypes below */
  pp_error *error;             /* where a callback that fails writes the reason */
  int32_t id;
  int32_t max_episode_steps; /* 0: no limit */
} pp_env;

/* the cause of a reset, and its options */
typedef struct pp_reset {
  const pp_value *options; /* one for each reset option, or null when none was given */
  int32_t forced;          /* 1: the caller sent a reset; 0: autoreset, or the first step */
} pp_reset;

/* the result of one reset or step; the flags are zero before the call */
typedef struct pp_result {
  double *reward; /* num_players values, zero before a step */
  float discount; /* 1 before a step; the engine sets it to 0 on termination */
  uint8_t terminated;
  uint8_t truncated; /* by the environment itself; time limits are the engine's */
  uint8_t continues; /* reset only: the episode goes on (a life was lost), and so do its counts */
  uint8_t has_discount; /* 1: the engine leaves discount as the environment has set it */
} pp_result;

/* environments with consecutive ids, for step_many; every array is contiguous, one entry each */
typedef struct pp_run {
  char *states;
  size_t state_stride;
  const void *actions; /* num_players x action rows */
  double *reward;      /* num_players each, not zeroed: write all of them */
  uint8_t *terminated; /* zeroed */
  uint8_t *truncated;  /* zeroed */
  void *const *fields; /* first row of each field; null if the field is not wanted */
  int32_t count;
  int32_t action_dtype; /* of all actions: see action_dtypes below */
} pp_run;

/* a picture; if pixels is null, render writes only the size */
typedef struct pp_image {
  uint8_t *pixels; /* height x width x 3, RGB */
  int32_t width;
  int32_t height;
} pp_image;

/* what configure decides, once per pool; before the call it holds the definition's values */
typedef struct pp_config {
  const pp_value *options;
  pp_error *error;
  void *shared;
  size_t state_size;
  int32_t num_players;
  int32_t num_fields;
  pp_field fields[PP_MAX_FIELDS];
  pp_field action;
  const char *variant; /* the definition's */
} pp_config;

/* ------------------------------------------------------------------------------ definition -- */

typedef struct pp_env_def {
  uint32_t abi;  /* PP_ENV_ABI */
  uint32_t size; /* sizeof(pp_env_def) */

  const char *id;
  const char *family;      /* "classic_control", "atari", ... */
  const char *variant;     /* which of those that share callbacks (Atari: the game); may be null */
  const char *reference;   /* the implementation whose results are equal, with its version */
  double tolerance;        /* largest difference from it; 0: the same bits */
  double reward_threshold; /* NaN: none */
  int32_t max_episode_steps; /* default time limit; 0: none */

  const pp_option *options;
  int32_t num_options;
  const pp_option *reset_options;
  int32_t num_reset_options;

  size_t state_size;
  int32_t num_players; /* 0 reads as 1 */
  int32_t num_fields;
  const pp_field *fields; /* observations first, then infos */
  pp_field action;
  /* Dtypes of actions that the callbacks accept besides the action's own, as bits 1 << pp_dtype,
   * pp_action_dtype or PP_PYTHON. A Box action of such a dtype reaches step as doubles with the
   * caller's values, a Discrete one as int64, as always; action_dtype says which dtype the caller
   * gave. An action of any other dtype is first converted to the action's own dtype (integers: to
   * float64, if it is among these). 0: all are converted */
  uint32_t action_dtypes;

  /* All callbacks return PP_OK or a negative status with error->text set. Those that take a pp_env
   * are called by one thread at a time for one environment, but by any thread. */

  /* checks options, describes fields, makes what all environments share; null: the definition's
   * values are used unchanged */
  int (*configure)(pp_config *config);
  void (*release)(void *shared);

  /* makes and ends one environment; null: the zeroed state is enough */
  int (*init)(pp_env *env);
  void (*fini)(pp_env *env);

  /* takes a new seed; rng is seeded already. null: the environment has no other generator */
  int (*seed)(pp_env *env, const pp_seed *seed);

  /* starts an episode; step advances it by one action (num_players rows of it) */
  int (*reset)(pp_env *env, const pp_reset *reset, pp_result *result);
  int (*step)(pp_env *env, const void *action, pp_result *result);

  /* writes every field of one row (fields[i] is null if the field is not wanted); must not change
   * the environment */
  int (*observe)(pp_env *env, void *const *fields, int32_t is_reset);

  /* step and observe for a run of at most 256 environments; null: they are stepped one by one. It
   * must not draw random numbers. The episodes of some environments of the run may have ended: the
   * engine discards what is computed for these and resets them afterwards, so the callback only has
   * to survive them. Nothing interrupts a call, not even Ctrl-C: leave step_many null if a step may
   * take more than microseconds */
  int (*step_many)(void *shared, const pp_run *run);

  /* checks the reset options of a call against each other; null: ranges are enough */
  int (*check_reset)(void *shared, const pp_value *options, pp_error *error);

  /* snapshot of state that is not plain data. With bytes null save returns the size, else it writes
   * that many bytes. null: the engine copies the state */
  int64_t (*save)(pp_env *env, void *bytes);
  int (*load)(pp_env *env, const void *bytes, int64_t size);

  int (*render)(pp_env *env, pp_image *image);

  /* copies the simulation into an object of the environment's family (MuJoCo: an mjData of the same
   * model), for code that works on that object; null: the family has no such object */
  int (*expose)(pp_env *env, void *target);
} pp_env_def;

#endif
