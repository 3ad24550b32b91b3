/* Worker: a worker process's side of its lane, from taking turns to delivering their rows.
 *
 * Environments may fork. A child that returns from the environment's code would write to the same
 * rows as the worker. So a fork handler makes the mapped memory private in every child, and every
 * function that would serve a child returns PP_ERR_FORKED or does nothing. Other children are not
 * affected. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board.h"
#include "mailbox.h"
#include "os/os.h"
#include "pool/error.h"
#include "pool/row.h"
#include "pool/track.h"
#include "pp_worker.h"
#include "reply_heap.h"
#include "rows.h"
#include "shared_heap.h"
#include "worker_wait.h"

/* programs that close all descriptors by number often stop below this one */
enum { HIGH_FD = 512 };

/* the block of the reply heap that holds an environment's last reply */
typedef struct reply_block {
  int64_t offset;
  int64_t size; /* 0: there is no block */
} reply_block;

struct pp_worker {
  pp_board board;
  pp_reply_heap reply_heap;
  pp_shared_heap heap; /* this process's mapping */
  int32_t reply_fd;    /* a copy of the reply file's descriptor; -1: none */
  int32_t memory_fd;   /* a copy of the memory's descriptor, for forked children; -1: none */
  /* the file that memory_fd must refer to, as environments may close descriptors of others */
  dev_t device;
  ino_t file;
  uint32_t fork_generation;
  struct pp_worker *next; /* in the list of workers */
  int32_t lane;
  int32_t first; /* the lane's environments: first .. first+count-1 */
  int32_t count;
  pp_wait_history history;
  pp_entry *entries;
  reply_block *reply_blocks; /* one for each environment, and one for answers */
  pp_turns turns;
  char *staged; /* unordered: where turns write their rows (PP_STAGED); else null */
  pp_layout staged_layout;
  pp_track *track; /* null: the turns are not traced */
  int64_t marked;  /* when the last mark was made, or the turns were taken */
};

/* Returns a copy of a descriptor: of HIGH_FD or more if that is allowed, else any. */
static int duplicate_of(int fd) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
  return copy < 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : copy;
}

/* Lets the kernel make its table of this process's descriptors large enough for HIGH_FD. Once the
 * process has a second thread, Linux waits for all cores (synchronize_rcu) before it uses a larger
 * table, which takes 10 to 25 ms. */
static void make_room_for_descriptors(void) {
  int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int copy = fd < 0 ? -1 : duplicate_of(fd);
  if (copy >= 0) close(copy);
  if (fd >= 0) close(fd);
}

/* ---------------------------------------------------------------------------------- forks -- */

static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static pp_worker *workers; /* of this process; guarded by the lock */

static bool is_forked(const pp_worker *worker) {
  return worker->fork_generation != pp_os_fork_generation();
}

/* Returns the descriptor of the worker's memory, or -1 if it was closed or now refers to another
 * file. */
static int memory_fd_of(const pp_worker *worker) {
  struct stat file;
  if (worker->memory_fd < 0 || fstat(worker->memory_fd, &file)) return -1;
  return file.st_dev == worker->device && file.st_ino == worker->file ? worker->memory_fd : -1;
}

static void lock_workers(void) {
  pthread_mutex_lock(&workers_lock);
}

static void unlock_workers(void) {
  pthread_mutex_unlock(&workers_lock);
}

static void detach_in_child(void) {
  for (const pp_worker *worker = workers; worker; worker = worker->next) {
    pp_os_shared_detach(worker->heap.base, worker->heap.reserve, memory_fd_of(worker));
  }
  unlock_workers();
}

static void register_fork_handlers(void) {
  pthread_atfork(lock_workers, unlock_workers, detach_in_child);
}

static void register_worker(pp_worker *worker, int32_t memory_fd) {
  struct stat file = {0};
  worker->memory_fd = duplicate_of(memory_fd);
  if (fstat(memory_fd, &file) == 0) {
    worker->device = file.st_dev;
    worker->file = file.st_ino;
  }
  pthread_once(&fork_once, register_fork_handlers);
  lock_workers();
  worker->next = workers;
  workers = worker;
  unlock_workers();
}

