"""A wrong definition in C is refused before a pool is made; the error names the wrong member."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parallel_pool._engine import registry
from parallel_pool._engine.actions import ActionReader
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.specs import Definition
from parallel_pool._native import ffi, lib, new_error, text

CData = Any
# the definition that a test changes, if it names no other
BASE = "test/Duel-v0"


class Maker:
    """A copy of a built-in definition whose members a test may change.

    Attributes:
        raw: the `pp_env_def`.
    """

    def __init__(self, base: str = BASE) -> None:
        original = registry.builtin()[base].raw
        self.raw = ffi.new("pp_env_def *", original[0])
        self._keep: list[CData] = []
        self.fields = self.table("pp_field", original.fields, original.num_fields)
        self.options = self.table("pp_option", original.options, original.num_options)
        self.raw.fields = self.fields
        self.raw.options = self.options

    def table(self, kind: str, entries: CData, count: int) -> CData:
        """Returns a copy of a table that can be written to."""
        copy = self.keep(ffi.new(f"{kind}[]", max(count, 1)))
        for i in range(count):
            copy[i] = entries[i]
        return copy

    def keep(self, data: CData) -> CData:
        """Keeps data that C points to alive as long as this object; returns the data."""
        self._keep.append(data)
        return data

    def chars(self, data: bytes) -> CData:
        return self.keep(ffi.new("char[]", data))

    def add_option(self, name: bytes = b"depth", **members: Any) -> CData:
        """Makes this the definition's only option."""
        option = self.keep(ffi.new("pp_option[1]"))
        option[0].name = self.chars(name)
        option[0].type = lib.PP_OPT_FLOAT
        for member, value in members.items():
            setattr(option[0], member, value)
        self.raw.options, self.raw.num_options = option, 1
        return option

    def configure(self, change: Callable[[CData], Any]) -> None:
        """Gives the definition a configure callback that makes this change."""

        def callback(config: CData) -> int:
            change(config)
            return 0

        self.raw.configure = self.keep(ffi.callback("int(pp_config *)", callback))


def checked(maker: Maker) -> tuple[int, str]:
    error = new_error()
    return lib.pp_env_check(maker.raw, error), text(error.text)


def configured(maker: Maker) -> tuple[int, str]:
    error, config = new_error(), ffi.new("pp_config *")
    status = lib.pp_config_init(maker.raw, ffi.NULL, config, error)
    if status == 0:
        lib.pp_config_fini(maker.raw, config)
    return status, text(error.text)


def created(maker: Maker) -> tuple[int, str]:
    """Makes a pool without the two calls above, as a caller in C may."""
    error, out = new_error(), ffi.new("pp_pool **")
    options = ffi.new("pp_pool_options *", {"num_envs": 4, "batch_size": 4, "num_threads": 1})
    options.thread_affinity_offset = options.max_episode_steps = -1
    options.reward_dtype = lib.PP_FLOAT32
    status = lib.pp_pool_create(maker.raw, ffi.NULL, options, out, error)
    if status == 0:
        lib.pp_pool_destroy(out[0])
    return status, text(error.text)


def assert_works(maker: Maker) -> None:
    assert checked(maker) == (0, "")
    with Pool(Definition(maker.raw), 2, num_threads=1, seed=0) as pool:
        pool.reset()
        pool.step(np.zeros((2, *ActionReader(pool.spec).shape), pool.spec.action.dtype))


def set_raw(**members: Any) -> Callable[[Maker], None]:
    def change(maker: Maker) -> None:
        for member, value in members.items():
            setattr(maker.raw, member, maker.chars(value) if isinstance(value, bytes) else value)

    return change


def set_field(at: int = 0, **members: Any) -> Callable[[Maker], None]:
    def change(maker: Maker) -> None:
        for member, value in members.items():
            field = maker.fields[at]
            if isinstance(value, bytes):
                value = maker.chars(value)
            elif member in ("lows", "highs"):
                value = maker.keep(ffi.new("double[]", value))
            elif member in ("nvec", "player_sizes"):
                value = maker.keep(ffi.new("int64_t[]", value))
            setattr(field, member, value)

    return change


