/* Controls: pins and paddles, by the actions of ALE's list. */
#include "controls.h"

#include <limits.h>
#include <stdint.h>

enum { PADDLE_STEP = 23000, PADDLE_MIN = 27450 };

/* the parts of each of ALE's eighteen actions */
enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8, FIRE = 16 };
static const uint8_t action_parts[18] = {
    0,
    FIRE,
    UP,
    RIGHT,
    LEFT,
    DOWN,
    UP | RIGHT,
    UP | LEFT,
    DOWN | RIGHT,
    DOWN | LEFT,
    UP | FIRE,
    RIGHT | FIRE,
    LEFT | FIRE,
    DOWN | FIRE,
    UP | RIGHT | FIRE,
    UP | LEFT | FIRE,
    DOWN | RIGHT | FIRE,
    DOWN | LEFT | FIRE,
};

/* the pin of port A that each paddle's button pulls low */
static const uint8_t paddle_buttons[4] = {0x80, 0x40, 0x08, 0x04};

/* sets a paddle's resistance, and its capacitor's time to charge in cycles, rounded as in ALE */
static void set_paddle(pp_machine *m, int paddle, int resistance) {
  m->paddle[paddle] = (uint32_t)resistance;
  m->charge[paddle] = (uint32_t)(1.6 * resistance * 0.01e-6 * 1.19e6);
}

/* The conversion to int of x86, on which ale-py's is measured: C leaves large values undefined. */
static int to_int(float value) {
  return value >= -0x1p31f && value < 0x1p31f ? (int)value : INT_MIN;
}

/* The sum wraps, as ale-py's does. */
static void turn_paddle(pp_machine *m, const pp_hardware *hardware, int paddle, uint32_t change) {
  int to = (int)(m->paddle[paddle] + change);
  if (to < PADDLE_MIN) to = PADDLE_MIN;
  if (to > hardware->paddle_max) to = hardware->paddle_max;
  set_paddle(m, paddle, to);
}

void pp_controls_power(pp_machine *m, const pp_hardware *hardware) {
  // a joystick has no capacitor that could be charged
  for (int i = 0; i < 4; i++) m->charge[i] = PP_NEVER;
  int middle = (hardware->paddle_max - PADDLE_MIN) / 2 + PADDLE_MIN;
  for (int i = 0; i < hardware->paddles; i++) {
    set_paddle(m, i, i < 2 || hardware->all_centered ? middle : 0);
  }
}

void pp_controls_release(pp_machine *m) {
  m->port_a = 0xff;
  m->trigger[0] = m->trigger[1] = 0x80;
}

void pp_controls_apply(pp_machine *m, const pp_hardware *hardware, int player, int action,
                       float strength) {
  unsigned parts = action_parts[action];
  int controller = player ^ (hardware->swapped ? 1 : 0);
  if (hardware->paddles) {
    uint32_t step = (uint32_t)to_int(PADDLE_STEP * strength);
    if (parts & RIGHT) turn_paddle(m, hardware, controller, 0 - step);
    if (parts & LEFT) turn_paddle(m, hardware, controller, step);
    if (parts & FIRE) m->port_a &= (uint8_t)~paddle_buttons[controller];
    return;
  }
  // the parts have the order of a port's pins; the left port is the upper four bits
  m->port_a &= (uint8_t)~((parts & 15) << (controller ? 0 : 4));
  if (parts & FIRE) m->trigger[controller] = 0;
}
