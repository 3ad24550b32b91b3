/* PettingZoo options: the options of atari/<game>: their tables, and the modes and spaces that
 * they define. */
#include "pettingzoo_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "pettingzoo.h"

/* ------------------------------------------------------------------------------------ tables -- */

enum {
  MAX_SKIP = 100000, /* frames of one step */
  MAX_STACK = 64,
};

#define COMMON                                                                                     \
  [PP_PETTINGZOO_OBS_TYPE] = {.name = "obs_type",                                                  \
                              .type = PP_OPT_STRING,                                               \
                              .text = "rgb_image",                                                 \
                              .doc = "rgb_image, grayscale_image or ram"},                         \
  [PP_PETTINGZOO_FULL_ACTION_SPACE] = PP_BOOL_OPTION(                                              \
      "full_action_space", false, "all eighteen actions, instead of those that the game uses"),    \
  [PP_PETTINGZOO_MAX_CYCLES] =                                                                     \
      PP_INT_OPTION("max_cycles", 100000, 1, INT32_MAX, "frames that truncate an episode"),        \
  [PP_PETTINGZOO_FRAME_SKIP] = PP_INT_OPTION("frame_skip", 1, 1, MAX_SKIP, "frames of one step"),  \
  [PP_PETTINGZOO_STICKY] =                                                                         \
      PP_VARYING_FLOAT_OPTION("repeat_action_probability", 0, 0, 1,                                \
                              "probability that a player repeats its previous action in a frame"), \
  [PP_PETTINGZOO_MAX_POOL] = PP_BOOL_OPTION(                                                       \
      "max_pool", false, "pictures are the maximum of the last two frames, pixel by pixel"),       \
  [PP_PETTINGZOO_SCREEN_HEIGHT] =                                                                  \
      PP_INT_OPTION("screen_height", 0, 0, PP_RESIZE_MAX_SIDE,                                     \
                    "rows of a picture, resized with cv2's INTER_AREA; 0: as the screen"),         \
  [PP_PETTINGZOO_SCREEN_WIDTH] = PP_INT_OPTION("screen_width", 0, 0, PP_RESIZE_MAX_SIDE,           \
                                               "columns of a picture; 0: as the screen"),          \
  [PP_PETTINGZOO_STACK_SIZE] =                                                                     \
      PP_INT_OPTION("stack_size", 1, 1, MAX_STACK,                                                 \
                    "pictures of an observation, along its last axis, oldest first; black ones "   \
                    "at the start of an episode"),                                                 \
  [PP_PETTINGZOO_INDICATOR] = PP_BOOL_OPTION(                                                      \
      "agent_indicator", false,                                                                    \
      "one more channel for each player, which is 255 for the player's own and 0 elsewhere"),      \
  [PP_PETTINGZOO_RAM_INFO] = PP_BOOL_OPTION(                                                       \
      "ram_info", false, "adds the infos ram, 128 bytes, and lives, of each player"),              \
  [PP_PETTINGZOO_ROM] = {.name = "rom",                                                            \
                         .type = PP_OPT_BYTES,                                                     \
                         .doc = "the game's program; if not given, Python takes it from ale-py"}

#define NUM_PLAYERS(usual) PP_INT_OPTION("num_players", usual, 2, 4, "2 or 4")
#define GAME_VERSION(usual, choices) \
  {.name = "game_version", .type = PP_OPT_STRING, .text = usual, .doc = choices}

static const pp_option common_options[] = {COMMON};
static const pp_option basketball_pong_options[] = {COMMON, NUM_PLAYERS(2)};
static const pp_option foozpong_options[] = {COMMON, NUM_PLAYERS(4)};
static const pp_option volleyball_pong_options[] = {COMMON, NUM_PLAYERS(4)};
static const pp_option pong_options[] = {
    COMMON, NUM_PLAYERS(2),
    GAME_VERSION("classic",
                 "classic, two_paddles, soccer, foozpong, hockey, handball, volleyball or "
                 "basketball; with four players also quadrapong")};
