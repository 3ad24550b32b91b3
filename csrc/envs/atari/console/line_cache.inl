/* Line cache: passes over lines that the cache knows, and remembers the others.
 *
 * Included by tia.inl at its end; uses its functions and those of tia_write.inl. Defines
 * draw_known, which carries out a log with the help of a cache. line_cache.h states what a cache
 * holds. */

/* --------------------------------------------------------------------------------- registers -- */

/* the bits of a register's bytes in a set of bytes of pp_tia_registers */
#define BYTES(member)                                           \
  (((UINT64_C(1) << sizeof((pp_tia_registers *)0)->member) - 1) \
   << offsetof(pp_tia_registers, member))

#if defined(__AVX512BW__)

/* returns which bytes differ */
static inline uint64_t registers_differ(const pp_tia_registers *a, const pp_tia_registers *b) {
  return _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
}

#elif defined(__AVX2__)

static inline uint64_t registers_differ(const pp_tia_registers *a, const pp_tia_registers *b) {
  const __m256i *left = (const __m256i *)a, *right = (const __m256i *)b;
  __m256i low = _mm256_cmpeq_epi8(_mm256_loadu_si256(left), _mm256_loadu_si256(right));
  __m256i high = _mm256_cmpeq_epi8(_mm256_loadu_si256(left + 1), _mm256_loadu_si256(right + 1));
  return ~((uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 |
           (uint32_t)_mm256_movemask_epi8(low));
}

#else

static inline uint64_t registers_differ(const pp_tia_registers *a, const pp_tia_registers *b) {
  uint64_t differ = 0;
  for (int w = 0; w < 8; w++) {
    if (a->word[w] == b->word[w]) continue;
    for (int i = 8 * w; i < 8 * w + 8; i++) differ |= (uint64_t)(a->byte[i] != b->byte[i]) << i;
  }
  return differ;
}

#endif

/* Copies the bytes of a set. It stores all bytes, as a load that follows a store of some has to
 * wait. */
static inline void registers_blend(pp_tia_registers *to, uint64_t bytes,
                                   const pp_tia_registers *from) {
#if defined(__AVX512BW__)
  __m512i all = _mm512_loadu_si512(to);
  _mm512_storeu_si512(to, _mm512_mask_mov_epi8(all, bytes, _mm512_loadu_si512(from)));
#else
  for (; bytes; bytes &= bytes - 1) {
    to->byte[__builtin_ctzll(bytes)] = from->byte[__builtin_ctzll(bytes)];
  }
#endif
}

/* Copies registers to `to`, with `moved` long ago if `forgets`. Does so in one load and one store:
 * a wide load that follows a narrow store has to wait. */
static inline void registers_copy(pp_tia_registers *to, const pp_tia_registers *from,
                                  bool forgets) {
#if defined(__AVX512BW__)
  const uint64_t bytes = forgets ? BYTES(moved) : 0;
  const __m512i long_ago = _mm512_set1_epi32(PP_LONG_AGO);
  _mm512_storeu_si512(to, _mm512_mask_mov_epi8(_mm512_loadu_si512(from), bytes, long_ago));
#else
  *to = *from;
  if (forgets) to->moved = PP_LONG_AGO;
#endif
}

/* returns the objects whose masks depend on these bytes */
static unsigned objects_of(uint64_t bytes) {
#define PLAYER(p)                                                                             \
  BYTES(nusiz[p]) | BYTES(grp[p]) | BYTES(old_grp[p]) | BYTES(delay[p]) | BYTES(reflect[p]) | \
      BYTES(hide_first[p]) | BYTES(position[2 * p])
#define MISSILE(p) BYTES(nusiz[p]) | BYTES(enam[p]) | BYTES(locked[p]) | BYTES(position[2 * p + 1])
  static const uint64_t uses[PP_OBJECTS] = {
      [PP_PLAYER0] = PLAYER(0),
      [PP_MISSILE0] = MISSILE(0) | BYTES(starring) | BYTES(star),
      [PP_PLAYER1] = PLAYER(1),
      [PP_MISSILE1] = MISSILE(1),
      [PP_BALL] = BYTES(enabl) | BYTES(old_enabl) | BYTES(delay_ball) | BYTES(ctrlpf) |
                  BYTES(position[PP_BALL]),
      [PP_PLAYFIELD] = BYTES(pf) | BYTES(mirrored),
  };
#undef PLAYER
#undef MISSILE
  unsigned objects = 0;
  for (int o = 0; o < PP_OBJECTS; o++) objects |= (unsigned)((uses[o] & bytes) != 0) << o;
  return objects;
}

/* ----------------------------------------------------------------------------------- the log -- */

static inline int32_t clock_of(uint32_t entry) {
  return (int32_t)(entry >> 16) * 3;
}

/* no write takes effect later than this many clocks after it */
enum { LONGEST_DELAY = 8 };

/* Returns whether a write takes effect at or after this clock, the end of a line. Whether a RESP
 * shortly before it does depends on the player's position; it counts as not. */
static inline bool is_beyond(uint32_t entry, int32_t line_end) {
  int32_t clock = clock_of(entry);
  if (clock >= line_end) return true;
  if (clock + LONGEST_DELAY < line_end) return false;
  unsigned reg = entry >> 8 & 63;
  return reg != TIA_RESP0 && reg != TIA_RESP1 && clock + write_delay(reg, clock) >= line_end;
}

/* returns whether `count` entries of two logs are equal */
static inline bool are_equal(const uint32_t *a, const uint32_t *b, int count) {
#if defined(__AVX512BW__)
  // most lines have so few entries that one comparison without a loop does
  const __mmask16 first = (__mmask16)_bzhi_u32(0xffff, (unsigned)count);
  if (_mm512_mask_cmpneq_epi32_mask(first, _mm512_maskz_loadu_epi32(first, a),
                                    _mm512_maskz_loadu_epi32(first, b))) {
    return false;
  }
  return count <= 16 || memcmp(a + 16, b + 16, (size_t)(count - 16) * sizeof(*a)) == 0;
#elif defined(__AVX2__)
  const __m256i first =
      _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  __m256i differ = _mm256_xor_si256(_mm256_maskload_epi32((const int *)a, first),
                                    _mm256_maskload_epi32((const int *)b, first));
  if (!_mm256_testz_si256(differ, differ)) return false;
  return count <= 8 || memcmp(a + 8, b + 8, (size_t)(count - 8) * sizeof(*a)) == 0;
#else
  for (int i = 0; i < count; i++) {
    if (a[i] != b[i]) return false;
  }
  return true;
#endif
}

/* returns how many of the first `count` entries of two logs are equal */
static inline int equal_entries(const uint32_t *a, const uint32_t *b, int count) {
  int i = 0;
#if defined(__AVX2__)
  for (; i + 8 <= count; i += 8) {
    __m256i equal = _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)(a + i)),
                                       _mm256_loadu_si256((const __m256i *)(b + i)));
    unsigned bits = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(equal));
    if (bits != 0xff) return i + __builtin_ctz(~bits);
  }
