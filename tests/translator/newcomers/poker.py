"""One-player draw poker: keep or change cards."""
from collections import Counter
import itertools
import gymnasium as gym
import numpy as np
from gymnasium import spaces

RANKS = "23456789TJQKA"
SUITS = "cdhs"
PAYS = {"nothing": 0, "pair": 1, "two pairs": 2, "three": 3, "straight": 4, "flush": 6, "full house": 9, "four": 25, "straight flush": 50}


def classify(hand):
    ranks = sorted(c // 4 for c in hand)
    counts = sorted(Counter(ranks).values(), reverse=True)
    flush = len({c % 4 for c in hand}) == 1
    straight = len(set(ranks)) == 5 and ranks[4] - ranks[0] == 4
    if flush and straight:
        return "straight flush"
    if counts[0] == 4:
        return "four"
    if counts[:2] == [3, 2]:
        return "full house"
    if flush:
        return "flush"
    if straight:
        return "straight"
    if counts[0] == 3:
        return "three"
    if counts[:2] == [2, 2]:
        return "two pairs"
    return "pair" if counts[0] == 2 else "nothing"


class DrawPoker(gym.Env):
    def __init__(self, rounds=10):
        self.rounds = rounds
        self.action_space = spaces.MultiBinary(5)
        self.observation_space = spaces.Dict({"hand": spaces.MultiDiscrete([52] * 5), "round": spaces.Discrete(rounds + 1)})

    def _deal(self):
        self.deck = list(range(52))
        self.np_random.shuffle(self.deck)
        self.hand = sorted(self.deck.pop() for _ in range(5))

    def _obs(self):
        return {"hand": np.array(self.hand), "round": self.round}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.round = 0
        self._deal()
        return self._obs(), {"result": None}

    def step(self, action):
        kept = [c for c, keep in zip(self.hand, action) if keep]
        while len(kept) < 5:
            kept.append(self.deck.pop())
        result = classify(kept)
        self.round += 1
        self._deal()
        return self._obs(), float(PAYS[result]) - 1.0, self.round >= self.rounds, False, {"result": result}
