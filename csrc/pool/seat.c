/* Seat: a worker process's side of its lane, from the turns it takes to the rows it hands over.
 *
 * Environments may fork, and a child that goes on with its parent's work would write into the rows
 * that the parent writes. So the memory becomes the child's own as soon as it is there (one that
 * does something else is not disturbed by that), and every call here refuses to serve it.
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../include/pp_seat.h"
#include "arena.h"
#include "autoreset.h"
#include "board.h"
#include "error.h"
#include "os.h"
#include "row.h"
#include "spill.h"
#include "vigil.h"

enum { HIGH_FD = 512 };

/* where a worker has left the bytes of an environment's last reply */
typedef struct room {
  int64_t offset;
  int64_t size; /* 0: nowhere */
} room;

struct pp_seat {
  pp_board board;
  pp_spill spill;
  pp_arena arena;  /* as this process has it */
  int32_t replies; /* a copy of the spill's descriptor; -1: none */
  int32_t memory;  /* a descriptor of the pool's memory, for children; -1: none */
  dev_t device;    /* the file that it is, for environments may close what they did not open */
  ino_t file;
  uint32_t fork_generation;
  struct pp_seat *next; /* of those that this process has */
  int32_t lane;
  int32_t first; /* the lane's environments */
  int32_t count;
  pp_vigil vigil;
  pp_entry *entries;
  room *rooms; /* one for each environment, and one for answers */
  pp_shift shift;
};

/* a copy of a descriptor beyond those that programs close by their numbers, if there may be one */
static int duplicate_of(int fd) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
  return copy < 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : copy;
}

/* ---------------------------------------------------------------------------------- forks -- */

static pthread_mutex_t seats_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t leave_once = PTHREAD_ONCE_INIT;
static pp_seat *seats; /* guarded by the lock */

static int is_forked(const pp_seat *seat) {
  return seat->fork_generation != pp_os_fork_generation();
}

/* the descriptor of the seat's memory, -1: it is closed, or another file's by now */
static int memory_of(const pp_seat *seat) {
  struct stat file;
  if (seat->memory < 0 || fstat(seat->memory, &file)) return -1;
  return file.st_dev == seat->device && file.st_ino == seat->file ? seat->memory : -1;
}

static void hold_seats(void) {
  pthread_mutex_lock(&seats_lock);
}

static void let_go_of_seats(void) {
  pthread_mutex_unlock(&seats_lock);
}

static void leave_seats(void) {
  for (const pp_seat *seat = seats; seat; seat = seat->next) {
    pp_os_shared_leave(seat->arena.base, seat->arena.reserve, memory_of(seat));
  }
  let_go_of_seats();
}

static void register_leave(void) {
  pthread_atfork(hold_seats, let_go_of_seats, leave_seats);
}

static void enlist(pp_seat *seat, int32_t memory) {
  struct stat file = {0};
  seat->memory = duplicate_of(memory);
  if (fstat(memory, &file) == 0) {
    seat->device = file.st_dev;
    seat->file = file.st_ino;
  }
  pthread_once(&leave_once, register_leave);
  hold_seats();
  seat->next = seats;
  seats = seat;
  let_go_of_seats();
}

static void strike_off(pp_seat *seat) {
  hold_seats();
  for (pp_seat **link = &seats; *link; link = &(*link)->next) {
    if (*link != seat) continue;
    *link = seat->next;
    break;
  }
  let_go_of_seats();
  if (memory_of(seat) >= 0) close(seat->memory);
}

/* ---------------------------------------------------------------------------- open, close -- */

static int alloc_shift(pp_seat *seat) {
  size_t n = (size_t)seat->count;
  pp_shift *shift = &seat->shift;
  seat->entries = calloc(n, sizeof(*seat->entries));
  seat->rooms = calloc(n + 1, sizeof(*seat->rooms));
  shift->env_ids = calloc(n, sizeof(*shift->env_ids));
  shift->asked = calloc(n, sizeof(*shift->asked));
  shift->rows = calloc(n, sizeof(*shift->rows));
  shift->blocks = calloc(n, sizeof(*shift->blocks));
  shift->rewards = calloc(n, sizeof(*shift->rewards));
  shift->terminated = calloc(n, 1);
  shift->truncated = calloc(n, 1);
  shift->kinds = calloc(n, 1);
  shift->failed = calloc(n, 1);
  return seat->entries && seat->rooms && shift->env_ids && shift->asked && shift->rows &&
                 shift->blocks && shift->rewards && shift->terminated && shift->truncated &&
                 shift->kinds && shift->failed
             ? PP_OK
             : PP_ERR_MEMORY;
}

