/* Queries: what the threads have counted, what they step now, and their tracks in a trace. */
#ifndef PP_THREADS_QUERIES_H
#define PP_THREADS_QUERIES_H

#include "pool/pool.h"

/* the operations of these names in pp_lane_ops */
void pp_threads_stats(const pp_pool *pool, pp_stats *stats);
int32_t pp_threads_stepping(const pp_pool *pool, int32_t *env_ids, int32_t *counts, int32_t room);
int32_t pp_threads_num_tracks(const pp_pool *pool);
void pp_threads_set_track(pp_pool *pool, int32_t i, pp_track *track);
bool pp_threads_is_recording(const pp_pool *pool);

#endif
