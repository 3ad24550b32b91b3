/* Visit: an environment takes on a state that the caller brings, does one step or reset, and gives
 * the new state back. */
#include "visit.h"

#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "os/os.h"
#include "pool/error.h"
#include "pool/pool.h"
#include "snapshot.h"

/* what an environment has done of a visit */
enum { ARRIVES, IS_THERE, IS_REFUSED };

enum { PREFIX = sizeof(int64_t) /* the length of the snapshot */ };

/* ---------------------------------------------------------------------------------- opening -- */

void pp_visits_free(pp_visits *visits) {
  if (!visits) return;
  free(visits->fresh);
  free(visits->stages);
  free(visits->sums);
  free(visits->scratch);
  free(visits->copies);
  free((void *)visits->touched);
  free(visits);
}

static pp_visits *make(const pp_natives *natives) {
  enum { LINE = 64 };
  size_t count = (size_t)natives->fleet->num_envs;
  pp_visits *visits = calloc(1, sizeof(*visits));
  if (!visits) return NULL;
  visits->identity = pp_snapshot_identity(natives, 0);
  visits->stride = (pp_snapshot_scratch(natives) + LINE - 1) / LINE * LINE;
  visits->stages = calloc(count, sizeof(*visits->stages));
  visits->sums = calloc(count, sizeof(*visits->sums));
  visits->scratch = aligned_alloc(LINE, visits->stride * count);
  visits->touched = calloc(count, sizeof(*visits->touched));
  if (visits->stages && visits->sums && visits->scratch && visits->touched) return visits;
  pp_visits_free(visits);
  return NULL;
}

/* Saves environment 0, which was just made: what outlives an episode must not reach the next one
 * when a program resets. Returns its room, or a negative status. */
static int64_t keep_fresh(pp_natives *natives, pp_error *error) {
  pp_visits *visits = natives->visits;
  int64_t room = pp_snapshot_room(natives, 0);
  if (room >= 0) {
    visits->fresh = malloc((size_t)room);
    if (!visits->fresh) return pp_error_set(error, PP_ERR_MEMORY, "no memory for visits");
    visits->fresh_size = pp_snapshot_save(natives, 0, visits->fresh, room);
    if (visits->fresh_size < 0) room = visits->fresh_size;
  }
  if (room >= 0) return room;
  return pp_natives_explain_failure(natives, 0, (int)room, "save", "saved", error);
}

/* Returns the least size of a state, whose snapshot has this size at most. */
static int64_t state_bytes(int64_t snapshot) {
  return PREFIX + (snapshot + PREFIX - 1) / PREFIX * PREFIX;
}

static int64_t open_visits_locked(pp_pool *pool, pp_error *error) {
  pp_natives *natives = pool->ops.natives(pool, error);
  int64_t room;
  if (!natives) return PP_ERR_STATE;
  if (pp_pool_count(pool) || pool->fleet.autoreset != PP_SAME_STEP || !pool->ring.is_ordered) {
    return pp_error_set(error, PP_ERR_STATE,
                        "visits need a synchronous pool with autoreset=\"same_step\", none of "
                        "whose environments is in flight");
  }
  for (int32_t i = 1; i < pool->fleet.num_envs; i++) {
    if (pp_snapshot_identity(natives, i) == pp_snapshot_identity(natives, 0)) continue;
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "environments that are visited must not differ: choose one value for all");
  }
  if (natives->visits || natives->fleet->phase[0] != PP_FRESH) {
    return pp_error_set(error, PP_ERR_STATE, "visits need a new pool, which nobody has used");
  }
  natives->visits = make(natives);
  if (!natives->visits) return pp_error_set(error, PP_ERR_MEMORY, "no memory for visits");
  room = keep_fresh(natives, error);
  return room < 0 ? room : state_bytes(room);
}

int64_t pp_pool_open_visits(pp_pool *pool, pp_error *error) {
  int64_t status = pp_pool_check(pool, error);
  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  status = open_visits_locked(pool, error);
  pthread_mutex_unlock(&pool->lock);
  return status;
}

