// cartridge.h: a game program, made once and shared by all consoles that play it.
#ifndef PP_ENVS_ATARI_CARTRIDGE_H_
#define PP_ENVS_ATARI_CARTRIDGE_H_

#include <stddef.h>
#include <stdint.h>

#include "instruction.h"

struct pp_game;
struct pp_picture;
struct pp_tia;

enum { PP_CARTRIDGE_BYTES = 4096 };

// status codes of this family
enum {
  PP_ERR_ATARI_MEMORY = -101,      // out of memory
  PP_ERR_ATARI_SIZE = -102,        // the ROM is neither 2 nor 4 KB
  PP_ERR_ATARI_GAME = -103,        // no rules for a game of this name
  PP_ERR_ATARI_MODE = -104,        // the game has no such mode
  PP_ERR_ATARI_DIFFICULTY = -105,  // the game has no such difficulty
  PP_ERR_ATARI_BUILD = -106,       // this processor cannot run this build
};

// read-only after creation, so threads share it without a lock
typedef struct pp_cartridge {
  // three extra entries: an instruction that begins at the end of the image runs out of it
  pp_instruction program[PP_CARTRIDGE_BYTES + 3];
  const void *const *handler;  // the interpreter's, by number
  uint8_t rom[PP_CARTRIDGE_BYTES];
  const struct pp_game *game;
  int lines;       // height of the screen
  int first_line;  // line of the frame that is the screen's first
  int last_line;   // a TIA write past this line ends the frame

  // the build of the television chip that suits this processor
  void (*draw)(struct pp_tia *tia, const struct pp_picture *picture, const uint32_t *log,
               const uint32_t *end, uint32_t cycle);
} pp_cartridge;

// make a cartridge from a 2 or 4 KB ROM and a game's name as ale-py spells it ("pong"); *out is
// destroyed with pp_cartridge_destroy; negative status on error
int pp_cartridge_create(const uint8_t *rom, size_t size, const char *game, pp_cartridge **out);

// run the build "base", "v3" (AVX2) or "v4" (AVX-512) instead of the best one, for tests; negative
// status if this processor cannot; only before any console uses the cartridge
int pp_cartridge_use_build(pp_cartridge *cartridge, const char *build);

// free a cartridge that no console uses any more; nullable
void pp_cartridge_destroy(pp_cartridge *cartridge);

#endif  // PP_ENVS_ATARI_CARTRIDGE_H_
