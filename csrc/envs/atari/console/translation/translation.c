/* Translation: finds a program's blocks, translates them one by one, and joins them.
 *
 * A block begins where a jump may lead and goes on past branches that are not taken, up to a jump,
 * to the begin of another block, or to an instruction that the interpreter must run. */
#include "translation.h"

#include <stdlib.h>
#include <string.h>

#include "../cartridge.h"
#include "os/code_memory.h"
#include "translator.h"

static void forget_entries(pp_translation *t) {
  free(t->entry);
  t->entry = NULL;
}

#if defined(PP_BUILDS_X86)

/* a block of fewer instructions before the interpreter goes on is not worth entering */
enum { SHORTEST_ENTRY = 3 };

/* ------------------------------------------------------------------------------------ blocks -- */

void pp_translator_enqueue(pp_translator *t, uint32_t at) {
  if (t->is_block[at]) return;
  t->is_block[at] = 1;
  t->queue[t->queued++] = at;
}

void pp_translator_enqueue_address(pp_translator *t, unsigned address) {
  for (uint32_t i = 0; i < t->image_count; i++) {
    const pp_code_image *image = &t->images[i];
    if ((address ^ image->home) & (0x1000u | image->select)) continue;
    pp_translator_enqueue(t, i * t->stride + (address & (image->size - 1u)));
  }
}

void pp_translator_jump(pp_translator *t, uint32_t to) {
  pp_translator_enqueue(t, to);
  if (t->fixups == t->fixups_room) {
    size_t room = t->fixups_room ? t->fixups_room * 2 : 4096;
    pp_fixup *more = realloc(t->fixup, room * sizeof(*more));
    if (!more) {
      t->as.failed = true;
      return;
    }
    t->fixup = more;
    t->fixups_room = room;
  }
  t->fixup[t->fixups++] = (pp_fixup){as_jump(&t->as), to};
}

void pp_translator_flush_state(pp_translator *t, const pp_translator_state *state) {
  if (state->cycles) {
    pp_place later = {HOST_CYCLE, NO_INDEX, 0, (int32_t)state->cycles};
    as_memory(&t->as, OP_LEA, HOST_CYCLE, later);
  }
  if (state->result != HOST_NZ) as_register(&t->as, OP_LOAD, HOST_NZ, state->result);
}

/* Writes a side exit: returns to the interpreter, which goes on at this instruction. */
static void exit_at(pp_translator *t, uint32_t at) {
  as_set(&t->as, RAX, at - t->first + (t->image->home & 0xfffu));
  as_patch(&t->as, as_jump(&t->as), t->side_exit);
}

/* Exits if the register whose number is in ESI ends the line or may end the frame. */
static void check_register(pp_translator *t, const pp_slow_path *a) {
  as_constant(&t->as, IMM_AND, RSI, 63);
  as_constant(&t->as, IMM_CMP, RSI, 2);
  size_t other = as_jump_if(&t->as, IF_ABOVE);
  pp_translator_flush_state(t, &a->state);
  exit_at(t, a->at);
  as_patch(&t->as, other, t->as.size);
}

static void write_slow_path(pp_translator *t, const pp_slow_path *a) {
  pp_assembler *as = &t->as;
  const pp_place bus = {HOST_EXEC, NO_INDEX, 0,
                        (int32_t)offsetof(pp_exec, machine.ram) + a->bus_at};
  as_patch(as, a->from, as->size);
  if (a->crosses) as_register(as, OP_ADD, HOST_CYCLE, RCX);
  if (a->is_timer) {
    as_set(as, RSI, 0x284);
  } else {
    as_register(as, OP_LOAD, RSI, RAX);
  }
  if (a->value != NO_INDEX) check_register(t, a);
  as_memory(as, OP_LEA, RCX,
            (pp_place){HOST_CYCLE, NO_INDEX, 0, (int32_t)(a->state.cycles + a->cycles)});
  as_memory(as, OP_STORE, RCX, MACHINE(cycle));
  if (a->value != NO_INDEX) {
    as_register(as, OP_LOAD, RDX, a->value);
  } else if (a->bus_at >= 0) {
    as_memory(as, OP_LOAD_BYTE, RDX, bus);
  } else {
    as_set(as, RDX, a->bus);
  }
  as_patch(as, as_call(as), a->value != NO_INDEX ? t->write : t->read);
  as_patch(as, as_jump(as), a->back);
}

