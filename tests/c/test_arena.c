/* The arena and the shared memory under it: blocks, growth, and system calls that fail.
 *
 * The linker's --wrap (see the Makefile) puts this program between the engine and the system, so
 * that it can make any call fail. */
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
#include "processes/arena.h"

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

static void fill(const pp_arena *arena, int64_t offset, int64_t size, int value) {
  memset(pp_arena_at(arena, offset), value, (size_t)size);
}

/* returns whether all bytes of a block have this value */
static int is_filled(const pp_arena *arena, int64_t offset, int64_t size, int value) {
  const unsigned char *bytes = pp_arena_at(arena, offset);
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

TEST(arena_keeps_its_first_block_at_the_front) {
  int64_t page = page_size();
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  CHECK_EQ(file_size(arena.fd), page);
  CHECK(is_filled(&arena, 0, page, 0));
  fill(&arena, 0, FIRST, 7);
  CHECK(pp_arena_alloc(&arena, 64) >= page);
  CHECK(pp_arena_alloc(&arena, 10 * page) >= page);
  pp_arena_free(&arena, 0, FIRST);
  CHECK(pp_arena_alloc(&arena, page) >= page);
  CHECK(is_filled(&arena, 0, FIRST, 7));
  pp_arena_fini(&arena);
  pp_arena_fini(&arena);
}

TEST(arena_aligns_blocks) {
  int64_t page = page_size();
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  int wrong = 0;
  for (int64_t size = 1; size < 5 * page; size += 1 + size / 9) {
    int64_t offset = pp_arena_alloc(&arena, size);
    wrong += offset < page || offset % 64 != 0;
    if (size >= page) wrong += offset % page != 0 || !is_filled(&arena, offset, size, 0);
    fill(&arena, offset, size, 0xff);
  }
  CHECK_EQ(wrong, 0);
  pp_arena_fini(&arena);
}

TEST(arena_zeroes_large_blocks_again) {
  int64_t page = page_size(), size = 5 * page;
  for (int refuses = 0; refuses < 2; ++refuses) {
    pp_arena arena;
    REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
    int64_t offset = pp_arena_alloc(&arena, size), end = pp_arena_alloc(&arena, size);
    fill(&arena, offset, size, 1);
    fill(&arena, end, size, 1);
    // pages that can't be given back are wiped
    if (refuses) at_punch = (struct fault){0, 2, EOPNOTSUPP};
    pp_arena_free(&arena, offset, size);
    CHECK_EQ(pp_arena_alloc(&arena, page), offset);
    CHECK(is_filled(&arena, offset, page, 0));
    CHECK_EQ(pp_arena_alloc(&arena, 4 * page), offset + page);
    CHECK(is_filled(&arena, offset, size, 0));
    // this block begins in a gap and ends in the part by which the file grows
    pp_arena_free(&arena, end, size);
    CHECK_EQ(pp_arena_alloc(&arena, 2 * size), end);
    CHECK(is_filled(&arena, end, 2 * size, 0));
    CHECK_EQ(at_punch.fails, 0);
    pp_arena_fini(&arena);
  }
}

TEST(arena_remembers_which_pages_it_must_wipe) {
  int64_t page = page_size();
  for (int refused = 0; refused < 2; ++refused) {
    pp_arena arena;
    REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
    int64_t blocks[2] = {pp_arena_alloc(&arena, page), pp_arena_alloc(&arena, page)};
    for (int i = 0; i < 2; ++i) fill(&arena, blocks[i], page, 1);
    for (int i = 0; i < 2; ++i) {
      if (i == refused) at_punch = (struct fault){0, 1, EOPNOTSUPP};
      pp_arena_free(&arena, blocks[i], page);
    }
    CHECK_EQ(arena.num_gaps, 1);
    CHECK_EQ(pp_arena_alloc(&arena, 2 * page), blocks[0]);
    CHECK(is_filled(&arena, blocks[0], 2 * page, 0));
    pp_arena_fini(&arena);
  }
}

TEST(arena_gives_large_blocks_back_to_the_system) {
  int64_t page = page_size(), size = 1 << 20;
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  int64_t first = pp_arena_alloc(&arena, size), second = pp_arena_alloc(&arena, size);
  CHECK_EQ(file_memory(arena.fd), page + 2 * size);
  pp_arena_free(&arena, first, size);
  CHECK_EQ(file_memory(arena.fd), page + size);
  CHECK_EQ(pp_arena_alloc(&arena, size), first);
  CHECK_EQ(file_memory(arena.fd), page + 2 * size);
  // the gap at the end is used, and the file grows by the rest
  pp_arena_free(&arena, second, size);
  CHECK_EQ(pp_arena_alloc(&arena, 3 * size), second);
  CHECK_EQ(file_memory(arena.fd), page + 4 * size);
  CHECK_EQ(file_size(arena.fd), page + 4 * size);
  pp_arena_free(&arena, second, 3 * size);
  pp_arena_free(&arena, first, size);
  CHECK_EQ(file_memory(arena.fd), page);
  CHECK_EQ(arena.num_gaps, 1);
  CHECK_EQ(arena.used, page);
  pp_arena_fini(&arena);
}

/* random allocations and frees of many blocks, each filled with a number of its own */
enum { BLOCKS = 200, ROUNDS = 20000 };

struct game {
  pp_arena *arena;
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
  game->wrong += !is_filled(game->arena, offset, size, value);
  fill(game->arena, offset, size, 0xff);
  pp_arena_free(game->arena, offset, size);
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
    int64_t offset = pp_arena_alloc(game->arena, size);
    if (offset <= 0) {
      ++game->wrong;
      continue;
    }
    game->wrong += size >= page_size() && !is_filled(game->arena, offset, size, 0);
    fill(game->arena, offset, size, (int)(i + salt));
    game->blocks[i].offset = offset;
    game->blocks[i].size = size;
  }
  for (uint32_t i = 0; i < BLOCKS; ++i) {
    if (game->blocks[i].size) drop(game, i, (int)(i + salt));
  }
  return NULL;
}

