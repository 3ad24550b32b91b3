"""Which backend steps a vector environment's environments, native code or worker processes."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import EnvSpec

from parallel_pool import registry
from parallel_pool.arguments import MAX_ENVS, check_count, check_limit, check_memory
from parallel_pool.compat import ale_ids, dependencies, env_specs, notices, renderer
from parallel_pool.compat.gymnasium import fusion
from parallel_pool.compat.gymnasium.fusion import Chain, Refusal
from parallel_pool.compat.python_env import PythonEnv
from parallel_pool.compat.vector_options import DEFAULTS

if TYPE_CHECKING:
    from parallel_pool.specs import Definition

NATIVE = "native"
PROCESS = "process"
AUTO = "auto"

# what make_vec knows beside the options of an environment's constructor
OF_MAKE = {"max_episode_steps", "render_mode", "disable_env_checker"}

# of one that gymnasium.make has made, at least: "FrozenLake-v1" takes 20 KB
PYTHON_ENV_BYTES = 16 * 1024


@dataclass(frozen=True)
class Choice:
    """A backend, and what there is to make.

    Attributes:
        backend: "native" or "process".
        reason: why; a sentence.
        env_fns: functions that make the environments, or none.
        spec: what the environments are made of otherwise, without what make_vec put there.
        num_envs, vector_kwargs, wrappers: what such a spec said about the vector environment; None
            where it said nothing.
        definition, chain: of native environments, and their wrappers.
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
    """Says which backend a vector environment takes.

    With "auto" that is the native one where a native environment exists for these arguments and
    wrappers, and worker processes otherwise.

    Args:
        env: an id, an EnvSpec, or functions that make environments.
        wrappers: of one environment each, as make_vec takes them.
        vector_kwargs: options of the vector environment, among them "backend": "auto", "native" or
            "process". What a spec says holds instead, as in make_vec.
        options: all other options that are given.

    Raises:
        TypeError: env or wrappers are none.
        ValueError: there is no such backend; "native" was asked for, and there is nothing native.
        gymnasium.error.UnregisteredEnv: there is no such id.
    """
    # not any iterable, for it is gone through several times
    if isinstance(wrappers, str) or not isinstance(wrappers, Sequence | None):
        raise TypeError(f"wrappers={wrappers!r}: give a sequence of functions of an environment")
    for each in wrappers or ():
        if not callable(each):
            raise TypeError(f"wrappers holds {each!r}: give functions of an environment")
    given = dict(vector_kwargs or {})
    if not isinstance(env, (str, EnvSpec)) and isinstance(env, Iterable):
        env_fns = _functions(env, wrappers)
        reason = "the environments are made by functions"
        return _settle(_asked(given), Choice(PROCESS, reason, env_fns))
    spec = env_specs.find(env)
    stored = env_specs.unfold(spec)
    given = given if stored.vector_kwargs is None else stored.vector_kwargs
    wrappers = wrappers if stored.wrappers is None else stored.wrappers
    asked = _asked(given)
    of = functools.partial(Choice, spec=spec, **stored._asdict())
    if asked == PROCESS:
        return of(backend=PROCESS, reason="backend='process' was asked for")
    everything = {**spec.kwargs, **(options or {}), **given}
    found = _find_native(spec, wrappers, everything, asked)
    if isinstance(found, Refusal):
        if found.twin is not None and asked == AUTO:
            notices.warn(
                f"{spec.id} runs in worker processes, although the native {found.twin} may be ten"
                f" times as fast, because {found.reason}: do without that, or say backend='process'"
            )
        return _settle(asked, of(backend=PROCESS, reason=found.reason))
    definition, chain = found
    reason = f"{definition.id} is native"
    if chain.names:
        reason += f", and does {', '.join(chain.names)} itself"
    return of(backend=NATIVE, reason=reason, definition=definition, chain=chain)


def _asked(vector_kwargs: Mapping[str, Any]) -> str:
    asked = vector_kwargs.get("backend", AUTO)
    if asked not in (AUTO, NATIVE, PROCESS):
        raise ValueError(f"backend={asked!r}: choose 'auto', 'native' or 'process'")
    return str(asked)


def _settle(asked: str, choice: Choice) -> Choice:
    """Returns a choice of processes; raises ValueError if native environments were asked for."""
    if asked == NATIVE:
        raise ValueError(f"backend='native', but {choice.reason}: choose 'auto' or 'process'")
    return choice


def _functions(env: Iterable[Any], wrappers: Any) -> tuple[Callable[[], Any], ...]:
    env_fns = tuple(env)
    for each in env_fns:
        if not callable(each):
            raise TypeError(
                f"env holds {each!r}: give an id, an EnvSpec, or functions that make environments"
            )
    if wrappers:
        raise TypeError("functions make whole environments: call the wrappers in them")
    return env_fns


# ---------------------------------------------------------------------------------- native --


def _find_native(
    spec: EnvSpec, wrappers: Any, options: Mapping[str, Any], asked: str
) -> tuple[Definition, Chain] | Refusal:
    """Returns the definition and the chain of wrappers that native environments can be made of."""
    chain = fusion.recognise(wrappers, spec)
    try:
        definition = env_specs.definition_of(spec, options)
    except ValueError as error:
        if isinstance(error, ale_ids.InexactError) and asked == AUTO:
            ale_ids.warn(spec.id, str(error))
        return chain if isinstance(chain, Refusal) else Refusal(str(error))
    if isinstance(chain, Refusal):
        return replace(chain, twin=definition.id)
    if chain.options:
        why = ale_ids.unfilmed(definition, spec, chain.options, options)
        if why is not None:
            return Refusal(why, definition.id)
    elif chain.names and env_specs.reference_of(spec, definition) is None:
        return Refusal(f"{definition.id} is no environment of Gymnasium's that could be wrapped")
    unknown = _unknown_options(definition, {} if asked == NATIVE else options)
    if unknown and unknown <= process_options() | _constructor_options(spec):
        names = ", ".join(sorted(unknown))
        return Refusal(f"the native {definition.id} has no option {names}", definition.id)
    # what nobody knows is an error of the native environment's, which names what it has
    return definition, chain


