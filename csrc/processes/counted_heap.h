/* Counted heap: a shared heap that lives until its pool and all of its blocks are released. */
#ifndef PP_PROCESSES_COUNTED_HEAP_H
#define PP_PROCESSES_COUNTED_HEAP_H

#include "shared_heap.h"

/* Creates a shared heap whose first block has first_size bytes, with a reserve as for
 * pp_shared_heap_init. Returns null and sets status after an error. */
pp_shared_heap *pp_counted_heap_create(int64_t first_size, int64_t reserve, int *status);

/* Drops the pool's reference. */
void pp_counted_heap_release(pp_shared_heap *heap);

/* Returns a block for a batch, or null if there is no memory. pp_batch_free frees it. */
void *pp_counted_heap_alloc(pp_shared_heap *heap, int64_t size);

#endif
