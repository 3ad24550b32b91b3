/* Console: power-up, resets, modes, sticky actions, and which frames get pixels. */
#include "console.h"

#include <string.h>

#include "../games/multiplayer/roms.h"
#include "controls.h"

enum {
  SYSTEM_SEED = 4753849,
  RESET_SWITCH = 1,
  SELECT_SWITCH = 2,
  RIGHT_ACTION = 3,
  DOWN_ACTION = 5,
  UP_FIRE_ACTION = 10,
  /* frames; with sticky = 1 the stick never moves, and no mode is reached */
  LONGEST_CHOICE = 30000,
};

/* ------------------------------------------------------------------------------------ frames -- */

void pp_console_use_cache(pp_console *c, pp_line_cache *cache) {
  c->cache_at = (char *)cache - (char *)c;
}

static pp_line_cache *cache_of(pp_console *c) {
  return c->cache_at ? (pp_line_cache *)((char *)c + c->cache_at) : NULL;
}

/* Runs a frame of a machine, with pixels in a screen or without. Returns the pixels that it
 * covered. */
static int run_frame(pp_console *c, pp_machine *machine, const pp_cartridge *cart, int screen,
                     bool draw) {
  const pp_canvas canvas = {.screen = draw ? c->screen[screen] : NULL,
                            .other = c->screen[screen ^ 1],
                            .which = screen,
                            .cache = cache_of(c)};
  return pp_machine_frame(machine, cart, &canvas);
}

void pp_console_frame(pp_console *c, const pp_cartridge *cart, bool draw) {
  const int full = cart->lines * PP_LINE_PIXELS;
  if (c->machine.partial) {
    // the frame continues in the screen in which it began
    run_frame(c, &c->machine, cart, c->shown, true);
    return;
  }
  int s = c->shown ^= 1;

  // a frame shorter than the screen keeps older rows, so such frames are always drawn
  pp_machine start = c->machine;
  bool drawn = draw || c->last_was_short;
  int covered = run_frame(c, &c->machine, cart, s, drawn);
  if (covered < full && (!drawn || c->is_undrawn[s])) {
    if (c->is_undrawn[s]) run_frame(c, &c->before_undrawn[s], cart, s, true);
    c->machine = start;
    run_frame(c, &c->machine, cart, s, true);
    drawn = true;
  }
  if (!drawn) c->before_undrawn[s] = start;
  c->is_undrawn[s] = !drawn;
  c->last_was_short = covered < full;
}

const uint8_t *pp_console_draw(pp_console *c, const pp_cartridge *cart) {
  int last = c->shown;
  if (c->is_undrawn[last]) {
    run_frame(c, &c->before_undrawn[last], cart, last, true);
    c->is_undrawn[last] = 0;
  }
  return c->screen[last];
}

void pp_console_changed(pp_console *c, uint8_t changed[PP_LINES_MAX]) {
  pp_line_cache *cache = cache_of(c);
  if (cache) {
    pp_line_cache_changed(cache, changed);
  } else {
    memset(changed, 1, PP_LINES_MAX);
  }
}

/* -------------------------------------------------------------------------- frames and rules -- */

/* Sets the controllers' pins by the action of the only player. */
static void set_controls(pp_console *c, const pp_cartridge *cart, int action, float strength) {
  pp_controls_release(&c->machine);
  pp_controls_apply(&c->machine, cart->hardware, 0, action, strength);
}

/* Applies the game's rule to the memory after a frame. With several players, ALE leaves out the
 * frames in which SELECT is pressed. */
static void update_score(pp_console *c, const pp_cartridge *cart, unsigned pressed) {
  if (cart->multiplayer) {
    if (pressed & SELECT_SWITCH) return;
    cart->multiplayer->rule->step(&c->scores, c->machine.ram, c->mode, cart->players);
    return;
  }
  const pp_rule *rule = cart->game->rule;
  if (!rule) return;
  if (!cart->has_ram) {
    rule->step(&c->score, c->machine.ram);
    return;
  }
  uint8_t memory[sizeof(c->machine.ram) + PP_MAPPER_RAM];
  memcpy(memory, c->machine.ram, sizeof(c->machine.ram));
  memcpy(memory + sizeof(c->machine.ram), c->machine.banks.ram, PP_MAPPER_RAM);
  rule->step(&c->score, memory);
}

