"""A coffee machine that serves a queue of customers."""
from collections import Counter, deque
import gymnasium as gym
import numpy as np
from gymnasium import spaces

DRINKS = {"espresso": (20, 2.0), "latte": (35, 3.5), "tea": (10, 1.5)}


class CoffeeShop(gym.Env):
    metadata = {"render_modes": ["ansi"]}

    def __init__(self, max_queue: int = 6, shift: int = 120, render_mode=None):
        self.max_queue = max_queue
        self.shift = shift
        self.render_mode = render_mode
        self.names = list(DRINKS)
        self.action_space = spaces.Discrete(len(DRINKS) + 1)
        self.observation_space = spaces.Dict(
            {
                "queue": spaces.MultiDiscrete([len(DRINKS) + 1] * max_queue),
                "busy": spaces.Box(0, 40, (1,), np.float32),
                "clock": spaces.Discrete(shift + 1),
            }
        )

    def _obs(self):
        queue = np.zeros(self.max_queue, dtype=np.int64)
        for i, c in enumerate(self.queue):
            queue[i] = self.names.index(c["drink"]) + 1
        return {"queue": queue, "busy": np.array([self.busy], dtype=np.float32), "clock": self.clock}

    def _info(self):
        return {"served": sum(self.sold.values()), "favourite": self.sold.most_common(1)[0][0] if self.sold else "none",
                "waiting": len(self.queue)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.queue = deque(maxlen=self.max_queue)
        self.sold = Counter()
        self.busy = 0
        self.clock = 0
        self.patience = 0.0
        return self._obs(), self._info()

    def step(self, action):
        reward = 0.0
        self.clock += 1
        if self.busy > 0:
            self.busy -= 1
        elif action > 0 and self.queue:
            wanted = self.queue[0]["drink"]
            made = self.names[action - 1]
            seconds, price = DRINKS[made]
            self.busy = seconds // 5
            if made == wanted:
                customer = self.queue.popleft()
                reward += price * max(0.2, 1 - 0.05 * (self.clock - customer["came"]))
                self.sold[made] += 1
            else:
                reward -= 1.0
        if self.np_random.random() < 0.3 and len(self.queue) < self.max_queue:
            drink = self.np_random.choice(self.names, p=[0.5, 0.3, 0.2])
            self.queue.append({"drink": str(drink), "came": self.clock})
        lost = [c for c in self.queue if self.clock - c["came"] > 25]
        for c in lost:
            self.queue.remove(c)
            reward -= 0.5
        truncated = self.clock >= self.shift
        return self._obs(), reward, False, truncated, self._info()
