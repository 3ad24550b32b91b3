/* Collecting: how the parent receives a batch from its worker processes. It checks every
 * row, as a worker may have written anything to shared memory. */
#include "lanes.h"
#include "os/os.h"
#include "pool/error.h"
#include "pool/row.h"
#include "reply_heap.h"
#include "rows.h"

/* --------------------------------------------------------------------------------- waiting -- */

bool pp_processes_is_complete(const pp_pool *pool, const pp_ring_slot *slot) {
  // relaxed: slot is the parent's copy, whose target the waiting thread has set itself
  return pp_board_rows_done(&pool->processes->board, pp_ring_index(&pool->ring, slot)) ==
         atomic_load_explicit(&slot->target, memory_order_relaxed);
}

int32_t pp_processes_count_written(const pp_pool *pool, const pp_ring_slot *slot) {
  int32_t rows = pp_board_rows_done(&pool->processes->board, pp_ring_index(&pool->ring, slot));
  // the counts may have been overwritten
  return rows < 0 || rows > pool->ring.batch_size || rows > pp_pool_count(pool) ? 0 : rows;
}

/* Returns whether every environment in flight belongs to a lane that has nothing left to do. */
static bool is_idle_locked(pp_pool *pool) {
  const pp_processes *processes = pool->processes;
  bool is_idle = true;
  for (int32_t l = 0; l < processes->num_lanes; l++) {
    const pp_process_lane *lane = &processes->lanes[l];
    int32_t env_id = lane->first;
    while (env_id < lane->first + lane->count && !pool->is_in_flight[env_id]) env_id++;
    // every lane is probed, whatever the first ones answer
    if (env_id < lane->first + lane->count) is_idle &= pp_processes_is_idle_locked(pool, l);
  }
  return is_idle;
}

/* Returns whether the batch has the `rows` rows that the caller waits for. */
static bool has_rows(const pp_pool *pool, const pp_ring_slot *slot, int32_t rows) {
  return pool->ring.is_ordered ? pp_processes_is_complete(pool, slot)
                               : pp_processes_count_written(pool, slot) >= rows;
}

int pp_processes_check_progress(pp_pool *pool, const pp_ring_slot *slot, int32_t rows,
                                pp_error *error) {
  const pp_processes *processes = pool->processes;
  bool is_idle;
  for (int32_t l = 0; l < processes->num_lanes; l++) {
    int32_t done = pp_board_lane_rows_done(&processes->board, pp_ring_index(&pool->ring, slot), l);
    if (done >= 0 && done <= processes->lanes[l].count) continue;
    return pp_processes_break(pool, error, "lane %d: %d rows of %d environments", l, done,
                              processes->lanes[l].count);
  }
  pthread_mutex_lock(&pool->lock);
  is_idle = is_idle_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  // in this order, as a worker that is idle counted its rows before it answered
  if (!is_idle || has_rows(pool, slot, rows)) return 0;
  return pp_processes_break(pool, error, "%d of %d rows are written, and no worker has turns left",
                            pp_board_rows_done(&processes->board, pp_ring_index(&pool->ring, slot)),
                            rows);
}

/* ------------------------------------------------------------------------------------ rows -- */

static bool is_in_flight(const pp_pool *pool, int32_t env_id) {
  return env_id >= 0 && env_id < pool->fleet.num_envs && pool->is_in_flight[env_id];
}

/* Returns the environment in flight that owns a row in the batch that is received next; -1: none.
 * named_env: the env id in the row. */
static int32_t owner_of(const pp_pool *pool, const pp_ring_slot *slot, int32_t row,
                        int32_t named_env) {
  const pp_processes *processes = pool->processes;
  int32_t owner;
  if (pool->ring.is_ordered) {
    return processes->owners[pp_ring_index(&pool->ring, slot) * pool->ring.batch_size + row];
  }
  owner = pp_board_row_owner(&processes->board, pool->ring.received, row);
  if (is_in_flight(pool, owner)) return owner;
  return is_in_flight(pool, named_env) ? named_env : -1;
}

/* Picks an environment for a row that names none in flight, because its words were overwritten:
 * preferably one whose turn is over. At least as many environments are in flight as the batch has
 * rows, so there is one. */
static int32_t guess_owner(const pp_pool *pool) {
  int32_t guess = -1;
  for (int32_t i = 0; i < pool->fleet.num_envs; i++) {
    int32_t state;
    if (!pool->is_in_flight[i]) continue;
    state = atomic_load_explicit(&pool->processes->board.envs[i].state, memory_order_acquire);
    if (state == PP_ENV_DONE || state == PP_ENV_FAILED) return i;
    guess = i;
  }
  return guess;
}

/* Marks an environment as failed for a fault in its row, and zeroes the row, as for any failure. */
static void fail(pp_pool *pool, const pp_ring_slot *slot, int32_t row, int32_t env_id,
                 const char *fault) {
  pp_error *error = &pool->fleet.errors[env_id];
  pp_row_blank(&pool->layout, slot->memory, row, env_id);
  pool->processes->envs[env_id].reply = (pp_message){0, 0};
  pp_error_set(error, PP_ERR_ENV,
               "%s: look for code in worker processes that writes beyond its arrays", fault);
  error->env_id = env_id;
}

