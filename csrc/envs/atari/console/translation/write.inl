/* Write: the operations that store
 *
 * Included by translator.c, whose functions it uses. */

/* EDX = the entry of the log for a write of the low byte of `value`, whose other bytes are zero */
static void log_entry(pp_translator *t, int value, unsigned reg, uint32_t cycles) {
  time_of_access(t, RDX, cycles);
  as_shift(&t->as, SHIFT_LEFT, RDX, 16);
  as_memory(&t->as, OP_LEA, RDX, (pp_place){RDX, value, 0, (int32_t)(reg << 8)});
  as_memory(&t->as, OP_STORE, RDX, sum_of(HOST_LOG, 0));
}

/* the log grows by the number of entries in ECX */
static void grow_log(pp_translator *t) {
  as_memory64(&t->as, OP_LEA, HOST_LOG, (pp_place){HOST_LOG, RCX, 2, 0});
}

/* SET_REGISTER: only a change is logged */
static void write_register(pp_translator *t, int value, unsigned reg, uint32_t cycles) {
  pp_assembler *as = &t->as;
  const unsigned bits = pp_register_bits[reg];
  if (bits != 0xff) {
    as_register(as, OP_LOAD, RAX, value);
    as_constant(as, IMM_AND, RAX, bits);
    value = RAX;
  }
  log_entry(t, value, reg, cycles);
  as_set(as, RCX, 0);
  as_memory(as, OP_CMP8, value, written_at(reg));
  as_set_if(as, IF_NOT_EQUAL, RCX);
  as_memory(as, OP_STORE8, value, written_at(reg));
  grow_log(t);
}

/* EAX = whether `old` differs from a register that was written, which it becomes */
static void update_old(pp_translator *t, pp_place old, unsigned reg) {
  pp_assembler *as = &t->as;
  as_set(as, RAX, 0);
  as_memory(as, OP_LOAD_BYTE, RDX, written_at(reg));
  as_memory(as, OP_CMP8, RDX, old);
  as_set_if(as, IF_NOT_EQUAL, RAX);
  as_memory(as, OP_STORE8, RDX, old);
  as_register(as, OP_OR, RCX, RAX);
}

/* WRITE_GRP: writing one player's graphics also updates the delayed copy of the other's */
static void write_graphics(pp_translator *t, int value, unsigned player, uint32_t cycles) {
  pp_assembler *as = &t->as;
  pp_place old = MACHINE(old_grp);
  old.disp += (int32_t)(1 - player);
  log_entry(t, value, TIA_GRP0 + player, cycles);
  as_set(as, RCX, 0);
  as_memory(as, OP_CMP8, value, written_at(TIA_GRP0 + player));
  as_set_if(as, IF_NOT_EQUAL, RCX);
  as_memory(as, OP_STORE8, value, written_at(TIA_GRP0 + player));
  // a saved value in RAX, as for SAX, is not needed any more
  update_old(t, old, TIA_GRP1 - player);
  if (player == 1) update_old(t, MACHINE(old_enabl), TIA_ENABL);
  grow_log(t);
}

/* a register of which every write counts; false: another one */
static bool write_strobe(pp_translator *t, int value, unsigned reg, uint32_t cycles) {
  pp_assembler *as = &t->as;
  const bool resets = reg >= TIA_RESP0 && reg <= TIA_RESBL,
             moves = reg >= TIA_RESMP0 && reg <= TIA_CXCLR;
  if (!resets && !moves) return false;
  log_entry(t, value, reg, cycles);
  if (reg == TIA_RESP0 || reg == TIA_RESP1)
    as_store_constant8(as, written_at(reg - TIA_RESP0 + TIA_NUSIZ0), 0xff);
  if (reg == TIA_HMCLR) {
    as_store_constant(as, written_at(TIA_HMP0), 0);
    as_store_constant8(as, written_at(TIA_HMBL), 0);
  }
  as_memory64(as, OP_LEA, HOST_LOG, sum_of(HOST_LOG, 4));
  return true;
}

/* WSYNC: HOST_CYCLE = the start of the next line, or now if a line starts now. 55189 / 2^22 is
 * 1 / 76 closely enough for every cycle of a frame. */
static void wait_for_line(pp_translator *t, uint32_t next, uint32_t cycles) {
  pp_assembler *as = &t->as;
  time_of_access(t, RAX, cycles + PP_LINE_CYCLES - 1);
  as_multiply(as, RAX, RAX, 55189);
  as_shift(as, SHIFT_RIGHT, RAX, 22);
  as_multiply(as, HOST_CYCLE, RAX, PP_LINE_CYCLES);
  t->state.cycles = 0;
  as_memory(as, OP_CMP, HOST_CYCLE, EXEC(limit));
  exit_if(t, IF_NOT_BELOW, next);
}

