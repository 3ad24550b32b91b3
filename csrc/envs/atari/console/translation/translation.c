// translation.c: finds a program's blocks, translates them one by one, and links them.
//
// A block begins where a jump may lead and goes on past branches that are not taken, up to a jump,
// to the begin of another block, or to an instruction that the interpreter must run.
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

// a block of fewer instructions before the interpreter goes on is not worth entering
enum { SHORTEST_ENTRY = 3 };

// ---------------------------------------------------------------------------- blocks

void pp_translator_want(pp_translator *t, uint32_t at) {
  if (t->is_head[at]) return;
  t->is_head[at] = 1;
  t->queue[t->queued++] = at;
}

void pp_translator_want_address(pp_translator *t, unsigned address) {
  for (uint32_t i = 0; i < t->image_count; ++i) {
    const pp_code_image *image = &t->images[i];
    if ((address ^ image->home) & (0x1000u | image->select)) continue;
    pp_translator_want(t, i * t->stride + (address & (image->size - 1u)));
  }
}

void pp_translator_jump(pp_translator *t, uint32_t to) {
  pp_translator_want(t, to);
  if (t->links == t->links_room) {
    size_t room = t->links_room ? t->links_room * 2 : 4096;
    pp_link *more = realloc(t->link, room * sizeof *more);
    if (!more) {
      t->as.failed = true;
      return;
    }
    t->link = more;
    t->links_room = room;
  }
  t->link[t->links++] = (pp_link){as_jump(&t->as), to};
}

void pp_translator_settle(pp_translator *t, const pp_known *known) {
  if (known->cycles) {
    pp_place later = {HOST_CYCLE, NO_INDEX, 0, (int32_t)known->cycles};
    as_memory(&t->as, OP_LEA, HOST_CYCLE, later);
  }
  if (known->result != HOST_NZ) as_register(&t->as, OP_LOAD, HOST_NZ, known->result);
}

// Returns to the interpreter, which goes on at this instruction.
static void leave_at(pp_translator *t, uint32_t at) {
  as_set(&t->as, RAX, at - t->first + (t->image->home & 0xfffu));
  as_link(&t->as, as_jump(&t->as), t->leave);
}

// Leaves if the register whose number is in ESI ends the line or may end the frame.
static void check_register(pp_translator *t, const pp_chip_access *a) {
  as_constant(&t->as, IMM_AND, RSI, 63);
  as_constant(&t->as, IMM_CMP, RSI, 2);
  size_t other = as_jump_if(&t->as, IF_ABOVE);
  pp_translator_settle(t, &a->known);
  leave_at(t, a->at);
  as_link(&t->as, other, t->as.size);
}

static void write_access(pp_translator *t, const pp_chip_access *a) {
  pp_assembler *as = &t->as;
  const pp_place bus = {HOST_RUN, NO_INDEX, 0, (int32_t)offsetof(pp_run, machine.ram) + a->bus_at};
  as_link(as, a->from, as->size);
  if (a->crosses) as_register(as, OP_ADD, HOST_CYCLE, RCX);
  if (a->is_timer) {
    as_set(as, RSI, 0x284);
  } else {
    as_register(as, OP_LOAD, RSI, RAX);
  }
  if (a->value != NO_INDEX) check_register(t, a);
  as_memory(as, OP_LEA, RCX,
            (pp_place){HOST_CYCLE, NO_INDEX, 0, (int32_t)(a->known.cycles + a->cycles)});
  as_memory(as, OP_STORE, RCX, MACHINE(cycle));
  if (a->value != NO_INDEX) {
    as_register(as, OP_LOAD, RDX, a->value);
  } else if (a->bus_at >= 0) {
    as_memory(as, OP_LOAD_BYTE, RDX, bus);
  } else {
    as_set(as, RDX, a->bus);
  }
  as_link(as, as_call(as), a->value != NO_INDEX ? t->write : t->read);
  as_link(as, as_jump(as), a->back);
}

static void write_detours(pp_translator *t) {
  for (int i = 0; i < t->detours; ++i) {
    const pp_detour *d = &t->detour[i];
    as_link(&t->as, d->from, t->as.size);
    pp_translator_settle(t, &d->known);
    if (d->leaves) {
      leave_at(t, d->to);
    } else {
      pp_translator_jump(t, d->to);
    }
  }
  t->detours = 0;
  for (int i = 0; i < t->accesses; ++i) write_access(t, &t->access[i]);
  t->accesses = 0;
}

// Leaves if the frame may become too long. Known are the registers alone.
static void begin_block(pp_translator *t, uint32_t at) {
  t->known = (pp_known){.result = HOST_NZ, .is_wide = true};
  as_memory(&t->as, OP_CMP, HOST_CYCLE, RUN(limit));
  size_t from = as_jump_if(&t->as, IF_NOT_BELOW);
  t->detour[t->detours++] = (pp_detour){from, at, true, t->known};
}

