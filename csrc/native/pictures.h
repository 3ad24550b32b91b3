/* Pictures: what becomes of the pictures that the environments of a pool show, and the last frames
 * of each environment. */
#ifndef PP_NATIVE_PICTURES_H
#define PP_NATIVE_PICTURES_H

#include <stdbool.h>

#include "picture_stages.h"

typedef struct pp_pictures {
  int32_t num_frames; /* number of frames; 0: observations stay as they are, and all is empty */
  pp_picture_options options;
  pp_picture_stages stages;
  size_t frame_bytes;
  char *memory; /* memory of each environment: see pictures.c */
  size_t stride;
  size_t size;
} pp_pictures;

/* Reads the options, null for none, and changes the configuration's observation as they say.
 * Returns a pp_status; on failure there is nothing to free. */
int pp_pictures_init(pp_pictures *pictures, const pp_picture_options *options, pp_config *config,
                     pp_error *error);

/* Allocates the memory of num_envs environments. Returns PP_OK or PP_ERR_MEMORY. */
int pp_pictures_make(pp_pictures *pictures, int32_t num_envs);

void pp_pictures_fini(pp_pictures *pictures);

/* Returns where an environment writes its picture. */
void *pp_pictures_target(const pp_pictures *pictures, int32_t env_id);

/* Makes a frame of the picture that has been written there, the newest one; is_reset: the first of
 * an episode. */
void pp_pictures_take(pp_pictures *pictures, int32_t env_id, bool is_reset);

/* Writes an observation. */
void pp_pictures_show(const pp_pictures *pictures, int32_t env_id, void *row);

/* Snapshots: the frames of an environment. Any bytes are frames. */
size_t pp_pictures_saved_size(const pp_pictures *pictures);
void pp_pictures_save(const pp_pictures *pictures, int32_t env_id, char *bytes);
void pp_pictures_load(pp_pictures *pictures, int32_t env_id, const char *bytes);

#endif
