/* Stepper: steps the environments of a chunk and delivers their rows. */
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

/* counts rows of a batch as written; the last one wakes the caller, if it sleeps */
static void finish(const pp_stepper *stepper, pp_ring_slot *slot, int32_t count) {
  if (pp_claims_finish(stepper->claims, slot, count)) pp_gate_wake(stepper->caller, 1);
}

/* Returns whether step_many can take these environments: their command is a step, none is PP_FRESH,
 * and their actions have one dtype. */
static bool is_plain(const pp_natives *natives, int32_t env_id, int32_t count) {
  const uint8_t dtype = natives->action_dtypes[env_id];
  uint8_t differs = 0;
  for (int32_t i = 0; i < count; i++) {
    differs |= natives->fleet->command[env_id + i] |
               (natives->fleet->phase[env_id + i] & PP_FRESH) |
               (natives->action_dtypes[env_id + i] ^ dtype);
  }
  return !differs;
}

/* returns how many of these environments have the configuration of the first */
static int32_t configured_alike(const pp_natives *natives, int32_t env_id, int32_t count) {
  int32_t alike = 1;
  while (alike < count && natives->envs[env_id + alike].shared == natives->envs[env_id].shared)
    alike++;
  return alike;
}

/* Steps a run through step_many, in one part for each batch that its rows lie in, and for each
 * configuration. */
static void step_run(const pp_stepper *stepper, int32_t env_id, int32_t place, int32_t count,
                     pp_scratch *scratch) {
  while (count > 0) {
    int32_t part = count, row, failed;
    pp_ring_slot *slot;
    if (stepper->natives->has_configs) part = configured_alike(stepper->natives, env_id, count);
    if (!stepper->ring->is_ordered) place = pp_claims_take(stepper->claims, &part);
    slot = pp_ring_at(stepper->ring, place, &row);
    failed = pp_step_rows(stepper->natives, stepper->layout, slot->memory, row, env_id, part,
                          scratch->rewards);
    for (int32_t i = 0; failed && i < part; i++) {
      if (stepper->natives->fleet->phase[env_id + i] == PP_FRESH)
        pp_claims_fail(stepper->claims, slot, env_id + i);
    }
    finish(stepper, slot, part);
    env_id += part;
    place += part;
    count -= part;
  }
}

/* returns whether the next step may be a reset whose time pp_autoreset_learn needs */
static bool may_reset(const pp_natives *natives, int32_t env_id) {
  if (!natives->has_step_many) return false;
  return natives->fleet->command[env_id] != PP_COMMAND_STEP ||
         natives->fleet->phase[env_id] != PP_RUNNING ||
         (natives->fleet->autoreset == PP_SAME_STEP && pp_autoreset_is_expensive(natives));
}

/* steps one environment, then claims its row, so that rows are in the order of finishing */
static void step_one(const pp_stepper *stepper, int32_t env_id, int32_t place) {
  int32_t row, one = 1;
  bool is_timed = may_reset(stepper->natives, env_id);
  int64_t start = is_timed ? pp_os_now() : 0;
  pp_outcome outcome;
  pp_ring_slot *slot;

  pp_autoreset_advance(stepper->natives, env_id, &outcome);
  if (!stepper->ring->is_ordered) place = pp_claims_take(stepper->claims, &one);
  slot = pp_ring_at(stepper->ring, place, &row);
  if (pp_step_row_write(stepper->natives, stepper->layout, slot->memory, row, env_id, &outcome) <
      0) {
    pp_claims_fail(stepper->claims, slot, env_id);
  }
  if (is_timed && (outcome.is_reset || outcome.terminated || outcome.truncated)) {
    pp_autoreset_learn(stepper->natives, pp_os_now() - start);
  }
  finish(stepper, slot, 1);
}

/* Returns how many environments of a plain run step_many may take at once, from its first one on.
 * Expensive resets are kept out: the part ends before the next one, and it is empty if any step may
 * bring one. */
static int32_t run_length(const pp_natives *natives, int32_t env_id, int32_t count) {
  const uint8_t *first = natives->fleet->phase + env_id, *ended;
  if (!pp_autoreset_is_expensive(natives)) return count;
  if (natives->fleet->autoreset == PP_SAME_STEP) return 0;
  ended = memchr(first, PP_ENDED, (size_t)count);
  return ended ? (int32_t)(ended - first) : count;
}

/* Joins the first entry with those that continue it, up to PP_GRAIN_ROWS environments. Returns the
 * number of entries, and writes the number of environments to length. */
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

/* records what a thread begins to step */
static void note(pp_scratch *scratch, int32_t env_id, int32_t count) {
  atomic_store_explicit(&scratch->stepping, PP_ENTRY(1, env_id, count), memory_order_relaxed);
}

static bool is_late(int64_t deadline) {
  return pp_os_now_roughly() > deadline;
}

void pp_stepper_learn(const pp_stepper *stepper, const pp_scratch *scratch, int64_t nanoseconds,
                      int32_t count) {
  _Atomic bool *avoids_runs = &stepper->natives->avoids_runs;
  // written only if it changes: every thread reads it
  if (scratch->used_runs) {
    if (nanoseconds > PP_GRAIN_LONG) atomic_store_explicit(avoids_runs, true, memory_order_relaxed);
  } else if (nanoseconds < (int64_t)PP_GRAIN_MOST * count &&
             atomic_load_explicit(avoids_runs, memory_order_relaxed)) {
    atomic_store_explicit(avoids_runs, false, memory_order_relaxed);
  }
}

/* does the work of pp_stepper_run, and leaves in scratch->stepping what it stepped last */
static int32_t step_entries(const pp_stepper *stepper, const pp_entry *entries, int32_t count,
                            int64_t deadline, pp_scratch *scratch) {
  bool has_runs = stepper->natives->has_step_many &&
                  !atomic_load_explicit(&stepper->natives->avoids_runs, memory_order_relaxed);
  int32_t at = 0, stepped = 0;

  scratch->used_runs = false;
  while (at < count) {
    int32_t env_id = PP_ENTRY_ENV(entries[at]), place = PP_ENTRY_PLACE(entries[at]), length, part;
    bool is_run;
    at += join(stepper, entries + at, count - at, &length);
    is_run = has_runs && length > 1 && is_plain(stepper->natives, env_id, length);
    for (int32_t i = 0; i < length; i += part) {
      part = is_run ? run_length(stepper->natives, env_id + i, length - i) : 0;
      note(scratch, env_id + i, part > 1 ? part : 1);
      if (part > 1) {
        step_run(stepper, env_id + i, place + i, part, scratch);
        scratch->used_runs = true;
        stepped += part;
        if ((at < count || i + part < length) && is_late(deadline)) return stepped;
      } else {
        part = 1;
        step_one(stepper, env_id + i, place + i);
        // after the first step and then every fourth: reading the clock costs a good part of a
        // cheap step
        if ((stepped++ & 3) == 0 && is_late(deadline)) return stepped;
      }
    }
  }
  return stepped;
}

int32_t pp_stepper_run(const pp_stepper *stepper, const pp_entry *entries, int32_t count,
                       int64_t deadline, pp_scratch *scratch) {
  int32_t stepped = step_entries(stepper, entries, count, deadline, scratch);
  atomic_store_explicit(&scratch->stepping, 0, memory_order_relaxed);
  return stepped;
}
