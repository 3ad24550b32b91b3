/* Palette: the RGB value of each colour index that a console's screen can hold. */
#ifndef PP_ENVS_ATARI_PICTURE_PALETTE_H
#define PP_ENVS_ATARI_PICTURE_PALETTE_H

#include <stdint.h>

/* Red, green and blue by colour index. NTSC screens hold even indices only, and each odd entry
 * repeats the even one before it. An odd index of PAL is the gray of the even one before it. */
extern const uint8_t pp_palette_ntsc[256][3];
extern const uint8_t pp_palette_pal[256][3];

#endif
