"""Chooses the backend of a vector environment: native code, worker processes or a cluster."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import EnvSpec

from parallel_pool._apis.common import ale_ids, dependencies, env_specs, renderer
from parallel_pool._apis.common.env_fn import EnvFn
from parallel_pool._apis.common.gymnasium_ids import is_native, runs_in_processes
from parallel_pool._apis.common.vector_options import DEFAULTS
from parallel_pool._apis.common.warn_once import warn_once
from parallel_pool._apis.gymnasium import fusion, minigrid_wrappers, picture_wrappers
from parallel_pool._apis.gymnasium.fusion import Chain, Refusal
from parallel_pool._engine import registry, variation
from parallel_pool._engine.arguments import check_limit, named, quote
from parallel_pool._engine.maker import Maker
from parallel_pool._workers.pool_arguments import function_of

if TYPE_CHECKING:
    from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
    from parallel_pool._engine.specs import Definition

NATIVE = "native"
COMPILED = "compiled"
PROCESS = "process"
CLUSTER = "cluster"
AUTO = "auto"
REQUESTS = (AUTO, NATIVE, COMPILED, PROCESS, CLUSTER)
# by backend, the class of its vector environments
CLASSES = {NATIVE: "NativeVectorEnv", PROCESS: "ProcessVectorEnv", CLUSTER: "ClusterVectorEnv"}

# options of gymnasium.make itself, as opposed to those of an environment's constructor
OF_MAKE = {"max_episode_steps", "render_mode", "disable_env_checker"}
# and of vector environments
OF_OTHERS = OF_MAKE | DEFAULTS.keys()

ASKED_FOR_CLUSTER = "backend='cluster' was asked for"


@dataclass(frozen=True)
class Choice:
    """A backend, and the environments to make with it.

    Attributes:
        backend: "native", "process" or "cluster".
        reason: why it was chosen; a sentence.
        env_fns: functions that make the environments; empty if there is a spec.
        spec: of the environments, without what make_vec put there; None if there are functions.
        num_envs, vector_kwargs, wrappers: what the spec holds about the vector environment, each
            None if it holds nothing.
        definition, chain: the native definition, and the wrappers that native environments replace.
    """

    backend: str
    reason: str
    env_fns: tuple[Callable[[], Any], ...] = ()
    spec: EnvSpec | None = None
    num_envs: int | None = None
    vector_kwargs: dict[str, Any] | None = None
    wrappers: Any = None
    definition: Definition | None = None
    chain: Chain = field(default_factory=Chain)


def choose(
    env: Any,
    wrappers: Sequence[Any] | None = None,
    vector_kwargs: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Choice:
    """Returns the backend of a vector environment.

    "auto" chooses the native one if a native environment exists for these arguments and wrappers,
    else worker processes. "compiled" translates the class in Python that is registered under the
    id, and steps the translation, which is native; an id that is native already needs none.

    Args:
        env: an id, an EnvSpec, or functions that make environments.
        wrappers: functions that wrap one environment, as make_vec takes them.
        vector_kwargs: options of the vector environment, among them "backend": "auto", "native",
            "compiled", "process" or "cluster". As in make_vec, those of a spec replace them.
        options: all other options that are given.

    Raises:
        TypeError: env or wrappers are of a wrong type.
        ValueError: there is no such backend, or it is "native" and no native environment exists, or
            "compiled" and wrappers need Python.
        SourceError: it is "compiled", and the class can't be translated.
        gymnasium.error.UnregisteredEnv: there is no such id.
    """
    # a sequence, not an iterator: wrappers are read several times
    if isinstance(wrappers, str) or not isinstance(wrappers, Sequence | None):
        raise TypeError(
            f"wrappers={quote(wrappers)}: give a sequence of functions that wrap an environment"
        )
    for each in wrappers or ():
        if not callable(each):
            raise TypeError(
                f"wrappers holds {quote(each)}: give functions that wrap an environment"
            )
    given = dict(vector_kwargs or {})
    if not isinstance(env, (str, EnvSpec)) and isinstance(env, Iterable):
        return by_functions(_check_functions(env, wrappers), given.get("backend", AUTO))
    spec = env_specs.find(env)
    stored = env_specs.pop_vector_arguments(spec)
    given = given if stored.vector_kwargs is None else stored.vector_kwargs
    wrappers = wrappers if stored.wrappers is None else stored.wrappers
    requested = _checked(given.get("backend", AUTO))

    def of(backend: str, reason: str, **native: Any) -> Choice:
        own = spec if backend == NATIVE else env_specs.of_python(spec)
        return Choice(backend, reason, spec=own, **stored._asdict(), **native)

    if requested == PROCESS:
        return of(PROCESS, "backend='process' was asked for")
    if requested == CLUSTER:
        return of(CLUSTER, ASKED_FOR_CLUSTER)
    everything = {**spec.kwargs, **(options or {}), **given}
    if requested == COMPILED and _needs_translation(spec, everything):
        definition, chain = _find_compiled(spec, wrappers, everything)
        return of(NATIVE, _native_reason(definition, chain), definition=definition, chain=chain)
    found = _find_native(spec, wrappers, everything, requested)
    if isinstance(found, Refusal):
        if found.native_id is not None and requested == AUTO:
            warn_once(
                f"{spec.id} runs in worker processes, although the native {found.native_id} may be"
                f" ten times as fast, because {found.reason}: remove the cause, or choose"
                " backend='process'"
            )
        return check_allowed(requested, of(PROCESS, found.reason))
    definition, chain = found
    return of(NATIVE, _native_reason(definition, chain), definition=definition, chain=chain)


def _native_reason(definition: Definition, chain: Chain) -> str:
    reason = f"{definition.id} is native"
    if definition.id in registry.entry_points_by_id:
        reason += f", compiled from {registry.entry_points_by_id[definition.id]}"
    if chain.names:
        reason += f", and does {', '.join(chain.names)} itself"
    return reason


def chosen(env: Any, wrappers: Sequence[Any] | None, given: Mapping[str, Any]) -> Choice:
    """Returns the backend for the arguments of `PoolVectorEnv`; raises as `choose` does.

    Args:
        env: as for `choose`, or a choice, which is returned.
        wrappers: as for `choose`.
        given: all other arguments, of the vector environment and of the environments.
    """
    if isinstance(env, Choice):
        return env
    vector = {name: value for name, value in given.items() if name in DEFAULTS}
    options = {name: value for name, value in given.items() if name not in DEFAULTS}
    return choose(env, wrappers, vector, options)


def by_functions(env_fns: tuple[Callable[[], Any], ...], requested: Any) -> Choice:
    """Returns the backend of environments that functions make; raises as `choose` does."""
    if _checked(requested) == CLUSTER:
        return Choice(CLUSTER, ASKED_FOR_CLUSTER, env_fns)
    reason = "the environments are made by functions"
    return check_allowed(requested, Choice(PROCESS, reason, env_fns))


def _checked(requested: Any) -> str:
    """Returns a backend's name; raises ValueError for another."""
    if requested not in REQUESTS:
        *others, last = map(repr, REQUESTS)
        raise ValueError(f"backend={quote(requested)}: choose {', '.join(others)} or {last}")
    return str(requested)


