/* Assembler: the bytes of each form of instruction. */
#include "assembler.h"

#include <stdlib.h>
#include <string.h>

void as_byte(pp_assembler *as, unsigned byte) {
  if (as->size == as->room) {
    size_t room = as->room ? as->room * 2 : 1 << 16;
    uint8_t *more = as->failed ? NULL : realloc(as->code, room);
    if (!more) {
      as->failed = true;
      as->size = 0;
      if (as->room == 0) return;
    } else {
      as->code = more;
      as->room = room;
    }
  }
  as->code[as->size++] = (uint8_t)byte;
}

void as_word(pp_assembler *as, uint32_t word) {
  for (int i = 0; i < 4; i++) as_byte(as, word >> 8 * i & 0xff);
}

void as_patch(pp_assembler *as, size_t at, size_t target) {
  if (as->failed) return;
  uint32_t distance = (uint32_t)(target - (at + 4));
  memcpy(as->code + at, &distance, 4);
}

static bool as_is_byte_opcode(unsigned opcode) {
  // setcc, too; bytes of the first registers need a prefix, or they would be AH to BH
  return (opcode & 0xfff0) == 0x0f90 || opcode == 0x0fb6 || opcode == 0x84 || opcode == 0xfe ||
         opcode == 0xd0 || opcode == 0x80 || (opcode < 0x40 && !(opcode & 1)) || opcode == 0x88;
}

static void as_prefix(pp_assembler *as, unsigned opcode, int reg, int index, int base, bool wide) {
  unsigned rex = (unsigned)wide << 3 | (unsigned)(reg > 7) << 2 | (unsigned)(index > 7) << 1 |
                 (unsigned)(base > 7);
  if (rex || as_is_byte_opcode(opcode)) as_byte(as, 0x40 | rex);
  if (opcode > 0xff) as_byte(as, opcode >> 8);
  as_byte(as, opcode & 0xff);
}

void as_register(pp_assembler *as, unsigned opcode, int reg, int with) {
  as_prefix(as, opcode, reg, 0, with, false);
  as_byte(as, 0xc0u | (unsigned)(reg & 7) << 3 | (unsigned)(with & 7));
}

void as_register64(pp_assembler *as, unsigned opcode, int reg, int with) {
  as_prefix(as, opcode, reg, 0, with, true);
  as_byte(as, 0xc0u | (unsigned)(reg & 7) << 3 | (unsigned)(with & 7));
}

static void as_place(pp_assembler *as, int reg, pp_place p) {
  bool is_short = p.disp >= -128 && p.disp < 128;
  unsigned mod = is_short ? 0x40u : 0x80u, field = (unsigned)(reg & 7) << 3;
  if (p.index != NO_INDEX || (p.base & 7) == RSP) {
    unsigned index = p.index == NO_INDEX ? RSP : (unsigned)(p.index & 7);
    as_byte(as, mod | field | RSP);
    as_byte(as, (unsigned)p.scale << 6 | index << 3 | (unsigned)(p.base & 7));
  } else {
    as_byte(as, mod | field | (unsigned)(p.base & 7));
  }
  if (is_short) {
    as_byte(as, (unsigned)p.disp & 0xff);
  } else {
    as_word(as, (uint32_t)p.disp);
  }
}

void as_memory_of(pp_assembler *as, unsigned opcode, int reg, pp_place p, bool wide) {
  as_prefix(as, opcode, reg, p.index == NO_INDEX ? 0 : p.index, p.base, wide);
  as_place(as, reg, p);
}

void as_memory(pp_assembler *as, unsigned opcode, int reg, pp_place p) {
  as_memory_of(as, opcode, reg, p, false);
}

void as_memory64(pp_assembler *as, unsigned opcode, int reg, pp_place p) {
  as_memory_of(as, opcode, reg, p, true);
}

void as_constant(pp_assembler *as, unsigned operation, int reg, uint32_t constant) {
  as_prefix(as, 0x81, 0, 0, reg, false);
  as_byte(as, 0xc0 | operation << 3 | (unsigned)(reg & 7));
  as_word(as, constant);
}

void as_constant8(pp_assembler *as, unsigned operation, int reg, unsigned constant) {
  as_prefix(as, 0x80, 0, 0, reg, false);
  as_byte(as, 0xc0 | operation << 3 | (unsigned)(reg & 7));
  as_byte(as, constant & 0xff);
}

