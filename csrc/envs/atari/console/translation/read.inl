/* Read: what instructions read, and the operations that read
 *
 * Included by translator.c, whose functions it uses. */

/* EAX = intervals left until the timer passes zero, negative afterwards. Changes RCX and RDX. */
static void timer_left(pp_translator *t) {
  pp_assembler *as = &t->as;
  time_of_access(t, RDX, 4);
  as_constant(as, IMM_SUB, RDX, 1);
  as_memory(as, OP_SUB, RDX, MACHINE(timer_set));
  as_memory(as, OP_LOAD_BYTE, RCX, MACHINE(timer_shift));
  as_shift_by(as, SHIFT_RIGHT, RDX);
  as_memory(as, OP_LOAD_BYTE, RAX, MACHINE(timer));
  as_constant(as, IMM_SUB, RAX, 1);
  as_register(as, OP_SUB, RAX, RDX);
}

/* INTIM */
static void read_timer(pp_translator *t, uint32_t at) {
  timer_left(t);
  slow_path_if(t, IF_SIGN, at, 4)->is_timer = true;
  slow_path_ends(t);
}

/* a paddle or a trigger */
static bool read_input(pp_translator *t, uint32_t at) {
  pp_assembler *as = &t->as;
  const pp_instruction *ip = instruction(t, at);
  const unsigned reg = ip->operand & 15;
  if (reg < TIA_INPT0) return false;
  time_of_access(t, RDX, 3);
  as_memory(as, OP_STORE, RDX, MACHINE(used));
  as_set(as, RAX, 0);
  if (reg < TIA_INPT4) {
    pp_place ready = MACHINE(ready);
    ready.disp += (int32_t)(4 * (reg - TIA_INPT0));
    as_memory(as, OP_CMP, RDX, ready);
    as_set_if(as, IF_ABOVE, RAX);
    as_shift(as, SHIFT_LEFT, RAX, 7);
  } else if (reg <= TIA_INPT5) {
    pp_place trigger = MACHINE(trigger);
    trigger.disp += (int32_t)(reg - TIA_INPT4);
    as_memory(as, OP_LOAD_BYTE, RAX, trigger);
  }
  as_constant(as, IMM_OR, RAX, ip->low & 0x3fu);
  return true;
}

/* absolute: RAM, or a port of the RIOT */
static bool read_absolute(unsigned address, operand *o) {
  if (address & 0x1000 || !(address & 0x80)) return false;
  if (!(address & 0x200)) {
    *o = (operand){.from = FROM_MEMORY, .place = ram_at(address & 0x7f)};
    return true;
  }
  if (address & 4) return false;
  switch (address & 3) {
    case 0: *o = (operand){.from = FROM_MEMORY, .place = MACHINE(port_a)}; return true;
    case 2: *o = (operand){.from = FROM_MEMORY, .place = MACHINE(port_b)}; return true;
    default: *o = (operand){.from = FROM_CONSTANT}; return true;
  }
}

/* abs,X or abs,Y inside ROM */
static bool read_table(pp_translator *t, uint32_t at, int index, operand *o) {
  const pp_instruction *ip = instruction(t, at);
  o->from = FROM_MEMORY;
  o->place = (pp_place){HOST_ROM, index, 0, ip->operand & 0xfff};
  if (ip->low == 0) return true;
  crossing(t, index, ip->low);
  add_crossing(t);
  return true;
}

/* abs,X or abs,Y anywhere */
static bool read_indexed(pp_translator *t, uint32_t at, int index, operand *o) {
  pp_assembler *as = &t->as;
  const pp_instruction *ip = instruction(t, at);
  const unsigned page = ip->operand >> 8;
  if (!(ip->operand & 0x1000) && (page & 15) == 15) return false;
  as_memory(as, OP_LEA, RAX, sum_of(index, ip->operand));
  if (ip->operand & 0x1000) {
    as_register(as, OP_LOAD_WORD, RAX, RAX);
    o->from = FROM_MEMORY;
    cartridge_byte(t, at, &o->place);
    crossing(t, index, ip->low);
    add_crossing(t);
    return true;
  }
  crossing(t, index, ip->low);
  add_crossing(t);
  test_ram(t);
  slow_path_if(t, IF_NOT_EQUAL, at, 4)->bus = page;
  as_constant(as, IMM_AND, RAX, 0xff);
  as_memory(as, OP_LOAD_BYTE, RAX, ram_by(RAX));
  slow_path_ends(t);
  o->from = FROM_RAX;
  return true;
}

