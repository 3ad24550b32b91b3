"""Load: translates environments in Python, has them compiled, and registers them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parallel_pool._engine import registry
from parallel_pool._engine.arguments import a_type, named, quote
from parallel_pool._source import cache, folders, load
from parallel_pool._translator import files, verification
from parallel_pool._translator.refusal import Refusal
from parallel_pool.errors import SourceError

# programs that are kept, of some 30 KB each
MAX_KEPT_PROGRAMS = 1000


@dataclass(frozen=True)
class Translated:
    """A class that was translated.

    Attributes:
        cls: the class.
        task_id: its id.
        limit: the time limit with which Gymnasium knows it; None: none.
        path: the C file.
        symbol: of the definition in it.
        file: the user's.
        options: with which it was translated.
    """

    cls: type
    task_id: str
    limit: int | None
    path: Path
    symbol: str
    file: Path
    options: dict[str, Any]


def load_source(path: str | os.PathLike[str]) -> list[str]:
    """Compiles a file in Python, C or C++, and loads all environments that it defines.

    A Python file holds classes that inherit from `gymnasium.Env`, or from `pettingzoo.ParallelEnv`.
    They are translated to C (see `compile`); the ids are those under which the file registers them
    with Gymnasium, or the name of the class with "-v0".

    The library is kept in the user's cache (`$XDG_CACHE_HOME`, or `~/.cache`), and is compiled
    again only if the file, a header that it includes, the compiler, CFLAGS (CXXFLAGS), LDFLAGS or
    parallel_pool's headers have changed. The compiler is that of CC (CXX), or the system's. What it
    warns of goes to stderr. A cache in which another user could put a library is not used;
    `folders` says what is checked. A compiler has 120 seconds, or those of PP_COMPILE_TIMEOUT.

    If the file has changed since it was loaded, its environments replace the older ones in pools
    that are made from now on. Pools that exist keep the code that they were made with.

    Args:
        path: the file; in C with a definition whose line begins
            `const pp_env_def pp_env_NAME = {` (in C++ `extern "C" const pp_env_def ...`).

    Returns:
        The ids, which every API takes, in the order of the file.

    Raises:
        SourceError: the file can't be read, is no regular file, can't be translated (the message
            names file, line, reason and cure), does not compile (the message ends in what the
            compiler printed), or defines no environment; or the compiler does not end.
        ValueError: a definition is invalid, or its id is taken.
        MissingDependencyError: there is no compiler.
        TypeError: path is not a string or a path.

    Example:
        >>> parallel_pool.load_source("corridor.c")
        ['Corridor-v0']
        >>> envs = parallel_pool.make_vec("Corridor-v0", 4)
        >>> envs.backend
        'native'
        >>> envs.close()
    """
    source = Path(os.fsdecode(path))
    if source.suffix != ".py":
        return load.load_source(source)
    return [task_id for each in translate_file(source) for task_id in load_translated(each)]


def compile(cls: type, /, task_id: str | None = None, **options: Any) -> list[str]:
    """Translates a class of environments from Python to C, compiles and loads it.

    The class stays as it is: plain Python, the form to debug, and the reference whose results the
    compiled form has, bit by bit, for the same seed and actions. Numbers among the arguments of
    `__init__` become options of the id. What can't be translated is an error that says where, why,
    and what to write instead; nothing runs in Python in silence. Needs a C compiler, as
    `load_source` does, and no other package.

    Args:
        cls: a class that inherits from `gymnasium.Env`, in a file. `gymnasium.Env.reset` seeds
            `self.np_random`, which is the only source of random numbers. Or one that inherits from
            `pettingzoo.ParallelEnv`, whose `reset` makes a generator of its seed.
        task_id: the id; None: that under which Gymnasium knows the class, or the class's name with
            "-v0".
        **options: arguments of `__init__` that the id shall have, besides the defaults.

    Returns:
        The id, in a list as `load_source` returns it.

    Raises:
        SourceError: it can't be translated or compiled.
        ValueError: the id is taken.
        MissingDependencyError: there is no compiler.
        TypeError: cls is no class of environments.

    Example:
        >>> from cart import Cart
        >>> parallel_pool.compile(Cart)
        ['Cart-v0']
    """
    from parallel_pool._translator import reader

    if not reader.is_environment(cls):
        raise TypeError(
            f"cls={quote(cls)} is {a_type(cls)}: give a class of gymnasium.Env's, or of"
            " pettingzoo.ParallelEnv's"
        )
    return load_translated(_translate(cls, task_id, options))


def translate_file(path: Path) -> list[Translated]:
    """Translates all environments of a Python file.

    Raises:
        SourceError: one can't be translated, or there is none.
    """
    from parallel_pool._translator import reader

    classes = reader.environments(files.import_file(path))
    if not classes:
        raise SourceError(
            f"{named(path)} defines no environment: a class of it must inherit from gymnasium.Env,"
            " or from pettingzoo.ParallelEnv"
        )
    return [_translate(cls, None, {}) for cls in classes]


def _translate(cls: type, task_id: str | None, options: dict[str, Any]) -> Translated:
    found_id, limit, threshold = _registered(cls)
    return translate(cls, task_id or found_id, limit, threshold, options)


def translate(
    cls: type,
    task_id: str,
    limit: int | None,
    threshold: float | None,
    options: dict[str, Any],
) -> Translated:
    """Translates a class, and writes the C file.

    Args:
        cls: the class.
        task_id: the id.
        limit: the id's steps of an episode; None: no limit.
        threshold: the id's return at which the task counts as solved.
        options: arguments of the constructor that the id shall have, besides the defaults.

    Raises:
        SourceError: it can't be translated.
    """
    from parallel_pool._translator import translation

    for name, value in options.items():
        _check_kept(cls, name, value)
    try:
        made = translation.translate(cls, task_id, limit, threshold, options)
    except Refusal as refusal:
        raise SourceError(str(refusal)) from None
    file = Path(made.about["file"])
    return Translated(
        cls, task_id, limit, _write(made.symbol, made.text), made.symbol, file, options
    )


def _check_kept(cls: type, name: str, value: Any) -> None:
    """Raises SourceError for an option that other processes could not read from the library."""
    from parallel_pool._translator.equality import is_equal
    from parallel_pool._translator.options import plain

    try:
        is_kept = is_equal(json.loads(json.dumps(value)), plain(value))
    except (TypeError, ValueError):
        is_kept = False
    if not is_kept:
        raise SourceError(
            f"{cls.__name__}({name}={quote(value)}): a translation keeps options that are numbers,"
            " texts, None, lists, tuples, and dicts with texts as keys: give such a value, or make"
            " it in __init__"
        )


def load_translated(made: Translated, library: Path | None = None) -> list[str]:
    """Compiles and loads a class that was translated; returns its id, in a list.

    Args:
        made: the class.
        library: made of its C file; None: the cache's.

    Raises:
        SourceError: it does not compile, or does not return what the class returns.
    """
    library = library or cache.build(made.path).library
    files.classes_by_id[made.task_id] = made.cls
    definition, _ = registry.open_library(library, made.symbol)
    marker = made.path.with_suffix(".verified")
    verification.verify(made.cls, definition, made.options, marker)
    ids = load.load_built(made.path, library, made.file)
    for each in ids:
        registry.entry_points_by_id[each] = f"{made.cls.__module__}:{made.cls.__qualname__}"
    return ids


def _write(symbol: str, text: str) -> Path:
    """Writes a C file into the cache, or where libraries go without one; returns its path.

    Its name depends on its text: another process may translate the class with other options.

    Raises:
        SourceError: no folder can hold it.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    name = f"{symbol.removeprefix('pp_env_')}-{digest}.c"
    refused: list[str] = []
    for each in (*folders.roots(), None):
        try:
            # not before the others are refused: it is made for this process alone
            root = each or folders.fresh()
            folder = root.path / "translated"
            if reason := folders.make(folder, root):
                refused.append(reason)
                continue
            return _put(folder / name, text)
        except OSError as error:
            where = named(each.path if each else tempfile.gettempdir())
            refused.append(f"{where}: {error.strerror or error}")
    raise SourceError(
        f"no folder for translated environments ({'; '.join(refused)}): let XDG_CACHE_HOME name one"
        " that can be written, by you alone"
    )


