import gymnasium as gym
import numpy as np
from gymnasium import spaces

LEVELS = {
    "meadow": [
        "@..*..",
        ".##.#.",
        ".#*..~",
        ".#.#.~",
        "...#.E",
    ],
    "cave": [
        "##########",
        "#@..#...*#",
        "#.#.#.##.#",
        "#.#...~~.#",
        "#.####~^.#",
        "#*..>..#.#",
        "###.##.#.#",
        "#*..^#...#",
        "####...#E#",
        "##########",
    ],
}

# what it costs to enter a tile
TILE_REWARD = {".": -0.1, "~": -0.3, "*": 1.0, "^": -5.0, "E": 10.0, ">": -0.1, "@": -0.1}

LEFT, DOWN, RIGHT, UP = 0, 1, 2, 3


class TextGridEnv(gym.Env):
    """
    Legend:
        @ start    # wall     . floor    * coin (once)
        ~ ice, you keep on sliding with some probability
        > conveyor to the right          ^ trap, the end       E exit, the end
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, level="meadow", ice=0.5, time_limit=100, render_mode=None):
        if level not in LEVELS:
            raise ValueError(f"unknown level {level!r}, choose from {', '.join(LEVELS)}")
        self.desc = np.array([list(line) for line in LEVELS[level]])
        self.nrow, self.ncol = self.desc.shape
        self.ice = ice
        self.time_limit = time_limit
        self.render_mode = render_mode

        self.coins = [tuple(map(int, rc)) for rc in np.argwhere(self.desc == "*")]
        ((r, c),) = np.argwhere(self.desc == "@")
        self.start = (int(r), int(c))

        # the state says where we are and which coins are gone
        self.observation_space = spaces.Discrete(self.nrow * self.ncol * 2 ** len(self.coins))
        self.action_space = spaces.Discrete(4)

    def _encode(self):
        bits = 0
        for i, coin in enumerate(self.coins):
            if coin in self.taken:
                bits |= 1 << i
        return (bits * self.nrow + self.row) * self.ncol + self.col

    def _inc(self, row, col, a):
        if a == LEFT:
            col = max(col - 1, 0)
        elif a == DOWN:
            row = min(row + 1, self.nrow - 1)
        elif a == RIGHT:
            col = min(col + 1, self.ncol - 1)
        elif a == UP:
            row = max(row - 1, 0)
        else:
            raise ValueError(f"{a} is not a direction")
        return row, col

    def _enter(self, a):
        """One move. Returns (reward, terminated, moved)."""
        row, col = self._inc(self.row, self.col, a)
        if (row, col) == (self.row, self.col) or self.desc[row, col] == "#":
            return -0.2, False, False
        self.row, self.col = row, col
        tile = self.desc[row, col]
        if tile == "*":
            if (row, col) in self.taken:
                tile = "."
            else:
                self.taken.add((row, col))
        return TILE_REWARD[str(tile)], tile in "^E", True

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.row, self.col = self.start
        self.taken = set()
        self.lastaction = None
        self.t = 0
        return self._encode(), {"coins": 0}

    def step(self, a):
        reward, terminated, moved = self._enter(a)
        slides = 0
        while moved and not terminated:
            here = self.desc[self.row, self.col]
            if here == "~" and self.np_random.random() < self.ice:
                extra, terminated, moved = self._enter(a)
                slides += 1
            elif here == ">":
                extra, terminated, moved = self._enter(RIGHT)
            else:
                break
            reward += extra
        self.lastaction = a
        self.t += 1
        info = {"coins": len(self.taken), "slides": slides}
        return self._encode(), reward, terminated, self.t >= self.time_limit, info

    def render(self):
        if self.render_mode is None:
            assert self.spec is not None
            gym.logger.warn(f'Pass a render_mode, e.g. gym.make("{self.spec.id}", ...)')
            return
        out = self.desc.tolist()
        for r, c in self.taken:
            out[r][c] = "."
        out[self.start[0]][self.start[1]] = "."
        out[self.row][self.col] = "@"
        head = ""
        if self.lastaction is not None:
            head = "  ({})\n".format(["Left", "Down", "Right", "Up"][self.lastaction])
        return head + "\n".join("".join(line) for line in out) + "\n"