/* zp,X or zp,Y */
static void read_zero_page(pp_translator *t, uint32_t at, int index, operand *o) {
  indexed_zero_page(t, at, index);
  slow_path_if(t, IF_NO_SIGN, at, 4)->bus = instruction(t, at)->operand;
  as_memory(&t->as, OP_LOAD_BYTE, RAX, ram_by(RAX));
  slow_path_ends(t);
  o->from = FROM_RAX;
}

/* a collision register */
static void read_collision(pp_translator *t, uint32_t at, operand *o) {
  const unsigned address = instruction(t, at)->operand;
  as_set(&t->as, RAX, address);
  slow_path(t, as_jump(&t->as), at, 3)->bus = address;
  slow_path_ends(t);
  o->from = FROM_RAX;
}

/* (zp),Y with the pointer in RAM */
static bool read_pointer(pp_translator *t, uint32_t at, operand *o) {
  pp_assembler *as = &t->as;
  const unsigned pointer = instruction(t, at)->operand;
  as_memory(as, OP_LOAD_WORD, RAX, ram_at(pointer));
  as_register(as, OP_LOAD_BYTE, RCX, RAX);
  as_register(as, OP_ADD, RCX, HOST_Y);
  as_shift(as, SHIFT_RIGHT, RCX, 8);
  as_register(as, OP_ADD, RAX, HOST_Y);
  as_register(as, OP_LOAD_WORD, RAX, RAX);
  as_test(as, RAX, 0x1000);
  pp_slow_path *path = slow_path_if(t, IF_EQUAL, at, 5);
  path->bus_at = (int)pointer + 1;
  path->crosses = true;
  pp_place place;
  cartridge_byte(t, at, &place);
  add_crossing(t);
  as_memory(as, OP_LOAD_BYTE, RAX, place);
  slow_path_ends(t);
  o->from = FROM_RAX;
  return true;
}

/* EAX = the byte at the address in EAX, of the cartridge or in RAM; anything else exits. Changes
 * RCX and RDX. */
static void read_address(pp_translator *t, uint32_t at) {
  pp_assembler *as = &t->as;
  pp_place place;
  as_test(as, RAX, 0x1000);
  size_t outside = as_jump_if(as, IF_EQUAL);
  cartridge_byte(t, at, &place);
  as_memory(as, OP_LOAD_BYTE, RAX, place);
  size_t done = as_jump(as);
  as_patch(as, outside, as->size);
  ram_byte(t, at, &place);
  as_memory(as, OP_LOAD_BYTE, RAX, place);
  as_patch(as, done, as->size);
}

/* (zp,X) with the pointer in RAM */
static bool read_indexed_pointer(pp_translator *t, uint32_t at, operand *o) {
  pp_assembler *as = &t->as;
  indexed_ram(t, at, HOST_X);
  as_constant(as, IMM_CMP, RAX, 0xff);
  exit_if(t, IF_EQUAL, at);
  as_memory(as, OP_LOAD_WORD, RAX, ram_by(RAX));
  read_address(t, at);
  o->from = FROM_RAX;
  return true;
}

/* INSTAT: bit 7 is set if the timer has passed zero and has not been read since */
static void read_timer_status(pp_translator *t) {
  pp_assembler *as = &t->as;
  timer_left(t);
  as_shift(as, SHIFT_RIGHT, RAX, 31);
  as_memory(as, OP_LOAD_BYTE, RCX, MACHINE(timer_read));
  as_constant(as, IMM_XOR, RCX, 1);
  as_register(as, OP_AND, RAX, RCX);
  as_shift(as, SHIFT_LEFT, RAX, 7);
}

