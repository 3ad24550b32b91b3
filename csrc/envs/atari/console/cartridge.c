/* Cartridge: decodes a ROM into the form that the interpreter runs. */
#include "cartridge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../games/games.h"
#include "../games/multiplayer/roms.h"
#include "machine.h"
#include "pp_env.h"
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
  uint16_t *single = notes->single + first;
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
    program[at].handler = handler[pp_instruction_sequence(ahead, count, &used)];
  }
}

/* Fills in instructions that the processor fetches and decodes when they run. */
static void defer_decoding(const void *const *handler, pp_instruction *program, int count) {
  for (int i = 0; i < count; i++) {
    program[i] = (pp_instruction){handler[PP_OUT_IMP], 0, 0, 0};
  }
}

/* ------------------------------------------------------------------------------------ builds -- */

bool pp_cartridge_choose_build(pp_cartridge_options *options, const char *build) {
  static const struct {
    const char *name;
    pp_isa isa;
  } builds[] = {{"base", PP_ISA_GENERIC}, {"v3", PP_ISA_AVX2}, {"v4", PP_ISA_AVX512}};
  options->isa = pp_isa_best();
  options->interprets = false;
  if (!build || build[0] == 0) return true;
  for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
    if (strcmp(build, builds[i].name) != 0 || builds[i].isa > options->isa) continue;
    options->isa = builds[i].isa;
    options->interprets = builds[i].isa == PP_ISA_GENERIC;
    return true;
  }
  return false;
}

static pp_tia_drawer *draw_with(pp_isa isa) {
#if PP_ISA_X86
  if (isa == PP_ISA_AVX512) return pp_tia_draw_avx512;
  if (isa == PP_ISA_AVX2) return pp_tia_draw_avx2;
#else
  (void)isa;
#endif
  return pp_tia_draw_generic;
}

/* ---------------------------------------------------------------------------------- creation -- */

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
    return PP_ERR_MEMORY;
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
      translation->single[end] = PP_OUT_IMP;
      translation->length[end] = 1;
    }
  }
  defer_decoding(c->handler, counting->program, PP_BANK_BYTES + 3);
  counting->counts = 1;
  c->counting = counting;
  *out = c;
  return 0;
}

/* Fills in what the mapper, the game and the computer decide. Returns false if no mapper has ROMs
 * of this size. */
static bool fill(pp_cartridge *c, const pp_cartridge_options *o, const pp_game *game) {
  bool has_ram;
  int mapper = pp_mapper_detect(o->rom, o->size, &has_ram);
  if (mapper < 0) return false;
  // a 2 KB ROM appears twice
  memcpy(c->rom, o->rom, o->size);
  if (o->size == 2048) memcpy(c->rom + o->size, o->rom, o->size);
  c->mapper = (uint8_t)mapper;
  c->has_ram = has_ram;
  c->special = special_range(c);
  c->game = game;
  c->players = o->players ? o->players : 1;
  c->hardware = &game->hardware;
  c->lines = game->hardware.lines;
  c->first_line = game->hardware.first_line;
  c->last_line = game->hardware.pal ? PP_LAST_LINE_PAL : PP_LAST_LINE_NTSC;
  c->run = mapper == PP_MAPPER_NONE ? pp_processor_plain : pp_processor_banked;
  c->handler = c->run(NULL, NULL, NULL);
  c->draw = draw_with(pp_isa_limit(o->isa));
  return true;
}

int pp_cartridge_create(const pp_cartridge_options *options, pp_cartridge **out) {
  *out = NULL;
  const pp_multiplayer_rom *several =
      options->players ? pp_multiplayer_rom_find(options->game) : NULL;
  const pp_game *game = !options->players ? pp_game_find(options->game)
                        : several         ? &several->game
                                          : NULL;
  if (!game) return PP_ERR_ARGUMENT;
  pp_cartridge *c = calloc(1, sizeof(*c));
  if (!c) return PP_ERR_MEMORY;
  c->multiplayer = several;
  int status = fill(c, options, game) ? decode(c, out) : PP_ERR_ARGUMENT;
  free(c);
  if (status >= 0 && !options->interprets) pp_translate(*out);
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
