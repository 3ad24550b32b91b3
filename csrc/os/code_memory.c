/* Code memory: memory for machine code that is made at run time. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "code_memory.h"

#include <string.h>
#include <sys/mman.h>

void *pp_code_memory_create(const uint8_t *code, size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  memcpy(memory, code, size);
  // never writable and executable at once, which hardened systems refuse
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) == 0) return memory;
  munmap(memory, size);
  return NULL;
}

void pp_code_memory_destroy(void *memory, size_t size) {
  if (memory) munmap(memory, size);
}
