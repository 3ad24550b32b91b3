/* Programs that XLA has compiled (JAX's) step a pool through these functions. gcc and cffi read
 * this header, so it holds prototypes only.
 *
 * A program names a pool by a handle: two int32, the pool's number and how many calls programs have
 * made of it. Each call takes a handle and returns the next, so every call but the latest has a
 * handle that is no longer valid, and a program can't reach memory that is gone. */
#ifndef PP_XLA_H
#define PP_XLA_H

#include "pp_pool.h"

/* Lets programs use a pool of threads, and writes its number. spare: a further batch, from
 * pp_batch_alloc; each receive of a program exchanges it with one of the pool's batches, so it must
 * live as long as the pool. Returns PP_ERR_ARGUMENT, PP_ERR_MEMORY, or the status of a pool that is
 * closed or forked. */
int pp_xla_share(pp_pool *pool, void *spare, int32_t *number, pp_error *error);

/* Ends that: calls of programs are refused from now on. Waits for a call that has begun, which ends
 * soon if the pool is closed, unless an environment hangs in the call's own thread. Returns PP_OK
 * if there is no such call or number (any more), or PP_AGAIN if the call still runs after timeout
 * nanoseconds (< 0: no limit). That call uses the pool and its batches until it ends. */
int pp_xla_unshare(int32_t number, int64_t timeout);

/* Called when the process ends, by the thread that ends it, before pools are closed. From then on
 * calls of programs in other threads sleep, for ten minutes, instead of returning. They would
 * return to the interpreter, which ends threads while it is finalized. XLA has frames on their
 * stacks that can't be unwound, so that would abort the process. */
void pp_xla_park(void);

/* Returns how many calls programs have made of a pool, modulo 2**32: the second half of a valid
 * handle. */
uint32_t pp_xla_calls(int32_t number);

/* Reserves the pool's batches for receives outside of programs, until pp_xla_leave: calls of
 * programs that receive are refused. Writes the memory that the pool holds, in the order in which
 * it will be received (pp_pool_batches), and then the spare memory: calls of programs change both.
 * Returns PP_ERR_STATE while a program uses the pool. May be repeated. */
int pp_xla_enter(int32_t number, void **memory, pp_error *error);
void pp_xla_leave(int32_t number);

/* Sets the minor version of XLA's interface that handlers claim when they are registered, as an XLA
 * refuses those of a newer one: the lower of XLA's own and of ours. */
void pp_xla_speak(int32_t minor);

/* The calls of programs: handlers of XLA's foreign function interface. frame: an XLA_FFI_CallFrame.
 * Each returns null, or an XLA_FFI_Error. The first argument is a handle, the first result the next
 * one. Further arguments are actions (send, step) or, if the attribute has_seeds is 1, seeds
 * (reset: one for each environment); then, if the attribute has_ids is 1, ids. Seeds, ids and
 * discrete actions are integers of any dtype, whose values are checked before they are converted.
 * If the attribute has_signed_seeds is 1, seeds are -2**31 to 2**31 - 1, and negative ones continue
 * the generators. Further results (recv, step) are those columns of a batch whose indices the
 * attribute columns holds, in their own dtype, or in 32 bits in place of 64. */
void *pp_xla_send(void *frame);
void *pp_xla_reset(void *frame);
void *pp_xla_recv(void *frame);
void *pp_xla_step(void *frame);

/* Calls that wait for environments (recv, step, start, advance) do so for the attribute timeout at
 * most, in nanoseconds; without it, or if it is negative, there is no limit. Then they fail with
 * DEADLINE_EXCEEDED and the text of pp_pool_explain_timeout, and do not count. What a step has sent
 * stays in flight: the next receive, in a program or outside, returns it. What start and advance
 * have begun is dropped by the next of these calls, which first waits for it. With a limit no call
 * steps environments in its own thread, which it could not leave. */

/* Ordered pools: the current observations of all environments, none of which is in flight. Further
 * results are columns of fields, as of recv, but in their own dtype. */
void *pp_xla_observe(void *frame);

/* All of these may be called for several pools at once, whose number is the attribute pools: all
 * arguments and results then have one more axis in front, one entry for each pool, and the pools'
 * threads work at the same time. A pool that fails keeps no other from its call; the error names
 * the first. */

/* Calls that keep nothing: they bring the states of environments, and take the new ones away (see
 * pp_pool_open_visits), so they need no handle, may be repeated, and take turns with others on the
 * same pool. The attribute number names the pool. seeds is uint32 (rows, words), states is uint8
 * (rows, size); the rows may be more than the pool has environments. Arguments of start: seeds; of
 * advance: states, actions and seeds. Results: states, and the columns of the attribute columns. An
 * error names the row. */
void *pp_xla_start(void *frame);
void *pp_xla_advance(void *frame);

/* The same calls for programs on CUDA, whose operands are on a GPU. Each copies its arguments to
 * the host and waits for them, with all that the program's stream does before. Then the
 * attribute timeout begins. It makes the call, in this thread, and queues the copies of its results
 * on that stream. Errors are those of the calls above, or CUDA's: then either no environment was
 * called, or the handle that was given is old. */
void *pp_xla_cuda_send(void *frame);
void *pp_xla_cuda_reset(void *frame);
void *pp_xla_cuda_recv(void *frame);
void *pp_xla_cuda_step(void *frame);
void *pp_xla_cuda_observe(void *frame);
void *pp_xla_cuda_start(void *frame);
void *pp_xla_cuda_advance(void *frame);

/* Loads CUDA's driver from a file; without this, the first call above loads libcuda.so.1. Returns
 * PP_ERR_SYSTEM if it can't be loaded, or PP_ERR_STATE if one is loaded already. */
int pp_xla_cuda_driver(const char *path, pp_error *error);

#endif