/* returns whether the gaps are in order, not adjacent, and inside the file */
static int are_gaps_right(const pp_arena *arena) {
  int64_t end = 0;
  for (int64_t i = 0; i < arena->num_gaps; ++i) {
    if (arena->gaps[i].offset <= end || arena->gaps[i].size <= 0) return 0;
    end = arena->gaps[i].offset + arena->gaps[i].size;
  }
  return end <= arena->size && arena->num_gaps <= arena->num_spans;
}

/* returns the bytes of all free small blocks and all free pages */
static int64_t count_free(const pp_arena *arena) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < arena->num_gaps; ++i) bytes += arena->gaps[i].size;
  for (int i = 0; i < PP_ARENA_CLASSES; ++i) bytes += arena->classes[i].count * (INT64_C(64) << i);
  return bytes;
}

TEST(arena_never_gives_a_byte_twice) {
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  int64_t before = arena.used, spans = 0;
  for (uint32_t again = 0; again < 2; ++again) {
    struct game game = {.arena = &arena, .luck = 12345};
    play(&game);
    CHECK_EQ(game.wrong, 0);
    CHECK_EQ(arena.used, before);
    CHECK(are_gaps_right(&arena));
    CHECK_EQ(file_size(arena.fd), arena.size);
    CHECK_EQ(before + count_free(&arena), arena.size);
    // the same again needs no more pages for small blocks
    if (again) CHECK_EQ(arena.num_spans, spans);
    spans = arena.num_spans;
  }
  pp_arena_fini(&arena);
}

TEST(arena_serves_all_threads) {
  enum { THREADS = 4 };
  struct game games[THREADS];
  pthread_t threads[THREADS];
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  int64_t before = arena.used;
  for (uint32_t i = 0; i < THREADS; ++i) {
    games[i] = (struct game){.arena = &arena, .luck = 1 + 50 * i};
    REQUIRE(pp_os_thread_start(&threads[i], play, &games[i], "player") == PP_OK);
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    CHECK_EQ(games[i].wrong, 0);
  }
  CHECK_EQ(arena.used, before);
  CHECK_EQ(before + count_free(&arena), arena.size);
  CHECK(are_gaps_right(&arena));
  pp_arena_fini(&arena);
}

/* -------------------------------------------------------------------------------- refusals -- */

