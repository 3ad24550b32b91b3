/* The revolute joints of one world, whose velocities are solved here instead of in Box2D.
 *
 * Gymnasium asks for 180 rounds in each step, which take most of its time. The arithmetic is that
 * of Box2D, operation by operation, so results have the same bits. It is faster because what stays
 * the same in all rounds of a step is computed once, and because bodies without contacts are solved
 * in one call, with their velocities in registers. */
#ifndef PP_ENVS_BOX2D_JOINTS_H
#define PP_ENVS_BOX2D_JOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "library.h"

struct box2d_joints;

/* one joint in one step */
typedef struct box2d_joint {
  /* Box2D's table of virtual functions with two of our own. The joint points behind its head, which
   * is how the functions find this object. */
  void *table[BOX2D_TABLE_HEAD + BOX2D_MAX_FUNCTIONS];
  struct box2d_joints *of;
  void *joint;
  int32_t limit_state;
  int32_t index_a, index_b;                   /* indices of the bodies among the velocities */
  box2d_vector arm_a, arm_b;                  /* vectors from the centers of mass to the joint */
  float mass_a, mass_b, inertia_a, inertia_b; /* inverse masses and moments of inertia */
  float matrix[9]; /* maps an impulse (x, y, torque) to the change of relative velocity; columns */
  float inverse_2, inverse_3; /* inverse determinants of its 2 x 2 part and of the whole */
  float cross[3];             /* cross product of its second and third columns */
  float motor_mass, motor_speed, max_motor_impulse;
  float impulse[3], motor_impulse; /* sums over the rounds so far */
} box2d_joint;

typedef struct box2d_joints {
  const box2d_library *library;
  box2d_joint joints[BOX2D_MAX_JOINTS];
  int32_t count;
  /* the joints that Box2D has begun in this step, in the order in which it solves them */
  box2d_joint *order[BOX2D_MAX_JOINTS];
  int32_t num_begun;
  bool is_solved;       /* all rounds of this step are done, of the only island with joints */
  int32_t num_touching; /* contacts of the world that touch: the listener counts them */
} box2d_joints;

/* forgets all joints, for a new episode */
void box2d_joints_init(box2d_joints *joints, const box2d_library *library);

/* Adds a joint of the world. The object must not move as long as the joint exists. If the library
 * can't solve joints, this does nothing. */
void box2d_joints_add(box2d_joints *joints, void *joint);

/* advances the world of the joints by a step of Gymnasium's environments */
void box2d_joints_step(box2d_joints *joints, void *world);

#endif
