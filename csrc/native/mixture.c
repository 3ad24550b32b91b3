/* Mixture: a definition whose environments are of several other definitions. */
#include "mixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "configure.h"
#include "pool/error.h"
#include "spaces.h"
#include "values.h"

enum { MAX_TASKS = 1 << 16 };

/* the spaces that pools of a mixture have had; they are few, and are never freed */
typedef struct spaces_list {
  pp_spaces spaces;
  struct spaces_list *next;
} spaces_list;

/* def.data is its address */
typedef struct mixture {
  pp_env_def def;
  int32_t num_tasks;
  pp_member *members;
  pp_option *options;
  pp_option *reset_options;
  pthread_mutex_t lock; /* guards what follows */
  spaces_list *spaces;
  int64_t num_spaces;
} mixture;

/* ------------------------------------------------------------------------------------ tables -- */

static char *copy_text(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = malloc(size);
  return copy ? memcpy(copy, text, size) : NULL;
}

static int32_t find_option(const pp_option *options, int32_t count, const char *name) {
  for (int32_t i = 0; i < count; i++) {
    if (strcmp(options[i].name, name) == 0) return i;
  }
  return -1;
}

/* Makes one option of two of one name. Python checks values against each task's own option. */
static void unite_options(pp_option *into, const pp_option *other) {
  bool has_same_range = into->low == other->low && into->high == other->high;
  into->varies = into->varies && other->varies && has_same_range;
  into->keeps |= other->keeps;
  into->refuses = into->refuses & other->refuses & ~into->keeps;
  if (has_same_range) return;
  into->low = into->high = 0;
}

/* Adds the options of a definition to a table that has room for them, and writes where each is. */
static int add_options(pp_option *table, int32_t *count, const pp_option *options, int32_t num,
                       int32_t *place, const pp_task *task, pp_error *error) {
  for (int32_t i = 0; i < num; i++) {
    const pp_option *option = &options[i];
    int32_t at = place[i] = find_option(table, *count, option->name);
    if (at < 0) {
      place[i] = (*count)++;
      table[place[i]] = *option;
      // other tasks do not need it, and Python gives it to those that do
      table[place[i]].required = false;
      continue;
    }
    pp_option *known = &table[at];
    if (known->type != option->type) {
      return pp_error_set(error, PP_ERR_ARGUMENT,
                          "%.60s can't be mixed with the tasks before it: its option %.40s has "
                          "another type: make a pool for each",
                          task->name, option->name);
    }
    unite_options(known, option);
  }
  return PP_OK;
}

static const pp_option own_options[PP_MIXTURE_OPTIONS] = {
    [PP_MIXTURE_TASK] = {.name = "task",
                         .type = PP_OPT_STRING,
                         .required = true,
                         .doc = "the name of the environment's task"},
    [PP_MIXTURE_SPACES] = {.name = "_spaces",
                           .type = PP_OPT_INT,
                           .required = true,
                           .doc = "the number of the pool's spaces"},
};

static int fill_member(mixture *self, pp_member *member, const pp_task *task, pp_error *error) {
  const pp_env_def *def = task->definition;
  pp_env_def *all = &self->def;
  int status;
  member->task = (pp_task){copy_text(task->name), def};
  member->option_at = calloc((size_t)def->num_options + 1, sizeof(*member->option_at));
  member->reset_at = calloc((size_t)def->num_reset_options + 1, sizeof(*member->reset_at));
  if (!member->task.name || !member->option_at || !member->reset_at) {
    return pp_error_set(error, PP_ERR_MEMORY, "no memory for a mixture");
  }
  status = add_options(self->options, &all->num_options, def->options, def->num_options,
                       member->option_at, task, error);
  if (status < 0) return status;
  return add_options(self->reset_options, &all->num_reset_options, def->reset_options,
                     def->num_reset_options, member->reset_at, task, error);
}

static int fill_members(mixture *self, const pp_task *tasks, int32_t count, pp_error *error) {
  size_t options = PP_MIXTURE_OPTIONS, reset_options = 1;
  for (int32_t i = 0; i < count; i++) {
    options += (size_t)tasks[i].definition->num_options;
    reset_options += (size_t)tasks[i].definition->num_reset_options;
  }
  self->members = calloc((size_t)count, sizeof(*self->members));
  self->options = calloc(options, sizeof(*self->options));
  self->reset_options = calloc(reset_options, sizeof(*self->reset_options));
  if (!self->members || !self->options || !self->reset_options) {
    return pp_error_set(error, PP_ERR_MEMORY, "no memory for a mixture");
  }
  memcpy(self->options, own_options, sizeof(own_options));
  self->def.num_options = PP_MIXTURE_OPTIONS;
  self->num_tasks = count;
  for (int32_t i = 0; i < count; i++) {
    int status = fill_member(self, &self->members[i], &tasks[i], error);
    if (status < 0) return status;
  }
  self->def.options = self->options;
  self->def.reset_options = self->reset_options;
  return PP_OK;
}

/* -------------------------------------------------------------------------------- definition -- */

/* takes over what the definition of one task says of all environments */
static void join_definition(pp_env_def *all, const pp_env_def *def, bool is_first) {
  all->action_dtypes = is_first ? def->action_dtypes : all->action_dtypes & def->action_dtypes;
  if (is_first || def->action_numbers < all->action_numbers) {
    all->action_numbers = def->action_numbers;
  }
  if (def->tolerance > all->tolerance) all->tolerance = def->tolerance;
  if (is_first) all->max_episode_steps = def->max_episode_steps;
  // Python gives each environment its own limit where they differ
  if (def->max_episode_steps != all->max_episode_steps) all->max_episode_steps = 0;
}

