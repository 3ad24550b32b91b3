/* The pool API: what Python calls. Both gcc and cffi read this header, so it holds enums, structs
 * and prototypes only. */
#ifndef PP_POOL_H
#define PP_POOL_H

#include "pp_env.h"

/* ------------------------------------------------------------------------------- constants -- */

enum {
  PP_MAX_STAGES = 4,  /* stages of a picture */
  PP_MAX_FRAMES = 64, /* frames of a stack */
  PP_MAX_PICTURE_SIDE = 2048
};

/* when the engine resets an environment whose episode has ended: at the next step, within the same
 * step, or never */
enum pp_autoreset { PP_NEXT_STEP, PP_SAME_STEP, PP_DISABLED };

/* values of the dtype argument of pp_pool_send and pp_pool_step, besides those of pp_dtype */
enum {
  /* Actions whose dtypes differ, or whose dtype is no pp_dtype. The array holds count x num_players
   * rows of doubles, followed by count bytes: the dtype of each action. */
  PP_MIXED_DTYPES = 64,
  /* Environments in worker processes only: each action is in the environment's payload
   * (pp_pool_set_payload), and the actions argument is not read. */
  PP_ACTION_IN_PAYLOAD = 65
};

/* what an environment must do next */
enum pp_command {
  PP_COMMAND_STEP = 0,
  PP_COMMAND_RESET = 1, /* in a worker process the payload, if any, holds seed and options */
  PP_COMMAND_RESET_OPTIONS = 2, /* with the pool's reset options; not in worker processes */
  PP_COMMAND_RESTART = 3, /* its worker died during its step: reset, and report that in the row */
  PP_COMMAND_STEP_PAYLOAD = 4 /* in a worker process: a step, whose action is in the payload */
};

/* columns that the engine writes besides the environment's fields, if an option selects them */
enum pp_extra {
  PP_WITH_STEP_TYPE = 1, /* int32: 0 first, 1 mid, 2 last row of an episode */
  PP_WITH_DISCOUNT = 2,  /* float32 */
  PP_WITH_PLAYERS = 4,   /* int32 (num_players): the env id, once per player */
  PP_WITH_STATISTICS = 8 /* episode_return float64, episode_length int32 */
};

/* ------------------------------------------------------------------------------------ data -- */

typedef struct pp_pool pp_pool;

/* how a value is drawn at each reset */
enum pp_draw_kind {
  PP_DRAW_UNIFORM = 0,     /* Generator.uniform(low, high) */
  PP_DRAW_LOG_UNIFORM = 1, /* exp(Generator.uniform(log(low), log(high))), clipped to the range */
  PP_DRAW_INTEGER = 2,     /* Generator.integers(first, last + 1) */
  PP_DRAW_CHOICE = 3       /* choices[Generator.integers(0, num_choices)] */
};

/* an option whose value is drawn at each reset of an environment */
typedef struct pp_draw {
  int32_t option; /* index of a bool, int or float with .varies; num_options: max_episode_steps */
  int32_t kind;   /* pp_draw_kind */
  double low;     /* PP_DRAW_UNIFORM and PP_DRAW_LOG_UNIFORM */
  double high;
  int64_t first; /* PP_DRAW_INTEGER */
  int64_t last;
  const pp_value *choices; /* PP_DRAW_CHOICE */
  int64_t num_choices;
} pp_draw;

/* How the environments of a pool differ. The pool copies all of it. */
typedef struct pp_variation {
  int32_t num_sets;       /* number of sets of option values */
  const pp_value *values; /* num_sets x num_options; the first num_options are environment 0's */
  const int32_t *set_of;  /* index of the set of each environment */
  const int32_t *limits;  /* max_episode_steps of each environment, 0: none; null: one for all */
  const pp_draw *draws;   /* draws, in the order in which they are made, each option once */
  int32_t num_draws;
} pp_variation;

/* what a stage makes of a picture */
enum pp_stage_kind {
  PP_STAGE_GRAY = 1,      /* one value for each pixel: Gymnasium's GrayscaleObservation */
  PP_STAGE_GRAY_AXIS = 2, /* the same, and the axis of colors stays, with keep_dim=True */
  PP_STAGE_RESIZE = 3     /* another size: Gymnasium's ResizeObservation */
};

typedef struct pp_stage {
  int32_t kind;   /* pp_stage_kind */
  int32_t height; /* PP_STAGE_RESIZE: pixels */
  int32_t width;
} pp_stage;

/* what a stack of frames holds at first, besides the frame of the reset */
enum pp_frame_padding { PP_PAD_RESET, /* that frame again */ PP_PAD_ZERO };

