"""Plays tasks of Gymnasium-Robotics and of ours, in a process that has a MuJoCo with which all of
the former can be made.

Its input has a line for each job, and it answers with a line: "the same", or what differs first.
Both sides are in this process, because results depend on the version of MuJoCo.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from parallel_pool._engine.trees import flat
from tests.support.reference.player_process import SAME, answer_all, ask, has_packages
from tests.support.same import assert_same

ROBOTICS, MUJOCO = "1.4.2", "3.11.0"
# what the Makefile installs: Gymnasium-Robotics and the newest MuJoCo with which Fetch can be made
FOLDER = Path(sys.prefix) / f"gymnasium-robotics-{ROBOTICS}"

Array = npt.NDArray[Any]

FETCH = tuple(
    f"Fetch{task}{reward}-v4"
    for task in ("Reach", "Push", "Slide", "PickAndPlace")
    for reward in ("", "Dense")
)
MAPS = (
    *("UMaze", "Open", "Open_Diverse_G", "Open_Diverse_GR", "Medium", "Medium_Diverse_G"),
    *("Medium_Diverse_GR", "Large", "Large_Diverse_G", "Large_Diverse_GR"),
)
POINT = tuple(f"PointMaze_{each}{reward}-v3" for each in MAPS for reward in ("", "Dense"))
ANT = tuple(
    f"AntMaze_{each}{reward}-v{version}"
    for version in (3, 4, 5)
    for each in MAPS
    for reward in ("", "Dense")
)
ADROIT = tuple(
    f"AdroitHand{task}{reward}-v1"
    for task in ("Door", "Hammer", "Pen", "Relocate")
    for reward in ("", "Sparse")
)
TOUCH = ("", "_BooleanTouchSensors", "_ContinuousTouchSensors")
HAND = tuple(
    f"Hand{task}{touch}{reward}-{version}"
    for task, touches, version in (
        ("Reach", TOUCH[:1], "v3"),
        ("ManipulateBlock", TOUCH, "v1"),
        ("ManipulateBlockFull", TOUCH[:1], "v1"),
        ("ManipulateBlockRotateZ", TOUCH, "v1"),
        ("ManipulateBlockRotateParallel", TOUCH, "v1"),
        ("ManipulateBlockRotateXYZ", TOUCH, "v1"),
        ("ManipulateEgg", TOUCH, "v1"),
        ("ManipulateEggFull", TOUCH[:1], "v1"),
        ("ManipulateEggRotate", TOUCH, "v1"),
        ("ManipulatePen", TOUCH, "v1"),
        ("ManipulatePenFull", TOUCH[:1], "v1"),
        ("ManipulatePenRotate", TOUCH, "v1"),
    )
    for touch in touches
    for reward in ("", "Dense")
)
KITCHEN = ("FrankaKitchen-v1",)
IDS = (*FETCH, *POINT, *ANT, *ADROIT, *HAND, *KITCHEN)


@dataclass(frozen=True)
class Play:
    """What both sides play.

    Attributes:
        id: of the environments.
        seed: of the first environment; the next have the next seeds.
        num: environments.
        steps: of each, resets included.
        limit: steps of an episode; 0 for the task's own.
        run: steps for which an action is kept. Longer runs get further.
        dtype: of actions.
        is_extreme: actions are -1, 0 and 1, which get further than numbers between them.
        options: of the constructor.
        ours: the seed that ours gets instead; it shows that the comparison can fail.
    """

    id: str
    seed: int = 0
    num: int = 2
    steps: int = 120
    limit: int = 0
    run: int = 1
    dtype: str = "float32"
    is_extreme: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    ours: int | None = None


def is_installed() -> bool:
    """Returns whether both packages are there, in their folder or on the path."""
    return has_packages(FOLDER, {"gymnasium-robotics": ROBOTICS, "mujoco": MUJOCO})


def played(play: Play) -> str:
    """Returns "the same", or what differs first between Gymnasium-Robotics and ours."""
    return _ask({"play": asdict(play)})


def compared_rewards(task_id: str) -> str:
    """Returns "the same", or how `compute_reward` differs for arrays of goals."""
    return _ask({"rewards": task_id})


def compared_pictures(task_id: str, count: int = 4) -> str:
    """Returns "the same", or which picture of the task differs first; needs OpenGL.

    Args:
        task_id: of the task.
        count: pictures, after a reset and after steps.
    """
    return _ask({"pictures": task_id, "count": count}, "egl")


def compared_vectors(task_id: str) -> str:
    """Returns "the same", or what differs first between `make_vec` and `SyncVectorEnv`: spaces,
    observations, rewards, ends and infos with their types."""
    return _ask({"vectors": task_id})


def compared_training(task_id: str) -> str:
    """Returns "the same", or which weight differs after a training with hindsight replay on
    `PoolVecEnv` and on `DummyVecEnv`."""
    return _ask({"training": task_id})


def _ask(job: Mapping[str, Any], opengl: str = "disabled") -> str:
    return ask("tests.support.reference.robotics_player", FOLDER, job, opengl)


# ------------------------------------------------------------------------- in the other process --


def _answer(job: Any) -> str:
    if "rewards" in job:
        return _compare_rewards(job["rewards"])
    if "vectors" in job:
        return _compare_vectors(job["vectors"])
    if "training" in job:
        return _compare_training(job["training"])
    if "pictures" in job:
        return _compare_pictures(job["pictures"], job["count"])
    return _compare(Play(**job["play"]))


def load(play: Play) -> Any:
    """Returns the environment of Gymnasium-Robotics."""
    import gymnasium

    importlib.import_module("gymnasium_robotics")
    limit = {"max_episode_steps": play.limit} if play.limit else {}
    with warnings.catch_warnings():
        # that there is a newer version
        warnings.simplefilter("ignore")
        return gymnasium.make(play.id, disable_env_checker=True, **limit, **play.options)


def _compare(play: Play) -> str:
    from parallel_pool._engine.pool import Pool

    theirs = [Theirs(load(play), play.seed + i) for i in range(play.num)]
    options: Any = {"max_episode_steps": play.limit} if play.limit else {}
    seed = play.seed if play.ours is None else play.ours
    with Pool(
        play.id,
        play.num,
        num_threads=2,
        seed=seed,
        reward_dtype="float64",
        autoreset="next_step",
        options=play.options,
        **options,
    ) as pool:
        batch = pool.reset()
        actions = Actions(play, theirs[0].env)
        for step in range(play.steps):
            for i, each in enumerate(theirs):
                if found := _difference(pool, batch, i, each):
                    return f"{play.id}, step {step}, environment {i}: {found}"
            rows = actions.next([each.observation for each in theirs])
            for each, row in zip(theirs, rows, strict=True):
                each.step(row)
            batch = pool.step(rows)
    return SAME


class Theirs:
    """One environment of Gymnasium-Robotics, and what its last reset or step has returned.

    Attributes:
        observation, info: of both.
        result: reward, terminated and truncated; None after a reset.
    """

    def __init__(self, env: Any, seed: int) -> None:
        self.env = env
        self.result: tuple[Any, bool, bool] | None = None
        self.observation, self.info = env.reset(seed=seed)

    def step(self, action: Array) -> None:
        """Does a step, or a reset if the episode has ended."""
        if self.result is not None and any(self.result[1:]):
            self.observation, self.info = self.env.reset()
            self.result = None
        else:
            self.observation, *result, self.info = self.env.step(action)
            self.result = tuple(result)


class Actions:
    """Actions that now and then go to where something happens; without these nothing is pushed."""

    def __init__(self, play: Play, env: Any) -> None:
        self._play = play
        self._rng = np.random.default_rng(play.seed)
        self._shape = (play.num, *env.action_space.shape)
        self._count = 0
        self._drawn: Array = np.zeros(self._shape)
        self._is_bound = np.zeros(play.num, np.bool_)

    def next(self, observations: list[Any]) -> Array:
        """Returns the next actions, (num, ...), a little out of their bounds."""
        if self._count % self._play.run == 0:
            self._drawn = self._rng.uniform(-1.2, 1.2, self._shape)
            if self._play.is_extreme:
                self._drawn = self._rng.choice((-1.0, 0.0, 1.0), self._shape)
            self._is_bound = self._rng.random(self._play.num) < 0.7
        self._count += 1
        actions = self._drawn.copy()
        for i in np.flatnonzero(self._is_bound):
            way = self._way(observations[i])
            actions[i, : len(way)] = 10 * way + 0.3 * self._drawn[i, : len(way)]
        return actions.clip(-1.2, 1.2).astype(self._play.dtype)

    def _way(self, observation: Any) -> Array:
        """Returns where an action may lead: to the object, or to the goal."""
        if not self._play.id.startswith(("Fetch", "PointMaze")):
            return np.zeros(0)
        numbers = observation["observation"]
        if len(numbers) == 25:
            # from the gripper to the object
            return np.asarray(numbers[6:9])
        return np.asarray(observation["desired_goal"] - observation["achieved_goal"])


def _difference(pool: Any, batch: Any, i: int, theirs: Theirs) -> str | None:
    """Returns what differs between one row of a batch and their last results, None for nothing."""
    fields = [*pool.spec.observations, *pool.spec.infos]
    values = _leaves(theirs.observation)
    values |= {name: _flags(pool, value) for name, value in theirs.info.items()}
    for each in fields:
        if each.name not in values and theirs.result is None:
            continue
        if each.name not in values:
            return f"there should be no {each.name}"
        column = getattr(batch, re.sub(r"\W", "_", each.name))
        ours, wanted = column[i], np.asarray(values.pop(each.name))
        # APIs convert such an info to the dtype of NumPy's arithmetic with the action
        if each.follows:
            ours = ours.astype(wanted.dtype)
        if (ours.shape, ours.dtype) != (wanted.shape, wanted.dtype):
            return f"{each.name} is {ours.dtype}{ours.shape}, not {wanted.dtype}{wanted.shape}"
        if not np.array_equal(ours, wanted):
            return f"{each.name} is {ours}, not {wanted}"
    if values:
        return f"there should be {list(values)}"
    if theirs.result is None:
        return None
    reward, *ends = theirs.result
    if np.float64(batch.reward[i]).tobytes() != np.float64(reward).tobytes():
        return f"the reward is {batch.reward[i]!r}, not {reward!r}"
    if [bool(batch.terminated[i]), bool(batch.truncated[i])] != ends:
        return f"the ends are {batch.terminated[i]}, {batch.truncated[i]}, not {ends}"
    return None


def _leaves(observation: Any) -> dict[str, Any]:
    """Returns the arrays of an observation by the names that they have in a pool."""
    return flat(observation) if isinstance(observation, dict) else {"obs": observation}


def _flags(pool: Any, value: Any) -> Any:
    """Returns an info as it is in a pool: lists of the kitchen's tasks are flags there."""
    if not isinstance(value, list):
        return value
    names = [each.name for each in pool.spec.observations]
    tasks = [name.partition(".")[2] for name in names if name.startswith("desired_goal.")]
    return np.array([task in value for task in tasks])


