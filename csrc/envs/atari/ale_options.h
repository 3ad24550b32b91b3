/* ALE options: the options of a pool of ALE/<Game>-v5, checked and ready for use. */
#ifndef PP_ENVS_ATARI_ALE_OPTIONS_H
#define PP_ENVS_ATARI_ALE_OPTIONS_H

#include <stdint.h>

#include "picture/preprocessing.h"
#include "picture/screen.h"
#include "pp_env.h"
#include "setup.h"

enum { PP_ALE_NUM_OPTIONS = 23 };

/* AtariEnv's arguments, then those of AtariPreprocessing and FrameStackObservation */
extern const pp_option pp_ale_option_table[PP_ALE_NUM_OPTIONS];

typedef enum pp_ale_view { PP_ALE_RGB, PP_ALE_GRAY, PP_ALE_RAM } pp_ale_view;

typedef struct pp_ale_options {
  pp_setup setup;
  pp_screen *screen; /* only for PP_ALE_GRAY */
  pp_ale_view view;
  int32_t skip, skip_end; /* frames in one step: skip to skip_end - 1; if skip_end is 0, skip */
  int32_t max_frames;
  double threshold;
  uint8_t is_continuous, has_ram_info;
  uint8_t is_preprocessed; /* the fields below are in use */
  uint8_t ends_on_life_loss;
  int32_t frame_skip, noop_max;
  pp_preprocessor preprocessor;
} pp_ale_options;

/* Returns the probability that a frame of this environment repeats the previous action. */
double pp_ale_options_sticky(const pp_env *env);

/* Reads the options of config, and writes the descriptions of the observation (the first field) and
 * of the action into config. On error the status is negative, config->error says why, and *options
 * is not set. */
int pp_ale_options_create(pp_config *config, pp_ale_options **options);
void pp_ale_options_destroy(pp_ale_options *options);

#endif
