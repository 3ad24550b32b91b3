/* Read: what instructions read, and the operations that read. */
#include "../tia_registers.h"
#include "instructions.h"
#include "operand.h"

/* EAX = intervals left until the timer passes zero, negative afterwards. Changes RCX and RDX. */
static void timer_left(pp_emitter *e) {
  pp_assembler *as = &e->as;
  emit_time_of_access(e, RDX, 4);
  as_constant(as, IMM_SUB, RDX, 1);
  as_memory(as, OP_SUB, RDX, MACHINE(timer_set));
  as_memory(as, OP_LOAD_BYTE, RCX, MACHINE(timer_shift));
  as_shift_by(as, SHIFT_RIGHT, RDX);
  as_memory(as, OP_LOAD_BYTE, RAX, MACHINE(timer));
  as_constant(as, IMM_SUB, RAX, 1);
  as_register(as, OP_SUB, RAX, RDX);
}

/* INTIM */
static void read_timer(pp_emitter *e, uint32_t at) {
  timer_left(e);
  emit_slow_path_if(e, IF_SIGN, at, 4)->is_timer = true;
  emit_slow_path_end(e);
}

/* a paddle or a trigger */
static bool read_input(pp_emitter *e, uint32_t at) {
  pp_assembler *as = &e->as;
  const pp_instruction *ip = emitter_instruction(e, at);
  const unsigned reg = ip->operand & 15;
  if (reg < TIA_INPT0) return false;
  emit_time_of_access(e, RDX, 3);
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
static bool read_absolute(unsigned address, pp_operand *o) {
  if (address & 0x1000 || !(address & 0x80)) return false;
  if (!(address & 0x200)) {
    *o = (pp_operand){.from = FROM_MEMORY, .place = place_in_ram(address & 0x7f)};
    return true;
  }
  if (address & 4) return false;
  switch (address & 3) {
    case 0: *o = (pp_operand){.from = FROM_MEMORY, .place = MACHINE(port_a)}; return true;
    case 2: *o = (pp_operand){.from = FROM_MEMORY, .place = MACHINE(port_b)}; return true;
    default: *o = (pp_operand){.from = FROM_CONSTANT}; return true;
  }
}

/* abs,X or abs,Y inside ROM */
static bool read_table(pp_emitter *e, uint32_t at, int index, pp_operand *o) {
  const pp_instruction *ip = emitter_instruction(e, at);
  o->from = FROM_MEMORY;
  o->place = (pp_place){HOST_ROM, index, 0, ip->operand & 0xfff};
  if (ip->low == 0) return true;
  emit_crossing(e, index, ip->low);
  emit_add_crossing(e);
  return true;
}

/* abs,X or abs,Y anywhere */
static bool read_indexed(pp_emitter *e, uint32_t at, int index, pp_operand *o) {
  pp_assembler *as = &e->as;
  const pp_instruction *ip = emitter_instruction(e, at);
  const unsigned page = ip->operand >> 8;
  if (!(ip->operand & 0x1000) && (page & 15) == 15) return false;
  as_memory(as, OP_LEA, RAX, place_at(index, ip->operand));
  if (ip->operand & 0x1000) {
    as_register(as, OP_LOAD_WORD, RAX, RAX);
    o->from = FROM_MEMORY;
    emit_cartridge_byte(e, at, &o->place);
    emit_crossing(e, index, ip->low);
    emit_add_crossing(e);
    return true;
  }
  emit_crossing(e, index, ip->low);
  emit_add_crossing(e);
  emit_test_ram(e);
  emit_slow_path_if(e, IF_NOT_EQUAL, at, 4)->bus = page;
  as_constant(as, IMM_AND, RAX, 0xff);
  as_memory(as, OP_LOAD_BYTE, RAX, place_in_ram_by(RAX));
  emit_slow_path_end(e);
  o->from = FROM_RAX;
  return true;
}

/* zp,X or zp,Y */
static void read_zero_page(pp_emitter *e, uint32_t at, int index, pp_operand *o) {
  emit_indexed_zero_page(e, at, index);
  emit_slow_path_if(e, IF_NO_SIGN, at, 4)->bus = emitter_instruction(e, at)->operand;
  as_memory(&e->as, OP_LOAD_BYTE, RAX, place_in_ram_by(RAX));
  emit_slow_path_end(e);
  o->from = FROM_RAX;
}

/* a collision register */
static void read_collision(pp_emitter *e, uint32_t at, pp_operand *o) {
  const unsigned address = emitter_instruction(e, at)->operand;
  as_set(&e->as, RAX, address);
  emit_slow_path(e, as_jump(&e->as), at, 3)->bus = address;
  emit_slow_path_end(e);
  o->from = FROM_RAX;
}

/* (zp),Y with the pointer in RAM */
static bool read_pointer(pp_emitter *e, uint32_t at, pp_operand *o) {
  pp_assembler *as = &e->as;
  const unsigned pointer = emitter_instruction(e, at)->operand;
  as_memory(as, OP_LOAD_WORD, RAX, place_in_ram(pointer));
  as_register(as, OP_LOAD_BYTE, RCX, RAX);
  as_register(as, OP_ADD, RCX, HOST_Y);
  as_shift(as, SHIFT_RIGHT, RCX, 8);
  as_register(as, OP_ADD, RAX, HOST_Y);
  as_register(as, OP_LOAD_WORD, RAX, RAX);
  as_test(as, RAX, 0x1000);
  pp_slow_path *path = emit_slow_path_if(e, IF_EQUAL, at, 5);
  path->bus_at = (int)pointer + 1;
  path->crosses = true;
  pp_place place;
  emit_cartridge_byte(e, at, &place);
  emit_add_crossing(e);
  as_memory(as, OP_LOAD_BYTE, RAX, place);
  emit_slow_path_end(e);
  o->from = FROM_RAX;
  return true;
}

/* EAX = the byte at the address in EAX, of the cartridge or in RAM; anything else exits. Changes
 * RCX and RDX. */
static void read_address(pp_emitter *e, uint32_t at) {
  pp_assembler *as = &e->as;
  pp_place place;
  as_test(as, RAX, 0x1000);
  size_t outside = as_jump_if(as, IF_EQUAL);
  emit_cartridge_byte(e, at, &place);
  as_memory(as, OP_LOAD_BYTE, RAX, place);
  size_t done = as_jump(as);
  as_patch(as, outside, as->size);
  emit_ram_byte(e, at, &place);
  as_memory(as, OP_LOAD_BYTE, RAX, place);
  as_patch(as, done, as->size);
}

/* (zp,X) with the pointer in RAM */
static bool read_indexed_pointer(pp_emitter *e, uint32_t at, pp_operand *o) {
  pp_assembler *as = &e->as;
  emit_indexed_ram(e, at, HOST_X);
  as_constant(as, IMM_CMP, RAX, 0xff);
  emit_exit_if(e, IF_EQUAL, at);
  as_memory(as, OP_LOAD_WORD, RAX, place_in_ram_by(RAX));
  read_address(e, at);
  o->from = FROM_RAX;
  return true;
}

/* INSTAT: bit 7 is set if the timer has passed zero and has not been read since */
static void read_timer_status(pp_emitter *e) {
  pp_assembler *as = &e->as;
  timer_left(e);
  as_shift(as, SHIFT_RIGHT, RAX, 31);
  as_memory(as, OP_LOAD_BYTE, RCX, MACHINE(timer_read));
  as_constant(as, IMM_XOR, RCX, 1);
  as_register(as, OP_AND, RAX, RCX);
  as_shift(as, SHIFT_LEFT, RAX, 7);
}

/* Finds what an instruction reads. Returns false if the interpreter must run it. Sets *cycles. */
static bool find_operand(pp_emitter *e, uint32_t at, unsigned mode, pp_operand *o,
                         uint32_t *cycles) {
  const pp_instruction *ip = emitter_instruction(e, at);
  *o = (pp_operand){.from = FROM_CONSTANT, .constant = ip->operand & 0xff};
  switch (mode) {
    case IN_RIM: *cycles = 2; return true;
    case IN_RCO: *cycles = 4; return true;
    case IN_RRA:
      *cycles = 3;
      *o = (pp_operand){.from = FROM_MEMORY, .place = place_in_ram(ip->operand)};
      return true;
    case IN_RZX:
    case IN_RZY:
      *cycles = 4;
      read_zero_page(e, at, mode == IN_RZX ? HOST_X : HOST_Y, o);
      return true;
    case IN_RTI:
      *cycles = 3;
      read_collision(e, at, o);
      return true;
    case IN_RLX: *cycles = 4; return read_table(e, at, HOST_X, o);
    case IN_RLY: *cycles = 4; return read_table(e, at, HOST_Y, o);
    case IN_RAX: *cycles = 4; return read_indexed(e, at, HOST_X, o);
    case IN_RAY: *cycles = 4; return read_indexed(e, at, HOST_Y, o);
    case IN_RPY: *cycles = 5; return read_pointer(e, at, o);
    case IN_RIX: *cycles = 6; return read_indexed_pointer(e, at, o);
    case IN_RAB:
      *cycles = 4;
      e->bank = pp_mapper_bank(e->cart, ip->operand);
      if (e->bank >= 0) {
        // the byte is that of the bank that shows from now on
        o->constant = e->images[e->bank].rom[ip->operand & 0xfff];
        return true;
      }
      if ((ip->operand & 0x1085) != 0x0085 || !(ip->operand & 0x200)) {
        return read_absolute(ip->operand, o);
      }
      read_timer_status(e);
      o->from = FROM_RAX;
      return true;
    case IN_RTW:
      // the interpreter skips long waits
      as_compare8(&e->as, MACHINE(timer_shift), 6);
      emit_exit_if(e, IF_NOT_BELOW, at);
      // fallthrough
    case IN_RTM:
      *cycles = 4;
      read_timer(e, at);
      o->from = FROM_RAX;
      return true;
    case IN_RIN:
      *cycles = 3;
      o->from = FROM_RAX;
      return read_input(e, at);
    default: return false;
  }
}

static void load(pp_emitter *e, int reg, const pp_operand *o) {
  emit_load(e, reg, o);
  emitter_set_result(e, reg, false);
}

/* A = A <operation> operand */
static void combine(pp_emitter *e, unsigned opcode, unsigned operation, const pp_operand *o) {
  emit_combine(e, opcode, operation, HOST_A, o);
  emitter_set_result(e, HOST_A, true);
}

static void add(pp_emitter *e, const pp_operand *o) {
  as_carry_from(&e->as, HOST_CARRY);
  emit_combine(e, OP_ADC8, IMM_ADC, HOST_A, o);
  as_set_if(&e->as, IF_BELOW, HOST_CARRY);
  as_store_if(&e->as, IF_OVERFLOW, MACHINE(overflow));
  emitter_set_result(e, HOST_A, true);
  e->state.carry = PP_CARRY_IS_CF;
}

/* the host borrows where the 6507 has no carry */
static void subtract(pp_emitter *e, const pp_operand *o) {
  as_constant8(&e->as, IMM_CMP, HOST_CARRY, 1);
  emit_combine(e, OP_SBB8, IMM_SBB, HOST_A, o);
  as_set_if(&e->as, IF_NOT_BELOW, HOST_CARRY);
  as_store_if(&e->as, IF_OVERFLOW, MACHINE(overflow));
  emitter_set_result(e, HOST_A, true);
  e->state.carry = PP_CARRY_IS_NOT_CF;
}

static void test_bits(pp_emitter *e, const pp_operand *o) {
  pp_assembler *as = &e->as;
  emit_load(e, RAX, o);
  as_register(as, OP_LOAD, RCX, RAX);
  as_shift(as, SHIFT_RIGHT, RCX, 6);
  as_constant(as, IMM_AND, RCX, 1);
  as_memory(as, OP_STORE8, RCX, MACHINE(overflow));
  as_register(as, OP_LOAD, HOST_NZ, RAX);
  as_constant(as, IMM_AND, HOST_NZ, 0x80);
  as_shift(as, SHIFT_LEFT, HOST_NZ, 8);
  as_register(as, OP_AND, RAX, HOST_A);
  as_register(as, OP_OR, HOST_NZ, RAX);
  emitter_set_result(e, HOST_NZ, false);
  e->state.is_wide = true;
}

pp_translate_result translate_read(pp_emitter *e, uint32_t at, pp_kind k) {
  const bool adds = k.op == DO_ADC || k.op == DO_SBC;
  pp_operand o;
  uint32_t cycles;
  if (k.op == DO_ANC || k.op == DO_ALR || k.op == DO_ARR || k.op == DO_SBX) return PP_REFUSED;
  if (adds) {
    as_compare8(&e->as, MACHINE(decimal), 0);
    emit_exit_if(e, IF_NOT_EQUAL, at);
  }
  if (!find_operand(e, at, k.mode, &o, &cycles)) return PP_REFUSED;
  switch (k.op) {
    case DO_LDA: load(e, HOST_A, &o); break;
    case DO_LDX: load(e, HOST_X, &o); break;
    case DO_LDY: load(e, HOST_Y, &o); break;
    case DO_LAX:
      load(e, HOST_A, &o);
      as_register(&e->as, OP_LOAD, HOST_X, HOST_A);
      break;
    case DO_AND: combine(e, OP_AND8, IMM_AND, &o); break;
    case DO_ORA: combine(e, OP_OR8, IMM_OR, &o); break;
    case DO_EOR: combine(e, OP_XOR8, IMM_XOR, &o); break;
    case DO_CMP: emit_compare(e, HOST_A, &o); break;
    case DO_CPX: emit_compare(e, HOST_X, &o); break;
    case DO_CPY: emit_compare(e, HOST_Y, &o); break;
    case DO_ADC: add(e, &o); break;
    case DO_SBC: subtract(e, &o); break;
    case DO_BIT: test_bits(e, &o); break;
    default: break;  // NOP reads and does nothing
  }
  e->state.cycles += cycles;
  return e->bank >= 0 ? emit_switch_bank(e, at) : PP_GOES_ON;
}
