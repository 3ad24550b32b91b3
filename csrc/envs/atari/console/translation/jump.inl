/* Jump: the stack, jumps and branches
 *
 * Included by translator.c, whose functions it uses. */

/* the place of the stack's byte at the address in EAX, plus `offset` */
static pp_place stack_at(int offset) {
  pp_place place = ram_by(RAX);
  place.disp += offset;
  return place;
}

/* EAX = the stack pointer. Exits unless it is one of `count` values from `lowest` on. */
static void stack_pointer(pp_translator *t, uint32_t at, unsigned lowest, unsigned count) {
  as_memory(&t->as, OP_LOAD_BYTE, RAX, MACHINE(sp));
  as_memory(&t->as, OP_LEA, RCX, sum_of(RAX, -(int32_t)lowest));
  as_constant(&t->as, IMM_CMP, RCX, count);
  exit_if(t, IF_NOT_BELOW, at);
}

static void move_stack(pp_translator *t, int by) {
  as_memory(&t->as, OP_LEA, RCX, sum_of(RAX, by));
  as_memory(&t->as, OP_STORE8, RCX, MACHINE(sp));
}

/* Returns whether a jump to this address stays in the image, and sets *to. */
static bool find_target(const pp_translator *t, unsigned address, uint32_t *to) {
  const pp_code_image *image = t->image;
  const unsigned lines =
      image->size < PP_BANK_BYTES ? 0x10000u - image->size : 0x1000u | image->select;
  if ((address ^ image->home) & lines & 0xffff) return false;
  *to = t->first + (address & (image->size - 1u));
  return true;
}

static void set_home(pp_translator *t, unsigned address) {
  as_store_constant(&t->as, EXEC(home), address & 0xf000);
}

static void jump_within(pp_translator *t, uint32_t to, uint32_t cycles) {
  t->state.cycles += cycles;
  pp_translator_flush_state(t, &t->state);
  pp_translator_jump(t, to);
}

/* Jumps to the address in EDX, in which A12 is high. */
static void jump_to_address(pp_translator *t, uint32_t cycles) {
  pp_assembler *as = &t->as;
  t->state.cycles += cycles;
  pp_translator_flush_state(t, &t->state);
  as_register(as, OP_LOAD, RCX, RDX);
  as_constant(as, IMM_AND, RCX, 0xf000);
  as_memory(as, OP_STORE, RCX, EXEC(home));
  as_register(as, OP_LOAD, RAX, RDX);
  as_constant(as, IMM_AND, RAX, 0xfff);
  if (t->image->size < PP_BANK_BYTES) {
    as_patch(as, as_jump(as), t->side_exit);
    return;
  }
  as_patch(as, as_address(as, RCX), t->table);
  as_memory64(as, OP_LOAD_SIGNED, RDX, (pp_place){RCX, RAX, 2, 0});
  as_register64(as, OP_ADD, RDX, RCX);
  as_jump_to_register(as, RDX);
}

/* The interpreter runs a jump to another image, and enters the translation there. */
static pp_translate_result refuse_jump(pp_translator *t, unsigned address) {
  pp_translator_enqueue_address(t, address);
  return PP_REFUSED;
}

static pp_translate_result translate_call(pp_translator *t, uint32_t at) {
  pp_assembler *as = &t->as;
  const unsigned address = instruction(t, at)->operand;
  uint32_t to;
  if (!find_target(t, address, &to)) return refuse_jump(t, address);
  stack_pointer(t, at, 0x81, 0x7f);
  as_memory(as, OP_LOAD, RDX, EXEC(home));
  as_constant(as, IMM_ADD, RDX, (t->image->home & 0xfff) + (at - t->first) + 2);
  as_store_word(as, RDX, stack_at(-1));
  move_stack(t, -2);
  set_home(t, address);
  jump_within(t, to, 6);
  return PP_ENDS;
}

