/* The environment ABI: what an environment defines, and what the engine gives to its callbacks.
 *
 * An environment is one C file that ends in a definition:
 *
 *     const pp_env_def pp_env_catch_v0 = { .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), ... };
 *
 * The build finds the definition by that line. In C++ (20 or later) the line needs extern "C" in
 * front, because a const has internal linkage there. Compilers of C and C++ and cffi read this
 * header, so it contains only enums and structs. Members that most environments need come first in
 * each struct. A member that is left out is zero, which means: none, or the usual. */
#ifndef PP_ENV_H
#define PP_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------- constants -- */

enum {
  PP_ENV_ABI = 7,
  PP_MAX_NDIM = 4,    /* axes of one observation, action or info, without rows and players */
  PP_MAX_FIELDS = 32, /* observations and infos of one environment */
  PP_ERROR_TEXT = 256,
  PP_MAX_STEP_MANY = 256 /* environments of one call of step_many */
};

/* the result of a call; failures are negative */
enum pp_status {
  PP_OK = 0,
  PP_AGAIN = 1,         /* no failure, but nothing is ready yet: call again */
  PP_ERR_ARGUMENT = -1, /* a value is out of range (ValueError) */
  PP_ERR_TYPE = -2,     /* a value has the wrong type or dtype (TypeError) */
  PP_ERR_STATE = -3,    /* the call is not allowed in the present state */
  PP_ERR_MEMORY = -4,   /* out of memory */
  PP_ERR_SYSTEM = -5,   /* another call of the system failed */
  PP_ERR_ENV = -6,      /* an environment's callback failed */
  PP_ERR_CLOSED = -7,   /* the pool is closed */
  PP_ERR_FORKED = -8,   /* the pool belongs to the parent of this process */
  PP_ERR_ABI = -9,      /* the definition was compiled for another ABI */
  PP_ERR_BROKEN = -10,  /* the pool can't go on: close it and make a new one */
  PP_ERR_TIMEOUT = -11  /* time is up; nothing is lost */
};

enum pp_dtype {
  PP_BOOL,
  PP_UINT8,
  PP_INT32,
  PP_INT64,
  PP_FLOAT32,
  PP_FLOAT64,
  PP_INT8,
  PP_NUM_DTYPES
};

/* further dtypes of a caller's actions; fields do not have them */
enum pp_action_dtype {
  PP_INT16 = PP_NUM_DTYPES,
  PP_UINT16,
  PP_UINT32,
  PP_UINT64,
  PP_FLOAT16,
  PP_NUM_ACTION_DTYPES
};

/* Added to a dtype of an action or of an option's value: it is a Python number, which NumPy
 * converts to the dtype of the other operand. As a bit of action_dtypes, keeps or refuses: 1 <<
 * PP_PYTHON. */
enum pp_dtype_flag { PP_PYTHON = 16 };

/* sets of dtypes, as bits 1 << pp_dtype or pp_action_dtype */
enum pp_dtype_set {
  PP_ALL_ACTION_DTYPES = (1 << PP_NUM_ACTION_DTYPES) - 1, /* without PP_PYTHON */
  PP_UNSIGNED_DTYPES = 1 << PP_UINT8 | 1 << PP_UINT16 | 1 << PP_UINT32 | 1 << PP_UINT64
};

/* the numbers of Box actions that the callbacks accept; the engine refuses all others */
enum pp_numbers { PP_FINITE, PP_INFINITE /* infinities, too */, PP_NOT_FINITE /* and NaN */ };

/* For infos whose dtype varies in the reference: either PP_FOLLOW_ACTION (NumPy's arithmetic with
 * the action decides), or one or both of PP_INT64_* (int64 in those rows, where the reference has
 * an int). */
enum pp_follow {
  PP_FOLLOW_ACTION = 1, /* that of the sum over the action times pp_field.factor */
  PP_INT64_ON_STEP = 4,
  PP_INT64_ON_RESET = 8
};

/* A field's Gymnasium space. PP_DISCRETE_TUPLE is for the only observation of an environment, and
 * for the action of one with one player: an array of one axis in C, EnvPool's API and dm_env's, as
 * PP_MULTI_DISCRETE, and in Gymnasium's API a Tuple of Discretes. PP_TEXT is for observations and
 * infos of environments with one player: a row holds a code, one integer or several, and
 * Gymnasium's API makes a string of it with pp_field.text. */