/* What becomes of the pictures that environments show: each goes through the stages, and the last
 * frames may be stacked, as Gymnasium's FrameStackObservation does. */
typedef struct pp_picture_options {
  int32_t num_stages;
  pp_stage stages[PP_MAX_STAGES];
  int32_t stack;   /* frames of an observation, the oldest first; 0: a frame without that axis */
  int32_t padding; /* pp_frame_padding */
} pp_picture_options;

typedef struct pp_pool_options {
  int32_t num_envs;
  int32_t batch_size;  /* num_envs: ordered, synchronous; fewer: first come, first served */
  int32_t num_threads; /* all threads that step, the caller included; 0: one per usable core */
  int32_t thread_affinity_offset;     /* >= 0: pin each worker to a core on the node of its lane */
  int32_t autoreset;                  /* pp_autoreset */
  int32_t max_episode_steps;          /* -1: the definition's; 0: no limit */
  int32_t reward_dtype;               /* PP_FLOAT32 or PP_FLOAT64 */
  int32_t extras;                     /* pp_extra bits */
  const char *topology_root;          /* folder to read /proc and /sys under; null: "/" */
  const pp_variation *variation;      /* null: all environments have the same options */
  const pp_picture_options *pictures; /* null: observations stay as the environments write them */
} pp_pool_options;

/* one contiguous array of a batch: rows x shape */
typedef struct pp_column {
  const char *name; /* a field's name, or the engine's: "reward", "terminated", ... */
  int32_t field;    /* index of the environment's field, -1: a column of the engine */
  bool is_final;    /* SAME_STEP: written only in rows whose episode has just ended */
  int32_t dtype;    /* pp_dtype */
  int32_t ndim;     /* axes of one row, players included */
  int64_t shape[PP_MAX_NDIM + 1];
  int64_t row_bytes;
  int64_t offset; /* place of row 0: bytes from the start of the batch's memory */
} pp_column;

/* what a span of a trace shows */
enum pp_span_kind {
  PP_SPAN_STEP = 0,   /* a call of pp_pool_step */
  PP_SPAN_INLINE = 1, /* the same, and the caller stepped all environments itself */
  PP_SPAN_RECV = 2,   /* a call of pp_pool_recv */
  PP_SPAN_SEND = 3,   /* a call of pp_pool_send */
  PP_SPAN_RESETS = 4, /* a call of pp_pool_send_reset */
  PP_SPAN_WORK = 5,   /* steps of environments, with the resets of those whose episode has ended */
  PP_SPAN_RESET = 6,  /* a reset of one environment */
  PP_SPAN_DELIVER = 7 /* a worker process writes infos and publishes rows */
};

/* an interval of a trace; times in ns of the monotonic clock */
typedef struct pp_span {
  int64_t start;
  int64_t end;
  int32_t kind;   /* a pp_span_kind */
  int32_t env_id; /* the first environment of a PP_SPAN_WORK or PP_SPAN_RESET, else -1 */
  int32_t count;  /* environments; of calls: rows received, or environments sent */
  int32_t gaps;   /* ns between the calls, if several short PP_SPAN_INLINE are one span */
} pp_span;

/* Counts since the pool was made; no times. What only threads count is 0 with worker processes. */
typedef struct pp_stats {
  int64_t env_steps;     /* rows in received batches, resets included */
  int64_t batches;       /* batches received */
  int64_t chunks;        /* chunks that threads took from the action queues */
  int64_t worker_waits;  /* futex waits of workers */
  int64_t worker_wakes;  /* futex wakes of workers */
  int64_t caller_waits;  /* futex waits of the caller */
  int64_t caller_wakes;  /* futex wakes of the caller */
  int64_t refused_binds; /* mbind and affinity calls that the system refused */
  int32_t num_threads;   /* threads that step, the caller included */
  int32_t num_workers;   /* threads that the pool started, or worker processes */
  int32_t num_lanes;
} pp_stats;

/* ----------------------------------------------------------------------------- environments -- */

/* Returns the built-in definitions and writes their number to count. */
const pp_env_def *const *pp_env_table(int32_t *count);

/* Checks that the engine can work with a definition. Returns PP_OK, PP_ERR_ABI if it was compiled
 * for another ABI, or PP_ERR_ARGUMENT if a member is missing or out of range. */
int pp_env_check(const pp_env_def *def, pp_error *error);

/* Loads a shared library and writes the definition with the given symbol name to out. The library
 * stays loaded. Returns PP_ERR_ARGUMENT if the file can't be loaded or has no such definition, and
 * what pp_env_check returns. */
