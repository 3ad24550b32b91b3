"""Routes packets through a small network."""
import heapq
import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Router(gym.Env):
    EDGES = [(0, 1, 2), (0, 2, 5), (1, 2, 1), (1, 3, 7), (2, 3, 2), (3, 4, 1), (2, 4, 9)]

    def __init__(self, n=5, ttl=30):
        self.n, self.ttl = n, ttl
        self.graph = {i: [] for i in range(n)}
        for a, b, w in self.EDGES:
            self.graph[a].append((b, w))
            self.graph[b].append((a, w))
        self.max_deg = max(len(v) for v in self.graph.values())
        self.action_space = spaces.Discrete(self.max_deg)
        self.observation_space = spaces.MultiDiscrete([n, n, ttl + 1])

    def shortest(self, src, dst):
        dist = {i: float("inf") for i in range(self.n)}
        dist[src] = 0.0
        heap = [(0.0, src)]
        while heap:
            d, u = heapq.heappop(heap)
            if u == dst:
                return d
            if d > dist[u]:
                continue
            for v, w in self.graph[u]:
                nd = d + w * (1 + 0.1 * self.load[u, v])
                if nd < dist[v]:
                    dist[v] = nd
                    heapq.heappush(heap, (nd, v))
        return float("inf")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.load = self.np_random.integers(0, 5, size=(self.n, self.n))
        self.at, self.dst = (int(v) for v in self.np_random.choice(self.n, size=2, replace=False))
        self.left = self.ttl
        self.path = [self.at]
        return self._obs(), {"best": self.shortest(self.at, self.dst)}

    def _obs(self):
        return np.array([self.at, self.dst, self.left])

    def step(self, action):
        neighbours = self.graph[self.at]
        info = {"best": self.shortest(self.at, self.dst), "hops": len(self.path), "dropped": False}
        self.left -= 1
        if action >= len(neighbours):
            return self._obs(), -1.0, False, self.left <= 0, info
        nxt, w = neighbours[action]
        reward = -w * (1 + 0.1 * self.load[self.at, nxt]) / 10
        self.load[self.at, nxt] += 1
        self.at = nxt
        self.path.append(nxt)
        terminated = self.at == self.dst
        if terminated:
            reward += 1.0
        elif self.left <= 0:
            info["dropped"] = True
        return self._obs(), reward, terminated, self.left <= 0, info
