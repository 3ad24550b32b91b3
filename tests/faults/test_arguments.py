"""Wrong arguments of both kinds of pools: the error names value and cure, and changes nothing."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._engine import arguments, seeds
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.base_pool import BasePool
from parallel_pool._engine.pool import Pool, write_state
from parallel_pool._native import ffi, lib, new_error, text
from parallel_pool._workers.process_pool import ProcessPool
from tests.support.python_ids import PYTHON_ID
from tests.support.same import assert_same

NUM_ENVS = 3
ZEROS = np.zeros(NUM_ENVS, np.int64)


class Shy:
    """A value whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def make_cartpole() -> gymnasium.Env[Any, Any]:
    return gymnasium.make("CartPole-v1")


class Pair:
    """A pool to misuse, and an equal one to compare it with."""

    def __init__(self, make: Callable[[], BasePool]) -> None:
        self.pool: Any = make()
        self.untouched: Any = make()
        for pool in (self.pool, self.untouched):
            pool.reset(seed=5)

    def close(self) -> None:
        self.pool.close()
        self.untouched.close()

    def assert_goes_on(self) -> None:
        """Checks that both give the same bits over the end of an episode."""
        assert self.pool.in_flight == 0
        for round_ in range(15):
            actions = (np.arange(NUM_ENVS) + round_) % 2
            assert_same(self.pool.step(actions), self.untouched.step(actions), f"round {round_}")


@pytest.fixture(scope="module")
def native() -> Iterator[Pair]:
    found = Pair(lambda: Pool("CartPole-v1", NUM_ENVS, seed=1, num_threads=1))
    yield found
    found.close()


@pytest.fixture(scope="module")
def processes() -> Iterator[Pair]:
    found = Pair(lambda: ProcessPool([make_cartpole] * NUM_ENVS, num_workers=1))
    yield found
    found.close()


@pytest.fixture(params=["native", "processes"])
def pair(request: pytest.FixtureRequest) -> Pair:
    found: Pair = request.getfixturevalue(request.param)
    return found


def named(value: Any) -> str | None:
    """Returns the name of a case whose integer is too large for pytest to print."""
    is_huge = isinstance(value, int) and value.bit_length() > 256
    return f"{value.bit_length()}bits" if is_huge else None


Case = tuple[Any, type[Exception], str]

SEEDS: list[Case] = [
    ("1", TypeError, "seed='1' is a str: give an integer"),
    (b"12", TypeError, "seed=b'12' is a bytes: give an integer"),
    (1.5, TypeError, r"seed=1\.5 is a float: give an integer"),
    (math.nan, TypeError, "seed=nan is a float: give an integer"),
    (True, TypeError, "seed=True is a bool: give an integer"),
    (Shy(), TypeError, "seed=.*Shy.* is a Shy: give an integer"),
    ({1, 2, 3}, TypeError, "seed={1, 2, 3} is a set: give an integer"),
    (itertools.count(), TypeError, r"seed=count\(0\) is a count: give an integer"),
    (-1, ValueError, "seed=-1: choose 0 or more"),
    (-(10**5000), ValueError, "seed=an integer of 16610 bits: choose 0 or more"),
    ([1, 2], ValueError, "2 seeds for 3 environments: give one for each"),
    ((), ValueError, "0 seeds for 3 environments: give one for each"),
    (range(10**9), ValueError, "1000000000 seeds for 3 environments: give one for each"),
    ([1, 2.5, 3], TypeError, r"seed=2\.5 is a float: give an integer"),
    ([[1], [2], [3]], TypeError, r"seed=\[1\] is a list: give an integer"),
    (np.array([[1, 2, 3]]), ValueError, r"seeds have shape \(1, 3\): give one axis"),
    (np.array([1.0, 2.0, 3.0]), TypeError, "is a float64: give an integer"),
]