/* whether threads work on copies of states */
static bool has_copies(const pp_natives *natives) {
  return natives->def->save || natives->def->load;
}

/* makes room for copies of states of this size */
static int make_copies(pp_natives *natives, int64_t size, pp_error *error) {
  pp_visits *visits = natives->visits;
  if (!has_copies(natives) || size <= visits->copy_size) return PP_OK;
  free(visits->copies);
  visits->copy_size = 0;
  visits->copies = calloc((size_t)natives->fleet->num_envs, (size_t)size);
  if (!visits->copies) return pp_error_set(error, PP_ERR_MEMORY, "no memory for visits");
  visits->copy_size = size;
  return PP_OK;
}

static int visit_locked(pp_pool *pool, const pp_visit *visit, pp_error *error) {
  pp_natives *natives = pool->ops.natives(pool, error);
  if (!natives) return PP_ERR_STATE;
  if (!natives->visits || pp_pool_count(pool)) {
    return pp_error_set(error, PP_ERR_STATE, "the pool takes no visit now: %s",
                        natives->visits ? "receive the one before first" : "open visits first");
  }
  if (!visit || !visit->to || visit->size < PREFIX || visit->size % PREFIX || visit->count < 1 ||
      visit->count > pool->fleet.num_envs || !visit->seeds || visit->num_words < 1 ||
      visit->num_words > PP_SEED_WORDS) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "this visit can't be made");
  }
  if (make_copies(natives, visit->size, error) < 0) return PP_ERR_MEMORY;
  natives->visits->visit = *visit;
  atomic_store_explicit(&natives->visits->is_left, false, memory_order_relaxed);
  memset(natives->visits->stages, ARRIVES, (size_t)visit->count);
  return PP_OK;
}

int pp_pool_visit(pp_pool *pool, const pp_visit *visit, pp_error *error) {
  int status = pp_pool_check(pool, error);
  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  status = visit_locked(pool, visit, error);
  pthread_mutex_unlock(&pool->lock);
  return status;
}

/* no lock: only the thread that made the visit may leave it */
void pp_pool_leave_visit(pp_pool *pool) {
  pp_natives *natives = pool->ops.natives(pool, NULL);
  pp_visits *visits = natives ? natives->visits : NULL;
  if (!visits) return;
  atomic_store_explicit(&visits->is_left, true, memory_order_seq_cst);
  for (int32_t i = 0; i < visits->visit.count; i++) {
    // seq_cst: see pp_visits; a thread holds it for the time of a copy
    while (atomic_load_explicit(&visits->touched[i], memory_order_seq_cst)) pp_os_yield();
  }
}

/* ----------------------------------------------------------------------- the thread's part -- */

/* Called before the memory of the visit is touched for environments from this one on; returns
 * whether it may be. release follows. */
static bool touch(pp_visits *visits, int32_t env_id) {
  atomic_store_explicit(&visits->touched[env_id], true, memory_order_seq_cst);
  return !atomic_load_explicit(&visits->is_left, memory_order_seq_cst);
}

static void release(pp_visits *visits, int32_t env_id) {
  atomic_store_explicit(&visits->touched[env_id], false, memory_order_release);
}

static int refuse_left(int32_t env_id, pp_error *error) {
  return pp_error_set(error, PP_ERR_ENV, "environment %d: the caller of its visit has left",
                      env_id);
}

static void fail(pp_natives *natives, int32_t env_id, const pp_error *error) {
  pp_error *own = &natives->fleet->errors[env_id];
  *own = *error;
  own->env_id = env_id;
  natives->fleet->phase[env_id] = PP_FRESH;
}

