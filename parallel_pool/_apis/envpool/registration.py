"""EnvPool's functions that make, list and register tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from parallel_pool._apis.envpool import tasks
from parallel_pool._apis.envpool.spec import EnvSpec
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import a_type, quote

if TYPE_CHECKING:
    import os

    from parallel_pool._apis.envpool.dm_env import DMEnvPool
    from parallel_pool._apis.envpool.gymnasium_pool import GymnasiumEnvPool
    from parallel_pool._apis.envpool.single_dm_env import SingleDMEnv

# options of `make` that are not part of a task's config
RENDER = ("render_mode", "render_env_id")
# EnvPool's names of drawing options, and Gymnasium's
DRAWING = {"render_width": "width", "render_height": "height", "render_camera_id": "camera_id"}


@overload
def make(
    task_id: str, env_type: Literal["dm"], *, batched: Literal[False], **config: Any
) -> SingleDMEnv: ...
@overload
def make(
    task_id: str, env_type: Literal["dm"], *, batched: Literal[True] = ..., **config: Any
) -> DMEnvPool: ...
@overload
def make(
    task_id: str, env_type: Literal["gym", "gymnasium"], **config: Any
) -> GymnasiumEnvPool: ...
@overload
def make(
    task_id: str, env_type: str, *, batched: Literal[True] = ..., **config: Any
) -> DMEnvPool | GymnasiumEnvPool: ...
@overload
def make(
    task_id: str, env_type: str, *, batched: bool, **config: Any
) -> DMEnvPool | GymnasiumEnvPool | SingleDMEnv: ...
def make(task_id: str, env_type: str, **config: Any) -> DMEnvPool | GymnasiumEnvPool | SingleDMEnv:
    """Makes many environments of a task.

    Args:
        task_id: one of `list_all_envs()`.
        env_type: "gym", "gymnasium" or "dm": as `make_gym`, `make_gymnasium` or `make_dm`.
        config: options of every task:

            - num_envs: environments (1).
            - batch_size: rows of one result; 0, the default, for num_envs. Fewer than num_envs make
              an asynchronous pool: `recv` returns the first to finish.
            - num_threads: threads that step, the caller's included; 0, the default, for the cores
              this process may use, at most batch_size.
            - thread_affinity_offset: 0 or more pins each thread to its own core, from this one of
              the process's cores on; -1, the default, pins none.
            - seed: environment i gets seed + i; or a sequence, one seed per environment; None, the
              default, for fresh entropy. Negative seeds, -2**31 or more, count as in EnvPool.
            - env_seed: a sequence of seeds, one per environment; it wins over seed.
            - max_episode_steps: time limit in steps; None for the task's own.
            - reward_threshold: the return at which a task counts as solved; None for the task's
              own.
            - gym_reset_return_info: whether `reset` returns infos too (see `make_gym`).
            - max_num_players: players of one environment; only the task's own number is accepted.
            - base_path: accepted for compatibility with EnvPool, and ignored.
            - render_mode: None or "rgb_array".
            - render_env_id: the environment that `render` draws (0).
            - render_width, render_height, render_camera_id: for tasks whose pictures have a size
              and cameras (MuJoCo's, which also take `width`, `height`, `camera_id`, `camera_name`,
              `default_camera_config`, `max_geom` and `visual_options`); sizes in pixels, 0 for the
              task's own.

            and the task's own options, see `make_spec(task_id).config`.

    Returns:
        A `GymnasiumEnvPool`; for "dm" a `DMEnvPool`, or with `batched=False` a `SingleDMEnv`.

    Raises:
        ValueError: task_id or env_type is unknown, or a value is outside its range.
        TypeError: an option is unknown (the message names the known ones), or of the wrong type.
        MissingDependencyError: the task or env_type needs a package that is not installed.

    Example:
        >>> with parallel_pool.make("Pong-v5", env_type="gymnasium", num_envs=4, seed=1) as envs:
        ...     observations, infos = envs.reset()
        ...     observations, rewards, *ends, infos = envs.step(np.zeros(4, np.int32))
        >>> observations.shape, infos["env_id"]
        ((4, 4, 84, 84), array([0, 1, 2, 3], dtype=int32))
    """
    choices = ", ".join(map(repr, MAKERS))
    if not isinstance(env_type, str):
        raise TypeError(f"env_type={quote(env_type)} is {a_type(env_type)}: give {choices}")
    if env_type not in MAKERS:
        raise ValueError(f"env_type={quote(env_type)}: choose {choices}")
    pool: DMEnvPool | GymnasiumEnvPool = MAKERS[env_type](task_id, **config)
    return pool


def make_gym(task_id: str, **config: Any) -> GymnasiumEnvPool:
    """Makes environments whose `reset` returns observations only.

    In a program that has imported a version of OpenAI's gym before 0.26, `step` returns four
    results as that package does: observations, rewards, dones, infos; and spaces are its own.

    Args:
        task_id: as for `make`.
        config: as for `make`; with `gym_reset_return_info=True`, `reset` returns (observations,
            infos).

    Raises:
        ValueError, TypeError, MissingDependencyError: as `make` does.

    Example:
        >>> with parallel_pool.make_gym("CartPole-v1", num_envs=4) as envs:
        ...     observations = envs.reset()
        >>> observations.shape
        (4, 4)
    """
    from parallel_pool._apis.envpool import old_gym_pool
    from parallel_pool._apis.envpool.gymnasium_pool import GymnasiumEnvPool

    spec, render = _split(task_id, {"gym_reset_return_info": False, **config})
    render["returns_info"] = spec.config.gym_reset_return_info
    gym = old_gym_pool.old_gym()
    if gym is not None:
        return old_gym_pool.OldGymEnvPool(gym, spec, **render)
    return GymnasiumEnvPool(spec, **render)


def make_gymnasium(task_id: str, **config: Any) -> GymnasiumEnvPool:
    """Makes environments whose `reset` returns (observations, infos), as in Gymnasium.

    Args:
        task_id: as for `make`.
        config: as for `make`.

    Raises:
        ValueError, TypeError, MissingDependencyError: as `make` does.

    Example:
        >>> with parallel_pool.make_gymnasium("CartPole-v1", num_envs=4) as envs:
        ...     observations, infos = envs.reset()
        >>> infos["elapsed_step"]
        array([0, 0, 0, 0], dtype=int32)
    """
    from parallel_pool._apis.envpool.gymnasium_pool import GymnasiumEnvPool

    spec, render = _split(task_id, config)
    if not spec.config.gym_reset_return_info:
        raise ValueError(
            "gym_reset_return_info=False, but Gymnasium's reset returns infos: use make_gym"
        )
    return GymnasiumEnvPool(spec, **render)


@overload
def make_dm(task_id: str, *, batched: Literal[True] = True, **config: Any) -> DMEnvPool: ...
@overload
def make_dm(task_id: str, *, batched: Literal[False], **config: Any) -> SingleDMEnv: ...
@overload
def make_dm(task_id: str, *, batched: bool, **config: Any) -> DMEnvPool | SingleDMEnv: ...
def make_dm(task_id: str, *, batched: bool = True, **config: Any) -> DMEnvPool | SingleDMEnv:
    """Makes environments that return batched `dm_env.TimeStep`s, or a single environment.

    Args:
        task_id: as for `make`.
        config: as for `make`.
        batched: False, with num_envs=1, for one environment exactly as dm_env defines it: its
            time steps have no axis of environments.

    Raises:
        ValueError, TypeError, MissingDependencyError: as `make` does.

    Example:
        >>> with parallel_pool.make_dm("CartPole-v1", num_envs=4) as envs:
        ...     envs.reset().observation.obs.shape
        (4, 4)
        >>> with parallel_pool.make_dm("CartPole-v1", batched=False) as env:
        ...     env.reset().observation.shape
        (4,)
    """
    from parallel_pool._apis.envpool.dm_env import DMEnvPool
    from parallel_pool._apis.envpool.single_dm_env import SingleDMEnv

    if not isinstance(batched, bool):
        raise TypeError(f"batched={quote(batched)} is {a_type(batched)}: give True or False")
    spec, render = _split(task_id, config)
    return (DMEnvPool if batched else SingleDMEnv)(spec, **render)


def make_spec(task_id: str, **config: Any) -> EnvSpec:
    """Returns the spec of a task: its options, spaces and specs, without making environments.

    Args:
        task_id: as for `make`.
        config: as for `make`.

    Raises:
        ValueError, TypeError, MissingDependencyError: as `make` does.

    Example:
        >>> spec = parallel_pool.make_spec("Pong-v5", frame_skip=2)
        >>> spec.observation_space.shape, spec.action_space, spec.config.frame_skip
        ((4, 84, 84), Discrete(6), 2)
    """
    return _split(task_id, config)[0]


def list_all_envs() -> list[str]:
    """Returns the ids of all tasks, sorted, including those loaded at run time.

    Example:
        >>> [name for name in parallel_pool.list_all_envs() if name.startswith("CartPole")]
        ['CartPole-v0', 'CartPole-v1']
    """
    known = {id for id, definition in registry.definitions().items() if definition.family != "test"}
    return sorted(known | tasks.registered.keys() | tasks.ALIASES.keys())


def register(task_id: str, *, path: str | os.PathLike[str], symbol: str, **defaults: Any) -> None:
    """Registers the user's own environment as a task.

    Args:
        task_id: id for `make`; the id in the definition is registered too.
        path: a shared library, compiled from one C file against `get_include()`.
        symbol: the name of its `pp_env_def`, such as "pp_env_maze".
        defaults: default options of the task, as for `make`.

    Raises:
        ValueError: task_id is taken, the library or the symbol does not exist, the library was
            compiled against another ABI, or a default is out of its range.
        TypeError: a default is unknown or of the wrong type.

    Example:
        >>> flags = ["-shared", "-fPIC", f"-I{parallel_pool.get_include()}"]
        >>> done = subprocess.run(["cc", *flags, "lake.c", "-o", "lake.so"], check=True)
        >>> parallel_pool.register("Lake-v1", path="lake.so", symbol="pp_env_lake", num_envs=8)
        >>> with parallel_pool.make_gymnasium("Lake-v1") as envs:
        ...     envs.config["num_envs"]
        8
    """
    _check_id(task_id)
    taken = registry.definitions().get(tasks.ALIASES.get(task_id, task_id))
    definition = registry.load(path, symbol)
    same = taken is None or taken.raw == definition.raw
    if not same or tasks.registered.get(task_id, (definition, defaults))[1] != defaults:
        raise ValueError(f"the id {quote(task_id)} is taken: choose another")
    EnvSpec(task_id, definition, {}, defaults)
    tasks.registered[task_id] = (definition, defaults)


def _split(task_id: str, config: dict[str, Any]) -> tuple[EnvSpec, dict[str, Any]]:
    """Returns a task's spec, and its rendering options."""
    _check_id(task_id)
    definition, defaults = tasks.find(task_id)
    given = dict(config)
    render = {name: given.pop(name) for name in RENDER if name in given}
    module = registry.renderer_module(definition)
    if module is not None:
        render["drawing"] = _take_drawing(given, module.OPTIONS)
    return EnvSpec(task_id, definition, given, defaults), render


def _check_id(task_id: Any) -> None:
    if not isinstance(task_id, str):
        raise TypeError(f"task_id={quote(task_id)} is {a_type(task_id)}: give a string")


def _take_drawing(given: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Removes the drawing options from the options; returns them by Gymnasium's names."""
    drawing = {name: given.pop(name) for name in known if name in given}
    for name, ours in DRAWING.items():
        if name not in given or ours not in known:
            continue
        if ours in drawing:
            raise TypeError(f"{name} and {ours} are the same: give one of them")
        value = given.pop(name)
        # EnvPool: a size of 0 is the task's own
        if ours == "camera_id" or type(value) is not int or value != 0:
            drawing[ours] = value
    return drawing


MAKERS: dict[str, Callable[..., Any]] = {
    "dm": make_dm,
    "gym": make_gym,
    "gymnasium": make_gymnasium,
}
