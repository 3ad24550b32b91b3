"""A stirred tank reactor, integrated by Runge-Kutta."""
import gymnasium as gym
import numpy as np


class CSTR(gym.Env):
    params = dict(q=100.0, V=100.0, rho=1000.0, Cp=0.239, dH=5e4, E_R=8750.0, k0=7.2e10, UA=5e4)

    def __init__(self, dt: float = 0.05, substeps: int = 5, noise: bool = True):
        self.dt = dt
        self.substeps = substeps
        self.noise = noise
        self.x0 = np.array([0.8, 330.0])
        self.ref = np.array([0.5, 350.0])
        self.action_space = gym.spaces.Box(295.0, 305.0, shape=(1,), dtype=np.float64)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, shape=(4,), dtype=np.float64)

    def deriv(self, x, u):
        p = self.params
        Ca, T = x
        rA = p["k0"] * np.exp(-p["E_R"] / T) * Ca
        dCa = p["q"] / p["V"] * (1.0 - Ca) - rA
        dT = (
            p["q"] / p["V"] * (350.0 - T)
            + p["dH"] / (p["rho"] * p["Cp"]) * rA
            + p["UA"] / (p["V"] * p["rho"] * p["Cp"]) * (u - T)
        )
        return np.array([dCa, dT])

    def rk4(self, x, u):
        h = self.dt / self.substeps
        for _ in range(self.substeps):
            k1 = self.deriv(x, u)
            k2 = self.deriv(x + h / 2 * k1, u)
            k3 = self.deriv(x + h / 2 * k2, u)
            k4 = self.deriv(x + h * k3, u)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.x0 * (1 + 0.01 * self.np_random.standard_normal(2))
        self.k = 0
        self.history = []
        return self._obs(), {}

    def _obs(self):
        return np.r_[self.x, self.ref]

    def step(self, action):
        u = float(np.clip(action[0], 295.0, 305.0))
        self.x = self.rk4(self.x, u)
        if self.noise:
            self.x[1] += 0.05 * self.np_random.normal()
        self.k += 1
        err = (self.x - self.ref) / self.ref
        cost = float(err @ err)
        self.history.append(cost)
        runaway = bool(self.x[1] > 450)
        info = {"cost": cost, "mean_cost": float(np.mean(self.history)), "phase": "heat" if u > 300 else "cool"}
        if runaway:
            info["reason"] = "runaway"
        return self._obs(), -cost - 10 * runaway, runaway, self.k >= 100, info
