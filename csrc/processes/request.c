/* Requests: how the parent sends a request to a worker process, apart from turns, and takes the
 * answer. */
#include "lanes.h"
#include "mailbox.h"
#include "pool/error.h"

static bool is_answered(const pp_mailbox *mailbox) {
  // once the numbers are equal, the worker's answer is published
  return atomic_load_explicit(&mailbox->answered, memory_order_seq_cst) ==
         atomic_load_explicit(&mailbox->request, memory_order_relaxed);
}

int pp_pool_request(pp_pool *pool, int32_t lane, const void *bytes, int64_t size, pp_error *error) {
  int status = pp_processes_check_lane(pool, lane, error);
  pp_process_lane *worker;
  pp_mailbox *mailbox;

  if (status < 0) return status;
  worker = &pool->processes->lanes[lane];
  mailbox = &pool->processes->board.mailboxes[lane];
  pthread_mutex_lock(&pool->lock);
  if (worker->is_dead) {
    status = pp_error_set(error, PP_ERR_STATE, "worker process %d has died: make a new pool", lane);
  } else if (!is_answered(mailbox)) {
    status = pp_error_set(error, PP_ERR_STATE,
                          "worker process %d has a request already: take its answer first", lane);
  } else {
    status = pp_processes_write_message(pool, &worker->request, bytes, size, error);
  }
  if (status >= 0) {
    mailbox->payload = worker->request;
    mailbox->reply.size = 0;
    worker->num_sent++;
    // publishes the payload
    atomic_fetch_add_explicit(&mailbox->request, 1, memory_order_seq_cst);
    pp_board_wake(&pool->processes->board, lane);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

/* Returns the answer that has arrived, and frees the request. */
static int32_t take_answer(pp_pool *pool, int32_t lane, const void **bytes, int64_t *size,
                           pp_error *error) {
  pp_process_lane *worker = &pool->processes->lanes[lane];
  pp_message answer;
  bool is_readable =
      pp_processes_read_message(pool, lane, &pool->processes->board.mailboxes[lane].reply, &answer);

  pthread_mutex_lock(&pool->lock);
  if (is_answered(&pool->processes->board.mailboxes[lane])) {
    pp_processes_write_message(pool, &worker->request, NULL, 0, NULL);
  }
  pthread_mutex_unlock(&pool->lock);
  if (answer.size == -1) {
    return pp_error_set(error, PP_ERR_STATE, "worker process %d died before it answered", lane);
  }
  if (!is_readable) {
    return pp_error_set(error, PP_ERR_STATE,
                        "the answer of worker process %d lies outside its memory: look for code "
                        "there that writes beyond its arrays",
                        lane);
  }
  *bytes = worker->replies + answer.offset;
  *size = answer.size;
  return 1;
}

/* To be called after a wait that timed out: returns 0 if the answer can still come, or an error. */
static int32_t check_progress(pp_pool *pool, int32_t lane, pp_error *error) {
  const pp_mailbox *mailbox = &pool->processes->board.mailboxes[lane];
  bool is_idle;
  pthread_mutex_lock(&pool->lock);
  is_idle = pp_processes_is_idle_locked(pool, lane);
  pthread_mutex_unlock(&pool->lock);
  if (!is_idle || is_answered(mailbox)) return 0;
  return pp_processes_break(pool, error, "lane %d: its worker does not see a request", lane);
}

int32_t pp_pool_answer(pp_pool *pool, int32_t lane, int64_t timeout, const void **bytes,
                       int64_t *size, pp_error *error) {
  const int64_t slice = PP_SLICE_NS;
  int status = pp_processes_check_lane(pool, lane, error);
  const pp_mailbox *mailbox;
  uint32_t epoch;

  if (status < 0) return status;
  if (!bytes || !size) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "no room for an answer: bytes or size is null");
  }
  mailbox = &pool->processes->board.mailboxes[lane];
  epoch = pp_gate_enter(pool->caller);
  if (!is_answered(mailbox) && pp_pool_check(pool, NULL) >= 0) {
    pp_gate_sleep(pool->caller, epoch, timeout >= 0 && timeout < slice ? timeout : slice);
  }
  pp_gate_leave(pool->caller);
  if (is_answered(mailbox)) return take_answer(pool, lane, bytes, size, error);
  status = pp_pool_check(pool, error);
  return status < 0 ? status : check_progress(pool, lane, error);
}