enum pp_space {
  PP_BOX,
  PP_DISCRETE,
  PP_MULTI_DISCRETE,
  PP_MULTI_BINARY,
  PP_DISCRETE_TUPLE,
  PP_TEXT
};

enum pp_option_type { PP_OPT_BOOL, PP_OPT_INT, PP_OPT_FLOAT, PP_OPT_STRING, PP_OPT_BYTES };

/* Where an environment is in its episode: in the middle, at its end, or outside of one, because it
 * was never reset or has failed: then it is reset before its next step. PP_RUNNING must be 0: code
 * tests phases for any set bit. */
enum pp_phase { PP_RUNNING = 0, PP_ENDED = 1, PP_FRESH = 2 };

/* What a step or reset has returned for a player: bits of the info "given". PP_GIVEN_PLACE is the
 * shift of 16 bits with the player's place among those who act next, from 1 on; 0: it is not there.
 * PP_GIVEN_INFOS is the shift of the bits of its infos, those that are per_player and no marks, in
 * their order. */
enum pp_given {
  PP_GIVEN_OBS = 1,
  PP_GIVEN_REWARD = 2,
  PP_GIVEN_TERMINATION = 4, /* "ended" is its value */
  PP_GIVEN_TRUNCATION = 8,
  PP_GIVEN_TRUNCATED = 16, /* the value of that */
  PP_GIVEN_INFO = 32,
  PP_GIVEN_PLACE = 8,
  PP_GIVEN_INFOS = 24
};

/* The rows that have an info. PP_ON_TERMINATION: those of steps that terminate the episode, and no
 * others; by itself, and for infos that are not per_player. PP_IF_GIVEN, added to the first three:
 * of these rows those that the info "given" names. Such environments have one player, and that
 * info, PP_INT64 and PP_ALWAYS, has a bit for each of these infos, 1 << 0 for the first one. APIs
 * with names of infos leave it out itself. */
enum pp_when {
  PP_ON_STEP = 1,
  PP_ON_RESET = 2,
  PP_ALWAYS = 3,
  PP_ON_TERMINATION = 4,
  PP_IF_GIVEN = 8
};

/* ------------------------------------------------------------------------------------ data -- */

/* one failure; a callback writes text with pp_fail of base/fail.h, and returns a negative status */
typedef struct pp_error {
  int32_t code;
  int32_t env_id; /* -1: the failure is not one environment's */
  char text[PP_ERROR_TEXT];
} pp_error;

/* one observation, action or info of one environment (of one player, if per_player)
 *
 * Three infos have a meaning for the APIs with several players, if they are per_player and
 * PP_ALWAYS, without axes, and PP_BOOL (PP_INT64 for the last):
 *   "live": the player acts in the next step. Without it all players act until the episode ends.
 *   "ended": the player's own episode ended in this step. Without it the episodes of all
 *   players end when the environment terminates.
 *   "given": what the step or reset has returned for the player, for references that leave players
 *   out, or truncate them one by one: see pp_given. Without it all is given to those who live. */
typedef struct pp_field {
  /* "obs" for a single observation, otherwise its key; no engine column's name. Of dicts in dicts
   * the keys, with dots between them. */
  const char *name;
  bool is_info;  /* false: part of the observation (or the action) */
  int32_t when;  /* infos: pp_when */
  int32_t dtype; /* pp_dtype */
  int32_t space; /* pp_space */
  bool per_player;
  int32_t ndim;
  int64_t shape[PP_MAX_NDIM];
  double low; /* Box: bounds of every element; without any, write -INFINITY and INFINITY */
  double high;
  const double *lows; /* Box: bounds of each element in C order; null: use low and high */
  const double *highs;
  int64_t n;           /* Discrete: low .. low + n-1; Text: the most bytes */
  const int64_t *nvec; /* MultiDiscrete, Tuple: one n for each element, from lows (low) on */

  /* rarely needed */
  int32_t follows; /* infos of floats: pp_follow; 0: the dtype is always the field's */
  /* with PP_FOLLOW_ACTION: the dtype of the option that the reference multiplies the action by, as
   * pp_value.dtype */
  int32_t factor;
  /* per_player: the size of each player's own space, at most the field's: n of a Discrete, the
   * number of elements of a field of one axis. What is beyond is 0 in a row, and ignored in an
   * action. null: the spaces of all players are equal. */
  const int64_t *player_sizes;
  /* Text: writes the text that a row's code stands for, without a zero at its end, and returns its
   * length in bytes, at most n. An observation is ASCII. An info is UTF-8, and None if the length
   * is negative. It runs on any thread, and depends on nothing but the code. */
  int32_t (*text)(const void *code, char *out);
  const char *charset; /* Text: the characters of texts; null: all printable ASCII */
} pp_field;