void pp_console_idle(pp_console *c, const pp_cartridge *cart, int action, unsigned pressed,
                     int frames) {
  for (int i = 0; i < frames; i++) {
    set_controls(c, cart, action, 1);
    c->machine.port_b = (uint8_t)(c->switches & ~pressed);
    pp_console_frame(c, cart, false);
    update_score(c, cart, pressed);
  }
  c->machine.port_b = c->switches;
}

/* ------------------------------------------------------------------------------------- reset -- */

/* the timer holds a random value after power-up */
static void randomize_timer(pp_console *c) {
  c->machine.timer = (uint8_t)(25 + pp_mt19937_next(&c->system_random) % 75);
  c->machine.timer_shift = 6;
}

/* The console's RAM keeps its values; the cartridge's RAM gets random ones. */
void pp_console_power(pp_console *c, const pp_cartridge *cart) {
  pp_machine *m = &c->machine;
  pp_machine before = *m;
  memset(m, 0, sizeof(*m));
  memcpy(m->ram, before.ram, sizeof(m->ram));
  randomize_timer(c);
  for (int i = 0; cart->has_ram && i < PP_MAPPER_RAM; i++) {
    m->banks.ram[i] = (uint8_t)pp_mt19937_next(&c->system_random);
  }
  m->last_line = (uint16_t)cart->last_line;
  m->sp = 0xff;
  m->nz = 1;
  pp_banks_reset(&m->banks, cart);
  m->pc = pp_banks_vector(&m->banks, cart);
  m->vsync_end = UINT32_MAX;
  m->tia.no_comb = cart->hardware->no_comb;
  m->tia.stale = (1u << PP_OBJECTS) - 1;
  pp_controls_power(m, cart->hardware);
  c->held_action = 0;
  c->held_strength = 1;
  c->switches = (uint8_t)(0x3f | (c->difficulty & 1) << 6 | (c->difficulty & 2) << 6);
}

static void start_score(pp_console *c, const pp_cartridge *cart) {
  if (cart->multiplayer) {
    const pp_multiplayer_rule *rule = cart->multiplayer->rule;
    memset(&c->scores, 0, sizeof(c->scores));
    if (rule->reset) rule->reset(&c->scores, c->mode, cart->players);
    return;
  }
  const pp_rule *rule = cart->game->rule;
  memset(&c->score, 0, sizeof(c->score));
  if (rule && rule->reset) rule->reset(&c->score);
}

/* ALE counts these frames as played, but draws no random numbers for them */
static void wait_for_mode(pp_console *c, const pp_cartridge *cart, int frames) {
  pp_console_idle(c, cart, 0, 0, frames);
  c->waited = (uint16_t)(c->waited + frames);
}

/* holds RESET; after that, no earlier action sticks */
static void press_reset(pp_console *c, const pp_cartridge *cart, int frames) {
  pp_console_idle(c, cart, 0, RESET_SWITCH, frames);
  c->held_action = 0;
}

static void press_select(pp_console *c, const pp_cartridge *cart) {
  const pp_game *game = cart->game;
  int longer = game->select_is_random ? (int)(pp_mt19937_next(&c->action_random) % 256) : 0;
  pp_console_idle(c, cart, 0, SELECT_SWITCH, game->select_frames + longer);
  wait_for_mode(c, cart, 1);
  if (!game->select_is_random) return;
  (void)pp_mt19937_next(&c->action_random);
  (void)pp_mt19937_next(&c->action_random);
  wait_for_mode(c, cart, 1);
}

/* plays a frame with an action as if the player had chosen it: the previous action may stick */
static void play_for_mode(pp_console *c, const pp_cartridge *cart, int action) {
  pp_console_hold(c, action, 1);
  pp_console_idle(c, cart, c->held_action, 0, 1);
  c->waited++;
}

/* returns a byte of memory: the console's 128 bytes, then the cartridge's own */
static const uint8_t *memory_at(const pp_console *c, int byte) {
  const int own = sizeof(c->machine.ram);
  return byte < own ? &c->machine.ram[byte] : &c->machine.banks.ram[byte - own];
}

/* pushes and releases the stick until these bits of the byte have the wanted value */
static void push_until(pp_console *c, const pp_cartridge *cart, int action, const uint8_t *byte,
                       unsigned bits, unsigned wanted) {
  while ((*byte & bits) != wanted && c->waited < LONGEST_CHOICE) {
    play_for_mode(c, cart, action);
    play_for_mode(c, cart, 0);
  }
}

