/* Processor: the processor, an interpreter of decoded instructions.
 *
 * Included by machine.c and machine_banked.c, once each, because its function depends on whether
 * the cartridge has banks. Such a file first defines PP_PROCESSOR, the function's name, and these
 * macros, which run as statements inside the function and may use all its local variables (see
 * operation.inl):
 *   CARTRIDGE_VIEW             declares local variables for the other macros
 *   PROGRAM                    the instructions from the address `base` on
 *   ENTER(pc)                  sets ip and base to continue at an address of the cartridge
 *   STAY(high)                 sets base after a jump within the image to this high nibble
 *   READ_CARTRIDGE(at, bus)    sets value to the byte at an address with A12 high; may change ip
 *   WRITE_CARTRIDGE(at, byte)  writes there; may change ip
 *   FIXED_ROM                  bytes for indexed reads that cannot leave the program's image
 *   IMAGE(number)              sets exec.rom and exec.data for the image of this number
 *   LOOK_AT_BANKS              shows the banks to which the translation has switched
 *   ALONE(op, at)              leaves a sequence if reading this address may switch banks */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "machine.h"
#include "riot.inl"
#include "translation/translation.h"

/* the operations use the chips above */
#include "operation.inl"

/* After CYCLE_LIMIT cycles a frame may be near ALE's limit of 25000 instructions, each of which
 * takes two cycles or more. Such a frame is run again from its start, and its instructions are
 * counted. */
enum { CYCLE_LIMIT = 49900, INSTRUCTION_LIMIT = 25000 };

/* The log of a frame's writes is on the stack, and nobody checks its end, neither here nor in
 * machine code. It is long enough: the frame ends at the first write past its last line, or a block
 * of machine code later, and no instruction writes more often than BRK, which pushes three bytes in
 * seven cycles, onto the television chip if the stack pointer leads there. */
enum { LOG_ENTRIES = 12288 };
_Static_assert(((PP_LAST_LINE_PAL + 1) * PP_LINE_CYCLES + PP_TRANSLATION_CYCLES) * 3 / 7 + 4 <=
                   LOG_ENTRIES,
               "the log has room for the writes of the longest frame");

/* where the program runs outside the cartridge: one instruction, fetched and decoded when it
 * runs */
typedef struct outside {
  pp_instruction code[4];
  uint16_t pc;
} outside;

/* Instructions in RAM, by the address of their first byte, as they were when they ran last in this
 * frame: programs that run in RAM repeat a few. */
typedef struct decoded {
  uint64_t bytes; /* address, a mark that there is one, and the three bytes; 0: none */
  pp_instruction code;
} decoded;

/* pp_exec's functions */
static uint32_t exec_read(pp_exec *exec, uint32_t address, uint32_t bus) {
  pp_machine *m = &exec->machine;
  if ((address & 0x280) == 0x80) return m->ram[address & 0x7f];
  unsigned value =
      read_chips(m, exec->cart, exec->picture, address, bus, m->cycle, exec->log_start, exec->log);
  if (value & LOG_DONE) exec->log = exec->log_start;
  return value & 0xff;
}

static void exec_write(pp_exec *exec, uint32_t address, uint32_t value) {
  pp_machine *m = &exec->machine;
  exec->log = tia_write(m, exec->log, address & 63, (uint8_t)value, m->cycle);
}

/* Runs until the frame ends, and returns null. With a null machine, or for a frame that takes too
 * long for a cartridge that does not count, it changes nothing and returns the handlers'
 * addresses. */
