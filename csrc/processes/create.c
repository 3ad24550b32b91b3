/* Create: makes a pool of worker processes, and the memory that it shares with them. */
#include "pool/create.h"

#include <math.h>
#include <stdlib.h>

#include "counted_heap.h"
#include "lanes.h"
#include "os/os.h"
#include "pool/budget.h"
#include "pool/error.h"
#include "pool/field.h"
#include "reply_heap.h"

/* ---------------------------------------------------------------------------------- checks -- */

/* returns the bytes of one row; infinity if the shape, which is unchecked here, is invalid */
static double field_bytes(const pp_field *field) {
  double bytes = (double)pp_dtype_size(field->dtype);
  if (field->ndim < 0 || field->ndim > PP_MAX_NDIM || field->per_player) return INFINITY;
  for (int32_t axis = 0; axis < field->ndim; axis++) {
    if (field->shape[axis] < 0) return INFINITY;
    bytes *= (double)field->shape[axis];
  }
  return bytes;
}

/* checks the configuration and the options of a pool with worker processes */
static int check_config(const pp_config *config, const pp_pool_options *o, int32_t num_lanes,
                        pp_error *error) {
  const double max_bytes = 0x1p48;
  double bytes = field_bytes(&config->action);
  if (num_lanes < 1 || num_lanes > o->num_envs) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "num_workers=%d, num_envs=%d: choose 1 to num_envs",
                        num_lanes, o->num_envs);
  }
  if (o->variation) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "variation: environments in worker processes have their own options: "
                        "choose null");
  }
  if (config->num_players != 1) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "num_players=%d: environments in worker processes have one player",
                        config->num_players);
  }
  if (o->extras) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "extras=%d: worker processes write no such columns: choose 0", o->extras);
  }
  if (o->max_episode_steps > 0) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "max_episode_steps=%d: environments in worker processes have their own "
                        "limits: choose -1",
                        o->max_episode_steps);
  }
  if (config->num_fields < 0 || config->num_fields > PP_MAX_FIELDS) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "num_fields=%d: choose 0 to %d", config->num_fields,
                        PP_MAX_FIELDS);
  }
  for (int32_t i = 0; i < config->num_fields; i++) bytes += field_bytes(&config->fields[i]);
  if (bytes * o->num_envs <= max_bytes) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "fields of %.3g bytes in num_envs=%d environments: choose shapes that are "
                      "not negative, and fewer than 2^48 bytes in all",
                      bytes, o->num_envs);
}

/* ---------------------------------------------------------------------------------- making -- */

enum {
  REPLY_SHARE = 4,           /* all reply files together may take 1/4 of the address space */
  MIN_REPLY_RESERVE = 65536, /* bytes of address space for a reply file, whatever the limits */
  KEPT_RESULTS = 3           /* blocks of results that an ordinary caller keeps */
};

