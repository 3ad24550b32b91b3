"""The scenes on threads: each is a task, its players, and the bars that we set ourselves.

To add a scene, add one entry to `RACES`; the tests run it too.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.scenes import mujoco_bare
from benchmarks.scenes.newest_envpool import newest_envpool
from benchmarks.scenes.procgen_own import procgen_loop
from parallel_pool._bench.contender import Task
from parallel_pool._bench.rivals import (
    ale,
    envpool,
    envpool_api,
    envpool_api_1_thread,
    envpool_api_16,
    gymnasium_api,
    gymnasium_async,
    gymnasium_loop,
    gymnasium_numpy,
    gymnasium_sync,
)
from parallel_pool._bench.scene import Scene
from parallel_pool._bench.tasks import MUJOCO, atari, cart_pole, mujoco

ENVPOOL, NUMPY, ALE, MAKE = envpool.name, gymnasium_numpy.name, ale.name, gymnasium_loop.name
SYNC, ASYNC, FEW = gymnasium_sync.name, gymnasium_async.name, envpool_api_16.name
ONE_THREAD = envpool_api_1_thread.name
# the one whose bits ours equal, and the newest
ENVPOOLS = (envpool, newest_envpool)
# EnvPool 1.2.5 draws Procgen's games with the system's Qt 5
PROCGEN_ENVPOOLS = (replace(envpool, needs="envpool.procgen:ProcgenEnvSpec"), newest_envpool)

BOTH_APIS = (envpool_api, gymnasium_api)


def cart_pole_async(num_envs: int, batch_size: int) -> Scene:
    """Returns a scene that shows what a second thread gains with cheap environments."""
    return Scene(
        name=f"cartpole-async-{num_envs}-{batch_size}",
        title=f"CartPole-v1, {num_envs} envs, batch {batch_size}, 2 threads, async",
        task=cart_pole(num_envs, 2, batch_size),
        ours=(envpool_api,),
        rivals=(envpool_api_1_thread, *ENVPOOLS),
        bars={ONE_THREAD: 1.3},
        notes=(
            "with one thread the caller does not step, so two cores work there too: one does the"
            " steps, the other recv and send",
        ),
    )


WRAPPED = (
    "Gymnasium's Pong has the wrappers AtariPreprocessing and FrameStackObservation, the same frame"
    " skip and no sticky actions"
)


# The version that EnvPool 1.2.5 was built with.
ENVPOOLS_MUJOCO = "3.6.0"


def lunar_lander(num_envs: int, num_threads: int) -> Task:
    """Returns a synchronous LunarLander-v3 task."""
    return Task("LunarLander-v3", num_envs, num_envs, num_threads, 4, max_episode_steps=1000)


def bipedal_walker(num_envs: int, num_threads: int) -> Task:
    """Returns a synchronous BipedalWalker-v3 task."""
    return Task(
        "BipedalWalker-v3",
        *(num_envs, num_envs, num_threads),
        num_actions=0,
        max_episode_steps=1600,
        action_size=4,
    )


def cheetah_run(num_envs: int, num_threads: int) -> Task:
    """Returns a synchronous CheetahRun-v1 task, of dm_control's suite."""
    return Task(
        "CheetahRun-v1",
        *(num_envs, num_envs, num_threads),
        num_actions=0,
        max_episode_steps=1000,
        action_size=6,
    )


def fetch_push(num_envs: int, num_threads: int) -> Task:
    """Returns a synchronous FetchPush-v4 task, of Gymnasium-Robotics."""
    return Task(
        "FetchPush-v4",
        *(num_envs, num_envs, num_threads),
        num_actions=0,
        max_episode_steps=50,
        action_size=4,
    )


def car_racing(num_envs: int, num_threads: int) -> Task:
    """Returns a synchronous CarRacing-v3 task."""
    return Task(
        "CarRacing-v3",
        *(num_envs, num_envs, num_threads),
        num_actions=0,
        max_episode_steps=1000,
        action_size=3,
    )


BARE = (mujoco_bare.bare_per_env, mujoco_bare.bare_per_thread, mujoco_bare.bare_stock)
# By CPU time, as the difference is smaller than the noise of wall time.
BARE_BARS = {who.name: 0.97 for who in BARE[:2]}


