/* Instructions: finds who translates an instruction, by its mode. */
#include "instructions.h"

#define KIND(op, mode) {DO_##op, IN_##mode},
static const pp_kind kinds[PP_HANDLER_SINGLES] = {PP_HANDLERS(KIND)};

/* Returns whether the machine code of an instruction leaves the host's flags alone. */
static bool keeps_flags(pp_kind k) {
  return k.mode == IN_WRA || k.mode == IN_WNO || (k.op >= DO_CLD && k.op <= DO_SEI);
}

static pp_translate_result translate(pp_emitter *e, uint32_t at, pp_kind k) {
  if (k.mode <= IN_RPY) return translate_read(e, at, k);
  if (k.mode <= IN_WG1) return translate_write(e, at, k);
  if (k.mode <= IN_MIY) return translate_modify(e, at, k);
  if (k.mode <= IN_BAB) return translate_branch(e, at, k);
  switch (k.mode) {
    case IN_IMP: return translate_implied(e, k.op);
    case IN_STK: return translate_stack(e, at, k.op);
    default: return translate_jump(e, at, k.mode);
  }
}

pp_translate_result translate_instruction(pp_emitter *e, uint32_t at) {
  const pp_kind k = kinds[e->out->single[at]];
  const pp_emitter_state state = e->state;
  const size_t size = e->as.size;
  const int cold_stubs = e->cold_stubs, slow_paths = e->slow_paths;
  const bool is_branch = k.mode >= IN_BNR && k.mode <= IN_BAB;
  if (!is_branch && (!keeps_flags(k) || k.op == DO_SAX)) {
    e->state.has_zn = false;
    e->state.carry = PP_CARRY_ELSEWHERE;
  }
  e->bank = -1;
  pp_translate_result result = translate(e, at, k);
  if (result == PP_REFUSED) {
    e->state = state;
    e->as.size = size;
    e->cold_stubs = cold_stubs;
    e->slow_paths = slow_paths;
  }
  return result;
}
