/* TIA: draws the television chip's lines from the log of register writes, and finds collisions.
 *
 * Included by tia_generic.c, tia_avx2.c and tia_avx512.c, once each. Such a file first defines
 * PP_BUILD(name), which makes the public name of this build's function (pp_tia_draw), and sets the
 * processor features to compile for. It includes in turn, each in one place:
 *   mask.inl       the type `mask`; needs nothing of this file
 *   paint.inl      pixels of a line; needs `layer`, and <immintrin.h> from mask.inl
 *   tia_write.inl  what each register does; its first lines name what it needs
 *   motion.inl     how HMOVE moves objects; included by tia_write.inl
 *   line_cache.inl  passes over lines that equal those of the last frame
 * Everything but the public function is static, so three builds fit into one library. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "line_cache.h"
#include "machine.h"
#include "tia_registers.h"

/* A log entry is cycle << 16 | register << 8 | value. A write draws nothing: the log is carried out
 * when a collision register is read or the frame ends. Each object is a mask of 160 bits, so
 * collisions are ANDs of masks and need no pixels. A line that repeats the line above costs one
 * copy, or nothing when no pixels are wanted. */

#define ALWAYS_INLINE inline __attribute__((always_inline))

#include "mask.inl"

/* clocks for which an HMOVE changes what other writes do */
enum { HMOVE_CLOCKS = 63 };

/* offsets of the copies that NUSIZ asks for; the first is always 0 */
static const uint8_t copy_offset[8][2] = {{0, 0},  {16, 0}, {32, 0},  {16, 32},
                                          {64, 0}, {0, 0},  {32, 64}, {0, 0}};

/* repeats each of eight bits 1, 2 or 4 times */
static uint64_t stretch(uint32_t bits, int size_log2) {
  if (size_log2 >= 1) {
    bits = (bits | bits << 4) & 0x0f0f;
    bits = (bits | bits << 2) & 0x3333;
    bits = (bits | bits << 1) & 0x5555;
    bits |= bits << 1;
  }
  if (size_log2 >= 2) {
    bits = (bits | bits << 8) & 0x00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f;
    bits = (bits | bits << 2) & 0x33333333;
    bits = (bits | bits << 1) & 0x55555555;
    bits |= bits << 1;
  }
  return bits;
}

static inline uint8_t reverse(uint8_t bits) {
  bits = (uint8_t)((bits & 0xf0) >> 4 | (bits & 0x0f) << 4);
  bits = (uint8_t)((bits & 0xcc) >> 2 | (bits & 0x33) << 2);
  return (uint8_t)((bits & 0xaa) >> 1 | (bits & 0x55) << 1);
}

static mask place_copies(uint64_t pattern, int x, int nusiz, bool hide_first) {
  mask m = hide_first ? mask_none() : mask_place(pattern, x);
  for (int k = 0; k < 2; k++) {
    int offset = copy_offset[nusiz & 7][k];
    if (offset == 0) break;
    int at = x + offset;
    m = mask_or(m, mask_place(pattern, at >= PP_LINE_PIXELS ? at - PP_LINE_PIXELS : at));
  }
  return m;
}

static mask player_mask(const pp_tia *t, int p) {
  uint8_t bits = t->reg.delay[p] ? t->reg.old_grp[p] : t->reg.grp[p];
  if (bits == 0) return mask_none();
  if (!t->reg.reflect[p]) bits = reverse(bits);
  int size = t->reg.nusiz[p] & 7, x = t->reg.position[2 * p];
  int size_log2 = size == 5 ? 1 : size == 7 ? 2 : 0;
  // wide players start a pixel later
  if (size_log2) x = x + 1 == PP_LINE_PIXELS ? 0 : x + 1;
  return place_copies(stretch(bits, size_log2), x, size, t->reg.hide_first[p]);
}

static mask missile_mask(const pp_tia *t, int p) {
  if (!t->reg.enam[p] || t->reg.locked[p]) return mask_none();
  uint64_t pattern = (UINT64_C(1) << (1 << (t->reg.nusiz[p] >> 4 & 3))) - 1;
  return place_copies(pattern, t->reg.position[2 * p + 1], t->reg.nusiz[p], false);
}

/* Missile 0 in an endless HMOVE: the clocks between lines move it 17 pixels to the left, and those
 * within a line distort it, differently in each of four lines. (Measured on ALE.) */
static const struct {
  uint8_t shift;
  uint8_t pattern;
} star_shapes[4] = {{0, 1}, {PP_LINE_PIXELS - 16, 3}, {1, 0}, {1, 1}};

static int star_position(const pp_tia *t) {
  return (t->reg.position[PP_MISSILE0] + star_shapes[t->reg.star].shift) % PP_LINE_PIXELS;
}

