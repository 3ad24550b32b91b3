/* Leftover: the unstepped part of a chunk that takes far longer than expected. Any thread may take
 * environments from it. */
#ifndef PP_THREADS_LEFTOVER_H
#define PP_THREADS_LEFTOVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "queue.h"

/* There is one for each thread that steps, which owns it. */
typedef struct pp_leftover {
  /* Environments taken so far (20 bits), their total number (20), and how often the leftover was
   * opened (24), so that a thread that has read an older state can't take from the new one.
   * Written by the owner, release: the entries and everything they refer to are visible first.
   * Raised by threads that take, acquire and release, like the head of a shard. */
  _Alignas(64) _Atomic uint64_t state;
  /* Written by the owner, read by all threads. Relaxed: a thread that reads an entry while it is
   * replaced finds that state has changed. */
  _Atomic uint64_t entries[PP_MAX_CHUNK];
} pp_leftover;

/* Fills the leftover with the environments of these entries, without the first done ones. Only for
 * the owner, and only when the leftover is empty. */
void pp_leftover_put(pp_leftover *leftover, const pp_entry *entries, int32_t count, int32_t done);

/* Takes one environment. Returns false if the leftover is empty. */
bool pp_leftover_take(pp_leftover *leftover, pp_entry *out);

#endif
