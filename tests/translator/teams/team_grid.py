"""Two teams collect apples in a walled grid; each agent sees the cells around it."""

from gymnasium.spaces import Box, Discrete
from gymnasium.utils import seeding
from pettingzoo.utils import ParallelEnv
import numpy as np

EMPTY, WALL, APPLE, RED, BLUE = range(5)
VIEW = 2


class TeamGrid(ParallelEnv):
    metadata = {"render_modes": ["rgb_array"], "name": "team_grid_v0", "render_fps": 5}
    possible_agents = ["red_0", "red_1", "blue_0", "blue_1"]

    def __init__(self, width=9, height=7, apples=6, horizon=80, render_mode=None):
        self.width, self.height = width, height
        self.n_apples = apples
        self.horizon = horizon
        self.render_mode = render_mode
        self.grid = np.zeros((height, width), dtype=np.int8)
        self.scores = {"red": 0, "blue": 0}
        self._seed()

    def _seed(self, seed=None):
        self.np_random, _ = seeding.np_random(seed)

    def observation_space(self, agent):
        return Box(0, 4, (2 * VIEW + 1, 2 * VIEW + 1), np.int8)

    def action_space(self, agent):
        return Discrete(5)

    def _free_cell(self):
        while True:
            x = self.np_random.integers(1, self.width - 1)
            y = self.np_random.integers(1, self.height - 1)
            if self.grid[y, x] == EMPTY:
                return int(x), int(y)

    def _code(self, agent):
        return RED if agent.startswith("red") else BLUE

    def _view(self, agent):
        x, y = self.where[agent]
        padded = np.pad(self.grid, VIEW, constant_values=WALL)
        return padded[y : y + 2 * VIEW + 1, x : x + 2 * VIEW + 1].copy()

    def reset(self, seed=None, options=None):
        if seed is not None:
            self._seed(seed)
        self.agents = list(self.possible_agents)
        self.grid[:] = EMPTY
        self.grid[0, :] = self.grid[-1, :] = WALL
        self.grid[:, 0] = self.grid[:, -1] = WALL
        self.where = {}
        for agent in self.agents:
            x, y = self._free_cell()
            self.where[agent] = (x, y)
            self.grid[y, x] = self._code(agent)
        for _ in range(self.n_apples):
            x, y = self._free_cell()
            self.grid[y, x] = APPLE
        self.scores["red"] = 0
        self.scores["blue"] = 0
        self.t = 0
        return {a: self._view(a) for a in self.agents}, {a: {} for a in self.agents}

    def step(self, actions):
        rewards = dict.fromkeys(self.agents, 0)
        for agent in self.agents:
            x, y = self.where[agent]
            action = actions[agent]
            nx, ny = x, y
            if action == 1:
                ny -= 1
            elif action == 2:
                ny += 1
            elif action == 3:
                nx -= 1
            elif action == 4:
                nx += 1
            cell = self.grid[ny, nx]
            if cell == EMPTY or cell == APPLE:
                if cell == APPLE:
                    rewards[agent] += 1
                    team = "red" if "red" in agent else "blue"
                    self.scores[team] += 1
                self.grid[y, x] = EMPTY
                self.grid[ny, nx] = self._code(agent)
                self.where[agent] = (nx, ny)
        self.t += 1
        over = self.scores["red"] + self.scores["blue"] >= self.n_apples
        late = self.t >= self.horizon
        observations = {a: self._view(a) for a in self.agents}
        terminations = {a: over for a in self.agents}
        truncations = {a: late and not over for a in self.agents}
        infos = {
            a: {"own": self.scores["red"] if a.startswith("red") else self.scores["blue"]}
            for a in self.agents
        }
        if over or late:
            self.agents = []
        return observations, rewards, terminations, truncations, infos

    def render(self):
        colors = np.array(
            [[255, 255, 255], [90, 90, 90], [0, 200, 0], [220, 30, 30], [30, 30, 220]], np.uint8
        )
        return colors[self.grid]
