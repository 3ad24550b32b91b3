/* NumPy's random numbers on a pp_rng: SeedSequence, PCG64 and the draws of numpy.random.Generator.
 *
 * Every function equals its NumPy namesake bit for bit and leaves the generator in the same state
 * (NumPy 1.17 to 2.4; facts from numpy/random: the constants of M. O'Neill's seed_seq and PCG
 * XSL-RR 128/64, D. Lemire's bounded integers). The file needs no library, so an environment
 * outside this repository can use it too. */
#ifndef PP_BASE_RANDOM_H
#define PP_BASE_RANDOM_H

#include "pp_env.h"

__extension__ typedef unsigned __int128 pp_uint128;

/* ------------------------------------------------------------------------------ SeedSequence -- */

enum { PP_SEED_POOL = 4, PP_SEED_OUTPUT = 8 };

/* scrambles one word and advances *hash */
static inline uint32_t pp_seed_hash(uint32_t value, uint32_t *hash, uint32_t multiplier) {
  value ^= *hash;
  *hash *= multiplier;
  value *= *hash;
  return value ^ (value >> 16);
}

static inline uint32_t pp_seed_mix(uint32_t x, uint32_t y) {
  uint32_t mixed = 0xca01f9ddu * x - 0x4973f715u * y;
  return mixed ^ (mixed >> 16);
}

/* Writes numpy.random.SeedSequence(entropy).generate_state(8); words as in pp_seed. */
static inline void pp_seed_expand(const uint32_t *words, int32_t num_words,
                                  uint32_t output[PP_SEED_OUTPUT]) {
  const uint32_t absorb = 0x931e8875u, emit = 0x58f38dedu;
  uint32_t pool[PP_SEED_POOL];
  uint32_t hash = 0x43b0d7e5u;

  /* the first words, and zeros if there are too few, fill the pool */
  for (int i = 0; i < PP_SEED_POOL; i++) {
    pool[i] = pp_seed_hash(i < num_words ? words[i] : 0, &hash, absorb);
  }
  /* each word of the pool is mixed into each other one */
  for (int from = 0; from < PP_SEED_POOL; from++) {
    for (int to = 0; to < PP_SEED_POOL; to++) {
      if (from != to) pool[to] = pp_seed_mix(pool[to], pp_seed_hash(pool[from], &hash, absorb));
    }
  }
  /* entropy beyond 128 bits is mixed into all of them */
  for (int32_t i = PP_SEED_POOL; i < num_words; i++) {
    for (int to = 0; to < PP_SEED_POOL; to++) {
      pool[to] = pp_seed_mix(pool[to], pp_seed_hash(words[i], &hash, absorb));
    }
  }

  hash = 0x8b51f9ddu;
  for (int i = 0; i < PP_SEED_OUTPUT; i++) {
    output[i] = pp_seed_hash(pool[i % PP_SEED_POOL], &hash, emit);
  }
}

/* ------------------------------------------------------------------------------------- PCG64 -- */

static inline pp_uint128 pp_uint128_join(uint64_t high, uint64_t low) {
  return (pp_uint128)high << 64 | low;
}

static inline void pp_rng_advance(pp_rng *rng) {
  const pp_uint128 multiplier = pp_uint128_join(0x2360ed051fc65da4u, 0x4385df649fccf645u);
  pp_uint128 state = pp_uint128_join(rng->state_high, rng->state_low);
  state = state * multiplier + pp_uint128_join(rng->inc_high, rng->inc_low);
  rng->state_high = (uint64_t)(state >> 64);
  rng->state_low = (uint64_t)state;
}

/* Seeds as numpy.random.PCG64(numpy.random.SeedSequence(entropy)) does: words are the entropy's
 * 32-bit digits, lowest first (0 is one word). */
static inline void pp_rng_seed(pp_rng *rng, const uint32_t *words, int32_t num_words) {
  uint32_t output[PP_SEED_OUTPUT];
  pp_seed_expand(words, num_words, output);
  uint64_t quad[PP_SEED_OUTPUT / 2];
  for (int i = 0; i < PP_SEED_OUTPUT / 2; i++) {
    quad[i] = (uint64_t)output[2 * i + 1] << 32 | output[2 * i];
  }

  /* PCG's initialization: the increment is odd, and the state advances once before the seed is
   * added and once afterwards */
  pp_uint128 inc = pp_uint128_join(quad[2], quad[3]) << 1 | 1;
  pp_uint128 state = inc + pp_uint128_join(quad[0], quad[1]);
  rng->inc_high = (uint64_t)(inc >> 64);
  rng->inc_low = (uint64_t)inc;
  rng->state_high = (uint64_t)(state >> 64);
  rng->state_low = (uint64_t)state;
  rng->has_uint32 = 0;
  rng->uinteger = 0;
  pp_rng_advance(rng);
}

