/* Operation: what each operation does, and how each mode finds its operand.
 *
 * Included by processor.inl alone. The macros build one handler per entry of PP_HANDLERS: code that
 * begins at the label H_<operation>_<mode> and ends with a jump to the next handler (NEXT). They
 * are statements of the function in processor.inl and need these names in scope:
 *   m, cart, p               the machine (a local copy), the cartridge, where pixels go
 *   ram                      m->ram
 *   ip                       the instruction that runs; a mode advances it before any operation
 *                            that may leave the handler
 *   out, base, pc            where the program runs outside the cartridge; the address of PROGRAM's
 *                            first instruction; an address passed to ENTER or fetch_outside
 *   a, x, y, nz, cycle       the processor's registers, the last result (N and Z), the time
 *   log, log_start, overrun  the end and the start of the log of TIA writes; the cycle of the first
 *                            write that ends the frame
 *   address, value           scratch: any mode or operation may overwrite them
 *   finish, fetch_outside, too_long   labels of the function that a handler may jump to
 * Locals that end in an underscore belong to one macro. The names of macros follow one pattern:
 *   MODE_<mode>(op)   charges the cycles, moves ip, finds the operand, and expands one of
 *   READ_<op>(v)      an operation on a value that was read
 *   WRITE_<op>        an expression: the value to write
 *   MODIFY_<op>(v)    an operation that changes v in place
 *   TEST_<op>         an expression: whether the branch is taken
 *   DO_<op>           an operation without an operand of these kinds
 * The modes are listed in instruction.h. */

// clang-format off: one operation or mode per line reads as a table

#define NEXT goto *(void *)ip->handler
#define DEFINE_HANDLER(op, mode) H_##op##_##mode : BODY(op, mode) NEXT;
#define DEFINE_PAIR(a, am, b, bm) H_##a##_##am##_##b##_##bm : BODY(a, am) BODY(b, bm) NEXT;
#define DEFINE_TRIPLE(a, am, b, bm, c, cm)                                                         \
  H_##a##_##am##_##b##_##bm##_##c##_##cm : BODY(a, am) BODY(b, bm) BODY(c, cm) NEXT;
#define DEFINE_QUADRUPLE(a, am, b, bm, c, cm, d, dm)                                               \
  H_##a##_##am##_##b##_##bm##_##c##_##cm##_##d##_##dm                                              \
      : BODY(a, am) BODY(b, bm) BODY(c, cm) BODY(d, dm) NEXT;
#define BODY(op, mode) MODE_##mode(op)

/* the address of an instruction; 16 bits, as JSR and BRK push it */
#define PC_OF(i)                                                                                   \
  ((uintptr_t)((i) - out.code) < 4u ? out.pc + (unsigned)((i) - out.code)                          \
                                    : base + (unsigned)((i) - PROGRAM))

#define JUMP(target)                                                                               \
  {                                                                                                \
    pc = (target) & 0xffff;                                                                        \
    if (!(pc & 0x1000)) goto fetch_outside;                                                        \
    ENTER(pc)                                                                                      \
    if (cycle > CYCLE_LIMIT) goto too_long;                                                         \
    NEXT;                                                                                          \
  }

/* ------------------------------------------------------------------------------------ memory -- */

/* set in the result of read_chips: the log of TIA writes was carried out for this read */
enum { LOG_DONE = 0x100 };

/* read outside RAM and ROM */
static __attribute__((noinline)) unsigned read_chips(pp_machine *m, const pp_cartridge *cart,
                                                     const pp_picture *p, unsigned at,
                                                     unsigned bus, uint32_t cycle,
                                                     const uint32_t *log, const uint32_t *end) {
  if (at & 0x80) return riot_read(m, at, cycle);
  if ((at & 15) >= TIA_INPT0) return tia_read(m, at, cycle, (uint8_t)bus);
  cart->draw(&m->tia, p, log, end, cycle, false);
  return tia_read(m, at, cycle, (uint8_t)bus) | LOG_DONE;
}

#define READ_CHIPS(at, bus)                                                                        \
  {                                                                                                \
    value = read_chips(m, cart, p, (at), (bus), cycle, log_start, log);                                  \
    if (value & LOG_DONE) log = log_start;                                                         \
    value &= 0xff;                                                                                 \
  }

