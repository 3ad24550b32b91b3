/* Instruction: decodes 6507 machine code into handlers and resolved operands. */
#include "instruction.h"

#include "tia_registers.h"

/* how the instruction set addresses memory, before the address is known */
typedef enum { IMP, IMM, ZPG, ZPX, ZPY, ABS, ABX, ABY, INX, INY, REL, SPC } addressing;

/* the handler of an operation's first mode; the other modes follow in the order of the lists */
typedef struct opcode {
  uint16_t first;
  uint8_t addressing;
  char kind; /* r reads, w writes, m modifies, b branches, f is fixed: `first` is the handler */
} opcode;

// clang-format off
#define R(op, mode) {PP_##op##_RIM, mode, 'r'}
#define W(op, mode) {PP_##op##_WRA, mode, 'w'}
#define M(op, mode) {PP_##op##_MRA, mode, 'm'}
#define B(op)       {PP_##op##_BNR, REL, 'b'}
#define I(op)       {PP_##op##_IMP, IMP, 'f'}
#define F(op, mode) {PP_##op##_RIM, mode, 'f'}
#define S(op, mode) {PP_##op##_STK, mode, 'f'}
#define J           {PP_JAM_IMP, IMP, 'f'}

/* undocumented opcodes whose result depends on analogue effects stop the processor, so they are
 * J */