def _put(path: Path, text: str) -> Path:
    """Writes a file, all of it or none, unless it is there; returns its path."""
    with contextlib.suppress(OSError):
        # another process that removes old programs must see that this one is in use
        os.utime(path)
    if path.exists():
        return path
    partial = path.with_suffix(f".{os.getpid()}")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
    _prune(path.parent)
    return path


def _prune(folder: Path) -> None:
    """Removes the programs that were used least recently, beyond those that are kept."""
    dated = []
    safe = time.time_ns() - cache.SAFE_AGE
    for path in folder.glob("*.c"):
        with contextlib.suppress(OSError):
            dated.append((path.stat().st_mtime_ns, path))
    for changed, path in sorted(dated, reverse=True)[MAX_KEPT_PROGRAMS:]:
        # another process may be about to compile it
        if changed > safe:
            continue
        for each in (path.with_suffix(".verified"), path):
            with contextlib.suppress(OSError):
                each.unlink()


def _registered(cls: type) -> tuple[str, int | None, float | None]:
    """Returns the id, time limit and threshold with which Gymnasium knows a class."""
    import gymnasium

    for spec in gymnasium.registry.values():
        entry_point: Any = spec.entry_point
        if entry_point is cls or entry_point == f"{cls.__module__}:{cls.__name__}":
            return spec.id, spec.max_episode_steps, spec.reward_threshold
    return f"{cls.__name__}-v0", None, None