/* Returns 64 random bits. */
static inline uint64_t pp_rng_next64(pp_rng *rng) {
  pp_rng_advance(rng);
  uint64_t folded = rng->state_high ^ rng->state_low;
  unsigned rotation = (unsigned)(rng->state_high >> 58);
  return folded >> rotation | folded << (-rotation & 63);
}

/* Returns 32 random bits: the low half of a 64-bit draw, and its high half in the next call. */
static inline uint32_t pp_rng_next32(pp_rng *rng) {
  if (rng->has_uint32) {
    rng->has_uint32 = 0;
    return rng->uinteger;
  }
  uint64_t bits = pp_rng_next64(rng);
  rng->has_uint32 = 1;
  rng->uinteger = (uint32_t)(bits >> 32);
  return (uint32_t)bits;
}

/* --------------------------------------------------------------------------------- Generator -- */

/* Returns Generator.random(): 53 bits in [0, 1). */
static inline double pp_rng_double(pp_rng *rng) {
  return (double)(pp_rng_next64(rng) >> 11) * (1.0 / 9007199254740992.0);
}

/* Generator.uniform(low, high). NumPy refuses other bounds than 0 <= high - low < inf. */
static inline double pp_rng_uniform(pp_rng *rng, double low, double high) {
  double range = high - low;
  return low + range * pp_rng_double(rng);
}

/* Returns Generator.integers(low, high) with its default dtype int64: low <= result < high. low
 * must be less than high. */
static inline int64_t pp_rng_integers(pp_rng *rng, int64_t low, int64_t high) {
  uint64_t span = (uint64_t)high - (uint64_t)low; /* number of possible results, never 0 */
  if (span == 1) return low;
  uint64_t offset;

  /* The high word of bits * span is the result. A low word under 2^w mod span is rejected, so that
   * all results are equally probable. */
  if (span < (uint64_t)1 << 32) {
    uint32_t narrow = (uint32_t)span;
    uint64_t product = (uint64_t)pp_rng_next32(rng) * narrow;
    if ((uint32_t)product < narrow) {
      uint32_t surplus = (uint32_t)-narrow % narrow;
      while ((uint32_t)product < surplus) product = (uint64_t)pp_rng_next32(rng) * narrow;
    }
    offset = product >> 32;
  } else if (span == (uint64_t)1 << 32) {
    offset = pp_rng_next32(rng);
  } else {
    pp_uint128 product = (pp_uint128)pp_rng_next64(rng) * span;
    if ((uint64_t)product < span) {
      uint64_t surplus = -span % span;
      while ((uint64_t)product < surplus) product = (pp_uint128)pp_rng_next64(rng) * span;
    }
    offset = (uint64_t)(product >> 64);
  }
  return (int64_t)((uint64_t)low + offset);
}

/* what one call of Generator.integers has left of 32 bits; zeros at its beginning */
typedef struct pp_rng_rest {
  uint32_t bits;
  int32_t count;
} pp_rng_rest;

/* Returns one of Generator.integers(low, high) with a dtype of fewer than 32 bits: 1, 8 or 16. One
 * call of NumPy's cuts 32 random bits into several numbers, kept in rest. low must be less than
 * high, and both lie in the dtype's range. */
static inline int64_t pp_rng_narrow(pp_rng *rng, pp_rng_rest *rest, int width, int64_t low,
                                    int64_t high) {
  uint32_t span = (uint32_t)(high - low), mask = ((uint32_t)1 << width) - 1, product, surplus = 0;
  if (span == 1) return low;
  do {
    rest->bits = rest->count ? rest->bits >> width : pp_rng_next32(rng);
    rest->count = (rest->count ? rest->count : 32 / width) - 1;
    product = (rest->bits & mask) * span;
    // as pp_rng_integers has it
    if (!surplus && (product & mask) < span) surplus = (mask + 1) % span;
  } while ((product & mask) < surplus);
  return low + (product >> width);
}

/* Returns NumPy's random_interval: 0 to most, both included. shuffle and permutation draw with it
 * the partner of each element, from the last one down to element 1. */
static inline uint64_t pp_rng_interval(pp_rng *rng, uint64_t most) {
  uint64_t mask = most, value;
  if (!most) return 0;
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  if (most <= UINT32_MAX) {
    do value = pp_rng_next32(rng) & (uint32_t)mask;
    while (value > most);
  } else {
    do value = pp_rng_next64(rng) & mask;
    while (value > most);
  }
  return value;
}

#endif