static pp_translate_result translate_return(pp_translator *t, uint32_t at) {
  pp_assembler *as = &t->as;
  stack_pointer(t, at, 0x7f, 0x7f);
  as_memory(as, OP_LOAD_WORD, RDX, stack_at(1));
  as_constant(as, IMM_ADD, RDX, 1);
  exit_outside(t, at, RDX, RCX);
  move_stack(t, 2);
  as_register(as, OP_LOAD_WORD, RDX, RDX);
  jump_to_address(t, 6);
  return PP_ENDS;
}

/* EDI |= a flag in the machine, at this bit. Changes RAX. */
static void add_flag(pp_translator *t, pp_place flag, unsigned bit) {
  as_memory(&t->as, OP_LOAD_BYTE, RAX, flag);
  as_shift(&t->as, SHIFT_LEFT, RAX, bit);
  as_register(&t->as, OP_OR, RDI, RAX);
}

/* EDI = the flags as PHP pushes them. Changes RAX and RCX. */
static void gather_flags(pp_translator *t) {
  pp_assembler *as = &t->as;
  const int result = t->state.result;
  as_register(as, OP_LOAD, RDI, HOST_CARRY);
  as_set(as, RAX, 0);
  as_register(as, OP_TEST8, result, result);
  as_set_if(as, IF_EQUAL, RAX);
  as_shift(as, SHIFT_LEFT, RAX, 1);
  as_register(as, OP_OR, RDI, RAX);
  as_register(as, OP_LOAD, RAX, result);
  if (t->state.is_wide) {
    as_shift(as, SHIFT_RIGHT, RAX, 8);
    as_register(as, OP_OR, RAX, result);
  }
  as_constant(as, IMM_AND, RAX, 0x80);
  as_register(as, OP_OR, RDI, RAX);
  add_flag(t, MACHINE(interrupt), 2);
  add_flag(t, MACHINE(decimal), 3);
  add_flag(t, MACHINE(overflow), 6);
  as_constant(as, IMM_OR, RDI, 0x30);
}

/* PHP to RAM, or to the television chip: a common way to switch objects on */
static pp_translate_result push_flags(pp_translator *t, uint32_t at) {
  pp_assembler *as = &t->as;
  const pp_place written = {HOST_EXEC, RSI, 0, (int32_t)offsetof(pp_exec, machine.written)};
  gather_flags(t);
  as_memory(as, OP_LOAD_BYTE, R9, MACHINE(sp));
  as_register(as, OP_LOAD, RSI, R9);
  as_register(as, OP_TEST8, RSI, RSI);
  size_t to_chip = as_jump_if(as, IF_NO_SIGN);
  as_memory(as, OP_STORE8, RDI, ram_by(RSI));
  size_t done = as_jump(as);

  as_patch(as, to_chip, as->size);
  as_constant(as, IMM_AND, RSI, 63);
  as_patch(as, as_address(as, RCX), t->bits);
  as_memory(as, OP_LOAD_BYTE, RDX, (pp_place){RCX, RSI, 0, 0});
  as_register(as, OP_TEST8, RDX, RDX);
  exit_if(t, IF_EQUAL, at);
  as_register(as, OP_AND, RDI, RDX);
  as_set(as, RCX, 0);
  as_memory(as, OP_CMP8, RDI, written);
  as_set_if(as, IF_NOT_EQUAL, RCX);
  as_memory(as, OP_STORE8, RDI, written);
  as_shift(as, SHIFT_LEFT, RSI, 8);
  as_register(as, OP_OR, RDI, RSI);
  log_entry(t, RDI, 0, 3);
  grow_log(t);
  as_patch(as, done, as->size);

  as_memory(as, OP_LEA, RAX, sum_of(R9, -1));
  as_memory(as, OP_STORE8, RAX, MACHINE(sp));
  t->state.cycles += 3;
  return PP_GOES_ON;
}

/* a flag of the machine = a bit of EDX. Changes RAX. */
static void take_flag(pp_translator *t, pp_place flag, unsigned bit) {
  as_register(&t->as, OP_LOAD, RAX, RDX);
  as_shift(&t->as, SHIFT_RIGHT, RAX, bit);
  as_constant(&t->as, IMM_AND, RAX, 1);
  as_memory(&t->as, OP_STORE8, RAX, flag);
}

