"""The definition of a native environment: its options, fields and spaces."""

from __future__ import annotations

import copy
import importlib
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from parallel_pool._engine.arguments import a_type, is_number, quote
from parallel_pool._engine.strict_zip import zip
from parallel_pool._engine.texts import Texts
from parallel_pool._engine.trees import nest
from parallel_pool._native import ffi, lib, new_error, raise_error, text

if TYPE_CHECKING:
    import gymnasium
    import numpy.typing as npt

    from parallel_pool._core import CData
    from parallel_pool._engine.picture_plan import PicturePlan

DTYPES: dict[int, np.dtype[Any]] = {
    lib.PP_BOOL: np.dtype(np.bool_),
    lib.PP_UINT8: np.dtype(np.uint8),
    lib.PP_INT32: np.dtype(np.int32),
    lib.PP_INT64: np.dtype(np.int64),
    lib.PP_FLOAT32: np.dtype(np.float32),
    lib.PP_FLOAT64: np.dtype(np.float64),
    lib.PP_INT8: np.dtype(np.int8),
}

# dtypes of numbers that users give, as actions and as options
NUMBER_DTYPES: dict[int, np.dtype[Any]] = DTYPES | {
    lib.PP_INT16: np.dtype(np.int16),
    lib.PP_UINT16: np.dtype(np.uint16),
    lib.PP_UINT32: np.dtype(np.uint32),
    lib.PP_UINT64: np.dtype(np.uint64),
    lib.PP_FLOAT16: np.dtype(np.float16),
}
NUMBER_CODES = {dtype: code for code, dtype in NUMBER_DTYPES.items()}

# codes of Python's own numbers
PYTHON_CODES: dict[type, int] = {
    float: lib.PP_FLOAT64 | lib.PP_PYTHON,
    int: lib.PP_INT64 | lib.PP_PYTHON,
    bool: lib.PP_BOOL | lib.PP_PYTHON,
}

# longer than a double, on most machines
LONG_DOUBLE: type[np.floating[Any]] = np.dtype(np.longdouble).type

# integers up to this are exact as doubles
MAX_EXACT_INT = 2**53

KINDS = {
    lib.PP_OPT_BOOL: "bool",
    lib.PP_OPT_INT: "int",
    lib.PP_OPT_FLOAT: "float",
    lib.PP_OPT_STRING: "str",
    lib.PP_OPT_BYTES: "bytes",
}

if TYPE_CHECKING:
    OptionValue = bool | int | float | str | bytes | np.number[Any]


