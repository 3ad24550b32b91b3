"""Recognises the Gymnasium wrappers that native environments can replace."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import wrappers as known

from parallel_pool._apis.gymnasium import minigrid_wrappers, picture_wrappers
from parallel_pool._apis.gymnasium.picture_wrappers import Part, Stack
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.picture_plan import PicturePlan
from parallel_pool._engine.variation import Each, EachReset

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec, WrapperSpec

    from parallel_pool._engine.buffers import Array

# the engine counts steps in 32 bits
MAX_STEPS = 2**31 - 1

# largest bound of rewards: up to here every integer has an exact float64
EXACT_INTEGER = 2**53

# as in csrc/envs/atari
MAX_PIXELS, MAX_FRAMES = 2048, 100_000

FLOATS = (float, np.float64, np.float32, np.float16)


@dataclass(frozen=True)
class Limit:
    """TimeLimit: the number of steps after which an episode is truncated."""

    steps: int


@dataclass(frozen=True)
class Clip:
    """ClipReward, or TransformReward with a clip: a function of float64 rewards (n,)."""

    clip: Callable[[Array], Array]


@dataclass(frozen=True)
class Statistics:
    """RecordEpisodeStatistics: the key of its infos, and the length of its queues."""

    key: str
    buffer_length: int | None


@dataclass(frozen=True)
class Preprocessing:
    """A wrapper of observations, Atari's or minigrid's: the native options that replace it."""

    kind: type
    options: Mapping[str, Any]


Layer = Limit | Clip | Statistics


@dataclass(frozen=True)
class Picture:
    """A wrapper of pictures, which stands around those that make them."""

    kind: type
    part: Part


Observer = Preprocessing | Picture


@dataclass(frozen=True)
class Chain:
    """Wrappers that native environments replace, the innermost first.

    Attributes:
        names: of all of them.
        layers: those applied in Python, see `FusedWrappers`.
        options: of native environments: they make C change observations.
        is_minigrid: whether these are minigrid's, not Atari's.
        pictures: what becomes of the pictures then; None for nothing.
    """

    names: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    is_minigrid: bool = False
    pictures: PicturePlan | None = None

    def limit(self, own: Any) -> Any:
        """Returns the smallest time limit in steps; `own` is the one inside these wrappers.

        Raises:
            ValueError: own differs between environments, and there is another limit.
        """
        limits = [layer.steps for layer in self.layers if isinstance(layer, Limit)]
        if isinstance(own, (Each, EachReset)):
            if limits:
                raise ValueError(
                    f"max_episode_steps={quote(own)} and TimeLimit({limits[0]}): give one of them"
                )
            return own
        return min([*limits, *([own] if own else [])], default=None)

    def outermost_limit(self, own: Any) -> Any:
        """Returns the outermost time limit in steps; `own` is the one inside these wrappers."""
        return next((it.steps for it in reversed(self.layers) if isinstance(it, Limit)), own)


@dataclass(frozen=True)
class Refusal:
    """Why native environments can't be used.

    Attributes:
        reason: a clause.
        native_id: the native environment that could be used without the cause of the refusal; None
            if there is none.
    """

    reason: str
    native_id: str | None = None


class _Unknown(Exception):
    """A wrapper that is not recognised."""


def recognise(wrappers: Sequence[Any] | None, spec: EnvSpec) -> Chain | Refusal:
    """Returns the chain of these wrappers if all of them are recognised, else a refusal.

    Recognised are TimeLimit, OrderEnforcing, PassiveEnvChecker, RecordEpisodeStatistics,
    ClipReward, TransformReward with a `functools.partial` of `numpy.clip`, for Atari games
    AtariPreprocessing and FrameStackObservation, for MiniGrid the wrappers of
    `minigrid_wrappers.READERS`, and around pictures those of `picture_wrappers.READERS`; each as
    the class itself, as a `functools.partial` of it with keyword arguments, or as a WrapperSpec.
    Arguments that Gymnasium refuses are refused here too, so that Gymnasium raises its own error.

    Args:
        wrappers: callables that wrap one environment, the innermost first, as make_vec takes them.
        spec: of the environment; its additional_wrappers are inside the others.
    """
    try:
        found = [_of_spec(each) for each in spec.additional_wrappers]
        found += [_of_callable(each) for each in wrappers or ()]
        names = tuple(kind.__name__ for kind, _ in found)
        read = [_read(kind, arguments) for kind, arguments in found]
        found_layers = [layer for layer in read if layer is not None]
        options, pictures = _observations(found_layers)
        layers = [layer for layer in found_layers if not isinstance(layer, Observer)]
        is_minigrid = any(minigrid_wrappers.reader(kind) is not None for kind, _ in found)
        keys = [layer.key for layer in layers if isinstance(layer, Statistics)]
        if len(set(keys)) < len(keys):
            raise _Unknown(
                "two RecordEpisodeStatistics have the same stats_key, which Gymnasium forbids"
            )
    except _Unknown as unknown:
        return Refusal(str(unknown))
    return Chain(names, tuple(layers), options, is_minigrid, pictures)


# ---------------------------------------------------------------------------- recognition --


def _reader(kind: Any) -> tuple[tuple[str, ...], Callable[..., Any]] | None:
    """Returns the names of a known wrapper's arguments, and what reads them."""
    return READERS.get(kind) or picture_wrappers.READERS.get(kind) or minigrid_wrappers.reader(kind)


