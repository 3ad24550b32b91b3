/* Checks the values of a state that a snapshot would restore; for check_state callbacks.
 *
 * Every check returns whether the value is one that an environment can have; those that take the
 * environment then have written the reason to its error. */
#ifndef PP_BASE_STATE_CHECK_H
#define PP_BASE_STATE_CHECK_H

#include <stdbool.h>

#include "base/fail.h"
#include "base/mt19937.h"
#include "pp_env.h"

/* the most that an int64 count should be: it can still grow */
#define PP_STATE_MOST (INT64_MAX / 2)

/* Checks an index, a count or an enumeration; low and high are included. */
static inline bool pp_state_check_range(const pp_env *env, const char *name, int64_t value,
                                        int64_t low, int64_t high) {
  if (low <= value && value <= high) return true;
  pp_fail(env->error, PP_ERR_ARGUMENT, "%s=%lld is not in %lld to %lld", name, (long long)value,
          (long long)low, (long long)high);
  return false;
}

/* Checks each element of an array of bytes. */
static inline bool pp_state_check_bytes(const pp_env *env, const char *name, const uint8_t *values,
                                        int64_t count, uint8_t most) {
  for (int64_t i = 0; i < count; i++) {
    if (values[i] <= most) continue;
    pp_fail(env->error, PP_ERR_ARGUMENT, "%s[%lld]=%d is not in 0 to %d", name, (long long)i,
            values[i], most);
    return false;
  }
  return true;
}

/* Checks a generator of NumPy's. With an even increment it would repeat itself early, and loops
 * that wait for another number would not end; only one that was never seeded has 0. */
static inline bool pp_state_check_rng(const pp_rng *rng, bool is_seeded) {
  bool is_zero = !rng->state_high && !rng->state_low && !rng->inc_high && !rng->inc_low &&
                 !rng->has_uint32 && !rng->uinteger;
  return (rng->has_uint32 <= 1 && (rng->inc_low & 1)) || (is_zero && !is_seeded);
}

/* Checks a Mersenne Twister that the seed callback seeds: its index, and that it is not the one
 * that only returns zeros, which loops that wait for another number would never leave. */
static inline bool pp_state_check_mt19937(const pp_env *env, const pp_mt19937 *random) {
  uint32_t bits = random->word[0] & 0x80000000u; /* the others of this word are never used */
  if (!pp_state_check_range(env, "the generator's index", random->next, 0, PP_MT19937_WORDS)) {
    return false;
  }
  for (int32_t i = 1; i < PP_MT19937_WORDS; i++) bits |= random->word[i];
  /* before its first reset an environment has no seed yet, and the engine's generator is zero */
  if (bits || !(env->rng->inc_low & 1)) return true;
  pp_fail(env->error, PP_ERR_ARGUMENT, "the generator returns only zeros");
  return false;
}

#endif
