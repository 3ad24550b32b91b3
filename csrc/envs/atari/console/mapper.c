/* Mapper: detects a ROM's mapper, lists its banks, and switches them. */
#include "mapper.h"

#include <string.h>

#include "cartridge.h"

enum { BANK_BYTES = 4096, ROM_LINE = 0x1000, FE_LINE = 0x2000 };

/* --------------------------------------------------------------------------------- detection -- */

/* returns whether programs use this opcode to access hot spots: a load, store, comparison, BIT or
 * a NOP that reads, with an absolute address */
static bool takes_address(uint8_t opcode) {
  static const uint8_t opcodes[] = {0x0c, 0x2c, 0x8c, 0x8d, 0x8e, 0xac,
                                    0xad, 0xae, 0xcc, 0xcd, 0xec};
  return memchr(opcodes, opcode, sizeof(opcodes)) != NULL;
}

/* counts instructions that seem to have a cartridge address in first..last */
static int count_uses(const uint8_t *rom, size_t size, unsigned first, unsigned last) {
  int count = 0;
  for (size_t i = 0; i + 2 < size; i++) {
    unsigned at = (unsigned)(rom[i + 1] | rom[i + 2] << 8);
    if (!takes_address(rom[i]) || !(at & ROM_LINE)) continue;
    count += (at & 0xfff) >= first && (at & 0xfff) <= last;
  }
  return count;
}

/* the ROM under a cartridge's RAM is never visible, and dumps hold the same bytes twice there */
static bool leaves_room_for_ram(const uint8_t *rom, size_t size) {
  for (size_t bank = 0; bank < size; bank += BANK_BYTES) {
    if (memcmp(rom + bank, rom + bank + PP_MAPPER_RAM, PP_MAPPER_RAM) != 0) return false;
  }
  return true;
}

static int detect_8k(const uint8_t *rom) {
  int f8 = count_uses(rom, 2 * BANK_BYTES, 0xff8, 0xff9);
  int e0 = count_uses(rom, 2 * BANK_BYTES, 0xfe0, 0xff7);
  if (e0 >= 5 && e0 > f8) return PP_MAPPER_E0;
  // banks without hot spots, whose reset vectors are at the two addresses that FE gives them
  bool high = (rom[0x0ffd] & 0xf0) == 0xf0, low = (rom[0x1ffd] & 0xf0) == 0xd0;
  return f8 < 2 && high && low ? PP_MAPPER_FE : PP_MAPPER_F8;
}

int pp_mapper_detect(const uint8_t *rom, size_t size, bool *has_ram) {
  *has_ram = false;
  if (size == 2048 || size == BANK_BYTES) return PP_MAPPER_NONE;
  // 2 KB of graphics, and in most dumps the random number generator's sequence
  if (size >= 2 * BANK_BYTES + PP_DPC_BYTES && size <= 2 * BANK_BYTES + PP_DPC_BYTES + 256) {
    return PP_MAPPER_DPC;
  }
  if (size != 2 * BANK_BYTES && size != 4 * BANK_BYTES) return -1;
  *has_ram = leaves_room_for_ram(rom, size);
  return size == 4 * BANK_BYTES ? PP_MAPPER_F6 : detect_8k(rom);
}

/* ------------------------------------------------------------------------------------ layout -- */

static int list_banks(const pp_cartridge *c, pp_code_image *images) {
  static const uint16_t hot[] = {[PP_MAPPER_NONE] = 0x1000,
                                 [PP_MAPPER_F8] = 0xff8,
                                 [PP_MAPPER_F6] = 0xff6,
                                 [PP_MAPPER_FE] = 0x1000,
                                 [PP_MAPPER_DPC] = 0xfc0};
  int count = c->mapper == PP_MAPPER_NONE ? 1 : c->mapper == PP_MAPPER_F6 ? 4 : 2;
  for (int i = 0; i < count; i++) {
    images[i] = (pp_code_image){
        .rom = c->rom + i * BANK_BYTES, .home = 0xf000, .size = BANK_BYTES, .high = hot[c->mapper]};
    if (c->has_ram) images[i].low = 2 * PP_MAPPER_RAM;
    if (c->mapper == PP_MAPPER_DPC) images[i].low = 0x80;
    if (c->mapper == PP_MAPPER_FE) {
      images[i].select = FE_LINE;
      if (i == 1) images[i].home -= FE_LINE;
    }
  }
  return count;
}

