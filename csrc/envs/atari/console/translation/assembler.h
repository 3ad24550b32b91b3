/* Assembler: writes x86-64 machine code, as far as the translator needs it.
 *
 * An instruction is written by its form: two registers, a register and memory, a register and a
 * constant, memory and a constant. The names of opcodes say what they do; `reg` is the operand that
 * the opcode's direction calls the destination, except for stores. */
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_ASSEMBLER_H
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_ASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pp_assembler {
  uint8_t *code;
  size_t size, room;
  bool failed; /* out of memory; what was written since is lost */
} pp_assembler;

/* registers, by their numbers in the machine code */
typedef enum pp_host {
  RAX,
  RCX,
  RDX,
  RBX,
  RSP,
  RBP,
  RSI,
  RDI,
  R8,
  R9,
  R10,
  R11,
  R12,
  R13,
  R14,
  R15,
  NO_INDEX = -1
} pp_host;

/* opcodes for a register and a register or memory; 32 bits, or 8 bits where the name ends in 8 */
enum {
  OP_ADD8 = 0x02,
  OP_ADD = 0x03,
  OP_OR = 0x0b,
  OP_OR8 = 0x0a,
  OP_ADC8 = 0x12,
  OP_SBB8 = 0x1a,
  OP_AND8 = 0x22,
  OP_AND = 0x23,
  OP_SUB8 = 0x2a,
  OP_SUB = 0x2b,
  OP_XOR8 = 0x32,
  OP_CMP8 = 0x3a,
  OP_CMP = 0x3b,
  OP_TEST8 = 0x84,
  OP_STORE8 = 0x88,
  OP_STORE = 0x89,
  OP_LOAD = 0x8b,
  OP_LEA = 0x8d,
  OP_LOAD_BYTE = 0x0fb6,
  OP_LOAD_WORD = 0x0fb7,
  OP_LOAD_SIGNED = 0x63,
};

/* operations with a constant, by their number in the machine code */
enum {
  IMM_ADD = 0,
  IMM_OR = 1,
  IMM_ADC = 2,
  IMM_SBB = 3,
  IMM_AND = 4,
  IMM_SUB = 5,
  IMM_XOR = 6,
  IMM_CMP = 7
};

/* shifts, by their number in the machine code */
enum { SHIFT_RCR = 3, SHIFT_LEFT = 4, SHIFT_RIGHT = 5 };

/* conditions */
enum {
  IF_OVERFLOW = 0,
  IF_BELOW = 2,
  IF_NOT_BELOW = 3,
  IF_EQUAL = 4,
  IF_NOT_EQUAL = 5,
  IF_ABOVE = 7,
  IF_SIGN = 8,
  IF_NO_SIGN = 9
};

/* an operand in memory: base + index * 2^scale + disp */
typedef struct pp_place {
  int base, index, scale;
  int32_t disp;
} pp_place;

/* ------------------------------------------------------------------------------------- bytes -- */

void as_byte(pp_assembler *as, unsigned byte);
void as_word(pp_assembler *as, uint32_t word); /* 32 bits */

/* Overwrites a distance of 32 bits that is counted from its end, so that it leads to `target`. */
void as_patch(pp_assembler *as, size_t at, size_t target);

/* ---------------------------------------------------------------------- registers and memory -- */

void as_register(pp_assembler *as, unsigned opcode, int reg, int with);
void as_memory(pp_assembler *as, unsigned opcode, int reg, pp_place p);

/* 64 bits */
void as_register64(pp_assembler *as, unsigned opcode, int reg, int with);
void as_memory64(pp_assembler *as, unsigned opcode, int reg, pp_place p);

/* 64 bits if `wide` is true */
void as_memory_of(pp_assembler *as, unsigned opcode, int reg, pp_place p, bool wide);

void as_store_word(pp_assembler *as, int reg, pp_place p); /* 16 bits */

/* --------------------------------------------------------------------------------- constants -- */

/* reg = reg <operation> constant */
void as_constant(pp_assembler *as, unsigned operation, int reg, uint32_t constant);
void as_constant8(pp_assembler *as, unsigned operation, int reg, unsigned constant);

/* reg = constant */
void as_set(pp_assembler *as, int reg, uint32_t constant);

/* reg = with * constant */
void as_multiply(pp_assembler *as, int reg, int with, uint32_t constant);

void as_test(pp_assembler *as, int reg, uint32_t bits);
void as_compare8(pp_assembler *as, pp_place p, unsigned constant);
void as_store_constant8(pp_assembler *as, pp_place p, unsigned constant);
void as_store_constant(pp_assembler *as, pp_place p, uint32_t constant);

/* ---------------------------------------------------------------------------- single operand -- */

void as_shift(pp_assembler *as, unsigned operation, int reg, unsigned count);
void as_shift_by(pp_assembler *as, unsigned operation, int reg); /* by CL */
void as_shift8(pp_assembler *as, unsigned operation, int reg);   /* the low byte, by one bit */
void as_increment8(pp_assembler *as, int reg);
void as_decrement8(pp_assembler *as, int reg);

/* the carry flag = bit 0 */
void as_carry_from(pp_assembler *as, int reg);

/* the low byte = whether the condition holds */
void as_set_if(pp_assembler *as, unsigned condition, int reg);
void as_store_if(pp_assembler *as, unsigned condition, pp_place p);

void as_push(pp_assembler *as, int reg);
void as_pop(pp_assembler *as, int reg);
void as_move_stack(pp_assembler *as, int8_t by);

/* ------------------------------------------------------------------------------------- jumps -- */

/* These return where their distance is, for as_patch. */
size_t as_jump_if(pp_assembler *as, unsigned condition);
size_t as_jump(pp_assembler *as);
size_t as_call(pp_assembler *as);

/* reg = the address of what as_patch makes of the returned distance */
size_t as_address(pp_assembler *as, int reg);

void as_jump_to_register(pp_assembler *as, int reg);
void as_call_place(pp_assembler *as, pp_place p);
void as_return(pp_assembler *as);

#endif
