/* Spill: memory in which a worker leaves bytes for the creator, as much as it needs. */
#ifndef PP_POOL_SPILL_H
#define PP_POOL_SPILL_H

#include <stdint.h>

enum {
  PP_SPILL_CLASSES = 48,
  PP_SPILL_RESERVE = 1 << 30 /* bytes of address space for each: more is refused */
};

/* the worker's side: the creator only reads. Rooms have sizes that are powers of two, and those
 * given back are linked by their first bytes, so nothing else is kept about them */
typedef struct pp_spill {
  int32_t fd;
  char *base;
  int64_t reserve;                /* bytes mapped, whatever the file has */
  int64_t size;                   /* of the file */
  int64_t end;                    /* of what was ever given out */
  int64_t left, left_end;         /* what another worker left here */
  int64_t free[PP_SPILL_CLASSES]; /* offset + 1 of the first free room of each class, 0: none */
} pp_spill;

/* opens the file; what lies from left to left_end is not given out */
int pp_spill_init(pp_spill *spill, int32_t fd, int64_t reserve, int64_t left, int64_t left_end);
void pp_spill_fini(pp_spill *spill);

/* bytes of the room that something of this size gets */
int64_t pp_spill_room(int64_t size);

/* the offset of a room, or a negative status */
int64_t pp_spill_take(pp_spill *spill, int64_t size);
void pp_spill_give(pp_spill *spill, int64_t offset, int64_t size);

#endif
