/* Emitter: the machine code that instructions have in common. */
#include "emitter.h"

#include <stdlib.h>

/* ---------------------------------------------------------------------- the queue and jumps -- */

void emitter_enqueue(pp_emitter *e, uint32_t at) {
  if (e->is_block[at]) return;
  e->is_block[at] = 1;
  e->queue[e->queued++] = at;
}

void emitter_enqueue_address(pp_emitter *e, unsigned address) {
  for (uint32_t i = 0; i < e->image_count; i++) {
    const pp_code_image *image = &e->images[i];
    if ((address ^ image->home) & (0x1000u | image->select)) continue;
    emitter_enqueue(e, i * e->stride + (address & (image->size - 1u)));
  }
}

void emit_jump(pp_emitter *e, uint32_t to) {
  emitter_enqueue(e, to);
  if (e->fixups == e->fixups_room) {
    size_t room = e->fixups_room ? e->fixups_room * 2 : 4096;
    pp_fixup *more = realloc(e->fixup, room * sizeof(*more));
    if (!more) {
      e->as.failed = true;
      return;
    }
    e->fixup = more;
    e->fixups_room = room;
  }
  e->fixup[e->fixups++] = (pp_fixup){as_jump(&e->as), to};
}

void emit_flush_state(pp_emitter *e, const pp_emitter_state *state) {
  if (state->cycles) {
    as_memory(&e->as, OP_LEA, HOST_CYCLE, place_at(HOST_CYCLE, (int32_t)state->cycles));
  }
  if (state->result != HOST_NZ) as_register(&e->as, OP_LOAD, HOST_NZ, state->result);
}

void emitter_set_result(pp_emitter *e, int reg, bool has_flags) {
  e->state.result = reg;
  e->state.is_wide = false;
  e->state.has_zn = has_flags;
}

/* ---------------------------------------------------------------- side exits and slow paths -- */

void emit_exit_at(pp_emitter *e, uint32_t at) {
  as_set(&e->as, RAX, at - e->first + (e->image->home & 0xfffu));
  as_patch(&e->as, as_jump(&e->as), e->side_exit);
}

void emit_cold_stub_if(pp_emitter *e, unsigned condition, uint32_t to, bool exits,
                       const pp_emitter_state *state) {
  size_t from = as_jump_if(&e->as, condition);
  if (e->cold_stubs == PP_COLD_STUBS_MAX) {
    e->as.failed = true;
    return;
  }
  e->cold_stub[e->cold_stubs++] = (pp_cold_stub){from, to, exits, *state};
}

void emit_exit_if(pp_emitter *e, unsigned condition, uint32_t at) {
  emit_cold_stub_if(e, condition, at, true, &e->state);
}

pp_slow_path *emit_slow_path(pp_emitter *e, size_t jump, uint32_t at, uint32_t cycles) {
  pp_slow_path *a = &e->slow_path[e->slow_paths++];
  *a = (pp_slow_path){
      .from = jump,
      .at = at,
      .cycles = cycles,
      .state = e->state,
      .bus_at = -1,
      .value = NO_INDEX,
  };
  return a;
}

pp_slow_path *emit_slow_path_if(pp_emitter *e, unsigned condition, uint32_t at, uint32_t cycles) {
  return emit_slow_path(e, as_jump_if(&e->as, condition), at, cycles);
}

void emit_slow_path_end(pp_emitter *e) {
  e->slow_path[e->slow_paths - 1].back = e->as.size;
}

/* Exits if the register whose number is in ESI ends the line or may end the frame. */
static void check_register(pp_emitter *e, const pp_slow_path *a) {
  as_constant(&e->as, IMM_AND, RSI, 63);
  as_constant(&e->as, IMM_CMP, RSI, 2);
  size_t other = as_jump_if(&e->as, IF_ABOVE);
  emit_flush_state(e, &a->state);
  emit_exit_at(e, a->at);
  as_patch(&e->as, other, e->as.size);
}

static void write_slow_path(pp_emitter *e, const pp_slow_path *a) {
  pp_assembler *as = &e->as;
  as_patch(as, a->from, as->size);
  if (a->crosses) as_register(as, OP_ADD, HOST_CYCLE, RCX);
  if (a->is_timer) {
    as_set(as, RSI, 0x284);
  } else {
    as_register(as, OP_LOAD, RSI, RAX);
  }
  if (a->value != NO_INDEX) check_register(e, a);
  as_memory(as, OP_LEA, RCX, place_at(HOST_CYCLE, (int32_t)(a->state.cycles + a->cycles)));
  as_memory(as, OP_STORE, RCX, MACHINE(cycle));
  if (a->value != NO_INDEX) {
    as_register(as, OP_LOAD, RDX, a->value);
  } else if (a->bus_at >= 0) {
    as_memory(as, OP_LOAD_BYTE, RDX, place_in_ram((unsigned)a->bus_at));
  } else {
    as_set(as, RDX, a->bus);
  }
  as_patch(as, as_call(as), a->value != NO_INDEX ? e->write : e->read);
  as_patch(as, as_jump(as), a->back);
}

void emit_cold_stubs(pp_emitter *e) {
  for (int i = 0; i < e->cold_stubs; i++) {
    const pp_cold_stub *d = &e->cold_stub[i];
    as_patch(&e->as, d->from, e->as.size);
    emit_flush_state(e, &d->state);
    if (d->exits) {
      emit_exit_at(e, d->to);
    } else {
      emit_jump(e, d->to);
    }
  }
  e->cold_stubs = 0;
  for (int i = 0; i < e->slow_paths; i++) write_slow_path(e, &e->slow_path[i]);
  e->slow_paths = 0;
}