static const pp_option combat_plane_options[] = {
    COMMON, GAME_VERSION("bi-plane", "bi-plane or jet"),
    PP_BOOL_OPTION("guided_missile", true, "missiles can be steered after they were fired")};
static const pp_option combat_tank_options[] = {
    COMMON, PP_BOOL_OPTION("has_maze", true, "a maze instead of an open field"),
    PP_BOOL_OPTION("is_invisible", false, "tanks are seen only while they fire or hit a wall"),
    PP_BOOL_OPTION("billiard_hit", true, "shots count only after they bounced off a wall")};
static const pp_option maze_craze_options[] = {
    COMMON, GAME_VERSION("robbers", "robbers, race or capture"),
    /* PettingZoo's spelling */
    PP_INT_OPTION("visibilty_level", 0, 0, 3, "0: the whole maze is seen; 3: nothing of it")};
static const pp_option space_invaders_options[] = {
    COMMON,
    PP_BOOL_OPTION("alternating_control", false, "only one player at a time can fire"),
    PP_BOOL_OPTION("moving_shields", true, "the shields move to and fro"),
    PP_BOOL_OPTION("zigzaging_bombs", false, "bombs move to and fro"),
    PP_BOOL_OPTION("fast_bomb", false, "bombs are faster"),
    PP_BOOL_OPTION("invisible_invaders", false, "the invaders are not seen")};

/* ------------------------------------------------------------------------------------- modes -- */

typedef struct choice {
  const char *name;
  int two, four; /* the mode; 0: there is none */
} choice;

static const choice pong_versions[] = {
    {"classic", 4, 6},    {"two_paddles", 10, 11}, {"soccer", 14, 16},
    {"foozpong", 19, 21}, {"hockey", 27, 29},      {"quadrapong", 0, 33},
    {"handball", 35, 37}, {"volleyball", 39, 41},  {"basketball", 45, 49},
};
static const choice plane_versions[] = {{"bi-plane", 15, 0}, {"jet", 21, 0}};
static const choice maze_versions[] = {{"robbers", 2, 0}, {"race", 1, 0}, {"capture", 12, 0}};

/* Returns the number of a version; -1 with an error message if there is none. */
static int version(pp_config *config, const choice *choices, size_t count, const char *name,
                   int players) {
  char *text = config->error->text;
  const size_t room = sizeof(config->error->text);
  size_t used =
      (size_t)snprintf(text, room, "game_version='%.40s' with %d players: choose", name, players);
  const char *separator = " ";
  for (size_t i = 0; i < count; i++) {
    int number = players == 4 ? choices[i].four : choices[i].two;
    if (number == 0) continue;
    if (strcmp(choices[i].name, name) == 0) {
      text[0] = 0;
      return number;
    }
    used += (size_t)snprintf(text + used, room - used, "%s%s", separator, choices[i].name);
    separator = ", ";
  }
  return -1;
}

#define VERSION(choices, name, players) \
  version(config, choices, sizeof(choices) / sizeof(choices)[0], name, players)

/* Returns the mode that a game's own options choose; -1 with an error message if there is none. */
static int mode_of(pp_config *config, const char *game, int players) {
  const pp_value *own = config->options + PP_PETTINGZOO_OWN;
  if (strcmp(game, "pong") == 0) return VERSION(pong_versions, own[1].s, players);
  if (strcmp(game, "basketball_pong") == 0) return players == 4 ? 49 : 45;
  if (strcmp(game, "foozpong") == 0) return players == 4 ? 21 : 19;
  if (strcmp(game, "volleyball_pong") == 0) return players == 4 ? 41 : 39;
  if (strcmp(game, "combat_plane") == 0) {
    int mode = VERSION(plane_versions, own[0].s, 2);
    return mode < 0 ? mode : mode + !own[1].i;
  }
  if (strcmp(game, "combat_tank") == 0) {
    static const int first[2][2] = {{1, 8}, {10, 13}};
    return first[own[1].i != 0][own[2].i != 0] + (own[0].i != 0);
  }
  if (strcmp(game, "maze_craze") == 0) {
    int number = VERSION(maze_versions, own[0].s, 2);
    return number < 0 ? number : (number - 1) * 4 + (int)own[1].i;
  }
  // Space Invaders
  return 33 + (own[1].i != 0) + 2 * (own[2].i != 0) + 4 * (own[3].i != 0) + 8 * (own[4].i != 0) +
         16 * (own[0].i != 0);
}

