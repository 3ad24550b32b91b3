/* The user's own MuJoCo: functions and fields of the library that Python has loaded.
 *
 * No MuJoCo header is read at build time, so one build drives every version from 3.1 to 4.x. What
 * parallel_pool/envs/mujoco.py knows of the library and of one model arrives as a text, the "link":
 * lines of `name=number`, where a number is an address, a size, or the place of a field in mjData.
 */
#ifndef PP_ENVS_MUJOCO_LIBRARY_H
#define PP_ENVS_MUJOCO_LIBRARY_H

#include <stdatomic.h>
#include <stdint.h>

#include "pp_env.h"

typedef struct mjModel_ mjModel;
typedef struct mjData_ mjData;

/* MuJoCo's mjtObj, as far as tasks look things up by name; the same in all versions */
enum { MUJOCO_BODY = 1, MUJOCO_SITE = 6 };

/* takes an mjLogMessage */
typedef void mujoco_log_handler(const void *message);

/* MuJoCo's mjfTime */
typedef double mujoco_clock(void);

/* its functions, by their own names */
typedef struct mujoco_library {
  mjModel *(*mj_copyModel)(mjModel *into, const mjModel *model);
  void (*mj_deleteModel)(mjModel *model);
  mjData *(*mj_makeData)(const mjModel *model);
  void (*mj_deleteData)(mjData *data);
  mjData *(*mj_copyData)(mjData *into, const mjModel *model, const mjData *data);
  void (*mj_resetData)(const mjModel *model, mjData *data);
  void (*mj_forward)(const mjModel *model, mjData *data);
  void (*mj_step)(const mjModel *model, mjData *data);
  void (*mj_rnePostConstraint)(const mjModel *model, mjData *data);
  int (*mj_name2id)(const mjModel *model, int type, const char *name);
  int (*mj_stateSize)(const mjModel *model, unsigned spec);
  void (*mj_getState)(const mjModel *model, const mjData *data, double *state, unsigned spec);
  void (*mj_setState)(const mjModel *model, mjData *data, const double *state, unsigned spec);
  /* what a thread does on errors and warnings: up to 3.9 two functions, from then on one */
  void (*set_error)(void (*handler)(const char *text));
  void (*set_warning)(void (*handler)(const char *text));
  mujoco_log_handler *(*set_log)(mujoco_log_handler *handler);
  /* MuJoCo's variable of this name, where it finds a clock; null: this version has none. It knows
   * nothing of atomics; ours write it relaxed, for both what was there and what comes will do */
  _Atomic(mujoco_clock *) *mjcb_time;
} mujoco_library;

/* fields of mjData that tasks read or write, as bytes from its start to the pointer */
typedef struct mujoco_places {
  int64_t qpos;
  int64_t qvel;
  int64_t ctrl;
  int64_t xpos;
  int64_t xipos;
  int64_t site_xpos;
  int64_t cinert;
  int64_t cvel;
  int64_t qfrc_actuator;
  int64_t qfrc_constraint;
  int64_t cfrc_ext;
  int64_t ten_length;
  int64_t ten_velocity;
} mujoco_places;

/* the number of a line of the link; fails when there is none */
int mujoco_link_number(const pp_value *link, const char *name, int64_t *number, pp_error *error);

/* reads all functions and places */
int mujoco_link_read(const pp_value *link, mujoco_library *library, mujoco_places *places,
                     pp_error *error);

/* Keeps MuJoCo from timing its parts within mujoco_call: it would read the clock some 30 times in
 * each mj_step, for numbers that nobody sees, and Python's bindings have given it a clock. Other
 * calls of MuJoCo in this process are timed as before. */
void mujoco_mute_clock(const mujoco_library *library);

/* Calls work(argument) with MuJoCo's complaints in our hands: warnings are dropped (Gymnasium's
 * users find them in a MUJOCO_LOG.TXT); an error ends the call, which then returns PP_ERR_ENV with
 * MuJoCo's words in text, of PP_ERROR_TEXT bytes. */
int mujoco_call(const mujoco_library *library, void (*work)(void *), void *argument, char *text);

#endif
