/* numpy.random.Generator.standard_normal on a pp_rng, by the code that NumPy ships for this
 * (libnpyrandom): the same bits, and the generator in the same state. */
#ifndef PP_BASE_NORMAL_H
#define PP_BASE_NORMAL_H

#include "pp_env.h"

/* Generator.standard_normal() */
double pp_rng_normal(pp_rng *rng);

#endif
