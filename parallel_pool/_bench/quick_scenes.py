"""The scenes of the quick benchmark: few environments that users know, at one setting each."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from parallel_pool._bench import python_envs
from parallel_pool._bench.contender import Contender, Task
from parallel_pool._bench.python_players import (
    async_vector_env,
    plain_loop,
    pool_vector_env,
    subproc_vec_env,
)
from parallel_pool._bench.rivals import (
    ale,
    envpool,
    gymnasium_api,
    gymnasium_async,
    gymnasium_loop,
    gymnasium_numpy,
    gymnasium_sync,
)
from parallel_pool._bench.scene import Scene
from parallel_pool._bench.tasks import atari, cart_pole, mujoco

# environments of the scenes whose steps take longer
SLOW_ENVS = 16
FAST_ENVS, MAX_FAST_ENVS = 64, 1024
PONG, HALF_CHEETAH, PYTHON = f"pong-{SLOW_ENVS}", f"halfcheetah-{SLOW_ENVS}", f"python-{SLOW_ENVS}"

# What a scene shows, by its name. The page has these sentences, also for files of others.
MEANS = {
    "cartpole-1": "One environment in a loop, as in a first program: what one call costs.",
    f"cartpole-{FAST_ENVS}": "A step takes a fraction of a microsecond, so this shows what a"
    " vectoriser itself costs.",
    f"cartpole-{MAX_FAST_ENVS}": "As many cheap environments as fill the cores: the limit of the"
    " engine.",
    HALF_CHEETAH: "MuJoCo: the time is that of mj_step, which all libraries share.",
    PYTHON: "CartPole as an object of Python, in worker processes: what it costs to reach another"
    " process and come back.",
    PONG: "Atari as agents see it: 4 frames a step, 84 x 84 grey, 4 of them stacked. The frames"
    " themselves cost most.",
}


@dataclass(frozen=True)
class Need:
    """A module that a scene, or only Gymnasium's players in it, can't do without."""

    module: str
    cure: str
    of_gymnasium: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the module can be found."""
        return find_spec(self.module) is not None

    @property
    def lack(self) -> str:
        """The sentence about it, with the command that installs it."""
        return f"{self.module} is not installed: {self.cure}"


NEEDS = {
    PONG: (
        Need("ale_py", "pip install 'parallel_pool[atari]'"),
        Need("cv2", "pip install 'parallel_pool[demo]'", of_gymnasium=True),
    ),
    HALF_CHEETAH: (
        Need("mujoco", "pip install 'parallel_pool[mujoco]'"),
        Need("imageio", "pip install 'parallel_pool[mujoco]'", of_gymnasium=True),
    ),
}


def scenes(cores: int) -> list[Scene]:
    """Returns all scenes, for a machine with this many cores."""
    few = min(cores, SLOW_ENVS)
    python = Task(python_envs.CART_POLE, SLOW_ENVS, SLOW_ENVS, few, 2, max_episode_steps=500)
    numpy = (envpool, gymnasium_numpy, gymnasium_sync)
    vector = (envpool, gymnasium_sync, gymnasium_async)
    return [
        _scene("CartPole-v1", cart_pole(1, 1), "cartpole-1", (envpool, gymnasium_loop)),
        _scene(
            "CartPole-v1",
            cart_pole(FAST_ENVS, min(cores, FAST_ENVS)),
            f"cartpole-{FAST_ENVS}",
            (*numpy, gymnasium_async),
        ),
        _scene("CartPole-v1", cart_pole(MAX_FAST_ENVS, cores), f"cartpole-{MAX_FAST_ENVS}", numpy),
        _scene(
            "HalfCheetah-v5", mujoco("HalfCheetah", SLOW_ENVS, SLOW_ENVS, few), HALF_CHEETAH, vector
        ),
        Scene(
            PYTHON,
            f"CartPole-v1 in Python, {SLOW_ENVS} environments",
            python,
            (pool_vector_env,),
            (plain_loop, async_vector_env, subproc_vec_env),
        ),
        # last, as its rivals take longest to start: a scene may use what others left of the time
        _scene("Pong-v5", atari("Pong", SLOW_ENVS, SLOW_ENVS, few), PONG, (ale, *vector)),
    ]


def _scene(what: str, task: Task, name: str, rivals: tuple[Contender, ...]) -> Scene:
    plural = "s" * (task.num_envs > 1)
    title = f"{what}, {task.num_envs} environment{plural}"
    return Scene(name, title, task, (gymnasium_api,), rivals)
