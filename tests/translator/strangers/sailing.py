"""Sail to the opposite corner of a lake while the wind turns.

There are eight headings. Running with the wind is fast, reaching across is slower, and you
cannot sail into the wind. Changing the tack costs a delay.
"""

import math

import gymnasium as gym
import numpy as np
from gymnasium import spaces

HEADINGS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
NAMES = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"]

# cost of a leg by the angle between heading and wind (in eighths of a turn)
LEG_COST = (1.0, 2.0, 3.0, 4.0, math.inf)
TACK_DELAY = 3.0

INTO_WIND, RUNNING, PORT, STARBOARD = range(4)

WIND_TURNS = np.array([-1, 0, 1])
WIND_PROBS = np.array([0.3, 0.4, 0.3])


def angle_between(heading, wind):
    d = abs(heading - wind) % 8
    return min(d, 8 - d)


class SailingEnv(gym.Env):
    metadata = {"render_modes": ["ansi"], "render_fps": 2}

    def __init__(self, size=10, gusty=False, render_mode=None):
        self.size = size
        self.gusty = gusty
        self.render_mode = render_mode
        self.goal = (size - 1, size - 1)
        self.action_space = spaces.Discrete(8)
        # x, y, wind, tack
        self.observation_space = spaces.MultiDiscrete(np.array([size, size, 8, 4]))

    def _tack(self, heading):
        d = (heading - self.wind) % 8
        if d == 0:
            return RUNNING
        if d == 4:
            return INTO_WIND
        return PORT if d < 4 else STARBOARD

    def _turn_wind(self):
        turn = self.np_random.choice(WIND_TURNS, p=WIND_PROBS)
        if self.gusty and self.np_random.random() < 0.05:
            turn *= self.np_random.integers(2, 4)
        self.wind = int((self.wind + turn) % 8)

    def _get_obs(self):
        return np.array([self.pos[0], self.pos[1], self.wind, self.tack], dtype=np.int64)

    def _get_info(self):
        return {"hours": self.hours, "to_go": math.dist(self.pos, self.goal)}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.pos = (0, 0)
        self.wind = int(self.np_random.integers(0, 8))
        self.tack = RUNNING
        self.hours = 0.0
        self.trail = [self.pos]
        return self._get_obs(), self._get_info()

    def step(self, action):
        heading = int(action)
        assert 0 <= heading < 8, f"heading {heading} is not one of {list(enumerate(NAMES))}"

        cost = LEG_COST[angle_between(heading, self.wind)]
        dx, dy = HEADINGS[heading]
        x, y = self.pos[0] + dx, self.pos[1] + dy
        aground = not (0 <= x < self.size and 0 <= y < self.size)

        if math.isinf(cost) or aground:
            # in irons, or on the rocks: lose some hours and stay
            cost = 1.0 if not aground else 5.0
        else:
            if dx != 0 and dy != 0:
                cost *= math.sqrt(2)
            tack = self._tack(heading)
            if {tack, self.tack} == {PORT, STARBOARD}:
                cost += TACK_DELAY
            self.tack = tack
            self.pos = (x, y)
            self.trail.append(self.pos)

        self.hours += cost
        self._turn_wind()

        terminated = self.pos == self.goal
        return self._get_obs(), -cost, terminated, False, self._get_info()

    def render(self):
        if self.render_mode != "ansi":
            return
        grid = [["~"] * self.size for _ in range(self.size)]
        for x, y in self.trail:
            grid[y][x] = "."
        grid[self.goal[1]][self.goal[0]] = "G"
        grid[self.pos[1]][self.pos[0]] = "^"
        out = "wind to " + NAMES[self.wind] + f", {self.hours:.1f} h\n"
        return out + "\n".join("".join(row) for row in reversed(grid))
