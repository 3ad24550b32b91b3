"""
Admission control for an M/M/k queue with several classes of customers.

At each arrival the agent decides whether to admit (1) or to reject (0) the job. Rewards are the
job's fee on admission minus the holding cost accrued until the next arrival.
"""

import math
from typing import NamedTuple, Optional, Sequence

import gymnasium as gym
import numpy as np


class JobClass(NamedTuple):
    name: str
    fee: float
    weight: float


JOB_CLASSES = (
    JobClass("bronze", 1.0, 0.6),
    JobClass("silver", 3.0, 0.3),
    JobClass("gold", 8.0, 0.1),
)


class AdmissionControlEnv(gym.Env):
    metadata = {"render_modes": []}

    def __init__(
        self,
        servers: int = 3,
        buffer: int = 10,
        arrival_rate: float = 3.5,
        service_rate: float = 1.0,
        holding_cost: float = 0.2,
        max_time: float = 100.0,
        classes: Sequence[JobClass] = JOB_CLASSES,
    ):
        if servers < 1:
            raise ValueError(f"need at least one server, got {servers}")
        if arrival_rate <= 0 or service_rate <= 0:
            raise ValueError("rates must be positive")

        self.servers = servers
        self.buffer = buffer
        self.arrival_rate = arrival_rate
        self.service_rate = service_rate
        self.holding_cost = holding_cost
        self.max_time = max_time
        self.classes = list(classes)
        total = sum(c.weight for c in self.classes)
        self._probs = [c.weight / total for c in self.classes]

        self.action_space = gym.spaces.Discrete(2)
        self.observation_space = gym.spaces.MultiDiscrete(
            [servers + 1, buffer + 1, len(self.classes)]
        )

    @property
    def load(self) -> float:
        return self.arrival_rate / (self.servers * self.service_rate)

    @property
    def busy(self) -> int:
        return len(self._departures)

    def _start_service(self, now: float) -> None:
        self._departures.append(now + self.np_random.exponential(1.0 / self.service_rate))
        self._departures.sort()

    def _run_until(self, t_next: float) -> float:
        """Plays the departures before t_next. Returns the integral of the jobs in system."""
        area = 0.0
        while self._departures and self._departures[0] <= t_next:
            t = self._departures.pop(0)
            area += (self.busy + 1 + self._queued) * (t - self._clock)
            self._clock = t
            self._served += 1
            if self._queued > 0:
                self._queued -= 1
                self._start_service(t)
        area += (self.busy + self._queued) * (t_next - self._clock)
        self._clock = t_next
        return area

    def _next_job(self) -> int:
        u = self.np_random.random()
        for i, p in enumerate(self._probs):
            u -= p
            if u < 0:
                return i
        return len(self._probs) - 1

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None):
        super().reset(seed=seed)
        self._clock = 0.0
        self._departures: list[float] = []
        self._queued = 0
        self._served = 0
        self._rejected = [0] * len(self.classes)
        self._job = self._next_job()
        return self._state(), self._stats()

    def step(self, action):
        job = self.classes[self._job]
        reward = 0.0

        if action == 1 and self._queued < self.buffer:
            reward += job.fee
            if self.busy < self.servers:
                self._start_service(self._clock)
            else:
                self._queued += 1
        else:
            self._rejected[self._job] += 1

        gap = -math.log(1.0 - self.np_random.random()) / self.arrival_rate
        reward -= self.holding_cost * self._run_until(self._clock + gap)
        self._job = self._next_job()

        truncated = self._clock >= self.max_time
        return self._state(), reward, False, truncated, self._stats()

    def _state(self) -> np.ndarray:
        return np.array([self.busy, self._queued, self._job])

    def _stats(self) -> dict:
        stats = {"time": self._clock, "served": self._served, "offered_load": self.load}
        for c, n in zip(self.classes, self._rejected):
            stats[f"rejected_{c.name}"] = n
        return stats
