/* What a BabyAI level depends on: what its class fixes, and what its options choose. */
#ifndef PP_ENVS_MINIGRID_BABYAI_SETTINGS_H
#define PP_ENVS_MINIGRID_BABYAI_SETTINGS_H

#include "envs/minigrid/level.h"

enum { BB_MOST_LISTED = 8 /* elements of a list */, BB_MOST_OBJECTS = 200 };

/* elements of instr_kinds */
enum bb_sentence { BB_ACTION, BB_BOTH, BB_SEQUENCE };
/* values of select_by */
enum bb_selection { BB_BY_EITHER, BB_BY_COLOR, BB_BY_WHERE };

/* a list of an option, as comma-separated words */
typedef struct bb_list {
  int32_t count;
  int32_t at[BB_MOST_LISTED];
} bb_list;

typedef struct bb_settings {
  int32_t room_size;
  int32_t rows;
  int32_t columns;
  int32_t steps_per_cell; /* of a room: max_steps; 0: it depends on the instructions */
  int32_t count;          /* of distractors, objects or doors */
  int32_t is_strict;
  int32_t are_doors_open;
  int32_t starts_carrying;
  int32_t has_distractors;
  int32_t selects_by; /* bb_selection */
  int32_t colors[2];  /* of doors; MG_DRAWN: any */
  int32_t kind;       /* of the object to pick up */

  /* of the level generator */
  double locked_room_prob;
  int32_t has_locations;
  int32_t may_be_blocked;
  int32_t may_be_locked;
  bb_list actions;   /* bb_action */
  bb_list sentences; /* bb_sentence */
} bb_settings;

/* mg_level.configure of BabyAI's levels: options replace what the class has. */
int bb_configure(mg_shared *shared, const pp_value *values, pp_error *error);

/* ------------------------------------------------------------------------- option tables -- */

#define BB_INT(title, value, least, most, text) \
  {.name = title, .type = PP_OPT_INT, .number = value, .low = least, .high = most, .doc = text}
#define BB_BOOL(title, value, text) \
  {.name = title, .type = PP_OPT_BOOL, .number = value, .doc = text}
#define BB_STRING(title, value, texts) \
  {.name = title, .type = PP_OPT_STRING, .text = value, .doc = texts}

#define BB_SIZE(value) \
  BB_INT("room_size", value, MG_LEAST_SIDE, MG_MOST_SIDE, "cells of a room's side, walls included")
#define BB_ROWS(value, least) BB_INT("num_rows", value, least, 20, "rows of rooms")
#define BB_COLUMNS(value, least) BB_INT("num_cols", value, least, 20, "columns of rooms")
/* rows and columns of levels that need at least `least` of both */
#define BB_MAZE(least) BB_ROWS(3, least), BB_COLUMNS(3, least)
#define BB_DISTS(value) BB_INT("num_dists", value, 0, BB_MOST_OBJECTS, "distractors")
#define BB_DEBUG(value) BB_BOOL("debug", value, "whether what is wrong ends the episode")
#define BB_DISTRACTED(value) BB_BOOL("distractors", value, "whether there are other objects")
#define BB_LOCKED_ROOM         \
  {.name = "locked_room_prob", \
   .type = PP_OPT_FLOAT,       \
   .number = 0.5,              \
   .high = 1,                  \
   .doc = "probability of a locked room"}
#define BB_LOCATIONS BB_BOOL("locations", 1, "whether instructions say where objects are")
#define BB_UNBLOCKING BB_BOOL("unblocking", 1, "whether objects may block the way")
#define BB_IMPLICIT_UNLOCK \
  BB_BOOL("implicit_unlock", 1, "whether what is asked for may be only in the locked room")
#define BB_ACTION_KINDS \
  BB_STRING("action_kinds", "goto,pickup,open,putnext", "what instructions ask for")
#define BB_INSTR_KINDS BB_STRING("instr_kinds", "action,and,seq", "forms of instructions")

#endif
