"""Target: what a name means, native or in Python, and the environments that are made of it."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool._engine import registry
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.specs import Option
from parallel_pool._prover.script import Case
from parallel_pool._source import cache, toolchain

if TYPE_CHECKING:
    from parallel_pool._translator.load import Translated

SOURCES = (*toolchain.C_SUFFIXES, *toolchain.CPP_SUFFIXES)
LIBRARIES = (".so", ".dylib")
RENDER_MODE = "rgb_array"


@dataclass(frozen=True)
class Facts:
    """What environments say of themselves, without a step.

    Attributes:
        name: the id or the class.
        observation_space, action_space: of one environment.
        limit, threshold: of the registration; None: none.
        options: of a native definition.
        reset_options: names of a native definition's.
        parameters: names of what a class's __init__ takes.
        has_limit: whether there is a registration.
        draws: whether environments make pictures.
    """

    name: str
    observation_space: Any
    action_space: Any
    limit: int | None = None
    threshold: float | None = None
    options: tuple[Option, ...] = ()
    reset_options: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    has_limit: bool = True
    draws: bool = False


# ------------------------------------------------------------------------------------ native --


@dataclass(frozen=True)
class Native:
    """A native environment.

    Attributes:
        file: a source in C, C++ or Python, or a library; "": it is built in, or was loaded.
        name: its id, class or symbol; "": the only one of the file.
        library: made of the source with other flags, loaded in place of the cache's; "": none.
        origin: where the process that names an id had loaded it from, for other processes; None: it
            is built in, or there is a file.
    """

    file: str = ""
    name: str = ""
    library: str = ""
    origin: registry.Origin | None = None

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return self.file or self.name

    @cached_property
    def task_id(self) -> str:
        """The id, under which it is loaded into this process at first use.

        Raises:
            SourceError, MissingDependencyError: it does not compile.
            ValueError: there is none of that name, or several.
        """
        if not self.file:
            registry.remember([self.origin] if self.origin else [])
            return registry.find(self.name).id
        if Path(self.file).suffix in LIBRARIES:
            return registry.load(
                self.file, self.name or _only(toolchain.exported(Path(self.file)), self.file)
            ).id
        from parallel_pool._source import load as sources
        from parallel_pool._translator import load as translator

        source, library = Path(self.file), Path(self.library) if self.library else None
        if source.suffix == ".py":
            return _only(translator.load_translated(self._translated(), library), self.file)
        ids = (
            sources.load_source(source) if library is None else sources.load_built(source, library)
        )
        return _only([each for each in ids if self.name in ("", each)], self.file)

    def prepare(self) -> None:
        """Compiles it, so that errors are those of this process; prints the compiler's warnings.

        Raises:
            SourceError, MissingDependencyError: it does not compile.
            ValueError: a file has no such environment.
        """
        source = self.source()
        if source is not None:
            print(cache.build(source).warnings, file=sys.stderr, end="")

    def _translated(self) -> Translated:
        """Returns the translation of the class in a file in Python."""
        from parallel_pool._translator import load

        made = {each.task_id: each for each in load.translate_file(Path(self.file))}
        names = [key for key, each in made.items() if self.name in ("", key, each.cls.__name__)]
        return made[_only(names, self.file)]

    def source(self) -> Path | None:
        """Returns the file in C that it is compiled from, None if there is none."""
        suffix = Path(self.file).suffix.lower()
        if suffix in SOURCES:
            toolchain.symbols(Path(self.file))
            return Path(self.file)
        if suffix != ".py":
            return None
        return self._translated().path

    def facts(self) -> Facts:
        """Returns what the definition says; it is loaded before."""
        definition = registry.find(self.task_id)
        # all options have their defaults
        envs = self.make(Case(), 1)
        try:
            spaces = envs.single_observation_space, envs.single_action_space
            draws = RENDER_MODE in envs.metadata.get("render_modes", ())
        finally:
            envs.close()
        return Facts(
            definition.id,
            *spaces,
            limit=definition.max_episode_steps or None,
            threshold=definition.reward_threshold,
            options=tuple(each for each in definition.options.values() if not each.is_hidden),
            reset_options=tuple(definition.reset_options),
            draws=draws,
        )

    def make(self, case: Case, num_envs: int) -> Any:
        """Makes environments."""
        from parallel_pool._apis.gymnasium.make import make_vec

        settings: dict[str, Any] = {**case.options}
        if case.limit is not None:
            settings["max_episode_steps"] = case.limit
        if case.pictures:
            settings["render_mode"] = RENDER_MODE
        return make_vec(
            self.task_id,
            num_envs,
            backend="native",
            num_threads=1,
            autoreset_mode=value_of(case.mode),
            **settings,
        )


def _only(names: list[str], file: str) -> str:
    if len(names) == 1:
        return names[0]
    have = ", ".join(names) or "none of that name"
    raise ValueError(f"{file} has {have}: name one environment, as in {file}:NAME")


# ------------------------------------------------------------------------------------ Python --


@dataclass(frozen=True)
class Reference:
    """An environment in Python.

    Attributes:
        task_id: Gymnasium's; "": it is a class or a function.
        make_one: the class or the function that makes one environment.
        limit: steps of an episode of a class.
        folder, module, name: where a program finds the class; the name is "" if it can't. A folder
            that is not "" must be on the path.
    """

    task_id: str = ""
    make_one: Any = None
    limit: int | None = field(default=None, compare=False)
    folder: str = ""
    module: str = ""
    name: str = ""

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return self.task_id or self.name

    @property
    def is_gymnasiums(self) -> bool:
        """Whether every process finds it, because it is Gymnasium's own."""
        found = _gymnasium_ids().get(self.task_id)
        return found is not None and str(found.entry_point).startswith("gymnasium.envs.")

    def facts(self) -> Facts:
        """Returns what an environment says."""
        env = self.single(Case())
        try:
            has_spec = bool(self.task_id)
            return Facts(
                self.task_id or getattr(self.make_one, "__name__", "a function"),
                env.observation_space,
                env.action_space,
                limit=env.spec.max_episode_steps if has_spec else self.limit,
                threshold=env.spec.reward_threshold if has_spec else None,
                parameters=_parameters(type(env.unwrapped)),
                has_limit=has_spec,
                draws=RENDER_MODE in env.metadata.get("render_modes", ()),
            )
        finally:
            env.close()

    def single(self, case: Case) -> Any:
        """Makes one environment."""
        import gymnasium

        settings: dict[str, Any] = {**case.options}
        if case.pictures:
            settings["render_mode"] = RENDER_MODE
        if self.task_id:
            if case.limit is not None:
                settings["max_episode_steps"] = case.limit
            return gymnasium.make(self.task_id, disable_env_checker=True, **settings)
        env = self.make_one(**settings)
        limit = self.limit if case.limit is None else case.limit
        return env if limit is None else gymnasium.wrappers.TimeLimit(env, limit)

    def make(self, case: Case, num_envs: int) -> Any:
        """Makes environments."""
        import gymnasium

        functions = [lambda: self.single(case)] * num_envs
        return gymnasium.vector.SyncVectorEnv(functions, autoreset_mode=value_of(case.mode))


