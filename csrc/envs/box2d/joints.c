/* The revolute joints of one world, whose velocities are solved here instead of in Box2D.
 *
 * A joint has a motor, a limit of its angle, and holds two points together. Each part is a velocity
 * constraint, solved by an impulse (E. Catto, "Iterative Dynamics with Temporal Coherence", GDC
 * 2005; "Modeling and Solving Constraints", GDC 2009): the impulse is the relative velocity times
 * an effective mass. The sum of impulses over all rounds is clamped, not each of them. A joint at
 * its limit solves point and angle together, unless the torque would pull towards the limit. */
#include "joints.h"

#include <string.h>

/* A joint's angle in relation to its limits, as in Box2D. There is a fourth state, for limits that
 * are equal, which those of our joints are not. */
enum { INACTIVE, AT_LOWER, AT_UPPER };

/* the compiler would call the larger functions, and their numbers would leave the registers */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* the velocity of a body, as in Box2D */
typedef struct motion {
  float x, y;
  float spin;
} motion;

/* -------------------------------------------------------------------------------- solving -- */

/* Box2D's b2Clamp to -most .. most, also for NaN.
 *
 * With branches instead of minimum and maximum: a motor that is at its most stays there for many
 * rounds, and then what follows need not wait for value. The empty statements keep the compiler
 * from replacing the branches. */
ALWAYS_INLINE float clamp(float value, float most) {
  if (!(value < most)) {
    __asm__ volatile("");
    return most;
  }
  if (-most > value) {
    __asm__ volatile("");
    return -most;
  }
  return value;
}

ALWAYS_INLINE void solve_motor(box2d_joint *it, motion *a, motion *b) {
  float speed = b->spin - a->spin - it->motor_speed;
  float before = it->motor_impulse;

  it->motor_impulse = clamp(before + -it->motor_mass * speed, it->max_motor_impulse);
  float impulse = it->motor_impulse - before;
  a->spin -= it->inertia_a * impulse;
  b->spin += it->inertia_b * impulse;
}

/* the relative velocity of the two points */
ALWAYS_INLINE box2d_vector point_velocity(const box2d_joint *it, const motion *a, const motion *b) {
  return (box2d_vector){b->x + -b->spin * it->arm_b.y - a->x - -a->spin * it->arm_a.y,
                        b->y + b->spin * it->arm_b.x - a->y - a->spin * it->arm_a.x};
}

ALWAYS_INLINE void apply(const box2d_joint *it, box2d_vector impulse, float torque, motion *a,
                         motion *b) {
  float turn_a = it->arm_a.x * impulse.y - it->arm_a.y * impulse.x + torque;
  float turn_b = it->arm_b.x * impulse.y - it->arm_b.y * impulse.x + torque;

  a->x -= it->mass_a * impulse.x;
  a->y -= it->mass_a * impulse.y;
  a->spin -= it->inertia_a * turn_a;
  b->x += it->mass_b * impulse.x;
  b->y += it->mass_b * impulse.y;
  b->spin += it->inertia_b * turn_b;
}

/* Returns the x and y of an impulse with this effect, without torque. */
ALWAYS_INLINE box2d_vector solve_2(const box2d_joint *it, box2d_vector effect) {
  const float *m = it->matrix;
  return (box2d_vector){it->inverse_2 * (m[4] * effect.x - m[3] * effect.y),
                        it->inverse_2 * (m[0] * effect.y - m[1] * effect.x)};
}

