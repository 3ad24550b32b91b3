/* Shared heap: a heap in a file that the parent of a pool shares with its worker processes. */
#include "shared_heap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"
#include "pp_env.h"

enum { SMALLEST = 64 }; /* bytes */

static const int64_t MIN_RESERVE = INT64_C(64) << 20;

static int64_t round_up(int64_t size, int64_t unit) {
  return (size + unit - 1) / unit * unit;
}

/* --------------------------------------------------------------------------- init and fini -- */

int64_t pp_shared_heap_max_reserve(void) {
  int64_t pages = -1, page = sysconf(_SC_PAGESIZE);
#ifdef _SC_PHYS_PAGES
  pages = sysconf(_SC_PHYS_PAGES);
#endif
  return pages > MIN_RESERVE / page ? pages * page : MIN_RESERVE;
}

/* Maps wanted bytes of the file. If the system refuses it tries half of that, and so on, but never
 * less than the size of the file. */
static int map_file(pp_shared_heap *heap, int64_t wanted) {
  int64_t reserve = wanted < heap->size ? heap->size : wanted / heap->page * heap->page;
  while (!(heap->base = pp_os_shared_map(heap->fd, reserve))) {
    if (reserve <= heap->size) return PP_ERR_MEMORY;
    reserve = reserve / 2 / heap->page * heap->page;
    if (reserve < heap->size) reserve = heap->size;
  }
  heap->reserve = reserve;
  return PP_OK;
}

int pp_shared_heap_init(pp_shared_heap *heap, int64_t first_size, int64_t reserve) {
  int64_t page = sysconf(_SC_PAGESIZE);
  memset(heap, 0, sizeof(*heap));
  heap->fd = -1;
  if (first_size < 1 || first_size > INT64_MAX - page || reserve < 0) return PP_ERR_ARGUMENT;

  heap->page = page;
  heap->fork_generation = pp_os_fork_generation();
  heap->first_size = heap->size = heap->used = round_up(first_size, page);
  heap->num_spans = 1;
  heap->fd = pp_os_shared_create(heap->size, "parallel_pool");
  if (heap->fd < 0) return heap->fd;
  int status = map_file(heap, reserve ? reserve : pp_shared_heap_max_reserve());
  if (status != PP_OK) {
    close(heap->fd);
    heap->fd = -1;
    return status;
  }
  pthread_mutex_init(&heap->lock, NULL);
  return PP_OK;
}

int pp_shared_heap_attach(pp_shared_heap *heap, int fd, int64_t reserve) {
  memset(heap, 0, sizeof(*heap));
  heap->fd = -1;
  heap->reserve = reserve;
  heap->base = pp_os_shared_map(fd, reserve);
  return heap->base ? PP_OK : PP_ERR_MEMORY;
}

static bool is_forked(const pp_shared_heap *heap) {
  return heap->fork_generation != pp_os_fork_generation();
}

void pp_shared_heap_fini(pp_shared_heap *heap) {
  if (!heap->base) return;
  pp_os_shared_unmap(heap->base, heap->reserve);
  heap->base = NULL;
  if (heap->fd < 0) return;
  close(heap->fd);
  heap->fd = -1;
  // another thread may have been changing the records during the fork, so they can't be freed
  if (is_forked(heap)) return;
  for (int i = 0; i < PP_SHARED_HEAP_CLASSES; i++) free(heap->classes[i].offsets);
  free(heap->gaps);
  pthread_mutex_destroy(&heap->lock);
}

void *pp_shared_heap_at(const pp_shared_heap *heap, int64_t offset) {
  return heap->base + offset;
}

/* ----------------------------------------------------------------------------- whole pages -- */

/* Makes room for the gaps that one more run of pages can bring. No two gaps touch, and the first
 * block is never a gap, so there are at most as many gaps as runs, and one more while two are being
 * joined. */
