/* ALE options: the options of ALE/<Game>-v5: their table, their checks, and the spaces that they
 * define. */
#include "ale_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* ----------------------------------------------------------------------------------- options -- */

enum {
  MAX_SKIP = 100000, /* frames of the game in one step */
  MAX_STACK = 64,
};

enum {
  MODE,
  DIFFICULTY,
  OBS_TYPE,
  FRAMESKIP,
  FRAMESKIP_END,
  STICKY,
  FULL_ACTION_SPACE,
  CONTINUOUS,
  THRESHOLD,
  MAX_FRAMES,
  RAM_INFO,
  PREPROCESSING,
  NOOP_MAX,
  FRAME_SKIP,
  SCREEN_WIDTH,
  SCREEN_HEIGHT,
  LIFE_LOSS,
  GRAY_OBS,
  NEW_AXIS,
  SCALE_OBS,
  STACK_SIZE,
  STACK_ZERO,
  ROM,
  NUM_OPTIONS
};

_Static_assert((int)NUM_OPTIONS == (int)PP_ALE_NUM_OPTIONS,
               "PP_ALE_NUM_OPTIONS is the number of options");

const pp_option pp_ale_option_table[PP_ALE_NUM_OPTIONS] = {
    [MODE] = PP_INT_OPTION("mode", -1, -1, UINT16_MAX, "the game's mode; -1 or None: its first"),
    [DIFFICULTY] =
        PP_INT_OPTION("difficulty", -1, -1, UINT8_MAX, "the game's difficulty; -1 or None: 0"),
    [OBS_TYPE] = {.name = "obs_type",
                  .type = PP_OPT_STRING,
                  .text = "rgb",
                  .doc = "rgb, grayscale or ram"},
    [FRAMESKIP] =
        PP_INT_OPTION("frameskip", 4, 1, MAX_SKIP,
                      "frames of the game in one step, or a range (low, high) to draw from"),
    [FRAMESKIP_END] = PP_INT_OPTION("frameskip_end", 0, 0, MAX_SKIP,
                                    "end of the range, never drawn itself; 0: no range"),
    [STICKY] = PP_STICKY_OPTION(0.25),
    [FULL_ACTION_SPACE] = PP_FULL_ACTION_SPACE_OPTION,
    [CONTINUOUS] = PP_BOOL_OPTION(
        "continuous", false, "actions are a stick's radius and angle, and how far FIRE is pressed"),
    [THRESHOLD] = {.name = "continuous_action_threshold",
                   .type = PP_OPT_FLOAT,
                   .number = 0.5,
                   .doc = "beyond it a continuous action counts as a direction, or as FIRE",
                   .keeps = 1 << PP_FLOAT64,
                   /* the lower bound is its negative, which wraps around */
                   .refuses = PP_UNSIGNED_DTYPES},
    [MAX_FRAMES] = PP_INT_OPTION("max_num_frames_per_episode", 108000, INT32_MIN, INT32_MAX,
                                 "frames that truncate an episode; None, 0 or less: no limit"),
    [RAM_INFO] =
        PP_BOOL_OPTION("ram_info", false, "adds the console's 128 bytes of RAM to the infos"),
    /* the arguments of Gymnasium's AtariPreprocessing and FrameStackObservation */
    [PREPROCESSING] = PP_BOOL_OPTION("preprocessing", false,
                                     "steps and pictures of gymnasium.wrappers.AtariPreprocessing"),
    [NOOP_MAX] =
        PP_INT_OPTION("noop_max", 30, 0, MAX_SKIP,
                      "upper bound of the no-op steps at the beginning of a reset; 0: none"),
    [FRAME_SKIP] = PP_INT_OPTION("frame_skip", 4, 1, MAX_SKIP,
                                 "steps of the game in one step; the last two are pooled"),
    [SCREEN_WIDTH] =
        PP_INT_OPTION("screen_width", 84, 1, PP_RESIZE_MAX_SIDE, "columns of a picture"),
    [SCREEN_HEIGHT] =
        PP_INT_OPTION("screen_height", 84, 1, PP_RESIZE_MAX_SIDE, "rows of a picture"),
    [LIFE_LOSS] = PP_BOOL_OPTION("terminal_on_life_loss", false, "a lost life ends the episode"),
    [GRAY_OBS] = PP_BOOL_OPTION("grayscale_obs", true, "luminance; otherwise red, green and blue"),
    [NEW_AXIS] =
        PP_BOOL_OPTION("grayscale_newaxis", false, "an axis of one at the end of gray pictures"),
    [SCALE_OBS] = PP_BOOL_OPTION("scale_obs", false, "float32 from 0 to 1; otherwise bytes"),
    [STACK_SIZE] =
        PP_INT_OPTION("stack_size", 0, 0, MAX_STACK,
                      "frames in one observation, oldest first; 0: one, without an axis"),
    [STACK_ZERO] =
        PP_BOOL_OPTION("stack_padding_zero", false,
                       "black pictures before a reset's picture; otherwise copies of it"),
    [ROM] = PP_ROM_OPTION,
};

/* ---------------------------------------------------------------------------------- creation -- */

static int make_setup(pp_config *config, pp_ale_options *options) {
  const pp_value *values = config->options;
  const pp_setup_options chosen = {
      .rom = &values[ROM],
      .mode = values[MODE].i,
      .difficulty = values[DIFFICULTY].i,
      // a continuous action can be any of the eighteen
      .full_action_space = values[FULL_ACTION_SPACE].i || values[CONTINUOUS].i,
  };
  return pp_setup_init(&options->setup, config, config->def->variant, &chosen);
}