def mujoco_races(name: str) -> tuple[Scene, ...]:
    """Returns the scenes of one MuJoCo task."""
    short, title = name.lower(), f"{name}-v5, 32 envs"
    return (
        Scene(
            name=f"{short}-32-16",
            title=f"{title}, batch 16, 2 threads, async, MuJoCo {ENVPOOLS_MUJOCO}",
            task=mujoco(name, 32, 16, 2),
            ours=(envpool_api,),
            rivals=(*ENVPOOLS, *BARE, mujoco_bare.bare_envpool),
            bars={ENVPOOL: 1.35},
            cpu_bars=BARE_BARS,
            conclude=mujoco_bare.gain,
            mujoco=ENVPOOLS_MUJOCO,
        ),
        Scene(
            name=f"{short}-32-16-newest",
            title=f"{title}, batch 16, 2 threads, async, newest MuJoCo",
            task=mujoco(name, 32, 16, 2),
            ours=(envpool_api,),
            rivals=BARE,
            cpu_bars=BARE_BARS,
        ),
        Scene(
            name=f"{short}-32-gymnasium",
            title=f"{title}, 2 threads, sync",
            task=mujoco(name, 32, 32, 2),
            ours=BOTH_APIS,
            rivals=(gymnasium_sync, gymnasium_async),
            bars={SYNC: 2.8, ASYNC: 3},
        ),
        Scene(
            name=f"{short}-32-gymnasium-1-thread",
            title=f"{title}, 1 thread, sync",
            task=mujoco(name, 32, 32, 1),
            ours=BOTH_APIS,
            rivals=(gymnasium_sync,),
            cpu_bars={SYNC: 1.6},
        ),
    )


