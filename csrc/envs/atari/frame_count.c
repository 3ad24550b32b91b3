// frame_count.c: which frames count, of those that a console runs.
#include "frame_count.h"

void pp_cabinet_power_up(pp_cabinet *cabinet, const pp_arcade *arcade, uint32_t random_seed) {
  pp_arcade_load(arcade, &cabinet->console, random_seed);
  cabinet->frames = cabinet->console.waited;
  cabinet->has_power = 1;
}

void pp_cabinet_begin_game(pp_cabinet *cabinet, const pp_arcade *arcade) {
  pp_console_reset_game(&cabinet->console, arcade->cartridge);
  cabinet->frames += cabinet->console.waited;
  cabinet->episode_frames = cabinet->console.waited;
}

int pp_cabinet_act(pp_cabinet *cabinet, const pp_arcade *arcade, pp_move move, int draw) {
  pp_console *console = &cabinet->console;
  int counts = !pp_console_game_over(console);
  cabinet->frames += counts;
  cabinet->episode_frames += counts;
  return pp_console_act_by(console, arcade->cartridge, move.action, move.strength, draw);
}