int pp_env_load(const char *path, const char *symbol, const pp_env_def **out, pp_error *error);

/* Checks a definition and runs its configure without making a pool, to learn fields and action.
 * options holds one value per option of def. On success pp_config_fini must be called. Returns the
 * status of pp_env_check or of configure, or PP_ERR_ARGUMENT if no pool can be laid out for the
 * result. */
int pp_config_init(const pp_env_def *def, const pp_value *options, pp_config *config,
                   pp_error *error);
void pp_config_fini(const pp_env_def *def, pp_config *config);

/* one task of a mixture */
typedef struct pp_task {
  const char *name;
  const pp_env_def *definition;
} pp_task;

/* Makes a definition whose environments are of other definitions: its option "task" says which. The
 * mixture has the options of all of them, and those of reset, each name once; an environment
 * ignores those that its own definition does not have. It is never freed, as pools may point to it.
 * Returns PP_ERR_ARGUMENT if these definitions can't be mixed, or PP_ERR_MEMORY. */
int pp_mixture_create(const char *id, const pp_task *tasks, int32_t count, const pp_env_def **out,
                      pp_error *error);

/* Finds the fields and the action of a mixture in which each task has room: options has the values
 * of each task's own options, defaults filled in. Writes the value of the option "_spaces", which
 * says that environments have these. Returns PP_ERR_ARGUMENT if the tasks' spaces can't be united,
 * PP_ERR_MEMORY, or the status of a task's configure. */
int pp_mixture_unite(const pp_env_def *mixture, const pp_value *const *options, int64_t *spaces,
                     pp_error *error);

/* Changes the observation of a configuration into what becomes of its pictures. Returns
 * PP_ERR_ARGUMENT if the only observation is no picture, uint8 from 0 to 255 of shape (height,
 * width) or (height, width, colors), or if a stage can't take it. */
int pp_pictures_describe(const pp_picture_options *options, pp_config *config, pp_error *error);

/* Runs the stages on one picture of height x width pixels, each of `colors` bytes; colors 0: one
 * byte, and no axis of colors. out has room for the result. Returns PP_ERR_ARGUMENT if a stage
 * can't take the picture. */
int pp_pictures_convert(const pp_picture_options *options, const uint8_t *picture, int32_t height,
                        int32_t width, int32_t colors, uint8_t *out, pp_error *error);

/* ------------------------------------------------------------------------------------- pool -- */

/* The pool argument must not be null, except for pp_pool_destroy. Any other argument may be wrong:
 * an environment or lane that does not exist, a null pointer, a call for pools of the other kind. A
 * function that returns a status or a number then returns a negative status, one that returns an
 * address returns null, and nothing has changed.
 *
 * Every function that takes an error also returns PP_ERR_CLOSED after pp_pool_close, PP_ERR_FORKED
 * in a forked child, and PP_ERR_BROKEN after a worker process has written over the pool's
 * memory. */

/* Makes environments and threads, and writes the pool to out (null on failure). values holds one
 * entry per option of def, and is not read if options has a variation. Returns PP_ERR_ARGUMENT,
 * PP_ERR_MEMORY, PP_ERR_SYSTEM if a thread can't be started, or the status of configure or init. */
int pp_pool_create(const pp_env_def *def, const pp_value *values, const pp_pool_options *options,
                   pp_pool **out, pp_error *error);

/* Ends the threads, each after the chunk of environments that it is stepping. Waiting and later
 * calls return PP_ERR_CLOSED. May be called again, and by several threads: each call returns PP_OK
 * after all of the pool's threads have ended, or PP_AGAIN if some still run after timeout
 * nanoseconds (< 0: no limit). Those use the pool and its batches until they end. */
int pp_pool_close(pp_pool *pool, int64_t timeout);

/* Writes which environments the pool's threads, without the caller's, are stepping: for each thread
 * the id of the first, and how many it steps in one call. Returns how many threads, at most room; 0
 * for worker processes. */
int32_t pp_pool_stepping(const pp_pool *pool, int32_t *env_ids, int32_t *counts, int32_t room);

/* Closes the pool, waits for its threads, however long that takes, and frees all of its memory but
 * batches. Does nothing if pool is null, or in a forked child. */
void pp_pool_destroy(pp_pool *pool);

/* Returns the columns of a batch in the order of their memory. They live as long as the pool. */
const pp_column *pp_pool_columns(const pp_pool *pool, int32_t *count);

/* Returns what configure decided. It lives as long as the pool. */
const pp_config *pp_pool_config(const pp_pool *pool);

