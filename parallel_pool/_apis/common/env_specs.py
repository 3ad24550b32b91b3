"""Conversion between Gymnasium's EnvSpecs (or ids) and native definitions."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs import registration
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import UnregisteredEnv

from parallel_pool._apis.common import ale_ids, dependencies, renderer
from parallel_pool._apis.common.gymnasium_ids import ENTRY_POINT, MODE, is_native, of_definition
from parallel_pool._apis.common.vector_options import DEFAULTS
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import MAX_NAME, a_type, check_limit, quote
from parallel_pool._engine.specs import Definition
from parallel_pool._engine.variation import Each, EachReset
from parallel_pool._families import minigrid, toy_text

# Modules of the Python environments that native ones equal. An id registered with any other entry
# point is the user's own environment, and is not replaced.
REFERENCES = (*("gymnasium.envs.", "ale_py.", "minigrid.envs", "gymnasium_robotics.envs."),)
# Classes of Gymnasium-Robotics that simulate with mujoco-py, whose results are others
OTHER_SIMULATOR = ":MujocoPy"


def find(env: Any) -> EnvSpec:
    """Returns a copy of the spec of an id, a "module:id" or a spec.

    Raises:
        TypeError: env is neither a string nor a spec.
        gymnasium.error.UnregisteredEnv: there is no such id.
    """
    if isinstance(env, EnvSpec):
        return _with_defaults(copy.deepcopy(env))
    if not isinstance(env, str):
        raise TypeError(
            f"env is {a_type(env)}: give an id, an EnvSpec, or functions that make environments"
        )
    known = registry.definitions()
    if env not in known and env not in gymnasium.registry:
        _check_form(env)
    if env in known and known[env].family == "minigrid" and env not in gymnasium.registry:
        minigrid.register()
    if env in known and env not in gymnasium.registry and not ale_ids.falls_back(known[env]):
        return of_definition(known[env], env)
    if env not in known:
        ale_ids.register(env)
    # as make_vec does: imports the module of "module:id", takes the newest version if the id has
    # none, and warns about old versions
    try:
        found = registration._find_spec(env)
    except UnregisteredEnv as error:
        hint = registry.hint(env)
        if registry.is_old_game(env) and not ale_ids.is_installed():
            hint = "it needs ale-py: pip install ale-py"
        raise type(error)(f"{error} In parallel_pool: {hint}") from None
    return _with_defaults(copy.deepcopy(found))


def _check_form(env: str) -> None:
    """Raises UnregisteredEnv for what can't be an id; Gymnasium's messages repeat all of it."""
    colons = env.count(":")
    if colons > 1:
        raise UnregisteredEnv(f"env={quote(env)} has {colons} colons: give an id, or module:id")
    if len(env) > MAX_NAME:
        raise UnregisteredEnv(
            f"env={quote(env)} has {len(env)} characters, and no such id is registered:"
            f" {registry.hint(env)}"
        )


def _with_defaults(spec: EnvSpec) -> EnvSpec:
    """Adds to a copied spec the constructor defaults that native environments do not have."""
    if spec.entry_point == ale_ids.ENTRY_POINT:
        spec.kwargs = {**ale_ids.DEFAULTS, **spec.kwargs}
    return spec


def definition_of(spec: EnvSpec, options: Mapping[str, Any] | None = None) -> Definition:
    """Returns the definition whose environments equal those of a spec without its wrappers.

    Args:
        spec: of an environment.
        options: of the environment's constructor, in addition to those of the spec.

    Raises:
        ValueError: there is no such definition; the message is a clause that says why.
    """
    entry, vector_entry, task_id = spec.entry_point, spec.vector_entry_point, spec.id
    if entry == ale_ids.ENTRY_POINT:
        return ale_ids.definition_of(task_id, {**spec.kwargs, **(options or {})})
    if isinstance(vector_entry, str) and vector_entry.startswith(ENTRY_POINT):
        task_id = vector_entry.removeprefix(ENTRY_POINT)
    known = registry.definitions()
    if task_id not in known:
        raise ValueError(f"{task_id} has no native environment")
    is_replaced = is_native(spec) or (
        isinstance(entry, str) and entry.startswith(REFERENCES) and OTHER_SIMULATOR not in entry
    )
    is_replaced |= _entry_name(entry) == registry.entry_points_by_id.get(task_id, "")
    if entry is not None and not is_replaced:
        raise ValueError(
            f"{task_id} is registered with entry_point={quote(entry)}, which the native {task_id}"
            " does not replace"
        )
    found = known[task_id]
    if found.family == "toy_text":
        why = toy_text.non_native_reason(found, {**spec.kwargs, **(options or {})})
        if why is not None:
            raise ValueError(f"{task_id} has no native environment for these options: {why}")
    return found


def _entry_name(entry: Any) -> str:
    """Returns an entry point as Gymnasium's registry has it: "module:name"."""
    if isinstance(entry, str):
        return entry
    return f"{getattr(entry, '__module__', '')}:{getattr(entry, '__qualname__', '')}"


