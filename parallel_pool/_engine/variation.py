"""Variation: option values that differ between the environments of a pool, or between episodes."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from parallel_pool._engine import registry
from parallel_pool._engine.arguments import a_type, check_count, is_number, quote
from parallel_pool._engine.specs import PYTHON_CODES, Definition, Option, Spec, Values
from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import ffi, lib

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._engine.picture_plan import PicturePlan

LIMIT = "max_episode_steps"
# max_episode_steps as an option of every environment
LIMIT_OPTION = Option(LIMIT, "int", None, 0, 2**31 - 1, "time limit in steps; 0: none")


# -------------------------------------------------------------------------- what users give --


@dataclass(frozen=True)
class Each:
    """One value for each environment; `each` makes it.

    Attributes:
        values: of environment 0, 1, ...
    """

    values: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"each({list(self.values)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return each, (list(self.values),)


@dataclass(frozen=True)
class EachReset:
    """A value that is drawn at each reset; `each_reset` makes it.

    Attributes:
        low, high: the range; None if there are choices.
        log: whether the logarithm is uniform.
        choices: the values to draw from, all equally probable; () if there is a range.
    """

    low: Any = None
    high: Any = None
    log: bool = False
    choices: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        if self.choices:
            return f"each_reset({list(self.choices)!r})"
        return f"each_reset({self.low!r}, {self.high!r}{', log=True' if self.log else ''})"

    def __reduce__(self) -> tuple[Any, ...]:
        given = (list(self.choices),) if self.choices else (self.low, self.high)
        return (partial(each_reset, log=True) if self.log else each_reset), given

    @property
    def first(self) -> Any:
        """A value that can be drawn."""
        return self.choices[0] if self.choices else self.low


def each(values: Sequence[Any] | np.ndarray[Any, Any]) -> Each:
    """Gives each environment its own value of an option: the i-th value is environment i's.

    A plain list is one value for all environments.

    Args:
        values: num_envs values, a list, tuple, range or array (num_envs,) of any dtype.

    Raises:
        TypeError: values are no sequence, or one of them is each(...) or each_reset(...).
        ValueError: there are no values.

    Example:
        >>> gravity = parallel_pool.each([9.8, 1.6, 3.7])
        >>> with parallel_pool.Pool("Pendulum-v1", 3, options={"g": gravity}) as pool:
        ...     pool.option_values()["g"]
        array([9.8, 1.6, 3.7])
    """
    listed = _listed("each", values)
    return Each(listed)


def each_reset(low: Any, high: Any = None, *, log: bool = False) -> EachReset:
    """Draws the value of an option anew at each reset of an environment.

    `each_reset(low, high)` draws a float uniformly between low and high, or an integer, both bounds
    included; with `log=True` the float's logarithm is uniform. `each_reset([a, b, c])` draws one of
    these values. An environment's seed determines what is drawn.

    Raises:
        TypeError: a bound is no number, or the choices are no sequence.
        ValueError: the range is empty or infinite, or log=True and low <= 0.

    Example:
        >>> gravity = parallel_pool.each_reset(8.0, 12.0)
        >>> with parallel_pool.Pool("Pendulum-v1", 3, options={"g": gravity}) as pool:
        ...     batch = pool.reset(seed=1)
        ...     drawn = pool.option_values()["g"]
        >>> all(8 <= value <= 12 for value in drawn)
        True
    """
    if high is None:
        if log:
            raise TypeError("log=True needs a range: each_reset(low, high, log=True)")
        return EachReset(choices=_listed("each_reset", low))
    for name, bound in (("low", low), ("high", high)):
        if not is_number(bound):
            kind = a_type(bound)
            raise TypeError(f"each_reset: {name}={quote(bound)} is {kind}: give a number")
    if not isinstance(log, (bool, np.bool_)):
        raise TypeError(f"each_reset: log={quote(log)} is {a_type(log)}: give a bool")
    low, high = (_plain(low), _plain(high))
    if not low <= high or not _is_finite(high - low):
        raise ValueError(
            f"each_reset({quote(low)}, {quote(high)}): choose finite low <= high, or a list of"
            " choices"
        )
    if log and low <= 0:
        raise ValueError(f"each_reset({quote(low)}, {quote(high)}, log=True): choose low > 0")
    return EachReset(low, high, bool(log))


def _listed(what: str, values: Any) -> tuple[Any, ...]:
    """Returns the values of each() or the choices of each_reset()."""
    if isinstance(values, np.ndarray) and values.ndim:
        # options keep the types of NumPy's numbers; rows of numbers become lists
        values = list(values) if values.ndim == 1 else values.tolist()
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        kind = a_type(values)
        raise TypeError(f"{what}({quote(values)}): that is {kind}: give a list of values")
    for value in values:
        if isinstance(value, (Each, EachReset)):
            raise TypeError(
                f"{what}([...]) holds {quote(value)}: give plain values, one for each environment"
            )
    if not len(values):
        raise ValueError(f"{what}([]) has no values: give one or more")
    return tuple(values)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        # an integer beyond any float
        return False


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def value_for_env(value: Any, env_id: int) -> Any:
    """Returns the value that an environment has before its first reset."""
    if isinstance(value, Each):
        return value.values[env_id]
    return value.first if isinstance(value, EachReset) else value


def first_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options with the values that environment 0 has before its first reset."""
    return {name: value_for_env(value, 0) for name, value in options.items()}


