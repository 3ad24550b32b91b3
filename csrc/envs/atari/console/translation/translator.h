// translator.h: a translation in the making. Internal to translation.c and translator.c.
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_TRANSLATOR_H_
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_TRANSLATOR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assembler.h"
#include "translation.h"

// Where the machine code keeps the 6507 and what it uses most. RAX, RCX, RDX, RSI, RDI and R9 are
// free.
enum {
  HOST_RUN = RBX,  // the pp_run
  HOST_NZ = RBP,
  HOST_CARRY = R8,
  HOST_ROM = R10,  // run->rom
  HOST_LOG = R11,
  HOST_CYCLE = R12,
  HOST_A = R13,
  HOST_X = R14,
  HOST_Y = R15,
};

// a field of the pp_run, and of its machine
#define RUN(field) ((pp_place){HOST_RUN, NO_INDEX, 0, (int32_t)offsetof(pp_run, field)})
#define MACHINE(field) RUN(machine.field)

// what the translator knows about the program's state at a place in the machine code
typedef struct pp_known {
  // cycles that have passed and are not in HOST_CYCLE yet
  uint32_t cycles;
  // the register whose low byte is the last result: HOST_A, HOST_X, HOST_Y, or HOST_NZ
  int result;
  bool is_wide;  // it is HOST_NZ, and N may also be bit 15
  // whether the host's flags are those of the last result; and of the carry
  bool has_zn;
  enum { PP_CARRY_ELSEWHERE, PP_CARRY_IS_CF, PP_CARRY_IS_NOT_CF } carry;
} pp_known;

// a jump to code that is written after the block, because it rarely runs
typedef struct pp_detour {
  size_t from;     // the jump's distance
  uint32_t to;     // number of an instruction
  bool leaves;     // the interpreter runs `to`; false: its translation does
  pp_known known;  // at the jump
} pp_detour;

// An access to the chips by a function of the interpreter, out of the way of accesses to memory. It
// goes back behind the access to memory.
typedef struct pp_chip_access {
  size_t from, back;  // the jump's distance; where it goes back
  uint32_t at;        // the instruction
  uint32_t cycles;    // from its start to the access
  pp_known known;
  // A read has the address in EAX and leaves the byte there; the byte on the bus is a constant, or,
  // if bus_at is not negative, in RAM at this offset.
  uint32_t bus;
  int bus_at;
  bool is_timer;  // of INTIM, whatever EAX holds
  bool crosses;   // RCX is to be added to the time first
  int value;      // the register with the byte to write; NO_INDEX: it is a read
} pp_chip_access;

// a jump to the translation of an instruction
typedef struct pp_link {
  size_t from;
  uint32_t to;
} pp_link;

// instructions of a block, and the most detours that they can have
enum { PP_BLOCK_MAX = 64, PP_DETOURS_MAX = 4 * PP_BLOCK_MAX + 1 };

typedef struct pp_translator {
  pp_assembler as;
  const pp_cartridge *cart;
  const pp_translation *out;
  pp_code_image images[PP_MAPPER_IMAGES];
  uint32_t image_count, stride, count;  // instructions of an image, with three past its end; in all
  const uint8_t *length;                // of each instruction, in bytes

  const pp_code_image *image;  // of the instruction that is being translated
  uint32_t first;              // the image's first instruction
  int32_t bank;                // to which the instruction switches; negative: to none
  size_t table;                // distances of the image's instructions from here, for jumps to them
  size_t bits;                 // pp_register_bits
  size_t read, write;          // call the interpreter's functions
  size_t leave;                // returns to the interpreter, with the address in EAX
  pp_known known;

  pp_detour detour[PP_DETOURS_MAX];  // of the block that is being translated
  int detours;
  pp_chip_access access[PP_BLOCK_MAX];
  int accesses;
  pp_link *link;
  size_t links, links_room;

  // by number of an instruction: its translation's offset (0: none yet), and whether a block is to
  // begin there
  uint32_t *head;
  uint8_t *is_head;
  uint8_t *is_known;  // bytes of instructions that have been seen
  uint8_t *is_entry;
  uint32_t *queue;  // instructions that begin a block
  uint32_t queued, done;
} pp_translator;

typedef enum pp_outcome {
  PP_GOES_ON,  // to the next instruction
  PP_ENDS,     // it jumps
  PP_REFUSED,  // the interpreter must run it; nothing was written
} pp_outcome;

// Writes the machine code of one instruction, by its number.
pp_outcome pp_translate_instruction(pp_translator *t, uint32_t at);

// Says that a block begins at an instruction.
void pp_translator_want(pp_translator *t, uint32_t at);

// The same for an address, in every image that may show it.
void pp_translator_want_address(pp_translator *t, unsigned address);

// Writes a jump to the translation of an instruction.
void pp_translator_jump(pp_translator *t, uint32_t to);

// Writes what the translator only knows into the registers.
void pp_translator_settle(pp_translator *t, const pp_known *known);

#endif  // PP_ENVS_ATARI_CONSOLE_TRANSLATION_TRANSLATOR_H_