def value_of(mode: str) -> str:
    """Returns Gymnasium's word for an autoreset mode: "NextStep" for "next_step"."""
    return mode.title().replace("_", "")


def _parameters(cls: type) -> tuple[str, ...]:
    try:
        found = inspect.signature(cls).parameters
    except (TypeError, ValueError):
        return ()
    return tuple(name for name in found if name not in ("self", "args", "kwargs"))


# ------------------------------------------------------------------------------------- names --


def native(text: str) -> Native:
    """Returns what the left side names: a file, with `:NAME` if it has several, or an id."""
    file, name = split(text)
    suffix = Path(file).suffix
    if suffix in (".py", *SOURCES, *LIBRARIES):
        return Native(os.path.abspath(file), name)
    return _of_id(text)


def reference(against: Any) -> Native | Reference:
    """Returns what the right side names, or is.

    Raises:
        ValueError: there is no such environment.
        TypeError: it is neither a name, nor a class or a function.
    """
    if callable(against):
        return _of_callable(against)
    if not isinstance(against, str):
        raise TypeError(
            f"against={quote(against)} is {a_type(against)}: give an id, a file, module:Class, or a"
            " function that makes a gymnasium.Env"
        )
    file, name = split(against)
    if Path(file).suffix in (*SOURCES, *LIBRARIES):
        return Native(os.path.abspath(file), name)
    if Path(file).suffix == ".py":
        return _in_file(file, name)
    if name and against not in _gymnasium_ids():
        return _in_module(file, name)
    if against in _gymnasium_ids() and not _is_loaded(against):
        return Reference(task_id=against)
    return _of_id(against)


