// preprocessing.h: what Gymnasium's AtariPreprocessing and FrameStackObservation make of a
// console's screens.
//
// A pp_preprocessor holds the settings, which all environments of a pool share; pp_frames holds the
// frames of one environment. The rules are those of gymnasium 1.4's wrappers with cv2: the last two
// screens of each step are pooled, resized and stacked. If an episode ends within a step, the frame
// is the previous one; if the step's last screen but one was reached, that is pooled with it.
#ifndef PP_ENVS_ATARI_PICTURE_PREPROCESSING_H_
#define PP_ENVS_ATARI_PICTURE_PREPROCESSING_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../console/machine.h"
#include "screen.h"

typedef struct pp_preprocessor {
  pp_screen *screen;
  int32_t stack;   // frames of an observation
  bool pads_zero;  // the frames before a reset's own are black; otherwise copies of it
  bool scales;     // observations are float32 in 0 .. 1; otherwise bytes
  float scaled[256];
} pp_preprocessor;

// plain data: a ring buffer of the frames of an observation, and the screens from which the next
// frame may be made
typedef struct pp_frames {
  int32_t oldest;
  uint8_t partner;  // index in `pair` of the screen with which `own` is pooled
  uint8_t is_pair;  // `own` is pooled
  uint8_t own[PP_SCREEN_BYTES];
  uint8_t pair[2][PP_SCREEN_BYTES];
  uint8_t ring[];
} pp_frames;

// Returns the size in bytes of a pp_frames with these settings.
size_t pp_frames_size(const pp_preprocessor *preprocessor);

// Takes the first screen of an episode.
void pp_frames_start(pp_frames *frames, const pp_preprocessor *preprocessor, const uint8_t *screen);

// Takes the last screen but one of a step; not called if steps have only one screen.
void pp_frames_add_first(pp_frames *frames, const pp_preprocessor *preprocessor,
                         const uint8_t *screen);

// Takes the last screen of a step. pools: it is pooled with the one before.
void pp_frames_add_last(pp_frames *frames, const pp_preprocessor *preprocessor,
                        const uint8_t *screen, bool pools);

// Ends a step whose episode ended before its last screen was taken. has_first: the screen before
// the last one was taken.
void pp_frames_cut(pp_frames *frames, const pp_preprocessor *preprocessor, bool has_first);

// Writes the observation.
void pp_frames_show(pp_frames *frames, const pp_preprocessor *preprocessor, void *row);

#endif  // PP_ENVS_ATARI_PICTURE_PREPROCESSING_H_