/* returns the bytes of one action */
static int64_t action_bytes(const pp_config *config) {
  return pp_field_elements(&config->action, config->num_players) *
         pp_dtype_size(config->action.dtype);
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Splits the address space into bytes for each reply file and for the shared heap (0: any). */
static void split_address_space(const pp_address_space *limits, int32_t num_lanes, int64_t *replies,
                                int64_t *reserve) {
  *replies = PP_REPLY_HEAP_RESERVE;
  *reserve = 0;
  if (limits->parent) *replies = smaller(*replies, limits->parent / REPLY_SHARE / num_lanes);
  if (limits->worker) *replies = smaller(*replies, limits->worker / REPLY_SHARE);
  *replies = *replies / MIN_REPLY_RESERVE * MIN_REPLY_RESERVE;
  if (*replies < MIN_REPLY_RESERVE) *replies = MIN_REPLY_RESERVE;

  if (limits->parent) *reserve = limits->parent - *replies * num_lanes;
  if (limits->worker) {
    int64_t for_heap = limits->worker - *replies;
    *reserve = limits->parent ? smaller(*reserve, for_heap) : for_heap;
  }
  // 0 would mean any number; can_hold_results refuses a reserve that is too small
  if ((limits->parent || limits->worker) && *reserve < 1) *reserve = 1;
}

static int open_lanes(pp_processes *processes) {
  int64_t reserve = processes->board.shape.reply_reserve;
  for (int32_t i = 0; i < processes->num_lanes; i++) {
    processes->lanes[i].reply_fd = -1;
    processes->lanes[i].probed_at = -1;
  }
  for (int32_t i = 0; i < processes->num_lanes; i++) {
    pp_process_lane *lane = &processes->lanes[i];
    pp_board_lane_envs(&processes->board, i, &lane->first, &lane->count);
    lane->reply_fd = pp_os_shared_create(0, "parallel_pool replies");
    if (lane->reply_fd < 0) return lane->reply_fd;
    // where sealing is refused, a worker that makes its file shorter kills the parent by SIGBUS
    pp_os_shared_seal(lane->reply_fd);
    lane->replies = pp_os_shared_map(lane->reply_fd, reserve);
    if (!lane->replies) return PP_ERR_MEMORY;
  }
  return PP_OK;
}

static int alloc_tables(pp_processes *processes, const pp_board_shape *shape) {
  size_t envs = (size_t)shape->num_envs, lanes = (size_t)shape->num_lanes;
  size_t slots = (size_t)shape->capacity, rows = (size_t)shape->batch_size;
  processes->lanes = calloc(lanes, sizeof(*processes->lanes));
  processes->envs = calloc(envs, sizeof(*processes->envs));
  processes->owners = calloc(slots * rows, sizeof(*processes->owners));
  processes->is_queued = calloc(lanes, sizeof(*processes->is_queued));
  processes->slot_counts = calloc(slots, sizeof(*processes->slot_counts));
  processes->row_envs = calloc(rows, sizeof(*processes->row_envs));
  processes->replied = calloc(envs, sizeof(*processes->replied));
  return processes->lanes && processes->envs && processes->owners && processes->is_queued &&
                 processes->slot_counts && processes->row_envs && processes->replied
             ? PP_OK
             : PP_ERR_MEMORY;
}

/* Returns whether a shared heap with this reserve can hold the board and the results of an ordinary
 * loop. */
static bool can_hold_results(const pp_pool *pool, int64_t board, int64_t reserve) {
  // the blocks in the ring, the fresh one, and those that the caller keeps
  int64_t blocks = pool->ring.capacity + 1 + KEPT_RESULTS;
  return reserve > board && (reserve - board) / blocks >= pool->layout.size;
}

/* creates the shared heap, the board in it, and the lanes' reply files */
static int create_shared(pp_pool *pool, const pp_board_shape *shape, int64_t size,
                         int64_t reserve) {
  pp_processes *processes = pool->processes = calloc(1, sizeof(*processes));
  int status = processes ? alloc_tables(processes, shape) : PP_ERR_MEMORY;
  if (status < 0) return status;
  // checked first, as allocating the shared heap takes time during which signals are not handled
  if (!can_hold_results(pool, size, reserve ? reserve : pp_shared_heap_max_reserve())) {
    return PP_ERR_MEMORY;
  }
  processes->heap = pp_counted_heap_create(size, reserve, &status);
  if (status < 0) return status;
  pp_os_shared_seal(processes->heap->fd);
  pp_board_init(&processes->board, processes->heap->base, shape, &pool->layout);
  processes->num_lanes = shape->num_lanes;
  pool->caller = &processes->board.head->caller;
  status = open_lanes(processes);
  if (status < 0) return status;
  // again, as the system may have refused the reserve and given less
  return can_hold_results(pool, size, processes->heap->reserve) ? PP_OK : PP_ERR_MEMORY;
}

/* creates what the pool, whose layout is known, shares with its workers */
static int make_processes(pp_pool *pool, const pp_pool_options *options, int32_t num_lanes,
                          bool saves_rows, const pp_address_space *limits, pp_error *error) {
  pp_board_shape shape = {.num_envs = options->num_envs,
                          .num_lanes = num_lanes,
                          .batch_size = options->batch_size,
                          .capacity = pool->ring.num_slots,
                          .is_ordered = pool->ring.is_ordered,
                          .cores = pool->topology.cores,
                          .action_bytes = action_bytes(&pool->fleet.config),
                          .saves_rows = saves_rows};
  int64_t reserve, size = pp_board_size(&shape, &pool->layout);
  int status;
  split_address_space(limits, num_lanes, &shape.reply_reserve, &reserve);
  status = create_shared(pool, &shape, size, reserve);
  if (status >= 0) return PP_OK;
  return pp_error_set(error, status,
                      "no shared memory for num_envs=%d in %d worker processes (tables of %lld "
                      "bytes, results of %lld each): choose fewer of them, or raise the limits of "
                      "memory (ulimit -v) and files (ulimit -n)",
                      options->num_envs, num_lanes, (long long)size, (long long)pool->layout.size);
}

int pp_pool_create_processes(const pp_config *config, const pp_pool_options *options,
                             int32_t num_lanes, int32_t saves_rows, const pp_address_space *room,
                             pp_pool **out, pp_error *error) {
  const pp_address_space any = {0, 0};
  int status = pp_pool_check_options(config, options, out, error);
  pp_pool *pool;

  if (status >= 0) status = check_config(config, options, num_lanes, error);
  if (status < 0) return status;
  pool = pp_pool_make(&pp_processes_ops, options->topology_root);
  if (!pool) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a pool");
  pool->num_threads = num_lanes;
  pp_fleet_init(&pool->fleet, config, options);
  status = pp_layout_init(&pool->layout, config, options, options->batch_size, error);
  if (status >= 0) {
    double actions = (double)action_bytes(config) * options->num_envs;
    status = pp_budget_check(pool, options, actions, error);
  }
  if (status >= 0 &&
      (pp_fleet_alloc(&pool->fleet) < 0 || pp_pool_make_records(pool, options) < 0)) {
    status = pp_error_set(error, PP_ERR_MEMORY, "no memory for num_envs=%d", options->num_envs);
  }
  if (status >= 0) {
    status = make_processes(pool, options, num_lanes, saves_rows, room ? room : &any, error);
  }
  if (status < 0) {
    pp_pool_destroy(pool);
    return status;
  }
  *out = pool;
  return PP_OK;
}