/* Finds what an instruction reads. Returns false if the interpreter must run it. Sets *cycles. */
static bool find_operand(pp_translator *t, uint32_t at, unsigned mode, operand *o,
                         uint32_t *cycles) {
  const pp_instruction *ip = instruction(t, at);
  *o = (operand){.from = FROM_CONSTANT, .constant = ip->operand & 0xff};
  switch (mode) {
    case IN_RIM: *cycles = 2; return true;
    case IN_RCO: *cycles = 4; return true;
    case IN_RRA:
      *cycles = 3;
      *o = (operand){.from = FROM_MEMORY, .place = ram_at(ip->operand)};
      return true;
    case IN_RZX:
    case IN_RZY:
      *cycles = 4;
      read_zero_page(t, at, mode == IN_RZX ? HOST_X : HOST_Y, o);
      return true;
    case IN_RTI:
      *cycles = 3;
      read_collision(t, at, o);
      return true;
    case IN_RLX: *cycles = 4; return read_table(t, at, HOST_X, o);
    case IN_RLY: *cycles = 4; return read_table(t, at, HOST_Y, o);
    case IN_RAX: *cycles = 4; return read_indexed(t, at, HOST_X, o);
    case IN_RAY: *cycles = 4; return read_indexed(t, at, HOST_Y, o);
    case IN_RPY: *cycles = 5; return read_pointer(t, at, o);
    case IN_RIX: *cycles = 6; return read_indexed_pointer(t, at, o);
    case IN_RAB:
      *cycles = 4;
      t->bank = pp_mapper_bank(t->cart, ip->operand);
      if (t->bank >= 0) {
        // the byte is that of the bank that shows from now on
        o->constant = t->images[t->bank].rom[ip->operand & 0xfff];
        return true;
      }
      if ((ip->operand & 0x1085) != 0x0085 || !(ip->operand & 0x200)) {
        return read_absolute(ip->operand, o);
      }
      read_timer_status(t);
      o->from = FROM_RAX;
      return true;
    case IN_RTW:
      // the interpreter skips long waits
      as_compare8(&t->as, MACHINE(timer_shift), 6);
      exit_if(t, IF_NOT_BELOW, at);
      // fallthrough
    case IN_RTM:
      *cycles = 4;
      read_timer(t, at);
      o->from = FROM_RAX;
      return true;
    case IN_RIN:
      *cycles = 3;
      o->from = FROM_RAX;
      return read_input(t, at);
    default: return false;
  }
}

static void load(pp_translator *t, int reg, const operand *o) {
  if (o->from == FROM_CONSTANT) {
    as_set(&t->as, reg, o->constant);
  } else if (o->from == FROM_MEMORY) {
    as_memory(&t->as, OP_LOAD_BYTE, reg, o->place);
  } else if (reg != RAX) {
    as_register(&t->as, OP_LOAD, reg, RAX);
  }
}

/* reg = reg <operation> operand, on the low byte; opcode and operation are the same operation */
static void combine(pp_translator *t, unsigned opcode, unsigned operation, int reg,
                    const operand *o) {
  if (o->from == FROM_CONSTANT) {
    as_constant8(&t->as, operation, reg, o->constant);
  } else if (o->from == FROM_MEMORY) {
    as_memory(&t->as, opcode, reg, o->place);
  } else {
    as_register(&t->as, opcode, reg, RAX);
  }
}

static void compare(pp_translator *t, int reg, const operand *o) {
  as_register(&t->as, OP_LOAD, HOST_NZ, reg);
  combine(t, OP_SUB8, IMM_SUB, HOST_NZ, o);
  as_set_if(&t->as, IF_NOT_BELOW, HOST_CARRY);
  result_in(t, HOST_NZ, true);
  t->state.carry = PP_CARRY_IS_NOT_CF;
}