static int read_options(pp_config *config, pp_ale_options *options) {
  const pp_value *values = config->options;
  const char *kind = values[OBS_TYPE].s;
  if (strcmp(kind, "rgb") == 0) {
    options->view = PP_ALE_RGB;
  } else if (strcmp(kind, "grayscale") == 0) {
    options->view = PP_ALE_GRAY;
  } else if (strcmp(kind, "ram") == 0) {
    options->view = PP_ALE_RAM;
  } else {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "obs_type='%.40s': choose rgb, grayscale or ram",
                   kind);
  }
  options->skip = (int32_t)values[FRAMESKIP].i;
  options->skip_end = (int32_t)values[FRAMESKIP_END].i;
  if (options->skip_end && options->skip_end <= options->skip) {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "frameskip=(%d, %d): choose low < high",
                   options->skip, options->skip_end);
  }
  if (values[PREPROCESSING].i && values[CONTINUOUS].i && values[NOOP_MAX].i) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "noop_max=%d with continuous=True: choose noop_max=0", (int)values[NOOP_MAX].i);
  }
  options->max_frames = (int32_t)values[MAX_FRAMES].i;
  options->threshold = values[THRESHOLD].dtype == PP_FLOAT64 ? values[THRESHOLD].f
                                                             : (double)(float)values[THRESHOLD].f;
  options->is_continuous = values[CONTINUOUS].i != 0;
  options->has_ram_info = values[RAM_INFO].i != 0;
  return PP_OK;
}

static int make_screen(const pp_ale_options *options, int height, int width, int gray,
                       pp_screen **out) {
  const pp_screen_options screen = {
      .rows = options->setup.cartridge->lines,
      .height = height,
      .width = width,
      .gray = gray,
      .area = true,
  };
  return pp_setup_make_screen(&options->setup, screen, out);
}

static int make_preprocessor(const pp_value *values, pp_ale_options *options) {
  pp_preprocessor *preprocessor = &options->preprocessor;
  options->is_preprocessed = 1;
  options->frame_skip = (int32_t)values[FRAME_SKIP].i;
  options->noop_max = (int32_t)values[NOOP_MAX].i;
  options->ends_on_life_loss = values[LIFE_LOSS].i != 0;
  preprocessor->stack = values[STACK_SIZE].i ? (int32_t)values[STACK_SIZE].i : 1;
  preprocessor->pads_zero = values[STACK_ZERO].i != 0;
  preprocessor->scales = values[SCALE_OBS].i != 0;
  for (int i = 0; i < 256; i++) preprocessor->scaled[i] = (float)i / 255.0f;
  return make_screen(options, (int)values[SCREEN_HEIGHT].i, (int)values[SCREEN_WIDTH].i,
                     values[GRAY_OBS].i != 0, &preprocessor->screen);
}

static int make_view(const pp_value *values, pp_ale_options *options) {
  if (values[PREPROCESSING].i) return make_preprocessor(values, options);
  if (options->view != PP_ALE_GRAY) return PP_OK;
  return make_screen(options, options->setup.cartridge->lines, PP_LINE_PIXELS, 1, &options->screen);
}

static void describe_frames(pp_field *obs, const pp_value *values) {
  if (values[STACK_SIZE].i) obs->shape[obs->ndim++] = values[STACK_SIZE].i;
  obs->shape[obs->ndim++] = values[SCREEN_HEIGHT].i;
  obs->shape[obs->ndim++] = values[SCREEN_WIDTH].i;
  if (!values[GRAY_OBS].i || values[NEW_AXIS].i) {
    obs->shape[obs->ndim++] = values[GRAY_OBS].i ? 1 : 3;
  }
  if (!values[SCALE_OBS].i) return;
  obs->dtype = PP_FLOAT32;
  obs->high = 1;
}

static void describe_screen(pp_field *obs, const pp_ale_options *options) {
  obs->ndim = options->view == PP_ALE_RAM ? 1 : options->view == PP_ALE_GRAY ? 2 : 3;
  obs->shape[0] = options->view == PP_ALE_RAM ? PP_RAM_BYTES : options->setup.cartridge->lines;
  obs->shape[1] = PP_LINE_PIXELS;
  obs->shape[2] = 3;
}

static void describe_action(pp_field *action, const pp_ale_options *options) {
  // numpy.pi as a float32
  static const double lows[3] = {0, -0x1.921fb6p+1, 0}, highs[3] = {1, 0x1.921fb6p+1, 1};
  action->n = options->setup.num_actions;
  if (!options->is_continuous) return;
  *action = (pp_field){.name = "action",
                       .dtype = PP_FLOAT32,
                       .space = PP_BOX,
                       .ndim = 1,
                       .shape = {3},
                       .lows = lows,
                       .highs = highs};
}

double pp_ale_options_sticky(const pp_env *env) {
  return env->options[STICKY].f;
}

int pp_ale_options_create(pp_config *config, pp_ale_options **out) {
  pp_ale_options *options = calloc(1, sizeof(*options));
  if (!options) return PP_ERR_MEMORY;
  int status = make_setup(config, options);
  if (status >= 0) status = read_options(config, options);
  if (status >= 0) status = make_view(config->options, options);
  if (status < 0) {
    pp_ale_options_destroy(options);
    return status;
  }
  if (options->is_preprocessed) {
    describe_frames(&config->fields[0], config->options);
  } else {
    describe_screen(&config->fields[0], options);
  }
  describe_action(&config->action, options);
  *out = options;
  return PP_OK;
}

void pp_ale_options_destroy(pp_ale_options *options) {
  pp_setup_fini(&options->setup);
  pp_screen_destroy(options->screen);
  pp_screen_destroy(options->preprocessor.screen);
  free(options);
}
