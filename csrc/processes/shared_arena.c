/* Holding: an arena that lives until its pool and all batches that lie in it are done with. */
#include "shared_arena.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "os/os.h"
#include "pp_pool.h"

/* Found by address, as whoever frees a batch has nothing else. */
typedef struct holding {
  pp_arena arena;
  int64_t users; /* the pool, and each block that is out */
  struct holding *next;
} holding;

static pthread_mutex_t holdings_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t forget_once = PTHREAD_ONCE_INIT;
static holding *holdings;            /* guarded by the lock */
static _Atomic int32_t num_holdings; /* relaxed: zero while nobody can have such a block */

/* A forked child has no business with them: what it frees is only its own view of a block. And the
 * lock may have been another thread's. */
static void forget_holdings(void) {
  pthread_mutex_init(&holdings_lock, NULL);
  holdings = NULL;
  atomic_store_explicit(&num_holdings, 0, memory_order_relaxed);
}

static void register_forget(void) {
  pthread_atfork(NULL, NULL, forget_holdings);
}

pp_arena *pp_shared_arena_create(int64_t first_size, int64_t reserve, int *status) {
  holding *it = calloc(1, sizeof(*it));
  pthread_once(&forget_once, register_forget);
  *status = it ? pp_arena_init(&it->arena, first_size, reserve) : PP_ERR_MEMORY;
  if (*status < 0) {
    free(it);
    return NULL;
  }
  it->users = 1;
  pthread_mutex_lock(&holdings_lock);
  it->next = holdings;
  holdings = it;
  atomic_fetch_add_explicit(&num_holdings, 1, memory_order_relaxed);
  pthread_mutex_unlock(&holdings_lock);
  return &it->arena;
}

static void let_go_locked(holding *it) {
  holding **link = &holdings;
  if (--it->users) return;
  while (*link != it) link = &(*link)->next;
  *link = it->next;
  atomic_fetch_sub_explicit(&num_holdings, 1, memory_order_relaxed);
  pp_arena_fini(&it->arena);
  free(it);
}

void pp_shared_arena_release(pp_arena *arena) {
  pthread_mutex_lock(&holdings_lock);
  let_go_locked((holding *)arena);
  pthread_mutex_unlock(&holdings_lock);
}

void *pp_shared_arena_alloc(pp_arena *arena, int64_t size) {
  int64_t offset = pp_arena_alloc(arena, size);
  if (offset < 0) return NULL;
  pthread_mutex_lock(&holdings_lock);
  ((holding *)arena)->users++;
  pthread_mutex_unlock(&holdings_lock);
  return pp_arena_at(arena, offset);
}

/* 1: the block was in one of the arenas, and is free */
static int give_back(void *memory, int64_t size) {
  holding *it;
  if (!atomic_load_explicit(&num_holdings, memory_order_relaxed)) return 0;
  pthread_mutex_lock(&holdings_lock);
  for (it = holdings; it; it = it->next) {
    int64_t offset = (char *)memory - it->arena.base;
    if (offset < 0 || offset >= it->arena.reserve) continue;
    pp_arena_free(&it->arena, offset, size);
    let_go_locked(it);
    break;
  }
  pthread_mutex_unlock(&holdings_lock);
  return it != NULL;
}

void pp_batch_free(void *memory, int64_t size) {
  if (!give_back(memory, size)) pp_os_pages_free(memory, (size_t)size);
}
