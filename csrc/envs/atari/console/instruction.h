/* Instruction: the decoded form of a 6507 instruction, and the list of handlers that run it. */
#ifndef PP_ENVS_ATARI_CONSOLE_INSTRUCTION_H
#define PP_ENVS_ATARI_CONSOLE_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

// clang-format off: the lists below are tables
/* A handler is an operation together with a mode, the place of its operand. The first letter of a
 * mode says what it does: R reads, W writes, M modifies, B branches. The decoder resolves as much as
 * the address allows:
 *   RIM immediate   RRA zero page in RAM   RTI a TIA collision register, zero page
 *   RIN any other TIA register, zero page   RCO absolute in ROM: a constant
 *   RPY (zp),Y with the pointer in RAM   RTM absolute INTIM
 *   RTW INTIM in a loop that waits for zero   RAB any other absolute
 *   RZX zp,X   RZY zp,Y   RLX/RLY abs,X/Y inside ROM
 *   RAX/RAY any other abs,X/Y   RIX (zp,X)   RIY (zp),Y
 *   WRA RAM   WTR a TIA register without side effects   WTI any other TIA register   WSY WSYNC
 *   WG0/WG1 GRP0/GRP1   WNO no effect   WAB absolute   WZX WZY WAX WAY WIX WIY as for reads
 *   MRA RAM   MAB absolute, or zero page in the TIA   MZX MAX MAY MIX MIY
 *   BNR taken inside the page   BFR taken into another page   BAB target outside the ROM image */
#define PP_READ_MODES(X, op)                                                                       \
  X(op, RIM) X(op, RRA) X(op, RTI) X(op, RCO) X(op, RTM) X(op, RAB) X(op, RZX) X(op, RZY)          \
  X(op, RLX) X(op, RLY) X(op, RAX) X(op, RAY) X(op, RIX) X(op, RIY) X(op, RIN) X(op, RPY)
#define PP_WRITE_MODES(X, op)                                                                      \
  X(op, WRA) X(op, WTR) X(op, WTI) X(op, WSY) X(op, WNO) X(op, WAB) X(op, WZX) X(op, WZY)          \
  X(op, WAX) X(op, WAY) X(op, WIX) X(op, WIY) X(op, WG0) X(op, WG1)
#define PP_MODIFY_MODES(X, op)                                                                     \
  X(op, MRA) X(op, MAB) X(op, MZX) X(op, MAX) X(op, MAY) X(op, MIX) X(op, MIY)
#define PP_BRANCH_MODES(X, op) X(op, BNR) X(op, BFR) X(op, BAB)

#define PP_HANDLERS(X)                                                                             \
  PP_READ_MODES(X, LDA) PP_READ_MODES(X, LDX) PP_READ_MODES(X, LDY) PP_READ_MODES(X, ADC)          \
  PP_READ_MODES(X, SBC) PP_READ_MODES(X, AND) PP_READ_MODES(X, ORA) PP_READ_MODES(X, EOR)          \
  PP_READ_MODES(X, CMP) PP_READ_MODES(X, CPX) PP_READ_MODES(X, CPY) PP_READ_MODES(X, BIT)          \
  X(LDA, RTW) X(LDX, RTW) X(LDY, RTW) PP_READ_MODES(X, LAX) PP_READ_MODES(X, NOP) X(ANC, RIM) X(ALR, RIM) X(ARR, RIM) X(SBX, RIM)      \
  PP_WRITE_MODES(X, STA) PP_WRITE_MODES(X, STX) PP_WRITE_MODES(X, STY) PP_WRITE_MODES(X, SAX)      \
  PP_MODIFY_MODES(X, ASL) PP_MODIFY_MODES(X, LSR) PP_MODIFY_MODES(X, ROL)                          \
  PP_MODIFY_MODES(X, ROR) PP_MODIFY_MODES(X, INC) PP_MODIFY_MODES(X, DEC)                          \
  PP_MODIFY_MODES(X, SLO) PP_MODIFY_MODES(X, RLA) PP_MODIFY_MODES(X, SRE)                          \
  PP_MODIFY_MODES(X, RRA) PP_MODIFY_MODES(X, DCP) PP_MODIFY_MODES(X, ISB)                          \
  X(ASL, IMP) X(LSR, IMP) X(ROL, IMP) X(ROR, IMP) X(TAX, IMP) X(TXA, IMP) X(TAY, IMP)              \
  X(TYA, IMP) X(TSX, IMP) X(TXS, IMP) X(INX, IMP) X(INY, IMP) X(DEX, IMP) X(DEY, IMP)              \
  X(CLC, IMP) X(SEC, IMP) X(CLD, IMP) X(SED, IMP) X(CLI, IMP) X(SEI, IMP) X(CLV, IMP)              \
  X(NOP, IMP) X(PHA, STK) X(PHP, STK) X(PLA, STK) X(PLP, STK) X(JSR, STK) X(RTS, STK)              \
  X(RTI, STK) X(BRK, STK) X(JMP, ABS) X(JMP, FAR) X(JMP, IND) X(JAM, IMP) X(OUT, IMP) X(ENT, IMP)  \
  PP_BRANCH_MODES(X, BPL) PP_BRANCH_MODES(X, BMI) PP_BRANCH_MODES(X, BVC) PP_BRANCH_MODES(X, BVS)  \
  PP_BRANCH_MODES(X, BCC) PP_BRANCH_MODES(X, BCS) PP_BRANCH_MODES(X, BNE) PP_BRANCH_MODES(X, BEQ)

