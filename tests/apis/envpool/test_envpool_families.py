"""Programs for EnvPool's grids, levels, suite and hands print the same on EnvPool and on ours.

They print kinds, shapes and dtypes, and the values that both must have: numbers of steps, time
limits, Procgen's levels. Other values differ, because ours are those of minigrid, dm_control and
Gymnasium-Robotics, and EnvPool draws levels and initial states of its own.
"""

from __future__ import annotations

import importlib.util

import pytest

from tests.support.envpool_cases import run
from tests.support.sampling import sampled

# Prints what a program gets: names, shapes, dtypes, and the values of all but arrays and spaces.
SHOW = """
def show(name, value):
    if hasattr(value, "spaces"):
        value = dict(value.spaces)
    if isinstance(value, dict):
        for key in sorted(value):
            show(f"{name}.{key}", value[key])
    elif hasattr(value, "sample"):
        print(name, type(value).__name__, value.shape, value.dtype)
    elif hasattr(value, "dtype"):
        print(name, tuple(value.shape), value.dtype)
    else:
        print(name, value)
"""

# A synchronous loop, with resets and steps of some environments.
GRID = """
import envpool
import numpy as np

env = envpool.make_gymnasium("MiniGrid-DoorKey-5x5-v0", num_envs=4, seed=1, max_episode_steps=9)
for name in ("num_envs", "batch_size", "seed", "max_episode_steps", "size"):
    show(name, env.config[name])
show("is_async", env.is_async)
show("envs", [len(env), env.all_env_ids.tolist()])
show("space", env.observation_space)
show("action", env.action_space)
obs, info = env.reset()
show("obs", obs)
show("info", info)
for _ in range(12):
    act = np.zeros(4, dtype=int)
    obs, rew, term, trunc, info = env.step(act)
    print(info["elapsed_step"], trunc, term, rew)
show("step", dict(obs=obs, rew=rew, term=term, trunc=trunc, info=info))
some = np.array([1, 3])
obs, info = env.reset(some)
show("some", obs["image"])
obs, rew, term, trunc, info = env.step(np.array([0, 1]), some)
show("one more", rew)
print(info["env_id"], info["elapsed_step"])
"""

# The asynchronous loop of EnvPool's guide. No step of an environment is lost or doubled.
LEVELS = """
import envpool
import numpy as np

options = {"num_levels": 9, "gym_reset_return_info": True}
env = envpool.make(
    "CoinrunEasy-v0", env_type="gym", num_envs=4, batch_size=2, num_threads=2, seed=3, **options
)
for name in ("num_envs", "batch_size", "num_threads", "num_levels", "start_level"):
    show(name, env.config[name])
show("is_async", env.is_async)
show("space", env.observation_space)
show("actions", env.action_space.n)
env.async_reset()
first = [env.recv()[4] for _ in range(2)]
for info in first:
    env.send(np.full(2, 4), info["env_id"])
levels = {}
for info in first:
    levels.update(zip(info["env_id"].tolist(), info["level_seed"].tolist()))
print(sorted(levels.items()))
steps = np.zeros(4, int)
for _ in range(40):
    obs, rew, term, trunc, info = env.recv()
    steps[info["env_id"]] = info["elapsed_step"]
    env.send(np.full(2, 4), info["env_id"])
print(steps.sum())
show("step", dict(obs=obs, rew=rew, term=term, trunc=trunc, info=info))
"""

# A spec first, then a pool that receives the first to finish, then one of dm_env's time steps.
SUITE = """
import envpool
import numpy as np

spec = envpool.make_spec("CheetahRun-v1", num_envs=5, max_episode_steps=6)
show("config", [spec.config.num_envs, spec.config.max_episode_steps, spec.config.frame_skip])
show("space", spec.observation_space)
show("action", spec.action_space)
for name in ("reward", "done", "elapsed_step", "obs:position", "obs:velocity"):
    show(name, spec.state_array_spec[name])
show("names", sorted(spec.action_array_spec))
env = envpool.make("CheetahRun-v1", "gymnasium", num_envs=5, batch_size=3, max_episode_steps=6)
low, high = env.action_space.low, env.action_space.high
env.async_reset()
seen = set()
for _ in range(40):
    obs, rew, term, trunc, info = env.recv()
    assert (trunc == (info["elapsed_step"] == 6)).all() and not term.any()
    seen |= set(info["elapsed_step"].tolist())
    env.send(np.random.uniform(low, high, size=(3, 6)), info["env_id"])
show("step", dict(obs=obs, rew=rew, term=term, trunc=trunc, info=info))
print(sorted(seen))

env = envpool.make_dm("CheetahRun-v1", num_envs=2, seed=1, max_episode_steps=6)
show("actions", env.action_spec())
step = env.reset()
while not step.last()[0]:
    step = env.step(np.zeros((2, 6)))
    show("step type", step.step_type.tolist())
show("reward", step.reward)
show("discount", step.discount)
show("position", step.observation.position)
"""

