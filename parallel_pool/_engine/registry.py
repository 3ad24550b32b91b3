"""The registry of native environments: built-in ones, and those loaded at run time."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.specs import Definition
from parallel_pool._native import ffi, lib, new_error, raise_error

if TYPE_CHECKING:
    import os

# ids of ale-py that are older than ALE/<Game>-v5; ale-py still has some of them
OLD_GAME = re.compile(
    r"(?P<game>[A-Z][A-Za-z0-9]*?)(-ram)?(NoFrameskip|Deterministic|)(-ram)?-v([04])"
)


# digits of a version
MOST_DIGITS = 9


class Family(NamedTuple):
    """What a family of environments has in Python: names of modules, which are imported when used.

    Attributes:
        options: the module whose function `fill_options(definition, options)` adds what the family
            needs (ROM files, models) to options; None if options are all that it needs.
        can_refuse: whether that module has `unavailable_reason()`, which looks at the installed
            packages.
        fills_resets: whether it has `fill_reset(definition, options)`, which returns the options of
            a reset in the form that C takes. It raises TypeError for those that it can explain
            better than that they are unknown.
        renderer: the module with `Renderer(pool, mode, **options)`, `OPTIONS` (those options and
            their defaults), `modes(definition)` and `render_fps(pool)`, None for no rate; None if C
            draws, or nothing does.
        copies: the module whose `Copies(pool)` has the environments as objects in Python; None if
            there are none.
    """

    options: str | None = None
    can_refuse: bool = False
    fills_resets: bool = False
    renderer: str | None = None
    copies: str | None = None


NO_FAMILY = Family()
# by name; `parallel_pool._families` adds them
families: dict[str, Family] = {}


class Origin(NamedTuple):
    """Where a definition was loaded from.

    Attributes:
        id: of the environment.
        library: absolute path of the shared library, as bytes.
        symbol: name of the definition in it.
        source: the file from which `load_source` built the library, "" for a library of the user's.
    """

    id: str
    library: bytes
    symbol: str
    source: str = ""


# what was loaded at run time, by id
loaded_by_id: dict[str, Definition] = {}
origins_by_id: dict[str, Origin] = {}
# the entry point of the class in Python that a definition was made of, by id: the definition stands
# for it where the program has registered the class with Gymnasium
entry_points_by_id: dict[str, str] = {}
# why a definition that another process had loaded can't be loaded here, by id
_missing: dict[str, str] = {}

# functions that are called with each definition that is loaded
after_load: list[Callable[[Definition], None]] = []


@cache
def builtin() -> Mapping[str, Definition]:
    """Returns the built-in definitions by id."""
    count = ffi.new("int32_t *")
    table = lib.pp_env_table(count)
    found = (Definition(table[i]) for i in range(count[0]))
    return {definition.id: definition for definition in found}


@cache
def _registered() -> Mapping[str, Definition]:
    """Returns the built-in definitions; ids with a leading "_" are internal and left out."""
    return {env_id: it for env_id, it in builtin().items() if not env_id.startswith("_")}


def definitions() -> dict[str, Definition]:
    """Returns every definition by id, those loaded at run time included."""
    return {**_registered(), **loaded_by_id}


def loaded() -> list[Definition]:
    """Returns the definitions that were loaded at run time."""
    return list(loaded_by_id.values())


def find(task_id: str) -> Definition:
    """Returns the definition of an id.

    Raises:
        ValueError: there is none; the message names similar ids.
    """
    known = definitions()
    if task_id in known:
        return known[task_id]
    raise ValueError(f"no environment {quote(task_id)}: {hint(task_id)}")


def hint(env_id: Any) -> str:
    """Returns a suggestion for an id that is not native; a clause for an error message."""
    if env_id in _missing:
        return _missing[env_id]
    known = {each: it for each, it in definitions().items() if it.family != "test"}
    if is_old_game(env_id):
        return _hint_of_game(env_id)
    in_python = _python_ids()
    name, version = _split(str(env_id))
    same = [each for each in known if _split(each)[0] == name]
    # the requested version first, then the newest
    same.sort(key=lambda each: (_split(each)[1] != version, -_split(each)[1]))
    # a game may have the name of one of Gymnasium's environments
    is_game = same and not any(each in in_python for each in same if "/" not in each)
    if env_id in in_python and (is_game or not same):
        return _hint_of_python(env_id)
    if same:
        return f"did you mean {' or '.join(same[:3])}?"
    elsewhere = [each for each in in_python if _split(each)[0] == name]
    if elsewhere:
        return _hint_of_python(max(elsewhere, key=lambda each: _split(each)[1]))
    by_name = {each.lower(): each for each in known}
    near = difflib.get_close_matches(str(env_id).lower(), by_name, n=3)
    if near:
        return f"did you mean {' or '.join(by_name[each] for each in near)}?"
    return "see parallel_pool.list_all_envs()"


def _split(task_id: str) -> tuple[str, int]:
    """Returns an id's name in a normal form (lower case, no punctuation), and its version or -1."""
    name, _, version = task_id.rpartition("/")[2].rpartition("-v")
    # Python converts no more than 4300 digits
    if not version.isdecimal() or not name or len(version) > MOST_DIGITS:
        name, version = task_id.rpartition("/")[2], "-1"
    return "".join(filter(str.isalnum, name)).lower(), int(version)


