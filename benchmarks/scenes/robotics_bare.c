/* The upper limit of pools of Gymnasium-Robotics' tasks: a loop over the calls of MuJoCo that such
 * a pool makes, resets included, with the same inputs, but without observations, rewards, infos,
 * queues or batches.
 *
 * What is called differs from task to task, so the calls are recorded. A pool is stepped whose link
 * has robotics_bare_mj_step and the like in place of MuJoCo's functions. Each call is then made
 * twice: with an mjData of the loop's own, one for each environment, after writing the inputs that
 * differ there, and for the pool. The recording is what was written and called, and the loop
 * repeats it.
 *
 * robotics_bare.py builds this as a library and calls its exported functions. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef void function(const void *model, void *data);

/* FUNCTIONS in robotics_bare.py has the same order. */
enum { FORWARD, RESET_DATA, STEP, STEP1, STEP2, RNE_POST_CONSTRAINT, NUM_FUNCTIONS };

/* An input of a call: numbers of mjData or of mjModel. Field in robotics_bare.py has the same
 * members. */
typedef struct field {
  int64_t place;     /* the offset in bytes of the numbers, or of the pointer to them */
  int64_t size;      /* in bytes */
  int32_t is_inline; /* bool: the numbers themselves are there */
  int32_t is_models; /* bool: of mjModel */
} field;

/* Setting in robotics_bare.py has the same members. */
typedef struct setting {
  function *functions[NUM_FUNCTIONS]; /* MuJoCo's */
  void *model;                        /* a copy of the pool's */
  void *const *data;                  /* of each environment */
  const field *fields;
  int32_t num_fields;
} setting;

/* A recording is calls; a call is followed by its writes, and a write by its numbers. */
typedef struct call {
  int32_t function; /* NUM_FUNCTIONS: the end of a batch, which calls nothing */
  int32_t env;
  int64_t num_writes;
} call;

typedef struct bare {
  setting set;
  char *bytes; /* the recording */
  size_t size;
  size_t room;
  size_t at; /* where the loop goes on */
  bool is_short_of_memory;
} bare;

/* The loop that records, and the environment whose turn it is. Python writes both while the pool,
 * whose thread reads them, is idle. */
static bare *recorder;
static int32_t turn;

/* The numbers of a write are padded, so that calls are aligned. */
static size_t padded(int64_t size) {
  return ((size_t)size + 7) / 8 * 8;
}

static char *numbers_of(const field *of, void *model, void *data) {
  char *place = (char *)(of->is_models ? model : data) + of->place;
  if (!of->is_inline) memcpy(&place, place, sizeof(place));
  return place;
}

/* ------------------------------------------------------------------------------- recording -- */

static void append(bare *it, const void *from, int64_t size) {
  size_t needed = it->size + padded(size);
  if (needed > it->room) {
    char *larger = realloc(it->bytes, 2 * needed);
    it->is_short_of_memory |= !larger;
    if (!larger) return;
    it->bytes = larger;
    it->room = 2 * needed;
  }
  memcpy(it->bytes + it->size, from, (size_t)size);
  it->size = needed;
}

/* Writes what differs from the pool's model and mjData. mj_resetData replaces all of an mjData. */
static int64_t write_inputs(bare *it, int32_t which, void *model, void *data) {
  int64_t count = 0;
  for (int64_t i = 0; i < it->set.num_fields; i++) {
    const field *of = &it->set.fields[i];
    if (which == RESET_DATA && !of->is_models) continue;
    const char *wanted = numbers_of(of, model, data);
    char *own = numbers_of(of, it->set.model, it->set.data[turn]);
    if (!memcmp(own, wanted, (size_t)of->size)) continue;
    memcpy(own, wanted, (size_t)of->size);
    append(it, &i, sizeof(i));
    append(it, wanted, of->size);
    count++;
  }
  return count;
}

static void record(int32_t which, void *model, void *data) {
  bare *it = recorder;
  call made = {.function = which, .env = turn};
  size_t start = it->size;

  append(it, &made, sizeof(made));
  made.num_writes = write_inputs(it, which, model, data);
  if (!it->is_short_of_memory) memcpy(it->bytes + start, &made, sizeof(made));
  it->set.functions[which](it->set.model, it->set.data[turn]);
  it->set.functions[which](model, data);
}

#define RECORDED(name, which)                                 \
  EXPORT void robotics_bare_##name(void *model, void *data) { \
    record(which, model, data);                               \
  }

RECORDED(mj_forward, FORWARD)
RECORDED(mj_resetData, RESET_DATA)
RECORDED(mj_step, STEP)
RECORDED(mj_step1, STEP1)
RECORDED(mj_step2, STEP2)
RECORDED(mj_rnePostConstraint, RNE_POST_CONSTRAINT)

/* Says which environment is stepped next. */
EXPORT void robotics_bare_turn(bare *it, int32_t env) {
  recorder = it;
  turn = env;
}

/* Returns whether there was memory for the recording. */
EXPORT int32_t robotics_bare_end_batch(bare *it) {
  call end = {.function = NUM_FUNCTIONS};
  append(it, &end, sizeof(end));
  return !it->is_short_of_memory;
}

/* -------------------------------------------------------------------------------- the loop -- */

/* Makes one call, after its writes. Returns whether the batch goes on. */
static bool repeat(bare *it) {
  call made;
  memcpy(&made, it->bytes + it->at, sizeof(made));
  it->at += sizeof(made);
  if (made.function == NUM_FUNCTIONS) return false;
  void *data = it->set.data[made.env];

  for (int64_t i = 0; i < made.num_writes; i++) {
    int64_t number;
    memcpy(&number, it->bytes + it->at, sizeof(number));
    it->at += sizeof(number);
    const field *of = &it->set.fields[number];
    memcpy(numbers_of(of, it->set.model, data), it->bytes + it->at, (size_t)of->size);
    it->at += padded(of->size);
  }
  it->set.functions[made.function](it->set.model, data);
  return true;
}

/* Repeats the next batches. Returns how many the recording had. */
EXPORT int32_t robotics_bare_play(bare *it, int32_t batches) {
  for (int32_t i = 0; i < batches; i++) {
    if (it->at == it->size) return i;
    while (repeat(it)) continue;
  }
  return batches;
}

/* Returns null if there is no memory. */
EXPORT bare *robotics_bare_create(const setting *set) {
  bare *it = calloc(1, sizeof(*it));
  if (it) it->set = *set;
  return it;
}

EXPORT void robotics_bare_destroy(bare *it) {
  free(it->bytes);
  free(it);
}
