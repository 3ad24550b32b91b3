/* Packed bytes of any kind: pp_unpack refuses them, or fills memory of exactly the size that they
 * are said to have; what it has unpacked survives packing. The first two bytes of an input are the
 * size. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "fuzz.h"

enum { SIZE_BYTES = 2 };

/* what examples are made of */
enum { ZEROS, SCREEN, NOISE, MIXTURE, KINDS };

static const size_t sizes[] = {5, 8, 1000, 4003, 20000};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

/* Returns memory of exactly this size, so that a sanitizer sees a write behind its end. */
static uint8_t *allocate(size_t size, int content) {
  uint8_t *bytes = malloc(size ? size : 1);
  if (!bytes) abort();
  memset(bytes, content, size);
  return bytes;
}

static void check_packing(const uint8_t *bytes, size_t size) {
  const size_t room = pp_pack_bound(size);
  uint8_t *packed = allocate(room, 0), *back = allocate(size, 0);
  const size_t written = pp_pack(bytes, size, packed);
  if (written > room || !pp_unpack(packed, written, back, size)) abort();
  if (memcmp(back, bytes, size) != 0) abort();
  free(packed);
  free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < SIZE_BYTES) return 0;
  const uint8_t *packed = data + SIZE_BYTES;
  const size_t packed_size = size - SIZE_BYTES, wanted = (size_t)data[0] | (size_t)data[1] << 8;
  uint8_t *bytes = allocate(wanted, 0), *other = allocate(wanted, 0xff);
  const bool is_unpacked = pp_unpack(packed, packed_size, bytes, wanted);
  // without memory it only checks, and must come to the same result
  if (pp_unpack(packed, packed_size, NULL, wanted) != is_unpacked) abort();
  if (pp_unpack(packed, packed_size, other, wanted) != is_unpacked) abort();
  if (is_unpacked) {
    // nothing is left of what the memory held before
    if (memcmp(other, bytes, wanted) != 0) abort();
    check_packing(bytes, wanted);
  }
  free(bytes);
  free(other);
  return 0;
}

static void fill(uint8_t *bytes, size_t size, int kind) {
  uint32_t x = (uint32_t)size;
  for (size_t i = 0; i < size; i++) {
    x = x * 1664525u + 1013904223u;
    const uint8_t noise = (uint8_t)(x >> 24);
    switch (kind) {
      case ZEROS: bytes[i] = 0; break;
      // lines of 160 pixels, each like the one before but for a few
      case SCREEN: bytes[i] = noise < 2 ? noise : (uint8_t)(i % 160 * 7); break;
      case NOISE: bytes[i] = noise; break;
      default: bytes[i] = i % 320 < 240 ? (uint8_t)(i % 24) : noise;
    }
  }
}

size_t fuzz_example(int number, uint8_t bytes[FUZZ_BYTES]) {
  if (number >= KINDS * (int)SIZES) return 0;
  const size_t size = sizes[number / KINDS];
  uint8_t *plain = allocate(size, 0);
  fill(plain, size, number % KINDS);
  if (SIZE_BYTES + pp_pack_bound(size) > FUZZ_BYTES) abort();
  bytes[0] = (uint8_t)(size & 0xff);
  bytes[1] = (uint8_t)(size >> 8);
  const size_t written = pp_pack(plain, size, bytes + SIZE_BYTES);
  free(plain);
  return SIZE_BYTES + written;
}
