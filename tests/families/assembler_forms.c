/* Prints every form of instruction that the Atari translator's assembler can write, one a line: its
 * bytes, and what it should be in the assembler's language (test_atari_assembler.py). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "envs/atari/console/translation/assembler.h"

enum { REGISTERS = 16, DISTANCE = 0x1000 };

static pp_assembler as;

static const char *const names8[REGISTERS] = {"al",   "cl",   "dl",   "bl",  "spl",  "bpl",
                                              "sil",  "dil",  "r8b",  "r9b", "r10b", "r11b",
                                              "r12b", "r13b", "r14b", "r15b"};
static const char *const names16[REGISTERS] = {"ax",   "cx",   "dx",   "bx",  "sp",   "bp",
                                               "si",   "di",   "r8w",  "r9w", "r10w", "r11w",
                                               "r12w", "r13w", "r14w", "r15w"};
static const char *const names32[REGISTERS] = {"eax",  "ecx",  "edx",  "ebx", "esp",  "ebp",
                                               "esi",  "edi",  "r8d",  "r9d", "r10d", "r11d",
                                               "r12d", "r13d", "r14d", "r15d"};
static const char *const names64[REGISTERS] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                               "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                               "r12", "r13", "r14", "r15"};

/* an operand's size: its registers, and how memory of it is named */
typedef struct size {
  const char *const *registers;
  const char *memory;
} size;
static const size byte = {names8, "byte ptr "}, word = {names16, "word ptr "},
                  dword = {names32, "dword ptr "}, qword = {names64, "qword ptr "},
                  none = {NULL, ""};

/* Prints the instruction that was written, and its text. */
static void say(const char *format, ...) {
  va_list arguments;
  for (size_t i = 0; i < as.size; i++) printf("%02x", as.code[i]);
  printf("|");
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  as.size = 0;
}

/* ---------------------------------------------------------------------------------- places -- */

/* Returns place number i: all bases with all indices; scales and distances take turns. */
static pp_place place_of(int i) {
  static const int32_t distances[] = {0, 16, -128, 127, 128, -129, 0x12345, -0x12345};
  pp_place p = {i % REGISTERS, i / REGISTERS, i / 3 % 4, distances[i % 8 ^ (i / REGISTERS & 7)]};
  // RSP is no index
  if (p.index == RSP) p.index = NO_INDEX;
  if (p.index == NO_INDEX) p.scale = 0;
  return p;
}

enum { PLACES = REGISTERS * REGISTERS };

static const char *text_of(pp_place p, size of) {
  static char text[80];
  int at = snprintf(text, sizeof(text), "%s[%s", of.memory, names64[p.base]);
  if (p.index != NO_INDEX) {
    at += snprintf(text + at, sizeof(text) - (size_t)at, "+%s*%d", names64[p.index], 1 << p.scale);
  }
  snprintf(text + at, sizeof(text) - (size_t)at, "%+d]", p.disp);
  return text;
}

/* --------------------------------------------------------------------------------- opcodes -- */

typedef struct opcode {
  unsigned code;
  const char *name;
  const size *reg, *other;
  bool stores; /* the register is the second operand */
} opcode;

static const opcode opcodes[] = {
    {OP_ADD8, "add", &byte, &byte, false},         {OP_ADD, "add", &dword, &dword, false},
    {OP_OR, "or", &dword, &dword, false},          {OP_OR8, "or", &byte, &byte, false},
    {OP_ADC8, "adc", &byte, &byte, false},         {OP_SBB8, "sbb", &byte, &byte, false},
    {OP_AND8, "and", &byte, &byte, false},         {OP_AND, "and", &dword, &dword, false},
    {OP_SUB8, "sub", &byte, &byte, false},         {OP_SUB, "sub", &dword, &dword, false},
    {OP_XOR8, "xor", &byte, &byte, false},         {OP_CMP8, "cmp", &byte, &byte, false},
    {OP_CMP, "cmp", &dword, &dword, false},        {OP_TEST8, "test", &byte, &byte, true},
    {OP_STORE8, "mov", &byte, &byte, true},        {OP_STORE, "mov", &dword, &dword, true},
    {OP_LOAD, "mov", &dword, &dword, false},       {OP_LOAD_BYTE, "movzx", &dword, &byte, false},
    {OP_LOAD_WORD, "movzx", &dword, &word, false},
};