/* Allocates the memory of one batch, on the NUMA nodes whose threads write it. Returns null if
 * there is no memory. The caller frees it with pp_batch_free, which works after the end of the pool
 * too; size is what pp_batch_size returned. */
void *pp_batch_alloc(pp_pool *pool);
int64_t pp_batch_size(const pp_pool *pool);
void pp_batch_free(void *memory, int64_t size);

/* Returns how many batches must be offered before the first send. From then on each receive takes
 * one out of the pool and puts one in. */
int32_t pp_pool_batches(const pp_pool *pool);

/* Gives the pool the memory of one of its first batches, from pp_batch_alloc. The caller keeps the
 * ownership, but must not touch it before it is received. Batches are received in the order in
 * which their memory was given. Returns PP_ERR_ARGUMENT if no batch fits this memory, or
 * PP_ERR_STATE if the pool has all its batches. */
int pp_pool_offer(pp_pool *pool, void *memory, pp_error *error);

/* Allocates the memory of a rollout: `batches` consecutive batches, in which each column is one
 * array. Batch i has the rows i * num_envs .. of every array, and as its name the address i times
 * pp_batch_size behind the memory, which stands for it where a function takes the memory of a
 * batch. A column starts at its offset in a batch times the number of batches. Returns null if
 * there is no memory, for more than INT32_MAX rows, or in a pool with worker processes. The caller
 * frees it with pp_batch_free and `batches` times pp_batch_size. */
void *pp_rollout_alloc(pp_pool *pool, int32_t batches);

/* Ordered, with threads: replaces the memory of all batches that the pool holds (pp_pool_batches of
 * them), to which nothing was written. From then on addresses in memory name batches of a rollout,
 * which the caller must not free before the next call; null: there is none. Returns
 * PP_ERR_ARGUMENT, or PP_ERR_STATE while environments are in flight. To be called by the thread
 * that receives. */
int pp_pool_roll(pp_pool *pool, void *memory, int32_t batches, void *const *blocks,
                 pp_error *error);

/* Stores a seed for every environment, which its next reset takes. words holds the seeds one after
 * another, sizes[i] words for environment i; size 0 keeps the current generator, or the seed that
 * is stored already: at first that is 0. Returns PP_ERR_STATE while environments are in flight, or
 * PP_ERR_ARGUMENT if a seed is too long. */
int pp_pool_seed(pp_pool *pool, const uint32_t *words, const int32_t *sizes, pp_error *error);

/* Queues one action for each environment named, either for all of them or for none. env_ids null:
 * all environments in order (count is num_envs). The pool copies actions: count x num_players rows
 * of this dtype (a pp_dtype or one of the constants above), in C order. Returns PP_ERR_ARGUMENT if
 * an id or an action is invalid, PP_ERR_TYPE if the dtype can't be converted, or PP_ERR_STATE if an
 * environment is in flight or (PP_DISABLED) must be reset first. */
int pp_pool_send(pp_pool *pool, const int32_t *env_ids, int32_t count, const void *actions,
                 int32_t dtype, pp_error *error);

/* Queues one reset for each environment named, either for all of them or for none. Seeds are given
 * as in pp_pool_seed, one for each environment named, or null; options holds one entry per reset
 * option, or is null. Returns what pp_pool_send returns; with options also PP_ERR_STATE while other
 * environments are in flight. */
int pp_pool_send_reset(pp_pool *pool, const int32_t *env_ids, int32_t count,
                       const uint32_t *seed_words, const int32_t *seed_sizes,
                       const pp_value *options, pp_error *error);

/* Takes the next batch and puts fresh memory in its place.
 *
 * timeout is in nanoseconds. Below 0 there is no timeout, and too few environments in flight for a
 * batch is an error (PP_ERR_STATE). From 0 on the call waits for sends of other threads too.
 *
 * Returns the number of rows (> 0). Returns 0 if the batch is not complete after the timeout, or
 * after about 50 ms, so that the caller can handle signals and call again. Returns PP_ERR_ENV if
 * environments failed: the batch is taken nevertheless, and pp_pool_failed returns its rows and the
 * environments. Returns PP_ERR_STATE while another thread receives, or another negative status. */
int32_t pp_pool_recv(pp_pool *pool, void *fresh, int64_t timeout, pp_error *error);

