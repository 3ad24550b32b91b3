/* BabyAI-Synth..., -MiniBossLevel, -BossLevel...: instructions of many forms. */
#include "level_gen.h"

static const bb_level synth = {.level = BB_LEVEL,
                               .make = bb_make_any,
                               .fixed = {.may_be_blocked = true, .sentences = {1, {BB_ACTION}}}};
static const bb_level synth_loc = {
    .level = BB_LEVEL,
    .make = bb_make_any,
    .fixed = {.has_locations = true, .may_be_blocked = true, .sentences = {1, {BB_ACTION}}}};
static const bb_level synth_seq = {.level = BB_LEVEL,
                                   .make = bb_make_any,
                                   .fixed = {.has_locations = true, .may_be_blocked = true}};
static const bb_level mini_boss = {
    .level = BB_LEVEL,
    .make = bb_make_any,
    .fixed = {.room_size = 5, .rows = 2, .columns = 2, .count = 7, .locked_room_prob = 0.25}};
static const bb_level boss = {.level = BB_LEVEL, .make = bb_make_any};

#define MAZE(size, rows) BB_SIZE(size), BB_ROWS(rows, 1), BB_COLUMNS(3, 1), BB_DISTS(18)
#define SYNTH(title, size, rows, dists)                                                            \
  BB_DEFINITION(title, synth, MG_COMMON(false), BB_SIZE(size), BB_ROWS(rows, 1), BB_COLUMNS(3, 1), \
                BB_DISTS(dists), BB_LOCKED_ROOM, BB_ACTION_KINDS)

const pp_env_def pp_env_babyai_synth[7] = {
    SYNTH("Synth-v0", 8, 3, 18),
    SYNTH("SynthS5R2-v0", 5, 2, 18),
    BB_DEFINITION("SynthLoc-v0", synth_loc, MG_COMMON(false), MAZE(8, 3), BB_LOCKED_ROOM,
                  BB_ACTION_KINDS),
    BB_DEFINITION("SynthSeq-v0", synth_seq, MG_COMMON(false), MAZE(8, 3), BB_LOCKED_ROOM,
                  BB_ACTION_KINDS, BB_INSTR_KINDS),
    BB_DEFINITION("MiniBossLevel-v0", mini_boss, MG_COMMON(false), BB_LOCATIONS, BB_UNBLOCKING,
                  BB_IMPLICIT_UNLOCK, BB_ACTION_KINDS, BB_INSTR_KINDS),
    BB_DEFINITION("BossLevel-v0", boss, MG_COMMON(false), MAZE(8, 3), BB_LOCKED_ROOM, BB_LOCATIONS,
                  BB_UNBLOCKING, BB_IMPLICIT_UNLOCK, BB_ACTION_KINDS, BB_INSTR_KINDS),
    BB_DEFINITION("BossLevelNoUnlock-v0", boss, MG_COMMON(false), MAZE(8, 3), BB_LOCATIONS,
                  BB_UNBLOCKING, BB_ACTION_KINDS, BB_INSTR_KINDS),
};