static void say_pair(const opcode *op, const char *reg, const char *other) {
  say("%s %s, %s", op->name, op->stores ? other : reg, op->stores ? reg : other);
}

static void registers_and_memory(const opcode *op) {
  // a third of all pairs and places: each register and place comes with some operation
  const int first = (int)(op - opcodes) % 3;
  for (int i = first; i < REGISTERS * REGISTERS; i += 3) {
    const int reg = i / REGISTERS, with = i % REGISTERS;
    as_register(&as, op->code, reg, with);
    say_pair(op, op->reg->registers[reg], op->other->registers[with]);
  }
  for (int i = first; i < PLACES; i += 3) {
    const int reg = (i * 5 + i / REGISTERS) % REGISTERS;
    as_memory(&as, op->code, reg, place_of(i));
    say_pair(op, op->reg->registers[reg], text_of(place_of(i), *op->other));
  }
}

static void wide(void) {
  static const opcode of_memory[] = {{OP_LOAD, "mov", &qword, &qword, false},
                                     {OP_STORE, "mov", &qword, &qword, true},
                                     {OP_LEA, "lea", &qword, &none, false},
                                     {OP_LOAD_SIGNED, "movsxd", &qword, &dword, false}};
  for (int i = 0; i < 4 * PLACES; i += 3) {
    const opcode *op = &of_memory[i % 4];
    const int reg = i / 3 % REGISTERS;
    const pp_place p = place_of(i / 4);
    as_memory64(&as, op->code, reg, p);
    say_pair(op, names64[reg], text_of(p, *op->other));
  }
  for (int i = 0; i < 2 * PLACES; i += 3) {
    const bool is_wide = i & 1;
    as_memory_of(&as, OP_LEA, i % REGISTERS, place_of(i / 2), is_wide);
    say("lea %s, %s", (is_wide ? names64 : names32)[i % REGISTERS], text_of(place_of(i / 2), none));
  }
  for (int i = 0; i < REGISTERS * REGISTERS; i++) {
    const int reg = i / REGISTERS, with = i % REGISTERS;
    as_register64(&as, OP_LOAD, reg, with);
    say("mov %s, %s", names64[reg], names64[with]);
    as_register64(&as, OP_ADD, reg, with);
    say("add %s, %s", names64[reg], names64[with]);
  }
}

/* ------------------------------------------------------------------------------- constants -- */

static void constants(int reg) {
  static const struct {
    unsigned number;
    const char *name;
  } operations[] = {{IMM_ADD, "add"}, {IMM_OR, "or"},   {IMM_ADC, "adc"}, {IMM_SBB, "sbb"},
                    {IMM_AND, "and"}, {IMM_SUB, "sub"}, {IMM_XOR, "xor"}, {IMM_CMP, "cmp"}};
  static const uint32_t values[] = {0, 0x7f, 0xff, 0xffffff80};
  for (int i = 0; i < 8; i++) {
    for (int v = 0; v < 4; v++) {
      as_constant(&as, operations[i].number, reg, values[v]);
      say("%s %s, 0x%x", operations[i].name, names32[reg], values[v]);
      as_constant8(&as, operations[i].number, reg, values[v]);
      say("%s %s, 0x%x", operations[i].name, names8[reg], values[v] & 0xff);
    }
  }
  for (int v = 0; v < 4; v++) {
    as_set(&as, reg, values[v]);
    say("mov %s, 0x%x", names32[reg], values[v]);
    as_multiply(&as, reg, (reg + v) % REGISTERS, values[v]);
    say("imul %s, %s, 0x%x", names32[reg], names32[(reg + v) % REGISTERS], values[v]);
    as_test(&as, reg, values[v]);
    say("test %s, 0x%x", names32[reg], values[v]);
  }
}

