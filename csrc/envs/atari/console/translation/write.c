/* Write: the operations that store. */
#include "../tia_registers.h"
#include "instructions.h"

/* SET_REGISTER: only a change is logged */
static void write_register(pp_emitter *e, int value, unsigned reg, uint32_t cycles) {
  pp_assembler *as = &e->as;
  const unsigned bits = pp_register_bits[reg];
  if (bits != 0xff) {
    as_register(as, OP_LOAD, RAX, value);
    as_constant(as, IMM_AND, RAX, bits);
    value = RAX;
  }
  emit_log_entry(e, value, reg, cycles);
  as_set(as, RCX, 0);
  as_memory(as, OP_CMP8, value, place_written(reg));
  as_set_if(as, IF_NOT_EQUAL, RCX);
  as_memory(as, OP_STORE8, value, place_written(reg));
  emit_grow_log(e);
}

/* EAX = whether `old` differs from a register that was written, which it becomes */
static void update_old(pp_emitter *e, pp_place old, unsigned reg) {
  pp_assembler *as = &e->as;
  as_set(as, RAX, 0);
  as_memory(as, OP_LOAD_BYTE, RDX, place_written(reg));
  as_memory(as, OP_CMP8, RDX, old);
  as_set_if(as, IF_NOT_EQUAL, RAX);
  as_memory(as, OP_STORE8, RDX, old);
  as_register(as, OP_OR, RCX, RAX);
}

/* WRITE_GRP: writing one player's graphics also updates the delayed copy of the other's */
static void write_graphics(pp_emitter *e, int value, unsigned player, uint32_t cycles) {
  pp_assembler *as = &e->as;
  pp_place old = MACHINE(old_grp);
  old.disp += (int32_t)(1 - player);
  emit_log_entry(e, value, TIA_GRP0 + player, cycles);
  as_set(as, RCX, 0);
  as_memory(as, OP_CMP8, value, place_written(TIA_GRP0 + player));
  as_set_if(as, IF_NOT_EQUAL, RCX);
  as_memory(as, OP_STORE8, value, place_written(TIA_GRP0 + player));
  // a saved value in RAX, as for SAX, is not needed any more
  update_old(e, old, TIA_GRP1 - player);
  if (player == 1) update_old(e, MACHINE(old_enabl), TIA_ENABL);
  emit_grow_log(e);
}

/* a register of which every write counts; false: another one */
static bool write_strobe(pp_emitter *e, int value, unsigned reg, uint32_t cycles) {
  pp_assembler *as = &e->as;
  const bool resets = reg >= TIA_RESP0 && reg <= TIA_RESBL,
             moves = reg >= TIA_RESMP0 && reg <= TIA_CXCLR;
  if (!resets && !moves) return false;
  emit_log_entry(e, value, reg, cycles);
  if (reg == TIA_RESP0 || reg == TIA_RESP1)
    as_store_constant8(as, place_written(reg - TIA_RESP0 + TIA_NUSIZ0), 0xff);
  if (reg == TIA_HMCLR) {
    as_store_constant(as, place_written(TIA_HMP0), 0);
    as_store_constant8(as, place_written(TIA_HMBL), 0);
  }
  as_memory64(as, OP_LEA, HOST_LOG, place_at(HOST_LOG, 4));
  return true;
}

/* WSYNC: HOST_CYCLE = the start of the next line, or now if a line starts now. 55189 / 2^22 is
 * 1 / 76 closely enough for every cycle of a frame. */
static void wait_for_line(pp_emitter *e, uint32_t next, uint32_t cycles) {
  pp_assembler *as = &e->as;
  emit_time_of_access(e, RAX, cycles + PP_LINE_CYCLES - 1);
  as_multiply(as, RAX, RAX, 55189);
  as_shift(as, SHIFT_RIGHT, RAX, 22);
  as_multiply(as, HOST_CYCLE, RAX, PP_LINE_CYCLES);
  e->state.cycles = 0;
  as_memory(as, OP_CMP, HOST_CYCLE, EXEC(limit));
  emit_exit_if(e, IF_NOT_BELOW, next);
}