def check_allowed(requested: str, choice: Choice) -> Choice:
    """Returns the choice, which is of processes; raises ValueError if it must not be."""
    if requested in (NATIVE, COMPILED):
        raise ValueError(
            f"backend={quote(requested)}, but {choice.reason}: choose 'auto' or 'process'"
        )
    return choice


def _check_functions(env: Iterable[Any], wrappers: Any) -> tuple[Callable[[], Any], ...]:
    env_fns = tuple(map(function_of, env))
    for each in env_fns:
        if not callable(each):
            raise TypeError(
                f"env holds {quote(each)}: give an id, an EnvSpec, or functions that make"
                " environments"
            )
    if wrappers:
        raise TypeError("wrappers do not go with functions: apply the wrappers in the functions")
    return env_fns


# ---------------------------------------------------------------------------------- native --


def _find_native(
    spec: EnvSpec, wrappers: Any, options: Mapping[str, Any], requested: str
) -> tuple[Definition, Chain] | Refusal:
    """Returns the native definition and chain of wrappers, or why there is none."""
    chain = fusion.recognise(wrappers, spec)
    try:
        definition, *_ = [
            env_specs.definition_of(spec, it) for it in variation.options_of_each(options)
        ]
    except ValueError as error:
        if isinstance(error, ale_ids.InexactError) and requested == AUTO:
            ale_ids.warn(spec.id, str(error))
        return chain if isinstance(chain, Refusal) else Refusal(str(error))
    if isinstance(chain, Refusal):
        return replace(chain, native_id=definition.id)
    why = registry.unavailable_reason(definition)
    if why is not None:
        return Refusal(why, definition.id)
    for it in variation.options_of_each(options):
        why = _unfused_reason(definition, spec, chain, it)
        if why is not None:
            return Refusal(why, definition.id)
    is_plain = not chain.options and chain.pictures is None
    if is_plain and chain.names and env_specs.reference_of(spec, definition) is None:
        return Refusal(f"{definition.id} has no Gymnasium environment that could be wrapped")
    # if native environments were asked for, the pool raises
    is_native_wanted = requested in (NATIVE, COMPILED)
    inexact = None if is_native_wanted else _why_inexact(definition, spec, options)
    if inexact is not None:
        return Refusal(inexact, definition.id)
    unlike = None if is_native_wanted else _why_unlike(definition, options)
    if unlike is not None:
        return Refusal(unlike, definition.id)
    unknown = _unknown_options(definition, {} if is_native_wanted else options)
    if unknown and unknown <= process_options() | _constructor_options(spec):
        names = named(", ".join(sorted(unknown)))
        return Refusal(f"the native {definition.id} has no option {names}", definition.id)
    # options unknown to both: the native environment's error names the options that it has
    return definition, chain


