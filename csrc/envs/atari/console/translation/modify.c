/* Modify: the operations that change memory or a register. */
#include "../tia_registers.h"
#include "instructions.h"
#include "operand.h"

/* reg = what an operation makes of reg; sets what is known of the flags */
static bool change(pp_emitter *e, unsigned op, int reg) {
  pp_assembler *as = &e->as;
  switch (op) {
    case DO_INC:
      as_increment8(as, reg);
      emitter_set_result(e, reg, true);
      return true;
    case DO_DEC:
      as_decrement8(as, reg);
      emitter_set_result(e, reg, true);
      return true;
    case DO_ASL: as_register(as, OP_ADD8, reg, reg); break;
    case DO_LSR: as_shift8(as, SHIFT_RIGHT, reg); break;
    case DO_ROL:
      as_carry_from(as, HOST_CARRY);
      as_register(as, OP_ADC8, reg, reg);
      break;
    case DO_ROR:
      as_carry_from(as, HOST_CARRY);
      as_shift8(as, SHIFT_RCR, reg);
      break;
    default: return false;
  }
  as_set_if(as, IF_BELOW, HOST_CARRY);
  emitter_set_result(e, reg, op != DO_ROR);
  e->state.carry = PP_CARRY_IS_CF;
  return true;
}

/* a zero page address at which the television chip has no register to read, nor one to write */
static bool is_nothing(unsigned address) {
  return (address & 15) > TIA_INPT5 && (address & 63) > TIA_CXCLR;
}

pp_translate_result translate_modify(pp_emitter *e, uint32_t at, pp_kind k) {
  pp_assembler *as = &e->as;
  const pp_instruction *ip = emitter_instruction(e, at);
  pp_place place;
  uint32_t cycles = 5;
  const bool compares = k.op == DO_DCP;
  if (!compares && (k.op < DO_ASL || k.op > DO_DEC)) return PP_REFUSED;
  if (k.mode == IN_MAB && !compares && !ip->mask && is_nothing(ip->operand)) {
    // a way to wait: it reads what is on the bus and writes it nowhere
    emit_time_of_access(e, RDX, cycles);
    as_memory(as, OP_STORE, RDX, MACHINE(used));
    as_set(as, HOST_NZ, ip->operand & 0x3fu);
    change(e, k.op, HOST_NZ);
    e->state.cycles += cycles;
    return PP_GOES_ON;
  }
  if (k.mode == IN_MRA) {
    place = place_in_ram(ip->operand);
  } else if (k.mode == IN_MZX) {
    emit_indexed_ram(e, at, HOST_X);
    place = place_in_ram_by(RAX);
    cycles = 6;
  } else if (k.mode == IN_MAB && (ip->operand & 0x1280) == 0x80 && ip->mask) {
    place = place_in_ram(ip->operand & 0x7f);
    cycles = 6;
  } else {
    return PP_REFUSED;
  }
  as_memory(as, OP_LOAD_BYTE, HOST_NZ, place);
  change(e, compares ? DO_DEC : k.op, HOST_NZ);
  as_memory(as, OP_STORE8, HOST_NZ, place);
  if (compares) {
    as_register(as, OP_LOAD, RAX, HOST_NZ);
    emit_compare(e, HOST_A, &(pp_operand){.from = FROM_RAX});
  }
  e->state.cycles += cycles;
  return PP_GOES_ON;
}

static void copy(pp_emitter *e, int to, int from) {
  as_register(&e->as, OP_LOAD, to, from);
  emitter_set_result(e, to, false);
}

pp_translate_result translate_implied(pp_emitter *e, unsigned op) {
  pp_assembler *as = &e->as;
  switch (op) {
    case DO_TAX: copy(e, HOST_X, HOST_A); break;
    case DO_TXA: copy(e, HOST_A, HOST_X); break;
    case DO_TAY: copy(e, HOST_Y, HOST_A); break;
    case DO_TYA: copy(e, HOST_A, HOST_Y); break;
    case DO_TSX:
      as_memory(as, OP_LOAD_BYTE, HOST_X, MACHINE(sp));
      emitter_set_result(e, HOST_X, false);
      break;
    case DO_TXS: as_memory(as, OP_STORE8, HOST_X, MACHINE(sp)); break;
    case DO_INX: change(e, DO_INC, HOST_X); break;
    case DO_INY: change(e, DO_INC, HOST_Y); break;
    case DO_DEX: change(e, DO_DEC, HOST_X); break;
    case DO_DEY: change(e, DO_DEC, HOST_Y); break;
    case DO_CLC: as_set(as, HOST_CARRY, 0); break;
    case DO_SEC: as_set(as, HOST_CARRY, 1); break;
    case DO_CLD: as_store_constant8(as, MACHINE(decimal), 0); break;
    case DO_SED: as_store_constant8(as, MACHINE(decimal), 1); break;
    case DO_CLI: as_store_constant8(as, MACHINE(interrupt), 0); break;
    case DO_SEI: as_store_constant8(as, MACHINE(interrupt), 1); break;
    case DO_CLV: as_store_constant8(as, MACHINE(overflow), 0); break;
    case DO_NOP: break;
    default:
      if (!change(e, op, HOST_A)) return PP_REFUSED;
  }
  e->state.cycles += 2;
  return PP_GOES_ON;
}
