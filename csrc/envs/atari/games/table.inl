// table.inl: a row for every game that ale-py can play. Included by games.c.
//
// Written by `python -m tests.parity.atari_facts --write`: change that, not this.
// clang-format off

extern const pp_rule pp_rule_adventure;
extern const pp_rule pp_rule_air_raid;
extern const pp_rule pp_rule_alien;
extern const pp_rule pp_rule_amidar;
extern const pp_rule pp_rule_assault;
extern const pp_rule pp_rule_asterix;
extern const pp_rule pp_rule_asteroids;
extern const pp_rule pp_rule_atlantis;
extern const pp_rule pp_rule_atlantis2;
extern const pp_rule pp_rule_backgammon;
extern const pp_rule pp_rule_bank_heist;
extern const pp_rule pp_rule_basic_math;
extern const pp_rule pp_rule_battle_zone;
extern const pp_rule pp_rule_beam_rider;
extern const pp_rule pp_rule_berzerk;
extern const pp_rule pp_rule_blackjack;
extern const pp_rule pp_rule_bowling;
extern const pp_rule pp_rule_boxing;
extern const pp_rule pp_rule_breakout;
extern const pp_rule pp_rule_carnival;
extern const pp_rule pp_rule_casino;
extern const pp_rule pp_rule_centipede;
extern const pp_rule pp_rule_chopper_command;
extern const pp_rule pp_rule_crazy_climber;
extern const pp_rule pp_rule_crossbow;
extern const pp_rule pp_rule_darkchambers;
extern const pp_rule pp_rule_defender;
extern const pp_rule pp_rule_demon_attack;
extern const pp_rule pp_rule_donkey_kong;
extern const pp_rule pp_rule_double_dunk;
extern const pp_rule pp_rule_earthworld;
extern const pp_rule pp_rule_elevator_action;
extern const pp_rule pp_rule_enduro;
extern const pp_rule pp_rule_entombed;
extern const pp_rule pp_rule_et;
extern const pp_rule pp_rule_fishing_derby;
extern const pp_rule pp_rule_flag_capture;
extern const pp_rule pp_rule_freeway;
extern const pp_rule pp_rule_frogger;
extern const pp_rule pp_rule_frostbite;
extern const pp_rule pp_rule_galaxian;
extern const pp_rule pp_rule_gopher;
extern const pp_rule pp_rule_gravitar;
extern const pp_rule pp_rule_hangman;
extern const pp_rule pp_rule_haunted_house;
extern const pp_rule pp_rule_hero;
extern const pp_rule pp_rule_human_cannonball;
extern const pp_rule pp_rule_ice_hockey;
extern const pp_rule pp_rule_jamesbond;
extern const pp_rule pp_rule_journey_escape;
extern const pp_rule pp_rule_kaboom;
extern const pp_rule pp_rule_kangaroo;
extern const pp_rule pp_rule_keystone_kapers;
extern const pp_rule pp_rule_king_kong;
extern const pp_rule pp_rule_klax;
extern const pp_rule pp_rule_koolaid;
extern const pp_rule pp_rule_krull;
extern const pp_rule pp_rule_kung_fu_master;
extern const pp_rule pp_rule_laser_gates;
extern const pp_rule pp_rule_lost_luggage;
extern const pp_rule pp_rule_mario_bros;
extern const pp_rule pp_rule_miniature_golf;
extern const pp_rule pp_rule_montezuma_revenge;
extern const pp_rule pp_rule_mr_do;
extern const pp_rule pp_rule_ms_pacman;
extern const pp_rule pp_rule_name_this_game;
extern const pp_rule pp_rule_othello;
extern const pp_rule pp_rule_pacman;
extern const pp_rule pp_rule_phoenix;
extern const pp_rule pp_rule_pitfall;
extern const pp_rule pp_rule_pitfall2;
extern const pp_rule pp_rule_pong;
extern const pp_rule pp_rule_pooyan;
extern const pp_rule pp_rule_private_eye;
extern const pp_rule pp_rule_qbert;
extern const pp_rule pp_rule_riverraid;
extern const pp_rule pp_rule_road_runner;
extern const pp_rule pp_rule_robotank;
extern const pp_rule pp_rule_seaquest;
extern const pp_rule pp_rule_sir_lancelot;
extern const pp_rule pp_rule_skiing;
extern const pp_rule pp_rule_solaris;
extern const pp_rule pp_rule_space_invaders;
extern const pp_rule pp_rule_space_war;
extern const pp_rule pp_rule_star_gunner;
extern const pp_rule pp_rule_superman;
extern const pp_rule pp_rule_surround;
extern const pp_rule pp_rule_tennis;
extern const pp_rule pp_rule_tetris;
extern const pp_rule pp_rule_tic_tac_toe_3d;
extern const pp_rule pp_rule_time_pilot;
extern const pp_rule pp_rule_trondead;
extern const pp_rule pp_rule_turmoil;
extern const pp_rule pp_rule_tutankham;
extern const pp_rule pp_rule_up_n_down;
extern const pp_rule pp_rule_venture;
extern const pp_rule pp_rule_video_checkers;
extern const pp_rule pp_rule_video_chess;
extern const pp_rule pp_rule_video_cube;
extern const pp_rule pp_rule_video_pinball;
extern const pp_rule pp_rule_wizard_of_wor;
extern const pp_rule pp_rule_word_zapper;
extern const pp_rule pp_rule_yars_revenge;
extern const pp_rule pp_rule_zaxxon;