static void unregister_worker(pp_worker *worker) {
  lock_workers();
  for (pp_worker **link = &workers; *link; link = &(*link)->next) {
    if (*link != worker) continue;
    *link = worker->next;
    break;
  }
  unlock_workers();
  if (memory_fd_of(worker) >= 0) close(worker->memory_fd);
}

/* -------------------------------------------------------------------------- open and close -- */

/* makes room for a row of each environment */
static int alloc_staged(pp_worker *worker) {
  pp_layout *layout = &worker->staged_layout;
  int64_t end = 0;
  *layout = worker->board.layout;
  for (int32_t i = 0; i < layout->count; i++) {
    layout->columns[i].offset = end;
    end += layout->columns[i].row_bytes * worker->count;
    end = (end + PP_ALIGNMENT - 1) / PP_ALIGNMENT * PP_ALIGNMENT;
  }
  worker->staged = calloc(1, (size_t)end);
  return worker->staged ? PP_OK : PP_ERR_MEMORY;
}

static int alloc_turns(pp_worker *worker) {
  size_t n = (size_t)worker->count;
  pp_turns *turns = &worker->turns;
  worker->entries = calloc(n, sizeof(*worker->entries));
  worker->reply_blocks = calloc(n + 1, sizeof(*worker->reply_blocks));
  turns->env_ids = calloc(n, sizeof(*turns->env_ids));
  turns->command = calloc(n, sizeof(*turns->command));
  turns->rows = calloc(n, sizeof(*turns->rows));
  turns->blocks = calloc(n, sizeof(*turns->blocks));
  turns->rewards = calloc(n, sizeof(*turns->rewards));
  turns->terminated = calloc(n, 1);
  turns->truncated = calloc(n, 1);
  turns->kinds = calloc(n, 1);
  turns->failed = calloc(n, 1);
  if (!worker->board.shape.is_ordered && alloc_staged(worker) < 0) return PP_ERR_MEMORY;
  return worker->entries && worker->reply_blocks && turns->env_ids && turns->command &&
                 turns->rows && turns->blocks && turns->rewards && turns->terminated &&
                 turns->truncated && turns->kinds && turns->failed
             ? PP_OK
             : PP_ERR_MEMORY;
}

/* Returns the range of the reply file that holds replies of the process that served the lane
 * before, which the parent may not have read yet. */
static void find_unread(const pp_worker *worker, int64_t *unread, int64_t *unread_end) {
  int64_t reserve = worker->board.shape.reply_reserve;
  *unread = *unread_end = 0;
  for (int32_t i = 0; i <= worker->count; i++) {
    const pp_message *reply = i < worker->count ? &worker->board.envs[worker->first + i].reply
                                                : &worker->board.mailboxes[worker->lane].reply;
    int64_t end;
    // the parent refuses such a reply, so it need not be kept
    if (reply->size <= 0 || reply->size > reserve || reply->offset < 0 ||
        reply->offset > reserve - reply->size) {
      continue;
    }
    end = reply->offset + pp_reply_heap_block_size(reply->size);
    if (!*unread_end || reply->offset < *unread) *unread = reply->offset;
    if (end > *unread_end) *unread_end = end;
  }
}

/* maps the pool's memory and checks that it has the lane */
static int open_board(pp_worker *worker, int32_t memory_fd, int64_t reserve, pp_error *error) {
  int64_t bytes = pp_os_shared_size(memory_fd);
  int status;
  if (bytes < 1 || reserve < bytes) {
    return pp_error_set(
        error, PP_ERR_ARGUMENT,
        "memory_fd=%d is not a pool's memory, or reserve=%lld is less than its %lld "
        "bytes: give what pp_pool_memory_fd and pp_pool_reserve say",
        memory_fd, (long long)reserve, (long long)bytes);
  }
  status = pp_shared_heap_attach(&worker->heap, memory_fd, reserve);
  if (status < 0) {
    return pp_error_set(error, status, "can't map %lld bytes of a pool's memory",
                        (long long)reserve);
  }
  status = pp_board_attach(&worker->board, worker->heap.base, bytes);
  if (status < 0) {
    return pp_error_set(error, status,
                        "the pool was made by another build of parallel_pool than this worker "
                        "process runs: let both import the same one");
  }
  if (worker->lane >= 0 && worker->lane < worker->board.shape.num_lanes) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT, "lane=%d: choose 0 to %d", worker->lane,
                      worker->board.shape.num_lanes - 1);
}

