// table.inl: one row for each game that ale-py can play, in the order of their names.
//
// A file that includes it defines GAME(game, envpool_word, ale_word, ...) first: ale-py's name of
// the game, the words that stand for it in EnvPool's ids and in ale-py's, and initialisers of a
// pp_game. GAME is undefined at the end.
//
// Written by `python -m tests.parity.atari_facts --write`: change that, not this.
// clang-format off

GAME(adventure, "Adventure", "Adventure", .hardware = {.lines = 250, .first_line = 34, .pal = true},
     .actions = 0x3ffff, .difficulties = 0xf, .modes = (const uint16_t[]){0, 1, 2}, .mode_count = 3,
     .mode_byte = 93, .mode_values = (const uint8_t[]){0, 2, 4}, .mode_mask = 0xff,
     .select_is_random = true, .select_frames = 2, .reset_frames = 4)
GAME(air_raid, "AirRaid", "AirRaid", .hardware = {.lines = 250, .first_line = 34, .pal = true},
     .actions = 0x0181b, .difficulties = 0x1, .modes = (const uint16_t[]){1, 2, 3, 4, 5, 6, 7, 8},
     .mode_count = 8, .mode_byte = 42, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4,
     .start_actions = (const pp_start_action[]){{1, 1}, {0}})
GAME(alien, "Alien", "Alien", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
     .difficulties = 0xf, .modes = (const uint16_t[]){0, 1, 2, 3}, .mode_count = 4, .mode_byte = 1,
     .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
GAME(amidar, "Amidar", "Amidar", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x03c3f,
     .difficulties = 0x9, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1)
GAME(assault, "Assault", "Assault", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x0181f, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(asterix, "Asterix", "Asterix", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x003fd, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1, .start_actions = (const pp_start_action[]){{1, 1}, {0}})
GAME(asteroids, "Asteroids", "Asteroids", .hardware = {.lines = 210, .first_line = 34,
     .no_comb = true}, .actions = 0x0fcff, .difficulties = 0x9, .modes = (const uint16_t[]){0, 1, 2,
     3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
     28, 29, 30, 31, 128}, .mode_count = 33, .mode_byte = 0, .mode_mask = 0xff, .select_frames = 2,
     .reset_frames = 4)
GAME(atlantis, "Atlantis", "Atlantis", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x01803, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2, 3},
     .mode_count = 4, .mode_byte = 13, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(atlantis2, "Atlantis2", "Atlantis2", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x01803, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(backgammon, "Backgammon", "Backgammon", .hardware = {.lines = 210, .first_line = 34,
     .paddles = 2, .paddle_max = 1000000}, .actions = 0x0001a, .difficulties = 0x8,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = 92,
     .mode_values = (const uint8_t[]){3}, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
GAME(bank_heist, "BankHeist", "BankHeist", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0xf, .modes = (const uint16_t[]){0, 4, 8, 12, 16, 20, 24,
     28}, .mode_count = 8, .mode_byte = 0, .mode_mask = 0xff, .select_frames = 1,
     .reset_frames = 4)
GAME(basic_math, "BasicMath", "BasicMath", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x0003f, .difficulties = 0xd, .modes = (const uint16_t[]){5, 6, 7, 8},
     .mode_count = 4, .mode_byte = 69, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(battle_zone, "BattleZone", "BattleZone", .hardware = {.lines = 210, .first_line = 34,
     .no_comb = true}, .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){1, 2,
     3}, .mode_count = 3, .mode_byte = 33, .mode_mask = 0xff, .select_frames = 2,
     .reset_frames = 4)
GAME(beam_rider, "BeamRider", "BeamRider", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x018df, .difficulties = 0x3, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1, .start_actions = (const pp_start_action[]){{2, 1}, {0}})
GAME(berzerk, "Berzerk", "Berzerk", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9,
     16, 17, 18}, .mode_count = 12, .mode_byte = 0, .mode_mask = 0xff, .mode_wait = 20,
     .select_frames = 2, .reset_frames = 4)
GAME(blackjack, "Blackjack", "Blackjack", .hardware = {.lines = 210, .first_line = 34, .paddles = 2,
     .paddle_max = 795000}, .actions = 0x00027, .difficulties = 0xf, .modes = (const uint16_t[]){0},
     .mode_count = 1, .mode_byte = -1)
GAME(bowling, "Bowling", "Bowling", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x02427, .difficulties = 0x3, .modes = (const uint16_t[]){0, 2, 4}, .mode_count = 3,
     .mode_byte = 2, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(boxing, "Boxing", "Boxing", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
     .difficulties = 0xf, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1)
GAME(breakout, "Breakout", "Breakout", .hardware = {.lines = 210, .first_line = 34, .paddles = 2,
     .paddle_max = 790196}, .actions = 0x0001b, .difficulties = 0x3, .modes = (const uint16_t[]){0,
     4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44}, .mode_count = 12, .mode_byte = 50,
     .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
GAME(carnival, "Carnival", "Carnival", .hardware = {.lines = 214, .first_line = 26},
     .actions = 0x0181b, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(casino, "Casino", "Casino", .hardware = {.lines = 210, .first_line = 34, .paddles = 2,
     .paddle_max = 790196}, .actions = 0x00027, .difficulties = 0xf, .modes = (const uint16_t[]){0,
     2, 3}, .mode_count = 3, .mode_byte = 84, .mode_mask = 0xff, .select_frames = 2,
     .reset_frames = 4, .start_actions = (const pp_start_action[]){{2, 60}, {1, 2}, {0}})
GAME(centipede, "Centipede", "Centipede", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){22, 86}, .mode_count = 2,
     .mode_byte = 38, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(chopper_command, "ChopperCommand", "ChopperCommand", .hardware = {.lines = 210,
     .first_line = 34}, .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0, 2},
     .mode_count = 2, .mode_byte = 96, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(crazy_climber, "CrazyClimber", "CrazyClimber", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x003fd, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 3},
     .mode_count = 4, .mode_byte = 0, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(crossbow, "Crossbow", "Crossbow", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0, 2, 4, 6},
     .mode_count = 4, .mode_byte = 13, .mode_values = (const uint8_t[]){1, 3, 5, 7},
     .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(darkchambers, "Darkchambers", "Darkchambers", .hardware = {.lines = 210, .first_line = 34,
     .no_comb = true}, .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0},
     .mode_count = 1, .mode_byte = -1, .start_actions = (const pp_start_action[]){{0, 486}, {0}})
GAME(defender, "Defender", "Defender", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9,
     16}, .mode_count = 10, .mode_byte = 27, .mode_mask = 0xff, .select_frames = 2,
     .reset_frames = 4)
GAME(demon_attack, "DemonAttack", "DemonAttack", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x0181b, .difficulties = 0x3, .modes = (const uint16_t[]){1, 3, 5, 7},
     .mode_count = 4, .mode_byte = 106, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
GAME(donkey_kong, "DonkeyKong", "DonkeyKong", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(double_dunk, "DoubleDunk", "DoubleDunk", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8,
     9, 10, 11, 12, 13, 14, 15}, .mode_count = 16, .mode_byte = 48, .mode_mask = 0xff,
     .menu_bits = (const uint8_t[]){8, 16, 4, 32}, .select_frames = 1, .reset_frames = 4,
     .start_actions = (const pp_start_action[]){{10, 1}, {0}})
GAME(earthworld, "Earthworld", "Earthworld", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(elevator_action, "ElevatorAction", "ElevatorAction", .hardware = {.lines = 210,
     .first_line = 34}, .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0},
     .mode_count = 1, .mode_byte = -1, .start_actions = (const pp_start_action[]){{1, 16}, {0}})
GAME(enduro, "Enduro", "Enduro", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x01b3b,
     .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1,
     .start_actions = (const pp_start_action[]){{1, 1}, {0}})
GAME(entombed, "Entombed", "Entombed", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x5, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1, .start_actions = (const pp_start_action[]){{1, 1}, {0, 5}, {0}})
GAME(et, "Et", "Et", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
     .difficulties = 0xf, .modes = (const uint16_t[]){0, 1, 2}, .mode_count = 3, .mode_byte = 2,
     .mode_values = (const uint8_t[]){1, 2, 3}, .mode_mask = 0xff, .select_frames = 25,
     .reset_frames = 4)
GAME(fishing_derby, "FishingDerby", "FishingDerby", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0xf, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(flag_capture, "FlagCapture", "FlagCapture", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){8, 9, 10},
     .mode_count = 3, .mode_byte = 86, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(freeway, "Freeway", "Freeway", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x00025, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7},
     .mode_count = 8, .mode_byte = 0, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
GAME(frogger, "Frogger", "Frogger", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x0003d, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2}, .mode_count = 3,
     .mode_byte = 93, .mode_values = (const uint8_t[]){1, 3, 5}, .mode_mask = 0xff,
     .select_frames = 2, .reset_frames = 4)
GAME(frostbite, "Frostbite", "Frostbite", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0, 2}, .mode_count = 2,
     .mode_byte = 0, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
GAME(galaxian, "Galaxian", "Galaxian", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x0181b, .difficulties = 0x3, .modes = (const uint16_t[]){1, 2, 3, 4, 5, 6, 7, 8,
     9}, .mode_count = 9, .mode_byte = 51, .mode_mask = 0xff, .select_frames = 1,
     .reset_frames = 4)
GAME(gopher, "Gopher", "Gopher", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x01c1f,
     .difficulties = 0x3, .modes = (const uint16_t[]){0, 2}, .mode_count = 2, .mode_byte = 71,
     .mode_values = (const uint8_t[]){0, 4}, .mode_mask = 0xff, .select_frames = 5,
     .reset_frames = 4, .start_actions = (const pp_start_action[]){{40, 4}, {1, 1}, {0}})
GAME(gravitar, "Gravitar", "Gravitar", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2, 3, 4},
     .mode_count = 5, .mode_byte = 0, .mode_mask = 0xff, .select_frames = 10, .reset_frames = 4,
     .start_actions = (const pp_start_action[]){{1, 16}, {0}})
GAME(hangman, "Hangman", "Hangman", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 3},
     .mode_count = 4, .mode_byte = 110, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(haunted_house, "HauntedHouse", "HauntedHouse", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7,
     8}, .mode_count = 9, .mode_byte = 76, .mode_mask = 0xff, .select_frames = 2,
     .reset_frames = 4)
GAME(hero, "Hero", "Hero", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
     .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2, 3, 4}, .mode_count = 5,
     .mode_byte = 0, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
GAME(human_cannonball, "HumanCannonball", "HumanCannonball", .hardware = {.lines = 210,
     .first_line = 34}, .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1,
     2, 3, 4, 5, 6, 7}, .mode_count = 8, .mode_byte = 16, .mode_values = (const uint8_t[]){48, 6,
     12, 18, 24, 30, 36, 42}, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(ice_hockey, "IceHockey", "IceHockey", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0xf, .modes = (const uint16_t[]){0, 2}, .mode_count = 2,
     .mode_byte = 0, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(jamesbond, "Jamesbond", "Jamesbond", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1}, .mode_count = 2,
     .mode_byte = 94, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(journey_escape, "JourneyEscape", "JourneyEscape", .hardware = {.lines = 230, .first_line = 34},
     .actions = 0x3fbfd, .difficulties = 0x3, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1, .start_actions = (const pp_start_action[]){{1, 1}, {0}})
GAME(kaboom, "Kaboom", "Kaboom", .hardware = {.lines = 210, .first_line = 34, .paddles = 2,
     .paddle_max = 790196}, .actions = 0x0001b, .difficulties = 0x1, .modes = (const uint16_t[]){0},
     .mode_count = 1, .mode_byte = -1, .start_actions = (const pp_start_action[]){{1, 1}, {0}})
GAME(kangaroo, "Kangaroo", "Kangaroo", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1}, .mode_count = 2,
     .mode_byte = 58, .mode_mask = 0x7f, .select_frames = 2, .reset_frames = 4)
GAME(keystone_kapers, "KeystoneKapers", "KeystoneKapers", .hardware = {.lines = 250,
     .first_line = 34, .pal = true}, .actions = 0x03fff, .difficulties = 0x1,
     .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1)
GAME(king_kong, "KingKong", "KingKong", .hardware = {.lines = 250, .first_line = 34, .pal = true},
     .actions = 0x0003f, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2, 3},
     .mode_count = 4, .mode_byte = 108, .mode_values = (const uint8_t[]){0, 2, 4, 6},
     .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(klax, "Klax", "Klax", .hardware = {.lines = 250, .first_line = 34, .pal = true},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2}, .mode_count = 3,
     .mode_byte = 234, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4,
     .start_actions = (const pp_start_action[]){{1, 1}, {0, 1}, {0}})
GAME(koolaid, "Koolaid", "Koolaid", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x003fd, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(krull, "Krull", "Krull", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
     .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1)
GAME(kung_fu_master, "KungFuMaster", "KungFuMaster", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3fb3d, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(laser_gates, "LaserGates", "LaserGates", .hardware = {.lines = 250, .first_line = 34,
     .pal = true}, .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0},
     .mode_count = 1, .mode_byte = -1)
GAME(lost_luggage, "LostLuggage", "LostLuggage", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x003fd, .legal = 0x003fd, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1},
     .mode_count = 2, .mode_byte = 20, .mode_values = (const uint8_t[]){1, 4}, .mode_mask = 0xff,
     .select_frames = 2, .reset_frames = 4, .start_actions = (const pp_start_action[]){{1, 1},
     {0}})
GAME(mario_bros, "MarioBros", "MarioBros", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0, 2, 4, 6},
     .mode_count = 4, .mode_byte = 0, .mode_mask = 0xff, .select_frames = 5, .reset_frames = 4,
     .start_actions = (const pp_start_action[]){{1, 17}, {0}})
GAME(miniature_golf, "MiniatureGolf", "MiniatureGolf", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(montezuma_revenge, "MontezumaRevenge", "MontezumaRevenge", .hardware = {.lines = 210,
     .first_line = 34}, .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0},
     .mode_count = 1, .mode_byte = -1)
GAME(mr_do, "MrDo", "MrDo", .hardware = {.lines = 250, .first_line = 34, .pal = true},
     .actions = 0x03c3f, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2, 3},
     .mode_count = 4, .mode_byte = 0, .mode_mask = 0xff, .select_frames = 5, .reset_frames = 4,
     .start_actions = (const pp_start_action[]){{1, 1}, {0}})
