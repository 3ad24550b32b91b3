/* Preprocessing: what Gymnasium's AtariPreprocessing and FrameStackObservation make of a
 * console's screens.
 *
 * A pp_preprocessor holds the settings, which all environments of a pool share; pp_frames holds the
 * frames of one environment. The rules are those of gymnasium 1.4's wrappers with cv2: the last two
 * screens of each step are pooled, resized and stacked. If an episode ends within a step, the frame
 * is the previous one; if the step's last screen but one was reached, that is pooled with it. */
#ifndef PP_ENVS_ATARI_PICTURE_PREPROCESSING_H
#define PP_ENVS_ATARI_PICTURE_PREPROCESSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../console/console.h"
#include "pp_env.h"
#include "screen.h"

typedef struct pp_preprocessor {
  pp_screen *screen;
  int32_t stack;  /* frames of an observation */
  bool pads_zero; /* the frames before a reset's own are black; otherwise copies of it */
  bool scales;    /* observations are float32 in 0 .. 1; otherwise bytes */
  float scaled[256];
} pp_preprocessor;

/* plain data: a ring buffer of the frames of an observation, and copies of the screens of the
 * newest one, from which the next may be made */
typedef struct pp_frames {
  int32_t oldest;
  uint8_t is_plain;  /* the newest frame was made of the console's screens as they were then */
  uint8_t is_pair;   /* `own` was pooled with `partner` */
  uint8_t is_synced; /* `own` and `partner` are copies of the console's two screens */
  uint8_t own[PP_SCREEN_BYTES];
  uint8_t partner[PP_SCREEN_BYTES];
  uint8_t ring[];
} pp_frames;

/* Returns the size in bytes of a pp_frames with these settings. */
size_t pp_frames_size(const pp_preprocessor *preprocessor);

/* Checks the frames that a snapshot holds. Screens and frames may be any bytes. */
bool pp_frames_check(const pp_env *env, const pp_frames *frames,
                     const pp_preprocessor *preprocessor);

/* Takes the first screen of an episode, the console's last one, which has been drawn. */
void pp_frames_start(pp_frames *frames, const pp_preprocessor *preprocessor, pp_console *console);

/* Takes the last screen of a step, the console's last one, which has been drawn. first: the screen
 * before it, with which it is pooled, be that the console's other screen or a copy; NULL: none. */
void pp_frames_add(pp_frames *frames, const pp_preprocessor *preprocessor, pp_console *console,
                   const uint8_t *first);

/* Ends a step whose episode ended before its last screen was taken. first: the step's last screen
 * but one, or NULL if the episode ended before it, or if steps have only one screen. */
void pp_frames_cut(pp_frames *frames, const pp_preprocessor *preprocessor, const uint8_t *first);

/* Writes the observation. */
void pp_frames_show(pp_frames *frames, const pp_preprocessor *preprocessor, void *row);

#endif
