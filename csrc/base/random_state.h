/* numpy.random.RandomState: NumPy's older generator, whose numbers never change.
 *
 * Every function equals its NumPy namesake bit for bit and leaves the generator in the same
 * state. */
#ifndef PP_BASE_RANDOM_STATE_H
#define PP_BASE_RANDOM_STATE_H

#include "mt19937.h"
#include "pp_env.h"

/* plain data: a copy of the struct is a snapshot of the generator */
typedef struct pp_random_state {
  pp_mt19937 bits;
  int32_t has_gauss; /* 1: gauss holds the second number of a pair of randn */
  double gauss;
} pp_random_state;

/* RandomState(seed) for one word, RandomState([words, ...]) for several; words as in pp_seed. */
void pp_random_state_seed(pp_random_state *it, const uint32_t *words, int32_t num_words);

/* Returns rand(): 53 bits in [0, 1). */
double pp_random_state_rand(pp_random_state *it);

/* Returns uniform(low, high). */
double pp_random_state_uniform(pp_random_state *it, double low, double high);

/* Returns randn(). */
double pp_random_state_randn(pp_random_state *it);

/* Returns randint(high): 0 .. high - 1. high must be positive. */
int64_t pp_random_state_randint(pp_random_state *it, int64_t high);

/* Returns the index that choice(..., p=chances) draws. */
int32_t pp_random_state_choice(pp_random_state *it, const double *chances, int32_t count);

#endif
