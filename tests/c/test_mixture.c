/* Mixtures: rows equal those of pools of one task, and wrong tasks, options and actions are
 * refused. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "check.h"
#include "pool_tests.h"

enum { TASKS = 2, EACH = 3, ENVS = TASKS * EACH, STEPS = 300, OPTIONS = 32 };

static const char *const ids[TASKS] = {"CartPole-v1", "Acrobot-v1"};

/* a pool of a mixture, and the options of its environments */
typedef struct mixed {
  client client;
  pp_value values[TASKS * OPTIONS];
  int32_t set_of[ENVS];
  pp_variation variation;
} mixed;

static void fill_defaults(const pp_env_def *def, pp_value *values) {
  for (int32_t i = 0; i < def->num_options; i++) {
    const pp_option *option = &def->options[i];
    values[i] = (pp_value){.i = (int64_t)option->number, .f = option->number};
  }
}

/* returns the mixture of the tasks, which is made once, and the number of its spaces */
static const pp_env_def *find_mixture(int64_t *spaces) {
  static const pp_env_def *made;
  static pp_value own[TASKS][OPTIONS];
  const pp_value *options[TASKS];
  pp_task tasks[TASKS];
  pp_error error = {0};
  for (int32_t i = 0; i < TASKS; i++) {
    tasks[i] = (pp_task){ids[i], find_env(ids[i])};
    fill_defaults(tasks[i].definition, own[i]);
    options[i] = own[i];
  }
  if (!made) CHECK_EQ(pp_mixture_create("Mixture-v0", tasks, TASKS, &made, &error), PP_OK);
  if (made) CHECK_EQ(pp_mixture_unite(made, options, spaces, &error), PP_OK);
  return made;
}

/* fills in a pool with EACH environments of each task, to be changed before client_open */
static void make_mixed(mixed *m) {
  int64_t spaces = -1;
  const pp_env_def *def = find_mixture(&spaces);
  memset(m, 0, sizeof(*m));
  m->client = make_client("CartPole-v1", ENVS);
  m->client.def = def;
  for (int32_t i = 0; def && i < TASKS; i++) {
    pp_value *values = m->values + i * def->num_options;
    fill_defaults(def, values);
    values[0] = (pp_value){.given = 1, .s = ids[i], .size = (int64_t)strlen(ids[i])};
    values[1] = (pp_value){.given = 1, .i = spaces};
  }
  for (int32_t i = 0; i < ENVS; i++) m->set_of[i] = i / EACH;
  m->variation = (pp_variation){.num_sets = TASKS, .values = m->values, .set_of = m->set_of};
  m->client.options.variation = &m->variation;
  m->client.options.max_episode_steps = 200;
}

static const char *row_of(const client *c, const char *name, int32_t row, int64_t *bytes) {
  for (int32_t i = 0; i < c->num_columns; i++) {
    const pp_column *column = &c->columns[i];
    if (strcmp(column->name, name) != 0 || column->is_final) continue;
    *bytes = column->row_bytes;
    return (const char *)c->batch + column->offset + column->row_bytes * row;
  }
  return NULL;
}

/* returns whether a row is that of a task's own pool, which may be shorter, and zeros */
static bool is_same(const client *m, const client *own, const char *name, int32_t task,
                    int32_t row) {
  int64_t wide = 0, narrow = 0;
  const char *ours = row_of(m, name, task * EACH + row, &wide);
  const char *theirs = row_of(own, name, row, &narrow);
  bool same = ours && theirs && wide >= narrow && memcmp(ours, theirs, (size_t)narrow) == 0;
  for (int64_t i = narrow; same && i < wide; i++) same = ours[i] == 0;
  return same;
}

static int64_t action_of(int32_t step, int32_t env_id) {
  return (step * 7 + env_id * 3) / 5 % (env_id < EACH ? 2 : 3);
}

