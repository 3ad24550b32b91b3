/* Cartridges: prints what the console makes of ROMs before it plays them, one line for each ROM and
 * build: a hash of the decoded program, of its translation and of the cartridge's other data.
 *
 * prepared.py runs the one of two revisions, each with its own console, and compares the lines. The
 * input has one line for each ROM: the number of players (0: a game of one), the game's name, the
 * file. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "envs/atari/console/cartridge.h"
#include "envs/atari/console/machine.h"
#include "envs/atari/console/translation/translation.h"
#include "envs/atari/games/games.h"

enum { LONGEST_ROM = 1 << 16 };

/* FNV-1a of 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/) */
typedef struct hash {
  uint64_t value;
} hash;

static void add(hash *h, const void *data, size_t size) {
  const uint8_t *byte = data;
  for (size_t i = 0; i < size; i++) h->value = (h->value ^ byte[i]) * 0x100000001b3u;
}

static void add_number(hash *h, uint64_t number) {
  add(h, &number, sizeof(number));
}

/* a handler of the processor; its address differs between programs */
typedef struct numbered {
  uintptr_t address;
  int number;
} numbered;

static numbered table[PP_HANDLER_COUNT];

static int by_address(const void *a, const void *b) {
  const numbered *left = a, *right = b;
  return (left->address > right->address) - (left->address < right->address);
}

static void number_handlers(const pp_cartridge *c) {
  for (int i = 0; i < PP_HANDLER_COUNT; i++) {
    table[i] = (numbered){(uintptr_t)c->handler[i], i};
  }
  qsort(table, PP_HANDLER_COUNT, sizeof(table[0]), by_address);
}

static void add_instructions(hash *h, const pp_cartridge *c, size_t count) {
  number_handlers(c);
  for (size_t i = 0; i < count; i++) {
    const pp_instruction *at = &c->program[i];
    const numbered wanted = {(uintptr_t)at->handler, 0};
    const numbered *it = bsearch(&wanted, table, PP_HANDLER_COUNT, sizeof(wanted), by_address);
    const int numbers[] = {it ? it->number : -1, at->operand, at->mask, at->low};
    add(h, numbers, sizeof(numbers));
  }
}

static void add_facts(hash *h, const pp_cartridge *c) {
  pp_tia_drawer *const draws[] = {
#if PP_ISA_X86
      pp_tia_draw_avx512,
      pp_tia_draw_avx2,
#endif
      pp_tia_draw_generic,
  };
  uint64_t draw = 0;
  while (draw < sizeof(draws) / sizeof(draws[0]) && c->draw != draws[draw]) draw++;
  add_number(h, draw);
  add(h, c->rom, sizeof(c->rom));
  const uint64_t numbers[] = {
      c->mapper,
      c->has_ram,
      c->counts,
      c->special,
      (uint64_t)c->players,
      (uint64_t)c->lines,
      (uint64_t)c->first_line,
      (uint64_t)c->last_line,
      c->run == pp_processor_plain,
      c->run == pp_processor_banked,
      c->handler == c->run(NULL, NULL, NULL),
      c->hardware == &c->game->hardware,
      c->multiplayer != NULL,
  };
  add(h, numbers, sizeof(numbers));
  add(h, c->game->name, strlen(c->game->name));
}

static void add_translation(hash *h, const pp_translation *t) {
  add_number(h, t->count);
  add(h, t->single, t->count * sizeof(t->single[0]));
  add(h, t->length, t->count * sizeof(t->length[0]));
  add_number(h, t->code ? t->size : 0);
  add_number(h, t->entry != NULL);
  if (t->code) add(h, t->code, t->size);
  if (t->entry) add(h, t->entry, t->count * sizeof(t->entry[0]));
  add_number(h, t->code && (const uint8_t *)(uintptr_t)t->enter == t->code);
}

static void print(const char *file, const char *build, const pp_cartridge *c) {
  hash h = {0xcbf29ce484222325u};
  add_facts(&h, c);
  add_instructions(&h, c, c->translation->count);
  add_translation(&h, c->translation);
  add_facts(&h, c->counting);
  add_instructions(&h, c->counting, PP_BANK_BYTES + 3);
  add_number(&h, c->counting->translation == NULL);
  printf("%s %s %016" PRIx64 " %zu\n", file, build, h.value,
         c->translation->code ? c->translation->size : 0);
}

/* Prints the lines of a ROM; false if its file cannot be read. */
static bool print_rom(int players, const char *game, const char *file) {
  static const char *const builds[] = {"base", "v3", "v4"};
  static uint8_t rom[LONGEST_ROM];
  FILE *in = fopen(file, "rb");
  if (!in) return false;
  size_t size = fread(rom, 1, sizeof(rom), in);
  fclose(in);
  for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
    pp_cartridge_options options = {.rom = rom, .size = size, .game = game, .players = players};
    pp_cartridge *c = NULL;
    if (!pp_cartridge_choose_build(&options, builds[i]) || pp_cartridge_create(&options, &c) < 0) {
      printf("%s %s is refused\n", file, builds[i]);
    } else {
      print(file, builds[i], c);
    }
    pp_cartridge_destroy(c);
  }
  return true;
}

int main(void) {
  char game[100], file[4096];
  int players;
  while (scanf("%d %99s %4095[^\n]", &players, game, file) == 3) {
    if (!print_rom(players, game, file)) {
      fprintf(stderr, "cannot read %s\n", file);
      return 1;
    }
  }
  return 0;
}
