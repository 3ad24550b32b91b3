/* Trampolines: what is written first, before all blocks. */
#include "trampolines.h"

/* Reads a paddle without a call, if ESI is the address of one: some programs do it in each line.
 * ESI and EDX are those of pp_exec's `read`. */
static void write_paddle_read(pp_emitter *e) {
  pp_assembler *as = &e->as;
  const pp_place ready = {HOST_EXEC, RAX, 2, (int32_t)offsetof(pp_exec, machine.ready)};
  // A7 and A3 low and high, A2 low
  as_register(as, OP_LOAD, RAX, RSI);
  as_constant(as, IMM_AND, RAX, 0x8c);
  as_constant(as, IMM_CMP, RAX, 0x08);
  size_t other = as_jump_if(as, IF_NOT_EQUAL);
  as_register(as, OP_LOAD, RAX, RSI);
  as_constant(as, IMM_AND, RAX, 3);
  as_memory(as, OP_LOAD, RCX, MACHINE(cycle));
  as_memory(as, OP_STORE, RCX, MACHINE(used));
  as_memory(as, OP_CMP, RCX, ready);
  as_set_if(as, IF_ABOVE, RAX);
  as_shift(as, SHIFT_LEFT, RAX, 7);
  as_constant(as, IMM_AND, RDX, 0x3f);
  as_register(as, OP_OR, RAX, RDX);
  as_return(as);
  as_patch(as, other, as->size);
}

/* Calls one of pp_exec's functions, with the other arguments in ESI and EDX. */
static size_t write_call(pp_emitter *e, size_t function) {
  pp_assembler *as = &e->as;
  const size_t start = as->size;
  as_move_stack(as, -8);  // the ABI aligns it to 16 bytes
  as_memory64(as, OP_STORE, HOST_LOG, EXEC(log));
  as_memory(as, OP_STORE8, HOST_CARRY, MACHINE(carry));
  as_register64(as, OP_LOAD, RDI, HOST_EXEC);
  as_call_place(as, place_at(HOST_EXEC, (int32_t)function));
  as_memory64(as, OP_LOAD, HOST_LOG, EXEC(log));
  as_memory(as, OP_LOAD_BYTE, HOST_CARRY, MACHINE(carry));
  as_memory64(as, OP_LOAD, HOST_ROM, EXEC(rom));
  as_move_stack(as, 8);
  as_return(as);
  return start;
}

void emit_trampolines(pp_emitter *e) {
  static const int saved[] = {RBX, RBP, R12, R13, R14, R15};
  static const struct {
    int reg;
    size_t offset;
    unsigned load, store;
    bool wide;
  } kept[] = {
      {HOST_CYCLE, offsetof(pp_exec, machine.cycle), OP_LOAD, OP_STORE, false},
      {HOST_A, offsetof(pp_exec, machine.a), OP_LOAD_BYTE, OP_STORE8, false},
      {HOST_X, offsetof(pp_exec, machine.x), OP_LOAD_BYTE, OP_STORE8, false},
      {HOST_Y, offsetof(pp_exec, machine.y), OP_LOAD_BYTE, OP_STORE8, false},
      {HOST_CARRY, offsetof(pp_exec, machine.carry), OP_LOAD_BYTE, OP_STORE8, false},
      {HOST_LOG, offsetof(pp_exec, log), OP_LOAD, OP_STORE, true},
  };
  enum { SAVED = sizeof(saved) / sizeof(saved[0]), KEPT = sizeof(kept) / sizeof(kept[0]) };
  pp_assembler *as = &e->as;

  for (int i = 0; i < SAVED; i++) as_push(as, saved[i]);
  as_move_stack(as, -8);
  as_register64(as, OP_LOAD, HOST_EXEC, RDI);
  for (int i = 0; i < KEPT; i++) {
    pp_place place = place_at(HOST_EXEC, (int32_t)kept[i].offset);
    as_memory_of(as, kept[i].load, kept[i].reg, place, kept[i].wide);
  }
  as_memory(as, OP_LOAD_WORD, HOST_NZ, MACHINE(nz));
  as_memory64(as, OP_LOAD, HOST_ROM, EXEC(rom));
  as_jump_to_register(as, RSI);

  e->side_exit = as->size;
  for (int i = 0; i < KEPT; i++) {
    pp_place place = place_at(HOST_EXEC, (int32_t)kept[i].offset);
    as_memory_of(as, kept[i].store, kept[i].reg, place, kept[i].wide);
  }
  as_store_word(as, HOST_NZ, MACHINE(nz));
  as_move_stack(as, 8);
  for (int i = SAVED - 1; i >= 0; i--) as_pop(as, saved[i]);
  as_return(as);

  e->read = as->size;
  write_paddle_read(e);
  write_call(e, offsetof(pp_exec, read));
  e->write = write_call(e, offsetof(pp_exec, write));
}
