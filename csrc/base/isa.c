/* ISA: detects which instructions the processor has. */
#include "isa.h"

#include <stdbool.h>

/* Checks every feature that a variant is compiled for, as a virtual machine may hide any of them.
 * Not all compilers can check LZCNT, which every processor with BMI has. */
pp_isa pp_isa_best(void) {
#if PP_ISA_X86
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt") ||
      !__builtin_cpu_supports("fma")) {
    return PP_ISA_GENERIC;
  }
  bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return has_avx512 ? PP_ISA_AVX512 : PP_ISA_AVX2;
#else
  return PP_ISA_GENERIC;
#endif
}

pp_isa pp_isa_limit(pp_isa wanted) {
  pp_isa best = pp_isa_best();
  return wanted < best ? wanted : best;
}