static int open_lane(pp_worker *worker, int32_t memory_fd, int64_t reserve, int32_t reply_fd,
                     pp_error *error) {
  int status = open_board(worker, memory_fd, reserve, error);
  int64_t unread, unread_end;
  if (status < 0) return status;
  if (pp_os_shared_size(reply_fd) < 0) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "reply_fd=%d is not a reply file: give what pp_pool_reply_fd says",
                        reply_fd);
  }
  pp_board_lane_envs(&worker->board, worker->lane, &worker->first, &worker->count);
  status = alloc_turns(worker);
  find_unread(worker, &unread, &unread_end);
  if (status >= 0) {
    worker->reply_fd = duplicate_of(reply_fd);
    if (worker->reply_fd >= 0) reply_fd = worker->reply_fd;
    status = pp_reply_heap_init(&worker->reply_heap, reply_fd, worker->board.shape.reply_reserve,
                                unread, unread_end);
  }
  return status < 0 ? pp_error_set(error, status, "no memory for a worker") : PP_OK;
}

int pp_worker_open(int32_t memory_fd, int64_t reserve, int32_t reply_fd, int32_t lane,
                   pp_worker **out, pp_error *error) {
  pp_worker *worker;
  int status;

  if (!out) return pp_error_set(error, PP_ERR_ARGUMENT, "no room for a worker: out is null");
  *out = NULL;
  worker = calloc(1, sizeof(*worker));
  if (!worker) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a worker");
  worker->lane = lane;
  worker->memory_fd = worker->reply_fd = -1;
  worker->fork_generation = pp_os_fork_generation();
  status = open_lane(worker, memory_fd, reserve, reply_fd, error);
  if (status < 0) {
    pp_worker_close(worker);
    return status;
  }
  atomic_store_explicit(&worker->board.mailboxes[lane].is_awake, 1, memory_order_relaxed);
  register_worker(worker, memory_fd);
  *out = worker;
  return PP_OK;
}

int pp_worker_resume(pp_worker *worker) {
  int64_t unread, unread_end;
  if (is_forked(worker)) return PP_ERR_FORKED;
  find_unread(worker, &unread, &unread_end);
  memset(worker->reply_blocks, 0, ((size_t)worker->count + 1) * sizeof(*worker->reply_blocks));
  atomic_store_explicit(&worker->board.mailboxes[worker->lane].is_awake, 1, memory_order_relaxed);
  return pp_reply_heap_resume(&worker->reply_heap, unread, unread_end);
}

void pp_worker_close(pp_worker *worker) {
  pp_turns *turns;
  if (!worker) return;
  turns = &worker->turns;
  unregister_worker(worker);
  if (worker->reply_heap.base) pp_reply_heap_fini(&worker->reply_heap);
  if (worker->reply_fd >= 0) close(worker->reply_fd);
  pp_shared_heap_fini(&worker->heap);
  free(worker->entries);
  free(worker->reply_blocks);
  free(turns->env_ids);
  free(turns->command);
  free(turns->rows);
  free(turns->blocks);
  free(turns->rewards);
  free(turns->terminated);
  free(turns->truncated);
  free(turns->kinds);
  free(turns->failed);
  free(worker->staged);
  free(worker);
}

int pp_worker_exit_with(int64_t pid) {
  make_room_for_descriptors();
  return pp_os_exit_with_process(pid);
}

int pp_worker_die_with_parent(int64_t pid) {
  return pp_os_die_with_parent(pid);
}

int32_t pp_worker_fork(const int32_t *fds, int32_t count, int32_t *pids) {
  for (int32_t i = 0; i < count; i++) {
    int64_t pid = pp_os_fork_waiting(fds[i]);
    if (!pid) return -1 - i;
    if (pid < 0) return i;
    pids[i] = (int32_t)pid;
  }
  return count;
}

/* -------------------------------------------------------------------------------- queries -- */

