/* ISA: detects which vector instructions the processor has. */
#include "isa.h"

pp_isa pp_isa_best(void) {
#if PP_ISA_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx2")) {
    return PP_ISA_AVX512;
  }
  if (__builtin_cpu_supports("avx2")) {
    return PP_ISA_AVX2;
  }
#endif
  return PP_ISA_GENERIC;
}

pp_isa pp_isa_limit(pp_isa wanted) {
  pp_isa best = pp_isa_best();
  return wanted < best ? wanted : best;
}