def _unfused_reason(
    definition: Definition, spec: EnvSpec, chain: Chain, options: Mapping[str, Any]
) -> str | None:
    """Returns why native environments with these options can't replace the wrappers of
    observations in a chain, a clause; None if they can."""
    why = None
    if chain.options and chain.is_minigrid:
        why = minigrid_wrappers.unfused_reason(definition, chain.options, options)
    elif chain.options:
        why = ale_ids.unfused_reason(definition, spec, chain.options, options)
    if why is not None or chain.pictures is None:
        return why
    own = {**_own_options(definition, options), **chain.options}
    return picture_wrappers.unfused_reason(definition, own, chain.pictures)


def _own_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that are for the environments themselves."""
    others = {*DEFAULTS, *OF_MAKE, *renderer.defaults(definition)}
    return {name: value for name, value in options.items() if name not in others}


def _why_inexact(definition: Definition, spec: EnvSpec, options: Mapping[str, Any]) -> str | None:
    """Returns why the types of options make results inexact, a clause; None if they do not, or if
    there is no reference that takes these options."""
    # looked at first: to find a reference can take the import of its package
    if variation.why_inexact(definition, options) is None:
        return None
    if env_specs.reference_of(spec, definition) is None or spec.entry_point is None:
        return None
    taken = _constructor_options(spec)
    own = {name: value for name, value in options.items() if name in taken}
    return variation.why_inexact(definition, own)


def _unknown_options(definition: Definition, options: Mapping[str, Any]) -> set[str]:
    """Returns the names of the options that native environments of a definition do not have."""
    own = _own_options(definition, options)
    if own.keys() <= definition.options.keys():
        return set()
    try:
        # a family may have other names for its options
        own = registry.fill_options(definition, variation.first_options(own))
    except Exception:
        # wrong values are reported when the environments are made
        return set()
    return own.keys() - definition.options.keys()


def _constructor_options(spec: EnvSpec) -> set[str]:
    """Returns the parameter names of a Python environment's constructor."""
    creator: Any = spec.entry_point
    try:
        if isinstance(creator, str):
            creator = dependencies.load_creator(creator)
        return parameter_names(creator)
    except (ImportError, AttributeError, TypeError, ValueError):
        return set()


def parameter_names(function: Any) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


# -------------------------------------------------------------------------------- compiled --


def _needs_translation(spec: EnvSpec, options: Mapping[str, Any]) -> bool:
    """Returns whether the environment of a spec is a class in Python for which nothing in C stands,
    or which was translated, perhaps for other options."""
    if spec.entry_point is None or is_native(spec):
        return False
    try:
        definition = env_specs.definition_of(spec, options)
    except ValueError:
        return True
    return definition.id in registry.entry_points_by_id


