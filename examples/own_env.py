"""An environment of your own in C: compiles own_env.c, and plays 1,000 games at once by bisection.

Run: python examples/own_env.py (needs a C compiler)
"""

from pathlib import Path

import numpy as np
from gymnasium.vector import AutoresetMode

import parallel_pool

(task_id,) = parallel_pool.load_source(Path(__file__).with_name("own_env.c"))
envs = parallel_pool.make_vec(task_id, 1000, autoreset_mode=AutoresetMode.SAME_STEP)
envs.reset(seed=0)
low, high = np.zeros(1000, int), np.full(1000, 15)
games = guesses = 0
for _ in range(100):
    guess = (low + high) // 2
    hints, rewards, terminated, truncated, infos = envs.step(guess)
    guesses += len(guess)
    games += terminated.sum()
    low = np.where(hints[:, 0] > 0, guess + 1, low)
    high = np.where(hints[:, 0] < 0, guess - 1, high)
    # a game that ended has been followed by the next one
    low[terminated], high[terminated] = 0, 15
envs.close()
print(f"{task_id}: {games} games, {guesses / games:.1f} guesses for each")
