/* The pool API: what Python calls, read by both gcc and cffi. */
#ifndef PP_POOL_H
#define PP_POOL_H

#include "pp_env.h"

/* ------------------------------------------------------------------------------- constants -- */

enum pp_autoreset { PP_NEXT_STEP, PP_SAME_STEP, PP_DISABLED };

enum {
  /* the dtype of actions that have several, or another one than pp_dtype: doubles, count x
   * num_players rows, and after those the dtype of each of the count actions in a byte */
  PP_MIXED_DTYPES = 64,
  /* the same of environments in worker processes: each finds its action in the order that was left
   * for it, and what actions points to is not read */
  PP_ACTION_IN_PAYLOAD = 65
};

/* what an environment must do next */
enum pp_command {
  PP_COMMAND_STEP = 0,
  PP_COMMAND_RESET = 1, /* in a worker process the payload, if any, holds seed and options */
  PP_COMMAND_RESET_OPTIONS = 2, /* with the pool's reset options; not in worker processes */
  PP_COMMAND_RESTART = 3,       /* its worker died during its step: reset, and a row that says so */
  PP_COMMAND_ACTION = 4         /* in a worker process: a step, whose action is in the payload */
};

/* columns that the engine writes beside the environment's fields, when asked for */
enum pp_extra {
  PP_WITH_STEP_TYPE = 1, /* int32: 0 first, 1 mid, 2 last row of an episode */
  PP_WITH_DISCOUNT = 2,  /* float32 */
  PP_WITH_PLAYERS = 4,   /* int32 (num_players): the env id, once per player */
  PP_WITH_STATISTICS = 8 /* episode_return float64, episode_length int32 */
};

/* ------------------------------------------------------------------------------------ data -- */

typedef struct pp_pool pp_pool;

typedef struct pp_pool_options {
  int32_t num_envs;
  int32_t batch_size;  /* num_envs: ordered, synchronous; fewer: first come, first served */
  int32_t num_threads; /* every thread that steps, the caller included; 0: what the machine has */
  int32_t thread_affinity_offset; /* >= 0: pin workers one to one, each on the node of its lane */
  int32_t autoreset;              /* pp_autoreset */
  int32_t max_episode_steps;      /* -1: the definition's; 0: none */
  int32_t reward_dtype;           /* PP_FLOAT32 or PP_FLOAT64 */
  int32_t extras;                 /* pp_extra bits */
  const char *topology_root;      /* null: "/" */
} pp_pool_options;

/* one contiguous array of a batch: rows x shape */
typedef struct pp_column {
  const char *name; /* a field's name, or the engine's: "reward", "terminated", ... */
  int32_t field;    /* index of the environment's field, -1: the engine's own */
  int32_t is_final; /* SAME_STEP: written only in rows whose episode just ended */
  int32_t dtype;
  int32_t ndim; /* of one row, players included */
  int64_t shape[PP_MAX_NDIM + 1];
  int64_t row_bytes;
  int64_t offset; /* of row 0 in the batch's memory */
} pp_column;

/* what the pool has done so far; only counts, no clocks */
typedef struct pp_stats {
  int64_t env_steps;     /* rows delivered to batches, resets included */
  int64_t batches;       /* batches given to the caller */
  int64_t chunks;        /* grabs from the action queues */
  int64_t worker_waits;  /* futex waits of workers */
  int64_t worker_wakes;  /* futex wakes of workers */
  int64_t caller_waits;  /* futex waits of the caller */
  int64_t caller_wakes;  /* futex wakes of the caller */
  int64_t refused_binds; /* mbind or affinity calls that the system refused */
  int32_t num_threads;   /* that step, the caller included */
  int32_t num_workers;   /* threads of the pool's own */
  int32_t num_lanes;
} pp_stats;

/* ----------------------------------------------------------------------------- environments -- */

/* the built-in definitions, and how many there are */
const pp_env_def *const *pp_env_table(int32_t *count);

