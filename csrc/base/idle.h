/* Idle: large objects that threads use one at a time and then leave for the next, such as
 * workspaces.
 *
 * A thread prefers the object that it used last, so that it stays in one core's caches. So there
 * are as many objects as threads that use them at once. */
#ifndef PP_BASE_IDLE_H
#define PP_BASE_IDLE_H

#ifndef __cplusplus /* for C alone: C++ has other atomics */

#include <stdatomic.h>
#include <stdbool.h>

enum { PP_IDLE_SLOTS = 256 /* objects that are kept */ };

/* An idle object or null. Any thread takes it by exchange with acquire and puts it back by
 * compare-and-swap with release, so that the next thread sees what the last one wrote into it. */
typedef struct pp_idle_slot {
  _Alignas(64) _Atomic(void *) object;
} pp_idle_slot;

/* zero: there is none */
typedef struct pp_idle {
  pp_idle_slot slots[PP_IDLE_SLOTS];
} pp_idle;

/* Returns an idle object, which is the caller's from now on; null: there is none, so make one. */
void *pp_idle_take(pp_idle *all);

/* Leaves an object to other threads. Returns false if there are too many: free it. */
bool pp_idle_put_back(pp_idle *all, void *object);

#endif

#endif