#endif
  while (i < count && a[i] == b[i]) i++;
  return i;
}

/* ---------------------------------------------------------------------- what lines depend on -- */

enum { P0 = 1 << PP_PLAYER0, M0 = 1 << PP_MISSILE0, P1 = 1 << PP_PLAYER1, M1 = 1 << PP_MISSILE1 };
enum { BL = 1 << PP_BALL, PF = 1 << PP_PLAYFIELD };

/* What a write means for the cache. `written` are the bytes that it sets, whatever they were; for
 * `marks` see below. */
typedef struct effect {
  uint64_t written;
  uint32_t marks;
} effect;

/* Marks: objects that a write places, which depends on their positions (bits 0 to 5), the line's
 * flags that it sets (bits 8 to 15), and registers that decide what is shown. */
enum {
  FLAGS_AT = 8,
  CLEARS = PP_LINE_CLEARS << FLAGS_AT,
  MOVES = PP_LINE_MOVES << FLAGS_AT,
  MOVES_LATE = PP_LINE_LATE << FLAGS_AT,
  SETS_GRP0 = 1 << 16,
  SETS_GRP1 = 1 << 17,
  SETS_DELAY0 = 1 << 18,
  SETS_DELAY1 = 1 << 19,
  SETS_BALL = 1 << 20,
  SETS_DELAY = 1 << 21,
  SETS_FIELD = 1 << 22,
};

