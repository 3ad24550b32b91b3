// frame_count.c: counts the frames of a console as ALE does.
#include "frame_count.h"

void pp_counted_power_up(pp_counted_console *counted, const pp_setup *setup, uint32_t random_seed,
                         double sticky) {
  pp_setup_load(setup, &counted->console, random_seed, sticky);
  counted->frames = counted->console.waited;
  counted->has_power = 1;
}

void pp_counted_begin_game(pp_counted_console *counted, const pp_setup *setup) {
  pp_console_reset_game(&counted->console, setup->cartridge);
  counted->frames += counted->console.waited;
  counted->episode_frames = counted->console.waited;
}

int pp_counted_act(pp_counted_console *counted, const pp_setup *setup, pp_move move, bool draw) {
  pp_console *console = &counted->console;
  bool counts = !pp_console_game_over(console);
  counted->frames += counts;
  counted->episode_frames += counts;
  return pp_console_act_by(console, setup->cartridge, move.action, move.strength, draw);
}
