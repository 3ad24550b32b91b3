/* Console check: whether a console from a snapshot is one that play can have made.
 *
 * Everything in a console is plain data, and anybody can make a snapshot of any bytes. These are
 * the values on which memory accesses, shifts or loops depend, and what bounds each of them:
 *
 *   processor   carry, overflow, decimal, interrupt: 0 or 1, else registers grow past a byte (ROR)
 *               pc, sp, a, x, y, nz, RAM: any; every address leads to an instruction, and indices
 *               are masked
 *   time        cycle: within a line between frames; in a frame that goes on (partial) so low that
 *               its clocks, three to a cycle, fit an int32 for one more frame
 *               last_line: the cartridge's; the log of writes has room for frames of that length
 *               timer_shift: one of the four intervals; timer_set: so near that differences fit
 *               paddles, vsync_end, dump_start: any; they are compared, modulo 2^32
 *   chip        stale, shown, seen, cut: bits of the six objects, which index masks
 *               star: indexes four shapes; position, motion: a line's pixels, a nibble
 *               drawn, from: pixels of a line; line_start, moved: see check_going_on
 *               masks, colours, graphics: any; pixels are only written within spans of a line
 *   banks       slice: what the mapper can show; indexes the ROM and the decoded program
 *               counter: indexes the DPC's 2 KB; fraction: of a clock
 *   console     shown: indexes the screens; is_undrawn says which of `before_undrawn` are in use
 *               held_action: indexes ALE's actions; mode: indexes the game's modes
 *               cache_at: leads to the cache; it is what it was
 *               generators: see base/state_check.h; they only have to come to an end where numbers
 *               are drawn again, which the console's own never are
 *               score, scores: sums, so low that one more frame fits an int32
 *               screens: any; all tables of colours have 256 entries
 *   cache        not in a snapshot; it is emptied */
#include "console_check.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fail.h"
#include "base/state_check.h"

enum {
  /* no frame takes so many cycles */
  FRAME_CYCLES = 1 << 22,
  LATEST_CYCLE = INT32_MAX / 3 - FRAME_CYCLES,
  ALL_OBJECTS = (1 << PP_OBJECTS) - 1,
  MOST_POINTS = 1 << 30,
  MOST_KEPT = 1 << 20,
};

static bool refuse(const pp_env *env, const char *reason) {
  pp_fail(env->error, PP_ERR_ARGUMENT, "%s", reason);
  return false;
}

/* shorter, as most lines below are such a check */
#define RANGE(value, low, high) pp_state_check_range(env, #value, (int64_t)(value), low, high)

/* ----------------------------------------------------------------------------------- machine -- */

static bool check_processor(const pp_env *env, const pp_machine *m) {
  return RANGE(m->carry, 0, 1) && RANGE(m->overflow, 0, 1) && RANGE(m->decimal, 0, 1) &&
         RANGE(m->interrupt, 0, 1);
}

static bool check_time(const pp_env *env, const pp_machine *m, const pp_cartridge *cart) {
  bool is_interval =
      m->timer_shift == 0 || m->timer_shift == 3 || m->timer_shift == 6 || m->timer_shift == 10;
  if (!is_interval) return refuse(env, "the timer's interval does not exist");
  // with longer intervals the difference fits in any case
  bool is_near = m->timer_shift > 0 || m->cycle - m->timer_set < INT32_MAX - FRAME_CYCLES;
  if (!is_near) return refuse(env, "the timer was set too long ago");
  const int64_t last = m->partial ? LATEST_CYCLE : PP_LINE_CYCLES - 1;
  return RANGE(m->cycle, 0, last) && RANGE(m->last_line, cart->last_line, cart->last_line) &&
         RANGE(m->timer_read, 0, 1) && RANGE(m->ended, 0, 1) && RANGE(m->dumped, 0, 1);
}

static bool check_registers(const pp_env *env, const pp_tia_registers *r) {
  return RANGE(r->starring, 0, 1) && RANGE(r->star, 0, 3) && RANGE(r->gray, 0, 1) &&
         pp_state_check_bytes(env, "position", r->position, 5, PP_LINE_PIXELS - 1) &&
         pp_state_check_bytes(env, "motion", r->motion, 5, 15);
}

static bool check_tia(const pp_env *env, const pp_tia *t) {
  for (int o = 0; o < PP_OBJECTS; o++) {
    if (!RANGE(t->from[o], 0, PP_LINE_PIXELS)) return false;
  }
  return RANGE(t->stale, 0, ALL_OBJECTS) && RANGE(t->shown, 0, ALL_OBJECTS) &&
         RANGE(t->seen, 0, ALL_OBJECTS) && RANGE(t->cut, 0, ALL_OBJECTS) &&
         RANGE(t->drawn, 0, PP_LINE_PIXELS) && check_registers(env, &t->reg);
}

/* Checks what the beginning of a frame sets, and a frame that goes on uses: the line that is being
 * drawn is one of the screen, and the first one has none above it that it could repeat. */
static bool check_going_on(const pp_env *env, const pp_machine *m, const pp_cartridge *cart) {
  const pp_tia *t = &m->tia;
  const int32_t first = cart->first_line * PP_LINE_CLOCKS;
  if (!RANGE(t->line_start, first, first + cart->lines * PP_LINE_CLOCKS)) return false;
  if ((t->line_start - first) % PP_LINE_CLOCKS) return refuse(env, "no line starts there");
  if (t->line_start == first && !t->changed) return refuse(env, "nothing is above the first line");
  return RANGE(m->used, 0, m->cycle) && RANGE(t->reg.moved, PP_LONG_AGO, 3 * (int64_t)m->cycle);
}

