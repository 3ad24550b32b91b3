/* Snapshot: saves one environment as bytes, and restores it from them. */
#include "snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "base/state_check.h"
#include "inspect.h"
#include "pool/error.h"
#include "pool/pool.h"
#include "visit.h"

enum {
  SNAPSHOT_MAGIC = 0x50504531,
  SNAPSHOT_VERSION = 3,
  /* plain states from this many bytes on are packed: they contain pictures, which shrink well */
  PACKED_FROM = 4096
};

/* pp_pack does not take more */
static const size_t PACKED_BELOW = (size_t)1 << 34;

/* The head of a snapshot. After it come the returns, the drawn values (pp_draws_save), the frames
 * (pp_pictures_save) and the environment's own bytes. The checksum covers all bytes after itself.
 * identity covers the definition's id and the options, so that a pool accepts only snapshots that
 * it could have made. */
typedef struct snapshot_head {
  uint64_t checksum;
  uint32_t magic;
  uint32_t version;
  uint64_t identity;
  pp_rng rng;
  uint32_t seed[PP_SEED_WORDS];
  int32_t seed_size;
  int32_t phase;
  int32_t elapsed;
  int32_t num_players;
} snapshot_head;

/* ------------------------------------------------------------------------------- checksum -- */

/* Multiplication by an odd factor and rotation are one to one, so a change of a single word always
 * changes the sum. The factor is 2^64 divided by the golden ratio. */
static uint64_t mix(uint64_t sum, uint64_t word) {
  sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
  return sum << 32 | sum >> 32;
}

static uint64_t word_at(const char *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof(word));
  return word;
}

/* A snapshot of an Atari game has tens of KB, its program included, and with a single sum each
 * multiplication would wait for the one before. So there are four sums. They are separate
 * variables, because compilers keep an array in memory. */
static uint64_t hash(uint64_t seed, const void *bytes, size_t size) {
  uint64_t a = seed, b = 1, c = 2, d = 3;
  const char *at = bytes;
  size_t left = size;
  for (; left >= 32; left -= 32, at += 32) {
    a = mix(a, word_at(at));
    b = mix(b, word_at(at + 8));
    c = mix(c, word_at(at + 16));
    d = mix(d, word_at(at + 24));
  }

  char tail[32] = {0};
  memcpy(tail, at, left);
  for (size_t i = 0; i < left; i += 8) a = mix(a, word_at(tail + i));
  return mix(mix(mix(mix(a, b), c), d), size);
}

static uint64_t checksum(const void *snapshot, int64_t size) {
  const size_t start = offsetof(snapshot_head, magic);
  return hash(0, (const char *)snapshot + start, (size_t)size - start);
}

void pp_snapshot_seal(void *snapshot, int64_t size) {
  uint64_t sum;
  if (!snapshot || size < (int64_t)sizeof(snapshot_head)) return;
  sum = checksum(snapshot, size);
  memcpy((char *)snapshot + offsetof(snapshot_head, checksum), &sum, sizeof(sum));
}

uint64_t pp_snapshot_sum(const char *bytes, int64_t size) {
  uint64_t sum;
  if (size < (int64_t)sizeof(snapshot_head)) return 0;
  memcpy(&sum, bytes + offsetof(snapshot_head, checksum), sizeof(sum));
  return sum == checksum(bytes, size) ? sum : 0;
}

/* adds how a value is drawn, instead of the value */
static uint64_t hash_draw(uint64_t sum, const pp_draw *draw) {
  const int64_t integers[] = {draw->option, draw->kind, draw->first, draw->last};
  const double numbers[] = {draw->low, draw->high};
  sum = hash(hash(sum, integers, sizeof(integers)), numbers, sizeof(numbers));
  for (int64_t i = 0; draw->kind == PP_DRAW_CHOICE && i < draw->num_choices; i++) {
    sum = hash(sum, &draw->choices[i].i, sizeof(draw->choices[i].i));
    sum = hash(sum, &draw->choices[i].f, sizeof(draw->choices[i].f));
  }
  return sum;
}

