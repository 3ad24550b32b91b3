/* The shared heap and the shared memory under it: blocks, growth, and system calls that fail.
 *
 * The linker's --wrap (tests/support/c_programs.py) puts this program between the engine and the
 * system, so that it can make any call fail. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "include/pp_env.h"
#include "os/os.h"
#include "processes/shared_heap.h"

/* ---------------------------------------------------------------------- a system that fails -- */

int __real_ftruncate(int fd, off_t size);
int __real_fallocate(int fd, int mode, off_t offset, off_t size);
void *__real_mmap(void *address, size_t size, int access, int flags, int fd, off_t offset);
void *__real_realloc(void *memory, size_t size);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t size);
void *__wrap_mmap(void *address, size_t size, int access, int flags, int fd, off_t offset);
void *__wrap_realloc(void *memory, size_t size);

/* this many calls pass, then this many fail with this errno */
struct fault {
  int passes;
  int fails;
  int error;
};

static const struct fault none = {0, 0, 0};
static struct fault at_ftruncate, at_fallocate, at_punch, at_realloc;
static size_t mmap_limit = SIZE_MAX;

static int is_hit(struct fault *fault) {
  // not atomic: tests with faults have one thread
  if (!fault->fails) return 0;
  if (fault->passes) {
    --fault->passes;
    return 0;
  }
  --fault->fails;
  errno = fault->error;
  return 1;
}

int __wrap_ftruncate(int fd, off_t size) {
  return is_hit(&at_ftruncate) ? -1 : __real_ftruncate(fd, size);
}

/* whether a file was longer than its memory when it was lengthened */
static int was_hollow;

int __wrap_fallocate(int fd, int mode, off_t offset, off_t size) {
  struct stat file;
  was_hollow |= !mode && fstat(fd, &file) == 0 && file.st_blocks * 512 < file.st_size;
  if (is_hit(mode & FALLOC_FL_PUNCH_HOLE ? &at_punch : &at_fallocate)) return -1;
  return __real_fallocate(fd, mode, offset, size);
}