def _read(kind: type, arguments: dict[str, Any]) -> Layer | Observer | None:
    found = _reader(kind)
    assert found is not None
    if kind in READERS:
        layer: Layer | Preprocessing | None = found[1](**arguments)
        return layer
    try:
        read = found[1](**arguments)
        return Picture(kind, read) if isinstance(read, Part) else Preprocessing(kind, read)
    except ValueError as error:
        raise _Unknown(str(error)) from None


def _of_spec(spec: WrapperSpec) -> tuple[type, dict[str, Any]]:
    kind = ENTRY_POINTS.get(spec.entry_point) or minigrid_wrappers.of_entry_point(spec.entry_point)
    if kind is None:
        raise _Unknown(f"{spec.name} ({spec.entry_point}) {NOT_KNOWN}")
    if spec.kwargs is None:
        raise _Unknown(f"{spec.name} does not record its arguments")
    return kind, _arguments(kind, spec.kwargs)


def _of_callable(wrapper: Any) -> tuple[type, dict[str, Any]]:
    # not isinstance: a class derived from partial may do anything when called
    if type(wrapper) is functools.partial:
        if wrapper.args:
            raise _Unknown(f"{quote(wrapper)} gives arguments by position: give them by keyword")
        kind, given = wrapper.func, wrapper.keywords
    else:
        kind, given = wrapper, {}
    if not isinstance(kind, type):
        raise _Unknown(
            f"the wrapper {_function_repr(wrapper)} is a function that could do anything (a class"
            " of gymnasium.wrappers, and functools.partial of one with keyword arguments, can be"
            " recognised)"
        )
    if _reader(kind) is None:
        raise _Unknown(f"{kind.__name__} {NOT_KNOWN}")
    return kind, _arguments(kind, given)


def _function_repr(function: Any) -> str:
    """Returns a function's name if it has one, else its repr."""
    return str(getattr(function, "__qualname__", None) or repr(function))


def _arguments(kind: type, given: dict[str, Any]) -> dict[str, Any]:
    """Returns all arguments of a wrapper except the environment, with defaults filled in."""
    signature = inspect.signature(kind.__init__)  # type: ignore[misc]
    reader = _reader(kind)
    assert reader is not None
    known_names = reader[0]
    if tuple(signature.parameters)[2:] != known_names:
        raise _Unknown(f"{kind.__name__}{signature} has other parameters than the one known here")
    try:
        # self and env
        bound = signature.bind(None, None, **given)
    except TypeError as error:
        raise _Unknown(f"{kind.__name__}: {error}") from None
    bound.apply_defaults()
    return dict(list(bound.arguments.items())[2:])


