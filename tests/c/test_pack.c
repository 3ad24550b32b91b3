/* Packing: any data survives packing, and unpacking damaged data stays inside its memory. */
#include <stdint.h>
#include <stdlib.h>

#include "base/pack.h"
#include "check.h"

enum { MAX = 1 << 20 };

static uint32_t draws = 1;

static uint32_t draw(void) {
  draws = draws * 1664525 + 1013904223;
  return draws >> 16;
}

/* Packs and unpacks, with memory of the exact size. Returns the packed size. */
static size_t there_and_back(const char *bytes, size_t size) {
  size_t room = pp_pack_bound(size);
  char *packed = malloc(room), *back = malloc(size + 1);
  size_t written = pp_pack(bytes, size, packed);
  char *exact = malloc(written);

  memcpy(exact, packed, written);
  CHECK(written <= room);
  CHECK(pp_unpack(exact, written, NULL, size));
  CHECK(pp_unpack(exact, written, back, size) && memcmp(bytes, back, size) == 0);
  // unpacking to any other size is refused
  CHECK(!pp_unpack(exact, written, NULL, size + 1));
  CHECK(!size || !pp_unpack(exact, written, NULL, size - 1));
  CHECK(!pp_unpack(exact, written - 1, NULL, size));
  free(packed);
  free(exact);
  free(back);
  return written;
}

TEST(noise_survives_packing_and_stays_within_the_bound) {
  char *bytes = malloc(MAX);
  for (size_t i = 0; i < MAX; i++) bytes[i] = (char)draw();
  for (size_t size = 0; size < 70; size++) there_and_back(bytes, size);
  CHECK_EQ(there_and_back(bytes, MAX), MAX + 3 * 8);
  // as many words as fit into a part, and one more or less
  for (size_t words = 65534; words <= 65537; words++) there_and_back(bytes, words * 8 + 3);
  free(bytes);
}

TEST(repeated_data_shrinks) {
  char *bytes = calloc(1, MAX);
  CHECK(there_and_back(bytes, MAX) < 100);
  // lines of a screen, each like the one before but for a byte
  for (size_t i = 0; i < MAX; i++) bytes[i] = (char)(i % 160 * 7);
  for (size_t i = 0; i + 160 <= MAX; i += 160) bytes[i + draw() % 160] = (char)draw();
  CHECK(there_and_back(bytes, MAX) < MAX / 4);
  free(bytes);
}

TEST(all_mixtures_survive_packing) {
  static char bytes[8192];
  for (int round = 0; round < 2000; round++) {
    size_t size = draw() % sizeof(bytes), at = 0;
    while (at < size) {
      size_t length = draw() % 300 + 1, distance = draw() % 200 + 1;
      int repeats = draw() % 2 && distance <= at;
      for (; length && at < size; length--, at++) {
        bytes[at] = repeats ? bytes[at - distance] : (char)(draw() % 5 ? 0 : draw());
      }
    }
    there_and_back(bytes, size);
  }
}

TEST(damage_is_detected_or_harmless) {
  enum { SIZE = 4003 };
  char bytes[SIZE], back[SIZE];
  for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)(i % 160 < 100 ? 3 : draw() % 4);
  char *packed = malloc(pp_pack_bound(SIZE));
  size_t size = pp_pack(bytes, SIZE, packed), refused = 0;
  for (size_t bit = 0; bit < size * 8; bit++) {
    // memory of the exact size, so that the sanitizers see what goes past its end
    char *worse = malloc(size);
    memcpy(worse, packed, size);
    worse[bit / 8] ^= (char)(1 << bit % 8);
    refused += !pp_unpack(worse, size, back, SIZE);
    free(worse);
  }
  CHECK(refused > 0);
  for (size_t shorter = 0; shorter < size; shorter++) {
    char *part = malloc(shorter + 1);
    memcpy(part, packed, shorter);
    CHECK(!pp_unpack(part, shorter, back, SIZE));
    free(part);
  }
  free(packed);
}