@pytest.mark.sanitizers
@pytest.mark.parametrize(("seed", "error", "message"), SEEDS, ids=named)
def test_wrong_seeds_are_refused(
    pair: Pair, seed: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        pair.pool.reset(seed=seed)
    pair.assert_goes_on()


@pytest.mark.parametrize(
    "seed", [2**64, np.uint8(7), np.array(5), [1, None, 3], range(3), np.array([3, 4, 5], np.uint8)]
)
def test_integers_of_every_kind_are_accepted_as_seeds(pair: Pair, seed: Any) -> None:
    """Gymnasium's `reset(seed=)` accepts each of them."""
    assert_same(pair.pool.reset(seed=seed), pair.untouched.reset(seed=seed), "reset")
    pair.assert_goes_on()


IDS: list[Case] = [
    (1.0, TypeError, "env_ids have dtype float64: give integers"),
    (True, TypeError, "env_ids have dtype bool: give integers"),
    ([True, False], TypeError, "env_ids have dtype bool: give integers"),
    ("0", TypeError, "env_ids='0' is a str: give an integer, or a list of integers"),
    ("", TypeError, "env_ids='' is a str: give an integer, or a list of integers"),
    ({0, 1}, TypeError, "env_ids={0, 1} is a set: give an integer, or a list"),
    ({0: 1}, TypeError, "env_ids={0: 1} is a dict: give an integer, or a list"),
    (itertools.count(), TypeError, r"env_ids=count\(0\) is a count: give an integer, or a list"),
    (Shy(), TypeError, "env_ids=.*Shy.* is a Shy: give an integer, or a list"),
    ([None], TypeError, "env_id=None is a NoneType: give an integer"),
    (["0"], TypeError, "env_id='0' is a str: give an integer"),
    ([0, [1]], ValueError, r"env_ids=\[0, \[1\]\] can't be made an array: give a list of integers"),
    ([[0, 1]], ValueError, r"env_ids have shape \(1, 2\): give one axis"),
    ([], ValueError, "no environment is named: name 1 or more"),
    (-1, ValueError, "env_id -1: choose 0 to 2"),
    ([0, 3], ValueError, "env_id 3: choose 0 to 2"),
    ([2**40], ValueError, "env_id 1099511627776: choose 0 to 2"),
    ([-(2**70)], ValueError, "env_id -1180591620717411303424: choose 0 to 2"),
    (np.array([2**63], np.uint64), ValueError, "env_id 9223372036854775808: choose 0 to 2"),
    ([0, 0], ValueError, "env_id 0 is named twice: name it once"),
    (np.ma.array([0, 1], mask=[1, 0]), ValueError, r"has masked ids: give env_ids\.compressed\(\)"),
]


@pytest.mark.parametrize(("env_ids", "error", "message"), IDS, ids=named)
def test_wrong_env_ids_are_refused(
    pair: Pair, env_ids: Any, error: type[Exception], message: str
) -> None:
    count = len(env_ids) if isinstance(env_ids, (list, np.ndarray, dict, set)) else 1
    actions = np.zeros(count, np.int64)
    for call in (
        lambda: pair.pool.step(actions, env_ids),
        lambda: pair.pool.send(actions, env_ids),
        lambda: pair.pool.reset(env_ids),
        lambda: pair.pool.reset(env_ids, seed=3),
    ):
        with pytest.raises(error, match=message):
            call()
        assert pair.pool.in_flight == 0
    pair.assert_goes_on()


TIMEOUTS: list[Case] = [
    (-1, ValueError, "timeout=-1: choose 0 or more seconds, or None"),
    (math.nan, ValueError, "timeout=nan: choose 0 or more seconds, or None"),
    ("1", TypeError, "timeout='1' is a str: give seconds"),
    (True, TypeError, "timeout=True is a bool: give seconds"),
    ([1], TypeError, r"timeout=\[1\] is a list: give seconds"),
    (-(10**5000), ValueError, "timeout=an integer of 16610 bits: choose 0 or more seconds"),
]


@pytest.mark.parametrize(("timeout", "error", "message"), TIMEOUTS, ids=named)
def test_wrong_timeouts_are_refused(
    pair: Pair, timeout: Any, error: type[Exception], message: str
) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: pair.pool.step(ZEROS, timeout=timeout),
        lambda: pair.pool.recv(timeout=timeout),
        # the timeout is checked before anything is sent
        lambda: pair.pool.reset(timeout=timeout),
    ]
    if isinstance(pair.pool, ProcessPool):
        calls.append(lambda: pair.pool.call("render_mode", timeout=timeout))
    for call in calls:
        with pytest.raises(error, match=message):
            call()
        assert pair.pool.in_flight == 0
    pair.assert_goes_on()


