/* Machine: the hardware of a console: processor, RAM, timer, television chip and controllers. */
#ifndef PP_ENVS_ATARI_CONSOLE_MACHINE_H
#define PP_ENVS_ATARI_CONSOLE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "cartridge.h"
#include "mapper.h"

/* the television chip draws 228 clocks per line, 68 of them before the first pixel, three per
 * cycle */
enum {
  PP_LINE_CYCLES = 76,
  PP_LINE_CLOCKS = 228,
  PP_BLANK_CLOCKS = 68,
  PP_LINE_PIXELS = 160,
  PP_LINES_MAX = 256,
  PP_SCREEN_BYTES = PP_LINES_MAX * PP_LINE_PIXELS,
};

/* the movable objects, then the playfield; players are 0 and 2, their missiles 1 and 3 */
enum { PP_PLAYER0, PP_MISSILE0, PP_PLAYER1, PP_MISSILE1, PP_BALL, PP_PLAYFIELD, PP_OBJECTS };

/* a clock so long before a frame's first line that it has no effect there */
enum { PP_LONG_AGO = -PP_LINE_CLOCKS };

/* a cycle that no frame reaches */
#define PP_NEVER UINT32_MAX

/* one bit per pixel of a line, the leftmost pixel lowest; those past the line are zero */
typedef struct pp_mask {
  uint64_t word[4];
} pp_mask;

/* The registers of the television chip after the writes that have been carried out, and what the
 * lines before leave behind: with the log of a line's writes, all that its picture depends on.
 * Unused bytes are zero. */
typedef union pp_tia_registers {
  struct {
    uint8_t rare; /* an effect of this line carries over to the next one */
    uint8_t vblank;
    uint8_t comb;      /* this line's first eight pixels are blanked by HMOVE */
    uint8_t next_comb; /* the next line's are */
    uint8_t gray; /* 1: PAL without colours in this frame; odd indices are the even ones in gray */
    uint8_t color[4]; /* player 0, player 1, playfield and ball, background */
    uint8_t nusiz[2], grp[2], old_grp[2], delay[2], hide_first[2];
    uint8_t enam[2], enabl, old_enabl, delay_ball, locked[2];
    uint8_t ctrlpf, pf[3];
    uint8_t mirrored; /* the right half of the playfield */
    uint8_t position[5], motion[5], reflect[2];
    uint8_t starring; /* an endless HMOVE moves missile 0, which draws a field of stars */
    uint8_t star;     /* counts the lines of that, modulo 4 */
    int32_t moved;    /* clock of the last HMOVE; PP_LONG_AGO once it has no more effect */
  };
  uint8_t byte[64];
  uint64_t word[8];
} pp_tia_registers;

/* the television chip: its registers, and the line that is being drawn */
typedef struct pp_tia {
  pp_mask now[PP_OBJECTS];  /* pixels of each object for the registers as they are */
  pp_mask done[PP_OBJECTS]; /* pixels of this line up to from[], where registers changed midway */
  int16_t from[PP_OBJECTS];
  int16_t drawn; /* pixels of this line already coloured and checked for collisions */
  /* first clock of the line being drawn, counted from the frame's start */
  int32_t line_start;
  uint16_t collision; /* bits 2r and 2r+1 are bits 6 and 7 of collision register r */
  /* those that this line has set; before it is drawn, the line above it */
  uint16_t line_collision;
  uint8_t stale; /* one bit per object: now[] is out of date */
  uint8_t shown; /* one bit per object: now[] has a pixel */
  /* one bit per object: now[] has had a pixel in this line, or before it */
  uint8_t seen;
  uint8_t changed; /* this line does not simply repeat the line above it */
  uint8_t cut;     /* one bit per object: done[] has pixels */
  uint8_t no_comb; /* the cartridge's: HMOVE blanks nothing */
  pp_tia_registers reg;
} pp_tia;

/* all of the hardware's state between frames; plain data, so a copy is a snapshot */
typedef struct pp_machine {
  uint8_t ram[128];

  /* processor; nz holds the result that last set the flags: N is bit 7 or 15, Z is a low byte of
   * 0 */
  uint16_t pc, nz;
  uint8_t a, x, y, sp, carry, overflow, decimal, interrupt;

  /* cycles are counted from the start of the line in which the frame started */
  uint32_t cycle, timer_set, timer_reset, dump_start, vsync_end;
  /* Cycle of this frame at which the program last used the television chip. Writes are known only
   * where instructions are counted. */
  uint32_t used;
  uint8_t timer, timer_shift, timer_read;

  /* what the program last wrote to each TIA register, to drop writes that change nothing */
  uint8_t written[64];
  uint8_t old_grp[2]; /* GRP0 and GRP1 as they were when the other one was last written */
  uint8_t old_enabl;
  uint8_t ended;   /* the program has switched vertical sync off */
  uint8_t partial; /* the last frame has not ended: it reached ALE's limit of instructions */
  uint8_t dumped;  /* paddle capacitors are held at ground */

  uint16_t last_line; /* a write to the television chip past this line ends the frame */

  /* controllers: port A and B pins, triggers (0x80: up), paddle resistances in ohms */
  uint8_t port_a, port_b, trigger[2];
  uint32_t paddle[4];
  uint32_t charge[4]; /* cycles that a paddle's capacitor needs to charge; joysticks: PP_NEVER */
  uint32_t ready[4];  /* the cycle of this frame after which it is charged */

  pp_tia tia;
  pp_banks banks;
} pp_machine;

struct pp_line_cache;

/* where a frame's pixels go: screens have cartridge->lines rows of 160 bytes */
typedef struct pp_canvas {
  uint8_t *screen;             /* null: no pixels wanted */
  const uint8_t *other;        /* the console's other screen */
  int which;                   /* 0 or 1, the screen's number */
  struct pp_line_cache *cache; /* what is known of lines in both screens; null: nothing */
} pp_canvas;

/* the same, for a frame that is being drawn */
typedef struct pp_picture {
  uint8_t *screen;
  const uint8_t *other;
  struct pp_line_cache *cache;
  int32_t first, last; /* clocks of the screen's first line, and of the first line after it */
  uint8_t mark;        /* the cache's flag for lines in this screen */
} pp_picture;

/* Carries out the register writes from log to end - 1, and draws up to this cycle of the frame. A
 * log entry is cycle << 16 | register << 8 | value. is_last: nothing follows in this frame. One
 * source (tia.inl), compiled for several processors. */
typedef void pp_tia_drawer(pp_tia *tia, const pp_picture *picture, const uint32_t *log,
                           const uint32_t *end, uint32_t cycle, bool is_last);
pp_tia_drawer pp_tia_draw_generic;
#if PP_ISA_X86
pp_tia_drawer pp_tia_draw_avx2;
pp_tia_drawer pp_tia_draw_avx512;
#endif

/* Runs one frame. Returns the number of pixels that it covered. */
int pp_machine_frame(pp_machine *machine, const pp_cartridge *cartridge, const pp_canvas *canvas);

/* Runs until the frame ends, and returns null. With a null machine, or for a frame that takes too
 * long for a cartridge that does not count instructions, changes nothing and returns the addresses
 * of the handlers. */
typedef const void *const *pp_processor(pp_machine *machine, const pp_cartridge *cartridge,
                                        const pp_picture *picture);
pp_processor pp_processor_plain;  /* for PP_MAPPER_NONE */
pp_processor pp_processor_banked; /* for all other mappers */

#endif