# Goals: observations are dicts, of which a replay buffer takes the goals.
HAND = """
import envpool
import numpy as np

options = {"reward_type": "dense", "max_episode_steps": 4}
env = envpool.make("HandReach-v0", env_type="gymnasium", num_envs=3, seed=2, **options)
for name in ("num_envs", "max_episode_steps", "reward_type", "distance_threshold", "frame_skip"):
    show(name, env.config[name])
show("spec", env.spec.config.max_episode_steps)
show("space", env.observation_space)
show("action", env.action_space)
obs, info = env.reset()
buffer = np.zeros((6, 3, 15), obs["achieved_goal"].dtype)
for i in range(6):
    buffer[i] = obs["achieved_goal"] - obs["desired_goal"]
    action = np.zeros((3, *env.action_space.shape), env.action_space.dtype)
    obs, rew, term, trunc, info = env.step(action)
    print(info["elapsed_step"], term, trunc)
show("step", dict(obs=obs, rew=rew, term=term, trunc=trunc, info=info))
assert (rew < 0).all() and np.isfinite(buffer).all()

env = envpool.make_gymnasium("HandReach-v0", num_envs=4, batch_size=2)
env.async_reset()
for _ in range(6):
    obs, rew, term, trunc, info = env.recv()
    env.send(np.zeros((2, 20)), info["env_id"])
show("received", dict(obs=obs, rew=rew, term=term, trunc=trunc))
"""

# What each program needs besides EnvPool or ours.
PROGRAMS = {
    "grid": (GRID, ()),
    "levels": (LEVELS, ("procgen",)),
    "suite": (SUITE, ("mujoco", "dm_control")),
    "hand": (HAND, ("mujoco", "gymnasium_robotics")),
}
# Some lines that ours print, wherever EnvPool is not installed.
PRINTED = {
    "grid": (
        *("envs [4, [0, 1, 2, 3]]", "action Discrete () int64", "some (2, 7, 7, 3) uint8"),
        *("step.rew (4,) float32", "step.trunc (4,) bool", "[1 3] [1 1]"),
    ),
    "levels": (
        *("space Box (3, 64, 64) uint8", "step.obs (2, 3, 64, 64) uint8", "80", "actions () int64"),
        *("[(0, 5), (1, 4), (2, 3), (3, 8)]", "step.info.prev_level_complete (2,) int32"),
    ),
    "suite": (
        *("config [5, 6, 1]", "action Box (6,) float64", "step.obs.velocity (3, 9) float64"),
        *("[0, 1, 2, 3, 4, 5, 6]", "step type [2, 2]", "position (2, 8) float64"),
    ),
    "hand": (
        *("reward_type dense", "action Box (20,) float32"),
        "[4 4 4] [False False False] [ True  True  True]",
        *("step.obs.desired_goal (3, 15) float64", "received.obs.observation (2, 63) float64"),
    ),
}
# What EnvPool prints and ours do not, and the other way round: the pages of the families say so. A
# mission is a number here, and a direction has minigrid's dtype.
EXPECTED = {
    "grid": (
        {
            *("space.mission Box (96,) uint8", "obs.mission (4, 96) uint8"),
            *("step.obs.mission (4, 96) uint8", "info.agent_pos (4, 2) int32"),
            *("info.mission_id (4,) int32", "step.info.agent_pos (4, 2) int32"),
            *("step.info.mission_id (4,) int32", "obs.direction (4,) int32"),
            "step.obs.direction (4,) int32",
        },
        {
            *("space.mission Box () int32", "obs.mission (4,) int32"),
            *("step.obs.mission (4,) int32", "obs.direction (4,) int64"),
            "step.obs.direction (4,) int64",
        },
    ),
    "levels": (set(), set()),
    "suite": (set(), set()),
    "hand": (
        {"step.info.distance (3,) float64", "step.info.is_success (3,) float64"},
        {"step.info.is_success (3,) float32"},
    ),
}


def printed(name: str, package: str) -> list[str]:
    """Returns the lines that a program prints with a package in EnvPool's place."""
    program, needed = PROGRAMS[name]
    for each in needed:
        if importlib.util.find_spec(each) is None:
            pytest.skip(f"needs {each}")
    change = "import envpool" if package == "envpool" else f"import {package} as envpool"
    return run(SHOW + program.replace("import envpool", change, 1)).splitlines()


@pytest.mark.parametrize("name", sampled(PROGRAMS, {"grid"}))
def test_a_program_runs_on_ours(name: str) -> None:
    lines = printed(name, "parallel_pool.compat.envpool")
    assert [line for line in (*PRINTED[name], *EXPECTED[name][1]) if line not in lines] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_prints_what_it_prints_on_envpool(name: str) -> None:
    if importlib.util.find_spec("envpool") is None:
        pytest.skip("EnvPool is in the dependency group bench")
    theirs, ours = printed(name, "envpool"), printed(name, "parallel_pool.compat.envpool")
    only_theirs, only_ours = EXPECTED[name]
    assert set(theirs) - set(ours) == only_theirs
    assert set(ours) - set(theirs) == only_ours
    # and in the same order
    assert [x for x in theirs if x not in only_theirs] == [x for x in ours if x not in only_ours]
