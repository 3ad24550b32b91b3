/* Calls into the installed Box2D: reads the link, and fills in definitions. */
#include "library.h"

#include <string.h>

#include "base/fail.h"

_Static_assert(sizeof(box2d_library) == 109 * sizeof(int64_t), "a member has more than 64 bits");

int box2d_library_read(const pp_value *link, box2d_library *library, pp_error *error) {
  if (link->size == (int64_t)sizeof(*library)) {
    // POSIX guarantees that a pointer to data can hold a function's address
    memcpy(library, link->s, sizeof(*library));
    return PP_OK;
  }
  return pp_fail(error, PP_ERR_ARGUMENT, "_link has %lld bytes: leave it to parallel_pool",
                 (long long)link->size);
}

void box2d_listener_init(const box2d_library *library, void (*begin)(void *, void *),
                         void (*end)(void *, void *), void **functions) {
  size_t count = (size_t)library->num_listener_functions;
  memcpy(functions, library->listener_functions, count * sizeof(*functions));
  memcpy(&functions[library->begin_contact], &begin, sizeof(begin));
  memcpy(&functions[library->end_contact], &end, sizeof(end));
}

void box2d_ray_init(const box2d_library *library,
                    float (*report)(void *, void *, const box2d_vector *, const box2d_vector *,
                                    float),
                    void **functions) {
  size_t count = (size_t)library->num_ray_functions;
  memcpy(functions, library->ray_functions, count * sizeof(*functions));
  memcpy(&functions[library->report_fixture], &report, sizeof(report));
}

static void put_pointer(void *object, int64_t offset, const void *pointer) {
  memcpy((char *)object + offset, &pointer, sizeof(pointer));
}

void box2d_add_fixture(const box2d_library *library, void *body, const void *definition,
                       const void *shape) {
  _Alignas(16) char copy[BOX2D_MAX_DEFINITION];
  memcpy(copy, definition, (size_t)library->fixture_size);
  put_pointer(copy, library->fixture_shape, shape);
  library->create_fixture(body, copy);
}

void box2d_add_edge(const box2d_library *library, void *body, const void *definition,
                    box2d_vector from, box2d_vector to) {
  _Alignas(16) char edge[BOX2D_MAX_DEFINITION];
  memcpy(edge, library->edge, (size_t)library->edge_size);
  library->edge_set(edge, &from, &to);
  box2d_add_fixture(library, body, definition, edge);
}

void box2d_add_polygon(const box2d_library *library, void *body, const void *definition,
                       const box2d_vector *corners, int32_t count) {
  _Alignas(16) char polygon[BOX2D_MAX_DEFINITION];
  memcpy(polygon, library->polygon, (size_t)library->polygon_size);
  library->polygon_set(polygon, corners, count);
  box2d_add_fixture(library, body, definition, polygon);
}

void *box2d_add_joint(const box2d_library *library, void *world, const void *definition,
                      void *body_a, void *body_b) {
  _Alignas(16) char copy[BOX2D_MAX_DEFINITION];
  memcpy(copy, definition, (size_t)library->joint_size);
  put_pointer(copy, library->joint_body_a, body_a);
  put_pointer(copy, library->joint_body_b, body_b);
  return library->create_joint(world, copy);
}

void box2d_push(const box2d_library *library, void *body, box2d_vector impulse, box2d_vector at) {
  float inverse_mass = *box2d_number(body, library->inverse_mass);
  float inverse_inertia = *box2d_number(body, library->inverse_inertia);
  box2d_vector *velocity = box2d_pair(body, library->velocity);
  const box2d_vector *center = box2d_pair(body, library->center);
  box2d_vector arm = {at.x - center->x, at.y - center->y};

  velocity->x += inverse_mass * impulse.x;
  velocity->y += inverse_mass * impulse.y;
  *box2d_number(body, library->angular_velocity) +=
      inverse_inertia * (arm.x * impulse.y - arm.y * impulse.x);
}