void *__wrap_mmap(void *address, size_t size, int access, int flags, int fd, off_t offset) {
  if (size <= mmap_limit) return __real_mmap(address, size, access, flags, fd, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

void *__wrap_realloc(void *memory, size_t size) {
  return is_hit(&at_realloc) ? NULL : __real_realloc(memory, size);
}

/* --------------------------------------------------------------------------------- helpers -- */

enum { FIRST = 1000, RESERVE = 64 << 20 };

static int64_t page_size(void) {
  return sysconf(_SC_PAGESIZE);
}

static int64_t file_size(int fd) {
  struct stat seen;
  return fstat(fd, &seen) == 0 ? seen.st_size : -1;
}

/* bytes of memory behind a file */
static int64_t file_memory(int fd) {
  struct stat seen;
  return fstat(fd, &seen) == 0 ? 512 * (int64_t)seen.st_blocks : -1;
}

static void fill(const pp_shared_heap *heap, int64_t offset, int64_t size, int value) {
  memset(pp_shared_heap_at(heap, offset), value, (size_t)size);
}

/* returns whether all bytes of a block have this value */
static int is_filled(const pp_shared_heap *heap, int64_t offset, int64_t size, int value) {
  const unsigned char *bytes = pp_shared_heap_at(heap, offset);
  for (int64_t i = 0; i < size; ++i) {
    if (bytes[i] != (unsigned char)value) return 0;
  }
  return 1;
}

/* returns whether the child has exited with status 0 */
static int ends_well(pid_t child) {
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

/* ---------------------------------------------------------------------------- shared memory -- */

TEST(shared_memory_grows_while_it_is_mapped) {
  int64_t page = page_size();
  int fd = pp_os_shared_create(page, "test");
  REQUIRE(fd >= 0);
  CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  CHECK_EQ(file_size(fd), page);
  CHECK_EQ(file_memory(fd), page);
  char *memory = pp_os_shared_map(fd, 100 * page);
  char *other = pp_os_shared_map(fd, 100 * page);
  REQUIRE(memory && other && memory != other);
  CHECK_EQ(pp_os_shared_grow(fd, page, 100 * page), PP_OK);
  CHECK_EQ(file_memory(fd), 100 * page);
  memory[0] = 1;
  memory[100 * page - 1] = 2;
  CHECK_EQ(other[0], 1);
  CHECK_EQ(other[50 * page], 0);
  CHECK_EQ(other[100 * page - 1], 2);
  pp_os_shared_unmap(memory, 100 * page);
  pp_os_shared_unmap(other, 100 * page);
  pp_os_shared_unmap(NULL, page);
  close(fd);
}

TEST(shared_memory_is_given_back_and_taken_again) {
  int64_t page = page_size();
  int fd = pp_os_shared_create(8 * page, "test");
  char *memory = pp_os_shared_map(fd, 8 * page);
  REQUIRE(fd >= 0 && memory);
  memset(memory, 1, (size_t)(8 * page));
  CHECK_EQ(pp_os_shared_release(fd, page, 6 * page), PP_OK);
  CHECK_EQ(file_memory(fd), 2 * page);
  CHECK_EQ(file_size(fd), 8 * page);

  at_fallocate = (struct fault){0, 1, ENOSPC};
  CHECK_EQ(pp_os_shared_allocate(fd, page, 2 * page), PP_ERR_MEMORY);
  CHECK_EQ(file_memory(fd), 2 * page);
  CHECK_EQ(pp_os_shared_allocate(fd, page, 2 * page), PP_OK);
  CHECK_EQ(file_memory(fd), 4 * page);
  CHECK_EQ(memory[page - 1], 1);
  CHECK_EQ(memory[page], 0);
  CHECK_EQ(memory[7 * page], 1);
  pp_os_shared_unmap(memory, 8 * page);
  close(fd);
}

TEST(shared_memory_is_allocated_again_as_a_whole_or_not_at_all) {
  int64_t size = INT64_C(20) << 20;
  int fd = pp_os_shared_create(size, "test");
  REQUIRE(fd >= 0);
  CHECK_EQ(pp_os_shared_release(fd, 0, size), PP_OK);
  at_fallocate = (struct fault){2, 1, ENOMEM};
  CHECK_EQ(pp_os_shared_allocate(fd, 0, size), PP_ERR_MEMORY);
  CHECK_EQ(at_fallocate.fails, 0);
  CHECK_EQ(file_memory(fd), 0);
  close(fd);
}

TEST(refused_growth_leaves_the_old_size) {
  static const int errors[] = {ENOSPC, ENOMEM, EDQUOT, EFBIG};
  int64_t page = page_size(), large = INT64_C(20) << 20;
  int fd = pp_os_shared_create(page, "test");
  REQUIRE(fd >= 0);
  for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); ++i) {
    // what the first calls allocated is freed again
    at_fallocate = (struct fault){2, 1, errors[i]};
    CHECK_EQ(pp_os_shared_grow(fd, page, large), PP_ERR_MEMORY);
    CHECK_EQ(at_fallocate.fails, 0);
    CHECK_EQ(file_size(fd), page);
    CHECK_EQ(file_memory(fd), page);
  }
  at_fallocate = (struct fault){0, 1, EOPNOTSUPP};
  CHECK_EQ(pp_os_shared_grow(fd, page, large), PP_ERR_SYSTEM);
  CHECK_EQ(file_size(fd), page);
  CHECK_EQ(pp_os_shared_grow(fd, page, large), PP_OK);
  close(fd);
}

/* another process may see the file's size at any moment, and touch all of it */
TEST(a_file_that_grows_is_never_longer_than_its_memory) {
  int64_t page = page_size(), large = INT64_C(20) << 20;
  int fd;
  was_hollow = 0;
  fd = pp_os_shared_create(page, "test");
  REQUIRE(fd >= 0);
  CHECK_EQ(pp_os_shared_grow(fd, page, large), PP_OK);
  CHECK_EQ(file_size(fd), large);
  CHECK_EQ(file_memory(fd), large);
  CHECK(!was_hollow);
  close(fd);
}

/* A sealed file can't become shorter, so a growth that fails frees its pages but keeps the size
 * that it reached. */
TEST(sealed_memory_never_becomes_shorter) {
  int64_t page = page_size(), large = INT64_C(20) << 20;
  int fd = pp_os_shared_create(page, "test");
  REQUIRE(fd >= 0);
  CHECK_EQ(pp_os_shared_seal(fd), PP_OK);
  CHECK_EQ(pp_os_shared_seal(fd), PP_ERR_SYSTEM);
  CHECK_EQ(pp_os_shared_seal(-1), PP_ERR_SYSTEM);
  CHECK(__real_ftruncate(fd, page - 1) == -1 && errno == EPERM);
  for (int passes = 0; passes < 3; ++passes) {
    at_fallocate = (struct fault){passes, 1, ENOMEM};
    CHECK_EQ(pp_os_shared_grow(fd, page, large), PP_ERR_MEMORY);
    CHECK_EQ(file_size(fd), page + passes * (INT64_C(4) << 20));
    CHECK_EQ(file_memory(fd), page);
  }
  // the larger size does not stop later growth
  CHECK_EQ(pp_os_shared_grow(fd, page, 2 * page), PP_OK);
  CHECK_EQ(file_memory(fd), 2 * page);
  CHECK_EQ(pp_os_shared_grow(fd, 2 * page, 2 * large), PP_OK);
  CHECK_EQ(pp_os_shared_size(fd), 2 * large);
  CHECK_EQ(file_memory(fd), 2 * large);
  close(fd);
  CHECK_EQ(pp_os_shared_size(fd), -1);
}

TEST(shared_memory_is_not_stopped_by_signals) {
  int64_t page = page_size();
  at_fallocate = at_punch = (struct fault){0, 3, EINTR};
  int fd = pp_os_shared_create(8 * page, "test");
  REQUIRE(fd >= 0);
  CHECK_EQ(file_memory(fd), 8 * page);
  CHECK_EQ(pp_os_shared_release(fd, 0, page), PP_OK);
  CHECK_EQ(file_memory(fd), 7 * page);
  CHECK_EQ(at_fallocate.fails + at_punch.fails, 0);
  // nor when it is shortened again after it can't grow
  at_fallocate = (struct fault){1, 1, ENOMEM};
  at_ftruncate = (struct fault){0, 3, EINTR};
  CHECK_EQ(pp_os_shared_grow(fd, 8 * page, INT64_C(20) << 20), PP_ERR_MEMORY);
  CHECK_EQ(at_ftruncate.fails + at_fallocate.fails, 0);
  CHECK_EQ(file_size(fd), 8 * page);
  close(fd);
}

/* ---------------------------------------------------------------------------------- blocks -- */

TEST(heap_keeps_its_first_block_at_the_front) {
  int64_t page = page_size();
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  CHECK_EQ(file_size(heap.fd), page);
  CHECK(is_filled(&heap, 0, page, 0));
  fill(&heap, 0, FIRST, 7);
  CHECK(pp_shared_heap_alloc(&heap, 64) >= page);
  CHECK(pp_shared_heap_alloc(&heap, 10 * page) >= page);
  pp_shared_heap_free(&heap, 0, FIRST);
  CHECK(pp_shared_heap_alloc(&heap, page) >= page);
  CHECK(is_filled(&heap, 0, FIRST, 7));
  pp_shared_heap_fini(&heap);
  pp_shared_heap_fini(&heap);
}

TEST(heap_aligns_blocks) {
  int64_t page = page_size();
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  int wrong = 0;
  for (int64_t size = 1; size < 5 * page; size += 1 + size / 9) {
    int64_t offset = pp_shared_heap_alloc(&heap, size);
    wrong += offset < page || offset % 64 != 0;
    if (size >= page) wrong += offset % page != 0 || !is_filled(&heap, offset, size, 0);
    fill(&heap, offset, size, 0xff);
  }
  CHECK_EQ(wrong, 0);
  pp_shared_heap_fini(&heap);
}

TEST(heap_zeroes_large_blocks_again) {
  int64_t page = page_size(), size = 5 * page;
  for (int refuses = 0; refuses < 2; ++refuses) {
    pp_shared_heap heap;
    REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
    int64_t offset = pp_shared_heap_alloc(&heap, size), end = pp_shared_heap_alloc(&heap, size);
    fill(&heap, offset, size, 1);
    fill(&heap, end, size, 1);
    // pages that can't be given back are wiped
    if (refuses) at_punch = (struct fault){0, 2, EOPNOTSUPP};
    pp_shared_heap_free(&heap, offset, size);
    CHECK_EQ(pp_shared_heap_alloc(&heap, page), offset);
    CHECK(is_filled(&heap, offset, page, 0));
    CHECK_EQ(pp_shared_heap_alloc(&heap, 4 * page), offset + page);
    CHECK(is_filled(&heap, offset, size, 0));
    // this block begins in a gap and ends in the part by which the file grows
    pp_shared_heap_free(&heap, end, size);
    CHECK_EQ(pp_shared_heap_alloc(&heap, 2 * size), end);
    CHECK(is_filled(&heap, end, 2 * size, 0));
    CHECK_EQ(at_punch.fails, 0);
    pp_shared_heap_fini(&heap);
  }
}

TEST(heap_remembers_which_pages_it_must_wipe) {
  int64_t page = page_size();
  for (int refused = 0; refused < 2; ++refused) {
    pp_shared_heap heap;
    REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
    int64_t blocks[2] = {pp_shared_heap_alloc(&heap, page), pp_shared_heap_alloc(&heap, page)};
    for (int i = 0; i < 2; ++i) fill(&heap, blocks[i], page, 1);
    for (int i = 0; i < 2; ++i) {
      if (i == refused) at_punch = (struct fault){0, 1, EOPNOTSUPP};
      pp_shared_heap_free(&heap, blocks[i], page);
    }
    CHECK_EQ(heap.num_gaps, 1);
    CHECK_EQ(pp_shared_heap_alloc(&heap, 2 * page), blocks[0]);
    CHECK(is_filled(&heap, blocks[0], 2 * page, 0));
    pp_shared_heap_fini(&heap);
  }
}

TEST(heap_gives_large_blocks_back_to_the_system) {
  int64_t page = page_size(), size = 1 << 20;
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  int64_t first = pp_shared_heap_alloc(&heap, size), second = pp_shared_heap_alloc(&heap, size);
  CHECK_EQ(file_memory(heap.fd), page + 2 * size);
  pp_shared_heap_free(&heap, first, size);
  CHECK_EQ(file_memory(heap.fd), page + size);
  CHECK_EQ(pp_shared_heap_alloc(&heap, size), first);
  CHECK_EQ(file_memory(heap.fd), page + 2 * size);
  // the gap at the end is used, and the file grows by the rest
  pp_shared_heap_free(&heap, second, size);
  CHECK_EQ(pp_shared_heap_alloc(&heap, 3 * size), second);
  CHECK_EQ(file_memory(heap.fd), page + 4 * size);
  CHECK_EQ(file_size(heap.fd), page + 4 * size);
  pp_shared_heap_free(&heap, second, 3 * size);
  pp_shared_heap_free(&heap, first, size);
  CHECK_EQ(file_memory(heap.fd), page);
  CHECK_EQ(heap.num_gaps, 1);
  CHECK_EQ(heap.used, page);
  pp_shared_heap_fini(&heap);
}

/* random allocations and frees of many blocks, each filled with a number of its own */
enum { BLOCKS = 200, ROUNDS = 20000 };

struct game {
  pp_shared_heap *heap;
  uint32_t luck;
  struct {
    int64_t offset, size;
  } blocks[BLOCKS];
  int wrong;
};

static uint32_t draw(struct game *game, uint32_t limit) {
  game->luck = game->luck * 1664525 + 1013904223;
  return (uint32_t)(((uint64_t)game->luck * limit) >> 32);
}

static void drop(struct game *game, uint32_t i, int value) {
  int64_t offset = game->blocks[i].offset, size = game->blocks[i].size;
  game->wrong += !is_filled(game->heap, offset, size, value);
  fill(game->heap, offset, size, 0xff);
  pp_shared_heap_free(game->heap, offset, size);
  game->blocks[i].size = 0;
}

static void *play(void *arg) {
  struct game *game = arg;
  uint32_t salt = game->luck;
  for (int round = 0; round < ROUNDS; ++round) {
    uint32_t i = draw(game, BLOCKS);
    if (game->blocks[i].size) {
      drop(game, i, (int)(i + salt));
      continue;
    }
    // mostly small ones, as messages are
    int64_t size = 1 + draw(game, draw(game, 8) ? 500 : 40000);
    int64_t offset = pp_shared_heap_alloc(game->heap, size);
    if (offset <= 0) {
      ++game->wrong;
      continue;
    }
    game->wrong += size >= page_size() && !is_filled(game->heap, offset, size, 0);
    fill(game->heap, offset, size, (int)(i + salt));
    game->blocks[i].offset = offset;
    game->blocks[i].size = size;
  }
  for (uint32_t i = 0; i < BLOCKS; ++i) {
    if (game->blocks[i].size) drop(game, i, (int)(i + salt));
  }
  return NULL;
}

/* returns whether the gaps are in order, not adjacent, and inside the file */
static int are_gaps_right(const pp_shared_heap *heap) {
  int64_t end = 0;
  for (int64_t i = 0; i < heap->num_gaps; ++i) {
    if (heap->gaps[i].offset <= end || heap->gaps[i].size <= 0) return 0;
    end = heap->gaps[i].offset + heap->gaps[i].size;
  }
  return end <= heap->size && heap->num_gaps <= heap->num_spans;
}

/* returns the bytes of all free small blocks and all free pages */
static int64_t count_free(const pp_shared_heap *heap) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < heap->num_gaps; ++i) bytes += heap->gaps[i].size;
  for (int i = 0; i < PP_SHARED_HEAP_CLASSES; ++i)
    bytes += heap->classes[i].count * (INT64_C(64) << i);
  return bytes;
}

