"""PettingZoo's env(): one game of Connect Four in turns, by moves drawn from the legal ones.

Run: python examples/pettingzoo_game.py (needs pip install 'parallel_pool[pettingzoo]')
"""

import numpy as np

from parallel_pool.compat.pettingzoo import env

random = np.random.default_rng(0)
game = env("classic/connect_four_v3")
game.reset(seed=0)
moves, returns = [], dict.fromkeys(game.possible_agents, 0)
for agent in game.agent_iter():
    observation, reward, terminated, truncated, _ = game.last()
    returns[agent] += reward
    if terminated or truncated:
        game.step(None)
    else:
        moves.append(int(random.choice(np.flatnonzero(observation["action_mask"]))))
        game.step(moves[-1])
print(f"columns: {' '.join(map(str, moves))}")
print(f"after {len(moves)} moves {max(returns, key=returns.get)} has won: {returns}")
game.close()