#define BUS_READ(at, bus)                                                                          \
  {                                                                                                \
    unsigned at_ = (at);                                                                           \
    if (at_ & 0x1000) {                                                                            \
      READ_CARTRIDGE(at_, bus)                                                                     \
    } else if ((at_ & 0x280) == 0x80) {                                                            \
      value = ram[at_ & 0x7f];                                                                     \
    } else {                                                                                       \
      READ_CHIPS(at_, bus)                                                                         \
    }                                                                                              \
  }

/* WSYNC: the processor stops until the line ends. Whether the frame is too long depends on the
 * time before that, as in ALE. */
#define WAIT_FOR_LINE()                                                                            \
  {                                                                                                \
    uint32_t past_ = cycle % PP_LINE_CYCLES, at_ = cycle;                                          \
    if (past_) cycle += PP_LINE_CYCLES - past_;                                                    \
    if (at_ >= overrun) goto finish;                                                               \
  }

#define TIA_WRITE(reg, byte)                                                                       \
  {                                                                                                \
    if (((reg) & 63) == TIA_WSYNC) {                                                                       \
      WAIT_FOR_LINE()                                                                              \
    } else {                                                                                       \
      log = tia_write(m, log, (reg) & 63, (uint8_t)(byte), cycle);                          \
      if (cycle >= overrun || m->ended) goto finish;                                                     \
    }                                                                                              \
  }

#define BUS_WRITE(at, byte)                                                                        \
  {                                                                                                \
    unsigned to_ = (at);                                                                           \
    if ((to_ & 0x1280) == 0x80) {                                                                  \
      ram[to_ & 0x7f] = (uint8_t)(byte);                                                           \
    } else if ((to_ & 0x1280) == 0x280) {                                                          \
      riot_write(m, to_, (uint8_t)(byte), cycle);                                                  \
    } else if (!(to_ & 0x1000)) {                                                                  \
      TIA_WRITE(to_, byte)                                                                         \
    } else {                                                                                       \
      WRITE_CARTRIDGE(to_, byte)                                                                   \
    }                                                                                              \
  }

/* writes a register whose writing has side effects, and returns the log's new end */
static __attribute__((noinline)) uint32_t *tia_write(pp_machine *m, uint32_t *log, unsigned reg,
                                                     uint8_t value, uint32_t cycle) {
  switch (reg) {
    case TIA_VSYNC:
      // a frame ends when vertical sync, on for at least a line, is switched off
      if (value & 2) {
        m->vsync_end = cycle + PP_LINE_CYCLES;
      } else if (cycle >= m->vsync_end) {
        m->vsync_end = UINT32_MAX;
        m->ended = 1;
      }
      return log;
    case TIA_VBLANK:
      if (m->dumped != value >> 7) {
        m->dumped = value >> 7;
        if (!m->dumped) m->dump_start = cycle;
        time_paddles(m, 0);
      }
      break;
    case TIA_GRP0: case TIA_GRP1:
      // the write also copies the other player's graphics, so compare both
      if (m->written[reg] == value && m->old_grp[TIA_GRP1 - reg] == m->written[TIA_GRP0 + TIA_GRP1 - reg] &&
          (reg == TIA_GRP0 || m->old_enabl == m->written[TIA_ENABL])) {
        return log;
      }
      m->written[reg] = value;
      m->old_grp[TIA_GRP1 - reg] = m->written[TIA_GRP0 + TIA_GRP1 - reg];
      if (reg == TIA_GRP1) m->old_enabl = m->written[TIA_ENABL];
      break;
    case TIA_RESP0: case TIA_RESP1:
      // a RESP hides a copy until NUSIZ is written, even with the value that it has
      m->written[reg - TIA_RESP0 + TIA_NUSIZ0] = 0xff;
      break;
    case TIA_RESMP0: case TIA_RESMP1: case TIA_RESM0: case TIA_RESM1: case TIA_RESBL: case TIA_HMOVE: case TIA_HMCLR: case TIA_CXCLR: break;
    default:
      value &= pp_register_bits[reg];
      if (!pp_register_bits[reg] || m->written[reg] == value) return log;
      m->written[reg] = value;
      break;
  }
  if (reg == TIA_HMCLR) memset(m->written + TIA_HMP0, 0, 5);
  *log = cycle << 16 | reg << 8 | value;
  return log + 1;
}

