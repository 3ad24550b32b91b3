from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium import spaces

TRADING_DAYS = 252


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - np.max(x))
    return e / e.sum()


class PortfolioEnv(gym.Env):
    """Rebalance a portfolio of `n_assets` correlated stocks and cash every day.

    The action holds one score per asset plus one for cash; a softmax turns it into weights.
    Prices follow a geometric Brownian motion whose regime (bull or bear) switches now and then.
    """

    metadata = {"render_modes": ["ansi"]}

    def __init__(
        self,
        n_assets: int = 4,
        window: int = 10,
        fee: float = 0.001,
        initial_cash: float = 10_000.0,
        risk_aversion: float = 0.1,
        episode_days: int = TRADING_DAYS,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.n_assets = n_assets
        self.window = window
        self.fee = fee
        self.initial_cash = initial_cash
        self.risk_aversion = risk_aversion
        self.episode_days = episode_days
        self.render_mode = render_mode

        vol = np.linspace(0.1, 0.4, n_assets) / np.sqrt(TRADING_DAYS)
        corr = 0.3 * np.ones((n_assets, n_assets)) + 0.7 * np.eye(n_assets)
        self.cov = np.outer(vol, vol) * corr
        self.drift = {
            "bull": np.linspace(0.04, 0.20, n_assets) / TRADING_DAYS,
            "bear": -np.linspace(0.02, 0.30, n_assets) / TRADING_DAYS,
        }
        self.rate = 0.02 / TRADING_DAYS

        self.action_space = spaces.Box(-5.0, 5.0, shape=(n_assets + 1,), dtype=np.float32)
        self.observation_space = spaces.Box(
            -np.inf, np.inf, shape=(window + 1, n_assets + 1), dtype=np.float32
        )

    def reset(self, seed: int | None = None, options: dict | None = None):
        super().reset(seed=seed)
        self.regime = "bull" if self.np_random.random() < 0.7 else "bear"
        self.returns = np.zeros((self.window, self.n_assets + 1))
        for i in range(self.window):
            self.returns[i] = self._sample_returns()
        self.weights = np.zeros(self.n_assets + 1)
        self.weights[-1] = 1.0
        self.value = self.initial_cash
        self.peak = self.value
        self.day = 0
        self.turnover = 0.0
        return self._get_obs(), self._get_info()

    def step(self, action):
        action = np.asarray(action, dtype=np.float64)
        if action.shape != (self.n_assets + 1,):
            raise ValueError(f"expected {self.n_assets + 1} scores, got shape {action.shape}")

        target = softmax(action)
        self.turnover = np.abs(target - self.weights).sum() / 2
        costs = self.fee * self.turnover * self.value

        r = self._sample_returns()
        self.returns = np.roll(self.returns, -1, axis=0)
        self.returns[-1] = r

        growth = target @ (1.0 + r)
        old_value = self.value
        self.value = (self.value - costs) * growth
        self.weights = target * (1.0 + r) / growth
        self.peak = max(self.peak, self.value)
        self.day += 1

        log_return = np.log(self.value / old_value)
        variance = target[:-1] @ self.cov @ target[:-1]
        reward = 100 * float(log_return - self.risk_aversion * variance)

        terminated = bool(self.value < 0.5 * self.initial_cash)
        truncated = self.day >= self.episode_days
        return self._get_obs(), reward, terminated, truncated, self._get_info()

    def _sample_returns(self) -> np.ndarray:
        if self.np_random.random() < 0.02:
            self.regime = "bear" if self.regime == "bull" else "bull"
        stocks = self.np_random.multivariate_normal(self.drift[self.regime], self.cov)
        return np.append(np.expm1(stocks), self.rate)

    def _get_obs(self) -> np.ndarray:
        return np.vstack([self.returns * 100, self.weights]).astype(np.float32)

    def _get_info(self) -> dict:
        return {
            "value": self.value,
            "drawdown": 1.0 - self.value / self.peak,
            "turnover": self.turnover,
            "sharpe": self._sharpe(),
        }

    def _sharpe(self) -> float:
        pnl = self.returns @ self.weights
        std = pnl.std()
        if std < 1e-8:
            return 0.0
        return (pnl.mean() - self.rate) / std * np.sqrt(TRADING_DAYS)

    def render(self):
        if self.render_mode == "ansi":
            w = ", ".join(f"{x:.0%}" for x in self.weights)
            return f"[{self.day:>3}] {self.regime:<4} value={self.value:,.2f} weights=({w})"
