/* Translation: a cartridge's program as machine code of this computer, which runs several times
 * faster than the interpreter.
 *
 * A translation is made once, together with the cartridge, and then read by all threads. It covers
 * the parts of the program that can be found without running it, and in them the instructions that
 * games use most. The interpreter runs everything else, and whatever is rare: it enters the
 * translation at an *entry*, and the translation returns to it at the first instruction that it
 * cannot run. Both keep the same state, and the time of every access, so a game is the same with
 * a translation and without one. */
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_TRANSLATION_H
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_TRANSLATION_H

#include <stdint.h>

#include "../machine.h"

/* Most cycles that a translation runs before it compares the time with `limit` again: those of a
 * block's instructions, none of which takes more than eight. */
enum { PP_BLOCK_MAX = 64, PP_TRANSLATION_CYCLES = PP_BLOCK_MAX * 8 };

/* what the interpreter and the translation hand to each other */
typedef struct pp_exec {
  pp_machine machine; /* with the processor's registers and the time */
  uint32_t *log;      /* the end of the log of writes to the television chip */
  /* The translation runs while fewer cycles than this have passed. So it needs no checks whether a
   * frame is too long: that takes more than PP_TRANSLATION_CYCLES from here on. */
  uint32_t limit;
  uint32_t home;              /* the program counter's high four bits */
  const uint8_t *rom;         /* the image that runs */
  const uint8_t *const *data; /* the slots of a cartridge with banks */
  uint32_t switched;          /* the translation has switched banks */

  /* What the translation calls for accesses to the chips at machine.cycle: both may change the log.
   * read: RAM, too. write: not to VSYNC, VBLANK and WSYNC. */
  uint32_t (*read)(struct pp_exec *exec, uint32_t address, uint32_t bus);
  void (*write)(struct pp_exec *exec, uint32_t address, uint32_t value);
  const pp_cartridge *cart;
  const pp_picture *picture;
  uint32_t *log_start;
} pp_exec;

/* Runs a part of the program. Returns what to add to exec->home for the address at which the
 * interpreter goes on: 0x1000 or more if the program ran past the cartridge's end. */
typedef uint32_t pp_translation_enter(pp_exec *exec, const uint8_t *entry);

typedef struct pp_translation {
  uint8_t *code; /* null: there is none */
  size_t size;
  pp_translation_enter *enter;
  /* by the number of the instruction in cartridge->program */
  uint32_t count;
  uint32_t *entry;  /* offset into code; 0: none */
  uint16_t *single; /* the handler that runs this instruction alone */
  uint8_t *length;  /* in bytes */
} pp_translation;

struct pp_cartridge;

/* Makes a translation without code, for this number of instructions. Returns null without
 * memory. */
pp_translation *pp_translation_create(uint32_t count);

/* Translates a cartridge whose program is decoded, and sets the handlers of all entries to PP_ENT.
 * Without memory, or on computers for which there is no translator, it does nothing. */
void pp_translate(struct pp_cartridge *cartridge);

/* Frees the translation; null is allowed. */
void pp_translation_destroy(pp_translation *translation);

#endif