/* writes a TIA register without side effects; only a change is logged */
#define SET_REGISTER(reg, bits)                                                                    \
  {                                                                                                \
    unsigned reg_ = (reg), bits_ = (bits);                                                         \
    *log = cycle << 16 | reg_ << 8 | bits_;                                                        \
    log += m->written[reg_] != bits_;                                                              \
    m->written[reg_] = (uint8_t)bits_;                                                             \
    if (cycle >= overrun) goto finish;                                                             \
  }

#define PUSH(byte)                                                                                 \
  {                                                                                                \
    unsigned pushed_ = (byte);                                                                     \
    unsigned slot_ = m->sp--;                                                                      \
    if (slot_ & 0x80) {                                                                            \
      ram[slot_ & 0x7f] = (uint8_t)pushed_;                                                        \
    } else if (pp_register_bits[slot_ & 63]) {                                                     \
      /* PHP with the stack over the chip is a common way to switch objects on */                  \
      SET_REGISTER(slot_ & 63, pushed_ & pp_register_bits[slot_ & 63])                             \
    } else {                                                                                       \
      TIA_WRITE(slot_, pushed_)                                                                    \
    }                                                                                              \
  }

#define PULL(bus)                                                                                  \
  {                                                                                                \
    unsigned slot_ = ++m->sp;                                                                      \
    if (slot_ & 0x80) {                                                                            \
      value = ram[slot_ & 0x7f];                                                                   \
    } else {                                                                                       \
      READ_CHIPS(slot_ & 0x7f, bus)                                                                         \
    }                                                                                              \
  }

/* Pulling first reads the stack's old top, and the byte stays on the bus. If the old top is a TIA
 * register, the opcode stays on the bus. */
#define PULL_FIRST(opcode) PULL(m->sp ? (opcode) : ram[0x7f])

/* ----------------------------------------------------------------------------- operand modes -- */

#define READ_DONE(op, bytes)                                                                       \
  ip += (bytes);                                                                                   \
  READ_##op(value)

#define CROSSES(low, index) (((unsigned)(low) + (index)) >> 8)

#define MODE_RIM(op) { cycle += 2; value = ip->operand; READ_DONE(op, 2) }
#define MODE_RCO(op) { cycle += 4; value = ip->operand; READ_DONE(op, 3) }
#define MODE_RRA(op) { cycle += 3; value = ram[ip->operand]; READ_DONE(op, 2) }
#define MODE_RTI(op) { cycle += 3; READ_CHIPS(ip->operand, ip->operand) READ_DONE(op, 2) }
#define MODE_RIN(op)                                                                               \
  {                                                                                                \
    cycle += 3;                                                                                    \
    value = tia_read(m, ip->operand, cycle, ip->low);                                              \
    READ_DONE(op, 2)                                                                               \
  }
#define MODE_RTM(op) { cycle += 4; value = timer_read(m, cycle); READ_DONE(op, 3) }
/* A loop that reads INTIM until it is zero: skips to the pass that ends it. Not with intervals below
 * 64 cycles, which could pass zero between two reads. */
#define MODE_RTW(op)                                                                               \
  {                                                                                                \
    if (m->timer_shift >= 6 && m->timer > 0) {                                                     \
      uint32_t zero_ = m->timer_set + (((uint32_t)m->timer - 1) << m->timer_shift);                \
      int32_t left_ = (int32_t)(zero_ - (cycle + 3));                                              \
      if (left_ > 0 && left_ < CYCLE_LIMIT - (int32_t)cycle) {                                     \
        cycle += ((uint32_t)left_ + ip->mask - 1) / ip->mask * ip->mask;                           \
      }                                                                                            \
    }                                                                                              \
    MODE_RTM(op)                                                                                   \
  }
#define MODE_RAB(op) { cycle += 4; BUS_READ(ip->operand, ip->operand >> 8) READ_DONE(op, 3) }
#define MODE_RZI(op, index)                                                                        \
  {                                                                                                \
    cycle += 4;                                                                                    \
    address = (ip->operand + (index)) & 0xff;                                                      \
    if (address & 0x80) {                                                                          \
      value = ram[address & 0x7f];                                                                 \
    } else {                                                                                       \
      READ_CHIPS(address, ip->operand)                                                               \
    }                                                                                              \
    READ_DONE(op, 2)                                                                               \
  }
