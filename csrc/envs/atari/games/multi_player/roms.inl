// roms.inl: one row for each ROM that several players can play, in the order of their names.
//
// A file that includes it defines ROM(rom, start, ...) first: ale-py's name of the ROM, the actions
// with which each player starts (START, or NULL), and initialisers of a pp_game. ROM is undefined
// at the end. The first mode is the one in which ALE plays when it loads the ROM; modes that only
// one player can choose are left out. Heights, actions and difficulties are ALE's own answers; the
// rest was found by comparing RAM after loadROM and after reset_game with that of our console
// (tests/parity/test_atari_players.py compares them again).
// clang-format off

ROM(boxing, NULL, .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff, .difficulties = 0xf,
    .modes = (const uint16_t[]){1, 2}, .mode_count = 2, .mode_byte = 18, .mode_mask = 0xff,
    .select_frames = 1, .reset_frames = 4)
ROM(combat, NULL, .hardware = {.lines = 256, .first_line = 39, .pal = true}, .actions = 0x3ffff,
    .difficulties = 0xf, .modes = (const uint16_t[]){1, 2, 8, 9, 10, 11, 13, 14, 15, 16, 21, 22},
    .mode_count = 12, .mode_values = (const uint8_t[]){0, 1, 7, 8, 9, 10, 12, 13, 14, 15, 20, 21},
    .mode_byte = 0, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
ROM(double_dunk, START({10, 1}), .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
    .difficulties = 0x1, .modes = (const uint16_t[]){0, 16}, .mode_count = 2, .mode_byte = 48,
    .mode_mask = 0xff, .menu_bits = (const uint8_t[]){8, 16, 4, 32}, .menu_second_player = 64,
    .select_frames = 1, .reset_frames = 4)
ROM(entombed, START({1, 1}, {0, 5}), .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
    .difficulties = 0x5, .modes = (const uint16_t[]){1, 2, 3}, .mode_count = 3,
    .mode_values = (const uint8_t[]){1, 0, 0}, .mode_byte = 116, .mode_mask = 0xff,
    .select_frames = 1, .reset_frames = 4)
ROM(flag_capture, START({0, 10}), .hardware = {.lines = 210, .first_line = 34}, .actions = 0x003ff,
    .difficulties = 0x1, .modes = (const uint16_t[]){8, 1}, .mode_count = 2, .mode_byte = 86,
    .mode_mask = 0xff, .select_frames = 10, .reset_frames = 4)
ROM(ice_hockey, NULL, .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
    .difficulties = 0xf, .modes = (const uint16_t[]){0, 1}, .mode_count = 2, .mode_byte = 0,
    .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
ROM(joust, NULL, .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff, .difficulties = 0x1,
    .modes = (const uint16_t[]){0, 1}, .mode_count = 2, .mode_byte = 26, .mode_mask = 0xff,
    .select_frames = 1, .reset_frames = 4)
ROM(mario_bros, START({0, 10}, {1, 7}), .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
    .difficulties = 0x1, .modes = (const uint16_t[]){1, 2}, .mode_count = 2,
    .mode_values = (const uint8_t[]){0, 1}, .mode_byte = 0, .mode_mask = 0xff, .select_frames = 5,
    .reset_frames = 4)
ROM(maze_craze, NULL, .hardware = {.lines = 250, .first_line = 34, .pal = true}, .actions = 0x3ffff,
    .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 44, 45, 46, 47},
    .mode_count = 12, .mode_byte = 61, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
ROM(othello, NULL, .hardware = {.lines = 210, .first_line = 34}, .actions = 0x003ff, .difficulties = 0x5,
    .modes = (const uint16_t[]){1, 4}, .mode_count = 2, .mode_byte = 94, .mode_mask = 0xff,
    .select_frames = 2, .reset_frames = 4)
ROM(pong, NULL, .hardware = {.lines = 210, .first_line = 34, .paddles = 4, .paddle_max = 790196,
    .all_centered = true, .swapped = true}, .actions = 0x0181b, .difficulties = 0xf,
    .modes = (const uint16_t[]){1, 4, 6, 10, 11, 14, 16, 19, 21, 27, 29, 33, 35, 37, 39, 41, 45, 49},
    .mode_count = 18, .mode_values = (const uint8_t[]){0, 3, 5, 9, 10, 13, 15, 18, 20, 26, 28, 32,
    34, 36, 38, 40, 44, 48}, .mode_byte = 22, .mode_mask = 0xff, .select_frames = 2,
    .reset_frames = 4)
ROM(space_invaders, NULL, .hardware = {.lines = 210, .first_line = 34}, .actions = 0x0181b,
    .difficulties = 0x3, .modes = (const uint16_t[]){1, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64},
    .mode_count = 33, .mode_values = (const uint8_t[]){0, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41,
    42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63},
    .mode_byte = 92, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
ROM(space_war, NULL, .hardware = {.lines = 250, .first_line = 34, .pal = true}, .actions = 0x3ffff,
    .difficulties = 0x1, .modes = (const uint16_t[]){6, 1}, .mode_count = 2, .mode_byte = 39,
    .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
ROM(surround, NULL, .hardware = {.lines = 210, .first_line = 34, .swapped = true}, .actions = 0x0003d,
    .difficulties = 0xf, .modes = (const uint16_t[]){2, 1}, .mode_count = 2,
    .mode_values = (const uint8_t[]){1, 0}, .mode_byte = 121, .mode_mask = 0xff,
    .select_frames = 2, .reset_frames = 4)
ROM(tennis, NULL, .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff, .difficulties = 0xf,
    .modes = (const uint16_t[]){1, 2}, .mode_count = 2, .mode_values = (const uint8_t[]){0, 1},
    .mode_byte = 0, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
ROM(video_checkers, NULL, .hardware = {.lines = 210, .first_line = 34}, .actions = 0x003c2,
    .difficulties = 0x1, .modes = (const uint16_t[]){1, 10}, .mode_count = 2,
    .mode_values = (const uint8_t[]){1, 16}, .mode_byte = 48, .mode_mask = 0xff,
    .select_frames = 1, .reset_frames = 4)
ROM(warlords, NULL, .hardware = {.lines = 210, .first_line = 34, .paddles = 4, .paddle_max = 790196,
    .all_centered = true}, .actions = 0x0181b, .difficulties = 0x1,
    .modes = (const uint16_t[]){4, 1}, .mode_count = 2, .mode_values = (const uint8_t[]){3, 0},
    .mode_byte = 89, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
ROM(wizard_of_wor, NULL, .hardware = {.lines = 210, .first_line = 34, .swapped = true},
    .actions = 0x03c3e, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1}, .mode_count = 2,
    .mode_byte = 1, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)

#undef ROM
// clang-format on
