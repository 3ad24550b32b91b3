/* Calls into the installed MuJoCo: the functions of the library that Python has loaded, and where
 * mjData keeps its fields.
 *
 * The build reads no MuJoCo header, so one build works with every version from 3.1 to 4.x. Instead
 * parallel_pool/_families/mujoco.py passes a string, the "link": lines of `name=number`, where a
 * number is an address, a size, or the offset of a field in mjData. */
#ifndef PP_ENVS_MUJOCO_LIBRARY_H
#define PP_ENVS_MUJOCO_LIBRARY_H

#include <stdatomic.h>
#include <stdint.h>

#include "pp_env.h"
#include "pp_robot.h"

/* members of MuJoCo's mjtObj; the same in all versions */
enum { MUJOCO_BODY = 1, MUJOCO_GEOM = 5, MUJOCO_SITE = 6 };

/* takes a pointer to MuJoCo's mjLogMessage */
typedef void mujoco_log_handler(const void *message);

/* MuJoCo's mjfTime */
typedef double mujoco_clock(void);

/* MuJoCo's functions, under their own names */
typedef struct mujoco_library {
  mjModel *(*mj_copyModel)(mjModel *into, const mjModel *model);
  void (*mj_deleteModel)(mjModel *model);
  mjData *(*mj_makeData)(const mjModel *model);
  void (*mj_deleteData)(mjData *data);
  mjData *(*mj_copyData)(mjData *into, const mjModel *model, const mjData *data);
  void (*mj_resetData)(const mjModel *model, mjData *data);
  void (*mj_forward)(const mjModel *model, mjData *data);
  void (*mj_step)(const mjModel *model, mjData *data);
  void (*mj_step1)(const mjModel *model, mjData *data); /* a step's first part: positions... */
  void (*mj_step2)(const mjModel *model, mjData *data); /* ... and the part that needs controls */
  void (*mj_setConst)(mjModel *model, mjData *data);
  void (*mj_rnePostConstraint)(const mjModel *model, mjData *data);
  void (*mj_objectVelocity)(const mjModel *model, const mjData *data, int type, int id,
                            double *velocity, int is_local);
  void (*mj_jacSite)(const mjModel *model, const mjData *data, double *jacp, double *jacr,
                     int site);
  int (*mj_name2id)(const mjModel *model, int type, const char *name);
  int (*mj_stateSize)(const mjModel *model, unsigned spec);
  void (*mj_getState)(const mjModel *model, const mjData *data, double *state, unsigned spec);
  void (*mj_setState)(const mjModel *model, mjData *data, const double *state, unsigned spec);
  /* These set the calling thread's handlers of errors and warnings: two functions up to 3.9, one
   * since 3.10. Null in the other versions. */
  void (*set_error)(void (*handler)(const char *text));
  void (*set_warning)(void (*handler)(const char *text));
  mujoco_log_handler *(*set_log)(mujoco_log_handler *handler);
  /* The address of MuJoCo's variable mjcb_time, which holds its clock; null: this version has none.
   * MuJoCo reads it as a plain variable. We write it relaxed: either clock works at any time. */
  _Atomic(mujoco_clock *) *mjcb_time;
} mujoco_library;

/* for each field that tasks read or write: the offset in mjData of the pointer to it, in bytes */
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

/* Reads the number of a line of the link. Fails if there is no such line. */
int mujoco_link_number(const pp_value *link, const char *name, int64_t *number, pp_error *error);

/* Reads all functions and places. Fails if one is missing that is not optional. */
int mujoco_link_read(const pp_value *link, mujoco_library *library, mujoco_places *places,
                     pp_error *error);

/* Disables MuJoCo's timers within mujoco_call. Python's bindings install a clock, which MuJoCo
 * would read some 30 times in each mj_step, for numbers that a pool does not use. Other calls of
 * MuJoCo in this process are timed as before. */
void mujoco_mute_clock(const mujoco_library *library);

/* Calls work(argument) with this thread's handlers of errors and warnings replaced. Warnings are
 * dropped (Gymnasium's environments write them into a MUJOCO_LOG.TXT). An error ends the call,
 * which then returns PP_ERR_ENV with MuJoCo's message in text, of PP_ERROR_TEXT bytes. */
int mujoco_call(const mujoco_library *library, void (*work)(void *), void *argument, char *text);

#endif
