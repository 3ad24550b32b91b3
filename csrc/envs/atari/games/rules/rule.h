// rule.h: the rule of a game: what the console's memory says about score, lives and end.
//
// One file per game in games/, by ale-py's name of it. ALE reads the memory after every frame,
// those of a reset included, and so do rules; they were learnt from its answers
// (tests/parity/atari_rules.py), never from its source.
#ifndef PP_ENVS_ATARI_GAMES_RULE_H_
#define PP_ENVS_ATARI_GAMES_RULE_H_

#include <stdint.h>

enum { PP_RULE_STATE = 6 };

// what a rule remembers of the last frame
typedef struct pp_score {
  int32_t score;   // of the game so far
  int32_t reward;  // of the last frame
  int32_t lives;
  uint8_t over;
  uint8_t started;               // for rules that ignore the end until a game has begun
  uint8_t state[PP_RULE_STATE];  // whatever else a rule must remember
} pp_score;

typedef struct pp_rule {
  // a new game; it finds the score zeroed. null: that is all
  void (*reset)(pp_score *score);
  // after a frame: ram are the console's 128 bytes, and behind them the cartridge's own, if any
  void (*step)(pp_score *score, const uint8_t *ram);
} pp_rule;

// defines a game's rule: PP_RULE(pong) = {.step = step};
#define PP_RULE(name)                  \
  extern const pp_rule pp_rule_##name; \
  const pp_rule pp_rule_##name

// two decimal digits in one byte, 0x00 to 0x99
static inline int32_t pp_bcd(uint8_t byte) {
  return (byte >> 4) * 10 + (byte & 15);
}

// four and six of them, the highest first
static inline int32_t pp_bcd4(uint8_t high, uint8_t low) {
  return pp_bcd(high) * 100 + pp_bcd(low);
}

static inline int32_t pp_bcd6(uint8_t high, uint8_t middle, uint8_t low) {
  return pp_bcd4(high, middle) * 100 + pp_bcd(low);
}

// a decimal digit in the low nibble, in which ten is a blank
static inline int32_t pp_digit(uint8_t byte) {
  return (byte & 15) == 10 ? 0 : byte & 15;
}

// four of them, the highest first
static inline int32_t pp_digits4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  return pp_digit(a) * 1000 + pp_digit(b) * 100 + pp_digit(c) * 10 + pp_digit(d);
}

// the reward is what the score has grown by
static inline void pp_score_set(pp_score *score, int32_t now) {
  score->reward = now - score->score;
  score->score = now;
}

#endif  // PP_ENVS_ATARI_GAMES_RULE_H_