uint64_t pp_snapshot_identity(const pp_natives *natives, int32_t env_id) {
  const pp_env_def *def = natives->def;
  const pp_value *values = natives->envs[env_id].options;
  uint64_t sum = hash(0, def->id, strlen(def->id));
  sum = hash(sum, &natives->fleet->config.state_size, sizeof(natives->fleet->config.state_size));
  for (int32_t i = 0; i < def->num_options; i++) {
    const pp_value *value = &values[i];
    // options whose names begin with _ hold addresses of this process
    if (def->options[i].name[0] == '_' || pp_draws_has(&natives->draws, i)) continue;
    sum = hash(sum, &value->i, sizeof(value->i));
    sum = hash(sum, &value->f, sizeof(value->f));
    // not 0 only if results depend on it
    if (value->dtype) sum = hash(sum, &value->dtype, sizeof(value->dtype));
    if (value->s) sum = hash(sum, value->s, (size_t)value->size);
  }
  for (int32_t i = 0; i < natives->draws.count; i++) sum = hash_draw(sum, &natives->draws.list[i]);
  if (natives->pictures.num_frames) {
    sum = hash(sum, &natives->pictures.options, sizeof(natives->pictures.options));
  }
  return sum;
}

/* the same; of visited environments, which are all alike, it is known */
static uint64_t identity(const pp_natives *natives, int32_t env_id) {
  return natives->visits ? natives->visits->identity : pp_snapshot_identity(natives, env_id);
}

/* --------------------------------------------------------------------------------- saving -- */

static size_t returns_bytes(const pp_natives *natives) {
  return sizeof(double) * (size_t)natives->fleet->num_players;
}

/* the bytes between the head and the frames */
static size_t frames_at(const pp_natives *natives) {
  return returns_bytes(natives) + pp_draws_saved_size(&natives->draws);
}

/* the bytes between the head and the environment's own */
static size_t engine_bytes(const pp_natives *natives) {
  return frames_at(natives) + pp_pictures_saved_size(&natives->pictures);
}

/* visits need snapshots of one size */
static bool is_packed(const pp_natives *natives) {
  size_t size = natives->fleet->config.state_size;
  return !natives->visits && !natives->def->save && size >= PACKED_FROM && size < PACKED_BELOW;
}

/* returns the most bytes that an environment's own part can take, or a negative status */
static int64_t own_room(pp_natives *natives, int32_t env_id) {
  if (is_packed(natives)) return (int64_t)pp_pack_bound(natives->fleet->config.state_size);
  if (!natives->def->save) return (int64_t)natives->fleet->config.state_size;
  return natives->def->save(&natives->envs[env_id], NULL);
}

/* writes an environment's own part, at most room bytes; returns its size, or a negative status */
static int64_t save_own(pp_natives *natives, int32_t env_id, char *bytes, int64_t room) {
  pp_env *env = &natives->envs[env_id];
  if (is_packed(natives))
    return (int64_t)pp_pack(env->state, natives->fleet->config.state_size, bytes);
  if (natives->def->save) {
    int64_t status = natives->def->save(env, bytes);
    return status < 0 ? status : room;
  }
  memcpy(bytes, env->state, (size_t)room);
  return room;
}

/* writes a snapshot; room: the most bytes of the own part. The checksum is computed last */
static int64_t save(pp_natives *natives, int32_t env_id, char *bytes, int64_t room) {
  snapshot_head head = {.magic = SNAPSHOT_MAGIC,
                        .version = SNAPSHOT_VERSION,
                        .identity = identity(natives, env_id),
                        .rng = natives->rngs[env_id],
                        .seed_size = natives->seed_sizes[env_id],
                        .phase = natives->fleet->phase[env_id],
                        .elapsed = natives->elapsed[env_id],
                        .num_players = natives->fleet->num_players};
  memcpy(head.seed, natives->seeds[env_id], sizeof(head.seed));
  memcpy(bytes, &head, sizeof(head));
  char *at = bytes + sizeof(head);
  memcpy(at, natives->returns + (size_t)env_id * (size_t)natives->fleet->num_players,
         returns_bytes(natives));
  pp_draws_save(&natives->draws, env_id, natives->envs[env_id].max_episode_steps,
                at + returns_bytes(natives));
  pp_pictures_save(&natives->pictures, env_id, at + frames_at(natives));
  at += engine_bytes(natives);
  int64_t own = save_own(natives, env_id, at, room), size = at - bytes + own;
  if (own < 0) return own;
  head.checksum = checksum(bytes, size);
  memcpy(bytes, &head.checksum, sizeof(head.checksum));
  return size;
}