/* Writes to a register of the television chip. Returns false if the interpreter must do it. */
static bool write_chip(pp_emitter *e, uint32_t at, int value, unsigned reg, uint32_t cycles) {
  if (reg == TIA_WSYNC) {
    wait_for_line(e, at + e->length[at], cycles);
    return true;
  }
  if (pp_register_bits[reg]) {
    write_register(e, value, reg, cycles);
  } else if (reg == TIA_GRP0 || reg == TIA_GRP1) {
    write_graphics(e, value, reg - TIA_GRP0, cycles);
  } else if (!pp_register_is_silent(reg) && !write_strobe(e, value, reg, cycles)) {
    return false;
  }
  e->state.cycles += cycles;
  return true;
}

/* Finds the register that an instruction stores. */
static int stored_value(pp_emitter *e, unsigned op) {
  switch (op) {
    case DO_STA: return HOST_A;
    case DO_STX: return HOST_X;
    case DO_STY: return HOST_Y;
    default: break;
  }
  as_register(&e->as, OP_LOAD, RAX, HOST_A);
  as_register(&e->as, OP_AND, RAX, HOST_X);
  return RAX;
}

/* zp,X or zp,Y */
static void write_zero_page(pp_emitter *e, uint32_t at, int index, int value) {
  emit_indexed_zero_page(e, at, index);
  emit_slow_path_if(e, IF_NO_SIGN, at, 4)->value = value;
  as_memory(&e->as, OP_STORE8, value, place_in_ram_by(RAX));
  emit_slow_path_end(e);
}

/* abs,X or abs,Y in RAM; other places exit */
static void write_indexed(pp_emitter *e, uint32_t at, int index, int value) {
  pp_place place;
  as_memory(&e->as, OP_LEA, RAX, place_at(index, emitter_instruction(e, at)->operand));
  emit_ram_byte(e, at, &place);
  as_memory(&e->as, OP_STORE8, value, place);
}

/* (zp),Y to RAM, with the pointer in RAM */
static bool pointer_write(pp_emitter *e, uint32_t at, int value) {
  pp_assembler *as = &e->as;
  const unsigned pointer = emitter_instruction(e, at)->operand & 0xff;
  if (pointer < 0x80 || pointer == 0xff) return false;
  pp_place place;
  as_memory(as, OP_LOAD_WORD, RAX, place_in_ram(pointer & 0x7f));
  as_register(as, OP_ADD, RAX, HOST_Y);
  emit_ram_byte(e, at, &place);
  as_memory(as, OP_STORE8, value, place);
  return true;
}

pp_translate_result translate_write(pp_emitter *e, uint32_t at, pp_kind k) {
  const pp_instruction *ip = emitter_instruction(e, at);
  const unsigned to = ip->operand;
  bool done = true;
  // RAX is in use then
  if (k.op == DO_SAX && k.mode != IN_WRA && k.mode != IN_WTR) return PP_REFUSED;
  const int value = stored_value(e, k.op);
  switch (k.mode) {
    case IN_WRA:
      as_memory(&e->as, OP_STORE8, value, place_in_ram(to));
      e->state.cycles += 3;
      break;
    case IN_WTR:
    case IN_WTI:
    case IN_WSY:
    case IN_WG0:
    case IN_WG1: {
      unsigned reg = k.mode == IN_WG0   ? TIA_GRP0
                     : k.mode == IN_WG1 ? TIA_GRP1
                     : k.mode == IN_WSY ? TIA_WSYNC
                                        : to;
      done = write_chip(e, at, value, reg, 3);
      break;
    }
    case IN_WNO: e->state.cycles += 3; break;
    case IN_WAB:
      e->bank = pp_mapper_bank(e->cart, to);
      if (e->bank >= 0) {
        e->state.cycles += 4;
        return emit_switch_bank(e, at);
      }
      if ((to & 0x1280) == 0x80) {
        as_memory(&e->as, OP_STORE8, value, place_in_ram(to & 0x7f));
        e->state.cycles += 4;
      } else if (to & 0x1080) {
        done = false;
      } else {
        done = write_chip(e, at, value, to & 63, 4);
      }
      break;
    case IN_WZX:
    case IN_WZY:
      write_zero_page(e, at, k.mode == IN_WZX ? HOST_X : HOST_Y, value);
      e->state.cycles += 4;
      break;
    case IN_WAX:
    case IN_WAY:
      done = !(to & 0x1000);
      if (!done) break;
      write_indexed(e, at, k.mode == IN_WAX ? HOST_X : HOST_Y, value);
      e->state.cycles += 5;
      break;
    case IN_WIY:
      done = pointer_write(e, at, value);
      e->state.cycles += done ? 6 : 0;
      break;
    default: done = false; break;
  }
  return done ? PP_GOES_ON : PP_REFUSED;
}
