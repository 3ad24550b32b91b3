/* A small test framework: TEST defines and registers a test, the CHECK macros count what holds and
 * what does not.
 *
 *     #include "check.h"
 *     TEST(one_and_one_are_two) { CHECK_EQ(1 + 1, 2); }
 *
 * That is a whole program: it runs its tests in order, or only those whose names contain its first
 * argument. It exits with status 1 if a check failed or a test checked nothing. Any thread may make
 * checks. A program with a main of its own defines CHECK_NO_MAIN first, and so does a file that
 * holds only what tests share. */
#ifndef PP_TESTS_CHECK_H
#define PP_TESTS_CHECK_H

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { CHECK_MAX_TESTS = 256 };

static struct check_test {
  const char *name;
  void (*run)(void);
} check_tests[CHECK_MAX_TESTS];
static int check_num_tests;
/* weak: all files of a program share them */
__attribute__((weak)) atomic_int check_passed, check_failed;

#define TEST(name)                                                       \
  static void name(void);                                                \
  __attribute__((constructor)) static void check_register_##name(void) { \
    check_register(#name, name);                                         \
  }                                                                      \
  static void name(void)

#define CHECK(condition) check_that(!!(condition), #condition, __FILE__, __LINE__)
/* the same, and returns from the test (or a helper that returns void) if the condition fails */
#define REQUIRE(condition)         \
  do {                             \
    if (!CHECK(condition)) return; \
  } while (0)
#define CHECK_EQ(seen, expected) \
  check_equal((long long)(seen), (long long)(expected), #seen, __FILE__, __LINE__)
#define CHECK_TEXT(seen, expected) check_text(seen, expected, #seen, __FILE__, __LINE__)

static inline void check_register(const char *name, void (*run)(void)) {
  // if more are registered than fit, main returns an error
  if (check_num_tests < CHECK_MAX_TESTS)
    check_tests[check_num_tests] = (struct check_test){name, run};
  ++check_num_tests;
}

static inline int check_count(int holds) {
  atomic_fetch_add(holds ? &check_passed : &check_failed, 1);
  return holds;
}

static inline int check_that(int holds, const char *condition, const char *file, int line) {
  if (!holds) printf("%s:%d: %s does not hold\n", file, line, condition);
  return check_count(holds);
}

static inline int check_equal(long long seen, long long expected, const char *what,
                              const char *file, int line) {
  if (seen != expected) printf("%s:%d: %s is %lld, not %lld\n", file, line, what, seen, expected);
  return check_count(seen == expected);
}

static inline int check_text(const char *seen, const char *expected, const char *what,
                             const char *file, int line) {
  int same = seen && expected && strcmp(seen, expected) == 0;
  if (!same) {
    printf("%s:%d: %s is \"%s\", not \"%s\"\n", file, line, what, seen ? seen : "(null)",
           expected ? expected : "(null)");
  }
  return check_count(same);
}

#ifndef CHECK_NO_MAIN

static int check_run(const struct check_test *test) {
  int failed = atomic_load(&check_failed), passed = atomic_load(&check_passed);
  test->run();
  failed = atomic_load(&check_failed) - failed;
  passed = atomic_load(&check_passed) - passed;
  const char *verdict = failed ? "FAILED" : passed ? "ok" : "CHECKED NOTHING";
  printf("%-60s %s\n", test->name, verdict);
  return failed == 0 && passed > 0;
}

int main(int argc, char **argv) {
  int bad = 0, run = 0;
  // what was printed before a crash must not be lost
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 0; i < check_num_tests && i < CHECK_MAX_TESTS; ++i) {
    if (argc > 1 && !strstr(check_tests[i].name, argv[1])) continue;
    bad += !check_run(&check_tests[i]);
    ++run;
  }
  printf("%d tests, %d bad\n", run, bad);
  return bad > 0 || run == 0 || check_num_tests > CHECK_MAX_TESTS;
}

#endif

#endif