// After an instruction that the interpreter runs, the translation may go on: behind it, or at the
// same address of another bank.
static void go_on_behind(pp_translator *t, uint32_t at) {
  const uint32_t behind = at - t->first + t->length[at];
  if (behind >= t->image->size) return;
  for (uint32_t i = 0; i < t->image_count; ++i) {
    bool same = i * t->stride == t->first;
    if (same || t->image->size == PP_BANK_BYTES) pp_translator_want(t, i * t->stride + behind);
  }
}

static void translate_block(pp_translator *t, uint32_t at) {
  const uint32_t start = at;
  t->head[start] = (uint32_t)t->as.size;
  begin_block(t, start);
  pp_outcome outcome = PP_GOES_ON;
  int count = 0;
  while (outcome == PP_GOES_ON) {
    if ((at != start && t->is_head[at]) || count == PP_BLOCK_MAX) {
      pp_translator_settle(t, &t->known);
      pp_translator_jump(t, at);
      break;
    }
    memset(t->is_known + at, 1, t->length[at]);
    outcome = pp_translate_instruction(t, at);
    if (outcome == PP_REFUSED) {
      pp_translator_settle(t, &t->known);
      leave_at(t, at);
      go_on_behind(t, at);
      break;
    }
    at += t->length[at];
    ++count;
  }
  // code often begins behind a jump, where only a computed jump leads
  if (outcome == PP_ENDS && at < t->first + t->image->size) pp_translator_want(t, at);
  t->is_entry[start] = outcome != PP_REFUSED || count >= SHORTEST_ENTRY;
  write_detours(t);
}

// ---------------------------------------------------------------------------- the whole program

// Reads a paddle without a call, if ESI is the address of one: some programs do it in each line.
// ESI and EDX are those of pp_run's `read`.
static void write_paddle_read(pp_translator *t) {
  pp_assembler *as = &t->as;
  const pp_place ready = {HOST_RUN, RAX, 2, (int32_t)offsetof(pp_run, machine.ready)};
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
  as_link(as, other, as->size);
}

// Calls one of pp_run's functions, with the other arguments in ESI and EDX.
static size_t write_call(pp_translator *t, size_t function) {
  pp_assembler *as = &t->as;
  const size_t start = as->size;
  as_move_stack(as, -8);  // the ABI aligns it to 16 bytes
  as_memory64(as, OP_STORE, HOST_LOG, RUN(log));
  as_memory(as, OP_STORE8, HOST_CARRY, MACHINE(carry));
  as_register64(as, OP_LOAD, RDI, HOST_RUN);
  as_call_place(as, (pp_place){HOST_RUN, NO_INDEX, 0, (int32_t)function});
  as_memory64(as, OP_LOAD, HOST_LOG, RUN(log));
  as_memory(as, OP_LOAD_BYTE, HOST_CARRY, MACHINE(carry));
  as_memory64(as, OP_LOAD, HOST_ROM, RUN(rom));
  as_move_stack(as, 8);
  as_return(as);
  return start;
}

// pp_translation_enter, and the way back
static void write_gates(pp_translator *t) {
  static const int saved[] = {RBX, RBP, R12, R13, R14, R15};
  static const struct {
    int reg;
    size_t offset;
    unsigned load, store;
    bool wide;
  } kept[] = {
      {HOST_CYCLE, offsetof(pp_run, machine.cycle), OP_LOAD, OP_STORE, false},
      {HOST_A, offsetof(pp_run, machine.a), OP_LOAD_BYTE, OP_STORE8, false},
      {HOST_X, offsetof(pp_run, machine.x), OP_LOAD_BYTE, OP_STORE8, false},
      {HOST_Y, offsetof(pp_run, machine.y), OP_LOAD_BYTE, OP_STORE8, false},
      {HOST_CARRY, offsetof(pp_run, machine.carry), OP_LOAD_BYTE, OP_STORE8, false},
      {HOST_LOG, offsetof(pp_run, log), OP_LOAD, OP_STORE, true},
  };
  enum { SAVED = sizeof saved / sizeof saved[0], KEPT = sizeof kept / sizeof kept[0] };
  pp_assembler *as = &t->as;

  for (int i = 0; i < SAVED; ++i) as_push(as, saved[i]);
  as_move_stack(as, -8);
  as_register64(as, OP_LOAD, HOST_RUN, RDI);
  for (int i = 0; i < KEPT; ++i) {
    pp_place place = {HOST_RUN, NO_INDEX, 0, (int32_t)kept[i].offset};
    as_memory_of(as, kept[i].load, kept[i].reg, place, kept[i].wide);
  }
  as_memory(as, OP_LOAD_WORD, HOST_NZ, MACHINE(nz));
  as_memory64(as, OP_LOAD, HOST_ROM, RUN(rom));
  as_jump_to_register(as, RSI);

  t->leave = as->size;
  for (int i = 0; i < KEPT; ++i) {
    pp_place place = {HOST_RUN, NO_INDEX, 0, (int32_t)kept[i].offset};
    as_memory_of(as, kept[i].store, kept[i].reg, place, kept[i].wide);
  }
  as_store_word(as, HOST_NZ, MACHINE(nz));
  as_move_stack(as, 8);
  for (int i = SAVED - 1; i >= 0; --i) as_pop(as, saved[i]);
  as_return(as);

  t->read = as->size;
  write_paddle_read(t);
  write_call(t, offsetof(pp_run, read));
  t->write = write_call(t, offsetof(pp_run, write));
}

