// ale_options.c: the options of ALE/<Game>-v5, and what is made of them.
#include "ale_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------- options

enum {
  MAX_SKIP = 100000,  // frames of the game in one step
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

_Static_assert((int)NUM_OPTIONS == (int)PP_ALE_OPTIONS, "the header says how many there are");

const pp_option pp_ale_options[PP_ALE_OPTIONS] = {
    [MODE] = {.name = "mode",
              .type = PP_OPT_INT,
              .number = -1,
              .low = -1,
              .high = UINT16_MAX,
              .doc = "the game's mode; -1 or None: its first"},
    [DIFFICULTY] = {.name = "difficulty",
                    .type = PP_OPT_INT,
                    .number = -1,
                    .low = -1,
                    .high = UINT8_MAX,
                    .doc = "the game's difficulty; -1 or None: its first"},
    [OBS_TYPE] = {.name = "obs_type",
                  .type = PP_OPT_STRING,
                  .text = "rgb",
                  .doc = "rgb, grayscale or ram"},
    [FRAMESKIP] = {.name = "frameskip",
                   .type = PP_OPT_INT,
                   .number = 4,
                   .low = 1,
                   .high = MAX_SKIP,
                   .doc = "frames of the game in one step, or a range (low, high) to draw from"},
    [FRAMESKIP_END] = {.name = "frameskip_end",
                       .type = PP_OPT_INT,
                       .number = 0,
                       .low = 0,
                       .high = MAX_SKIP,
                       .doc = "end of such a range, itself never drawn; 0: no range"},
    [STICKY] = {.name = "repeat_action_probability",
                .type = PP_OPT_FLOAT,
                .number = 0.25,
                .low = 0,
                .high = 1,
                .doc = "probability that a frame repeats the previous action"},
    [FULL_ACTION_SPACE] = {.name = "full_action_space",
                           .type = PP_OPT_BOOL,
                           .doc = "all 18 actions instead of those that the game uses"},
    [CONTINUOUS] = {.name = "continuous",
                    .type = PP_OPT_BOOL,
                    .doc = "actions are a stick's radius and angle, and how far FIRE is pressed"},
    [THRESHOLD] = {.name = "continuous_action_threshold",
                   .type = PP_OPT_FLOAT,
                   .number = 0.5,
                   .doc = "beyond it a continuous action counts as a direction, or as FIRE"},
    [MAX_FRAMES] = {.name = "max_num_frames_per_episode",
                    .type = PP_OPT_INT,
                    .number = 108000,
                    .low = INT32_MIN,
                    .high = INT32_MAX,
                    .doc = "frames that truncate an episode; None, 0 and less: no such limit"},
    [RAM_INFO] = {.name = "ram_info",
                  .type = PP_OPT_BOOL,
                  .doc = "adds the console's 128 bytes of RAM to the infos"},
    // the arguments of Gymnasium's AtariPreprocessing and FrameStackObservation
    [PREPROCESSING] = {.name = "preprocessing",
                       .type = PP_OPT_BOOL,
                       .doc = "steps and pictures of gymnasium.wrappers.AtariPreprocessing"},
    [NOOP_MAX] = {.name = "noop_max",
                  .type = PP_OPT_INT,
                  .number = 30,
                  .low = 0,
                  .high = MAX_SKIP,
                  .doc = "most steps without action that a reset may begin with; 0: none"},
    [FRAME_SKIP] = {.name = "frame_skip",
                    .type = PP_OPT_INT,
                    .number = 4,
                    .low = 1,
                    .high = MAX_SKIP,
                    .doc = "steps of the game in one; the last two are pooled"},
    [SCREEN_WIDTH] = {.name = "screen_width",
                      .type = PP_OPT_INT,
                      .number = 84,
                      .low = 1,
                      .high = PP_RESIZE_MAX_SIDE,
                      .doc = "columns of a picture"},
    [SCREEN_HEIGHT] = {.name = "screen_height",
                       .type = PP_OPT_INT,
                       .number = 84,
                       .low = 1,
                       .high = PP_RESIZE_MAX_SIDE,
                       .doc = "rows of a picture"},
    [LIFE_LOSS] = {.name = "terminal_on_life_loss",
                   .type = PP_OPT_BOOL,
                   .doc = "a lost life ends the episode"},
    [GRAY_OBS] = {.name = "grayscale_obs",
                  .type = PP_OPT_BOOL,
                  .number = 1,
                  .doc = "luminance, else red, green and blue"},
    [NEW_AXIS] = {.name = "grayscale_newaxis",
                  .type = PP_OPT_BOOL,
                  .doc = "an axis of one at the end of gray pictures"},
    [SCALE_OBS] = {.name = "scale_obs",
                   .type = PP_OPT_BOOL,
                   .doc = "float32 from 0 to 1, else bytes"},
    [STACK_SIZE] = {.name = "stack_size",
                    .type = PP_OPT_INT,
                    .number = 0,
                    .low = 0,
                    .high = MAX_STACK,
                    .doc = "pictures in one observation, oldest first; 0: one, without an axis"},
    [STACK_ZERO] = {.name = "stack_padding_zero",
                    .type = PP_OPT_BOOL,
                    .doc = "black pictures before a reset's own, else copies of it"},
    [ROM] = {.name = "rom",
             .type = PP_OPT_BYTES,
             .doc = "the game's program; Python takes it from ale-py where it is not given"},
};

// --------------------------------------------------------------------------- making it

static int fail(pp_config *config, const char *text) {
  snprintf(config->error->text, sizeof config->error->text, "%s", text);
  return PP_ERR_ARGUMENT;
}

static int make_arcade(pp_config *config, pp_ale_hall *hall) {
  const pp_value *values = config->options;
  const pp_arcade_options chosen = {
      .rom = &values[ROM],
      .mode = values[MODE].i,
      .difficulty = values[DIFFICULTY].i,
      .sticky = values[STICKY].f,
      // a stick reaches all eighteen
      .full_action_space = values[FULL_ACTION_SPACE].i || values[CONTINUOUS].i,
  };
  return pp_arcade_init(&hall->arcade, config, config->variant, &chosen);
}

static int read_options(pp_config *config, pp_ale_hall *hall) {
  const pp_value *values = config->options;
  const char *kind = values[OBS_TYPE].s;
  if (strcmp(kind, "rgb") == 0) {
    hall->view = PP_ALE_RGB;
  } else if (strcmp(kind, "grayscale") == 0) {
    hall->view = PP_ALE_GRAY;
  } else if (strcmp(kind, "ram") == 0) {
    hall->view = PP_ALE_RAM;
  } else {
    return fail(config, "obs_type: choose rgb, grayscale or ram");
  }
  hall->skip = (int32_t)values[FRAMESKIP].i;
  hall->skip_end = (int32_t)values[FRAMESKIP_END].i;
  if (hall->skip_end && hall->skip_end <= hall->skip) {
    return fail(config, "frameskip=(low, high): choose low < high");
  }
  if (values[PREPROCESSING].i && values[CONTINUOUS].i && values[NOOP_MAX].i) {
    return fail(config, "noop_max with continuous=True: choose noop_max=0");
  }
  hall->max_frames = (int32_t)values[MAX_FRAMES].i;
  hall->threshold = (float)values[THRESHOLD].f;
  hall->is_continuous = values[CONTINUOUS].i != 0;
  hall->tells_ram = values[RAM_INFO].i != 0;
  return PP_OK;
}

static int make_screen(const pp_ale_hall *hall, int height, int width, int gray, pp_screen **out) {
  const pp_screen_options screen = {
      .rows = hall->arcade.cartridge->lines,
      .height = height,
      .width = width,
      .gray = gray,
      .area = true,
  };
  return pp_arcade_make_screen(&hall->arcade, screen, out);
}

static int make_camera(const pp_value *values, pp_ale_hall *hall) {
  pp_camera *camera = &hall->camera;
  hall->is_filmed = 1;
  hall->frame_skip = (int32_t)values[FRAME_SKIP].i;
  hall->noop_max = (int32_t)values[NOOP_MAX].i;
  hall->ends_on_life_loss = values[LIFE_LOSS].i != 0;
  camera->stack = values[STACK_SIZE].i ? (int32_t)values[STACK_SIZE].i : 1;
  camera->pads_zero = values[STACK_ZERO].i != 0;
  camera->scales = values[SCALE_OBS].i != 0;
  for (int i = 0; i < 256; i++) camera->scaled[i] = (float)i / 255.0f;
  return make_screen(hall, (int)values[SCREEN_HEIGHT].i, (int)values[SCREEN_WIDTH].i,
                     values[GRAY_OBS].i != 0, &camera->screen);
}

static int make_view(const pp_value *values, pp_ale_hall *hall) {
  if (values[PREPROCESSING].i) return make_camera(values, hall);
  if (hall->view != PP_ALE_GRAY) return PP_OK;
  return make_screen(hall, hall->arcade.cartridge->lines, PP_LINE_PIXELS, 1, &hall->screen);
}

static void describe_film(pp_field *obs, const pp_value *values) {
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

static void describe_screen(pp_field *obs, const pp_ale_hall *hall) {
  obs->ndim = hall->view == PP_ALE_RAM ? 1 : hall->view == PP_ALE_GRAY ? 2 : 3;
  obs->shape[0] = hall->view == PP_ALE_RAM ? PP_ALE_RAM_BYTES : hall->arcade.cartridge->lines;
  obs->shape[1] = PP_LINE_PIXELS;
  obs->shape[2] = 3;
}

static void describe_action(pp_field *action, const pp_ale_hall *hall) {
  // numpy.pi as a float32
  static const double lows[3] = {0, -0x1.921fb6p+1, 0}, highs[3] = {1, 0x1.921fb6p+1, 1};
  action->n = hall->arcade.num_actions;
  if (!hall->is_continuous) return;
  *action = (pp_field){.name = "action",
                       .dtype = PP_FLOAT32,
                       .space = PP_BOX,
                       .ndim = 1,
                       .shape = {3},
                       .lows = lows,
                       .highs = highs};
}

int pp_ale_hall_create(pp_config *config, pp_ale_hall **out) {
  pp_ale_hall *hall = calloc(1, sizeof *hall);
  if (!hall) return PP_ERR_MEMORY;
  int status = make_arcade(config, hall);
  if (status >= 0) status = read_options(config, hall);
  if (status >= 0) status = make_view(config->options, hall);
  if (status < 0) {
    pp_ale_hall_destroy(hall);
    return status;
  }
  if (hall->is_filmed) {
    describe_film(&config->fields[0], config->options);
  } else {
    describe_screen(&config->fields[0], hall);
  }
  describe_action(&config->action, hall);
  *out = hall;
  return PP_OK;
}

void pp_ale_hall_destroy(pp_ale_hall *hall) {
  pp_arcade_fini(&hall->arcade);
  pp_screen_destroy(hall->screen);
  pp_screen_destroy(hall->camera.screen);
  free(hall);
}