// clang-format on

/* Frequent sequences have a handler of their own, which saves the jumps between their parts. */
#include "superinstructions.def"

#define PP_HANDLER_ENUM(op, mode) PP_##op##_##mode,
#define PP_PAIR_ENUM(a, am, b, bm) PP_##a##_##am##_##b##_##bm,
#define PP_TRIPLE_ENUM(a, am, b, bm, c, cm) PP_##a##_##am##_##b##_##bm##_##c##_##cm,
#define PP_QUADRUPLE_ENUM(a, am, b, bm, c, cm, d, dm) \
  PP_##a##_##am##_##b##_##bm##_##c##_##cm##_##d##_##dm,
enum {
  PP_HANDLERS(PP_HANDLER_ENUM) PP_HANDLER_SINGLES,
  PP_BEFORE_SEQUENCES = PP_HANDLER_SINGLES - 1,
  PP_PAIRS(PP_PAIR_ENUM) PP_TRIPLES(PP_TRIPLE_ENUM) PP_QUADRUPLES(PP_QUADRUPLE_ENUM)
      PP_HANDLER_COUNT
};

/* what the interpreter runs, one for every address of the cartridge */
typedef struct pp_instruction {
  const void *handler; /* the address to jump to */
  uint16_t operand;    /* an address, a constant, or a branch's distance in bytes */
  /* WTR: the bits of the register that exist; JMP: the target's high nibble; RTW: cycles of a
   * pass; MAB: 1 if absolute */
  uint8_t mask;
  uint8_t low; /* low byte of the operand as fetched, which stays on the data bus */
} pp_instruction;

/* an instruction before its handler's address is known */
typedef struct pp_decoded {
  uint16_t handler; /* PP_<operation>_<mode> */
  uint16_t operand;
  uint8_t mask;
  uint8_t low;
  uint8_t length; /* in bytes */
} pp_decoded;

/* a part of a ROM at a known address */
typedef struct pp_code_image {
  const uint8_t *rom; /* null: nothing is known of the bytes around an instruction */
  uint16_t home;      /* the address of the first one */
  uint16_t size;      /* a power of two; 0 without a rom */
  uint16_t select;    /* the address lines that, with A12, select this image */
  uint16_t low, high; /* offsets below `low` and from `high` on are more than memory */
} pp_code_image;

/* Returns whether reading this address does more than return a byte of the image. */
bool pp_code_image_is_special(const pp_code_image *image, unsigned address);

/* Decodes the three bytes at address pc. */
pp_decoded pp_instruction_decode(const uint8_t bytes[3], uint16_t pc, const pp_code_image *image);

/* Returns the length in bytes of the instruction that begins with this byte. */
uint8_t pp_instruction_length(uint8_t first);

/* Returns the handler of the longest sequence at the beginning of these `count` single handlers,
 * and sets *used to its length in instructions (1: no sequence). */
uint16_t pp_instruction_sequence(const uint16_t *handlers, int count, int *used);

/* the bits that exist of each TIA register whose writing has no side effects; 0: it has some */
extern const uint8_t pp_register_bits[64];

/* Returns whether writing a TIA register has no effect here. */
bool pp_register_is_silent(unsigned reg);

#endif
