/* Block: the memory of one batch. It outlives the pool if the user keeps its arrays. */
#ifndef PP_POOL_BLOCK_H
#define PP_POOL_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Frees a block if it lies in shared memory. Returns whether it did. */
typedef bool pp_block_owner(void *memory, int64_t size);

/* Sets the function that pp_batch_free calls before it frees private pages. There is one in the
 * process, and it is never removed. */
void pp_block_set_owner(pp_block_owner *owner);

#endif
