/* Shared pools: the table of the pools that programs may use, and the end of their calls. */
#include "shared_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "os/os.h"
#include "pool/error.h"
#include "pool/gate.h"
#include "pool/pool.h"

/* Guards the list of shares, their members and the two numbers below. While a share is used or
 * taken, its spare and is_late belong to its user instead. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* where threads wait for a call to end; what they wait for is read and written under the lock */
static pp_gate ended;
static pp_shared_pool *shares;
static int32_t last_number;
static int32_t last_inherited; /* numbers up to this one are of the parent process's pools */

/* in a forked child, whose pools are its parent's: a thread of the parent may have held the lock */
static void forget(void) {
  pthread_mutex_init(&lock, NULL);
  pp_gate_init(&ended, false);
  shares = NULL;
  last_inherited = last_number;
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

/* the same for those who begin to use it */
static pp_shared_pool *find_open_locked(int32_t number) {
  pp_shared_pool *share = find_locked(number);
  return share && share->is_ending ? NULL : share;
}

int pp_xla_share(pp_pool *pool, void *spare, int32_t *number, pp_error *error) {
  int status = pp_pool_check(pool, error);
  pp_shared_pool *share;

  if (status >= 0 && !pool->ops.natives(pool, error)) status = PP_ERR_STATE;
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

/* removes a share that no call uses; returns whether there is none of this number (any more) */
static bool remove_share(int32_t number) {
  pp_shared_pool **at, *share;
  bool is_removed;
  pthread_mutex_lock(&lock);
  for (at = &shares; *at && (*at)->number != number;) at = &(*at)->next;
  share = *at;
  is_removed = !share || !share->is_used;
  if (share) share->is_ending = true;
  if (share && is_removed) {
    *at = share->next;
    free(share);
  }
  pthread_mutex_unlock(&lock);
  return is_removed;
}

int pp_xla_unshare(int32_t number, int64_t timeout) {
  int64_t now = pp_os_now(), end = timeout > INT64_MAX - now ? INT64_MAX : now + timeout;
  while (!remove_share(number)) {
    int64_t left = timeout < 0 ? -1 : end - pp_os_now();
    uint32_t epoch;
    bool is_removed;
    if (!left || (left < 0 && timeout >= 0)) return PP_AGAIN;
    epoch = pp_gate_enter(&ended);
    is_removed = remove_share(number);
    if (!is_removed) pp_gate_sleep(&ended, epoch, left);
    pp_gate_leave(&ended);
    if (is_removed) break;
  }
  return PP_OK;
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
  share = find_open_locked(number);
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

static int refuse_missing_locked(int32_t number, pp_error *error) {
  if (number < 1 || number > last_number) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "this handle is of no pool of this process: give the one from xla(), or "
                        "that the call before returned");
  }
  if (number <= last_inherited) {
    return pp_error_set(error, PP_ERR_FORKED,
                        "this pool belongs to the parent process: make a new one after fork, and "
                        "take its functions");
  }
  return pp_error_set(error, PP_ERR_CLOSED,
                      "the pool is closed, or was dropped, which closes it: make a new one, and "
                      "take its functions");
}

static int check_locked(const pp_shared_pool *share, uint32_t calls, bool receives,
                        pp_error *error) {
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
  *out = find_open_locked(number);
  status = *out ? check_locked(*out, calls, receives, error) : refuse_missing_locked(number, error);
  if (status >= 0) (*out)->is_used = true;
  pthread_mutex_unlock(&lock);
  return status;
}

/* Makes the caller the only user of a share. Returns PP_AGAIN if there is one already. */
static int try_to_use(int32_t number, pp_shared_pool **out, pp_error *error) {
  pp_shared_pool *share;
  int status = PP_OK;
  pthread_mutex_lock(&lock);
  share = find_open_locked(number);
  if (!share) {
    status = refuse_missing_locked(number, error);
  } else if (share->is_used) {
    status = PP_AGAIN;
  } else {
    share->is_used = true;
    *out = share;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

int pp_shared_wait(int32_t number, const pp_limit *limit, pp_shared_pool **out, pp_error *error) {
  enum { SLICE_NS = 100000000 };
  int status = try_to_use(number, out, error);
  while (status == PP_AGAIN) {
    int64_t left = pp_limit_left(limit);
    uint32_t epoch;
    if (!left) {
      return pp_error_set(error, PP_ERR_TIMEOUT,
                          "no turn within %.9g s: another call of a compiled program is using this "
                          "pool",
                          (double)limit->timeout / 1e9);
    }
    epoch = pp_gate_enter(&ended);
    status = try_to_use(number, out, error);
    if (status == PP_AGAIN) {
      pp_gate_sleep(&ended, epoch, left < 0 || left > SLICE_NS ? SLICE_NS : left);
    }
    pp_gate_leave(&ended);
    // the process may be ending
    pp_shared_park();
  }
  return status;
}

void pp_shared_end(pp_shared_pool *share, bool is_done) {
  pthread_mutex_lock(&lock);
  share->calls += is_done;
  share->is_used = false;
  pthread_mutex_unlock(&lock);
  // a thread that waits for the end may have freed the share
  pp_gate_wake(&ended, INT32_MAX);
}

/* ---------------------------------------------------------------------------------- parking -- */

enum { PARKED_S = 600 };

static _Atomic uint32_t parked; /* never changes: sleepers wait for a change */
static pthread_t ending_thread; /* written before is_ending */
/* Set by the thread that ends the process, release; read by calls, acquire. */
static _Atomic bool is_ending;

void pp_xla_park(void) {
  ending_thread = pthread_self();
  atomic_store_explicit(&is_ending, true, memory_order_release);
}

void pp_shared_park(void) {
  int64_t end, left;
  if (!atomic_load_explicit(&is_ending, memory_order_acquire)) return;
  if (pthread_equal(pthread_self(), ending_thread)) return;
  end = pp_os_now() + PARKED_S * INT64_C(1000000000);
  while ((left = end - pp_os_now()) > 0) pp_os_wait(&parked, 0, left);
}
