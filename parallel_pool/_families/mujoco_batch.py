"""Batches of one MuJoCo model, `mujoco.batch.Batch`, whose bound outputs can be restored."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._families import mujoco as family
from parallel_pool._native import ffi, lib
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

# the first version of MuJoCo with mujoco.batch
MIN_VERSION = "4.0"
INSTALL = "pip install 'parallel_pool[mujoco-batch]'"
# warnings after which MuJoCo has reset a simulation
DIVERGENCES = ("mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC")
# the number of warnings, in the last axis of `Batch.warning`
COUNT = 1


def import_batch() -> Any:
    """Returns the module `mujoco.batch`.

    Raises:
        MissingDependencyError: MuJoCo is missing, or older than 4.0.
    """
    mujoco = family.import_mujoco(INSTALL)
    # a broken installation may have the file of another version
    is_older = int(mujoco.__version__.partition(".")[0]) < int(MIN_VERSION.partition(".")[0])
    try:
        if is_older:
            raise ImportError("mujoco.batch")
        from mujoco import batch  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingDependencyError(
            f"tasks on mujoco.batch need MuJoCo {MIN_VERSION} or newer, and {mujoco.__version__} is"
            f" installed: {INSTALL}"
        ) from error
    return batch


def load_model(model: Any) -> Any:
    """Returns the MjModel of a path, of a text in MJCF, or of an MjModel, which is returned itself.

    Raises:
        TypeError: it is none of these.
        OSError: there is no such file.
        ValueError: MuJoCo refuses it.
    """
    mujoco = family.import_mujoco()
    if isinstance(model, mujoco.MjModel):
        return model
    if isinstance(model, str) and model.lstrip().startswith("<"):
        with family.capture_warnings():
            try:
                return mujoco.MjModel.from_xml_string(model)
            except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
                raise ValueError(f"MuJoCo refuses the model: {error}") from error
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(
            f"model={quote(model)} is {a_type(model)}: give a path, a text in MJCF or an MjModel"
        )
    path = Path(os.fsdecode(model)).expanduser()
    if not path.is_file():
        raise OSError(f"model={quote(str(path))}: there is no such file")
    return family.load(path, switches=False)[0]


def make_batch(model: Any, count: int, num_threads: int, persistent: bool) -> Any:
    """Returns a `mujoco.batch.Batch` of `count` simulations.

    Args:
        model: the MjModel.
        count: simulations.
        num_threads: threads, the caller's included; 0 for the cores this process may use.
        persistent: whether each simulation has an MjData of its own.
    """
    threads = num_threads or lib.pp_usable_cores(ffi.NULL)
    return _batch_type()(model, count, min(threads, count), persistent)


@cache
def _batch_type() -> Any:
    module = import_batch()

    class BoundBatch(module.Batch):  # type: ignore[misc, name-defined]
        """A batch that remembers which outputs were bound, and the views of fields."""

        def __getattr__(self, name: str) -> Any:
            found = super().__getattr__(name)
            # the next time it is an attribute as any other, which takes a twentieth of the time
            self.__dict__[name] = found
            return found

        def bind(self, name: str) -> Any:
            found = super().bind(name)
            # state fields are views of the rows, which are kept as a whole
            if not found.flags.writeable:
                self.__dict__.setdefault("outputs", {})[name] = found
            return found

    return BoundBatch


def outputs(batch: Any) -> dict[str, Array]:
    """Returns the outputs of a batch of `make_batch` that were bound, as arrays to write to."""
    found = {}
    for name, array in sorted(batch.__dict__.get("outputs", {}).items()):
        writable = array.view()
        writable.flags.writeable = True
        found[name] = writable
    return found


def divergences(batch: Any) -> Array:
    """Returns the numbers of warnings after which simulations were reset, a live view (n, 3)."""
    first = int(getattr(family.import_mujoco().mjtWarning, DIVERGENCES[0]))
    found: Array = batch.warning[:, first : first + len(DIVERGENCES), COUNT]
    return found


def cursors(model: Any) -> list[tuple[int, int]]:
    """Returns the places in a state row that MuJoCo uses as indices, and what they index."""
    numbers = family.find_cursors(model, family.state_spec())
    count = numbers["cursors"]
    return [(numbers[f"cursor{i}"], numbers[f"cursor{i}_length"]) for i in range(count)]


def needs_constants(fields: Sequence[str]) -> bool:
    """Returns whether MuJoCo computes other values of the model from one of these fields."""
    inputs = family.import_mujoco().MjModel._setconst_inputs
    return any(name in inputs or name.startswith("opt.") for name in fields)


def control_bounds(model: Any) -> tuple[Array, Array]:
    """Returns the least and the greatest number of each control, float32 (nu,).

    From -1 to 1 for a control without a range.
    """
    ranges = np.array(model.actuator_ctrlrange, np.float32).reshape(-1, 2)
    is_limited = np.array(model.actuator_ctrllimited, np.bool_).reshape(-1)
    low = np.where(is_limited, ranges[:, 0], np.float32(-1))
    high = np.where(is_limited, ranges[:, 1], np.float32(1))
    return low.astype(np.float32), high.astype(np.float32)


def digest(model: Any) -> str:
    """Returns a digest of a model's compiled form and of MuJoCo's version."""
    mujoco = family.import_mujoco()
    image = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, image)
    return hashlib.sha256(image.tobytes() + mujoco.__version__.encode()).hexdigest()[:16]


def data_of(batch: Any, env_id: int) -> tuple[Any, Any]:
    """Returns copies of a simulation's MjModel and MjData, on which mj_forward was called."""
    mujoco = family.import_mujoco()
    model, data = batch.get_model(env_id), batch.get_data(env_id)
    mujoco.mj_forward(model, data)
    return model, data
