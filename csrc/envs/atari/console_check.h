/* Console check: whether a console from a snapshot is one that play can have made. */
#ifndef PP_ENVS_ATARI_CONSOLE_CHECK_H
#define PP_ENVS_ATARI_CONSOLE_CHECK_H

#include <stdbool.h>

#include "console/console.h"
#include "pp_env.h"
#include "setup.h"

/* Checks a console that is to replace `present`, the environment's console. has_power: the console
 * was switched on; otherwise it must be as the engine made it. Returns false, with the reason in
 * env->error, for values with which a frame would leave the console's memory or not end. */
bool pp_console_check(const pp_env *env, const pp_console *console, const pp_console *present,
                      const pp_setup *setup, bool has_power);

/* Checks that the console was switched on, which every reset does; otherwise no frame may run.
 * Returns the status. */
int pp_console_check_power(const pp_env *env, bool has_power);

#endif
