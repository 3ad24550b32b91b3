/* Translator: writes the machine code of single instructions. Each does what its operation and
 * its mode do in operation.inl, at the same times; where that would take much code for something
 * rare, it exits to the interpreter before it has changed anything. */
#include "translator.h"

#include "../tia_registers.h"

#if defined(PP_BUILDS_X86)

// clang-format off: lists of names
/* operations and modes, as in instruction.h */
enum {
  DO_LDA, DO_LDX, DO_LDY, DO_ADC, DO_SBC, DO_AND, DO_ORA, DO_EOR, DO_CMP, DO_CPX, DO_CPY, DO_BIT,
  DO_LAX, DO_NOP, DO_ANC, DO_ALR, DO_ARR, DO_SBX, DO_STA, DO_STX, DO_STY, DO_SAX, DO_ASL, DO_LSR,
  DO_ROL, DO_ROR, DO_INC, DO_DEC, DO_SLO, DO_RLA, DO_SRE, DO_RRA, DO_DCP, DO_ISB, DO_TAX, DO_TXA,
  DO_TAY, DO_TYA, DO_TSX, DO_TXS, DO_INX, DO_INY, DO_DEX, DO_DEY, DO_CLC, DO_SEC, DO_CLD, DO_SED,
  DO_CLI, DO_SEI, DO_CLV, DO_PHA, DO_PHP, DO_PLA, DO_PLP, DO_JSR, DO_RTS, DO_RTI, DO_BRK, DO_JMP,
  DO_JAM, DO_OUT, DO_ENT, DO_BPL, DO_BMI, DO_BVC, DO_BVS, DO_BCC, DO_BCS, DO_BNE, DO_BEQ,
};
enum {
  IN_RIM, IN_RRA, IN_RTI, IN_RCO, IN_RTM, IN_RTW, IN_RAB, IN_RZX, IN_RZY, IN_RLX, IN_RLY, IN_RAX,
  IN_RAY, IN_RIX, IN_RIY, IN_RIN, IN_RPY, IN_WRA, IN_WTR, IN_WTI, IN_WSY, IN_WNO, IN_WAB, IN_WZX,
  IN_WZY, IN_WAX, IN_WAY, IN_WIX, IN_WIY, IN_WG0, IN_WG1, IN_MRA, IN_MAB, IN_MZX, IN_MAX, IN_MAY,
  IN_MIX, IN_MIY, IN_BNR, IN_BFR, IN_BAB, IN_IMP, IN_STK, IN_ABS, IN_FAR, IN_IND,
};
// clang-format on

/* `translate` compares modes with the ends of these ranges */
_Static_assert(IN_WRA == IN_RPY + 1, "modes that read are first");
_Static_assert(IN_MRA == IN_WG1 + 1, "then those that write");
_Static_assert(IN_BNR == IN_MIY + 1, "then those that modify");
_Static_assert(IN_IMP == IN_BAB + 1, "then branches");
/* translate_modify and keeps_flags compare operations so */
_Static_assert(DO_DEC - DO_ASL == 5 && DO_SEI - DO_CLD == 3, "no operation is in between");

typedef struct kind {
  uint8_t op, mode;
} kind;

#define KIND(op, mode) {DO_##op, IN_##mode},
static const kind kinds[PP_HANDLER_SINGLES] = {PP_HANDLERS(KIND)};

/* where a value that is read comes from */
typedef struct operand {
  enum { FROM_CONSTANT, FROM_MEMORY, FROM_RAX } from;
  uint32_t constant;
  pp_place place;
} operand;

/* ------------------------------------------------------------------------------------ places -- */

static pp_place ram_at(unsigned offset) {
  return (pp_place){HOST_EXEC, NO_INDEX, 0, (int32_t)(offsetof(pp_exec, machine.ram) + offset)};
}

/* `register` holds a zero page address in RAM */
static pp_place ram_by(int index) {
  return (pp_place){HOST_EXEC, index, 0, (int32_t)offsetof(pp_exec, machine.ram) - 0x80};
}

static pp_place written_at(unsigned reg) {
  return (pp_place){HOST_EXEC, NO_INDEX, 0, (int32_t)(offsetof(pp_exec, machine.written) + reg)};
}