static const opcode opcodes[256] = {
/* 00 */ S(BRK, IMP), R(ORA, INX), J, M(SLO, INX), R(NOP, ZPG), R(ORA, ZPG), M(ASL, ZPG), M(SLO, ZPG),
/* 08 */ S(PHP, IMP), R(ORA, IMM), I(ASL), F(ANC, IMM), R(NOP, ABS), R(ORA, ABS), M(ASL, ABS), M(SLO, ABS),
/* 10 */ B(BPL), R(ORA, INY), J, M(SLO, INY), R(NOP, ZPX), R(ORA, ZPX), M(ASL, ZPX), M(SLO, ZPX),
/* 18 */ I(CLC), R(ORA, ABY), I(NOP), M(SLO, ABY), R(NOP, ABX), R(ORA, ABX), M(ASL, ABX), M(SLO, ABX),
/* 20 */ S(JSR, SPC), R(AND, INX), J, M(RLA, INX), R(BIT, ZPG), R(AND, ZPG), M(ROL, ZPG), M(RLA, ZPG),
/* 28 */ S(PLP, IMP), R(AND, IMM), I(ROL), F(ANC, IMM), R(BIT, ABS), R(AND, ABS), M(ROL, ABS), M(RLA, ABS),
/* 30 */ B(BMI), R(AND, INY), J, M(RLA, INY), R(NOP, ZPX), R(AND, ZPX), M(ROL, ZPX), M(RLA, ZPX),
/* 38 */ I(SEC), R(AND, ABY), I(NOP), M(RLA, ABY), R(NOP, ABX), R(AND, ABX), M(ROL, ABX), M(RLA, ABX),
/* 40 */ S(RTI, IMP), R(EOR, INX), J, M(SRE, INX), R(NOP, ZPG), R(EOR, ZPG), M(LSR, ZPG), M(SRE, ZPG),
/* 48 */ S(PHA, IMP), R(EOR, IMM), I(LSR), F(ALR, IMM), {PP_JMP_ABS, SPC, 'j'}, R(EOR, ABS), M(LSR, ABS), M(SRE, ABS),
/* 50 */ B(BVC), R(EOR, INY), J, M(SRE, INY), R(NOP, ZPX), R(EOR, ZPX), M(LSR, ZPX), M(SRE, ZPX),
/* 58 */ I(CLI), R(EOR, ABY), I(NOP), M(SRE, ABY), R(NOP, ABX), R(EOR, ABX), M(LSR, ABX), M(SRE, ABX),
/* 60 */ S(RTS, IMP), R(ADC, INX), J, M(RRA, INX), R(NOP, ZPG), R(ADC, ZPG), M(ROR, ZPG), M(RRA, ZPG),
/* 68 */ S(PLA, IMP), R(ADC, IMM), I(ROR), F(ARR, IMM), {PP_JMP_IND, SPC, 'f'}, R(ADC, ABS), M(ROR, ABS), M(RRA, ABS),
/* 70 */ B(BVS), R(ADC, INY), J, M(RRA, INY), R(NOP, ZPX), R(ADC, ZPX), M(ROR, ZPX), M(RRA, ZPX),
/* 78 */ I(SEI), R(ADC, ABY), I(NOP), M(RRA, ABY), R(NOP, ABX), R(ADC, ABX), M(ROR, ABX), M(RRA, ABX),
/* 80 */ R(NOP, IMM), W(STA, INX), R(NOP, IMM), W(SAX, INX), W(STY, ZPG), W(STA, ZPG), W(STX, ZPG), W(SAX, ZPG),
/* 88 */ I(DEY), R(NOP, IMM), I(TXA), J, W(STY, ABS), W(STA, ABS), W(STX, ABS), W(SAX, ABS),
/* 90 */ B(BCC), W(STA, INY), J, J, W(STY, ZPX), W(STA, ZPX), W(STX, ZPY), W(SAX, ZPY),
/* 98 */ I(TYA), W(STA, ABY), I(TXS), J, J, W(STA, ABX), J, J,
/* a0 */ R(LDY, IMM), R(LDA, INX), R(LDX, IMM), R(LAX, INX), R(LDY, ZPG), R(LDA, ZPG), R(LDX, ZPG), R(LAX, ZPG),
/* a8 */ I(TAY), R(LDA, IMM), I(TAX), J, R(LDY, ABS), R(LDA, ABS), R(LDX, ABS), R(LAX, ABS),
/* b0 */ B(BCS), R(LDA, INY), J, R(LAX, INY), R(LDY, ZPX), R(LDA, ZPX), R(LDX, ZPY), R(LAX, ZPY),
/* b8 */ I(CLV), R(LDA, ABY), I(TSX), J, R(LDY, ABX), R(LDA, ABX), R(LDX, ABY), R(LAX, ABY),
/* c0 */ R(CPY, IMM), R(CMP, INX), R(NOP, IMM), M(DCP, INX), R(CPY, ZPG), R(CMP, ZPG), M(DEC, ZPG), M(DCP, ZPG),
/* c8 */ I(INY), R(CMP, IMM), I(DEX), F(SBX, IMM), R(CPY, ABS), R(CMP, ABS), M(DEC, ABS), M(DCP, ABS),
/* d0 */ B(BNE), R(CMP, INY), J, M(DCP, INY), R(NOP, ZPX), R(CMP, ZPX), M(DEC, ZPX), M(DCP, ZPX),
/* d8 */ I(CLD), R(CMP, ABY), I(NOP), M(DCP, ABY), R(NOP, ABX), R(CMP, ABX), M(DEC, ABX), M(DCP, ABX),
/* e0 */ R(CPX, IMM), R(SBC, INX), R(NOP, IMM), M(ISB, INX), R(CPX, ZPG), R(SBC, ZPG), M(INC, ZPG), M(ISB, ZPG),
/* e8 */ I(INX), R(SBC, IMM), I(NOP), R(SBC, IMM), R(CPX, ABS), R(SBC, ABS), M(INC, ABS), M(ISB, ABS),
/* f0 */ B(BEQ), R(SBC, INY), J, M(ISB, INY), R(NOP, ZPX), R(SBC, ZPX), M(INC, ZPX), M(ISB, ZPX),
/* f8 */ I(SED), R(SBC, ABY), I(NOP), M(ISB, ABY), R(NOP, ABX), R(SBC, ABX), M(INC, ABX), M(ISB, ABX),
};

