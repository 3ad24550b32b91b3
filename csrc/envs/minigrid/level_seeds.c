/* Level seeds: those that the resets of an environment take in turn. */
#include "level_seeds.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* Reads a number of at most 63 bits; returns where it ends, null: there is none. */
static const char *read_seed(const char *at, uint64_t *seed) {
  if (*at < '0' || *at > '9') return NULL;
  for (*seed = 0; *at >= '0' && *at <= '9'; at++) {
    uint64_t digit = (uint64_t)(*at - '0');
    if (*seed > ((uint64_t)INT64_MAX - digit) / 10) return NULL;
    *seed = *seed * 10 + digit;
  }
  return at;
}

int mg_level_seeds_read(const char *numbers, int64_t first, mg_level_seeds *out, pp_error *error) {
  const char *at = numbers;
  size_t room = strlen(numbers) / 2 + 1;
  if (!*numbers) return PP_OK;
  out->seeds = malloc(room * sizeof(*out->seeds));
  if (!out->seeds) return PP_ERR_MEMORY;
  do {
    at = read_seed(at, &out->seeds[out->count++]);
  } while (at && *at == ',' && *++at);
  if (!at || *at) {
    return pp_fail(
        error, PP_ERR_ARGUMENT,
        "level_seeds='%.60s': choose numbers from 0 to 2^63 - 1 with commas between them", numbers);
  }
  if (first >= out->count) {
    return pp_fail(error, PP_ERR_ARGUMENT, "level_seed_idx=%lld: choose 0 to %d", (long long)first,
                   out->count - 1);
  }
  out->first = (int32_t)first;
  return PP_OK;
}

void mg_level_seeds_take(const mg_level_seeds *seeds, int32_t *taken, pp_rng *rng) {
  uint64_t seed = seeds->seeds[(seeds->first + *taken) % seeds->count];
  const uint32_t words[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  *taken = (*taken + 1) % seeds->count;
  pp_rng_seed(rng, words, words[1] ? 2 : 1);
}
