/* Create: makes the memory that a pool shares with its worker processes. */
#include <stdlib.h>

#include "counted_heap.h"
#include "lanes.h"
#include "os/os.h"
#include "pool/error.h"
#include "reply_heap.h"

enum {
  REPLY_SHARE = 4,           /* all reply files together may take 1/4 of the address space */
  MIN_REPLY_RESERVE = 65536, /* bytes of address space for a reply file, whatever the limits */
  KEPT_RESULTS = 3           /* blocks of results that an ordinary caller keeps */
};

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Splits the address space: writes the bytes for each reply file and for the shared heap (0: any).
 */
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
  pool->fleet.actions = processes->board.actions;
  status = open_lanes(processes);
  if (status < 0) return status;
  // again, as the system may have refused the reserve and given less
  return can_hold_results(pool, size, processes->heap->reserve) ? PP_OK : PP_ERR_MEMORY;
}

int pp_processes_init(pp_pool *pool, const pp_pool_options *options, int32_t num_lanes,
                      bool saves_rows, const pp_address_space *limits, pp_error *error) {
  pp_board_shape shape = {.num_envs = options->num_envs,
                          .num_lanes = num_lanes,
                          .batch_size = options->batch_size,
                          .capacity = pool->ring.num_slots,
                          .is_ordered = pool->ring.is_ordered,
                          .cores = pool->topology.cores,
                          .action_bytes = pool->fleet.action_bytes,
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