@dataclass(frozen=True)
class Option:
    """One constructor or reset option of an environment.

    Attributes:
        name: the Python keyword.
        kind: "bool", "int", "float", "str" or "bytes".
        default: value if the option is not given; None for a required option.
        low, high: inclusive range of an int or float; both 0 for no range.
        doc: description.
        varies: whether its value can be drawn anew at each reset.
        keeps, refuses: types of numbers that change results, as bits: see `pp_option`.
    """

    name: str
    kind: str
    default: OptionValue | None
    low: float
    high: float
    doc: str
    varies: bool = False
    keeps: int = 0
    refuses: int = 0

    @property
    def is_hidden(self) -> bool:
        """Whether the package fills it in (a file's bytes, an address), not the user."""
        return self.kind == "bytes" or self.name.startswith("_")

    @staticmethod
    def read(raw: CData) -> Option:
        """Reads a `pp_option`."""
        kind = KINDS[raw.type]
        default: OptionValue | None = None
        if raw.required:
            pass
        elif kind in ("bool", "int", "float"):
            is_int = raw.number_dtype == PYTHON_CODES[int]
            default = {"bool": bool, "int": int, "float": int if is_int else float}[kind](
                raw.number
            )
        elif kind == "str":
            default = text(raw.text)
        else:
            default = b""
        return Option(
            name=text(raw.name),
            kind=kind,
            default=default,
            low=raw.low,
            high=raw.high,
            doc=text(raw.doc),
            varies=bool(raw.varies),
            keeps=raw.keeps,
            refuses=raw.refuses,
        )

    def check(self, value: Any) -> OptionValue:
        """Returns the value converted to this option's type, or as it is if C keeps its type.

        Raises:
            TypeError: the value has the wrong type, or one in which C does not compute.
            ValueError: the value is outside the range.
        """
        if self.kind == "bool":
            if isinstance(value, (bool, np.bool_)):
                return bool(value)
            raise self._wrong_type(value, "True or False")
        if self.kind == "int":
            if isinstance(value, (bool, np.bool_)):
                raise self._wrong_type(value, "an integer")
            try:
                number = operator.index(value)
            except TypeError:
                raise self._wrong_type(value, "an integer") from None
            self._check_range(number, number)
            if not -(2**63) <= number < 2**63:
                raise ValueError(f"{self.name}={quote(number)}: choose an integer of 64 bits")
            return number
        if self.kind == "float":
            as_float = self._as_float(value) if is_number(value) else None
            why = self.why_inexact(value)
            if why is not None:
                raise TypeError(why)
            if as_float is None:
                raise self._wrong_type(value, "a number")
            return cast("OptionValue", value) if self.code(value) else as_float
        if self.kind == "str":
            if isinstance(value, str):
                return self._as_chars(value)
            raise self._wrong_type(value, "a string")
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise self._wrong_type(value, "bytes")

    def code(self, value: Any) -> int:
        """Returns the code of a number's type if C keeps it, 0 if not: `pp_value.dtype`."""
        if isinstance(value, np.generic):
            code = NUMBER_CODES[value.dtype]
            return code if self.keeps >> code & 1 else 0
        is_kept = isinstance(value, int) and self.keeps >> lib.PP_PYTHON & 1
        return PYTHON_CODES[int] if is_kept else 0

    def why_inexact(self, value: Any) -> str | None:
        """Returns why a native environment would compute other results than its reference with a
        number of this type, a clause that names the cure; None if it would not."""
        if self.kind != "float":
            return None
        if isinstance(value, np.ndarray) and not value.shape and value.dtype.kind in "iuf":
            is_refused = True
        elif not is_number(value):
            return None
        elif isinstance(value, np.generic):
            code = NUMBER_CODES.get(value.dtype)
            is_refused = code is None or bool(self.refuses >> code & 1)
        else:
            is_refused = isinstance(value, int) and bool(self.refuses >> lib.PP_PYTHON & 1)
        if self.keeps and isinstance(value, (int, np.integer)):
            is_refused = is_refused or abs(int(value)) > MAX_EXACT_INT
        if not is_refused:
            return None
        kind = f"a {value.dtype} array" if isinstance(value, np.ndarray) else a_type(value)
        return (
            f"{self.name}={quote(value)} is {kind}, with which native environments would give"
            f" other results than the reference: give float({self.name})"
        )

    def _wrong_type(self, value: Any, wanted: str) -> TypeError:
        kind = a_type(value)
        return TypeError(f"{self.name}={quote(value)} is {kind}: give {wanted}")

    def _as_chars(self, value: str) -> str:
        """Returns a string that C can read: UTF-8 without zero bytes."""
        if "\0" in value:
            raise ValueError(
                f"{self.name}={quote(value)} holds a zero byte: choose a string without one"
            )
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{self.name}={quote(value)} holds a lone surrogate: choose a string that UTF-8 can"
                " encode"
            ) from None
        return value

    def _as_float(self, value: Any) -> float:
        """Returns a number as a float; checks it before, as a float may be another number."""
        if isinstance(value, np.integer):
            value = int(value)
        # float32 is converted at once: NumPy would round the bounds to it
        exact = value if isinstance(value, (int, LONG_DOUBLE)) else float(value)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
        # of equal ones the float is shown, 7.0 for 7
        self._check_range(exact, number if number == exact else value)
        if math.isinf(number) and number != exact:
            raise ValueError(f"{self.name}={quote(value)}: choose a number that a float can hold")
        return number

    def _check_range(self, value: Any, seen: Any) -> None:
        """Refuses a value outside the range, which is shown as the caller gave it."""
        # low == high == 0: there is no range
        if (self.low or self.high) and not self.low <= value <= self.high:
            raise ValueError(f"{self.name}={quote(seen)}: choose {self._range()}")

    def _range(self) -> str:
        """Returns the range in words. A bound next to a whole number leaves that number out."""
        # + 0.0: no minus before a zero
        below = math.nextafter(self.low, -math.inf) + 0.0
        above = math.nextafter(self.high, math.inf) + 0.0
        leaves_out_low = not float(self.low).is_integer() and below.is_integer()
        if leaves_out_low and not float(self.high).is_integer() and above.is_integer():
            return f"a number between {below:g} and {above:g}, without them"
        if leaves_out_low:
            return f"more than {below:g}, at most {self.high:g}"
        return f"{self.low:g} to {self.high:g}"