static const effect effects[64] = {
    [TIA_NUSIZ0] = {BYTES(nusiz[0]), 0},
    [TIA_NUSIZ1] = {BYTES(nusiz[1]), 0},
    [TIA_COLUP0] = {BYTES(color[0]), 0},
    [TIA_COLUP1] = {BYTES(color[1]), 0},
    [TIA_COLUPF] = {BYTES(color[2]), 0},
    [TIA_COLUBK] = {BYTES(color[3]), 0},
    [TIA_CTRLPF] = {0, SETS_FIELD},
    [TIA_REFP0] = {BYTES(reflect[0]), 0},
    [TIA_REFP1] = {BYTES(reflect[1]), 0},
    [TIA_RESP0] = {0, P0 | M0},
    [TIA_RESP1] = {0, P1 | M1},
    [TIA_RESM0] = {0, M0},
    [TIA_RESM1] = {0, M1},
    [TIA_RESBL] = {0, BL},
    [TIA_GRP0] = {BYTES(old_grp[1]), SETS_GRP0},
    [TIA_GRP1] = {BYTES(old_grp[0]) | BYTES(old_enabl), SETS_GRP1},
    [TIA_ENABL] = {0, SETS_BALL},
    [TIA_HMP0] = {BYTES(motion[PP_PLAYER0]), 0},
    [TIA_HMP1] = {BYTES(motion[PP_PLAYER1]), 0},
    [TIA_HMM0] = {BYTES(motion[PP_MISSILE0]), 0},
    [TIA_HMM1] = {BYTES(motion[PP_MISSILE1]), 0},
    [TIA_HMBL] = {BYTES(motion[PP_BALL]), 0},
    [TIA_VDELP0] = {BYTES(delay[0]), SETS_DELAY0},
    [TIA_VDELP1] = {BYTES(delay[1]), SETS_DELAY1},
    [TIA_VDELBL] = {BYTES(delay_ball), SETS_DELAY},
    [TIA_RESMP0] = {0, P0 | M0},
    [TIA_RESMP1] = {0, P1 | M1},
    [TIA_HMOVE] = {0, MOVES},
    [TIA_HMCLR] = {BYTES(motion), 0},
    [TIA_CXCLR] = {0, CLEARS},
};

/* An HMOVE up to this clock of a line leaves an object with motion 0 where it is. */
enum { LATE_HMOVE = 12 * 3 };

/* Adds what a write means, `clock` clocks after the line's start, to what the line's writes do. */
static inline void add_effect(pp_line_cache *cache, uint32_t entry, int clock) {
  const effect *one = &effects[entry >> 8 & 63];
  uint32_t marks = one->marks;
  if (marks & MOVES && clock > LATE_HMOVE) marks |= MOVES_LATE;
  // this write may make missile 0's motion endless
  if ((entry & 0x3fff) == (TIA_HMM0 << 8 | 0x60)) marks |= M0;
  cache->line_written |= one->written;
  cache->line_marks |= marks;
}

/* The bytes that make no difference to a line that neither shows nor places some objects: by those
 * that it does. In score mode the playfield has the players' colours, see free_bytes. */
