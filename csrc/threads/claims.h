/* Claims: how threads claim rows of the ring's blocks, and count those that they have written. */
#ifndef PP_THREADS_CLAIMS_H
#define PP_THREADS_CLAIMS_H

#include "pool/ring.h"

/* what threads count in one slot of the ring */
typedef struct pp_claims_slot {
  /* Rows written. Raised by workers: release, as their rows are written before; acquire, so that
   * the thread that writes the last row sees them all. Sequentially consistent against the slot's
   * target, see pp_claims_finish. */
  _Alignas(64) _Atomic int32_t done;
  _Atomic int32_t num_failed; /* raised by workers before done, relaxed: done publishes it */
  int32_t *failed;            /* environments that failed, num_failed of them */
} pp_claims_slot;

typedef struct pp_claims {
  const pp_ring *ring;
  pp_claims_slot *slots; /* counts of each slot of the ring */
  /* Unordered: rows claimed so far, in the order in which steps finish. Acquire and release: an
   * environment that was sent long ago may claim the first row of a block that was offered after
   * that send; the claim before its own makes the block's memory visible to it. */
  _Alignas(64) _Atomic int64_t tickets;
} pp_claims;

/* Returns PP_OK or PP_ERR_MEMORY; pp_claims_fini frees either result. */
int pp_claims_init(pp_claims *claims, const pp_ring *ring);
void pp_claims_fini(pp_claims *claims);

/* Empties the counts of a slot into which a block was put, before any row of it can be claimed. */
void pp_claims_prepare_locked(pp_claims *claims, const pp_ring_slot *slot);

/* Unordered: claims at most *count rows of one block and writes to *count how many it claimed.
 * Returns the place of the first. */
int32_t pp_claims_take(pp_claims *claims, int32_t *count);

/* Unordered: cuts the block that is received next after its first rows, if exactly these are
 * claimed and all of them are written; later claims go to the next block. The block that follows
 * those in the ring must have been offered. Returns whether it did. */
bool pp_claims_cut_locked(pp_claims *claims, int32_t rows);

/* Unordered, for the caller: returns how many rows of the block that is received next are
 * unclaimed. May be out of date. At 0 or less, other threads are writing the last rows. */
int64_t pp_claims_left(const pp_claims *claims);

/* Records a failed environment; to be called before pp_claims_finish of its row. */
void pp_claims_fail(pp_claims *claims, const pp_ring_slot *slot, int32_t env_id);

/* Counts rows as written. Returns whether as many are written as the slot's target says. */
bool pp_claims_finish(pp_claims *claims, const pp_ring_slot *slot, int32_t count);

/* Return how many rows of a block are written, and whether all are. Sequentially consistent, so
 * that a thread may check them last before it sleeps. */
int32_t pp_claims_written(const pp_claims *claims, const pp_ring_slot *slot);
bool pp_claims_are_complete(const pp_claims *claims, const pp_ring_slot *slot);

/* Returns how many rows of a block are not written yet. The number may be out of date. */
int32_t pp_claims_missing(const pp_claims *claims, const pp_ring_slot *slot);

/* Returns the environments of a complete or cut block that failed, and writes their number. */
const int32_t *pp_claims_failed(const pp_claims *claims, const pp_ring_slot *slot, int32_t *count);

#endif
