"""Plays tasks of dm_control's suite and of ours, in a process that has dm_control's own MuJoCo.

Its input has a line for each job, and it answers with a line: "the same", or what differs first.
Both sides are in this process, because results depend on the version of MuJoCo.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.support.reference.player_process import SAME, answer_all, ask, has_packages

DM_CONTROL, MUJOCO = "1.0.50", "3.17.0"
# what the Makefile installs: dm_control and the newest MuJoCo that it loads with
FOLDER = Path(sys.prefix) / f"dm-control-{DM_CONTROL}"

Array = npt.NDArray[Any]

# suite.ALL_TASKS
TASKS = (
    *("acrobot-swingup", "acrobot-swingup_sparse", "ball_in_cup-catch", "cartpole-balance"),
    *("cartpole-balance_sparse", "cartpole-swingup", "cartpole-swingup_sparse"),
    *("cartpole-two_poles", "cartpole-three_poles", "cheetah-run", "dog-stand", "dog-walk"),
    *("dog-trot", "dog-run", "dog-fetch", "finger-spin", "finger-turn_easy"),
    *("finger-turn_hard", "fish-upright", "fish-swim", "hopper-stand", "hopper-hop"),
    *("humanoid-stand", "humanoid-walk", "humanoid-run", "humanoid-run_pure_state"),
    *("humanoid_CMU-stand", "humanoid_CMU-walk", "humanoid_CMU-run", "lqr-lqr_2_1"),
    *("lqr-lqr_6_2", "manipulator-bring_ball", "manipulator-bring_peg"),
    *("manipulator-insert_ball", "manipulator-insert_peg", "pendulum-swingup"),
    *("point_mass-easy", "point_mass-hard", "quadruped-walk", "quadruped-run"),
    *(
        "quadruped-escape",
        "quadruped-fetch",
        "reacher-easy",
        "reacher-hard",
        "stacker-stack_2",
        "stacker-stack_4",
    ),
    *("swimmer-swimmer6", "swimmer-swimmer15", "walker-stand", "walker-walk", "walker-run"),
)


@dataclass(frozen=True)
class Play:
    """What both sides play.

    Attributes:
        task: as in TASKS.
        seed: of the first environment; the next have the next seeds.
        num: environments.
        steps: of each, resets included.
        limit: steps of an episode; 0 for the task's own.
        run: steps for which an action is kept. Longer runs get further.
        ours: the seed that ours gets instead; it shows that the comparison can fail.
    """

    task: str
    seed: int = 0
    num: int = 2
    steps: int = 120
    limit: int = 50
    run: int = 1
    ours: int | None = None


def is_installed() -> bool:
    """Returns whether dm_control and its MuJoCo are there, in their folder or on the path."""
    return has_packages(FOLDER, {"dm-control": DM_CONTROL, "mujoco": MUJOCO})


def played(play: Play) -> str:
    """Returns "the same", or what differs first between dm_control and ours."""
    return _ask({"play": asdict(play)})


def compared_model(task: str) -> str:
    """Returns "the same", or which part of the task's model differs first."""
    return _ask({"model": task})


def compared_pictures(task: str) -> str:
    """Returns "the same", or which picture of the task differs first; needs OpenGL."""
    return _ask({"pictures": task}, "egl")


def _ask(job: Mapping[str, Any], opengl: str = "disabled") -> str:
    return ask("tests.support.reference.control_suite_player", FOLDER, job, opengl)


# ------------------------------------------------------------------------- in the other process --


def _answer(job: Any) -> str:
    if "model" in job:
        return _compare_model(job["model"])
    if "pictures" in job:
        return _compare_pictures(job["pictures"])
    return _compare(Play(**job["play"]))


def load(task: str, seed: Any) -> Any:
    """Returns dm_control's environment."""
    from dm_control import suite

    domain, _, name = task.partition("-")
    env = suite.load(domain, name, task_kwargs={"random": seed})
    if task == "quadruped-escape":
        # it would open an OpenGL context, to which its terrain is copied for pictures
        type(env.physics).contexts = None
    return env


def state_of(seed: int) -> Any:
    """Returns RandomState's argument that stands for a seed; a long one is several words."""
    if seed < 2**32:
        return seed
    words = [seed >> shift & 0xFFFFFFFF for shift in range(0, seed.bit_length(), 32)]
    return np.random.RandomState(words)