/* the value of one option; the option's type says which member holds it */
typedef struct pp_value {
  bool given;    /* false: the caller did not give this option */
  int64_t i;     /* bool, int */
  double f;      /* float */
  const char *s; /* string (also zero-terminated), bytes */
  int64_t size;  /* bytes of s */

  /* rarely needed */
  int32_t dtype; /* dtype of f, one of .keeps; 0: a Python float, or it makes no difference */
} pp_value;

/* One constructor or reset option. Its name is the Python keyword. A name that begins with '_' is
 * internal: parallel_pool sets the value for this process, and snapshots do not depend on it. */
typedef struct pp_option {
  const char *name;
  int32_t type;     /* pp_option_type */
  bool required;    /* no default */
  double number;    /* default of bool, int and float */
  const char *text; /* default of string */
  double low;       /* int, float: inclusive range; any number if low and high are both 0 */
  double high;
  const char *doc;

  /* rarely needed */
  /* Only reset, step and observe depend on it, and they read env->options. So environments with
   * different values can share what configure makes, and a value can be drawn at each reset. All
   * values from low to high must be valid. Not for texts, nor for reset options. */
  bool varies;
  /* Floats whose type changes the reference's results, because NumPy computes in it: bits of the
   * dtypes (1 << pp_dtype or pp_action_dtype; 1 << PP_PYTHON for Python's int) that the callbacks
   * distinguish by pp_value.dtype, which is PP_INT64 + PP_PYTHON for Python's int. */
  uint32_t keeps;
  /* bits of the dtypes with which the callbacks do not compute as the reference does: refused. All
   * dtypes in neither are as a Python float. */
  uint32_t refuses;
  int32_t number_dtype; /* dtype of the default, as pp_value.dtype */
} pp_option;

/* the state of NumPy's PCG64, advanced through csrc/base/random.h */
typedef struct pp_rng {
  uint64_t state_high;
  uint64_t state_low;
  uint64_t inc_high;
  uint64_t inc_low;
  uint32_t has_uint32; /* uinteger holds the unused half of a 64-bit draw */
  uint32_t uinteger;
} pp_rng;

/* the entropy of one environment for numpy.random.SeedSequence: 32-bit words, the lowest first */
typedef struct pp_seed {
  const uint32_t *words;
  int32_t num_words;
} pp_seed;

/* one environment, as callbacks get it */
typedef struct pp_env {
  void *state;             /* state_size bytes, zeroed before init */
  void *shared;            /* made by configure; read-only afterwards */
  const pp_value *options; /* one for each of the definition's options, defaults filled in; those
                            * with .varies may change before a reset */
  pp_rng *rng;             /* the environment's np_random in Gymnasium */
  const int32_t *elapsed;  /* steps taken in the current episode */
  pp_error *error;         /* a failing callback writes the reason here: see base/fail.h */
  int32_t id;
  int32_t max_episode_steps; /* 0: no limit; may change at the end of a reset */

  /* rarely needed */
  const uint8_t *action_dtype; /* dtype of the action passed to step: see action_dtypes below */
  void *cache;                 /* cache_size bytes, zeroed before init */
} pp_env;

/* one reset */
typedef struct pp_reset {
  const pp_value *options; /* one for each reset option; null: none was given */
  bool forced;             /* the caller asked for it; false: autoreset, or the first step */

  /* rarely needed */
  bool continues; /* set by the callback: same episode and step count (a life was lost) */
} pp_reset;

