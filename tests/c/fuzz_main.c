/* Runs a fuzz target with changed examples: PROGRAM [INPUTS [SEED]]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { DEFAULT_INPUTS = 1000, MOST_CHANGES = 8 };

/* what is running, for the message of a death */
static long long number;
static unsigned long long seed = 1;

static uint64_t state;

/* splitmix64 */
static uint64_t next(void) {
  uint64_t x = state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static size_t below(size_t limit) {
  return limit ? (size_t)(next() % limit) : 0;
}

/* numbers at which checks of ranges go wrong */
static void put_number(uint8_t *bytes, size_t size) {
  static const uint64_t numbers[] = {0,          1,         0x7f,       0x80,       0xff,
                                     0x7fff,     0xffff,    0x7fffffff, 0x80000000, 0xffffffff,
                                     UINT64_MAX, INT64_MAX, 0x40,       0x1000,     6};
  const uint64_t value = numbers[below(sizeof(numbers) / sizeof(*numbers))];
  const size_t width = (size_t)1 << below(4);
  if (size < width) return;
  memcpy(bytes + below(size - width + 1), &value, width);
}

/* copies a part over another one, or moves what is behind it, which changes the size */
static size_t splice(uint8_t *bytes, size_t size) {
  const size_t from = below(size), to = below(size);
  size_t count = 1 + below(size - (from > to ? from : to));
  if (next() & 1) {
    memmove(bytes + to, bytes + from, count);
    return size;
  }
  if (next() & 1) {
    memmove(bytes + from, bytes + from + count, size - from - count);
    return size - count;
  }
  if (count > FUZZ_BYTES - size) count = FUZZ_BYTES - size;
  memmove(bytes + from + count, bytes + from, size - from);
  return size + count;
}

/* changes an input once; returns its new size */
static size_t change(uint8_t *bytes, size_t size) {
  if (size == 0) {
    bytes[0] = (uint8_t)next();
    return 1;
  }
  switch (below(6)) {
    case 0: bytes[below(size)] ^= (uint8_t)(1u << below(8)); break;
    case 1: bytes[below(size)] = (uint8_t)next(); break;
    case 2: bytes[below(size)] += (uint8_t)(next() & 1 ? 1 : -1); break;
    case 3: put_number(bytes, size); break;
    case 4: return below(16) ? size : below(size + 1);
    default: return below(4) ? size : splice(bytes, size);
  }
  return size;
}

static size_t make_input(uint8_t bytes[FUZZ_BYTES], int examples) {
  size_t size = fuzz_example((int)below((size_t)examples), bytes);
  for (size_t left = below(MOST_CHANGES + 1); left > 0; left--) size = change(bytes, size);
  return size;
}

/* in memory of exactly this size, so that a sanitizer sees a read behind its end */
static void run(const uint8_t *bytes, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  if (!copy) abort();
  memcpy(copy, bytes, size);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
}

static void say_where(void) {
  fprintf(stderr, "input %lld of seed %llu\n", number, seed);
}

/* of the sanitizers, if there is one */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

int main(int argc, char **argv) {
  static uint8_t bytes[FUZZ_BYTES];
  const long long inputs = argc > 1 ? atoll(argv[1]) : DEFAULT_INPUTS;
  int examples = 0;
  if (argc > 2) seed = strtoull(argv[2], NULL, 0);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(say_where);
  while (fuzz_example(examples, bytes) > 0) examples++;
  for (number = 0; number < inputs; number++) {
    state = seed * 0x2545f4914f6cdd1du + (uint64_t)number;
    run(bytes, make_input(bytes, examples));
  }
  printf("%s: %lld inputs\n", argv[0], inputs);
  return examples == 0 || inputs <= 0;
}
