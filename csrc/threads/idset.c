/* Id set: environment ids that are added in any order and taken out as sorted runs. */
#include "idset.h"

#include <stdlib.h>
#include <string.h>

#include "pool/ids.h"
#include "pp_env.h"

enum { BITS = 64 };

static size_t words_for(int32_t count) {
  return ((size_t)count + BITS - 1) / BITS;
}

int pp_idset_init(pp_idset *set, int32_t first, int32_t count) {
  size_t num_words = words_for(count);
  *set = (pp_idset){.first = first, .count = count};
  set->words = calloc(num_words, sizeof(*set->words));
  set->used = calloc(words_for((int32_t)num_words), sizeof(*set->used));
  return set->words && set->used ? PP_OK : PP_ERR_MEMORY;
}

void pp_idset_fini(pp_idset *set) {
  free(set->words);
  free(set->used);
  *set = (pp_idset){0};
}

/* adds ids from .. from+count-1, relative to the set's first */
static void add_run(pp_idset *set, uint32_t from, uint32_t count) {
  while (count > 0) {
    uint32_t word = from / BITS, bit = from % BITS, part = BITS - bit < count ? BITS - bit : count;
    set->words[word] |= ~(uint64_t)0 >> (BITS - part) << bit;
    set->used[word / BITS] |= (uint64_t)1 << word % BITS;
    from += part;
    count -= part;
  }
}

int32_t pp_idset_add(pp_idset *set, const int32_t *ids, int32_t count) {
  int32_t added = 0;
  for (int32_t i = 0, run; i < count; i += run) {
    int32_t begin, end;
    run = pp_ids_run(ids + i, count - i);
    begin = ids[i] - set->first;
    end = begin + run < set->count ? begin + run : set->count;
    if (begin < 0) begin = 0;
    if (begin >= end) continue;
    add_run(set, (uint32_t)begin, (uint32_t)(end - begin));
    added += end - begin;
  }
  return added;
}

/* writes an entry for each run of one word; first: the id of its lowest bit */
static int32_t take_word(uint64_t bits, int32_t first, int32_t longest, pp_entry *out) {
  int32_t taken = 0;
  while (bits) {
    int32_t at = __builtin_ctzll(bits);
    uint64_t shifted = bits >> at;
    int32_t length = ~shifted ? __builtin_ctzll(~shifted) : BITS;
    if (length > longest) length = longest;
    out[taken++] = PP_ENTRY(0, first + at, length);
    bits = at + length < BITS ? bits >> (at + length) << (at + length) : 0;
  }
  return taken;
}

int32_t pp_idset_take(pp_idset *set, int32_t longest, pp_entry *out) {
  size_t num_used = words_for((int32_t)words_for(set->count));
  int32_t taken = 0;
  for (size_t i = 0; i < num_used; i++) {
    for (uint64_t used = set->used[i]; used; used &= used - 1) {
      size_t word = i * BITS + (size_t)__builtin_ctzll(used);
      taken += take_word(set->words[word], set->first + (int32_t)word * BITS, longest, out + taken);
      set->words[word] = 0;
    }
    set->used[i] = 0;
  }
  return taken;
}
