/* numpy.random.Generator.standard_normal on a pp_rng, computed by NumPy's static library. */
#include "normal.h"

#include <numpy/random/bitgen.h>

#include "random.h"

/* declared here because <numpy/random/distributions.h> includes Python's headers */
double random_standard_normal(bitgen_t *generator);

static uint64_t next64(void *rng) {
  return pp_rng_next64(rng);
}

static uint32_t next32(void *rng) {
  return pp_rng_next32(rng);
}

static double next_double(void *rng) {
  return pp_rng_double(rng);
}

double pp_rng_normal(pp_rng *rng) {
  bitgen_t generator = {.state = rng,
                        .next_uint64 = next64,
                        .next_uint32 = next32,
                        .next_double = next_double,
                        .next_raw = next64};
  return random_standard_normal(&generator);
}
