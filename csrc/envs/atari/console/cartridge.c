/* Cartridge: decodes a ROM into the form that the interpreter runs. */
#include "cartridge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../games/games.h"
#include "../games/multiplayer/roms.h"
#include "machine.h"
#include "translation/translation.h"

/* Makes a load of INTIM a wait (RTW) if it is followed by a branch back to it while not zero. */
static void find_wait(pp_instruction *program, uint16_t *single, int at) {
  static const uint16_t plain[3] = {PP_LDA_RTM, PP_LDX_RTM, PP_LDY_RTM};
  static const uint16_t waiting[3] = {PP_LDA_RTW, PP_LDX_RTW, PP_LDY_RTW};
  bool near = single[at + 3] == PP_BNE_BNR, far = single[at + 3] == PP_BNE_BFR;
  if (!(near || far) || program[at + 3].operand != (uint16_t)-3) return;
  for (int i = 0; i < 3; i++) {
    if (single[at] != plain[i]) continue;
    single[at] = waiting[i];
    program[at].mask = near ? 7 : 8;
  }
}

/* Returns whether reading this instruction does more than read memory. */
static bool is_special(const pp_code_image *image, int at, int length) {
  for (int i = 0; i < length; i++) {
    if (pp_code_image_is_special(image, (unsigned)(image->home + at + i))) return true;
  }
  return false;
}

/* Decodes an image, and notes each instruction's handler and length, from number `first` on. */
static void decode_image(const void *const *handler, const pp_code_image *image,
                         pp_instruction *program, pp_translation *notes, size_t first) {
  uint16_t *single = notes->single + first, *sequence = notes->sequence + first;
  uint8_t *length = notes->length + first;
  const int size = image->size;
  for (int at = 0; at < size; at++) {
    uint8_t bytes[3] = {0, 0, 0};
    for (int i = 0; i < 3 && at + i < size; i++) bytes[i] = image->rom[at + i];
    pp_decoded d = pp_instruction_decode(bytes, (uint16_t)(image->home + at), image);
    // the operand of an instruction at the image's end comes from another image
    if (at + d.length > size || is_special(image, at, d.length)) {
      d = (pp_decoded){.handler = PP_OUT_IMP, .length = 1};
    }
    program[at] = (pp_instruction){NULL, d.operand, d.mask, d.low};
    single[at] = d.handler;
    length[at] = d.length;
  }
  for (int at = 0; at + 5 <= size; at++) find_wait(program, single, at);

  // the program may jump to any address, so sequences begin anywhere
  for (int at = 0; at < size; at++) {
    uint16_t ahead[4];
    int count = 0, used;
    for (int next = at; count < 4 && next < size; next += length[next]) {
      ahead[count++] = single[next];
    }
    sequence[at] = pp_instruction_sequence(ahead, count, &used);
    program[at].handler = handler[sequence[at]];
  }
}

/* Fills in instructions that the processor fetches and decodes when they run. */
static void defer_decoding(const void *const *handler, pp_instruction *program, int count) {
  for (int i = 0; i < count; i++) {
    program[i] = (pp_instruction){handler[PP_OUT_IMP], 0, 0, 0};
  }
}

/* one source, compiled for several processors */
typedef struct build {
  const char *name;
  pp_tia_drawer *draw;
} build;

/* best first */
static const build builds[] = {
#ifdef PP_BUILDS_X86
    {"v4", pp_tia_draw_avx512},
    {"v3", pp_tia_draw_avx2},
#endif
    {"base", pp_tia_draw_generic},
};
enum { BUILD_COUNT = sizeof(builds) / sizeof(builds[0]) };

/* Checks every feature that a build is compiled for, as a virtual machine may hide any of them. Not
 * all compilers can check LZCNT, which every processor with BMI has. */
static bool processor_can_run(const build *b) {
#ifdef PP_BUILDS_X86
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
            __builtin_cpu_supports("fma");
  if (strcmp(b->name, "v4") == 0) {
    return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  }
  if (strcmp(b->name, "v3") == 0) {
    return v3;
  }
#endif
  return strcmp(b->name, "base") == 0;
}

/* Translates the program, unless the build is the one without special instructions of a
 * processor. */
static void translate(pp_cartridge *c) {
  if (c->draw != pp_tia_draw_generic) pp_translate(c);
}

int pp_cartridge_use_build(pp_cartridge *c, const char *name) {
  for (int i = 0; i < BUILD_COUNT; i++) {
    if (strcmp(builds[i].name, name) != 0 || !processor_can_run(&builds[i])) continue;
    c->draw = c->counting->draw = builds[i].draw;
    pp_translation_remove(c);
    translate(c);
    return 0;
  }
  return PP_ERR_ATARI_BUILD;
}

