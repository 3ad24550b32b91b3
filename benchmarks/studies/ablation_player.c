/* Plays one scene of ablation.py through a pool, without Python: for each line of stdin the number
 * of batches in it. Prints one line of JSON when the pool is ready, and one after each play.
 *
 * usage: ablation_player ID NUM_ENVS BATCH_SIZE NUM_THREADS NUM_ACTIONS [OPTION=FILE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pp_pool.h"

enum { ACTION_SETS = 64, MAX_BLOCKS = 64, MAX_ROM = 1 << 20 };

typedef struct player {
  pp_pool *pool;
  pp_pool_options options;
  pp_error error;
  int64_t *actions; /* ACTION_SETS sets of num_envs actions */
  int32_t *env_ids; /* of the last batch */
  int64_t env_id_offset;
  void *blocks[MAX_BLOCKS];
  int32_t num_blocks;
  int32_t capacity;
  int64_t received; /* batches */
} player;

static const pp_env_def *find(const char *id) {
  int32_t count;
  const pp_env_def *const *table = pp_env_table(&count);
  for (int32_t i = 0; i < count; i++) {
    if (!strcmp(table[i]->id, id)) return table[i];
  }
  return NULL;
}

/* reads the file of OPTION=FILE as the value of that option; returns whether it could */
static int read_option(const pp_env_def *def, const char *text, pp_value *values) {
  static char bytes[MAX_ROM];
  const char *path = strchr(text, '=');
  FILE *file = path ? fopen(path + 1, "rb") : NULL;
  size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
  if (file) fclose(file);
  for (int32_t i = 0; size && i < def->num_options; i++) {
    if (strncmp(def->options[i].name, text, (size_t)(path - text))) continue;
    values[i] = (pp_value){.given = true, .s = bytes, .size = (int64_t)size};
    return 1;
  }
  return 0;
}

static void draw_actions(player *it, int64_t n) {
  size_t count = (size_t)it->options.num_envs * ACTION_SETS;
  // a linear congruential generator with the constants of Knuth's MMIX
  uint64_t random = 1;
  it->actions = calloc(count, sizeof(*it->actions));
  for (size_t i = 0; i < count; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    it->actions[i] = (int64_t)((random >> 33) % (uint64_t)n);
  }
}

/* The ring returns blocks in the order in which they were given, and gets them in turn. */
static void *fresh(const player *it) {
  return it->blocks[(it->received + it->capacity) % it->num_blocks];
}

static const int32_t *taken_ids(player *it) {
  const char *block = it->blocks[(it->received - 1) % it->num_blocks];
  size_t size = sizeof(int32_t) * (size_t)it->options.batch_size;
  return memcpy(it->env_ids, block + it->env_id_offset, size);
}

/* completes a receive, of which the first slice gave this many rows */
static int finish(player *it, int32_t rows) {
  while (rows == 0) rows = pp_pool_recv(it->pool, fresh(it), -1, &it->error);
  it->received += rows > 0;
  return rows < 0 ? rows : PP_OK;
}

static int play_one(player *it) {
  int32_t n = it->options.num_envs, size = it->options.batch_size;
  const int64_t *actions = it->actions + it->received % ACTION_SETS * n;
  int status;
  if (size == n) {
    return finish(it, pp_pool_step(it->pool, NULL, n, actions, PP_INT64, fresh(it), &it->error));
  }
  status = pp_pool_send(it->pool, taken_ids(it), size, actions, PP_INT64, &it->error);
  return status < 0 ? status : finish(it, 0);
}

static int start(player *it, const pp_env_def *def, const pp_value *values) {
  int32_t num_columns, status = pp_pool_create(def, values, &it->options, &it->pool, &it->error);
  const pp_column *columns;
  if (status < 0) return status;
  it->env_ids = calloc((size_t)it->options.num_envs, sizeof(*it->env_ids));
  columns = pp_pool_columns(it->pool, &num_columns);
  for (int32_t i = 0; i < num_columns; i++) {
    if (!strcmp(columns[i].name, "env_id")) it->env_id_offset = columns[i].offset;
  }
  // as many blocks as Python has: those in the ring, and two that the user holds
  it->capacity = pp_pool_batches(it->pool);
  it->num_blocks = it->capacity + 2;
  if (it->num_blocks > MAX_BLOCKS) return PP_ERR_ARGUMENT;
  for (int32_t i = 0; i < it->num_blocks; i++) it->blocks[i] = pp_batch_alloc(it->pool);
  for (int32_t i = 0; i < it->capacity; i++) pp_pool_offer(it->pool, it->blocks[i], &it->error);
  status = pp_pool_send_reset(it->pool, NULL, it->options.num_envs, NULL, NULL, NULL, &it->error);
  return status < 0 ? status : finish(it, 0);
}

int main(int argc, char **argv) {
  const pp_env_def *def = argc > 5 ? find(argv[1]) : NULL;
  player it = {
      .error = {.text = "usage: ablation_player ID NUM_ENVS BATCH_SIZE NUM_THREADS NUM_ACTIONS"}};
  pp_value *values = def ? calloc((size_t)def->num_options + 1, sizeof(*values)) : NULL;
  char line[64];
  int status = PP_ERR_ARGUMENT;

  if (values && (argc == 6 || read_option(def, argv[6], values))) {
    it.options = (pp_pool_options){.num_envs = atoi(argv[2]),
                                   .batch_size = atoi(argv[3]),
                                   .num_threads = atoi(argv[4]),
                                   .thread_affinity_offset = -1,
                                   .max_episode_steps = -1,
                                   .reward_dtype = PP_FLOAT32};
    draw_actions(&it, atoi(argv[5]));
    status = start(&it, def, values);
  }
  if (status >= 0) printf("{\"children\": []}\n");
  fflush(stdout);
  while (status >= 0 && fgets(line, sizeof(line), stdin)) {
    int64_t batches = atoll(line);
    for (int64_t i = 0; status >= 0 && i < batches; i++) status = play_one(&it);
    printf("{\"steps\": %lld}\n", (long long)(batches * it.options.batch_size));
    fflush(stdout);
  }
  if (status < 0) fprintf(stderr, "%s\n", it.error.text);
  pp_pool_destroy(it.pool);
  return status < 0;
}
