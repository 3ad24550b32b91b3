"""A small farm: plant, water, harvest."""
from dataclasses import dataclass
from enum import Enum
import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Tuple


class Stage(Enum):
    EMPTY = 0
    SEED = 1
    SPROUT = 2
    RIPE = 3
    DEAD = 4


@dataclass
class Plot:
    stage: Stage = Stage.EMPTY
    water: float = 0.0
    age: int = 0

    def grow(self, rng):
        if self.stage in (Stage.EMPTY, Stage.DEAD):
            return
        self.age += 1
        self.water = max(0.0, self.water - rng.uniform(0.05, 0.15))
        if self.water <= 0:
            self.stage = Stage.DEAD
        elif self.age > 12:
            self.stage = Stage.RIPE
        elif self.age > 5:
            self.stage = Stage.SPROUT


class Farm(gym.Env):
    COSTS = {"plant": 1.0, "water": 0.1, "harvest": 0.0, "clear": 0.2}

    def __init__(self, n_plots=4, season=80):
        self.n_plots = n_plots
        self.season = season
        self.verbs = tuple(self.COSTS)
        self.action_space = Tuple((Discrete(4), Discrete(n_plots)))
        self.observation_space = Dict(
            plots=Dict(stage=Box(0, 4, (n_plots,), np.int64), water=Box(0.0, 1.0, (n_plots,), np.float64)),
            money=Box(-np.inf, np.inf, (), np.float32),
            raining=MultiBinary(1),
        )

    def observe(self):
        return {
            "plots": {
                "stage": np.array([p.stage.value for p in self.plots]),
                "water": np.array([p.water for p in self.plots]),
            },
            "money": np.float32(self.money),
            "raining": np.array([int(self.raining)], dtype=np.int8),
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.plots = [Plot() for _ in range(self.n_plots)]
        self.money = 10.0
        self.day = 0
        self.raining = False
        self.harvested = 0
        return self.observe(), {"verb": None, "weather": "sun"}

    def step(self, action):
        which, where = action
        verb = self.verbs[which]
        plot = self.plots[where]
        before = self.money
        self.money -= self.COSTS[verb]
        if verb == "plant" and plot.stage is Stage.EMPTY:
            plot.stage = Stage.SEED
            plot.water = 0.5
            plot.age = 0
        elif verb == "water":
            plot.water = min(1.0, plot.water + 0.4)
        elif verb == "harvest" and plot.stage is Stage.RIPE:
            self.money += 8
            self.harvested += 1
            self.plots[where] = Plot()
        elif verb == "clear" and plot.stage == Stage.DEAD:
            self.plots[where] = Plot()
        self.raining = self.np_random.random() < 0.2
        for p in self.plots:
            if self.raining:
                p.water = min(1.0, p.water + 0.3)
            p.grow(self.np_random)
        self.day += 1
        bankrupt = self.money < 0
        return (
            self.observe(),
            float(self.money - before),
            bankrupt,
            self.day >= self.season,
            {"verb": verb, "weather": "rain" if self.raining else "sun"},
        )
