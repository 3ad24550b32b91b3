/* ISA: which instructions code with several variants may use on this machine. */
#ifndef PP_BASE_ISA_H
#define PP_BASE_ISA_H

/* Instruction sets with a variant of their own, weakest first. All give the same bits. */
typedef enum pp_isa {
  PP_ISA_GENERIC = 0, /* plain C, on every architecture */
  PP_ISA_AVX2 = 1,    /* and BMI, BMI2, LZCNT, POPCNT and FMA, as in x86-64-v3 */
  PP_ISA_AVX512 = 2,  /* and AVX-512 F, BW, VL and DQ, as in x86-64-v4 */
} pp_isa;

/* Returns the strongest variant that both this build and this processor have. */
pp_isa pp_isa_best(void);

/* Returns `wanted`, or the strongest set that this machine can run if that is weaker. */
pp_isa pp_isa_limit(pp_isa wanted);

/* PP_ISA_X86 guards the code that uses x86 intrinsics. GCC and clang compile such a function for
 * the set named in its target attribute, so the flags of the whole build need not change. */
#if defined(__x86_64__) && defined(__GNUC__)
#define PP_ISA_X86 1
#define PP_TARGET_AVX2 __attribute__((target("avx2")))
#define PP_TARGET_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512vl")))
#else
#define PP_ISA_X86 0
#endif

/* A function with this attribute is compiled into each variant, with that variant's
 * instructions. */
#define PP_ALWAYS_INLINE inline __attribute__((always_inline))

#endif
