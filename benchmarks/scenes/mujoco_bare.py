"""Players that run mujoco_bare.c's loop over mj_step, the upper limit of MuJoCo pools.

Our pools, EnvPool and Gymnasium all do this loop's work and more. The loop has an mjData for each
environment or for each thread. It runs either with the options of the model file or with those
that our pools set, and either on the MuJoCo that Python imports or on the one inside EnvPool.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.toolchain import load
from parallel_pool._bench.contender import Task, contender
from parallel_pool._bench.outcome import Row
from parallel_pool._bench.rivals import envpool

SOURCE = Path(__file__).with_name("mujoco_bare.c")
ERROR_BYTES = 256
MAX_LIMITS = 4


@dataclass(frozen=True)
class Episode:
    """How episodes of a task begin and end.

    Attributes:
        has_normal_velocities: initial velocities are normally distributed; otherwise uniformly,
            as all positions are.
        limits: positions that must stay within a range: the position's index, and the name of the
            option that holds the range, without "_min" and "_max".
    """

    has_normal_velocities: bool
    limits: tuple[tuple[int, str], ...] = ()


EPISODES = {
    "Ant-v5": Episode(True, ((2, "healthy_z"),)),
    "HalfCheetah-v5": Episode(True),
    "Hopper-v5": Episode(False, ((1, "healthy_z"), (2, "healthy_angle"))),
    "Walker2d-v5": Episode(False, ((1, "healthy_z"), (2, "healthy_angle"))),
    "Humanoid-v5": Episode(False, ((2, "healthy_z"),)),
}


class Setting(ctypes.Structure):
    """The structure of the same name in C."""

    _fields_ = (
        ("link", ctypes.c_char_p),
        ("actions", ctypes.c_void_p),
        *(
            (name, ctypes.c_int32)
            for name in (
                *("num_rows", "num_envs", "num_threads", "data_per_thread", "frame_skip"),
                *("max_episode_steps", "has_normal_velocities", "num_limits"),
            )
        ),
        ("noise", ctypes.c_double),
        ("position", ctypes.c_int32 * MAX_LIMITS),
        ("low", ctypes.c_double * MAX_LIMITS),
        ("high", ctypes.c_double * MAX_LIMITS),
    )


@cache
def library() -> ctypes.CDLL:
    """Compiles and loads mujoco_bare.c."""
    import build_ffi

    csrc = build_ffi.CSRC
    loaded = load(SOURCE, [csrc / "envs" / "mujoco" / "library.c", csrc / "base" / "normal.c"])
    loaded.bare_create.restype = ctypes.c_void_p
    loaded.bare_play.restype = ctypes.c_char_p
    return loaded


class Bare:
    """A player that runs the bare loop."""

    children: Sequence[int] = ()

    def __init__(
        self,
        task: Task,
        *,
        data_per_thread: bool = False,
        switches: bool = True,
        envpools: bool = False,
        actions: np.ndarray[Any, Any] | None = None,
    ) -> None:
        """
        Args:
            task: what is measured.
            data_per_thread: whether each thread has an mjData, instead of each environment.
            switches: whether the options that our pools set are set.
            envpools: whether the MuJoCo inside EnvPool steps.
            actions: float32 (rows, envs, size), instead of the task's.
        """
        from parallel_pool._engine import registry

        definition = registry.find(task.task_id)
        defaults: dict[str, Any] = {name: each.default for name, each in definition.options.items()}
        # a robot of a user's own has no such option, and keeps the options of its file
        known = {"speed_switches": switches} if "speed_switches" in defaults else {}
        link = registry.fill_options(definition, known)["_link"]
        episode = EPISODES.get(task.task_id, Episode(True))
        rows = [
            np.asarray(row, np.float32)
            for row in (task.all_actions() if actions is None else actions)
        ]
        # C keeps pointers to both
        self._link, self._actions = link, np.ascontiguousarray(np.stack(rows))
        text = f"{envpool_functions()}\n{link}" if envpools else str(link)
        limits = [
            (at, defaults[f"{name}_min"], defaults.get(f"{name}_max"))
            for at, name in episode.limits
        ]
        self._setting = Setting(
            link=text.encode(),
            actions=self._actions.ctypes.data,
            num_rows=len(rows),
            num_envs=task.num_envs,
            num_threads=task.num_threads,
            data_per_thread=data_per_thread,
            frame_skip=defaults["frame_skip"],
            max_episode_steps=task.max_episode_steps,
            has_normal_velocities=episode.has_normal_velocities,
            num_limits=len(limits),
            noise=defaults["reset_noise_scale"],
        )
        for i, (position, low, high) in enumerate(limits):
            self._setting.position[i] = position
            self._setting.low[i] = low
            self._setting.high[i] = float("inf") if high is None else high
        self._sizes = link.model.nq, link.model.nv
        self._batch_size = task.batch_size
        error = ctypes.create_string_buffer(ERROR_BYTES)
        made = library().bare_create(ctypes.byref(self._setting), error)
        if not made:
            raise RuntimeError(f"the bare loop can't be created: {error.value.decode()}")
        self._loop = ctypes.c_void_p(made)

    def play(self, batches: int) -> int:
        steps = batches * self._batch_size
        failure = library().bare_play(self._loop, ctypes.c_int64(steps))
        if failure:
            raise RuntimeError(f"the bare loop failed: {failure.decode()}")
        return steps

    def state(self, env_id: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Returns the positions and velocities of one environment."""
        qpos, qvel = (np.empty(size) for size in self._sizes)
        library().bare_state(
            self._loop,
            ctypes.c_int32(env_id),
            ctypes.c_void_p(qpos.ctypes.data),
            ctypes.c_void_p(qvel.ctypes.data),
        )
        return qpos, qvel

    def close(self) -> None:
        library().bare_destroy(self._loop)


