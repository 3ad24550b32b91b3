/* Arena: a heap in a file that the parent of a pool shares with its worker processes. */
#include "arena.h"

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

int64_t pp_arena_max_reserve(void) {
  int64_t pages = -1, page = sysconf(_SC_PAGESIZE);
#ifdef _SC_PHYS_PAGES
  pages = sysconf(_SC_PHYS_PAGES);
#endif
  return pages > MIN_RESERVE / page ? pages * page : MIN_RESERVE;
}

/* Maps wanted bytes of the file. If the system refuses it tries half of that, and so on, but never
 * less than the size of the file. */
static int map_file(pp_arena *arena, int64_t wanted) {
  int64_t reserve = wanted < arena->size ? arena->size : wanted / arena->page * arena->page;
  while (!(arena->base = pp_os_shared_map(arena->fd, reserve))) {
    if (reserve <= arena->size) return PP_ERR_MEMORY;
    reserve = reserve / 2 / arena->page * arena->page;
    if (reserve < arena->size) reserve = arena->size;
  }
  arena->reserve = reserve;
  return PP_OK;
}

int pp_arena_init(pp_arena *arena, int64_t first_size, int64_t reserve) {
  int64_t page = sysconf(_SC_PAGESIZE);
  memset(arena, 0, sizeof(*arena));
  arena->fd = -1;
  if (first_size < 1 || first_size > INT64_MAX - page || reserve < 0) return PP_ERR_ARGUMENT;

  arena->page = page;
  arena->fork_generation = pp_os_fork_generation();
  arena->first_size = arena->size = arena->used = round_up(first_size, page);
  arena->num_spans = 1;
  arena->fd = pp_os_shared_create(arena->size, "parallel_pool");
  if (arena->fd < 0) return arena->fd;
  int status = map_file(arena, reserve ? reserve : pp_arena_max_reserve());
  if (status != PP_OK) {
    close(arena->fd);
    arena->fd = -1;
    return status;
  }
  pthread_mutex_init(&arena->lock, NULL);
  return PP_OK;
}

int pp_arena_attach(pp_arena *arena, int fd, int64_t reserve) {
  memset(arena, 0, sizeof(*arena));
  arena->fd = -1;
  arena->reserve = reserve;
  arena->base = pp_os_shared_map(fd, reserve);
  return arena->base ? PP_OK : PP_ERR_MEMORY;
}

static bool is_forked(const pp_arena *arena) {
  return arena->fork_generation != pp_os_fork_generation();
}

void pp_arena_fini(pp_arena *arena) {
  if (!arena->base) return;
  pp_os_shared_unmap(arena->base, arena->reserve);
  arena->base = NULL;
  if (arena->fd < 0) return;
  close(arena->fd);
  arena->fd = -1;
  // another thread may have been changing the records during the fork, so they can't be freed
  if (is_forked(arena)) return;
  for (int i = 0; i < PP_ARENA_CLASSES; i++) free(arena->classes[i].offsets);
  free(arena->gaps);
  pthread_mutex_destroy(&arena->lock);
}

void *pp_arena_at(const pp_arena *arena, int64_t offset) {
  return arena->base + offset;
}

/* ----------------------------------------------------------------------------- whole pages -- */

/* Makes room for the gaps that one more run of pages can bring. No two gaps touch, and the first
 * block is never a gap, so there are at most as many gaps as runs, and one more while two are being
 * joined. */
static int reserve_gaps_locked(pp_arena *arena) {
  int64_t needed = arena->num_spans + 2;
  if (needed <= arena->max_gaps) return PP_OK;
  size_t capacity = (size_t)(2 * needed);
  pp_arena_gap *gaps = realloc(arena->gaps, capacity * sizeof(*gaps));
  if (!gaps) return PP_ERR_MEMORY;
  arena->gaps = gaps;
  arena->max_gaps = (int64_t)capacity;
  return PP_OK;
}

static void remove_gap_locked(pp_arena *arena, int64_t i) {
  pp_arena_gap *gap = &arena->gaps[i];
  memmove(gap, gap + 1, (size_t)(--arena->num_gaps - i) * sizeof(*gap));
}

/* Takes size bytes from the front of a gap, which must have that many, and returns their offset. */
static int64_t take_gap_locked(pp_arena *arena, int64_t i, int64_t size) {
  pp_arena_gap *gap = &arena->gaps[i];
  int64_t offset = gap->offset;
  if (pp_os_shared_allocate(arena->fd, offset, size) != PP_OK) return PP_ERR_MEMORY;
  if (gap->is_dirty) memset(arena->base + offset, 0, (size_t)size);
  gap->offset += size;
  gap->size -= size;
  if (!gap->size) remove_gap_locked(arena, i);
  return offset;
}

/* Takes size bytes from the end of the file: uses the gap that may be there, and grows the file by
 * the rest. */
static int64_t take_end_locked(pp_arena *arena, int64_t size) {
  int64_t last = arena->num_gaps - 1, old_size = arena->size;
  int64_t has = 0;  // bytes of a gap at the end of the file
  pp_arena_gap *gap = last < 0 ? NULL : &arena->gaps[last];
  if (gap && gap->offset + gap->size == old_size) has = gap->size;
  int64_t start = old_size - has, new_size = start + size;
  if (size > arena->reserve - start) return PP_ERR_MEMORY;

  if (has && pp_os_shared_allocate(arena->fd, start, has) != PP_OK) return PP_ERR_MEMORY;
  int status = pp_os_shared_grow(arena->fd, old_size, new_size);
  if (status != PP_OK) {
    if (has) pp_os_shared_release(arena->fd, start, has);
    return status;
  }
  if (has && gap->is_dirty) memset(arena->base + start, 0, (size_t)has);
  if (has) remove_gap_locked(arena, last);
  arena->size = new_size;
  return start;
}