class StoredVectorArguments(NamedTuple):
    """What the spec of a vector environment holds besides the options of its environments."""

    num_envs: int | None
    vector_kwargs: dict[str, Any] | None
    wrappers: Any


def pop_vector_arguments(spec: EnvSpec) -> StoredVectorArguments:
    """Removes from a spec's kwargs what make_vec put there; the environments' options remain."""
    spec.kwargs.pop("vectorization_mode", None)
    vector_kwargs = spec.kwargs.pop("vector_kwargs", None)
    # for our ids Gymnasium's make_vec refuses vector_kwargs: the options are among the kwargs
    among = {name: spec.kwargs.pop(name) for name in DEFAULTS if name in spec.kwargs}
    if among:
        vector_kwargs = {**among, **(vector_kwargs or {})}
    return StoredVectorArguments(
        spec.kwargs.pop("num_envs", None), vector_kwargs, spec.kwargs.pop("wrappers", None)
    )


def vector_spec(
    spec: EnvSpec,
    num_envs: int,
    kwargs: Mapping[str, Any],
    vector_kwargs: Mapping[str, Any],
    wrappers: Any = (),
) -> EnvSpec:
    """Returns the spec of a vector environment in the form of make_vec's own."""
    described = copy.deepcopy(spec)
    described.kwargs = {**kwargs}
    if num_envs != 1:
        described.kwargs["num_envs"] = num_envs
    described.kwargs["vectorization_mode"] = MODE
    if vector_kwargs:
        described.kwargs["vector_kwargs"] = {**vector_kwargs}
    if wrappers:
        described.kwargs["wrappers"] = wrappers
    return described


def reference_of(spec: EnvSpec, definition: Definition) -> EnvSpec | None:
    """Returns the spec of the Gymnasium environment that native ones equal, None if none."""
    if spec.entry_point is not None and not is_native(spec):
        return spec
    return _registered(definition)


def of_python(spec: EnvSpec) -> EnvSpec:
    """Returns the spec of the Python environment with the id of a native one, as a copy; the spec
    itself if it is of a Python environment, or if there is none.

    The first call for an Atari game imports ale_py, which registers the game.
    """
    definition = registry.definitions().get(spec.id) if is_native(spec) else None
    found = None if definition is None else registered_reference(definition)
    if found is None:
        return spec
    python = _with_defaults(copy.deepcopy(found))
    python.kwargs.update(spec.kwargs)
    return python


def registered_reference(definition: Definition) -> EnvSpec | None:
    """Returns the spec of the Gymnasium environment with a definition's id, None if none.

    The first call for an Atari game imports ale_py, which registers the game.
    """
    ale_ids.register(definition.id)
    return _registered(definition)


def _registered(definition: Definition) -> EnvSpec | None:
    found = gymnasium.registry.get(definition.id)
    return None if found is None or found.entry_point is None or is_native(found) else found


def own_limit(
    spec: EnvSpec, definition: Definition, options: Mapping[str, Any], num_envs: int
) -> Any:
    """Returns the time limit of a spec's environments in steps, None for none.

    Tasks of a mixture may have limits of their own, which no spec can hold: each(...).

    Args:
        spec, definition: of the environments.
        options: with the task of each environment.
        num_envs: environments.
    """
    if spec.max_episode_steps is not None or not definition.tasks:
        return spec.max_episode_steps
    return definition.limit_of(options, num_envs)


def time_limit(given: Any, own: Any) -> Any:
    """Returns a pool's time limit in steps, 0 for none, from make's argument and the spec's.

    The argument may be each(...) or each_reset(...).
    """
    if given is None:
        return own or 0
    if isinstance(given, Each):
        return Each(tuple(time_limit(value, own) for value in given.values))
    if isinstance(given, EachReset):
        for bound in given.choices or (given.low, given.high):
            check_limit(bound)
        return given
    return max(0, check_limit(given))


def metadata(definition: Definition, reference: EnvSpec | None) -> dict[str, Any]:
    """Returns a copy of the reference's metadata; without a reference, the render modes."""
    if reference is not None and isinstance(reference.entry_point, str):
        creator = dependencies.load_creator(reference.entry_point)
        return copy.deepcopy(dict(creator.metadata))
    return {"render_modes": renderer.modes(definition, None)}


def vector_metadata(
    definition: Definition, reference: EnvSpec | None, render_mode: str | None
) -> dict[str, Any]:
    """Returns metadata in which a render mode for lists of pictures ("rgb_array_list") is known.

    Raises:
        ValueError: the environments have no such render mode.
    """
    found, drawn = metadata(definition, reference), renderer.modes(definition, reference)
    lists = [f"{mode}_list" for mode in drawn if mode != "human"]
    renderer.check_mode(render_mode, [*drawn, *lists])
    if render_mode in lists:
        # as Gymnasium's RenderCollection does
        found["render_modes"] = [*found["render_modes"], render_mode]
    return found
