/* Block: a run of instructions that is entered at its start only. It begins where a jump may lead
 * and goes on past branches that are not taken, up to a jump, to the start of another block, or to
 * an instruction that the interpreter must run. */
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_BLOCK_H
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_BLOCK_H

#include "emitter.h"

/* Translates the block that begins at an instruction of e->image. */
void translate_block(pp_emitter *e, uint32_t at);

#endif
