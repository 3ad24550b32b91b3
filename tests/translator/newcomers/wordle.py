"""Guess a word of five letters."""
import gymnasium as gym
import numpy as np
from gymnasium import spaces

WORDS = ["crane", "slate", "audio", "tiger", "mouse", "plant", "brick", "shore", "flame", "grape"]


class WordleEnv(gym.Env):
    GREY, YELLOW, GREEN = 0, 1, 2

    def __init__(self, tries=6):
        self.tries = tries
        self.action_space = spaces.Discrete(len(WORDS))
        self.observation_space = spaces.Box(-1, 25, (tries, 5, 2), dtype=np.int8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.secret = WORDS[self.np_random.integers(len(WORDS))]
        self.board = np.full((self.tries, 5, 2), -1, dtype=np.int8)
        self.row = 0
        return self.board.copy(), {"secret": self.secret, "guess": ""}

    def score(self, guess):
        result = [self.GREY] * 5
        left = {}
        for i, (g, s) in enumerate(zip(guess, self.secret)):
            if g == s:
                result[i] = self.GREEN
            else:
                left[s] = left.get(s, 0) + 1
        for i, g in enumerate(guess):
            if result[i] == self.GREY and left.get(g, 0) > 0:
                result[i] = self.YELLOW
                left[g] -= 1
        return result

    def step(self, action):
        guess = WORDS[action]
        marks = self.score(guess)
        for i in range(5):
            self.board[self.row, i, 0] = ord(guess[i]) - ord("a")
            self.board[self.row, i, 1] = marks[i]
        self.row += 1
        won = guess == self.secret
        lost = self.row == self.tries and not won
        reward = 1.0 if won else sum(marks) / 100 - (0.5 if lost else 0)
        return self.board.copy(), reward, won or lost, False, {"secret": self.secret, "guess": guess}