def set_action(**members: Any) -> Callable[[Maker], None]:
    def change(maker: Maker) -> None:
        for member, value in members.items():
            if isinstance(value, bytes):
                value = maker.chars(value)
            elif member in ("nvec", "player_sizes"):
                value = maker.keep(ffi.new("int64_t[]", value))
            setattr(maker.raw.action, member, value)

    return change


def set_option(**members: Any) -> Callable[[Maker], None]:
    def change(maker: Maker) -> None:
        option = maker.add_option()
        for member, value in members.items():
            setattr(option[0], member, maker.chars(value) if isinstance(value, bytes) else value)

    return change


def name_players(*names: Any) -> Callable[[Maker], None]:
    def change(maker: Maker) -> None:
        chars = [maker.chars(name) if isinstance(name, bytes) else name for name in names]
        maker.raw.player_names = maker.keep(ffi.new("char *[]", chars))

    return change


def name_twice(maker: Maker) -> None:
    options = maker.keep(ffi.new("pp_option[2]"))
    for option in options:
        option.name, option.type = maker.chars(b"depth"), lib.PP_OPT_INT
    maker.raw.options, maker.raw.num_options = options, 2


NULL = ffi.NULL
# a function that writes texts; it is not called
WRITE = registry.builtin()["test/Orders-v0"].raw.fields[0].text
LATIN = "Dôme".encode("latin-1")
DEFINITION: list[tuple[Callable[[Maker], None], str]] = [
    (set_raw(id=NULL), "the definition: id is null: give one"),
    (set_raw(id=b""), "the definition: id is empty: give one"),
    (set_raw(id=LATIN), "the definition: id is not UTF-8: write it in UTF-8"),
    # a truncated character, an overlong form, a surrogate, a number beyond Unicode, a lone
    # continuation byte, a byte that UTF-8 never has
    *(
        (set_raw(id=wrong), "the definition: id is not UTF-8: write it in UTF-8")
        for wrong in (b"a\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80", b"\xff")
    ),
    (set_raw(family=LATIN), "test/Duel-v0: family is not UTF-8"),
    (set_raw(variant=LATIN), "test/Duel-v0: variant is not UTF-8"),
    (set_raw(reference=LATIN), "test/Duel-v0: reference is not UTF-8"),
    (set_raw(reset=NULL), "reset is null: a definition needs reset, step and observe"),
    (set_raw(step=NULL), "step is null: a definition needs reset, step and observe"),
    (set_raw(observe=NULL), "observe is null: a definition needs reset, step and observe"),
    (set_raw(max_episode_steps=-1), "max_episode_steps=-1: choose 1 or more, or 0 for no limit"),
    (set_raw(tolerance=-1.0), "tolerance=-1: choose 0 or more"),
    (
        set_raw(has_reward_threshold=False, reward_threshold=5.0),
        "reward_threshold=5 without has_reward_threshold: set that to true, or leave both out",
    ),
    (set_raw(reward_threshold=math.nan), "reward_threshold=nan: choose a number, or leave has_r"),
    (set_raw(action_numbers=-1), "action_numbers=-1: choose a pp_numbers"),
    (set_raw(action_numbers=3), "action_numbers=3: choose a pp_numbers"),
    (set_raw(tolerance=math.nan), "tolerance=nan: choose 0 or more"),
    (set_raw(num_players=-1), "num_players=-1: choose 1 to 64"),
    (set_raw(num_players=65), "num_players=65: choose 1 to 64"),
    (set_raw(num_players=2**31 - 1), "num_players=2147483647: choose 1 to 64"),
    (name_players(b"red", ffi.NULL), r"player_names\[1\]: it is null: give one"),
    (name_players(b"", b"blue"), r"player_names\[0\] \(\): it is empty: give one"),
    (name_players(b"red", b"red"), r"player_names\[1\] \(red\): player_names\[0\] is the same"),
    (set_raw(num_fields=-1), "num_fields=-1: choose 1 to 32"),
    (set_raw(num_fields=0), "num_fields=0: choose 1 to 32"),
    (set_raw(num_fields=33), "num_fields=33: choose 1 to 32"),
    (set_raw(num_fields=2**31 - 1), "num_fields=2147483647: choose 1 to 32"),
    (set_raw(fields=NULL), "fields is null and num_fields=4: give the table"),
    # rounded up to a stride, the first two become 0: the states of environments would overlap
    (set_raw(state_size=2**64 - 1), "state_size=18446744073709551615: choose at most"),
    (set_raw(state_size=2**64 - 40), "state_size=18446744073709551576: choose at most"),
    (set_raw(state_size=2**62), "state_size=4611686018427387904: choose at most"),
    (set_raw(state_size=2**38 + 1), "state_size=274877906945: choose at most 274877906944 bytes"),
    (set_raw(num_options=-1), "num_options=-1: choose 0 to 256"),
    (set_raw(num_options=2**31 - 1), "num_options=2147483647: choose 0 to 256"),
    (set_raw(num_options=1, options=NULL), "options is null and num_options=1: give the table"),
    (set_raw(num_reset_options=-5), "num_reset_options=-5: choose 0 to 256"),
    (set_raw(num_reset_options=2), "reset_options is null and num_reset_options=2: give the table"),
]
OPTIONS: list[tuple[Callable[[Maker], None], str]] = [
    (set_option(name=NULL), r"options\[0\]: its name is null: give one"),
    (set_option(name=b""), r"options\[0\] \(\): its name is empty: give one"),
    *(
        (set_option(name=name), "its name is not a Python identifier: choose letters")
        for name in (b"two words", b"2d", b"a-b", b"lambda", b"None", "dôme".encode())
    ),
    (set_option(name=LATIN), "its name is not UTF-8"),
    (set_option(type=99), r"options\[0\] \(depth\): type=99: choose a pp_option_type"),
    (set_option(type=-1), "type=-1: choose a pp_option_type"),
    (set_option(type=lib.PP_OPT_STRING, text=LATIN), r"\(depth\): text is not UTF-8"),
    (set_option(doc=LATIN), r"\(depth\): doc is not UTF-8"),
    (set_option(low=2.0, high=1.0), "low=2 > high=1: choose low <= high"),
    (set_option(low=math.nan, high=1.0), "low=nan, high=1: choose numbers"),
    (set_option(low=0.0, high=math.nan), "low=0, high=nan: choose numbers"),
    (
        set_option(number=3.0, low=0.0, high=1.0),
        "number=3 is outside low=0 to high=1: choose a def",
    ),
    (set_option(number=math.nan, low=0.0, high=1.0), "number=nan is outside low=0 to high=1"),
    (set_option(type=lib.PP_OPT_INT, number=0.5), "number=0.5: choose a whole number of 64 bits"),
    (set_option(type=lib.PP_OPT_INT, number=math.nan), "number=nan: choose a whole number"),
    (set_option(type=lib.PP_OPT_INT, number=1e300), r"number=1e\+300: choose a whole number"),
    (set_option(type=lib.PP_OPT_BOOL, number=2.0), "number=2: choose 0 or 1, for a bool"),
    (name_twice, r"options\[1\] \(depth\): options\[0\] has the same name: choose another"),
]
FIELDS: list[tuple[Callable[[Maker], None], str]] = [
    (set_field(name=NULL), r"fields\[0\]: its name is null: give one"),
    (set_field(name=b""), r"fields\[0\] \(\): its name is empty: give one"),
    (set_field(name=LATIN), "its name is not UTF-8"),
    (set_field(1, name=b"score"), r"fields\[1\] \(score\): fields\[0\] has the same name: choose"),
    *(
        (set_field(name=name), r"fields\[0\] \(.*\): its name is that of an engine column: choose")
        for name in (
            *(b"reward", b"terminated", b"truncated", b"env_id", b"elapsed_step", b"step_type"),
            *(b"discount", b"players.env_id", b"episode_return", b"episode_length"),
        )
    ),
    (set_field(3, name=b"env_id"), r"fields\[3\] \(env_id\): its name is that of an engine column"),
    (set_field(dtype=99), r"fields\[0\] \(score\): dtype=99: choose a pp_dtype"),
    (set_field(dtype=-1), "dtype=-1: choose a pp_dtype"),
    (set_field(space=99), "space=99: choose a pp_space"),
    (set_field(space=-1), "space=-1: choose a pp_space"),
    (set_field(2, when=0), r"fields\[2\] \(last_move\): when=0: choose a pp_when, for an info"),
    (set_field(2, when=5), "when=5: choose a pp_when"),
    (set_field(2, when=12), "when=12: choose a pp_when"),
    (set_field(2, when=9), r"\(last_move\): when=PP_IF_GIVEN: add the info \"given\""),
    (set_field(ndim=-1), "ndim=-1: choose 0 to 4"),
    (set_field(ndim=5), "ndim=5: choose 0 to 4"),
    (set_field(shape=[-1]), r"shape\[0\]=-1: choose 1 or more"),
    (set_field(shape=[0]), r"shape\[0\]=0: choose 1 or more"),
    (set_field(3, ndim=1, shape=[-7]), r"shape\[0\]=-7: choose 0 or more"),
    (set_field(shape=[2**62]), r"shape\[0\]=4611686018427387904: choose a shape of at most"),
    # the product of these is 0 in 64 bits
    (set_field(ndim=2, shape=[2**32, 2**32]), r"shape\[0\]=4294967296: choose a shape of at most"),
    (set_field(ndim=4, shape=[2**16] * 4), r"shape\[1\]=65536: choose a shape of at most"),
    (set_field(low=5.0, high=1.0), "low=5 > high=1: choose low <= high"),
    (set_field(low=math.nan), "low=nan, high=1000: choose numbers"),
    (set_field(high=math.nan), "low=0, high=nan: choose numbers"),
    (set_field(lows=[0.0, 2.0], highs=[1.0, 1.0]), "low=2 > high=1: choose low <= high"),
    (set_field(lows=[0.0, math.nan]), "low=nan, high=1000: choose numbers"),
    (set_field(dtype=lib.PP_UINT8), "high=1000: choose bounds that its dtype can hold, 0 to 255"),
    (set_field(dtype=lib.PP_UINT8, low=-1.0, high=5.0), "low=-1, high=5: choose bounds that its"),
    (set_field(dtype=lib.PP_INT8), "high=1000: choose bounds that its dtype can hold, -128 to 127"),
    (set_field(dtype=lib.PP_INT64, high=math.inf), "low=0, high=inf: choose bounds that its dtype"),
    (set_field(1, n=0), r"fields\[1\] \(stake\): n=0: choose 1 or more"),
    (set_field(1, n=-(2**63)), "n=-9223372036854775808: choose 1 or more"),
    (
        set_field(1, n=257, dtype=lib.PP_UINT8),
        "low=0, n=257: choose numbers that its dtype can hold, 0 to 255",
    ),
    (
        set_field(1, dtype=lib.PP_FLOAT32),
        "dtype=4 is a float: choose an integer dtype, or PP_BOX",
    ),
    (set_field(1, ndim=1, shape=[2]), "ndim=1: choose 0 for PP_DISCRETE, or PP_MULTI_DISCRETE"),
    (
        set_field(1, space=lib.PP_MULTI_DISCRETE, ndim=1, shape=[2]),
        "nvec is null: give one n for each element",
    ),
    (
        set_field(1, space=lib.PP_MULTI_DISCRETE, ndim=1, shape=[2], nvec=[3, 0]),
        "nvec's element=0: choose 1 or more",
    ),
    # field 1 is the second observation
    (
        set_field(1, space=lib.PP_DISCRETE_TUPLE, ndim=1, shape=[2], nvec=[3, 3]),
        r"fields\[1\] \(stake\): it is a PP_DISCRETE_TUPLE: make it the only observation",
    ),
    (
        set_action(space=lib.PP_DISCRETE_TUPLE, ndim=2, shape=[2, 1], nvec=[3, 3]),
        "it is a PP_DISCRETE_TUPLE: choose one axis",
    ),
    (set_action(space=lib.PP_TEXT), "it is a PP_TEXT: send its code instead"),
    (set_action(low=0.5), r"action \(action\): low=0.5: choose an integer, the first value of a"),
    (set_action(low=1), r"action \(action\): low=1: choose 0, as the environment has several"),
    (set_field(1, low=-(2.0**60)), "low=-1.15292e.18: choose an integer"),
    (set_field(1, space=lib.PP_TEXT), r"fields\[1\] \(stake\): text is null: give the function"),
    (set_field(1, space=lib.PP_TEXT, text=WRITE), "it is a PP_TEXT: only environments with one"),
    (set_field(1, space=lib.PP_TEXT, text=WRITE, n=0), "n=0: choose 1 to 65536 characters"),
    (
        set_field(1, space=lib.PP_TEXT, text=WRITE, charset=b"a\tb"),
        "charset holds a byte 9: choose printable ASCII",
    ),
    (
        set_field(1, player_sizes=[1, 1]),
        r"fields\[1\] \(stake\): it has player_sizes: set per_player",
    ),
    (set_field(0, ndim=0, player_sizes=[1, 1]), "it has player_sizes: set per_player, and make it"),
    (set_field(0, player_sizes=[2, 3]), r"player_sizes\[1\]=3: choose 0 to 2"),
    (set_field(0, player_sizes=[-1, 2]), r"player_sizes\[0\]=-1: choose 0 to 2"),
    (set_field(1, per_player=1, player_sizes=[3, 0]), r"player_sizes\[1\]=0: choose 1 to 3"),
    (set_action(player_sizes=[3, 4]), r"action \(action\): player_sizes\[1\]=4: choose 1 to 3"),
    (set_field(1, space=lib.PP_MULTI_BINARY), "ndim=0: choose 1 or more for this space"),
    (set_field(0, is_info=1, when=3), r"fields\[1\] \(stake\): it is an observation after an info"),
    (set_action(name=NULL), "action: its name is null: give one"),
    (set_action(dtype=99), r"action \(action\): dtype=99: choose PP_INT64 for a Discrete action"),
    (set_action(dtype=lib.PP_INT32), "dtype=2: choose PP_INT64 for a Discrete action"),
    (set_action(space=99), "space=99: choose a pp_space"),
    (set_action(n=0), "n=0: choose 1 or more"),
    (set_action(ndim=1, shape=[1]), "ndim=1: choose 0 for PP_DISCRETE"),
    (
        set_action(space=lib.PP_MULTI_DISCRETE, ndim=1, shape=[2]),
        r"action \(action\): nvec is null: give one n for each element",
    ),
    (set_action(space=lib.PP_BOX, dtype=77), "dtype=77: choose a pp_dtype"),
    (set_action(space=lib.PP_BOX, ndim=1, shape=[-3]), r"shape\[0\]=-3: choose 1 or more"),
]


