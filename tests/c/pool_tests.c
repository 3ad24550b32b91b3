/* What tests of whole pools share: the caller's side of a pool, made-up machines, sums of rows. */
#define _GNU_SOURCE
#define CHECK_NO_MAIN
#include "pool_tests.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const pp_env_def *find_env(const char *id) {
  int32_t count;
  const pp_env_def *const *table = pp_env_table(&count);
  for (int32_t i = 0; i < count; i++) {
    if (strcmp(table[i]->id, id) == 0) return table[i];
  }
  return NULL;
}

client make_client(const char *id, int32_t num_envs) {
  client c = {.def = find_env(id)};
  c.options = (pp_pool_options){.num_envs = num_envs,
                                .batch_size = num_envs,
                                .num_threads = 1,
                                .thread_affinity_offset = -1,
                                .max_episode_steps = -1,
                                .reward_dtype = PP_FLOAT64};
  return c;
}

static pp_value *option(client *c, const char *name) {
  for (int32_t i = 0; i < c->def->num_options; i++) {
    if (strcmp(c->def->options[i].name, name) == 0) return &c->values[i];
  }
  return NULL;
}

void set_number(client *c, const char *name, int64_t number) {
  pp_value *value = option(c, name);
  if (CHECK(value != NULL)) *value = (pp_value){.given = 1, .i = number, .f = (double)number};
}

void set_text(client *c, const char *name, const char *text) {
  pp_value *value = option(c, name);
  if (CHECK(value != NULL)) {
    *value = (pp_value){.given = 1, .s = text, .size = (int64_t)strlen(text)};
  }
}

int client_seed(client *c, uint32_t first) {
  uint32_t *words = calloc((size_t)c->options.num_envs, sizeof(*words));
  int32_t *sizes = calloc((size_t)c->options.num_envs, sizeof(*sizes));
  for (int32_t i = 0; i < c->options.num_envs; i++) {
    words[i] = first + (uint32_t)i;
    sizes[i] = 1;
  }
  int status = pp_pool_seed(c->pool, words, sizes, &c->error);
  free(words);
  free(sizes);
  return status;
}

int client_open(client *c) {
  if (!CHECK(c->def != NULL)) return 0;
  int status = pp_pool_create(c->def, c->values, &c->options, &c->pool, &c->error);
  if (!CHECK_EQ(status, PP_OK)) {
    printf("%s\n", c->error.text);
    return 0;
  }
  c->columns = pp_pool_columns(c->pool, &c->num_columns);
  c->size = pp_batch_size(c->pool);
  c->capacity = pp_pool_batches(c->pool);
  if (!CHECK(c->capacity <= MAX_BATCHES)) return 0;
  for (int32_t i = 0; i < c->capacity; i++) {
    c->given[i] = pp_batch_alloc(c->pool);
    CHECK_EQ(pp_pool_offer(c->pool, c->given[i], &c->error), PP_OK);
  }
  c->fresh = pp_batch_alloc(c->pool);
  return CHECK_EQ(client_seed(c, 7), PP_OK);
}

void client_close(client *c) {
  pp_pool_destroy(c->pool);
  for (int32_t i = 0; i < c->capacity; i++) pp_batch_free(c->given[i], c->size);
  pp_batch_free(c->fresh, c->size);
  pp_batch_free(c->batch, c->size);
  *c = (client){0};
}

int32_t client_took(client *c, int32_t rows) {
  void *taken = c->given[c->oldest];
  if (rows <= 0 && rows != PP_ERR_ENV) return rows;
  c->given[c->oldest] = c->fresh;
  c->oldest = (c->oldest + 1) % c->capacity;
  // the batch before this one has been read by now
  c->fresh = c->batch ? c->batch : pp_batch_alloc(c->pool);
  c->batch = taken;
  return rows;
}

int32_t client_try(client *c, int64_t timeout) {
  return client_took(c, c->min_rows
                            ? pp_pool_recv_some(c->pool, c->fresh, c->min_rows, timeout, &c->error)
                            : pp_pool_recv(c->pool, c->fresh, timeout, &c->error));
}

int32_t client_recv(client *c) {
  int32_t rows;
  do rows = client_try(c, -1);
  while (rows == 0);
  return rows;
}

int32_t client_step(client *c, const int32_t *ids, int32_t count, const int64_t *actions) {
  int32_t rows =
      client_took(c, pp_pool_step(c->pool, ids, count, actions, PP_INT64, c->fresh, &c->error));
  return rows ? rows : client_recv(c);
}

