/* Futex: sleeps until a word changes, with futexes on Linux and a table of sleepers elsewhere.
 *
 * The table serves the threads of one process. macOS 14.4 and newer have calls for words that
 * processes share. Elsewhere a sleeper polls these: correct but slower, as it wakes up to a
 * thousand times a second. Table and polling use only POSIX, so they can be tested on Linux too:
 * tests/c/test_os_table.c defines PP_OS_TABLE, and stands in for macOS's calls. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE

#if defined(__APPLE__)
#include <dlfcn.h>
#endif
#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "os.h"
#include "pp_env.h"

static struct timespec timespec_of(int64_t nanoseconds) {
  struct timespec time;
  time.tv_sec = (time_t)(nanoseconds / 1000000000);
  time.tv_nsec = (long)(nanoseconds % 1000000000);
  return time;
}

#if defined(__linux__) && !defined(PP_OS_TABLE)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static int futex_wait(int operation, _Atomic uint32_t *word, uint32_t expected, int64_t timeout) {
  struct timespec time = timespec_of(timeout < 0 ? 0 : timeout);
  struct timespec *time_or_none = timeout < 0 ? NULL : &time;
  if (syscall(SYS_futex, word, operation, expected, time_or_none, NULL, 0) == 0) return PP_OK;
  // EAGAIN: the word had changed already. Beside ETIMEDOUT and EINTR a sandbox may return any
  // error; with PP_AGAIN the caller goes back to where it can be interrupted
  return errno == EAGAIN ? PP_OK : PP_AGAIN;
}

static void futex_wake(int operation, _Atomic uint32_t *word, int32_t count) {
  if (count <= 0) return;  // the kernel would treat 0 as 1
  syscall(SYS_futex, word, operation, count, NULL, NULL, 0);
}

int pp_os_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout) {
  return futex_wait(FUTEX_WAIT_PRIVATE, word, expected, timeout);
}

void pp_os_wake(_Atomic uint32_t *word, int32_t count) {
  futex_wake(FUTEX_WAKE_PRIVATE, word, count);
}

/* a private futex is identified by its address, a shared one by the page behind it */

int pp_os_wait_shared(_Atomic uint32_t *word, uint32_t expected, int64_t timeout) {
  return futex_wait(FUTEX_WAIT, word, expected, timeout);
}

void pp_os_wake_shared(_Atomic uint32_t *word, int32_t count) {
  futex_wake(FUTEX_WAKE, word, count);
}

#else

enum {
  NUM_BUCKETS = 64,
  /* nanoseconds between two reads of a shared word, doubled each time */
  FIRST_NAP = 50000,
  LONGEST_NAP = 1000000
};

/* a sleeping thread; lies on its stack, guarded by its bucket's lock */
typedef struct sleeper {
  struct sleeper *next;
  const void *word;
  bool is_woken;
  pthread_cond_t woken;
} sleeper;

/* the sleepers of all words with the same hash, longest asleep first */
typedef struct bucket {
  pthread_mutex_t lock;
  sleeper *first;
} bucket;

static bucket buckets[NUM_BUCKETS];
static pthread_once_t buckets_once = PTHREAD_ONCE_INIT;

static void init_buckets(void) {
  for (int i = 0; i < NUM_BUCKETS; i++) pthread_mutex_init(&buckets[i].lock, NULL);
}

static bucket *bucket_of(const void *word) {
  pthread_once(&buckets_once, init_buckets);
  // multiplication by the golden ratio spreads close addresses; the top 6 bits choose one of 64
  // buckets
  return &buckets[((uint64_t)(uintptr_t)word * 0x9e3779b97f4a7c15u) >> 58];
}

static void append_locked(bucket *b, sleeper *self) {
  sleeper **link = &b->first;
  while (*link) link = &(*link)->next;
  *link = self;
}

static void remove_locked(bucket *b, const sleeper *self) {
  sleeper **link = &b->first;
  while (*link != self) link = &(*link)->next;
  *link = self->next;
}

static void cond_init(pthread_cond_t *cond) {
#ifdef __APPLE__
  pthread_cond_init(cond, NULL);
#else
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(cond, &attributes);
  pthread_condattr_destroy(&attributes);
#endif
}

/* Sleeps until a signal or the deadline on pp_os_now's clock (< 0: none). Returns 0 unless the
 * deadline has passed. */
static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline) {
  if (deadline < 0) return pthread_cond_wait(cond, lock);
#ifdef __APPLE__
  int64_t left = deadline - pp_os_now();
  struct timespec time = timespec_of(left < 0 ? 0 : left);
  return pthread_cond_timedwait_relative_np(cond, lock, &time);
#else
  struct timespec time = timespec_of(deadline);
  return pthread_cond_timedwait(cond, lock, &time);
#endif
}

/* returns the deadline of a timeout, -1 for none or one so far that the sum would overflow */
static int64_t deadline_of(int64_t timeout) {
  int64_t now = pp_os_now();
  return timeout < 0 || timeout > INT64_MAX - now ? -1 : now + timeout;
}

int pp_os_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout) {
  bucket *b = bucket_of(word);
  sleeper self = {.word = word};
  int64_t deadline = deadline_of(timeout);

  // pp_os_wake takes the lock too, so it can't run between the comparison and the sleep
  pthread_mutex_lock(&b->lock);
  if (atomic_load(word) != expected) {
    pthread_mutex_unlock(&b->lock);
    return PP_OK;
  }
  cond_init(&self.woken);
  append_locked(b, &self);
  int failed = 0;
  while (!self.is_woken && !failed) failed = cond_wait(&self.woken, &b->lock, deadline);
  if (!self.is_woken) remove_locked(b, &self);
  pthread_mutex_unlock(&b->lock);
  pthread_cond_destroy(&self.woken);
  return self.is_woken ? PP_OK : PP_AGAIN;
}

