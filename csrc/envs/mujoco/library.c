/* Calls into the installed MuJoCo: reads the link, catches errors, and disables timers. */
#include "library.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* ------------------------------------------------------------------------------------ link -- */

/* returns the text after "name=" at the start of a line; null: no such line */
static const char *find(const pp_value *link, const char *name) {
  size_t length = strlen(name);
  for (const char *line = link->s; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (!strncmp(line, name, length) && line[length] == '=') return line + length + 1;
  }
  return NULL;
}

int mujoco_link_number(const pp_value *link, const char *name, int64_t *number, pp_error *error) {
  const char *text = find(link, name);
  if (!text) {
    return pp_fail(error, PP_ERR_ARGUMENT,
                   "the installed MuJoCo has no %s: install a version from 3.1 to 4.x", name);
  }
  *number = strtoll(text, NULL, 10);
  return PP_OK;
}

/* a line of the link and the member that holds its number */
typedef struct entry {
  const char *name;
  size_t offset;
  bool is_optional;
} entry;

#define REQUIRED(name) {#name, offsetof(mujoco_library, name), false}
#define OPTIONAL(name) {#name, offsetof(mujoco_library, name), true}

static const entry functions[] = {
    REQUIRED(mj_copyModel),  REQUIRED(mj_deleteModel),    REQUIRED(mj_makeData),
    REQUIRED(mj_deleteData), REQUIRED(mj_copyData),       REQUIRED(mj_resetData),
    REQUIRED(mj_forward),    REQUIRED(mj_step),           REQUIRED(mj_rnePostConstraint),
    REQUIRED(mj_name2id),    REQUIRED(mj_stateSize),      REQUIRED(mj_getState),
    REQUIRED(mj_setState),   REQUIRED(mj_setConst),       REQUIRED(mj_step1),
    REQUIRED(mj_step2),      REQUIRED(mj_objectVelocity), REQUIRED(mj_jacSite),
    OPTIONAL(set_error),     OPTIONAL(set_warning),       OPTIONAL(set_log),
    OPTIONAL(mjcb_time),
};

#define PLACE(name) {#name, offsetof(mujoco_places, name), false}

static const entry places_of_fields[] = {
    PLACE(qpos),          PLACE(qvel),
    PLACE(ctrl),          PLACE(xpos),
    PLACE(xipos),         PLACE(site_xpos),
    PLACE(cinert),        PLACE(cvel),
    PLACE(qfrc_actuator), PLACE(qfrc_constraint),
    PLACE(cfrc_ext),      PLACE(ten_length),
    PLACE(ten_velocity),
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

int mujoco_link_read(const pp_value *link, mujoco_library *library, mujoco_places *places,
                     pp_error *error) {
  memset(library, 0, sizeof(*library));
  for (size_t i = 0; i < COUNT(functions); i++) {
    int64_t address = 0;
    int status = mujoco_link_number(link, functions[i].name, &address, error);
    if (status < 0 && !functions[i].is_optional) return status;
    // POSIX guarantees that a pointer to data can hold a function's address
    memcpy((char *)library + functions[i].offset, &address, sizeof(address));
  }
  if (!library->set_log && !(library->set_error && library->set_warning)) {
    return pp_fail(
        error, PP_ERR_ARGUMENT,
        "the installed MuJoCo has no handlers of errors: install a version from 3.1 to 4.x");
  }
  for (size_t i = 0; i < COUNT(places_of_fields); i++) {
    int64_t place = 0;
    int status = mujoco_link_number(link, places_of_fields[i].name, &place, error);
    if (status < 0) return status;
    memcpy((char *)places + places_of_fields[i].offset, &place, sizeof(place));
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------ the clock -- */

/* one mujoco_call, on the stack of its thread */
typedef struct call {
  jmp_buf on_error;
  char *text; /* PP_ERROR_TEXT bytes */
} call;

/* The call that this thread is in; null: none. MuJoCo reads the clock so often that access to this
 * variable shows in the time of a step. With "initial-exec" it is a load instead of a function
 * call. Such variables take space that the C library reserves for libraries loaded at run time.
 * There is little of it, so this is a pointer and nothing larger. musl reserves none, and would
 * refuse to load the library. */
#if defined(__GLIBC__)
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local call *current_call;

/* The clock that MuJoCo had before. mujoco_mute_clock writes it, every thread that calls MuJoCo
 * reads it. Relaxed: it points only to code, and a thread that still reads null uses no clock. */
static _Atomic(mujoco_clock *) original_clock;

static double read_clock(void) {
  if (current_call) return 0;
  mujoco_clock *original = atomic_load_explicit(&original_clock, memory_order_relaxed);
  return original ? original() : 0;
}

void mujoco_mute_clock(const mujoco_library *library) {
  if (!library->mjcb_time) return;
  mujoco_clock *found = atomic_load_explicit(library->mjcb_time, memory_order_relaxed);
  if (!found || found == read_clock) return;
  atomic_store_explicit(&original_clock, found, memory_order_relaxed);
  atomic_store_explicit(library->mjcb_time, read_clock, memory_order_relaxed);
}

/* ---------------------------------------------------------------------------------- errors -- */

static void end_call(const char *text) {
  call *it = current_call;
  snprintf(it->text, PP_ERROR_TEXT, "%s", text);
  longjmp(it->on_error, 1);
}

static void ignore(const char *text) {
  (void)text;
}

/* the first members of MuJoCo's mjLogMessage, since 3.10 */
typedef struct log_message {
  int level;
  int topic;
  char subject[];
} log_message;

enum { LOG_ERROR = 3 };

static void handle_log(const void *message) {
  const log_message *it = message;
  if (it->level >= LOG_ERROR) end_call(it->subject);
}

/* A function of its own, because longjmp makes local variables that changed indeterminate. */
static int protect(call *it, void (*work)(void *), void *argument) {
  if (setjmp(it->on_error)) return PP_ERR_ENV;
  work(argument);
  return PP_OK;
}

int mujoco_call(const mujoco_library *library, void (*work)(void *), void *argument, char *text) {
  call it;
  int status;

  it.text = text;
  current_call = &it;
  // The handlers are the thread's own. Up to 3.9 they can't be read, so they are removed
  // afterwards: Python's bindings set theirs before every call. Since 3.10 the previous handler is
  // restored.
  if (!library->set_log) {
    library->set_error(end_call);
    library->set_warning(ignore);
    status = protect(&it, work, argument);
    library->set_error(NULL);
    library->set_warning(NULL);
  } else {
    mujoco_log_handler *before = library->set_log(handle_log);
    status = protect(&it, work, argument);
    library->set_log(before);
  }
  current_call = NULL;
  return status;
}
