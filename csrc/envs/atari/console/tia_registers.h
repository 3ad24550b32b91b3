/* TIA registers: the addresses of the chips' registers, by the names of Atari's manual. */
#ifndef PP_ENVS_ATARI_CONSOLE_TIA_REGISTERS_H
#define PP_ENVS_ATARI_CONSOLE_TIA_REGISTERS_H

/* registers of the TIA, the television chip, that a program writes; none is past TIA_CXCLR */
enum {
  TIA_VSYNC = 0x00, /* vertical sync on or off */
  TIA_VBLANK,       /* vertical blank, and dump of the paddles' capacitors */
  TIA_WSYNC,        /* wait for the end of the line */
  TIA_RSYNC,
  TIA_NUSIZ0, /* number and size of player 0's copies, width of its missile */
  TIA_NUSIZ1,
  TIA_COLUP0, /* colours: players, playfield and ball, background */
  TIA_COLUP1,
  TIA_COLUPF,
  TIA_COLUBK,
  TIA_CTRLPF, /* the playfield's reflection and priority, the ball's width */
  TIA_REFP0,  /* reflection of the players */
  TIA_REFP1,
  TIA_PF0, /* the playfield's bits */
  TIA_PF1,
  TIA_PF2,
  TIA_RESP0, /* reset the position: players, missiles, ball */
  TIA_RESP1,
  TIA_RESM0,
  TIA_RESM1,
  TIA_RESBL,
  TIA_AUDC0, /* audio: control, frequency, volume */
  TIA_AUDC1,
  TIA_AUDF0,
  TIA_AUDF1,
  TIA_AUDV0,
  TIA_AUDV1,
  TIA_GRP0, /* graphics of the players */
  TIA_GRP1,
  TIA_ENAM0, /* whether missiles and ball show */
  TIA_ENAM1,
  TIA_ENABL,
  TIA_HMP0, /* horizontal motion: players, missiles, ball */
  TIA_HMP1,
  TIA_HMM0,
  TIA_HMM1,
  TIA_HMBL,
  TIA_VDELP0, /* vertical delay: players, ball */
  TIA_VDELP1,
  TIA_VDELBL,
  TIA_RESMP0, /* locks of the missiles to their players */
  TIA_RESMP1,
  TIA_HMOVE, /* moves all objects */
  TIA_HMCLR, /* clears all motion */
  TIA_CXCLR, /* clears all collisions */
};

/* registers of the TIA that a program reads; of an address, four lines count */
enum {
  TIA_CXM0P = 0x00, /* collisions of two pairs of objects each */
  TIA_CXM1P,
  TIA_CXP0FB,
  TIA_CXP1FB,
  TIA_CXM0FB,
  TIA_CXM1FB,
  TIA_CXBLPF,
  TIA_CXPPMM,
  TIA_INPT0, /* the paddles' capacitors */
  TIA_INPT1,
  TIA_INPT2,
  TIA_INPT3,
  TIA_INPT4, /* the triggers */
  TIA_INPT5,
};

/* registers of the RIOT, the chip with RAM, timer and ports, at their usual addresses */
enum {
  RIOT_SWCHA = 0x280, /* port A: joysticks; its direction */
  RIOT_SWACNT,
  RIOT_SWCHB, /* port B: the console's switches; its direction */
  RIOT_SWBCNT,
  RIOT_INTIM, /* read the timer, and its status */
  RIOT_INSTAT,
  RIOT_TIM1T = 0x294, /* set the timer, which counts in 1, 8, 64 or 1024 cycles */
  RIOT_TIM8T,
  RIOT_TIM64T,
  RIOT_T1024T,
};

_Static_assert(TIA_CXCLR == 0x2c && TIA_INPT5 == 0x0d, "no register is left out");

#endif
