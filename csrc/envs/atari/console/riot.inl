/* RIOT: reads and writes of the RIOT (timer and controller ports; the processor handles its RAM
 * itself), and reads of the TIA, whose results depend on the controllers.
 *
 * Included by processor.inl. Its functions use pp_machine alone and no macro. */

#include "tia_registers.h"

/* INTIM: the timer counts down once per interval. After zero it counts every cycle until it is
 * read; then it counts once per interval again. */
static __attribute__((noinline)) uint8_t timer_read(pp_machine *m, uint32_t cycle) {
  uint32_t elapsed = cycle - 1 - m->timer_set;
  int32_t left = (int32_t)m->timer - (int32_t)(elapsed >> m->timer_shift) - 1;
  if (left >= 0) return (uint8_t)left;

  uint32_t span = (uint32_t)m->timer << m->timer_shift;
  left = (int32_t)(span - elapsed - 1);
  if (left <= -2 && !m->timer_read) {
    m->timer_read = 1;
    m->timer_reset = cycle;
  }
  if (m->timer_read) {
    uint32_t offset = m->timer_reset - (m->timer_set + span);
    left = (int32_t)((uint32_t)m->timer - (elapsed >> m->timer_shift) - offset);
  }
  return (uint8_t)left;
}

/* INSTAT: bit 7 is set if the timer has passed zero and has not been read since */
static uint8_t timer_status(const pp_machine *m, uint32_t cycle) {
  uint32_t elapsed = cycle - 1 - m->timer_set;
  int32_t left = (int32_t)m->timer - (int32_t)(elapsed >> m->timer_shift) - 1;
  return left >= 0 || m->timer_read ? 0 : 0x80;
}

/* an address with A12 low, A9 and A7 high */
static uint8_t riot_read(pp_machine *m, unsigned address, uint32_t cycle) {
  if (address & 4) return address & 1 ? timer_status(m, cycle) : timer_read(m, cycle);
  switch (address & 3) {
    case RIOT_SWCHA & 3: return m->port_a;
    case RIOT_SWCHB & 3: return m->port_b;
    default: return 0;  // the direction registers, which nothing here uses
  }
}

static __attribute__((noinline)) void riot_write(pp_machine *m, unsigned address, uint8_t value,
                                                 uint32_t cycle) {
  // the ports' output latches and directions do not reach the pins here
  if ((address & 0x14) != 0x14) return;
  static const uint8_t shift[4] = {0, 3, 6, 10};
  m->timer = value;
  m->timer_shift = shift[address & 3];
  m->timer_set = cycle;
  m->timer_read = 0;
}

/* Sets the cycle from which each paddle's capacitor is charged, if it was released at dump_start. A
 * capacitor charged before the frame began counts as never charged, because ALE counts cycles from
 * zero in each frame. */
static __attribute__((noinline)) void time_paddles(pp_machine *m, uint32_t began) {
  for (int i = 0; i < 4; i++) {
    uint32_t charge = m->charge[i], ready = m->dump_start + charge;
    bool never = m->dumped || charge == PP_NEVER || (int32_t)(ready - began) < 0;
    m->ready[i] = charge == 0 ? 0 : never ? PP_NEVER : ready;
  }
}

/* INPT0-3: high once the capacitor has charged through the paddle's resistance */
static uint8_t paddle_read(const pp_machine *m, unsigned paddle, uint32_t cycle) {
  return cycle > m->ready[paddle] ? 0x80 : 0;
}

/* a TIA register other than the collisions, or a collision register once all writes are drawn */
static inline uint8_t tia_read(pp_machine *m, unsigned reg, uint32_t cycle, uint8_t bus) {
  reg &= 15;
  m->used = cycle;
  uint8_t high = 0;
  if (reg < TIA_INPT0) {
    high = (uint8_t)((m->tia.collision >> 2 * reg & 3) << 6);
  } else if (reg < TIA_INPT4) {
    high = paddle_read(m, reg - TIA_INPT0, cycle);
  } else if (reg <= TIA_INPT5) {
    // INPT4-5: low while the trigger is down; ALE has no latches, whatever VBLANK asks for
    high = m->trigger[reg - TIA_INPT4];
  }
  return (uint8_t)(high | (bus & 0x3f));
}
