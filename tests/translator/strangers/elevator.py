from dataclasses import dataclass
from enum import IntEnum
from typing import Dict, List

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Move(IntEnum):
    DOWN = 0
    OPEN = 1
    UP = 2


@dataclass
class Passenger:
    origin: int
    target: int
    born: int

    @property
    def goes_up(self) -> bool:
        return self.target > self.origin


class ElevatorEnv(gym.Env):
    """One lift, `n_floors` floors and impatient people.

    Every tick the lift moves one floor or opens its doors. People appear at random; most of
    the traffic starts or ends at the ground floor.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 2}

    LOBBY = 0
    LOBBY_SHARE = 0.6
    MAX_WAITING = 8

    def __init__(self, n_floors=6, capacity=4, arrival_prob=0.25, max_ticks=200, render_mode=None):
        self.n_floors = n_floors
        self.capacity = capacity
        self.arrival_prob = arrival_prob
        self.max_ticks = max_ticks
        self.render_mode = render_mode

        self.action_space = spaces.Discrete(len(Move))
        self.observation_space = spaces.Dict(
            {
                "floor": spaces.Discrete(n_floors),
                "load": spaces.Discrete(capacity + 1),
                "up_calls": spaces.MultiBinary(n_floors),
                "down_calls": spaces.MultiBinary(n_floors),
                "buttons": spaces.MultiBinary(n_floors),
            }
        )

    def _get_obs(self) -> Dict:
        up = np.zeros(self.n_floors, dtype=np.int8)
        down = np.zeros(self.n_floors, dtype=np.int8)
        buttons = np.zeros(self.n_floors, dtype=np.int8)
        for floor, people in enumerate(self.waiting):
            up[floor] = any(p.goes_up for p in people)
            down[floor] = any(not p.goes_up for p in people)
        for p in self.riding:
            buttons[p.target] = 1
        return {
            "floor": self.floor,
            "load": len(self.riding),
            "up_calls": up,
            "down_calls": down,
            "buttons": buttons,
        }

    def _get_info(self):
        return {
            "waiting": sum(len(people) for people in self.waiting),
            "delivered": self.delivered,
            "mean_trip": self.total_trip / self.delivered if self.delivered else 0.0,
        }

    def _new_passenger(self) -> Passenger:
        floor = int(self.np_random.integers(1, self.n_floors))
        u = self.np_random.random()
        if u < self.LOBBY_SHARE / 2:
            return Passenger(self.LOBBY, floor, self.tick)
        if u < self.LOBBY_SHARE:
            return Passenger(floor, self.LOBBY, self.tick)
        a, b = self.np_random.choice(self.n_floors, size=2, replace=False)
        return Passenger(int(a), int(b), self.tick)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.floor = self.LOBBY
        self.tick = 0
        self.delivered = 0
        self.total_trip = 0
        self.riding: List[Passenger] = []
        self.waiting: List[List[Passenger]] = [[] for _ in range(self.n_floors)]
        return self._get_obs(), self._get_info()

    def _open_doors(self) -> int:
        leaving = [p for p in self.riding if p.target == self.floor]
        self.riding = [p for p in self.riding if p.target != self.floor]
        for p in leaving:
            self.total_trip += self.tick - p.born
        self.delivered += len(leaving)

        queue = self.waiting[self.floor]
        while queue and len(self.riding) < self.capacity:
            self.riding.append(queue.pop(0))
        return len(leaving)

    def step(self, action):
        action = Move(action)
        self.tick += 1
        reward = 0.0

        if action is Move.OPEN:
            reward += 2.0 * self._open_doors()
        else:
            before = self.floor
            self.floor = min(max(self.floor + (action - 1), 0), self.n_floors - 1)
            if self.floor == before:
                reward -= 0.5  # bumped into the end of the shaft

        if self.np_random.random() < self.arrival_prob:
            p = self._new_passenger()
            if len(self.waiting[p.origin]) < self.MAX_WAITING:
                self.waiting[p.origin].append(p)
            else:
                reward -= 5.0  # took the stairs and will complain

        reward -= 0.01 * (sum(map(len, self.waiting)) + len(self.riding))
        truncated = self.tick >= self.max_ticks
        return self._get_obs(), reward, False, truncated, self._get_info()

    def render(self):
        if self.render_mode == "ansi":
            rows = []
            for f in reversed(range(self.n_floors)):
                car = f"[{len(self.riding)}]" if f == self.floor else " | "
                rows.append(f"{f:2d} {car} {'o' * len(self.waiting[f])}")
            return "\n".join(rows)
