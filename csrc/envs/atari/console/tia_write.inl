/* TIA write: what each write to a register of the television chip does, and when it shows.
 *
 * Included by tia.inl near its end. Uses its functions touch, finish_to and advance, its tables
 * copy_offset and star_shapes, and star_position. Defines tia_apply, which carries out one entry of
 * the log. A register first calls touch for the objects that it changes, at the pixel where the
 * change shows, and then changes pp_tia. */

#include "motion.inl"

/* a register write shows this many clocks later; the playfield changes at the next group of four
 * pixels that is at least two clocks away */
static inline int write_delay(unsigned reg, int clock) {
  switch (reg) {
    case TIA_NUSIZ0:
    case TIA_NUSIZ1: return 8;
    case TIA_VBLANK:
    case TIA_REFP0:
    case TIA_REFP1:
    case TIA_GRP0:
    case TIA_GRP1: return 1;
    case TIA_RESM0:
    case TIA_RESM1: return 8;
    case TIA_PF0:
    case TIA_PF1:
    case TIA_PF2: {
      int x = clock % PP_LINE_CLOCKS;
      return ((x + 5) & ~3) - x;
    }
    default: return 0;
  }
}

/* clocks from HMOVE to the write of HMM0 that makes the motion endless */
enum { STAR_CLOCKS = HMOVE_CLOCKS };

static inline int wrap_pixel(int x) {
  return x >= PP_LINE_PIXELS ? x - PP_LINE_PIXELS : x;
}

/* returns the pixel of an object whose position is reset at this clock of a line */
static inline int reset_position(int clock, int in_blank, int offset) {
  int x = clock - PP_BLANK_CLOCKS;
  return x < 0 ? in_blank : wrap_pixel(x + offset);
}

/* Returns the pixel of a missile or the ball that is reset. The table has the pixels for resets
 * while HMOVE's extra clocks are still running: by object, cycle of the line, and cycles since
 * HMOVE. (Measured on ALE, which has no other such cases.) */
static int reset_shot(const pp_tia *t, int object, int clock) {
  static const struct {
    uint8_t object, cycle, since, to;
  } moving[] = {{PP_BALL, 6, 3, 3},    {PP_BALL, 9, 6, 5},    {PP_BALL, 10, 7, 6},
                {PP_BALL, 20, 18, 10}, {PP_BALL, 23, 18, 10}, {PP_MISSILE0, 23, 20, 8},
                {PP_MISSILE1, 6, 3, 3}};
  int at = clock % PP_LINE_CLOCKS, since = clock - t->reg.moved;
  for (size_t i = 0; i < sizeof(moving) / sizeof(moving[0]) && since < HMOVE_CLOCKS; i++) {
    if (moving[i].object == object && 3 * moving[i].cycle == at && 3 * moving[i].since == since) {
      return moving[i].to;
    }
  }
  return reset_position(at, 2, 4);
}

/* A player that is reset shows no first copy in this line, unless the new position is just before
 * one of its copies. If a copy is being drawn, it is finished first, in the next line if necessary;
 * then that line lacks the first copy. A write of NUSIZ or HMOVE brings it back. */
static void reset_player(pp_tia *t, const pp_picture *p, int player, int32_t clock) {
  int object = 2 * player, size = t->reg.nusiz[player] & 7;
  int to = reset_position(clock % PP_LINE_CLOCKS, 3, 5);
  int width = size == 5 ? 16 : size == 7 ? 32 : 8;
  bool before = false, inside = false;
  for (int k = -1; k < 2; k++) {
    int offset = k < 0 ? 0 : copy_offset[size][k];
    if (k >= 0 && offset == 0) break;
    int start = t->reg.position[object] + offset;
    int ahead = (to - start + 2 * PP_LINE_PIXELS) % PP_LINE_PIXELS;
    if (ahead < 4) before = true;
    if (ahead >= 4 && ahead < 4 + width) inside = true;
  }
  int x = advance(t, p, inside ? clock + 11 : clock);
  touch(t, object, x);
  t->reg.position[object] = (uint8_t)to;
  // the first clock of a line still belongs to the line before
  t->reg.hide_first[player] = !before && (inside || clock % PP_LINE_CLOCKS != 0);
  t->reg.rare |= t->reg.hide_first[player];
  if (t->reg.locked[player]) {
    touch(t, object + 1, x);
    t->reg.position[object + 1] = (uint8_t)to;
  }
}

