/* Translation: makes, installs and frees the machine code of a cartridge. */
#include "translation.h"

#include <stdlib.h>

#include "../cartridge.h"
#include "os/code_memory.h"
#include "program.h"

#if PP_ISA_X86

static bool allocate(pp_emitter *e, pp_translation *out) {
  e->block_entry = calloc(e->count, sizeof(*e->block_entry));
  e->is_block = calloc(e->count, 1);
  e->is_entry = calloc(e->count, 1);
  e->is_seen = calloc(e->count, 1);
  e->queue = malloc(e->count * sizeof(*e->queue));
  out->entry = calloc(e->count, sizeof(*out->entry));
  return e->block_entry && e->is_block && e->is_entry && e->is_seen && e->queue && out->entry;
}

/* Makes the code executable, and the entries lead to it. */
static void install(pp_emitter *e, pp_cartridge *c, pp_translation *out) {
  out->code = pp_code_memory_create(e->as.code, e->as.size);
  if (!out->code) return;
  out->size = e->as.size;
  out->enter = (pp_translation_enter *)(uintptr_t)out->code;
  for (uint32_t at = 0; at < e->count; at++) {
    if (!e->is_entry[at]) continue;
    out->entry[at] = e->block_entry[at];
    c->program[at].handler = c->handler[PP_ENT_IMP];
  }
}

void pp_translate(pp_cartridge *c) {
  pp_translation *out = c->translation;
  pp_emitter *e = calloc(1, sizeof(*e));
  if (!e) return;
  e->cart = c;
  e->out = out;
  e->length = out->length;
  e->image_count = (uint32_t)pp_mapper_images(c, e->images);
  e->stride = e->images[0].size + 3u;
  e->count = e->image_count * e->stride;
  if (allocate(e, out)) {
    emit_program(e);
    if (!e->as.failed) install(e, c, out);
  }
  if (!out->code) {
    free(out->entry);
    out->entry = NULL;
  }
  free(e->as.code);
  free(e->fixup);
  free(e->block_entry);
  free(e->is_block);
  free(e->is_entry);
  free(e->is_seen);
  free(e->queue);
  free(e);
}

#else

void pp_translate(pp_cartridge *cartridge) {
  (void)cartridge;
}

#endif

pp_translation *pp_translation_create(uint32_t count) {
  pp_translation *t = calloc(1, sizeof(*t));
  if (!t) return NULL;
  t->count = count;
  t->single = calloc(count, sizeof(*t->single));
  t->length = calloc(count, 1);
  if (t->single && t->length) return t;
  pp_translation_destroy(t);
  return NULL;
}

void pp_translation_destroy(pp_translation *t) {
  if (!t) return;
  pp_code_memory_destroy(t->code, t->size);
  free(t->entry);
  free(t->single);
  free(t->length);
  free(t);
}
