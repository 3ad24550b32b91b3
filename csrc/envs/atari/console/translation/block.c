/* Block: translates instructions up to the block's end. */
#include "block.h"

#include <string.h>

#include "instructions.h"

/* a block of fewer instructions before the interpreter goes on is not worth entering */
enum { SHORTEST_ENTRY = 3 };

/* Exits if the frame may become too long. At a block's start only the registers are known. */
static void begin_block(pp_emitter *e, uint32_t at) {
  e->state = (pp_emitter_state){.result = HOST_NZ, .is_wide = true};
  as_memory(&e->as, OP_CMP, HOST_CYCLE, EXEC(limit));
  emit_exit_if(e, IF_NOT_BELOW, at);
}

/* After an instruction that the interpreter runs, the translation may go on: behind it, or at the
 * same address of another bank. */
static void go_on_behind(pp_emitter *e, uint32_t at) {
  const uint32_t behind = at - e->first + e->length[at];
  if (behind >= e->image->size) return;
  for (uint32_t i = 0; i < e->image_count; i++) {
    bool same = i * e->stride == e->first;
    if (same || e->image->size == PP_BANK_BYTES) emitter_enqueue(e, i * e->stride + behind);
  }
}

void translate_block(pp_emitter *e, uint32_t at) {
  const uint32_t start = at;
  e->block_entry[start] = (uint32_t)e->as.size;
  begin_block(e, start);
  pp_translate_result result = PP_GOES_ON;
  int count = 0;
  while (result == PP_GOES_ON) {
    if ((at != start && e->is_block[at]) || count == PP_BLOCK_MAX) {
      emit_flush_state(e, &e->state);
      emit_jump(e, at);
      break;
    }
    memset(e->is_seen + at, 1, e->length[at]);
    result = translate_instruction(e, at);
    if (result == PP_REFUSED) {
      emit_flush_state(e, &e->state);
      emit_exit_at(e, at);
      go_on_behind(e, at);
      break;
    }
    at += e->length[at];
    count++;
  }
  // code often begins behind a jump, where only a computed jump leads
  if (result == PP_ENDS && at < e->first + e->image->size) emitter_enqueue(e, at);
  e->is_entry[start] = result != PP_REFUSED || count >= SHORTEST_ENTRY;
  emit_cold_stubs(e);
}
