/* Gate: an eventcount. Threads and worker processes wait at it: they spin briefly, then sleep. */
#ifndef PP_POOL_GATE_H
#define PP_POOL_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A gate is where threads sleep until a state changes.
 *
 * The sleeper reads epoch, raises sleepers, checks once more whether it must sleep, and sleeps
 * while epoch has the value it read. The waker changes the state, then reads sleepers; if there are
 * any, it raises epoch and wakes. Sleeper: write sleepers, read state. Waker: write state, read
 * sleepers. All four accesses are sequentially consistent, so at least one of the two sees the
 * other.
 *
 * A gate in memory that several processes map serves them all. If a process is killed while it
 * sleeps, its sleeper never leaves, and sleepers stays too high by one. That only makes wakers call
 * the system when no thread sleeps; it takes no wake from living threads, as the kernel counts
 * those that really sleep. */
typedef struct pp_gate {
  /* Raised by wakers, release, and read by sleepers, acquire: a thread that reads the new value
   * sees the change of state for which it was raised. The kernel compares it while they sleep. */
  _Alignas(64) _Atomic uint32_t epoch;
  /* Threads between enter and leave, and killed ones (see above). Leaving is relaxed: a thread that
   * is counted for too long costs only a needless wake. */
  _Atomic int32_t sleepers;
  _Atomic int64_t waits; /* futex calls of sleepers; relaxed, statistics only */
  _Atomic int64_t wakes; /* futex calls of wakers; relaxed, statistics only */
  int32_t is_shared;     /* never changes: other processes sleep and wake here too */
} pp_gate;

/* is_shared: whether the gate lies in memory that other processes map */
void pp_gate_init(pp_gate *gate, bool is_shared);

/* Sleeping takes four steps: enter, which announces the sleeper; check the state once more; sleep,
 * with the epoch that enter returned (timeout in ns, < 0: none), if it must; leave. */
uint32_t pp_gate_enter(pp_gate *gate);
void pp_gate_sleep(pp_gate *gate, uint32_t epoch, int64_t timeout);
void pp_gate_leave(pp_gate *gate);

/* Subtracts sleepers whose process ended between enter and leave. At a gate where only that process
 * slept, count is the value that sleepers has now. */
void pp_gate_forget(pp_gate *gate, int32_t count);

/* Wakes at most count sleepers, if there are any; to be called after a sequentially consistent
 * change of state. */
void pp_gate_wake(pp_gate *gate, int32_t count);

/* ------------------------------------------------------------------------------- spinning -- */

/* how long a thread spins before it sleeps: several times the cost of being woken */
enum { PP_SPIN_NS = 200000 };

/* Spins until is_done(context), as long as may_spin(context) holds and until the time end
 * (pp_os_now) at most. Returns whether it is done. */
bool pp_spin(bool (*may_spin)(void *), bool (*is_done)(void *), void *context, int64_t end);

/* Changes the number of worker threads that are awake, in all pools of this process. Called by
 * workers. */
void pp_spin_awake(int32_t change);

/* Returns whether the awake workers and one thread of the user fit into `cores` cores: then
 * spinning takes no core from another thread. */
bool pp_spin_allowed(int32_t cores);

#endif
