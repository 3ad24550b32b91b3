import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, MultiDiscrete

HIDDEN = -1
MINE = 9


class Minesweeper(gym.Env):
    """
    Minesweeper, the first click is always safe.

    obs: int8 matrix, -1 is a covered field, 0..8 the number of mines around, 9 a mine
    action: (row, column) to uncover
    """

    metadata = {"render_modes": ["ansi"]}

    rewards = {"win": 1.0, "lose": -1.0, "progress": 0.3, "guess": -0.3, "useless": -0.5}

    def __init__(self, height=6, width=6, n_mines=6, max_useless=30, render_mode=None):
        if n_mines > height * width - 9:
            raise ValueError(f"{n_mines} mines do not fit into a {height}x{width} field")
        self.height, self.width = height, width
        self.n_mines = n_mines
        self.max_useless = max_useless
        self.render_mode = render_mode
        self.observation_space = Box(HIDDEN, MINE, (height, width), dtype=np.int8)
        self.action_space = MultiDiscrete([height, width])

    def neighbours(self, row, col):
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                if dr == 0 and dc == 0:
                    continue
                r, c = row + dr, col + dc
                if 0 <= r < self.height and 0 <= c < self.width:
                    yield r, c

    def place_mines(self, safe_row, safe_col):
        safe = {(safe_row, safe_col)} | set(self.neighbours(safe_row, safe_col))
        left = self.n_mines
        for flat in self.np_random.permutation(self.height * self.width):
            if left == 0:
                break
            r, c = divmod(int(flat), self.width)
            if (r, c) in safe:
                continue
            self.mines[r, c] = True
            left -= 1

        for r in range(self.height):
            for c in range(self.width):
                self.counts[r, c] = sum(self.mines[n] for n in self.neighbours(r, c))

    def uncover(self, row, col):
        """Flood fill from the given cell, returns how many cells were opened."""
        opened = 0
        stack = [(row, col)]
        while stack:
            r, c = stack.pop()
            if self.view[r, c] != HIDDEN:
                continue
            self.view[r, c] = self.counts[r, c]
            opened += 1
            if self.counts[r, c] == 0:
                stack.extend(self.neighbours(r, c))
        return opened

    def is_guess(self, row, col):
        return all(self.view[n] == HIDDEN for n in self.neighbours(row, col))

    def info(self):
        return {"covered": int((self.view == HIDDEN).sum()), "clicks": self.clicks}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.mines = np.zeros((self.height, self.width), dtype=bool)
        self.counts = np.zeros((self.height, self.width), dtype=np.int8)
        self.view = np.full((self.height, self.width), HIDDEN, dtype=np.int8)
        self.clicks = 0
        self.useless = 0
        return self.view.copy(), self.info()

    def step(self, action):
        row, col = action
        terminated = truncated = False

        if self.clicks == 0:
            self.place_mines(row, col)
        guess = self.clicks > 0 and self.is_guess(row, col)
        self.clicks += 1

        if self.view[row, col] != HIDDEN:
            reward = self.rewards["useless"]
            self.useless += 1
            truncated = self.useless >= self.max_useless
        elif self.mines[row, col]:
            self.view[self.mines] = MINE
            reward = self.rewards["lose"]
            terminated = True
        else:
            self.uncover(row, col)
            if (self.view == HIDDEN).sum() == self.n_mines:
                reward = self.rewards["win"]
                terminated = True
            elif guess:
                reward = self.rewards["guess"]
            else:
                reward = self.rewards["progress"]

        return self.view.copy(), reward, terminated, truncated, self.info()

    def render(self):
        if self.render_mode != "ansi":
            return
        symbols = {HIDDEN: ".", 0: " ", MINE: "*"}
        text = ""
        for row in self.view:
            text += " ".join(symbols.get(int(v), str(v)) for v in row) + "\n"
        return text