#define IF_NONE(objects, of, bytes) ((objects) & (of) ? 0 : (bytes))
#define FREE(o)                                                                   \
  IF_NONE(o, P0, BYTES(position[0]) | BYTES(motion[0]) | BYTES(reflect[0])) |     \
      IF_NONE(o, M0, BYTES(position[1]) | BYTES(motion[1])) |                     \
      IF_NONE(o, P1, BYTES(position[2]) | BYTES(motion[2]) | BYTES(reflect[1])) | \
      IF_NONE(o, M1, BYTES(position[3]) | BYTES(motion[3])) |                     \
      IF_NONE(o, BL, BYTES(position[4]) | BYTES(motion[4])) |                     \
      IF_NONE(o, P0 | M0, BYTES(nusiz[0]) | BYTES(color[0])) |                    \
      IF_NONE(o, P1 | M1, BYTES(nusiz[1]) | BYTES(color[1])) |                    \
      IF_NONE(o, PF | BL, BYTES(color[2]))
static const uint64_t free_without[1 << PP_OBJECTS] = {OF_64(FREE, 0)};

/* Returns `bytes` if a condition holds. Without a branch, as it holds for every other line. */
static inline uint64_t bytes_if(bool holds, uint64_t bytes) {
  return bytes & (0 - (uint64_t)holds);
}

/* Returns the bytes that make no difference to a line that begins with these registers, shows or
 * places these objects, and whose writes have these marks. */
static uint64_t free_bytes(const pp_tia_registers *r, unsigned objects, uint32_t marks) {
  uint64_t bytes = free_without[objects];
  bool score = (objects & PF) && ((r->ctrlpf & 2) || (marks & SETS_FIELD));
  bytes &= ~bytes_if(score, BYTES(color[0]) | BYTES(color[1]));
  // if new and old graphics are equal, it makes no difference which are shown; without delay, the
  // old ones are not
  for (int q = 0; q < 2; q++) {
    bool equal = r->grp[q] == r->old_grp[q];
    bytes |= bytes_if(equal && !(marks & SETS_GRP0 << q), BYTES(delay[0]) << q);
    bytes |=
        bytes_if(!equal && !r->delay[q] && !(marks & SETS_DELAY0 << q), BYTES(old_grp[0]) << q);
  }
  bool equal = r->enabl == r->old_enabl;
  bytes |= bytes_if(equal && !(marks & SETS_BALL), BYTES(delay_ball));
  bytes |= bytes_if(!equal && !r->delay_ball && !(marks & SETS_DELAY), BYTES(old_enabl));
  return bytes;
}

/* ------------------------------------------------------------------------ passing over lines -- */

/* Puts a known line's pixels in its row. Returns false if no screen has them. */
static inline bool show_known(const pp_picture *p, pp_line_cache *cache, int line) {
  if (cache->flags[line] & p->mark) return true;
  if (!(cache->flags[line] & (PP_LINE_IN_FIRST | PP_LINE_IN_SECOND))) return false;
  const size_t at = (size_t)line * PP_LINE_PIXELS;
  memcpy(p->screen + at, p->other + at, PP_LINE_PIXELS);
  cache->flags[line] |= p->mark;
  return true;
}

/* Notes that the chip is at the start of a later line, without masks for it. */
static inline void move_on(pp_tia *t, pp_line_cache *cache, int line, int32_t line_start) {
  if (!cache->is_away) cache->left = t->reg;
  cache->is_away = true;
  cache->line = line;
  t->line_start = line_start;
}

/* If a line's colours differ from those of its pixels, no screen shows it. */
static inline void check_colors(pp_line_cache *cache, int line) {
  if (cache->differ & BYTES(color) & ~cache->free[line]) {
    cache->flags[line] &= (uint8_t)~(PP_LINE_IN_FIRST | PP_LINE_IN_SECOND);
  }
}

/* Returns the bytes of motion that must stay zero, lest an HMOVE early in a line moves one of the
 * objects whose registers differ; 0: any HMOVE may move one. */
static inline uint64_t still_bytes(const pp_tia_registers *r, uint64_t differ) {
  enum { TO_MOTION = offsetof(pp_tia_registers, motion) - offsetof(pp_tia_registers, position) };
  uint64_t still = (differ & BYTES(position)) << TO_MOTION;
  if (differ & BYTES(motion)) return 0;
  for (uint64_t left = still; left; left &= left - 1) {
    if (r->byte[__builtin_ctzll(left)]) return 0;
  }
  return still;
}