/* stores the seed that the next reset takes: without the zeros before it, the lowest word first */
static void store_seed(pp_natives *natives, int32_t env_id) {
  const pp_visit *visit = &natives->visits->visit;
  const uint32_t *words = visit->seeds + (size_t)env_id * (size_t)visit->num_words;
  int32_t first = 0, count;
  while (first < visit->num_words - 1 && !words[first]) first++;
  count = visit->num_words - first;
  for (int32_t i = 0; i < count; i++) {
    natives->seeds[env_id][i] = words[visit->num_words - 1 - i];
  }
  natives->seed_sizes[env_id] = (uint8_t)count;
}

static int restore(pp_natives *natives, int32_t env_id, const char *bytes, int64_t size,
                   pp_error *error) {
  const pp_visits *visits = natives->visits;
  return pp_snapshot_restore(natives, env_id, bytes, size,
                             visits->scratch + visits->stride * (size_t)env_id, error);
}

/* Returns whether an environment is still in the state of a snapshot. In a loop over the same rows
 * all are, and a snapshot that holds the actions of an episode would have to repeat them. */
static bool is_in_state(uint64_t sum, const char *bytes, int64_t size) {
  uint64_t first = 0;
  if (!sum || size < (int64_t)sizeof(first)) return false;
  memcpy(&first, bytes, sizeof(first));
  return first == sum && pp_snapshot_sum(bytes, size) == sum;
}

/* Restores what one environment brings: a state, null for that of a reset. */
static int arrive(pp_natives *natives, int32_t env_id, const char *bytes, pp_error *error) {
  const pp_visit *visit = &natives->visits->visit;
  const uint64_t sum = natives->visits->sums[env_id];
  int64_t size;
  natives->visits->sums[env_id] = 0;
  if (!bytes) {
    return restore(natives, env_id, natives->visits->fresh, natives->visits->fresh_size, error);
  }
  memcpy(&size, bytes, sizeof(size));
  if (size >= 0 && size <= visit->size - PREFIX) {
    if (is_in_state(sum, bytes + PREFIX, size)) return PP_OK;
    return restore(natives, env_id, bytes + PREFIX, size, error);
  }
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "environment %d: the state is damaged, its length is %lld: give what reset "
                      "or step returned",
                      env_id, (long long)size);
}

/* what the caller brings for an environment, null of a reset */
static const char *brought(const pp_visits *visits, int32_t env_id) {
  return visits->visit.from ? visits->visit.from + visits->visit.size * env_id : NULL;
}

static char *copy_of(const pp_visits *visits, int32_t env_id) {
  return visits->copies + visits->copy_size * env_id;
}

/* Restores one environment, whose memory is touched already. */
static int enter(pp_natives *natives, int32_t env_id, pp_error *error) {
  int status = arrive(natives, env_id, brought(natives->visits, env_id), error);
  if (status >= 0) store_seed(natives, env_id);
  return status;
}

/* The same by way of a copy, which is made first: no memory of the visit is touched while the
 * environment restores itself. */
static int enter_copy(pp_natives *natives, int32_t env_id, pp_error *error) {
  pp_visits *visits = natives->visits;
  const char *bytes = NULL;
  bool may_touch = touch(visits, env_id);
  int status;
  if (may_touch && visits->visit.from) {
    bytes = memcpy(copy_of(visits, env_id), brought(visits, env_id), (size_t)visits->visit.size);
  }
  release(visits, env_id);
  status = may_touch ? arrive(natives, env_id, bytes, error) : refuse_left(env_id, error);
  if (status < 0) return status;
  may_touch = touch(visits, env_id);
  if (may_touch) store_seed(natives, env_id);
  release(visits, env_id);
  return may_touch ? status : refuse_left(env_id, error);
}

/* does for one environment what pp_visits_begin does; may_touch: the memory of the visit, if it is
 * not copied */
