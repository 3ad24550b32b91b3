/* Mapper: how a cartridge of more than 4 KB shows parts of its program (banks) to the processor. */
#ifndef PP_ENVS_ATARI_CONSOLE_MAPPER_H
#define PP_ENVS_ATARI_CONSOLE_MAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpc.h"
#include "instruction.h"

struct pp_cartridge;

/* named after their hot spots, addresses that switch banks when they are read or written */
typedef enum pp_mapper {
  PP_MAPPER_NONE, /* 2 or 4 KB, always visible */
  PP_MAPPER_F8,   /* two banks of 4 KB: xFF8, xFF9 */
  PP_MAPPER_F6,   /* four banks of 4 KB: xFF6 to xFF9 */
  /* eight slices of 1 KB in four slots: xFE0 to xFF7; the last slot never changes */
  PP_MAPPER_E0,
  PP_MAPPER_FE,  /* two banks of 4 KB, at addresses with A13 high and low; no hot spots */
  PP_MAPPER_DPC, /* F8 with a graphics and music chip at x000 to x07F */
} pp_mapper;

enum {
  PP_SLOTS = 4, /* of 1 KB in the processor's 4 KB */
  PP_SLOT_BYTES = 1024,
  PP_MAPPER_RAM = 128, /* bytes of RAM in some cartridges: written at x000, read at x080 */
  PP_MAPPER_IMAGES = 4 * 8,
};

/* the state of a console's cartridge; plain data */
typedef struct pp_banks {
  uint8_t slice[PP_SLOTS]; /* the kilobyte of the ROM that each slot shows */
  uint8_t ram[PP_MAPPER_RAM];
  pp_dpc dpc;
} pp_banks;

/* Returns a ROM's mapper, detected from its size and its program; negative if no mapper has ROMs of
 * this size. Writes to *has_ram whether the cartridge has 128 bytes of RAM. */
int pp_mapper_detect(const uint8_t *rom, size_t size, bool *has_ram);

/* Lists the images that programs run in, in the order of pp_mapper_image: 4 KB banks, or each slice
 * in each of its possible slots. Returns their number. */
int pp_mapper_images(const struct pp_cartridge *cartridge, pp_code_image images[PP_MAPPER_IMAGES]);

/* Returns the image that a slot shows (slot + 8: at addresses with A13 high). */
int pp_mapper_image(const struct pp_cartridge *cartridge, const pp_banks *banks, unsigned slot);

/* Returns the bank of 4 KB to which an access to this address switches, whatever the banks are;
 * negative if it switches none, or does more. */
int pp_mapper_bank(const struct pp_cartridge *cartridge, unsigned address);

/* Sets the banks as at power-up; RAM and DPC keep their state. */
void pp_banks_reset(pp_banks *banks, const struct pp_cartridge *cartridge);

/* Returns the address at which the program starts. */
uint16_t pp_banks_vector(const pp_banks *banks, const struct pp_cartridge *cartridge);

/* Reads or writes a special address; sets *switched if banks were switched. */
uint8_t pp_banks_read(pp_banks *banks, const struct pp_cartridge *cartridge, unsigned address,
                      uint32_t cycle, bool *switched);
void pp_banks_write(pp_banks *banks, const struct pp_cartridge *cartridge, unsigned address,
                    uint8_t value, bool *switched);

#endif