/* Unordered: does what pp_pool_recv does, but may take a batch of which at least min_rows rows are
 * written; the others have env_id -1 and zeros, and the memory of the batch has its full size.
 *
 * timeout is in nanoseconds. Below 0 the call takes the batch as soon as it has min_rows rows; from
 * 0 on, after that time, or earlier if it is complete. Rows that are being written then are waited
 * for, up to 50 ms.
 *
 * Returns as pp_pool_recv: the number of rows that are written, or 0 after the timeout (if fewer
 * than min_rows are) or about 50 ms. Returns PP_ERR_ARGUMENT if the pool is ordered, or min_rows is
 * not 1 to batch_size; PP_ERR_STATE if there is no timeout and fewer than min_rows environments are
 * in flight. */
int32_t pp_pool_recv_some(pp_pool *pool, void *fresh, int32_t min_rows, int64_t timeout,
                          pp_error *error);

/* Fills in the error of a receive whose time is up: how many environments are in flight, and which
 * of them threads of this process are stepping. min_rows: of pp_pool_recv_some, 0 for pp_pool_recv;
 * timeout: of the whole wait. Returns PP_ERR_TIMEOUT. */
int pp_pool_explain_timeout(const pp_pool *pool, int32_t min_rows, int64_t timeout,
                            pp_error *error);

/* Sends and receives in one call, in which the caller's thread steps environments too. Arguments as
 * in pp_pool_send and results as in pp_pool_recv; after 0 go on with pp_pool_recv. Returns
 * PP_ERR_STATE as well if results of earlier sends are pending (ordered), or if too few
 * environments would be in flight for a batch. */
int32_t pp_pool_step(pp_pool *pool, const int32_t *env_ids, int32_t count, const void *actions,
                     int32_t dtype, void *fresh, pp_error *error);

/* Returns 1 if a receive would take the next batch at once, else 0, or a negative status; for the
 * thread that receives. Ordered: 0 unless an earlier receive has waited for the batch. Unlike a
 * receive without result it asks nothing of worker processes. */
int32_t pp_pool_has_batch(const pp_pool *pool);

/* Returns the result of the receive or step that took this fresh memory, or 0 if none has. For a
 * caller that lost the result to an exception; to be called by the thread that receives. */
int32_t pp_pool_last_result(const pp_pool *pool, const void *fresh);

/* After PP_ERR_ENV: returns the environments that failed in the batch, and writes their number to
 * count and the batch's number of rows to rows. */
const int32_t *pp_pool_failed(const pp_pool *pool, int32_t *count, int32_t *rows);

/* Returns the last error of one environment, or null if there is no such environment. In worker
 * processes it holds only what the pool itself found: if its text is empty, either pp_pool_reply
 * has the error or the worker has died. */
const pp_error *pp_pool_env_error(const pp_pool *pool, int32_t env_id);

/* Returns the number of environments sent and not yet received. */
int32_t pp_pool_in_flight(const pp_pool *pool);

/* Returns 1 if the next step of an environment resets it (PP_DISABLED: is refused), else 0; or
 * PP_ERR_STATE while it is in flight. In a pool with worker processes it never returns 1, as the
 * workers keep this state. */
int32_t pp_pool_needs_reset(pp_pool *pool, int32_t env_id);

/* Writes a snapshot of one environment: bytes that restore it, in this pool or in one like it. With
 * bytes null, returns the room that is needed, in bytes. Else size must be that room, and the call
 * returns the number of bytes written, which may be smaller. Returns PP_ERR_STATE while the
 * environment is in flight, PP_ERR_ARGUMENT, or the status of the save callback. */
int64_t pp_pool_get_state(pp_pool *pool, int32_t env_id, void *bytes, int64_t size,
                          pp_error *error);

/* Restores the environments named, each from its own snapshot, all of them or none. Whatever their
 * bytes are, the result is an error or states that do no harm (see check_state in pp_env.h). The
 * exception is a load callback that fails: environments before that one are restored, that one
 * starts a new episode at its next step, and those after it are unchanged. No other thread may
 * change the arguments during the call. Returns PP_ERR_STATE while one of them is in flight,
 * PP_ERR_ARGUMENT if a snapshot is damaged or of another kind of environment, PP_ERR_MEMORY, or the
 * status of the load callback. */
int pp_pool_set_state(pp_pool *pool, const int32_t *env_ids, int32_t count,
                      const void *const *snapshots, const int64_t *sizes, pp_error *error);

/* What environments bring to their next step or reset and take away from it: states that belong to
 * the caller, count of them, one for each of the first environments. A state is size bytes: an
 * int64 with the length of a snapshot, the snapshot, and zeros. It starts on a multiple of 8. */
typedef struct pp_visit {
  const char *from; /* states that are restored first; null: the visit is a reset */
  char *to;         /* memory for the states afterwards; may be from */
  int64_t size;
  const uint32_t *seeds; /* the seed of each, num_words words, the highest first: for the reset, or
                            for the one that follows the end of an episode */
  int32_t num_words;
  int32_t count;
} pp_visit;