/* PLP from RAM; the result has the flags Z and N (SET_FLAGS) */
static pp_translate_result pull_flags(pp_translator *t, uint32_t at) {
  pp_assembler *as = &t->as;
  stack_pointer(t, at, 0x7f, 0x80);
  move_stack(t, 1);
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
  take_flag(t, MACHINE(interrupt), 2);
  take_flag(t, MACHINE(decimal), 3);
  take_flag(t, MACHINE(overflow), 6);
  result_in(t, HOST_NZ, false);
  t->state.is_wide = true;
  t->state.cycles += 4;
  return PP_GOES_ON;
}

/* EAX = the byte that PLA pulls. It exits where the byte on the bus is not the opcode. */
static void pull(pp_translator *t, uint32_t at) {
  pp_assembler *as = &t->as;
  as_memory(as, OP_LOAD_BYTE, RAX, MACHINE(sp));
  as_constant(as, IMM_CMP, RAX, 0xff);
  exit_if(t, IF_EQUAL, at);
  as_constant(as, IMM_ADD, RAX, 1);
  as_memory(as, OP_STORE8, RAX, MACHINE(sp));
  as_register(as, OP_TEST8, RAX, RAX);
  slow_path_if(t, IF_NO_SIGN, at, 4)->bus = 0x68;
  as_memory(as, OP_LOAD_BYTE, RAX, stack_at(0));
  slow_path_ends(t);
}

static pp_translate_result translate_stack(pp_translator *t, uint32_t at, unsigned op) {
  switch (op) {
    case DO_PHP: return push_flags(t, at);
    case DO_PLP: return pull_flags(t, at);
    case DO_PHA:
      stack_pointer(t, at, 0x80, 0x80);
      as_memory(&t->as, OP_STORE8, HOST_A, stack_at(0));
      move_stack(t, -1);
      t->state.cycles += 3;
      return PP_GOES_ON;
    case DO_PLA:
      pull(t, at);
      as_register(&t->as, OP_LOAD, HOST_A, RAX);
      result_in(t, HOST_A, false);
      t->state.cycles += 4;
      return PP_GOES_ON;
    case DO_JSR: return translate_call(t, at);
    case DO_RTS: return translate_return(t, at);
    default: return PP_REFUSED;
  }
}

static pp_translate_result translate_jump(pp_translator *t, uint32_t at, unsigned mode) {
  const pp_instruction *ip = instruction(t, at);
  uint32_t to;
  switch (mode) {
    case IN_ABS:
      set_home(t, (unsigned)ip->mask << 8);
      jump_within(t, at + (uint32_t)(int16_t)ip->operand, 3);
      return PP_ENDS;
    case IN_FAR:
      if (!find_target(t, ip->operand, &to)) return refuse_jump(t, ip->operand);
      set_home(t, ip->operand);
      jump_within(t, to, 3);
      return PP_ENDS;
    default: break;
  }
  // the pointer of an indirect jump
  const unsigned pointer = ip->operand;
  if ((pointer & 0x1280) != 0x80 || (pointer & 0xff) == 0xff) return PP_REFUSED;
  as_memory(&t->as, OP_LOAD_WORD, RDX, ram_at(pointer & 0x7f));
  exit_outside(t, at, RDX, RCX);
  jump_to_address(t, 5);
  return PP_ENDS;
}

/* Finds the host's condition that holds if a branch is taken. */
static unsigned branch_condition(pp_translator *t, unsigned op) {
  pp_assembler *as = &t->as;
  pp_translator_state *k = &t->state;
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

static pp_translate_result translate_branch(pp_translator *t, uint32_t at, kind k) {
  if (k.mode == IN_BAB) return refuse_jump(t, instruction(t, at)->operand);
  const uint32_t to = at + (uint32_t)(int16_t)instruction(t, at)->operand;
  const unsigned condition = branch_condition(t, k.op);
  pp_translator_state taken = t->state;
  taken.cycles += k.mode == IN_BFR ? 4 : 3;
  pp_translator_enqueue(t, to);
  cold_stub_if(t, condition, to, false, &taken);
  t->state.cycles += 2;
  return PP_GOES_ON;
}