static void write_cold_stubs(pp_translator *t) {
  for (int i = 0; i < t->cold_stubs; i++) {
    const pp_cold_stub *d = &t->cold_stub[i];
    as_patch(&t->as, d->from, t->as.size);
    pp_translator_flush_state(t, &d->state);
    if (d->exits) {
      exit_at(t, d->to);
    } else {
      pp_translator_jump(t, d->to);
    }
  }
  t->cold_stubs = 0;
  for (int i = 0; i < t->slow_paths; i++) write_slow_path(t, &t->slow_path[i]);
  t->slow_paths = 0;
}

/* Exits if the frame may become too long. At a block's start only the registers are known. */
static void begin_block(pp_translator *t, uint32_t at) {
  t->state = (pp_translator_state){.result = HOST_NZ, .is_wide = true};
  as_memory(&t->as, OP_CMP, HOST_CYCLE, EXEC(limit));
  size_t from = as_jump_if(&t->as, IF_NOT_BELOW);
  t->cold_stub[t->cold_stubs++] = (pp_cold_stub){from, at, true, t->state};
}

/* After an instruction that the interpreter runs, the translation may go on: behind it, or at the
 * same address of another bank. */
static void go_on_behind(pp_translator *t, uint32_t at) {
  const uint32_t behind = at - t->first + t->length[at];
  if (behind >= t->image->size) return;
  for (uint32_t i = 0; i < t->image_count; i++) {
    bool same = i * t->stride == t->first;
    if (same || t->image->size == PP_BANK_BYTES) pp_translator_enqueue(t, i * t->stride + behind);
  }
}

static void translate_block(pp_translator *t, uint32_t at) {
  const uint32_t start = at;
  t->block_entry[start] = (uint32_t)t->as.size;
  begin_block(t, start);
  pp_translate_result result = PP_GOES_ON;
  int count = 0;
  while (result == PP_GOES_ON) {
    if ((at != start && t->is_block[at]) || count == PP_BLOCK_MAX) {
      pp_translator_flush_state(t, &t->state);
      pp_translator_jump(t, at);
      break;
    }
    memset(t->is_seen + at, 1, t->length[at]);
    result = pp_translate_instruction(t, at);
    if (result == PP_REFUSED) {
      pp_translator_flush_state(t, &t->state);
      exit_at(t, at);
      go_on_behind(t, at);
      break;
    }
    at += t->length[at];
    count++;
  }
  // code often begins behind a jump, where only a computed jump leads
  if (result == PP_ENDS && at < t->first + t->image->size) pp_translator_enqueue(t, at);
  t->is_entry[start] = result != PP_REFUSED || count >= SHORTEST_ENTRY;
  write_cold_stubs(t);
}

/* ------------------------------------------------------------------------- the whole program -- */

/* Reads a paddle without a call, if ESI is the address of one: some programs do it in each line.
 * ESI and EDX are those of pp_exec's `read`. */
