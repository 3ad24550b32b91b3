/* Counted heap: a shared heap that lives until its pool and all of its blocks are released. */
#include "counted_heap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "os/os.h"
#include "pool/block.h"

/* a shared heap and its users; kept in a list and found by the address of a block, as pp_batch_free
 * gets nothing else */
typedef struct counted_heap {
  pp_shared_heap heap;
  int64_t num_users; /* the pool, and each allocated block; guarded by the lock */
  struct counted_heap *next;
} counted_heap;

static pthread_mutex_t heaps_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t forget_once = PTHREAD_ONCE_INIT;
static counted_heap *heaps; /* guarded by the lock */
/* Relaxed: a thread that frees a block of a heap received the block after the heap was counted. */
static _Atomic int32_t num_heaps;

/* Empties the list in a forked child, which must not free blocks of its parent: its copy of the
 * mapping is all that it could release. The lock is made anew, as another thread of the parent may
 * have held it. */
static void forget_heaps(void) {
  pthread_mutex_init(&heaps_lock, NULL);
  heaps = NULL;
  atomic_store_explicit(&num_heaps, 0, memory_order_relaxed);
}

static void register_forget(void) {
  pthread_atfork(NULL, NULL, forget_heaps);
}

static bool free_block(void *memory, int64_t size);

pp_shared_heap *pp_counted_heap_create(int64_t first_size, int64_t reserve, int *status) {
  counted_heap *it = calloc(1, sizeof(*it));
  pthread_once(&forget_once, register_forget);
  pp_block_set_owner(free_block);
  *status = it ? pp_shared_heap_init(&it->heap, first_size, reserve) : PP_ERR_MEMORY;
  if (*status < 0) {
    free(it);
    return NULL;
  }
  it->num_users = 1;
  pthread_mutex_lock(&heaps_lock);
  it->next = heaps;
  heaps = it;
  atomic_fetch_add_explicit(&num_heaps, 1, memory_order_relaxed);
  pthread_mutex_unlock(&heaps_lock);
  return &it->heap;
}

static void release_locked(counted_heap *it) {
  counted_heap **link = &heaps;
  if (--it->num_users) return;
  while (*link != it) link = &(*link)->next;
  *link = it->next;
  atomic_fetch_sub_explicit(&num_heaps, 1, memory_order_relaxed);
  pp_shared_heap_fini(&it->heap);
  free(it);
}

void pp_counted_heap_release(pp_shared_heap *heap) {
  pthread_mutex_lock(&heaps_lock);
  release_locked((counted_heap *)heap);
  pthread_mutex_unlock(&heaps_lock);
}

void *pp_counted_heap_alloc(pp_shared_heap *heap, int64_t size) {
  int64_t offset = pp_shared_heap_alloc(heap, size);
  if (offset < 0) return NULL;
  pthread_mutex_lock(&heaps_lock);
  ((counted_heap *)heap)->num_users++;
  pthread_mutex_unlock(&heaps_lock);
  return pp_shared_heap_at(heap, offset);
}

/* Frees a block if it lies in one of the heaps, and returns whether it does. */
static bool free_block(void *memory, int64_t size) {
  counted_heap *it;
  // without heaps, which is the common case, no lock is taken
  if (!atomic_load_explicit(&num_heaps, memory_order_relaxed)) return false;
  pthread_mutex_lock(&heaps_lock);
  for (it = heaps; it; it = it->next) {
    int64_t offset = (char *)memory - it->heap.base;
    if (offset < 0 || offset >= it->heap.reserve) continue;
    pp_shared_heap_free(&it->heap, offset, size);
    release_locked(it);
    break;
  }
  pthread_mutex_unlock(&heaps_lock);
  return it != NULL;
}