def _compare_rewards(task_id: str) -> str:
    """Compares `compute_reward` for goals of several shapes and dtypes."""
    import parallel_pool

    theirs = load(Play(task_id)).unwrapped
    rng = np.random.default_rng(0)
    size = theirs.observation_space["desired_goal"].shape
    # those of rotations take no goals with more axes
    shapes = ((), (5,)) if task_id.startswith("HandManipulate") else ((), (5,), (4, 3))
    ours = parallel_pool.make_vec(task_id, 2)
    for shape in shapes:
        for dtype in (np.float64, np.float32):
            goals = [rng.uniform(-0.1, 0.1, (*shape, *size)).astype(dtype) for _ in range(2)]
            if found := _difference_of_rewards(ours, theirs, goals):
                return f"{task_id}: {found}"
    assert type(ours).__name__ == "NativeVectorEnv"
    ours.close()
    return SAME


def _difference_of_rewards(ours: Any, theirs: Any, goals: list[Array]) -> str | None:
    found: Any = ours.call("compute_reward", *goals, {})[1]
    wanted = theirs.compute_reward(*goals, {})
    if type(found) is not type(wanted) or found.dtype != wanted.dtype:
        return f"{found!r}, not {wanted!r}"
    return None if found.tobytes() == wanted.tobytes() else f"{found}, not {wanted}"


