"""The tasks that scenes share: what is stepped, with the limits of its reference."""

from __future__ import annotations

from parallel_pool._bench.contender import Task

# Size and bound of an action.
MUJOCO = {
    "Ant": (8, 1.0),
    "HalfCheetah": (6, 1.0),
    "Hopper": (3, 1.0),
    "Walker2d": (6, 1.0),
    "Humanoid": (17, 0.4),
}


def cart_pole(num_envs: int, num_threads: int, batch_size: int = 0) -> Task:
    """Returns a CartPole-v1 task, synchronous unless a batch_size is given."""
    batch_size = batch_size or num_envs
    return Task("CartPole-v1", num_envs, batch_size, num_threads, 2, max_episode_steps=500)


def atari(game: str, num_envs: int, batch_size: int, num_threads: int) -> Task:
    """Returns a game's task with EnvPool's defaults: 84 x 84 grey, skip 4, stack 4, 30 no-ops."""
    actions = {"Pong": 6, "Breakout": 4}[game]
    return Task(f"{game}-v5", num_envs, batch_size, num_threads, actions, 27000, frame_skip=4)


def mujoco(name: str, num_envs: int, batch_size: int, num_threads: int) -> Task:
    """Returns a MuJoCo task; its defaults are the same in all libraries."""
    size, bound = MUJOCO[name]
    return Task(
        f"{name}-v5",
        *(num_envs, batch_size, num_threads),
        num_actions=0,
        max_episode_steps=1000,
        action_size=size,
        action_bound=bound,
    )