@pytest.mark.parametrize(
    "timeout", [1e300, math.inf, 10**400, np.float32(600), np.int64(600)], ids=named
)
def test_large_timeouts_and_numpy_timeouts_are_accepted(pair: Pair, timeout: Any) -> None:
    assert_same(pair.pool.step(ZEROS, timeout=timeout), pair.untouched.step(ZEROS), "stepped")
    pair.assert_goes_on()


NATIVE: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    # worker processes seed by NumPy, which has no such limit
    (
        lambda p: p.reset(seed=2**600),
        ValueError,
        "environment 0 has 608 bits: choose one of at most",
    ),
    (lambda p: p.set_state(None), TypeError, "states=None is a NoneType: give a list of what get"),
    (lambda p: p.set_state(3), TypeError, "states=3 is an int: give a list"),
    (lambda p: p.set_state(b"abc"), TypeError, "states=b'abc' is a bytes: give a list"),
    (lambda p: p.set_state({0: b"a"}), TypeError, "states={0: b'a'} is a dict: give a list"),
    (lambda p: p.set_state(iter([b""])), TypeError, "is a list_iterator: give a list"),
    (lambda p: p.set_state([None] * 3), TypeError, r"states\[0\]=None is a NoneType: give bytes"),
    (lambda p: p.set_state([b"", "a", b""]), TypeError, r"states\[1\]='a' is a str: give bytes"),
    (lambda p: p.set_state([b""]), ValueError, "1 states for 3 environments: give one for each"),
    (lambda p: p.clone("a", [1]), TypeError, "env_id='a' is a str: give an integer"),
    (lambda p: p.clone(None, [1]), TypeError, "env_id=None is a NoneType: give an integer"),
    (lambda p: p.clone([0], [1]), TypeError, r"env_id=\[0\] is a list: give an integer"),
    (lambda p: p.clone(9, [1]), ValueError, "env_id 9: choose 0 to 2"),
    (lambda p: p.clone(0, []), ValueError, "no environment is named: name 1 or more"),
    (lambda p: p.needs_reset(1.5), TypeError, r"env_id=1\.5 is a float: give an integer"),
    (lambda p: p.needs_reset(True), TypeError, "env_id=True is a bool: give an integer"),
    (lambda p: p.needs_reset(2**70), ValueError, "env_id 1180591620717411303424: choose 0 to 2"),
    (lambda p: write_state(p, [0, 1], 0), TypeError, r"env_id=\[0, 1\] is a list: give an integer"),
    (lambda p: write_state(p, 0, "a"), TypeError, "address='a' is a str: give an integer"),
    (lambda p: p.observe({0}), TypeError, "is a set: give an integer"),
    (lambda p: p.get_state("x"), TypeError, "env_ids='x' is a str: give an integer"),
    (lambda p: p.render("x"), TypeError, "env_ids='x' is a str: give an integer"),
    (lambda p: p.reset(options=3), TypeError, "options=3 is an int: give a dict"),
    (lambda p: p.reset(options=0), TypeError, "options=0 is an int: give a dict"),
    (lambda p: p.reset(options=False), TypeError, "options=False is a bool: give a dict"),
    (lambda p: p.reset(options=""), TypeError, "options='' is a str: give a dict"),
    (lambda p: p.reset(options=[]), TypeError, r"options=\[\] is a list: give a dict"),
    (lambda p: p.reset(options={"": 1}), TypeError, "has no option '': it has high, low"),
    (lambda p: p.reset(options={"low": 1j}), TypeError, "low=1j is a complex: give a number"),
    (lambda p: p.reset(options={"low": Shy()}), TypeError, "low=.*Shy.* is a Shy: give a number"),
    (
        lambda p: p.reset(options={"low": -(10**5000)}),
        ValueError,
        "low=an integer of 16610 bits: choose",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), NATIVE)
