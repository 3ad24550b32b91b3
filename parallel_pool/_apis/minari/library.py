"""Minari and h5py, which may not be installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from parallel_pool._apis.common.dependencies import install
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


class Library(NamedTuple):
    """What recording uses.

    Attributes:
        minari: the package.
        storage: Minari's class of HDF5 files.
        buffer: Minari's class of one episode.
        path_of: returns the folder of a dataset, which may not be there.
        parse_id: returns the parts of a dataset's id; raises ValueError for others.
        write_space: returns a space as a text; raises NotImplementedError for some.
        h5py: the package.
    """

    minari: ModuleType
    storage: Any
    buffer: Any
    path_of: Callable[[str], Path]
    parse_id: Callable[[str], Any]
    write_space: Callable[[Any], Any]
    h5py: ModuleType


@cache
def load() -> Library:
    """Imports them.

    Raises:
        MissingDependencyError: one is not installed.
    """
    try:
        import h5py
        import minari
        from minari.data_collector.episode_buffer import EpisodeBuffer

        # imports Pillow
        from minari.dataset._storages import hdf5_storage
        from minari.dataset.minari_dataset import parse_dataset_id
        from minari.serialization import serialize_space
        from minari.storage.datasets_root_dir import get_dataset_path
    except ImportError as error:
        raise MissingDependencyError(
            f"recording needs Minari, h5py and Pillow ({error}): {install('minari')}"
        ) from error
    storage = hdf5_storage.HDF5Storage
    return Library(
        minari,
        storage,
        EpisodeBuffer,
        get_dataset_path,
        parse_dataset_id,
        serialize_space,
        h5py,
    )