/* the result of one step; the engine zeroes it before the call */
typedef struct pp_result {
  double *reward; /* num_players values */
  uint8_t terminated;
  uint8_t truncated; /* the environment cuts its episode short; the engine applies the time limit */

  /* rarely needed */
  bool has_discount; /* false: the discount is 1, or 0 on termination */
  float discount;    /* starts at 1; counts only with has_discount */
} pp_result;

/* those environments of a run that failed; pp_run_fail of base/run.h writes it */
typedef struct pp_failures {
  pp_error *errors; /* one for each environment of the run */
  int32_t count;
  int32_t at[PP_MAX_STEP_MANY]; /* their places in the run */
} pp_failures;

/* Several environments for step_many; all arrays are contiguous, one entry for each environment.
 * base/run.h has pp_run_state, the state of one. */
typedef struct pp_run {
  int32_t count;
  char *states;
  size_t state_stride;
  const void *actions;    /* num_players x action rows */
  double *reward;         /* num_players for each; not zeroed, so write all of them */
  uint8_t *terminated;    /* zeroed */
  uint8_t *truncated;     /* zeroed */
  void *const *fields;    /* num_fields pointers to the first row of each field; null: not wanted */
  pp_rng *rngs;           /* as pp_env.rng */
  const int32_t *elapsed; /* as pp_env.elapsed */
  const uint8_t *ended;   /* 1: the episode has ended: see step_many below */

  /* rarely needed */
  int32_t action_dtype;  /* dtype of all actions: see action_dtypes below */
  pp_failures *failures; /* none at the call */
} pp_run;

/* what a snapshot would restore */
typedef struct pp_saved {
  const void *state; /* a copy of the plain state, aligned as env->state; or, if there is a load,
                      * its bytes, which are not aligned */
  int64_t size;      /* bytes of state */
  int32_t phase;     /* pp_phase */
} pp_saved;

/* a picture; if pixels is null, render only sets the size */
typedef struct pp_image {
  uint8_t *pixels; /* height x width x 3, RGB */
  int32_t width;
  int32_t height;
} pp_image;

typedef struct pp_env_def pp_env_def;

/* What configure decides, once for each pool; or, if environments of a pool have different values
 * of options without .varies, once for each combination. It starts with the definition's values. */
typedef struct pp_config {
  const pp_value *options; /* they last until release; later callbacks find them in pp_env */
  pp_error *error;
  void *shared;
  size_t state_size;
  int32_t num_players;
  const char *const *player_names; /* num_players names; null: "player_0", "player_1", ... */
  int32_t num_fields;
  pp_field fields[PP_MAX_FIELDS];
  pp_field action;

  /* rarely needed */
  const pp_env_def *def; /* def->data says which of a family it is */
  /* one for each option, 1: its value differs between the environments, or is drawn at each reset,
   * and only pp_env.options holds it (options with .varies only). null: there is no such option */
  const uint8_t *varying;
  /* configure sets it if step_many can't step these environments, as it reads no pp_env.options
   * and a varying option is not in the state */
  bool avoids_runs;
  /* Bytes of env->cache: data that an environment can compute again from its state. The cache lies
   * at a fixed distance from the state. It is in no snapshot; the engine zeroes it before init and
   * whenever it restores a state. */
  size_t cache_size;
  /* What environments of a mixture have of their own; configure of other definitions leaves both
   * zero. task: its name, for messages. num_actions: only the first of the action's n are allowed;
   * 0: all. */
  const char *task;
  int64_t num_actions;
} pp_config;

/* ------------------------------------------------------------------------------ definition -- */

/* All callbacks return PP_OK, or a negative status with error->text set: base/fail.h. Callbacks
 * that take a pp_env run on any thread, but for one environment never on two threads at once. */
struct pp_env_def {
  uint32_t abi;  /* PP_ENV_ABI */
  uint32_t size; /* sizeof(pp_env_def) */

  const char *id;
  const char *family;        /* "classic_control", "atari", ... */
  const char *reference;     /* the implementation whose results these equal, with its version */
  bool has_reward_threshold; /* the task counts as solved at a return of reward_threshold */
  double reward_threshold;
  int32_t max_episode_steps; /* default time limit; 0: none */

  const pp_option *options;
  int32_t num_options;

  size_t state_size;
  int32_t num_fields;
  const pp_field *fields; /* observations first, then infos */
  pp_field action;