/* where the replies lie that a dead predecessor left and perhaps nobody has read yet */
static void find_unread(const pp_seat *seat, int64_t *left, int64_t *left_end) {
  int64_t reserve = seat->board.shape.reply_reserve;
  *left = *left_end = 0;
  for (int32_t i = 0; i <= seat->count; i++) {
    const pp_message *reply = i < seat->count ? &seat->board.desks[seat->first + i].reply
                                              : &seat->board.posts[seat->lane].reply;
    int64_t end;
    // what can't be read need not be kept
    if (reply->size <= 0 || reply->size > reserve || reply->offset < 0 ||
        reply->offset > reserve - reply->size) {
      continue;
    }
    end = reply->offset + pp_spill_room(reply->size);
    if (!*left_end || reply->offset < *left) *left = reply->offset;
    if (end > *left_end) *left_end = end;
  }
}

/* maps the pool's memory and finds the lane in it */
static int open_board(pp_seat *seat, int32_t memory, int64_t reserve, pp_error *error) {
  int64_t bytes = pp_os_shared_size(memory);
  int status;
  if (bytes < 1 || reserve < bytes) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "memory=%d is no pool's memory, or reserve=%lld is less than its %lld "
                        "bytes: give what pp_pool_memory and pp_pool_reserve say",
                        memory, (long long)reserve, (long long)bytes);
  }
  status = pp_arena_attach(&seat->arena, memory, reserve);
  if (status < 0) {
    return pp_error_set(error, status, "can't map %lld bytes of a pool's memory",
                        (long long)reserve);
  }
  status = pp_board_attach(&seat->board, seat->arena.base, bytes);
  if (status < 0) {
    return pp_error_set(error, status,
                        "the pool was made by another build of parallel_pool than this worker "
                        "process runs: let both import the same one");
  }
  if (seat->lane >= 0 && seat->lane < seat->board.shape.num_lanes) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT, "lane=%d: choose 0 to %d", seat->lane,
                      seat->board.shape.num_lanes - 1);
}

static int open_seat(pp_seat *seat, int32_t memory, int64_t reserve, int32_t spill,
                     pp_error *error) {
  int status = open_board(seat, memory, reserve, error);
  int64_t left, left_end;
  if (status < 0) return status;
  if (pp_os_shared_size(spill) < 0) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "spill=%d is no file to reply in: give what pp_pool_spill says", spill);
  }
  pp_board_share(&seat->board, seat->lane, &seat->first, &seat->count);
  status = alloc_shift(seat);
  find_unread(seat, &left, &left_end);
  if (status >= 0) {
    seat->replies = duplicate_of(spill);
    if (seat->replies >= 0) spill = seat->replies;
    status = pp_spill_init(&seat->spill, spill, seat->board.shape.reply_reserve, left, left_end);
  }
  return status < 0 ? pp_error_set(error, status, "no memory for a worker") : PP_OK;
}

int pp_seat_open(int32_t memory, int64_t reserve, int32_t spill, int32_t lane, pp_seat **out,
                 pp_error *error) {
  pp_seat *seat;
  int status;

  if (!out) return pp_error_set(error, PP_ERR_ARGUMENT, "nowhere to put a seat: out is null");
  *out = NULL;
  seat = calloc(1, sizeof(*seat));
  if (!seat) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a worker");
  seat->lane = lane;
  seat->memory = seat->replies = -1;
  seat->fork_generation = pp_os_fork_generation();
  status = open_seat(seat, memory, reserve, spill, error);
  if (status < 0) {
    pp_seat_close(seat);
    return status;
  }
  atomic_store_explicit(&seat->board.posts[lane].is_awake, 1, memory_order_relaxed);
  enlist(seat, memory);
  *out = seat;
  return PP_OK;
}

void pp_seat_close(pp_seat *seat) {
  pp_shift *shift;
  if (!seat) return;
  shift = &seat->shift;
  strike_off(seat);
  if (seat->spill.base) pp_spill_fini(&seat->spill);
  if (seat->replies >= 0) close(seat->replies);
  pp_arena_fini(&seat->arena);
  free(seat->entries);
  free(seat->rooms);
  free(shift->env_ids);
  free(shift->asked);
  free(shift->rows);
  free(shift->blocks);
  free(shift->rewards);
  free(shift->terminated);
  free(shift->truncated);
  free(shift->kinds);
  free(shift->failed);
  free(seat);
}

int pp_seat_follow(int64_t pid) {
  return pp_os_exit_with(pid);
}

/* ------------------------------------------------------------------------------ questions -- */

int32_t pp_seat_first(const pp_seat *seat) {
  return seat->first;
}

int32_t pp_seat_count(const pp_seat *seat) {
  return seat->count;
}

