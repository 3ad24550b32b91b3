// superinstructions.inl: the sequences of instructions that have a handler of their own: those that
// save the most jumps over all 2 and 4 KB programs of ale-py, the games with rules here weighing
// more. Included by instruction.h.

// clang-format off
#define PP_PAIRS(X) \
  X(LDA, RTW, BNE, BNR) \
  X(LDA, RZX, STA, WTR) \
  X(LDA, RRA, STA, WTR) \
  X(SEC, IMP, SBC, RRA) \
  X(DEY, IMP, BPL, BNR) \
  X(LDX, RTW, BNE, BNR) \
  X(LDA, RPY, STA, WG1) \
  X(LDA, RPY, STA, WG0) \
  X(LDA, RPY, STA, WTR) \
  X(DEX, IMP, BPL, BNR) \
  X(LSR, IMP, LSR, IMP) \
  X(ASL, IMP, ASL, IMP) \
  X(LDA, RIM, STA, WTR) \
  X(NOP, IMP, NOP, IMP) \
  X(LDY, RTW, BNE, BNR) \
  X(LDA, RLY, STA, WTR) \
  X(AND, RIM, PHP, STK) \
  X(DEY, IMP, BNE, BNR) \
  X(STA, WSY, STA, WG0) \
  X(CMP, RIM, BCC, BNR) \
  X(AND, RIM, BNE, BNR) \
  X(LDA, RLX, STA, WTR) \
  X(LDA, RPY, TAX, IMP) \
  X(CMP, RIM, BEQ, BNR) \
  X(STA, WTR, STA, WTR) \
  X(DEX, IMP, BNE, BNR) \
  X(SBC, RIM, BCS, BNR) \
  X(LDX, RRA, LDA, RZX) \
  X(LDX, RIM, TXS, IMP) \
  X(LDA, RTM, BMI, BNR) \
  X(STA, WSY, STA, WTR) \
  X(LDA, RRA, CMP, RRA) \
  X(LDA, RPY, STA, WRA) \
  X(CPX, RRA, BNE, BNR) \
  X(LDA, RPY, AND, RIM) \
  X(DEC, MRA, BNE, BNR) \
  X(AND, RIM, BEQ, BNR) \
  X(CPY, RRA, BNE, BNR) \
  X(CPY, RIM, BEQ, BNR) \
  X(LDX, RRA, TYA, IMP) \
  X(LDA, RTW, BNE, BFR) \
  X(DEC, MRA, LDA, RRA) \
  X(LDA, RIM, STA, WRA) \
  X(INY, IMP, INY, IMP) \
  X(LDA, RIM, BEQ, BNR) \
  X(EOR, RRA, AND, RRA) \
  X(CPY, RIM, BCS, BNR) \
  X(CMP, RIM, BCS, BNR) \
  X(CPX, RRA, PHP, STK) \
  X(TXA, IMP, INX, IMP) \
  X(DEC, MRA, BPL, BNR) \
  X(LDA, RZX, STA, WRA) \
  X(CLC, IMP, ADC, RIM) \
  X(LDA, RRA, BEQ, BNR) \
  X(AND, RIM, STA, WRA) \
  X(CPY, RIM, BNE, BNR) \
  X(LDA, RRA, SBC, RRA) \
  X(LDA, RIM, STA, WG0) \
  X(AND, RRA, STA, WTR) \
  X(CPY, RRA, BCC, BNR) \
  X(INX, IMP, TXA, IMP) \
  X(CPX, RIM, BNE, BFR) \
  X(STA, WSY, STA, WG1) \
  X(STY, WG0, TXA, IMP) \
  X(LDY, RRA, LDA, RLY) \
  X(CLC, IMP, ADC, RRA) \
  X(LDA, RRA, BNE, BNR) \
  X(STY, WG1, TXA, IMP) \
  X(LDX, RIM, STX, WTR) \
  X(NOP, IMP, LDA, RRA) \
  X(CPX, RIM, BNE, BNR) \
  X(STX, WG0, STA, WG1) \
  X(DEY, IMP, STY, WRA) \
  X(TYA, IMP, SBC, RRA) \
  X(CPY, RIM, BCC, BNR) \
  X(CMP, RIM, BNE, BNR) \
  X(SEC, IMP, SBC, RIM) \
  X(ADC, RRA, STA, WRA) \
  X(STA, WG0, LDA, RRA) \
  X(PLA, STK, STA, WTR) \
  X(STY, WRA, LDY, RRA) \
  X(LDA, RRA, AND, RIM) \
  X(TAY, IMP, LDA, RLY) \
  X(INC, MRA, INC, MRA) \
  X(LDY, RTM, BPL, BNR) \
  X(DEX, IMP, BMI, BNR) \
  X(DEC, MRA, LDY, RRA) \
  X(STA, WRA, STA, WTR) \
  X(LDA, RRA, EOR, RIM) \
  X(PLA, STK, PLA, STK) \
  X(CPY, RRA, BCS, BNR) \
  X(LDX, RRA, STX, WTR) \
  X(LDA, RPY, STX, WTR) \
  X(ASL, IMP, ADC, RIM) \
  X(ORA, RRA, STA, WTR) \
  X(DEX, IMP, BPL, BFR) \
  X(LDA, RPY, BPL, BNR) \
  X(LDA, RIM, STA, WG1) \
  X(STA, WSY, BPL, BNR) \
  X(PHA, STK, PLA, STK) \
  X(LDA, RRA, EOR, RRA) \
  X(STA, WTR, STY, WTR) \
  X(STA, WRA, LDA, RRA) \
  X(CPX, RIM, BCC, BNR) \
  X(TXA, IMP, SBC, RRA) \
  X(STA, WG1, STX, WG0) \
  X(STA, WSY, BNE, BNR) \
  X(LDA, RIM, STA, WSY) \
  X(CMP, RZX, BEQ, BNR) \
  X(LDA, RIM, STA, WZX) \
  X(LDX, RRA, LDA, RLX) \
  X(LDX, RRA, LDA, RRA) \
  X(CMP, RRA, BCS, BNR) \
  X(CPX, RRA, BCC, BNR) \
  X(DEY, IMP, BPL, BFR) \
  X(CPX, RIM, BCS, BNR) \
  X(DEX, IMP, BEQ, BNR) \
  X(LDA, RRA, JMP, ABS) \
  X(LDA, RTM, BPL, BNR) \
  X(LDA, RZX, AND, RIM) \
  X(INC, MRA, LDY, RRA)

