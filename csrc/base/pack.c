/* Packing: fast compression of bytes with repetitions. */
#include "pack.h"

#include <stdint.h>
#include <string.h>

/* The packed format is a sequence of parts, then the bytes after the last whole word. A part is a
 * head and its literal words. Unpacking copies the literals, then copies `repeated` words that
 * begin `distance` words before the end of the output. */
typedef struct part_head {
  uint16_t literals; /* words */
  uint16_t repeated; /* words */
  uint32_t distance; /* 0 if repeated is 0 */
} part_head;

enum {
  WORD = sizeof(uint64_t),
  MAX_WORDS = UINT16_MAX, /* most literal or repeated words of a part */
  MIN_REPEATED = 2,       /* words of a repetition: a shorter one saves less than a head takes */
  /* the table of words has 2^12 entries: 16 KB, which fit into the L1 cache */
  TABLE_BITS = 12
};

static uint64_t word_at(const char *bytes, size_t index) {
  uint64_t word;
  memcpy(&word, bytes + index * WORD, WORD);
  return word;
}

/* Knuth's multiplicative hash, by the golden ratio */
static size_t slot_of(uint64_t word) {
  return (size_t)(word * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS));
}

size_t pp_pack_bound(size_t size) {
  return size + (size / WORD / MAX_WORDS + 1) * sizeof(part_head);
}

static char *write_part(char *out, const char *literals, size_t count, size_t repeated,
                        size_t distance) {
  part_head head = {
      .literals = (uint16_t)count, .repeated = (uint16_t)repeated, .distance = (uint32_t)distance};
  memcpy(out, &head, sizeof(head));
  memcpy(out + sizeof(head), literals, count * WORD);
  return out + sizeof(head) + count * WORD;
}

/* Writes literal words as parts of MAX_WORDS, until fewer remain. Returns how many it wrote. */
static size_t write_literals(char **out, const char *bytes, size_t from, size_t to) {
  size_t written = 0;
  for (; to - from - written >= MAX_WORDS; written += MAX_WORDS) {
    *out = write_part(*out, bytes + (from + written) * WORD, MAX_WORDS, 0, 0);
  }
  return written;
}

size_t pp_pack(const void *bytes, size_t size, void *packed) {
  /* by hash: the last place of a word with this hash, plus 1 */
  uint32_t table[1 << TABLE_BITS] = {0};
  const char *in = bytes;
  char *out = packed;
  size_t words = size / WORD, at = 0, literals = 0;

  while (at < words) {
    uint64_t word = word_at(in, at);
    uint32_t *slot = &table[slot_of(word)];
    size_t before = *slot, length = 0;
    *slot = (uint32_t)at + 1;
    if (before) {
      while (length < MAX_WORDS && at + length < words &&
             word_at(in, before - 1 + length) == word_at(in, at + length)) {
        length++;
      }
    }
    if (length < MIN_REPEATED) {
      at++;
      continue;
    }
    literals += write_literals(&out, in, literals, at);
    out = write_part(out, in + literals * WORD, at - literals, length, at + 1 - before);
    literals = at += length;
  }
  literals += write_literals(&out, in, literals, words);
  out = write_part(out, in + literals * WORD, words - literals, 0, 0);
  memcpy(out, in + words * WORD, size % WORD);
  return (size_t)(out - (char *)packed) + size % WORD;
}

/* copies word after word, because source and destination may overlap */
static void repeat(char *bytes, size_t at, size_t distance, size_t count) {
  for (size_t i = at; i < at + count; i++) {
    memcpy(bytes + i * WORD, bytes + (i - distance) * WORD, WORD);
  }
}

bool pp_unpack(const void *packed, size_t packed_size, void *bytes, size_t size) {
  const char *in = packed, *end = in + packed_size;
  size_t words = size / WORD, at = 0;
  part_head head;

  do {
    if ((size_t)(end - in) < sizeof(head)) return false;
    memcpy(&head, in, sizeof(head));
    in += sizeof(head);
    if ((size_t)(end - in) / WORD < head.literals || words - at < head.literals) return false;
    if (bytes) memcpy((char *)bytes + at * WORD, in, (size_t)head.literals * WORD);
    in += (size_t)head.literals * WORD;
    at += head.literals;
    if (words - at < head.repeated) return false;
    if (head.repeated) {
      if (!head.distance || head.distance > at) return false;
      if (bytes) repeat(bytes, at, head.distance, head.repeated);
      at += head.repeated;
    }
    // only the last part has no repetition, except parts of MAX_WORDS literals
  } while (head.repeated || head.literals == MAX_WORDS);
  if (at != words || (size_t)(end - in) != size % WORD) return false;
  if (bytes) memcpy((char *)bytes + at * WORD, in, size % WORD);
  return true;
}