static pp_place sum_of(int base, int32_t disp) {
  return (pp_place){base, NO_INDEX, 0, disp};
}

static const pp_instruction *instruction(const pp_translator *t, uint32_t at) {
  return &t->cart->program[at];
}

/* ---------------------------------------------------------------------------- side exits and slow
 * paths */

static void cold_stub_if(pp_translator *t, unsigned condition, uint32_t to, bool exits,
                         const pp_translator_state *state) {
  size_t from = as_jump_if(&t->as, condition);
  if (t->cold_stubs == PP_COLD_STUBS_MAX) {
    t->as.failed = true;
    return;
  }
  t->cold_stub[t->cold_stubs++] = (pp_cold_stub){from, to, exits, *state};
}

/* The interpreter runs this instruction if the condition holds. */
static void exit_if(pp_translator *t, unsigned condition, uint32_t at) {
  cold_stub_if(t, condition, at, true, &t->state);
}

/* A slow path, to which a jump leads: an access to the chips at the address in EAX. It goes back to
 * where slow_path_ends is called. */
static pp_slow_path *slow_path(pp_translator *t, size_t jump, uint32_t at, uint32_t cycles) {
  pp_slow_path *a = &t->slow_path[t->slow_paths++];
  *a = (pp_slow_path){
      .from = jump,
      .at = at,
      .cycles = cycles,
      .state = t->state,
      .bus_at = -1,
      .value = NO_INDEX,
  };
  return a;
}

static pp_slow_path *slow_path_if(pp_translator *t, unsigned condition, uint32_t at,
                                  uint32_t cycles) {
  return slow_path(t, as_jump_if(&t->as, condition), at, cycles);
}

static void slow_path_ends(pp_translator *t) {
  t->slow_path[t->slow_paths - 1].back = t->as.size;
}

/* register = the cycle of an access */
static void time_of_access(pp_translator *t, int reg, uint32_t cycles) {
  as_memory(&t->as, OP_LEA, reg, sum_of(HOST_CYCLE, (int32_t)(t->state.cycles + cycles)));
}

/* ----------------------------------------------------------------------------------- results -- */

/* The last result is in this register; has_flags: the host's flags are its flags. */
static void result_in(pp_translator *t, int reg, bool has_flags) {
  t->state.result = reg;
  t->state.is_wide = false;
  t->state.has_zn = has_flags;
}

/* --------------------------------------------------------------------------------- addresses -- */

/* EAX = the zero page address `operand + index`; the host's sign flag says whether it is in RAM */
static void indexed_zero_page(pp_translator *t, uint32_t at, int index) {
  as_memory(&t->as, OP_LEA, RAX, sum_of(index, instruction(t, at)->operand & 0xff));
  as_register(&t->as, OP_LOAD_BYTE, RAX, RAX);
  as_register(&t->as, OP_TEST8, RAX, RAX);
}

/* The same; exits if it is not in RAM. */
static void indexed_ram(pp_translator *t, uint32_t at, int index) {
  indexed_zero_page(t, at, index);
  exit_if(t, IF_NO_SIGN, at);
}

/* The host's flags say whether the address in EAX is in RAM (equal). Changes RDX. */
static void test_ram(pp_translator *t) {
  as_register(&t->as, OP_LOAD, RDX, RAX);
  as_constant(&t->as, IMM_AND, RDX, 0x1280);
  as_constant(&t->as, IMM_CMP, RDX, 0x80);
}

/* Exits unless the address in EAX is in RAM. Afterwards RAX and `*place` lead to its byte. Changes
 * RDX. */
static void ram_byte(pp_translator *t, uint32_t at, pp_place *place) {
  test_ram(t);
  exit_if(t, IF_NOT_EQUAL, at);
  as_constant(&t->as, IMM_AND, RAX, 0xff);
  *place = ram_by(RAX);
}

/* Exits unless the address in `reg` is one of the cartridge, and of the image where address lines
 * select it. Changes `scratch`. */