TEST(arena_refuses_invalid_sizes) {
  pp_arena arena;
  CHECK_EQ(pp_arena_init(&arena, 0, RESERVE), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_arena_init(&arena, -1, RESERVE), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_arena_init(&arena, INT64_MAX, RESERVE), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_arena_init(&arena, FIRST, -1), PP_ERR_ARGUMENT);
  pp_arena_fini(&arena);
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  CHECK_EQ(pp_arena_alloc(&arena, 0), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_arena_alloc(&arena, INT64_MIN), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_arena_alloc(&arena, INT64_MAX), PP_ERR_MEMORY);
  pp_arena_fini(&arena);
}

TEST(arena_knows_what_can_be_a_block) {
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  int64_t page = page_size(), block = pp_arena_alloc(&arena, 3 * page);
  CHECK(pp_arena_contains(&arena, block, 3 * page));
  CHECK(pp_arena_contains(&arena, block + 64, 3 * page - 64));
  CHECK(!pp_arena_contains(&arena, block + 64, 3 * page - 63));
  CHECK(!pp_arena_contains(&arena, block + 1, 10));
  CHECK(!pp_arena_contains(&arena, 0, 10));
  // the first block is never allocated
  CHECK(!pp_arena_contains(&arena, 64, 10));
  CHECK(!pp_arena_contains(&arena, block - 64, 10));
  CHECK(!pp_arena_contains(&arena, -64, 10));
  CHECK(!pp_arena_contains(&arena, block, 0));
  CHECK(!pp_arena_contains(&arena, INT64_MAX / 64 * 64, 10));
  CHECK(!pp_arena_contains(&arena, block, INT64_MAX));
  pp_arena_fini(&arena);
}

TEST(arena_ends_at_its_reserve) {
  int64_t page = page_size();
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, 8 * page) == PP_OK);
  CHECK_EQ(arena.reserve, 8 * page);
  CHECK_EQ(pp_arena_alloc(&arena, 8 * page), PP_ERR_MEMORY);
  int64_t all = pp_arena_alloc(&arena, 7 * page);
  CHECK_EQ(all, page);
  CHECK_EQ(pp_arena_alloc(&arena, 1), PP_ERR_MEMORY);
  CHECK_EQ(pp_arena_alloc(&arena, page), PP_ERR_MEMORY);
  pp_arena_free(&arena, all, 7 * page);
  CHECK_EQ(pp_arena_alloc(&arena, 1), page);
  pp_arena_fini(&arena);
}

TEST(arena_reserves_what_the_machine_has) {
  int64_t page = page_size(), memory = sysconf(_SC_PHYS_PAGES) * page;
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, 0) == PP_OK);
  CHECK_EQ(arena.reserve, memory > 64 << 20 ? memory : 64 << 20);
  // reserved only
  CHECK_EQ(file_memory(arena.fd), page);
  pp_arena_fini(&arena);
}

TEST(arena_reserves_less_where_the_system_refuses) {
  int64_t page = page_size();
  pp_arena arena;
  mmap_limit = 3 << 20;
  CHECK_EQ(pp_arena_init(&arena, FIRST, 0), PP_OK);
  CHECK(arena.reserve <= 3 << 20);
  CHECK(arena.reserve > 1 << 20);
  CHECK_EQ(arena.reserve % page, 0);
  CHECK(pp_arena_alloc(&arena, 1 << 20) > 0);
  pp_arena_fini(&arena);

  // never less than its first block
  CHECK_EQ(pp_arena_init(&arena, 3 << 20, 0), PP_OK);
  CHECK_EQ(arena.reserve, 3 << 20);
  pp_arena_fini(&arena);
  CHECK_EQ(pp_arena_init(&arena, 3 << 20, 1), PP_OK);
  CHECK_EQ(arena.reserve, 3 << 20);
  pp_arena_fini(&arena);
  CHECK_EQ(pp_arena_init(&arena, (3 << 20) + 1, 0), PP_ERR_MEMORY);
  pp_arena_fini(&arena);
  CHECK_EQ(pp_arena_attach(&arena, 0, 4 << 20), PP_ERR_MEMORY);
  pp_arena_fini(&arena);
  mmap_limit = SIZE_MAX;
}