TEST(heap_never_gives_a_byte_twice) {
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  int64_t before = heap.used, spans = 0;
  for (uint32_t again = 0; again < 2; ++again) {
    struct game game = {.heap = &heap, .luck = 12345};
    play(&game);
    CHECK_EQ(game.wrong, 0);
    CHECK_EQ(heap.used, before);
    CHECK(are_gaps_right(&heap));
    CHECK_EQ(file_size(heap.fd), heap.size);
    CHECK_EQ(before + count_free(&heap), heap.size);
    // the same again needs no more pages for small blocks
    if (again) CHECK_EQ(heap.num_spans, spans);
    spans = heap.num_spans;
  }
  pp_shared_heap_fini(&heap);
}

TEST(heap_serves_all_threads) {
  enum { THREADS = 4 };
  struct game games[THREADS];
  pthread_t threads[THREADS];
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  int64_t before = heap.used;
  for (uint32_t i = 0; i < THREADS; ++i) {
    games[i] = (struct game){.heap = &heap, .luck = 1 + 50 * i};
    REQUIRE(pp_os_thread_start(&threads[i], play, &games[i], "player") == PP_OK);
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    CHECK_EQ(games[i].wrong, 0);
  }
  CHECK_EQ(heap.used, before);
  CHECK_EQ(before + count_free(&heap), heap.size);
  CHECK(are_gaps_right(&heap));
  pp_shared_heap_fini(&heap);
}