static mask star_mask(const pp_tia *t) {
  if (!t->reg.enam[0] || t->reg.locked[0]) return mask_none();
  return place_copies(star_shapes[t->reg.star].pattern, star_position(t), t->reg.nusiz[0], false);
}

static mask ball_mask(const pp_tia *t) {
  if (!(t->reg.delay_ball ? t->reg.old_enabl : t->reg.enabl)) return mask_none();
  return mask_place((UINT64_C(1) << (1 << (t->reg.ctrlpf >> 4 & 3))) - 1, t->reg.position[PP_BALL]);
}

/* a byte with each bit four times, the lowest bit first; and the same with the highest bit first */
#define FOUR(b, bit, at) (((b) >> (bit) & 1u) * (0xfu << 4 * (at)))
#define UPWARD(b)                                                                                 \
  FOUR(b, 0, 0) | FOUR(b, 1, 1) | FOUR(b, 2, 2) | FOUR(b, 3, 3) | FOUR(b, 4, 4) | FOUR(b, 5, 5) | \
      FOUR(b, 6, 6) | FOUR(b, 7, 7)
#define DOWNWARD(b)                                                                               \
  FOUR(b, 7, 0) | FOUR(b, 6, 1) | FOUR(b, 5, 2) | FOUR(b, 4, 3) | FOUR(b, 3, 4) | FOUR(b, 2, 5) | \
      FOUR(b, 1, 6) | FOUR(b, 0, 7)
#define OF_4(f, b) f(b), f(b + 1), f(b + 2), f(b + 3)
#define OF_16(f, b) OF_4(f, b), OF_4(f, b + 4), OF_4(f, b + 8), OF_4(f, b + 12)
#define OF_64(f, b) OF_16(f, b), OF_16(f, b + 16), OF_16(f, b + 32), OF_16(f, b + 48)
#define OF_256(f) OF_64(f, 0), OF_64(f, 64), OF_64(f, 128), OF_64(f, 192)
static const uint32_t upward[256] = {OF_256(UPWARD)};
static const uint32_t downward[256] = {OF_256(DOWNWARD)};

static mask playfield_mask(const pp_tia *t) {
  // PF0 and PF2 are shown lowest bit first, PF1 highest first; PF0 has only its upper four bits
  uint64_t left0 = upward[t->reg.pf[0] >> 4], left1 = downward[t->reg.pf[1]],
           left2 = upward[t->reg.pf[2]];
  uint64_t word0 = left0 | left1 << 16 | left2 << 48, word1 = left2 >> 16;
  if (t->reg.mirrored) {
    uint64_t right0 = downward[t->reg.pf[2]], right1 = upward[t->reg.pf[1]];
    uint64_t right2 = downward[t->reg.pf[0]] & 0xffff;
    return mask_of(word0, word1 | right0 << 16 | right1 << 48, right1 >> 16 | right2 << 16);
  }
  return mask_of(word0, word1 | left0 << 16 | left1 << 32, left2);
}

static void refresh(pp_tia *t, int object) {
  mask m;
  switch (object) {
    case PP_PLAYER0: m = player_mask(t, 0); break;
    case PP_MISSILE0: m = t->reg.starring ? star_mask(t) : missile_mask(t, 0); break;
    case PP_PLAYER1: m = player_mask(t, 1); break;
    case PP_MISSILE1: m = missile_mask(t, 1); break;
    case PP_BALL: m = ball_mask(t); break;
    default: m = playfield_mask(t); break;
  }
  mask_store(&t->now[object], m);
  uint8_t bit = (uint8_t)(1u << object);
  // an object that was invisible and still is changes nothing
  uint8_t before = t->shown;
  t->stale &= (uint8_t)~bit;
  t->shown = (uint8_t)(mask_any(m) ? before | bit : before & ~bit);
  t->seen |= before;
  t->changed |= (before | t->shown) & bit;
}

static inline void refresh_stale(pp_tia *t) {
  for (unsigned stale = t->stale; stale; stale &= stale - 1) refresh(t, __builtin_ctz(stale));
}

/* Keeps what an object showed in this line up to pixel x, where its registers change. */
static void cut_line(pp_tia *t, int object, int x) {
  uint8_t bit = (uint8_t)(1u << object);
  if (t->stale & bit) refresh(t, object);
  int from = t->from[object];
  if (!(t->cut & bit)) {
    t->cut |= bit;
    mask_store(&t->done[object], mask_and(mask_load(&t->now[object]), mask_span(0, x)));
    t->from[object] = (int16_t)x;
  } else if (x > from) {
    mask piece = mask_and(mask_load(&t->now[object]), mask_span(from, x));
    mask_store(&t->done[object], mask_or(mask_load(&t->done[object]), piece));
    t->from[object] = (int16_t)x;
  }
}

/* Notes that an object's registers change at pixel x of this line. */
static inline void touch(pp_tia *t, int object, int x) {
  if (x > 0) cut_line(t, object, x);
  t->stale |= (uint8_t)(1u << object);
}