/* Solves point and angle with Cramer's rule, whose cross products stay as Box2D orders them. */
ALWAYS_INLINE void solve_limit(box2d_joint *it, motion *a, motion *b) {
  const float *m = it->matrix;
  const box2d_vector point = point_velocity(it, a, b);
  const float cx = point.x, cy = point.y, cz = b->spin - a->spin;
  float x = -(it->inverse_3 * (cx * it->cross[0] + cy * it->cross[1] + cz * it->cross[2]));
  float y = -(it->inverse_3 * (m[0] * (cy * m[8] - cz * m[7]) + m[1] * (cz * m[6] - cx * m[8]) +
                               m[2] * (cx * m[7] - cy * m[6])));
  float z = -(it->inverse_3 * (m[0] * (m[4] * cz - m[5] * cy) + m[1] * (m[5] * cx - m[3] * cz) +
                               m[2] * (m[3] * cy - m[4] * cx)));
  float sum = it->impulse[2] + z;
  bool is_pulling = it->limit_state == AT_LOWER ? sum < 0 : sum > 0;

  if (is_pulling) {
    // without the torque that there was so far, the point is solved by itself
    float torque = it->impulse[2];
    box2d_vector alone = solve_2(it, (box2d_vector){-cx + torque * m[6], -cy + torque * m[7]});
    x = alone.x;
    y = alone.y;
    z = -torque;
    it->impulse[2] = 0;
  } else {
    it->impulse[2] = sum;
  }
  it->impulse[0] += x;
  it->impulse[1] += y;
  apply(it, (box2d_vector){x, y}, z, a, b);
}

ALWAYS_INLINE void solve_point(box2d_joint *it, motion *a, motion *b) {
  box2d_vector point = point_velocity(it, a, b);
  box2d_vector impulse = solve_2(it, (box2d_vector){-point.x, -point.y});

  it->impulse[0] += impulse.x;
  it->impulse[1] += impulse.y;
  // not apply(): to add a torque of 0 would change the sign of a 0
  a->x -= it->mass_a * impulse.x;
  a->y -= it->mass_a * impulse.y;
  a->spin -= it->inertia_a * (it->arm_a.x * impulse.y - it->arm_a.y * impulse.x);
  b->x += it->mass_b * impulse.x;
  b->y += it->mass_b * impulse.y;
  b->spin += it->inertia_b * (it->arm_b.x * impulse.y - it->arm_b.y * impulse.x);
}

ALWAYS_INLINE void solve(box2d_joint *it, motion *a, motion *b) {
  solve_motor(it, a, b);
  if (it->limit_state != INACTIVE) {
    solve_limit(it, a, b);
  } else {
    solve_point(it, a, b);
  }
}

/* all rounds of two joints of one body, with the velocities in registers */
static void solve_pair(box2d_joint *first, box2d_joint *second, motion *velocities) {
  box2d_joint one = *first, other = *second;
  motion trunk = velocities[one.index_a];
  motion left = velocities[one.index_b], right = velocities[other.index_b];

  for (int round = 0; round < BOX2D_VELOCITY_ROUNDS; round++) {
    solve(&one, &trunk, &left);
    solve(&other, &trunk, &right);
  }
  velocities[one.index_a] = trunk;
  velocities[one.index_b] = left;
  velocities[other.index_b] = right;
  *first = one;
  *second = other;
}

/* All rounds of all joints. They must be in one island, because Box2D begins and solves one island
 * after another. They are: joints connect the hull of a lander, a walker or a car with all other
 * bodies that have joints. */
static void solve_all(box2d_joints *joints, motion *velocities) {
  box2d_joint **order = joints->order;

  if (joints->num_begun == 2 && order[0]->index_a == order[1]->index_a) {
    solve_pair(order[0], order[1], velocities);
    return;
  }
  for (int round = 0; round < BOX2D_VELOCITY_ROUNDS; round++) {
    for (int32_t i = 0; i < joints->num_begun; i++) {
      solve(order[i], velocities + order[i]->index_a, velocities + order[i]->index_b);
    }
  }
}

/* --------------------------------------------------------------- Box2D's virtual functions -- */

static box2d_joint *joint_of(void *joint) {
  void **table;
  memcpy(&table, joint, sizeof(table));
  return (box2d_joint *)(void *)(table - BOX2D_TABLE_HEAD);
}

/* copies some of a joint's numbers */
static void read(const box2d_joint *it, int64_t offset, void *numbers, size_t size) {
  memcpy(numbers, (const char *)it->joint + offset, size);
}

static void write_impulses(const box2d_joint *it) {
  const box2d_library *library = it->of->library;
  memcpy((char *)it->joint + library->joint_impulse, it->impulse, sizeof(it->impulse));
  *box2d_number(it->joint, library->joint_motor_impulse) = it->motor_impulse;
}

