// cartridge.h: a game program, made once and shared by all consoles that play it.
#ifndef PP_ENVS_ATARI_CONSOLE_CARTRIDGE_H_
#define PP_ENVS_ATARI_CONSOLE_CARTRIDGE_H_

#include <stddef.h>
#include <stdint.h>

#include "instruction.h"
#include "mapper.h"

struct pp_game;
struct pp_hardware;
struct pp_machine;
struct pp_picture;
struct pp_tia;

enum { PP_ROM_BYTES = 16384, PP_BANK_BYTES = 4096 };

// status codes of this family
enum {
  PP_ERR_ATARI_MEMORY = -101,      // out of memory
  PP_ERR_ATARI_SIZE = -102,        // no mapper has ROMs of this size
  PP_ERR_ATARI_GAME = -103,        // no game of this name
  PP_ERR_ATARI_MODE = -104,        // the game has no such mode
  PP_ERR_ATARI_DIFFICULTY = -105,  // the game has no such difficulty
  PP_ERR_ATARI_BUILD = -106,       // this processor cannot run this build
};

// a write to the television chip past this line ends the frame
enum { PP_LAST_LINE_NTSC = 290, PP_LAST_LINE_PAL = 342 };

// read-only after creation, so threads share it without a lock
typedef struct pp_cartridge {
  uint8_t rom[PP_ROM_BYTES];
  uint8_t mapper;              // a pp_mapper
  uint8_t has_ram;             // 128 bytes of it
  uint8_t counts;              // instructions, for frames that may reach ALE's limit of them
  uint32_t special;            // addresses so far from xFC0 on are more than memory
  const void *const *handler;  // the processor's, by number
  const struct pp_hardware *hardware;  // of the game's row, whether its rules are used or not
  const struct pp_game *game;
  int lines;       // height of the screen
  int first_line;  // line of the frame that is the screen's first
  int last_line;   // PP_LAST_LINE_NTSC or PP_LAST_LINE_PAL

  // the processor for this mapper, and the build of the television chip that suits this machine
  const void *const *(*run)(struct pp_machine *machine, const struct pp_cartridge *cartridge,
                            const struct pp_picture *picture);
  void (*draw)(struct pp_tia *tia, const struct pp_picture *picture, const uint32_t *log,
               const uint32_t *end, uint32_t cycle);

  // the same cartridge with nothing predecoded
  struct pp_cartridge *counting;

  // each image, and three more: an instruction that begins at the end of an image runs out of it
  pp_instruction program[];
} pp_cartridge;

// the predecoded form of an image, by its number
static inline const pp_instruction *pp_cartridge_program(const pp_cartridge *c, int image) {
  if (c->counts) return c->program;
  size_t bytes = c->mapper == PP_MAPPER_E0 ? PP_SLOT_BYTES : PP_BANK_BYTES;
  return c->program + (bytes + 3) * (size_t)image;
}

// make a cartridge from a ROM and a game's name as ale-py spells it ("pong"); *out is
// destroyed with pp_cartridge_destroy; negative status on error
int pp_cartridge_create(const uint8_t *rom, size_t size, const char *game, pp_cartridge **out);

// run the build "base", "v3" (AVX2) or "v4" (AVX-512) instead of the best one, for tests; negative
// status if this processor cannot; only before any console uses the cartridge
int pp_cartridge_use_build(pp_cartridge *cartridge, const char *build);

// play without the game's rules (pp_game_without_rules), for proofs; only before any console uses
// it
void pp_cartridge_drop_rules(pp_cartridge *cartridge);

// free a cartridge that no console uses any more; nullable
void pp_cartridge_destroy(pp_cartridge *cartridge);

#endif  // PP_ENVS_ATARI_CONSOLE_CARTRIDGE_H_
