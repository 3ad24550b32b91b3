/* What the engine asks of the operating system; each primitive has its own os_*.c. */
#ifndef PP_OS_OS_H
#define PP_OS_OS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "pp_env.h"

/* ------------------------------------------------------------------------------------ clock.c --
 */

/* monotonic nanoseconds */
int64_t pp_os_now(void);

/* the same clock as of its last tick, some milliseconds ago at most: several times as quick */
int64_t pp_os_now_roughly(void);

/* ------------------------------------------------------------------------------------ futex.c --
 */

/* sleeps while *word == expected, at most timeout nanoseconds (< 0: no limit). Returns PP_OK when
 * woken or when the word differs (spurious returns included), PP_AGAIN on timeout or a signal */
int pp_os_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout);

/* wakes at most count sleepers */
void pp_os_wake(_Atomic uint32_t *word, int32_t count);

/* the same for a word in memory that several processes map, each where it likes. A waker must have
 * changed the word before: systems without futexes look at it every now and then, and nothing else
 * tells them. They are late by a millisecond, and wake all sleepers whatever count is */
int pp_os_wait_shared(_Atomic uint32_t *word, uint32_t expected, int64_t timeout);
void pp_os_wake_shared(_Atomic uint32_t *word, int32_t count);

/* tells the core that this is a spin loop */
void pp_os_relax(void);

/* ----------------------------------------------------------------------------------- thread.c --
 */

/* starts a thread with every signal blocked; name has at most 15 characters */
int pp_os_thread_start(pthread_t *thread, void *(*run)(void *), void *arg, const char *name);

/* keeps the calling thread on these cores; PP_ERR_SYSTEM when refused or unknown here */
int pp_os_thread_bind(const int32_t *cpus, int32_t count);

/* moves the calling thread to a core that it may run on and that is not among these; the system may
 * move it again. PP_AGAIN: there is none, PP_ERR_SYSTEM: refused or unknown here */
int pp_os_thread_avoid(const int32_t *taken, int32_t count);

/* lets others on this core run first that wait for it */
void pp_os_yield(void);

/* the core this thread runs on, -1 when unknown */
int32_t pp_os_current_cpu(void);

/* ------------------------------------------------------------------------------------- fork.c --
 */

/* counts forks: a child sees another value than its parent did */
uint32_t pp_os_fork_generation(void);

/* --------------------------------------------------------------------------------- library.c -- */

/* Refuses a file on which dlopen would hang or crash: one that is no ordinary file, or a library
 * whose segments end behind the file's end. Returns PP_ERR_ARGUMENT, and writes the reason into so
 * many bytes. shown: the path as messages have it */
int pp_os_library_check(const char *path, const char *shown, char *reason, size_t bytes);

/* bytes of the data that a library has at this address, 0: it is no data, -1: unknown */
int64_t pp_os_symbol_size(const void *address);

/* ----------------------------------------------------------------------------------- memory.c --
 */

/* zeroed private pages; null when there is no memory */
void *pp_os_pages_alloc(size_t size);
void pp_os_pages_free(void *memory, size_t size);

/* prefers (one node) or interleaves (several) the whole pages of a range over NUMA nodes;
 * PP_ERR_SYSTEM when refused or unknown here */
int pp_os_pages_bind(void *memory, size_t size, const int32_t *nodes, int32_t count);

/* ---------------------------------------------------------------------------- shared_memory.c --
 */

/* memory that processes share: a file without a name, zeroed and closed by exec. Its descriptor, or
 * PP_ERR_MEMORY, PP_ERR_SYSTEM. name is what system tools show */
int pp_os_shared_create(int64_t size, const char *name);

/* lengthens the file; every new byte has its memory, is zero, and can be touched without a fault.
 * PP_ERR_MEMORY or PP_ERR_SYSTEM: the file has its old size or, sealed, no memory behind that */
int pp_os_shared_grow(int fd, int64_t old_size, int64_t new_size);

/* Keeps a file from ever becoming shorter, whoever tries: what is within its size can be read for
 * ever. PP_ERR_SYSTEM when refused or unknown here */
int pp_os_shared_seal(int fd);

/* bytes that a file has, -1: this is no descriptor of a file that can be read and written */
int64_t pp_os_shared_size(int fd);

/* maps reserve bytes for reading and writing, however long the file is now: as it grows, its bytes
 * are there. Null when refused, as by a limit on address space */
void *pp_os_shared_map(int fd, int64_t reserve);
void pp_os_shared_unmap(void *memory, int64_t reserve);

/* Makes a mapping this process's own: it still shows what is in the file, and what is written to it
 * goes nowhere else. Where that is refused it can't be written to at all. For a fresh child: calls
 * nothing but the system */
void pp_os_shared_detach(void *memory, int64_t reserve, int fd);

/* gives whole pages of the file back to the system, which are zero then and must not be touched
 * before pp_os_shared_allocate. PP_ERR_SYSTEM when refused or unknown here: they stay as they are
 */
int pp_os_shared_release(int fd, int64_t offset, int64_t size);

/* gets memory again for what was released; PP_ERR_MEMORY: it stays released */
int pp_os_shared_allocate(int fd, int64_t offset, int64_t size);

/* ---------------------------------------------------------------------------------- process.c --
 */

/* ends this process, at once and with status 0, when another one has ended; a thread of its own
 * waits for that. PP_ERR_SYSTEM when the other has ended already or nothing can wait for it, and
 * PP_ERR_MEMORY: nothing waits, and the caller should end by itself. A forked child has no such
 * thread */
int pp_os_exit_with_process(int64_t pid);

#endif