/* Returns the objects that an HMOVE at this cycle may move. At most cycles, an object without
 * motion stays where it is. */
static inline unsigned movable(const pp_tia_registers *r, int cycle) {
  if (motion_shift(cycle, 0)) return (1u << PP_PLAYFIELD) - 1;
  unsigned objects = 0;
  for (int o = 0; o < PP_PLAYFIELD; o++) objects |= (unsigned)(r->motion[o] != 0) << o;
  return objects;
}

/* Ends what a write of HMOVE ends: it stops an endless HMOVE, and brings hidden copies back. */
static __attribute__((noinline)) void end_rare(pp_tia *t, int x) {
  if (t->reg.starring) {
    touch(t, PP_MISSILE0, x);
    t->reg.position[PP_MISSILE0] = (uint8_t)star_position(t);
    t->reg.starring = 0;
  }
  for (int player = 0; player < 2; player++) {
    if (!t->reg.hide_first[player]) continue;
    touch(t, 2 * player, x);
    t->reg.hide_first[player] = 0;
  }
}

static ALWAYS_INLINE void move_objects(pp_tia *t, int x, int32_t clock) {
  int cycle = clock % PP_LINE_CLOCKS / 3;
  t->reg.moved = clock;
  if (t->reg.rare) end_rare(t, x);
  // HMOVE is late enough to lengthen the next line's blank, or in time to lengthen this line's
  if (cycle > 74 && !t->no_comb) t->reg.next_comb = t->reg.rare = 1;
  if (cycle < 21 && !t->no_comb) t->reg.comb = t->changed = 1;
  for (unsigned left = movable(&t->reg, cycle); left; left &= left - 1) {
    int o = __builtin_ctz(left), shift = motion_shift(cycle, t->reg.motion[o]);
    if (shift == 0) continue;
    touch(t, o, x);
    int at = t->reg.position[o] + shift;
    t->reg.position[o] = (uint8_t)(at < 0 ? at + PP_LINE_PIXELS : wrap_pixel(at));
  }
}

static void set_color(pp_tia *t, const pp_picture *p, int which, int x, uint8_t color) {
  if (p->screen && x > 0) finish_to(t, p, x);
  t->changed = 1;
  t->reg.color[which] = color | t->reg.gray;
}

/* missile p is hidden while it is locked to its player; unlocked, it is at the player's middle */
static void lock_missile(pp_tia *t, int p, int x, bool locked) {
  touch(t, 2 * p + 1, x);
  if (!locked && t->reg.locked[p]) {
    int size = t->reg.nusiz[p] & 7;
    int middle = size == 5 ? 8 : size == 7 ? 16 : 4;
    t->reg.position[2 * p + 1] = (uint8_t)wrap_pixel(t->reg.position[2 * p] + middle);
  }
  t->reg.locked[p] = locked;
}

