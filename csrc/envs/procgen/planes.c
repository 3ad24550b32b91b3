/* Takes the channels of pixels apart, 16 pixels at a time.
 *
 * Of 48 bytes, byte i goes to 16 i mod 47 (and byte 47 stays), since 3 x 16 = 1 mod 47.
 * Interleaving both halves takes byte i to 2 i mod 47, and every processor has instructions for
 * that: four times give the planes. A plain loop takes a tenth of a cheap game's step. */
#include "planes.h"

#include <string.h>

enum { LANES = 16 };

typedef uint8_t bytes __attribute__((vector_size(LANES)));
typedef uint64_t halves __attribute__((vector_size(LANES)));

#ifdef __clang__
#define SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif

/* interleaves the first halves of two vectors */
static bytes zip(bytes a, bytes b) {
  return SHUFFLE(bytes, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

/* returns the second half in the place of the first */
static bytes second(bytes a) {
  return (bytes)SHUFFLE(halves, (halves)a, (halves)a, 1, 1);
}

void procgen_write_planes(const uint8_t *rgb, uint8_t *planes, int32_t num_pixels) {
  bytes part[3];
  for (int32_t i = 0; i < num_pixels; i += LANES) {
    memcpy(part, rgb + 3 * i, sizeof(part));
    for (int32_t turn = 0; turn < 4; turn++) {
      bytes a = part[0], b = part[1], c = part[2];
      part[0] = zip(a, second(b));
      part[1] = zip(second(a), c);
      part[2] = zip(b, second(c));
    }
    for (int32_t plane = 0; plane < 3; plane++) {
      memcpy(planes + plane * num_pixels + i, &part[plane], LANES);
    }
  }
}