TEST(arena_is_not_made_without_memory) {
  int free_fd = dup(0);
  close(free_fd);
  for (int call = 0; call < 2; ++call) {
    pp_arena arena;
    at_fallocate = (struct fault){call, 1, ENOMEM};
    CHECK_EQ(pp_arena_init(&arena, 5 << 20, RESERVE), PP_ERR_MEMORY);
    CHECK_EQ(at_fallocate.fails, 0);
    pp_arena_fini(&arena);
  }
  // no file is left open
  int fd = dup(0);
  CHECK_EQ(fd, free_fd);
  close(fd);
}

/* checks that an allocation during which a call fails changes nothing */
static void refuse_growth(pp_arena *arena, int64_t size, struct fault *at, struct fault fault) {
  int64_t old_size = arena->size, used = arena->used, memory = file_memory(arena->fd);
  *at = fault;
  CHECK_EQ(pp_arena_alloc(arena, size), PP_ERR_MEMORY);
  CHECK_EQ(at->fails, 0);
  *at = none;
  CHECK_EQ(arena->size, old_size);
  CHECK_EQ(arena->used, used);
  CHECK_EQ(file_size(arena->fd), old_size);
  CHECK_EQ(file_memory(arena->fd), memory);
  CHECK(are_gaps_right(arena));
}

TEST(arena_works_on_when_it_can_not_grow) {
  int64_t page = page_size(), large = 10 << 20;
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  int64_t small = pp_arena_alloc(&arena, 100), block = pp_arena_alloc(&arena, 3 * page);
  int64_t gap = pp_arena_alloc(&arena, 2 * page);
  fill(&arena, 0, FIRST, 1);
  fill(&arena, small, 100, 2);
  fill(&arena, block, 3 * page, 3);
  fill(&arena, gap, 2 * page, 4);
  for (int has_gap = 0; has_gap < 2; ++has_gap) {
    // a gap at the end is allocated again before the file grows
    if (has_gap) pp_arena_free(&arena, gap, 2 * page);
    for (int passes = 0; passes < 3; ++passes) {
      refuse_growth(&arena, large, &at_fallocate, (struct fault){passes, 1, ENOMEM});
    }
    CHECK(is_filled(&arena, 0, FIRST, 1));
    CHECK(is_filled(&arena, small, 100, 2));
    CHECK(is_filled(&arena, block, 3 * page, 3));
  }
  // the gap is still usable, and growth works once there is memory
  CHECK_EQ(pp_arena_alloc(&arena, page), gap);
  int64_t grown = pp_arena_alloc(&arena, large);
  CHECK_EQ(grown, gap + page);
  CHECK(is_filled(&arena, grown, large, 0));
  pp_arena_fini(&arena);
}

TEST(arena_works_on_when_a_gap_can_not_be_allocated) {
  int64_t page = page_size();
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  int64_t gap = pp_arena_alloc(&arena, 8 * page);
  CHECK(pp_arena_alloc(&arena, page) > gap);
  pp_arena_free(&arena, gap, 8 * page);
  refuse_growth(&arena, 4 * page, &at_fallocate, (struct fault){0, 1, ENOMEM});
  refuse_growth(&arena, 1, &at_fallocate, (struct fault){0, 1, ENOMEM});
  CHECK_EQ(pp_arena_alloc(&arena, 8 * page), gap);
  CHECK(is_filled(&arena, gap, 8 * page, 0));
  pp_arena_fini(&arena);
}

TEST(arena_works_on_without_memory_for_its_records) {
  int64_t page = page_size();
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  refuse_growth(&arena, page, &at_realloc, (struct fault){0, 1, ENOMEM});
  refuse_growth(&arena, 64, &at_realloc, (struct fault){0, 1, ENOMEM});
  refuse_growth(&arena, 64, &at_realloc, (struct fault){1, 1, ENOMEM});
  int64_t small = pp_arena_alloc(&arena, 64), large = pp_arena_alloc(&arena, page);
  CHECK(small > 0);
  CHECK(large > 0);
  // freeing allocates none
  at_realloc = (struct fault){0, 1, ENOMEM};
  pp_arena_free(&arena, small, 64);
  pp_arena_free(&arena, large, page);
  CHECK_EQ(at_realloc.fails, 1);
  at_realloc = none;
  CHECK_EQ(pp_arena_alloc(&arena, 64), small);
  pp_arena_fini(&arena);
}

