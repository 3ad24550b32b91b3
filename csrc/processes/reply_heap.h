/* Reply heap: the memory of a reply file, in which a worker leaves bytes for its parent. */
#ifndef PP_PROCESSES_REPLY_HEAP_H
#define PP_PROCESSES_REPLY_HEAP_H

#include <stdint.h>

enum {
  PP_REPLY_HEAP_CLASSES = 48,
  PP_REPLY_HEAP_RESERVE = 1 << 30 /* bytes of address space for each: more is refused */
};

/* For the worker; the parent only reads. Sizes of blocks are powers of two, and free blocks are
 * linked by their first bytes, so there are no other records of them */
typedef struct pp_reply_heap {
  int32_t fd;
  char *base;
  int64_t reserve;        /* bytes mapped, whatever the file has */
  int64_t size;           /* of the file */
  int64_t end;            /* of what was ever given out */
  int64_t left, left_end; /* what another worker left here */
  int64_t
      free[PP_REPLY_HEAP_CLASSES]; /* offset + 1 of the first free room of each class, 0: none */
} pp_reply_heap;

/* opens the file; what lies from left to left_end is not given out */
int pp_reply_heap_init(pp_reply_heap *heap, int32_t fd, int64_t reserve, int64_t left,
                       int64_t left_end);
void pp_reply_heap_fini(pp_reply_heap *heap);

/* bytes of the room that something of this size gets */
int64_t pp_reply_heap_block_size(int64_t size);

/* the offset of a room, or a negative status */
int64_t pp_reply_heap_alloc(pp_reply_heap *heap, int64_t size);
void pp_reply_heap_free(pp_reply_heap *heap, int64_t offset, int64_t size);

#endif
