/* Line cache: begins and ends the frames of a cache; line_cache.inl fills it in and uses it. */
#include "line_cache.h"

#include <string.h>

/* The cache pays if at most this share of lines is drawn anew. After LOSSES more it rests for some
 * frames. */
#define PAID_SHARE 0.50
enum { LOSSES = 400, SHORTEST_REST = 8, LONGEST_REST = 512 };

size_t pp_line_cache_size(void) {
  return sizeof(pp_line_cache);
}

void pp_line_cache_empty(pp_line_cache *cache) {
  memset(cache->flags, 0, sizeof(cache->flags));
  cache->is_used = false;
}

void pp_line_cache_changed(pp_line_cache *cache, uint8_t changed[PP_LINES_MAX]) {
  enum { BOTH = PP_LINE_IN_FIRST | PP_LINE_IN_SECOND };
  for (int line = 0; line < PP_LINES_MAX; line++) {
    const uint8_t flags = cache->flags[line];
    changed[line] = !(flags & PP_LINE_STILL);
    cache->flags[line] =
        (uint8_t)((flags & BOTH) == BOTH ? flags | PP_LINE_STILL : flags & ~PP_LINE_STILL);
  }
}

bool pp_line_cache_begin(pp_line_cache *cache) {
  if (cache->rest > 0) {
    cache->rest--;
    return false;
  }
  cache->differ = 0;
  cache->line = 0;
  cache->entry = cache->end = 0;
  cache->made = 0;
  cache->has_begun = cache->is_in_line = cache->is_whole = cache->is_away = cache->is_full = false;
  return true;
}

/* Decides whether the next frames go without the cache. Each failed trial doubles the pause. */
static void update_rest(pp_line_cache *cache) {
  if (!cache->is_used) {
    // the first frame cannot know a line
    cache->is_used = true;
    return;
  }
  const int paid = (int)(cache->line * PAID_SHARE);
  int losses = cache->losses + cache->made - paid + (cache->is_full ? LOSSES : 0);
  cache->losses = (int16_t)(losses < 0 ? 0 : losses);
  if (losses <= 0) cache->longer = 0;
  if (losses <= LOSSES) return;
  cache->longer = (int16_t)(cache->longer ? 2 * cache->longer : SHORTEST_REST);
  if (cache->longer > LONGEST_REST) cache->longer = LONGEST_REST;
  cache->rest = cache->longer;
  cache->losses = LOSSES * 3 / 4;
  pp_line_cache_empty(cache);
}

void pp_line_cache_end(pp_line_cache *cache) {
  // lines that the frame did not reach have no writes in its log
  int known = cache->is_full ? 0 : cache->line;
  memset(cache->flags + known, 0, sizeof(cache->flags) - (size_t)known);
  cache->old ^= 1;
  update_rest(cache);
}
