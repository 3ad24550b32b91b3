/* Stack: pushes, pulls, and jumps to subroutines and back. */
#include "instructions.h"
#include "jump.h"

/* the place of the stack's byte at the address in EAX, plus `offset` */
static pp_place stack_at(int offset) {
  pp_place place = place_in_ram_by(RAX);
  place.disp += offset;
  return place;
}

/* EAX = the stack pointer. Exits unless it is one of `count` values from `lowest` on. */
static void stack_pointer(pp_emitter *e, uint32_t at, unsigned lowest, unsigned count) {
  as_memory(&e->as, OP_LOAD_BYTE, RAX, MACHINE(sp));
  as_memory(&e->as, OP_LEA, RCX, place_at(RAX, -(int32_t)lowest));
  as_constant(&e->as, IMM_CMP, RCX, count);
  emit_exit_if(e, IF_NOT_BELOW, at);
}

static void move_stack(pp_emitter *e, int by) {
  as_memory(&e->as, OP_LEA, RCX, place_at(RAX, by));
  as_memory(&e->as, OP_STORE8, RCX, MACHINE(sp));
}

static pp_translate_result translate_call(pp_emitter *e, uint32_t at) {
  pp_assembler *as = &e->as;
  const unsigned address = emitter_instruction(e, at)->operand;
  uint32_t to;
  if (!emitter_find_target(e, address, &to)) return emitter_refuse_jump(e, address);
  stack_pointer(e, at, 0x81, 0x7f);
  as_memory(as, OP_LOAD, RDX, EXEC(home));
  as_constant(as, IMM_ADD, RDX, (e->image->home & 0xfff) + (at - e->first) + 2);
  as_store_word(as, RDX, stack_at(-1));
  move_stack(e, -2);
  emit_set_home(e, address);
  emit_jump_within(e, to, 6);
  return PP_ENDS;
}

static pp_translate_result translate_return(pp_emitter *e, uint32_t at) {
  pp_assembler *as = &e->as;
  stack_pointer(e, at, 0x7f, 0x7f);
  as_memory(as, OP_LOAD_WORD, RDX, stack_at(1));
  as_constant(as, IMM_ADD, RDX, 1);
  emit_exit_outside(e, at, RDX, RCX);
  move_stack(e, 2);
  as_register(as, OP_LOAD_WORD, RDX, RDX);
  emit_jump_to_address(e, 6);
  return PP_ENDS;
}

/* EDI |= a flag in the machine, at this bit. Changes RAX. */
static void add_flag(pp_emitter *e, pp_place flag, unsigned bit) {
  as_memory(&e->as, OP_LOAD_BYTE, RAX, flag);
  as_shift(&e->as, SHIFT_LEFT, RAX, bit);
  as_register(&e->as, OP_OR, RDI, RAX);
}

/* EDI = the flags as PHP pushes them. Changes RAX and RCX. */
static void gather_flags(pp_emitter *e) {
  pp_assembler *as = &e->as;
  const int result = e->state.result;
  as_register(as, OP_LOAD, RDI, HOST_CARRY);
  as_set(as, RAX, 0);
  as_register(as, OP_TEST8, result, result);
  as_set_if(as, IF_EQUAL, RAX);
  as_shift(as, SHIFT_LEFT, RAX, 1);
  as_register(as, OP_OR, RDI, RAX);
  as_register(as, OP_LOAD, RAX, result);
  if (e->state.is_wide) {
    as_shift(as, SHIFT_RIGHT, RAX, 8);
    as_register(as, OP_OR, RAX, result);
  }
  as_constant(as, IMM_AND, RAX, 0x80);
  as_register(as, OP_OR, RDI, RAX);
  add_flag(e, MACHINE(interrupt), 2);
  add_flag(e, MACHINE(decimal), 3);
  add_flag(e, MACHINE(overflow), 6);
  as_constant(as, IMM_OR, RDI, 0x30);
}

