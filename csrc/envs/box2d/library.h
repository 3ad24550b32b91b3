/* Calls into the installed Box2D: the functions of the library that Python has loaded, and where
 * its objects keep what an environment reads and writes.
 *
 * The build reads no Box2D header. Instead parallel_pool/_families/box2d.py passes the option
 * _link, an array of 64-bit numbers: addresses, sizes in bytes, and offsets in bytes. It finds them
 * in the user's own Box2D and proves them before it makes the first pool. */
#ifndef PP_ENVS_BOX2D_LIBRARY_H
#define PP_ENVS_BOX2D_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pp_env.h"

/* Box2D's b2Vec2 */
typedef struct box2d_vector {
  float x;
  float y;
} box2d_vector;

enum {
  BOX2D_MAX_JOINTS = 4,        /* of a world */
  BOX2D_TABLE_HEAD = 2,        /* entries before the address of a table of virtual functions */
  BOX2D_LIMBS = 4,             /* of BipedalWalker */
  BOX2D_CAR_WHEELS = 4,        /* of CarRacing */
  BOX2D_CAR_PARTS = 4,         /* of its car's hull */
  BOX2D_MAX_FUNCTIONS = 16,    /* of a listener or another callback */
  BOX2D_MAX_DEFINITION = 512,  /* bytes of a definition or shape that is copied */
  BOX2D_VELOCITY_ROUNDS = 180, /* of the solver in one step, in Gymnasium */
  BOX2D_POSITION_ROUNDS = 60,
  BOX2D_FPS = 50
};

/* Each member has 64 bits. parallel_pool/_families/box2d.py has the same names in this order. */
typedef struct box2d_library {
  /* functions of b2World, b2Body and b2EdgeShape; the first argument is the object */
  void (*world_init)(void *world, const box2d_vector *gravity);
  void (*world_fini)(void *world);
  void (*world_step)(void *world, float seconds, int32_t velocity_rounds, int32_t position_rounds);
  void (*set_listener)(void *world, void *listener);
  void *(*create_body)(void *world, const void *definition);
  void *(*create_joint)(void *world, const void *definition);
  void *(*create_fixture)(void *body, const void *definition);
  void (*edge_set)(void *edge, const box2d_vector *from, const box2d_vector *to);
  void (*polygon_set)(void *polygon, const box2d_vector *corners, int32_t count);
  void (*destroy_body)(void *world, void *body);
  void (*ray_cast)(const void *world, void *callback, const box2d_vector *from,
                   const box2d_vector *to);
  void (*set_motor_speed)(void *joint, float speed);
  void (*set_motor_torque)(void *joint, float most);
  float (*joint_angle)(const void *joint);
  float (*joint_speed)(const void *joint);
  int32_t (*allocate_node)(void *tree);
  void (*free_node)(void *tree, int32_t node);
  int64_t world_size;
  /* offsets in b2World of the tree of fixtures, its number of nodes, and how many have memory */
  int64_t tree;
  int64_t num_nodes;
  int64_t node_room;
  /* the virtual functions of b2ContactListener: address, count, and those that C replaces */
  void *const *listener_functions;
  int64_t num_listener_functions;
  int64_t begin_contact;
  int64_t end_contact;
  /* the same of b2RayCastCallback */
  void *const *ray_functions;
  int64_t num_ray_functions;
  int64_t report_fixture;
  /* offsets in b2Contact, and in b2Fixture */
  int64_t contact_fixture_a;
  int64_t contact_fixture_b;
  int64_t fixture_body;
  /* offsets in b2Body */
  int64_t position;
  int64_t center;
  int64_t angle;
  int64_t rotation; /* sine and cosine */
  int64_t velocity;
  int64_t angular_velocity;
  int64_t force;
  int64_t torque;
  int64_t inverse_mass;
  int64_t inverse_inertia;
  int64_t flags;      /* of the byte that has the flag */
  int64_t awake_flag; /* the flag's bit in that byte */
  /* Of revolute joints, if solves_joints is 1; otherwise all are 0 (joints.c): two of their virtual
   * functions, their table, an offset in b2SolverData, and offsets in b2RevoluteJoint. */
  int64_t solves_joints;
  void (*joint_begin)(void *joint, const void *data);
  void (*joint_solve)(void *joint, const void *data);
  void *const *joint_table;
  int64_t joint_begin_slot;
  int64_t joint_solve_slot;
  int64_t joint_velocities; /* of the pointer to velocities */
  int64_t joint_indices;
  int64_t joint_arms;
  int64_t joint_masses;
  int64_t joint_matrix;
  int64_t joint_motor_mass;
  int64_t joint_limit_state;
  int64_t joint_impulse;
  int64_t joint_motor_impulse;
  int64_t joint_motor_speed;
  int64_t joint_motor_torque;
  /* Definitions, which are never freed. Those with a size are copied before pointers in them are
   * replaced, at the offsets that follow. */
  const void *static_body;
  const void *edge;
  int64_t edge_size;
  const void *polygon;
  int64_t polygon_size;
  int64_t fixture_size;
  int64_t fixture_shape;
  int64_t joint_size;
  int64_t joint_body_a;
  int64_t joint_body_b;
  int64_t body_size;
  int64_t body_position;
  int64_t body_angle;
  /* of LunarLander's parts */
  const void *lander_body;
  const void *leg_bodies[2];
  const void *lander_fixture;
  const void *leg_fixture;
  const void *floor_fixture;
  const void *ground_fixture;
  const void *leg_joints[2];
  /* of BipedalWalker's parts; limbs are a thigh and its shin, and then the others */
  const void *hull_body;
  const void *limb_bodies[BOX2D_LIMBS];
  const void *hull_fixture;
  const void *limb_fixtures[BOX2D_LIMBS];
  const void *grass_fixture;
  const void *wall_fixture;
  const void *limb_joints[BOX2D_LIMBS];
  /* of CarRacing's parts; the joints are those of the wheels */
  const void *car_body; /* copied */
  const void *car_fixtures[BOX2D_CAR_PARTS];
  const void *wheel_fixture;
  const void *tile_fixture;
  const void *wheel_joints[BOX2D_CAR_WHEELS];
} box2d_library;