int64_t pp_snapshot_room(pp_natives *natives, int32_t env_id) {
  int64_t own = own_room(natives, env_id);
  return own < 0 ? own : (int64_t)(sizeof(snapshot_head) + engine_bytes(natives)) + own;
}

int64_t pp_snapshot_save(pp_natives *natives, int32_t env_id, char *bytes, int64_t room) {
  return save(natives, env_id, bytes,
              room - (int64_t)(sizeof(snapshot_head) + engine_bytes(natives)));
}

int64_t pp_pool_get_state(pp_pool *pool, int32_t env_id, void *bytes, int64_t size,
                          pp_error *error) {
  int64_t status = pp_pool_check(pool, error), room;
  pp_natives *natives = NULL;

  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  status = pp_natives_find_idle_locked(pool, env_id, &natives, error);
  if (status >= 0) {
    room = pp_snapshot_room(natives, env_id);
    if (room < 0) {
      status = pp_natives_explain_failure(natives, env_id, (int)room, "save", "saved", error);
    } else if (!bytes) {
      status = room;
    } else if (size != room) {
      status = pp_error_set(error, PP_ERR_ARGUMENT,
                            "room for %lld bytes, but the state needs %lld: give that many",
                            (long long)size, (long long)room);
    } else {
      status = pp_snapshot_save(natives, env_id, bytes, room);
    }
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

/* -------------------------------------------------------------------------------- checking -- */

/* What check_state sees of a snapshot before anything is changed: memory of the natives, so that
 * calls need no pages from the system. All is null if the definition has no such callback. */
typedef struct candidate {
  char *state;       /* aligned as states are; null if load reads the snapshot's bytes itself */
  pp_value *options; /* null: no option is drawn */
  const char *own;   /* the own part of the snapshot whose state this is; null: of none */
  int64_t own_size;
} candidate;

enum { LINE = 64 };

/* the bytes of a candidate's state, before its options */
static size_t candidate_state_bytes(const pp_natives *natives) {
  size_t size = natives->def->load ? 0 : natives->fleet->config.state_size;
  return (size + LINE - 1) / LINE * LINE;
}

size_t pp_snapshot_scratch(const pp_natives *natives) {
  size_t options =
      natives->draws.count ? sizeof(pp_value) * (size_t)natives->def->num_options : (size_t)0;
  return (candidate_state_bytes(natives) + options + LINE) / LINE * LINE;
}

static candidate candidate_in(const pp_natives *natives, char *memory) {
  candidate room = {0};
  if (!natives->def->check_state) return room;
  if (!natives->def->load) room.state = memory;
  if (natives->draws.count) {
    room.options = (pp_value *)(void *)(memory + candidate_state_bytes(natives));
  }
  return room;
}

/* Returns PP_OK or PP_ERR_MEMORY. */
static int candidate_init_locked(candidate *room, pp_natives *natives, pp_error *error) {
  size_t size = pp_snapshot_scratch(natives);
  if (natives->def->check_state && !natives->candidate) {
    natives->candidate = aligned_alloc(LINE, size);
    if (!natives->candidate) {
      return pp_error_set(error, PP_ERR_MEMORY, "no memory for a state of %zu bytes", size);
    }
  }
  *room = candidate_in(natives, natives->candidate);
  return PP_OK;
}

static snapshot_head head_of(const char *bytes) {
  snapshot_head head;
  memcpy(&head, bytes, sizeof(head));
  return head;
}

static bool candidate_is_of(const candidate *room, const char *own, int64_t size) {
  return room->own && room->own == own && room->own_size == size;
}

/* Returns whether the size of an environment's own part is what its state needs; then a plain state
 * is in room->state, if there is room. */
static bool fits_state(const pp_natives *natives, const char *own, int64_t size, candidate *room) {
  size_t needed = natives->fleet->config.state_size;
  if (natives->def->load) return true;
  // one snapshot for several environments is unpacked once
  if (candidate_is_of(room, own, size)) return true;
  room->own = NULL;
  if (is_packed(natives)) {
    if (!pp_unpack(own, (size_t)size, room->state, needed)) return false;
    room->own = room->state ? own : NULL;
    room->own_size = size;
    return true;
  }
  if (size != (int64_t)needed) return false;
  if (room->state) memcpy(room->state, own, needed);
  return true;
}

/* Returns whether the engine can have made these numbers: with others, indices would be out of
 * range, and a generator that was never seeded repeats itself, for ever in loops that wait for
 * another number. The returns need no check: nothing but sums depends on them. */
static bool is_possible(const pp_natives *natives, const snapshot_head *head, const char *draws) {
  bool is_seeded;
  if (head->seed_size < 0 || head->seed_size > PP_SEED_WORDS) return false;
  if (head->phase < PP_RUNNING || head->phase > PP_FRESH || head->elapsed < 0) return false;
  // the first reset takes the pending seed
  is_seeded = head->phase != PP_FRESH || head->seed_size == 0;
  return pp_state_check_rng(&head->rng, is_seeded) &&
         pp_draws_check(&natives->draws, draws, is_seeded, head->elapsed);
}

static int refuse_damaged(int32_t env_id, pp_error *error) {
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "environment %d: the snapshot is damaged: give what get_state returned",
                      env_id);
}

/* asks the environment about its own part, as load would give it */
static int check_own(const pp_natives *natives, int32_t env_id, const char *bytes, int64_t size,
                     candidate *room, pp_error *error) {
  const pp_env_def *def = natives->def;
  const char *draws = bytes + sizeof(snapshot_head) + returns_bytes(natives);
  const char *own = bytes + sizeof(snapshot_head) + engine_bytes(natives);
  snapshot_head head = head_of(bytes);
  const pp_saved saved = {
      .state = room->state ? room->state : own,
      .size = room->state ? (int64_t)natives->fleet->config.state_size : size - (own - bytes),
      .phase = head.phase};
  pp_error reason = {0};
  pp_env env = natives->envs[env_id];
  int status;

  env.rng = &head.rng;
  env.elapsed = &head.elapsed;
  env.error = &reason;
  // it belongs to the present state
  env.cache = NULL;
  if (room->options) {
    memcpy(room->options, env.options, sizeof(*env.options) * (size_t)def->num_options);
    pp_draws_read(&natives->draws, draws, room->options, &env.max_episode_steps);
    env.options = room->options;
  }
  status = def->check_state(&env, &saved);
  if (status >= 0) return PP_OK;
  return pp_error_set(error, status == PP_ERR_MEMORY ? PP_ERR_MEMORY : PP_ERR_ARGUMENT,
                      "environment %d: the snapshot is damaged, it holds no state of %.60s (%s): "
                      "give what get_state returned",
                      env_id, def->id, reason.text[0] ? reason.text : "no reason given");
}

static int check_snapshot(const pp_natives *natives, int32_t env_id, const void *bytes,
                          int64_t size, candidate *room, pp_error *error) {
  snapshot_head head = {0};
  int64_t own = size - (int64_t)(sizeof(head) + engine_bytes(natives));
  if (bytes && size >= (int64_t)sizeof(head)) head = head_of(bytes);
  if (head.magic != SNAPSHOT_MAGIC || head.version != SNAPSHOT_VERSION) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "environment %d: these bytes are no snapshot of this version, or the "
                        "snapshot is damaged: give what get_state returned",
                        env_id);
  }
  if (head.checksum != checksum(bytes, size)) return refuse_damaged(env_id, error);
  if (head.identity != identity(natives, env_id) ||
      head.num_players != natives->fleet->num_players || own < 0 ||
      !fits_state(natives, (const char *)bytes + (size - own), own, room)) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "environment %d: the snapshot is of another environment or of other "
                        "options than this pool's %s",
                        env_id, natives->def->id);
  }
  // the checksum has no key, so anybody can make it fit numbers of their own
  if (!is_possible(natives, &head, (const char *)bytes + sizeof(head) + returns_bytes(natives))) {
    return refuse_damaged(env_id, error);
  }
  return natives->def->check_state ? check_own(natives, env_id, bytes, size, room, error) : PP_OK;
}