/* refuses a definition made for another ABI, or one without what the engine needs */
int pp_env_check(const pp_env_def *def, pp_error *error);

/* loads a definition from a shared library; symbol is the name of the pp_env_def */
int pp_env_open(const char *path, const char *symbol, const pp_env_def **out, pp_error *error);

/* runs configure without a pool, to learn fields; end it with pp_config_fini */
int pp_config_init(const pp_env_def *def, const pp_value *options, pp_config *config,
                   pp_error *error);
void pp_config_fini(const pp_env_def *def, pp_config *config);

/* ------------------------------------------------------------------------------------- pool -- */

/* A pool is never null, but for pp_pool_destroy. Any other argument may be wrong: an environment or
 * lane that is not there, a null where none is allowed, a call that is for pools of the other kind.
 * What returns a status or a number returns a negative status then, what returns an address null,
 * and nothing has happened. */

/* makes the environments and the threads; values holds one entry per option of def */
int pp_pool_create(const pp_env_def *def, const pp_value *values, const pp_pool_options *options,
                   pp_pool **out, pp_error *error);

/* ends the threads, each after the environment it is stepping; calls that wait return
 * PP_ERR_CLOSED, as do all later ones. Environments can't be stepped again. Every call returns
 * after the threads have ended, whichever of several began first */
void pp_pool_close(pp_pool *pool);

/* closes, then frees everything but batches. pool may be null; in a forked child it does nothing */
void pp_pool_destroy(pp_pool *pool);

/* columns of a batch, in the order of their memory; they live as long as the pool */
const pp_column *pp_pool_columns(const pp_pool *pool, int32_t *count);

/* what configure decided */
const pp_config *pp_pool_config(const pp_pool *pool);

/* memory for one batch, placed on the right nodes; null: out of memory */
void *pp_batch_alloc(pp_pool *pool);
int64_t pp_batch_size(const pp_pool *pool);
void pp_batch_free(void *memory, int64_t size);

/* batches the pool must hold before the first send; each receive then gives one and takes one */
int32_t pp_pool_batches(const pp_pool *pool);

/* gives memory for one of those first batches, which pp_batch_alloc made; it stays the caller's,
 * but untouched until received. Batches are received in the order in which their memory was given
 */
int pp_pool_offer(pp_pool *pool, void *memory, pp_error *error);

/* gives every environment its seed, used at its next reset: sizes[i] words for environment i, one
 * after another; size 0 keeps the generator */
int pp_pool_seed(pp_pool *pool, const uint32_t *words, const int32_t *sizes, pp_error *error);

/* queues one action for each environment named; all of them or none. env_ids null: all
 * environments in order (count is num_envs). The pool copies the actions: count x num_players rows
 * of this dtype, C order */
int pp_pool_send(pp_pool *pool, const int32_t *env_ids, int32_t count, const void *actions,
                 int32_t dtype, pp_error *error);

/* queues resets; seeds as in pp_pool_seed, for the environments named, or null; options holds one
 * entry per reset option, or null */
int pp_pool_send_reset(pp_pool *pool, const int32_t *env_ids, int32_t count,
                       const uint32_t *seed_words, const int32_t *seed_sizes,
                       const pp_value *options, pp_error *error);

/* takes the next batch and gives fresh memory in its place. Returns its rows (> 0); 0 after 50 ms
 * or so, so that the caller can look after its signals and call again; or a negative status. With
 * PP_ERR_ENV the batch is taken all the same: pp_pool_failed tells its rows and what failed.
 * timeout in nanoseconds, < 0: none, and it is an error if too few environments are in flight; >=
 * 0: returns 0 after it at the latest, and another thread's send is waited for */
int32_t pp_pool_recv(pp_pool *pool, void *fresh, int64_t timeout, pp_error *error);

