// pettingzoo.inl: the games of PettingZoo's Atari page, in the order of their names.
//
// A file that includes it defines GAME(game, version, rom, players, mode, options) first: the
// page's name of the game and its version; ale-py's name of the ROM; how many play, 0 if an option
// says so; the mode, 0 if options choose it; and the table of the game's options. GAME is undefined
// at the end.
// clang-format off

GAME(basketball_pong, 3, pong, 0, 0, basketball_pong_options)
GAME(boxing, 2, boxing, 2, 2, common_options)
GAME(combat_plane, 2, combat, 2, 0, combat_plane_options)
GAME(combat_tank, 2, combat, 2, 0, combat_tank_options)
GAME(double_dunk, 3, double_dunk, 2, 16, common_options)
GAME(entombed_competitive, 3, entombed, 2, 2, common_options)
GAME(entombed_cooperative, 3, entombed, 2, 3, common_options)
GAME(flag_capture, 2, flag_capture, 2, 1, common_options)
GAME(foozpong, 3, pong, 0, 0, foozpong_options)
GAME(ice_hockey, 2, ice_hockey, 2, 1, common_options)
GAME(joust, 3, joust, 2, 1, common_options)
GAME(mario_bros, 3, mario_bros, 2, 2, common_options)
GAME(maze_craze, 3, maze_craze, 2, 0, maze_craze_options)
GAME(othello, 3, othello, 2, 4, common_options)
GAME(pong, 3, pong, 0, 0, pong_options)
GAME(quadrapong, 4, pong, 4, 33, common_options)
GAME(space_invaders, 2, space_invaders, 2, 0, space_invaders_options)
GAME(space_war, 2, space_war, 2, 1, common_options)
GAME(surround, 2, surround, 2, 1, common_options)
GAME(tennis, 3, tennis, 2, 2, common_options)
GAME(video_checkers, 4, video_checkers, 2, 10, common_options)
GAME(volleyball_pong, 3, pong, 0, 0, volleyball_pong_options)
GAME(warlords, 3, warlords, 4, 1, common_options)
GAME(wizard_of_wor, 3, wizard_of_wor, 2, 1, common_options)

#undef GAME
// clang-format on