/* Makes a new pool one whose environments are visited: what they do depends on what each visit
 * brings, and on nothing from before. From then on the pool is only for visits, and large snapshots
 * are not packed. Returns the least size of a state, of environments that were just made,
 * PP_ERR_ARGUMENT if environments differ in their options, PP_ERR_MEMORY, PP_ERR_STATE, or
 * the status of the save callback. */
int64_t pp_pool_open_visits(pp_pool *pool, pp_error *error);

/* Sets what the environments of the next step, or of the next reset if from is null, bring: that
 * must name environments 0 to count-1, and the pool must be PP_SAME_STEP. An environment whose
 * state is refused or does not fit fails (PP_ERR_ENV of the receive). The memory must stay as it is
 * until the batch is received, or until pp_pool_leave_visit. Returns PP_ERR_ARGUMENT, or
 * PP_ERR_STATE if the pool is not visited or environments are in flight. */
int pp_pool_visit(pp_pool *pool, const pp_visit *visit, pp_error *error);

/* Ends a visit whose batch the caller does not wait for: from now on no thread touches the memory
 * of the visit, which may be freed. It waits for threads that copy states, and for no step. The
 * environments that have not given their states away fail, and the batch must be received before
 * the next visit. Does nothing to a pool that is not visited. */
void pp_pool_leave_visit(pp_pool *pool);

/* Writes the checksum of a snapshot whose bytes were changed, so that set_state looks at the rest;
 * for tests. Bytes too few for a snapshot stay as they are. */
void pp_snapshot_seal(void *snapshot, int64_t size);

/* Writes the values of an environment's options that are in force, one per option of its
 * definition, and its max_episode_steps (0: none) to limit. Texts last as long as the pool. Returns
 * PP_ERR_STATE while it is in flight, and before its first reset if values are drawn at each
 * reset. */
int pp_pool_option_values(pp_pool *pool, int32_t env_id, pp_value *values, int32_t *limit,
                          pp_error *error);

/* Writes each field of an environment as it is now; fields[i] is the memory of one row of field i,
 * or null. Returns PP_ERR_STATE while it is in flight, and if it was never reset or has failed. */
int pp_pool_observe(pp_pool *pool, int32_t env_id, void *const *fields, pp_error *error);

/* Draws one environment; with image->pixels null, writes only the size. Returns PP_ERR_STATE while
 * it is in flight, and if it draws no pictures. */
int pp_pool_render(pp_pool *pool, int32_t env_id, pp_image *image, pp_error *error);

/* Copies an environment's simulation into an object of its family (MuJoCo: an mjData of the same
 * model). Returns PP_ERR_STATE as pp_pool_observe does, and if the family has no such object. */
int pp_pool_expose(pp_pool *pool, int32_t env_id, void *target, pp_error *error);

/* Threads: from now on the pool's threads and its caller sleep as soon as they have nothing to do,
 * and do not spin before. For a pool that takes turns with others: a thread that spins keeps a core
 * from the threads of the pool whose turn it is. */
void pp_pool_stop_spinning(pp_pool *pool);

/* Writes what the pool has counted so far. */
void pp_pool_stats(pp_pool *pool, pp_stats *stats);

/* A trace: from start to stop, the caller, each thread and each worker process record spans in
 * tracks, from which read moves them. Track 0 is what the caller receives and steps itself, track 1
 * what it sends, and the others are the threads or workers. A track that nobody reads for long
 * drops spans; lost counts them, since the pool was made. The first spans may be older than the
 * trace. One thread at a time may call these functions.
 *
 * start returns the number of tracks, PP_ERR_STATE if a trace is running, PP_ERR_MEMORY, or the
 * error of a pool that can't be used.
 * read returns the number of spans moved, at most room; PP_ERR_ARGUMENT; or PP_ERR_STATE if a
 * worker has written over its track. */
int32_t pp_pool_trace_start(pp_pool *pool, pp_error *error);
void pp_pool_trace_stop(pp_pool *pool);
int32_t pp_pool_trace_read(pp_pool *pool, int32_t track, pp_span *out, int32_t room, int64_t *lost,
                           pp_error *error);

/* ---------------------------------------------------------------------------------- frames -- */

/* A log of frames, a ring buffer, of environments whose observations are stacks of frames. All
 * memory is the caller's. */