@pytest.mark.quick(24)
@pytest.mark.parametrize(("change", "message"), DEFINITION + OPTIONS + FIELDS)
def test_wrong_member_is_refused(change: Callable[[Maker], None], message: str) -> None:
    """pp_env_check, pp_config_init and pp_pool_create each refuse it."""
    maker = Maker()
    change(maker)
    for way in (checked, configured, created):
        status, refusal = way(maker)
        assert status == lib.PP_ERR_ARGUMENT
        with pytest.raises(ValueError, match=message):
            raise ValueError(refusal)


@pytest.mark.parametrize(("change", "message"), FIELDS)
def test_wrong_configured_member_is_refused(change: Callable[[Maker], None], message: str) -> None:
    """What configure writes is checked like what the definition holds."""
    wrong = Maker()
    change(wrong)
    maker = Maker()

    def configure(config: CData) -> None:
        for i in range(config.num_fields):
            config.fields[i] = wrong.fields[i]
        config.action = wrong.raw.action

    maker.configure(configure)
    assert checked(maker) == (0, "")
    for way in (configured, created):
        status, refusal = way(maker)
        assert status == lib.PP_ERR_ARGUMENT
        with pytest.raises(ValueError, match=message):
            raise ValueError(refusal)


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("num_fields", -1, "num_fields=-1: choose 1 to 32"),
        ("num_fields", 2**31 - 1, "num_fields=2147483647: choose 1 to 32"),
        ("num_players", 0, "num_players=0: choose 1 to 64"),
        ("num_players", 2**31 - 1, "num_players=2147483647: choose 1 to 64"),
        ("state_size", 2**64 - 40, "state_size=18446744073709551576: choose at most"),
    ],
)
def test_wrong_configured_size_is_refused(member: str, value: int, message: str) -> None:
    maker = Maker()
    maker.configure(lambda config: setattr(config, member, value))
    with pytest.raises(ValueError, match=message):
        Pool(Definition(maker.raw), 4)
    assert created(maker)[0] == lib.PP_ERR_ARGUMENT