static ALWAYS_INLINE void tia_apply(pp_tia *t, const pp_picture *p, unsigned reg, uint8_t value,
                                    int32_t clock) {
  if (reg == TIA_RESP0 || reg == TIA_RESP1) {
    reset_player(t, p, (int)reg - TIA_RESP0, clock);
    return;
  }
  int x = advance(t, p, clock + write_delay(reg, clock));
  switch (reg) {
    case TIA_VBLANK:
      if (x > 0) finish_to(t, p, x);
      t->changed = 1;
      t->reg.vblank = value >> 1 & 1;
      break;
    case TIA_NUSIZ0:
    case TIA_NUSIZ1:
      touch(t, reg == TIA_NUSIZ0 ? PP_PLAYER0 : PP_PLAYER1, x);
      touch(t, reg == TIA_NUSIZ0 ? PP_MISSILE0 : PP_MISSILE1, x);
      t->reg.nusiz[reg - TIA_NUSIZ0] = value;
      t->reg.hide_first[reg - TIA_NUSIZ0] = 0;
      break;
    case TIA_COLUP0:
    case TIA_COLUP1:
    case TIA_COLUPF:
    case TIA_COLUBK: set_color(t, p, (int)reg - TIA_COLUP0, x, value); break;
    case TIA_CTRLPF:
      // score and priority change colours; finish_to first, as it refreshes stale masks
      if (p->screen && x > 0 && ((value ^ t->reg.ctrlpf) & 6)) finish_to(t, p, x);
      touch(t, PP_PLAYFIELD, x);
      touch(t, PP_BALL, x);
      t->changed = 1;
      t->reg.ctrlpf = value;
      // the right half keeps its direction once it has begun
      if (x < 79) t->reg.mirrored = value & 1;
      t->reg.rare |= t->reg.mirrored != (value & 1);
      break;
    case TIA_REFP0:
    case TIA_REFP1:
      touch(t, reg == TIA_REFP0 ? PP_PLAYER0 : PP_PLAYER1, x);
      t->reg.reflect[reg - TIA_REFP0] = value;
      break;
    case TIA_PF0:
    case TIA_PF1:
    case TIA_PF2:
      touch(t, PP_PLAYFIELD, x);
      t->reg.pf[reg - TIA_PF0] = value;
      break;
    case TIA_RESM0:
    case TIA_RESM1:
      touch(t, reg == TIA_RESM0 ? PP_MISSILE0 : PP_MISSILE1, x);
      t->reg.position[reg == TIA_RESM0 ? PP_MISSILE0 : PP_MISSILE1] =
          (uint8_t)reset_shot(t, reg == TIA_RESM0 ? PP_MISSILE0 : PP_MISSILE1, clock);
      break;
    case TIA_RESBL:
      touch(t, PP_BALL, x);
      t->reg.position[PP_BALL] = (uint8_t)reset_shot(t, PP_BALL, clock);
      break;
    case TIA_GRP0:
    case TIA_GRP1: {
      // writing one player's graphics updates the delayed copy of the other's
      int q = (int)reg - TIA_GRP0;
      if (!t->reg.delay[q]) touch(t, 2 * q, x);
      t->reg.grp[q] = value;
      if (t->reg.delay[1 - q]) touch(t, 2 * (1 - q), x);
      t->reg.old_grp[1 - q] = t->reg.grp[1 - q];
      if (q == 1) {
        if (t->reg.delay_ball) touch(t, PP_BALL, x);
        t->reg.old_enabl = t->reg.enabl;
      }
      break;
    }
    case TIA_ENAM0:
    case TIA_ENAM1:
      touch(t, reg == TIA_ENAM0 ? PP_MISSILE0 : PP_MISSILE1, x);
      t->reg.enam[reg - TIA_ENAM0] = value;
      break;
    case TIA_ENABL:
      touch(t, PP_BALL, x);
      t->reg.enabl = value >> 1 & 1;
      break;
    case TIA_HMP0:
    case TIA_HMP1:
    case TIA_HMM0:
    case TIA_HMM1:
    case TIA_HMBL: {
      static const uint8_t object[5] = {PP_PLAYER0, PP_PLAYER1, PP_MISSILE0, PP_MISSILE1, PP_BALL};
      // written at this clock, the comparison that would stop the missile does not happen
      if (reg == TIA_HMM0 && t->reg.motion[PP_MISSILE0] == 7 && value == 0x60 &&
          clock - t->reg.moved == STAR_CLOCKS) {
        touch(t, PP_MISSILE0, x);
        t->reg.starring = t->reg.rare = 1;
        t->reg.star = 0;
      }
      t->reg.motion[object[reg - TIA_HMP0]] = value >> 4;
      break;
    }
    case TIA_VDELP0:
    case TIA_VDELP1:
      touch(t, reg == TIA_VDELP0 ? PP_PLAYER0 : PP_PLAYER1, x);
      t->reg.delay[reg - TIA_VDELP0] = value;
      break;
    case TIA_VDELBL:
      touch(t, PP_BALL, x);
      t->reg.delay_ball = value;
      break;
    case TIA_RESMP0:
    case TIA_RESMP1: lock_missile(t, (int)reg - TIA_RESMP0, x, value >> 1 & 1); break;
    case TIA_HMOVE: move_objects(t, x, clock); break;
    case TIA_HMCLR: memset(t->reg.motion, 0, sizeof(t->reg.motion)); break;
    case TIA_CXCLR:
      if (x > 0) finish_to(t, p, x);
      t->changed = 1;
      t->collision = t->line_collision = 0;
      break;
    default: break;
  }
}