static int reserve_gaps_locked(pp_shared_heap *heap) {
  int64_t needed = heap->num_spans + 2;
  if (needed <= heap->max_gaps) return PP_OK;
  size_t capacity = (size_t)(2 * needed);
  pp_shared_heap_gap *gaps = realloc(heap->gaps, capacity * sizeof(*gaps));
  if (!gaps) return PP_ERR_MEMORY;
  heap->gaps = gaps;
  heap->max_gaps = (int64_t)capacity;
  return PP_OK;
}

static void remove_gap_locked(pp_shared_heap *heap, int64_t i) {
  pp_shared_heap_gap *gap = &heap->gaps[i];
  memmove(gap, gap + 1, (size_t)(--heap->num_gaps - i) * sizeof(*gap));
}

/* Takes size bytes from the front of a gap, which must have that many, and returns their offset. */
static int64_t take_gap_locked(pp_shared_heap *heap, int64_t i, int64_t size) {
  pp_shared_heap_gap *gap = &heap->gaps[i];
  int64_t offset = gap->offset;
  if (pp_os_shared_allocate(heap->fd, offset, size) != PP_OK) return PP_ERR_MEMORY;
  if (gap->is_dirty) memset(heap->base + offset, 0, (size_t)size);
  gap->offset += size;
  gap->size -= size;
  if (!gap->size) remove_gap_locked(heap, i);
  return offset;
}

/* Takes size bytes from the end of the file: uses the gap that may be there, and grows the file by
 * the rest. */
static int64_t take_end_locked(pp_shared_heap *heap, int64_t size) {
  int64_t last = heap->num_gaps - 1, old_size = heap->size;
  int64_t has = 0;  // bytes of a gap at the end of the file
  pp_shared_heap_gap *gap = last < 0 ? NULL : &heap->gaps[last];
  if (gap && gap->offset + gap->size == old_size) has = gap->size;
  int64_t start = old_size - has, new_size = start + size;
  if (size > heap->reserve - start) return PP_ERR_MEMORY;

  if (has && pp_os_shared_allocate(heap->fd, start, has) != PP_OK) return PP_ERR_MEMORY;
  int status = pp_os_shared_grow(heap->fd, old_size, new_size);
  if (status != PP_OK) {
    if (has) pp_os_shared_release(heap->fd, start, has);
    return status;
  }
  if (has && gap->is_dirty) memset(heap->base + start, 0, (size_t)has);
  if (has) remove_gap_locked(heap, last);
  heap->size = new_size;
  return start;
}

static int64_t take_pages_locked(pp_shared_heap *heap, int64_t size) {
  int status = reserve_gaps_locked(heap);
  if (status != PP_OK) return status;
  int64_t i = 0;
  while (i < heap->num_gaps && heap->gaps[i].size < size) i++;
  int64_t offset =
      i < heap->num_gaps ? take_gap_locked(heap, i, size) : take_end_locked(heap, size);
  if (offset >= 0) heap->num_spans++;
  return offset;
}

/* Joins a gap with the next one if they touch. */
static void join_locked(pp_shared_heap *heap, int64_t i) {
  if (i < 0 || i + 1 >= heap->num_gaps) return;
  pp_shared_heap_gap *gap = &heap->gaps[i];
  if (gap->offset + gap->size != gap[1].offset) return;
  gap->size += gap[1].size;
  gap->is_dirty |= gap[1].is_dirty;
  remove_gap_locked(heap, i + 1);
}

static void free_pages_locked(pp_shared_heap *heap, int64_t offset, int64_t size) {
  int64_t i = 0;
  while (i < heap->num_gaps && heap->gaps[i].offset < offset) i++;
  pp_shared_heap_gap *gap = &heap->gaps[i];
  memmove(gap + 1, gap, (size_t)(heap->num_gaps++ - i) * sizeof(*gap));
  bool is_dirty = pp_os_shared_release(heap->fd, offset, size) != PP_OK;
  *gap = (pp_shared_heap_gap){offset, size, is_dirty};
  heap->num_spans--;
  join_locked(heap, i);
  join_locked(heap, i - 1);
}

