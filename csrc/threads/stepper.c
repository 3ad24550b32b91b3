/* Stepper: what a thread does with a chunk of the action queue. */
#include "stepper.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"

int pp_scratch_init(pp_scratch *scratch, int32_t num_players) {
  atomic_init(&scratch->chunks, 0);
  scratch->rewards = calloc((size_t)PP_GRAIN_ROWS * (size_t)num_players, sizeof(double));
  scratch->leftover = aligned_alloc(64, sizeof(*scratch->leftover));
  if (!scratch->rewards || !scratch->leftover) return PP_ERR_MEMORY;
  memset(scratch->leftover, 0, sizeof(*scratch->leftover));
  return PP_OK;
}

void pp_scratch_fini(pp_scratch *scratch) {
  free(scratch->rewards);
  free(scratch->leftover);
  scratch->rewards = NULL;
  scratch->leftover = NULL;
}

/* the last row of a batch wakes the caller, if it sleeps */
static void finish(const pp_stepper *stepper, pp_batch *batch, int32_t count) {
  if (pp_batch_finish(batch, count)) pp_gate_wake(stepper->caller, 1);
}

/* 1: none of these environments must go through the slow path, as resets that the caller asked for,
 * first episodes and actions of several dtypes do */
static int is_plain(const pp_fleet *fleet, int32_t env_id, int32_t count) {
  const uint8_t dtype = fleet->action_dtypes[env_id];
  uint8_t any = 0;
  for (int32_t i = 0; i < count; i++) {
    any |= fleet->command[env_id + i] | (fleet->phase[env_id + i] & PP_FRESH) |
           (fleet->action_dtypes[env_id + i] ^ dtype);
  }
  return !any;
}

/* delivers a run through step_many, batch by batch */
static void step_run(const pp_stepper *stepper, int32_t env_id, int32_t place, int32_t count,
                     pp_scratch *scratch) {
  while (count > 0) {
    int32_t part = count, row, failed;
    pp_batch *batch;
    if (!stepper->ring->is_ordered) place = pp_ring_claim(stepper->ring, &part);
    batch = pp_ring_at(stepper->ring, place, &row);
    failed = pp_step_rows(stepper->fleet, stepper->layout, batch->memory, row, env_id, part,
                          scratch->rewards);
    for (int32_t i = 0; failed && i < part; i++) {
      if (stepper->fleet->phase[env_id + i] == PP_FRESH) pp_batch_fail(batch, env_id + i);
    }
    finish(stepper, batch, part);
    env_id += part;
    place += part;
    count -= part;
  }
}

/* 1: this may be a reset whose time is of interest (pp_autoreset_learn) */
static int may_reset(const pp_fleet *fleet, int32_t env_id) {
  if (!fleet->def->step_many) return 0;
  return fleet->command[env_id] != PP_COMMAND_STEP || fleet->phase[env_id] != PP_RUNNING ||
         (fleet->autoreset == PP_SAME_STEP && pp_autoreset_is_expensive(fleet));
}

/* steps one environment first and claims its row after that: the first to finish is the first in */
static void step_one(const pp_stepper *stepper, int32_t env_id, int32_t place) {
  int32_t row, one = 1, is_timed = may_reset(stepper->fleet, env_id);
  int64_t start = is_timed ? pp_os_now() : 0;
  pp_outcome outcome;
  pp_batch *batch;

  pp_autoreset_advance(stepper->fleet, env_id, &outcome);
  if (!stepper->ring->is_ordered) place = pp_ring_claim(stepper->ring, &one);
  batch = pp_ring_at(stepper->ring, place, &row);
  if (pp_step_row_write(stepper->fleet, stepper->layout, batch->memory, row, env_id, &outcome) <
      0) {
    pp_batch_fail(batch, env_id);
  }
  if (is_timed && (outcome.is_reset || outcome.terminated || outcome.truncated)) {
    pp_autoreset_learn(stepper->fleet, pp_os_now() - start);
  }
  finish(stepper, batch, 1);
}

/* How many environments step_many may take at once, from the first of a plain run on. Dear resets
 * are kept out: the run ends before the next one, and where any step may bring one it is empty. */
static int32_t stretch(const pp_fleet *fleet, int32_t env_id, int32_t count) {
  const uint8_t *first = fleet->phase + env_id, *ended;
  if (!pp_autoreset_is_expensive(fleet)) return count;
  if (fleet->autoreset == PP_SAME_STEP) return 0;
  ended = memchr(first, PP_ENDED, (size_t)count);
  return ended ? (int32_t)(ended - first) : count;
}

/* Joins entries that go on where the first one ends, up to PP_GRAIN_ROWS environments; returns how
 * many entries and, in length, how many environments that are. */
static int32_t join(const pp_stepper *stepper, const pp_entry *entries, int32_t count,
                    int32_t *length) {
  int32_t joined = 1, total = PP_ENTRY_LENGTH(entries[0]);
  while (joined < count) {
    pp_entry next = entries[joined];
    if (PP_ENTRY_ENV(next) != PP_ENTRY_ENV(entries[0]) + total ||
        (stepper->ring->is_ordered && PP_ENTRY_PLACE(next) != PP_ENTRY_PLACE(entries[0]) + total) ||
        total + PP_ENTRY_LENGTH(next) > PP_GRAIN_ROWS) {
      break;
    }
    total += PP_ENTRY_LENGTH(next);
    joined++;
  }
  *length = total;
  return joined;
}

static int is_late(int64_t late) {
  return pp_os_now_roughly() > late;
}

void pp_stepper_learn(const pp_stepper *stepper, const pp_scratch *scratch, int64_t nanoseconds,
                      int32_t count) {
  _Atomic int32_t *doubts = &stepper->fleet->avoids_runs;
  // not written without need: every thread reads it
  if (scratch->used_runs) {
    if (nanoseconds > PP_GRAIN_LONG) atomic_store_explicit(doubts, 1, memory_order_relaxed);
  } else if (nanoseconds < (int64_t)PP_GRAIN_MOST * count &&
             atomic_load_explicit(doubts, memory_order_relaxed)) {
    atomic_store_explicit(doubts, 0, memory_order_relaxed);
  }
}

int32_t pp_stepper_run(const pp_stepper *stepper, const pp_entry *entries, int32_t count,
                       int64_t late, pp_scratch *scratch) {
  int has_runs = stepper->fleet->def->step_many &&
                 !atomic_load_explicit(&stepper->fleet->avoids_runs, memory_order_relaxed);
  int32_t at = 0, stepped = 0;

  scratch->used_runs = 0;
  while (at < count) {
    int32_t env_id = PP_ENTRY_ENV(entries[at]), place = PP_ENTRY_PLACE(entries[at]), length, part;
    int is_run;
    at += join(stepper, entries + at, count - at, &length);
    is_run = has_runs && length > 1 && is_plain(stepper->fleet, env_id, length);
    for (int32_t i = 0; i < length; i += part) {
      part = is_run ? stretch(stepper->fleet, env_id + i, length - i) : 0;
      if (part > 1) {
        step_run(stepper, env_id + i, place + i, part, scratch);
        scratch->used_runs = 1;
        stepped += part;
        if ((at < count || i + part < length) && is_late(late)) return stepped;
      } else {
        part = 1;
        step_one(stepper, env_id + i, place + i);
        // the first and then every fourth, as a look costs a good part of the cheapest steps
        if ((stepped++ & 3) == 0 && is_late(late)) return stepped;
      }
    }
  }
  return stepped;
}
