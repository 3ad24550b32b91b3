"""Single item, periodic review inventory with a lead time and lost sales."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


@dataclass(frozen=True)
class InventoryConfig:
    capacity: int = 100
    max_order: int = 40
    lead_time: int = 2
    demand_mean: float = 12.0
    price: float = 4.0
    unit_cost: float = 2.0
    fixed_cost: float = 5.0
    holding_cost: float = 0.1
    lost_sale_penalty: float = 1.0
    horizon: int = 60


@dataclass
class DayResult:
    demand: int = 0
    sold: int = 0
    lost: int = 0
    spoiled: int = 0
    ordered: int = 0


class LostSalesInventoryEnv(gym.Env[np.ndarray, int]):
    metadata: dict[str, Any] = {"render_modes": ["ansi"]}

    config: InventoryConfig
    on_hand: int
    pipeline: deque[int]
    day: int

    def __init__(
        self,
        config: InventoryConfig | None = None,
        render_mode: str | None = None,
        **overrides: Any,
    ) -> None:
        self.config = replace(config or InventoryConfig(), **overrides)
        self.render_mode = render_mode
        cfg = self.config
        self.action_space = spaces.Discrete(cfg.max_order + 1)
        high = np.array([cfg.capacity] + [cfg.max_order] * cfg.lead_time, dtype=np.int32)
        self.observation_space = spaces.Box(np.zeros_like(high), high, dtype=np.int32)
        self.pipeline = deque([0] * cfg.lead_time, maxlen=cfg.lead_time)
        self.on_hand = 0
        self.day = 0
        self.last = DayResult()
        self.totals: dict[str, int] = {}

    @property
    def inventory_position(self) -> int:
        return self.on_hand + sum(self.pipeline)

    @property
    def fill_rate(self) -> float:
        demand = self.totals["demand"]
        return self.totals["sold"] / demand if demand else 1.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        cfg = self.config
        self.on_hand = int(self.np_random.integers(cfg.capacity // 4, cfg.capacity // 2 + 1))
        self.pipeline = deque([0] * cfg.lead_time, maxlen=cfg.lead_time)
        self.day = 0
        self.last = DayResult()
        self.totals = {"demand": 0, "sold": 0}
        return self._observe(), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise ValueError(f"order of {action} units, must be within 0..{self.config.max_order}")

        result = DayResult(ordered=int(action))
        arriving = self.pipeline.popleft()
        self.pipeline.append(result.ordered)
        result.spoiled = max(0, self.on_hand + arriving - self.config.capacity)
        self.on_hand += arriving - result.spoiled

        result.demand = int(self.np_random.poisson(self._mean_demand()))
        result.sold = min(result.demand, self.on_hand)
        result.lost = result.demand - result.sold
        self.on_hand -= result.sold

        for key in self.totals:
            self.totals[key] += getattr(result, key)
        self.last = result
        self.day += 1
        truncated = self.day >= self.config.horizon
        return self._observe(), self._profit(result), False, truncated, self._info()

    def _mean_demand(self) -> float:
        # weekends sell half as much again
        return self.config.demand_mean * (1.5 if self.day % 7 >= 5 else 1.0)

    def _profit(self, r: DayResult) -> float:
        cfg = self.config
        costs = cfg.unit_cost * r.ordered + cfg.holding_cost * self.on_hand
        if r.ordered > 0:
            costs += cfg.fixed_cost
        return cfg.price * r.sold - costs - cfg.lost_sale_penalty * r.lost

    def _observe(self) -> np.ndarray:
        return np.array([self.on_hand, *self.pipeline], dtype=np.int32)

    def _info(self) -> dict[str, Any]:
        return {
            "position": self.inventory_position,
            "fill_rate": self.fill_rate,
            "lost": self.last.lost,
            "spoiled": self.last.spoiled,
        }

    def render(self) -> str | None:
        if self.render_mode == "ansi":
            return (
                f"day {self.day:3d} | stock {self.on_hand:3d} | on order {list(self.pipeline)} | "
                f"demand {self.last.demand} (lost {self.last.lost})"
            )
        return None
