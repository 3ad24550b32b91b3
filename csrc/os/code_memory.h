/* Code memory: memory for machine code that is made at run time. */
#ifndef PP_OS_CODE_MEMORY_H
#define PP_OS_CODE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Copies `size` bytes of machine code into pages of their own, which can be read and executed but
 * not written. Returns null if there is no memory, or if the system forbids it. */
void *pp_code_memory_create(const uint8_t *code, size_t size);

/* Frees what pp_code_memory_create returned; null is allowed. Nothing may run in it. */
void pp_code_memory_destroy(void *memory, size_t size);

#endif
