/* Shared memory: a file without a name that processes map once, and that grows while it is mapped.
 *
 * Touching a page for which the file has no memory raises SIGBUS. So all pages are allocated before
 * they are used, and the call that grows the file returns an error if memory is lacking. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "os.h"
#include "pp_env.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

enum {
  CHUNK = 4 << 20, /* bytes allocated in one call */
  MAX_PATH = 1024,
  MAX_TRIES = 100 /* file names to try, as others may exist already */
};

/* returns the pp_status of an errno */
static int status_of(int failed) {
  switch (failed) {
    case 0: return PP_OK;
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return PP_ERR_MEMORY;
    default: return PP_ERR_SYSTEM;
  }
}

/* -------------------------------------------------------------------------------- creating -- */

/* For systems without memfd_create. macOS has shm_open, but its memory can't be resized, and a
 * mapping can't exceed its size. PP_OS_FILE selects this on Linux (tests/c/test_os_table.c). */
static int open_file(void) {
  static _Atomic uint32_t files;
  const char *folder = getenv("TMPDIR");
  char path[MAX_PATH];
  for (int tries = 0; tries < MAX_TRIES; tries++) {
    unsigned number = atomic_fetch_add_explicit(&files, 1, memory_order_relaxed);
    int length = snprintf(path, sizeof(path), "%s/parallel_pool-%ld-%u",
                          folder && *folder ? folder : "/tmp", (long)getpid(), number);
    if (length < 0 || length >= MAX_PATH) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) unlink(path);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

#if defined(SYS_memfd_create) && !defined(PP_OS_FILE)

static int open_memory(const char *name) {
  // MFD_CLOEXEC and MFD_ALLOW_SEALING, MFD_NOEXEC_SEAL
  const unsigned flags = 1 | 2, not_executable = 8;
  long fd = syscall(SYS_memfd_create, name, flags | not_executable);
  // older kernels don't know MFD_NOEXEC_SEAL, newer ones may require it
  if (fd < 0 && errno == EINVAL) fd = syscall(SYS_memfd_create, name, flags);
  return (int)fd;
}

int pp_os_shared_seal(int fd) {
  const int add_seals = 1033, seal = 1, shrink = 2;  // F_ADD_SEALS, F_SEAL_SEAL, F_SEAL_SHRINK
  return fcntl(fd, add_seals, seal | shrink) ? PP_ERR_SYSTEM : PP_OK;
}

#else

static int open_memory(const char *name) {
  (void)name;
  return -1;
}

int pp_os_shared_seal(int fd) {
  (void)fd;
  return PP_ERR_SYSTEM;
}

#endif

int pp_os_shared_create(int64_t size, const char *name) {
  int fd = open_memory(name);
  if (fd < 0) fd = open_file();
  if (fd < 0) return status_of(errno);
  int status = pp_os_shared_grow(fd, 0, size);
  if (status == PP_OK) return fd;
  close(fd);
  return status;
}

/* --------------------------------------------------------------------------------- growing -- */

#if defined(__linux__) && !defined(PP_OS_FILE)

static int allocate_chunk(int fd, int64_t offset, int64_t size) {
  return fallocate(fd, 0, offset, size) == 0 ? 0 : errno;
}

#elif defined(__APPLE__)

/* macOS has no call that allocates pages inside a file, so they are written */
static int allocate_chunk(int fd, int64_t offset, int64_t size) {
  static const char zeros[4096];
  while (size > 0) {
    ssize_t written = pwrite(fd, zeros, size < 4096 ? (size_t)size : 4096, offset);
    if (written < 0) return errno;
    offset += written;
    size -= written;
  }
  return 0;
}

#else

static int allocate_chunk(int fd, int64_t offset, int64_t size) {
  return posix_fallocate(fd, offset, size);
}

#endif

/* allocates a range of the file; returns 0 or an errno */
static int allocate(int fd, int64_t offset, int64_t size) {
  int64_t end = offset + size;
  while (offset < end) {
    // a signal undoes the whole call: small calls succeed, however often a profiler's timer fires
    int64_t chunk = end - offset < CHUNK ? end - offset : CHUNK;
    int failed = allocate_chunk(fd, offset, chunk);
    if (failed == EINTR) continue;
    if (failed) return failed;
    offset += chunk;
  }
  return 0;
}

static int set_size(int fd, int64_t size) {
  int failed;
  do {
    failed = ftruncate(fd, size) ? errno : 0;
  } while (failed == EINTR);
  return failed;
}

int64_t pp_os_shared_size(int fd) {
  struct stat file;
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) != O_RDWR) return -1;
  return fstat(fd, &file) || !S_ISREG(file.st_mode) ? -1 : (int64_t)file.st_size;
}

int pp_os_shared_grow(int fd, int64_t old_size, int64_t new_size) {
  // allocating also lengthens the file, so no byte of it is ever without memory
  int failed = allocate(fd, old_size, new_size - old_size);
  if (failed && set_size(fd, old_size)) pp_os_shared_release(fd, old_size, new_size - old_size);
  return status_of(failed);
}

/* --------------------------------------------------------------------------------- mapping -- */

void *pp_os_shared_map(int fd, int64_t reserve) {
  int flags = MAP_SHARED | MAP_NORESERVE;
  void *memory = mmap(NULL, (size_t)reserve, PROT_READ | PROT_WRITE, flags, fd, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

void pp_os_shared_unmap(void *memory, int64_t reserve) {
  if (memory) munmap(memory, (size_t)reserve);
}

void pp_os_shared_detach(void *memory, int64_t reserve, int fd) {
  int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  if (mmap(memory, (size_t)reserve, PROT_READ | PROT_WRITE, flags, fd, 0) != MAP_FAILED) return;
  mprotect(memory, (size_t)reserve, PROT_READ);
}

/* -------------------------------------------------------------------------------- releasing -- */

#if defined(__linux__) && !defined(PP_OS_FILE)

static int punch(int fd, int64_t offset, int64_t size) {
  int failed;
  do {
    failed = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size) ? errno : 0;
  } while (failed == EINTR);
  return failed;
}

int pp_os_shared_release(int fd, int64_t offset, int64_t size) {
  return punch(fd, offset, size) ? PP_ERR_SYSTEM : PP_OK;
}

int pp_os_shared_allocate(int fd, int64_t offset, int64_t size) {
  int failed = allocate(fd, offset, size);
  if (failed) punch(fd, offset, size);
  return status_of(failed);
}

#else

int pp_os_shared_release(int fd, int64_t offset, int64_t size) {
  (void)fd;
  (void)offset;
  (void)size;
  return PP_ERR_SYSTEM;
}

int pp_os_shared_allocate(int fd, int64_t offset, int64_t size) {
  // it was never released
  (void)fd;
  (void)offset;
  (void)size;
  return PP_OK;
}

#endif