static bool check_slices(const pp_env *env, const uint8_t slice[PP_SLOTS],
                         const pp_cartridge *cart) {
  if (cart->mapper == PP_MAPPER_E0) {
    return pp_state_check_bytes(env, "slice", slice, PP_SLOTS, 7) && RANGE(slice[3], 7, 7);
  }
  const bool is_fixed = cart->mapper == PP_MAPPER_NONE || cart->mapper == PP_MAPPER_FE;
  const int last = is_fixed ? 0 : cart->mapper == PP_MAPPER_F6 ? 3 : 1;
  if (!RANGE(slice[0], 0, 4 * last)) return false;
  if (slice[0] % PP_SLOTS) return refuse(env, "the slots show no bank");
  for (int i = 1; i < PP_SLOTS; i++) {
    if (!RANGE(slice[i], slice[0] + i, slice[0] + i)) return false;
  }
  return true;
}

static bool check_dpc(const pp_env *env, const pp_dpc *d) {
  for (int f = 0; f < PP_DPC_FETCHERS; f++) {
    if (!RANGE(d->counter[f], 0, PP_DPC_BYTES - 1)) return false;
  }
  if (d->fraction >= 0 && d->fraction < 1) return true;
  return refuse(env, "a fraction is not in 0 to 1");
}

static bool check_machine(const pp_env *env, const pp_machine *m, const pp_cartridge *cart) {
  return RANGE(m->partial, 0, 1) && check_processor(env, m) && check_time(env, m, cart) &&
         check_tia(env, &m->tia) && (!m->partial || check_going_on(env, m, cart)) &&
         check_slices(env, m->banks.slice, cart) && check_dpc(env, &m->banks.dpc);
}

/* ----------------------------------------------------------------------------------- console -- */

static bool check_points(const pp_env *env, const int32_t *points, int count, int32_t most) {
  for (int i = 0; i < count; i++) {
    if (!RANGE(points[i], -most, most)) return false;
  }
  return true;
}

static bool check_scores(const pp_env *env, const pp_console *c) {
  const int32_t own[] = {c->score.score, c->score.reward, c->score.lives};
  const pp_scores *s = &c->scores;
  return check_points(env, own, 3, MOST_POINTS) &&
         check_points(env, s->score, PP_ATARI_MAX_PLAYERS, MOST_POINTS) &&
         check_points(env, s->reward, PP_ATARI_MAX_PLAYERS, MOST_POINTS) &&
         check_points(env, s->lives, PP_ATARI_MAX_PLAYERS, MOST_POINTS) &&
         check_points(env, s->kept, 4, MOST_KEPT);
}

/* Checks the machines that may run: the present one, and of each screen that has not been drawn the
 * one that draws it, from a frame's beginning. */
static bool check_machines(const pp_env *env, const pp_console *c, const pp_cartridge *cart) {
  if (!check_machine(env, &c->machine, cart)) return false;
  for (int screen = 0; screen < 2; screen++) {
    const pp_machine *start = &c->before_undrawn[screen];
    if (!pp_state_check_range(env, "is_undrawn", c->is_undrawn[screen], 0, 1)) return false;
    if (!c->is_undrawn[screen]) continue;
    if (!RANGE(start->partial, 0, 0) || !check_machine(env, start, cart)) return false;
  }
  return true;
}

static bool check_settings(const pp_env *env, const pp_console *c, const pp_setup *setup) {
  const int mode = setup->mode < 0 ? setup->cartridge->game->modes[0] : setup->mode;
  const int difficulty = setup->difficulty < 0 ? 0 : setup->difficulty;
  return RANGE(c->mode, mode, mode) && RANGE(c->difficulty, difficulty, difficulty) &&
         RANGE(c->held_action, 0, PP_ACTIONS - 1);
}

/* Returns whether a console is as the engine made it, all zeros except for cache_at. */
static bool is_untouched(const pp_console *c) {
  const char *bytes = (const char *)c;
  const size_t cache = offsetof(pp_console, cache_at), behind = cache + sizeof(c->cache_at);
  for (size_t i = 0; i < sizeof(*c); i++) {
    if (bytes[i] && (i < cache || i >= behind)) return false;
  }
  return true;
}

bool pp_console_check(const pp_env *env, const pp_console *c, const pp_console *present,
                      const pp_setup *setup, bool has_power) {
  if (c->cache_at != present->cache_at) return refuse(env, "the line cache is somewhere else");
  if (!has_power) return is_untouched(c) || refuse(env, "the console was never switched on");
  return RANGE(c->shown, 0, 1) &&
         pp_state_check_range(env, "last_was_short", c->last_was_short, 0, 1) &&
         check_settings(env, c, setup) && check_machines(env, c, setup->cartridge) &&
         check_scores(env, c) && RANGE(c->system_random.next, 0, PP_MT19937_WORDS) &&
         RANGE(c->action_random.next, 0, PP_MT19937_WORDS);
}

int pp_console_check_power(const pp_env *env, bool has_power) {
  if (has_power) return PP_OK;
  refuse(env, "the console was never switched on: reset the environment");
  return PP_ERR_STATE;
}