def _observations(
    layers: Sequence[Layer | Observer],
) -> tuple[dict[str, Any], PicturePlan | None]:
    """Returns the native options that replace wrappers of observations, {} without such ones, and
    what becomes of the pictures then."""
    _check_rewards(layers)
    found = [layer for layer in layers if isinstance(layer, Observer)]
    inner = [layer for layer in found if isinstance(layer, Preprocessing)]
    outer = [layer for layer in found if isinstance(layer, Picture)]
    if any(layer.kind is known.AtariPreprocessing for layer in inner):
        return _atari_options(layers, found), None
    if found != [*inner, *outer]:
        names = " and ".join(layer.kind.__name__ for layer in found)
        raise _Unknown(f"{names} can't be native in this order")
    try:
        options = minigrid_wrappers.combined(
            [(layer.kind.__name__, dict(layer.options)) for layer in inner]
        )
        parts = [(layer.kind.__name__, layer.part) for layer in outer]
        return options, picture_wrappers.plan(parts) if parts else None
    except ValueError as error:
        raise _Unknown(str(error)) from None


def _check_rewards(layers: Sequence[Layer | Observer]) -> None:
    """Refuses bonuses around wrappers that change or count rewards: C adds bonuses first."""
    has_rewards = False
    for layer in layers:
        has_rewards |= isinstance(layer, (Clip, Statistics))
        if has_rewards and isinstance(layer, Preprocessing) and "bonuses" in layer.options:
            raise _Unknown(
                f"{layer.kind.__name__} can't be native around a wrapper that changes or counts"
                " rewards"
            )


def _atari_options(layers: Sequence[Layer | Observer], found: Sequence[Observer]) -> dict[str, Any]:
    """Returns the options that replace AtariPreprocessing, and FrameStackObservation around it."""
    match found:
        case [Preprocessing(options=options)] if layers[0] is found[0]:
            return dict(options)
        case [Preprocessing(options=options), Picture(part=Stack(size, pads_zero))] if (
            layers[0] is found[0]
        ):
            return {**options, "stack_size": size, "stack_padding_zero": pads_zero}
    names = " and ".join(layer.kind.__name__ for layer in found)
    raise _Unknown(
        f"{names} can't be native: only AtariPreprocessing can, as the innermost wrapper, and"
        " FrameStackObservation around it"
    )


# --------------------------------------------------------------------------------- wrappers --


def _read_limit(max_episode_steps: Any) -> Limit:
    # True is an int and so a limit of 1, as in Gymnasium
    if not isinstance(max_episode_steps, int) or not 1 <= max_episode_steps <= MAX_STEPS:
        raise _Unknown(
            f"TimeLimit(max_episode_steps={quote(max_episode_steps)}) needs an int of 1 to"
            f" {MAX_STEPS}"
        )
    return Limit(int(max_episode_steps))


def _read_statistics(buffer_length: Any, stats_key: Any) -> Statistics:
    # keys that begin with _ are masks, and final_... belong to SAME_STEP
    if type(stats_key) is not str or stats_key.startswith(("_", "final_")):
        raise _Unknown(
            f"RecordEpisodeStatistics(stats_key={quote(stats_key)}) clashes with other infos"
        )
    if buffer_length is not None and not (
        type(buffer_length) is int and 0 <= buffer_length <= sys.maxsize
    ):
        raise _Unknown(
            f"RecordEpisodeStatistics(buffer_length={quote(buffer_length)}) needs an int >= 0 or"
            " None"
        )
    return Statistics(stats_key, buffer_length)


def _read_clip(min_reward: Any, max_reward: Any) -> Clip:
    for bound in (min_reward, max_reward):
        _check_bound("ClipReward", bound)
    given = f"ClipReward({quote(min_reward)}, {quote(max_reward)})"
    if min_reward is None and max_reward is None:
        raise _Unknown(f"{given} has no bound, which Gymnasium forbids")
    if min_reward is not None and max_reward is not None and max_reward - min_reward < 0:
        raise _Unknown(f"{given} has its bounds the wrong way round, which Gymnasium forbids")
    return Clip(functools.partial(np.clip, a_min=min_reward, a_max=max_reward))


