// mapper.h: how a cartridge of more than 4 KB shows parts of itself to the processor.
#ifndef PP_ENVS_ATARI_CONSOLE_MAPPER_H_
#define PP_ENVS_ATARI_CONSOLE_MAPPER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpc.h"
#include "instruction.h"

struct pp_cartridge;

// named after their hot spots: reading or writing such an address switches banks
typedef enum pp_mapper {
  PP_MAPPER_NONE,  // 2 or 4 KB, always seen
  PP_MAPPER_F8,    // two banks of 4 KB: xFF8, xFF9
  PP_MAPPER_F6,    // four banks of 4 KB: xFF6 to xFF9
  PP_MAPPER_E0,    // eight slices of 1 KB in four slots: xFE0 to xFF7; the last slot never changes
  PP_MAPPER_FE,    // two banks of 4 KB, at addresses with A13 high and low; no hot spots
  PP_MAPPER_DPC,   // F8 with a graphics and music chip at x000 to x07F
} pp_mapper;

enum {
  PP_SLOTS = 4,  // of 1 KB in the processor's 4 KB
  PP_SLOT_BYTES = 1024,
  PP_MAPPER_RAM = 128,  // bytes of the RAM that some cartridges have: written at x000, read at x080
  PP_MAPPER_IMAGES = 4 * 8,
};

// what a console's cartridge is set to; plain data
typedef struct pp_banks {
  uint8_t slice[PP_SLOTS];  // the kilobyte of the ROM that each slot shows
  uint8_t ram[PP_MAPPER_RAM];
  pp_dpc dpc;
} pp_banks;

// find out a ROM's mapper by its size and by what its program does; *has_ram: 128 bytes of RAM are
// on board; negative if no mapper has ROMs of this size
int pp_mapper_detect(const uint8_t *rom, size_t size, bool *has_ram);

// list the images that programs run in: 4 KB banks, or every slice in every slot it can be in, in
// the order of pp_mapper_image; return how many
int pp_mapper_images(const struct pp_cartridge *cartridge, pp_code_image images[PP_MAPPER_IMAGES]);

// the image that a slot (+ 8: for addresses with A13 high) shows
int pp_mapper_image(const struct pp_cartridge *cartridge, const pp_banks *banks, unsigned slot);

// the banks at power-up; RAM and chip are left alone
void pp_banks_reset(pp_banks *banks, const struct pp_cartridge *cartridge);

// the address at which the program starts
uint16_t pp_banks_vector(const pp_banks *banks, const struct pp_cartridge *cartridge);

// read or write a special address; *switched is set if slots show something else now
uint8_t pp_banks_read(pp_banks *banks, const struct pp_cartridge *cartridge, unsigned address,
                      uint32_t cycle, bool *switched);
void pp_banks_write(pp_banks *banks, const struct pp_cartridge *cartridge, unsigned address,
                    uint8_t value, bool *switched);

#endif  // PP_ENVS_ATARI_CONSOLE_MAPPER_H_
