import math

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import register

STEP_MINUTES = 5
STEPS_PER_DAY = 24 * 60 // STEP_MINUTES
HEAT_CAPACITY = 2.0  # kWh / K, per room
WALL_LOSS = 0.08  # kW / K to the outside
DOOR_LOSS = 0.15  # kW / K to the next room
HEATER_KW = 3.0


class ThermostatEnv(gym.Env):
    """Heat a row of rooms. Power is cheap by night; people care about comfort by day."""

    def __init__(self, n_rooms=3, comfort=21.0, outside_mean=4.0, comfort_weight=0.5):
        self.n_rooms = n_rooms
        self.comfort = comfort
        self.outside_mean = outside_mean
        self.comfort_weight = comfort_weight

        self.action_space = gym.spaces.Box(0.0, 1.0, shape=(n_rooms,), dtype=np.float32)
        self.observation_space = gym.spaces.Box(
            low=np.array([-40.0] * n_rooms + [-40.0, -1.0, -1.0, 0.0]),
            high=np.array([60.0] * n_rooms + [60.0, 1.0, 1.0, 1.0]),
            dtype=np.float64,
        )

    def hour(self):
        return (self.t % STEPS_PER_DAY) * STEP_MINUTES / 60

    def tariff(self):
        return 0.35 if 7 <= self.hour() < 22 else 0.18

    def occupied(self):
        h = self.hour()
        return h >= 17 or 6 <= h < 9

    def outside(self):
        daily = 5.0 * math.sin(2 * math.pi * (self.hour() - 9) / 24)
        return self.outside_mean + daily + self.weather

    def obs(self):
        phase = 2 * math.pi * self.hour() / 24
        return np.concatenate(
            [
                self.temps,
                [self.outside(), math.sin(phase), math.cos(phase), float(self.occupied())],
            ]
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = int(self.np_random.integers(STEPS_PER_DAY))
        self.weather = self.np_random.normal(0, 3)
        self.temps = self.np_random.uniform(15, 22, size=self.n_rooms)
        self.energy = 0.0
        self.bill = 0.0
        return self.obs(), {"energy": 0.0, "bill": 0.0}

    def step(self, action):
        power = HEATER_KW * np.clip(action, 0, 1)
        dt = STEP_MINUTES / 60

        flow = power - WALL_LOSS * (self.temps - self.outside())
        flow[:-1] += DOOR_LOSS * np.diff(self.temps)
        flow[1:] -= DOOR_LOSS * np.diff(self.temps)
        if self.occupied():
            flow += 0.1
        self.temps = self.temps + flow * dt / HEAT_CAPACITY
        self.temps = np.clip(self.temps, -40, 60)

        used = float(power.sum()) * dt
        cost = used * self.tariff()
        self.energy += used
        self.bill += cost

        discomfort = 0.0
        if self.occupied():
            discomfort = np.mean(np.abs(self.temps - self.comfort))

        self.weather += -0.01 * self.weather + self.np_random.normal(0, 0.15)
        self.weather = max(-15, min(15, self.weather))
        self.t += 1

        reward = -cost - self.comfort_weight * discomfort
        terminated = bool(np.any(self.temps > 45) or np.any(self.temps < 0))
        if terminated:
            reward -= 100
        info = {"energy": self.energy, "bill": self.bill, "discomfort": discomfort}
        return self.obs(), reward, terminated, False, info


register(
    id="Thermostat-v0",
    entry_point="thermostat:ThermostatEnv",
    max_episode_steps=STEPS_PER_DAY,
)