/* ------------------------------------------------------------------------------- restoring -- */

/* restores from a checked snapshot; only the load callback can fail */
static int load(pp_natives *natives, int32_t env_id, const char *bytes, int64_t size,
                const candidate *room) {
  pp_env *env = &natives->envs[env_id];
  const char *returns = bytes + sizeof(snapshot_head), *own = returns + engine_bytes(natives);
  int64_t own_size = size - (own - bytes);
  const snapshot_head head = head_of(bytes);

  // what the cache holds belongs to the old state
  memset(env->cache, 0, natives->fleet->config.cache_size);
  // before the callback, which may read the options
  pp_draws_load(&natives->draws, env_id, &env->max_episode_steps, returns + returns_bytes(natives));
  if (natives->def->load) {
    int status = natives->def->load(env, own, own_size);
    if (status < 0) return status;
  } else if (candidate_is_of(room, own, own_size)) {
    memcpy(env->state, room->state, natives->fleet->config.state_size);
  } else if (is_packed(natives)) {
    (void)pp_unpack(own, (size_t)own_size, env->state, natives->fleet->config.state_size);
  } else {
    memcpy(env->state, own, (size_t)own_size);
  }
  pp_pictures_load(&natives->pictures, env_id, returns + frames_at(natives));
  memcpy(natives->returns + (size_t)env_id * (size_t)natives->fleet->num_players, returns,
         returns_bytes(natives));
  memcpy(natives->seeds[env_id], head.seed, sizeof(head.seed));
  natives->rngs[env_id] = head.rng;
  natives->seed_sizes[env_id] = (uint8_t)head.seed_size;
  natives->fleet->phase[env_id] = (uint8_t)head.phase;
  natives->elapsed[env_id] = head.elapsed;
  return PP_OK;
}

