"""Environments in workers that return wrong values, or values that can't be pickled or stored."""

from __future__ import annotations

import resource
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.errors import EnvError
from tests.faults.life_envs import ALL, ONE, Life, Lost, flags, lives, pool_of
from tests.support.sampling import thinned

pytestmark = pytest.mark.usefixtures("alarm")


# ------------------------------------------------------------------------------- wrong results --


def result(**changes: Any) -> Callable[[Life], Any]:
    """Returns a function that returns a step's result with these values replaced."""

    def make(env: Life) -> Any:
        parts = {
            "observation": env.show(),
            "reward": 1.0,
            "terminated": False,
            "truncated": False,
            "info": {},
        }
        return tuple({**parts, **changes}.values())

    return make


WRONG: dict[str, tuple[Callable[[Life], Any], type[Exception], str]] = {
    "reward None": (result(reward=None), TypeError, "NoneType, None as reward: give one number"),
    "reward text": (result(reward="1.5"), TypeError, "a str, '1.5' as reward"),
    "reward of two": (result(reward=np.ones(2)), TypeError, r"shape \(2,\) as reward"),
    "reward in a list": (result(reward=[1.0]), TypeError, r"a list, \[1.0\] as reward"),
    "reward complex": (result(reward=1j), TypeError, "a complex, 1j as reward"),
    "flags of two": (result(terminated=np.ones(2, bool)), ValueError, "as terminated: give a bool"),
    "other flags of two": (result(truncated=np.ones(2, bool)), ValueError, "as truncated"),
    "info None": (result(info=None), TypeError, "a NoneType, None as info: give a dict"),
    "info of a list": (result(info=["a"]), TypeError, r"a list, \['a'\] as info"),
    "info at an end": (result(info=0, truncated=True), TypeError, "an int, 0 as info"),
    "four values": (
        lambda env: (env.show(), 1.0, False, {}),
        ValueError,
        r"step returned 4 values, .*: return \(observation, reward, terminated, truncated, info\)",
    ),
    "no tuple": (lambda env: 3, TypeError, "step returned an int, 3: return"),
    "observation None": (result(observation=None), ValueError, "observation is a NoneType, None"),
    "observation of three": (result(observation=np.zeros(3)), ValueError, r"shape \(3,\): its sp"),
    "observation complex": (result(observation=np.zeros(2, complex)), TypeError, "complex128"),
    "observation text": (result(observation="text"), ValueError, "observation is a str, 'text'"),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("is_whole", thinned([True, False], 2), ids=["whole", "some"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_results_are_named(name: str, is_whole: bool) -> None:
    wrong, error, message = WRONG[name]
    with pool_of(lives(partial(Life, wrong)), on_error="raise") as pool:
        pool.reset()
        pool.step(ALL)
        with pytest.raises(error, match=message) as caught:
            if is_whole:
                pool.step(ONE)
            else:
                pool.step(ONE[:2], [0, 1])
        cause = caught.value.__cause__
        assert isinstance(cause, EnvError) and cause.env_ids == (1,)
        assert "environment 1 failed" in caught.value.__notes__[0]
        # the row is zero, and the next step starts an episode
        assert flags(pool, cause.batch)[1] == (0, False, False)
        assert not cause.batch[0][1].any()
        batch = pool.step(ALL)
        assert batch[0][:2, 0].tolist() == [3, 0]


@pytest.mark.quick(1)
@pytest.mark.parametrize("reward", [1, True, np.float32(1), np.array(1.0), float("nan")], ids=repr)
def test_any_number_is_a_reward(reward: Any) -> None:
    with pool_of(lives(partial(Life, result(reward=reward))), on_error="raise") as pool:
        pool.reset()
        np.testing.assert_array_equal(pool.step(ONE)[1], [1, float(reward), 1, 1])


@pytest.mark.quick(1)
@pytest.mark.parametrize("wrong", [np.zeros(2), 7, (np.zeros(2),), (np.zeros(2), {}, 1), (1, None)])
def test_wrong_results_of_reset_are_named(wrong: Any) -> None:
    class Wrong(Life):
        def reset(self, **kwargs: Any) -> Any:
            super().reset(**kwargs)
            return wrong

    with pool_of(lives(Wrong), on_error="raise") as pool:
        with pytest.raises(
            TypeError, match=r"reset returned .*: return \(observation, info\)"
        ) as e:
            pool.reset()
        assert e.value.__cause__.env_ids == (1,)  # type: ignore[union-attr]


def test_a_missing_key_is_named() -> None:
    class Keyed(Life):
        def __init__(self, keys: tuple[str, ...]) -> None:
            super().__init__()
            self.observation_space = spaces.Dict(a=spaces.Discrete(3), b=spaces.Discrete(3))
            self.keys = keys

        def show(self) -> Any:
            return dict.fromkeys(self.keys, 1)

    env_fns = [partial(Keyed, ("a", "b")), partial(Keyed, ("a",))]
    message = r"observation is a dict with keys \['a'\]: .* 'b'"
    with (
        pool_of(env_fns, on_error="raise") as pool,
        pytest.raises(ValueError, match=message) as caught,
    ):
        pool.reset()
    assert caught.value.__cause__.env_ids == (1,)  # type: ignore[union-attr]


# -------------------------------------------------------------------- values that can't be sent --


def test_infos_that_cannot_be_pickled_are_named() -> None:
    def unpicklable(env: Life) -> Any:
        return result(info={"fine": 1, "deep": {"list": [0, threading.Lock()]}})(env)

    with pool_of(lives(partial(Life, unpicklable)), on_error="raise") as pool:
        pool.reset()
        with pytest.raises(TypeError, match=r"info\['deep'\]\['list'\]\[1\] is a lock") as caught:
            pool.step(ONE)
        assert "can't be pickled and so can't leave its worker process" in str(caught.value)
        assert caught.value.__cause__.env_ids == (1,)  # type: ignore[union-attr]
        pool.step(ALL)
        with pytest.raises(TypeError, match=r"result\[0\] is a lock"):
            pool.apply(lambda env: threading.Lock())


class Shy(Exception):
    """An exception that has no message and can't be pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __str__(self) -> str:
        raise RuntimeError("no")


def test_exceptions_that_cannot_be_pickled_say_why() -> None:
    def shy(env: Life) -> None:
        raise Shy

    with pool_of(lives(partial(Life, shy)), on_error="raise") as pool:
        pool.reset()
        with pytest.raises(EnvError, match=r"Shy: (?s:.*)can't be sent: .*lock") as caught:
            pool.step(ONE)
        assert caught.value.env_ids == (1,)
        pool.step(ALL)


@pytest.mark.quick(1)
@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("what", ["None", "lock"])
def test_an_environment_that_cannot_be_described_is_named(position: int, what: str) -> None:
    def make() -> Any:
        env = Life()
        env.observation_space.odd = threading.Lock()
        return None if what == "None" else env

    env_fns: list[Any] = [Life] * 4
    env_fns[position] = make
    with pytest.raises((AttributeError, TypeError)) as caught:
        ProcessPool(env_fns, num_workers=2, start_method="fork")
    assert f"environment {position} " in str(caught.value.__cause__)


def no_more_memory(env: Life) -> int:
    """Lets no file of the worker grow, shared memory included."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    return 0


def memory_again(env: Life) -> int:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    return 0


def large_info(env: Life) -> Any:
    return result(info={"much": bytes(env.drawn)})(env)


def test_infos_for_which_there_is_no_memory_are_a_memory_error() -> None:
    with pool_of(lives(partial(Life, large_info)), on_error="raise") as pool:
        pool.reset()
        # these answers allocate the memory that the answer of no_more_memory needs
        pool.set_attr("drawn", [1 << 20] * 4)
        pool.apply(memory_again, [1])
        pool.apply(no_more_memory, [1])
        with pytest.raises(MemoryError, match="no shared memory for a message of 10") as caught:
            pool.step(ONE)
        assert caught.value.__cause__.env_ids == (1,)  # type: ignore[union-attr]
        pool.apply(memory_again, [1])
        assert pool.step(ALL)[0][:2, 0].tolist() == [2, 0]


def test_exceptions_for_which_there_is_no_memory_are_shortened() -> None:
    def much(env: Life) -> None:
        raise Lost(bytes(1 << 20))

    with pool_of(lives(partial(Life, much)), on_error="raise") as pool:
        pool.apply(memory_again, [1])
        pool.apply(no_more_memory, [1])
        pool.reset()
        with pytest.raises(EnvError, match=r"environment 1 failed: Lost: b'\\x00") as caught:
            pool.step(ONE)
        assert len(str(caught.value)) < 2000


def test_failures_for_which_there_is_no_memory_are_a_memory_error() -> None:
    """There is no memory even for the message that says so."""
    with pool_of(lives(partial(Life, large_info)), on_error="raise") as pool:
        with pytest.raises(MemoryError):
            pool.apply(no_more_memory, [1])
        pool.reset()
        with pytest.raises(MemoryError) as caught:
            pool.step(ONE)
        cause = caught.value.__cause__ or caught.value
        assert "environment 1 " in str(cause)
        assert pool.step(ALL)[0][:2, 0].tolist() == [2, 0]


def test_answers_for_which_there_is_no_memory_are_a_memory_error() -> None:
    with pool_of(lives(Life)) as pool:
        pool.apply(memory_again, [1])
        pool.apply(no_more_memory, [1])
        with pytest.raises(MemoryError, match="no shared memory for an answer of 10"):
            pool.apply(lambda env: bytes(1 << 20), [1])
        pool.apply(memory_again, [1])
        assert pool.get_attr("steps") == [0] * 4