// Makes room for the table of an image's instructions that computed jumps use.
static size_t reserve_tables(pp_translator *t) {
  size_t start = t->as.size;
  t->bits = start;
  for (int i = 0; i < 64; ++i) as_byte(&t->as, pp_register_bits[i]);
  start = t->as.size;
  if (t->images[0].size < PP_BANK_BYTES) return start;
  for (uint32_t i = 0; i < t->image_count * PP_BANK_BYTES; ++i) as_word(&t->as, 0);
  return start;
}

static void fill_tables(pp_translator *t, size_t tables) {
  if (t->images[0].size < PP_BANK_BYTES) return;
  for (uint32_t image = 0; image < t->image_count; ++image) {
    size_t table = tables + (size_t)image * PP_BANK_BYTES * 4;
    for (uint32_t at = 0; at < PP_BANK_BYTES; ++at) {
      uint32_t head = t->head[image * t->stride + at];
      uint32_t distance = (uint32_t)((head ? head : t->leave) - table);
      memcpy(t->as.code + table + 4 * (size_t)at, &distance, 4);
    }
  }
}

static void want_starts(pp_translator *t) {
  for (uint32_t i = 0; i < t->image_count; ++i) {
    const pp_code_image *image = &t->images[i];
    uint32_t vector = image->size - 4u;
    unsigned start = image->rom[vector] | (unsigned)image->rom[vector + 1] << 8;
    pp_translator_want(t, i * t->stride + (start & (image->size - 1u)));
  }
}

static bool allocate(pp_translator *t, pp_translation *out) {
  t->head = calloc(t->count, sizeof *t->head);
  t->is_head = calloc(t->count, 1);
  t->is_entry = calloc(t->count, 1);
  t->is_known = calloc(t->count, 1);
  t->queue = malloc(t->count * sizeof *t->queue);
  out->entry = calloc(t->count, sizeof *out->entry);
  return t->head && t->is_head && t->is_entry && t->is_known && t->queue && out->entry;
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
  write_gates(t);
  size_t tables = reserve_tables(t);
  want_starts(t);
  translate_queue(t, tables);
  // What is left is data, or code to which only computed jumps lead. Slices would be too many.
  for (uint32_t at = 0; at < t->count && t->images[0].size == PP_BANK_BYTES; ++at) {
    if (t->is_known[at] || at % t->stride >= PP_BANK_BYTES) continue;
    pp_translator_want(t, at);
    translate_queue(t, tables);
  }
  // the program may jump to any address
  for (uint32_t at = 0; at < t->count; ++at) {
    if (at % t->stride < t->images[0].size) pp_translator_want(t, at);
  }
  translate_queue(t, tables);
  if (t->as.failed) return;
  for (size_t i = 0; i < t->links; ++i) as_link(&t->as, t->link[i].from, t->head[t->link[i].to]);
  fill_tables(t, tables);
}

// Makes the code executable, and the entries lead to it.
static void install(pp_translator *t, pp_cartridge *c, pp_translation *out) {
  out->code = pp_code_memory_create(t->as.code, t->as.size);
  if (!out->code) return;
  out->size = t->as.size;
  out->enter = (pp_translation_enter *)(uintptr_t)out->code;
  for (uint32_t at = 0; at < t->count; ++at) {
    if (!t->is_entry[at]) continue;
    out->entry[at] = t->head[at];
    c->program[at].handler = c->handler[PP_ENT_IMP];
  }
}

void pp_translate(pp_cartridge *c) {
  pp_translation *out = c->translation;
  pp_translator *t = calloc(1, sizeof *t);
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
  free(t->link);
  free(t->head);
  free(t->is_head);
  free(t->is_entry);
  free(t->is_known);
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
  for (uint32_t at = 0; at < t->count; ++at) {
    if (t->entry[at]) c->program[at].handler = c->handler[t->sequence[at]];
  }
  forget_entries(t);
}

pp_translation *pp_translation_create(uint32_t count) {
  pp_translation *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  t->count = count;
  t->single = calloc(count, sizeof *t->single);
  t->sequence = calloc(count, sizeof *t->sequence);
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
