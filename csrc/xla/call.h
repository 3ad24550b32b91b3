/* Call: one call of a compiled program on one pool: its arguments, and where its results go. */
#ifndef PP_XLA_CALL_H
#define PP_XLA_CALL_H

#include "abi.h"
#include "limit.h"
#include "pool/pool.h"
#include "shared_pool.h"

typedef struct pp_call {
  const pp_xla_frame *frame;
  pp_limit limit;
  pp_shared_pool *share;
  pp_pool *pool;
  int32_t number;
  uint32_t calls;
  int64_t next; /* index of the next argument */
  int64_t count;
  const int32_t *env_ids;
  const int64_t *columns; /* indices of the columns that are results */
  int64_t num_columns;
  int64_t column_results; /* index of the first of these results */
  const void *actions;
  int32_t action_dtype;
  void *owned[2]; /* memory for converted arguments */
  int32_t num_owned;
  bool is_sent; /* what is left to do is to receive */
  int status;
  pp_error *error;
} pp_call;

/* Returns whether there is nothing to do, as XLA asks about the handler instead of calling it, or
 * is in another stage; answers the question. */
bool pp_xla_has_no_work(const pp_xla_frame *frame);

/* Returns XLA's error for a negative status; null for others. */
void *pp_xla_answer(const pp_xla_frame *frame, int status, const pp_error *error);
void *pp_xla_fail(const pp_xla_frame *frame, const char *message, int code);

/* Returns an attribute of one integer; missing if there is none. */
int64_t pp_xla_number(const pp_xla_frame *frame, const char *name, int64_t missing);

/* Returns the time limit of a call that begins now: the attribute timeout, in nanoseconds. */
pp_limit pp_xla_limit(const pp_xla_frame *frame);

/* Fills in the error of arguments or results that are not what the pool takes. */
int pp_call_wrong(const pp_call *it, const char *what);

/* Returns the next argument, null if there is no more. */
const pp_xla_buffer *pp_call_next(pp_call *it);

/* Returns how many elements a buffer has, and whether that makes a handle: two int32. */
int64_t pp_xla_elements(const pp_xla_buffer *buffer);
bool pp_xla_is_handle(const pp_xla_buffer *buffer);

/* Returns the bytes of an element, and whether a result has the dtype of a column. */
int64_t pp_xla_bytes(int dtype);
bool pp_xla_is_exact(const pp_xla_buffer *result, const pp_column *column);

/* Reads the actions, rows of them, in a dtype that the pool takes. */
int pp_call_actions(pp_call *it, const void **actions, int32_t *dtype, int64_t *rows);

/* Reads the ids, which are the last argument if there are any; rows: of the argument before, -1:
 * there is none. */
int pp_call_ids(pp_call *it, int64_t rows);

/* Reads seeds, as words of 32 bits and the number of words of each, and the ids. */
int pp_call_seeds(pp_call *it, const uint32_t **words, const int32_t **sizes);

/* Checks that all results from index `first` on are columns with `rows` rows. To be called before
 * the pool, so that nothing has changed if they do not fit. */
int pp_call_check_columns(pp_call *it, int64_t first, int64_t rows);

/* Receives until there is a batch or an error, and keeps its memory as the next spare one. status:
 * of the receive or step that began this, 0 if none did; oldest: the memory of the batch. Returns
 * what pp_pool_recv returns, or PP_ERR_TIMEOUT. */
int32_t pp_call_receive(pp_call *it, int32_t status, char *oldest);

/* Copies the first rows of a received batch into the results, from row `at` on. */
int pp_call_copy(const pp_call *it, const char *batch, int64_t at, int64_t rows);

/* Frees the memory of converted arguments. */
void pp_call_fini(pp_call *it);

#endif
