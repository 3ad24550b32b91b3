/* Cartridge: a game program, decoded once and shared by all consoles that play it. */
#ifndef PP_ENVS_ATARI_CONSOLE_CARTRIDGE_H
#define PP_ENVS_ATARI_CONSOLE_CARTRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "instruction.h"
#include "mapper.h"

struct pp_game;
struct pp_hardware;
struct pp_machine;
struct pp_picture;
struct pp_multiplayer_rom;
struct pp_tia;
struct pp_translation;

enum { PP_ROM_BYTES = 16384, PP_BANK_BYTES = 4096 };

/* a write to the television chip past this line ends the frame */
enum { PP_LAST_LINE_NTSC = 290, PP_LAST_LINE_PAL = 342 };

/* read-only after creation, so threads share it without a lock */
typedef struct pp_cartridge {
  uint8_t rom[PP_ROM_BYTES];
  uint8_t mapper;  /* a pp_mapper */
  uint8_t has_ram; /* it has 128 bytes of RAM */
  uint8_t counts;  /* the processor counts instructions; see `counting` */
  /* number of addresses from xFC0 on that are more than memory */
  uint32_t special;
  const void *const *handler;         /* the processor's, by number */
  const struct pp_hardware *hardware; /* from the game's row, whether its rules are used or not */
  const struct pp_game *game;
  const struct pp_multiplayer_rom *multiplayer; /* what several players need; null: one player */
  int players;
  int lines;      /* height of the screen */
  int first_line; /* line of the frame that is the screen's first */
  int last_line;  /* PP_LAST_LINE_NTSC or PP_LAST_LINE_PAL */

  /* the processor for this mapper, and the television chip's build for this computer */
  const void *const *(*run)(struct pp_machine *machine, const struct pp_cartridge *cartridge,
                            const struct pp_picture *picture);
  void (*draw)(struct pp_tia *tia, const struct pp_picture *picture, const uint32_t *log,
               const uint32_t *end, uint32_t cycle, bool is_last);

  /* The same cartridge without decoded instructions, for frames that may reach ALE's limit of
   * instructions: each instruction is decoded when it runs, and counted. */
  struct pp_cartridge *counting;

  /* the program as machine code; the one of `counting` is null */
  struct pp_translation *translation;

  /* one instruction for each byte of an image, and three more, as the last may extend past the
   * end */
  pp_instruction program[];
} pp_cartridge;

/* Returns the decoded form of an image, by its number. */
static inline const pp_instruction *pp_cartridge_program(const pp_cartridge *c, int image) {
  if (c->counts) return c->program;
  size_t bytes = c->mapper == PP_MAPPER_E0 ? PP_SLOT_BYTES : PP_BANK_BYTES;
  return c->program + (bytes + 3) * (size_t)image;
}

/* what a cartridge is made of, and how a computer runs it; the latter changes nothing it shows */
typedef struct pp_cartridge_options {
  const uint8_t *rom;
  size_t size;
  const char *game; /* ale-py's name of the game ("pong"), or with players of the ROM */
  int players;      /* 2 or 4; 0: a game of one player */
  pp_isa isa;       /* which build of the television chip runs */
  bool interprets;  /* nothing is translated to machine code */
} pp_cartridge_options;

/* Sets isa and interprets: "base" interprets and is plain C, "v3" has AVX2, "v4" AVX-512; null or
 * "": the best for this processor. Returns false if the processor cannot run the build. */
bool pp_cartridge_choose_build(pp_cartridge_options *options, const char *build);

/* Makes a cartridge. *out is destroyed with pp_cartridge_destroy. The status is PP_ERR_ARGUMENT if
 * there is no such game, or no mapper has ROMs of this size; else PP_ERR_MEMORY on failure. */
int pp_cartridge_create(const pp_cartridge_options *options, pp_cartridge **out);

/* Plays without the game's rules (pp_game_without_rules), for tests. Only before a console uses the
 * cartridge. */
void pp_cartridge_drop_rules(pp_cartridge *cartridge);

/* Frees a cartridge that no console uses any more; null is allowed. */
void pp_cartridge_destroy(pp_cartridge *cartridge);

#endif
