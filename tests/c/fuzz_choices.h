/* For fuzz targets whose input is a sequence of choices: what is called, and with what. */
#ifndef PP_TESTS_FUZZ_CHOICES_H
#define PP_TESTS_FUZZ_CHOICES_H

#include <string.h>

#include "fuzz.h"

enum { RANDOM_EXAMPLES = 1000 };

/* an input, and how much of it was used */
typedef struct choices {
  const uint8_t *bytes;
  size_t size;
  size_t read;
} choices;

/* Copies the next bytes of an input; those behind its end are left as they are. */
static void choose_into(choices *from, void *out, size_t size) {
  const size_t left = from->size - from->read;
  const size_t count = left < size ? left : size;
  memcpy(out, from->bytes + from->read, count);
  from->read += count;
}

/* An example of random bytes: see fuzz_example. */
static size_t random_example(int number, uint8_t *bytes, size_t size) {
  uint64_t state = (uint64_t)number;
  if (number >= RANDOM_EXAMPLES) return 0;
  for (size_t i = 0; i < size; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = (uint8_t)(state >> 56);
  }
  return size;
}

#endif
