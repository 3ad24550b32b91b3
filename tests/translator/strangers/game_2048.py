"""2048 as a gymnasium environment.

Observation: 4x4 board with the real tile values (0 for an empty cell).
Actions: 0 left, 1 up, 2 right, 3 down.
Reward: score gained by merging, or `illegal_reward` for a move which changes nothing.
"""

from typing import List, Optional, Tuple

import gymnasium as gym
import numpy as np


class Game2048Env(gym.Env):
    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    ACTION_NAMES = ("left", "up", "right", "down")
    FOUR_PROBABILITY = 0.1

    def __init__(
        self,
        size: int = 4,
        goal: int = 2048,
        illegal_reward: float = -1.0,
        max_illegal: int = 20,
        render_mode: Optional[str] = None,
    ):
        super().__init__()
        self.size = size
        self.goal = goal
        self.illegal_reward = illegal_reward
        self.max_illegal = max_illegal
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Box(0, 2**20, (size, size), np.int64)
        self.action_space = gym.spaces.Discrete(4)
        self.board = np.zeros((size, size), dtype=np.int64)
        self.score = 0
        self.illegal_count = 0

    @property
    def highest(self) -> int:
        return int(self.board.max())

    @staticmethod
    def _merge_row(row: List[int]) -> Tuple[List[int], int]:
        tiles = [v for v in row if v != 0]
        merged = []
        gained = 0
        skip = False
        for i, v in enumerate(tiles):
            if skip:
                skip = False
                continue
            if i + 1 < len(tiles) and tiles[i + 1] == v:
                merged.append(2 * v)
                gained += 2 * v
                skip = True
            else:
                merged.append(v)
        return merged + [0] * (len(row) - len(merged)), gained

    def _slide(self, action: int) -> Tuple[np.ndarray, int, bool]:
        """Returns the board after the move, the score and whether anything moved."""
        rotated = np.rot90(self.board, k=action)
        out = np.empty_like(rotated)
        gained = 0
        for i, row in enumerate(rotated.tolist()):
            out[i], g = self._merge_row(row)
            gained += g
        result = np.rot90(out, k=-action)
        return result, gained, not np.array_equal(result, self.board)

    def _add_tile(self) -> None:
        empty = np.argwhere(self.board == 0)
        row, col = self.np_random.choice(empty)
        self.board[row, col] = 4 if self.np_random.random() < self.FOUR_PROBABILITY else 2

    def _legal_actions(self) -> List[int]:
        return [a for a in range(4) if self._slide(a)[2]]

    def _get_info(self) -> dict:
        return {
            "score": self.score,
            "highest": self.highest,
            "empty": int(np.count_nonzero(self.board == 0)),
        }

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None):
        super().reset(seed=seed)
        self.board = np.zeros((self.size, self.size), dtype=np.int64)
        self.score = 0
        self.illegal_count = 0
        for _ in range(2):
            self._add_tile()
        return self.board.copy(), self._get_info()

    def step(self, action: int):
        assert 0 <= action < 4, f"unknown action {action}, expected one of {self.ACTION_NAMES}"
        new_board, gained, changed = self._slide(int(action))
        truncated = False

        if changed:
            self.board = new_board.copy()
            self.score += gained
            self._add_tile()
            reward = float(gained)
        else:
            reward = self.illegal_reward
            self.illegal_count += 1
            truncated = self.illegal_count >= self.max_illegal

        terminated = self.highest >= self.goal or len(self._legal_actions()) == 0
        return self.board.copy(), reward, terminated, truncated, self._get_info()

    def render(self) -> Optional[str]:
        if self.render_mode == "ansi":
            rule = "+" + "------+" * self.size
            lines = [f"score: {self.score}", rule]
            for row in self.board:
                cells = [f"{v:^6d}" if v else " " * 6 for v in row]
                lines.append("|" + "|".join(cells) + "|")
                lines.append(rule)
            return "\n".join(lines)
