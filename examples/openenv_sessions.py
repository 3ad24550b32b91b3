"""OpenEnv: a server of eight sessions, and a pool whose environments are these sessions.

Run: python examples/openenv_sessions.py (needs pip install 'parallel_pool[openenv]')

The server may run on another machine, and be anybody's: clients know only its address and token.
"""

import re
import subprocess
import sys
from functools import partial

import numpy as np

from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.openenv import OpenEnvEnv

SESSIONS, STEPS = 8, 600


def main() -> None:
    command = [sys.executable, "-m", "parallel_pool", "serve", "CartPole-v1", "--port", "0"]
    command += ["--sessions", str(SESSIONS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r"at (\S+)  token (\S+)", line)
        assert found, line
        url, token = found.groups()
        envs = PoolVectorEnv([partial(OpenEnvEnv, url, token=token)] * SESSIONS, num_workers=2)
        observations, _ = envs.reset(seed=0)
        episodes = 0
        for _ in range(STEPS):
            # push the cart to where the pole falls
            actions = (observations[:, 2] + observations[:, 3] > 0).astype(np.int64)
            observations, _, terminated, truncated, _ = envs.step(actions)
            episodes += int((terminated | truncated).sum())
        print(f"{STEPS * SESSIONS} steps of {SESSIONS} sessions: {episodes} episodes")
        envs.close()
        server.terminate()


# worker processes import this file, too
if __name__ == "__main__":
    main()