void as_set(pp_assembler *as, int reg, uint32_t constant) {
  if (reg > 7) as_byte(as, 0x41);
  as_byte(as, 0xb8u | (unsigned)(reg & 7));
  as_word(as, constant);
}

void as_store_constant8(pp_assembler *as, pp_place p, unsigned constant) {
  as_memory(as, 0xc6, 0, p);
  as_byte(as, constant & 0xff);
}

void as_store_constant(pp_assembler *as, pp_place p, uint32_t constant) {
  as_memory(as, 0xc7, 0, p);
  as_word(as, constant);
}

void as_store_word(pp_assembler *as, int reg, pp_place p) {
  as_byte(as, 0x66);
  as_memory(as, OP_STORE, reg, p);
}

void as_compare8(pp_assembler *as, pp_place p, unsigned constant) {
  as_memory(as, 0x80, IMM_CMP, p);
  as_byte(as, constant & 0xff);
}

void as_shift(pp_assembler *as, unsigned operation, int reg, unsigned count) {
  as_prefix(as, 0xc1, 0, 0, reg, false);
  as_byte(as, 0xc0 | operation << 3 | (unsigned)(reg & 7));
  as_byte(as, count);
}

void as_shift8(pp_assembler *as, unsigned operation, int reg) {
  as_prefix(as, 0xd0, 0, 0, reg, false);
  as_byte(as, 0xc0 | operation << 3 | (unsigned)(reg & 7));
}

void as_shift_by(pp_assembler *as, unsigned operation, int reg) {
  as_prefix(as, 0xd3, 0, 0, reg, false);
  as_byte(as, 0xc0 | operation << 3 | (unsigned)(reg & 7));
}

void as_increment8(pp_assembler *as, int reg) {
  as_register(as, 0xfe, 0, reg);
}

void as_decrement8(pp_assembler *as, int reg) {
  as_register(as, 0xfe, 1, reg);
}

void as_carry_from(pp_assembler *as, int reg) {
  as_register(as, 0x0fba, 4, reg);
  as_byte(as, 0);
}

void as_set_if(pp_assembler *as, unsigned condition, int reg) {
  as_register(as, 0x0f90 | condition, 0, reg);
}

void as_store_if(pp_assembler *as, unsigned condition, pp_place p) {
  as_memory(as, 0x0f90 | condition, 0, p);
}

void as_multiply(pp_assembler *as, int reg, int with, uint32_t constant) {
  as_register(as, 0x69, reg, with);
  as_word(as, constant);
}

void as_test(pp_assembler *as, int reg, uint32_t bits) {
  as_prefix(as, 0xf7, 0, 0, reg, false);
  as_byte(as, 0xc0 | (unsigned)(reg & 7));
  as_word(as, bits);
}

size_t as_jump_if(pp_assembler *as, unsigned condition) {
  as_byte(as, 0x0f);
  as_byte(as, 0x80 | condition);
  as_word(as, 0);
  return as->size - 4;
}

size_t as_jump(pp_assembler *as) {
  as_byte(as, 0xe9);
  as_word(as, 0);
  return as->size - 4;
}

size_t as_call(pp_assembler *as) {
  as_byte(as, 0xe8);
  as_word(as, 0);
  return as->size - 4;
}

void as_call_place(pp_assembler *as, pp_place p) {
  as_memory(as, 0xff, 2, p);
}

void as_jump_to_register(pp_assembler *as, int reg) {
  as_register(as, 0xff, 4, reg);
}

size_t as_address(pp_assembler *as, int reg) {
  as_byte(as, 0x48u | (unsigned)(reg > 7) << 2);
  as_byte(as, OP_LEA);
  as_byte(as, (unsigned)(reg & 7) << 3 | 5);
  as_word(as, 0);
  return as->size - 4;
}

void as_push(pp_assembler *as, int reg) {
  if (reg > 7) as_byte(as, 0x41);
  as_byte(as, 0x50u | (unsigned)(reg & 7));
}

void as_pop(pp_assembler *as, int reg) {
  if (reg > 7) as_byte(as, 0x41);
  as_byte(as, 0x58u | (unsigned)(reg & 7));
}

void as_move_stack(pp_assembler *as, int8_t by) {
  as_byte(as, 0x48);
  as_byte(as, 0x83);
  as_byte(as, 0xc4);
  as_byte(as, (uint8_t)by);
}

void as_return(pp_assembler *as) {
  as_byte(as, 0xc3);
}
