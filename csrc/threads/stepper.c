/* Stepper: steps the environments of a chunk and delivers their rows. */
#include "stepper.h"

#include <stdlib.h>
#include <string.h>

#include "native/visit.h"
#include "os/os.h"

int pp_step_thread_init(pp_step_thread *self, int32_t num_players) {
  atomic_init(&self->chunks, 0);
  self->rewards = calloc((size_t)PP_MAX_CHUNK * (size_t)num_players, sizeof(double));
  self->leftover = aligned_alloc(64, sizeof(*self->leftover));
  if (!self->rewards || !self->leftover) return PP_ERR_MEMORY;
  memset(self->leftover, 0, sizeof(*self->leftover));
  return PP_OK;
}

void pp_step_thread_fini(pp_step_thread *self) {
  free(self->rewards);
  free(self->leftover);
  self->rewards = NULL;
  self->leftover = NULL;
}

/* counts rows of a batch as written; the last one wakes the caller, if it sleeps */
static void finish(const pp_stepper *stepper, pp_ring_slot *slot, int32_t count) {
  if (pp_claims_finish(stepper->claims, slot, count)) pp_gate_wake(stepper->caller, 1);
}

/* Ordered: finds the rows from a place on. Unordered: claims at most rows->count of them, and sets
 * the count. Returns their batch. */
static pp_ring_slot *find_rows(const pp_stepper *stepper, int32_t place, pp_rows *rows) {
  pp_ring_slot *slot;
  if (!stepper->ring->is_ordered) place = pp_claims_take(stepper->claims, &rows->count);
  slot = pp_ring_at(stepper->ring, place, &rows->first);
  rows->layout = slot->layout;
  rows->memory = slot->memory;
  return slot;
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

/* The same, after environments that are visited have got their states. */
static bool is_run(pp_natives *natives, int32_t env_id, int32_t count) {
  return (!natives->visits || pp_visits_begin(natives, env_id, count)) &&
         is_plain(natives, env_id, count);
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
                     pp_step_thread *self) {
  pp_natives *natives = stepper->natives;
  pp_rows rows = {.natives = natives, .env_id = env_id};
  for (int32_t left = count; left > 0; left -= rows.count) {
    pp_ring_slot *slot;
    int32_t failed;
    rows.count = natives->has_configs ? configured_alike(natives, rows.env_id, left) : left;
    slot = find_rows(stepper, place, &rows);
    failed = pp_rows_step(&rows, self->rewards);
    if (natives->visits) failed += pp_visits_end(natives, rows.env_id, rows.count);
    for (int32_t i = 0; failed && i < rows.count; i++) {
      if (natives->fleet->phase[rows.env_id + i] == PP_FRESH) {
        pp_claims_fail(stepper->claims, slot, rows.env_id + i);
      }
    }
    finish(stepper, slot, rows.count);
    rows.env_id += rows.count;
    place += rows.count;
  }
}

/* steps one environment, then claims its row, so that rows are in the order of finishing */
static void step_one(const pp_stepper *stepper, int32_t env_id, int32_t place) {
  pp_rows row = {.natives = stepper->natives, .env_id = env_id, .count = 1};
  bool is_visited = row.natives->visits != NULL;
  pp_outcome outcome = {.status = PP_ERR_ENV};
  pp_ring_slot *slot;
  int status;

  if (!is_visited || pp_visits_begin(row.natives, env_id, 1)) {
    pp_autoreset_advance(row.natives, env_id, &outcome);
  }
  slot = find_rows(stepper, place, &row);
  status = pp_rows_write(&row, &outcome);
  if (status >= 0 && is_visited && pp_visits_end(row.natives, env_id, 1)) status = PP_ERR_ENV;
  if (status < 0) pp_claims_fail(stepper->claims, slot, env_id);
  finish(stepper, slot, 1);
}

/* Joins the first entry with those that continue it, up to PP_MAX_CHUNK environments. Returns the
 * number of entries, and writes the number of environments to length. */
static int32_t join(const pp_stepper *stepper, const pp_entry *entries, int32_t count,
                    int32_t *length) {
  int32_t joined = 1, total = PP_ENTRY_LENGTH(entries[0]);
  while (joined < count) {
    pp_entry next = entries[joined];
    if (PP_ENTRY_ENV(next) != PP_ENTRY_ENV(entries[0]) + total ||
        (stepper->ring->is_ordered && PP_ENTRY_PLACE(next) != PP_ENTRY_PLACE(entries[0]) + total) ||
        total + PP_ENTRY_LENGTH(next) > PP_MAX_CHUNK) {
      break;
    }
    total += PP_ENTRY_LENGTH(next);
    joined++;
  }
  *length = total;
  return joined;
}

/* records what a thread begins to step */
static void note(pp_step_thread *self, int32_t env_id, int32_t count) {
  atomic_store_explicit(&self->stepping, PP_ENTRY(1, env_id, count), memory_order_relaxed);
}

static bool is_late(int64_t deadline) {
  return pp_os_now_roughly() > deadline;
}

/* does the work of pp_stepper_run, and leaves in self->stepping what it stepped last */
static int32_t step_entries(const pp_stepper *stepper, pp_step_thread *self, int32_t count,
                            int64_t deadline) {
  const pp_entry *entries = self->entries;
  int32_t at = 0, stepped = 0;
  self->is_cut = true;
  while (at < count) {
    int32_t env_id = PP_ENTRY_ENV(entries[at]), place = PP_ENTRY_PLACE(entries[at]), length;
    at += join(stepper, entries + at, count - at, &length);
    if (stepper->natives->has_step_many && length > 1 && is_run(stepper->natives, env_id, length)) {
      note(self, env_id, length);
      step_run(stepper, env_id, place, length, self);
      stepped += length;
      if (at < count && is_late(deadline)) return stepped;
      continue;
    }
    for (int32_t i = 0; i < length; i++) {
      note(self, env_id + i, 1);
      step_one(stepper, env_id + i, place + i);
      // after the first step and then every fourth: reading the clock costs a good part of a cheap
      // step
      if ((stepped++ & 3) == 0 && is_late(deadline)) return stepped;
    }
  }
  self->is_cut = false;
  return stepped;
}

int32_t pp_stepper_run(const pp_stepper *stepper, pp_step_thread *self, int32_t count,
                       int64_t deadline) {
  int32_t stepped = step_entries(stepper, self, count, deadline);
  atomic_store_explicit(&self->stepping, 0, memory_order_relaxed);
  return stepped;
}
