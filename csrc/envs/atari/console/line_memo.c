// line_memo.c: begins and ends the frames of a memo; line_memo.inl fills it in and uses it.
#include "line_memo.h"

#include <string.h>

size_t pp_line_memo_size(void) {
  return sizeof(pp_line_memo);
}

void pp_line_memo_empty(pp_line_memo *m) {
  memset(m->flags, 0, sizeof m->flags);
}

void pp_line_memo_begin(pp_line_memo *m) {
  m->differ = 0;
  m->line = 0;
  m->entry = m->end = 0;
  m->has_begun = m->is_in_line = m->is_whole = m->is_away = m->is_full = false;
}

void pp_line_memo_end(pp_line_memo *m) {
  // lines that the frame did not reach have no writes in its log
  int known = m->is_full ? 0 : m->line;
  memset(m->flags + known, 0, sizeof m->flags - (size_t)known);
  m->old ^= 1;
}