def _find_compiled(
    spec: EnvSpec, wrappers: Any, options: Mapping[str, Any]
) -> tuple[Definition, Chain]:
    """Returns the translation of a spec's class, and the wrappers that it replaces.

    Raises:
        SourceError, TypeError: see `registered.definition_of`.
        ValueError: wrappers need Python.
    """
    # imported only when needed: it translates
    from parallel_pool._translator import registered

    chain = fusion.recognise(wrappers, spec)
    if isinstance(chain, Chain) and chain.options:
        whose = "MiniGrid" if chain.is_minigrid else "Atari games"
        chain = Refusal(f"{chain.names[0]} is for {whose}, and {spec.id} is none")
    if isinstance(chain, Refusal):
        raise _needs_python(chain.reason)
    own = {name: value for name, value in options.items() if name not in OF_OTHERS}
    definition = registered.definition_of(spec, own)
    why = _unfused_reason(definition, spec, chain, own)
    if why is not None:
        raise _needs_python(why)
    return definition, chain


def _needs_python(reason: str) -> ValueError:
    return ValueError(
        f"backend='compiled', but {reason}: leave the wrapper out, wrap the vector environment"
        " (gymnasium.wrappers.vector), or choose 'process'"
    )


def _why_unlike(definition: Definition, options: Mapping[str, Any]) -> str | None:
    """Returns why a translation can't do what its class does with these options, a clause; None if
    it can, or if the definition is none."""
    if definition.id not in registry.entry_points_by_id:
        return None
    # imported only when needed
    from parallel_pool._translator import registered

    own = {name: value for name, value in options.items() if name not in OF_OTHERS}
    if registered.fits(definition, own):
        return None
    return "these options need another translation (backend='compiled' makes it)"


# ------------------------------------------------------------------------------- processes --


def process_class() -> type[ProcessVectorEnv]:
    """Returns the class of vector environments in worker processes."""
    # imported only when needed: it imports all that starts and watches processes
    from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv

    return ProcessVectorEnv


def process_options() -> set[str]:
    """Returns the names of that class's options."""
    return parameter_names(process_class()) - {"env_fns"}


def env_fns_of(
    choice: Choice, options: Mapping[str, Any], wrappers: Any, num_envs: int
) -> list[EnvFn]:
    """Returns a function for each Python environment of a choice; for the arguments see env_fn_of.

    Raises:
        TypeError, ValueError: an option can't differ in this way, or a time limit is wrong.
    """
    found: list[EnvFn] = []
    before: dict[str, Any] | None = None
    for own in variation.spread(options, num_envs, choice.reason):
        if own is before:
            # those that have the same options have one function
            found.append(found[-1])
            continue
        limited = {**own}
        if own.get("max_episode_steps") is not None:
            limited["max_episode_steps"] = check_limit(own["max_episode_steps"])
        found.append(env_fn_of(choice, limited, wrappers))
        before = own
    return found


def env_fn_of(choice: Choice, options: Mapping[str, Any], wrappers: Any) -> EnvFn:
    """Returns a function that makes one Python environment of a choice.

    Args:
        choice: one that has a spec.
        options: of `gymnasium.make`.
        wrappers: applied to the environment, the innermost first.

    Raises:
        ValueError: there is no Python environment to make.
    """
    assert choice.spec is not None
    spec = copy.deepcopy(choice.spec)
    spec.kwargs = {}
    if not runs_in_processes(spec):
        raise ValueError(
            f"{choice.reason}, and {spec.id} has no Python environment: give an id that"
            " gymnasium.make takes, or wrap the vector environment (gymnasium.wrappers.vector)"
        )
    # None is the default of OF_MAKE, and not every constructor has a render_mode
    kwargs = {k: v for k, v in options.items() if v is not None or k not in OF_MAKE}
    return EnvFn(spec, kwargs, tuple(wrappers or ()), _maker(spec, kwargs, wrappers))


def _maker(spec: EnvSpec, options: Mapping[str, Any], wrappers: Any) -> Maker | None:
    """Returns the class of Python environments; None if backend="compiled" would refuse them."""
    chain = fusion.recognise(wrappers, spec)
    is_plain = isinstance(chain, Chain) and not chain.options and chain.pictures is None
    if not is_plain or not _needs_translation(spec, options):
        return None
    own = {name: value for name, value in options.items() if name not in OF_MAKE}
    return Maker(spec.entry_point, spec.id, own)
