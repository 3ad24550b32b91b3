"""Trains Stable-Baselines3's SAC on robots: on our pools, and on the originals in Python.

    python -m integration.training.robots [ID ...] [--seeds N]

- walker-walk of the DeepMind Control Suite, from its state;
- FetchReach-v4 of Gymnasium-Robotics, with sparse rewards and hindsight (`HerReplayBuffer`).

The agents learn on our `PoolVecEnv` and on Stable-Baselines3's `DummyVecEnv` and `SubprocVecEnv`,
with the same settings and seeds. All return the same bits, so the agents of a seed are equal, which
is checked, and only the time differs. EnvPool has both tasks, but no `compute_reward`, and other
bits.

This writes robots.json and robots.png; comparison.py says how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnvWrapper

from integration.training.agents import Returns
from integration.training.comparison import (
    DUMMY,
    OURS,
    SUBPROC,
    Comparison,
    Player,
    Record,
    Task,
)
from parallel_pool import PoolVecEnv

WALKER, FETCH = "dm_control/walker-walk-v0", "FetchReach-v4"
# vector steps between two points of a curve
EVERY = 250


@dataclass(frozen=True)
class Settings:
    """SAC's settings.

    Attributes:
        total_steps: of all environments together.
        gradient_steps: after each step of the vector.
        has_hindsight: whether goals are replaced by those that were reached.
    """

    total_steps: int
    gradient_steps: int
    learning_starts: int
    learning_rate: float
    gamma: float
    layers: tuple[int, ...]
    has_hindsight: bool = False
    seed: int = 1


class Recorder(Returns):
    """Tells a comparison what the training has reached."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self._record = record

    @property
    def returns(self) -> list[float]:
        """Those of all episodes."""
        return self.all

    def _on_step(self) -> bool:
        super()._on_step()
        is_due = self.n_calls % EVERY == 0
        return not (is_due and self._record(self, self.num_timesteps))


def learn(envs: VecEnv, settings: Settings, record: Record) -> None:
    """Trains a new agent, until `record` returns True."""
    hindsight: dict[str, Any] = {}
    if settings.has_hindsight:
        chosen = {"n_sampled_goal": 4, "goal_selection_strategy": "future"}
        hindsight = {"replay_buffer_class": HerReplayBuffer, "replay_buffer_kwargs": chosen}
    agent = SAC(
        "MultiInputPolicy" if isinstance(envs.observation_space, spaces.Dict) else "MlpPolicy",
        VecMonitor(envs),
        buffer_size=settings.total_steps,
        gradient_steps=settings.gradient_steps,
        learning_starts=settings.learning_starts,
        learning_rate=settings.learning_rate,
        gamma=settings.gamma,
        policy_kwargs={"net_arch": list(settings.layers)},
        seed=settings.seed,
        device="cpu",
        **hindsight,
    )
    agent.learn(settings.total_steps, callback=Recorder(record))


# ------------------------------------------------------------------------------ environments --


class Suite(gymnasium.Env[Any, Any]):
    """A task of dm_control's suite with Gymnasium's API, as the package shimmy has it."""

    def __init__(self, domain: str, task: str) -> None:
        self._domain, self._task = domain, task
        self._env: Any = None
        # those of the id in the registry, which our pools have
        own = PoolVecEnv(f"dm_control/{domain}-{task}-v0", 1)
        self.observation_space, self.action_space = own.observation_space, own.action_space
        own.close()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        from dm_control import suite

        super().reset(seed=seed)
        if seed is not None or self._env is None:
            self._env = suite.load(self._domain, self._task, task_kwargs={"random": seed})
        return dict(self._env.reset().observation), {}

    def step(self, action: Any) -> Any:
        step = self._env.step(action)
        is_last = step.last()
        is_end = bool(is_last and step.discount == 0)
        return dict(step.observation), step.reward, is_end, is_last and not is_end, {}


class Flat(VecEnvWrapper):
    """Joins the arrays of an observation to one, float32 (n, numbers)."""

    def __init__(self, envs: VecEnv) -> None:
        assert isinstance(envs.observation_space, spaces.Dict)
        self._names = list(envs.observation_space)
        size = sum(int(np.prod(space.shape or ())) for space in envs.observation_space.values())
        super().__init__(envs, spaces.Box(-np.inf, np.inf, (size,), np.float32))

    def reset(self) -> Any:
        return self._joined(self.venv.reset(), (self.num_envs,))

    def step_wait(self) -> Any:
        observations, rewards, dones, infos = self.venv.step_wait()
        for info in infos:
            if "terminal_observation" in info:
                info["terminal_observation"] = self._joined(info["terminal_observation"], ())
        return self._joined(observations, (self.num_envs,)), rewards, dones, infos

    def _joined(self, observations: Any, rows: tuple[int, ...]) -> Any:
        parts = [np.reshape(observations[name], (*rows, -1)) for name in self._names]
        return np.concatenate(parts, axis=-1, dtype=np.float32, casting="same_kind")


def original(task_id: str) -> gymnasium.Env[Any, Any]:
    """Makes one of the environments in Python."""
    if task_id == WALKER:
        return Suite("walker", "walk")
    import gymnasium_robotics

    gymnasium.register_envs(gymnasium_robotics)
    return gymnasium.make(task_id)


def players(task: Task) -> Mapping[str, Player]:
    def in_python(kind: Callable[[Any], VecEnv]) -> Player:
        return lambda task, seed: kind([partial(original, task.task_id)] * task.num_envs)

    return {
        OURS: lambda task, seed: PoolVecEnv(task.task_id, task.num_envs),
        DUMMY: in_python(DummyVecEnv),
        SUBPROC: in_python(SubprocVecEnv),
    }


TASKS = (
    Task(
        task_id=WALKER,
        num_envs=8,
        target=800.0,
        window=16,
        settings=Settings(
            total_steps=400_000,
            gradient_steps=2,
            learning_starts=8_000,
            learning_rate=1e-3,
            gamma=0.99,
            layers=(256, 256),
        ),
        wrap=Flat,
        learn=learn,
        # the originals, with the newest MuJoCo that they take
        folder="dm-control-1.0.50",
    ),
    Task(
        task_id=FETCH,
        num_envs=8,
        target=-3.0,
        window=64,
        settings=Settings(
            total_steps=80_000,
            gradient_steps=4,
            learning_starts=2_000,
            learning_rate=1e-3,
            gamma=0.95,
            layers=(64, 64),
            has_hindsight=True,
        ),
        learn=learn,
        folder="gymnasium-robotics-1.4.2",
    ),
)

COMPARISON = Comparison(
    *("robots", __doc__, "robots", TASKS, players),
    equal=(OURS, DUMMY, SUBPROC),
)

if __name__ == "__main__":
    COMPARISON.main()