def _read_transform(func: Any) -> Clip:
    text = f"TransformReward({_function_repr(func)})"
    if type(func) is not functools.partial or func.func is not np.clip or func.args:
        raise _Unknown(
            f"{text} could do anything (functools.partial(numpy.clip, a_min=..., a_max=...) can be"
            " recognised)"
        )
    if not func.keywords.keys() <= {"a_min", "a_max", "min", "max"}:
        raise _Unknown(f"{text} does more than clip")
    for bound in func.keywords.values():
        _check_bound("TransformReward", bound)
    try:
        func(0.0)
    except (TypeError, ValueError) as error:
        raise _Unknown(f"{text}: {error}") from None
    return Clip(func)


def _check_bound(name: str, bound: Any) -> None:
    """Refuses bounds that might clip an array differently from its single numbers."""
    if bound is None:
        return
    if type(bound) is int or isinstance(bound, np.integer):
        if abs(int(bound)) <= EXACT_INTEGER:
            return
    elif type(bound) in FLOATS and not np.isnan(bound):
        return
    raise _Unknown(f"{name}: a bound of {quote(bound)} is not a plain number")


def _read_preprocessing(
    noop_max: Any, frame_skip: Any, screen_size: Any, **flags: Any
) -> Preprocessing:
    size = screen_size if type(screen_size) is tuple else (screen_size, screen_size)
    counts = {"noop_max": noop_max, "frame_skip": frame_skip}
    whole = all(type(each) is int for each in (*counts.values(), *size))
    plain = all(type(flag) is bool for flag in flags.values())
    if not (whole and plain and len(size) == 2 and noop_max >= 0 and min(frame_skip, *size) >= 1):
        given = ", ".join(
            f"{k}={quote(v)}" for k, v in {**counts, "screen_size": size, **flags}.items()
        )
        raise _Unknown(f"AtariPreprocessing({given}) has arguments that can't be native")
    if max(size) > MAX_PIXELS or max(counts.values()) > MAX_FRAMES:
        raise _Unknown(f"AtariPreprocessing: {counts} or screen_size={screen_size} is too large")
    options = {"preprocessing": True, "screen_width": size[0], "screen_height": size[1]}
    return Preprocessing(known.AtariPreprocessing, {**options, **counts, **flags})


def _read_nothing(**_: Any) -> None:
    """Reads a wrapper that changes no result: it only warns, or raises where the engine does."""


NOT_KNOWN = (
    "is not one of the wrappers that native environments have themselves (TimeLimit,"
    " OrderEnforcing, PassiveEnvChecker, RecordEpisodeStatistics, ClipReward, TransformReward with"
    " a clip, around pictures GrayscaleObservation, ResizeObservation and FrameStackObservation,"
    " around Atari games AtariPreprocessing, and around MiniGrid"
    f" {', '.join(minigrid_wrappers.READERS)})"
)

# For each wrapper the names of its arguments, and the function that reads them. If a version of
# Gymnasium has other names, its wrapper is not recognised.
READERS: dict[type, tuple[tuple[str, ...], Callable[..., Layer | Preprocessing | None]]] = {
    known.TimeLimit: (("max_episode_steps",), _read_limit),
    known.OrderEnforcing: (("disable_render_order_enforcing",), _read_nothing),
    known.PassiveEnvChecker: ((), _read_nothing),
    known.RecordEpisodeStatistics: (("buffer_length", "stats_key"), _read_statistics),
    known.ClipReward: (("min_reward", "max_reward"), _read_clip),
    known.TransformReward: (("func",), _read_transform),
    known.AtariPreprocessing: (
        (
            *("noop_max", "frame_skip", "screen_size", "terminal_on_life_loss"),
            *("grayscale_obs", "grayscale_newaxis", "scale_obs"),
        ),
        _read_preprocessing,
    ),
}

# the module that defines the wrapper, and the one that users import it from
ENTRY_POINTS = {
    f"{module}:{kind.__name__}": kind
    for kind in (*READERS, *picture_wrappers.READERS)
    for module in (kind.__module__, "gymnasium.wrappers")
}