int32_t pp_seat_is_ordered(const pp_seat *seat) {
  return seat->board.shape.is_ordered;
}

pp_shift *pp_seat_shift(pp_seat *seat) {
  return &seat->shift;
}

void *pp_seat_actions(pp_seat *seat, int64_t *record_bytes) {
  *record_bytes = seat->board.shape.action_bytes;
  return seat->board.actions + *record_bytes * seat->first;
}

int32_t *pp_seat_current(pp_seat *seat) {
  // Python writes to it as to any memory; one aligned word, read only as a hint
  return (int32_t *)&seat->board.posts[seat->lane].current;
}

void *pp_seat_block(pp_seat *seat, int64_t offset) {
  return seat->board.base + offset;
}

/* --------------------------------------------------------------------------------- taking -- */

/* where a turn's row is */
static void locate(pp_seat *seat, int32_t turn, int32_t place) {
  const pp_board_shape *shape = &seat->board.shape;
  int32_t slot = place / shape->batch_size;
  seat->shift.rows[turn] = place - slot * shape->batch_size;
  seat->shift.blocks[turn] = seat->board.slots[slot].memory;
}

/* a plain step of everybody in order: what the short loop is for */
static int is_whole(const pp_seat *seat, int32_t count) {
  const pp_shift *shift = &seat->shift;
  if (count != seat->count || !seat->board.shape.is_ordered) return 0;
  for (int32_t i = 0; i < count; i++) {
    if (shift->env_ids[i] != seat->first + i || shift->asked[i] != PP_ASKED_STEP ||
        shift->blocks[i] != shift->blocks[0] || shift->rows[i] != shift->rows[0] + i) {
      return 0;
    }
  }
  return 1;
}

int32_t pp_seat_take(pp_seat *seat, int64_t timeout) {
  pp_post *post = &seat->board.posts[seat->lane];
  pp_shift *shift = &seat->shift;

  if (is_forked(seat)) return PP_ERR_FORKED;
  pp_vigil_keep(&seat->vigil, &seat->board, seat->lane, timeout);
  if (pp_post_is_closing(post)) return PP_ERR_CLOSED;
  shift->count = pp_board_take(&seat->board, seat->lane, seat->entries, seat->count);
  for (int32_t i = 0; i < shift->count; i++) {
    shift->env_ids[i] = PP_ENTRY_ENV(seat->entries[i]);
    shift->asked[i] = seat->board.desks[shift->env_ids[i]].asked;
    if (seat->board.shape.is_ordered) locate(seat, i, PP_ENTRY_PLACE(seat->entries[i]));
  }
  shift->is_whole = is_whole(seat, shift->count);
  return shift->count;
}

void pp_seat_claim(pp_seat *seat, int32_t turn) {
  const pp_shift *shift = &seat->shift;
  int32_t place = seat->board.desks[shift->env_ids[turn]].place;

  if (seat->board.shape.is_ordered || is_forked(seat)) return;
  // it may have one by now, or from a former worker that died with it
  if (place < 0) place = pp_board_claim(&seat->board, seat->lane, shift->env_ids[turn]);
  locate(seat, turn, place);
}

int64_t pp_seat_brought_steps(const pp_seat *seat, int32_t turn) {
  return seat->board.desks[seat->shift.env_ids[turn]].steps;
}

void pp_seat_recall(pp_seat *seat, int32_t turn, int32_t is_final) {
  const pp_shift *shift = &seat->shift;
  pp_board_recall(&seat->board, seat->board.base + shift->blocks[turn], shift->rows[turn],
                  shift->env_ids[turn], is_final);
}

const void *pp_seat_order(pp_seat *seat, int32_t turn, int64_t *size) {
  const pp_message *order = &seat->board.desks[seat->shift.env_ids[turn]].order;
  *size = order->size;
  return order->size ? seat->board.base + order->offset : NULL;
}

/* ------------------------------------------------------------------------------ delivering -- */

/* puts bytes into a room that is large enough, the old one if it is */
static int put(pp_seat *seat, room *in, const void *bytes, int64_t size, pp_message *reply,
               pp_error *error) {
  if (is_forked(seat)) {
    return pp_error_set(error, PP_ERR_FORKED, "a child of a worker process has nothing to say");
  }
  if (!size) {
    *reply = (pp_message){0, 0};
    return PP_OK;
  }
  if (!in->size || pp_spill_room(in->size) != pp_spill_room(size)) {
    int64_t offset;
    if (in->size) pp_spill_give(&seat->spill, in->offset, in->size);
    in->size = 0;
    offset = pp_spill_take(&seat->spill, size);
    if (offset < 0) {
      return pp_error_set(error, (int)offset, "no shared memory for a message of %lld bytes",
                          (long long)size);
    }
    in->offset = offset;
  }
  in->size = size;
  memcpy(seat->spill.base + in->offset, bytes, (size_t)size);
  PP_TEST_DIE(put);
  *reply = (pp_message){in->offset, size};
  return PP_OK;
}

