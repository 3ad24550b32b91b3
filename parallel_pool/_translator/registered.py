"""Registered: the translation that stands for an id of Gymnasium's registry."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.envs import registration

from parallel_pool._engine import registry
from parallel_pool._engine.arguments import named, quote
from parallel_pool._engine.variation import Each, EachReset, first_options
from parallel_pool._translator import files, load
from parallel_pool._translator.equality import is_equal
from parallel_pool._translator.options import Changed, plain
from parallel_pool.errors import SourceError

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from parallel_pool._engine.specs import Definition

# options that a translation takes from a pool; with others, it is another translation
NUMBERS = (bool, int, float, np.number, Each, EachReset)


def definition_of(spec: EnvSpec, options: Mapping[str, Any]) -> Definition:
    """Returns the translation of a spec's class; translates and compiles it at the first call.

    Its id is that of the spec. Where options change more than numbers (the size of an array, a
    text), the class is translated for them, under the spec's id with a suffix.

    Args:
        spec: of an environment; its wrappers are not looked at.
        options: all arguments of the constructor, those of the registration included.

    Raises:
        SourceError: it can't be translated or compiled, or no class is registered.
        TypeError: the class has no such option.
        ValueError: the id is taken.
        MissingDependencyError: there is no compiler.
    """
    cls = class_of(spec)
    _check_names(cls, spec, options)
    usual = _registered_options(spec)
    changed = {
        name: value
        for name, value in options.items()
        if not (name in usual and is_equal(value, usual[name]))
    }
    if _is_complete(cls, usual) and all(isinstance(each, NUMBERS) for each in changed.values()):
        found = _compiled(cls, spec, spec.id, usual)
        if changed.keys() <= found.options.keys() and fits(found, options):
            return found
    for name, value in changed.items():
        if isinstance(value, (Each, EachReset)):
            raise ValueError(
                f"{named(name)}={quote(value)}: of compiled environments only numbers that change"
                " no shape may differ: give one value, or choose backend='process'"
            )
    return _compiled(cls, spec, _varied_id(spec, options), dict(options))


def class_of(spec: EnvSpec) -> type[gymnasium.Env[Any, Any]]:
    """Returns the class of a spec; imports its module.

    Raises:
        SourceError: the spec has a function instead.
    """
    entry: Any = spec.entry_point
    creator = registration.load_env_creator(entry) if isinstance(entry, str) else entry
    if not (inspect.isclass(creator) and issubclass(creator, gymnasium.Env)):
        raise SourceError(
            f"{spec.id} is registered with entry_point={quote(entry)}, which is no class of"
            " gymnasium.Env's, and only a class can be compiled: register the class, with the"
            " function's arguments as kwargs"
        )
    return creator


def _check_names(cls: type, spec: EnvSpec, options: Mapping[str, Any]) -> None:
    """Raises TypeError for an option that the class's constructor does not have."""
    parameters = inspect.signature(cls).parameters
    if any(each.kind == each.VAR_KEYWORD for each in parameters.values()):
        return
    unknown = [name for name in options if name not in parameters]
    if unknown:
        known = ", ".join(parameters) or "none"
        raise TypeError(
            f"{spec.id} has no option {named(unknown[0])}: those of {cls.__name__} are {known}"
        )


def _registered_options(spec: EnvSpec) -> dict[str, Any]:
    """Returns the options with which Gymnasium's registry has the spec's class."""
    found = gymnasium.registry.get(spec.id)
    if found is None or found.entry_point != spec.entry_point:
        return {}
    return {name: value for name, value in found.kwargs.items() if name != "render_mode"}


def _is_complete(cls: type, options: Mapping[str, Any]) -> bool:
    """Returns whether the constructor needs no further arguments."""
    try:
        inspect.signature(cls).bind(**options)
    except TypeError:
        return False
    return True


def fits(definition: Definition, options: Mapping[str, Any]) -> bool:
    """Returns whether an environment with these options is the same program.

    Options of wrong values fit: what makes the environments reports them.
    """
    try:
        registry.fill_options(definition, first_options(options))
    except Changed:
        return False
    except (TypeError, ValueError):
        return True
    return True


def _varied_id(spec: EnvSpec, options: Mapping[str, Any]) -> str:
    text = json.dumps(plain(dict(options)), sort_keys=True, default=repr)
    return f"{spec.id}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _compiled(
    cls: type[gymnasium.Env[Any, Any]], spec: EnvSpec, task_id: str, options: dict[str, Any]
) -> Definition:
    """Returns the translation with an id; makes it if there is none of this class."""
    if files.classes_by_id.get(task_id) is not cls:
        limit, threshold = spec.max_episode_steps, spec.reward_threshold
        load.load_translated(load.translate(cls, task_id, limit, threshold, options))
        # as Gymnasium's registry has it, which may name a module that only imports the class
        if isinstance(spec.entry_point, str):
            registry.entry_points_by_id[task_id] = spec.entry_point
    return registry.find(task_id)