/* -------------------------------------------------------------------------------- refusals -- */

TEST(heap_refuses_invalid_sizes) {
  pp_shared_heap heap;
  CHECK_EQ(pp_shared_heap_init(&heap, 0, RESERVE), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_shared_heap_init(&heap, -1, RESERVE), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_shared_heap_init(&heap, INT64_MAX, RESERVE), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_shared_heap_init(&heap, FIRST, -1), PP_ERR_ARGUMENT);
  pp_shared_heap_fini(&heap);
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  CHECK_EQ(pp_shared_heap_alloc(&heap, 0), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_shared_heap_alloc(&heap, INT64_MIN), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_shared_heap_alloc(&heap, INT64_MAX), PP_ERR_MEMORY);
  pp_shared_heap_fini(&heap);
}

TEST(heap_knows_what_can_be_a_block) {
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  int64_t page = page_size(), block = pp_shared_heap_alloc(&heap, 3 * page);
  CHECK(pp_shared_heap_contains(&heap, block, 3 * page));
  CHECK(pp_shared_heap_contains(&heap, block + 64, 3 * page - 64));
  CHECK(!pp_shared_heap_contains(&heap, block + 64, 3 * page - 63));
  CHECK(!pp_shared_heap_contains(&heap, block + 1, 10));
  CHECK(!pp_shared_heap_contains(&heap, 0, 10));
  // the first block is never allocated
  CHECK(!pp_shared_heap_contains(&heap, 64, 10));
  CHECK(!pp_shared_heap_contains(&heap, block - 64, 10));
  CHECK(!pp_shared_heap_contains(&heap, -64, 10));
  CHECK(!pp_shared_heap_contains(&heap, block, 0));
  CHECK(!pp_shared_heap_contains(&heap, INT64_MAX / 64 * 64, 10));
  CHECK(!pp_shared_heap_contains(&heap, block, INT64_MAX));
  pp_shared_heap_fini(&heap);
}

