/* Rule: the rule of a game, which derives score, lives and end from the console's memory.
 *
 * Each game has one file, named as ale-py names the game. ALE reads the memory after every frame,
 * including those of a reset, and so do the rules. They were found by watching what ALE reports
 * (tests/parity/atari_mining.py, atari_rules.py), never from its source. */
#ifndef PP_ENVS_ATARI_GAMES_RULES_RULE_H
#define PP_ENVS_ATARI_GAMES_RULES_RULE_H

#include <stdint.h>

enum { PP_RULE_STATE = 6 };

/* the state of a rule */
typedef struct pp_score {
  int32_t score;  /* of the game so far */
  int32_t reward; /* of the last frame */
  int32_t lives;
  uint8_t over;
  uint8_t started;              /* for rules that ignore the end until a game has begun */
  uint8_t state[PP_RULE_STATE]; /* whatever else a rule keeps from frame to frame */
} pp_score;

typedef struct pp_rule {
  /* starts a new game; the score is zeroed already; null: nothing to do */
  void (*reset)(pp_score *score);
  /* called after a frame; ram: the console's 128 bytes, followed by the cartridge's own, if any */
  void (*step)(pp_score *score, const uint8_t *ram);
} pp_rule;

/* defines a game's rule: PP_RULE(pong) = {.step = step}; */
#define PP_RULE(name)                  \
  extern const pp_rule pp_rule_##name; \
  const pp_rule pp_rule_##name

/* two decimal digits in one byte, 0x00 to 0x99 */
static inline int32_t pp_bcd(uint8_t byte) {
  return (byte >> 4) * 10 + (byte & 15);
}

/* four and six digits, the highest first */
static inline int32_t pp_bcd4(uint8_t high, uint8_t low) {
  return pp_bcd(high) * 100 + pp_bcd(low);
}

static inline int32_t pp_bcd6(uint8_t high, uint8_t middle, uint8_t low) {
  return pp_bcd4(high, middle) * 100 + pp_bcd(low);
}

/* a decimal digit in the low nibble, in which ten is a blank */
static inline int32_t pp_digit(uint8_t byte) {
  return (byte & 15) == 10 ? 0 : byte & 15;
}

/* four digits, the highest first */
static inline int32_t pp_digits4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  return pp_digit(a) * 1000 + pp_digit(b) * 100 + pp_digit(c) * 10 + pp_digit(d);
}

/* sets the score, and the reward to the difference from the last one */
static inline void pp_score_set(pp_score *score, int32_t now) {
  score->reward = now - score->score;
  score->score = now;
}

#endif
