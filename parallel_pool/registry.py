"""The environments at hand: the built-in ones, and those loaded at run time."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from parallel_pool._native import ffi, lib, new_error, raise_error
from parallel_pool.arguments import shown
from parallel_pool.specs import Definition

if TYPE_CHECKING:
    import os

# Families that need something from Python (ROM files, models) before they can be configured: the
# module whose `complete(definition, options)` returns the options with those filled in.
COMPLETERS = {
    "ale": "parallel_pool.envs.ale",
    "atari": "parallel_pool.envs.atari",
    "mujoco": "parallel_pool.envs.mujoco",
}

# Families whose pictures are drawn in Python: the module with `Painter(pool, mode, **options)`, the
# defaults of those `OPTIONS`, the `MODES`, and `render_fps(pool)`.
PAINTERS = {"mujoco": "parallel_pool.envs.mujoco_painter"}

_loaded: dict[str, Definition] = {}


@cache
def builtin() -> Mapping[str, Definition]:
    """Returns the built-in definitions by id."""
    count = ffi.new("int32_t *")
    table = lib.pp_env_table(count)
    found = (Definition(table[i]) for i in range(count[0]))
    return {definition.id: definition for definition in found}


@cache
def _shown() -> Mapping[str, Definition]:
    """Returns the built-in definitions but those of one face alone, whose ids begin with "_"."""
    return {env_id: it for env_id, it in builtin().items() if not env_id.startswith("_")}


def definitions() -> dict[str, Definition]:
    """Returns every definition by id, those loaded at run time included."""
    return {**_shown(), **_loaded}


def find(env_id: str) -> Definition:
    """Returns the definition of an id.

    Raises:
        ValueError: there is none; the message names the nearest ids.
    """
    known = definitions()
    if env_id in known:
        return known[env_id]
    near = difflib.get_close_matches(str(env_id), known, n=3)
    hint = f": did you mean {' or '.join(near)}?" if near else ": see parallel_pool.list_all_envs()"
    raise ValueError(f"no environment {env_id!r}{hint}")


def load(path: str | os.PathLike[str], symbol: str) -> Definition:
    """Loads an environment of one's own from a shared library, and registers it under its id.

    Args:
        path: the library, compiled against the headers in `parallel_pool.get_include()`.
        symbol: the name of its `pp_env_def`, such as "pp_env_maze".

    Raises:
        TypeError: the path or the symbol is no string.
        ValueError: the library or the symbol is not there, it was compiled against another ABI, a
            member of the definition can't work, or the id is taken.
    """
    import os

    if not isinstance(symbol, str):
        raise TypeError(f"symbol={shown(symbol)} is a {type(symbol).__name__}: give a string")
    if not (symbol.isascii() and symbol.isidentifier()):
        raise ValueError(f"symbol={shown(symbol)}: give the name of a pp_env_def in C")
    out = ffi.new("const pp_env_def **")
    error = new_error()
    # a name without a slash would be looked for in the system's folders
    where = os.fsencode(os.path.abspath(path))
    if b"\0" in where:
        raise ValueError(f"path={shown(path)} holds a zero: no file's name does")
    status = lib.pp_env_open(where, symbol.encode(), out, error)
    if status < 0:
        raise_error(status, error)
    definition = Definition(out[0])
    old = definitions().get(definition.id)
    if old is not None and old.raw != definition.raw:
        raise ValueError(f"{path}: the id {definition.id!r} is taken: choose another")
    _loaded[definition.id] = definition
    return definition


def complete(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with whatever the family adds to them (Atari: the ROM)."""
    module = COMPLETERS.get(definition.family)
    if module is None:
        return dict(options)
    function: Callable[[Definition, Mapping[str, Any]], dict[str, Any]]
    function = importlib.import_module(module).complete
    return function(definition, options)


def painters(definition: Definition) -> Any:
    """Returns the module that draws a definition's family; None where C does it, or nobody."""
    module = PAINTERS.get(definition.family)
    return None if module is None else importlib.import_module(module)
