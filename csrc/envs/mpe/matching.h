/* Which agent goes to which target: the assignment with the least sum of distances. */
#ifndef PP_ENVS_MPE_MATCHING_H
#define PP_ENVS_MPE_MATCHING_H

#include "world.h"

/* Matches the agents with world->target, and writes to world->state the reward that all share and
 * whether all distances are below the threshold. */
void mpe_match(const mpe_world *world);

/* Everything that formation and line share but the targets. */
bool mpe_is_matched(const mpe_world *world);
void mpe_put_shared_reward(const mpe_world *world, double *reward);
float *mpe_put_plain(const mpe_world *world, int32_t agent, float *out);
int mpe_make_matching(mpe_shared *shared, const pp_value *options, int64_t landmarks,
                      double agent_size, pp_error *error);

enum { MPE_MATCHING_N = MPE_NUM_COMMON, MPE_MATCHING_SUCCESS, MPE_MATCHING_NUM_OPTIONS };

extern const pp_option mpe_matching_options[MPE_MATCHING_NUM_OPTIONS];

#endif