def test_wrong_calls_of_native_pools_are_refused(
    native: Pair, call: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(native.pool)
    native.assert_goes_on()


@pytest.mark.parametrize(
    ("task_id", "options", "error", "message"),
    [
        ("Pong-v5", {"stack_num": 10**5000}, ValueError, "stack_num=an integer of 16610 bits: cho"),
        ("Pong-v5", {"stack_num": b"4"}, TypeError, "stack_num=b'4' is a bytes: give an integer"),
        ("Pong-v5", {"stack_num": None}, TypeError, "stack_num=None is a NoneType: give an int"),
        ("test/Fault-v0", {"fail_on": "step\0"}, ValueError, r"'step\\x00' holds a zero byte"),
        ("test/Fault-v0", {"fail_on": "\ud800"}, ValueError, "holds a lone surrogate: choose a st"),
        ("test/Fault-v0", {"fail_on": b"step"}, TypeError, "fail_on=b'step' is a bytes: give a st"),
        (
            "test/Fault-v0",
            {"fail_on": None},
            TypeError,
            "fail_on=None is a NoneType: give a string",
        ),
    ],
)
def test_wrong_options_are_refused(
    task_id: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Pool(task_id, 2, options=options)


# ------------------------------------------------------------------------------------- counts --

# wrong values of num_envs, for each function that takes it
COUNTS: list[Case] = [
    (2.0, TypeError, r"=2\.0 is a float: give an integer"),
    ("2", TypeError, "='2' is a str: give an integer"),
    (math.nan, TypeError, "=nan is a float: give an integer"),
    (True, TypeError, "=True is a bool: give an integer"),
    (False, TypeError, "=False is a bool: give an integer"),
    ("", TypeError, "='' is a str: give an integer"),
    ([], TypeError, r"=\[\] is a list: give an integer"),
    (np.array([2]), TypeError, r"=array\(\[2\]\) is an ndarray: give an integer"),
    (0, ValueError, "=0: choose 1 or more"),
    (-1, ValueError, "=-1: choose 1 or more"),
    (10**9, ValueError, "=1000000000: choose 1 to 16777216"),
    (2**31, ValueError, "=2147483648: choose 1 to"),
    (2**63, ValueError, "=9223372036854775808: choose 1 to"),
    (10**12, ValueError, "=1000000000000: choose 1 to"),
    (10**5000, ValueError, "=an integer of 16610 bits: choose 1 to"),
]
MAKERS: dict[str, Callable[[Any], Any]] = {
    "Pool": lambda n: Pool("CartPole-v1", n),
    "make": lambda n: parallel_pool.make("CartPole-v1", "gymnasium", num_envs=n),
    "make_vec": lambda n: parallel_pool.make_vec("CartPole-v1", n),
    "processes": lambda n: parallel_pool.make_vec(PYTHON_ID, n),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("count", "error", "message"), COUNTS, ids=named)
def test_a_wrong_num_envs_is_refused_at_once(
    maker: str, count: Any, error: type[Exception], message: str
) -> None:
    begin = time.process_time()
    with pytest.raises(error, match=f"num_envs{message}"):
        MAKERS[maker](count)
    # an earlier version made a list of 10^9 functions, which took more than a minute
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("wrong", ["", "2", False, True, 0.0, 2.0, [], math.nan])
@pytest.mark.parametrize(
    "make",
    [
        lambda wrong: Pool("CartPole-v1", 3, batch_size=wrong),
        lambda wrong: parallel_pool.make("CartPole-v1", "gymnasium", num_envs=3, batch_size=wrong),
        lambda wrong: ProcessPool([make_cartpole] * 3, batch_size=wrong),
    ],
)
def test_a_wrong_batch_size_is_refused(make: Callable[[Any], Any], wrong: Any) -> None:
    """Values that are false to Python are refused too: an earlier version took them for 0."""
    with pytest.raises(TypeError, match=r"batch_size=.* is a .*: give an integer"):
        make(wrong)


@pytest.mark.parametrize("task_id", ["CartPole-v1", PYTHON_ID])
@pytest.mark.parametrize(
    ("limit", "error", "message"),
    [
        ("", TypeError, "='' is a str: give an integer"),
        (False, TypeError, "=False is a bool: give an integer"),
        (True, TypeError, "=True is a bool: give an integer"),
        (2.0, TypeError, r"=2\.0 is a float: give an integer"),
        (0, ValueError, "=0: choose 1 or more, or -1 for none"),
        (-2, ValueError, "=-2: choose 1 or more, or -1 for none"),
        (2**31, ValueError, "=2147483648: choose"),
        (10**5000, ValueError, "=an integer of 16610 bits: choose"),
    ],
    ids=named,
)
def test_wrong_time_limits_are_refused(
    task_id: str, limit: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"max_episode_steps{message}"):
        parallel_pool.make_vec(task_id, 2, max_episode_steps=limit)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"timeout": True}, TypeError, "timeout=True is a bool: give seconds"),
        (
            {"timeout": -(10**5000)},
            ValueError,
            "timeout=an integer of 16610 bits: choose more than",
        ),
        ({"start_timeout": "4"}, TypeError, "start_timeout='4' is a str: give seconds"),
        ({"num_workers": 10**5000}, ValueError, "num_workers=an integer of 16610 bits: choose 0"),
        ({"num_workers": 2.0}, TypeError, r"num_workers=2\.0 is a float: give an integer"),
    ],
)
def test_wrong_arguments_of_process_pools_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    for kind in (ProcessPool, ProcessVectorEnv):
        with pytest.raises(error, match=message):
            kind([make_cartpole] * 2, **arguments)