/* Returns what is wrong with a row, or null, and copies its reply. named_env: the env id in the
 * row. */
static const char *find_fault(pp_pool *pool, int32_t env_id, int32_t named_env, int32_t state) {
  pp_process_env *env = &pool->processes->envs[env_id];
  const pp_message *reply = &pool->processes->board.envs[env_id].reply;

  if (named_env != env_id) return "its row names another environment";
  if (state != PP_ENV_DONE && state != PP_ENV_FAILED) {
    return "its row was counted before its turn was over";
  }
  if (env->is_written_by_parent) {
    env->reply = (pp_message){0, -1};
    return NULL;
  }
  if (pp_processes_read_message(pool, pp_processes_lane_of(pool, env_id), reply, &env->reply))
    return NULL;
  return "its reply lies outside its worker's memory";
}

/* Accepts or refuses a row as its worker, or the parent after a worker death, has written it.
 * Returns whether the environment failed. */
static bool accept_row(pp_pool *pool, const pp_ring_slot *slot, int32_t row, int32_t env_id,
                       int32_t named_env) {
  const pp_board_env *env = &pool->processes->board.envs[env_id];
  int32_t state = atomic_load_explicit(&env->state, memory_order_acquire);
  const char *fault = find_fault(pool, env_id, named_env, state);

  if (fault) {
    fail(pool, slot, row, env_id, fault);
  } else if (state == PP_ENV_FAILED) {
    // the reply says why, or the environment failed with its worker
    pool->fleet.errors[env_id].text[0] = '\0';
  }
  return fault || state == PP_ENV_FAILED;
}

/* PP_DISABLED: notes from its row whether an environment may be stepped next; a send refuses the
 * others. A worker that overwrites its rows gets steps that it refuses itself, or none. */
static void note_phase(pp_pool *pool, const pp_ring_slot *slot, int32_t row, int32_t env_id,
                       bool has_failed) {
  const pp_layout *layout = &pool->layout;
  uint8_t *phase = &pool->fleet.phase[env_id];
  const volatile uint8_t *terminated = pp_layout_at(layout, slot->memory, layout->terminated, row);
  const volatile uint8_t *truncated = pp_layout_at(layout, slot->memory, layout->truncated, row);
  const volatile int32_t *elapsed = pp_layout_at(layout, slot->memory, layout->elapsed_step, row);

  if (has_failed) {
    // with on_error="restart", which saves rows, the next step makes the environment again
    *phase = pool->processes->board.shape.saves_rows ? PP_RUNNING : PP_FRESH;
  } else if (*terminated || *truncated) {
    *phase = PP_ENDED;
  } else if (pool->fleet.command[env_id] != PP_COMMAND_RESET || *elapsed == 0) {
    // else a reset with a mask left it out, and the row repeats its last observation
    *phase = PP_RUNNING;
  }
}

/* Receives one row of the batch, and returns whether its environment failed. */
static bool collect_one(pp_pool *pool, const pp_ring_slot *slot, int32_t row, int32_t env_id,
                        int32_t named_env) {
  pp_processes *processes = pool->processes;
  bool has_failed = accept_row(pool, slot, row, env_id, named_env);
  if (pool->fleet.autoreset == PP_DISABLED) note_phase(pool, slot, row, env_id, has_failed);
  if (processes->envs[env_id].payload.size) {
    // the payload was for this turn only
    pp_processes_write_message(pool, &processes->envs[env_id].payload, NULL, 0, NULL);
  }
  if (processes->envs[env_id].reply.size) processes->replied[processes->num_replied++] = env_id;
  return has_failed;
}

int32_t pp_processes_collect_locked(pp_pool *pool, const pp_ring_slot *slot, int32_t rows) {
  const volatile int32_t *ids = pp_layout_at(&pool->layout, slot->memory, pool->layout.env_id, 0);
  int32_t failed = 0, unknown = 0, *row_envs = pool->processes->row_envs;

  pool->processes->num_replied = 0;
  for (int32_t row = 0; row < rows; row++) {
    int32_t named_env = ids[row];
    int32_t env_id = row_envs[row] = owner_of(pool, slot, row, named_env);
    unknown += env_id < 0;
    if (env_id < 0) continue;
    pool->is_in_flight[env_id] = 0;
    if (collect_one(pool, slot, row, env_id, named_env)) pool->failed[failed++] = env_id;
  }
  for (int32_t row = 0; unknown && row < rows; row++) {
    int32_t env_id;
    if (row_envs[row] >= 0) continue;
    env_id = guess_owner(pool);
    pool->is_in_flight[env_id] = 0;
    if (collect_one(pool, slot, row, env_id, -1)) pool->failed[failed++] = env_id;
  }
  return failed;
}
