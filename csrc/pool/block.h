/* Block: the memory of one batch, which outlives the pool if the caller keeps its arrays. */
#ifndef PP_POOL_BLOCK_H
#define PP_POOL_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Frees a block that lies in shared memory. Returns whether this one did. */
typedef bool pp_block_owner(void *memory, int64_t size);

/* Names the owner of shared blocks, whom pp_batch_free asks before it frees pages. There is one in
 * the process, and it stays. */
void pp_block_set_owner(pp_block_owner *owner);

#endif