const void *const *PP_PROCESSOR(pp_machine *machine, const pp_cartridge *cart,
                                const pp_picture *p) {
#define HANDLER_ADDRESS(op, mode) &&H_##op##_##mode,
#define PAIR_ADDRESS(a, am, b, bm) &&H_##a##_##am##_##b##_##bm,
#define TRIPLE_ADDRESS(a, am, b, bm, c, cm) &&H_##a##_##am##_##b##_##bm##_##c##_##cm,
#define QUADRUPLE_ADDRESS(a, am, b, bm, c, cm, d, dm) \
  &&H_##a##_##am##_##b##_##bm##_##c##_##cm##_##d##_##dm,
  static const void *const addresses[PP_HANDLER_COUNT] = {PP_HANDLERS(HANDLER_ADDRESS) PP_PAIRS(
      PAIR_ADDRESS) PP_TRIPLES(TRIPLE_ADDRESS) PP_QUADRUPLES(QUADRUPLE_ADDRESS)};
  if (!machine) return addresses;

  // the address of a local copy is constant, which frees a register for the processor's state
  uint32_t log_start[LOG_ENTRIES];
  pp_exec exec = {.machine = *machine,
                  .read = exec_read,
                  .write = exec_write,
                  .cart = cart,
                  .picture = p,
                  .log_start = log_start};
  pp_machine *const m = &exec.machine;
  uint32_t *log = log_start;
  const pp_instruction *ip;
  uint8_t *const ram = m->ram;
  uint32_t cycle = m->cycle, nz = m->nz, a = m->a, x = m->x, y = m->y;
  const uint32_t overrun = (m->last_line + 1u) * PP_LINE_CYCLES;
  const uint32_t longest = overrun < CYCLE_LIMIT ? overrun : CYCLE_LIMIT;
  exec.limit = longest - PP_TRANSLATION_CYCLES;
  m->ended = 0;
  m->partial = 0;
  unsigned base = 0, pc = m->pc, address, value;
  int counted = 0;
  bool ran_in_ram = false;
  decoded in_ram[sizeof(m->ram)];
  outside out;
  for (int i = 1; i < 4; i++) {
    out.code[i] = (pp_instruction){addresses[PP_OUT_IMP], 0, 0, 0};
  }
  CARTRIDGE_VIEW

  goto fetch_outside;

  PP_HANDLERS(DEFINE_HANDLER)
  PP_PAIRS(DEFINE_PAIR)
  PP_TRIPLES(DEFINE_TRIPLE)
  PP_QUADRUPLES(DEFINE_QUADRUPLE)

  // Runs the translation from this instruction to the next one that it cannot run, which is then
  // run alone.
enter_translation:
  {
    const pp_translation *t_ = cart->translation;
    if (cycle < exec.limit) {
      m->cycle = cycle;
      m->nz = (uint16_t)nz;
      m->a = (uint8_t)a;
      m->x = (uint8_t)x;
      m->y = (uint8_t)y;
      exec.log = log;
      exec.home = base & 0xf000;
      uint32_t number_ = (uint32_t)(ip - cart->program);
      IMAGE(number_)
      pc = (t_->enter(&exec, t_->code + t_->entry[number_]) + exec.home) & 0xffff;
      cycle = m->cycle;
      nz = m->nz;
      a = m->a;
      x = m->x;
      y = m->y;
      log = exec.log;
      LOOK_AT_BANKS
      if (!(pc & 0x1000)) goto fetch_outside;
      ENTER(pc)
    }
    goto *(void *)cart->handler[t_->single[ip - cart->program]];
  }

fetch_outside:
  {
    if (pc & 0x1000) {
      ENTER(pc)
      if (ip->handler != cart->handler[PP_OUT_IMP]) NEXT;
    }
    out.pc = (uint16_t)pc;
    ip = out.code;
    if (!cart->counts && cycle > CYCLE_LIMIT) return addresses;
    if (cart->counts) {
      if (counted++ == INSTRUCTION_LIMIT) {
        m->partial = 1;
        goto finish;
      }
      // from here on at most one write is logged, and it ends the frame
      if (cycle > CYCLE_LIMIT && log > log_start) {
        cart->draw(&m->tia, p, log_start, log, 0, false);
        log = log_start;
      }
    }
    decoded *known_ = NULL;
    uint64_t key_ = 0;
    unsigned in_page_ = pc & 0x7f;
    if ((pc & 0x1280) == 0x80 && in_page_ + 2 < sizeof(m->ram) && !cart->counts) {
      if (!ran_in_ram) memset(in_ram, 0, sizeof(in_ram));
      ran_in_ram = true;
      known_ = &in_ram[in_page_];
      key_ = (uint64_t)pc << 32 | 1u << 24 | (unsigned)ram[in_page_] << 16 |
             (unsigned)ram[in_page_ + 1] << 8 | ram[in_page_ + 2];
      if (known_->bytes == key_) {
        out.code[0] = known_->code;
        NEXT;
      }
    }
    uint8_t bytes[3] = {0, 0, 0};
    for (unsigned i = 0; i < 3; i++) {
      // fetch only what the instruction has, as reading some registers has side effects
      if (i > 0 && i >= pp_instruction_length(bytes[0])) break;
      BUS_READ((pc + i) & 0xffff, pc >> 8);
      bytes[i] = (uint8_t)value;
    }
    if (cart->counts && (bytes[0] & 0xf4) == 0x84) {
      // STA, STX or STY; even a write that changes nothing uses the chip
      bool is_long = bytes[0] & 8;
      unsigned to = bytes[1] | (is_long ? bytes[2] << 8 : 0);
      if (!(to & 0x1080)) m->used = cycle + 3 + is_long;
    }
    const pp_code_image nowhere = {.rom = NULL, .home = (uint16_t)pc};
    pp_decoded d = pp_instruction_decode(bytes, (uint16_t)pc, &nowhere);
    out.code[0] = (pp_instruction){cart->handler[d.handler], d.operand, d.mask, d.low};
    if (known_) *known_ = (decoded){key_, out.code[0]};
    NEXT;
  }

too_long:
  if (!cart->counts) return addresses;
  NEXT;

finish:
  // a log entry has room for 65535 cycles; all lines past the screen are alike
  if (cycle > CYCLE_LIMIT && log > log_start) {
    uint32_t past = overrun + 2 * PP_LINE_CYCLES + cycle % PP_LINE_CYCLES;
    *log_start = past << 16 | (*log_start & 0xffff);
  }
  m->pc = (uint16_t)PC_OF(ip);
  m->cycle = cycle;
  m->nz = (uint16_t)nz;
  m->a = (uint8_t)a;
  m->x = (uint8_t)x;
  m->y = (uint8_t)y;
  // of a frame that has not ended, ALE shows only what precedes the program's last use of the chip
  cart->draw(&m->tia, p, log_start, log, m->partial ? m->used : cycle, true);
  *machine = exec.machine;
  return NULL;
}
