/* Trampolines: the way into the machine code and back, and calls of the interpreter's functions. */
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_TRAMPOLINES_H
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_TRAMPOLINES_H

#include "emitter.h"

/* Emits pp_translation_enter at the start of the code, the way back (e->side_exit), and the calls
 * of exec->read and exec->write (e->read, e->write). */
void emit_trampolines(pp_emitter *e);

#endif