int32_t pp_worker_first_env(const pp_worker *worker) {
  return worker->first;
}

int32_t pp_worker_num_envs(const pp_worker *worker) {
  return worker->count;
}

int32_t pp_worker_is_ordered(const pp_worker *worker) {
  return worker->board.shape.is_ordered;
}

pp_turns *pp_worker_turns(pp_worker *worker) {
  return &worker->turns;
}

void *pp_worker_actions(pp_worker *worker, int64_t *record_bytes) {
  *record_bytes = worker->board.shape.action_bytes;
  return worker->board.actions + *record_bytes * worker->first;
}

int32_t *pp_worker_current_env(pp_worker *worker) {
  // Python writes to it without atomics: it is one aligned word, which is read only as a hint
  return (int32_t *)&worker->board.mailboxes[worker->lane].current_env;
}

void *pp_worker_block(pp_worker *worker, int64_t offset) {
  return worker->board.base + offset;
}

void *pp_worker_staged(pp_worker *worker, int32_t field, bool is_final) {
  const pp_layout *layout = &worker->staged_layout;
  if (!worker->staged || field < 0 || field >= layout->num_fields) return NULL;
  if (is_final && layout->final_fields < 0) return NULL;
  return pp_layout_at(layout, worker->staged, field + (is_final ? layout->final_fields : 0), 0);
}

/* ------------------------------------------------------------------------------ take turns -- */

/* sets the row and the block of a turn */
static void set_place(pp_worker *worker, int32_t turn, int32_t place) {
  const pp_board_shape *shape = &worker->board.shape;
  int32_t slot = place / shape->batch_size;
  worker->turns.rows[turn] = place - slot * shape->batch_size;
  worker->turns.blocks[turn] = worker->board.slots[slot].memory;
}

/* Returns whether the turns are a plain step of all environments in order, for which the worker has
 * a shorter loop. */
static bool is_plain_step(const pp_worker *worker, int32_t count) {
  const pp_turns *turns = &worker->turns;
  if (count != worker->count || !worker->board.shape.is_ordered) return false;
  for (int32_t i = 0; i < count; i++) {
    if (turns->env_ids[i] != worker->first + i || turns->command[i] != PP_COMMAND_STEP ||
        turns->blocks[i] != turns->blocks[0] || turns->rows[i] != turns->rows[0] + i) {
      return false;
    }
  }
  return true;
}

/* finds out whether the turns are traced */
static void find_track(pp_worker *worker, const pp_mailbox *mailbox) {
  int64_t offset = atomic_load_explicit(&mailbox->track, memory_order_acquire);
  worker->track = offset ? pp_shared_heap_at(&worker->heap, offset) : NULL;
  worker->turns.is_traced = offset != 0;
  if (offset) worker->marked = pp_os_now();
}

int32_t pp_worker_take(pp_worker *worker, int64_t timeout) {
  pp_mailbox *mailbox = &worker->board.mailboxes[worker->lane];
  pp_turns *turns = &worker->turns;

  if (is_forked(worker)) return PP_ERR_FORKED;
  pp_worker_wait(&worker->history, &worker->board, worker->lane, timeout);
  if (pp_mailbox_is_closing(mailbox)) return PP_ERR_CLOSED;
  turns->delivered = 0;
  turns->count = pp_board_take(&worker->board, worker->lane, worker->entries, worker->count);
  for (int32_t i = 0; i < turns->count; i++) {
    turns->env_ids[i] = PP_ENTRY_ENV(worker->entries[i]);
    turns->command[i] = worker->board.envs[turns->env_ids[i]].command;
    turns->rows[i] = i;
    turns->blocks[i] = PP_STAGED;
    if (worker->board.shape.is_ordered) set_place(worker, i, PP_ENTRY_PLACE(worker->entries[i]));
  }
  turns->is_plain_step = is_plain_step(worker, turns->count);
  find_track(worker, mailbox);
  return turns->count;
}

int64_t pp_worker_delivered_steps(const pp_worker *worker, int32_t turn) {
  return worker->board.envs[worker->turns.env_ids[turn]].steps;
}

