"""Connect four against an opponent who drops discs at random (with a bit of sense)."""

from typing import Any, Dict, List, Optional, SupportsFloat, Tuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

Board = np.ndarray


class ConnectFourEnv(gym.Env):
    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 1}

    ROWS: int = 6
    COLS: int = 7
    ME: int = 1
    OTHER: int = -1

    WIN_REWARD = 1.0
    DRAW_REWARD = 0.0
    LOSE_REWARD = -1.0
    ILLEGAL_REWARD = -0.2

    def __init__(
        self,
        connect: int = 4,
        smart_opponent: bool = False,
        render_mode: Optional[str] = None,
    ) -> None:
        self.connect = connect
        self.smart_opponent = smart_opponent
        self.render_mode = render_mode
        self.observation_space = spaces.Box(-1, 1, (self.ROWS, self.COLS), dtype=np.int8)
        self.action_space = spaces.Discrete(self.COLS)
        self.board: Board = np.zeros((self.ROWS, self.COLS), dtype=np.int8)
        self.heights: List[int] = [0] * self.COLS
        self.winner: Optional[int] = None
        self.done = True

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Board, Dict[str, Any]]:
        super().reset(seed=seed)
        self.board = np.zeros((self.ROWS, self.COLS), dtype=np.int8)
        self.heights = [0] * self.COLS
        self.winner = None
        self.done = False
        self.illegal = 0
        if self.np_random.integers(2) == 1:
            self._drop(self._opponent_move(), self.OTHER)
        return self.board.copy(), self._info()

    def step(self, action: int) -> Tuple[Board, SupportsFloat, bool, bool, Dict[str, Any]]:
        if self.done:
            raise ValueError("the game is over, call reset() first")
        if not 0 <= action < self.COLS:
            raise ValueError(f"column {action} does not exist")

        if self.heights[action] >= self.ROWS:
            self.illegal += 1
            return self.board.copy(), self.ILLEGAL_REWARD, False, self.illegal > 20, self._info()

        for player in (self.ME, self.OTHER):
            col = int(action) if player == self.ME else self._opponent_move()
            row = self._drop(col, player)
            if self._wins(row, col):
                self.winner = player
                self.done = True
                break
            if not self.legal_moves:
                self.winner = 0
                self.done = True
                break

        reward = {
            None: 0.0,
            0: self.DRAW_REWARD,
            self.ME: self.WIN_REWARD,
            self.OTHER: self.LOSE_REWARD,
        }[self.winner]
        return self.board.copy(), reward, self.done, False, self._info()

    @property
    def legal_moves(self) -> List[int]:
        return [c for c, h in enumerate(self.heights) if h < self.ROWS]

    def _drop(self, col: int, player: int) -> int:
        row = self.ROWS - 1 - self.heights[col]
        self.board[row, col] = player
        self.heights[col] += 1
        return row

    def _undo(self, col: int) -> None:
        self.heights[col] -= 1
        self.board[self.ROWS - 1 - self.heights[col], col] = 0

    def _opponent_move(self) -> int:
        if self.smart_opponent:
            for player in (self.OTHER, self.ME):
                for col in self.legal_moves:
                    row = self._drop(col, player)
                    wins = self._wins(row, col)
                    self._undo(col)
                    if wins:
                        return col
        return int(self.np_random.choice(self.legal_moves))

    def _wins(self, row: int, col: int) -> bool:
        player = self.board[row, col]
        for dr, dc in [(0, 1), (1, 0), (1, 1), (1, -1)]:
            run = 1
            for sign in (-1, 1):
                r, c = row + sign * dr, col + sign * dc
                while 0 <= r < self.ROWS and 0 <= c < self.COLS and self.board[r, c] == player:
                    run += 1
                    r += sign * dr
                    c += sign * dc
            if run >= self.connect:
                return True
        return False

    def _info(self) -> Dict[str, Any]:
        mask = np.array([h < self.ROWS for h in self.heights], dtype=np.int8)
        return {"action_mask": mask, "discs": sum(self.heights), "illegal": self.illegal}

    def render(self):
        if self.render_mode == "ansi":
            chars = {0: ".", self.ME: "X", self.OTHER: "O"}
            rows = ["".join(chars[int(v)] for v in row) for row in self.board]
            return "\n".join(rows) + "\n" + "".join(map(str, range(self.COLS)))
        elif self.render_mode == "rgb_array":
            palette = np.array([[220, 0, 0], [255, 255, 255], [230, 200, 0]], dtype=np.uint8)
            return np.repeat(np.repeat(palette[self.board + 1], 20, axis=0), 20, axis=1)