def test_the_default_of_a_required_option_is_not_checked() -> None:
    maker = Maker()
    set_option(type=lib.PP_OPT_INT, number=math.nan, required=1)(maker)
    assert checked(maker) == (0, "")
    assert Definition(maker.raw).options["depth"].default is None


def test_every_built_in_definition_passes_the_check() -> None:
    error = new_error()
    for definition in registry.builtin().values():
        assert lib.pp_env_check(definition.raw, error) == 0, text(error.text)


@pytest.mark.parametrize(
    "change",
    [
        set_raw(family=NULL, variant=NULL, reference=NULL),
        set_raw(id="Dôme-猫🎲".encode()),
        set_raw(state_size=0x1000),
        set_raw(has_reward_threshold=False, reward_threshold=0.0),
        set_raw(has_reward_threshold=True, reward_threshold=0.0),
        # EnvPool's Atari has infos with these two names
        set_field(3, name=b"reward"),
        set_field(3, name=b"terminated"),
        set_field(3, ndim=1, shape=[0]),
        set_field(low=-math.inf, high=math.inf),
        set_option(number=math.inf),
        set_option(name=b"_hidden", type=lib.PP_OPT_STRING),
    ],
)
def test_unusual_members_are_accepted(change: Callable[[Maker], None]) -> None:
    maker = Maker()
    change(maker)
    assert_works(maker)


