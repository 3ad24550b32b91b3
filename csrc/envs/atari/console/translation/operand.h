/* Operand: where a value that is read comes from, and what is done with it. */
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_OPERAND_H
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_OPERAND_H

#include "emitter.h"

/* where a value that is read comes from */
typedef struct pp_operand {
  enum { FROM_CONSTANT, FROM_MEMORY, FROM_RAX } from;
  uint32_t constant;
  pp_place place;
} pp_operand;

/* reg = operand */
void emit_load(pp_emitter *e, int reg, const pp_operand *o);

/* reg = reg <operation> operand, on the low byte; opcode and operation are the same operation */
void emit_combine(pp_emitter *e, unsigned opcode, unsigned operation, int reg, const pp_operand *o);

/* Compares the low byte of a register with the operand, and sets what is known of the flags. */
void emit_compare(pp_emitter *e, int reg, const pp_operand *o);

#endif