/* send, then recv, in one call; the caller steps environments too. After 0 go on with recv */
int32_t pp_pool_step(pp_pool *pool, const int32_t *env_ids, int32_t count, const void *actions,
                     int32_t dtype, void *fresh, pp_error *error);

/* what the receive or step that took this fresh memory returned, 0: none did. For a caller that an
 * exception kept from learning it; for the thread that receives */
int32_t pp_pool_last_result(const pp_pool *pool, const void *fresh);

/* after PP_ERR_ENV: how many rows the batch had, and the environments that failed in it */
const int32_t *pp_pool_failed(const pp_pool *pool, int32_t *count, int32_t *rows);

/* what one environment's last failure said. In worker processes: what the pool itself found; with
 * no text, pp_pool_reply says it, or the worker has died */
const pp_error *pp_pool_env_error(const pp_pool *pool, int32_t env_id);

/* environments sent and not yet received */
int32_t pp_pool_in_flight(const pp_pool *pool);

/* 1: the next step of this environment resets it (or, PP_DISABLED, is refused); PP_ERR_STATE while
 * it is in flight */
int32_t pp_pool_needs_reset(pp_pool *pool, int32_t env_id);

/* snapshots: bytes that restore one environment, in this pool or one like it.
 * get with bytes null returns the room to give, else writes and returns how much, which may be less
 */
int64_t pp_pool_get_state(pp_pool *pool, int32_t env_id, void *bytes, int64_t size,
                          pp_error *error);

/* restores the environments named, each from its own snapshot; all of them or none. Only a load
 * callback that fails can't be undone: environments before it are restored, it starts a new episode
 * at its next step, those after it are as they were. Nothing of this may change during the call */
int pp_pool_set_state(pp_pool *pool, const int32_t *env_ids, int32_t count,
                      const void *const *snapshots, const int64_t *sizes, pp_error *error);

/* writes one row of each field as an environment stands; fields[i] may be null. An environment that
 * was never reset, or failed, has nothing to show */
int pp_pool_observe(pp_pool *pool, int32_t env_id, void *const *fields, pp_error *error);

/* draws one environment; with pixels null only its size */
int pp_pool_render(pp_pool *pool, int32_t env_id, pp_image *image, pp_error *error);

/* copies what an environment simulates into an object of its family's own (MuJoCo: an mjData of the
 * same model). As for observe, one that was never reset, or failed, has nothing to show */
int pp_pool_expose(pp_pool *pool, int32_t env_id, void *target, pp_error *error);

void pp_pool_stats(pp_pool *pool, pp_stats *stats);

/* ------------------------------------------------------------------------ worker processes -- */

/* What becomes of environments in flight when their worker has died. With the latter two another
 * worker will come, and resets wait for it: it is asked for the same reset, with its order */
enum pp_on_death {
  PP_DEATH_FAIL,   /* they fail, and nothing can be sent to that lane any more */
  PP_DEATH_REPEAT, /* rows of steps repeat what was shown last, truncated */
  PP_DEATH_REQUEUE /* the worker that comes is asked to restart them: PP_COMMAND_RESTART */
};

/* bytes of address space that a pool with worker processes may take, 0: any number */
typedef struct pp_address_space {
  int64_t parent; /* in the process that makes it */
  int64_t worker; /* in each worker process */
} pp_address_space;

/* Makes a pool whose environments live in worker processes, num_lanes of them: the environments of
 * one lie side by side, as many as of any other. config says only how rows and actions look, of one
 * player; there are no extras and no limit of steps, and threads are not looked at. keeps_last:
 * PP_DEATH_REPEAT and _REQUEUE are possible. room: null for any. The pool's calls are the same, but
 * for those that need the environments themselves: seeds, reset options, snapshots, pictures.
 *
 * Environments are anybody's code, which may write over all memory that its worker shares. It can
 * spoil rows by that, which fail where it is seen, and stop a pool, which says so for ever
 * (PP_ERR_BROKEN); it can't make the creator read or write where it must not, nor wait for what
 * can't come. */