/* PHP to RAM, or to the television chip: a common way to switch objects on */
static pp_translate_result push_flags(pp_emitter *e, uint32_t at) {
  pp_assembler *as = &e->as;
  const pp_place written = {HOST_EXEC, RSI, 0, (int32_t)offsetof(pp_exec, machine.written)};
  gather_flags(e);
  as_memory(as, OP_LOAD_BYTE, R9, MACHINE(sp));
  as_register(as, OP_LOAD, RSI, R9);
  as_register(as, OP_TEST8, RSI, RSI);
  size_t to_chip = as_jump_if(as, IF_NO_SIGN);
  as_memory(as, OP_STORE8, RDI, place_in_ram_by(RSI));
  size_t done = as_jump(as);

  as_patch(as, to_chip, as->size);
  as_constant(as, IMM_AND, RSI, 63);
  as_patch(as, as_address(as, RCX), e->bits);
  as_memory(as, OP_LOAD_BYTE, RDX, (pp_place){RCX, RSI, 0, 0});
  as_register(as, OP_TEST8, RDX, RDX);
  emit_exit_if(e, IF_EQUAL, at);
  as_register(as, OP_AND, RDI, RDX);
  as_set(as, RCX, 0);
  as_memory(as, OP_CMP8, RDI, written);
  as_set_if(as, IF_NOT_EQUAL, RCX);
  as_memory(as, OP_STORE8, RDI, written);
  as_shift(as, SHIFT_LEFT, RSI, 8);
  as_register(as, OP_OR, RDI, RSI);
  emit_log_entry(e, RDI, 0, 3);
  emit_grow_log(e);
  as_patch(as, done, as->size);

  as_memory(as, OP_LEA, RAX, place_at(R9, -1));
  as_memory(as, OP_STORE8, RAX, MACHINE(sp));
  e->state.cycles += 3;
  return PP_GOES_ON;
}

/* a flag of the machine = a bit of EDX. Changes RAX. */
static void take_flag(pp_emitter *e, pp_place flag, unsigned bit) {
  as_register(&e->as, OP_LOAD, RAX, RDX);
  as_shift(&e->as, SHIFT_RIGHT, RAX, bit);
  as_constant(&e->as, IMM_AND, RAX, 1);
  as_memory(&e->as, OP_STORE8, RAX, flag);
}

/* PLP from RAM; the result has the flags Z and N (SET_FLAGS) */
static pp_translate_result pull_flags(pp_emitter *e, uint32_t at) {
  pp_assembler *as = &e->as;
  stack_pointer(e, at, 0x7f, 0x80);
  move_stack(e, 1);
  as_memory(as, OP_LOAD_BYTE, RDX, stack_at(1));
  as_register(as, OP_LOAD, HOST_CARRY, RDX);
  as_constant(as, IMM_AND, HOST_CARRY, 1);
  as_register(as, OP_LOAD, HOST_NZ, RDX);
  as_constant(as, IMM_XOR, HOST_NZ, 2);
  as_shift(as, SHIFT_RIGHT, HOST_NZ, 1);
  as_constant(as, IMM_AND, HOST_NZ, 1);
  as_register(as, OP_LOAD, RCX, RDX);
  as_constant(as, IMM_AND, RCX, 0x80);
  as_shift(as, SHIFT_LEFT, RCX, 8);
  as_register(as, OP_OR, HOST_NZ, RCX);
  take_flag(e, MACHINE(interrupt), 2);
  take_flag(e, MACHINE(decimal), 3);
  take_flag(e, MACHINE(overflow), 6);
  emitter_set_result(e, HOST_NZ, false);
  e->state.is_wide = true;
  e->state.cycles += 4;
  return PP_GOES_ON;
}

/* EAX = the byte that PLA pulls. It exits where the byte on the bus is not the opcode. */
static void pull(pp_emitter *e, uint32_t at) {
  pp_assembler *as = &e->as;
  as_memory(as, OP_LOAD_BYTE, RAX, MACHINE(sp));
  as_constant(as, IMM_CMP, RAX, 0xff);
  emit_exit_if(e, IF_EQUAL, at);
  as_constant(as, IMM_ADD, RAX, 1);
  as_memory(as, OP_STORE8, RAX, MACHINE(sp));
  as_register(as, OP_TEST8, RAX, RAX);
  emit_slow_path_if(e, IF_NO_SIGN, at, 4)->bus = 0x68;
  as_memory(as, OP_LOAD_BYTE, RAX, stack_at(0));
  emit_slow_path_end(e);
}

pp_translate_result translate_stack(pp_emitter *e, uint32_t at, unsigned op) {
  switch (op) {
    case DO_PHP: return push_flags(e, at);
    case DO_PLP: return pull_flags(e, at);
    case DO_PHA:
      stack_pointer(e, at, 0x80, 0x80);
      as_memory(&e->as, OP_STORE8, HOST_A, stack_at(0));
      move_stack(e, -1);
      e->state.cycles += 3;
      return PP_GOES_ON;
    case DO_PLA:
      pull(e, at);
      as_register(&e->as, OP_LOAD, HOST_A, RAX);
      emitter_set_result(e, HOST_A, false);
      e->state.cycles += 4;
      return PP_GOES_ON;
    case DO_JSR: return translate_call(e, at);
    case DO_RTS: return translate_return(e, at);
    default: return PP_REFUSED;
  }
}
