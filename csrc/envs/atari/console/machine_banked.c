/* Machine banked: the processor for cartridges that show their program in parts (banks). */
#define PP_PROCESSOR pp_processor_banked

/* A slot is a kilobyte of addresses; 8 to 11 are the slots at addresses with A13 high, for mappers
 * that read A13. `base` is the address of the slot that was entered last. */
#define CARTRIDGE_VIEW                             \
  const pp_instruction *code[12], *program = NULL; \
  const uint8_t *data[12];                         \
  bool switched = false;                           \
  show_banks(&m->banks, cart, code, data);
#define SLOT(at) ((at) >> 10 & 11)
#define PROGRAM program
#define ENTER(pc)                  \
  {                                \
    base = (pc) & 0xfc00;          \
    program = code[SLOT(pc)];      \
    ip = program + ((pc) & 0x3ff); \
  }
#define STAY(high) base = (base & 0xfff) | (unsigned)(high) << 8;
#define FIXED_ROM data[0]
#define IMAGE(number)                                                                     \
  {                                                                                       \
    unsigned image_ = cart->mapper == PP_MAPPER_E0 ? 0 : (number) / (PP_BANK_BYTES + 3u); \
    exec.rom = cart->rom + image_ * PP_BANK_BYTES;                                        \
    exec.data = data;                                                                     \
  }

#define LOOK_AT_BANKS                                         \
  if (exec.switched) show_banks(&m->banks, cart, code, data); \
  exec.switched = 0;

/* addresses from xFC0 on are special, and some from x000 on (cart->special of them in all) */
#define IS_SPECIAL(at) ((((at) + 0x40) & 0xfff) < cart->special)
#define READ_CARTRIDGE(at, bus)                                      \
  {                                                                  \
    unsigned in_ = (at);                                             \
    if (IS_SPECIAL(in_)) {                                           \
      value = pp_banks_read(&m->banks, cart, in_, cycle, &switched); \
      GO_ON()                                                        \
    } else {                                                         \
      value = data[SLOT(in_)][in_ & 0x3ff];                          \
    }                                                                \
  }
#define WRITE_CARTRIDGE(at, byte)                                       \
  {                                                                     \
    unsigned in_ = (at);                                                \
    if (IS_SPECIAL(in_)) {                                              \
      pp_banks_write(&m->banks, cart, in_, (uint8_t)(byte), &switched); \
      GO_ON()                                                           \
    }                                                                   \
  }

/* if banks were switched, continues at the same address in what the slots show now */
#define GO_ON()                                           \
  {                                                       \
    if (switched) {                                       \
      bool outside_ = (uintptr_t)(ip - out.code) < 4u;    \
      unsigned next_ = outside_ ? 0 : PC_OF(ip) & 0xffff; \
      switched = false;                                   \
      show_banks(&m->banks, cart, code, data);            \
      if (!outside_) ENTER(next_)                         \
    }                                                     \
  }

/* A sequence would continue in the bank from which it was decoded. So a read that may switch banks
 * runs as a handler of its own. */
#define ALONE(op, at) \
  if (IS_SPECIAL(at)) goto H_##op##_RIY;

#include "machine.h"

static void show_banks(const pp_banks *banks, const pp_cartridge *cart,
                       const pp_instruction *code[12], const uint8_t *data[12]);

#include "processor.inl"

static void show_banks(const pp_banks *b, const pp_cartridge *cart, const pp_instruction *code[12],
                       const uint8_t *data[12]) {
  for (unsigned slot = 0; slot < 12; slot += slot == 3 ? 5 : 1) {
    unsigned within = slot & 3;
    int image = pp_mapper_image(cart, b, slot);
    if (cart->mapper == PP_MAPPER_E0) {
      code[slot] = pp_cartridge_program(cart, image);
      data[slot] = cart->rom + b->slice[within] * PP_SLOT_BYTES;
    } else {
      code[slot] = pp_cartridge_program(cart, image) + within * PP_SLOT_BYTES;
      data[slot] = cart->rom + image * PP_BANK_BYTES + within * PP_SLOT_BYTES;
    }
  }
}
