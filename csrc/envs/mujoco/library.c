/* The user's own MuJoCo: functions and fields of the library that Python has loaded. */
#include "library.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ link -- */

/* the text after "name=" at the start of a line; null: no such line */
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
    snprintf(error->text, sizeof(error->text), "the installed MuJoCo has no %s", name);
    return PP_ERR_ARGUMENT;
  }
  *number = strtoll(text, NULL, 10);
  return PP_OK;
}

typedef struct entry {
  const char *name;
  size_t at;
  int32_t may_lack;
} entry;

#define FUNCTION(name) {#name, offsetof(mujoco_library, name), 0}
#define HANDLER(name) {#name, offsetof(mujoco_library, name), 1}

static const entry functions[] = {
    FUNCTION(mj_copyModel),  FUNCTION(mj_deleteModel), FUNCTION(mj_makeData),
    FUNCTION(mj_deleteData), FUNCTION(mj_copyData),    FUNCTION(mj_resetData),
    FUNCTION(mj_forward),    FUNCTION(mj_step),        FUNCTION(mj_rnePostConstraint),
    FUNCTION(mj_name2id),    FUNCTION(mj_stateSize),   FUNCTION(mj_getState),
    FUNCTION(mj_setState),   HANDLER(set_error),       HANDLER(set_warning),
    HANDLER(set_log),        HANDLER(mjcb_time),
};

#define PLACE(name) {#name, offsetof(mujoco_places, name), 0}

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
    if (status < 0 && !functions[i].may_lack) return status;
    // POSIX has functions' addresses fit into pointers to data
    memcpy((char *)library + functions[i].at, &address, sizeof(address));
  }
  if (!library->set_log && !(library->set_error && library->set_warning)) {
    snprintf(error->text, sizeof(error->text), "the installed MuJoCo has no handlers of errors");
    return PP_ERR_ARGUMENT;
  }
  for (size_t i = 0; i < COUNT(places_of_fields); i++) {
    int64_t place = 0;
    int status = mujoco_link_number(link, places_of_fields[i].name, &place, error);
    if (status < 0) return status;
    memcpy((char *)places + places_of_fields[i].at, &place, sizeof(place));
  }
  return PP_OK;
}

/* ----------------------------------------------------------------------------------- calls -- */

/* one mujoco_call, on the stack of its thread */
typedef struct call {
  jmp_buf on_error;
  char *text; /* PP_ERROR_TEXT bytes */
} call;

/* The call that this thread is in; null: none. MuJoCo asks for the clock so often that the way to
 * it shows: "initial-exec" is a load instead of a function call. It wants room that the C library
 * keeps free for modules loaded late, and not much of it: a pointer, and nothing larger. */
#if defined(__linux__)
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local call *current;

/* The clock for everybody else. Written by who mutes, read by any thread; relaxed, as it points to
 * nothing but code, and who finds none yet does without. */
static _Atomic(mujoco_clock *) others_clock;

static double read_clock(void) {
  if (current) return 0;
  mujoco_clock *theirs = atomic_load_explicit(&others_clock, memory_order_relaxed);
  return theirs ? theirs() : 0;
}

void mujoco_mute_clock(const mujoco_library *library) {
  if (!library->mjcb_time) return;
  mujoco_clock *found = atomic_load_explicit(library->mjcb_time, memory_order_relaxed);
  if (!found || found == read_clock) return;
  atomic_store_explicit(&others_clock, found, memory_order_relaxed);
  atomic_store_explicit(library->mjcb_time, read_clock, memory_order_relaxed);
}

static void leave(const char *text) {
  call *it = current;
  snprintf(it->text, PP_ERROR_TEXT, "%s", text);
  longjmp(it->on_error, 1);
}

static void drop(const char *text) {
  (void)text;
}

/* how MuJoCo's mjLogMessage begins, from 3.10 on */
typedef struct log_message {
  int level;
  int topic;
  char subject[];
} log_message;

enum { LOG_ERROR = 3 };

static void listen(const void *message) {
  const log_message *it = message;
  if (it->level >= LOG_ERROR) leave(it->subject);
}

/* in a function of its own, which has no variable that longjmp could spoil */
static int protect(call *it, void (*work)(void *), void *argument) {
  if (setjmp(it->on_error)) return PP_ERR_ENV;
  work(argument);
  return PP_OK;
}

int mujoco_call(const mujoco_library *library, void (*work)(void *), void *argument, char *text) {
  call it;
  int status;

  it.text = text;
  current = &it;
  // The handlers are the thread's own. What they were is lost up to 3.9, where Python's bindings
  // set theirs before every call; afterwards it is put back.
  if (!library->set_log) {
    library->set_error(leave);
    library->set_warning(drop);
    status = protect(&it, work, argument);
    library->set_error(NULL);
    library->set_warning(NULL);
  } else {
    mujoco_log_handler *before = library->set_log(listen);
    status = protect(&it, work, argument);
    library->set_log(before);
  }
  current = NULL;
  return status;
}