RACES = (
    Scene(
        name="cartpole-1024",
        title="CartPole-v1, 1024 envs, 2 threads, sync",
        task=cart_pole(1024, 2),
        ours=BOTH_APIS,
        rivals=(*ENVPOOLS, gymnasium_numpy, gymnasium_sync),
        bars={ENVPOOL: 30, NUMPY: 3},
    ),
    Scene(
        name="cartpole-1024-1-thread",
        title="CartPole-v1, 1024 envs, 1 thread, sync",
        task=cart_pole(1024, 1),
        ours=BOTH_APIS,
        rivals=(*ENVPOOLS, gymnasium_numpy),
        bars={NUMPY: 2},
    ),
    Scene(
        name="cartpole-16",
        title="CartPole-v1, 16 envs, 2 threads, sync",
        task=cart_pole(16, 2),
        ours=BOTH_APIS,
        rivals=(*ENVPOOLS, gymnasium_numpy, gymnasium_sync, gymnasium_async),
        bars={ENVPOOL: 14},
    ),
    Scene(
        name="cartpole-1",
        title="CartPole-v1, 1 env, 1 thread",
        task=cart_pole(1, 1),
        ours=BOTH_APIS,
        rivals=(*ENVPOOLS, gymnasium_loop, gymnasium_sync, gymnasium_numpy),
        bars={ENVPOOL: 8, MAKE: 1.3},
    ),
    cart_pole_async(1024, 512),
    cart_pole_async(4096, 2048),
    Scene(
        name="frozen-lake-1024",
        title="FrozenLake-v1, 1024 envs, 2 threads, sync",
        task=Task("FrozenLake-v1", 1024, 1024, 2, 4, max_episode_steps=100),
        ours=BOTH_APIS,
        rivals=(*ENVPOOLS, gymnasium_sync),
        bars={ENVPOOL: 30},
        notes=("ours and Gymnasium's return the info prob at every step, EnvPool's does not",),
    ),
    Scene(
        name="taxi-1024",
        title="Taxi-v3, 1024 envs, 2 threads, sync",
        task=Task("Taxi-v3", 1024, 1024, 2, 6, max_episode_steps=200),
        ours=(envpool_api,),
        rivals=ENVPOOLS,
        bars={ENVPOOL: 30},
        notes=("ours returns action masks and the info prob at every step, EnvPool's does not",),
    ),
    Scene(
        name="minigrid-1024",
        title="MiniGrid-DoorKey-8x8-v0, 1024 envs, 2 threads, sync",
        task=Task("MiniGrid-DoorKey-8x8-v0", 1024, 1024, 2, 7, max_episode_steps=640),
        ours=BOTH_APIS,
        rivals=(*ENVPOOLS, gymnasium_sync),
        bars={ENVPOOL: 20, SYNC: 400},
        notes=("ours and Gymnasium's return missions as strings, EnvPool's as bytes",),
    ),
    Scene(
        name="procgen-coinrun-64",
        title="CoinrunHard-v0, 64 envs, 2 threads, sync",
        task=Task("CoinrunHard-v0", 64, 64, 2, 15, max_episode_steps=1000),
        ours=(envpool_api,),
        rivals=(*PROCGEN_ENVPOOLS, procgen_loop),
        bars={ENVPOOL: 1.2, procgen_loop.name: 0.95},
    ),
    Scene(
        name="pong-32-16",
        title="Pong-v5, 32 envs, batch 16, 2 threads, async",
        task=atari("Pong", 32, 16, 2),
        ours=(envpool_api,),
        rivals=(*ENVPOOLS, ale),
        bars={ENVPOOL: 4.5, ALE: 3.5},
    ),
    Scene(
        name="breakout-32-16",
        title="Breakout-v5, 32 envs, batch 16, 2 threads, async",
        task=atari("Breakout", 32, 16, 2),
        ours=(envpool_api,),
        rivals=(*ENVPOOLS, ale),
        bars={ENVPOOL: 6, ALE: 4.5},
    ),
    Scene(
        name="pong-1",
        title="Pong-v5, 1 env, 1 thread",
        task=atari("Pong", 1, 1, 1),
        ours=BOTH_APIS,
        rivals=(*ENVPOOLS, gymnasium_loop),
        bars={ENVPOOL: 4, MAKE: 4},
        notes=(WRAPPED,),
    ),
    Scene(
        name="pong-32-gymnasium",
        title="Pong-v5, 32 envs, 2 threads, sync",
        task=atari("Pong", 32, 32, 2),
        ours=BOTH_APIS,
        rivals=(gymnasium_loop, gymnasium_async),
        notes=(WRAPPED, "gymnasium.make is a for-loop over 32 environments here"),
    ),
    Scene(
        name="lunar-lander-64",
        title="LunarLander-v3, 64 envs, 2 threads, sync",
        task=lunar_lander(64, 2),
        ours=BOTH_APIS,
        rivals=(*ENVPOOLS, gymnasium_sync),
        bars={ENVPOOL: 1.2, SYNC: 4.5},
    ),
    Scene(
        name="bipedal-walker-64",
        title="BipedalWalker-v3, 64 envs, 2 threads, sync",
        task=bipedal_walker(64, 2),
        ours=BOTH_APIS,
        rivals=(*ENVPOOLS, gymnasium_sync),
        bars={ENVPOOL: 1.0, SYNC: 4.5},
    ),
    Scene(
        name="car-racing-64",
        title="CarRacing-v3, 64 envs, 2 threads, sync",
        task=car_racing(64, 2),
        ours=BOTH_APIS,
        rivals=(*ENVPOOLS, gymnasium_sync),
        bars={ENVPOOL: 1.2, SYNC: 5},
    ),
    *(scene for name in MUJOCO for scene in mujoco_races(name)),
    Scene(
        name="cheetah-run-32",
        title=f"dm_control's cheetah-run, 32 envs, 2 threads, sync, MuJoCo {ENVPOOLS_MUJOCO}",
        task=cheetah_run(32, 2),
        ours=(envpool_api,),
        rivals=ENVPOOLS,
        bars={ENVPOOL: 1.3},
        mujoco=ENVPOOLS_MUJOCO,
    ),
    Scene(
        name="fetch-push-32",
        title=f"FetchPush-v4, 32 envs, 2 threads, sync, MuJoCo {ENVPOOLS_MUJOCO}",
        task=fetch_push(32, 2),
        ours=(envpool_api,),
        rivals=ENVPOOLS,
        bars={ENVPOOL: 1.2},
        mujoco=ENVPOOLS_MUJOCO,
    ),
    Scene(
        name="ant-1",
        title="Ant-v5, 1 env, 1 thread",
        task=mujoco("Ant", 1, 1, 1),
        ours=BOTH_APIS,
        rivals=(gymnasium_loop,),
        bars={MAKE: 1.3},
    ),
    Scene(
        name="ant-256",
        title="Ant-v5, 256 envs, batch 8, 2 threads, async",
        task=mujoco("Ant", 256, 8, 2),
        ours=(envpool_api,),
        rivals=(envpool_api_16,),
        bars={FEW: 0.97},
        notes=("both have the same batch size, so only the number of environments differs",),
    ),
)
