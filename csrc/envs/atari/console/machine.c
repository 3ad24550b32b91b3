/* Machine: runs frames, and holds the processor for cartridges of 2 and 4 KB, whose program is
 * visible at all times. */
#define PP_PROCESSOR pp_processor_plain
#define CARTRIDGE_VIEW
#define PROGRAM cart->program
#define ENTER(pc)                        \
  {                                      \
    base = (pc) & 0xf000;                \
    ip = cart->program + ((pc) & 0xfff); \
  }
#define STAY(high) base = (unsigned)(high) << 8;
#define READ_CARTRIDGE(at, bus) value = cart->rom[(at) & 0xfff];
#define WRITE_CARTRIDGE(at, byte)
#define FIXED_ROM cart->rom
#define IMAGE(number) exec.rom = cart->rom;
#define LOOK_AT_BANKS
#define ALONE(op, at)
#include "../games/games.h"
#include "line_cache.h"
#include "processor.inl"

/* Makes all cycles count from the start of the line in which the next frame starts. */
static void rebase(pp_machine *m) {
  uint32_t base = m->cycle - m->cycle % PP_LINE_CYCLES;
  m->cycle -= base;
  m->timer_set -= base;
  m->timer_reset -= base;
  m->dump_start -= base;
  m->banks.dpc.cycle -= base;
  if (m->vsync_end != UINT32_MAX) m->vsync_end = m->vsync_end > base ? m->vsync_end - base : 0;
}

/* a PAL television shows no colours after a frame with an odd number of lines */
static void lose_color(pp_tia *t, unsigned odd) {
  t->reg.gray = (uint8_t)odd;
  for (int i = 0; i < 4; i++) t->reg.color[i] = (uint8_t)((t->reg.color[i] & 0xfe) | odd);
}

/* Runs until the frame ends, or until ALE's limit of instructions. Frames that may be near it are
 * not remembered. */
static void run_frame(pp_machine *m, const pp_cartridge *cart, pp_picture *p, bool goes_on) {
  // most frames end long before the limit; others run again and count their instructions
  if (!goes_on) {
    if (p->cache && !pp_line_cache_begin(p->cache)) p->cache = NULL;
    bool is_done = !cart->run(m, cart, p);
    if (is_done && p->cache) pp_line_cache_end(p->cache);
    if (is_done) return;
  }
  // the cache may also rest, but then it is empty
  if (p->cache) pp_line_cache_empty(p->cache);
  p->cache = NULL;
  cart->run(m, cart->counting, p);
}

int pp_machine_frame(pp_machine *m, const pp_cartridge *cart, const pp_canvas *canvas) {
  pp_picture p = {.screen = canvas->screen,
                  .other = canvas->other,
                  .cache = canvas->cache,
                  .first = cart->first_line * PP_LINE_CLOCKS,
                  .last = (cart->first_line + cart->lines) * PP_LINE_CLOCKS,
                  .mark = (uint8_t)(PP_LINE_IN_FIRST << canvas->which)};
  pp_tia *t = &m->tia;
  const bool goes_on = m->partial;
  if (!goes_on) {
    t->line_start = p.first;
    t->cut = 0;
    t->drawn = 0;
    t->reg.moved = PP_LONG_AGO;
    t->changed = 1;
    m->used = 0;
  }
  time_paddles(m, goes_on ? 0 : m->cycle);
  run_frame(m, cart, &p, goes_on);
  if (!m->partial) {
    if (cart->hardware->pal) lose_color(t, m->cycle / PP_LINE_CYCLES & 1);
    rebase(m);
  }
  return (t->line_start - p.first) / PP_LINE_CLOCKS * PP_LINE_PIXELS + t->drawn;
}
