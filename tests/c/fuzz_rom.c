/* ROMs of any bytes: the console runs them, and machine code shows what the interpreter shows. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "envs/atari/console/console.h"
#include "fuzz.h"

enum { FRAMES = 3 };

/* sizes that a mapper has */
static const size_t sizes[] = {2048, 4096, 8192, 16384, 10240, 10495};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

typedef struct play {
  _Alignas(64) pp_console console;
  _Alignas(64) pp_line_cache cache;
  pp_cartridge *cartridge;
} play;

/* Makes a cartridge and switches a console on, without the minute that ALE plays first. */
static void begin(play *it, const uint8_t *rom, size_t size, const char *build, bool has_cache) {
  pp_cartridge_options options = {.rom = rom, .size = size, .game = "pong"};
  if (!pp_cartridge_choose_build(&options, build)) abort();
  if (pp_cartridge_create(&options, &it->cartridge) < 0) abort();
  memset(&it->console, 0, sizeof(it->console));
  memset(&it->cache, 0, sizeof(it->cache));
  if (has_cache) pp_console_use_cache(&it->console, &it->cache);
  pp_mt19937_seed(&it->console.system_random, 1);
  pp_console_power(&it->console, it->cartridge);
}

/* Whether both consoles are in the same state, which a program can see. */
static bool are_equal(play *one, play *other) {
  const uint8_t *seen = pp_console_draw(&one->console, one->cartridge);
  const uint8_t *expected = pp_console_draw(&other->console, other->cartridge);
  const size_t pixels = (size_t)one->cartridge->lines * PP_LINE_PIXELS;
  return memcmp(pp_console_ram(&one->console), pp_console_ram(&other->console), 128) == 0 &&
         memcmp(seen, expected, pixels) == 0 &&
         one->console.machine.cycle == other->console.machine.cycle;
}

static void run(const uint8_t *rom, size_t size, uint8_t actions) {
  static play best, base;
  begin(&best, rom, size, NULL, true);
  begin(&base, rom, size, "base", false);
  for (int frame = 0; frame < FRAMES; frame++) {
    const int action = (actions + frame * 7) % 18;
    (void)pp_console_act(&best.console, best.cartridge, action, frame & 1);
    (void)pp_console_act(&base.console, base.cartridge, action, true);
  }
  if (!are_equal(&best, &base)) abort();
  pp_cartridge_destroy(best.cartridge);
  pp_cartridge_destroy(base.cartridge);
}

/* The first byte chooses the size, the second the actions; the rest is repeated up to the size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3) return 0;
  const size_t given = size - 2, wanted = sizes[data[0] % SIZES];
  uint8_t *rom = malloc(wanted);
  if (!rom) abort();
  for (size_t i = 0; i < wanted; i++) rom[i] = data[2 + i % given];
  run(rom, wanted, data[1]);
  free(rom);
  return 0;
}

/* A program that shows frames: vertical sync, and lines with other registers in each. */
static size_t small_program(uint8_t *rom, size_t size) {
  static const uint8_t program[] = {
      0x78, 0xd8,                          // f000 SEI, CLD
      0xa9, 0x02, 0x85, 0x00,              // f002 VSYNC on
      0x85, 0x02, 0x85, 0x02, 0x85, 0x02,  // three lines
      0xa9, 0x00, 0x85, 0x00,              // f00c VSYNC off
      0xa2, 0xf0,                          // f010 LDX #240
      0x85, 0x02,                          // f012 WSYNC
      0x86, 0x09, 0x86, 0x1b,              // COLUBK, GRP0
      0x86, 0x0d, 0x85, 0x10,              // PF0, RESP0
      0x95, 0x80, 0xb5, 0x82,              // STA 80,X  LDA 82,X
      0x7d, 0x00, 0xf0,                    // ADC f000,X
      0x20, 0x40, 0xf0,                    // f023 JSR f040
      0xca, 0xd0, 0xe9,                    // DEX, BNE f012
      0x85, 0x2a, 0xa5, 0x02,              // HMOVE, LDA CXP0FB
      0xad, 0x84, 0x02,                    // LDA INTIM
      0x8d, 0x96, 0x02,                    // STA TIM64T
      0x4c, 0x02, 0xf0,                    // JMP f002
  };
  memset(rom, 0xea, size);
  for (size_t bank = 0; bank + 2048 <= size; bank += size < 4096 ? 2048 : 4096) {
    const size_t end = bank + (size < 4096 ? 2048 : 4096);
    memcpy(rom + bank, program, sizeof(program));
    rom[bank + 0x40] = 0x60;  // RTS
    if (end > size) break;
    rom[end - 4] = rom[end - 2] = 0x00;
    rom[end - 3] = rom[end - 1] = 0xf0;
  }
  return size;
}

size_t fuzz_example(int number, uint8_t bytes[FUZZ_BYTES]) {
  if (number >= 2 * (int)SIZES) return 0;
  const size_t which = (size_t)number % SIZES;
  bytes[0] = (uint8_t)which;
  bytes[1] = 3;
  if (number < (int)SIZES) return 2 + small_program(bytes + 2, sizes[which]);
  // and any bytes
  uint32_t x = (uint32_t)number;
  for (size_t i = 0; i < sizes[which]; i++)
    bytes[2 + i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
  return 2 + sizes[which];
}
