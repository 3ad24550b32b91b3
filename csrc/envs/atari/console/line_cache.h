/* Line cache: what the lines of a console's last frame looked like, so that equal ones need no
 * work.
 *
 * A line's picture and collisions, and the registers after it, depend on nothing but the registers
 * before it and the writes in it. Most lines have the same of both as in the frame before. So a
 * cache keeps, for each line of the last frame: the registers at its start, its writes, the
 * collisions that it causes, and which screens show it. If a line has equal registers and writes,
 * the television chip takes the collisions and the next line's registers from the cache, and leaves
 * the pixels as they are or copies them from the other screen.
 *
 * The contract:
 *   - A cache holds only what can be computed again. A console plays the same with a cache, without
 *     one, and with one that has been emptied: pp_line_cache_empty, or all bytes zero.
 *   - It belongs to one console, and speaks of the pixels in the console's screens. Whoever changes
 *     the screens by other means (by restoring a snapshot) must empty it. It is in no snapshot.
 *   - Only frames whose log fits into it and that end before ALE's limit are remembered.
 *   - Registers that make no difference to a line need not be equal: of an object that it neither
 *     shows nor places, and in frames without pixels also colours. They keep their own values, or
 *     are changed as the line's writes say (free_bytes and carry_out in line_cache.inl).
 *   - Collisions are those that a line sets from an empty latch, whatever the latch held.
 *   - Whatever draws other pixels in a line's row must clear PP_LINE_STILL, or picture/ does
 *     not see the change. A line that is made has new flags, and one that is copied did not have
 *     this one.
 *   - It changes what a frame costs, so it rests while the lines of a game are rarely known.
 *   - A read of collisions in the middle of a line is noted in the log as a write of PP_LOG_READ,
 *     followed by an entry with the line's collisions up to it, so it counts as one of the line's
 *     writes. */
#ifndef PP_ENVS_ATARI_CONSOLE_LINE_CACHE_H
#define PP_ENVS_ATARI_CONSOLE_LINE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

/* writes of a frame; a frame with more is not remembered */
enum { PP_CACHE_ENTRIES = 1024 };

/* Registers that do not exist, for entries of the log that are no writes: a read of collisions, and
 * (in the upper 16 bits of the next entry) what the line had set by then. */
enum { PP_LOG_READ = 0x3e, PP_LOG_COLLISIONS = 0x3f };

/* what is known of a line */
enum {
  PP_LINE_KNOWN = 1,    /* the last frame had it, and all that follows from it was found */
  PP_LINE_CLEARS = 2,   /* it writes CXCLR: earlier collisions are forgotten */
  PP_LINE_MOVES = 4,    /* it writes HMOVE */
  PP_LINE_STILL = 128,  /* both screens showed it when pp_line_cache_changed was last called */
  PP_LINE_IN_FIRST = 8, /* the console's first screen shows it; the second one: twice that */
  PP_LINE_IN_SECOND = 16,
  PP_LINE_LATE = 32, /* it writes HMOVE so late that this moves objects without motion */
};

/* plain data; all zero is an empty cache */
typedef struct pp_line_cache {
  pp_tia_registers at[PP_LINES_MAX + 1]; /* registers at the start of each line */
  /* The writes of the last frame (log[old]) and of the frame that is being drawn, and where those
   * of each line start. */
  uint32_t log[2][PP_CACHE_ENTRIES];
  uint16_t start[2][PP_LINES_MAX + 1];
  uint16_t collision[PP_LINES_MAX];
  uint8_t flags[PP_LINES_MAX];
  /* sets of bytes of the registers: those that make no difference to the line, and those that have
   * the same value after it whatever they were before */
  uint64_t free[PP_LINES_MAX], written[PP_LINES_MAX];

  /* the frame that is being drawn */
  pp_tia_registers left; /* the registers for which the chip's masks were made */
  /* one bit per byte: the registers differ from at[line] of the last frame */
  uint64_t differ;
  int32_t line;        /* the line that comes next, or is being drawn */
  uint16_t entry, end; /* its next write in log[!old]; the end of those known so far */
  uint8_t old;
  uint64_t line_written; /* of the line that is being made: bytes that its writes set */
  uint32_t line_marks;   /* and what else its writes mean (line_cache.inl) */
  bool has_begun;        /* the first line has been reached */
  bool is_in_line;       /* some of the line's writes have been carried out, or pixels drawn */
  bool is_whole;         /* the line that is being drawn can be remembered */
  bool is_away;          /* the chip's masks are those of `left` */
  bool is_full;          /* the log did not fit */
  int16_t made;          /* lines of this frame that were made */

  /* when a cache pays */
  bool is_used;   /* it was on in the previous frame */
  int16_t losses; /* lines made in the last frames beyond those that a cache pays for */
  int16_t rest;   /* frames to come without it */
  int16_t longer; /* the last rest's length */
} pp_line_cache;

/* Returns the size of a cache, for callers that do not compile against this header. */
size_t pp_line_cache_size(void);

/* Forgets everything. */
void pp_line_cache_empty(pp_line_cache *cache);

/* Sets changed[line] to 0 if both screens showed the same line at the last call and no other has
 * been drawn there since, otherwise to 1. */
void pp_line_cache_changed(pp_line_cache *cache, uint8_t changed[PP_LINES_MAX]);

/* Begins a frame. Returns false if it is to be drawn without the cache, because too few lines of
 * the last ones were known: finding that a line is not costs time. */
bool pp_line_cache_begin(pp_line_cache *cache);

/* Ends a frame in which the television chip's pp_tia_drawer was called with the cache. */
void pp_line_cache_end(pp_line_cache *cache);

#endif
