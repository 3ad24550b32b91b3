/* Arena: memory that a parent process shares with its worker processes, and allocates in blocks. */
#ifndef PP_PROCESSES_ARENA_H
#define PP_PROCESSES_ARENA_H

#include <pthread.h>
#include <stdint.h>

/* powers of two from 64 bytes to half a page, of 64 KB at most */
enum { PP_ARENA_CLASSES = 10 };

/* a run of free pages, between blocks or at the end */
typedef struct pp_arena_gap {
  int64_t offset;
  int64_t size;
  int32_t is_dirty; /* the system did not take the pages back: they are not zero */
} pp_arena_gap;

/* free blocks of one size, the last one freed on top */
typedef struct pp_arena_class {
  int64_t *offsets;
  int64_t count;
  int64_t capacity; /* of offsets: never less than all blocks of this class, free or not */
  int64_t total;    /* blocks of this class, free or not */
} pp_arena_class;

/* One file (os/shared_memory.c), mapped once at a reserved size and grown while it is mapped.
 * Processes map it at different addresses, so they name blocks by offset.
 *
 * Only the parent allocates and frees, from any thread. A lock guards the records, which are in the
 * parent's private memory, so that no worker can overwrite them. A forked child of the parent
 * shares the blocks and has a copy of the records: it can't allocate (PP_ERR_FORKED) nor free
 * (which does nothing there), and never takes the lock, which another thread may have held.
 *
 * Blocks of up to half a page are cut from pages that stay reserved for their size. Larger blocks
 * are whole pages, whose memory goes back to the system when they are freed: a write to a freed
 * block takes memory that is not counted, and the next block there is not zero. */
typedef struct pp_arena {
  char *base;      /* where offset 0 is in this process; null: no arena */
  int64_t reserve; /* bytes mapped, the most that the file can grow to */
  int fd;          /* the file; -1 in a worker, which has no books */

  /* the parent's records */
  uint32_t fork_generation;
  pthread_mutex_t lock; /* guards all below */
  int64_t page;
  int64_t size; /* of the file */
  int64_t used; /* bytes of allocated blocks, rounded up */
  pp_arena_gap *gaps;
  int64_t num_gaps;  /* ordered by offset; no two touch */
  int64_t max_gaps;  /* room for one gap beside each run of pages, so that freeing never fails */
  int64_t num_spans; /* runs of pages that are taken */
  pp_arena_class classes[PP_ARENA_CLASSES];
} pp_arena;

/* Makes the file with its first block of first_size bytes, zeroed and at offset 0, where it stays.
 * reserve: the most bytes it may have, 0 for the memory of the machine; where the system does not
 * map that much, half of it is asked for, and so on. PP_ERR_ARGUMENT, PP_ERR_MEMORY, PP_ERR_SYSTEM:
 * there is no arena, and pp_arena_fini does nothing */
int pp_arena_init(pp_arena *arena, int64_t first_size, int64_t reserve);

/* the machine's memory in bytes, as far as it is known: what a reserve of 0 means */
int64_t pp_arena_max_reserve(void);

/* for a worker: maps the parent's file, with the parent's arena->reserve. The descriptor stays the
 * caller's and may be closed at once. PP_ERR_MEMORY when refused */
int pp_arena_attach(pp_arena *arena, int fd, int64_t reserve);

/* unmaps the file; in the parent it also frees file and records */
void pp_arena_fini(pp_arena *arena);

/* a block's offset, never 0: aligned to 64 bytes; from a page on to pages, and zeroed. Or
 * PP_ERR_MEMORY, PP_ERR_SYSTEM (all is as it was), PP_ERR_ARGUMENT (no size), PP_ERR_STATE (in a
 * worker), PP_ERR_FORKED */
int64_t pp_arena_alloc(pp_arena *arena, int64_t size);

/* gives a block back, of the size it was asked for; may be called by any thread, and can't fail */
void pp_arena_free(pp_arena *arena, int64_t offset, int64_t size);

/* 1: these bytes lie in blocks after the first, and begin where a block can; for the parent */
int pp_arena_contains(pp_arena *arena, int64_t offset, int64_t size);

/* where a block is in this process */
void *pp_arena_at(const pp_arena *arena, int64_t offset);

#endif
