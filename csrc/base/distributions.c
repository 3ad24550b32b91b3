/* Distributions of numpy.random.Generator on a pp_rng, computed by NumPy's static library. */
#include "distributions.h"

#include <numpy/random/bitgen.h>

#include "random.h"

/* declared here because <numpy/random/distributions.h> includes Python's headers */
typedef struct binomial_t {
  int has_binomial;
  double psave;
  int64_t nsave;
  double r, q, fm;
  int64_t m;
  double p1, xm, xl, xr, c, laml, lamr, p2, p3, p4;
} binomial_t;

double random_standard_exponential(bitgen_t *generator);
double random_standard_t(bitgen_t *generator, double df);
double random_standard_gamma(bitgen_t *generator, double shape);
double random_gamma(bitgen_t *generator, double shape, double scale);
double random_beta(bitgen_t *generator, double a, double b);
double random_chisquare(bitgen_t *generator, double df);
double random_laplace(bitgen_t *generator, double loc, double scale);
double random_logistic(bitgen_t *generator, double loc, double scale);
double random_lognormal(bitgen_t *generator, double mean, double sigma);
double random_gumbel(bitgen_t *generator, double loc, double scale);
double random_rayleigh(bitgen_t *generator, double mode);
double random_weibull(bitgen_t *generator, double a);
double random_pareto(bitgen_t *generator, double a);
double random_triangular(bitgen_t *generator, double left, double mode, double right);
int64_t random_poisson(bitgen_t *generator, double mean);
int64_t random_geometric(bitgen_t *generator, double chance);
int64_t random_binomial(bitgen_t *generator, double chance, int64_t count, binomial_t *kept);

static uint64_t next64(void *rng) {
  return pp_rng_next64(rng);
}

static uint32_t next32(void *rng) {
  return pp_rng_next32(rng);
}

static double next_double(void *rng) {
  return pp_rng_double(rng);
}

static bitgen_t generator_of(pp_rng *rng) {
  return (bitgen_t){.state = rng,
                    .next_uint64 = next64,
                    .next_uint32 = next32,
                    .next_double = next_double,
                    .next_raw = next64};
}

double pp_rng_exponential(pp_rng *rng) {
  bitgen_t generator = generator_of(rng);
  return random_standard_exponential(&generator);
}

int64_t pp_rng_poisson(pp_rng *rng, double mean) {
  bitgen_t generator = generator_of(rng);
  return random_poisson(&generator, mean);
}

int64_t pp_rng_geometric(pp_rng *rng, double chance) {
  bitgen_t generator = generator_of(rng);
  return random_geometric(&generator, chance);
}

int64_t pp_rng_binomial(pp_rng *rng, double chance, int64_t count) {
  bitgen_t generator = generator_of(rng);
  binomial_t kept = {.has_binomial = 0};
  return random_binomial(&generator, chance, count, &kept);
}

double pp_rng_standard_t(pp_rng *rng, double df) {
  bitgen_t generator = generator_of(rng);
  return random_standard_t(&generator, df);
}

double pp_rng_standard_gamma(pp_rng *rng, double shape) {
  bitgen_t generator = generator_of(rng);
  return random_standard_gamma(&generator, shape);
}

double pp_rng_gamma(pp_rng *rng, double shape, double scale) {
  bitgen_t generator = generator_of(rng);
  return random_gamma(&generator, shape, scale);
}

double pp_rng_beta(pp_rng *rng, double a, double b) {
  bitgen_t generator = generator_of(rng);
  return random_beta(&generator, a, b);
}

double pp_rng_chisquare(pp_rng *rng, double df) {
  bitgen_t generator = generator_of(rng);
  return random_chisquare(&generator, df);
}

double pp_rng_laplace(pp_rng *rng, double loc, double scale) {
  bitgen_t generator = generator_of(rng);
  return random_laplace(&generator, loc, scale);
}

double pp_rng_logistic(pp_rng *rng, double loc, double scale) {
  bitgen_t generator = generator_of(rng);
  return random_logistic(&generator, loc, scale);
}

double pp_rng_lognormal(pp_rng *rng, double mean, double sigma) {
  bitgen_t generator = generator_of(rng);
  return random_lognormal(&generator, mean, sigma);
}

double pp_rng_gumbel(pp_rng *rng, double loc, double scale) {
  bitgen_t generator = generator_of(rng);
  return random_gumbel(&generator, loc, scale);
}

double pp_rng_rayleigh(pp_rng *rng, double mode) {
  bitgen_t generator = generator_of(rng);
  return random_rayleigh(&generator, mode);
}

double pp_rng_weibull(pp_rng *rng, double a) {
  bitgen_t generator = generator_of(rng);
  return random_weibull(&generator, a);
}

double pp_rng_pareto(pp_rng *rng, double a) {
  bitgen_t generator = generator_of(rng);
  return random_pareto(&generator, a);
}

double pp_rng_triangular(pp_rng *rng, double left, double mode, double right) {
  bitgen_t generator = generator_of(rng);
  return random_triangular(&generator, left, mode, right);
}