TEST(heap_ends_at_its_reserve) {
  int64_t page = page_size();
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, 8 * page) == PP_OK);
  CHECK_EQ(heap.reserve, 8 * page);
  CHECK_EQ(pp_shared_heap_alloc(&heap, 8 * page), PP_ERR_MEMORY);
  int64_t all = pp_shared_heap_alloc(&heap, 7 * page);
  CHECK_EQ(all, page);
  CHECK_EQ(pp_shared_heap_alloc(&heap, 1), PP_ERR_MEMORY);
  CHECK_EQ(pp_shared_heap_alloc(&heap, page), PP_ERR_MEMORY);
  pp_shared_heap_free(&heap, all, 7 * page);
  CHECK_EQ(pp_shared_heap_alloc(&heap, 1), page);
  pp_shared_heap_fini(&heap);
}

TEST(heap_reserves_what_the_machine_has) {
  int64_t page = page_size(), memory = sysconf(_SC_PHYS_PAGES) * page;
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, 0) == PP_OK);
  CHECK_EQ(heap.reserve, memory > 64 << 20 ? memory : 64 << 20);
  // reserved only
  CHECK_EQ(file_memory(heap.fd), page);
  pp_shared_heap_fini(&heap);
}

TEST(heap_reserves_less_where_the_system_refuses) {
  int64_t page = page_size();
  pp_shared_heap heap;
  mmap_limit = 3 << 20;
  CHECK_EQ(pp_shared_heap_init(&heap, FIRST, 0), PP_OK);
  CHECK(heap.reserve <= 3 << 20);
  CHECK(heap.reserve > 1 << 20);
  CHECK_EQ(heap.reserve % page, 0);
  CHECK(pp_shared_heap_alloc(&heap, 1 << 20) > 0);
  pp_shared_heap_fini(&heap);

  // never less than its first block
  CHECK_EQ(pp_shared_heap_init(&heap, 3 << 20, 0), PP_OK);
  CHECK_EQ(heap.reserve, 3 << 20);
  pp_shared_heap_fini(&heap);
  CHECK_EQ(pp_shared_heap_init(&heap, 3 << 20, 1), PP_OK);
  CHECK_EQ(heap.reserve, 3 << 20);
  pp_shared_heap_fini(&heap);
  CHECK_EQ(pp_shared_heap_init(&heap, (3 << 20) + 1, 0), PP_ERR_MEMORY);
  pp_shared_heap_fini(&heap);
  CHECK_EQ(pp_shared_heap_attach(&heap, 0, 4 << 20), PP_ERR_MEMORY);
  pp_shared_heap_fini(&heap);
  mmap_limit = SIZE_MAX;
}