class Rows(NamedTuple):
    """The environments of a mixture that have an info: bool (num_envs,) each, as in `Field`."""

    on_step: npt.NDArray[np.bool_]
    on_reset: npt.NDArray[np.bool_]
    on_termination: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Field:
    """One observation, action or info of one environment (of one player, if `per_player`).

    Attributes:
        name: "obs" for a single observation, else its key.
        dtype, shape: of one environment's value, without an axis of players.
        is_info: False for observations and the action.
        on_step, on_reset: whether rows of steps, and of resets, have the info.
        on_termination: whether only rows of steps that terminate the episode have it.
        is_optional: whether only those rows have it that `Spec.given` names.
        space_kind: "box", "discrete", "multi_discrete", "multi_binary", or "discrete_tuple": an
            array here, and in Gymnasium's API a tuple; or "text": codes here, and in Gymnasium's
            API strings.
        low, high: bounds of a Box, scalars or arrays of `shape`; of discrete spaces low is where
            values start.
        n: of a Discrete space.
        nvec: of a MultiDiscrete space, or of the Discretes of a Tuple.
        follows: 0: an info's dtype does not depend on the action's. Otherwise 1 more than the code
            of the type (of NUMBER_DTYPES or PYTHON_CODES) that the action is multiplied with.
        is_int_on_step, is_int_on_reset: whether the reference's info is an int in such rows,
            although `dtype` is float64.
        player_sizes: of a per-player field whose space differs between players: each player's n
            (Discrete), or its number of elements (one axis); None if all players are equal.
        texts: what the codes of a text stand for; None for other fields.
        rows: which environments of a pool have an info; None if all are alike.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    per_player: bool
    is_info: bool
    on_step: bool
    on_reset: bool
    space_kind: str
    low: float | npt.NDArray[np.float64]
    high: float | npt.NDArray[np.float64]
    n: int
    nvec: npt.NDArray[np.int64] | None
    follows: int = 0
    is_int_on_step: bool = False
    is_int_on_reset: bool = False
    on_termination: bool = False
    player_sizes: tuple[int, ...] | None = None
    texts: Texts | None = None
    rows: Rows | None = None
    is_optional: bool = False

    @property
    def marks_players(self) -> bool:
        """Whether an info can say which players act, have ended, or got something: pp_env.h."""
        is_always = self.is_info and self.on_step and self.on_reset
        dtype = np.int64 if self.name == "given" else np.bool_
        return is_always and self.per_player and self.dtype == dtype and not self.shape

    @property
    def start(self) -> npt.NDArray[np.int64]:
        """Where the values of a discrete space start: a scalar, or an array of `shape`."""
        return np.broadcast_to(np.asarray(self.low, np.int64), self.shape)

    @staticmethod
    def read(raw: CData, num_players: int = 1) -> Field:
        """Reads a `pp_field`."""
        shape = tuple(raw.shape[axis] for axis in range(raw.ndim))
        size = math.prod(shape)

        def bounds(scalar: float, each: CData) -> float | npt.NDArray[np.float64]:
            if not each:
                return scalar
            return np.array(ffi.unpack(each, size), np.float64).reshape(shape)

        return Field(
            name=text(raw.name),
            dtype=DTYPES[raw.dtype],
            shape=shape,
            per_player=bool(raw.per_player),
            is_info=bool(raw.is_info),
            on_step=bool(raw.when & lib.PP_ON_STEP),
            on_reset=bool(raw.when & lib.PP_ON_RESET),
            on_termination=bool(raw.when & lib.PP_ON_TERMINATION),
            space_kind={
                lib.PP_BOX: "box",
                lib.PP_DISCRETE: "discrete",
                lib.PP_MULTI_DISCRETE: "multi_discrete",
                lib.PP_MULTI_BINARY: "multi_binary",
                lib.PP_DISCRETE_TUPLE: "discrete_tuple",
                lib.PP_TEXT: "text",
            }[raw.space],
            low=bounds(raw.low, raw.lows),
            high=bounds(raw.high, raw.highs),
            n=raw.n,
            nvec=np.array(ffi.unpack(raw.nvec, size), np.int64).reshape(shape)
            if raw.nvec
            else None,
            follows=1 + (raw.factor or PYTHON_CODES[float])
            if raw.follows & lib.PP_FOLLOW_ACTION
            else 0,
            is_int_on_step=bool(raw.follows & lib.PP_INT64_ON_STEP),
            is_int_on_reset=bool(raw.follows & lib.PP_INT64_ON_RESET),
            player_sizes=tuple(ffi.unpack(raw.player_sizes, num_players))
            if raw.player_sizes
            else None,
            texts=Texts.read(raw) if raw.space == lib.PP_TEXT else None,
            is_optional=bool(raw.is_info and raw.when & lib.PP_IF_GIVEN),
        )

    def of_player(self, player: int) -> Field:
        """Returns the field of one player, in that player's own size."""
        if self.player_sizes is None:
            return self
        size = self.player_sizes[player]
        if self.space_kind == "discrete":
            return replace(self, n=size, player_sizes=None)

        def part(values: Any) -> Any:
            return values[:size] if isinstance(values, np.ndarray) else values

        return replace(
            self,
            shape=(size,),
            low=part(self.low),
            high=part(self.high),
            nvec=part(self.nvec),
            player_sizes=None,
        )

    def array_space(self) -> gymnasium.Space[Any]:
        """Returns the space of one value as an array.

        It is the same as `space`, except for a Tuple, and for a text: that of its code.
        """
        if self.space_kind == "discrete_tuple":
            return replace(self, space_kind="multi_discrete").space()
        if self.space_kind == "text":
            codes = np.iinfo(self.dtype)
            return replace(self, space_kind="box", low=codes.min, high=codes.max).space()
        return self.space()

    def space(self) -> gymnasium.Space[Any]:
        """Returns the Gymnasium space of one environment's (one player's) value."""
        from gymnasium import spaces

        if self.space_kind == "discrete":
            return spaces.Discrete(self.n, start=int(self.start))
        if self.space_kind == "discrete_tuple":
            assert self.nvec is not None
            each = zip(self.nvec.tolist(), self.start.tolist(), strict=True)
            return spaces.Tuple([spaces.Discrete(n, start=start) for n, start in each])
        if self.space_kind == "multi_discrete":
            assert self.nvec is not None
            return spaces.MultiDiscrete(self.nvec, start=self.start)
        if self.texts is not None and self.space_kind == "text":
            return spaces.Text(self.texts.most, min_length=0, charset=self.texts.charset)
        if self.space_kind == "multi_binary":
            # as people write it: a space with n=(6,) is not equal to one with n=6
            return spaces.MultiBinary(self.shape[0] if len(self.shape) == 1 else list(self.shape))
        low, high = (
            np.broadcast_to(np.asarray(bound), self.shape).astype(self.dtype)
            for bound in (self.low, self.high)
        )
        return spaces.Box(low, high, self.shape, cast("Any", self.dtype.type))