static void use_best_build(pp_cartridge *c) {
  for (int i = 0; i < BUILD_COUNT; i++) {
    if (!processor_can_run(&builds[i])) continue;
    c->draw = builds[i].draw;
    return;
  }
}

/* returns how many addresses from xFC0 on are more than memory for the banked processor */
static uint32_t special_range(const pp_cartridge *c) {
  if (c->mapper == PP_MAPPER_NONE || c->mapper == PP_MAPPER_FE) return 0;
  if (c->mapper == PP_MAPPER_DPC) return 0x40 + 0x80;
  return c->has_ram ? 0x40 + 2 * PP_MAPPER_RAM : 0x40;
}

static pp_cartridge *allocate_copy(const pp_cartridge *like, size_t instructions) {
  pp_cartridge *c = malloc(sizeof(*c) + instructions * sizeof(c->program[0]));
  if (c) memcpy(c, like, sizeof(*c));
  return c;
}

static int decode(const pp_cartridge *like, pp_cartridge **out) {
  pp_code_image images[PP_MAPPER_IMAGES];
  int count = pp_mapper_images(like, images), size = images[0].size;
  pp_cartridge *c = allocate_copy(like, (size_t)count * (size_t)(size + 3));
  pp_cartridge *counting = allocate_copy(like, PP_BANK_BYTES + 3);
  pp_translation *translation = pp_translation_create((uint32_t)(count * (size + 3)));
  if (!c || !counting || !translation) {
    free(c);
    free(counting);
    pp_translation_destroy(translation);
    return PP_ERR_ATARI_MEMORY;
  }
  c->translation = translation;
  for (int i = 0; i < count; i++) {
    // the images' bytes are copied together with the cartridge
    images[i].rom = c->rom + (images[i].rom - like->rom);
    const int first = i * (size + 3);
    pp_instruction *program = c->program + first;
    decode_image(c->handler, &images[i], program, translation, (size_t)first);
    defer_decoding(c->handler, program + size, 3);
    for (int end = first + size; end < first + size + 3; end++) {
      translation->single[end] = translation->sequence[end] = PP_OUT_IMP;
      translation->length[end] = 1;
    }
  }
  defer_decoding(c->handler, counting->program, PP_BANK_BYTES + 3);
  counting->counts = 1;
  c->counting = counting;
  *out = c;
  return 0;
}

static int create(const uint8_t *rom, size_t size, const pp_game *row, pp_cartridge **out) {
  *out = NULL;
  bool has_ram;
  int mapper = pp_mapper_detect(rom, size, &has_ram);
  if (mapper < 0) return PP_ERR_ATARI_SIZE;
  pp_cartridge *c = calloc(1, sizeof(*c));
  if (!c) return PP_ERR_ATARI_MEMORY;

  // a 2 KB ROM appears twice
  memcpy(c->rom, rom, size);
  if (size == 2048) memcpy(c->rom + size, rom, size);
  c->mapper = (uint8_t)mapper;
  c->has_ram = has_ram;
  c->special = special_range(c);
  c->game = row;
  c->hardware = &row->hardware;
  c->lines = row->hardware.lines;
  c->first_line = row->hardware.first_line;
  c->last_line = row->hardware.pal ? PP_LAST_LINE_PAL : PP_LAST_LINE_NTSC;
  c->run = mapper == PP_MAPPER_NONE ? pp_processor_plain : pp_processor_banked;
  c->handler = c->run(NULL, NULL, NULL);
  use_best_build(c);
  int status = decode(c, out);
  free(c);
  if (status >= 0) translate(*out);
  return status;
}

int pp_cartridge_create(const uint8_t *rom, size_t size, const char *game, pp_cartridge **out) {
  *out = NULL;
  const pp_game *row = pp_game_find(game);
  if (!row) return PP_ERR_ATARI_GAME;
  int status = create(rom, size, row, out);
  if (status >= 0) (*out)->players = (*out)->counting->players = 1;
  return status;
}

int pp_cartridge_create_multiplayer(const uint8_t *rom, size_t size, const char *name, int players,
                                    pp_cartridge **out) {
  *out = NULL;
  const pp_multiplayer_rom *row = pp_multiplayer_rom_find(name);
  if (!row) return PP_ERR_ATARI_GAME;
  int status = create(rom, size, &row->game, out);
  if (status < 0) return status;
  (*out)->multiplayer = (*out)->counting->multiplayer = row;
  (*out)->players = (*out)->counting->players = players;
  return status;
}

void pp_cartridge_drop_rules(pp_cartridge *c) {
  c->game = &pp_game_without_rules;
}

void pp_cartridge_destroy(pp_cartridge *cartridge) {
  if (!cartridge) return;
  free(cartridge->counting);
  pp_translation_destroy(cartridge->translation);
  free(cartridge);
}