#define PP_TRIPLES(X) \
  X(SEC, IMP, SBC, RRA, AND, RRA) \
  X(LDA, RRA, SEC, IMP, SBC, RRA) \
  X(LSR, IMP, LSR, IMP, LSR, IMP) \
  X(STX, WRA, LDX, RRA, LDA, RZX) \
  X(LDA, RPY, TAX, IMP, LDA, RPY) \
  X(INY, IMP, SBC, RIM, BCS, BNR) \
  X(AND, RIM, CMP, RIM, BEQ, BNR) \
  X(SEC, IMP, LDA, RRA, SBC, RRA) \
  X(LDA, RIM, STA, WSY, STA, WG0) \
  X(TXA, IMP, SEC, IMP, SBC, RRA) \
  X(NOP, IMP, NOP, IMP, NOP, IMP) \
  X(LDX, RIM, TXS, IMP, TAX, IMP) \
  X(LDA, RRA, AND, RIM, BNE, BNR) \
  X(STA, WG0, LDA, RPY, STA, WG1) \
  X(LDA, RIM, STA, WTR, STA, WTR) \
  X(STX, WSY, STY, WG0, TXA, IMP) \
  X(STA, WSY, LDA, RRA, STA, WTR) \
  X(STA, WZX, DEX, IMP, BPL, BNR) \
  X(LDA, RRA, STA, WTR, STA, WTR) \
  X(INY, IMP, LDA, RZX, STA, WTR) \
  X(LDA, RPY, AND, RIM, STA, WRA) \
  X(LDA, RPY, STA, WG1, LDA, RPY) \
  X(PHP, STK, PLA, STK, STA, WTR) \
  X(DEX, IMP, DEY, IMP, BPL, BNR) \
  X(LDA, RRA, ADC, RRA, STA, WRA) \
  X(DEC, MRA, LDA, RRA, CMP, RIM) \
  X(DEY, IMP, CPY, RRA, BNE, BNR) \
  X(STA, WG1, STX, WG0, STY, WG1)

#define PP_QUADRUPLES(X) \
  X(LDA, RZX, STA, WTR, LDA, RZX, STA, WTR) \
  X(LDA, RPY, STA, WTR, LDA, RPY, STA, WTR) \
  X(LDA, RRA, STA, WTR, LDA, RRA, STA, WTR) \
  X(LDA, RPY, STA, WG0, LDA, RPY, STA, WG1) \
  X(SEC, IMP, SBC, RRA, AND, RIM, PHP, STK) \
  X(LDY, RIM, SEC, IMP, SBC, RRA, AND, RRA) \
  X(SEC, IMP, SBC, RRA, AND, RRA, PHP, STK) \
  X(ASL, IMP, ASL, IMP, ASL, IMP, ASL, IMP) \
  X(LSR, IMP, LSR, IMP, LSR, IMP, TAY, IMP) \
  X(STX, WRA, LDX, RRA, LDA, RZX, BMI, BNR) \
  X(LDA, RLX, STA, WTR, LDA, RLX, STA, WTR) \
  X(INY, IMP, INY, IMP, DEX, IMP, BPL, BNR) \
  X(LDA, RIM, STA, WSY, STA, WG0, BEQ, BNR) \
  X(LDA, RPY, STA, WTR, INX, IMP, TXA, IMP) \
  X(LSR, IMP, LSR, IMP, LSR, IMP, LSR, IMP) \
  X(LDA, RLY, STA, WTR, LDA, RLY, STA, WTR) \
  X(CPX, RRA, PHP, STK, CPX, RRA, PHP, STK) \
  X(LDA, RRA, STA, WTR, LDA, RPY, STA, WG0) \
  X(LDA, RIM, STA, WTR, STA, WTR, STA, WTR) \
  X(LDA, RIM, STA, WTR, LDA, RIM, STA, WTR) \
  X(LDA, RZX, STA, WRA, LDA, RZX, STA, WRA)

// clang-format on