/* ---------------------------------------------------------------------------------- creation -- */

/* what distinguishes a game: ale-py's name of the ROM; who plays and the mode, 0 if options say
 * so */
typedef struct played_game {
  const char *name, *rom;
  int players, mode;
} played_game;

static int make_setup(pp_config *config, pp_pettingzoo_options *options) {
  const pp_value *values = config->options;
  const played_game *game = config->def->data;
  int players = game->players;
  if (players == 0) players = (int)values[PP_PETTINGZOO_OWN].i;
  if (players == 3) return pp_fail(config->error, PP_ERR_ARGUMENT, "num_players=3: choose 2 or 4");
  int mode = game->mode ? game->mode : mode_of(config, game->name, players);
  if (mode < 0) return PP_ERR_ARGUMENT;
  const pp_setup_options chosen = {
      .rom = &values[PP_PETTINGZOO_ROM],
      .mode = mode,
      .difficulty = -1,
      .full_action_space = values[PP_PETTINGZOO_FULL_ACTION_SPACE].i,
      .players = players,
  };
  options->players = players;
  return pp_setup_init(&options->setup, config, game->rom, &chosen);
}

static int read_view(pp_config *config, pp_pettingzoo_options *options) {
  const pp_value *values = config->options;
  const char *kind = values[PP_PETTINGZOO_OBS_TYPE].s;
  if (strcmp(kind, "rgb_image") == 0) {
    options->view = PP_PETTINGZOO_RGB;
  } else if (strcmp(kind, "grayscale_image") == 0) {
    options->view = PP_PETTINGZOO_GRAY;
  } else if (strcmp(kind, "ram") == 0) {
    options->view = PP_PETTINGZOO_RAM;
  } else {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "obs_type='%.40s': choose rgb_image, grayscale_image or ram", kind);
  }
  bool changes =
      options->pools || options->is_resized || options->stack > 1 || options->has_indicator;
  if (options->view == PP_PETTINGZOO_RAM && changes) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "obs_type='ram' with max_pool, screen_height, screen_width, stack_size or "
                   "agent_indicator: these are for images");
  }
  return PP_OK;
}

static int make_screen(const pp_value *values, pp_pettingzoo_options *options) {
  if (options->view == PP_PETTINGZOO_RAM) return PP_OK;
  int height = (int)values[PP_PETTINGZOO_SCREEN_HEIGHT].i,
      width = (int)values[PP_PETTINGZOO_SCREEN_WIDTH].i;
  const pp_screen_options screen = {
      .rows = options->setup.cartridge->lines,
      .height = height ? height : options->setup.cartridge->lines,
      .width = width ? width : PP_LINE_PIXELS,
      .gray = options->view == PP_PETTINGZOO_GRAY,
      .area = true,
  };
  return pp_setup_make_screen(&options->setup, screen, &options->screen);
}

int pp_pettingzoo_planes(const pp_pettingzoo_options *options) {
  return options->stack * options->screen->planes + (options->has_indicator ? options->players : 0);
}

