/* Rollout: memory for consecutive batches, in which each column is one array over all of them. */
#ifndef PP_POOL_ROLLOUT_H
#define PP_POOL_ROLLOUT_H

#include "layout.h"

/* The memory of the rollout whose batches are being filled. */
typedef struct pp_rollout {
  char *memory;     /* null: there is none */
  int32_t batches;  /* number of batches that there is room for */
  pp_layout layout; /* layout of the rows of all batches together */
} pp_rollout;

/* Returns the number of the batch that an address names (pp_rollout_alloc), -1: none. */
int32_t pp_rollout_find(const pp_rollout *rollout, const void *address);

#endif