TEST(heap_is_not_made_without_memory) {
  int free_fd = dup(0);
  close(free_fd);
  for (int call = 0; call < 2; ++call) {
    pp_shared_heap heap;
    at_fallocate = (struct fault){call, 1, ENOMEM};
    CHECK_EQ(pp_shared_heap_init(&heap, 5 << 20, RESERVE), PP_ERR_MEMORY);
    CHECK_EQ(at_fallocate.fails, 0);
    pp_shared_heap_fini(&heap);
  }
  // no file is left open
  int fd = dup(0);
  CHECK_EQ(fd, free_fd);
  close(fd);
}

/* checks that an allocation during which a call fails changes nothing */
static void refuse_growth(pp_shared_heap *heap, int64_t size, struct fault *at,
                          struct fault fault) {
  int64_t old_size = heap->size, used = heap->used, memory = file_memory(heap->fd);
  *at = fault;
  CHECK_EQ(pp_shared_heap_alloc(heap, size), PP_ERR_MEMORY);
  CHECK_EQ(at->fails, 0);
  *at = none;
  CHECK_EQ(heap->size, old_size);
  CHECK_EQ(heap->used, used);
  CHECK_EQ(file_size(heap->fd), old_size);
  CHECK_EQ(file_memory(heap->fd), memory);
  CHECK(are_gaps_right(heap));
}

