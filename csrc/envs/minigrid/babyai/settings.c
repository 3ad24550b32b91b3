/* Reads the options of BabyAI's levels by their names. */
#include "settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "babyai.h"
#include "base/fail.h"
#include "instruction.h"

enum reading { NUMBER, FRACTION, WORD, WORDS };

/* a word that an option may have, and what it stands for */
typedef struct bb_word {
  const char *text;
  int32_t value;
} bb_word;

static const bb_word selections[] = {
    {"", BB_BY_EITHER}, {"color", BB_BY_COLOR}, {"loc", BB_BY_WHERE}, {NULL, 0}};
static const bb_word colors[] = {
    {"", MG_DRAWN},        {"red", MG_RED},       {"green", MG_GREEN}, {"blue", MG_BLUE},
    {"purple", MG_PURPLE}, {"yellow", MG_YELLOW}, {"grey", MG_GREY},   {NULL, 0}};
static const bb_word kinds[] = {{"key", MG_KEY}, {"ball", MG_BALL}, {"box", MG_BOX}, {NULL, 0}};
static const bb_word actions[] = {{"goto", BB_GO_TO},
                                  {"pickup", BB_PICK_UP},
                                  {"open", BB_OPEN},
                                  {"putnext", BB_PUT_NEXT},
                                  {NULL, 0}};
static const bb_word sentences[] = {
    {"action", BB_ACTION}, {"and", BB_BOTH}, {"seq", BB_SEQUENCE}, {NULL, 0}};

static const struct {
  const char *name;
  enum reading reading;
  size_t offset; /* in bb_settings */
  const bb_word *words;
} readers[] = {
    {"room_size", NUMBER, offsetof(bb_settings, room_size), NULL},
    {"num_rows", NUMBER, offsetof(bb_settings, rows), NULL},
    {"num_cols", NUMBER, offsetof(bb_settings, columns), NULL},
    {"num_dists", NUMBER, offsetof(bb_settings, count), NULL},
    {"num_objs", NUMBER, offsetof(bb_settings, count), NULL},
    {"objs_per_room", NUMBER, offsetof(bb_settings, count), NULL},
    {"num_doors", NUMBER, offsetof(bb_settings, count), NULL},
    {"debug", NUMBER, offsetof(bb_settings, is_strict), NULL},
    {"strict", NUMBER, offsetof(bb_settings, is_strict), NULL},
    {"doors_open", NUMBER, offsetof(bb_settings, are_doors_open), NULL},
    {"start_carrying", NUMBER, offsetof(bb_settings, starts_carrying), NULL},
    {"distractors", NUMBER, offsetof(bb_settings, has_distractors), NULL},
    {"select_by", WORD, offsetof(bb_settings, selects_by), selections},
    {"first_color", WORD, offsetof(bb_settings, colors[0]), colors},
    {"second_color", WORD, offsetof(bb_settings, colors[1]), colors},
    {"obj_type", WORD, offsetof(bb_settings, kind), kinds},
    {"locked_room_prob", FRACTION, offsetof(bb_settings, locked_room_prob), NULL},
    {"locations", NUMBER, offsetof(bb_settings, has_locations), NULL},
    {"unblocking", NUMBER, offsetof(bb_settings, may_be_blocked), NULL},
    {"implicit_unlock", NUMBER, offsetof(bb_settings, may_be_locked), NULL},
    {"action_kinds", WORDS, offsetof(bb_settings, actions), actions},
    {"instr_kinds", WORDS, offsetof(bb_settings, sentences), sentences},
};
enum { NUM_READERS = sizeof(readers) / sizeof(*readers) };

/* Reads one word of `size` characters; returns whether it is one of `words`. */
static bool read_word(const bb_word *words, const char *text, size_t size, int32_t *value) {
  for (; words->text; words++) {
    if (strlen(words->text) != size || memcmp(words->text, text, size) != 0) continue;
    *value = words->value;
    return true;
  }
  return false;
}

static bool read_words(const bb_word *words, const char *text, bb_list *list) {
  list->count = 0;
  for (;;) {
    size_t size = strcspn(text, ",");
    if (list->count == BB_MOST_LISTED) return false;
    if (!read_word(words, text, size, &list->at[list->count++])) return false;
    if (!text[size]) return true;
    text += size + 1;
  }
}

static int refuse(const pp_option *option, const pp_value *value, const bb_word *words,
                  pp_error *error) {
  char known[120] = "";
  for (; words->text; words++) {
    strcat(known, known[0] ? ", " : "");
    strcat(known, words->text[0] ? words->text : "None");
  }
  return pp_fail(error, PP_ERR_ARGUMENT, "%s='%.40s': choose among %s", option->name, value->s,
                 known);
}

static int read_option(bb_settings *it, const pp_option *option, const pp_value *value,
                       pp_error *error) {
  for (int32_t i = 0; i < NUM_READERS; i++) {
    char *member = (char *)it + readers[i].offset;
    const bb_word *words = readers[i].words;
    bool is_read = true;
    if (strcmp(readers[i].name, option->name) != 0) continue;
    switch (readers[i].reading) {
      case NUMBER: *(int32_t *)(void *)member = (int32_t)value->i; break;
      case FRACTION: *(double *)(void *)member = value->f; break;
      case WORD:
        is_read = read_word(words, value->s, strlen(value->s), (int32_t *)(void *)member);
        break;
      case WORDS: is_read = read_words(words, value->s, (bb_list *)(void *)member); break;
    }
    return is_read ? PP_OK : refuse(option, value, words, error);
  }
  return pp_fail(error, PP_ERR_STATE, "%s has no reader", option->name);
}

int bb_configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  bb_settings *it = malloc(sizeof(*it));
  if (!it) return PP_ERR_MEMORY;
  shared->settings = it;
  *it = ((const bb_level *)shared->level)->fixed;
  const pp_option *options = shared->def->options + MG_NUM_COMMON;
  for (int32_t i = 0; i < shared->def->num_options - MG_NUM_COMMON; i++) {
    int status = read_option(it, &options[i], &values[i], error);
    if (status < 0) return status;
  }
  shared->width = mg_rooms_side(it->room_size, it->columns);
  shared->height = mg_rooms_side(it->room_size, it->rows);
  shared->max_steps = it->steps_per_cell * it->room_size * it->room_size;
  return mg_check_rooms(it->rows, it->columns, error);
}