static void select_in_menu(pp_console *c, const pp_cartridge *cart) {
  const pp_game *game = cart->game;
  press_select(c, cart);
  unsigned second = game->menu_second_player;
  if (second) {
    push_until(c, cart, RIGHT_ACTION, memory_at(c, 0), second, c->mode >> 4 & 1 ? second : 0);
  }
  for (int i = 0; i < PP_MENU_SWITCHES; i++) {
    unsigned bit = game->menu_bits[i];
    push_until(c, cart, DOWN_ACTION, memory_at(c, game->mode_byte), 0xff, PP_MENU_FIRST + i);
    push_until(c, cart, RIGHT_ACTION, memory_at(c, 0), bit, c->mode >> i & 1 ? bit : 0);
  }
}

static void select_cube(pp_console *c, const pp_cartridge *cart) {
  int cube = c->mode / 100, wanted = cube / 10 << 4 | cube % 10;
  const uint8_t *byte = memory_at(c, cart->game->cube_byte);
  while (*byte != wanted && c->waited < LONGEST_CHOICE) play_for_mode(c, cart, RIGHT_ACTION);
}

static void select_by_presses(pp_console *c, const pp_cartridge *cart) {
  const pp_game *game = cart->game;
  int at = pp_game_mode(game, c->mode);
  int wanted = game->mode_values ? game->mode_values[at] : c->mode;
  const uint8_t *byte = memory_at(c, game->mode_byte);
  for (int i = 0; i < game->mode_wait; i++) play_for_mode(c, cart, 0);
  // limited, as a program without this mode would never reach it
  for (int tries = 0; tries < 256 && (*byte & game->mode_mask) != wanted; tries++) {
    press_select(c, cart);
  }
}

static void select_mode(pp_console *c, const pp_cartridge *cart) {
  const pp_game *game = cart->game;
  if (game->menu_bits) {
    select_in_menu(c, cart);
  } else if (game->mode_byte >= 0) {
    select_by_presses(c, cart);
  }
  press_reset(c, cart, game->reset_frames);
  if (game->cube_byte && c->mode >= 100) select_cube(c, cart);
  if (game->menu_bits && !game->menu_second_player) {
    play_for_mode(c, cart, UP_FIRE_ACTION);
    play_for_mode(c, cart, 0);
  }
}

/* Runs a frame with an action of each player. */
static void play_multiplayer(pp_console *c, const pp_cartridge *cart, const uint8_t *actions,
                             bool draw) {
  pp_controls_release(&c->machine);
  for (int i = 0; i < cart->players; i++) {
    pp_controls_apply(&c->machine, cart->hardware, i, actions[i], 1);
  }
  c->machine.port_b = c->switches;
  pp_console_frame(c, cart, draw);
  update_score(c, cart, 0);
}

/* One player after the other plays the start actions, each followed by a frame without an action.
 * ALE does this for two players, however many there are. */
static void start_multiplayer(pp_console *c, const pp_cartridge *cart) {
  static const pp_start_action none = {0};
  const pp_start_action *listed = cart->multiplayer->start_actions;
  for (int player = 0; player < 2; player++) {
    uint8_t actions[PP_ATARI_MAX_PLAYERS] = {0};
    for (const pp_start_action *a = listed ? listed : &none; a->frames; a++) {
      actions[player] = (uint8_t)a->action;
      for (int i = 0; i < a->frames; i++) play_multiplayer(c, cart, actions, false);
    }
    actions[player] = 0;
    play_multiplayer(c, cart, actions, false);
  }
}

void pp_console_reset_game(pp_console *c, const pp_cartridge *cart) {
  pp_console_power(c, cart);
  pp_console_idle(c, cart, 0, 0, 60);
  press_reset(c, cart, 4);
  start_score(c, cart);
  c->waited = 0;
  select_mode(c, cart);
  press_reset(c, cart, 4);
  // these actions never stick, and draw no random numbers
  for (const pp_start_action *o = cart->game->start_actions; o && o->frames; o++) {
    unsigned pressed = o->action == PP_START_RESET ? RESET_SWITCH : 0;
    pp_console_idle(c, cart, pressed ? 0 : o->action, pressed, o->frames);
  }
  if (cart->multiplayer) start_multiplayer(c, cart);
}

