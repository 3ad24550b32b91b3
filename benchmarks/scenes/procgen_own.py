"""Procgen's own loop: one handle of its library for all environments, as ProcgenGym3Env makes it.

Importing procgen needs an old gym, so the library is called through ctypes, with the calls of
gym3's CEnv: actions are copied in, libenv_act, libenv_observe, and arrays are copied out.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

from parallel_pool._bench.contender import Task, contender
from parallel_pool._bench.rivals import Stepping
from parallel_pool._bench.rounds import Player
from parallel_pool._families import procgen

UINT8, INT32 = 1, 2
FRAME = (64, 64, 3)
FLAGS = {"use_backgrounds": 1, "center_agent": 1, "render_human": 0}


class Option(ctypes.Structure):
    """libenv_option of csrc/envs/procgen/library.h."""

    _fields_ = (
        ("name", ctypes.c_char * 128),
        ("dtype", ctypes.c_int32),
        ("count", ctypes.c_int32),
        ("data", ctypes.c_void_p),
    )


class Options(ctypes.Structure):
    """libenv_options."""

    _fields_ = (("items", ctypes.POINTER(Option)), ("count", ctypes.c_int32))


class OwnLoop:
    """Steps environments of one game, distribution_mode "hard", as ProcgenGym3Env does."""

    def __init__(self, game: str, num: int, num_threads: int) -> None:
        addresses = dict(
            zip(procgen.NAMES, struct.unpack(f"{len(procgen.NAMES)}P", procgen.link()), strict=True)
        )
        handle = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        self._act = handle(addresses["libenv_act"])
        self._observe = handle(addresses["libenv_observe"])
        self._close = handle(addresses["libenv_close"])
        make = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int32, Options)
        set_buffers = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self._kept: list[Any] = []
        options = self._options(game, num_threads)
        self._handle = make(addresses["libenv_make"])(num, options)
        self._obs = np.zeros((num, *FRAME), np.uint8)
        self._reward, self._first = np.zeros(num, np.float32), np.zeros(num, np.bool_)
        self._actions = np.zeros(num, np.int32)
        self._infos = [np.zeros(num, dtype) for dtype in (np.int32, np.uint8, np.int32)]
        buffers = (ctypes.c_void_p * 5)(
            self._pointers(self._obs),
            self._reward.ctypes.data,
            self._first.ctypes.data,
            self._pointers(*self._infos),
            self._pointers(self._actions),
        )
        self._kept.append(buffers)
        set_buffers(addresses["libenv_set_buffers"])(self._handle, ctypes.addressof(buffers))
        self._observe(self._handle)

    def _pointers(self, *arrays: np.ndarray[Any, Any]) -> int:
        found = [array[i : i + 1].ctypes.data for array in arrays for i in range(len(array))]
        pointers = (ctypes.c_void_p * len(found))(*found)
        self._kept.append(pointers)
        return ctypes.addressof(pointers)

    def _options(self, game: str, num_threads: int) -> Options:
        integers = {"num_levels": 0, "start_level": 0, "num_actions": 15, "rand_seed": 1}
        integers |= {"num_threads": num_threads, "distribution_mode": 1}
        texts = {"env_name": game, "resource_root": procgen.assets()}
        values: list[tuple[str, int, int, Any]] = [
            *((n, INT32, 1, ctypes.c_int32(v)) for n, v in integers.items()),
            *((n, UINT8, 1, ctypes.c_uint8(v)) for n, v in FLAGS.items()),
            *(
                (n, UINT8, len(t), ctypes.create_string_buffer(t.encode()))
                for n, t in texts.items()
            ),
        ]
        items = (Option * len(values))(
            *(Option(n.encode(), kind, count, ctypes.addressof(v)) for n, kind, count, v in values)
        )
        self._kept += [items, values]
        return Options(items, len(values))

    def step(self, actions: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """Takes one action for each environment, int (num,); returns copies, as gym3 does."""
        self._actions[:] = actions
        self._act(self._handle)
        self._observe(self._handle)
        return self._reward.copy(), self._obs.copy(), self._first.copy()

    def close(self) -> None:
        """Ends the library's threads."""
        self._close(self._handle)


def own_loop(task: Task, num_threads: int) -> OwnLoop:
    """Returns the library's loop over a task's environments."""
    game = task.task_id.removeprefix("procgen-").removesuffix("-v0")
    game = game.removesuffix("Hard").lower()
    return OwnLoop(game, task.num_envs, num_threads)


@contender("Procgen's own loop", "procgen", package="procgen-mirror", tunable=True, parts=1)
def procgen_loop(task: Task) -> Player:
    """`ProcgenGym3Env` as it is stepped, on the task's number of the library's own threads."""
    return Stepping(own_loop(task, task.num_threads), task.actions(np.int32), task.num_envs)