int pp_seat_reply(pp_seat *seat, int32_t turn, const void *bytes, int64_t size, pp_error *error) {
  int32_t env_id = seat->shift.env_ids[turn];
  return put(seat, &seat->rooms[env_id - seat->first], bytes, size,
             &seat->board.desks[env_id].reply, error);
}

/* writes what is the engine's of one row, and keeps what it shows if anybody wants that */
static void write_row(pp_seat *seat, int32_t turn) {
  pp_shift *shift = &seat->shift;
  const pp_layout *layout = &seat->board.layout;
  char *memory = seat->board.base + shift->blocks[turn];
  int32_t env_id = shift->env_ids[turn], row = shift->rows[turn];
  int32_t kind = shift->kinds[turn], is_step = kind == PP_TURN_STEP || kind == PP_TURN_END;
  int32_t elapsed = kind == PP_TURN_RESET ? 0 : pp_board_elapsed(&seat->board, env_id);

  if (is_step) elapsed = pp_autoreset_count(elapsed);
  if (shift->failed[turn]) {
    pp_row_blank(layout, memory, row, env_id);
    return;
  }
  if (layout->columns[layout->reward].dtype == PP_FLOAT64) {
    *(double *)pp_layout_at(layout, memory, layout->reward, row) = shift->rewards[turn];
  } else {
    *(float *)pp_layout_at(layout, memory, layout->reward, row) = (float)shift->rewards[turn];
  }
  *(uint8_t *)pp_layout_at(layout, memory, layout->terminated, row) = shift->terminated[turn];
  *(uint8_t *)pp_layout_at(layout, memory, layout->truncated, row) = shift->truncated[turn];
  *(int32_t *)pp_layout_at(layout, memory, layout->env_id, row) = env_id;
  *(int32_t *)pp_layout_at(layout, memory, layout->elapsed_step, row) = elapsed;
  seat->board.desks[env_id].steps += is_step;
  // what is shown of an episode that has just begun
  if (kind == PP_TURN_END || kind == PP_TURN_CUT) elapsed = 0;
  pp_board_keep(&seat->board, memory, row, env_id, elapsed);
}

void pp_seat_deliver(pp_seat *seat, int32_t first, int32_t count) {
  pp_shift *shift = &seat->shift;
  int32_t rows = 0;

  if (is_forked(seat)) return;
  for (int32_t i = first; i < first + count; i++) {
    pp_desk *desk = &seat->board.desks[shift->env_ids[i]];
    int32_t slot = desk->place / seat->board.shape.batch_size;
    write_row(seat, i);
    PP_TEST_DIE(written);
    rows++;
    // release: the row is written
    atomic_store_explicit(&desk->state, shift->failed[i] ? PP_DESK_FAILED : PP_DESK_DONE,
                          memory_order_release);
    PP_TEST_DIE(done);
    // those of one block are counted at once
    if (i + 1 == first + count ||
        seat->board.desks[shift->env_ids[i + 1]].place / seat->board.shape.batch_size != slot) {
      pp_board_count(&seat->board, seat->lane, slot, rows);
      rows = 0;
    }
  }
  memset(shift->terminated + first, 0, (size_t)count);
  memset(shift->truncated + first, 0, (size_t)count);
  memset(shift->kinds + first, 0, (size_t)count);
  memset(shift->failed + first, 0, (size_t)count);
}

/* ------------------------------------------------------------------------------- requests -- */

const void *pp_seat_request(pp_seat *seat, int64_t *size) {
  pp_post *post = &seat->board.posts[seat->lane];
  *size = 0;
  if (!pp_post_is_called(post)) return NULL;
  *size = post->order.size;
  return seat->board.base + post->order.offset;
}

int pp_seat_answer(pp_seat *seat, const void *bytes, int64_t size, pp_error *error) {
  pp_post *post = &seat->board.posts[seat->lane];
  int status = put(seat, &seat->rooms[seat->count], bytes, size, &post->reply, error);
  if (status < 0) return status;
  PP_TEST_DIE(replied);
  // publishes the reply
  atomic_store_explicit(&post->answered, atomic_load_explicit(&post->request, memory_order_relaxed),
                        memory_order_seq_cst);
  PP_TEST_DIE(answered);
  pp_board_wake_caller(&seat->board);
  return PP_OK;
}