size_t pp_console_size(void) {
  return sizeof(pp_console);
}

/* Does what ALE does before the reset of loadROM. */
static void switch_on(pp_console *c, const pp_cartridge *cart, uint32_t system_seed) {
  pp_line_cache *cache = cache_of(c);
  memset(c, 0, sizeof(*c));
  if (cache) {
    // the screens were cleared, too
    pp_line_cache_empty(cache);
    pp_console_use_cache(c, cache);
  }
  pp_mt19937_seed(&c->system_random, system_seed);
  c->mode = cart->game->modes[0];

  // RAM holds random values at first. Then ALE runs the program for sixty frames, none longer than
  // NTSC's, to detect the television standard; what the program writes to RAM stays.
  for (int i = 0; i < 128; i++) c->machine.ram[i] = (uint8_t)pp_mt19937_next(&c->system_random);
  randomize_timer(c);
  pp_console_power(c, cart);
  c->machine.last_line = PP_LAST_LINE_NTSC;
  pp_console_idle(c, cart, 0, 0, 60);
  pp_console_power(c, cart);
}

void pp_console_load(pp_console *c, const pp_cartridge *cart, uint32_t random_seed, float sticky) {
  switch_on(c, cart, SYSTEM_SEED);
  pp_mt19937_seed(&c->action_random, random_seed);
  c->sticky = sticky;
  pp_console_reset_game(c, cart);
}

void pp_console_load_multiplayer(pp_console *c, const pp_cartridge *cart, uint32_t random_seed) {
  switch_on(c, cart, random_seed);
  // this ALE seeds its generator again after it has made the console
  pp_mt19937_seed(&c->system_random, random_seed);
  pp_console_reset_game(c, cart);
}

/* ---------------------------------------------------------------------------------- settings -- */

int pp_console_set_mode(pp_console *c, const pp_cartridge *cart, int mode) {
  if (pp_game_mode(cart->game, mode) < 0) return PP_ERR_ATARI_MODE;
  c->mode = (uint16_t)mode;
  return 0;
}

int pp_console_set_difficulty(pp_console *c, const pp_cartridge *cart, int difficulty) {
  bool exists = 0 <= difficulty && difficulty < 8 && cart->game->difficulties >> difficulty & 1;
  if (!exists) return PP_ERR_ATARI_DIFFICULTY;
  c->difficulty = (uint8_t)difficulty;
  return 0;
}

/* -------------------------------------------------------------------------------------- play -- */

void pp_console_hold(pp_console *c, int action, float strength) {
  // ALE draws a number for both players in every frame, even if no action can stick
  uint32_t word = pp_mt19937_next(&c->action_random);
  (void)pp_mt19937_next(&c->action_random);
  if (word * 0x1p-32 < (double)c->sticky) return;
  c->held_action = (uint8_t)action;
  c->held_strength = strength;
}

int pp_console_act_by(pp_console *c, const pp_cartridge *cart, int action, float strength,
                      bool draw) {
  pp_console_hold(c, action, strength);
  if (c->score.over) return 0;
  set_controls(c, cart, c->held_action, c->held_strength);
  c->machine.port_b = c->switches;
  pp_console_frame(c, cart, draw);
  update_score(c, cart, 0);
  return c->score.reward;
}

int pp_console_act(pp_console *c, const pp_cartridge *cart, int action, bool draw) {
  return pp_console_act_by(c, cart, action, 1, draw);
}

void pp_console_act_multiplayer(pp_console *c, const pp_cartridge *cart, const uint8_t *actions,
                                bool draw) {
  // ALE draws a number for each player, even if no action can stick
  for (int i = 0; i < cart->players; i++) (void)pp_mt19937_next(&c->system_random);
  if (c->scores.over) {
    memset(c->scores.reward, 0, sizeof(c->scores.reward));
    return;
  }
  play_multiplayer(c, cart, actions, draw);
}

bool pp_console_game_over(const pp_console *c) {
  return c->score.over;
}

int pp_console_lives(const pp_console *c) {
  return c->score.lives;
}

const uint8_t *pp_console_ram(const pp_console *c) {
  return c->machine.ram;
}

const uint8_t *pp_console_screen(const pp_console *c) {
  return c->screen[c->shown];
}