  /* checks options, describes fields, and makes what all environments share; may be null. Fields,
   * action and players must be the same for all environments of a pool. */
  int (*configure)(pp_config *config);
  void (*release)(void *shared);

  /* starts an episode; step advances it by one action (num_players rows of it) */
  int (*reset)(pp_env *env, pp_reset *reset);
  int (*step)(pp_env *env, const void *action, pp_result *result);

  /* Writes one row of every field: fields has num_fields pointers, and null means not wanted. A
   * value that is left unwritten keeps stale bytes. Must not change the state. */
  int (*observe)(pp_env *env, void *const *fields, bool is_reset);

  /* step and observe for several environments; null: one by one. It writes every field that is not
   * null, for each environment. The results must equal those of step and observe bit by bit: which
   * of them the engine calls depends on how busy the machine is.
   * run->ended marks environments whose episode has ended: they are reset afterwards. The callback
   * may skip them, or step them with the others, but must not fail on their state. The engine
   * discards their results, and undoes draws from their rngs. It can't undo other changes that
   * survive a reset (of a generator or an episode counter in the state): do not make them for
   * environments whose episode has ended.
   * An environment that fails is named with pp_run_fail, and the callback goes on with the others;
   * what it wrote of that one does not count. If it returns a negative status, all fail.
   * A call is for at most 256 environments. Nothing interrupts it or the resets that follow, not
   * even Ctrl-C: leave step_many null if a step or a reset can take more than microseconds. */
  int (*step_many)(void *shared, const pp_run *run);

  /* Refuses states that no environment can have, before anything of a snapshot is restored; null:
   * any bytes are a state with which the callbacks stay within their memory and come to an end.
   * Anybody can make a snapshot of any bytes, so check what is used as an index, a count, the bound
   * of a loop or the case of a switch; a number that is only calculated with needs no check, NaN
   * included. base/state_check.h has checks of ranges and generators. A state at the end of an
   * episode is possible, and the snapshot may say that the episode goes on: step must bear that.
   * rng, elapsed, max_episode_steps and drawn options of env are the snapshot's, too; env->state is
   * still the present state, and env->cache is null. The state of an environment that was never
   * reset (zeros, or what init made) must pass with PP_FRESH. Return PP_ERR_ARGUMENT; nothing has
   * changed then. */
  int (*check_state)(const pp_env *env, const pp_saved *saved);

  int (*render)(pp_env *env, pp_image *image);

  /* rarely needed */

  /* What configure needs to know of this definition, if one configure serves several: it finds it
   * in config->def. The engine does not look at it. */
  const void *data;

  const char *variant; /* Atari: the game */
  double tolerance;    /* largest difference from the reference; 0: the same bits */

  int32_t num_players;             /* 0 means 1 */
  const char *const *player_names; /* num_players names; null: "player_0", "player_1", ... */

  const pp_option *reset_options;
  int32_t num_reset_options;
  /* checks the reset options of a call against each other; null: their ranges are enough */
  int (*check_reset)(void *shared, const pp_value *options, pp_error *error);

  /* The dtypes that the callbacks accept besides the action's own: bits 1 << pp_dtype,
   * pp_action_dtype or PP_PYTHON. The engine passes a Box action of such a dtype as doubles (a
   * Discrete action always as int64), and action_dtype is the caller's dtype. Actions of other
   * dtypes are converted to the action's own dtype (integers to float64, if it is accepted). */
  uint32_t action_dtypes;
  int32_t action_numbers; /* pp_numbers */

  /* create and destroy one environment; null: the zeroed state is enough */
  int (*init)(pp_env *env);
  void (*fini)(pp_env *env);

  /* receives a new seed, after the engine has seeded rng; null: the environment uses only rng */
  int (*seed)(pp_env *env, const pp_seed *seed);

  /* Snapshots of a state that is not plain data; null: the engine copies the state. save returns
   * the size; if bytes is not null, it also writes that many bytes. If load fails, a load of what
   * save has written before follows; without that the environment begins a new episode. */
  int64_t (*save)(pp_env *env, void *bytes);
  int (*load)(pp_env *env, const void *bytes, int64_t size);

  /* copies the simulation into an object of the family's own type (MuJoCo: an mjData of the same
   * model) for tools that know this type; null: not supported */
  int (*expose)(pp_env *env, void *target);
};

#endif