def options_of_each(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the options of every environment, or only once what all of them have."""
    counts = [len(value.values) for value in options.values() if isinstance(value, Each)]
    return [
        {name: value_for_env(value, i) for name, value in options.items()}
        for i in range(min(counts, default=1))
    ]


def spread(options: Mapping[str, Any], num_envs: int, reason: str) -> list[dict[str, Any]]:
    """Returns the options of each Python environment.

    Args:
        options: with each(...) for some.
        num_envs: environments.
        reason: why they are Python environments, a clause.

    Raises:
        ValueError: each(...) has another number of values; or a value is each_reset(...).
    """
    for name, value in options.items():
        check_length(name, value, num_envs)
        if isinstance(value, EachReset):
            raise ValueError(
                f"{name}={quote(value)}: only native environments draw values at each reset, but"
                f" {reason}: give one value, or one for each environment with each([...])"
            )
    if not differs(options):
        return [dict(options)] * num_envs
    return [
        {name: value_for_env(value, env_id) for name, value in options.items()}
        for env_id in range(num_envs)
    ]


def why_inexact(definition: Definition, options: Mapping[str, Any]) -> str | None:
    """Returns why native environments with these options would compute other results than their
    reference, because of the types of numbers, a clause; None if they would not."""
    for name, value in options.items():
        option = definition.options.get(name)
        if option is None:
            continue
        for one in _values(value):
            why = option.why_inexact(one)
            if why is not None:
                return why
        why = why_mixed(option, value)
        if why is not None:
            return why
    return None


def why_mixed(option: Option, value: Any) -> str | None:
    """Returns why the values of each(...) or each_reset(...) can't be of these types, a clause;
    None if they can. Python's ints and floats can be mixed: all are floats then."""
    found = _types(option, value)
    if len(found) < 2 or found <= {0, PYTHON_CODES[int]}:
        return None
    kinds = sorted({type(one).__name__ for one in _values(value)})
    return (
        f"{option.name}={quote(value)} holds {' and '.join(kinds)}, and results depend on the type:"
        " give values of one type, such as floats"
    )


def _types(option: Option, value: Any) -> set[int]:
    """Returns the codes of the types of values, as far as C keeps them."""
    if not option.keeps or not isinstance(value, (Each, EachReset)):
        return set()
    return {option.code(one) for one in _values(value) if option.why_inexact(one) is None}


def _values(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Each):
        return value.values
    if isinstance(value, EachReset):
        return value.choices or (value.low, value.high)
    return (value,)


def as_floats(value: Each | EachReset) -> Each | EachReset:
    """Returns the values of each(...) or the choices of each_reset(...) as floats."""
    if isinstance(value, Each):
        return Each(tuple(map(float, value.values)))
    return EachReset(choices=tuple(map(float, value.choices)))


def differs(options: Mapping[str, Any]) -> bool:
    """Returns whether one of the values is each(...) or each_reset(...)."""
    return any(isinstance(value, (Each, EachReset)) for value in options.values())


def check_length(name: str, value: Any, num_envs: int) -> None:
    """Raises ValueError if value is each(...) with another number of values than environments."""
    if isinstance(value, Each) and len(value.values) != num_envs:
        raise ValueError(
            f"{name}={quote(value)} has {len(value.values)} values for num_envs={num_envs}: give"
            " one for each environment"
        )


# ------------------------------------------------------------------------------------- plans --


class OptionPlan:
    """The options of all environments of a pool, checked and in C's form.

    Attributes:
        spec: of the environments; its options are those of all environments, with each(...) or
            each_reset(...) for those that differ.
        limit: max_episode_steps in the form of `pp_pool_options`: -1 for the definition's own.
        max_episode_steps: what the user sees: a number of steps, None for none, each(...) or
            each_reset(...).
        varied: the names of public options that differ, max_episode_steps included.
        values, variation: C's; variation is NULL if all environments have the same options.
    """

    def __init__(
        self,
        definition: Definition,
        options: Mapping[str, Any],
        num_envs: int,
        max_episode_steps: Any = None,
        pictures: PicturePlan | None = None,
    ) -> None:
        """Checks the options.

        Raises:
            TypeError, ValueError: an option is wrong, or can't differ; or there are no such
                pictures.
            MissingDependencyError: the environment needs a package or file that is not installed.
        """
        self._definition, self._num_envs = definition, num_envs
        options = definition.spread(options, num_envs)
        if max_episode_steps is None and definition.tasks:
            max_episode_steps = definition.limit_of(options, num_envs) or 0
        self.limit, self.max_episode_steps = self._read_limit(max_episode_steps)
        if not differs(options) and not isinstance(max_episode_steps, (Each, EachReset)):
            self.spec: Spec = definition.configure(
                registry.fill_options(definition, options), pictures
            )
            self.values: CData = self.spec.values.raw
            self.variation: CData = ffi.NULL
            self.varied: tuple[str, ...] = ()
            definition.add_rows(self.spec, options, num_envs)
            return
        for name, value in options.items():
            self._check(name, value)
        self._keep: list[Any] = []
        options = {name: self._alike(name, value) for name, value in options.items()}
        self._set_of, self._sets = self._make_sets(options)
        self.spec = definition.configure(self._sets[0].checked | {}, pictures)
        draws = {
            name: options[name]
            for name in definition.options
            if isinstance(options.get(name), EachReset)
        }
        self.spec.options = {**self._merge(), **draws}
        self.varied = tuple(
            name
            for name, value in {**self.spec.options, LIMIT: max_episode_steps}.items()
            if isinstance(value, (Each, EachReset))
            and (name == LIMIT or not definition.options[name].is_hidden)
        )
        definition.add_rows(self.spec, options, num_envs)
        self.values = ffi.NULL
        self.variation = self._variation(draws, max_episode_steps)

    def _read_limit(self, given: Any) -> tuple[int, Any]:
        check_length(LIMIT, given, self._num_envs)
        if isinstance(given, (Each, EachReset)):
            return -1, given
        limit = -1 if given is None else check_count(LIMIT, given, 0)
        return limit, self._definition.max_episode_steps if limit < 0 else limit or None

    def _check(self, name: str, value: Any) -> None:
        """Refuses values that differ of options whose values can't."""
        if not isinstance(value, (Each, EachReset)):
            return
        check_length(name, value, self._num_envs)
        option = self._definition.options.get(name)
        if option is not None and option.is_hidden:
            raise ValueError(
                f"{name}={quote(value)}: all environments of {self._definition.id} share {name}:"
                " give one value, or leave it out"
            )
        if isinstance(value, Each) or (option is not None and option.varies):
            return
        able = [*(it.name for it in self._definition.options.values() if it.varies), LIMIT]
        raise ValueError(
            f"{name}={quote(value)}: {self._definition.id} can draw {', '.join(able)} at each"
            f" reset: give {name} one value, or one for each environment with each([...])"
        )

    def _alike(self, name: str, value: Any) -> Any:
        """Returns the values of an option in one type, if C keeps it. Drawn numbers are floats."""
        option = self._definition.options.get(name)
        if option is None or option.kind != "float":
            return value
        if isinstance(value, EachReset) and not value.choices:
            return EachReset(_checked(option, value.low), _checked(option, value.high), value.log)
        why = why_mixed(option, value)
        if why is not None:
            raise TypeError(why)
        return value if len(_types(option, value)) < 2 else as_floats(value)

    # ------------------------------------------------------------------------ sets of values --

    def _make_sets(self, options: Mapping[str, Any]) -> tuple[list[int], list[Values]]:
        """Returns for each environment the index of its set of values, and the sets."""
        spread = {name: value.values for name, value in options.items() if isinstance(value, Each)}
        hidden: dict[Any, dict[str, Any]] = {}
        indices: dict[Any, int] = {}
        set_of: list[int] = []
        sets: list[Values] = []
        for env_id in range(self._num_envs):
            key = tuple(key_of(values[env_id]) for values in spread.values())
            index = indices.setdefault(key, len(sets))
            set_of.append(index)
            if index == len(sets):
                one = {name: value_for_env(value, env_id) for name, value in options.items()}
                try:
                    sets.append(self._make_set(one, tuple(spread), key, hidden))
                except (TypeError, ValueError) as error:
                    # if environment 0 fails, all may: the error names none
                    if not env_id or type(error) not in (TypeError, ValueError):
                        raise
                    raise type(error)(f"environment {env_id}: {error}") from error
        return set_of, sets

    def _make_set(
        self,
        one: dict[str, Any],
        spread: tuple[str, ...],
        key: tuple[Any, ...],
        hidden: dict[Any, dict[str, Any]],
    ) -> Values:
        """Returns the values of one environment.

        Completing them may be slow (a MuJoCo model is loaded), so what that has added is used again
        for environments that differ only in options that `fill_options` does not read.
        """
        known = self._definition.options
        coarse = tuple(
            part
            for name, part in zip(spread, key, strict=True)
            if not (name in known and known[name].varies)
        )
        # the hidden options of environment 0 are tried first: `fill_options` checks them
        before = hidden.get(coarse) or next(iter(hidden.values()), {})
        completed = registry.fill_options(self._definition, {**one, **before})
        hidden[coarse] = {
            name: completed[name]
            for name, option in known.items()
            if option.is_hidden and option.default is None and name in completed
        }
        return Values(known, completed, self._definition.id)

    def _merge(self) -> dict[str, Any]:
        """Returns the values of all options, with each(...) for those that differ."""
        merged: dict[str, Any] = {}
        for name, value in self._sets[0].checked.items():
            values = [it.checked[name] for it in self._sets]
            is_same = all(it == value for it in values)
            merged[name] = value if is_same else Each(tuple(values[i] for i in self._set_of))
        return merged

    # ----------------------------------------------------------------------------- C's form --

    def _variation(self, draws: Mapping[str, EachReset], limit: Any) -> CData:
        raw = ffi.new("pp_variation *")
        count = len(self._definition.options)
        raw.num_sets = len(self._sets)
        values = self._new("pp_value[]", max(1, count * len(self._sets)))
        for i, one in enumerate(self._sets):
            ffi.memmove(values + i * count, one.raw, count * ffi.sizeof("pp_value"))
        raw.values = values
        raw.set_of = self._new("int32_t[]", self._set_of)
        if isinstance(limit, Each):
            limits = [check_limit(value, i) for i, value in enumerate(limit.values)]
            raw.limits = self._new("int32_t[]", limits)
        listed = [
            (i, option, draws[option.name])
            for i, option in enumerate(self._definition.options.values())
            if option.name in draws
        ]
        if isinstance(limit, EachReset):
            listed.append((count, LIMIT_OPTION, limit))
        raw.num_draws = len(listed)
        raw.draws = self._new("pp_draw[]", max(1, len(listed)))
        for place, (index, option, draw) in enumerate(listed):
            raw.draws[place].option = index
            self._fill(raw.draws[place], option, draw)
        self._keep.append(raw)
        return raw

    def _new(self, kind: str, init: Any) -> CData:
        """Returns new memory of C that lasts as long as this object."""
        memory = ffi.new(kind, init)
        self._keep.append(memory)
        return memory

    def _fill(self, raw: CData, option: Option, draw: EachReset) -> None:
        """Writes one draw to a `pp_draw`."""
        if draw.choices:
            values = [_checked(option, value) for value in draw.choices]
            raw.kind = lib.PP_DRAW_CHOICE
            raw.num_choices = len(values)
            raw.choices = choices = self._new("pp_value[]", len(values))
            for i, value in enumerate(values):
                choices[i].f = float(value)
                choices[i].i = int(value) if option.kind != "float" else 0
                choices[i].dtype = option.code(value)
            return
        low, high = (_checked(option, bound) for bound in (draw.low, draw.high))
        if option.kind == "float":
            raw.kind = lib.PP_DRAW_LOG_UNIFORM if draw.log else lib.PP_DRAW_UNIFORM
            raw.low, raw.high = low, high
            return
        if draw.log:
            raise ValueError(f"{option.name}={quote(draw)}: log=True is for floats: leave it out")
        raw.kind = lib.PP_DRAW_INTEGER
        raw.first, raw.last = cast("int", low), cast("int", high)


def _checked(option: Option, value: Any) -> Any:
    """Returns a value that may be drawn, converted to the option's type."""
    return option.check(value)


def check_limit(value: Any, env_id: int) -> int:
    """Returns one environment's max_episode_steps, 0 for none."""
    return 0 if value is None else check_count(f"{LIMIT} of environment {env_id}", value, 0)


def check_limits(value: Any, num_envs: int) -> Any:
    """Returns max_episode_steps of 1 or more, which may be each(...) or each_reset(...)."""
    check_length(LIMIT, value, num_envs)
    if isinstance(value, Each):
        for env_id, one in enumerate(value.values):
            check_count(f"{LIMIT} of environment {env_id}", one, 1)
        return value
    if isinstance(value, EachReset):
        for one in value.choices or (value.low, value.high):
            check_count(LIMIT, one, 1)
        return value
    return check_count(LIMIT, value, 1)


def key_of(value: Any) -> Any:
    """Returns what is equal for values that are equal and of the same type."""
    try:
        hash(value)
    except TypeError:
        # a map of FrozenLake is a list, and may be an array
        try:
            return pickle.dumps(value)
        except Exception:
            return id(value)
    return type(value), value