void pp_worker_repeat_last(pp_worker *worker, int32_t turn, bool is_final) {
  const pp_turns *turns = &worker->turns;
  bool is_staged = turns->blocks[turn] == PP_STAGED;
  pp_board_repeat_row(&worker->board, is_staged ? &worker->staged_layout : &worker->board.layout,
                      is_staged ? worker->staged : worker->board.base + turns->blocks[turn],
                      turns->rows[turn], turns->env_ids[turn], is_final);
}

const void *pp_worker_payload(pp_worker *worker, int32_t turn, int64_t *size) {
  const pp_message *payload = &worker->board.envs[worker->turns.env_ids[turn]].payload;
  *size = payload->size;
  return payload->size ? worker->board.base + payload->offset : NULL;
}

/* -------------------------------------------------------------------------------- tracing -- */

/* records what was done since the last mark */
static void add_span(pp_worker *worker, int32_t kind, int32_t env_id, int32_t count) {
  pp_span span = {worker->marked, pp_os_now(), kind, env_id, count, 0};
  pp_track_add(worker->track, PP_TRACK_WORKER, &span);
  worker->marked = span.end;
}

void pp_worker_mark(pp_worker *worker, int32_t turn, int32_t count) {
  const pp_turns *turns = &worker->turns;
  bool are_resets = true;
  if (!worker->track || is_forked(worker)) return;
  for (int32_t i = turn; i < turn + count; i++) {
    are_resets = are_resets && turns->kinds[i] == PP_TURN_RESET;
  }
  add_span(worker, are_resets ? PP_SPAN_RESET : PP_SPAN_WORK, turns->env_ids[turn], count);
}

/* -------------------------------------------------------------------------------- deliver -- */

/* Copies bytes into a block of the reply heap (the old block if it has the right size) and sets
 * reply to refer to them. */
static int write_reply(pp_worker *worker, reply_block *block, const void *bytes, int64_t size,
                       pp_message *reply, pp_error *error) {
  if (is_forked(worker)) {
    return pp_error_set(error, PP_ERR_FORKED, "a forked child of a worker process can't reply");
  }
  if (!size) {
    *reply = (pp_message){0, 0};
    return PP_OK;
  }
  if (!block->size || pp_reply_heap_block_size(block->size) != pp_reply_heap_block_size(size)) {
    int64_t offset;
    if (block->size) pp_reply_heap_free(&worker->reply_heap, block->offset, block->size);
    block->size = 0;
    offset = pp_reply_heap_alloc(&worker->reply_heap, size);
    if (offset < 0) {
      return pp_error_set(error, (int)offset, "no shared memory for a message of %lld bytes",
                          (long long)size);
    }
    block->offset = offset;
  }
  block->size = size;
  memcpy(worker->reply_heap.base + block->offset, bytes, (size_t)size);
  PP_TEST_DIE(copied);
  *reply = (pp_message){block->offset, size};
  return PP_OK;
}

int pp_worker_reply(pp_worker *worker, int32_t turn, const void *bytes, int64_t size,
                    pp_error *error) {
  int32_t env_id = worker->turns.env_ids[turn];
  return write_reply(worker, &worker->reply_blocks[env_id - worker->first], bytes, size,
                     &worker->board.envs[env_id].reply, error);
}

/* copies the columns of fields, the first of which is given, from a staged row to a turn's own */
static void copy_fields(const pp_worker *worker, int32_t turn, int32_t first, int32_t from) {
  const pp_layout *layout = &worker->board.layout;
  char *memory = worker->board.base + worker->turns.blocks[turn];
  for (int32_t i = first; i < first + layout->num_fields; i++) {
    memcpy(pp_layout_at(layout, memory, i, worker->turns.rows[turn]),
           pp_layout_at(&worker->staged_layout, worker->staged, i, from),
           (size_t)layout->columns[i].row_bytes);
  }
}

/* Unordered: gives a turn its row of the pool, and copies what was staged there. */
static void claim_row(pp_worker *worker, int32_t turn) {
  const pp_turns *turns = &worker->turns;
  const pp_layout *layout = &worker->board.layout;
  int32_t place = worker->board.envs[turns->env_ids[turn]].place, staged = turns->rows[turn];

  // the turn may have a row already, claimed by a former worker that died
  if (place < 0) place = pp_board_claim(&worker->board, worker->lane, turns->env_ids[turn]);
  set_place(worker, turn, place);
  if (turns->failed[turn]) return;
  copy_fields(worker, turn, 0, staged);
  if (layout->final_fields >= 0) copy_fields(worker, turn, layout->final_fields, staged);
}