/* Reads the option _link. Fails if it has another size. */
int box2d_library_read(const pp_value *link, box2d_library *library, pp_error *error);

/* Writes the functions of a listener that calls begin(listener, contact) and end(listener, contact)
 * into functions, which has BOX2D_MAX_FUNCTIONS entries. */
void box2d_listener_init(const box2d_library *library, void (*begin)(void *, void *),
                         void (*end)(void *, void *), void **functions);

/* adds a fixture with the shape; definition as in the library */
void box2d_add_fixture(const box2d_library *library, void *body, const void *definition,
                       const void *shape);

/* Writes the functions of a callback for ray casts that calls report(callback, fixture, point,
 * normal, fraction), as box2d_listener_init. */
void box2d_ray_init(const box2d_library *library,
                    float (*report)(void *, void *, const box2d_vector *, const box2d_vector *,
                                    float),
                    void **functions);

/* adds a fixture whose shape is the edge between two points */
void box2d_add_edge(const box2d_library *library, void *body, const void *definition,
                    box2d_vector from, box2d_vector to);

/* adds a fixture whose shape is a convex polygon */
void box2d_add_polygon(const box2d_library *library, void *body, const void *definition,
                       const box2d_vector *corners, int32_t count);

/* joins two bodies, and returns the joint */
void *box2d_add_joint(const box2d_library *library, void *world, const void *definition,
                      void *body_a, void *body_b);

/* b2Body::ApplyLinearImpulse on a body that is awake */
void box2d_push(const box2d_library *library, void *body, box2d_vector impulse, box2d_vector at);

static inline void *box2d_pointer(const void *object, int64_t offset) {
  return *(void *const *)(const void *)((const char *)object + offset);
}

static inline float *box2d_number(void *object, int64_t offset) {
  return (float *)(void *)((char *)object + offset);
}

static inline box2d_vector *box2d_pair(void *object, int64_t offset) {
  return (box2d_vector *)(void *)((char *)object + offset);
}

/* Returns the body of one of a contact's fixtures, whose offset is given. */
static inline void *box2d_contact_body(const box2d_library *library, const void *contact,
                                       int64_t fixture) {
  return box2d_pointer(box2d_pointer(contact, fixture), library->fixture_body);
}

/* Returns whether a contact is one of this body. */
static inline bool box2d_touches(const box2d_library *library, const void *contact,
                                 const void *body) {
  return box2d_contact_body(library, contact, library->contact_fixture_a) == body ||
         box2d_contact_body(library, contact, library->contact_fixture_b) == body;
}

static inline bool box2d_is_awake(const box2d_library *library, const void *body) {
  return (((const uint8_t *)body)[library->flags] & library->awake_flag) != 0;
}

#endif