static bool begin(pp_natives *natives, int32_t env_id, bool may_touch) {
  pp_visits *visits = natives->visits;
  uint8_t *stage = &visits->stages[env_id];
  pp_error error = {.text = ""};
  if (*stage != ARRIVES) return *stage == IS_THERE;
  if (visits->copies) {
    error.code = enter_copy(natives, env_id, &error);
  } else {
    error.code = may_touch ? enter(natives, env_id, &error) : refuse_left(env_id, &error);
  }
  *stage = error.code < 0 ? IS_REFUSED : IS_THERE;
  if (error.code < 0) {
    // it is in no state that a later visit could bring
    visits->sums[env_id] = 0;
    fail(natives, env_id, &error);
  }
  return error.code >= 0;
}

bool pp_visits_begin(pp_natives *natives, int32_t env_id, int32_t count) {
  pp_visits *visits = natives->visits;
  // of a chunk that was cut, some may have begun
  bool touches = !visits->copies && memchr(visits->stages + env_id, ARRIVES, (size_t)count);
  bool are_there = true, may_touch = touches && touch(visits, env_id);
  for (int32_t i = 0; i < count; i++) are_there &= begin(natives, env_id + i, may_touch);
  if (touches) release(visits, env_id);
  return are_there;
}

/* Saves one environment as a state; the seed that it did not take is no part of it. */
static int64_t save(pp_natives *natives, int32_t env_id, char *bytes, pp_error *error) {
  const pp_visit *visit = &natives->visits->visit;
  int64_t room, size;
  natives->seed_sizes[env_id] = 0;
  memset(natives->seeds[env_id], 0, sizeof(natives->seeds[env_id]));
  room = pp_snapshot_room(natives, env_id);
  if (room > visit->size - PREFIX) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "environment %d: its state takes %lld bytes, and there is room for %lld: "
                        "choose state_size=%lld",
                        env_id, (long long)room, (long long)(visit->size - PREFIX),
                        (long long)state_bytes(room + room / 2));
  }
  size = room < 0 ? room : pp_snapshot_save(natives, env_id, bytes + PREFIX, room);
  if (size < 0) {
    return pp_natives_explain_failure(natives, env_id, (int)size, "save", "saved", error);
  }
  // the checksum comes first
  memcpy(&natives->visits->sums[env_id], bytes + PREFIX, sizeof(uint64_t));
  memcpy(bytes, &size, sizeof(size));
  memset(bytes + PREFIX + size, 0, (size_t)(visit->size - PREFIX - size));
  return size;
}

static int64_t give_away(pp_natives *natives, int32_t env_id, bool may_touch, pp_error *error) {
  const pp_visits *visits = natives->visits;
  if (!may_touch) return refuse_left(env_id, error);
  return save(natives, env_id, visits->visit.to + visits->visit.size * env_id, error);
}

/* The same through a copy: the visit's memory stays untouched while the environment saves
 * itself. */
static int64_t give_copy_away(pp_natives *natives, int32_t env_id, pp_error *error) {
  pp_visits *visits = natives->visits;
  char *bytes = copy_of(visits, env_id);
  int64_t size = save(natives, env_id, bytes, error);
  bool may_touch;
  if (size < 0) return size;
  may_touch = touch(visits, env_id);
  if (may_touch) {
    memcpy(visits->visit.to + visits->visit.size * env_id, bytes, (size_t)visits->visit.size);
  }
  release(visits, env_id);
  return may_touch ? size : refuse_left(env_id, error);
}

int32_t pp_visits_end(pp_natives *natives, int32_t env_id, int32_t count) {
  pp_visits *visits = natives->visits;
  bool touches = !visits->copies, may_touch = touches && touch(visits, env_id);
  int32_t failed = 0;
  for (int32_t i = env_id; i < env_id + count; i++) {
    pp_error error = {.text = ""};
    int64_t size;
    if (natives->fleet->phase[i] == PP_FRESH) continue;
    size = touches ? give_away(natives, i, may_touch, &error) : give_copy_away(natives, i, &error);
    if (size >= 0) continue;
    if (!error.code) error.code = PP_ERR_ENV;
    visits->sums[i] = 0;
    fail(natives, i, &error);
    failed++;
  }
  if (touches) release(visits, env_id);
  return failed;
}
