/* Rest: what is left of a chunk that takes far longer than expected; any thread may take of it. */
#ifndef PP_THREADS_LEFTOVER_H
#define PP_THREADS_LEFTOVER_H

#include <stdatomic.h>
#include <stdint.h>

#include "queue.h"

typedef struct pp_leftover {
  /* Environments given out so far (20 bits), how many there are (20), and how often there was a
   * rest (24), so that a thread that looked at an older one can't take of this one. Written by the
   * owner, release: the entries and all that they speak of are visible first. Moved by whoever
   * takes, acquire and release, as the head of a shard is */
  _Alignas(64) _Atomic uint64_t state;
  /* written by the owner, read by all, relaxed: who reads one that is being replaced finds state
   * moved */
  _Atomic uint64_t entries[PP_GRAIN_ROWS];
} pp_leftover;

/* makes the environments of these entries, but for the first done ones, the rest. The owner's; the
 * rest before must be empty */
void pp_leftover_open(pp_leftover *rest, const pp_entry *entries, int32_t count, int32_t done);

/* takes one environment; 0: there is none */
int pp_leftover_take(pp_leftover *rest, pp_entry *out);

#endif