/* Passes over as many lines as are equal to those of the last frame, while the same registers
 * differ. Returns whether there were any. draws: pixels are wanted; `differ` is cache->differ. */
static ALWAYS_INLINE bool pass_lines(pp_tia *t, const pp_picture *p, int32_t stop, uint64_t differ,
                                     bool draws) {
  pp_line_cache *const cache = p->cache;
  const int last = (p->last - p->first) / PP_LINE_CLOCKS, first = cache->line;
  const uint32_t *const old_log = cache->log[cache->old];
  const uint16_t *const old_start = cache->start[cache->old];
  uint16_t *const start = cache->start[!cache->old];
  // from an entry of the old log to the equal one of the new log; both are equal up to `equal`
  const int shift = cache->entry - old_start[first];
  const uint32_t *const log = cache->log[!cache->old] + shift;
  const int known = cache->end - shift;
  const bool moves = differ & (BYTES(position) | BYTES(motion));
  const uint64_t still = moves ? still_bytes(&t->reg, differ) : 0;
  const unsigned awkward = !moves ? 0 : still ? PP_LINE_LATE : PP_LINE_MOVES | PP_LINE_LATE;
  int line = first, equal = old_start[first], at = equal;
  unsigned collision = t->collision;
  for (int32_t end = t->line_start + PP_LINE_CLOCKS; line < last && end <= stop;
       end += PP_LINE_CLOCKS) {
    const unsigned flags = cache->flags[line];
    const int next = old_start[line + 1];
    if (!(flags & PP_LINE_KNOWN) || next > known) break;
    if (differ) {
      // without pixels, no colour makes a difference
      const uint64_t free = cache->free[line] | (draws ? 0 : BYTES(color));
      if ((differ & ~free) | ((differ | still) & cache->written[line]) | (flags & awkward)) break;
    }
    if (next > equal) {
      // a difference is near in most frames, so do not look far ahead
      int most = next - equal + 64;
      if (most > known - equal) most = known - equal;
      if (most > PP_CACHE_ENTRIES - equal) most = PP_CACHE_ENTRIES - equal;
      equal += equal_entries(log + equal, old_log + equal, most);
      if (next > equal) break;
    }
    if (next < known && !is_beyond(log[next], end)) break;
    if (draws && !show_known(p, cache, line)) break;
    collision = (flags & PP_LINE_CLEARS ? 0 : collision) | cache->collision[line];
    at = next;
    if (differ) {
      check_colors(cache, line);
      registers_blend(&cache->at[line + 1], differ, &t->reg);
    }
    start[++line] = (uint16_t)(at + shift);
  }
  if (line == first) return false;
  t->collision = (uint16_t)collision;
  cache->entry = (uint16_t)(at + shift);
  move_on(t, cache, line, p->first + line * PP_LINE_CLOCKS);
  t->reg = cache->at[line];
  return true;
}

/* Carries out a line's HMOVE for objects that it neither shows nor places. What it does to the
 * others means nothing. */
static void move_hidden(pp_tia_registers *r, const uint32_t *log, const uint32_t *end) {
  static const uint8_t object[5] = {PP_PLAYER0, PP_PLAYER1, PP_MISSILE0, PP_MISSILE1, PP_BALL};
  for (; log < end; log++) {
    unsigned reg = *log >> 8 & 63;
    if (reg == TIA_HMOVE) {
      int cycle = clock_of(*log) % PP_LINE_CLOCKS / 3;
      for (unsigned left = movable(r, cycle); left; left &= left - 1) {
        int o = __builtin_ctz(left);
        int at = r->position[o] + motion_shift(cycle, r->motion[o]);
        r->position[o] = (uint8_t)(at < 0 ? at + PP_LINE_PIXELS : wrap_pixel(at));
      }
    } else if (reg == TIA_HMCLR) {
      memset(r->motion, 0, sizeof(r->motion));
    } else if (reg >= TIA_HMP0 && reg <= TIA_HMBL) {
      r->motion[object[reg - TIA_HMP0]] = (uint8_t)*log >> 4;
    }
  }
}