#define MODE_RZX(op) MODE_RZI(op, x)
#define MODE_RZY(op) MODE_RZI(op, y)
#define MODE_RLI(op, index)                                                                        \
  {                                                                                                \
    cycle += 4 + CROSSES(ip->low, index);                                                          \
    value = FIXED_ROM[(ip->operand & 0xfff) + (index)];                                                \
    READ_DONE(op, 3)                                                                               \
  }
#define MODE_RLX(op) MODE_RLI(op, x)
#define MODE_RLY(op) MODE_RLI(op, y)
#define MODE_RAI(op, index)                                                                        \
  {                                                                                                \
    cycle += 4 + CROSSES(ip->low, index);                                                          \
    BUS_READ((ip->operand + (index)) & 0xffff, ip->operand >> 8)                                   \
    READ_DONE(op, 3)                                                                               \
  }
#define MODE_RAX(op) MODE_RAI(op, x)
#define MODE_RAY(op) MODE_RAI(op, y)

/* the pointer of (zp,X) and (zp),Y, which is in RAM in most programs */
#define POINTER(zp)                                                                                \
  {                                                                                                \
    unsigned zp_ = (zp) & 0xff;                                                                    \
    if (zp_ & 0x80) {                                                                              \
      address = ram[zp_ & 0x7f];                                                                   \
    } else {                                                                                       \
      READ_CHIPS(zp_, zp_)                                                                           \
      address = value;                                                                             \
    }                                                                                              \
    zp_ = (zp_ + 1) & 0xff;                                                                        \
    if (zp_ & 0x80) {                                                                              \
      value = ram[zp_ & 0x7f];                                                                     \
    } else {                                                                                       \
      READ_CHIPS(zp_, address)                                                                       \
    }                                                                                              \
    address |= value << 8;                                                                         \
  }
#define MODE_RIX(op)                                                                               \
  {                                                                                                \
    cycle += 6;                                                                                    \
    POINTER(ip->operand + x)                                                                       \
    BUS_READ(address, value)                                                                       \
    READ_DONE(op, 2)                                                                               \
  }
#define MODE_RIY(op)                                                                               \
  {                                                                                                \
    cycle += 5;                                                                                    \
    POINTER(ip->low)                                                                               \
    cycle += CROSSES(address & 0xff, y);                                                           \
    BUS_READ((address + y) & 0xffff, value)                                                        \
    READ_DONE(op, 2)                                                                               \
  }

#define MODE_RPY(op)                                                                               \
  {                                                                                                \
    address = ram[ip->operand] | (unsigned)ram[ip->operand + 1] << 8;                              \
    ALONE(op, address + y)                                                                         \
    cycle += 5 + CROSSES(address & 0xff, y);                                                       \
    value = address >> 8;                                                                          \
    BUS_READ((address + y) & 0xffff, value)                                                        \
    READ_DONE(op, 2)                                                                               \
  }