static void compare(int32_t threads) {
  static mixed m;
  client alone[TASKS];
  int64_t actions[ENVS];
  bool same = true;
  make_mixed(&m);
  m.client.options.num_threads = threads;
  REQUIRE(client_open(&m.client));
  CHECK_EQ(client_reset(&m.client), ENVS);
  for (int32_t i = 0; i < TASKS; i++) {
    alone[i] = make_client(ids[i], EACH);
    alone[i].options.max_episode_steps = 200;
    REQUIRE(client_open(&alone[i]));
    CHECK_EQ(client_seed(&alone[i], 7 + (uint32_t)(i * EACH)), PP_OK);
    CHECK_EQ(client_reset(&alone[i]), EACH);
  }
  for (int32_t step = 0; step < STEPS; step++) {
    for (int32_t i = 0; i < ENVS; i++) actions[i] = action_of(step, i);
    CHECK_EQ(client_step(&m.client, NULL, ENVS, actions), ENVS);
    for (int32_t i = 0; i < TASKS; i++) {
      CHECK_EQ(client_step(&alone[i], NULL, EACH, actions + i * EACH), EACH);
      for (int32_t row = 0; row < EACH; row++) {
        same &= is_same(&m.client, &alone[i], "obs", i, row) &&
                is_same(&m.client, &alone[i], "reward", i, row) &&
                is_same(&m.client, &alone[i], "terminated", i, row) &&
                is_same(&m.client, &alone[i], "truncated", i, row);
      }
    }
  }
  CHECK(same);
  for (int32_t i = 0; i < TASKS; i++) client_close(&alone[i]);
  client_close(&m.client);
}

TEST(rows_are_those_of_pools_of_one_task) {
  compare(1);
  compare(3);
}

TEST(an_action_of_another_task_is_refused) {
  static mixed m;
  int64_t actions[ENVS] = {0, 2, 0, 2, 2, 2};
  make_mixed(&m);
  REQUIRE(client_open(&m.client));
  CHECK_EQ(client_reset(&m.client), ENVS);
  CHECK_EQ(client_step(&m.client, NULL, ENVS, actions), PP_ERR_ARGUMENT);
  CHECK_TEXT(m.client.error.text,
             "action 2 of environment 1 (CartPole-v1) is outside its space: choose 0 to 1");
  actions[1] = 1;
  CHECK_EQ(client_step(&m.client, NULL, ENVS, actions), ENVS);
  client_close(&m.client);
}

TEST(the_same_spaces_have_the_same_number) {
  int64_t first = -1, second = -2;
  find_mixture(&first);
  find_mixture(&second);
  CHECK(first >= 0 && first == second);
}

TEST(wrong_tasks_and_spaces_are_refused) {
  static mixed m;
  make_mixed(&m);
  REQUIRE(m.client.def != NULL);
  pp_value *task = &m.values[m.client.def->num_options], kept = *task;
  *task = (pp_value){.given = 1, .s = "x", .size = 1};
  CHECK_EQ(pp_pool_create(m.client.def, NULL, &m.client.options, &m.client.pool, &m.client.error),
           PP_ERR_ARGUMENT);
  CHECK_TEXT(m.client.error.text, "environment 3: Mixture-v0: task='x': it has no such task");
  *task = kept;
  for (int64_t spaces = -1; spaces <= 1000; spaces += 1001) {
    m.values[1].i = spaces;
    CHECK_EQ(pp_pool_create(m.client.def, NULL, &m.client.options, &m.client.pool, &m.client.error),
             PP_ERR_ARGUMENT);
    CHECK_TEXT(m.client.error.text, "Mixture-v0: _spaces: leave it out");
  }
}

TEST(what_cannot_be_mixed_is_refused) {
  const pp_env_def *out = NULL, *cart_pole = find_env(ids[0]);
  const pp_task twice[] = {{"a", cart_pole}, {"a", cart_pole}}, none[] = {{NULL, cart_pole}},
                empty[] = {{"a", NULL}}, other[] = {{"a", cart_pole}, {"b", NULL}};
  pp_error error;
  CHECK_EQ(pp_mixture_create("A", twice, 2, &out, &error), PP_ERR_ARGUMENT);
  CHECK_TEXT(error.text, "two tasks are named a: name each once");
  CHECK_EQ(pp_mixture_create("A", none, 1, &out, &error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_mixture_create("A", empty, 1, &out, &error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_mixture_create("A", other, 2, &out, &error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_mixture_create("A", NULL, 1, &out, &error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_mixture_create(NULL, twice, 1, &out, &error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_mixture_create("A", twice, 0, &out, &error), PP_ERR_ARGUMENT);
  CHECK(out == NULL);
}