void pp_os_wake(_Atomic uint32_t *word, int32_t count) {
  bucket *b = bucket_of(word);
  pthread_mutex_lock(&b->lock);
  sleeper **link = &b->first;
  while (*link && count > 0) {
    sleeper *one = *link;
    if (one->word != word) {
      link = &one->next;
      continue;
    }
    *link = one->next;
    one->is_woken = true;
    count--;
    // under the lock: after its release the sleeper may return, and its stack frame is gone
    pthread_cond_signal(&one->woken);
  }
  pthread_mutex_unlock(&b->lock);
}

/* The calls of macOS's <os/os_sync_wait_on_address.h>, which older SDKs lack. They return a
 * negative number and set errno on failure. A wait returns at once if the value differs. */
typedef int wait_on_address(void *word, uint64_t expected, size_t size, uint32_t flags);
typedef int wait_on_address_with_timeout(void *word, uint64_t expected, size_t size, uint32_t flags,
                                         uint32_t clock, uint64_t timeout);
typedef int wake_by_address(void *word, size_t size, uint32_t flags);

/* null where the system lacks them */
typedef struct address_calls {
  wait_on_address *wait;
  wait_on_address_with_timeout *wait_with_timeout;
  wake_by_address *wake_one, *wake_all;
} address_calls;

enum {
  SHARED = 1,    /* OS_SYNC_WAIT_ON_ADDRESS_SHARED, OS_SYNC_WAKE_BY_ADDRESS_SHARED */
  MACH_TIME = 32 /* OS_CLOCK_MACH_ABSOLUTE_TIME; timeouts are nanoseconds all the same */
};
/* nanoseconds of one wait: the system refuses very long ones */
static const int64_t LONGEST_WAIT = INT64_C(60000000000);

static address_calls found_calls;
static pthread_once_t found_once = PTHREAD_ONCE_INIT;

static void find_calls(void) {
#if defined(__APPLE__)
  // a conversion by memory, as ISO C has none from a pointer to data
  const struct {
    const char *name;
    void *place;
  } calls[] = {
      {"os_sync_wait_on_address", &found_calls.wait},
      {"os_sync_wait_on_address_with_timeout", &found_calls.wait_with_timeout},
      {"os_sync_wake_by_address_any", &found_calls.wake_one},
      {"os_sync_wake_by_address_all", &found_calls.wake_all},
  };
  for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
    void *found = dlsym(RTLD_DEFAULT, calls[i].name);
    if (!found) {
      found_calls = (address_calls){0};
      return;
    }
    *(void **)calls[i].place = found;
  }
#endif
}

/* returns the calls; null if the system lacks one of them, so that wakers and sleepers agree */
static const address_calls *calls_or_null(void) {
  pthread_once(&found_once, find_calls);
  return found_calls.wait ? &found_calls : NULL;
}

/* Sleeps by the system's calls. Returns as pp_os_wait_shared, or PP_ERR_SYSTEM if they refuse. */
static int wait_by_calls(const address_calls *calls, _Atomic uint32_t *word, uint32_t expected,
                         int64_t deadline) {
  while (atomic_load(word) == expected) {
    int status;
    if (deadline < 0) {
      status = calls->wait((void *)word, expected, sizeof(*word), SHARED);
    } else {
      int64_t left = deadline - pp_os_now();
      if (left <= 0) return PP_AGAIN;
      status = calls->wait_with_timeout((void *)word, expected, sizeof(*word), SHARED, MACH_TIME,
                                        (uint64_t)(left < LONGEST_WAIT ? left : LONGEST_WAIT));
    }
    if (status >= 0) return PP_OK;
    if (errno == EINTR) return PP_AGAIN;
    if (errno != ETIMEDOUT) return PP_ERR_SYSTEM;
  }
  return PP_OK;
}

int pp_os_wait_shared(_Atomic uint32_t *word, uint32_t expected, int64_t timeout) {
  int64_t deadline = deadline_of(timeout), nap = FIRST_NAP;
  const address_calls *calls = calls_or_null();
  int status = calls ? wait_by_calls(calls, word, expected, deadline) : PP_ERR_SYSTEM;
  if (status != PP_ERR_SYSTEM) return status;
  while (atomic_load(word) == expected) {
    int64_t left = deadline < 0 ? nap : deadline - pp_os_now();
    if (left <= 0) return PP_AGAIN;
    struct timespec time = timespec_of(left < nap ? left : nap);
    if (nanosleep(&time, NULL) != 0) return PP_AGAIN;  // a signal
    if (nap < LONGEST_NAP) nap *= 2;
  }
  return PP_OK;
}

void pp_os_wake_shared(_Atomic uint32_t *word, int32_t count) {
  const address_calls *calls = calls_or_null();
  if (!calls) return;  // sleepers poll
  if (count == INT32_MAX) {
    calls->wake_all((void *)word, sizeof(*word), SHARED);
    return;
  }
  // an error says that no one sleeps any more
  while (count-- > 0 && calls->wake_one((void *)word, sizeof(*word), SHARED) >= 0) {
  }
}

#endif

void pp_os_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // yield does nothing on most cores; isb waits about as long as pause does
  __asm__ volatile("isb");
#else
  atomic_signal_fence(memory_order_seq_cst);
#endif
}
