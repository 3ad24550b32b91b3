"""NumPy names: lets NumPy 1.26 and NumPy 2 read each other's pickles.

Pickled arrays and scalars name functions of `numpy._core`, which NumPy 1.26 has as `numpy.core`.
NumPy 2 still finds them there, with a warning for each.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

# the modules, and their functions that pickles name
NAMES = {"multiarray": ("_reconstruct", "scalar"), "numeric": ("_frombuffer",)}


def is_old() -> bool:
    """Returns whether this process has a NumPy before 2."""
    return int(np.__version__.partition(".")[0]) < 2


def understand() -> None:
    """Lets this process read what NumPy 2 has pickled."""
    if is_old():
        for name in NAMES:
            sys.modules[f"numpy._core.{name}"] = importlib.import_module(f"numpy.core.{name}")


def speak() -> None:
    """Makes this process, a worker, pickle as NumPy 2 does."""
    if is_old():
        for name, functions in NAMES.items():
            module: Any = sys.modules[f"numpy._core.{name}"]
            for function in functions:
                getattr(module, function).__module__ = f"numpy._core.{name}"
