/* Program: the blocks of a whole cartridge, and how they are joined. */
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_PROGRAM_H
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_PROGRAM_H

#include "emitter.h"

/* Emits the machine code of the whole cartridge. Fails (e->as.failed) without memory. */
void emit_program(pp_emitter *e);

#endif