int32_t client_reset(client *c) {
  int status = pp_pool_send_reset(c->pool, NULL, c->options.num_envs, NULL, NULL, NULL, &c->error);
  return status < 0 ? status : client_recv(c);
}

void *column(const client *c, const char *name) {
  for (int32_t i = 0; i < c->num_columns; i++) {
    if (strcmp(c->columns[i].name, name) == 0 && !c->columns[i].is_final) {
      return (char *)c->batch + c->columns[i].offset;
    }
  }
  CHECK(!"there is such a column");
  return NULL;
}

void check_cleared(const client *c, int32_t rows) {
  const int32_t *env_ids = column(c, "env_id");
  for (int32_t row = rows; row < c->options.batch_size; row++) CHECK_EQ(env_ids[row], -1);
  for (int32_t i = 0; i < c->num_columns; i++) {
    const pp_column *col = &c->columns[i];
    const uint8_t *first = (uint8_t *)c->batch + col->offset;
    int64_t bytes = 0;
    if (first == (const uint8_t *)env_ids) continue;
    for (int64_t b = col->row_bytes * rows; b < col->row_bytes * c->options.batch_size; b++) {
      bytes += first[b] != 0;
    }
    CHECK_EQ(bytes, 0);
  }
}

int64_t some_action(int32_t env_id, int64_t step, int64_t n) {
  uint64_t x = (uint64_t)env_id * 0x9e3779b97f4a7c15u + (uint64_t)step;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return (int64_t)((x ^ x >> 31) % (uint64_t)n);
}

uint64_t sum_row(const client *c, uint64_t sum, int32_t row) {
  const uint8_t *terminated = column(c, "terminated"), *truncated = column(c, "truncated");
  for (int32_t i = 0; i < c->num_columns; i++) {
    const pp_column *col = &c->columns[i];
    const uint8_t *bytes = (uint8_t *)c->batch + col->offset + col->row_bytes * row;
    if (col->is_final && !terminated[row] && !truncated[row]) continue;
    for (int64_t b = 0; b < col->row_bytes; b++) sum = (sum ^ bytes[b]) * 0x100000001b3u;
  }
  return sum;
}

const char *make_machine(int32_t nodes) {
  static char root[64], path[160];
  FILE *file;
  snprintf(root, sizeof(root), "/tmp/pp-machine-XXXXXX");
  if (!mkdtemp(root)) return NULL;
  const char *folders[] = {"proc",        "proc/self",          "sys",
                           "sys/devices", "sys/devices/system", "sys/devices/system/node"};
  for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
    snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
    mkdir(path, 0700);
  }
  snprintf(path, sizeof(path), "%s/proc/self/status", root);
  if (!(file = fopen(path, "w"))) return NULL;
  fprintf(file, "Cpus_allowed_list:\t0-%d\n", 2 * nodes - 1);
  fclose(file);
  snprintf(path, sizeof(path), "%s/sys/devices/system/node/online", root);
  if (!(file = fopen(path, "w"))) return NULL;
  fprintf(file, "0-%d\n", nodes - 1);
  fclose(file);
  for (int32_t i = 0; i < nodes; i++) {
    snprintf(path, sizeof(path), "%s/sys/devices/system/node/node%d", root, i);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/sys/devices/system/node/node%d/cpulist", root, i);
    if (!(file = fopen(path, "w"))) return NULL;
    fprintf(file, "%d-%d\n", 2 * i, 2 * i + 1);
    fclose(file);
  }
  return root;
}

void end_machine(const char *root, int32_t nodes) {
  char path[160];
  for (int32_t i = 0; i < nodes; i++) {
    snprintf(path, sizeof(path), "%s/sys/devices/system/node/node%d/cpulist", root, i);
    unlink(path);
    snprintf(path, sizeof(path), "%s/sys/devices/system/node/node%d", root, i);
    rmdir(path);
  }
  const char *rest[] = {"sys/devices/system/node/online",
                        "sys/devices/system/node",
                        "sys/devices/system",
                        "sys/devices",
                        "sys",
                        "proc/self/status",
                        "proc/self",
                        "proc",
                        ""};
  for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++) {
    snprintf(path, sizeof(path), "%s/%s", root, rest[i]);
    remove(path);
  }
}
