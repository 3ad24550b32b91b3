# A moon lander without Box2D: a rigid body, three thrusters, flat pad, rough ground.
import math

import gymnasium as gym
import numpy as np
from gymnasium import spaces

FPS = 30
GRAVITY = -1.62
MAIN_POWER = 4.5
SIDE_POWER = 0.6
SIDE_TORQUE = 1.8
LEG_SPREAD = 0.5
LEG_HEIGHT = 0.4
WORLD_W = 20.0
WORLD_H = 13.0
PAD_HALF = 2.0
N_CHUNKS = 11


class SimpleLander(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": FPS}

    def __init__(self, render_mode=None, fuel=300, wind_power=0.0):
        self.render_mode = render_mode
        self.start_fuel = fuel
        self.wind_power = wind_power

        high = np.array([1.5, 1.5, 5.0, 5.0, 4 * math.pi, 8.0, 1.0, 1.0, 1.0], dtype=np.float32)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        # main engine, left thruster, right thruster, each on or off
        self.action_space = spaces.MultiBinary(3)

    def _make_terrain(self):
        heights = self.np_random.uniform(0.0, WORLD_H / 5, size=N_CHUNKS)
        mid = N_CHUNKS // 2
        heights[mid - 1 : mid + 2] = 1.0
        self.chunk_x = np.linspace(-WORLD_W / 2, WORLD_W / 2, N_CHUNKS)
        self.chunk_y = heights

    def _ground(self, x):
        return float(np.interp(x, self.chunk_x, self.chunk_y))

    def _leg(self, side):
        c, s = math.cos(self.angle), math.sin(self.angle)
        dx, dy = side * LEG_SPREAD, -LEG_HEIGHT
        return self.x + c * dx - s * dy, self.y + s * dx + c * dy

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._make_terrain()
        self.x = self.np_random.uniform(-3, 3)
        self.y = WORLD_H * 0.9
        self.vx, self.vy = self.np_random.normal(0.0, 0.7, size=2)
        self.angle = self.np_random.normal(scale=0.1)
        self.omega = 0.0
        self.fuel = self.start_fuel
        self.contact = [False, False]
        self.wind_idx = int(self.np_random.integers(-9999, 9999))
        obs = self._obs()
        self.prev_shaping = self._shaping(obs)
        return obs, {"fuel": self.fuel}

    def _obs(self):
        obs = [
            self.x / (WORLD_W / 2),
            (self.y - self.chunk_y[N_CHUNKS // 2]) / WORLD_H,
            self.vx / 3,
            self.vy / 3,
            self.angle,
            self.omega,
            1.0 if self.contact[0] else 0.0,
            1.0 if self.contact[1] else 0.0,
            self.fuel / self.start_fuel,
        ]
        space = self.observation_space
        return np.clip(np.array(obs, dtype=np.float32), space.low, space.high)

    def _shaping(self, s):
        return (
            -100 * math.hypot(s[0], s[1])
            - 100 * math.hypot(s[2], s[3])
            - 100 * abs(s[4])
            + 10 * s[6]
            + 10 * s[7]
        )

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        dt = 1.0 / FPS
        main, left, right = (bool(a) and self.fuel > 0 for a in action)

        ax, ay, alpha = 0.0, GRAVITY, 0.0
        if main:
            power = MAIN_POWER * (1 + 0.05 * self.np_random.standard_normal())
            ax += -math.sin(self.angle) * power
            ay += math.cos(self.angle) * power
        for on, side in ((left, 1), (right, -1)):
            if on:
                ax += side * math.cos(self.angle) * SIDE_POWER
                ay += side * math.sin(self.angle) * SIDE_POWER
                alpha -= side * SIDE_TORQUE
        if self.wind_power > 0 and not any(self.contact):
            gust = math.sin(0.02 * self.wind_idx) + math.sin(0.01 * math.pi * self.wind_idx)
            ax += math.tanh(gust) * self.wind_power
            self.wind_idx += 1

        self.vx += ax * dt
        self.vy += ay * dt
        self.omega += alpha * dt
        self.x += self.vx * dt
        self.y += self.vy * dt
        self.angle += self.omega * dt
        self.fuel = max(self.fuel - main - (left + right) * 0.1, 0)

        crashed = abs(self.x) >= WORLD_W / 2 or self.y > 1.4 * WORLD_H
        speed = math.hypot(self.vx, self.vy)
        for i, side in enumerate((-1, 1)):
            lx, ly = self._leg(side)
            depth = self._ground(lx) - ly
            self.contact[i] = depth >= 0
            if self.contact[i]:
                crashed |= speed > 2.0 or abs(self.angle) > 0.6
                self.y += depth
                self.vy = max(self.vy, 0.0)
                self.vx *= 0.7
                self.omega = 0.5 * self.omega - 2.0 * self.angle * dt
        landed = all(self.contact) and speed < 0.3 and abs(self.x) < PAD_HALF

        obs = self._obs()
        shaping = self._shaping(obs)
        reward = shaping - self.prev_shaping - 0.3 * main - 0.03 * (left + right)
        self.prev_shaping = shaping
        if crashed or landed:
            reward = -100 if crashed else +100
        return obs, float(reward), bool(crashed or landed), False, {"fuel": self.fuel}

    def render(self):
        w, h = 200, 130
        img = np.zeros((h, w, 3), np.uint8)
        for px in range(w):
            top = int(self._ground((px / w - 0.5) * WORLD_W) / WORLD_H * h)
            img[h - top - 1 :, px] = 128
        for px, py in ((self.x, self.y), self._leg(-1), self._leg(1)):
            col = int((px / WORLD_W + 0.5) * w)
            row = h - 1 - int(py / WORLD_H * h)
            if 0 <= row < h and 0 <= col < w:
                img[max(row - 1, 0) : row + 2, max(col - 1, 0) : col + 2] = (230, 200, 90)
        return img
