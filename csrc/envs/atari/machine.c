// machine.c: the processor, as an interpreter of predecoded instructions.
#include "machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "riot.inl"

// the operations use the chips above
#include "operation.inl"

// cycles after which a program that never ends its frame is stopped
enum { CYCLE_LIMIT = 65000, LOG_ENTRIES = 12288 };

// where execution stands outside the cartridge: one instruction, fetched and decoded on the fly
typedef struct outside {
  pp_instruction code[4];
  uint16_t pc;
} outside;

// run until the frame ends; with a null machine, only report where the handlers are
static __attribute__((noinline)) const void *const *run(pp_machine *machine,
                                                        const pp_cartridge *cart,
                                                        const pp_picture *p) {
#define HANDLER_ADDRESS(op, mode) &&H_##op##_##mode,
#define PAIR_ADDRESS(a, am, b, bm) &&H_##a##_##am##_##b##_##bm,
#define TRIPLE_ADDRESS(a, am, b, bm, c, cm) &&H_##a##_##am##_##b##_##bm##_##c##_##cm,
#define QUADRUPLE_ADDRESS(a, am, b, bm, c, cm, d, dm) \
  &&H_##a##_##am##_##b##_##bm##_##c##_##cm##_##d##_##dm,
  static const void *const addresses[PP_HANDLER_COUNT] = {PP_HANDLERS(HANDLER_ADDRESS) PP_PAIRS(
      PAIR_ADDRESS) PP_TRIPLES(TRIPLE_ADDRESS) PP_QUADRUPLES(QUADRUPLE_ADDRESS)};
  if (machine == NULL) return addresses;

  // a local copy has a constant address, which leaves a register for the processor's state
  pp_machine here = *machine, *const m = &here;
  uint32_t log_start[LOG_ENTRIES];
  uint32_t *log = log_start;
  const pp_instruction *ip;
  uint8_t *const ram = m->ram;
  const uint8_t *const rom = cart->rom;
  uint32_t cycle = m->cycle, nz = m->nz, a = m->a, x = m->x, y = m->y;
  const uint32_t overrun = (uint32_t)(cart->last_line + 1) * PP_LINE_CYCLES;
  m->ended = 0;
  unsigned base = m->pc & 0xf000, pc = m->pc, address, value;
  outside out;

  if (!(pc & 0x1000)) goto fetch_outside;
  ip = cart->program + (pc & 0xfff);
  NEXT;

  PP_HANDLERS(DEFINE_HANDLER)
  PP_PAIRS(DEFINE_PAIR)
  PP_TRIPLES(DEFINE_TRIPLE)
  PP_QUADRUPLES(DEFINE_QUADRUPLE)

fetch_outside:
  {
    if ((pc & 0x1000) && (pc & 0xfff) < PP_CARTRIDGE_BYTES - 2) {
      base = pc & 0xf000;
      ip = cart->program + (pc & 0xfff);
      NEXT;
    }
    uint8_t bytes[3] = {0, 0, 0};
    for (unsigned i = 0; i < 3; ++i) {
      // only what the instruction needs is fetched; reading has side effects on some registers
      if (i > 0 && i >= pp_instruction_decode(bytes, (uint16_t)pc, rom).length) break;
      BUS_READ(pc + i, pc >> 8);
      bytes[i] = (uint8_t)value;
    }
    pp_decoded d = pp_instruction_decode(bytes, (uint16_t)pc, rom);
    // a relative jump would leave the scratch entries
    unsigned handler = d.handler;
    if (handler == PP_JMP_ABS) {
      d.operand = (uint16_t)(d.operand + pc);
      handler = PP_JMP_FAR;
    } else if (handler >= PP_BPL_BNR && handler <= PP_BEQ_BAB) {
      unsigned mode = (handler - PP_BPL_BNR) % 3;
      if (mode < 2) d.operand = (uint16_t)(d.operand + pc);
      handler += 2 - mode;
    }
    out.pc = (uint16_t)pc;
    out.code[0] = (pp_instruction){cart->handler[handler], d.operand, d.mask, d.low};
    for (int i = 1; i < 4; ++i) {
      out.code[i] = (pp_instruction){cart->handler[PP_OUT_IMP], 0, 0, 0};
    }
    ip = out.code;
    NEXT;
  }

finish:
  m->pc = (uint16_t)PC_OF(ip);
  m->cycle = cycle;
  m->nz = (uint16_t)nz;
  m->a = (uint8_t)a;
  m->x = (uint8_t)x;
  m->y = (uint8_t)y;
  cart->draw(&m->tia, p, log_start, log, cycle);
  *machine = here;
  return NULL;
}

// count cycles from the start of the line in which the next frame starts
static void rebase(pp_machine *m) {
  uint32_t base = m->cycle - m->cycle % PP_LINE_CYCLES;
  m->cycle -= base;
  m->timer_set -= base;
  m->timer_reset -= base;
  m->dump_start -= base;
  if (m->vsync_end != UINT32_MAX) m->vsync_end = m->vsync_end > base ? m->vsync_end - base : 0;
}

int pp_machine_frame(pp_machine *m, const pp_cartridge *cart, uint8_t *screen) {
  const pp_picture p = {screen, cart->first_line * PP_LINE_CLOCKS,
                        (cart->first_line + cart->lines) * PP_LINE_CLOCKS};
  pp_tia *t = &m->tia;
  t->line_start = p.first;
  t->cut = 0;
  t->drawn = 0;
  t->changed = 1;
  run(m, cart, &p);
  rebase(m);
  return (t->line_start - p.first) / PP_LINE_CLOCKS * PP_LINE_PIXELS + t->drawn;
}

const void *const *pp_machine_handlers(void) {
  return run(NULL, NULL, NULL);
}