/* called in a child, because the limit is the whole process's */
static int is_refused_by_a_limit(void) {
  struct rlimit limit = {2 << 20, RLIM_INFINITY};
  pp_arena arena;
  signal(SIGXFSZ, SIG_IGN);  // as Python does
  if (pp_arena_init(&arena, FIRST, RESERVE) != PP_OK) return 0;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = 2 << 20;
  setrlimit(RLIMIT_FSIZE, &limit);
  int status = (int)pp_arena_alloc(&arena, 4 << 20);
  int is_right = status == PP_ERR_MEMORY && pp_arena_alloc(&arena, 1 << 20) > 0;
  pp_arena_fini(&arena);
  return is_right;
}

TEST(arena_survives_a_real_file_size_limit) {
  pid_t child = fork();
  if (child == 0) _exit(is_refused_by_a_limit() ? 0 : 1);
  CHECK(ends_well(child));
}

/* ------------------------------------------------------------------------- other processes -- */

/* A worker that maps the file at another address: it answers each offset with the byte there. */
static int serve(int fd, int64_t reserve, int in, int out) {
  pp_arena arena;
  int64_t offset;
  if (pp_arena_attach(&arena, fd, reserve) != PP_OK) return 0;
  close(fd);
  while (read(in, &offset, sizeof(offset)) == sizeof(offset)) {
    char *place = pp_arena_at(&arena, offset);
    if (write(out, place, 1) != 1) return 0;
    ++*place;
  }
  // it has no records of blocks, so it can neither allocate nor free
  int is_right = pp_arena_alloc(&arena, 64) == PP_ERR_STATE;
  pp_arena_free(&arena, offset, 64);
  pp_arena_fini(&arena);
  return is_right && !arena.base;
}

TEST(arena_grows_under_a_worker) {
  int to[2], from[2];
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  REQUIRE(pipe(to) == 0 && pipe(from) == 0);
  pid_t child = fork();
  if (child == 0) {
    close(to[1]);
    _exit(serve(arena.fd, arena.reserve, to[0], from[1]) ? 0 : 1);
  }
  for (int64_t size = 64; size < 8 << 20; size *= 3) {
    int64_t offset = pp_arena_alloc(&arena, size), last = offset + size - 1;
    char *place = pp_arena_at(&arena, last), seen = 0;
    *place = 41;
    CHECK_EQ(write(to[1], &last, sizeof(last)), sizeof(last));
    CHECK_EQ(read(from[0], &seen, 1), 1);
    CHECK_EQ(seen, 41);
  }
  for (int i = 0; i < 2; ++i) close(to[i]);
  CHECK(ends_well(child));
  for (int i = 0; i < 2; ++i) close(from[i]);
  pp_arena_fini(&arena);
}

/* returns whether a forked child can read and write blocks, but neither allocate nor free them */
static int is_harmless(pp_arena *arena, int64_t offset, int64_t size) {
  int is_right = is_filled(arena, offset, size, 5);
  is_right &= pp_arena_alloc(arena, 64) == PP_ERR_FORKED;
  is_right &= pp_arena_alloc(arena, 1 << 20) == PP_ERR_FORKED;
  pp_arena_free(arena, offset, size);
  is_right &= is_filled(arena, offset, size, 5);
  fill(arena, offset, size, 6);
  pp_arena_fini(arena);
  return is_right;
}

TEST(arena_is_left_alone_by_a_forked_child) {
  int64_t size = 3 * page_size();
  pp_arena arena;
  REQUIRE(pp_arena_init(&arena, FIRST, RESERVE) == PP_OK);
  int64_t offset = pp_arena_alloc(&arena, size), used = arena.used;
  fill(&arena, offset, size, 5);

  // as if another thread held the lock at the fork: a child that took it would wait for ever
  pthread_mutex_lock(&arena.lock);
  pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(is_harmless(&arena, offset, size) ? 0 : 1);
  }
  CHECK(ends_well(child));
  pthread_mutex_unlock(&arena.lock);

  CHECK(is_filled(&arena, offset, size, 6));
  CHECK_EQ(arena.used, used);
  pp_arena_free(&arena, offset, size);
  CHECK_EQ(pp_arena_alloc(&arena, size), offset);
  pp_arena_fini(&arena);
}
