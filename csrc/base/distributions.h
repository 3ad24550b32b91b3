/* Distributions of numpy.random.Generator on a pp_rng. They call the static library that NumPy
 * ships (libnpyrandom), so the bits and the generator's next state are NumPy's. */
#ifndef PP_BASE_DISTRIBUTIONS_H
#define PP_BASE_DISTRIBUTIONS_H

#include "pp_env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* standard_exponential() */
double pp_rng_exponential(pp_rng *rng);
double pp_rng_standard_t(pp_rng *rng, double df);
double pp_rng_standard_gamma(pp_rng *rng, double shape);
double pp_rng_gamma(pp_rng *rng, double shape, double scale);
double pp_rng_beta(pp_rng *rng, double a, double b);
double pp_rng_chisquare(pp_rng *rng, double df);
double pp_rng_laplace(pp_rng *rng, double loc, double scale);
double pp_rng_logistic(pp_rng *rng, double loc, double scale);
double pp_rng_lognormal(pp_rng *rng, double mean, double sigma);
double pp_rng_gumbel(pp_rng *rng, double loc, double scale);
double pp_rng_rayleigh(pp_rng *rng, double mode);
double pp_rng_weibull(pp_rng *rng, double a);
double pp_rng_pareto(pp_rng *rng, double a);
double pp_rng_triangular(pp_rng *rng, double left, double mode, double right);
int64_t pp_rng_poisson(pp_rng *rng, double mean);
int64_t pp_rng_geometric(pp_rng *rng, double chance);
int64_t pp_rng_binomial(pp_rng *rng, double chance, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
