/* What tests of whole pools share: the caller's side of a pool, made-up machines, sums of rows. */
#ifndef PP_TESTS_POOL_TESTS_H
#define PP_TESTS_POOL_TESTS_H

#include "check.h"
#include "include/pp_pool.h"
#include "os/os.h"

enum { MAX_OPTIONS = 32, MAX_BATCHES = 64, SECOND = 1000000000 };

/* a pool and the memory that its caller looks after */
typedef struct client {
  pp_pool *pool;
  const pp_env_def *def;
  pp_value values[MAX_OPTIONS];
  pp_pool_options options;
  int32_t min_rows;         /* of receives; 0: whole batches */
  void *given[MAX_BATCHES]; /* a ring, oldest first */
  int32_t capacity, oldest;
  void *fresh; /* what the next receive gives the pool */
  void *batch; /* received last; fresh again after the next receive */
  int64_t size;
  const pp_column *columns;
  int32_t num_columns;
  pp_error error;
} client;

/* returns the built-in definition of this id, null if there is none */
const pp_env_def *find_env(const char *id);

/* an ordered pool of one thread, to be changed before client_open */
client make_client(const char *id, int32_t num_envs);

/* set an option, before client_open */
void set_number(client *c, const char *name, int64_t number);
void set_text(client *c, const char *name, const char *text);

/* seeds environment i with first + i */
int client_seed(client *c, uint32_t first);

/* Creates the pool and gives it its batches and seeds. Returns whether all of that worked. */
int client_open(client *c);
void client_close(client *c);

/* records a receive: the oldest block is now the caller's */
int32_t client_took(client *c, int32_t rows);

/* receives once, which may return 0 rows */
int32_t client_try(client *c, int64_t timeout);

/* receive, however many time slices that takes; step and reset send first */
int32_t client_recv(client *c);
int32_t client_step(client *c, const int32_t *ids, int32_t count, const int64_t *actions);
int32_t client_reset(client *c);

/* an array of the batch received last */
void *column(const client *c, const char *name);

/* checks that in the batch received last only the first `rows` rows are of environments */
void check_cleared(const client *c, int32_t rows);

/* a pseudorandom action for a step of an environment, the same in every pool */
int64_t some_action(int32_t env_id, int64_t step, int64_t n);

/* FNV-1a over one row of every column that is defined in it */
uint64_t sum_row(const client *c, uint64_t sum, int32_t row);

/* a machine of `nodes` nodes with two cores each, as a folder to read the topology from */
const char *make_machine(int32_t nodes);

/* removes the folder, which the pool has read by now */
void end_machine(const char *root, int32_t nodes);

#endif
