// preprocessing.h: what Gymnasium's AtariPreprocessing and FrameStackObservation make of a
// console's screens.
//
// A camera says how pictures are taken, and is shared by all; a film holds those of one
// environment. The rules are those of gymnasium 1.4's wrappers with cv2: of each step the last two
// screens are pooled, resized and stacked. An episode that ends within a step leaves the picture as
// it was, but for what was already taken.
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
  bool pads_zero;  // a reset leaves black frames before its own, else copies of it
  bool scales;     // float32 in 0 .. 1, else bytes
  float scaled[256];
} pp_preprocessor;

// plain data: a ring of pictures as an observation has them, `oldest` its first
typedef struct pp_frames {
  int32_t oldest;
  uint8_t partner;  // the one of pair that own is pooled with
  uint8_t is_pair;  // it is pooled at all
  uint8_t own[PP_SCREEN_BYTES];
  uint8_t pair[2][PP_SCREEN_BYTES];
  uint8_t ring[];
} pp_frames;

// bytes of a film
size_t pp_frames_size(const pp_preprocessor *preprocessor);

// the first screen of an episode
void pp_frames_start(pp_frames *frames, const pp_preprocessor *preprocessor, const uint8_t *screen);

// the last screen but one of a step, which is not there if steps have only one
void pp_frames_add_first(pp_frames *frames, const pp_preprocessor *preprocessor,
                         const uint8_t *screen);

// the last screen of a step; pools: with the one before
void pp_frames_add_last(pp_frames *frames, const pp_preprocessor *preprocessor,
                        const uint8_t *screen, bool pools);

// the step ended the episode before its last screen was taken; has_first: only that one is missing
void pp_frames_cut(pp_frames *frames, const pp_preprocessor *preprocessor, bool has_first);

// writes the observation
void pp_frames_show(pp_frames *frames, const pp_preprocessor *preprocessor, void *row);

#endif  // PP_ENVS_ATARI_PICTURE_PREPROCESSING_H_
