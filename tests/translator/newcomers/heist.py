"""A thief, guards on patrol, and loot in rooms."""
from collections import defaultdict
from typing import NamedTuple
import gymnasium as gym
import numpy as np


class Pos(NamedTuple):
    r: int
    c: int

    def __add__(self, other):
        return Pos(self.r + other[0], self.c + other[1])


class Guard:
    def __init__(self, route):
        self.route = route
        self.i = 0
        self.forward = True

    @property
    def pos(self):
        return self.route[self.i]

    def move(self):
        if self.forward:
            self.i += 1
            if self.i == len(self.route) - 1:
                self.forward = False
        else:
            self.i -= 1
            if self.i == 0:
                self.forward = True


MAP = """
#########
#..$.#..#
#.##.#$.#
#....#..#
#.#..+..#
#$#..#..#
#########
""".strip().split("\n")
MOVES = [Pos(0, 0), Pos(-1, 0), Pos(1, 0), Pos(0, -1), Pos(0, 1)]


class Heist(gym.Env):
    def __init__(self):
        self.h, self.w = len(MAP), len(MAP[0])
        self.walls = np.array([[ch == "#" for ch in row] for row in MAP])
        self.loot0 = [Pos(r, c) for r, row in enumerate(MAP) for c, ch in enumerate(row) if ch == "$"]
        self.action_space = gym.spaces.Discrete(5)
        self.observation_space = gym.spaces.Box(0, 1, (4, self.h, self.w), dtype=np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.guards = [
            Guard([Pos(1, 1), Pos(2, 1), Pos(3, 1), Pos(4, 1), Pos(5, 1)]),
            Guard([Pos(3, 6), Pos(3, 7), Pos(2, 7), Pos(1, 7)]),
        ]
        self.thief = Pos(3, 3)
        self.loot = set(self.loot0)
        self.visits = defaultdict(int)
        self.steps = 0
        return self.render_obs(), {"left": len(self.loot), "event": "start"}

    def render_obs(self):
        obs = np.zeros((4, self.h, self.w), dtype=np.uint8)
        obs[0] = self.walls
        obs[1, self.thief.r, self.thief.c] = 1
        for g in self.guards:
            obs[2, g.pos.r, g.pos.c] = 1
        for p in self.loot:
            obs[3, p.r, p.c] = 1
        return obs

    def step(self, action):
        event = "move"
        target = self.thief + MOVES[action]
        reward = -0.01
        if self.walls[target.r, target.c]:
            event = "bump"
        else:
            self.thief = target
        for g in self.guards:
            g.move()
        self.visits[self.thief] += 1
        if self.visits[self.thief] == 1:
            reward += 0.02
        if self.thief in self.loot:
            self.loot.discard(self.thief)
            reward += 1.0
            event = "loot"
        caught = any(abs(g.pos.r - self.thief.r) + abs(g.pos.c - self.thief.c) <= 1 for g in self.guards)
        if caught:
            reward -= 1.0
            event = "caught"
        self.steps += 1
        done = caught or not self.loot
        return self.render_obs(), reward, done, self.steps >= 150, {"left": len(self.loot), "event": event}
