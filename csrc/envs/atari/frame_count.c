/* Frame count: counts the frames of a console as ALE does. */
#include "frame_count.h"

#include "base/state_check.h"
#include "console_check.h"

void pp_counted_power_up(pp_counted_console *counted, const pp_setup *setup, uint32_t random_seed,
                         double sticky) {
  pp_setup_load(setup, &counted->console, random_seed, sticky);
  counted->frames = counted->console.waited;
  counted->has_power = 1;
}

bool pp_counted_check(const pp_env *env, const pp_counted_console *counted,
                      const pp_counted_console *present, const pp_setup *setup) {
  return pp_state_check_range(env, "has_power", counted->has_power, 0, 1) &&
         pp_state_check_range(env, "frames", counted->frames, 0, PP_STATE_MOST) &&
         pp_state_check_range(env, "episode_frames", counted->episode_frames, 0, PP_STATE_MOST) &&
         pp_console_check(env, &counted->console, &present->console, setup, counted->has_power);
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
