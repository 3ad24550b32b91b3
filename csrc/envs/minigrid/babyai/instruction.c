/* Codes of clauses, and their texts. */
#include "instruction.h"

#include <string.h>

/* bits of a clause: action, link, whether it is strict, and the first bit of both descriptions */
enum { LINK = 3, STRICT = 5, WHAT = 6, BESIDE = 17 };
/* bits of a description: kind, color, where, whether it is plural */
enum { COLOR = 4, WHERE = 7, PLURAL = 10 };

static uint32_t pack(bb_description it) {
  return (uint32_t)it.kind | (uint32_t)it.color << COLOR | (uint32_t)it.where << WHERE |
         (uint32_t)it.is_plural << PLURAL;
}

static bb_description unpack(uint32_t bits) {
  return (bb_description){.kind = bits & 15,
                          .color = bits >> COLOR & 7,
                          .where = bits >> WHERE & 7,
                          .is_plural = bits >> PLURAL & 1};
}

int32_t bb_code_of(const bb_clause *clause) {
  return (int32_t)((uint32_t)clause->action | (uint32_t)clause->link << LINK |
                   (uint32_t)clause->is_strict << STRICT | pack(clause->what) << WHAT |
                   pack(clause->beside) << BESIDE);
}

bb_clause bb_clause_of(int32_t code) {
  uint32_t bits = (uint32_t)code;
  return (bb_clause){.action = bits & 7,
                     .link = bits >> LINK & 3,
                     .is_strict = bits >> STRICT & 1,
                     .what = unpack(bits >> WHAT),
                     .beside = unpack(bits >> BESIDE)};
}

/* ----------------------------------------------------------------------------------- texts -- */

static const char *const links[4] = {"", " and ", ", then ", " after you "};
static const char *const actions[8] = {"", "go to ", "open ", "pick up ", "put ", "", "", ""};
static const char *const kinds[16] = {[4] = "door", [5] = "key", [6] = "ball", [7] = "box"};
static const char *const colors[8] = {"red ",    "green ", "blue ", "purple ",
                                      "yellow ", "grey ",  "",      ""};
static const char *const wheres[8] = {
    "", " on your left", " on your right", " in front of you", " behind you", "", "", ""};

/* Appends a text, and returns its end. */
static char *append(char *out, const char *text) {
  size_t size = strlen(text);
  memcpy(out, text, size);
  return out + size;
}

static char *describe(char *out, bb_description it) {
  const char *kind = kinds[it.kind];
  out = append(out, it.is_plural ? "a " : "the ");
  out = append(out, colors[it.color]);
  out = append(out, kind ? kind : "object");
  return append(out, wheres[it.where]);
}

int32_t bb_text(const void *codes, char *out) {
  char *end = out;
  for (int32_t i = 0; i < BB_MOST_CLAUSES; i++) {
    int32_t code;
    memcpy(&code, (const char *)codes + (size_t)i * sizeof(code), sizeof(code));
    bb_clause clause = bb_clause_of(code);
    if (!clause.action) continue;
    end = append(end, links[clause.link]);
    end = append(end, actions[clause.action]);
    end = describe(end, clause.what);
    if (clause.action != BB_PUT_NEXT) continue;
    end = append(end, " next to ");
    end = describe(end, clause.beside);
  }
  return (int32_t)(end - out);
}
