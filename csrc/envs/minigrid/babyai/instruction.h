/* The language of BabyAI's instructions, as the codes of missions: a clause in each word. */
#ifndef PP_ENVS_MINIGRID_BABYAI_INSTRUCTION_H
#define PP_ENVS_MINIGRID_BABYAI_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

/* The clauses of a mission: up to two that are done in any order, then up to two more. */
enum { BB_MOST_CLAUSES = 4, BB_CLAUSES_OF_SIDE = 2 };

enum bb_action { BB_NOTHING, BB_GO_TO, BB_OPEN, BB_PICK_UP, BB_PUT_NEXT };

/* how a clause follows those before it */
enum bb_link { BB_FIRST, BB_AND, BB_THEN, BB_AFTER_YOU };

/* where an object is, seen from the agent's start; from BB_LEFT on as in minigrid's LOC_NAMES */
enum bb_where { BB_ANYWHERE, BB_LEFT, BB_RIGHT, BB_FRONT, BB_BEHIND };

/* in a description: any kind, and any color */
enum { BB_ANY_KIND = 0, BB_ANY_COLOR = 6 };

typedef struct bb_description {
  uint8_t kind;  /* mg_kind */
  uint8_t color; /* mg_color */
  uint8_t where; /* bb_where */
  bool is_plural;
} bb_description;

typedef struct bb_clause {
  int32_t action; /* bb_action */
  int32_t link;   /* bb_link */
  bool is_strict; /* a wrong door or object ends the episode */
  bb_description what;
  bb_description beside; /* of BB_PUT_NEXT */
} bb_clause;

int32_t bb_code_of(const bb_clause *clause);
bb_clause bb_clause_of(int32_t code);

/* Writes the text of BB_MOST_CLAUSES codes, at most MG_LONGEST_TEXT characters; returns their
 * number. */
int32_t bb_text(const void *codes, char *out);

#endif
