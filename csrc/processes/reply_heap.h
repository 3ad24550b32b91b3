/* Reply heap: a heap in the file in which a worker stores bytes for the parent. */
#ifndef PP_PROCESSES_REPLY_HEAP_H
#define PP_PROCESSES_REPLY_HEAP_H

#include <stdint.h>

enum {
  PP_REPLY_HEAP_CLASSES = 48,
  PP_REPLY_HEAP_RESERVE = 1 << 30 /* most bytes of address space for one file */
};

/* The worker's side; the parent only reads the file. Block sizes are powers of two. The free blocks
 * of a size are a linked list whose links are their first bytes, so nothing else is recorded about
 * them. */
typedef struct pp_reply_heap {
  int32_t fd;
  char *base;
  int64_t reserve; /* bytes mapped, whatever the size of the file */
  int64_t size;    /* bytes of the file */
  int64_t end;     /* end of all blocks that were ever allocated */
  /* the range that holds replies of a former worker, which the parent may still read */
  int64_t unread, unread_end;
  /* offset + 1 of the first free block of each class, 0: none */
  int64_t free[PP_REPLY_HEAP_CLASSES];
} pp_reply_heap;

/* Maps the file. The bytes from unread to unread_end are never allocated. Returns PP_OK,
 * PP_ERR_ARGUMENT if fd is not a file for replies, or PP_ERR_MEMORY. */
int pp_reply_heap_init(pp_reply_heap *heap, int32_t fd, int64_t reserve, int64_t unread,
                       int64_t unread_end);
void pp_reply_heap_fini(pp_reply_heap *heap);

/* Forgets all blocks after another process has used the file; the bytes from unread to unread_end
 * are never allocated. Returns what pp_reply_heap_init returns. */
int pp_reply_heap_resume(pp_reply_heap *heap, int64_t unread, int64_t unread_end);

/* Returns the bytes of the block that pp_reply_heap_alloc gives for this size. */
int64_t pp_reply_heap_block_size(int64_t size);

/* Returns the offset of a new block, or a negative status. */
int64_t pp_reply_heap_alloc(pp_reply_heap *heap, int64_t size);
void pp_reply_heap_free(pp_reply_heap *heap, int64_t offset, int64_t size);

#endif
