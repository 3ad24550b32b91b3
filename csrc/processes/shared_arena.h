/* Shared arena: an arena that lives as long as its pool or any block in it. */
#ifndef PP_PROCESSES_SHARED_ARENA_H
#define PP_PROCESSES_SHARED_ARENA_H

#include "arena.h"

/* an arena whose first block has so many bytes, with a reserve as for pp_arena_init; null: status
 * says why */
pp_arena *pp_shared_arena_create(int64_t first_size, int64_t reserve, int *status);

/* the pool needs it no longer */
void pp_shared_arena_release(pp_arena *arena);

/* a block for a batch, null: no memory. pp_batch_free gives it back */
void *pp_shared_arena_alloc(pp_arena *arena, int64_t size);

#endif
