// superinstructions.inl: the sequences of instructions that have a handler of their own: those that
// save the most jumps over all games of ale-py. Included by instruction.h.
//
// Defines PP_PAIRS(X), PP_TRIPLES(X) and PP_QUADRUPLES(X), which call X with the operation and the
// mode of each part. Within a list, the sequence that saves more comes first.
//
// Written by `python -m tests.parity.atari_superinstructions --write`: change that, not this.

// clang-format off
#define PP_PAIRS(X) \
  X(LDA, RPY, STA, WTR) \
  X(SEC, IMP, SBC, RRA) \
  X(LDA, RRA, STA, WTR) \
  X(DEY, IMP, BPL, BNR) \
  X(DEX, IMP, BPL, BNR) \
  X(STA, WSY, STA, WTI) \
  X(LDA, RIM, STA, WTR) \
  X(LDA, RPY, STA, WG1) \
  X(LDA, RTW, BNE, BNR) \
  X(LDA, RPY, STA, WG0) \
  X(NOP, IMP, NOP, IMP) \
  X(DEX, IMP, BNE, BNR) \
  X(LDA, RLY, STA, WTR) \
  X(LDA, RTM, BMI, BNR) \
  X(LDA, RZX, STA, WTR) \
  X(DEY, IMP, BNE, BNR) \
  X(LDA, RLX, STA, WTR) \
  X(AND, RIM, BNE, BNR) \
  X(CMP, RIM, BCC, BNR) \
  X(STA, WSY, STA, WTR) \
  X(LDA, RPY, AND, RIM) \
  X(LDA, RIM, STA, WRA) \
  X(STA, WTR, STA, WTR) \
  X(LDY, RIM, TXA, IMP) \
  X(LDA, RTM, BPL, BNR) \
  X(DEC, MRA, BPL, BNR) \
  X(CPY, RRA, BNE, BNR) \
  X(DEC, MRA, BNE, BNR) \
  X(STA, WSY, STA, WG0) \
  X(LDX, RTW, BNE, BNR) \
  X(LDA, RRA, CMP, RIM) \
  X(LDA, RIM, STA, WG0) \
  X(CPX, RRA, BNE, BNR) \
  X(LDA, RRA, CMP, RRA) \
  X(CPY, RRA, BCC, BNR) \
  X(LDA, RRA, AND, RIM) \
  X(CPY, RIM, BNE, BNR) \
  X(LDA, RPY, STA, WRA) \
  X(CPY, RIM, BCS, BNR) \
  X(STA, WSY, TYA, IMP) \
  X(CPY, RRA, BCS, BNR) \
  X(CPY, RIM, BEQ, BNR) \
  X(LDA, RZX, STA, WRA) \
  X(STA, WSY, STA, WG1) \
  X(AND, RRA, STA, WTR) \
  X(STA, WTI, STA, WTR) \
  X(LDA, RZX, AND, RIM) \
  X(SBC, RIM, BCS, BNR) \
  X(CPX, RIM, BNE, BFR) \
  X(CPX, RIM, BNE, BNR) \
  X(LDA, RRA, BEQ, BNR) \
  X(CLC, IMP, ADC, RIM) \
  X(EOR, RRA, AND, RRA) \
  X(CMP, RIM, BCS, BNR) \
  X(STY, WRA, LDX, RRA) \
  X(ASL, IMP, ASL, IMP) \
  X(LDA, RIM, STA, WG1) \
  X(STY, WG1, TXA, IMP) \
  X(CLC, IMP, ADC, RRA) \
  X(LDA, RRA, BNE, BNR) \
  X(STY, WRA, LDY, RRA) \
  X(CMP, RIM, BEQ, BNR) \
  X(TAY, IMP, LDA, RRA) \
  X(CPY, RIM, BCC, BNR) \
  X(AND, RIM, STA, WRA) \
  X(LDX, RIM, TXS, IMP) \
  X(DEX, IMP, BMI, BNR) \
  X(LDA, RIM, BEQ, BNR) \
  X(LDX, RIM, STX, WTR) \
  X(LDX, RRA, STX, WTR) \
  X(TXA, IMP, TAY, IMP) \
  X(LDY, RRA, LDA, RLY) \
  X(SEC, IMP, SBC, RIM) \
  X(LDY, RTM, BPL, BNR) \
  X(STX, WG0, STA, WG1) \
  X(DEY, IMP, BEQ, BNR) \
  X(CPX, RIM, BCC, BNR) \
  X(STA, WRA, LDA, RRA) \
  X(CPX, RIM, BCS, BNR) \
  X(BIT, RRA, BPL, BNR) \
  X(LDY, RRA, LDA, RPY) \
  X(LDA, RIM, STA, WZX) \
  X(CMP, RIM, BNE, BNR) \
  X(PHA, STK, PLA, STK) \
  X(LDA, RLX, STA, WG1) \
  X(STA, WRA, STA, WTR) \
  X(TAY, IMP, LDA, RLY) \
  X(AND, RIM, BEQ, BNR) \
  X(TXA, IMP, SBC, RRA) \
  X(DEY, IMP, STY, WRA) \
  X(LDA, RPY, BPL, BNR) \
  X(LDA, RLX, STA, WG0) \
  X(LSR, IMP, LSR, IMP) \
  X(LDA, RPY, LDY, RRA) \
  X(LDA, RRA, BMI, BNR) \
  X(CMP, RRA, BCS, BNR) \
  X(DEY, IMP, BPL, BFR) \
  X(DEC, MRA, LDA, RRA) \
  X(STY, WTR, STY, WTR)