# ---------------------------------------------------------------------------------------- fuzz --

WILD = st.sampled_from([-(2**31), -1, 0, 1, 2, 3, 4, 5, 32, 33, 64, 99, 2**31 - 1])
LONG = st.sampled_from([-(2**63), -1, 0, 1, 2, 255, 256, 2**31, 2**32, 2**62, 2**63 - 1])
REAL = st.sampled_from([-math.inf, -1e308, -1.0, 0.0, 0.5, 1.0, 255.0, 1e308, math.inf, math.nan])
CHARS = st.one_of(st.none(), st.sampled_from([b"", b"obs", b"reward", b"x", LATIN, b"if"]))
MEMBERS = {
    "fields": {
        "name": CHARS,
        "shape": st.lists(LONG, min_size=4, max_size=4),
        **dict.fromkeys(("when", "dtype", "space", "ndim"), WILD),
        **dict.fromkeys(("is_info", "per_player"), st.booleans()),
        **dict.fromkeys(("low", "high"), REAL),
        "n": LONG,
    },
    "options": {
        **dict.fromkeys(("name", "text", "doc"), CHARS),
        "type": WILD,
        "required": st.booleans(),
        **dict.fromkeys(("number", "low", "high"), REAL),
    },
    "raw": {
        **dict.fromkeys(("id", "family", "variant", "reference"), CHARS),
        **dict.fromkeys(("num_players", "max_episode_steps", "action_numbers"), WILD),
        "has_reward_threshold": st.booleans(),
        **dict.fromkeys(("tolerance", "reward_threshold"), REAL),
        "state_size": st.sampled_from([0, 1, 4096, 2**38, 2**38 + 1, 2**62, 2**64 - 1]),
        # at most 2, as in the tables of test/Template-v0: C cannot see how long a table is
        **dict.fromkeys(("num_fields", "num_options"), st.integers(-2, 2)),
    },
}
CHANGES = st.sampled_from(
    [(where, member) for where, members in MEMBERS.items() for member in members]
).flatmap(lambda at: st.tuples(st.just(at), MEMBERS[at[0]][at[1]]))


@pytest.mark.slow
@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.lists(CHANGES, max_size=6))
def test_any_members_are_accepted_or_refused(changes: list[tuple[tuple[str, str], Any]]) -> None:
    """The check never crashes if pointers are valid. It accepts no observation above 4 GiB."""
    maker = Maker("test/Template-v0")
    maker.raw.configure = NULL
    maker.raw.check_reset = NULL
    for (where, member), value in changes:
        target = maker.raw if where == "raw" else getattr(maker, where)[0]
        if value is None or isinstance(value, bytes):
            value = NULL if value is None else maker.chars(value)
        setattr(target, member, value)
    status, refusal = checked(maker)
    assert (status, refusal) == (0, "") or (status == lib.PP_ERR_ARGUMENT and len(refusal) > 20)
    if status == 0:
        definition = Definition(maker.raw)
        if any(option.default is None for option in definition.options.values()):
            with pytest.raises(TypeError, match="needs the option"):
                definition.configure()
            return
        spec = definition.configure()
        for field in spec.observations:
            assert field.dtype.itemsize * math.prod(field.shape) <= 2**32
