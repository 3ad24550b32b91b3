from typing import Optional, Tuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

# lower case letters are keys, the upper case letter is the door which it opens
DEFAULT_MAZE = (
    "###########",
    "#S..#..b..#",
    "#.#.#.###.#",
    "#.#...#...#",
    "#a###A#.###",
    "#...#...#c#",
    "#.#.###B#.#",
    "#.#.....#.#",
    "#.#####C#.#",
    "#.......B.#",
    "#####G#####",
)


class KeyMazeEnv(gym.Env):
    """Find the keys, open the doors and reach the goal.

    reset() knows the options "start", a (row, col) tuple, and "keys", a string of the letters
    of keys the agent holds from the beginning.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    VIEW = 2
    TILE_CODES = {"#": 0, ".": 1, "S": 1, "G": 2}

    def __init__(self, maze: Tuple[str, ...] = DEFAULT_MAZE, slip: float = 0.05, render_mode=None):
        super().__init__()
        widths = {len(row) for row in maze}
        assert len(widths) == 1, f"all the rows must be equally long, got {widths}"
        self.maze = maze
        self.rows, self.cols = len(maze), len(maze[0])
        self.slip = slip
        self.render_mode = render_mode

        self.start = None
        self.key_places = {}
        for r, row in enumerate(maze):
            for c, tile in enumerate(row):
                if tile == "S":
                    self.start = (r, c)
                elif tile.islower():
                    self.key_places[(r, c)] = tile
        if self.start is None:
            raise ValueError("the maze has no start (S)")
        self.key_names = sorted(self.key_places.values())

        self._action_to_direction = {
            0: np.array([0, 1]),
            1: np.array([1, 0]),
            2: np.array([0, -1]),
            3: np.array([-1, 0]),
        }
        self.action_space = spaces.Discrete(4)
        side = 2 * self.VIEW + 1
        self.observation_space = spaces.Dict(
            {
                "position": spaces.MultiDiscrete([self.rows, self.cols]),
                "keys": spaces.MultiBinary(len(self.key_names)),
                "view": spaces.Box(0, 255, shape=(side, side), dtype=np.uint8),
            }
        )

    def _tile_code(self, r, c):
        if not (0 <= r < self.rows and 0 <= c < self.cols):
            return 0
        tile = self.maze[r][c]
        if tile in self.TILE_CODES:
            return self.TILE_CODES[tile]
        # a key already taken and a door already open are mere floor
        return 1 if tile.lower() in self.held else ord(tile)

    def _get_obs(self):
        r0, c0 = self._agent
        span = range(-self.VIEW, self.VIEW + 1)
        view = np.array([[self._tile_code(r0 + dr, c0 + dc) for dc in span] for dr in span])
        return {
            "position": self._agent.copy(),
            "keys": np.array([k in self.held for k in self.key_names], dtype=np.int8),
            "view": view.astype(np.uint8),
        }

    def _get_info(self):
        return {"held": len(self.held), "bumps": self._bumps}

    def _passable(self, r, c) -> bool:
        tile = self.maze[r][c]
        if tile == "#":
            return False
        is_door = tile.isupper() and tile not in "SG"
        return not is_door or tile.lower() in self.held

    def reset(self, seed: Optional[int] = None, options: Optional[dict] = None):
        super().reset(seed=seed)
        self.held = set()
        start = self.start
        if options is not None:
            start = options.get("start", start)
            self.held.update(options.get("keys", ""))
        row, col = start
        if not self._passable(row, col):
            raise ValueError(f"cannot start at {start}: there is a {self.maze[row][col]!r}")
        self._agent = np.array(start, dtype=np.int64)
        self._bumps = 0
        return self._get_obs(), self._get_info()

    def step(self, action):
        if self.np_random.random() < self.slip:
            action = self.action_space.n - 1 - action
        r, c = self._agent + self._action_to_direction[int(action)]
        reward = -0.01

        if 0 <= r < self.rows and 0 <= c < self.cols and self._passable(r, c):
            self._agent = np.array([r, c])
        else:
            self._bumps += 1
            reward -= 0.02

        pos = tuple(self._agent.tolist())
        key = self.key_places.get(pos)
        if key is not None and key not in self.held:
            self.held.add(key)
            reward += 0.5

        terminated = self.maze[pos[0]][pos[1]] == "G"
        if terminated:
            reward += 1.0
        return self._get_obs(), reward, terminated, False, self._get_info()

    def render(self):
        if self.render_mode == "ansi":
            lines = [list(row) for row in self.maze]
            for (r, c), key in self.key_places.items():
                if key in self.held:
                    lines[r][c] = "."
            lines[self._agent[0]][self._agent[1]] = "@"
            return "\n".join("".join(line) for line in lines)