int pp_pool_create_processes(const pp_config *config, const pp_pool_options *options,
                             int32_t num_lanes, int32_t keeps_last, const pp_address_space *room,
                             pp_pool **out, pp_error *error);

/* descriptors of the memory that workers open: the pool's, and the file that a lane replies in.
 * PP_ERR_STATE: there are no workers */
int32_t pp_pool_memory_fd(const pp_pool *pool);
int32_t pp_pool_reply_fd(const pp_pool *pool, int32_t lane);

/* bytes of address space that the pool's memory may grow to: as much must be mapped */
int64_t pp_pool_reserve(const pp_pool *pool);

/* which worker has an environment, and the environments of a lane: first .. first+count-1, with
 * count 0 where there is no such lane */
int32_t pp_pool_lane_of(const pp_pool *pool, int32_t env_id);
void pp_pool_lane_envs(const pp_pool *pool, int32_t lane, int32_t *first, int32_t *count);

/* leaves bytes for the next turn of an environment that is not in flight, in place of others; size
 * 0: none. They are for that turn alone: received, or refused when it was sent, it takes them along
 */
int pp_pool_set_payload(pp_pool *pool, int32_t env_id, const void *bytes, int64_t size,
                        pp_error *error);

/* what the worker left with the last turn of an environment, until it is sent to again; null: none.
 * size -1: the creator wrote the row, the worker having died */
const void *pp_pool_reply(const pp_pool *pool, int32_t env_id, int64_t *size);

/* those of the last batch whose turn left something for pp_pool_reply */
const int32_t *pp_pool_replied(const pp_pool *pool, int32_t *count);

/* asks a lane's worker something outside all stepping, one thing at a time */
int pp_pool_request(pp_pool *pool, int32_t lane, const void *bytes, int64_t size, pp_error *error);

/* waits for its answer: 1: here it is; 0 after timeout nanoseconds, 50 ms at most; or a status */
int32_t pp_pool_answer(pp_pool *pool, int32_t lane, int64_t timeout, const void **bytes,
                       int64_t *size, pp_error *error);

/* the environment that a lane's worker is stepping, -1: none */
int32_t pp_pool_current_env(const pp_pool *pool, int32_t lane);

/* what an environment in flight was asked: PP_COMMAND_STEP or PP_COMMAND_RESET; -1: it is at rest
 */
int32_t pp_pool_command(pp_pool *pool, int32_t env_id);

/* turns that a lane's worker has taken, environments in order of their turns: while neither this
 * nor pp_pool_current_env changes, it is stepping the same environment still */
int64_t pp_pool_taken_turns(const pp_pool *pool, int32_t lane);

/* Steps of an environment whose rows its workers have handed over, so resets and rows that repeat
 * others are none: for after a worker's death, to know whether it has brought anything */
int64_t pp_pool_delivered_steps(const pp_pool *pool, int32_t env_id);

/* turns that wait for a lane's worker to take them */
int64_t pp_pool_waiting_turns(const pp_pool *pool, int32_t lane);

/* After a worker's death (never before: its memory is written to): settles what it had in flight.
 * how: a pp_on_death. Returns how many environments were told so, and lists them in settled, which
 * has room for all of the lane's; resets that wait for the next worker are not among them */
int32_t pp_pool_worker_died(pp_pool *pool, int32_t lane, int32_t how, int32_t *affected,
                            pp_error *error);

/* ----------------------------------------------------------------------------------- system -- */

/* cores this process may use: cpuset and cgroup quota, under a made-up root if root is set */
int32_t pp_usable_cores(const char *root);

/* bytes of memory this process may use: the machine's with its swap, or what its control group may;
 * INT64_MAX when unknown */
int64_t pp_usable_memory(const char *root);

/* name of a status code, for messages */
const char *pp_status_name(int32_t status);

#endif
