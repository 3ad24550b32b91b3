/* Shared pool: one that programs may use, found by its number. */
#ifndef PP_XLA_SHARED_POOL_H
#define PP_XLA_SHARED_POOL_H

#include <stdbool.h>

#include "limit.h"
#include "pp_xla.h"

typedef struct pp_shared_pool {
  struct pp_shared_pool *next;
  pp_pool *pool;
  void *spare;  /* memory that the next receive gives to the pool */
  bool is_late; /* a visited pool: the batch of a call that has left it is yet to be received */
  int32_t number;
  uint32_t calls; /* number of calls by programs, modulo 2**32 */
  bool is_used;   /* a call of a program uses it */
  bool is_taken;  /* receives outside of programs have it */
  bool is_ending; /* no new call may use it */
} pp_shared_pool;

/* Finds a share and makes the caller its only user. calls: of the program's handle. receives:
 * whether the caller takes batches. Returns PP_OK; PP_ERR_CLOSED if there is no share of this
 * number any more, PP_ERR_FORKED if the parent process had it, PP_ERR_ARGUMENT if there never was
 * one; or PP_ERR_STATE if it is in use or if the handle is old. */
int pp_shared_begin(int32_t number, uint32_t calls, bool receives, pp_shared_pool **out,
                    pp_error *error);

/* The same for calls that any order suits: waits while another one uses the share, and asks for no
 * handle. Returns PP_ERR_TIMEOUT if the other one uses it until the limit. */
int pp_shared_wait(int32_t number, const pp_limit *limit, pp_shared_pool **out, pp_error *error);

/* Ends that. is_done: the call counts, and the handle that it was given is old. */
void pp_shared_end(pp_shared_pool *share, bool is_done);

/* Called where a call of a program begins and where it ends: after pp_xla_park it sleeps, in any
 * thread but the one that ends the process. */
void pp_shared_park(void);

#endif
