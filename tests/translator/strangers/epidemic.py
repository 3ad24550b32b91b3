"""Stochastic SIR epidemic. The agent is the health minister."""

from typing import Any, NamedTuple, Optional

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Compartments(NamedTuple):
    susceptible: int
    infected: int
    recovered: int

    @property
    def total(self) -> int:
        return self.susceptible + self.infected + self.recovered


class EpidemicEnv(gym.Env):
    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 7}

    # how much of the normal contact remains, and what a day of it costs
    LOCKDOWN_CONTACT = [1.0, 0.7, 0.45, 0.2]
    LOCKDOWN_COST = [0.0, 0.1, 0.4, 1.0]
    # share of the susceptible people vaccinated per day
    VACCINE_SHARE = [0.0, 0.005, 0.02]
    VACCINE_COST = [0.0, 0.05, 0.25]

    def __init__(
        self,
        population: int = 10_000,
        beta: float = 0.35,
        gamma: float = 0.1,
        import_rate: float = 0.2,
        hospital_beds: Optional[int] = None,
        render_mode: Optional[str] = None,
    ):
        self.population = population
        self.beta = beta
        self.gamma = gamma
        self.import_rate = import_rate
        self.hospital_beds = hospital_beds if hospital_beds is not None else population // 200
        self.render_mode = render_mode

        self.action_space = spaces.MultiDiscrete(
            [len(self.LOCKDOWN_CONTACT), len(self.VACCINE_SHARE)]
        )
        self.observation_space = spaces.Box(0, population, shape=(4,), dtype=np.int32)
        self.state = Compartments(population, 0, 0)
        self.new_cases = 0
        self.history: list[Compartments] = []

    # -- properties ---------------------------------------------------------

    @property
    def prevalence(self) -> float:
        return self.state.infected / self.population

    @property
    def r_effective(self) -> float:
        return self.beta / self.gamma * self.state.susceptible / self.population

    # -- gym api ------------------------------------------------------------

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict[str, Any]] = None):
        super().reset(seed=seed)
        infected = int(self.np_random.integers(5, 50))
        self.state = Compartments(self.population - infected, infected, 0)
        self.new_cases = infected
        self.history = [self.state]
        return self._get_obs(), self._get_info()

    def step(self, action):
        lockdown, vaccine = action
        s, i, r = self.state

        contact = self.beta * self.LOCKDOWN_CONTACT[lockdown]
        p_infect = 1.0 - np.exp(-contact * i / self.population)
        p_recover = 1.0 - np.exp(-self.gamma)

        vaccinated = self.np_random.binomial(s, self.VACCINE_SHARE[vaccine])
        infections = self.np_random.binomial(s - vaccinated, p_infect)
        imported = min(self.np_random.poisson(self.import_rate), s - vaccinated - infections)
        recoveries = self.np_random.binomial(i, p_recover)

        self.new_cases = infections + imported
        self.state = Compartments(
            s - vaccinated - self.new_cases,
            i + self.new_cases - recoveries,
            r + vaccinated + recoveries,
        )
        assert self.state.total == self.population, f"people got lost: {self.state}"
        self.history.append(self.state)

        # roughly 5 % of the infected need a bed
        overload = max(0.0, 0.05 * self.state.infected - self.hospital_beds)
        reward = -(
            self.LOCKDOWN_COST[lockdown]
            + self.VACCINE_COST[vaccine]
            + 100.0 * self.new_cases / self.population
            + 0.1 * overload
        )
        terminated = self.state.infected == 0
        return self._get_obs(), reward, bool(terminated), False, self._get_info()

    def _get_obs(self):
        return np.array([*self.state, self.new_cases], dtype=np.int32)

    def _get_info(self):
        return {
            "day": len(self.history) - 1,
            "prevalence": self.prevalence,
            "r_effective": self.r_effective,
            "peak": max(c.infected for c in self.history),
        }

    def render(self):
        if self.render_mode == "ansi":
            s, i, r = (round(50 * x / self.population) for x in self.state)
            return "s" * s + "I" * i + "." * r
        if self.render_mode == "rgb_array":
            width, height = 200, 60
            frame = np.full((height, width, 3), 255, dtype=np.uint8)
            for x, c in enumerate(self.history[-width:]):
                top = int(height * c.infected / self.population)
                frame[height - top :, x] = (200, 0, 0)
            return frame
