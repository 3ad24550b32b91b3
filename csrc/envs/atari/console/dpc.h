/* DPC: the DPC, the graphics and music chip of Pitfall II (US patent 4,644,495). */
#ifndef PP_ENVS_ATARI_CONSOLE_DPC_H
#define PP_ENVS_ATARI_CONSOLE_DPC_H

#include <stdint.h>

enum { PP_DPC_FETCHERS = 8, PP_DPC_BYTES = 2048 };

/* plain data */
typedef struct pp_dpc {
  uint16_t counter[PP_DPC_FETCHERS]; /* eleven bits, counting down */
  uint8_t top[PP_DPC_FETCHERS], bottom[PP_DPC_FETCHERS];
  uint8_t flag[PP_DPC_FETCHERS]; /* 0xff between top and bottom, otherwise 0 */
  uint8_t music[3];              /* fetchers 5 to 7 make sound */
  uint8_t random;
  uint32_t cycle;  /* of the frame, up to which the music has advanced */
  double fraction; /* of a music clock */
} pp_dpc;

void pp_dpc_reset(pp_dpc *dpc);

/* Reads register 0..63 in this cycle, or writes register 64..127. data: the chip's 2 KB of
 * graphics. */
uint8_t pp_dpc_read(pp_dpc *dpc, const uint8_t *data, unsigned reg, uint32_t cycle);
void pp_dpc_write(pp_dpc *dpc, unsigned reg, uint8_t value);

/* Advances the random number generator, which happens at every access to x000-x07F and xFC0-xFFF
 * (found by counting its steps in ALE). */
void pp_dpc_shuffle(pp_dpc *dpc);

#endif
