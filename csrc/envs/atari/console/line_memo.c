// line_memo.c: begins and ends the frames of a memo; line_memo.inl fills it in and uses it.
#include "line_memo.h"

#include <string.h>

// A memo pays if no more than this share of lines must be made. It rests once so many more were.
#define PAID_SHARE 0.50
enum { LOSSES = 400, SHORTEST_REST = 8, LONGEST_REST = 512 };

size_t pp_line_memo_size(void) {
  return sizeof(pp_line_memo);
}

void pp_line_memo_empty(pp_line_memo *m) {
  memset(m->flags, 0, sizeof m->flags);
  m->is_used = false;
}

void pp_line_memo_changed(pp_line_memo *m, uint8_t changed[PP_LINES_MAX]) {
  enum { BOTH = PP_LINE_IN_FIRST | PP_LINE_IN_SECOND };
  for (int line = 0; line < PP_LINES_MAX; ++line) {
    const uint8_t flags = m->flags[line];
    changed[line] = !(flags & PP_LINE_STILL);
    m->flags[line] =
        (uint8_t)((flags & BOTH) == BOTH ? flags | PP_LINE_STILL : flags & ~PP_LINE_STILL);
  }
}

bool pp_line_memo_begin(pp_line_memo *m) {
  if (m->rest > 0) {
    --m->rest;
    return false;
  }
  m->differ = 0;
  m->line = 0;
  m->entry = m->end = 0;
  m->made = 0;
  m->has_begun = m->is_in_line = m->is_whole = m->is_away = m->is_full = false;
  return true;
}

// Decides whether the next frames go without the memo. Failed trials are repeated ever more rarely.
static void judge(pp_line_memo *m) {
  if (!m->is_used) {
    // the first frame cannot know a line
    m->is_used = true;
    return;
  }
  const int paid = (int)(m->line * PAID_SHARE);
  int losses = m->losses + m->made - paid + (m->is_full ? LOSSES : 0);
  m->losses = (int16_t)(losses < 0 ? 0 : losses);
  if (losses <= 0) m->longer = 0;
  if (losses <= LOSSES) return;
  m->longer = (int16_t)(m->longer ? 2 * m->longer : SHORTEST_REST);
  if (m->longer > LONGEST_REST) m->longer = LONGEST_REST;
  m->rest = m->longer;
  m->losses = LOSSES * 3 / 4;
  pp_line_memo_empty(m);
}

void pp_line_memo_end(pp_line_memo *m) {
  // lines that the frame did not reach have no writes in its log
  int known = m->is_full ? 0 : m->line;
  memset(m->flags + known, 0, sizeof m->flags - (size_t)known);
  m->old ^= 1;
  judge(m);
}