/* returns whether the line's writes known so far are those of the last frame */
static inline bool begins_equal(const pp_line_cache *cache, int count) {
  const uint32_t *old = cache->log[cache->old] + cache->start[cache->old][cache->line];
  return are_equal(cache->log[!cache->old] + cache->entry, old, count);
}

/* returns whether the line may be one of the last frame, by its registers */
static inline bool starts_equal(const pp_picture *p) {
  const pp_line_cache *cache = p->cache;
  // without pixels, no colour makes a difference
  uint64_t free = cache->free[cache->line] | (p->screen ? 0 : BYTES(color));
  return cache->flags[cache->line] & PP_LINE_KNOWN && !(cache->differ & ~free);
}

/* Returns whether the next line equals that of the last frame. If so, its pixels are in its row. */
static inline bool is_known(const pp_tia *t, const pp_picture *p, int32_t stop) {
  pp_line_cache *cache = p->cache;
  const int32_t line_end = t->line_start + PP_LINE_CLOCKS;
  const uint16_t *old_start = cache->start[cache->old] + cache->line;
  const int count = old_start[1] - old_start[0], next = cache->entry + count;
  if (line_end > stop || !starts_equal(p) || next > cache->end || !begins_equal(cache, count))
    return false;
  if (next < cache->end && !is_beyond(cache->log[!cache->old][next], line_end)) return false;
  return !p->screen || show_known(p, cache, cache->line);
}

/* Passes over one known line that changes the registers that differ. */
static void pass_line(pp_tia *t, const pp_picture *p) {
  pp_line_cache *cache = p->cache;
  const int line = cache->line;
  const uint16_t *old_start = cache->start[cache->old] + line;
  const int next = cache->entry + old_start[1] - old_start[0];
  const uint32_t *log = cache->log[!cache->old];

  if (cache->flags[line] & PP_LINE_CLEARS) t->collision = 0;
  t->collision |= cache->collision[line];
  check_colors(cache, line);
  move_on(t, cache, line + 1, t->line_start + PP_LINE_CLOCKS);
  uint64_t own = cache->differ & ~cache->written[line];
  if (cache->flags[line] & PP_LINE_MOVES) {
    move_hidden(&t->reg, log + cache->entry, log + next);
    own |= cache->free[line] & BYTES(position);
  }
  pp_tia_registers after = cache->at[line + 1];
  registers_blend(&after, own, &t->reg);
  cache->differ = registers_differ(&after, &cache->at[line + 1]);
  cache->at[line + 1] = t->reg = after;
  cache->entry = cache->start[!cache->old][line + 1] = (uint16_t)next;
}

/* ------------------------------------------------------------------------------ making lines -- */

/* Returns whether the last HMOVE is over. Then it is forgotten, so that lines do not differ in what
 * has no effect. */
static inline bool has_moved(const pp_tia *t) {
  return t->line_start - t->reg.moved > HMOVE_CLOCKS;
}

/* Notes the registers at a line's start, and which of them differ from those of the last frame. */
static inline void begin_registers(pp_tia *t, pp_line_cache *cache) {
  pp_tia_registers now;
  bool forgets = has_moved(t);
  registers_copy(&now, &t->reg, forgets);
  if (forgets) t->reg.moved = PP_LONG_AGO;
  cache->differ = registers_differ(&now, &cache->at[cache->line]);
  cache->at[cache->line] = now;
}

static void begin_line(pp_tia *t, pp_line_cache *cache) {
  if (cache->is_away) {
    t->stale |= (uint8_t)objects_of(registers_differ(&cache->left, &t->reg));
    t->changed = 1;
    cache->is_away = false;
  }
  t->seen = 0;
  cache->line_written = cache->line_marks = 0;
  cache->is_in_line = cache->is_whole = true;
}