/* which collision bit each pair of objects sets: 2 * register + (bit 7 ? 1 : 0) */
static const int8_t pair_bit[PP_OBJECTS][PP_OBJECTS] = {
    /* P0, M0, P1, M1, BL, PF */
    {-1, 0, 15, 3, 4, 5},   {0, -1, 1, 14, 8, 9},  {15, 1, -1, 2, 6, 7},
    {3, 14, 2, -1, 10, 11}, {4, 8, 6, 10, -1, 13}, {5, 9, 7, 11, 13, -1},
};

/* returns the pixels that more than one object has */
static inline mask overlap(const mask masks[PP_OBJECTS]) {
  // all objects, as a loop over those that are shown would be mispredicted
  mask seen = masks[0], meet = mask_none();
  for (int o = 1; o < PP_OBJECTS; o++) {
    meet = mask_or(meet, mask_and(seen, masks[o]));
    seen = mask_or(seen, masks[o]);
  }
  return meet;
}

/* Sets the collision bits of all pairs among the objects that are shown. meet: the pixels that more
 * than one of them has. */
static __attribute__((noinline)) void collide(pp_tia *t, const mask masks[PP_OBJECTS],
                                              unsigned shown, const pp_mask *common) {
  const mask meet = mask_load(common);

  for (unsigned first = shown; first; first &= first - 1) {
    int a = __builtin_ctz(first);
    if (!mask_meet(masks[a], meet)) continue;
    for (unsigned second = first & (first - 1); second; second &= second - 1) {
      int b = __builtin_ctz(second);
      if (t->line_collision >> pair_bit[a][b] & 1) continue;
      if (mask_meet(masks[a], masks[b])) t->line_collision |= (uint16_t)(1u << pair_bit[a][b]);
    }
  }
  t->collision |= t->line_collision;
}

/* collects the pixels of all objects over the whole line; returns which objects have any */
static inline unsigned compose(pp_tia *t, mask masks[PP_OBJECTS]) {
  refresh_stale(t);
  for (int o = 0; o < PP_OBJECTS; o++) masks[o] = mask_load(&t->now[o]);
  for (unsigned left = t->cut; left; left &= left - 1) {
    int o = __builtin_ctz(left);
    mask rest = mask_and(masks[o], mask_span(t->from[o], PP_LINE_PIXELS));
    masks[o] = mask_or(rest, mask_load(&t->done[o]));
  }
  return t->shown | t->cut;
}

/* a colour and the pixels that it covers */
typedef struct layer {
  pp_mask mask;
  uint8_t color;
} layer;

#include "paint.inl"

static inline void put_layer(layer *to, mask m, uint8_t color) {
  mask_store(&to->mask, m);
  to->color = color;
}

/* adds the playfield and the ball; in score mode each half of the playfield has a player's
 * colour */
static inline int add_field(const pp_tia *t, const mask *masks, unsigned shown, layer *to) {
  int n = 0;
  bool field = shown >> PP_PLAYFIELD & 1, score = (t->reg.ctrlpf & 6) == 2;
  // in score mode the ball is below the playfield; otherwise both have the same colour
  if (shown >> PP_BALL & 1) put_layer(&to[n++], masks[PP_BALL], t->reg.color[2]);
  if (field && score) {
    put_layer(&to[n++], mask_and(masks[PP_PLAYFIELD], mask_span(0, 80)), t->reg.color[0]);
    put_layer(&to[n++], mask_and(masks[PP_PLAYFIELD], mask_span(80, 160)), t->reg.color[1]);
  } else if (field) {
    put_layer(&to[n++], masks[PP_PLAYFIELD], t->reg.color[2]);
  }
  return n;
}

/* adds the players and their missiles, player 0 on top */
static inline int add_players(const pp_tia *t, const mask *masks, unsigned shown, layer *to) {
  int n = 0;
  if (shown >> PP_MISSILE1 & 1) put_layer(&to[n++], masks[PP_MISSILE1], t->reg.color[1]);
  if (shown >> PP_PLAYER1 & 1) put_layer(&to[n++], masks[PP_PLAYER1], t->reg.color[1]);
  if (shown >> PP_MISSILE0 & 1) put_layer(&to[n++], masks[PP_MISSILE0], t->reg.color[0]);
  if (shown >> PP_PLAYER0 & 1) put_layer(&to[n++], masks[PP_PLAYER0], t->reg.color[0]);
  return n;
}

static inline uint8_t *row_of(const pp_tia *t, const pp_picture *p) {
  return p->screen + (size_t)((t->line_start - p->first) / PP_LINE_CLOCKS) * PP_LINE_PIXELS;
}

