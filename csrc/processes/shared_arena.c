/* Shared arena: an arena that lives until its pool and all of its blocks are released. */
#include "shared_arena.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "os/os.h"
#include "pool/block.h"

/* an arena and its users; kept in a list and found by the address of a block, as pp_batch_free gets
 * nothing else */
typedef struct shared_arena {
  pp_arena arena;
  int64_t num_users; /* the pool, and each allocated block; guarded by the lock */
  struct shared_arena *next;
} shared_arena;

static pthread_mutex_t arenas_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t forget_once = PTHREAD_ONCE_INIT;
static shared_arena *arenas; /* guarded by the lock */
/* Relaxed: a thread that has a block got it after its arena was counted. */
static _Atomic int32_t num_arenas;

/* Empties the list in a forked child, which must not free blocks of its parent: its copy of the
 * mapping is all that it could release. The lock is made anew, as another thread of the parent may
 * have held it. */
static void forget_arenas(void) {
  pthread_mutex_init(&arenas_lock, NULL);
  arenas = NULL;
  atomic_store_explicit(&num_arenas, 0, memory_order_relaxed);
}

static void register_forget(void) {
  pthread_atfork(NULL, NULL, forget_arenas);
}

static bool free_block(void *memory, int64_t size);

pp_arena *pp_shared_arena_create(int64_t first_size, int64_t reserve, int *status) {
  shared_arena *it = calloc(1, sizeof(*it));
  pthread_once(&forget_once, register_forget);
  pp_block_set_owner(free_block);
  *status = it ? pp_arena_init(&it->arena, first_size, reserve) : PP_ERR_MEMORY;
  if (*status < 0) {
    free(it);
    return NULL;
  }
  it->num_users = 1;
  pthread_mutex_lock(&arenas_lock);
  it->next = arenas;
  arenas = it;
  atomic_fetch_add_explicit(&num_arenas, 1, memory_order_relaxed);
  pthread_mutex_unlock(&arenas_lock);
  return &it->arena;
}

static void release_locked(shared_arena *it) {
  shared_arena **link = &arenas;
  if (--it->num_users) return;
  while (*link != it) link = &(*link)->next;
  *link = it->next;
  atomic_fetch_sub_explicit(&num_arenas, 1, memory_order_relaxed);
  pp_arena_fini(&it->arena);
  free(it);
}

void pp_shared_arena_release(pp_arena *arena) {
  pthread_mutex_lock(&arenas_lock);
  release_locked((shared_arena *)arena);
  pthread_mutex_unlock(&arenas_lock);
}

void *pp_shared_arena_alloc(pp_arena *arena, int64_t size) {
  int64_t offset = pp_arena_alloc(arena, size);
  if (offset < 0) return NULL;
  pthread_mutex_lock(&arenas_lock);
  ((shared_arena *)arena)->num_users++;
  pthread_mutex_unlock(&arenas_lock);
  return pp_arena_at(arena, offset);
}

/* Frees a block if it lies in one of the arenas, and returns whether it does. */
static bool free_block(void *memory, int64_t size) {
  shared_arena *it;
  // without arenas, which is the common case, no lock is taken
  if (!atomic_load_explicit(&num_arenas, memory_order_relaxed)) return false;
  pthread_mutex_lock(&arenas_lock);
  for (it = arenas; it; it = it->next) {
    int64_t offset = (char *)memory - it->arena.base;
    if (offset < 0 || offset >= it->arena.reserve) continue;
    pp_arena_free(&it->arena, offset, size);
    release_locked(it);
    break;
  }
  pthread_mutex_unlock(&arenas_lock);
  return it != NULL;
}