const uint8_t pp_register_bits[64] = {
  [TIA_NUSIZ0] = 0x37, [TIA_NUSIZ1] = 0x37,
  [TIA_COLUP0] = 0xfe, [TIA_COLUP1] = 0xfe, [TIA_COLUPF] = 0xfe, [TIA_COLUBK] = 0xfe,
  [TIA_CTRLPF] = 0x37, [TIA_REFP0] = 0x08, [TIA_REFP1] = 0x08,
  [TIA_PF0] = 0xf0, [TIA_PF1] = 0xff, [TIA_PF2] = 0xff,
  [TIA_ENAM0] = 0x02, [TIA_ENAM1] = 0x02, [TIA_ENABL] = 0x02,
  [TIA_HMP0] = 0xf0, [TIA_HMP1] = 0xf0, [TIA_HMM0] = 0xf0, [TIA_HMM1] = 0xf0, [TIA_HMBL] = 0xf0,
  [TIA_VDELP0] = 0x01, [TIA_VDELP1] = 0x01, [TIA_VDELBL] = 0x01,
};
// clang-format on

/* address line 12 is high when the processor sees the cartridge */
enum { ROM_LINE = 0x1000 };

bool pp_register_is_silent(unsigned reg) {
  // Audio makes no pixels, and registers past CXCLR do not exist. (tia_write drops RSYNC, which
  // games do not use.)
  return (reg >= TIA_AUDC0 && reg <= TIA_AUDV1) || reg > TIA_CXCLR;
}

/* distance of a mode from the first one in PP_READ_MODES */
enum { RRA = 1, RTI, RCO, RTM, RAB, RZX, RZY, RLX, RLY, RAX, RAY, RIX, RIY, RIN, RPY };

bool pp_code_image_is_special(const pp_code_image *image, unsigned address) {
  unsigned line = ROM_LINE | image->select, offset = address & 0xfff;
  if (!image->rom || (address & line) != (image->home & line)) return true;
  return offset < image->low || offset >= image->high;
}

static int read_mode(pp_decoded *d, unsigned mode, const pp_code_image *image) {
  unsigned at = d->operand;
  switch (mode) {
    case IMM: return 0;
    case ZPG:
      if (at < 0x80) return (at & 15) < 8 ? RTI : RIN;
      d->operand = (uint16_t)(at & 0x7f);
      return RRA;
    case ZPX: return RZX;
    case ZPY: return RZY;
    case INX: return RIX;
    case INY:
      if (at < 0x80 || at == 0xff) return RIY;
      d->operand = (uint16_t)(at & 0x7f);
      return RPY;
    case ABS:
      if (!pp_code_image_is_special(image, at)) {
        d->operand = image->rom[at & (image->size - 1u)];
        return RCO;
      }
      // of the lines of INTIM, A0 low, those that the RIOT decodes
      return (at & 0x1285) == RIOT_INTIM ? RTM : RAB;
    default: break;
  }

  // indexed: within the image whatever the index is, or any address
  bool inside = image->size == 0x1000 && !image->select && !pp_code_image_is_special(image, at) &&
                (at & 0xfff) + 255 < image->high;
  if (mode == ABX) return inside ? RLX : RAX;
  return inside ? RLY : RAY;
}

/* distance of a mode from the first one in PP_WRITE_MODES */
enum { WTR = 1, WTI, WSY, WNO, WAB, WZX, WZY, WAX, WAY, WIX, WIY, WG0, WG1 };

static int write_mode(pp_decoded *d, unsigned mode) {
  unsigned reg = d->operand & 0x3f;
  switch (mode) {
    case ZPX: return WZX;
    case ZPY: return WZY;
    case ABX: return WAX;
    case ABY: return WAY;
    case INX: return WIX;
    case INY: return WIY;
    case ABS: return WAB;
    default: break;
  }
  if (d->operand >= 0x80) {
    d->operand &= 0x7f;
    return 0;
  }
  d->operand = (uint16_t)reg;
  d->mask = pp_register_bits[reg];
  if (d->mask) return WTR;
  if (reg == TIA_WSYNC) return WSY;
  if (reg == TIA_GRP0) return WG0;
  if (reg == TIA_GRP1) return WG1;
  return pp_register_is_silent(reg) ? WNO : WTI;
}

/* distance of a mode from the first one in PP_MODIFY_MODES */
enum { MAB = 1, MZX, MAX, MAY, MIX, MIY };