/* Writes to a register of the television chip. Returns false if the interpreter must do it. */
static bool write_chip(pp_translator *t, uint32_t at, int value, unsigned reg, uint32_t cycles) {
  if (reg == TIA_WSYNC) {
    wait_for_line(t, at + t->length[at], cycles);
    return true;
  }
  if (pp_register_bits[reg]) {
    write_register(t, value, reg, cycles);
  } else if (reg == TIA_GRP0 || reg == TIA_GRP1) {
    write_graphics(t, value, reg - TIA_GRP0, cycles);
  } else if (!pp_register_is_silent(reg) && !write_strobe(t, value, reg, cycles)) {
    return false;
  }
  t->state.cycles += cycles;
  return true;
}

/* Finds the register that an instruction stores. */
static int stored_value(pp_translator *t, unsigned op) {
  switch (op) {
    case DO_STA: return HOST_A;
    case DO_STX: return HOST_X;
    case DO_STY: return HOST_Y;
    default: break;
  }
  as_register(&t->as, OP_LOAD, RAX, HOST_A);
  as_register(&t->as, OP_AND, RAX, HOST_X);
  return RAX;
}

/* zp,X or zp,Y */
static void write_zero_page(pp_translator *t, uint32_t at, int index, int value) {
  indexed_zero_page(t, at, index);
  slow_path_if(t, IF_NO_SIGN, at, 4)->value = value;
  as_memory(&t->as, OP_STORE8, value, ram_by(RAX));
  slow_path_ends(t);
}

/* abs,X or abs,Y in RAM; other places exit */
static void write_indexed(pp_translator *t, uint32_t at, int index, int value) {
  pp_place place;
  as_memory(&t->as, OP_LEA, RAX, sum_of(index, instruction(t, at)->operand));
  ram_byte(t, at, &place);
  as_memory(&t->as, OP_STORE8, value, place);
}

/* (zp),Y to RAM, with the pointer in RAM */
static bool pointer_write(pp_translator *t, uint32_t at, int value) {
  pp_assembler *as = &t->as;
  const unsigned pointer = instruction(t, at)->operand & 0xff;
  if (pointer < 0x80 || pointer == 0xff) return false;
  pp_place place;
  as_memory(as, OP_LOAD_WORD, RAX, ram_at(pointer & 0x7f));
  as_register(as, OP_ADD, RAX, HOST_Y);
  ram_byte(t, at, &place);
  as_memory(as, OP_STORE8, value, place);
  return true;
}

static pp_translate_result translate_write(pp_translator *t, uint32_t at, kind k) {
  const pp_instruction *ip = instruction(t, at);
  const unsigned to = ip->operand;
  const size_t start = t->as.size;
  const int cold_stubs = t->cold_stubs, slow_paths = t->slow_paths;
  bool done = true;
  // RAX is in use then
  if (k.op == DO_SAX && k.mode != IN_WRA && k.mode != IN_WTR) return PP_REFUSED;
  const int value = stored_value(t, k.op);
  switch (k.mode) {
    case IN_WRA:
      as_memory(&t->as, OP_STORE8, value, ram_at(to));
      t->state.cycles += 3;
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
      done = write_chip(t, at, value, reg, 3);
      break;
    }
    case IN_WNO: t->state.cycles += 3; break;
    case IN_WAB:
      t->bank = pp_mapper_bank(t->cart, to);
      if (t->bank >= 0) {
        t->state.cycles += 4;
        return switch_bank(t, at);
      }
      if ((to & 0x1280) == 0x80) {
        as_memory(&t->as, OP_STORE8, value, ram_at(to & 0x7f));
        t->state.cycles += 4;
      } else if (to & 0x1080) {
        done = false;
      } else {
        done = write_chip(t, at, value, to & 63, 4);
      }
      break;
    case IN_WZX:
    case IN_WZY:
      write_zero_page(t, at, k.mode == IN_WZX ? HOST_X : HOST_Y, value);
      t->state.cycles += 4;
      break;
    case IN_WAX:
    case IN_WAY:
      done = !(to & 0x1000);
      if (!done) break;
      write_indexed(t, at, k.mode == IN_WAX ? HOST_X : HOST_Y, value);
      t->state.cycles += 5;
      break;
    case IN_WIY:
      done = pointer_write(t, at, value);
      t->state.cycles += done ? 6 : 0;
      break;
    default: done = false; break;
  }
  if (done) return PP_GOES_ON;
  t->as.size = start;
  t->cold_stubs = cold_stubs;
  t->slow_paths = slow_paths;
  return PP_REFUSED;
}
