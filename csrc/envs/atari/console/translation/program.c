/* Program: finds the blocks, translates them one by one, and joins them. */
#include "program.h"

#include <string.h>

#include "block.h"
#include "trampolines.h"

/* Makes room for the table of an image's instructions that computed jumps use. */
static size_t reserve_tables(pp_emitter *e) {
  size_t start = e->as.size;
  e->bits = start;
  for (int i = 0; i < 64; i++) as_byte(&e->as, pp_register_bits[i]);
  start = e->as.size;
  if (e->images[0].size < PP_BANK_BYTES) return start;
  for (uint32_t i = 0; i < e->image_count * PP_BANK_BYTES; i++) as_word(&e->as, 0);
  return start;
}

static void fill_tables(pp_emitter *e, size_t tables) {
  if (e->images[0].size < PP_BANK_BYTES) return;
  for (uint32_t image = 0; image < e->image_count; image++) {
    size_t table = tables + (size_t)image * PP_BANK_BYTES * 4;
    for (uint32_t at = 0; at < PP_BANK_BYTES; at++) {
      uint32_t entry = e->block_entry[image * e->stride + at];
      uint32_t distance = (uint32_t)((entry ? entry : e->side_exit) - table);
      memcpy(e->as.code + table + 4 * (size_t)at, &distance, 4);
    }
  }
}

static void enqueue_starts(pp_emitter *e) {
  for (uint32_t i = 0; i < e->image_count; i++) {
    const pp_code_image *image = &e->images[i];
    uint32_t vector = image->size - 4u;
    unsigned start = image->rom[vector] | (unsigned)image->rom[vector + 1] << 8;
    emitter_enqueue(e, i * e->stride + (start & (image->size - 1u)));
  }
}

static void translate_queue(pp_emitter *e, size_t tables) {
  while (e->done < e->queued && !e->as.failed) {
    uint32_t at = e->queue[e->done++], image = at / e->stride;
    e->image = &e->images[image];
    e->first = image * e->stride;
    e->table = tables + (size_t)image * PP_BANK_BYTES * 4;
    translate_block(e, at);
  }
}

void emit_program(pp_emitter *e) {
  emit_trampolines(e);
  size_t tables = reserve_tables(e);
  enqueue_starts(e);
  translate_queue(e, tables);
  // What is left is data, or code to which only computed jumps lead. Slices would be too many.
  for (uint32_t at = 0; at < e->count && e->images[0].size == PP_BANK_BYTES; at++) {
    if (e->is_seen[at] || at % e->stride >= PP_BANK_BYTES) continue;
    emitter_enqueue(e, at);
    translate_queue(e, tables);
  }
  // the program may jump to any address
  for (uint32_t at = 0; at < e->count; at++) {
    if (at % e->stride < e->images[0].size) emitter_enqueue(e, at);
  }
  translate_queue(e, tables);
  if (e->as.failed) return;
  for (size_t i = 0; i < e->fixups; i++)
    as_patch(&e->as, e->fixup[i].from, e->block_entry[e->fixup[i].to]);
  fill_tables(e, tables);
}
