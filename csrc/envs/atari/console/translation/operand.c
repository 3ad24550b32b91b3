/* Operand: loads, combines and compares a value. */
#include "operand.h"

void emit_load(pp_emitter *e, int reg, const pp_operand *o) {
  if (o->from == FROM_CONSTANT) {
    as_set(&e->as, reg, o->constant);
  } else if (o->from == FROM_MEMORY) {
    as_memory(&e->as, OP_LOAD_BYTE, reg, o->place);
  } else if (reg != RAX) {
    as_register(&e->as, OP_LOAD, reg, RAX);
  }
}

void emit_combine(pp_emitter *e, unsigned opcode, unsigned operation, int reg,
                  const pp_operand *o) {
  if (o->from == FROM_CONSTANT) {
    as_constant8(&e->as, operation, reg, o->constant);
  } else if (o->from == FROM_MEMORY) {
    as_memory(&e->as, opcode, reg, o->place);
  } else {
    as_register(&e->as, opcode, reg, RAX);
  }
}

void emit_compare(pp_emitter *e, int reg, const pp_operand *o) {
  as_register(&e->as, OP_LOAD, HOST_NZ, reg);
  emit_combine(e, OP_SUB8, IMM_SUB, HOST_NZ, o);
  as_set_if(&e->as, IF_NOT_BELOW, HOST_CARRY);
  emitter_set_result(e, HOST_NZ, true);
  e->state.carry = PP_CARRY_IS_NOT_CF;
}