static void add(pp_translator *t, const operand *o) {
  as_carry_from(&t->as, HOST_CARRY);
  combine(t, OP_ADC8, IMM_ADC, HOST_A, o);
  as_set_if(&t->as, IF_BELOW, HOST_CARRY);
  as_store_if(&t->as, IF_OVERFLOW, MACHINE(overflow));
  result_in(t, HOST_A, true);
  t->state.carry = PP_CARRY_IS_CF;
}

/* the host borrows where the 6507 has no carry */
static void subtract(pp_translator *t, const operand *o) {
  as_constant8(&t->as, IMM_CMP, HOST_CARRY, 1);
  combine(t, OP_SBB8, IMM_SBB, HOST_A, o);
  as_set_if(&t->as, IF_NOT_BELOW, HOST_CARRY);
  as_store_if(&t->as, IF_OVERFLOW, MACHINE(overflow));
  result_in(t, HOST_A, true);
  t->state.carry = PP_CARRY_IS_NOT_CF;
}

static void test_bits(pp_translator *t, const operand *o) {
  pp_assembler *as = &t->as;
  load(t, RAX, o);
  as_register(as, OP_LOAD, RCX, RAX);
  as_shift(as, SHIFT_RIGHT, RCX, 6);
  as_constant(as, IMM_AND, RCX, 1);
  as_memory(as, OP_STORE8, RCX, MACHINE(overflow));
  as_register(as, OP_LOAD, HOST_NZ, RAX);
  as_constant(as, IMM_AND, HOST_NZ, 0x80);
  as_shift(as, SHIFT_LEFT, HOST_NZ, 8);
  as_register(as, OP_AND, RAX, HOST_A);
  as_register(as, OP_OR, HOST_NZ, RAX);
  result_in(t, HOST_NZ, false);
  t->state.is_wide = true;
}

static pp_translate_result translate_read(pp_translator *t, uint32_t at, kind k) {
  const bool adds = k.op == DO_ADC || k.op == DO_SBC;
  operand o;
  uint32_t cycles;
  if (k.op == DO_ANC || k.op == DO_ALR || k.op == DO_ARR || k.op == DO_SBX) return PP_REFUSED;
  const size_t start = t->as.size;
  const int cold_stubs = t->cold_stubs, slow_paths = t->slow_paths;
  if (adds) {
    as_compare8(&t->as, MACHINE(decimal), 0);
    exit_if(t, IF_NOT_EQUAL, at);
  }
  if (!find_operand(t, at, k.mode, &o, &cycles)) {
    t->as.size = start;
    t->cold_stubs = cold_stubs;
    t->slow_paths = slow_paths;
    return PP_REFUSED;
  }
  switch (k.op) {
    case DO_LDA:
      load(t, HOST_A, &o);
      result_in(t, HOST_A, false);
      break;
    case DO_LDX:
      load(t, HOST_X, &o);
      result_in(t, HOST_X, false);
      break;
    case DO_LDY:
      load(t, HOST_Y, &o);
      result_in(t, HOST_Y, false);
      break;
    case DO_LAX:
      load(t, HOST_A, &o);
      as_register(&t->as, OP_LOAD, HOST_X, HOST_A);
      result_in(t, HOST_A, false);
      break;
    case DO_AND:
      combine(t, OP_AND8, IMM_AND, HOST_A, &o);
      result_in(t, HOST_A, true);
      break;
    case DO_ORA:
      combine(t, OP_OR8, IMM_OR, HOST_A, &o);
      result_in(t, HOST_A, true);
      break;
    case DO_EOR:
      combine(t, OP_XOR8, IMM_XOR, HOST_A, &o);
      result_in(t, HOST_A, true);
      break;
    case DO_CMP: compare(t, HOST_A, &o); break;
    case DO_CPX: compare(t, HOST_X, &o); break;
    case DO_CPY: compare(t, HOST_Y, &o); break;
    case DO_ADC: add(t, &o); break;
    case DO_SBC: subtract(t, &o); break;
    case DO_BIT: test_bits(t, &o); break;
    default: break;  // NOP reads and does nothing
  }
  t->state.cycles += cycles;
  return t->bank >= 0 ? switch_bank(t, at) : PP_GOES_ON;
}
