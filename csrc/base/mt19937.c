/* MT19937: M. Matsumoto and T. Nishimura's Mersenne Twister (ACM TOMACS 8, 1998), 32 bits. */
#include "mt19937.h"

enum { MIDDLE = 397 };

static const uint32_t TWIST = 0x9908b0dfu;

void pp_mt19937_seed(pp_mt19937 *state, uint32_t seed) {
  uint32_t *word = state->word;
  word[0] = seed;
  for (uint32_t i = 1; i < PP_MT19937_WORDS; i++) {
    word[i] = 1812433253u * (word[i - 1] ^ (word[i - 1] >> 30)) + i;
  }
  state->next = PP_MT19937_WORDS;
}

/* one step of the recurrence, on the high bit of a word and the low bits of the next */
static uint32_t twist(uint32_t high, uint32_t low, uint32_t middle) {
  uint32_t joined = (high & 0x80000000u) | (low & 0x7fffffffu);
  return middle ^ (joined >> 1) ^ (TWIST & (0u - (joined & 1u)));
}

/* make the next 624 words; with three loops no index needs a modulo, and gcc vectorizes two of
 * them */
static void refill(pp_mt19937 *state) {
  uint32_t *word = state->word;
  const int split = PP_MT19937_WORDS - MIDDLE;
  for (int i = 0; i < split; i++) word[i] = twist(word[i], word[i + 1], word[i + MIDDLE]);
  for (int i = split; i < PP_MT19937_WORDS - 1; i++) {
    word[i] = twist(word[i], word[i + 1], word[i - split]);
  }
  word[PP_MT19937_WORDS - 1] = twist(word[PP_MT19937_WORDS - 1], word[0], word[MIDDLE - 1]);
  state->next = 0;
}

uint32_t pp_mt19937_next(pp_mt19937 *state) {
  if (state->next >= PP_MT19937_WORDS) refill(state);
  uint32_t bits = state->word[state->next++];

  // tempering mixes the bits, which the recurrence alone leaves linearly related
  bits ^= bits >> 11;
  bits ^= (bits << 7) & 0x9d2c5680u;
  bits ^= (bits << 15) & 0xefc60000u;
  return bits ^ (bits >> 18);
}

/* method: Lemire, "Fast random integer generation in an interval", 2019 */
uint32_t pp_mt19937_below(pp_mt19937 *state, uint32_t n) {
  uint64_t product = (uint64_t)pp_mt19937_next(state) * n;
  if ((uint32_t)product < n) {
    uint32_t threshold = (0u - n) % n;
    while ((uint32_t)product < threshold) product = (uint64_t)pp_mt19937_next(state) * n;
  }
  return (uint32_t)(product >> 32);
}
