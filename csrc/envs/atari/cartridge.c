// cartridge.c: reads a ROM into the form that the interpreter runs.
#include "cartridge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "game.h"
#include "machine.h"

// the addresses at which programs see themselves; the processor has 13 address lines
enum { HOME = 0xf000 };

// is this a load of INTIM, followed by a branch back to it while it is not zero?
static void find_wait(pp_cartridge *c, uint16_t *single, int at) {
  static const uint16_t plain[3] = {PP_LDA_RTM, PP_LDX_RTM, PP_LDY_RTM};
  static const uint16_t waiting[3] = {PP_LDA_RTW, PP_LDX_RTW, PP_LDY_RTW};
  bool near = single[at + 3] == PP_BNE_BNR, far = single[at + 3] == PP_BNE_BFR;
  if (!(near || far) || c->program[at + 3].operand != (uint16_t)-3) return;
  for (int i = 0; i < 3; ++i) {
    if (single[at] != plain[i]) continue;
    single[at] = waiting[i];
    c->program[at].mask = near ? 7 : 8;
  }
}

static void decode_program(pp_cartridge *c) {
  const pp_instruction outside = {c->handler[PP_OUT_IMP], 0, 0, 0};
  uint16_t single[PP_CARTRIDGE_BYTES];
  uint8_t length[PP_CARTRIDGE_BYTES];
  for (int at = 0; at < PP_CARTRIDGE_BYTES; ++at) {
    uint8_t bytes[3] = {0, 0, 0};
    for (int i = 0; i < 3 && at + i < PP_CARTRIDGE_BYTES; ++i) bytes[i] = c->rom[at + i];
    pp_decoded d = pp_instruction_decode(bytes, (uint16_t)(HOME + at), c->rom);
    // an instruction cut off by the image's end has operand bytes from elsewhere
    if (at + d.length > PP_CARTRIDGE_BYTES) d = (pp_decoded){.handler = PP_OUT_IMP, .length = 1};
    c->program[at] = (pp_instruction){NULL, d.operand, d.mask, d.low};
    single[at] = d.handler;
    length[at] = d.length;
  }
  for (int i = 0; i < 3; ++i) c->program[PP_CARTRIDGE_BYTES + i] = outside;

  for (int at = 0; at + 5 <= PP_CARTRIDGE_BYTES; ++at) find_wait(c, single, at);

  // every address may be jumped to, so sequences begin anywhere
  for (int at = 0; at < PP_CARTRIDGE_BYTES; ++at) {
    uint16_t ahead[4];
    int count = 0, used;
    for (int next = at; count < 4 && next < PP_CARTRIDGE_BYTES; next += length[next]) {
      ahead[count++] = single[next];
    }
    c->program[at].handler = c->handler[pp_instruction_sequence(ahead, count, &used)];
  }
}

// one source, compiled for several processors
typedef struct build {
  const char *name;
  pp_tia_drawer *draw;
} build;

// best first
static const build builds[] = {
#ifdef PP_BUILDS_X86
    {"v4", pp_tia_draw_v4},
    {"v3", pp_tia_draw_v3},
#endif
    {"base", pp_tia_draw_base},
};
enum { BUILD_COUNT = sizeof builds / sizeof builds[0] };

static bool processor_can_run(const build *b) {
#ifdef PP_BUILDS_X86
  if (strcmp(b->name, "v4") == 0) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("bmi2");
  }
  if (strcmp(b->name, "v3") == 0) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  }
#endif
  return strcmp(b->name, "base") == 0;
}

int pp_cartridge_use_build(pp_cartridge *c, const char *name) {
  for (int i = 0; i < BUILD_COUNT; ++i) {
    if (strcmp(builds[i].name, name) != 0 || !processor_can_run(&builds[i])) continue;
    c->draw = builds[i].draw;
    return 0;
  }
  return PP_ERR_ATARI_BUILD;
}

static void use_best_build(pp_cartridge *c) {
  for (int i = 0; i < BUILD_COUNT; ++i) {
    if (!processor_can_run(&builds[i])) continue;
    c->draw = builds[i].draw;
    return;
  }
}

int pp_cartridge_create(const uint8_t *rom, size_t size, const char *game, pp_cartridge **out) {
  *out = NULL;
  if (size != 2048 && size != PP_CARTRIDGE_BYTES) return PP_ERR_ATARI_SIZE;
  const pp_game *rules = pp_game_find(game);
  if (rules == NULL) return PP_ERR_ATARI_GAME;
  pp_cartridge *c = calloc(1, sizeof *c);
  if (c == NULL) return PP_ERR_ATARI_MEMORY;

  // a 2 KB ROM appears twice
  memcpy(c->rom, rom, size);
  if (size == 2048) memcpy(c->rom + size, rom, size);
  c->game = rules;
  c->lines = rules->pal ? 250 : 210;
  c->first_line = 34;
  c->last_line = rules->pal ? 342 : 290;
  use_best_build(c);
  c->handler = pp_machine_handlers();
  decode_program(c);
  *out = c;
  return 0;
}

void pp_cartridge_destroy(pp_cartridge *cartridge) {
  free(cartridge);
}