static int64_t take_pages_locked(pp_arena *arena, int64_t size) {
  int status = reserve_gaps_locked(arena);
  if (status != PP_OK) return status;
  int64_t i = 0;
  while (i < arena->num_gaps && arena->gaps[i].size < size) i++;
  int64_t offset =
      i < arena->num_gaps ? take_gap_locked(arena, i, size) : take_end_locked(arena, size);
  if (offset >= 0) arena->num_spans++;
  return offset;
}

/* Joins a gap with the next one if they touch. */
static void join_locked(pp_arena *arena, int64_t i) {
  if (i < 0 || i + 1 >= arena->num_gaps) return;
  pp_arena_gap *gap = &arena->gaps[i];
  if (gap->offset + gap->size != gap[1].offset) return;
  gap->size += gap[1].size;
  gap->is_dirty |= gap[1].is_dirty;
  remove_gap_locked(arena, i + 1);
}

static void free_pages_locked(pp_arena *arena, int64_t offset, int64_t size) {
  int64_t i = 0;
  while (i < arena->num_gaps && arena->gaps[i].offset < offset) i++;
  pp_arena_gap *gap = &arena->gaps[i];
  memmove(gap + 1, gap, (size_t)(arena->num_gaps++ - i) * sizeof(*gap));
  bool is_dirty = pp_os_shared_release(arena->fd, offset, size) != PP_OK;
  *gap = (pp_arena_gap){offset, size, is_dirty};
  arena->num_spans--;
  join_locked(arena, i);
  join_locked(arena, i - 1);
}

/* ---------------------------------------------------------------------------- small blocks -- */

static int64_t size_of_class(int class) {
  return (int64_t)SMALLEST << class;
}

/* Returns the smallest class that holds size, or -1 if the block gets pages of its own. */
static int class_of(const pp_arena *arena, int64_t size) {
  for (int class = 0; class < PP_ARENA_CLASSES; class++) {
    if (2 * size_of_class(class) > arena->page) return -1;
    if (size <= size_of_class(class)) return class;
  }
  return -1;
}

/* Makes room to free count more blocks of a class, so that freeing never fails. */
static int reserve_blocks(pp_arena_class *blocks, int64_t count) {
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
static int add_blocks_locked(pp_arena *arena, int class) {
  pp_arena_class *blocks = &arena->classes[class];
  int64_t size = size_of_class(class), count = arena->page / size;
  int status = reserve_blocks(blocks, count);
  if (status != PP_OK) return status;
  int64_t start = take_pages_locked(arena, arena->page);
  if (start < 0) return (int)start;
  blocks->total += count;
  // pushed in reverse, so that the first block is used first
  while (count > 0) blocks->offsets[blocks->count++] = start + --count * size;
  return PP_OK;
}

static int64_t take_block_locked(pp_arena *arena, int class) {
  pp_arena_class *blocks = &arena->classes[class];
  if (!blocks->count) {
    int status = add_blocks_locked(arena, class);
    if (status != PP_OK) return status;
  }
  return blocks->offsets[--blocks->count];
}

/* ------------------------------------------------------------------------- alloc and free -- */

bool pp_arena_contains(pp_arena *arena, int64_t offset, int64_t size) {
  bool is_inside;
  if (offset < arena->first_size || offset % SMALLEST) return false;
  if (size < 1 || size > arena->reserve - offset) return false;
  pthread_mutex_lock(&arena->lock);
  is_inside = offset + size <= arena->size;
  pthread_mutex_unlock(&arena->lock);
  return is_inside;
}

int64_t pp_arena_alloc(pp_arena *arena, int64_t size) {
  if (size < 1) return PP_ERR_ARGUMENT;
  if (arena->fd < 0) return PP_ERR_STATE;
  if (is_forked(arena)) return PP_ERR_FORKED;
  if (size > arena->reserve) return PP_ERR_MEMORY;
  int class = class_of(arena, size);
  int64_t rounded = class < 0 ? round_up(size, arena->page) : size_of_class(class);

  pthread_mutex_lock(&arena->lock);
  int64_t offset = class < 0 ? take_pages_locked(arena, rounded) : take_block_locked(arena, class);
  if (offset >= 0) arena->used += rounded;
  pthread_mutex_unlock(&arena->lock);
  return offset;
}

void pp_arena_free(pp_arena *arena, int64_t offset, int64_t size) {
  // the first block is never freed
  if (offset <= 0 || arena->fd < 0 || is_forked(arena)) return;
  int class = class_of(arena, size);
  int64_t rounded = class < 0 ? round_up(size, arena->page) : size_of_class(class);

  pthread_mutex_lock(&arena->lock);
  if (class < 0) {
    free_pages_locked(arena, offset, rounded);
  } else {
    pp_arena_class *blocks = &arena->classes[class];
    blocks->offsets[blocks->count++] = offset;
  }
  arena->used -= rounded;
  pthread_mutex_unlock(&arena->lock);
}