/* computes what stays the same in all rounds of a step */
static void prepare(box2d_joint *it) {
  const float *m = it->matrix;
  float determinant = m[0] * m[4] - m[3] * m[1];

  // Box2D leaves a determinant of 0
  it->inverse_2 = determinant != 0 ? 1 / determinant : determinant;
  it->cross[0] = m[4] * m[8] - m[5] * m[7];
  it->cross[1] = m[5] * m[6] - m[3] * m[8];
  it->cross[2] = m[3] * m[7] - m[4] * m[6];
  determinant = m[0] * it->cross[0] + m[1] * it->cross[1] + m[2] * it->cross[2];
  it->inverse_3 = determinant != 0 ? 1 / determinant : determinant;
}

/* InitVelocityConstraints: Box2D computes effective masses, and applies the last step's impulses */
static void begin(void *joint, const void *data) {
  box2d_joint *it = joint_of(joint);
  box2d_joints *joints = it->of;
  const box2d_library *library = joints->library;
  float masses[4], arms[4];
  int32_t indices[2];

  library->joint_begin(joint, data);
  joints->order[joints->num_begun++] = it;
  read(it, library->joint_indices, indices, sizeof(indices));
  read(it, library->joint_arms, arms, sizeof(arms));
  read(it, library->joint_masses, masses, sizeof(masses));
  read(it, library->joint_matrix, it->matrix, sizeof(it->matrix));
  read(it, library->joint_impulse, it->impulse, sizeof(it->impulse));
  read(it, library->joint_limit_state, &it->limit_state, sizeof(it->limit_state));
  it->index_a = indices[0];
  it->index_b = indices[1];
  it->arm_a = (box2d_vector){arms[0], arms[1]};
  it->arm_b = (box2d_vector){arms[2], arms[3]};
  it->mass_a = masses[0];
  it->mass_b = masses[1];
  it->inertia_a = masses[2];
  it->inertia_b = masses[3];
  it->motor_mass = *box2d_number(joint, library->joint_motor_mass);
  it->motor_speed = *box2d_number(joint, library->joint_motor_speed);
  it->motor_impulse = *box2d_number(joint, library->joint_motor_impulse);
  it->max_motor_impulse =
      (float)(1.0 / BOX2D_FPS) * *box2d_number(joint, library->joint_motor_torque);
  prepare(it);
}

/* SolveVelocityConstraints: one round. Without contacts, the first call does all rounds of all
 * joints, which are in one island (see solve_all). */
static void solve_round(void *joint, const void *data) {
  box2d_joint *it = joint_of(joint);
  box2d_joints *joints = it->of;

  if (joints->is_solved) return;
  motion *velocities = box2d_pointer(data, joints->library->joint_velocities);
  if (joints->num_touching) {
    solve(it, velocities + it->index_a, velocities + it->index_b);
    write_impulses(it);
    return;
  }
  solve_all(joints, velocities);
  for (int32_t i = 0; i < joints->num_begun; i++) write_impulses(joints->order[i]);
  joints->is_solved = true;
}

/* -------------------------------------------------------------------------------- the world -- */

void box2d_joints_init(box2d_joints *joints, const box2d_library *library) {
  *joints = (box2d_joints){.library = library};
}

void box2d_joints_add(box2d_joints *joints, void *joint) {
  const box2d_library *library = joints->library;
  void (*const own[2])(void *, const void *) = {begin, solve_round};

  if (!library->solves_joints) return;
  box2d_joint *it = &joints->joints[joints->count++];
  memcpy(it->table, library->joint_table - BOX2D_TABLE_HEAD, sizeof(it->table));
  void **functions = it->table + BOX2D_TABLE_HEAD;
  memcpy(&functions[library->joint_begin_slot], &own[0], sizeof(own[0]));
  memcpy(&functions[library->joint_solve_slot], &own[1], sizeof(own[1]));
  it->of = joints;
  it->joint = joint;
  memcpy(joint, &functions, sizeof(functions));
}

void box2d_joints_step(box2d_joints *joints, void *world) {
  joints->num_begun = 0;
  joints->is_solved = false;
  joints->library->world_step(world, (float)(1.0 / BOX2D_FPS), BOX2D_VELOCITY_ROUNDS,
                              BOX2D_POSITION_ROUNDS);
}
