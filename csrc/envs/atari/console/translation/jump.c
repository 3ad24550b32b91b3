/* Jump: jumps and branches. */
#include "jump.h"

#include "instructions.h"

bool emitter_find_target(const pp_emitter *e, unsigned address, uint32_t *to) {
  const pp_code_image *image = e->image;
  const unsigned lines =
      image->size < PP_BANK_BYTES ? 0x10000u - image->size : 0x1000u | image->select;
  if ((address ^ image->home) & lines & 0xffff) return false;
  *to = e->first + (address & (image->size - 1u));
  return true;
}

void emit_set_home(pp_emitter *e, unsigned address) {
  as_store_constant(&e->as, EXEC(home), address & 0xf000);
}

void emit_jump_within(pp_emitter *e, uint32_t to, uint32_t cycles) {
  e->state.cycles += cycles;
  emit_flush_state(e, &e->state);
  emit_jump(e, to);
}

void emit_jump_to_address(pp_emitter *e, uint32_t cycles) {
  pp_assembler *as = &e->as;
  e->state.cycles += cycles;
  emit_flush_state(e, &e->state);
  as_register(as, OP_LOAD, RCX, RDX);
  as_constant(as, IMM_AND, RCX, 0xf000);
  as_memory(as, OP_STORE, RCX, EXEC(home));
  as_register(as, OP_LOAD, RAX, RDX);
  as_constant(as, IMM_AND, RAX, 0xfff);
  if (e->image->size < PP_BANK_BYTES) {
    as_patch(as, as_jump(as), e->side_exit);
    return;
  }
  as_patch(as, as_address(as, RCX), e->table);
  as_memory64(as, OP_LOAD_SIGNED, RDX, (pp_place){RCX, RAX, 2, 0});
  as_register64(as, OP_ADD, RDX, RCX);
  as_jump_to_register(as, RDX);
}

pp_translate_result emitter_refuse_jump(pp_emitter *e, unsigned address) {
  emitter_enqueue_address(e, address);
  return PP_REFUSED;
}

pp_translate_result translate_jump(pp_emitter *e, uint32_t at, unsigned mode) {
  const pp_instruction *ip = emitter_instruction(e, at);
  uint32_t to;
  switch (mode) {
    case IN_ABS:
      emit_set_home(e, (unsigned)ip->mask << 8);
      emit_jump_within(e, at + (uint32_t)(int16_t)ip->operand, 3);
      return PP_ENDS;
    case IN_FAR:
      if (!emitter_find_target(e, ip->operand, &to)) return emitter_refuse_jump(e, ip->operand);
      emit_set_home(e, ip->operand);
      emit_jump_within(e, to, 3);
      return PP_ENDS;
    default: break;
  }
  // the pointer of an indirect jump
  const unsigned pointer = ip->operand;
  if ((pointer & 0x1280) != 0x80 || (pointer & 0xff) == 0xff) return PP_REFUSED;
  as_memory(&e->as, OP_LOAD_WORD, RDX, place_in_ram(pointer & 0x7f));
  emit_exit_outside(e, at, RDX, RCX);
  emit_jump_to_address(e, 5);
  return PP_ENDS;
}

/* Finds the host's condition that holds if a branch is taken. */
static unsigned branch_condition(pp_emitter *e, unsigned op) {
  pp_assembler *as = &e->as;
  pp_emitter_state *k = &e->state;
  if (op == DO_BVC || op == DO_BVS) {
    as_compare8(as, MACHINE(overflow), 0);
    k->has_zn = false;
    k->carry = PP_CARRY_ELSEWHERE;
    return op == DO_BVC ? IF_EQUAL : IF_NOT_EQUAL;
  }
  if (op == DO_BCC || op == DO_BCS) {
    if (k->carry != PP_CARRY_ELSEWHERE) {
      return (k->carry == PP_CARRY_IS_CF) == (op == DO_BCS) ? IF_BELOW : IF_NOT_BELOW;
    }
    as_register(as, OP_TEST8, HOST_CARRY, HOST_CARRY);
    k->has_zn = false;
    return op == DO_BCC ? IF_EQUAL : IF_NOT_EQUAL;
  }
  const bool is_zero_test = op == DO_BNE || op == DO_BEQ;
  if (k->is_wide && !is_zero_test) {
    as_test(as, HOST_NZ, 0x8080);
    k->has_zn = false;
    k->carry = PP_CARRY_ELSEWHERE;
    return op == DO_BPL ? IF_EQUAL : IF_NOT_EQUAL;
  }
  if (!k->has_zn) {
    as_register(as, OP_TEST8, k->result, k->result);
    k->has_zn = !k->is_wide;
    k->carry = PP_CARRY_ELSEWHERE;
  }
  if (is_zero_test) return op == DO_BEQ ? IF_EQUAL : IF_NOT_EQUAL;
  return op == DO_BMI ? IF_SIGN : IF_NO_SIGN;
}

pp_translate_result translate_branch(pp_emitter *e, uint32_t at, pp_kind k) {
  if (k.mode == IN_BAB) return emitter_refuse_jump(e, emitter_instruction(e, at)->operand);
  const uint32_t to = at + (uint32_t)(int16_t)emitter_instruction(e, at)->operand;
  const unsigned condition = branch_condition(e, k.op);
  pp_emitter_state taken = e->state;
  taken.cycles += k.mode == IN_BFR ? 4 : 3;
  emitter_enqueue(e, to);
  emit_cold_stub_if(e, condition, to, false, &taken);
  e->state.cycles += 2;
  return PP_GOES_ON;
}