# ------------------------------------------------------------------------------------- memory --


def test_a_pool_larger_than_the_memory_is_refused_before_memory_is_touched(tmp_path: Any) -> None:
    """The memory is simulated: 10 MB. Without the check the system killed the process."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 8000 kB\nSwapTotal: 2000 kB\n")
    definition = Pool("CartPole-v1").definition
    root = ffi.new("char[]", str(tmp_path).encode())
    assert lib.pp_usable_memory(root) == 10_240_000
    options = ffi.new("pp_pool_options *", {"topology_root": root, "num_threads": 1})
    options.thread_affinity_offset = options.max_episode_steps = -1
    options.reward_dtype = lib.PP_FLOAT32
    values, out, error = definition.configure().values.raw, ffi.new("pp_pool **"), new_error()
    options.num_envs = options.batch_size = 1000
    assert lib.pp_pool_create(definition.raw, values, options, out, error) == 0
    lib.pp_pool_destroy(out[0])
    options.num_envs = options.batch_size = 2**20
    assert lib.pp_pool_create(definition.raw, values, options, out, error) == lib.PP_ERR_MEMORY
    said = text(error.text)
    assert said.startswith("num_envs=1048576 needs 0.3"), said
    assert said.endswith(
        "but this process may use 0.0102 GB: choose fewer environments, or smaller observations"
    )


def test_more_python_environments_than_fit_into_the_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from parallel_pool._engine import arguments

    class Small:
        def pp_usable_memory(self, root: Any) -> int:
            return 10**9

    monkeypatch.setattr(arguments, "lib", Small())
    message = "num_envs=100000 Python environments take 1.64 GB or more, and .* use 1 GB: choose"
    with pytest.raises(MemoryError, match=message):
        parallel_pool.make_vec(PYTHON_ID, 100_000)


# ------------------------------------------------------------------------------------ helpers --


def test_fresh_seeds_have_as_many_bits_as_numpys() -> None:
    found = seeds.entropies(200)
    assert len(set(found)) == 200
    assert 120 < max(each.bit_length() for each in found) <= 128


def test_seeds_are_split_into_words_of_32_bits() -> None:
    words, sizes = seeds.words([0, None, 5, 2**32 + 7, 2**64])
    assert words.tolist() == [0, 5, 7, 1, 0, 0, 1]
    assert sizes.tolist() == [1, 0, 1, 2, 3]
    assert words.dtype == np.uint32 and sizes.dtype == np.int32
    assert seeds.words([None])[0].tolist() == [0]


def test_messages_show_values_in_a_short_form() -> None:
    assert quote(2.5) == "2.5"
    assert quote("a\nb") == r"'a\nb'"
    assert quote(10**30) == str(10**30)
    assert quote(10**5000) == "an integer of 16610 bits"
    assert len(quote("x" * 10**6)) < 80 and len(quote(list(range(10**6)))) < 80
    assert "\n" not in quote(np.zeros((3, 3)))
    assert "Shy" in quote(Shy())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, "an int"),
        ("3", "a str"),
        (np.zeros(2), "an ndarray"),
        (object(), "an object"),
        (np.uint8(3), "a uint8"),
        (None, "a NoneType"),
    ],
)
def test_types_have_their_article(value: Any, expected: str) -> None:
    assert arguments.a_type(value) == expected