/* Remembers the line that has just been made. */
static void end_line(pp_tia *t, const pp_picture *p) {
  pp_line_cache *cache = p->cache;
  const int line = cache->line++;
  cache->made++;
  cache->flags[line] = p->screen ? p->mark : 0;
  if (cache->is_whole) {
    const pp_tia_registers *before = &cache->at[line];
    unsigned objects = t->seen | t->shown | (cache->line_marks & ((1u << PP_OBJECTS) - 1));
    if (before->starring || t->reg.starring) objects |= M0;
    if (before->hide_first[0]) objects |= P0;
    if (before->hide_first[1]) objects |= P1;
    cache->flags[line] |= (uint8_t)(PP_LINE_KNOWN | cache->line_marks >> FLAGS_AT);
    cache->collision[line] = t->line_collision;
    cache->free[line] = free_bytes(before, objects, cache->line_marks);
    cache->written[line] = cache->line_written;
  }
  cache->start[!cache->old][cache->line] = cache->entry;
  begin_registers(t, cache);
  cache->is_in_line = false;
}

/* Carries out a line's writes, and finishes it if they are all known. */
static void make_line(pp_tia *t, const pp_picture *p, int32_t stop) {
  pp_line_cache *cache = p->cache;
  const uint32_t *log = cache->log[!cache->old];
  const int32_t line_start = t->line_start, line_end = line_start + PP_LINE_CLOCKS;
  if (!cache->is_in_line) begin_line(t, cache);
  while (cache->entry < cache->end && !is_beyond(log[cache->entry], line_end)) {
    uint32_t entry = log[cache->entry];
    unsigned reg = entry >> 8 & 63;
    // a RESP near the line's end may belong to the next line
    if ((reg == TIA_RESP0 || reg == TIA_RESP1) && clock_of(entry) + 11 >= line_end)
      cache->is_whole = false;
    if (reg == PP_LOG_READ) {
      finish_to(t, p, clock_of(entry) - line_start - PP_BLANK_CLOCKS);
      cache->entry += 2;
      continue;
    }
    add_effect(cache, entry, clock_of(entry) - line_start);
    tia_apply(t, p, reg, (uint8_t)entry, clock_of(entry));
    if (t->line_start != line_start) {
      // it did, and has finished this one
      end_line(t, p);
      cache->entry++;
      cache->is_in_line = true;
      cache->is_whole = false;
      return;
    }
    cache->entry++;
  }
  if (cache->entry < cache->end || stop >= line_end) {
    next_line(t, p);
    end_line(t, p);
    return;
  }
  // the line goes on after the program has read its collisions
  int x = stop - line_start - PP_BLANK_CLOCKS;
  if (x > 0) finish_to(t, p, x > PP_LINE_PIXELS ? PP_LINE_PIXELS : x);
}

/* ------------------------------------------------------------------------------------ frames -- */

static __attribute__((noinline)) void apply_next(pp_tia *t, const pp_picture *p) {
  uint32_t entry = p->cache->log[!p->cache->old][p->cache->entry++];
  if ((entry >> 8 & 63) >= PP_LOG_READ) return;
  tia_apply(t, p, entry >> 8 & 63, (uint8_t)entry, clock_of(entry));
}

/* Carries out what precedes the first line. Returns whether that is all. */
static bool apply_before(pp_tia *t, const pp_picture *p, int32_t stop) {
  pp_line_cache *cache = p->cache;
  const uint32_t *log = cache->log[!cache->old];
  while (cache->entry < cache->end && clock_of(log[cache->entry]) < p->first) apply_next(t, p);
  if (stop < p->first) return true;
  cache->has_begun = true;
  begin_registers(t, cache);
  cache->start[!cache->old][0] = cache->entry;
  return false;
}

/* Adds entries to the frame's log. Returns false if there is no room. */
static bool add_entries(pp_line_cache *cache, const uint32_t *log, const uint32_t *end) {
  size_t count = (size_t)(end - log);
  // room for a read, too
  if (cache->is_full || cache->end + count + 2 > PP_CACHE_ENTRIES) return false;
  // most calls bring so few entries that memcpy would take longer
  uint32_t *to = cache->log[!cache->old] + cache->end;
  for (size_t i = 0; i < count; i++) to[i] = log[i];
  cache->end = (uint16_t)(cache->end + count);
  return true;
}