GAME(ms_pacman, "MsPacman", "MsPacman", .hardware = {.lines = 210, .first_line = 34,
     .no_comb = true}, .actions = 0x003fd, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2,
     3}, .mode_count = 4, .mode_byte = 19, .mode_values = (const uint8_t[]){3, 0, 1, 2},
     .mode_mask = 0xff, .select_frames = 10, .reset_frames = 4)
GAME(name_this_game, "NameThisGame", "NameThisGame", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x0181b, .difficulties = 0x3, .modes = (const uint16_t[]){8, 24, 40},
     .mode_count = 3, .mode_byte = 94, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(othello, "Othello", "Othello", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x003ff, .difficulties = 0x5, .modes = (const uint16_t[]){0, 1, 2}, .mode_count = 3,
     .mode_byte = 94, .mode_values = (const uint8_t[]){1, 2, 3}, .mode_mask = 0xff,
     .select_frames = 2, .reset_frames = 4)
GAME(pacman, "Pacman", "Pacman", .hardware = {.lines = 250, .first_line = 34, .pal = true},
     .actions = 0x0003d, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7},
     .mode_count = 8, .mode_byte = 52, .mode_values = (const uint8_t[]){100, 79, 82, 85, 88, 91, 94,
     97}, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(phoenix, "Phoenix", "Phoenix", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x0383b, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(pitfall, "Pitfall", "Pitfall", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1, .start_actions = (const pp_start_action[]){{2, 1}, {0}})
GAME(pitfall2, "Pitfall2", "Pitfall2", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1, .start_actions = (const pp_start_action[]){{2, 1}, {0}})
GAME(pong, "Pong", "Pong", .hardware = {.lines = 210, .first_line = 34, .paddles = 4,
     .paddle_max = 790196, .swapped = true}, .actions = 0x0181b, .difficulties = 0xf,
     .modes = (const uint16_t[]){0, 1}, .mode_count = 2, .mode_byte = 22, .mode_mask = 0xff,
     .select_frames = 2, .reset_frames = 4)
GAME(pooyan, "Pooyan", "Pooyan", .hardware = {.lines = 220, .first_line = 26}, .actions = 0x02427,
     .difficulties = 0x1, .modes = (const uint16_t[]){10, 30, 50, 70}, .mode_count = 4,
     .mode_byte = 20, .mode_values = (const uint8_t[]){64, 66, 68, 70}, .mode_mask = 0xff,
     .select_frames = 2, .reset_frames = 4)
GAME(private_eye, "PrivateEye", "PrivateEye", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0xf, .modes = (const uint16_t[]){0, 1, 2, 3, 4},
     .mode_count = 5, .mode_byte = 0, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4,
     .start_actions = (const pp_start_action[]){{2, 1}, {0}})
GAME(qbert, "Qbert", "Qbert", .hardware = {.lines = 210, .first_line = 40}, .actions = 0x0003f,
     .difficulties = 0x3, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1)
GAME(riverraid, "Riverraid", "Riverraid", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(road_runner, "RoadRunner", "RoadRunner", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(robotank, "Robotank", "Robotank", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(seaquest, "Seaquest", "Seaquest", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(sir_lancelot, "SirLancelot", "SirLancelot", .hardware = {.lines = 250, .first_line = 34,
     .pal = true}, .actions = 0x0181b, .difficulties = 0x1, .modes = (const uint16_t[]){0},
     .mode_count = 1, .mode_byte = -1, .start_actions = (const pp_start_action[]){{40, 1}, {4, 1},
     {0}})
GAME(skiing, "Skiing", "Skiing", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x00019,
     .legal = 0x003fd, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1, .start_actions = (const pp_start_action[]){{2, 16}, {0}})
GAME(solaris, "Solaris", "Solaris", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(space_invaders, "SpaceInvaders", "SpaceInvaders", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x0181b, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8,
     9, 10, 11, 12, 13, 14, 15}, .mode_count = 16, .mode_byte = 92, .mode_mask = 0xff,
     .select_frames = 2, .reset_frames = 4)
GAME(space_war, "SpaceWar", "SpaceWar", .hardware = {.lines = 250, .first_line = 34, .pal = true},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){6, 7, 8, 9, 10, 11, 12,
     13, 14, 15, 16, 17}, .mode_count = 12, .mode_byte = 3, .mode_values = (const uint8_t[]){5, 6,
     7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, .mode_mask = 0xff, .select_frames = 2,
     .reset_frames = 4)
GAME(star_gunner, "StarGunner", "StarGunner", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2, 3},
     .mode_count = 4, .mode_byte = 116, .mode_mask = 0xff, .select_frames = 14, .reset_frames = 4)
GAME(superman, "Superman", "Superman", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0xf, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(surround, "Surround", "Surround", .hardware = {.lines = 210, .first_line = 34,
     .swapped = true}, .actions = 0x0003d, .difficulties = 0xf, .modes = (const uint16_t[]){0, 2},
     .mode_count = 2, .mode_byte = 121, .mode_values = (const uint8_t[]){1, 3}, .mode_mask = 0xff,
     .select_frames = 2, .reset_frames = 4)
GAME(tennis, "Tennis", "Tennis", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
     .difficulties = 0xf, .modes = (const uint16_t[]){0, 2}, .mode_count = 2, .mode_byte = 0,
     .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(tetris, "Tetris", "Tetris", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x0003b,
     .difficulties = 0x1, .modes = (const uint16_t[]){0}, .mode_count = 1, .mode_byte = -1)
GAME(tic_tac_toe_3d, "TicTacToe3d", "TicTacToe3D", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x003ff, .difficulties = 0x5, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7,
     8}, .mode_count = 9, .mode_byte = 8, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(time_pilot, "TimePilot", "TimePilot", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x03c3f, .difficulties = 0x7, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(trondead, "Trondead", "Trondead", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(turmoil, "Turmoil", "Turmoil", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x01bff, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7,
     8}, .mode_count = 9, .mode_byte = 106, .mode_mask = 0xff, .select_frames = 2,
     .reset_frames = 4, .start_actions = (const pp_start_action[]){{1, 1}, {0}})
GAME(tutankham, "Tutankham", "Tutankham", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x01c3d, .difficulties = 0x1, .modes = (const uint16_t[]){0, 4, 8, 12},
     .mode_count = 4, .mode_byte = 43, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(up_n_down, "UpNDown", "UpNDown", .hardware = {.lines = 210, .first_line = 30},
     .actions = 0x02427, .difficulties = 0xf, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1, .start_actions = (const pp_start_action[]){{1, 1}, {0}})
GAME(venture, "Venture", "Venture", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0xf, .modes = (const uint16_t[]){0}, .mode_count = 1,
     .mode_byte = -1)
GAME(video_checkers, "VideoCheckers", "VideoCheckers", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x003c2, .difficulties = 0x1, .modes = (const uint16_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9,
     11, 12, 13, 14, 15, 16, 17, 18, 19}, .mode_count = 18, .mode_byte = 48,
     .mode_values = (const uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 18, 19, 20, 21, 22, 23, 24,
     25}, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
GAME(video_chess, "VideoChess", "VideoChess", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x003ff, .difficulties = 0x1, .modes = (const uint16_t[]){0, 1, 2, 3, 4},
     .mode_count = 5, .mode_byte = 106, .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4)
GAME(video_cube, "VideoCube", "VideoCube", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0, 1, 2, 100, 101, 102,
     200, 201, 202, 300, 301, 302, 400, 401, 402, 500, 501, 502, 600, 601, 602, 700, 701, 702, 800,
     801, 802, 900, 901, 902, 1000, 1001, 1002, 1100, 1101, 1102, 1200, 1201, 1202, 1300, 1301,
     1302, 1400, 1401, 1402, 1500, 1501, 1502, 1600, 1601, 1602, 1700, 1701, 1702, 1800, 1801, 1802,
     1900, 1901, 1902, 2000, 2001, 2002, 2100, 2101, 2102, 2200, 2201, 2202, 2300, 2301, 2302, 2400,
     2401, 2402, 2500, 2501, 2502, 2600, 2601, 2602, 2700, 2701, 2702, 2800, 2801, 2802, 2900, 2901,
     2902, 3000, 3001, 3002, 3100, 3101, 3102, 3200, 3201, 3202, 3300, 3301, 3302, 3400, 3401, 3402,
     3500, 3501, 3502, 3600, 3601, 3602, 3700, 3701, 3702, 3800, 3801, 3802, 3900, 3901, 3902, 4000,
     4001, 4002, 4100, 4101, 4102, 4200, 4201, 4202, 4300, 4301, 4302, 4400, 4401, 4402, 4500, 4501,
     4502, 4600, 4601, 4602, 4700, 4701, 4702, 4800, 4801, 4802, 4900, 4901, 4902, 5000, 5001,
     5002}, .mode_count = 153, .mode_byte = 123, .mode_values = (const uint8_t[]){0, 2, 8, 0, 2, 8,
     0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2,
     8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0,
     2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8,
     0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2,
     8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8, 0, 2, 8}, .mode_mask = 0x1f, .cube_byte = 31,
     .select_frames = 2, .reset_frames = 4, .start_actions = (const pp_start_action[]){{0, 61}, {1,
     3}, {0}})
GAME(video_pinball, "VideoPinball", "VideoPinball", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x01c3f, .difficulties = 0x3, .modes = (const uint16_t[]){0, 2}, .mode_count = 2,
     .mode_byte = 32, .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4)
GAME(wizard_of_wor, "WizardOfWor", "WizardOfWor", .hardware = {.lines = 210, .first_line = 34,
     .swapped = true}, .actions = 0x03c3f, .difficulties = 0x3, .modes = (const uint16_t[]){0},
     .mode_count = 1, .mode_byte = -1)
GAME(word_zapper, "WordZapper", "WordZapper", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0xf, .modes = (const uint16_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8,
     9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}, .mode_count = 24, .mode_byte = 91,
     .mode_mask = 0xff, .select_frames = 2, .reset_frames = 4,
     .start_actions = (const pp_start_action[]){{0, 486}, {1, 1}, {0, 2}, {0}})
GAME(yars_revenge, "YarsRevenge", "YarsRevenge", .hardware = {.lines = 210, .first_line = 34},
     .actions = 0x3ffff, .difficulties = 0x3, .modes = (const uint16_t[]){0, 32, 64, 96},
     .mode_count = 4, .mode_byte = 0, .mode_values = (const uint8_t[]){192, 194, 196, 198},
     .mode_mask = 0xff, .select_frames = 1, .reset_frames = 4,
     .start_actions = (const pp_start_action[]){{1, 1}, {0}})
GAME(zaxxon, "Zaxxon", "Zaxxon", .hardware = {.lines = 210, .first_line = 34}, .actions = 0x3ffff,
     .difficulties = 0x1, .modes = (const uint16_t[]){0, 8, 16, 24}, .mode_count = 4,
     .mode_byte = 2, .mode_mask = 0xff, .select_frames = 10, .reset_frames = 4)

#undef GAME
