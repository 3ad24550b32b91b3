"""Planar drone with two rotors that should hover at a set point."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


@dataclass
class DroneParams:
    mass: float = 0.5
    arm: float = 0.15
    inertia: float = 0.004
    max_thrust: float = 5.0
    drag: float = 0.1
    g: float = 9.81

    @property
    def hover_thrust(self) -> float:
        return self.mass * self.g / 2


@dataclass
class DroneState:
    x: float = 0.0
    z: float = 0.0
    theta: float = 0.0
    vx: float = 0.0
    vz: float = 0.0
    omega: float = 0.0
    rotors: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))

    def as_array(self) -> NDArray[np.float64]:
        return np.array(astuple(self)[:6])


class DroneHoverEnv(gym.Env):
    metadata: ClassVar[dict] = {"render_modes": ["rgb_array"], "render_fps": 50}

    DT: ClassVar[float] = 0.02
    SUBSTEPS: ClassVar[int] = 4
    ARENA: ClassVar[float] = 3.0

    def __init__(
        self,
        target: tuple[float, float] = (0.0, 1.0),
        rotor_lag: float = 0.05,
        gust_std: float = 0.2,
        max_steps: int = 500,
        params: DroneParams | None = None,
        render_mode: str | None = None,
    ):
        self.target = np.asarray(target, dtype=np.float64)
        self.rotor_lag = rotor_lag
        self.gust_std = gust_std
        self.max_steps = max_steps
        self.params = params if params is not None else DroneParams()
        self.render_mode = render_mode
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.observation_space = spaces.Box(-np.inf, np.inf, (9,), np.float32)
        self.state = DroneState()
        self.gust = np.zeros(2)
        self.n_steps = 0

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        super().reset(seed=seed)
        if options and "state" in options:
            self.state = DroneState(*options["state"])
        else:
            spread = np.array([0.5, 0.5, 0.2, 0.3, 0.3, 0.5])
            x, z, theta, vx, vz, omega = self.np_random.uniform(-spread, spread)
            self.state = DroneState(x, self.target[1] + z, theta, vx, vz, omega)
        self.state.rotors = np.full(2, self.params.hover_thrust)
        self.gust = np.zeros(2)
        self.n_steps = 0
        return self._get_obs(), self._get_info()

    def step(self, action: NDArray[np.float32]):
        assert np.shape(action) == (2,), f"expected two rotor commands, got {action}"
        command = (np.clip(action, -1, 1).astype(np.float64) + 1) / 2 * self.params.max_thrust
        self.gust = 0.98 * self.gust + self.np_random.normal(size=2) * self.gust_std * self.DT
        for _ in range(self.SUBSTEPS):
            self._integrate(command, self.DT / self.SUBSTEPS)
        self.n_steps += 1

        s = self.state
        effort = np.square(action).sum()
        reward = np.exp(-2.0 * self.distance) - 0.05 * abs(s.omega) - 0.01 * effort
        crashed = s.z < 0 or abs(s.x) > self.ARENA or s.z > self.ARENA or abs(s.theta) > np.pi / 2
        if crashed:
            reward -= 10
        truncated = self.n_steps >= self.max_steps
        return self._get_obs(), float(reward), bool(crashed), truncated, self._get_info()

    def _integrate(self, command: NDArray[np.float64], dt: float) -> None:
        s, p = self.state, self.params
        s.rotors += (command - s.rotors) * min(dt / self.rotor_lag, 1.0)
        left, right = s.rotors
        body_up = np.array([-np.sin(s.theta), np.cos(s.theta)])
        velocity = np.array([s.vx, s.vz])
        force = (left + right) * body_up - p.drag * velocity + self.gust
        acc = force / p.mass - np.array([0.0, p.g])
        s.vx, s.vz = velocity + acc * dt
        s.omega += (right - left) * p.arm / p.inertia * dt
        s.x += s.vx * dt
        s.z += s.vz * dt
        s.theta += s.omega * dt

    @property
    def distance(self) -> float:
        return float(np.hypot(*(self.target - (self.state.x, self.state.z))))

    def _get_obs(self) -> NDArray[np.float32]:
        x, z, theta, vx, vz, omega = self.state.as_array()
        ex, ez = self.target - np.array([x, z])
        attitude = (np.sin(theta), np.cos(theta))
        obs = np.r_[ex, ez, attitude, vx, vz, omega, self.state.rotors / self.params.max_thrust]
        return obs.astype(np.float32)

    def _get_info(self) -> dict[str, float]:
        return {"distance": self.distance, "tilt": abs(self.state.theta), "gust_x": self.gust[0]}

    def render(self) -> NDArray[np.uint8] | None:
        if self.render_mode != "rgb_array":
            return None
        n = 120
        img = np.full((n, n, 3), 240, dtype=np.uint8)
        c, s = np.cos(self.state.theta), np.sin(self.state.theta)
        for t in np.linspace(-1, 1, 25):
            px = self.state.x + t * 2 * self.params.arm * c
            pz = self.state.z + t * 2 * self.params.arm * s
            col = int((px + self.ARENA) / (2 * self.ARENA) * (n - 1))
            row = n - 1 - int(pz / self.ARENA * (n - 1))
            if 0 <= row < n and 0 <= col < n:
                img[row, col] = (0, 0, 120)
        return img
