/* What the engine asks of the operating system. Each section is implemented in the file that its
 * heading names. */
#ifndef PP_OS_OS_H
#define PP_OS_OS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "pp_env.h"

/* --------------------------------------------------------------------------------- clock.c -- */

/* Returns monotonic nanoseconds. */
int64_t pp_os_now(void);

/* Returns a time of the same clock, at most PP_OS_ROUGH_NS ago. Several times faster, unless the
 * kernel's timer ticks less often than that. */
int64_t pp_os_now_roughly(void);
enum { PP_OS_ROUGH_NS = 4000000 };

/* --------------------------------------------------------------------------------- futex.c -- */

/* Sleeps while *word == expected, for at most timeout nanoseconds (< 0: no limit). Returns PP_OK
 * when woken or when the word differs, or PP_AGAIN on timeout or a signal. May return PP_OK
 * spuriously. */
int pp_os_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout);

/* Wakes at most count sleepers. */
void pp_os_wake(_Atomic uint32_t *word, int32_t count);

/* The same for a word in memory that several processes map, at any address. A waker must change the
 * word first: systems without such calls (macOS before 14.4) poll it and have no other signal.
 * There, sleepers notice the change up to a millisecond later, and all wake, whatever count is. */
int pp_os_wait_shared(_Atomic uint32_t *word, uint32_t expected, int64_t timeout);
void pp_os_wake_shared(_Atomic uint32_t *word, int32_t count);

/* Hints to the core that this is a spin loop. */
void pp_os_relax(void);

/* -------------------------------------------------------------------------------- thread.c -- */

/* Starts a thread with every signal from outside blocked. name has at most 15 characters. Returns
 * PP_OK, PP_ERR_MEMORY or PP_ERR_SYSTEM. */
int pp_os_thread_start(pthread_t *thread, void *(*run)(void *), void *arg, const char *name);

/* Restricts the calling thread to these cores. Returns PP_ERR_SYSTEM if refused or unsupported. */
int pp_os_thread_bind(const int32_t *cpus, int32_t count);

/* Moves the calling thread to a core that it may run on and that is not among these; the system may
 * move it again later. Returns PP_AGAIN if there is no such core, or PP_ERR_SYSTEM if refused or
 * unsupported. */
int pp_os_thread_avoid(const int32_t *taken, int32_t count);

/* Lets other threads that wait for this core run first. */
void pp_os_yield(void);

/* Returns the core that this thread runs on, -1 if unknown. */
int32_t pp_os_current_cpu(void);

/* ---------------------------------------------------------------------------------- fork.c -- */

/* Returns a number that differs between a forked child and its parent. */
uint32_t pp_os_fork_generation(void);

/* Forks. The child leads a process group, blocks no signal, and does nothing else until fd can be
 * read or its other end is closed; so it writes to almost no page, and shares them with this
 * process. Returns the child's process id, 0 in the child once it may go on, or PP_ERR_SYSTEM and
 * sets errno. */
int64_t pp_os_fork_waiting(int fd);

/* ------------------------------------------------------------------------------- library.c -- */

/* Checks that dlopen will neither hang nor crash on a file: that it is a regular file, and not a
 * library whose segments reach beyond the file's end. Returns PP_OK, or PP_ERR_ARGUMENT and writes
 * the reason into a buffer of `bytes` bytes. shown: the path as messages show it. */
int pp_os_library_check(const char *path, const char *shown, char *reason, size_t bytes);

/* Returns the size in bytes of a library's data object at this address, 0 if it is not data, or -1
 * if unknown. */
int64_t pp_os_symbol_size(const void *address);

/* -------------------------------------------------------------------------------- memory.c -- */

/* Allocates zeroed private pages. Returns null if there is no memory. */
void *pp_os_pages_alloc(size_t size);
void pp_os_pages_free(void *memory, size_t size);

/* Sets the NUMA policy of the whole pages of a range: prefers one node, or interleaves several.
 * Returns PP_ERR_SYSTEM if refused or unsupported. */
int pp_os_pages_bind(void *memory, size_t size, const int32_t *nodes, int32_t count);

/* ------------------------------------------------------------------------- shared_memory.c -- */

/* Creates memory that processes can share: a zeroed file without a name, closed by exec. Returns
 * its descriptor, PP_ERR_MEMORY or PP_ERR_SYSTEM. name is what system tools show. */
int pp_os_shared_create(int64_t size, const char *name);

/* Lengthens the file. All new bytes are zero and have memory, so that touching them can't fault.
 * Returns PP_ERR_MEMORY or PP_ERR_SYSTEM on failure: the file then has its old size or, if it is
 * sealed, no memory beyond that size. */
int pp_os_shared_grow(int fd, int64_t old_size, int64_t new_size);

/* Forbids all processes to shorten the file, so that every byte within its size stays readable.
 * Returns PP_ERR_SYSTEM if refused or unsupported. */
int pp_os_shared_seal(int fd);

/* Returns the size of a file in bytes, or -1 if this is no descriptor of a regular file that is
 * open for reading and writing. */
int64_t pp_os_shared_size(int fd);

/* Maps reserve bytes for reading and writing, which may exceed the file's current size: as the file
 * grows, its bytes appear there. Returns null if refused, such as by a limit on address space. */
void *pp_os_shared_map(int fd, int64_t reserve);
void pp_os_shared_unmap(void *memory, int64_t reserve);

/* Makes a mapping private to this process: it still shows the file, but writes to it are seen by no
 * other process. If that is refused, the mapping becomes read-only. For a newly forked child: makes
 * system calls only. */
void pp_os_shared_detach(void *memory, int64_t reserve, int fd);

/* Returns the memory of whole pages of the file to the system. They must not be touched before
 * pp_os_shared_allocate, and are zero after that. Returns PP_ERR_SYSTEM if refused or unsupported;
 * they are then unchanged. */
int pp_os_shared_release(int fd, int64_t offset, int64_t size);

/* Allocates memory for released pages again. Returns PP_ERR_MEMORY if they stay released. */
int pp_os_shared_allocate(int fd, int64_t offset, int64_t size);

/* ------------------------------------------------------------------------------- process.c -- */

/* Starts a thread that ends this process, with status 0, as soon as another process has ended. A
 * forked child has no such thread. Returns PP_ERR_SYSTEM if the other process has ended already or
 * can't be waited for, or PP_ERR_MEMORY. After an error nothing waits, and the caller should end by
 * itself. */
int pp_os_exit_with_process(int64_t pid);

/* Has the system kill this process when its parent process, or the thread of it that forked this
 * one, ends. Returns PP_ERR_SYSTEM if the system can't, or if its parent is not `pid`. */
int pp_os_die_with_parent(int64_t pid);

#endif