/* writes the engine's columns of one row, and saves the row */
static void write_row(pp_worker *worker, int32_t turn) {
  pp_turns *turns = &worker->turns;
  const pp_layout *layout = &worker->board.layout;
  char *memory = worker->board.base + turns->blocks[turn];
  int32_t env_id = turns->env_ids[turn], row = turns->rows[turn];
  int32_t kind = turns->kinds[turn];
  bool is_step = kind == PP_TURN_STEP || kind == PP_TURN_END;
  int32_t elapsed = kind == PP_TURN_RESET ? 0 : pp_board_elapsed(&worker->board, env_id);
  pp_row values;

  if (is_step) elapsed = pp_row_next_elapsed(elapsed);
  if (turns->failed[turn]) {
    pp_row_blank(layout, memory, row, env_id);
    return;
  }
  values = (pp_row){env_id, elapsed, &turns->rewards[turn], turns->terminated[turn],
                    turns->truncated[turn]};
  pp_row_put(layout, memory, row, &values);
  worker->board.envs[env_id].steps += is_step;
  // the saved fields are the first state of the next episode
  if (kind == PP_TURN_END || kind == PP_TURN_CUT) elapsed = 0;
  pp_board_save_row(&worker->board, memory, row, env_id, elapsed);
}

void pp_worker_deliver(pp_worker *worker, int32_t first, int32_t count) {
  pp_turns *turns = &worker->turns;
  int32_t rows = 0;

  if (is_forked(worker)) return;
  for (int32_t i = first; i < first + count; i++) {
    pp_board_env *env = &worker->board.envs[turns->env_ids[i]];
    int32_t slot;
    if (!worker->board.shape.is_ordered) claim_row(worker, i);
    slot = env->place / worker->board.shape.batch_size;
    write_row(worker, i);
    PP_TEST_DIE(written);
    rows++;
    // release: publishes the row
    atomic_store_explicit(&env->state, turns->failed[i] ? PP_ENV_FAILED : PP_ENV_DONE,
                          memory_order_release);
    PP_TEST_DIE(done);
    // rows of one block are counted together, but for those that are claimed one by one
    if (!worker->board.shape.is_ordered || i + 1 == first + count ||
        worker->board.envs[turns->env_ids[i + 1]].place / worker->board.shape.batch_size != slot) {
      pp_board_add_rows_done(&worker->board, worker->lane, slot, rows);
      rows = 0;
    }
  }
  if (worker->track) add_span(worker, PP_SPAN_DELIVER, -1, count);
  turns->delivered = first + count;
  memset(turns->terminated + first, 0, (size_t)count);
  memset(turns->truncated + first, 0, (size_t)count);
  memset(turns->kinds + first, 0, (size_t)count);
  memset(turns->failed + first, 0, (size_t)count);
}

/* ------------------------------------------------------------------------------- requests -- */

const void *pp_worker_request(pp_worker *worker, int64_t *size) {
  pp_mailbox *mailbox = &worker->board.mailboxes[worker->lane];
  *size = 0;
  if (!pp_mailbox_has_request(mailbox)) return NULL;
  *size = mailbox->payload.size;
  return worker->board.base + mailbox->payload.offset;
}

int pp_worker_answer(pp_worker *worker, const void *bytes, int64_t size, pp_error *error) {
  pp_mailbox *mailbox = &worker->board.mailboxes[worker->lane];
  int status = write_reply(worker, &worker->reply_blocks[worker->count], bytes, size,
                           &mailbox->reply, error);
  if (status < 0) return status;
  PP_TEST_DIE(replied);
  // publishes the reply
  atomic_store_explicit(&mailbox->answered,
                        atomic_load_explicit(&mailbox->request, memory_order_relaxed),
                        memory_order_seq_cst);
  PP_TEST_DIE(answered);
  pp_board_wake_caller(&worker->board);
  return PP_OK;
}