/* -------------------------------------------------------------------------------- addresses -- */

void emit_time_of_access(pp_emitter *e, int reg, uint32_t cycles) {
  as_memory(&e->as, OP_LEA, reg, place_at(HOST_CYCLE, (int32_t)(e->state.cycles + cycles)));
}

void emit_indexed_zero_page(pp_emitter *e, uint32_t at, int index) {
  as_memory(&e->as, OP_LEA, RAX, place_at(index, emitter_instruction(e, at)->operand & 0xff));
  as_register(&e->as, OP_LOAD_BYTE, RAX, RAX);
  as_register(&e->as, OP_TEST8, RAX, RAX);
}

void emit_indexed_ram(pp_emitter *e, uint32_t at, int index) {
  emit_indexed_zero_page(e, at, index);
  emit_exit_if(e, IF_NO_SIGN, at);
}

void emit_test_ram(pp_emitter *e) {
  as_register(&e->as, OP_LOAD, RDX, RAX);
  as_constant(&e->as, IMM_AND, RDX, 0x1280);
  as_constant(&e->as, IMM_CMP, RDX, 0x80);
}

void emit_ram_byte(pp_emitter *e, uint32_t at, pp_place *place) {
  emit_test_ram(e);
  emit_exit_if(e, IF_NOT_EQUAL, at);
  as_constant(&e->as, IMM_AND, RAX, 0xff);
  *place = place_in_ram_by(RAX);
}

void emit_exit_outside(pp_emitter *e, uint32_t at, int reg, int scratch) {
  const pp_code_image *image = e->image;
  const unsigned lines = 0x1000u | (image->size < PP_BANK_BYTES ? 0 : image->select);
  as_register(&e->as, OP_LOAD, scratch, reg);
  as_constant(&e->as, IMM_AND, scratch, lines);
  as_constant(&e->as, IMM_CMP, scratch, image->home & lines);
  emit_exit_if(e, IF_NOT_EQUAL, at);
}

void emit_cartridge_byte(pp_emitter *e, uint32_t at, pp_place *place) {
  pp_assembler *as = &e->as;
  const bool in_slots = e->image->size < PP_BANK_BYTES;
  emit_exit_outside(e, at, RAX, RDX);
  if (e->cart->special) {
    as_memory(as, OP_LEA, RDX, place_at(RAX, 0x40));
    as_constant(as, IMM_AND, RDX, 0xfff);
    as_constant(as, IMM_CMP, RDX, e->cart->special);
    emit_exit_if(e, IF_BELOW, at);
  }
  if (!in_slots) {
    as_constant(as, IMM_AND, RAX, 0xfff);
    *place = (pp_place){HOST_ROM, RAX, 0, 0};
    return;
  }
  as_register(as, OP_LOAD, RDX, RAX);
  as_shift(as, SHIFT_RIGHT, RDX, 10);
  as_constant(as, IMM_AND, RDX, 11);
  as_memory64(as, OP_LOAD, RSI, EXEC(data));
  as_memory64(as, OP_LOAD, RSI, (pp_place){RSI, RDX, 3, 0});
  as_constant(as, IMM_AND, RAX, 0x3ff);
  *place = (pp_place){RSI, RAX, 0, 0};
}

void emit_crossing(pp_emitter *e, int index, unsigned low) {
  as_memory(&e->as, OP_LEA, RCX, place_at(index, (int32_t)low));
  as_shift(&e->as, SHIFT_RIGHT, RCX, 8);
}

void emit_add_crossing(pp_emitter *e) {
  as_register(&e->as, OP_ADD, HOST_CYCLE, RCX);
}

/* ----------------------------------------------------------------- the chips' log and banks -- */

void emit_log_entry(pp_emitter *e, int value, unsigned reg, uint32_t cycles) {
  emit_time_of_access(e, RDX, cycles);
  as_shift(&e->as, SHIFT_LEFT, RDX, 16);
  as_memory(&e->as, OP_LEA, RDX, (pp_place){RDX, value, 0, (int32_t)(reg << 8)});
  as_memory(&e->as, OP_STORE, RDX, place_at(HOST_LOG, 0));
}

void emit_grow_log(pp_emitter *e) {
  as_memory64(&e->as, OP_LEA, HOST_LOG, (pp_place){HOST_LOG, RCX, 2, 0});
}

pp_translate_result emit_switch_bank(pp_emitter *e, uint32_t at) {
  pp_assembler *as = &e->as;
  const uint32_t bank = (uint32_t)e->bank, now = e->first / e->stride;
  const uint32_t to = bank * e->stride + (at - e->first) + e->length[at];
  if (bank == now) return PP_GOES_ON;
  emit_flush_state(e, &e->state);
  // slices 4 * bank to 4 * bank + 3
  as_store_constant(as, MACHINE(banks.slice), 0x03020100u + 0x04040404u * bank);
  as_store_constant(as, EXEC(switched), 1);
  as_memory64(as, OP_LEA, HOST_ROM,
              place_at(HOST_ROM, ((int32_t)bank - (int32_t)now) * PP_BANK_BYTES));
  as_memory64(as, OP_STORE, HOST_ROM, EXEC(rom));
  emit_jump(e, to);
  return PP_ENDS;
}