static int modify_mode(pp_decoded *d, unsigned mode) {
  switch (mode) {
    case ZPX: return MZX;
    case ABX: return MAX;
    case ABY: return MAY;
    case INX: return MIX;
    case INY: return MIY;
    case ABS: d->mask = 1; return MAB;
    default: break;
  }
  if (d->operand < 0x80) return MAB;
  d->operand &= 0x7f;
  return 0;
}

/* returns whether this address is in the image, for code that runs at the image's home */
static bool is_inside(const pp_code_image *image, unsigned address) {
  return ((address ^ image->home) & (0x10000u - image->size) & 0xffff) == 0 && image->rom;
}

/* distance of a mode from the first one in PP_BRANCH_MODES; the operand becomes a distance */
static int branch_mode(pp_decoded *d, uint16_t pc, const pp_code_image *image) {
  uint16_t next = (uint16_t)(pc + 2);
  uint16_t target = (uint16_t)(next + (int8_t)d->low);
  if (!is_inside(image, target)) {
    d->operand = target;
    return 2;
  }
  d->operand = (uint16_t)(target - pc);
  return (next & 0xff00) != (target & 0xff00) ? 1 : 0;
}

uint8_t pp_instruction_length(uint8_t first) {
  unsigned mode = opcodes[first].addressing;
  if (mode == IMP) return 1;
  return mode == ABS || mode == ABX || mode == ABY || mode == SPC ? 3 : 2;
}

pp_decoded pp_instruction_decode(const uint8_t bytes[3], uint16_t pc, const pp_code_image *image) {
  const opcode *code = &opcodes[bytes[0]];
  pp_decoded d = {
      .handler = code->first, .low = bytes[1], .length = pp_instruction_length(bytes[0])};
  d.operand = d.length == 3 ? (uint16_t)(bytes[1] | bytes[2] << 8) : bytes[1];
  int distance = 0;
  switch (code->kind) {
    case 'r': distance = read_mode(&d, code->addressing, image); break;
    case 'w': distance = write_mode(&d, code->addressing); break;
    case 'm': distance = modify_mode(&d, code->addressing); break;
    case 'b': distance = branch_mode(&d, pc, image); break;
    case 'j': {
      bool near = is_inside(image, d.operand);
      d.mask = (uint8_t)(d.operand >> 8 & 0xf0);
      if (near) d.operand = (uint16_t)(d.operand - pc);
      distance = near ? 0 : 1;
      break;
    }
    default: break;
  }
  d.handler = (uint16_t)(d.handler + distance);
  return d;
}

/* the sequences' parts, in the order of their handlers; 0xffff: none */
typedef struct sequence {
  uint16_t part[4];
} sequence;

#define PAIR_PARTS(a, am, b, bm) {{PP_##a##_##am, PP_##b##_##bm, 0xffff, 0xffff}},
#define TRIPLE_PARTS(a, am, b, bm, c, cm) {{PP_##a##_##am, PP_##b##_##bm, PP_##c##_##cm, 0xffff}},
#define QUADRUPLE_PARTS(a, am, b, bm, c, cm, d, dm) \
  {{PP_##a##_##am, PP_##b##_##bm, PP_##c##_##cm, PP_##d##_##dm}},
static const sequence sequences[] = {PP_PAIRS(PAIR_PARTS) PP_TRIPLES(TRIPLE_PARTS)
                                         PP_QUADRUPLES(QUADRUPLE_PARTS)};

uint16_t pp_instruction_sequence(const uint16_t *handlers, int count, int *used) {
  // longer ones come later
  for (int i = (int)(sizeof(sequences) / sizeof(sequences[0])) - 1; i >= 0; i--) {
    int n = 0;
    while (n < 4 && n < count && sequences[i].part[n] == handlers[n]) n++;
    if (n < 4 && sequences[i].part[n] != 0xffff) continue;
    *used = n;
    return (uint16_t)(PP_HANDLER_SINGLES + i);
  }
  *used = 1;
  return handlers[0];
}
