/* Spill: memory in which a worker leaves bytes for the creator, as much as it needs. */
#include "spill.h"

#include <string.h>

#include "../include/pp_env.h"
#include "os.h"

enum { SMALLEST = 8 }; /* class of the smallest rooms: 256 bytes */

static int32_t class_of(int64_t size) {
  int32_t class = SMALLEST;
  while ((int64_t)1 << class < size) class++;
  return class;
}

int64_t pp_spill_room(int64_t size) {
  return (int64_t)1 << class_of(size);
}

int pp_spill_init(pp_spill *spill, int32_t fd, int64_t reserve, int64_t left, int64_t left_end) {
  memset(spill, 0, sizeof(*spill));
  spill->fd = fd;
  spill->reserve = reserve;
  spill->left = left;
  spill->left_end = left_end;
  spill->size = pp_os_shared_size(fd);
  if (spill->size < 0) return PP_ERR_ARGUMENT;
  // a growth that failed may have left a part without memory
  if (spill->size && pp_os_shared_back(fd, 0, spill->size) < 0) return PP_ERR_MEMORY;
  spill->base = pp_os_shared_map(fd, reserve);
  return spill->base ? PP_OK : PP_ERR_MEMORY;
}

void pp_spill_fini(pp_spill *spill) {
  pp_os_shared_unmap(spill->base, spill->reserve);
  spill->base = NULL;
}

/* the file grows by half at least, so that it seldom does */
static int grow(pp_spill *spill, int64_t needed) {
  int64_t size = spill->size + spill->size / 2, page = 1 << 16;
  int status;
  if (size < needed) size = needed;
  size = (size + page - 1) / page * page;
  if (needed > spill->reserve) return PP_ERR_MEMORY;
  if (size > spill->reserve) size = spill->reserve;
  status = pp_os_shared_grow(spill->fd, spill->size, size);
  if (status >= 0) spill->size = size;
  return status;
}

int64_t pp_spill_take(pp_spill *spill, int64_t size) {
  int32_t class = class_of(size);
  int64_t offset, room = (int64_t)1 << class;

  if (class >= PP_SPILL_CLASSES) return PP_ERR_MEMORY;
  offset = spill->free[class] - 1;
  if (offset >= 0) {
    memcpy(&spill->free[class], spill->base + offset, sizeof(int64_t));
    return offset;
  }
  offset = spill->end;
  if (offset < spill->left_end && offset + room > spill->left) offset = spill->left_end;
  if (offset + room > spill->size) {
    int status = grow(spill, offset + room);
    if (status < 0) return status;
  }
  spill->end = offset + room;
  return offset;
}

void pp_spill_give(pp_spill *spill, int64_t offset, int64_t size) {
  int32_t class = class_of(size);
  memcpy(spill->base + offset, &spill->free[class], sizeof(int64_t));
  spill->free[class] = offset + 1;
}
