/* Gate: how threads and worker processes wait for work or results. They spin a little, then sleep.
 */
#ifndef PP_POOL_GATE_H
#define PP_POOL_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A gate is where threads sleep until something changes.
 *
 * The sleeper notes epoch, raises sleepers, looks once more whether it must sleep at all, and
 * sleeps while epoch is what it noted. The waker changes the state, then looks at sleepers; if
 * there is one, it moves epoch and wakes. Sleeper: write sleepers, read state. Waker: write state,
 * read sleepers. All four are sequentially consistent, so at least one of the two sees the other.
 *
 * A gate in memory that several processes map serves them all. A sleeper whose process is killed
 * never leaves: sleepers stays raised by one. All it does is to make wakers call the system when
 * nobody sleeps; it takes no wake from the living, as the kernel counts those that really sleep.
 */
typedef struct pp_gate {
  /* moved by wakers, release, and noted by sleepers, acquire: who notes a moved one sees the change
   * of state that it was moved for. Watched by the kernel while they sleep */
  _Alignas(64) _Atomic uint32_t epoch;
  /* threads between enter and leave, and the killed: see above. Leaving is relaxed, for who is
   * counted too long is woken in vain */
  _Atomic int32_t sleepers;
  _Atomic int64_t waits; /* futex calls of sleepers; relaxed, statistics only */
  _Atomic int64_t wakes; /* futex calls of wakers; relaxed, statistics only */
  int32_t is_shared;     /* never changes: other processes sleep and wake here too */
} pp_gate;

/* is_shared: 1 for a gate in memory shared with other processes */
void pp_gate_init(pp_gate *gate, int32_t is_shared);

/* announces a sleeper; look at the condition after it, then sleep with the epoch, then leave */
uint32_t pp_gate_enter(pp_gate *gate);
void pp_gate_sleep(pp_gate *gate, uint32_t epoch, int64_t timeout);
void pp_gate_leave(pp_gate *gate);

/* takes count sleepers off whose process has ended between enter and leave. Where only it slept,
 * that is whatever sleepers says now */
void pp_gate_forget(pp_gate *gate, int32_t count);

/* after a sequentially consistent change of state: wakes at most count sleepers, if there are any
 */
void pp_gate_wake(pp_gate *gate, int32_t count);

/* ------------------------------------------------------------------------------- spinning -- */

/* how long a thread spins before it sleeps: several times what it costs to be woken */
enum { PP_SPIN_NS = 200000 };

/* Spins until is_done(context), as long as may_spin(context), and until the time end (pp_os_now) at
 * most. Returns whether it is done. */
bool pp_spin(bool (*may_spin)(void *), bool (*is_done)(void *), void *context, int64_t end);

/* changes the number of awake worker threads, of all pools in this process; workers call it */
void pp_spin_awake(int32_t change);

/* whether spinning takes no core from another thread: the awake workers and one thread of the
 * user's fit into so many cores */
bool pp_spin_allowed(int32_t cores);

#endif