@cache
def envpool_functions() -> str:
    """Returns the lines of a link that name the functions of the MuJoCo inside EnvPool.

    These functions can use models of Python's mujoco if both have the same version, as the memory
    layouts are then the same.

    Raises:
        RuntimeError: the versions differ.
    """
    import importlib.util

    import mujoco

    from parallel_pool._families.mujoco import FUNCTIONS, HANDLERS

    spec = importlib.util.find_spec("envpool")
    assert spec is not None and spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0])
    inside = ctypes.CDLL(str(folder / "mujoco" / "mujoco_gym_envpool.so"))
    if inside.mj_version() != mujoco.mj_version():
        raise RuntimeError(
            f"EnvPool has MuJoCo {inside.mj_version()}, and Python {mujoco.mj_version()}"
        )
    symbols = dict.fromkeys(FUNCTIONS) | HANDLERS
    lines = []
    for name, symbol in symbols.items():
        found = getattr(inside, symbol or name, None)
        if found is not None:
            lines.append(f"{name}={ctypes.cast(found, ctypes.c_void_p).value}")
    return "\n".join(lines)


# --------------------------------------------------------------------------------- contenders --


@contender("bare loop, mjData per env", "bare", package="mujoco")
def bare_per_env(task: Task) -> Bare:
    """The loop with our pools' options and an mjData for each environment."""
    return Bare(task)


@contender("bare loop, mjData per thread", "bare", package="mujoco")
def bare_per_thread(task: Task) -> Bare:
    """The loop with our pools' options; it copies states between steps, as our pools do."""
    return Bare(task, data_per_thread=True)


@contender("bare loop, stock options", "bare", package="mujoco")
def bare_stock(task: Task) -> Bare:
    """The loop with the options of the model file and an mjData for each environment."""
    return Bare(task, switches=False)


@contender("bare loop, EnvPool's MuJoCo", "bare", package="envpool")
def bare_envpool(task: Task) -> Bare:
    """The loop with the options of the model file, on the MuJoCo inside EnvPool."""
    return Bare(task, switches=False, envpools=True)


def gain(rows: Iterable[Row]) -> list[str]:
    """Returns a note that splits our gain over EnvPool into factors; no note if a row is missing.

    The factors are of CPU time per step at the same setting: wall time would include how long
    threads wait for each other.
    """
    used = {row.who: row.cpu_us.median for row in rows if row.cpu_us and row.role != "best"}
    chain = [
        ("EnvPool's engine", envpool.name, bare_envpool.name),
        ("MuJoCo's build", bare_envpool.name, bare_stock.name),
        ("switched options", bare_stock.name, bare_per_env.name),
        ("our engine", bare_per_env.name, "parallel_pool.make"),
    ]
    if any(name not in used for _, *pair in chain for name in pair):
        return []
    factors = " x ".join(f"{used[a] / used[b]:.3g} ({what})" for what, a, b in chain)
    total = used[envpool.name] / used["parallel_pool.make"]
    return [f"{total:.3g}x less CPU time per step than EnvPool at the same setting = {factors}"]