int pp_mapper_images(const pp_cartridge *c, pp_code_image images[PP_MAPPER_IMAGES]) {
  if (c->mapper != PP_MAPPER_E0) return list_banks(c, images);
  for (unsigned slot = 0; slot < PP_SLOTS; slot++) {
    for (unsigned slice = 0; slice < 8; slice++) {
      images[8 * slot + slice] = (pp_code_image){.rom = c->rom + slice * PP_SLOT_BYTES,
                                                 .home = (uint16_t)(0xf000 + slot * PP_SLOT_BYTES),
                                                 .size = PP_SLOT_BYTES,
                                                 .select = 0xc00,
                                                 .high = 0xfe0};
    }
  }
  return PP_MAPPER_IMAGES;
}

int pp_mapper_image(const pp_cartridge *c, const pp_banks *b, unsigned slot) {
  if (c->mapper == PP_MAPPER_E0) return (int)(8 * (slot & 3) + b->slice[slot & 3]);
  if (c->mapper == PP_MAPPER_FE) return slot & 8 ? 0 : 1;
  return b->slice[0] / 4;
}

/* --------------------------------------------------------------------------------- switching -- */

static void show_bank(pp_banks *b, unsigned bank) {
  for (unsigned slot = 0; slot < PP_SLOTS; slot++) b->slice[slot] = (uint8_t)(4 * bank + slot);
}

void pp_banks_reset(pp_banks *b, const pp_cartridge *c) {
  static const uint8_t e0[PP_SLOTS] = {4, 5, 6, 7};
  bool last = c->mapper == PP_MAPPER_F8 || c->mapper == PP_MAPPER_DPC;
  show_bank(b, last ? 1 : 0);
  if (c->mapper == PP_MAPPER_E0) memcpy(b->slice, e0, sizeof(e0));
}

uint16_t pp_banks_vector(const pp_banks *b, const pp_cartridge *c) {
  const uint8_t *last = c->rom + b->slice[PP_SLOTS - 1] * PP_SLOT_BYTES;
  return (uint16_t)(last[0x3fc] | last[0x3fd] << 8);
}

/* returns the bank of 4 KB that a hot spot shows; negative: this is none */
static int bank_of(const pp_cartridge *c, unsigned offset) {
  const bool two = c->mapper == PP_MAPPER_F8 || c->mapper == PP_MAPPER_DPC;
  const unsigned first = two ? 0xff8 : 0xff6;
  if (!two && c->mapper != PP_MAPPER_F6) return -1;
  return offset >= first && offset <= 0xff9 ? (int)(offset - first) : -1;
}

int pp_mapper_bank(const pp_cartridge *c, unsigned address) {
  // each access to DPC also changes its random number
  if (!(address & 0x1000) || c->mapper == PP_MAPPER_DPC) return -1;
  return bank_of(c, address & 0xfff);
}

static bool touch_hot_spot(pp_banks *b, const pp_cartridge *c, unsigned offset) {
  if (c->mapper == PP_MAPPER_E0) {
    if (offset < 0xfe0 || offset > 0xff7) return false;
    b->slice[(offset - 0xfe0) >> 3] = offset & 7;
    return true;
  }
  const int bank = bank_of(c, offset);
  if (bank >= 0) show_bank(b, (unsigned)bank);
  return bank >= 0;
}

uint8_t pp_banks_read(pp_banks *b, const pp_cartridge *c, unsigned address, uint32_t cycle,
                      bool *switched) {
  unsigned offset = address & 0xfff;
  if (c->mapper == PP_MAPPER_DPC) pp_dpc_shuffle(&b->dpc);
  if (c->mapper == PP_MAPPER_DPC && offset < 0x40) {
    return pp_dpc_read(&b->dpc, c->rom + 2 * BANK_BYTES, offset, cycle);
  }
  if (c->has_ram && offset >= PP_MAPPER_RAM && offset < 2 * PP_MAPPER_RAM) {
    return b->ram[offset - PP_MAPPER_RAM];
  }
  if (touch_hot_spot(b, c, offset)) *switched = true;
  return c->rom[b->slice[offset >> 10] * PP_SLOT_BYTES + (offset & (PP_SLOT_BYTES - 1))];
}

void pp_banks_write(pp_banks *b, const pp_cartridge *c, unsigned address, uint8_t value,
                    bool *switched) {
  unsigned offset = address & 0xfff;
  if (c->mapper == PP_MAPPER_DPC) pp_dpc_shuffle(&b->dpc);
  if (c->mapper == PP_MAPPER_DPC && offset >= 0x40 && offset < 0x80) {
    pp_dpc_write(&b->dpc, offset, value);
    return;
  }
  if (c->has_ram && offset < PP_MAPPER_RAM) {
    b->ram[offset] = value;
    return;
  }
  if (touch_hot_spot(b, c, offset)) *switched = true;
}