static void constants_in_memory(pp_place p, unsigned value) {
  as_store_constant8(&as, p, value);
  say("mov %s, 0x%x", text_of(p, byte), value & 0xff);
  as_store_constant(&as, p, value);
  say("mov %s, 0x%x", text_of(p, dword), value);
  as_compare8(&as, p, value);
  say("cmp %s, 0x%x", text_of(p, byte), value & 0xff);
}

/* ------------------------------------------------------------------------ one register -- */

static void one_register(int reg) {
  static const struct {
    unsigned number;
    const char *name;
  } shifts[] = {{SHIFT_RCR, "rcr"}, {SHIFT_LEFT, "shl"}, {SHIFT_RIGHT, "shr"}};
  for (int i = 0; i < 3; i++) {
    as_shift(&as, shifts[i].number, reg, 5);
    say("%s %s, 5", shifts[i].name, names32[reg]);
    as_shift8(&as, shifts[i].number, reg);
    say("%s %s, 1", shifts[i].name, names8[reg]);
    as_shift_by(&as, shifts[i].number, reg);
    say("%s %s, cl", shifts[i].name, names32[reg]);
  }
  as_increment8(&as, reg);
  say("inc %s", names8[reg]);
  as_decrement8(&as, reg);
  say("dec %s", names8[reg]);
  as_carry_from(&as, reg);
  say("bt %s, 0", names32[reg]);
  as_push(&as, reg);
  say("push %s", names64[reg]);
  as_pop(&as, reg);
  say("pop %s", names64[reg]);
  as_jump_to_register(&as, reg);
  say("jmp %s", names64[reg]);
  const size_t address = as_address(&as, reg);
  as_patch(&as, address, as.size + DISTANCE);
  say("lea %s, [rip+0x%x]", names64[reg], DISTANCE);
}

/* ------------------------------------------------------------------------------ conditions -- */

static const struct {
  unsigned number;
  const char *name;
} conditions[] = {{IF_OVERFLOW, "o"},   {IF_BELOW, "b"}, {IF_NOT_BELOW, "ae"}, {IF_EQUAL, "e"},
                  {IF_NOT_EQUAL, "ne"}, {IF_ABOVE, "a"}, {IF_SIGN, "s"},       {IF_NO_SIGN, "ns"}};

static void each_condition(unsigned number, const char *name) {
  for (int reg = 0; reg < REGISTERS; reg++) {
    as_set_if(&as, number, reg);
    say("set%s %s", name, names8[reg]);
  }
  for (int i = (int)number % 5; i < PLACES; i += 5) {
    as_store_if(&as, number, place_of(i));
    say("set%s %s", name, text_of(place_of(i), byte));
  }
  as_patch(&as, as_jump_if(&as, number), DISTANCE);
  say("j%s .+0x%x", name, DISTANCE);
}

int main(void) {
  for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) registers_and_memory(&opcodes[i]);
  wide();
  for (int reg = 0; reg < REGISTERS; reg++) {
    constants(reg);
    one_register(reg);
  }
  for (int i = 0; i < PLACES; i++) {
    constants_in_memory(place_of(i), 0x11u * (unsigned)i);
    as_store_word(&as, i % REGISTERS, place_of(i));
    say("mov %s, %s", text_of(place_of(i), word), names16[i % REGISTERS]);
    as_call_place(&as, place_of(i));
    say("call %s", text_of(place_of(i), qword));
  }
  for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
    each_condition(conditions[i].number, conditions[i].name);
  }
  as_patch(&as, as_jump(&as), DISTANCE);
  say("jmp .+0x%x", DISTANCE);
  as_patch(&as, as_call(&as), DISTANCE);
  say("call .+0x%x", DISTANCE);
  as_move_stack(&as, -8);
  say("add rsp, -8");
  as_move_stack(&as, 8);
  say("add rsp, 8");
  as_return(&as);
  say("ret");
  free(as.code);
  return as.failed;
}
