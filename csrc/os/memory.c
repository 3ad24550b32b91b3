/* Memory: allocates pages, and places them on NUMA nodes. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE

#include <sys/mman.h>
#include <unistd.h>

#include "os.h"
#include "pp_env.h"

/* mmap refuses an empty range, which a pool of environments without state needs */
static size_t at_least_one(size_t size) {
  return size ? size : 1;
}

void *pp_os_pages_alloc(size_t size) {
  int flags = MAP_PRIVATE | MAP_ANON;
  void *memory = mmap(NULL, at_least_one(size), PROT_READ | PROT_WRITE, flags, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

void pp_os_pages_free(void *memory, size_t size) {
  if (memory) munmap(memory, at_least_one(size));
}

#if defined(__linux__)

#include <linux/mempolicy.h>
#include <string.h>
#include <sys/syscall.h>

enum {
  MAX_NODE_IDS = 1024, /* node ids of any kernel (CONFIG_NODES_SHIFT is at most 10) */
  WORD_BITS = 8 * sizeof(unsigned long)
};

int pp_os_pages_bind(void *memory, size_t size, const int32_t *nodes, int32_t count) {
  unsigned long mask[MAX_NODE_IDS / WORD_BITS];
  memset(mask, 0, sizeof(mask));
  for (int32_t i = 0; i < count; i++) {
    if (nodes[i] < 0 || nodes[i] >= MAX_NODE_IDS) return PP_ERR_SYSTEM;
    mask[nodes[i] / WORD_BITS] |= 1ul << (nodes[i] % WORD_BITS);
  }

  // pages at the edges contain bytes of neighbouring ranges too, so they keep their policy
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t begin = ((uintptr_t)memory + page - 1) / page * page;
  uintptr_t end = ((uintptr_t)memory + size) / page * page;
  if (begin >= end) return PP_OK;

  // the kernel reads one bit fewer than this number
  int mode = count == 1 ? MPOL_PREFERRED : MPOL_INTERLEAVE;
  long failed = syscall(SYS_mbind, begin, end - begin, mode, mask, MAX_NODE_IDS + 1ul, 0);
  return failed ? PP_ERR_SYSTEM : PP_OK;
}

#else

int pp_os_pages_bind(void *memory, size_t size, const int32_t *nodes, int32_t count) {
  (void)memory;
  (void)size;
  (void)nodes;
  (void)count;
  return PP_ERR_SYSTEM;
}

#endif
