/* numpy.random.RandomState: MT19937 with the draws of NumPy's older generator. */
#include "random_state.h"

#include <math.h>

enum { WORDS = PP_MT19937_WORDS };

/* M. Matsumoto's and T. Nishimura's init_by_array */
static void seed_with_words(pp_mt19937 *bits, const uint32_t *words, int32_t num_words) {
  uint32_t *word = bits->word;
  int32_t i = 1, j = 0;

  pp_mt19937_seed(bits, 19650218u);
  for (int32_t k = num_words > WORDS ? num_words : WORDS; k; k--) {
    word[i] = (word[i] ^ ((word[i - 1] ^ (word[i - 1] >> 30)) * 1664525u)) + words[j] + (uint32_t)j;
    i++, j++;
    if (i >= WORDS) word[0] = word[WORDS - 1], i = 1;
    if (j >= num_words) j = 0;
  }
  for (int32_t k = WORDS - 1; k; k--) {
    word[i] = (word[i] ^ ((word[i - 1] ^ (word[i - 1] >> 30)) * 1566083941u)) - (uint32_t)i;
    i++;
    if (i >= WORDS) word[0] = word[WORDS - 1], i = 1;
  }
  word[0] = 0x80000000u;
}

void pp_random_state_seed(pp_random_state *it, const uint32_t *words, int32_t num_words) {
  it->has_gauss = 0;
  it->gauss = 0;
  if (num_words == 1) {
    pp_mt19937_seed(&it->bits, words[0]);
  } else {
    seed_with_words(&it->bits, words, num_words);
  }
}

double pp_random_state_rand(pp_random_state *it) {
  uint32_t high = pp_mt19937_next(&it->bits) >> 5, low = pp_mt19937_next(&it->bits) >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double pp_random_state_uniform(pp_random_state *it, double low, double high) {
  double range = high - low;
  return low + range * pp_random_state_rand(it);
}

/* G. Marsaglia's polar method makes two numbers at once. */
double pp_random_state_randn(pp_random_state *it) {
  double x, y, square;

  if (it->has_gauss) {
    double kept = it->gauss;
    it->has_gauss = 0;
    it->gauss = 0;
    return kept;
  }
  do {
    x = 2.0 * pp_random_state_rand(it) - 1.0;
    y = 2.0 * pp_random_state_rand(it) - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  double factor = sqrt(-2.0 * log(square) / square);
  it->gauss = factor * x;
  it->has_gauss = 1;
  return factor * y;
}

static uint32_t next32(pp_random_state *it) {
  return pp_mt19937_next(&it->bits);
}

static uint64_t next64(pp_random_state *it) {
  uint64_t high = next32(it);
  return high << 32 | next32(it);
}

int64_t pp_random_state_randint(pp_random_state *it, int64_t high) {
  uint64_t most = (uint64_t)high - 1, mask = most, value;

  if (!most) return 0;
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  do value = (most <= UINT32_MAX ? next32(it) : next64(it)) & mask;
  while (value > most);
  return (int64_t)value;
}

int32_t pp_random_state_choice(pp_random_state *it, const double *chances, int32_t count) {
  double total = 0, sum = 0, drawn = pp_random_state_rand(it);

  for (int32_t i = 0; i < count; i++) total += chances[i];
  for (int32_t i = 0; i < count - 1; i++) {
    sum += chances[i];
    if (drawn < sum / total) return i;
  }
  return count - 1;
}