def _of_id(text: str) -> Native:
    task_id = registry.find(text).id
    origin = registry.origins_by_id.get(task_id)
    if origin is None and task_id in registry.loaded_by_id:
        raise ValueError(
            f"{quote(task_id)} mixes environments, and no other process knows it: compare each of"
            " them"
        )
    return Native("", task_id, origin=origin)


def _is_loaded(task_id: str) -> bool:
    """Returns whether Gymnasium knows an id because this process has loaded it."""
    from parallel_pool._apis.common.gymnasium_ids import is_native

    return task_id in registry.origins_by_id and is_native(_gymnasium_ids()[task_id])


def split(text: str) -> tuple[str, str]:
    """Returns a file or a module, and the name behind its colon or ""; a file's name may have a
    colon, too."""
    file, colon, name = text.rpartition(":")
    return (file, name) if colon and not os.path.isfile(text) else (text, "")


def _gymnasium_ids() -> Mapping[str, Any]:
    import gymnasium

    return gymnasium.registry


def _in_file(file: str, name: str) -> Reference:
    from parallel_pool._translator import files, reader

    module = files.import_file(Path(file))
    found = {cls.__name__: cls for cls in reader.environments(module)}
    name = name or _only(list(found), file)
    if not hasattr(module, name):
        raise ValueError(f"{file} has no {quote(name)}: it has {', '.join(found)}")
    folder, stem = os.path.split(os.path.abspath(file))
    made = _callable(getattr(module, name), f"{file}:{name}")
    return Reference(make_one=made, folder=folder, module=stem.removesuffix(".py"), name=name)


def _in_module(module: str, name: str) -> Reference:
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"{module}:{name} can't be imported: {error}") from None
    except Exception as error:
        # it runs the module, and .module is relative to nothing
        kind = type(error).__name__
        raise ValueError(f"{module}:{name} can't be imported: {kind}: {error}") from error
    if not hasattr(loaded, name):
        raise ValueError(f"{module} has no {quote(name)}: give module:Class")
    made = _callable(getattr(loaded, name), f"{module}:{name}")
    return Reference(make_one=made, **_origin(loaded, name))


def _callable(made: Any, place: str) -> Any:
    if not callable(made):
        raise ValueError(f"{place} is {a_type(made)}: give a class, or a function that makes one")
    return made


def _origin(module: Any, name: str) -> dict[str, Any]:
    """Returns where a program can import a name of a module from."""
    parts = module.__name__.split(".")
    file = getattr(module, "__file__", None)
    if not file:
        return {"module": module.__name__, "name": name}
    up = len(parts) - (os.path.basename(file) != "__init__.py")
    folder = Path(os.path.abspath(file)).parents[up]
    return {"folder": str(folder), "module": module.__name__, "name": name}


def _of_callable(made: Any) -> Reference:
    module = sys.modules.get(getattr(made, "__module__", ""))
    name = getattr(made, "__qualname__", "<")
    is_found = name.isidentifier() and getattr(module, name, None) is made
    if not is_found or module is None or module.__name__ == "__main__":
        return Reference(make_one=made)
    return Reference(make_one=made, **_origin(module, name))