TEST(heap_works_on_when_it_can_not_grow) {
  int64_t page = page_size(), large = 10 << 20;
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  int64_t small = pp_shared_heap_alloc(&heap, 100), block = pp_shared_heap_alloc(&heap, 3 * page);
  int64_t gap = pp_shared_heap_alloc(&heap, 2 * page);
  fill(&heap, 0, FIRST, 1);
  fill(&heap, small, 100, 2);
  fill(&heap, block, 3 * page, 3);
  fill(&heap, gap, 2 * page, 4);
  for (int has_gap = 0; has_gap < 2; ++has_gap) {
    // a gap at the end is allocated again before the file grows
    if (has_gap) pp_shared_heap_free(&heap, gap, 2 * page);
    for (int passes = 0; passes < 3; ++passes) {
      refuse_growth(&heap, large, &at_fallocate, (struct fault){passes, 1, ENOMEM});
    }
    CHECK(is_filled(&heap, 0, FIRST, 1));
    CHECK(is_filled(&heap, small, 100, 2));
    CHECK(is_filled(&heap, block, 3 * page, 3));
  }
  // the gap is still usable, and growth works once there is memory
  CHECK_EQ(pp_shared_heap_alloc(&heap, page), gap);
  int64_t grown = pp_shared_heap_alloc(&heap, large);
  CHECK_EQ(grown, gap + page);
  CHECK(is_filled(&heap, grown, large, 0));
  pp_shared_heap_fini(&heap);
}

TEST(heap_works_on_when_a_gap_can_not_be_allocated) {
  int64_t page = page_size();
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  int64_t gap = pp_shared_heap_alloc(&heap, 8 * page);
  CHECK(pp_shared_heap_alloc(&heap, page) > gap);
  pp_shared_heap_free(&heap, gap, 8 * page);
  refuse_growth(&heap, 4 * page, &at_fallocate, (struct fault){0, 1, ENOMEM});
  refuse_growth(&heap, 1, &at_fallocate, (struct fault){0, 1, ENOMEM});
  CHECK_EQ(pp_shared_heap_alloc(&heap, 8 * page), gap);
  CHECK(is_filled(&heap, gap, 8 * page, 0));
  pp_shared_heap_fini(&heap);
}

TEST(heap_works_on_without_memory_for_its_records) {
  int64_t page = page_size();
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  refuse_growth(&heap, page, &at_realloc, (struct fault){0, 1, ENOMEM});
  refuse_growth(&heap, 64, &at_realloc, (struct fault){0, 1, ENOMEM});
  refuse_growth(&heap, 64, &at_realloc, (struct fault){1, 1, ENOMEM});
  int64_t small = pp_shared_heap_alloc(&heap, 64), large = pp_shared_heap_alloc(&heap, page);
  CHECK(small > 0);
  CHECK(large > 0);
  // freeing allocates none
  at_realloc = (struct fault){0, 1, ENOMEM};
  pp_shared_heap_free(&heap, small, 64);
  pp_shared_heap_free(&heap, large, page);
  CHECK_EQ(at_realloc.fails, 1);
  at_realloc = none;
  CHECK_EQ(pp_shared_heap_alloc(&heap, 64), small);
  pp_shared_heap_fini(&heap);
}