static const pp_game games[] = {
    {.name = "adventure", .rule = &pp_rule_adventure, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 1, 2}, .mode_count = 3, .mode_byte = 93,
     .mode_values = (const uint8_t[]){0, 2, 4}, .mode_mask = 0xff, .mode_chance = true,
     .select_frames = 2, .soft = 4},
    {.name = "air_raid", .rule = &pp_rule_air_raid, .actions = 0x0181b, .difficulties = 0x1,
     .modes = (const uint16_t[]){1, 2, 3, 4, 5, 6, 7, 8}, .mode_count = 8, .mode_byte = 42,
     .mode_mask = 0xff, .select_frames = 1, .soft = 4, .start = (const pp_opening[]){{1, 1}, {0}}},
    {.name = "alien", .rule = &pp_rule_alien, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 1, 2, 3}, .mode_count = 4, .mode_byte = 1, .mode_mask = 0xff,
     .select_frames = 1, .soft = 4},
    {.name = "amidar", .rule = &pp_rule_amidar, .actions = 0x03c3f, .difficulties = 0x9,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "assault", .rule = &pp_rule_assault, .actions = 0x0181f, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "asterix", .rule = &pp_rule_asterix, .actions = 0x003fd, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{1, 1}, {0}}},
    {.name = "asteroids", .rule = &pp_rule_asteroids, .actions = 0x0fcff, .difficulties = 0x9,
     .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
     19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 128}, .mode_count = 33, .mode_byte = 0,
     .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "atlantis", .rule = &pp_rule_atlantis, .actions = 0x01803, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2, 3}, .mode_count = 4, .mode_byte = 13, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "atlantis2", .rule = &pp_rule_atlantis2, .actions = 0x01803, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "backgammon", .rule = &pp_rule_backgammon, .actions = 0x0001a, .difficulties = 0x8,
     .paddle_max = 1000000, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = 92,
     .mode_values = (const uint8_t[]){3}, .mode_mask = 0xff, .select_frames = 1, .soft = 4},
    {.name = "bank_heist", .rule = &pp_rule_bank_heist, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 4, 8, 12, 16, 20, 24, 28}, .mode_count = 8, .mode_byte = 0,
     .mode_mask = 0xff, .select_frames = 1, .soft = 4},
    {.name = "basic_math", .rule = &pp_rule_basic_math, .actions = 0x0003f, .difficulties = 0xd,
     .modes = (const uint16_t[]){5, 6, 7, 8}, .mode_count = 4, .mode_byte = 69, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "battle_zone", .rule = &pp_rule_battle_zone, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){1, 2, 3}, .mode_count = 3, .mode_byte = 33, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "beam_rider", .rule = &pp_rule_beam_rider, .actions = 0x018df, .difficulties = 0x3,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{2, 1}, {0}}},
    {.name = "berzerk", .rule = &pp_rule_berzerk, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18}, .mode_count = 12,
     .mode_byte = 0, .mode_mask = 0xff, .mode_wait = 20, .select_frames = 2, .soft = 4},
    {.name = "blackjack", .rule = &pp_rule_blackjack, .actions = 0x00027, .difficulties = 0xf,
     .paddle_max = 795000, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "bowling", .rule = &pp_rule_bowling, .actions = 0x02427, .difficulties = 0x3,
     .modes = (const uint16_t[]){0, 2, 4}, .mode_count = 3, .mode_byte = 2, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "boxing", .rule = &pp_rule_boxing, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "breakout", .rule = &pp_rule_breakout, .actions = 0x0001b, .difficulties = 0x3,
     .modes = (const uint16_t[]){0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44}, .mode_count = 12,
     .mode_byte = 50, .mode_mask = 0xff, .select_frames = 1, .soft = 4},
    {.name = "carnival", .rule = &pp_rule_carnival, .actions = 0x0181b, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "casino", .rule = &pp_rule_casino, .actions = 0x00027, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 2, 3}, .mode_count = 3, .mode_byte = 84, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4, .start = (const pp_opening[]){{2, 60}, {1, 2}, {0}}},
    {.name = "centipede", .rule = &pp_rule_centipede, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){22, 86}, .mode_count = 2, .mode_byte = 38, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "chopper_command", .rule = &pp_rule_chopper_command, .actions = 0x3ffff,
     .difficulties = 0x3, .modes = (const uint16_t[]){0, 2}, .mode_count = 2, .mode_byte = 96,
     .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "crazy_climber", .rule = &pp_rule_crazy_climber, .actions = 0x003fd,
     .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 3}, .mode_count = 4, .mode_byte = 0,
     .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "crossbow", .rule = &pp_rule_crossbow, .actions = 0x3ffff, .difficulties = 0x3,
     .modes = (const uint16_t[]){0, 2, 4, 6}, .mode_count = 4, .mode_byte = 13,
     .mode_values = (const uint8_t[]){1, 3, 5, 7}, .mode_mask = 0xff, .select_frames = 2,
     .soft = 4},
    {.name = "darkchambers", .rule = &pp_rule_darkchambers, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{0, 486}, {0}}},
    {.name = "defender", .rule = &pp_rule_defender, .actions = 0x3ffff, .difficulties = 0x3,
     .modes = (const uint16_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 16}, .mode_count = 10, .mode_byte = 27,
     .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "demon_attack", .rule = &pp_rule_demon_attack, .actions = 0x0181b, .difficulties = 0x3,
     .modes = (const uint16_t[]){1, 3, 5, 7}, .mode_count = 4, .mode_byte = 106, .mode_mask = 0xff,
     .select_frames = 1, .soft = 4},
    {.name = "donkey_kong", .rule = &pp_rule_donkey_kong, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "double_dunk", .rule = &pp_rule_double_dunk, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
     .mode_count = 16, .mode_byte = 48, .mode_mask = 0xff, .menu_bits = (const uint8_t[]){8, 16, 4,
     32}, .select_frames = 1, .soft = 4, .start = (const pp_opening[]){{10, 1}, {0}}},
    {.name = "earthworld", .rule = &pp_rule_earthworld, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "elevator_action", .rule = &pp_rule_elevator_action, .actions = 0x3ffff,
     .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{1, 16}, {0}}},
    {.name = "enduro", .rule = &pp_rule_enduro, .actions = 0x01b3b, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{1, 1}, {0}}},
    {.name = "entombed", .rule = &pp_rule_entombed, .actions = 0x3ffff, .difficulties = 0x5,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{1, 1}, {0, 5}, {0}}},
    {.name = "et", .rule = &pp_rule_et, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 1, 2}, .mode_count = 3, .mode_byte = 2,
     .mode_values = (const uint8_t[]){1, 2, 3}, .mode_mask = 0xff, .select_frames = 25, .soft = 4},
    {.name = "fishing_derby", .rule = &pp_rule_fishing_derby, .actions = 0x3ffff,
     .difficulties = 0xf, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "flag_capture", .rule = &pp_rule_flag_capture, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){8, 9, 10}, .mode_count = 3, .mode_byte = 86, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "freeway", .rule = &pp_rule_freeway, .actions = 0x00025, .difficulties = 0x3,
     .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7}, .mode_count = 8, .mode_byte = 0,
     .mode_mask = 0xff, .select_frames = 1, .soft = 4},
    {.name = "frogger", .rule = &pp_rule_frogger, .actions = 0x0003d, .difficulties = 0x3,
     .modes = (const uint16_t[]){0, 1, 2}, .mode_count = 3, .mode_byte = 93,
     .mode_values = (const uint8_t[]){1, 3, 5}, .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "frostbite", .rule = &pp_rule_frostbite, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 2}, .mode_count = 2, .mode_byte = 0, .mode_mask = 0xff,
     .select_frames = 1, .soft = 4},
    {.name = "galaxian", .rule = &pp_rule_galaxian, .actions = 0x0181b, .difficulties = 0x3,
     .modes = (const uint16_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9}, .mode_count = 9, .mode_byte = 51,
     .mode_mask = 0xff, .select_frames = 1, .soft = 4},
    {.name = "gopher", .rule = &pp_rule_gopher, .actions = 0x01c1f, .difficulties = 0x3,
     .modes = (const uint16_t[]){0, 2}, .mode_count = 2, .mode_byte = 71,
     .mode_values = (const uint8_t[]){0, 4}, .mode_mask = 0xff, .select_frames = 5, .soft = 4,
     .start = (const pp_opening[]){{40, 4}, {1, 1}, {0}}},
    {.name = "gravitar", .rule = &pp_rule_gravitar, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2, 3, 4}, .mode_count = 5, .mode_byte = 0, .mode_mask = 0xff,
     .select_frames = 10, .soft = 4, .start = (const pp_opening[]){{1, 16}, {0}}},
    {.name = "hangman", .rule = &pp_rule_hangman, .actions = 0x3ffff, .difficulties = 0x3,
     .modes = (const uint16_t[]){0, 1, 2, 3}, .mode_count = 4, .mode_byte = 110, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "haunted_house", .rule = &pp_rule_haunted_house, .actions = 0x3ffff,
     .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8}, .mode_count = 9,
     .mode_byte = 76, .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "hero", .rule = &pp_rule_hero, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2, 3, 4}, .mode_count = 5, .mode_byte = 0, .mode_mask = 0xff,
     .select_frames = 1, .soft = 4},
    {.name = "human_cannonball", .rule = &pp_rule_human_cannonball, .actions = 0x3ffff,
     .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7}, .mode_count = 8,
     .mode_byte = 16, .mode_values = (const uint8_t[]){48, 6, 12, 18, 24, 30, 36, 42},
     .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "ice_hockey", .rule = &pp_rule_ice_hockey, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 2}, .mode_count = 2, .mode_byte = 0, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "jamesbond", .rule = &pp_rule_jamesbond, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1}, .mode_count = 2, .mode_byte = 94, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "journey_escape", .rule = &pp_rule_journey_escape, .actions = 0x3fbfd,
     .difficulties = 0x3, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{1, 1}, {0}}},
    {.name = "kaboom", .rule = &pp_rule_kaboom, .actions = 0x0001b, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{1, 1}, {0}}},
    {.name = "kangaroo", .rule = &pp_rule_kangaroo, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1}, .mode_count = 2, .mode_byte = 58, .mode_mask = 0x7f,
     .select_frames = 2, .soft = 4},
    {.name = "keystone_kapers", .rule = &pp_rule_keystone_kapers, .actions = 0x03fff,
     .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "king_kong", .rule = &pp_rule_king_kong, .actions = 0x0003f, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2, 3}, .mode_count = 4, .mode_byte = 108,
     .mode_values = (const uint8_t[]){0, 2, 4, 6}, .mode_mask = 0xff, .select_frames = 2,
     .soft = 4},
    {.name = "klax", .rule = &pp_rule_klax, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2}, .mode_count = 3, .mode_byte = 234, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4, .start = (const pp_opening[]){{1, 1}, {0, 1}, {0}}},
    {.name = "koolaid", .rule = &pp_rule_koolaid, .actions = 0x003fd, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "krull", .rule = &pp_rule_krull, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "kung_fu_master", .rule = &pp_rule_kung_fu_master, .actions = 0x3fb3d,
     .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "laser_gates", .rule = &pp_rule_laser_gates, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "lost_luggage", .rule = &pp_rule_lost_luggage, .actions = 0x003fd, .legal = 0x003fd,
     .difficulties = 0x3, .modes = (const uint16_t[]){0, 1}, .mode_count = 2, .mode_byte = 20,
     .mode_values = (const uint8_t[]){1, 4}, .mode_mask = 0xff, .select_frames = 2, .soft = 4,
     .start = (const pp_opening[]){{1, 1}, {0}}},
    {.name = "mario_bros", .rule = &pp_rule_mario_bros, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 2, 4, 6}, .mode_count = 4, .mode_byte = 0, .mode_mask = 0xff,
     .select_frames = 5, .soft = 4, .start = (const pp_opening[]){{1, 17}, {0}}},
    {.name = "miniature_golf", .rule = &pp_rule_miniature_golf, .actions = 0x3ffff,
     .difficulties = 0x3, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "montezuma_revenge", .rule = &pp_rule_montezuma_revenge, .actions = 0x3ffff,
     .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "mr_do", .rule = &pp_rule_mr_do, .actions = 0x03c3f, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2, 3}, .mode_count = 4, .mode_byte = 0, .mode_mask = 0xff,
     .select_frames = 5, .soft = 4, .start = (const pp_opening[]){{1, 1}, {0}}},
    {.name = "ms_pacman", .rule = &pp_rule_ms_pacman, .actions = 0x003fd, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2, 3}, .mode_count = 4, .mode_byte = 19,
     .mode_values = (const uint8_t[]){3, 0, 1, 2}, .mode_mask = 0xff, .select_frames = 10,
     .soft = 4},
    {.name = "name_this_game", .rule = &pp_rule_name_this_game, .actions = 0x0181b,
     .difficulties = 0x3, .modes = (const uint16_t[]){8, 24, 40}, .mode_count = 3, .mode_byte = 94,
     .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "othello", .rule = &pp_rule_othello, .actions = 0x003ff, .difficulties = 0x5,
     .modes = (const uint16_t[]){0, 1, 2}, .mode_count = 3, .mode_byte = 94,
     .mode_values = (const uint8_t[]){1, 2, 3}, .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "pacman", .rule = &pp_rule_pacman, .actions = 0x0003d, .difficulties = 0x3,
     .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7}, .mode_count = 8, .mode_byte = 52,
     .mode_values = (const uint8_t[]){100, 79, 82, 85, 88, 91, 94, 97}, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "phoenix", .rule = &pp_rule_phoenix, .actions = 0x0383b, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "pitfall", .rule = &pp_rule_pitfall, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{2, 1}, {0}}},
    {.name = "pitfall2", .rule = &pp_rule_pitfall2, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{2, 1}, {0}}},
    {.name = "pong", .rule = &pp_rule_pong, .actions = 0x0181b, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 1}, .mode_count = 2, .mode_byte = 22, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "pooyan", .rule = &pp_rule_pooyan, .actions = 0x02427, .difficulties = 0x1,
     .modes = (const uint16_t[]){10, 30, 50, 70}, .mode_count = 4, .mode_byte = 20,
     .mode_values = (const uint8_t[]){64, 66, 68, 70}, .mode_mask = 0xff, .select_frames = 2,
     .soft = 4},
    {.name = "private_eye", .rule = &pp_rule_private_eye, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 1, 2, 3, 4}, .mode_count = 5, .mode_byte = 0, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4, .start = (const pp_opening[]){{2, 1}, {0}}},
    {.name = "qbert", .rule = &pp_rule_qbert, .actions = 0x0003f, .difficulties = 0x3,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "riverraid", .rule = &pp_rule_riverraid, .actions = 0x3ffff, .difficulties = 0x3,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "road_runner", .rule = &pp_rule_road_runner, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "robotank", .rule = &pp_rule_robotank, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "seaquest", .rule = &pp_rule_seaquest, .actions = 0x3ffff, .difficulties = 0x3,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "sir_lancelot", .rule = &pp_rule_sir_lancelot, .actions = 0x0181b, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{40, 1}, {4, 1}, {0}}},
    {.name = "skiing", .rule = &pp_rule_skiing, .actions = 0x00019, .legal = 0x003fd,
     .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{2, 16}, {0}}},
    {.name = "solaris", .rule = &pp_rule_solaris, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "space_invaders", .rule = &pp_rule_space_invaders, .actions = 0x0181b,
     .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
     14, 15}, .mode_count = 16, .mode_byte = 92, .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "space_war", .rule = &pp_rule_space_war, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, .mode_count = 12,
     .mode_byte = 3, .mode_values = (const uint8_t[]){5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
     .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "star_gunner", .rule = &pp_rule_star_gunner, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2, 3}, .mode_count = 4, .mode_byte = 116, .mode_mask = 0xff,
     .select_frames = 14, .soft = 4},
    {.name = "superman", .rule = &pp_rule_superman, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "surround", .rule = &pp_rule_surround, .actions = 0x0003d, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 2}, .mode_count = 2, .mode_byte = 121,
     .mode_values = (const uint8_t[]){1, 3}, .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "tennis", .rule = &pp_rule_tennis, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 2}, .mode_count = 2, .mode_byte = 0, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "tetris", .rule = &pp_rule_tetris, .actions = 0x0003b, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "tic_tac_toe_3d", .rule = &pp_rule_tic_tac_toe_3d, .actions = 0x003ff,
     .difficulties = 0x5, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8}, .mode_count = 9,
     .mode_byte = 8, .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "time_pilot", .rule = &pp_rule_time_pilot, .actions = 0x03c3f, .difficulties = 0x7,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "trondead", .rule = &pp_rule_trondead, .actions = 0x3ffff, .difficulties = 0x3,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "turmoil", .rule = &pp_rule_turmoil, .actions = 0x01bff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8}, .mode_count = 9, .mode_byte = 106,
     .mode_mask = 0xff, .select_frames = 2, .soft = 4, .start = (const pp_opening[]){{1, 1}, {0}}},
    {.name = "tutankham", .rule = &pp_rule_tutankham, .actions = 0x01c3d, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 4, 8, 12}, .mode_count = 4, .mode_byte = 43, .mode_mask = 0xff,
     .select_frames = 2, .soft = 4},
    {.name = "up_n_down", .rule = &pp_rule_up_n_down, .actions = 0x02427, .difficulties = 0xf,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start = (const pp_opening[]){{1, 1}, {0}}},
    {.name = "venture", .rule = &pp_rule_venture, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "video_checkers", .rule = &pp_rule_video_checkers, .actions = 0x003c2,
     .difficulties = 0x1, .modes = (const uint16_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15,
     16, 17, 18, 19}, .mode_count = 18, .mode_byte = 48, .mode_values = (const uint8_t[]){1, 2, 3,
     4, 5, 6, 7, 8, 9, 17, 18, 19, 20, 21, 22, 23, 24, 25}, .mode_mask = 0xff, .select_frames = 1,
     .soft = 4},
    {.name = "video_chess", .rule = &pp_rule_video_chess, .actions = 0x003ff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 1, 2, 3, 4}, .mode_count = 5, .mode_byte = 106,
     .mode_mask = 0xff, .select_frames = 1, .soft = 4},
    {.name = "video_cube", .rule = &pp_rule_video_cube, .actions = 0x3ffff, .difficulties = 0x3,
     .modes = (const uint16_t[]){0, 1, 2, 100, 101, 102, 200, 201, 202, 300, 301, 302, 400, 401,
     402, 500, 501, 502, 600, 601, 602, 700, 701, 702, 800, 801, 802, 900, 901, 902, 1000, 1001,
     1002, 1100, 1101, 1102, 1200, 1201, 1202, 1300, 1301, 1302, 1400, 1401, 1402, 1500, 1501, 1502,
     1600, 1601, 1602, 1700, 1701, 1702, 1800, 1801, 1802, 1900, 1901, 1902, 2000, 2001, 2002, 2100,
     2101, 2102, 2200, 2201, 2202, 2300, 2301, 2302, 2400, 2401, 2402, 2500, 2501, 2502, 2600, 2601,
     2602, 2700, 2701, 2702, 2800, 2801, 2802, 2900, 2901, 2902, 3000, 3001, 3002, 3100, 3101, 3102,
     3200, 3201, 3202, 3300, 3301, 3302, 3400, 3401, 3402, 3500, 3501, 3502, 3600, 3601, 3602, 3700,
     3701, 3702, 3800, 3801, 3802, 3900, 3901, 3902, 4000, 4001, 4002, 4100, 4101, 4102, 4200, 4201,
     4202, 4300, 4301, 4302, 4400, 4401, 4402, 4500, 4501, 4502, 4600, 4601, 4602, 4700, 4701, 4702,
     4800, 4801, 4802, 4900, 4901, 4902, 5000, 5001, 5002}, .mode_count = 153, .mode_byte = 123,
     .mode_values = (const uint8_t[]){0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8,
     0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2,
     8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0,
     2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8,
     0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2,
     8, 0, 2, 8}, .mode_mask = 0x1f, .cube_byte = 31, .select_frames = 2, .soft = 4,
     .start = (const pp_opening[]){{0, 61}, {1, 3}, {0}}},
    {.name = "video_pinball", .rule = &pp_rule_video_pinball, .actions = 0x01c3f,
     .difficulties = 0x3, .modes = (const uint16_t[]){0, 2}, .mode_count = 2, .mode_byte = 32,
     .mode_mask = 0xff, .select_frames = 2, .soft = 4},
    {.name = "wizard_of_wor", .rule = &pp_rule_wizard_of_wor, .actions = 0x03c3f,
     .difficulties = 0x3, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1},
    {.name = "word_zapper", .rule = &pp_rule_word_zapper, .actions = 0x3ffff, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
     19, 20, 21, 22, 23}, .mode_count = 24, .mode_byte = 91, .mode_mask = 0xff, .select_frames = 2,
     .soft = 4, .start = (const pp_opening[]){{0, 486}, {1, 1}, {0, 2}, {0}}},
    {.name = "yars_revenge", .rule = &pp_rule_yars_revenge, .actions = 0x3ffff, .difficulties = 0x3,
     .modes = (const uint16_t[]){0, 32, 64, 96}, .mode_count = 4, .mode_byte = 0,
     .mode_values = (const uint8_t[]){192, 194, 196, 198}, .mode_mask = 0xff, .select_frames = 1,
     .soft = 4, .start = (const pp_opening[]){{1, 1}, {0}}},
    {.name = "zaxxon", .rule = &pp_rule_zaxxon, .actions = 0x3ffff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0, 8, 16, 24}, .mode_count = 4, .mode_byte = 2, .mode_mask = 0xff,
     .select_frames = 10, .soft = 4},
};
