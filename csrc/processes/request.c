/* Requests: what the parent asks a worker process independently of turns, and the answer. */
#include "pool/error.h"
#include "processes.h"

static int is_answered(const pp_mailbox *mailbox) {
  // once the numbers agree the answer is written
  return atomic_load_explicit(&mailbox->answered, memory_order_seq_cst) ==
         atomic_load_explicit(&mailbox->request, memory_order_relaxed);
}

int pp_pool_request(pp_pool *pool, int32_t lane, const void *bytes, int64_t size, pp_error *error) {
  int status = pp_processes_check_lane(pool, lane, error);
  pp_process_lane *own;
  pp_mailbox *mailbox;

  if (status < 0) return status;
  own = &pool->processes->lanes[lane];
  mailbox = &pool->processes->board.mailboxes[lane];
  pthread_mutex_lock(&pool->lock);
  if (own->is_dead) {
    status = pp_error_set(error, PP_ERR_STATE, "worker process %d has died: make a new pool", lane);
  } else if (!is_answered(mailbox)) {
    status =
        pp_error_set(error, PP_ERR_STATE,
                     "worker process %d has an unanswered request: take that answer first", lane);
  } else {
    status = pp_processes_write_message(pool, &own->request, bytes, size, error);
  }
  if (status >= 0) {
    mailbox->payload = own->request;
    mailbox->reply.size = 0;
    own->num_sent++;
    // publishes the payload
    atomic_fetch_add_explicit(&mailbox->request, 1, memory_order_seq_cst);
    pp_board_wake(&pool->processes->board, lane);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

/* takes the answer, and frees the request */
static int32_t take_answer(pp_pool *pool, int32_t lane, const void **bytes, int64_t *size,
                           pp_error *error) {
  pp_process_lane *own = &pool->processes->lanes[lane];
  pp_message answer;
  int is_heard =
      pp_processes_read_message(pool, lane, &pool->processes->board.mailboxes[lane].reply, &answer);

  pthread_mutex_lock(&pool->lock);
  if (is_answered(&pool->processes->board.mailboxes[lane])) {
    pp_processes_write_message(pool, &own->request, NULL, 0, NULL);
  }
  pthread_mutex_unlock(&pool->lock);
  if (answer.size == -1) {
    return pp_error_set(error, PP_ERR_STATE, "worker process %d died before it answered", lane);
  }
  if (!is_heard) {
    return pp_error_set(error, PP_ERR_STATE,
                        "the answer of worker process %d lies outside of its memory: look for code "
                        "there that writes beyond its arrays",
                        lane);
  }
  *bytes = own->replies + answer.offset;
  *size = answer.size;
  return 1;
}

/* after a wait in vain: an error if the answer can't come any more */
static int32_t look(pp_pool *pool, int32_t lane, pp_error *error) {
  const pp_mailbox *mailbox = &pool->processes->board.mailboxes[lane];
  int is_idle;
  pthread_mutex_lock(&pool->lock);
  is_idle = pp_processes_is_idle_locked(pool, lane);
  pthread_mutex_unlock(&pool->lock);
  if (!is_idle || is_answered(mailbox)) return 0;
  return pp_processes_break(pool, error, "lane %d: a request that its idle worker does not answer",
                            lane);
}

int32_t pp_pool_answer(pp_pool *pool, int32_t lane, int64_t timeout, const void **bytes,
                       int64_t *size, pp_error *error) {
  const int64_t slice = PP_SLICE_NS;
  int status = pp_processes_check_lane(pool, lane, error);
  const pp_mailbox *mailbox;
  uint32_t epoch;

  if (status < 0) return status;
  if (!bytes || !size) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "nowhere to put an answer: bytes or size is null");
  }
  mailbox = &pool->processes->board.mailboxes[lane];
  epoch = pp_gate_enter(pool->caller);
  if (!is_answered(mailbox) && pp_pool_check(pool, NULL) >= 0) {
    pp_gate_sleep(pool->caller, epoch, timeout >= 0 && timeout < slice ? timeout : slice);
  }
  pp_gate_leave(pool->caller);
  if (is_answered(mailbox)) return take_answer(pool, lane, bytes, size, error);
  status = pp_pool_check(pool, error);
  return status < 0 ? status : look(pool, lane, error);
}
