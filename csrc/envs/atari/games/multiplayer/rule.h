/* Rule: how the players of a game with several are rewarded, from RAM after each frame. */
#ifndef PP_ENVS_ATARI_GAMES_MULTIPLAYER_RULE_H
#define PP_ENVS_ATARI_GAMES_MULTIPLAYER_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum { PP_ATARI_MAX_PLAYERS = 4 };

/* what a rule keeps between frames */
typedef struct pp_scores {
  int32_t score[PP_ATARI_MAX_PLAYERS];  /* of the last frame */
  int32_t reward[PP_ATARI_MAX_PLAYERS]; /* in this frame */
  int32_t lives[PP_ATARI_MAX_PLAYERS];  /* below 0: the player is out */
  int32_t kept[4];                      /* of the rule's own */
  uint8_t over;
} pp_scores;

typedef struct pp_multiplayer_rule {
  void (*reset)(pp_scores *scores, int mode, int players); /* null: all zero */
  void (*step)(pp_scores *scores, const uint8_t *ram, int mode, int players);
} pp_multiplayer_rule;

/* Sets a player's score; its reward is the difference to the last frame. */
static inline void pp_player_score(pp_scores *s, int player, int32_t score) {
  s->reward[player] = score - s->score[player];
  s->score[player] = score;
}

#define PP_MULTIPLAYER_RULE(game) const pp_multiplayer_rule pp_multiplayer_rule_##game

#endif
