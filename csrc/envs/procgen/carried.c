/* Writes what a game carries into the library's state of it.
 *
 * A state is a row of 32-bit values and texts. Its beginning is the same for all games; places are
 * counted in values. What is not as expected is refused, and nothing but these values changes. */
#include "carried.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum {
  MOST_STATE = 1 << 20, /* bytes; the same limit as procgen's own module has */
  DIGITS = 10,          /* of a word of a generator */
  MOST_TEXT = (PP_MT19937_WORDS + 1) * (DIGITS + 1) + 1,
  VALUE = sizeof(int32_t),
};

/* numbers of values */
enum {
  BEFORE_RANGE = 13,     /* after the game's name: options */
  AFTER_RANGE = 2,       /* kind and number of the game */
  AFTER_GENERATORS = 16, /* the episode, and the size of the grid */
  OF_ENTITY = 31,        /* things in the level */
  BEFORE_LAST_MOVE = 5,  /* the background */
};

/* where the reader is in a state; at is -1 once something was not as expected */
typedef struct reader {
  const char *state;
  int32_t size;
  int32_t at;
} reader;

static void skip(reader *it, int64_t bytes) {
  it->at = it->at < 0 || bytes < 0 || bytes > it->size - it->at ? -1 : it->at + (int32_t)bytes;
}

static int32_t read_value(reader *it) {
  int32_t value = -1;
  int32_t at = it->at;
  skip(it, VALUE);
  if (it->at >= 0) memcpy(&value, it->state + at, sizeof(value));
  return value;
}

static void skip_text(reader *it) {
  skip(it, read_value(it));
}

static void put_value(char *bytes, int32_t value) {
  memcpy(bytes, &value, sizeof(value));
}

/* places in a state, in bytes */
typedef struct places {
  int32_t range;
  int32_t text; /* of the generator, after its length */
  int32_t after_text;
  int32_t last_move;
} places;

/* returns whether the state has the expected form */
static bool find_places(const char *state, int32_t size, places *found) {
  reader it = {state, size, 0};

  if (read_value(&it) != 0) return false;  // the version
  skip_text(&it);
  skip(&it, BEFORE_RANGE * VALUE);
  found->range = it.at;
  skip(&it, (2 + AFTER_RANGE + 1) * VALUE);  // and whether the generator is seeded
  found->text = it.at + VALUE;
  skip_text(&it);
  found->after_text = it.at;
  skip(&it, VALUE);
  skip_text(&it);  // the generator of the level
  skip(&it, AFTER_GENERATORS * VALUE);
  int64_t num_entities = read_value(&it);
  skip(&it, num_entities * OF_ENTITY * VALUE + BEFORE_LAST_MOVE * VALUE);
  found->last_move = it.at;
  return read_value(&it) == PROCGEN_FIRST_MOVE;
}

/* writes a generator as C++'s operator<< does; returns its length */
static int32_t write_generator(const pp_mt19937 *seeds, char *text) {
  int32_t length = 0;
  for (int32_t i = 0; i < PP_MT19937_WORDS; i++) {
    length += snprintf(text + length, DIGITS + 2, "%u ", seeds->word[i]);
  }
  return length + snprintf(text + length, DIGITS + 1, "%u", seeds->next);
}

/* writes the state with other values; returns its size */
static int32_t replace(const char *state, int32_t size, const places *at,
                       const procgen_carried *carried, procgen_level_range range, char *out) {
  int32_t length = write_generator(&carried->seeds, out + at->text);
  int32_t moved = at->text + length - at->after_text;

  memcpy(out, state, (size_t)at->text);
  put_value(out + at->range, range.low);
  put_value(out + at->range + VALUE, range.high);
  put_value(out + at->text - VALUE, length);
  memcpy(out + at->after_text + moved, state + at->after_text, (size_t)(size - at->after_text));
  put_value(out + at->last_move + moved, carried->last_move);
  return size + moved;
}

int procgen_carried_store(const procgen_carried *carried, procgen_level_range range,
                          const procgen_library *library, libenv_handle *handle, pp_error *error) {
  char *state = malloc(MOST_STATE), *changed = malloc(MOST_STATE + MOST_TEXT);
  int status = PP_OK;
  places at;

  if (!state || !changed) {
    status = pp_fail(error, PP_ERR_MEMORY, "no memory for the state of a game");
  } else {
    int32_t size = library->get_state(handle, 0, state, MOST_STATE);
    if (find_places(state, size, &at)) {
      size = replace(state, size, &at, carried, range, changed);
      library->set_state(handle, 0, changed, size);
    } else {
      status = pp_fail(error, PP_ERR_ENV, "the installed Procgen has states of another form");
    }
  }
  free(changed);
  free(state);
  return status;
}
