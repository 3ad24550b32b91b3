/* Translator: a translation in the making. Internal to translation.c and translator.c. */
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_TRANSLATOR_H
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_TRANSLATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assembler.h"
#include "translation.h"

/* Where the machine code keeps the 6507 and what it uses most. RAX, RCX, RDX, RSI, RDI and R9 are
 * free. */
enum {
  HOST_EXEC = RBX, /* the pp_exec */
  HOST_NZ = RBP,
  HOST_CARRY = R8,
  HOST_ROM = R10, /* exec->rom */
  HOST_LOG = R11,
  HOST_CYCLE = R12,
  HOST_A = R13,
  HOST_X = R14,
  HOST_Y = R15,
};

/* a field of the pp_exec, and of its machine */
#define EXEC(field) ((pp_place){HOST_EXEC, NO_INDEX, 0, (int32_t)offsetof(pp_exec, field)})
#define MACHINE(field) EXEC(machine.field)

/* the tracked state of the program at a place in the machine code */
typedef struct pp_translator_state {
  /* cycles that have passed and are not in HOST_CYCLE yet */
  uint32_t cycles;
  /* the register whose low byte is the last result: HOST_A, HOST_X, HOST_Y, or HOST_NZ */
  int result;
  bool is_wide; /* it is HOST_NZ, and N may also be bit 15 */
  /* whether the host's flags are those of the last result; and of the carry */
  bool has_zn;
  enum { PP_CARRY_ELSEWHERE, PP_CARRY_IS_CF, PP_CARRY_IS_NOT_CF } carry;
} pp_translator_state;

/* a cold stub: code behind the block, as it rarely runs, to which a jump leads */
typedef struct pp_cold_stub {
  size_t from;               /* the jump's distance */
  uint32_t to;               /* number of an instruction */
  bool exits;                /* the interpreter runs `to`; false: its translation does */
  pp_translator_state state; /* at the jump */
} pp_cold_stub;

/* A slow path: an access to the chips by a function of the interpreter, behind the block. It goes
 * back to where the fast path, the access to memory, ends. */
typedef struct pp_slow_path {
  size_t from, back; /* the jump's distance; where it goes back */
  uint32_t at;       /* the instruction */
  uint32_t cycles;   /* from its start to the access */
  pp_translator_state state;
  /* A read has the address in EAX and leaves the byte there; the byte on the bus is a constant, or,
   * if bus_at is not negative, in RAM at this offset. */
  uint32_t bus;
  int bus_at;
  bool is_timer; /* of INTIM, whatever EAX holds */
  bool crosses;  /* RCX is to be added to the time first */
  int value;     /* the register with the byte to write; NO_INDEX: it is a read */
} pp_slow_path;

/* a jump to the translation of an instruction, whose distance is filled in last */
typedef struct pp_fixup {
  size_t from;
  uint32_t to;
} pp_fixup;

/* Most cold stubs of a block: four of an instruction, and the one that compares the time. One more
 * makes the translation fail (cold_stub_if). */
enum { PP_COLD_STUBS_MAX = 4 * PP_BLOCK_MAX + 1 };

typedef struct pp_translator {
  pp_assembler as;
  const pp_cartridge *cart;
  const pp_translation *out;
  pp_code_image images[PP_MAPPER_IMAGES];
  /* instructions of an image, with three past its end; in all */
  uint32_t image_count, stride, count;
  const uint8_t *length; /* of each instruction, in bytes */

  const pp_code_image *image; /* of the instruction that is being translated */
  uint32_t first;             /* the image's first instruction */
  int32_t bank;               /* to which the instruction switches; negative: to none */
  /* distances of the image's instructions from here, for jumps to them */
  size_t table;
  size_t bits;        /* pp_register_bits */
  size_t read, write; /* call the interpreter's functions */
  size_t side_exit;   /* to the interpreter, with the address in EAX */
  pp_translator_state state;

  pp_cold_stub cold_stub[PP_COLD_STUBS_MAX]; /* of the block that is being translated */
  int cold_stubs;
  /* of the same block: an instruction reads or writes the chips once at most, so none checks this
   * bound */
  pp_slow_path slow_path[PP_BLOCK_MAX];
  int slow_paths;
  pp_fixup *fixup;
  size_t fixups, fixups_room;

  /* by number of an instruction: the offset of the block that begins there (0: none yet), and
   * whether one is to begin there */
  uint32_t *block_entry;
  uint8_t *is_block;
  uint8_t *is_seen; /* bytes of instructions that have been seen */
  uint8_t *is_entry;
  uint32_t *queue; /* instructions that begin a block */
  uint32_t queued, done;
} pp_translator;

typedef enum pp_translate_result {
  PP_GOES_ON, /* to the next instruction */
  PP_ENDS,    /* it jumps */
  PP_REFUSED, /* the interpreter must run it; nothing was written */
} pp_translate_result;

/* Writes the machine code of one instruction, by its number. */
pp_translate_result pp_translate_instruction(pp_translator *t, uint32_t at);

/* Enqueues a block that starts at an instruction, unless it is already queued. */
void pp_translator_enqueue(pp_translator *t, uint32_t at);

/* The same for an address, in each image that may show it. */
void pp_translator_enqueue_address(pp_translator *t, unsigned address);

/* Writes a jump to the translation of an instruction. */
void pp_translator_jump(pp_translator *t, uint32_t to);

/* Emits code that writes the tracked cycles and result into HOST_CYCLE and HOST_NZ. */
void pp_translator_flush_state(pp_translator *t, const pp_translator_state *state);

#endif