static int check_tasks(const char *id, const pp_task *tasks, int32_t count, pp_error *error) {
  if (!id || !tasks || count < 1 || count > MAX_TASKS) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "a mixture of %d tasks: give an id, and 1 to %d",
                        count, MAX_TASKS);
  }
  for (int32_t i = 0; i < count; i++) {
    int status = pp_env_check(tasks[i].definition, error);
    if (status < 0) return status;
    if (!tasks[i].name || !tasks[i].name[0]) {
      return pp_error_set(error, PP_ERR_ARGUMENT, "task %d has no name: give one", i);
    }
    for (int32_t j = 0; j < i; j++) {
      if (strcmp(tasks[i].name, tasks[j].name)) continue;
      return pp_error_set(error, PP_ERR_ARGUMENT, "two tasks are named %.60s: name each once",
                          tasks[i].name);
    }
  }
  return PP_OK;
}

static void destroy(mixture *self) {
  for (int32_t i = 0; self->members && i < self->num_tasks; i++) {
    free((void *)self->members[i].task.name);
    free(self->members[i].option_at);
    free(self->members[i].reset_at);
  }
  free(self->members);
  free(self->options);
  free(self->reset_options);
  free((void *)self->def.id);
  free(self);
}

int pp_mixture_create(const char *id, const pp_task *tasks, int32_t count, const pp_env_def **out,
                      pp_error *error) {
  int status = check_tasks(id, tasks, count, error);
  mixture *self;
  if (status < 0) return status;
  self = calloc(1, sizeof(*self));
  if (!self) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a mixture");
  self->def.data = self;
  pp_member_callbacks(&self->def);
  for (int32_t i = 0; i < count; i++) {
    join_definition(&self->def, tasks[i].definition, i == 0);
    pp_member_join_callbacks(&self->def, tasks[i].definition);
  }
  self->def.id = copy_text(id);
  status = self->def.id ? fill_members(self, tasks, count, error)
                        : pp_error_set(error, PP_ERR_MEMORY, "no memory for a mixture");
  if (status >= 0) status = pp_env_check(&self->def, error);
  if (status < 0) {
    destroy(self);
    return status;
  }
  pthread_mutex_init(&self->lock, NULL);
  *out = &self->def;
  return PP_OK;
}

/* ------------------------------------------------------------------------------------ spaces -- */

/* puts spaces into the list, unless they are there; writes their number */
static int keep_spaces(mixture *self, spaces_list *made, int64_t *number) {
  int64_t at = 0;
  pthread_mutex_lock(&self->lock);
  // new ones come first, so that numbers count from the end
  for (spaces_list *known = self->spaces; known; known = known->next, at++) {
    if (!pp_spaces_equal(&known->spaces, &made->spaces)) continue;
    *number = self->num_spaces - 1 - at;
    pthread_mutex_unlock(&self->lock);
    pp_spaces_fini(&made->spaces);
    free(made);
    return PP_OK;
  }
  made->next = self->spaces;
  self->spaces = made;
  *number = self->num_spaces++;
  pthread_mutex_unlock(&self->lock);
  return PP_OK;
}

const pp_spaces *pp_mixture_spaces(const pp_env_def *def, int64_t number) {
  mixture *self = (mixture *)(uintptr_t)def->data;
  const spaces_list *found = NULL;
  pthread_mutex_lock(&self->lock);
  if (number >= 0 && number < self->num_spaces) {
    found = self->spaces;
    for (int64_t at = self->num_spaces - 1; at > number; at--) found = found->next;
  }
  pthread_mutex_unlock(&self->lock);
  return found ? &found->spaces : NULL;
}

const pp_member *pp_mixture_find(const pp_env_def *def, const char *task) {
  const mixture *self = def->data;
  for (int32_t i = 0; task && i < self->num_tasks; i++) {
    if (strcmp(self->members[i].task.name, task) == 0) return &self->members[i];
  }
  return NULL;
}

/* runs configure for each task, unites what they describe, and releases what they made */
static int unite(const mixture *self, const pp_value *const *options, pp_config *configs,
                 pp_task *tasks, pp_spaces *spaces, pp_error *error) {
  int32_t made = 0;
  int status = PP_OK;
  for (; status >= 0 && made < self->num_tasks; made++) {
    tasks[made] = self->members[made].task;
    status = pp_config_run(tasks[made].definition, options[made], NULL, &configs[made], error);
    if (status < 0) break;
  }
  if (status >= 0) status = pp_spaces_init(spaces, tasks, configs, self->num_tasks, error);
  for (int32_t i = 0; i < made; i++) pp_config_fini(tasks[i].definition, &configs[i]);
  return status;
}

int pp_mixture_unite(const pp_env_def *def, const pp_value *const *options, int64_t *number,
                     pp_error *error) {
  mixture *self = (mixture *)(uintptr_t)def->data;
  size_t count = (size_t)self->num_tasks;
  pp_config *configs = calloc(count, sizeof(*configs));
  pp_task *tasks = calloc(count, sizeof(*tasks));
  spaces_list *made = calloc(1, sizeof(*made));
  int status = configs && tasks && made
                   ? unite(self, options, configs, tasks, &made->spaces, error)
                   : pp_error_set(error, PP_ERR_MEMORY, "no memory for the spaces of a mixture");
  free(configs);
  free(tasks);
  if (status >= 0) return keep_spaces(self, made, number);
  free(made);
  return status;
}
