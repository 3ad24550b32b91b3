/* DPC: the DPC's eight data fetchers, which count through graphics; three can play square waves. */
#include "dpc.h"

#include <string.h>

/* the oscillator of the music, and the processor's clock, in Hz */
#define MUSIC_HZ 20000.0
#define PROCESSOR_HZ 1193191.66666667

void pp_dpc_reset(pp_dpc *d) {
  memset(d, 0, sizeof(*d));
  d->random = 1;
}

/* a shift register of eight bits; the inverted parity of four of them is shifted in */
void pp_dpc_shuffle(pp_dpc *d) {
  unsigned r = d->random, parity = (r >> 7 ^ r >> 5 ^ r >> 4 ^ r >> 3) & 1;
  d->random = (uint8_t)(r << 1 | (parity ^ 1));
}

static void move_flag(pp_dpc *d, unsigned f) {
  uint8_t low = (uint8_t)d->counter[f];
  if (low == d->top[f]) d->flag[f] = 0xff;
  if (low == d->bottom[f]) d->flag[f] = 0;
}

/* advances the music counters, which count down from their top and start again */
static void play_music(pp_dpc *d, uint32_t cycle) {
  double clocks = MUSIC_HZ * (cycle - d->cycle) / PROCESSOR_HZ + d->fraction;
  int whole = (int)clocks;
  d->fraction = clocks - whole;
  d->cycle = cycle;
  for (unsigned f = 5; f < 8 && whole > 0; f++) {
    if (!d->music[f - 5]) continue;
    int round = d->top[f] + 1, low = d->counter[f] & 0xff;
    low = d->top[f] ? (low - whole % round + round) % round : 0;
    if (low <= d->bottom[f]) {
      d->flag[f] = 0;
    } else if (low <= d->top[f]) {
      d->flag[f] = 0xff;
    }
    d->counter[f] = (uint16_t)((d->counter[f] & 0x700) | low);
  }
}

static uint8_t amplitude(pp_dpc *d, uint32_t cycle) {
  static const uint8_t levels[8] = {0, 4, 5, 9, 6, 10, 11, 15};
  play_music(d, cycle);
  unsigned which = 0;
  for (unsigned i = 0; i < 3; i++) which |= (d->music[i] && d->flag[5 + i] ? 1u : 0u) << i;
  return levels[which];
}

static uint8_t reverse(uint8_t bits) {
  unsigned b = bits;
  b = (b & 0xf0) >> 4 | (b & 0x0f) << 4;
  b = (b & 0xcc) >> 2 | (b & 0x33) << 2;
  return (uint8_t)((b & 0xaa) >> 1 | (b & 0x55) << 1);
}

uint8_t pp_dpc_read(pp_dpc *d, const uint8_t *data, unsigned reg, uint32_t cycle) {
  unsigned f = reg & 7;
  move_flag(d, f);
  uint8_t graphics = data[PP_DPC_BYTES - 1 - d->counter[f]], shown = graphics & d->flag[f];
  uint8_t value;
  switch (reg >> 3) {
    case 0: value = f < 4 ? d->random : amplitude(d, cycle); break;
    case 1: value = graphics; break;
    case 2: value = shown; break;
    case 3: value = (uint8_t)(shown << 4 | shown >> 4); break;
    case 4: value = reverse(shown); break;
    case 5: value = (uint8_t)(shown >> 1 | shown << 7); break;
    case 6: value = (uint8_t)(shown << 1 | shown >> 7); break;
    default: value = d->flag[f]; break;
  }
  if (f < 5 || !d->music[f - 5]) d->counter[f] = (d->counter[f] - 1) & 0x7ff;
  return value;
}

void pp_dpc_write(pp_dpc *d, unsigned reg, uint8_t value) {
  unsigned f = reg & 7;
  switch (reg >> 3 & 7) {
    case 0:
      d->top[f] = value;
      d->flag[f] = 0;
      break;
    case 1: d->bottom[f] = value; break;
    case 2:
      // a fetcher that makes music starts from its top
      if (f >= 5 && d->music[f - 5]) value = d->top[f];
      d->counter[f] = (uint16_t)((d->counter[f] & 0x700) | value);
      break;
    case 3:
      d->counter[f] = (uint16_t)((value & 7) << 8 | (d->counter[f] & 0xff));
      if (f >= 5) d->music[f - 5] = value >> 4 & 1;
      break;
    case 6: d->random = 1; break;
    default: break;
  }
}