static void describe(pp_config *config, const pp_pettingzoo_options *options) {
  const pp_value *values = config->options;
  static const char *const names[] = {"first_0", "second_0", "third_0", "fourth_0"};
  config->num_players = options->players;
  config->player_names = names;
  config->action.n = options->setup.num_actions;
  if (!values[PP_PETTINGZOO_RAM_INFO].i) config->num_fields = PP_PETTINGZOO_RAM_FIELD;
  pp_field *obs = &config->fields[0];
  if (options->view == PP_PETTINGZOO_RAM) {
    obs->ndim = 1;
    obs->shape[0] = PP_RAM_BYTES;
    return;
  }
  int64_t height = values[PP_PETTINGZOO_SCREEN_HEIGHT].i,
          width = values[PP_PETTINGZOO_SCREEN_WIDTH].i;
  obs->ndim = 3;
  obs->shape[0] = height ? height : options->setup.cartridge->lines;
  obs->shape[1] = width ? width : PP_LINE_PIXELS;
  obs->shape[2] = pp_pettingzoo_planes(options);
}

int pp_pettingzoo_options_create(pp_config *config, pp_pettingzoo_options **out) {
  pp_pettingzoo_options *options = calloc(1, sizeof(*options));
  if (!options) return PP_ERR_MEMORY;
  const pp_value *values = config->options;
  options->max_cycles = (int32_t)values[PP_PETTINGZOO_MAX_CYCLES].i;
  options->frame_skip = (int32_t)values[PP_PETTINGZOO_FRAME_SKIP].i;
  options->stack = (int32_t)values[PP_PETTINGZOO_STACK_SIZE].i;
  options->pools = values[PP_PETTINGZOO_MAX_POOL].i != 0;
  options->has_indicator = values[PP_PETTINGZOO_INDICATOR].i != 0;
  options->has_ram_info = values[PP_PETTINGZOO_RAM_INFO].i != 0;
  options->is_resized =
      values[PP_PETTINGZOO_SCREEN_HEIGHT].i != 0 || values[PP_PETTINGZOO_SCREEN_WIDTH].i != 0;
  int status = make_setup(config, options);
  if (status >= 0) status = read_view(config, options);
  if (status >= 0) status = make_screen(values, options);
  if (status < 0) {
    pp_pettingzoo_options_destroy(options);
    return status;
  }
  describe(config, options);
  *out = options;
  return PP_OK;
}

void pp_pettingzoo_options_destroy(pp_pettingzoo_options *options) {
  pp_setup_fini(&options->setup);
  pp_screen_destroy(options->screen);
  free(options);
}

#define COUNT(table) (int32_t)(sizeof(table) / sizeof(table)[0])

/* everything but names, options and data is the same for all games */
#define GAME(game, version, rom, usual, mode_, table)              \
  {                                                                \
      .abi = PP_ENV_ABI,                                           \
      .size = sizeof(pp_env_def),                                  \
      .id = "atari/" #game "_v" #version,                          \
      .family = "atari_players",                                   \
      .variant = #game,                                            \
      .data = &(const played_game){#game, #rom, usual, mode_},     \
      .reference = "PettingZoo 1.27.0, multi_agent_ale_py 0.1.12", \
                                                                   \
      .options = table,                                            \
      .num_options = COUNT(table),                                 \
      .state_size = sizeof(pp_pettingzoo),                         \
      .num_players = 2,                                            \
      .num_fields = PP_PETTINGZOO_NUM_FIELDS,                      \
      .fields = pp_pettingzoo_fields,                              \
      .configure = pp_pettingzoo_configure,                        \
      .release = pp_pettingzoo_release,                            \
      .init = pp_pettingzoo_init,                                  \
      .seed = pp_pettingzoo_seed,                                  \
      .reset = pp_pettingzoo_reset,                                \
      .step = pp_pettingzoo_step,                                  \
      .observe = pp_pettingzoo_observe,                            \
      .check_state = pp_pettingzoo_check_state,                    \
      .render = pp_pettingzoo_render,                              \
      .action = {.name = "action",                                 \
                 .dtype = PP_INT64,                                \
                 .space = PP_DISCRETE,                             \
                 .per_player = true,                               \
                 .n = PP_ACTIONS},                                 \
  },

const pp_env_def pp_env_atari_pettingzoo[PP_MULTIPLAYER_GAME_COUNT] = {
#include "games/multiplayer/pettingzoo.def"
};