#define PP_TRIPLES(X) \
  X(LDA, RPY, STA, WG0, LDA, RPY) \
  X(LDA, RPY, TAX, IMP, LDA, RPY) \
  X(INY, IMP, SBC, RIM, BCS, BNR) \
  X(STA, WG1, STX, WG0, STY, WG1) \
  X(STX, WSY, STY, WG0, TXA, IMP) \
  X(LDA, RRA, SEC, IMP, SBC, RRA) \
  X(LDA, RIM, STA, WTR, STA, WTR) \
  X(NOP, IMP, NOP, IMP, NOP, IMP) \
  X(PHP, STK, PLA, STK, STA, WTR) \
  X(STA, WG0, LDA, RPY, STA, WG1) \
  X(LDA, RPY, STA, WTR, INX, IMP) \
  X(LDA, RPY, AND, RPY, STA, WG1) \
  X(STA, WZX, DEX, IMP, BPL, BNR) \
  X(LDA, RRA, AND, RIM, BNE, BNR) \
  X(LDY, RIM, TXA, IMP, INX, IMP) \
  X(NOP, IMP, LDA, RRA, LDA, RRA) \
  X(STA, WSY, STA, WTI, STA, WTR) \
  X(INY, IMP, LDA, RZX, STA, WTR) \
  X(STA, WSY, DEX, IMP, BNE, BNR) \
  X(STA, WSY, LDA, RRA, STA, WTR) \
  X(STA, WZX, DEY, IMP, DEX, IMP) \
  X(LDX, RRA, TYA, IMP, CMP, RZX) \
  X(LDA, RRA, EOR, RIM, BNE, BNR) \
  X(LDA, RRA, STA, WG0, LDA, RRA) \
  X(DEX, IMP, DEY, IMP, BPL, BNR) \
  X(LDA, RPY, STA, WTR, STA, WTR)

#define PP_QUADRUPLES(X) \
  X(LDA, RZX, STA, WTR, LDA, RZX, STA, WTR) \
  X(SEC, IMP, SBC, RRA, AND, RIM, PHP, STK) \
  X(LSR, IMP, LSR, IMP, LSR, IMP, TAY, IMP) \
  X(STX, WRA, LDX, RRA, LDA, RZX, BMI, BNR) \
  X(TYA, IMP, AND, RIM, CMP, RIM, BEQ, BNR) \
  X(LDY, RIM, SEC, IMP, SBC, RRA, AND, RRA) \
  X(SEC, IMP, SBC, RRA, AND, RRA, PHP, STK) \
  X(LDA, RIM, STA, WSY, STA, WG0, BEQ, BNR) \
  X(ASL, IMP, ASL, IMP, ASL, IMP, ASL, IMP) \
  X(TXA, IMP, LDX, RIM, TXS, IMP, TAX, IMP) \
  X(INY, IMP, INY, IMP, DEX, IMP, BPL, BNR) \
  X(LDA, RPY, STA, WTR, LDA, RPY, STA, WTR) \
  X(LDA, RPY, STA, WG0, LDA, RPY, STA, WG1) \
  X(LDA, RRA, STA, WTR, LDA, RRA, STA, WTR) \
  X(LSR, IMP, LSR, IMP, LSR, IMP, LSR, IMP) \
  X(SEC, IMP, LDA, RRA, SBC, RRA, AND, RIM) \
  X(CPX, RRA, PHP, STK, CPX, RRA, PHP, STK) \
  X(STA, WRA, LDA, RPY, AND, RIM, ORA, RRA) \
  X(LDY, RRA, LDA, RPY, STA, WG0, STA, WSY) \
  X(STX, WRA, LDX, RRA, LDA, RZX, BPL, BNR) \
  X(SBC, RRA, AND, RIM, STA, WSY, PHP, STK) \
  X(ASL, IMP, ADC, RIM, ASL, IMP, ADC, RIM) \
  X(CLC, IMP, LDA, RRA, ADC, RRA, STA, WRA) \
  X(LDA, RIM, LDY, RRA, INY, IMP, BMI, BNR) \
  X(LDA, RRA, ORA, RTI, STA, WRA, STA, WTI) \
  X(LDA, RRA, EOR, RRA, AND, RIM, PHP, STK) \
  X(STA, WRA, LDA, RPY, TAX, IMP, LDA, RPY) \
  X(LDA, RRA, EOR, RIM, STA, WRA, BNE, BNR) \
  X(LDA, RIM, STA, WTR, STA, WTR, STA, WTR) \
  X(LDX, RIM, TYA, IMP, SBC, RRA, AND, RRA) \
  X(LDA, RZX, STA, WTR, PLA, STK, INY, IMP) \
  X(LDA, RLX, STA, WTR, LDA, RLX, STA, WTR) \
  X(DEC, MRA, LDA, RRA, CMP, RIM, BPL, BNR) \
  X(LDA, RLY, STA, WTR, LDA, RLY, STA, WTR) \
  X(LDY, RRA, LDA, RRA, STA, WSY, BMI, BNR) \
  X(LDA, RLY, LSR, IMP, ADC, RRA, CMP, RZX) \
  X(STA, WG1, STX, WG0, STY, WG1, STA, WG0) \
  X(TXA, IMP, SEC, IMP, SBC, RRA, LDY, RIM) \
  X(DEC, MRA, STA, WSY, STA, WZX, BEQ, BNR) \
  X(LDX, RRA, LDA, RRA, CMP, RZX, BEQ, BNR) \
  X(LDA, RPY, STX, WTR, STA, WG0, LDX, RRA) \
  X(STX, WTR, LDA, RPY, STX, WTR, BEQ, BNR) \
  X(INX, IMP, LDY, RRA, CPX, RRA, STA, WSY) \
  X(TXA, IMP, SEC, IMP, SBC, RRA, TAY, IMP) \
  X(STA, WG1, STX, WG0, STY, WG1, STY, WG0)

// clang-format on
