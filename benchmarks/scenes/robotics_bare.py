"""BareLoop: a loop in C over MuJoCo's calls, the upper limit of Gymnasium-Robotics' tasks.

Like the loop of the Control Suite's study it has an mjData for each environment, and does nothing
but write inputs and call MuJoCo (robotics_bare.c).
"""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.toolchain import load
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool, write_state
from parallel_pool._families import mujoco, robotics

SOURCE = Path(__file__).with_name("robotics_bare.c")
# the functions that change what a simulation computes
FUNCTIONS = (
    "mj_forward",
    "mj_resetData",
    "mj_step",
    "mj_step1",
    "mj_step2",
    "mj_rnePostConstraint",
)
# what they read: arrays of mjData, and the arrays of mjModel that tasks write to. The time and the
# model's flags are inputs, too.
INPUTS = (
    *("qpos", "qvel", "act", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied"),
    *("eq_active", "mocap_pos", "mocap_quat", "userdata"),
)
# a joint of the shadow hand's models that only pictures show: write_state places it at the goal
TARGET = "target:joint"


class Field(ctypes.Structure):
    """The structure of the same name in C."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("place", "size")),
        *((name, ctypes.c_int32) for name in ("is_inline", "is_models")),
    )


class Setting(ctypes.Structure):
    """The structure of the same name in C."""

    _fields_ = (
        ("functions", ctypes.c_void_p * len(FUNCTIONS)),
        *((name, ctypes.c_void_p) for name in ("model", "data", "fields")),
        ("num_fields", ctypes.c_int32),
    )


@cache
def library() -> ctypes.CDLL:
    """Compiles and loads robotics_bare.c."""
    loaded = load(SOURCE, [])
    loaded.robotics_bare_create.restype = ctypes.c_void_p
    return loaded


def fields_of(model: Any) -> list[Field]:
    """Returns where a model and its mjData have the inputs of MuJoCo's calls."""
    data = mujoco.import_mujoco().MjData(model)
    found = [
        Field(mujoco.time_offset(data), ctypes.sizeof(ctypes.c_double), True, False),
        Field(mujoco.flags_offset(model), ctypes.sizeof(ctypes.c_int32), True, True),
    ]
    for owner, names in ((data, INPUTS), (model, robotics.MODEL_ARRAYS)):
        for name, place in mujoco.find_offsets(owner, names).items():
            if size := getattr(owner, name).nbytes:
                found.append(Field(place, size, False, owner is model))
    return found


class BareLoop:
    """Repeats what a pool has MuJoCo compute: a reset of all environments, which is done when this
    is made, and their steps and resets from there on.

    Attributes:
        copies: the mjData of each environment.
    """

    def __init__(
        self,
        task_id: str,
        batches: Sequence[np.ndarray[Any, Any]],
        *,
        seed: int,
        max_episode_steps: int | None = None,
    ) -> None:
        """Records a pool.

        Args:
            task_id: of a task of Gymnasium-Robotics.
            batches: the actions of all environments (num_envs, ...), in each step.
            seed: of the pool.
            max_episode_steps: its time limit; None for the task's own.

        Raises:
            MemoryError: there is no memory for the recording.
        """
        definition = registry.find(task_id)
        self._options = registry.fill_options(definition, {})
        self._model = copy.copy(self._options["_link"].model)
        package = mujoco.import_mujoco()
        self.copies = [package.MjData(self._model) for _ in batches[0]]
        self._package = package
        self._library = library()
        self._loop = self._create()
        self._record(task_id, batches, seed, max_episode_steps)
        # the first batch is resets, which begin with mj_resetData and the model's values
        self(1)

    def _create(self) -> ctypes.c_void_p:
        fields = fields_of(self._model)
        addresses = [data._address for data in self.copies]
        # C keeps pointers to both
        self._fields = (Field * len(fields))(*fields)
        self._data = (ctypes.c_void_p * len(addresses))(*addresses)
        functions = mujoco.function_addresses()
        setting = Setting(
            (ctypes.c_void_p * len(FUNCTIONS))(*(functions[name] for name in FUNCTIONS)),
            self._model._address,
            ctypes.addressof(self._data),
            ctypes.addressof(self._fields),
            len(fields),
        )
        made = self._library.robotics_bare_create(ctypes.byref(setting))
        if not made:
            raise MemoryError("there is no memory for a bare loop")
        return ctypes.c_void_p(made)

    def _link(self) -> mujoco.Link:
        """Returns the link of a pool whose calls are recorded."""
        before: Any = self._options["_link"]
        lines = dict(line.rsplit("=", 1) for line in before.split("\n"))
        for name in FUNCTIONS:
            recorded = getattr(self._library, f"robotics_bare_{name}")
            lines[name] = str(ctypes.cast(recorded, ctypes.c_void_p).value)
        link = mujoco.Link("\n".join(f"{name}={number}" for name, number in lines.items()))
        link.model, link.kept, link.model_options = before.model, before.kept, before.model_options
        return link

    def _record(
        self,
        task_id: str,
        batches: Sequence[np.ndarray[Any, Any]],
        seed: int,
        max_episode_steps: int | None,
    ) -> None:
        count = len(self.copies)
        with Pool(
            task_id,
            count,
            num_threads=1,
            seed=seed,
            max_episode_steps=max_episode_steps,
            options={**self._options, "_link": self._link()},
        ) as pool:
            for actions in (None, *batches):
                # one environment at a time, of which C is told
                for i in range(count):
                    self._library.robotics_bare_turn(self._loop, i)
                    if actions is None:
                        pool.reset([i])
                    else:
                        pool.step(actions[i : i + 1], [i])
                if not self._library.robotics_bare_end_batch(self._loop):
                    raise MemoryError(f"{task_id}: there is no memory for a recording")

    def __call__(self, batches: int) -> None:
        """Does the next steps of each environment.

        Raises:
            ValueError: so many were not recorded.
        """
        clock = self._package.get_mjcb_time()
        # the bindings' clock, which a C program does not have
        self._package.set_mjcb_time(None)
        with mujoco.capture_warnings():
            played = self._library.robotics_bare_play(self._loop, batches)
        self._package.set_mjcb_time(clock)
        if played != batches:
            raise ValueError(f"{played} batches are left of the recording, not {batches}")

    def difference(self, pool: Pool) -> str | None:
        """Returns which numbers of a pool's environments differ from those here; None: none do.

        Args:
            pool: of the same task, seed and time limit, after as many steps with the same actions.
        """
        shown = np.ones(self._model.nq, np.bool_)
        places = {
            joint.name: joint.qposadr[0]
            for joint in map(self._model.joint, range(self._model.njnt))
        }
        if TARGET in places:
            shown[places[TARGET] :][:7] = False
        theirs = self._package.MjData(self._model)
        for i, ours in enumerate(self.copies):
            write_state(pool, i, theirs._address)
            for name, chosen in (("qpos", shown), ("qvel", ...)):
                pair = [getattr(data, name)[chosen] for data in (ours, theirs)]
                if not np.array_equal(*pair):
                    return f"{name} of environment {i} is {pair[0]}, the pool's {pair[1]}"
        return None

    def close(self) -> None:
        """Frees the recording."""
        self._library.robotics_bare_destroy(self._loop)
