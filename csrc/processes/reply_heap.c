/* Reply heap: a heap in the file in which a worker stores bytes for the parent. */
#include "reply_heap.h"

#include <string.h>

#include "os/os.h"
#include "pp_env.h"

enum { SMALLEST = 8 }; /* class of the smallest blocks: 256 bytes */

static int32_t class_of(int64_t size) {
  int32_t class = SMALLEST;
  while ((int64_t)1 << class < size) class++;
  return class;
}

int64_t pp_reply_heap_block_size(int64_t size) {
  return (int64_t)1 << class_of(size);
}

int pp_reply_heap_resume(pp_reply_heap *heap, int64_t unread, int64_t unread_end) {
  heap->end = 0;
  memset(heap->free, 0, sizeof(heap->free));
  heap->unread = unread;
  heap->unread_end = unread_end;
  heap->size = pp_os_shared_size(heap->fd);
  if (heap->size < 0) return PP_ERR_ARGUMENT;
  // part of the file may have no memory, if another process failed to grow it
  if (heap->size && pp_os_shared_allocate(heap->fd, 0, heap->size) < 0) return PP_ERR_MEMORY;
  return PP_OK;
}

int pp_reply_heap_init(pp_reply_heap *heap, int32_t fd, int64_t reserve, int64_t unread,
                       int64_t unread_end) {
  int status;
  memset(heap, 0, sizeof(*heap));
  heap->fd = fd;
  heap->reserve = reserve;
  status = pp_reply_heap_resume(heap, unread, unread_end);
  if (status < 0) return status;
  heap->base = pp_os_shared_map(fd, reserve);
  return heap->base ? PP_OK : PP_ERR_MEMORY;
}

void pp_reply_heap_fini(pp_reply_heap *heap) {
  pp_os_shared_unmap(heap->base, heap->reserve);
  heap->base = NULL;
}

/* Grows the file to at least needed bytes, and by at least half of its size, so that it grows
 * rarely. */
static int grow(pp_reply_heap *heap, int64_t needed) {
  int64_t size = heap->size + heap->size / 2, page = 1 << 16;
  int status;
  if (size < needed) size = needed;
  size = (size + page - 1) / page * page;
  if (needed > heap->reserve) return PP_ERR_MEMORY;
  if (size > heap->reserve) size = heap->reserve;
  status = pp_os_shared_grow(heap->fd, heap->size, size);
  if (status >= 0) heap->size = size;
  return status;
}

int64_t pp_reply_heap_alloc(pp_reply_heap *heap, int64_t size) {
  int32_t class = class_of(size);
  int64_t offset, block = (int64_t)1 << class;

  if (class >= PP_REPLY_HEAP_CLASSES) return PP_ERR_MEMORY;
  offset = heap->free[class] - 1;
  if (offset >= 0) {
    memcpy(&heap->free[class], heap->base + offset, sizeof(int64_t));
    return offset;
  }
  offset = heap->end;
  if (offset < heap->unread_end && offset + block > heap->unread) offset = heap->unread_end;
  if (offset + block > heap->size) {
    int status = grow(heap, offset + block);
    if (status < 0) return status;
  }
  heap->end = offset + block;
  return offset;
}

void pp_reply_heap_free(pp_reply_heap *heap, int64_t offset, int64_t size) {
  int32_t class = class_of(size);
  memcpy(heap->base + offset, &heap->free[class], sizeof(int64_t));
  heap->free[class] = offset + 1;
}