class Values:
    """Option values in C's form: an array of `pp_value`, and the memory that it points to."""

    def __init__(self, options: Mapping[str, Option], given: Mapping[str, Any], what: str) -> None:
        """Checks the given values.

        Raises:
            TypeError: an option is unknown, missing or has the wrong type.
            ValueError: a value is outside its range.
        """
        if not isinstance(given, Mapping):
            raise TypeError(f"options={quote(given)} is {a_type(given)}: give a dict")
        unknown = sorted(
            name if isinstance(name, str) and 0 < len(name) <= 60 else quote(name)
            for name in set(given) - set(options)
        )
        if unknown:
            public = [name for name, option in options.items() if not option.is_hidden]
            known = ", ".join(sorted(public)) or "none"
            cure = "give the seed to reset(seed=...); " if "seed" in unknown else ""
            raise TypeError(f"{what} has no option {', '.join(unknown)}: {cure}it has {known}")
        self.raw = ffi.new("pp_value[]", max(len(options), 1))
        self.checked: dict[str, OptionValue] = {}
        self._keep: list[CData] = []
        for value, option in zip(self.raw, options.values(), strict=False):
            if option.name in given:
                self._set(value, option, option.check(given[option.name]))
            elif option.default is None:
                raise TypeError(f"{what} needs the option {option.name}: {option.doc}")
            else:
                self.checked[option.name] = option.default

    def _set(self, raw: CData, option: Option, value: OptionValue) -> None:
        self.checked[option.name] = value
        raw.given = True
        if isinstance(value, (str, bytes)):
            data = value.encode() if isinstance(value, str) else value
            chars = ffi.new("char[]", data)
            self._keep.append(chars)
            raw.s = chars
            raw.size = len(data)
        else:
            raw.f = float(value)
            # a float may be too large for an int64, infinite or NaN
            raw.i = int(value) if option.kind != "float" else 0
            raw.dtype = option.code(value)


