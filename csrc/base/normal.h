/* numpy.random.Generator.standard_normal on a pp_rng. It calls the static library that NumPy ships
 * (libnpyrandom), so the bits and the generator's next state are NumPy's. */
#ifndef PP_BASE_NORMAL_H
#define PP_BASE_NORMAL_H

#include "pp_env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns what Generator.standard_normal() returns. */
double pp_rng_normal(pp_rng *rng);

#ifdef __cplusplus
}
#endif

#endif
