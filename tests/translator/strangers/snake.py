from collections import deque
from enum import IntEnum

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Direction(IntEnum):
    UP = 0
    RIGHT = 1
    DOWN = 2
    LEFT = 3


MOVES = {
    Direction.UP: (-1, 0),
    Direction.RIGHT: (0, 1),
    Direction.DOWN: (1, 0),
    Direction.LEFT: (0, -1),
}

EMPTY, BODY, HEAD, FOOD = 0, 1, 2, 3

COLORS = {
    EMPTY: (20, 20, 20),
    BODY: (0, 160, 0),
    HEAD: (120, 255, 120),
    FOOD: (220, 30, 30),
}


class SnakeEnv(gym.Env):
    """Classic snake on a square board. Eat, grow, don't bite yourself."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, size=10, start_length=3, render_mode=None):
        assert size > start_length + 1, f"board of {size} is too small for the snake"
        self.size = size
        self.start_length = start_length
        self.render_mode = render_mode
        self.max_hunger = size * size

        self.action_space = spaces.Discrete(len(Direction))
        self.observation_space = spaces.Box(0, 3, shape=(size, size), dtype=np.uint8)

        self.snake = deque()
        self.food = None
        self.direction = Direction.RIGHT

    def _spawn_food(self):
        free = [
            (r, c) for r in range(self.size) for c in range(self.size) if (r, c) not in self.snake
        ]
        if not free:
            return None
        return free[self.np_random.integers(len(free))]

    def _get_obs(self):
        board = np.zeros((self.size, self.size), dtype=np.uint8)
        for r, c in self.snake:
            board[r, c] = BODY
        board[self.snake[0]] = HEAD
        if self.food is not None:
            board[self.food] = FOOD
        return board

    def _get_info(self):
        return {"length": len(self.snake), "hunger": self.hunger}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        mid = self.size // 2
        self.snake = deque((mid, mid - i) for i in range(self.start_length))
        self.direction = Direction.RIGHT
        self.hunger = 0
        self.food = self._spawn_food()
        return self._get_obs(), self._get_info()

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} ({type(action)}) invalid"
        new_dir = Direction(int(action))
        # you can't turn straight back into your own neck
        if (new_dir + 2) % 4 != self.direction:
            self.direction = new_dir

        dr, dc = MOVES[self.direction]
        head_r, head_c = self.snake[0]
        head = (head_r + dr, head_c + dc)

        reward = -0.01
        terminated = False
        self.hunger += 1

        hit_wall = not (0 <= head[0] < self.size and 0 <= head[1] < self.size)
        if head != self.food:
            tail = self.snake.pop()
        else:
            tail = None

        if hit_wall or head in self.snake:
            # put the tail back so that the last frame still looks right
            if tail is not None:
                self.snake.append(tail)
            terminated = True
            reward = -1.0
        else:
            self.snake.appendleft(head)
            if tail is None:
                reward = 1.0
                self.hunger = 0
                self.food = self._spawn_food()
                if self.food is None:
                    terminated = True
                    reward = 10.0

        truncated = self.hunger >= self.max_hunger
        return self._get_obs(), reward, terminated, truncated, self._get_info()

    def render(self):
        if self.render_mode != "rgb_array":
            return None
        scale = 16
        board = self._get_obs()
        img = np.zeros((self.size, self.size, 3), dtype=np.uint8)
        for value, color in COLORS.items():
            img[board == value] = color
        return img.repeat(scale, axis=0).repeat(scale, axis=1)

    def close(self):
        self.snake.clear()
