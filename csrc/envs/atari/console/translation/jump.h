/* Jump: what jumps of all kinds end with. */
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_JUMP_H
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_JUMP_H

#include "emitter.h"

/* Returns whether a jump to this address stays in the image, and sets *to. */
bool emitter_find_target(const pp_emitter *e, unsigned address, uint32_t *to);

/* exec->home = the high four bits of an address */
void emit_set_home(pp_emitter *e, unsigned address);

/* Jumps to an instruction of the image, after `cycles` cycles. */
void emit_jump_within(pp_emitter *e, uint32_t to, uint32_t cycles);

/* Jumps to the address in EDX, in which A12 is high. */
void emit_jump_to_address(pp_emitter *e, uint32_t cycles);

/* The interpreter runs a jump to another image, and enters the translation there. */
pp_translate_result emitter_refuse_jump(pp_emitter *e, unsigned address);

#endif
