/* Shared pools: the table of the pools that programs may use. */
#include "shared_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "pool/error.h"
#include "pool/pool.h"

/* guards all that follows, and the members of shares, but spare while the share is used or taken */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* broadcast when a call ends */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static pp_shared_pool *shares;
static int32_t last_number;

/* in a forked child, whose pools are its parent's: a thread of the parent may have held the lock */
static void forget(void) {
  pthread_mutex_init(&lock, NULL);
  pthread_cond_init(&ended, NULL);
  shares = NULL;
}

static pthread_once_t forget_once = PTHREAD_ONCE_INIT;
static int has_no_memory; /* set once, before any reader passes pthread_once */

static void forget_at_fork(void) {
  has_no_memory = pthread_atfork(NULL, NULL, forget) != 0;
}

static pp_shared_pool *find_locked(int32_t number) {
  pp_shared_pool *share = shares;
  while (share && share->number != number) share = share->next;
  return share;
}

int pp_xla_share(pp_pool *pool, void *spare, int32_t *number, pp_error *error) {
  int status = pp_pool_check(pool, error);
  pp_shared_pool *share;

  if (status >= 0) status = pp_pool_check_local(pool, error);
  if (status >= 0) status = pp_pool_check_block(pool, spare, error);
  if (status < 0) return status;
  pthread_once(&forget_once, forget_at_fork);
  share = has_no_memory ? NULL : calloc(1, sizeof(*share));
  if (!share) return pp_error_set(error, PP_ERR_MEMORY, "no memory to share the pool");
  pthread_mutex_lock(&lock);
  share->pool = pool;
  share->spare = spare;
  share->number = *number = ++last_number;
  share->next = shares;
  shares = share;
  pthread_mutex_unlock(&lock);
  return PP_OK;
}

void pp_xla_unshare(int32_t number) {
  pp_shared_pool **at, *share;
  pthread_mutex_lock(&lock);
  for (at = &shares; *at && (*at)->number != number;) at = &(*at)->next;
  share = *at;
  if (share) {
    *at = share->next;
    while (share->is_used) pthread_cond_wait(&ended, &lock);
    free(share);
  }
  pthread_mutex_unlock(&lock);
}

uint32_t pp_xla_calls(int32_t number) {
  const pp_shared_pool *share;
  uint32_t calls;
  pthread_mutex_lock(&lock);
  share = find_locked(number);
  calls = share ? share->calls : 0;
  pthread_mutex_unlock(&lock);
  return calls;
}

int pp_xla_enter(int32_t number, void **memory, pp_error *error) {
  pp_shared_pool *share;
  int status = PP_OK;
  pthread_mutex_lock(&lock);
  share = find_locked(number);
  if (!share) {
    status = pp_error_set(error, PP_ERR_CLOSED, "the pool is closed");
  } else if (share->is_used) {
    status = pp_error_set(error, PP_ERR_STATE,
                          "a compiled program is using this pool: wait for its result first");
  } else {
    pp_pool *pool = share->pool;
    share->is_taken = 1;
    pthread_mutex_lock(&pool->lock);
    for (int32_t i = 0; i < pool->ring.capacity; i++) *memory++ = pp_ring_held(&pool->ring, i);
    pthread_mutex_unlock(&pool->lock);
    *memory = share->spare;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

void pp_xla_leave(int32_t number) {
  pp_shared_pool *share;
  pthread_mutex_lock(&lock);
  share = find_locked(number);
  if (share) share->is_taken = 0;
  pthread_mutex_unlock(&lock);
}

static int check_locked(const pp_shared_pool *share, uint32_t calls, bool receives,
                        pp_error *error) {
  if (!share) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "the pool of this handle is closed or dropped, or belongs to another "
                        "process: make a new pool, and call its xla()");
  }
  if (share->is_used || (receives && share->is_taken)) {
    return pp_error_set(error, PP_ERR_STATE,
                        "another call is using this pool: give each call the handle that the one "
                        "before it returned, so that they run one after another");
  }
  if (share->calls != calls) {
    return pp_error_set(error, PP_ERR_STATE,
                        "this handle is of call %u, and the pool is at call %u: a handle is valid "
                        "for one call; take the newest, or a new one from xla()",
                        calls, share->calls);
  }
  return PP_OK;
}

int pp_shared_begin(int32_t number, uint32_t calls, bool receives, pp_shared_pool **out,
                    pp_error *error) {
  int status;
  pthread_mutex_lock(&lock);
  *out = find_locked(number);
  status = check_locked(*out, calls, receives, error);
  if (status >= 0) (*out)->is_used = true;
  pthread_mutex_unlock(&lock);
  return status;
}

void pp_shared_end(pp_shared_pool *share, bool is_done) {
  pthread_mutex_lock(&lock);
  share->calls += is_done;
  share->is_used = false;
  pthread_cond_broadcast(&ended);
  pthread_mutex_unlock(&lock);
}
