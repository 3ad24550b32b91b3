"""Rock, paper, scissors, where the last move may not be repeated."""

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

ROCK, PAPER, SCISSORS, NONE = 0, 1, 2, 3


class MaskedRPS(ParallelEnv):
    metadata = {"name": "masked_rps_v0"}

    def __init__(self, rounds=12):
        self.rounds = rounds
        self.possible_agents = ["player_" + str(r) for r in range(2)]
        self._action_spaces = {agent: spaces.Discrete(3) for agent in self.possible_agents}
        self._observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Discrete(4),
                    "action_mask": spaces.Box(0, 1, (3,), np.int8),
                }
            )
            for agent in self.possible_agents
        }

    def observation_space(self, agent):
        return self._observation_spaces[agent]

    def action_space(self, agent):
        return self._action_spaces[agent]

    def reset(self, *, seed=None, options=None):
        self.agents = self.possible_agents.copy()
        self.state = {agent: NONE for agent in self.agents}
        self.num_moves = 0
        return self._observations(), {agent: {} for agent in self.agents}

    def _observations(self):
        found = {}
        for i, agent in enumerate(self.agents):
            mask = np.ones(3, dtype=np.int8)
            if self.state[agent] != NONE:
                mask[self.state[agent]] = 0
            found[agent] = {
                "observation": int(self.state[self.agents[1 - i]]),
                "action_mask": mask,
            }
        return found

    def step(self, actions):
        if not actions:
            self.agents = []
            return {}, {}, {}, {}, {}

        rewards = {agent: 0.0 for agent in self.agents}
        illegal = [agent for agent in self.agents if actions[agent] == self.state[agent]]
        if illegal:
            for agent in illegal:
                rewards[agent] = -1.0
            for agent in self.agents:
                if agent not in illegal:
                    rewards[agent] = 1.0
        else:
            first, second = actions[self.agents[0]], actions[self.agents[1]]
            outcome = (first - second) % 3
            if outcome == 1:
                rewards[self.agents[0]], rewards[self.agents[1]] = 1.0, -1.0
            elif outcome == 2:
                rewards[self.agents[0]], rewards[self.agents[1]] = -1.0, 1.0
        terminations = {agent: len(illegal) > 0 for agent in self.agents}
        self.num_moves += 1
        truncations = {agent: self.num_moves >= self.rounds for agent in self.agents}
        for i in self.agents:
            self.state[i] = int(actions[i])
        observations = self._observations()
        infos = {agent: {} for agent in self.agents}
        if any(terminations.values()) or all(truncations.values()):
            self.agents = []
        return observations, rewards, terminations, truncations, infos