static void exit_outside(pp_translator *t, uint32_t at, int reg, int scratch) {
  const pp_code_image *image = t->image;
  const unsigned lines = 0x1000u | (image->size < PP_BANK_BYTES ? 0 : image->select);
  as_register(&t->as, OP_LOAD, scratch, reg);
  as_constant(&t->as, IMM_AND, scratch, lines);
  as_constant(&t->as, IMM_CMP, scratch, image->home & lines);
  exit_if(t, IF_NOT_EQUAL, at);
}

/* Exits unless the address in EAX is one of the cartridge, and (with banks) nothing but memory.
 * Afterwards RAX and `*place` lead to its byte. Changes RCX and RDX. */
static void cartridge_byte(pp_translator *t, uint32_t at, pp_place *place) {
  pp_assembler *as = &t->as;
  const bool in_slots = t->image->size < PP_BANK_BYTES;
  exit_outside(t, at, RAX, RDX);
  if (t->cart->special) {
    as_memory(as, OP_LEA, RDX, sum_of(RAX, 0x40));
    as_constant(as, IMM_AND, RDX, 0xfff);
    as_constant(as, IMM_CMP, RDX, t->cart->special);
    exit_if(t, IF_BELOW, at);
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

/* RCX = 1 if low + index lies in the next page */
static void crossing(pp_translator *t, int index, unsigned low) {
  as_memory(&t->as, OP_LEA, RCX, sum_of(index, (int32_t)low));
  as_shift(&t->as, SHIFT_RIGHT, RCX, 8);
}

static void add_crossing(pp_translator *t) {
  as_register(&t->as, OP_ADD, HOST_CYCLE, RCX);
}

/* ------------------------------------------------------------------------------------- banks -- */

/* Goes on behind an instruction in the bank to which it switches. */
static pp_translate_result switch_bank(pp_translator *t, uint32_t at) {
  pp_assembler *as = &t->as;
  const uint32_t bank = (uint32_t)t->bank, now = t->first / t->stride;
  const uint32_t to = bank * t->stride + (at - t->first) + t->length[at];
  if (bank == now) return PP_GOES_ON;
  pp_translator_flush_state(t, &t->state);
  // slices 4 * bank to 4 * bank + 3
  as_store_constant(as, MACHINE(banks.slice), 0x03020100u + 0x04040404u * bank);
  as_store_constant(as, EXEC(switched), 1);
  as_memory64(as, OP_LEA, HOST_ROM,
              sum_of(HOST_ROM, ((int32_t)bank - (int32_t)now) * PP_BANK_BYTES));
  as_memory64(as, OP_STORE, HOST_ROM, EXEC(rom));
  pp_translator_jump(t, to);
  return PP_ENDS;
}

#include "read.inl"
#include "write.inl"
/* change.inl uses compare of read.inl */
#include "change.inl"
#include "jump.inl"

/* Returns whether the machine code of an instruction leaves the host's flags alone. */
static bool keeps_flags(kind k) {
  return k.mode == IN_WRA || k.mode == IN_WNO || (k.op >= DO_CLD && k.op <= DO_SEI);
}

static pp_translate_result translate(pp_translator *t, uint32_t at, kind k) {
  if (k.mode <= IN_RPY) return translate_read(t, at, k);
  if (k.mode <= IN_WG1) return translate_write(t, at, k);
  if (k.mode <= IN_MIY) return translate_modify(t, at, k);
  if (k.mode <= IN_BAB) return translate_branch(t, at, k);
  switch (k.mode) {
    case IN_IMP: return translate_implied(t, k.op);
    case IN_STK: return translate_stack(t, at, k.op);
    default: return translate_jump(t, at, k.mode);
  }
}

pp_translate_result pp_translate_instruction(pp_translator *t, uint32_t at) {
  const kind k = kinds[t->out->single[at]];
  const pp_translator_state before = t->state;
  const bool is_branch = k.mode >= IN_BNR && k.mode <= IN_BAB;
  if (!is_branch && (!keeps_flags(k) || k.op == DO_SAX)) {
    t->state.has_zn = false;
    t->state.carry = PP_CARRY_ELSEWHERE;
  }
  t->bank = -1;
  pp_translate_result result = translate(t, at, k);
  if (result == PP_REFUSED) t->state = before;
  return result;
}

#endif