static void write_paddle_read(pp_translator *t) {
  pp_assembler *as = &t->as;
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
static size_t write_call(pp_translator *t, size_t function) {
  pp_assembler *as = &t->as;
  const size_t start = as->size;
  as_move_stack(as, -8);  // the ABI aligns it to 16 bytes
  as_memory64(as, OP_STORE, HOST_LOG, EXEC(log));
  as_memory(as, OP_STORE8, HOST_CARRY, MACHINE(carry));
  as_register64(as, OP_LOAD, RDI, HOST_EXEC);
  as_call_place(as, (pp_place){HOST_EXEC, NO_INDEX, 0, (int32_t)function});
  as_memory64(as, OP_LOAD, HOST_LOG, EXEC(log));
  as_memory(as, OP_LOAD_BYTE, HOST_CARRY, MACHINE(carry));
  as_memory64(as, OP_LOAD, HOST_ROM, EXEC(rom));
  as_move_stack(as, 8);
  as_return(as);
  return start;
}

/* pp_translation_enter, and the way back */
static void write_trampolines(pp_translator *t) {
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
  pp_assembler *as = &t->as;

  for (int i = 0; i < SAVED; i++) as_push(as, saved[i]);
  as_move_stack(as, -8);
  as_register64(as, OP_LOAD, HOST_EXEC, RDI);
  for (int i = 0; i < KEPT; i++) {
    pp_place place = {HOST_EXEC, NO_INDEX, 0, (int32_t)kept[i].offset};
    as_memory_of(as, kept[i].load, kept[i].reg, place, kept[i].wide);
  }
  as_memory(as, OP_LOAD_WORD, HOST_NZ, MACHINE(nz));
  as_memory64(as, OP_LOAD, HOST_ROM, EXEC(rom));
  as_jump_to_register(as, RSI);

  t->side_exit = as->size;
  for (int i = 0; i < KEPT; i++) {
    pp_place place = {HOST_EXEC, NO_INDEX, 0, (int32_t)kept[i].offset};
    as_memory_of(as, kept[i].store, kept[i].reg, place, kept[i].wide);
  }
  as_store_word(as, HOST_NZ, MACHINE(nz));
  as_move_stack(as, 8);
  for (int i = SAVED - 1; i >= 0; i--) as_pop(as, saved[i]);
  as_return(as);

  t->read = as->size;
  write_paddle_read(t);
  write_call(t, offsetof(pp_exec, read));
  t->write = write_call(t, offsetof(pp_exec, write));
}

/* Makes room for the table of an image's instructions that computed jumps use. */
static size_t reserve_tables(pp_translator *t) {
  size_t start = t->as.size;
  t->bits = start;
  for (int i = 0; i < 64; i++) as_byte(&t->as, pp_register_bits[i]);
  start = t->as.size;
  if (t->images[0].size < PP_BANK_BYTES) return start;
  for (uint32_t i = 0; i < t->image_count * PP_BANK_BYTES; i++) as_word(&t->as, 0);
  return start;
}

static void fill_tables(pp_translator *t, size_t tables) {
  if (t->images[0].size < PP_BANK_BYTES) return;
  for (uint32_t image = 0; image < t->image_count; image++) {
    size_t table = tables + (size_t)image * PP_BANK_BYTES * 4;
    for (uint32_t at = 0; at < PP_BANK_BYTES; at++) {
      uint32_t entry = t->block_entry[image * t->stride + at];
      uint32_t distance = (uint32_t)((entry ? entry : t->side_exit) - table);
      memcpy(t->as.code + table + 4 * (size_t)at, &distance, 4);
    }
  }
}

static void enqueue_starts(pp_translator *t) {
  for (uint32_t i = 0; i < t->image_count; i++) {
    const pp_code_image *image = &t->images[i];
    uint32_t vector = image->size - 4u;
    unsigned start = image->rom[vector] | (unsigned)image->rom[vector + 1] << 8;
    pp_translator_enqueue(t, i * t->stride + (start & (image->size - 1u)));
  }
}

static bool allocate(pp_translator *t, pp_translation *out) {
  t->block_entry = calloc(t->count, sizeof(*t->block_entry));
  t->is_block = calloc(t->count, 1);
  t->is_entry = calloc(t->count, 1);
  t->is_seen = calloc(t->count, 1);
  t->queue = malloc(t->count * sizeof(*t->queue));
  out->entry = calloc(t->count, sizeof(*out->entry));
  return t->block_entry && t->is_block && t->is_entry && t->is_seen && t->queue && out->entry;
}

static void translate_queue(pp_translator *t, size_t tables) {
  while (t->done < t->queued && !t->as.failed) {
    uint32_t at = t->queue[t->done++], image = at / t->stride;
    t->image = &t->images[image];
    t->first = image * t->stride;
    t->table = tables + (size_t)image * PP_BANK_BYTES * 4;
    translate_block(t, at);
  }
}

static void write_program(pp_translator *t) {
  write_trampolines(t);
  size_t tables = reserve_tables(t);
  enqueue_starts(t);
  translate_queue(t, tables);
  // What is left is data, or code to which only computed jumps lead. Slices would be too many.
  for (uint32_t at = 0; at < t->count && t->images[0].size == PP_BANK_BYTES; at++) {
    if (t->is_seen[at] || at % t->stride >= PP_BANK_BYTES) continue;
    pp_translator_enqueue(t, at);
    translate_queue(t, tables);
  }
  // the program may jump to any address
  for (uint32_t at = 0; at < t->count; at++) {
    if (at % t->stride < t->images[0].size) pp_translator_enqueue(t, at);
  }
  translate_queue(t, tables);
  if (t->as.failed) return;
  for (size_t i = 0; i < t->fixups; i++)
    as_patch(&t->as, t->fixup[i].from, t->block_entry[t->fixup[i].to]);
  fill_tables(t, tables);
}

/* Makes the code executable, and the entries lead to it. */
static void install(pp_translator *t, pp_cartridge *c, pp_translation *out) {
  out->code = pp_code_memory_create(t->as.code, t->as.size);
  if (!out->code) return;
  out->size = t->as.size;
  out->enter = (pp_translation_enter *)(uintptr_t)out->code;
  for (uint32_t at = 0; at < t->count; at++) {
    if (!t->is_entry[at]) continue;
    out->entry[at] = t->block_entry[at];
    c->program[at].handler = c->handler[PP_ENT_IMP];
  }
}

void pp_translate(pp_cartridge *c) {
  pp_translation *out = c->translation;
  pp_translator *t = calloc(1, sizeof(*t));
  if (!t) return;
  t->cart = c;
  t->out = out;
  t->length = out->length;
  t->image_count = (uint32_t)pp_mapper_images(c, t->images);
  t->stride = t->images[0].size + 3u;
  t->count = t->image_count * t->stride;
  if (allocate(t, out)) {
    write_program(t);
    if (!t->as.failed) install(t, c, out);
  }
  if (!out->code) forget_entries(out);
  free(t->as.code);
  free(t->fixup);
  free(t->block_entry);
  free(t->is_block);
  free(t->is_entry);
  free(t->is_seen);
  free(t->queue);
  free(t);
}

#else

void pp_translate(pp_cartridge *cartridge) {
  forget_entries(cartridge->translation);
}

#endif

void pp_translation_remove(pp_cartridge *c) {
  pp_translation *t = c->translation;
  if (!t->code) return;
  pp_code_memory_destroy(t->code, t->size);
  t->code = NULL;
  for (uint32_t at = 0; at < t->count; at++) {
    if (t->entry[at]) c->program[at].handler = c->handler[t->sequence[at]];
  }
  forget_entries(t);
}

pp_translation *pp_translation_create(uint32_t count) {
  pp_translation *t = calloc(1, sizeof(*t));
  if (!t) return NULL;
  t->count = count;
  t->single = calloc(count, sizeof(*t->single));
  t->sequence = calloc(count, sizeof(*t->sequence));
  t->length = calloc(count, 1);
  if (t->single && t->sequence && t->length) return t;
  pp_translation_destroy(t);
  return NULL;
}

void pp_translation_destroy(pp_translation *t) {
  if (!t) return;
  pp_code_memory_destroy(t->code, t->size);
  free(t->entry);
  free(t->single);
  free(t->sequence);
  free(t->length);
  free(t);
}