class Definition:
    """An environment as its C file defines it.

    Attributes:
        id, family: as in the C definition.
        reference: the environment that its results equal.
        variant: the name among several environments of one implementation, "" if there is one.
        tolerance: largest difference from the reference, 0 for the same bits.
        reward_threshold: the return at which it counts as solved, None for none.
        max_episode_steps: the default time limit in steps, None for none.
        options, reset_options: by name.
        can_render: whether its own C code draws it.
        tasks: the names of a mixture's tasks; () for others.
    """

    tasks: tuple[str, ...] = ()

    def __init__(self, raw: CData) -> None:
        self.raw = raw
        self.id = text(raw.id)
        self.family = text(raw.family)
        self.variant = text(raw.variant)
        self.reference = text(raw.reference)
        self.tolerance: float = raw.tolerance
        self.reward_threshold: float | None = (
            raw.reward_threshold if raw.has_reward_threshold else None
        )
        self.max_episode_steps: int | None = raw.max_episode_steps or None
        self.can_render = bool(raw.render)

    # read at first use: importing Gymnasium registers hundreds of definitions, and few are used
    @cached_property
    def options(self) -> dict[str, Option]:
        return self._read(self.raw.options, self.raw.num_options)

    @cached_property
    def reset_options(self) -> dict[str, Option]:
        return self._read(self.raw.reset_options, self.raw.num_reset_options)

    @cached_property
    def tells_no_options(self) -> bool:
        """Whether a reset with options={} may differ from one without options."""
        return "_given" in self.reset_options

    @staticmethod
    def _read(raw: CData, count: int) -> dict[str, Option]:
        options = (Option.read(raw[i]) for i in range(count))
        return {option.name: option for option in options}

    def __repr__(self) -> str:
        return f"Definition({self.id!r})"

    def with_raw(self, raw: CData) -> Definition:
        """Returns this definition with other callbacks."""
        other = copy.copy(self)
        other.raw = raw
        return other

    @property
    def families(self) -> frozenset[str]:
        """The families of its environments."""
        return frozenset([self.family])

    # what only mixtures do

    def definitions_of(self, spec: Spec, num_envs: int) -> tuple[Definition, ...]:
        """Returns the definition of each environment of a pool."""
        return (self,) * num_envs

    def spread(self, options: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
        """Returns the options of a pool, with the task of each environment."""
        return dict(options)

    def limit_of(self, options: Mapping[str, Any], num_envs: int) -> Any:
        """Returns the default time limit of environments with spread options."""
        return self.max_episode_steps

    def add_rows(self, spec: Spec, options: Mapping[str, Any], num_envs: int) -> None:
        """Notes in a pool's spec how its environments differ."""

    def configure(
        self, options: Mapping[str, Any] | None = None, pictures: PicturePlan | None = None
    ) -> Spec:
        """Returns the spec of environments with these options.

        Args:
            options: as the definition names them.
            pictures: what becomes of the pictures that they show; None for nothing.

        Raises:
            TypeError: an option is unknown, missing or has the wrong type.
            ValueError: a value is outside its range, the options contradict each other, or there
                are no such pictures.
        """
        values = Values(self.options, options or {}, self.id)
        config = ffi.new("pp_config *")
        error = new_error()
        # C's configure expects values with defaults filled in
        for raw, option in zip(values.raw, self.options.values(), strict=False):
            if not raw.given:
                values._set(raw, option, values.checked[option.name])
        status = lib.pp_config_init(self.raw, values.raw, config, error)
        if status < 0:
            raise_error(status, error)
        try:
            if pictures is not None:
                pictures.describe(config)
            return Spec(self, values, config)
        finally:
            lib.pp_config_fini(self.raw, config)


def dict_space(tree: Mapping[str, Any]) -> gymnasium.Space[Any]:
    """Returns the space of a dict of spaces, and of dicts of such."""
    from gymnasium import spaces

    return spaces.Dict(
        {name: dict_space(it) if isinstance(it, dict) else it for name, it in tree.items()}
    )


# the info that says which infos a row has
GIVEN = "given"

# By family, the module whose function `text_space(spec, field)` makes the space of its texts, or
# returns None for Gymnasium's own Text; `parallel_pool._families` adds them.
text_spaces: dict[str, str] = {}


class Spec:
    """The fields and spaces of a definition's environments with given options.

    Attributes:
        options: the values of all options; of a pool, each(...) or each_reset(...) for those that
            differ between its environments.
        num_players: players of one environment.
        player_names: of each player.
        fields: observations, then infos.
        action: the action's field.
        row_actions: of a mixture's pool, each environment's own; () otherwise.
        given: of infos that some rows lack their bits in the info "given", by name.
    """

    row_actions: tuple[Field, ...] = ()

    def __init__(self, definition: Definition, values: Values, config: CData) -> None:
        self.definition = definition
        self.values = values
        self.options: dict[str, Any] = values.checked
        self.num_players: int = config.num_players
        self.player_names: tuple[str, ...] = tuple(
            text(config.player_names[i]) if config.player_names else f"player_{i}"
            for i in range(self.num_players)
        )
        self.fields = tuple(
            Field.read(config.fields[i], self.num_players) for i in range(config.num_fields)
        )
        self.observations = tuple(field for field in self.fields if not field.is_info)
        self.infos = tuple(field for field in self.fields if field.is_info)
        self.action = Field.read(config.action, self.num_players)
        optional = [field.name for field in self.infos if field.is_optional]
        self.given = {name: 1 << i for i, name in enumerate(optional)}

    def is_shown(self, field: Field) -> bool:
        """Whether an info is one of the environment's, and does not only say which there are."""
        return not (self.given and field.name == GIVEN)

    def observation_space(self) -> gymnasium.Space[Any]:
        """Returns one environment's observation space; a Dict if observations have keys."""
        if not self.has_keys:
            return self._with_players(self.observations[0])
        return dict_space(
            nest({field.name: self._with_players(field) for field in self.observations})
        )

    @property
    def has_keys(self) -> bool:
        """Whether an observation is a dict; its only array is called "obs" otherwise."""
        return [field.name for field in self.observations] != ["obs"]

    def action_space(self) -> gymnasium.Space[Any]:
        """Returns one environment's action space."""
        return self._with_players(self.action)

    def batched_action_space(self, num_envs: int) -> gymnasium.Space[Any]:
        """Returns the action space of all environments; each row has its environment's own."""
        from gymnasium import spaces
        from gymnasium.vector.utils import batch_space

        single = self.action_space()
        if isinstance(single, spaces.Discrete) and self.row_actions:
            counts = np.array([field.n for field in self.row_actions])
            # tasks whose values start elsewhere are not mixed
            return spaces.MultiDiscrete(counts, start=np.full_like(counts, single.start))
        if not isinstance(single, spaces.Box) or not self.row_actions:
            return batch_space(single, num_envs)
        low, high = (np.zeros((num_envs, *single.shape), single.dtype) for _ in range(2))
        for i, field in enumerate(self.row_actions):
            own = tuple(map(slice, field.shape))
            low[i][own], high[i][own] = field.low, field.high
        return spaces.Box(low, high, dtype=cast("Any", single.dtype.type))

    def _with_players(self, field: Field) -> gymnasium.Space[Any]:
        """Returns a field's space; for a per-player field of several players, a batch of it."""
        if field.space_kind == "text":
            return self._text_space(field)
        if self.num_players == 1 or not field.per_player:
            return field.space()
        from gymnasium import spaces
        from gymnasium.vector.utils import batch_space

        if field.space_kind == "discrete" and field.player_sizes is not None:
            sizes = np.array(field.player_sizes)
            return spaces.MultiDiscrete(sizes, start=np.full_like(sizes, field.start))
        return batch_space(field.space(), self.num_players)

    def _text_space(self, field: Field) -> gymnasium.Space[Any]:
        module = text_spaces.get(self.definition.family)
        if module is None:
            return field.space()
        space: gymnasium.Space[Any] | None
        space = importlib.import_module(module).text_space(self, field)
        return field.space() if space is None else space