def is_old_game(env_id: Any) -> bool:
    """Returns whether an id is one of ale-py's from before ALE/<Game>-v5."""
    found = OLD_GAME.fullmatch(env_id) if isinstance(env_id, str) else None
    return found is not None and f"ALE/{found['game']}-v5" in builtin()


def _hint_of_game(task_id: str) -> str:
    """Returns a suggestion for an id of ale-py from before ALE/<Game>-v5."""
    found = OLD_GAME.fullmatch(task_id)
    assert found is not None
    game, _, skip, _, version = found.groups()
    is_ram = "-ram" in task_id
    frames = {"NoFrameskip": "1", "Deterministic": "4"}.get(skip, "(2, 5)")
    options = f"frameskip={frames}, repeat_action_probability={0.25 if version == '0' else 0.0}"
    if is_ram:
        options += ", obs_type='ram'"
    text = f"use ALE/{game}-v5 with {options}"
    if is_ram or skip == "Deterministic":
        return f"ale-py no longer has this id: {text}"
    return f"{text}; parallel_pool.make_vec takes this id if ale-py is installed"


def _hint_of_python(task_id: str) -> str:
    return (
        f"Gymnasium has {task_id} in Python: parallel_pool.make_vec({quote(task_id)}, num_envs)"
        " runs it in worker processes"
    )


def _python_ids() -> list[str]:
    """Returns the ids of Gymnasium's Python environments; [] without Gymnasium."""
    try:
        import gymnasium
    except ImportError:
        return []
    # an entry point of this package is that of a native environment
    return [
        each
        for each, spec in gymnasium.registry.items()
        if spec.entry_point is not None
        and not str(spec.entry_point).startswith(f"{__name__.partition('.')[0]}.")
    ]


def load(path: str | os.PathLike[str], symbol: str) -> Definition:
    """Loads the user's own environment from a shared library, and registers it under its id.

    Args:
        path: the library, compiled against the headers in `parallel_pool.get_include()`.
        symbol: the name of its `pp_env_def`, such as "pp_env_maze".

    Returns:
        The definition, which `Pool` takes as well as its id.

    Raises:
        TypeError: the path or the symbol is not a string.
        ValueError: the library or the symbol does not exist, the library was compiled against
            another ABI, a member of the definition is invalid, or the id is taken.

    Example:
        >>> flags = ["-shared", "-fPIC", f"-I{parallel_pool.get_include()}"]
        >>> done = subprocess.run(["cc", *flags, "maze.c", "-o", "maze.so"], check=True)
        >>> definition = parallel_pool.load("maze.so", "pp_env_maze")
        >>> with parallel_pool.Pool(definition, 4) as pool:
        ...     pool.reset(seed=1).env_id
        array([0, 1, 2, 3], dtype=int32)
    """
    definition, library = open_library(path, symbol)
    add({Origin(definition.id, library, symbol): definition})
    return definition


def open_library(path: str | os.PathLike[str], symbol: str) -> tuple[Definition, bytes]:
    """Returns a definition of a shared library, and the library's absolute path.

    Raises:
        TypeError, ValueError: as `load` does, but for an id that is taken.
    """
    import os

    if not isinstance(symbol, str):
        raise TypeError(f"symbol={quote(symbol)} is {a_type(symbol)}: give a string")
    if not (symbol.isascii() and symbol.isidentifier()):
        raise ValueError(f"symbol={quote(symbol)}: give the name of a pp_env_def in C")
    out = ffi.new("const pp_env_def **")
    error = new_error()
    # the system would look for a name without a slash in its own folders
    where = os.fsencode(os.path.abspath(path))
    if b"\0" in where:
        raise ValueError(f"path={quote(path)} holds a zero byte: give the name of a file")
    status = lib.pp_env_load(where, symbol.encode(), out, error)
    if status < 0:
        raise_error(status, error)
    return Definition(out[0]), where