int pp_snapshot_restore(pp_natives *natives, int32_t env_id, const char *bytes, int64_t size,
                        char *scratch, pp_error *error) {
  candidate room = candidate_in(natives, scratch);
  int status = check_snapshot(natives, env_id, bytes, size, &room, error);
  if (status < 0) return status;
  status = load(natives, env_id, bytes, size, &room);
  if (status < 0) {
    return pp_natives_explain_failure(natives, env_id, status, "load", "restored", error);
  }
  return PP_OK;
}

/* Returns a snapshot of an environment, which the caller frees; null: it has none now. */
static char *save_before(pp_natives *natives, int32_t env_id, int64_t *size) {
  *size = pp_snapshot_room(natives, env_id);
  if (*size < 0) return NULL;
  char *before = malloc((size_t)*size);
  if (before && pp_snapshot_save(natives, env_id, before, *size) < 0) {
    free(before);
    return NULL;
  }
  return before;
}

/* load, after whose failure the environment is as it was before. */
static int load_or_go_back(pp_natives *natives, int32_t env_id, const char *bytes, int64_t size,
                           const candidate *room) {
  int64_t size_before = 0;
  char *before = natives->def->load ? save_before(natives, env_id, &size_before) : NULL;
  int status = load(natives, env_id, bytes, size, room);
  // the state may be half restored
  if (status < 0 && (!before || load(natives, env_id, before, size_before, room) < 0)) {
    natives->fleet->phase[env_id] = PP_FRESH;
  }
  free(before);
  return status;
}

static int load_all(pp_natives *natives, const int32_t *env_ids, int32_t count,
                    const void *const *snapshots, const int64_t *sizes, const candidate *room,
                    pp_error *error) {
  for (int32_t i = 0; i < count; i++) {
    int status = load_or_go_back(natives, env_ids[i], snapshots[i], sizes[i], room);
    if (status < 0) {
      return pp_natives_explain_failure(natives, env_ids[i], status, "load", "restored", error);
    }
  }
  return PP_OK;
}

int pp_pool_set_state(pp_pool *pool, const int32_t *env_ids, int32_t count,
                      const void *const *snapshots, const int64_t *sizes, pp_error *error) {
  int status = pp_pool_check(pool, error);
  pp_natives *natives = NULL;
  candidate room = {0};

  if (status >= 0 && (count < 0 || (count && (!env_ids || !snapshots || !sizes)))) {
    status = pp_error_set(error, PP_ERR_ARGUMENT,
                          "%d snapshots: give as many env_ids, snapshots and sizes", count);
  }
  if (status < 0) return status;
  // held throughout, so that no thread sends one of them between the checks and the loads
  pthread_mutex_lock(&pool->lock);
  for (int32_t i = 0; i < count && status >= 0; i++) {
    status = pp_natives_find_idle_locked(pool, env_ids[i], &natives, error);
    if (status >= 0 && i == 0) status = candidate_init_locked(&room, natives, error);
    if (status >= 0)
      status = check_snapshot(natives, env_ids[i], snapshots[i], sizes[i], &room, error);
  }
  if (status >= 0) status = load_all(natives, env_ids, count, snapshots, sizes, &room, error);
  pthread_mutex_unlock(&pool->lock);
  return status;
}
