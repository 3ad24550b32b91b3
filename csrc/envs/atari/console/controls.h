/* Controls: the joysticks and paddles of a console. */
#ifndef PP_ENVS_ATARI_CONSOLE_CONTROLS_H
#define PP_ENVS_ATARI_CONSOLE_CONTROLS_H

#include "../games/games.h"
#include "machine.h"

/* Puts the controllers into the state in which they are when the power is switched on. */
void pp_controls_power(pp_machine *machine, const pp_hardware *hardware);

/* Releases all sticks and buttons; paddles stay where they are. */
void pp_controls_release(pp_machine *machine);

/* Sets the pins of a player's controller by an action of ALE's list (0..17), after
 * pp_controls_release. A paddle turns by `strength` times its usual step. */
void pp_controls_apply(pp_machine *machine, const pp_hardware *hardware, int player, int action,
                       float strength);

#endif