/* Carries out what is left of a log that does not fit, and goes on without the cache. */
static void give_up(pp_tia *t, const pp_picture *p) {
  pp_line_cache *cache = p->cache;
  if (cache->is_full) return;
  if (cache->is_away) begin_line(t, cache);
  while (cache->entry < cache->end) apply_next(t, p);
  cache->is_full = true;
}

/* returns whether the writes that have not been carried out forget earlier collisions */
static bool is_clearing(const pp_line_cache *cache) {
  const uint32_t *log = cache->log[!cache->old];
  for (int i = cache->entry; i < cache->end; i++) {
    if ((log[i] >> 8 & 63) == TIA_CXCLR) return true;
  }
  return false;
}

/* Finds the collisions of a line up to a read in its middle. If the line equals that of the last
 * frame so far, it stays undone. */
static void read_collisions(pp_tia *t, const pp_picture *p, uint32_t cycle) {
  pp_line_cache *cache = p->cache;
  uint32_t *log = cache->log[!cache->old];
  const uint16_t *old_start = cache->start[cache->old] + cache->line;
  log[cache->end++] = cycle << 16 | PP_LOG_READ << 8;
  const int count = cache->end - cache->entry;
  if (!cache->is_in_line && starts_equal(p) && count < old_start[1] - old_start[0] &&
      begins_equal(cache, count)) {
    uint32_t found = cache->log[cache->old][old_start[0] + count];
    if (cache->flags[cache->line] & PP_LINE_CLEARS && is_clearing(cache)) t->collision = 0;
    t->collision |= (uint16_t)(found >> 16);
    log[cache->end++] = found;
    return;
  }
  const int line = cache->line;
  make_line(t, p, (int32_t)cycle * 3);
  // a write may have ended the line before
  uint32_t found = line == cache->line ? t->line_collision : 0;
  log[cache->end++] = found << 16 | PP_LOG_COLLISIONS << 8;
}

/* Passes over known lines. Returns whether there were any. */
static ALWAYS_INLINE bool pass(pp_tia *t, const pp_picture *p, int32_t stop) {
  if (!is_known(t, p, stop)) return false;
  const uint64_t differ = p->cache->differ;
  if (!differ) {
    return p->screen ? pass_lines(t, p, stop, 0, true) : pass_lines(t, p, stop, 0, false);
  }
  if (p->screen ? pass_lines(t, p, stop, differ, true) : pass_lines(t, p, stop, differ, false)) {
    return true;
  }
  pass_line(t, p);
  return true;
}

/* Carries out a log, and draws up to a cycle. Writes to a line that is not needed yet wait in the
 * cache until a later call; the last one leaves none. */
static void draw_known(pp_tia *t, const pp_picture *p, const uint32_t *log, const uint32_t *end,
                       uint32_t cycle, bool is_last) {
  pp_line_cache *cache = p->cache;
  const int32_t stop = (int32_t)cycle * 3;
  if (!add_entries(cache, log, end)) {
    give_up(t, p);
    draw_all(t, p, log, end, stop);
    return;
  }
  if (!cache->has_begun && apply_before(t, p, stop)) return;
  while (t->line_start < p->last) {
    if (!cache->is_in_line && pass(t, p, stop)) continue;
    const int32_t line_end = t->line_start + PP_LINE_CLOCKS;
    if (stop < line_end && !is_last) {
      if (stop > t->line_start + PP_BLANK_CLOCKS) {
        read_collisions(t, p, cycle);
      } else if (is_clearing(cache)) {
        t->collision = 0;
      }
      return;
    }
    make_line(t, p, stop);
    if (stop < line_end) break;
  }
  if (cache->is_away) begin_line(t, cache);
  while (cache->entry < cache->end) apply_next(t, p);
}
