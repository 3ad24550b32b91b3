/* The car of CarRacing: a hull and four wheels, which roll, slide and leave traces. */
#ifndef PP_ENVS_BOX2D_RACING_CAR_H
#define PP_ENVS_BOX2D_RACING_CAR_H

#include <stdbool.h>
#include <stdint.h>

#include "../joints.h"
#include "../library.h"

/* numbers of Gymnasium's car_dynamics.py */
#define CAR_SIZE 0.02
#define CAR_WHEEL_RADIUS 27
#define CAR_WHEEL_WIDTH 14

enum {
  CAR_WHEELS = BOX2D_CAR_WHEELS, /* two in front, two that are driven */
  CAR_MOST_TRACES = 30,          /* a new one replaces the oldest */
  CAR_MOST_TRACE_POINTS = 30
};

typedef struct car_trace {
  int32_t count;
  bool is_on_grass;
  float points[CAR_MOST_TRACE_POINTS][2];
} car_trace;

/* the trace that a wheel is leaving */
typedef struct car_skid {
  bool begins;    /* it began to slide in the last step, but there is no trace yet */
  bool has_trace; /* there is one, which may have been replaced since */
  int64_t trace;  /* its number, counted from the car's first one */
  int32_t count;  /* of its points */
  bool is_on_grass;
} car_skid;

typedef struct car_wheel {
  void *body;
  void *joint;
  int32_t tiles; /* that it is on */
  double gas, brake, steer;
  double phase, omega; /* angle and angular velocity of its rolling */
  car_skid skid;
} car_wheel;

typedef struct car {
  void *hull; /* null: the world has no car */
  car_wheel wheels[CAR_WHEELS];
  int64_t num_traces;
  car_trace traces[CAR_MOST_TRACES]; /* trace i is at i % CAR_MOST_TRACES */
} car;

/* what the driver does in a step */
typedef struct car_controls {
  double steer; /* to the left, which is positive */
  double gas;   /* 0 .. 1 */
  double brake;
} car_controls;

/* makes the bodies in a world */
void car_create(car *it, const box2d_library *library, void *world, box2d_joints *joints,
                const double start[3]);

/* destroys the bodies */
void car_destroy(car *it, const box2d_library *library, void *world);

void car_control(car *it, const car_controls *wanted);

/* applies the forces of a step of Gymnasium's environments, before the world's */
void car_step(car *it, const box2d_library *library);

#endif
