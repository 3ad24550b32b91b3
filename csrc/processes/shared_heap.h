/* Shared heap: a heap in a file that the parent of a pool shares with its worker processes. */
#ifndef PP_PROCESSES_SHARED_HEAP_H
#define PP_PROCESSES_SHARED_HEAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* the sizes of small blocks: powers of two from 64 bytes to half a page, which has at most 64 KB */
enum { PP_SHARED_HEAP_CLASSES = 10 };

/* a run of free pages, between blocks or at the end */
typedef struct pp_shared_heap_gap {
  int64_t offset;
  int64_t size;
  bool is_dirty; /* the system did not take the pages back, so they are not zero */
} pp_shared_heap_gap;

/* the free blocks of one size, used as a stack */
typedef struct pp_shared_heap_class {
  int64_t *offsets;
  int64_t count;
  int64_t capacity; /* room in offsets: never less than total */
  int64_t total;    /* blocks of this class, free or not */
} pp_shared_heap_class;

/* One file (os/shared_memory.c), mapped once at a reserved size and grown while it is mapped.
 * Processes refer to its blocks by offset, as each maps the file at an address of its own.
 *
 * Only the parent allocates and frees, from any thread. The records about blocks are in the
 * parent's private memory, so that no worker can damage them. They are guarded by a lock that
 * workers never see. A forked child of the parent shares the blocks and has a copy of the records.
 * It must not allocate (PP_ERR_FORKED) or free (which does nothing there). It must never take the
 * lock, which another thread may have held during the fork.
 *
 * Blocks of up to half a page are cut from a page, which stays with their size class. Larger blocks
 * are whole pages, and their memory goes back to the system while they are free. So a write to a
 * block that was freed takes memory that is not accounted for, and breaks the promise that the next
 * block is zeroed. */
typedef struct pp_shared_heap {
  char *base;      /* address of offset 0 in this process; null: no heap */
  int64_t reserve; /* bytes mapped, the most that the file can grow to */
  int fd;          /* the file; -1 in a worker, which has none of the members below */

  /* the parent's records */
  uint32_t fork_generation;
  pthread_mutex_t lock; /* guards all below */
  int64_t page;
  int64_t first_size; /* bytes of the first block, as rounded up; never changes */
  int64_t size;       /* bytes of the file */
  int64_t used;       /* bytes of allocated blocks, as rounded up */
  pp_shared_heap_gap *gaps;
  int64_t num_gaps;  /* ordered by offset; no two touch */
  int64_t max_gaps;  /* room for one gap beside each run of pages, so that freeing never fails */
  int64_t num_spans; /* allocated runs of pages */
  pp_shared_heap_class classes[PP_SHARED_HEAP_CLASSES];
} pp_shared_heap;

/* Creates the file with its first block, of first_size bytes, zeroed and at offset 0, where it
 * stays. reserve: the most bytes that the file may have; 0: pp_shared_heap_max_reserve. Where the
 * system refuses to map that much, half of it is tried, and so on. Returns PP_OK, PP_ERR_ARGUMENT,
 * PP_ERR_MEMORY or PP_ERR_SYSTEM; after an error there is no heap, and pp_shared_heap_fini does
 * nothing. */
int pp_shared_heap_init(pp_shared_heap *heap, int64_t first_size, int64_t reserve);

/* Returns the bytes of memory that this machine has, but at least 64 MB. A reserve of 0 means this
 * size. */
int64_t pp_shared_heap_max_reserve(void);

/* For a worker: maps the parent's file, with the parent's heap->reserve. The descriptor stays the
 * caller's and may be closed at once. Returns PP_OK, or PP_ERR_MEMORY if the system refuses. */
int pp_shared_heap_attach(pp_shared_heap *heap, int fd, int64_t reserve);

/* Unmaps the file and, in the parent, closes it and frees the records. The shared heap must not be
 * used after that. */
void pp_shared_heap_fini(pp_shared_heap *heap);

/* Returns the offset of a new block, which is never 0 and aligned to 64 bytes. Blocks of a page or
 * more are aligned to pages and zeroed. Returns PP_ERR_MEMORY or PP_ERR_SYSTEM (nothing has
 * changed), PP_ERR_ARGUMENT (size < 1), PP_ERR_STATE (in a worker) or PP_ERR_FORKED. */
int64_t pp_shared_heap_alloc(pp_shared_heap *heap, int64_t size);

/* Frees a block, given the size that it was allocated with. Any thread may call it, and it can't
 * fail. */
void pp_shared_heap_free(pp_shared_heap *heap, int64_t offset, int64_t size);

/* Returns whether these bytes lie inside the file, after its first block, and begin where a block
 * can. For the parent. */
bool pp_shared_heap_contains(pp_shared_heap *heap, int64_t offset, int64_t size);

/* Returns the address of a block in this process. */
void *pp_shared_heap_at(const pp_shared_heap *heap, int64_t offset);

#endif