/* finishes this line up to pixel x: collisions, and pixels if they are wanted */
static __attribute__((noinline)) void finish_to(pp_tia *t, const pp_picture *p, int x) {
  int from = t->drawn;
  if (x <= from) return;
  t->drawn = (int16_t)x;
  // without a cache, only new collisions are of interest
  if (from == 0) t->line_collision = p->cache ? 0 : t->collision;
  if (t->reg.vblank) {
    if (p->screen) memset(row_of(t, p) + from, 0, (size_t)(x - from));
    return;
  }

  mask masks[PP_OBJECTS];
  unsigned shown = compose(t, masks);
  bool whole = from == 0 && x == PP_LINE_PIXELS;
  mask span = mask_span(from, x);
  if (!whole) {
    for (int o = 0; o < PP_OBJECTS; o++) masks[o] = mask_and(masks[o], span);
  }
  mask meet = overlap(masks);
  if (mask_any(meet)) {
    pp_mask common;
    mask_store(&common, meet);
    collide(t, masks, shown, &common);
  }
  if (!p->screen) return;

  layer layers[8];
  pp_mask wanted;
  int n = 0;
  if (t->reg.ctrlpf & 4) {
    n += add_players(t, masks, shown, layers);
    n += add_field(t, masks, shown, layers + n);
  } else {
    n += add_field(t, masks, shown, layers);
    n += add_players(t, masks, shown, layers + n);
  }
  if (t->reg.comb) put_layer(&layers[n++], mask_span(0, 8), 0);
  mask_store(&wanted, span);
  paint(row_of(t, p), t->reg.color[3], layers, n, &wanted);
}

/* carries the rare effects of a line over to the next one */
static __attribute__((noinline)) void carry_over(pp_tia *t) {
  if (t->reg.hide_first[0]) t->stale |= 1u << PP_PLAYER0;
  if (t->reg.hide_first[1]) t->stale |= 1u << PP_PLAYER1;
  t->reg.hide_first[0] = t->reg.hide_first[1] = 0;
  if (t->reg.mirrored != (t->reg.ctrlpf & 1)) {
    t->reg.mirrored = t->reg.ctrlpf & 1;
    t->stale |= 1u << PP_PLAYFIELD;
  }
  if (t->reg.starring) {
    int x = t->reg.position[PP_MISSILE0];
    t->reg.position[PP_MISSILE0] = (uint8_t)(x < 17 ? x + PP_LINE_PIXELS - 17 : x - 17);
    t->reg.star = (t->reg.star + 1) & 3;
    t->stale |= 1u << PP_MISSILE0;
  }
  t->reg.comb = t->reg.next_comb;
  t->reg.next_comb = 0;
  t->reg.rare = t->reg.starring;
}

/* goes to the next line of the screen */
static __attribute__((noinline)) void next_line(pp_tia *t, const pp_picture *p) {
  refresh_stale(t);
  // after a line with changes in it, the next line looks different
  uint8_t again = t->cut | t->reg.comb | t->reg.rare | (t->drawn > 0);
  if (t->changed) {
    finish_to(t, p, PP_LINE_PIXELS);
  } else if (p->screen) {
    uint8_t *row = row_of(t, p);
    memcpy(row, row - PP_LINE_PIXELS, PP_LINE_PIXELS);
  }
  t->changed = again;
  t->reg.comb = 0;
  if (t->reg.rare) carry_over(t);
  t->cut = 0;
  t->drawn = 0;
  t->line_start += PP_LINE_CLOCKS;
}

/* Finishes all lines before this clock. Returns the clock's pixel in its line; 0 if it has none. */
static inline int advance(pp_tia *t, const pp_picture *p, int32_t clock) {
  while (clock - t->line_start >= PP_LINE_CLOCKS && t->line_start < p->last) next_line(t, p);
  if (t->line_start >= p->last) return 0;
  int x = clock - t->line_start - PP_BLANK_CLOCKS;
  return x < 0 ? 0 : x;
}

#include "tia_write.inl"

/* Carries out a log, and draws up to the clock `stop`. */
static void draw_all(pp_tia *t, const pp_picture *p, const uint32_t *log, const uint32_t *end,
                     int32_t stop) {
  for (; log < end; log++) {
    int32_t clock = (int32_t)(*log >> 16) * 3;
    tia_apply(t, p, *log >> 8 & 63, (uint8_t)*log, clock);
  }
  int x = advance(t, p, stop);
  finish_to(t, p, x > PP_LINE_PIXELS ? PP_LINE_PIXELS : x);
}

#include "line_cache.inl"

void PP_BUILD(pp_tia_draw)(pp_tia *t, const pp_picture *p, const uint32_t *log, const uint32_t *end,
                           uint32_t cycle, bool is_last) {
  if (p->cache) {
    draw_known(t, p, log, end, cycle, is_last);
  } else {
    draw_all(t, p, log, end, (int32_t)cycle * 3);
  }
}