def _compare(play: Play) -> str:
    from parallel_pool._engine.pool import Pool

    theirs = [load(play.task, state_of(play.seed + i)) for i in range(play.num)]
    for env in theirs:
        env._step_limit = play.limit or env._step_limit
    options = {"max_episode_steps": play.limit} if play.limit else {}
    seed = play.seed if play.ours is None else play.ours
    with Pool(
        f"dm_control/{play.task}-v0",
        play.num,
        num_threads=2,
        seed=seed,
        reward_dtype="float64",
        discount=True,
        **options,  # type: ignore[arg-type]
    ) as pool:
        steps, batch = [env.reset() for env in theirs], pool.reset()
        for step, actions in enumerate(_actions(play, theirs[0].action_spec())):
            for i, expected in enumerate(steps):
                if found := _difference(pool, batch, i, expected):
                    return f"{play.task}, step {step}, environment {i}: {found}"
            steps = [env.step(action) for env, action in zip(theirs, actions, strict=True)]
            batch = pool.step(actions)
    return SAME


def _actions(play: Play, spec: Any) -> Array:
    """Returns actions, float64 (steps, num, ...)."""
    low, high = np.maximum(spec.minimum, -1), np.minimum(spec.maximum, 1)
    count = -(-play.steps // play.run)
    shape = (count, play.num, *spec.shape)
    drawn = np.random.default_rng(play.seed).uniform(low, high, shape)
    return np.repeat(drawn, play.run, axis=0)[: play.steps]


def _difference(pool: Any, batch: Any, i: int, expected: Any) -> str | None:
    """Returns what differs between one row of a batch and a time step, None for nothing."""
    fields = pool.spec.observations
    names = [field.name for field in fields]
    if names != list(expected.observation):
        return f"observations {names} should be {list(expected.observation)}"
    for at, (name, value) in enumerate(expected.observation.items()):
        ours, wanted = batch[at][i], np.asarray(value)
        if (ours.shape, ours.dtype) != (wanted.shape, wanted.dtype):
            return f"{name} is {ours.dtype}{ours.shape}, not {wanted.dtype}{wanted.shape}"
        if not np.array_equal(ours, wanted):
            return f"{name} is {ours}, not {wanted}"
    if expected.first():
        return None
    if batch.reward[i] != expected.reward:
        return f"the reward is {batch.reward[i]!r}, not {expected.reward!r}"
    if bool(batch.terminated[i] or batch.truncated[i]) != expected.last():
        return f"the episode's end is {batch.terminated[i]}, {batch.truncated[i]}"
    if batch.discount[i] != expected.discount:
        return f"the discount is {batch.discount[i]}, not {expected.discount}"
    return None


def _compare_pictures(task: str) -> str:
    """Compares pictures of the free camera and of the first, after some steps."""
    from parallel_pool._engine.pool import Pool
    from parallel_pool._families.control_suite_renderer import Renderer

    theirs = load(task, 4)
    theirs.reset()
    with Pool(f"dm_control/{task}-v0", 1, seed=4) as pool:
        pool.reset()
        for action in _actions(Play(task, num=1, steps=5), theirs.action_spec()):
            theirs.step(action[0])
            pool.step(action)
        for camera, width, height in ((0, 84, 84), (-1, 120, 60)):
            renderer = Renderer(pool, width=width, height=height, camera_id=camera)
            ours = renderer.draw(0)
            wanted = theirs.physics.render(height, width, camera_id=camera)
            renderer.close()
            if not np.array_equal(ours, wanted):
                return f"{task}, camera {camera}: {(ours != wanted).sum()} numbers differ"
    return SAME


def _compare_model(task: str) -> str:
    """Compares the arrays of dm_control's model with those of ours, textures included."""
    from parallel_pool._engine import registry
    from parallel_pool._families import control_suite_models

    definition = registry.find(f"dm_control/{task}-v0")
    ours, _ = control_suite_models.load(
        str(definition.options["_model"].default), has_pictures=True
    )
    theirs = load(task, 0).physics.model
    for name in dir(ours):
        found, wanted = getattr(ours, name), getattr(theirs.ptr, name)
        # a seed draws lqr's springs
        if not isinstance(found, np.ndarray) or (task.startswith("lqr") and "stiff" in name):
            continue
        if not np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f"):
            return f"{task}: {name} is {found}, not {wanted}"
    return SAME


if __name__ == "__main__":
    answer_all(_answer)