def _compare_pictures(task_id: str, count: int) -> str:
    """Compares pictures after a reset and after some steps."""
    import parallel_pool

    play = Play(task_id, num=1, options={"render_mode": "rgb_array", "width": 120, "height": 90})
    theirs = Theirs(load(play), 3)
    ours = parallel_pool.make_vec(task_id, 1, **play.options)
    ours.reset(seed=3)
    actions = Actions(play, theirs.env)
    for step in range(count):
        pictures = ours.render()
        assert pictures is not None
        wanted = theirs.env.render()
        if not np.array_equal(pictures[0], wanted):
            return f"{task_id}, step {step}: {(pictures[0] != wanted).sum()} numbers differ"
        rows = actions.next([theirs.observation])
        theirs.step(rows[0])
        ours.step(rows)
    ours.close()
    return SAME


def _compare_vectors(task_id: str) -> str:
    from gymnasium.vector import SyncVectorEnv

    import parallel_pool

    play = Play(task_id, limit=7)
    theirs = SyncVectorEnv([lambda: load(play)] * 3)
    ours = parallel_pool.make_vec(task_id, 3, max_episode_steps=play.limit)
    for name in ("single_observation_space", "single_action_space"):
        if getattr(ours, name) != getattr(theirs, name):
            return f"{task_id}: {name} is {getattr(ours, name)}, not {getattr(theirs, name)}"
    found, wanted = ours.reset(seed=5), theirs.reset(seed=5)
    rng = np.random.default_rng(0)
    for step in range(20):
        try:
            assert_same(found, wanted, f"{task_id}, step {step}")
        except AssertionError as error:
            return str(error)
        actions = rng.uniform(-1, 1, theirs.action_space.shape).astype(play.dtype)
        found, wanted = ours.step(actions), theirs.step(actions)  # type: ignore[assignment]
    ours.close()
    theirs.close()
    return SAME


def _compare_training(task_id: str) -> str:
    import torch
    from stable_baselines3.common.vec_env import DummyVecEnv

    from parallel_pool import PoolVecEnv

    play = Play(task_id, limit=20)
    trained = [
        _train(DummyVecEnv([lambda: load(play)] * 2)),
        _train(PoolVecEnv(task_id, 2, max_episode_steps=play.limit)),
    ]
    for name, wanted in trained[0].items():
        if not torch.equal(wanted, trained[1][name]):
            return f"{task_id}: {name} differs"
    return SAME


def _train(envs: Any) -> dict[str, Any]:
    """Returns the weights of an agent that has learnt from hindsight for some episodes."""
    from stable_baselines3 import SAC, HerReplayBuffer

    model = SAC(
        "MultiInputPolicy",
        envs,
        replay_buffer_class=HerReplayBuffer,
        replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
        learning_starts=60,
        batch_size=32,
        policy_kwargs={"net_arch": [16, 16]},
        seed=1,
        device="cpu",
    )
    model.learn(160)
    envs.close()
    return dict(model.policy.state_dict())


if __name__ == "__main__":
    answer_all(_answer)