typedef struct pp_frames {
  void *memory;     /* capacity frames */
  int64_t capacity; /* frames: at most INT32_MAX, and more than the stacks of two steps have */
  int64_t frame_bytes;
  int64_t count; /* frames stored so far, those included that were overwritten since */
  int32_t *last; /* num_envs x stack: places of the frames of each one's last stack; -1: none */
  int32_t stack; /* frames of an observation, the oldest first */
} pp_frames;

/* Stores the stacks of the environments named (null: 0, 1, ...), each environment once: of a stack
 * that has one more frame than the environment's last, only that frame. It compares bytes, so it is
 * right whatever the environments do. Writes the places of the frames, count x stack. No argument
 * is checked. */
void pp_frames_put(pp_frames *log, const void *stacks, const int32_t *env_ids, int32_t count,
                   int32_t *places);

/* Copies stacks of frames, whose places are given, and after each of them, if following is not
 * null, the one that follows it. No argument is checked. */
void pp_frames_gather(const pp_frames *log, const int32_t *places, const int32_t *following,
                      int64_t count, void *stacks, void *next_stacks);

/* ------------------------------------------------------------------------ worker processes -- */

/* What happens to the environments that a dead worker had in flight. With all values but the first
 * the lane gets another worker. With PP_DEATH_REPEAT and PP_DEATH_REQUEUE resets in flight wait for
 * that worker, which gets each with the same payload. */
enum pp_on_death {
  PP_DEATH_FAIL,    /* they fail, and nothing can be sent to the lane any more */
  PP_DEATH_REPEAT,  /* rows of steps repeat what was shown last, truncated */
  PP_DEATH_REQUEUE, /* the next worker restarts those that were stepped: PP_COMMAND_RESTART */
  PP_DEATH_REPLACE  /* they fail, those in reset too */
};

/* bytes of address space that a pool with worker processes may reserve; 0: no limit */
typedef struct pp_address_space {
  int64_t parent; /* bytes in the process that makes the pool */
  int64_t worker; /* bytes in each worker process */
} pp_address_space;

/* Makes a pool whose environments live in num_lanes worker processes, which the caller starts. Each
 * lane has consecutive environments; the numbers of environments of two lanes differ by at most
 * one. config describes rows and actions of one player; options must have no extras and no
 * max_episode_steps, and num_threads is ignored. Actions must have config's dtype; they are copied
 * as they are, and only their worker looks at them. saves_rows: 1 saves the last row of each
 * environment, which PP_DEATH_REPEAT and PP_DEATH_REQUEUE need. room: null for no limit. The
 * functions above work on such a pool too, except those that need the environments themselves
 * (seeds, reset options, snapshots, observe, render, expose): these return PP_ERR_STATE.
 *
 * Environments are untrusted code, which may write to all memory that its worker shares. If it
 * corrupts rows and the pool notices, their environments fail. If it corrupts the pool's tables,
 * the pool may break, and its calls then return PP_ERR_BROKEN. It can't make this process read or
 * write outside its arrays, nor wait for ever.
 *
 * Returns PP_ERR_ARGUMENT, PP_ERR_MEMORY, or PP_ERR_SYSTEM. */
int pp_pool_create_processes(const pp_config *config, const pp_pool_options *options,
                             int32_t num_lanes, int32_t saves_rows, const pp_address_space *room,
                             pp_pool **out, pp_error *error);

/* Return the file descriptors that a worker passes to pp_worker_open: of the pool's memory, and of
 * the file to which the lane's worker writes its replies. Return PP_ERR_STATE or PP_ERR_ARGUMENT if
 * there are none. */
int32_t pp_pool_memory_fd(const pp_pool *pool);
int32_t pp_pool_reply_fd(const pp_pool *pool, int32_t lane);

/* Returns the bytes of address space that the pool's memory may grow to, which a worker must map;
 * or PP_ERR_STATE. */
int64_t pp_pool_reserve(const pp_pool *pool);

/* Returns the lane of an environment, or a negative status. */
int32_t pp_pool_lane_of(const pp_pool *pool, int32_t env_id);

/* Writes which environments a lane has: first .. first+count-1. count is 0 if there is no such
 * lane. */
void pp_pool_lane_envs(const pp_pool *pool, int32_t lane, int32_t *first, int32_t *count);

/* Sets the bytes that an environment's worker gets with its next turn, in place of earlier ones;
 * size 0 removes them. They are for that turn only: when its row is received, or its send is
 * refused, they are removed. Returns PP_ERR_STATE while the environment is in flight, or
 * PP_ERR_MEMORY. */
int pp_pool_set_payload(pp_pool *pool, int32_t env_id, const void *bytes, int64_t size,
                        pp_error *error);

