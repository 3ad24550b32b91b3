import gymnasium as gym
import numpy as np
from gymnasium import spaces

APPROACHES = ["north", "east", "south", "west"]
PHASES = [("north", "south"), ("east", "west")]
DEFAULT_RATES = {"north": 0.3, "east": 0.2, "south": 0.3, "west": 0.15}


class TrafficLightEnv(gym.Env):
    """
    A crossing of two streets. The agent either keeps the current phase (0) or asks
    for the other one (1). A switch costs `yellow` seconds in which nobody drives.

    Options of reset:
        rates   dict of approach -> cars per second
        queues  dict of approach -> cars which already wait
    """

    metadata = {"render_modes": ["ansi"]}

    def __init__(self, max_queue=40, yellow=3, min_green=5, rates=None, render_mode=None):
        self.max_queue = max_queue
        self.yellow = yellow
        self.min_green = min_green
        self.base_rates = dict(DEFAULT_RATES)
        if rates:
            self.base_rates.update(rates)
        self.render_mode = render_mode

        self.action_space = spaces.Discrete(2)
        # queue of each approach, phase, seconds of yellow left, seconds since the last switch
        self.observation_space = spaces.Box(
            low=np.zeros(7, dtype=np.float32),
            high=np.array([max_queue] * 4 + [1, yellow, np.inf], dtype=np.float32),
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        options = options or {}

        self.rates = {**self.base_rates, **options.get("rates", {})}
        unknown = set(self.rates) - set(APPROACHES)
        if unknown:
            raise ValueError(f"no such approaches: {sorted(unknown)}, expected {APPROACHES}")

        if "queues" in options:
            self.queues = {a: int(options["queues"].get(a, 0)) for a in APPROACHES}
        else:
            self.queues = {a: int(self.np_random.integers(0, 5)) for a in APPROACHES}

        self.phase = 0
        self.yellow_left = 0
        self.since_switch = 0
        self.waited = 0
        self.passed = 0
        return self._get_obs(), self._get_info()

    def _get_obs(self):
        q = [self.queues[a] for a in APPROACHES]
        return np.array(q + [self.phase, self.yellow_left, self.since_switch], dtype=np.float32)

    def _get_info(self):
        return {"passed": self.passed, "waited": self.waited, **self.queues}

    def _discharge(self, approach):
        """Saturation flow: a car every two seconds, the first one needs longer."""
        if self.queues[approach] == 0:
            return 0
        p = 0.2 if self.since_switch < 2 else 0.5
        if self.np_random.random() < p:
            self.queues[approach] -= 1
            return 1
        return 0

    def step(self, action):
        assert action in (0, 1), f"action must be 0 (keep) or 1 (switch), got {action}"
        switched = False

        if self.yellow_left > 0:
            self.yellow_left -= 1
            if self.yellow_left == 0:
                self.phase = 1 - self.phase
                self.since_switch = 0
        elif action == 1 and self.since_switch >= self.min_green:
            self.yellow_left = self.yellow
            switched = True

        moved = 0
        if self.yellow_left == 0:
            for approach in PHASES[self.phase]:
                moved += self._discharge(approach)
            self.since_switch += 1

        for approach, rate in self.rates.items():
            self.queues[approach] += self.np_random.poisson(rate)

        total = sum(self.queues.values())
        self.passed += moved
        self.waited += total

        overflow = any(n > self.max_queue for n in self.queues.values())
        for a in APPROACHES:
            self.queues[a] = min(self.queues[a], self.max_queue)

        reward = moved - 0.05 * total - (0.5 if switched else 0.0)
        if overflow:
            reward -= 50
        return self._get_obs(), reward, overflow, False, self._get_info()

    def render(self):
        if self.render_mode != "ansi":
            return None
        state = "yellow" if self.yellow_left else "/".join(PHASES[self.phase])
        lines = ["green: %s" % state]
        for a in APPROACHES:
            lines.append("%-6s %s" % (a, "#" * self.queues[a]))
        return "\n".join(lines) + "\n"
