/* Shared arena: an arena that lives until its pool and all of its blocks are released. */
#ifndef PP_PROCESSES_SHARED_ARENA_H
#define PP_PROCESSES_SHARED_ARENA_H

#include "arena.h"

/* Creates an arena whose first block has first_size bytes, with a reserve as for pp_arena_init.
 * Returns null and sets status after an error. */
pp_arena *pp_shared_arena_create(int64_t first_size, int64_t reserve, int *status);

/* Drops the pool's reference. */
void pp_shared_arena_release(pp_arena *arena);

/* Returns a block for a batch, or null if there is no memory. pp_batch_free frees it. */
void *pp_shared_arena_alloc(pp_arena *arena, int64_t size);

#endif