#define MODE_WRA(op) { cycle += 3; ram[ip->operand] = (uint8_t)(WRITE_##op); ip += 2; }
#define MODE_WTR(op)                                                                               \
  {                                                                                                \
    unsigned to_ = ip->operand, set_ = (WRITE_##op) & ip->mask;                                    \
    cycle += 3;                                                                                    \
    ip += 2;                                                                                       \
    SET_REGISTER(to_, set_)                                                                        \
  }
/* writing one player's graphics also updates the delayed copy of the other's */
#define WRITE_GRP(op, q, more)                                                                     \
  {                                                                                                \
    cycle += 3;                                                                                    \
    value = (WRITE_##op);                                                                          \
    *log = cycle << 16 | (unsigned)(TIA_GRP0 + (q)) << 8 | value;                                               \
    log += (m->written[TIA_GRP0 + (q)] != value) | (m->old_grp[1 - (q)] != m->written[TIA_GRP1 - (q)]) |   \
           (more);                                                                                 \
    m->written[TIA_GRP0 + (q)] = (uint8_t)value;                                                       \
    m->old_grp[1 - (q)] = m->written[TIA_GRP1 - (q)];                                                  \
    ip += 2;                                                                                       \
    if (cycle >= overrun) goto finish;                                                             \
  }
#define MODE_WG0(op) WRITE_GRP(op, 0, 0)
#define MODE_WG1(op)                                                                               \
  {                                                                                                \
    unsigned late_ = m->old_enabl != m->written[TIA_ENABL];                                             \
    m->old_enabl = m->written[TIA_ENABL];                                                               \
    WRITE_GRP(op, 1, late_)                                                                        \
  }
#define MODE_WTI(op)                                                                               \
  {                                                                                                \
    unsigned reg_ = ip->operand;                                                                   \
    cycle += 3;                                                                                    \
    ip += 2;                                                                                       \
    TIA_WRITE(reg_, WRITE_##op)                                                                    \
  }
#define MODE_WSY(op)                                                                               \
  {                                                                                                \
    cycle += 3;                                                                                    \
    ip += 2;                                                                                       \
    WAIT_FOR_LINE()                                                                                \
  }
#define MODE_WNO(op)                                                                               \
  {                                                                                                \
    cycle += 3;                                                                                    \
    ip += 2;                                                                                       \
    if (cycle >= overrun) goto finish;                                                             \
  }
#define WRITE_AT(op, cycles, bytes, where)                                                         \
  {                                                                                                \
    cycle += (cycles);                                                                             \
    address = (where);                                                                             \
    ip += (bytes);                                                                                 \
    BUS_WRITE(address, WRITE_##op)                                                                 \
  }
#define MODE_WAB(op) WRITE_AT(op, 4, 3, ip->operand)
#define MODE_WZX(op) WRITE_AT(op, 4, 2, (ip->operand + x) & 0xff)
#define MODE_WZY(op) WRITE_AT(op, 4, 2, (ip->operand + y) & 0xff)
#define MODE_WAX(op) WRITE_AT(op, 5, 3, (ip->operand + x) & 0xffff)
#define MODE_WAY(op) WRITE_AT(op, 5, 3, (ip->operand + y) & 0xffff)
#define MODE_WIX(op)                                                                               \
  {                                                                                                \
    cycle += 6;                                                                                    \
    POINTER(ip->operand + x)                                                                       \
    ip += 2;                                                                                       \
    BUS_WRITE(address, WRITE_##op)                                                                 \
  }
#define MODE_WIY(op)                                                                               \
  {                                                                                                \
    cycle += 6;                                                                                    \
    POINTER(ip->operand)                                                                           \
    ip += 2;                                                                                       \
    BUS_WRITE((address + y) & 0xffff, WRITE_##op)                                                  \
  }

#define MODE_MRA(op)                                                                               \
  {                                                                                                \
    cycle += 5;                                                                                    \
    value = ram[ip->operand];                                                                      \
    MODIFY_##op(value) ram[ip->operand] = (uint8_t)value;                                          \
    ip += 2;                                                                                       \
  }
#define MODIFY_AT(op, cycles, bytes, where, bus)                                                   \
  {                                                                                                \
    cycle += (cycles);                                                                             \
    address = (where);                                                                             \
    BUS_READ(address, bus)                                                                         \
    ip += (bytes);                                                                                 \
    MODIFY_##op(value) BUS_WRITE(address, value)                                                   \
  }
/* also for zero page operands in the TIA (mask 0), which are shorter by a byte and a cycle */
#define MODE_MAB(op)                                                                               \
  MODIFY_AT(op, 5 + ip->mask, 2 + ip->mask, ip->operand, ip->mask ? ip->operand >> 8 : ip->operand)
#define MODE_MZX(op) MODIFY_AT(op, 6, 2, (ip->operand + x) & 0xff, ip->operand)
#define MODE_MAX(op) MODIFY_AT(op, 7, 3, (ip->operand + x) & 0xffff, ip->operand >> 8)
#define MODE_MAY(op) MODIFY_AT(op, 7, 3, (ip->operand + y) & 0xffff, ip->operand >> 8)
#define MODE_MIX(op)                                                                               \
  {                                                                                                \
    POINTER(ip->operand + x)                                                                       \
    MODIFY_AT(op, 8, 2, address, value)                                                     \
  }
#define MODE_MIY(op)                                                                               \
  {                                                                                                \
    POINTER(ip->operand)                                                                           \
    MODIFY_AT(op, 8, 2, (address + y) & 0xffff, value)                                      \
  }

/* ---------------------------------------------------------------------------------- branches -- */

#define BRANCH(op, extra)                                                                          \
  {                                                                                                \
    if (TEST_##op) {                                                                               \
      cycle += 3 + (extra);                                                                        \
      ip += (int16_t)ip->operand;                                                                  \
      if (cycle > CYCLE_LIMIT) goto too_long;                                                       \
      NEXT;                                                                                        \
    }                                                                                              \
    cycle += 2;                                                                                    \
    ip += 2;                                                                                       \
  }
#define MODE_BNR(op) BRANCH(op, 0)
#define MODE_BFR(op) BRANCH(op, 1)
#define MODE_BAB(op)                                                                               \
  {                                                                                                \
    cycle += 2;                                                                                    \
    if (TEST_##op) {                                                                               \
      unsigned after_ = PC_OF(ip) + 2;                                                             \
      cycle += 1 + (((after_ ^ ip->operand) & 0xff00) != 0);                                       \
      JUMP(ip->operand)                                                                            \
    }                                                                                              \
    ip += 2;                                                                                       \
  }
#define NEGATIVE (nz & 0x8080)
#define ZERO (!(nz & 0xff))
#define TEST_BPL !NEGATIVE
#define TEST_BMI NEGATIVE
#define TEST_BVC !m->overflow
#define TEST_BVS m->overflow
#define TEST_BCC !m->carry
#define TEST_BCS m->carry
#define TEST_BNE !ZERO
#define TEST_BEQ ZERO

/* -------------------------------------------------------------------------------- operations -- */

#define READ_LDA(v) nz = a = (v);
#define READ_LDX(v) nz = x = (v);
#define READ_LDY(v) nz = y = (v);
#define READ_LAX(v) nz = a = x = (v);
#define READ_NOP(v) (void)(v);
#define READ_AND(v) nz = a &= (v);
#define READ_ORA(v) nz = a |= (v);
#define READ_EOR(v) nz = a ^= (v);
#define READ_BIT(v)                                                                                \
  {                                                                                                \
    unsigned v_ = (v);                                                                             \
    nz = (a & v_) | (v_ & 0x80) << 8;                                                              \
    m->overflow = v_ >> 6 & 1;                                                                     \
  }
#define COMPARE(r, v)                                                                              \
  {                                                                                                \
    unsigned v_ = (v);                                                                             \
    m->carry = (r) >= v_;                                                                             \
    nz = ((r) - v_) & 0xff;                                                                        \
  }
#define READ_CMP(v) COMPARE(a, v)
#define READ_CPX(v) COMPARE(x, v)
#define READ_CPY(v) COMPARE(y, v)
#define READ_ANC(v) { nz = a &= (v); m->carry = a >> 7; }
#define READ_ALR(v) { a &= (v); m->carry = a & 1; nz = a >>= 1; }
#define READ_ARR(v)                                                                                \
  {                                                                                                \
    a = ((a & (v)) | m->carry << 8) >> 1;                                                             \
    nz = a;                                                                                        \
    m->carry = a >> 6 & 1;                                                                            \
    m->overflow = (a >> 6 ^ a >> 5) & 1;                                                           \
  }
#define READ_SBX(v)                                                                                \
  {                                                                                                \
    unsigned v_ = (v), both_ = a & x;                                                              \
    m->carry = both_ >= v_;                                                                           \
    nz = x = (both_ - v_) & 0xff;                                                                  \
  }
#define FROM_BCD(v) (((v) >> 4) * 10 + ((v)&15))
#define TO_BCD(v) (((v) / 10 % 10) << 4 | (v) % 10)
#define READ_ADC(v)                                                                                \
  {                                                                                                \
    unsigned v_ = (v), sum_ = a + v_ + m->carry;                                                      \
    if (!m->decimal) {                                                                             \
      m->overflow = ((a ^ sum_) & (v_ ^ sum_)) >> 7 & 1;                                           \
      m->carry = sum_ >> 8;                                                                           \
      nz = a = sum_ & 0xff;                                                                        \
    } else {                                                                                       \
      unsigned old_ = a;                                                                           \
      sum_ = FROM_BCD(a) + FROM_BCD(v_) + m->carry;                                                   \
      m->carry = sum_ > 99;                                                                           \
      sum_ &= 0xff;                                                                                   \
      nz = a = TO_BCD(sum_);                                                                       \
      m->overflow = ((old_ ^ a) & (v_ ^ a)) >> 7 & 1;                                              \
    }                                                                                              \
  }
/* With digits above 9 the difference can fall below -100. ALE then reads its low byte as BCD. */
#define READ_SBC(v)                                                                                \
  {                                                                                                \
    unsigned w_ = (v);                                                                             \
    if (!m->decimal) {                                                                             \
      READ_ADC(w_ ^ 0xff)                                                                          \
    } else {                                                                                       \
      unsigned old_ = a, borrow_ = !m->carry;                                                      \
      int less_ = (int)FROM_BCD(a) - (int)FROM_BCD(w_) - (int)borrow_;                             \
      if (less_ < 0) less_ += 100;                                                                 \
      unsigned byte_ = (unsigned)less_ & 0xff;                                                     \
      nz = a = less_ < 0 ? FROM_BCD(byte_) : TO_BCD(byte_);                                        \
      m->overflow = ((old_ ^ a) & (w_ ^ a)) >> 7 & 1;                                              \
      m->carry = old_ >= w_ + borrow_;                                                             \
    }                                                                                              \
  }

#define WRITE_STA a
#define WRITE_STX x
#define WRITE_STY y
#define WRITE_SAX (a & x)

#define MODIFY_ASL(v) { m->carry = (v) >> 7; nz = (v) = (v) << 1 & 0xff; }
#define MODIFY_LSR(v) { m->carry = (v)&1; nz = (v) = (v) >> 1; }
#define MODIFY_ROL(v) { unsigned in_ = m->carry; m->carry = (v) >> 7; nz = (v) = ((v) << 1 & 0xff) | in_; }
#define MODIFY_ROR(v) { unsigned in_ = m->carry << 7; m->carry = (v)&1; nz = (v) = (v) >> 1 | in_; }
#define MODIFY_INC(v) nz = (v) = ((v) + 1) & 0xff;
#define MODIFY_DEC(v) nz = (v) = ((v)-1) & 0xff;
#define MODIFY_SLO(v) { MODIFY_ASL(v) READ_ORA(v) }
#define MODIFY_RLA(v) { MODIFY_ROL(v) READ_AND(v) }
#define MODIFY_SRE(v) { MODIFY_LSR(v) READ_EOR(v) }
#define MODIFY_RRA(v) { MODIFY_ROR(v) READ_ADC(v) }
#define MODIFY_DCP(v) { MODIFY_DEC(v) READ_CMP(v) }
#define MODIFY_ISB(v) { MODIFY_INC(v) READ_SBC(v) }

#define MODE_IMP(op) { cycle += 2; ip += 1; DO_##op }
#define DO_ASL MODIFY_ASL(a)
#define DO_LSR MODIFY_LSR(a)
#define DO_ROL MODIFY_ROL(a)
#define DO_ROR MODIFY_ROR(a)
#define DO_TAX nz = x = a;
#define DO_TXA nz = a = x;
#define DO_TAY nz = y = a;
#define DO_TYA nz = a = y;
#define DO_TSX nz = x = m->sp;
#define DO_TXS m->sp = (uint8_t)x;
#define DO_INX nz = x = (x + 1) & 0xff;
#define DO_INY nz = y = (y + 1) & 0xff;
#define DO_DEX nz = x = (x - 1) & 0xff;
#define DO_DEY nz = y = (y - 1) & 0xff;
#define DO_CLC m->carry = 0;
#define DO_SEC m->carry = 1;
#define DO_CLD m->decimal = 0;
#define DO_SED m->decimal = 1;
#define DO_CLI m->interrupt = 0;
#define DO_SEI m->interrupt = 1;
#define DO_CLV m->overflow = 0;
#define DO_NOP
/* the processor hangs for good */
#define DO_JAM { ip -= 1; cycle = CYCLE_LIMIT + 1; goto finish; }
/* the instruction was not decoded in advance */
#define DO_OUT                                                                                     \
  {                                                                                                \
    ip -= 1;                                                                                       \
    cycle -= 2;                                                                                    \
    pc = PC_OF(ip) & 0xffff;                                                                       \
    goto fetch_outside;                                                                            \
  }

/* the translation of the program goes on here */
#define DO_ENT                                                                                     \
  {                                                                                                \
    ip -= 1;                                                                                       \
    cycle -= 2;                                                                                    \
    goto enter_translation;                                                                        \
  }

/* ------------------------------------------------------------------------------ stack, jumps -- */

#define FLAGS                                                                                      \
  (m->carry | (unsigned)(ZERO ? 2 : 0) | (unsigned)m->interrupt << 2 | (unsigned)m->decimal << 3 |    \
   0x30 | (unsigned)m->overflow << 6 | (NEGATIVE ? 0x80u : 0u))
#define SET_FLAGS(v)                                                                               \
  {                                                                                                \
    unsigned v_ = (v);                                                                             \
    m->carry = v_ & 1;                                                                                \
    nz = (~v_ >> 1 & 1) | (v_ & 0x80) << 8;                                                        \
    m->interrupt = v_ >> 2 & 1;                                                                    \
    m->decimal = v_ >> 3 & 1;                                                                      \
    m->overflow = v_ >> 6 & 1;                                                                     \
  }
#define MODE_STK(op) { DO_##op }
#define DO_PHA { cycle += 3; ip += 1; PUSH(a) }
#define DO_PHP { cycle += 3; ip += 1; PUSH(FLAGS) }
#define DO_PLA { cycle += 4; ip += 1; PULL_FIRST(0x68) nz = a = value; }
#define DO_PLP { cycle += 4; ip += 1; PULL_FIRST(0x28) SET_FLAGS(value) }
#define DO_JSR                                                                                     \
  {                                                                                                \
    unsigned last_ = PC_OF(ip) + 2, to_ = ip->operand;                                             \
    cycle += 6;                                                                                    \
    PUSH(last_ >> 8) PUSH(last_ & 0xff) JUMP(to_)                                                  \
  }
#define DO_RTS                                                                                     \
  {                                                                                                \
    cycle += 6;                                                                                    \
    PULL_FIRST(0x60)                                                                               \
    address = value;                                                                               \
    PULL(address) JUMP((address | value << 8) + 1)                                                       \
  }
#define DO_RTI                                                                                     \
  {                                                                                                \
    cycle += 6;                                                                                    \
    PULL_FIRST(0x40) SET_FLAGS(value) PULL(value)                                                         \
    address = value;                                                                               \
    PULL(address) JUMP(address | value << 8)                                                             \
  }
#define DO_BRK                                                                                     \
  {                                                                                                \
    unsigned after_ = PC_OF(ip) + 2;                                                               \
    cycle += 7;                                                                                    \
    PUSH(after_ >> 8) PUSH(after_ & 0xff) PUSH(FLAGS)                                              \
    m->interrupt = 1;                                                                              \
    BUS_READ(0xfffe, 0xff)                                                                         \
    address = value;                                                                               \
    BUS_READ(0xffff, 0xff)                                                                         \
    JUMP(address | value << 8)                                                                     \
  }
#define MODE_ABS(op)                                                                               \
  {                                                                                                \
    cycle += 3;                                                                                    \
    STAY(ip->mask)                                                                                 \
    ip += (int16_t)ip->operand;                                                                    \
    if (cycle > CYCLE_LIMIT) goto too_long;                                                         \
  }
#define MODE_FAR(op) { cycle += 3; JUMP(ip->operand) }
#define MODE_IND(op)                                                                               \
  {                                                                                                \
    unsigned at_ip_ = ip->operand;                                                                 \
    cycle += 5;                                                                                    \
    BUS_READ(at_ip_, at_ip_ >> 8)                                                                  \
    address = value;                                                                               \
    BUS_READ((at_ip_ & 0xff00) | ((at_ip_ + 1) & 0xff), at_ip_ >> 8)                               \
    JUMP(address | value << 8)                                                                     \
  }
// clang-format on