/* called in a child, because the limit is the whole process's */
static int is_refused_by_a_limit(void) {
  struct rlimit limit = {2 << 20, RLIM_INFINITY};
  pp_shared_heap heap;
  signal(SIGXFSZ, SIG_IGN);  // as Python does
  if (pp_shared_heap_init(&heap, FIRST, RESERVE) != PP_OK) return 0;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = 2 << 20;
  setrlimit(RLIMIT_FSIZE, &limit);
  int status = (int)pp_shared_heap_alloc(&heap, 4 << 20);
  int is_right = status == PP_ERR_MEMORY && pp_shared_heap_alloc(&heap, 1 << 20) > 0;
  pp_shared_heap_fini(&heap);
  return is_right;
}

TEST(heap_survives_a_real_file_size_limit) {
  pid_t child = fork();
  if (child == 0) _exit(is_refused_by_a_limit() ? 0 : 1);
  CHECK(ends_well(child));
}

/* ------------------------------------------------------------------------- other processes -- */

/* A worker that maps the file at another address: it answers each offset with the byte there. */
static int serve(int fd, int64_t reserve, int in, int out) {
  pp_shared_heap heap;
  int64_t offset;
  if (pp_shared_heap_attach(&heap, fd, reserve) != PP_OK) return 0;
  close(fd);
  while (read(in, &offset, sizeof(offset)) == sizeof(offset)) {
    char *place = pp_shared_heap_at(&heap, offset);
    if (write(out, place, 1) != 1) return 0;
    ++*place;
  }
  // it has no records of blocks, so it can neither allocate nor free
  int is_right = pp_shared_heap_alloc(&heap, 64) == PP_ERR_STATE;
  pp_shared_heap_free(&heap, offset, 64);
  pp_shared_heap_fini(&heap);
  return is_right && !heap.base;
}

TEST(heap_grows_under_a_worker) {
  int to[2], from[2];
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  REQUIRE(pipe(to) == 0 && pipe(from) == 0);
  pid_t child = fork();
  if (child == 0) {
    close(to[1]);
    _exit(serve(heap.fd, heap.reserve, to[0], from[1]) ? 0 : 1);
  }
  for (int64_t size = 64; size < 8 << 20; size *= 3) {
    int64_t offset = pp_shared_heap_alloc(&heap, size), last = offset + size - 1;
    char *place = pp_shared_heap_at(&heap, last), seen = 0;
    *place = 41;
    CHECK_EQ(write(to[1], &last, sizeof(last)), sizeof(last));
    CHECK_EQ(read(from[0], &seen, 1), 1);
    CHECK_EQ(seen, 41);
  }
  for (int i = 0; i < 2; ++i) close(to[i]);
  CHECK(ends_well(child));
  for (int i = 0; i < 2; ++i) close(from[i]);
  pp_shared_heap_fini(&heap);
}

/* returns whether a forked child can read and write blocks, but neither allocate nor free them */
static int is_harmless(pp_shared_heap *heap, int64_t offset, int64_t size) {
  int is_right = is_filled(heap, offset, size, 5);
  is_right &= pp_shared_heap_alloc(heap, 64) == PP_ERR_FORKED;
  is_right &= pp_shared_heap_alloc(heap, 1 << 20) == PP_ERR_FORKED;
  pp_shared_heap_free(heap, offset, size);
  is_right &= is_filled(heap, offset, size, 5);
  fill(heap, offset, size, 6);
  pp_shared_heap_fini(heap);
  return is_right;
}

TEST(heap_is_left_alone_by_a_forked_child) {
  int64_t size = 3 * page_size();
  pp_shared_heap heap;
  REQUIRE(pp_shared_heap_init(&heap, FIRST, RESERVE) == PP_OK);
  int64_t offset = pp_shared_heap_alloc(&heap, size), used = heap.used;
  fill(&heap, offset, size, 5);

  // as if another thread held the lock at the fork: a child that took it would wait for ever
  pthread_mutex_lock(&heap.lock);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(is_harmless(&heap, offset, size) ? 0 : 1);
  }
  CHECK(ends_well(child));
  pthread_mutex_unlock(&heap.lock);

  CHECK(is_filled(&heap, offset, size, 6));
  CHECK_EQ(heap.used, used);
  pp_shared_heap_free(&heap, offset, size);
  CHECK_EQ(pp_shared_heap_alloc(&heap, size), offset);
  pp_shared_heap_fini(&heap);
}
