/* TIA AVX2: the television chip for x86-64 processors with AVX2. */
#include "base/isa.h"

#if PP_ISA_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt,fma"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,lzcnt,popcnt,fma")
#endif
#define PP_BUILD(name) name##_avx2
#include "tia.inl"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

/* a file must not be empty for other processors */
typedef int pp_tia_avx2_file;