/* Returns the bytes that the worker replied with in the environment's last turn, and writes their
 * size; null if there are none. They stay until the environment is sent to again. size -1: the
 * worker has died, and the pool wrote the row. */
const void *pp_pool_reply(const pp_pool *pool, int32_t env_id, int64_t *size);

/* Returns the environments of the last batch that have a reply (size not 0), and writes their
 * number to count. */
const int32_t *pp_pool_replied(const pp_pool *pool, int32_t *count);

/* a reply that is expected: a head, and records that follow it */
typedef struct pp_reply_part {
  int32_t env_id;
  const void *head;
  int64_t head_size;
  int64_t num_records;
} pp_reply_part;

/* where a field lies in each record, and where its column begins */
typedef struct pp_reply_field {
  int64_t offset;
  int64_t size;
  int64_t column;
} pp_reply_field;

/* replies with records of the same fields, in order of the environments */
typedef struct pp_reply_table {
  const pp_reply_part *parts;
  const pp_reply_field *fields;
  int32_t num_parts;
  int32_t num_fields;
  int64_t record_size;
} pp_reply_table;

/* Copies the records in the replies of the last batch into a column for each field, all parts'
 * records one after another. Returns 1 if the batch has exactly these replies; else 0, and what was
 * written to out is undefined. */
int32_t pp_pool_read_table(const pp_pool *pool, const pp_reply_table *table, void *out);

/* Sends a request to a lane's worker, apart from all turns. Returns PP_ERR_STATE if the worker has
 * not answered the previous one, or has died. */
int pp_pool_request(pp_pool *pool, int32_t lane, const void *bytes, int64_t size, pp_error *error);

/* Waits for the answer to the last request, for timeout nanoseconds (< 0: no timeout), at most 50
 * ms. Returns 1 and writes the answer's bytes and size; 0 if there is none yet; or a negative
 * status: PP_ERR_STATE if the worker died before it answered. */
int32_t pp_pool_answer(pp_pool *pool, int32_t lane, int64_t timeout, const void **bytes,
                       int64_t *size, pp_error *error);

/* Returns the environment that a lane's worker is stepping, or -1 if there is none. */
int32_t pp_pool_current_env(const pp_pool *pool, int32_t lane);

/* Returns the pp_command of an environment in flight, or -1 if it is not in flight. */
int32_t pp_pool_command(pp_pool *pool, int32_t env_id);

/* Returns how many turns a lane's worker has taken. It takes environments in the order of their
 * turns, so while neither this number nor pp_pool_current_env changes, it is still stepping the
 * same environment. */
int64_t pp_pool_taken_turns(const pp_pool *pool, int32_t lane);

/* Returns how many steps of an environment its workers have delivered; resets and repeated rows do
 * not count. To be called after a worker's death, to see whether it made progress. */
int64_t pp_pool_delivered_steps(const pp_pool *pool, int32_t env_id);

/* Returns how many turns are queued for a lane's worker. */
int64_t pp_pool_waiting_turns(const pp_pool *pool, int32_t lane);

/* Finishes or requeues what a dead worker had in flight, as how (a pp_on_death) says. The process
 * must have ended, as the call writes to memory that it used. Returns the number of environments
 * that failed, were repeated or will be restarted, and lists them in affected, which has room for
 * all of the lane's; resets that wait for the next worker are not among them. Returns PP_ERR_STATE
 * if how needs saves_rows and the pool was made without it. */
int32_t pp_pool_worker_died(pp_pool *pool, int32_t lane, int32_t how, int32_t *affected,
                            pp_error *error);

/* Lets turns be sent to a lane again whose worker has died: it gets another one, forked from the
 * worker of env_id, so that the lane's only environment goes on from the state of that one: as it
 * was when its last row was received. Returns PP_ERR_STATE if one of both is in flight. */
int pp_pool_worker_branched(pp_pool *pool, int32_t lane, int32_t env_id, pp_error *error);

/* ----------------------------------------------------------------------------------- system -- */

/* Returns the number of cores that this process may use: affinity, cpuset, cgroup quota and
 * pp_limit_cores. root: a folder to read /proc and /sys under; null: "/". */
int32_t pp_usable_cores(const char *root);

/* Limits the cores of pools that this process makes from now on: their threads spin only while the
 * awake ones are no more than these. 0 for no limit. */
void pp_limit_cores(int32_t cores);

/* Returns the bytes of memory that this process may use: the smaller of the machine's memory with
 * swap and the cgroup's limit; INT64_MAX if unknown. root as above. */
int64_t pp_usable_memory(const char *root);

/* Returns the name of a status, for messages. */
const char *pp_status_name(int32_t status);

#endif