def _unknown_options(definition: Definition, options: Mapping[str, Any]) -> set[str]:
    """Returns the names of those options that native environments of a definition lack."""
    known = {*DEFAULTS, *OF_MAKE, *renderer.defaults(definition)}
    own = {name: value for name, value in options.items() if name not in known}
    if own.keys() <= definition.options.keys():
        return set()
    try:
        # a family may have other names for its options
        own = registry.complete(definition, own)
    except Exception:
        # what is wrong with them is told when the environments are made
        return set()
    return own.keys() - definition.options.keys()


def _constructor_options(spec: EnvSpec) -> set[str]:
    """Returns the options that the constructor of a Python environment names."""
    creator: Any = spec.entry_point
    try:
        if isinstance(creator, str):
            creator = dependencies.load_creator(creator)
        return _named(creator)
    except (ImportError, AttributeError, TypeError, ValueError):
        return set()


def _named(function: Any) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


# ------------------------------------------------------------------------------- processes --


def process_class() -> Any:
    """Returns the class of vector environments in worker processes."""
    # imported when there are some to make: it brings what starts and watches processes
    from parallel_pool.compat.gymnasium.process_vector_env import ProcessVectorEnv

    return ProcessVectorEnv


def process_options() -> set[str]:
    """Returns the names of what that class takes beside the functions."""
    return _named(process_class()) - {"env_fns"}


def make_processes(
    choice: Choice, num_envs: int | None, wrappers: Any, given: Mapping[str, Any]
) -> Any:
    """Makes the environments of a choice in worker processes.

    Args:
        choice: of "process".
        num_envs: environments; None for as many as there are functions, or 1.
        wrappers: as for `choose`.
        given: options of the environments and of the vector environment, side by side.

    Returns:
        The vector environment, with `backend` and `backend_reason`, and for a spec with `spec`.

    Raises:
        TypeError: an option is unknown.
        ValueError: there is no Python environment to make.
    """
    kind = process_class()
    taken = process_options()
    of_spec = {} if choice.spec is None else choice.spec.kwargs
    everything = {**of_spec, **given, **(choice.vector_kwargs or {})}
    vector = {name: value for name, value in everything.items() if name in taken}
    options = {name: value for name, value in everything.items() if name not in taken}
    _drop_native_options(choice, options)
    if choice.spec is None:
        env = kind(_counted(choice.env_fns, num_envs, options), **vector)
    else:
        count = choice.num_envs or (1 if num_envs is None else num_envs)
        count = check_count("num_envs", count, 1, MAX_ENVS)
        check_memory(count, PYTHON_ENV_BYTES, "Python environments")
        if options.get("max_episode_steps") is not None:
            options["max_episode_steps"] = check_limit(options["max_episode_steps"])
        wrappers = wrappers if choice.wrappers is None else choice.wrappers
        env = kind([python_env(choice, options, wrappers)] * count, **vector)
        shown = {name: everything[name] for name in everything if name in taken | {"backend"}}
        env.spec = env_specs.describe(choice.spec, count, options, shown, wrappers)
    env.backend, env.backend_reason = PROCESS, choice.reason
    return env


def _drop_native_options(choice: Choice, options: dict[str, Any]) -> None:
    """Takes out what only native environments would do with, and refuses what they would do."""
    for name in DEFAULTS.keys() & options.keys():
        value = options.pop(name)
        if name != "backend" and value != DEFAULTS[name]:
            raise TypeError(
                f"{name}={value!r} is for native environments, but {choice.reason}: leave it out"
            )


def _counted(
    env_fns: tuple[Callable[[], Any], ...], num_envs: int | None, options: Mapping[str, Any]
) -> tuple[Callable[[], Any], ...]:
    """Returns functions that make environments; refuses what can't be told to them."""
    if options:
        raise TypeError(f"{', '.join(options)}: functions take no options, and nobody else does")
    if num_envs is not None and num_envs != len(env_fns):
        raise ValueError(f"num_envs={num_envs}, but there are {len(env_fns)} functions: leave it")
    return env_fns


def python_env(choice: Choice, options: Mapping[str, Any], wrappers: Any) -> PythonEnv:
    """Returns a function that makes one environment of a choice of processes by its spec.

    Args:
        choice: with a spec.
        options: of `gymnasium.make`.
        wrappers: to put around it, the innermost first.

    Raises:
        ValueError: there is no Python environment to make.
    """
    assert choice.spec is not None
    spec = copy.deepcopy(choice.spec)
    spec.kwargs = {}
    if spec.entry_point is None:
        raise ValueError(
            f"{choice.reason}, and {spec.id} is no Python environment: give an id that"
            " gymnasium.make takes, or wrap the vector environment (gymnasium.wrappers.vector)"
        )
    # None is the default of these, and not every constructor knows of pictures
    kwargs = {k: v for k, v in options.items() if v is not None or k not in OF_MAKE}
    return PythonEnv(spec, kwargs, tuple(wrappers or ()))