def add(found: Mapping[Origin, Definition]) -> None:
    """Registers definitions under their ids, all or none.

    A definition from a source file replaces an older one from the same file, for pools that are
    made from now on: libraries are never unloaded, so existing pools keep the code that they have.

    Raises:
        ValueError: an id is taken.
    """
    for origin, definition in found.items():
        old = definitions().get(origin.id)
        before = origins_by_id.get(origin.id)
        is_newer = origin.source and before is not None and before.source == origin.source
        if old is None or old.raw == definition.raw or is_newer:
            continue
        if origin.source:
            whose = f"{before.source or _path(before)} defines it" if before else "it is built in"
            raise ValueError(
                f"{origin.source}: the id {quote(origin.id)} is taken, {whose}: choose another"
            )
        raise ValueError(f"{_path(origin)}: the id {quote(origin.id)} is taken: choose another")
    for origin, definition in found.items():
        _missing.pop(origin.id, None)
        old = loaded_by_id.get(origin.id)
        origins_by_id[origin.id] = origin
        # the same object as before, if nothing has changed: a second call does nothing
        if old is None or old.raw != definition.raw:
            loaded_by_id[origin.id] = definition
        for notify in after_load:
            notify(loaded_by_id[origin.id])


def add_made(definition: Definition) -> None:
    """Registers a definition that was made in this process, under an id that is free."""
    loaded_by_id[definition.id] = definition
    for notify in after_load:
        notify(definition)


def _path(origin: Origin) -> str:
    return origin.library.decode(errors="replace")


def origins() -> list[Origin]:
    """Returns where this process's definitions were loaded from, for `remember` in another."""
    return [origin for env_id, origin in origins_by_id.items() if env_id in loaded_by_id]


def remember(origins: Iterable[Origin]) -> None:
    """Loads definitions that the process which started this one had loaded.

    If that is not possible, for example on another machine, the error for the id says why.
    """
    for origin in origins:
        if origin.id in loaded_by_id:
            continue
        try:
            definition, _ = open_library(origin.library, origin.symbol)  # type: ignore[arg-type]
            add({origin: definition})
        except (ValueError, OSError) as error:
            _missing[origin.id] = (
                f"the program has loaded it from {origin.source or _path(origin)}, and this process"
                f" can't: {error}; put the file where every machine finds it, such as a shared"
                " folder, or call parallel_pool.load or load_source here"
            )


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the data that the family adds to them (for Atari: the ROM)."""
    module = _family(definition).options
    if module is None:
        return dict(options)
    function: Callable[[Definition, Mapping[str, Any]], dict[str, Any]]
    function = importlib.import_module(module).fill_options
    return function(definition, options)


def fill_reset(definition: Definition, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns options of a reset in the form that C takes.

    Raises:
        TypeError, ValueError: the family refuses one for reasons of its own.
    """
    family = _family(definition)
    if family.options is None or not family.fills_resets:
        return options
    function: Callable[[Definition, Mapping[str, Any]], Mapping[str, Any]]
    function = importlib.import_module(family.options).fill_reset
    return function(definition, options)


def unavailable_reason(definition: Definition) -> str | None:
    """Returns why installed packages can't run a native environment, a clause; None if they can.

    A package that is not installed is no reason: its absence is an error, which names the cure.
    """
    family = _family(definition)
    if family.options is None or not family.can_refuse:
        return None
    function: Callable[[], str | None] = importlib.import_module(family.options).unavailable_reason
    return function()


def renderer_module(definition: Definition) -> Any:
    """Returns the module that draws a definition's family, None if there is none."""
    module = _family(definition).renderer
    return None if module is None else importlib.import_module(module)


def copies_of(pool: Any) -> Any:
    """Returns what has a pool's environments as objects in Python, None if there is no such."""
    module = _family(pool.definition).copies
    return None if module is None else importlib.import_module(module).Copies(pool)


def _family(definition: Definition) -> Family:
    return families.get(definition.family, NO_FAMILY)
