/* MT19937: the 32-bit Mersenne Twister, with the output of std::mt19937 and NumPy's RandomState. */
#ifndef PP_BASE_MT19937_H
#define PP_BASE_MT19937_H

#include <stdint.h>

enum { PP_MT19937_WORDS = 624 };

/* plain data: a copy of the struct is a snapshot of the generator */
typedef struct pp_mt19937 {
  uint32_t word[PP_MT19937_WORDS];
  uint32_t next; /* index of the next word to return; PP_MT19937_WORDS: all are used */
} pp_mt19937;

#ifdef __cplusplus
extern "C" {
#endif

/* Seeds the generator. */
void pp_mt19937_seed(pp_mt19937 *state, uint32_t seed);

/* Returns the next 32 random bits. */
uint32_t pp_mt19937_next(pp_mt19937 *state);

/* Draws from 0 .. n-1 as std::uniform_int_distribution of libstdc++ does since version 11. n must
 * not be 0. */
uint32_t pp_mt19937_below(pp_mt19937 *state, uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
