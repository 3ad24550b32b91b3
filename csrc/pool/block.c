/* Block: the memory of one batch. It outlives the pool if the user keeps its arrays. */
#include "block.h"

#include <stdatomic.h>

#include "os/os.h"
#include "pp_pool.h"

/* Set once, before the first shared block is handed out. Relaxed: a thread that frees a shared
 * block got it after that, and others need not see it. */
static pp_block_owner *_Atomic shared_owner;

void pp_block_set_owner(pp_block_owner *owner) {
  atomic_store_explicit(&shared_owner, owner, memory_order_relaxed);
}

void pp_batch_free(void *memory, int64_t size) {
  pp_block_owner *owner = atomic_load_explicit(&shared_owner, memory_order_relaxed);
  if (!owner || !owner(memory, size)) pp_os_pages_free(memory, (size_t)size);
}
