/* Instructions: the machine code of single instructions. It does what their operation and mode do
 * in operation.inl, at the same times; where that would take much code for something rare, it exits
 * to the interpreter before it has changed anything. */
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_INSTRUCTIONS_H
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_INSTRUCTIONS_H

#include "emitter.h"

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

/* an operation and a mode */
typedef struct pp_kind {
  uint8_t op, mode;
} pp_kind;

/* Translates one instruction, by its number, in any mode. If it is refused, nothing was emitted. */
pp_translate_result translate_instruction(pp_emitter *e, uint32_t at);

/* ---------------------------------------------------------------------------------- by mode -- */

/* What was emitted by one that refuses is dropped. */
pp_translate_result translate_read(pp_emitter *e, uint32_t at, pp_kind k);
pp_translate_result translate_write(pp_emitter *e, uint32_t at, pp_kind k);
pp_translate_result translate_modify(pp_emitter *e, uint32_t at, pp_kind k);
pp_translate_result translate_implied(pp_emitter *e, unsigned op);
pp_translate_result translate_stack(pp_emitter *e, uint32_t at, unsigned op);
pp_translate_result translate_jump(pp_emitter *e, uint32_t at, unsigned mode);
pp_translate_result translate_branch(pp_emitter *e, uint32_t at, pp_kind k);

#endif
