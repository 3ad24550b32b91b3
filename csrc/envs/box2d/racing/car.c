/* The car of CarRacing: a hull and four wheels, which roll, slide and leave traces.
 *
 * Python computes in float64, and each call of Box2D rounds to float32. */
#include "car.h"

#include <math.h>
#include <string.h>

#define SECONDS (1.0 / BOX2D_FPS)
#define ENGINE_POWER (100000000 * CAR_SIZE * CAR_SIZE)
#define WHEEL_INERTIA (4000 * CAR_SIZE * CAR_SIZE)
#define FRICTION_LIMIT (1000000 * CAR_SIZE * CAR_SIZE)
#define STIFFNESS (205000 * CAR_SIZE * CAR_SIZE)
#define WHEEL_RADIUS (CAR_WHEEL_RADIUS * CAR_SIZE)
#define BRAKE_FORCE 15
#define MOST_GAS_MORE 0.1 /* in a step */

static const double wheel_places[CAR_WHEELS][2] = {{-55, 80}, {55, 80}, {-55, -82}, {55, -82}};

/* ------------------------------------------------------------------------------ the bodies -- */

static void *add_body(const box2d_library *library, void *world, double x, double y, double angle) {
  _Alignas(16) char copy[BOX2D_MAX_DEFINITION];
  memcpy(copy, library->car_body, (size_t)library->body_size);
  *box2d_pair(copy, library->body_position) = (box2d_vector){(float)x, (float)y};
  *box2d_number(copy, library->body_angle) = (float)angle;
  return library->create_body(world, copy);
}

void car_create(car *it, const box2d_library *library, void *world, box2d_joints *joints,
                const double start[3]) {
  memset(it, 0, sizeof(*it));
  it->hull = add_body(library, world, start[1], start[2], start[0]);
  for (int i = 0; i < BOX2D_CAR_PARTS; i++) {
    library->create_fixture(it->hull, library->car_fixtures[i]);
  }
  for (int i = 0; i < CAR_WHEELS; i++) {
    car_wheel *wheel = &it->wheels[i];
    wheel->body = add_body(library, world, start[1] + wheel_places[i][0] * CAR_SIZE,
                           start[2] + wheel_places[i][1] * CAR_SIZE, start[0]);
    library->create_fixture(wheel->body, library->wheel_fixture);
    wheel->joint = box2d_add_joint(library, world, library->wheel_joints[i], it->hull, wheel->body);
    box2d_joints_add(joints, wheel->joint);
  }
}

void car_destroy(car *it, const box2d_library *library, void *world) {
  library->destroy_body(world, it->hull);
  for (int i = 0; i < CAR_WHEELS; i++) library->destroy_body(world, it->wheels[i].body);
  it->hull = NULL;
}

/* --------------------------------------------------------------------------------- controls -- */

void car_control(car *it, const car_controls *wanted) {
  for (int i = 0; i < CAR_WHEELS; i++) {
    car_wheel *wheel = &it->wheels[i];
    wheel->brake = wanted->brake;
    if (i < 2) {
      wheel->steer = wanted->steer;
    } else {
      double more = wanted->gas - wheel->gas;
      wheel->gas += more > MOST_GAS_MORE ? MOST_GAS_MORE : more;
    }
  }
}

/* ----------------------------------------------------------------------------------- wheels -- */

static double sign(double number) {
  return number > 0 ? 1 : number < 0 ? -1 : 0;
}

static void steer(const car_wheel *wheel, const box2d_library *library) {
  double way = wheel->steer - (double)library->joint_angle(wheel->joint);
  library->set_motor_speed(wheel->joint, (float)(sign(way) * fmin(50.0 * fabs(way), 3.0)));
}

/* what engine and brakes do to the wheel's rotation */
static void roll(car_wheel *wheel) {
  wheel->omega += SECONDS * ENGINE_POWER * wheel->gas / WHEEL_INERTIA / (fabs(wheel->omega) + 5.0);
  if (wheel->brake >= 0.9) {
    wheel->omega = 0;
  } else if (wheel->brake > 0) {
    double slower = fmin(BRAKE_FORCE * wheel->brake, fabs(wheel->omega));
    wheel->omega += -sign(wheel->omega) * slower;
  }
  wheel->phase += wheel->omega * SECONDS;
}

static void add_trace(car *it, car_skid *skid, const box2d_vector *at, bool is_on_grass) {
  car_trace *trace = &it->traces[it->num_traces % CAR_MOST_TRACES];
  // Gymnasium's first point is where the wheel is now, too: its start of the skid moves along
  *trace = (car_trace){.count = 2, .is_on_grass = is_on_grass, .points = {{at->x, at->y}}};
  trace->points[1][0] = at->x;
  trace->points[1][1] = at->y;
  *skid = (car_skid){.has_trace = true,
                     .trace = it->num_traces++,
                     .count = trace->count,
                     .is_on_grass = is_on_grass};
}

static void extend_trace(car *it, car_skid *skid, const box2d_vector *at) {
  if (skid->trace >= it->num_traces - CAR_MOST_TRACES) {
    car_trace *trace = &it->traces[skid->trace % CAR_MOST_TRACES];
    trace->points[trace->count][0] = at->x;
    trace->points[trace->count][1] = at->y;
    trace->count++;
  }
  skid->count++;
}

static void leave_trace(car *it, car_wheel *wheel, const box2d_vector *at, bool is_sliding) {
  car_skid *skid = &wheel->skid;
  bool is_on_grass = !wheel->tiles;

  if (!is_sliding) {
    skid->begins = skid->has_trace = false;
  } else if (skid->has_trace && skid->is_on_grass == is_on_grass &&
             skid->count < CAR_MOST_TRACE_POINTS) {
    extend_trace(it, skid, at);
  } else if (!skid->begins) {
    skid->begins = true;
  } else {
    add_trace(it, skid, at, is_on_grass);
  }
}

static void step_wheel(car *it, car_wheel *wheel, const box2d_library *library) {
  const double limit = wheel->tiles ? FRICTION_LIMIT : FRICTION_LIMIT * 0.6;
  const float *rotation = box2d_number(wheel->body, library->rotation); /* sine, cosine */
  const double side[2] = {(double)rotation[1], (double)rotation[0]};
  const double ahead[2] = {-(double)rotation[0], (double)rotation[1]};
  const box2d_vector *velocity = box2d_pair(wheel->body, library->velocity);
  const double x = (double)velocity->x, y = (double)velocity->y;

  steer(wheel, library);
  roll(wheel);
  double along = (-(ahead[0] * x + ahead[1] * y) + wheel->omega * WHEEL_RADIUS) * STIFFNESS;
  double across = -(side[0] * x + side[1] * y) * STIFFNESS;
  double force = sqrt(along * along + across * across);
  leave_trace(it, wheel, box2d_pair(wheel->body, library->position), force > 2.0 * limit);
  if (force > limit) {
    along = along / force * limit;
    across = across / force * limit;
  }
  wheel->omega -= SECONDS * along * WHEEL_RADIUS / WHEEL_INERTIA;
  // it is awake, because its motor's speed was set
  box2d_vector *total = box2d_pair(wheel->body, library->force);
  total->x += (float)(across * side[0] + along * ahead[0]);
  total->y += (float)(across * side[1] + along * ahead[1]);
}

void car_step(car *it, const box2d_library *library) {
  for (int i = 0; i < CAR_WHEELS; i++) step_wheel(it, &it->wheels[i], library);
}
