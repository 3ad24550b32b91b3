/* Change: the operations that change memory or a register
 *
 * Included by translator.c, whose functions it uses. */

/* reg = what an operation makes of reg; sets what is known of the flags */
static bool change(pp_translator *t, unsigned op, int reg) {
  pp_assembler *as = &t->as;
  switch (op) {
    case DO_INC:
      as_increment8(as, reg);
      result_in(t, reg, true);
      return true;
    case DO_DEC:
      as_decrement8(as, reg);
      result_in(t, reg, true);
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
  result_in(t, reg, op != DO_ROR);
  t->state.carry = PP_CARRY_IS_CF;
  return true;
}

/* a zero page address at which the television chip has no register to read, nor one to write */
static bool is_nothing(unsigned address) {
  return (address & 15) > TIA_INPT5 && (address & 63) > TIA_CXCLR;
}

static pp_translate_result translate_modify(pp_translator *t, uint32_t at, kind k) {
  pp_assembler *as = &t->as;
  const pp_instruction *ip = instruction(t, at);
  pp_place place;
  uint32_t cycles = 5;
  const bool compares = k.op == DO_DCP;
  if (!compares && (k.op < DO_ASL || k.op > DO_DEC)) return PP_REFUSED;
  if (k.mode == IN_MAB && !compares && !ip->mask && is_nothing(ip->operand)) {
    // a way to wait: it reads what is on the bus and writes it nowhere
    time_of_access(t, RDX, cycles);
    as_memory(as, OP_STORE, RDX, MACHINE(used));
    as_set(as, HOST_NZ, ip->operand & 0x3fu);
    change(t, k.op, HOST_NZ);
    t->state.cycles += cycles;
    return PP_GOES_ON;
  }
  if (k.mode == IN_MRA) {
    place = ram_at(ip->operand);
  } else if (k.mode == IN_MZX) {
    indexed_ram(t, at, HOST_X);
    place = ram_by(RAX);
    cycles = 6;
  } else if (k.mode == IN_MAB && (ip->operand & 0x1280) == 0x80 && ip->mask) {
    place = ram_at(ip->operand & 0x7f);
    cycles = 6;
  } else {
    return PP_REFUSED;
  }
  as_memory(as, OP_LOAD_BYTE, HOST_NZ, place);
  change(t, compares ? DO_DEC : k.op, HOST_NZ);
  as_memory(as, OP_STORE8, HOST_NZ, place);
  if (compares) {
    as_register(as, OP_LOAD, RAX, HOST_NZ);
    compare(t, HOST_A, &(operand){.from = FROM_RAX});
  }
  t->state.cycles += cycles;
  return PP_GOES_ON;
}

static void copy(pp_translator *t, int to, int from) {
  as_register(&t->as, OP_LOAD, to, from);
  result_in(t, to, false);
}

static pp_translate_result translate_implied(pp_translator *t, unsigned op) {
  pp_assembler *as = &t->as;
  switch (op) {
    case DO_TAX: copy(t, HOST_X, HOST_A); break;
    case DO_TXA: copy(t, HOST_A, HOST_X); break;
    case DO_TAY: copy(t, HOST_Y, HOST_A); break;
    case DO_TYA: copy(t, HOST_A, HOST_Y); break;
    case DO_TSX:
      as_memory(as, OP_LOAD_BYTE, HOST_X, MACHINE(sp));
      result_in(t, HOST_X, false);
      break;
    case DO_TXS: as_memory(as, OP_STORE8, HOST_X, MACHINE(sp)); break;
    case DO_INX: change(t, DO_INC, HOST_X); break;
    case DO_INY: change(t, DO_INC, HOST_Y); break;
    case DO_DEX: change(t, DO_DEC, HOST_X); break;
    case DO_DEY: change(t, DO_DEC, HOST_Y); break;
    case DO_CLC: as_set(as, HOST_CARRY, 0); break;
    case DO_SEC: as_set(as, HOST_CARRY, 1); break;
    case DO_CLD: as_store_constant8(as, MACHINE(decimal), 0); break;
    case DO_SED: as_store_constant8(as, MACHINE(decimal), 1); break;
    case DO_CLI: as_store_constant8(as, MACHINE(interrupt), 0); break;
    case DO_SEI: as_store_constant8(as, MACHINE(interrupt), 1); break;
    case DO_CLV: as_store_constant8(as, MACHINE(overflow), 0); break;
    case DO_NOP: break;
    default:
      if (!change(t, op, HOST_A)) return PP_REFUSED;
  }
  t->state.cycles += 2;
  return PP_GOES_ON;
}
