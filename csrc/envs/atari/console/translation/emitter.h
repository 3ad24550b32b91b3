/* Emitter: a translation in the making, and what instructions emit in common: places, the tracked
 * state, jumps, side exits and slow paths. `emitter_` functions only change what is known. */
#ifndef PP_ENVS_ATARI_CONSOLE_TRANSLATION_EMITTER_H
#define PP_ENVS_ATARI_CONSOLE_TRANSLATION_EMITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../cartridge.h"
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
typedef struct pp_emitter_state {
  /* cycles that have passed and are not in HOST_CYCLE yet */
  uint32_t cycles;
  /* the register whose low byte is the last result: HOST_A, HOST_X, HOST_Y, or HOST_NZ */
  int result;
  bool is_wide; /* it is HOST_NZ, and N may also be bit 15 */
  /* whether the host's flags are those of the last result; and of the carry */
  bool has_zn;
  enum { PP_CARRY_ELSEWHERE, PP_CARRY_IS_CF, PP_CARRY_IS_NOT_CF } carry;
} pp_emitter_state;

/* a cold stub: code behind the block, as it rarely runs, to which a jump leads */
typedef struct pp_cold_stub {
  size_t from;            /* the jump's distance */
  uint32_t to;            /* number of an instruction */
  bool exits;             /* the interpreter runs `to`; false: its translation does */
  pp_emitter_state state; /* at the jump */
} pp_cold_stub;

/* A slow path: an access to the chips by a function of the interpreter, behind the block. It goes
 * back to where the fast path, the access to memory, ends. */
typedef struct pp_slow_path {
  size_t from, back; /* the jump's distance; where it goes back */
  uint32_t at;       /* the instruction */
  uint32_t cycles;   /* from its start to the access */
  pp_emitter_state state;
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
 * makes the translation fail (emit_cold_stub_if). */
enum { PP_COLD_STUBS_MAX = 4 * PP_BLOCK_MAX + 1 };

/* a translation in the making */
typedef struct pp_emitter {
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
  pp_emitter_state state;

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
} pp_emitter;

/* how the translation of a block goes on after an instruction */
typedef enum pp_translate_result {
  PP_GOES_ON, /* to the next instruction */
  PP_ENDS,    /* it jumps */
  PP_REFUSED, /* the interpreter must run it; nothing was written */
} pp_translate_result;

/* ----------------------------------------------------------------------------------- places -- */

/* the byte of RAM at this offset */
static inline pp_place place_in_ram(unsigned offset) {
  return (pp_place){HOST_EXEC, NO_INDEX, 0, (int32_t)(offsetof(pp_exec, machine.ram) + offset)};
}

/* the byte of RAM whose zero page address a register holds */
static inline pp_place place_in_ram_by(int index) {
  return (pp_place){HOST_EXEC, index, 0, (int32_t)offsetof(pp_exec, machine.ram) - 0x80};
}

/* what was last written to a register of the television chip */
static inline pp_place place_written(unsigned reg) {
  return (pp_place){HOST_EXEC, NO_INDEX, 0, (int32_t)(offsetof(pp_exec, machine.written) + reg)};
}

/* what lies `disp` bytes behind the address in a register */
static inline pp_place place_at(int base, int32_t disp) {
  return (pp_place){base, NO_INDEX, 0, disp};
}

/* Returns the decoded form of an instruction, by its number. */
static inline const pp_instruction *emitter_instruction(const pp_emitter *e, uint32_t at) {
  return &e->cart->program[at];
}

/* ---------------------------------------------------------------------- the queue and jumps -- */

/* Enqueues a block that starts at an instruction, unless it is already queued. */
void emitter_enqueue(pp_emitter *e, uint32_t at);

/* The same for an address, in each image that may show it. */
void emitter_enqueue_address(pp_emitter *e, unsigned address);

/* Emits a jump to the translation of an instruction. */
void emit_jump(pp_emitter *e, uint32_t to);

/* Emits code that writes the tracked cycles and result into HOST_CYCLE and HOST_NZ. */
void emit_flush_state(pp_emitter *e, const pp_emitter_state *state);

/* The last result is in this register; has_flags: the host's flags are its flags. */
void emitter_set_result(pp_emitter *e, int reg, bool has_flags);

/* ---------------------------------------------------------------- side exits and slow paths -- */

/* Emits a side exit: it returns to the interpreter, which goes on at this instruction. */
void emit_exit_at(pp_emitter *e, uint32_t at);

/* Emits a jump, if a condition holds, to a cold stub that leads to the instruction `to`. */
void emit_cold_stub_if(pp_emitter *e, unsigned condition, uint32_t to, bool exits,
                       const pp_emitter_state *state);

/* The interpreter runs this instruction if the condition holds. */
void emit_exit_if(pp_emitter *e, unsigned condition, uint32_t at);

/* Begins a slow path, to which a jump leads: an access to the chips at the address in EAX. It goes
 * back to where emit_slow_path_end is called. */
pp_slow_path *emit_slow_path(pp_emitter *e, size_t jump, uint32_t at, uint32_t cycles);

/* The same; the jump to it is emitted, too. */
pp_slow_path *emit_slow_path_if(pp_emitter *e, unsigned condition, uint32_t at, uint32_t cycles);

/* The slow path that was begun last goes back to this place. */
void emit_slow_path_end(pp_emitter *e);

/* Emits the cold stubs and slow paths of a block behind it. */
void emit_cold_stubs(pp_emitter *e);

/* -------------------------------------------------------------------------------- addresses -- */

/* register = the cycle of an access */
void emit_time_of_access(pp_emitter *e, int reg, uint32_t cycles);

/* EAX = the zero page address `operand + index`; the host's sign flag says whether it is in RAM */
void emit_indexed_zero_page(pp_emitter *e, uint32_t at, int index);

/* The same; exits if it is not in RAM. */
void emit_indexed_ram(pp_emitter *e, uint32_t at, int index);

/* The host's flags say whether the address in EAX is in RAM (equal). Changes RDX. */
void emit_test_ram(pp_emitter *e);

/* Exits unless the address in EAX is in RAM. Afterwards RAX and `*place` lead to its byte. Changes
 * RDX. */
void emit_ram_byte(pp_emitter *e, uint32_t at, pp_place *place);

/* Exits unless the address in `reg` is one of the cartridge, and of the image where address lines
 * select it. Changes `scratch`. */
void emit_exit_outside(pp_emitter *e, uint32_t at, int reg, int scratch);

/* Exits unless the address in EAX is one of the cartridge, and (with banks) nothing but memory.
 * Afterwards RAX and `*place` lead to its byte. Changes RCX and RDX. */
void emit_cartridge_byte(pp_emitter *e, uint32_t at, pp_place *place);

/* RCX = 1 if low + index lies in the next page */
void emit_crossing(pp_emitter *e, int index, unsigned low);

/* HOST_CYCLE += RCX */
void emit_add_crossing(pp_emitter *e);

/* ----------------------------------------------------------------- the chips' log and banks -- */

/* EDX = the entry of the log for a write of the low byte of `value`, whose other bytes are zero */
void emit_log_entry(pp_emitter *e, int value, unsigned reg, uint32_t cycles);

/* the log grows by the number of entries in ECX */
void emit_grow_log(pp_emitter *e);

/* Goes on behind an instruction in the bank to which it switches. */
pp_translate_result emit_switch_bank(pp_emitter *e, uint32_t at);

#endif