/* ---------------------------------------------------------------------------- small blocks -- */

static int64_t size_of_class(int class) {
  return (int64_t)SMALLEST << class;
}

/* Returns the smallest class that holds size, or -1 if the block gets pages of its own. */
static int class_of(const pp_shared_heap *heap, int64_t size) {
  for (int class = 0; class < PP_SHARED_HEAP_CLASSES; class++) {
    if (2 * size_of_class(class) > heap->page) return -1;
    if (size <= size_of_class(class)) return class;
  }
  return -1;
}

/* Makes room to free count more blocks of a class, so that freeing never fails. */
static int reserve_blocks(pp_shared_heap_class *blocks, int64_t count) {
  int64_t needed = blocks->total + count;
  if (needed <= blocks->capacity) return PP_OK;
  size_t capacity = (size_t)(2 * needed);
  int64_t *offsets = realloc(blocks->offsets, capacity * sizeof(*offsets));
  if (!offsets) return PP_ERR_MEMORY;
  blocks->offsets = offsets;
  blocks->capacity = (int64_t)capacity;
  return PP_OK;
}

/* Cuts a new page into free blocks. */
static int add_blocks_locked(pp_shared_heap *heap, int class) {
  pp_shared_heap_class *blocks = &heap->classes[class];
  int64_t size = size_of_class(class), count = heap->page / size;
  int status = reserve_blocks(blocks, count);
  if (status != PP_OK) return status;
  int64_t start = take_pages_locked(heap, heap->page);
  if (start < 0) return (int)start;
  blocks->total += count;
  // pushed in reverse, so that the first block is used first
  while (count > 0) blocks->offsets[blocks->count++] = start + --count * size;
  return PP_OK;
}

static int64_t take_block_locked(pp_shared_heap *heap, int class) {
  pp_shared_heap_class *blocks = &heap->classes[class];
  if (!blocks->count) {
    int status = add_blocks_locked(heap, class);
    if (status != PP_OK) return status;
  }
  return blocks->offsets[--blocks->count];
}

/* ------------------------------------------------------------------------- alloc and free -- */

bool pp_shared_heap_contains(pp_shared_heap *heap, int64_t offset, int64_t size) {
  bool is_inside;
  if (offset < heap->first_size || offset % SMALLEST) return false;
  if (size < 1 || size > heap->reserve - offset) return false;
  pthread_mutex_lock(&heap->lock);
  is_inside = offset + size <= heap->size;
  pthread_mutex_unlock(&heap->lock);
  return is_inside;
}

int64_t pp_shared_heap_alloc(pp_shared_heap *heap, int64_t size) {
  if (size < 1) return PP_ERR_ARGUMENT;
  if (heap->fd < 0) return PP_ERR_STATE;
  if (is_forked(heap)) return PP_ERR_FORKED;
  if (size > heap->reserve) return PP_ERR_MEMORY;
  int class = class_of(heap, size);
  int64_t rounded = class < 0 ? round_up(size, heap->page) : size_of_class(class);

  pthread_mutex_lock(&heap->lock);
  int64_t offset = class < 0 ? take_pages_locked(heap, rounded) : take_block_locked(heap, class);
  if (offset >= 0) heap->used += rounded;
  pthread_mutex_unlock(&heap->lock);
  return offset;
}

void pp_shared_heap_free(pp_shared_heap *heap, int64_t offset, int64_t size) {
  // the first block is never freed
  if (offset <= 0 || heap->fd < 0 || is_forked(heap)) return;
  int class = class_of(heap, size);
  int64_t rounded = class < 0 ? round_up(size, heap->page) : size_of_class(class);

  pthread_mutex_lock(&heap->lock);
  if (class < 0) {
    free_pages_locked(heap, offset, rounded);
  } else {
    pp_shared_heap_class *blocks = &heap->classes[class];
    blocks->offsets[blocks->count++] = offset;
  }
  heap->used -= rounded;
  pthread_mutex_unlock(&heap->lock);
}
