"""Rows of environments that raise, return wrong values, or values that can't be pickled."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool.compat.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool.errors import EnvError
from parallel_pool.workers.messages import FINAL_INFO, INFO, MAX_RESTARTS, OBSERVATION
from parallel_pool.workers.process_pool import ProcessPool
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("alarm")

MODES = ("next_step", "same_step", "disabled")
# actions, and what an environment does at a step with each
CALM, TROUBLE = 0, 1


class Life(gymnasium.Env[Any, Any]):
    """Its observation: the number of its steps, and a number drawn at the last reset with a seed.

    Args:
        trouble: called with the environment at a step with the action TROUBLE.
        at_reset: called with it at every reset.
        is_text: observations are strings, which travel as objects.
    """

    action_space = spaces.Discrete(2)

    def __init__(
        self,
        trouble: Callable[[Life], Any] | None = None,
        at_reset: Callable[[Life], Any] | None = None,
        is_text: bool = False,
        length: int = 10**6,
    ) -> None:
        box = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.observation_space: Any = spaces.Text(99) if is_text else box
        self.trouble, self.at_reset, self.is_text = trouble, at_reset, is_text
        self.steps = self.drawn = 0
        self.length = length
        # infos of each step
        self.info: Any = {}

    def show(self) -> Any:
        return f"{self.steps}, {self.drawn}" if self.is_text else np.array([self.steps, self.drawn])

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if self.at_reset is not None:
            self.at_reset(self)
        self.steps, self.drawn = 0, int(self.np_random.integers(10**6))
        return self.show(), {}

    def step(self, action: Any) -> Any:
        if action == TROUBLE and self.trouble is not None:
            result = self.trouble(self)
            if result is not None:
                return result
        self.steps += 1
        return self.show(), 1.0, self.steps >= self.length, False, self.info


class Lost(Exception):
    """The exception that these environments raise."""


def lose(env: Life) -> None:
    # the state differs from the last observation
    env.steps += 100
    raise Lost(f"at step {env.steps}")


def lives(make: Callable[[], Life], count: int = 4) -> list[Any]:
    """Returns env_fns, of which number 1 is `make`."""
    return [make if i == 1 else Life for i in range(count)]


def texts(make: Callable[..., Life], count: int = 4) -> list[Any]:
    return [partial(make if i == 1 else Life, is_text=True) for i in range(count)]


def pool_of(env_fns: list[Any], **kwargs: Any) -> ProcessPool:
    """Makes a pool of two workers, with environments 0 and 1 in the first."""
    return ProcessPool(
        env_fns, num_workers=2, **{"start_method": "fork", "on_error": "restart", **kwargs}
    )


def shown(pool: ProcessPool, batch: Any) -> Any:
    """Returns each environment's observation, as (steps, drawn)."""
    if pool.leaves is not None:
        return [tuple(map(int, row)) for row in batch[0]]
    replies = pool.replies()
    return [
        tuple(map(int, replies[i][OBSERVATION].split(","))) if OBSERVATION in replies[i] else None
        for i in range(pool.num_envs)
    ]


def flags(pool: ProcessPool, batch: Any) -> list[tuple[float, bool, bool]]:
    """Returns rewards, terminations and truncations."""
    places = [c.name for c in pool.columns]
    columns = [batch[places.index(name)] for name in ("reward", "terminated", "truncated")]
    return [tuple(column[i].item() for column in columns) for i in range(len(batch[0]))]


def first_of(seed: int) -> tuple[int, int]:
    """Returns the number that a new environment draws for this seed."""
    env = Life()
    env.reset(seed=seed)
    return 0, env.drawn


ALL = np.full(4, CALM)
ONE = np.array([CALM, TROUBLE, CALM, CALM])

# ------------------------------------------------------------------------------------ restarts --


@pytest.mark.parametrize("envs", [lives, texts], ids=["arrays", "objects"])
@pytest.mark.parametrize("autoreset", MODES)
def test_an_environment_that_raises_is_made_again(autoreset: str, envs: Any) -> None:
    with pool_of(envs(partial(Life, lose)), autoreset=autoreset) as pool:
        pids = pool.apply(lambda env: os.getpid())
        shown(pool, pool.reset(seed=3))
        for _ in range(3):
            before = shown(pool, pool.step(ALL))
            batch = pool.step(ONE)
            info = pool.replies()[1][INFO]
            now = shown(pool, batch)
            assert info["worker_restarted"] is True
            assert (
                flags(pool, batch)
                == [(1, False, False), (0, False, True)] + [(1, False, False)] * 2
            )
            others = [(steps + 1, drawn) for steps, drawn in before]
            assert now[0] == others[0] and now[2:] == others[2:]
            if autoreset == "same_step":
                assert pool.replies()[1][FINAL_INFO] == {}
                final = [batch[i][1] for i, c in enumerate(pool.columns) if c.is_final]
                assert [tuple(map(int, each)) for each in final] == [before[1]] * len(final)
                first = now[1]
            else:
                assert now[1] in (before[1], None)
                if autoreset == "disabled":
                    batch = pool.reset([1])
                    first = shown_of_one(pool, batch)
                else:
                    batch = pool.step(ALL)
                    assert flags(pool, batch)[1] == (0, False, False)
                    assert INFO not in pool.replies().get(1, {})
                    first = shown(pool, batch)[1]
            assert first == first_of(info["restart_seed"])
            batch = pool.step(ALL)
            assert shown(pool, batch)[1] == (1, first[1])
            assert flags(pool, batch)[1] == (1, False, False)
        # the worker processes are the same as before
        assert pool.apply(lambda env: os.getpid()) == pids


def shown_of_one(pool: ProcessPool, batch: Any) -> Any:
    """Returns the observation of environment 1, of a batch with only its row."""
    if pool.leaves is not None:
        return tuple(map(int, batch[0][0]))
    return tuple(map(int, pool.replies()[1][OBSERVATION].split(",")))


def test_one_that_raises_is_made_again_in_an_unordered_pool() -> None:
    with pool_of(lives(partial(Life, lose)), batch_size=1) as pool:
        names = [c.name for c in pool.columns]
        place, cut = names.index("env_id"), names.index("truncated")
        pool.send_reset(seed=0)
        last = {}
        for _ in range(4):
            batch = pool.recv()
            last[int(batch[place][0])] = batch[0][0]
        for turn in range(3):
            pool.send(ONE)
            for _ in range(4):
                batch = pool.recv()
                i = int(batch[place][0])
                if i == 1 and turn % 2 == 0:
                    info = pool.replies()[1][INFO]
                    assert batch[cut][0]
                    assert batch[0][0].tolist() == last[1].tolist()
                elif i == 1:
                    assert tuple(batch[0][0]) == first_of(info["restart_seed"])
                else:
                    assert batch[0][0][0] == turn + 1 and not batch[cut][0]
                last[i] = batch[0][0]


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_a_reset_that_raises_between_episodes_is_a_restart(autoreset: str) -> None:
    """It was an autoreset: the row is that of a step."""

    def fail(env: Life) -> None:
        if env.steps:
            raise Lost("in reset")

    env_fns = lives(partial(Life, at_reset=fail, length=2))
    with pool_of(env_fns, autoreset=autoreset) as pool:
        pool.reset(seed=0)
        before = pool.step(ALL)
        if autoreset == "next_step":
            before = pool.step(ALL)
            assert flags(pool, before)[1] == (1, True, False)
        batch = pool.step(ALL)
        info = pool.replies()[1][INFO]
        assert flags(pool, batch)[1] == (0, False, True)
        if autoreset == "next_step":
            np.testing.assert_array_equal(batch[0][1], before[0][1])
            batch = pool.step(ALL)
        else:
            (final,) = [batch[i] for i, c in enumerate(pool.columns) if c.is_final]
            np.testing.assert_array_equal(final[1], before[0][1])
        assert tuple(batch[0][1]) == first_of(info["restart_seed"])


def test_a_reset_that_raises_is_done_by_another_environment() -> None:
    def fail(env: Life) -> None:
        if env.steps:
            raise Lost("in reset")

    with pool_of(lives(partial(Life, at_reset=fail))) as pool:
        pool.reset(seed=0)
        pool.step(ALL)
        batch = pool.reset()
        assert flags(pool, batch) == [(0, False, False)] * 4
        info = pool.replies()[1][INFO]
        assert tuple(batch[0][1]) == first_of(info["restart_seed"])
        pool.step(ALL)
        batch = pool.reset(seed=7)
        assert pool.replies()[1][INFO] == {"worker_restarted": True, "restart_seed": 8}
        assert tuple(batch[0][1]) == first_of(8)
        np.testing.assert_array_equal(pool.step(ALL)[0][:, 0], [1] * 4)


def test_a_reset_that_always_raises_fails() -> None:
    def fail(env: Life) -> None:
        raise Lost("whatever comes")

    for autoreset in MODES:
        with pool_of(lives(partial(Life, at_reset=fail)), autoreset=autoreset) as pool:
            for _ in range(3):
                with pytest.raises(Lost, match="whatever comes") as caught:
                    pool.reset()
                assert caught.value.__cause__.env_ids == (1,)  # type: ignore[union-attr]


@pytest.mark.parametrize("autoreset", MODES)
def test_one_that_raises_at_each_first_step_fails(autoreset: str) -> None:
    def fail(env: Life) -> None:
        if env.steps == 0:
            raise Lost("at once")

    with pool_of(lives(partial(Life, fail)), autoreset=autoreset) as pool:
        (truncated,) = [i for i, c in enumerate(pool.columns) if c.name == "truncated"]

        def step(actions: Any) -> bool:
            # whether the environment was truncated; the next step works again
            was_cut = bool(pool.step(actions)[truncated][1])
            if was_cut and autoreset != "same_step":
                pool.step(ALL) if autoreset == "next_step" else pool.reset([1])
            return was_cut

        pool.reset(seed=0)
        for _ in range(2):
            assert [step(ONE) for _ in range(MAX_RESTARTS)] == [True] * MAX_RESTARTS
            with pytest.raises(Lost, match="at once") as caught:
                step(ONE)
            assert caught.value.__cause__.env_ids == (1,)  # type: ignore[union-attr]
            # it is made again all the same, and one successful step clears its count
            assert [step(ALL) for _ in range(2)] == [True, False]
            pool.reset(seed=0)


def test_one_that_was_never_reset_fails() -> None:
    with pool_of(lives(partial(Life, lose))) as pool:
        with pytest.raises(Lost):
            pool.step(ONE)
        pool.reset()
        pool.step(ONE)


class Fragile(Life):
    """Can be made only while a file does not exist."""

    def __init__(self, path: Path, trouble: Any = lose) -> None:
        if path.exists():
            with path.open("a") as file:
                file.write("tried\n")
            raise FileExistsError(str(path))
        super().__init__(trouble)


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_one_that_cannot_be_made_again_is_tried_again(tmp_path: Path, autoreset: str) -> None:
    path = tmp_path / "no more"
    with pool_of(lives(partial(Fragile, path)), autoreset=autoreset) as pool:
        pool.reset(seed=0)
        before = pool.step(ALL)
        path.touch()
        for _ in range(3):
            with pytest.raises(FileExistsError) as caught:
                pool.step(ONE)
            cause = caught.value.__cause__
            assert isinstance(cause, EnvError) and cause.env_ids == (1,)
            assert cause.batch[0][[0, 2, 3], 0].all()
        # one attempt in each turn
        assert path.read_text() == "tried\n" * 3
        # the first turn was a step, which failed and caused it
        path.unlink()
        batch = pool.step(ALL)
        info = pool.replies()[1][INFO]
        assert info["worker_restarted"]
        assert flags(pool, batch)[1] == (0, False, True)
        if autoreset == "next_step":
            np.testing.assert_array_equal(batch[0][1], before[0][1])
            batch = pool.step(ALL)
        assert tuple(batch[0][1]) == first_of(info["restart_seed"])
        path.touch()
        with pytest.raises(FileExistsError):
            pool.step(ONE)
        path.unlink()
        batch = pool.reset(seed=5)
        assert tuple(batch[0][1]) == first_of(6)


def test_the_first_failure_is_printed_once(capfd: pytest.CaptureFixture[str]) -> None:
    with pool_of(lives(partial(Life, lose))) as pool:
        pool.reset()
        for _ in range(3):
            pool.step(ONE)
            pool.step(ALL)
    written = capfd.readouterr().err
    assert written.count("environment 1 failed and is made again") == 1
    assert written.count("Lost: at step 100") == 1


class Closing(Life):
    """Records that it was closed."""

    def __init__(self, path: Path, error: BaseException | None = None) -> None:
        super().__init__(lose)
        self.path, self.error = path, error

    def close(self) -> None:
        with self.path.open("a") as file:
            file.write(f"{self.steps}\n")
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [None, ValueError("in close"), SystemExit(3)], ids=repr)
def test_the_old_environment_is_closed(tmp_path: Path, error: Any) -> None:
    path = tmp_path / "closed"
    with pool_of(lives(partial(Closing, path, error))) as pool:
        pool.reset()
        pool.step(ALL)
        pool.step(ONE)
        assert path.read_text() == "101\n"
        pool.step(ALL)
        pool.step(ALL)
    assert path.read_text() == "101\n1\n"


@pytest.mark.parametrize("error", [KeyError("in close"), SystemExit(3), KeyboardInterrupt()])
def test_every_environment_is_closed_in_the_end(tmp_path: Path, error: Any) -> None:
    paths = [tmp_path / str(i) for i in range(4)]
    env_fns = [
        partial(Closing, path, error if i % 2 == 0 else None) for i, path in enumerate(paths)
    ]
    with pool_of(env_fns) as pool:
        pool.reset()
    assert [path.read_text() for path in paths] == ["0\n"] * 4


def test_wrong_use_causes_no_restart() -> None:
    with pool_of(lives(partial(Life, length=1)), autoreset="disabled") as pool:
        pool.reset(seed=0)
        assert flags(pool, pool.step(ALL))[1] == (1, True, False)
        with pytest.raises(AssertionError, match="environment 1 has ended its episode"):
            pool.step(ALL)
        batch = pool.reset(seed=0)
        assert pool.replies() == {}
        assert tuple(batch[0][1]) == first_of(1)


class Choosy:
    """Can be unpickled only by the process that made it."""

    def __init__(self) -> None:
        self.pid = os.getpid()

    def __setstate__(self, state: Any) -> None:
        if state["pid"] != os.getpid():
            raise RuntimeError("in another process")


def test_an_action_that_cannot_be_unpickled_causes_none_either() -> None:
    class Texted(Life):
        action_space: Any = spaces.Text(9)

    with pool_of([Texted] * 4) as pool:
        pool.reset(seed=0)
        with pytest.raises(RuntimeError, match="in another process") as caught:
            pool.step(["a", Choosy(), "c", "d"])
        assert caught.value.__cause__.env_ids == (1,)  # type: ignore[union-attr]
        pool.step(["a"] * 4)
        with pytest.raises(RuntimeError, match="in another process"):
            pool.reset(options={"choosy": Choosy()})
        pool.reset(seed=0)
        assert pool.replies() == {}


def test_vector_environments_show_restarts() -> None:
    env = ProcessVectorEnv(
        lives(partial(Life, lose)), context="fork", num_workers=2, on_error="restart"
    )
    try:
        env.reset(seed=0)
        last = env.step(ALL)[0]
        observations, rewards, terminated, truncated, infos = env.step(ONE)
        assert observations[1].tolist() == last[1].tolist()
        assert rewards.tolist() == [1, 0, 1, 1]
        assert not terminated.any()
        assert truncated.tolist() == [False, True, False, False]
        assert infos["worker_restarted"].tolist() == [False, True, False, False]
        seed = infos["restart_seed"][1]
        assert tuple(env.step(ALL)[0][1]) == first_of(int(seed))
    finally:
        env.close()


# ------------------------------------------------------------------------------- wrong results --


def result(**changes: Any) -> Callable[[Life], Any]:
    """Returns a function that replaces values in a step's result."""

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
    "info at an end": (result(info=0, truncated=True), TypeError, "a int, 0 as info"),
    "four values": (
        lambda env: (env.show(), 1.0, False, {}),
        ValueError,
        r"step returned 4 values, .*: return \(observation, reward, terminated, truncated, info\)",
    ),
    "no tuple": (lambda env: 3, TypeError, "step returned a int, 3: return"),
    "observation None": (result(observation=None), ValueError, "observation is a NoneType, None"),
    "observation of three": (result(observation=np.zeros(3)), ValueError, r"shape \(3,\): its sp"),
    "observation complex": (result(observation=np.zeros(2, complex)), TypeError, "complex128"),
    "observation text": (result(observation="text"), ValueError, "observation is a str, 'text'"),
}


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "some"])
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


@pytest.mark.parametrize("reward", [1, True, np.float32(1), np.array(1.0), float("nan")], ids=repr)
def test_any_number_is_a_reward(reward: Any) -> None:
    with pool_of(lives(partial(Life, result(reward=reward))), on_error="raise") as pool:
        pool.reset()
        np.testing.assert_array_equal(pool.step(ONE)[1], [1, float(reward), 1, 1])


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
    """Lets no file grow, shared memory included."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    return 0


def memory_again(env: Life) -> int:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    return 0


def told_much(env: Life) -> Any:
    return result(info={"much": bytes(env.drawn)})(env)


def test_infos_for_which_there_is_no_memory() -> None:
    with pool_of(lives(partial(Life, told_much)), on_error="raise") as pool:
        pool.reset()
        # leaves room for an answer
        pool.set_attr("drawn", [1 << 20] * 4)
        pool.apply(memory_again, [1])
        pool.apply(no_more_memory, [1])
        with pytest.raises(MemoryError, match="no shared memory for a message of 10") as caught:
            pool.step(ONE)
        assert caught.value.__cause__.env_ids == (1,)  # type: ignore[union-attr]
        pool.apply(memory_again, [1])
        assert pool.step(ALL)[0][:2, 0].tolist() == [2, 0]


def test_exceptions_for_which_there_is_no_memory() -> None:
    def much(env: Life) -> None:
        raise Lost(bytes(1 << 20))

    with pool_of(lives(partial(Life, much)), on_error="raise") as pool:
        pool.apply(memory_again, [1])
        pool.apply(no_more_memory, [1])
        pool.reset()
        with pytest.raises(EnvError, match=r"environment 1 failed: Lost: b'\\x00") as caught:
            pool.step(ONE)
        assert len(str(caught.value)) < 2000


def test_failures_for_which_there_is_no_memory() -> None:
    """There is none even to report that."""
    with pool_of(lives(partial(Life, told_much)), on_error="raise") as pool:
        with pytest.raises(MemoryError):
            pool.apply(no_more_memory, [1])
        pool.reset()
        with pytest.raises(MemoryError) as caught:
            pool.step(ONE)
        cause = caught.value.__cause__ or caught.value
        assert "environment 1 " in str(cause)
        assert pool.step(ALL)[0][:2, 0].tolist() == [2, 0]


def test_answers_for_which_there_is_no_memory() -> None:
    with pool_of(lives(Life)) as pool:
        pool.apply(memory_again, [1])
        pool.apply(no_more_memory, [1])
        with pytest.raises(MemoryError, match="no shared memory for an answer of 10"):
            pool.apply(lambda env: bytes(1 << 20), [1])
        pool.apply(memory_again, [1])
        assert pool.get_attr("steps") == [0] * 4


# ------------------------------------------------------------------------------------ __main__ --

PROGRAM = """
import sys
import gymnasium
import numpy as np
from parallel_pool.compat.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool.workers.process_pool import ProcessPool


class Point:
    def __init__(self, x):
        self.x = x


class Odd(Exception):
    pass


class Narrow(gymnasium.spaces.Box):
    pass


class Env(gymnasium.Env):
    observation_space = Narrow(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)
    where = Point("there")

    def reset(self, *, seed=None, options=None):
        assert options is None or type(options["point"]) is Point
        return np.zeros(1, np.float32), {"kind": Point}

    def step(self, action):
        if action == 1:
            raise Odd("from afar", Point(3))
        return np.zeros(1, np.float32), 0.0, False, False, {"point": Point(2), "number": 1.0}

    def take(self, point):
        assert type(point) is Point
        return Point(point.x + 1)


env = ProcessVectorEnv([Env] * 3, context=sys.argv[1], num_workers=2)
assert type(env.single_observation_space) is Narrow
infos = env.reset(options={"point": Point(1)})[1]
assert all(kind is Point for kind in infos["kind"]), infos
infos = env.step([0] * 3)[4]
assert all(type(point) is Point and point.x == 2 for point in infos["point"]), infos
try:
    env.step([0, 1, 0])
except Odd as odd:
    assert odd.args[0] == "from afar" and type(odd.args[1]) is Point
else:
    raise AssertionError
assert [type(each) for each in env.get_attr("where")] == [Point] * 3
assert [each.x for each in env.call("take", Point(5))] == [6] * 3
env.set_attr("where", Point("here"))
assert [each.x for each in env.get_attr("where")] == ["here"] * 3
assert env.pool.apply(lambda one: type(one).__name__ + Point.__name__) == ["EnvPoint"] * 3
env.close()
print("all is well")
"""


# the same in a child of multiprocessing, where the main module has another name
CHILD = """
import multiprocessing, sys
import gymnasium
from parallel_pool.compat.gymnasium.process_vector_env import ProcessVectorEnv


class Point:
    pass


class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        assert options is None or type(options["point"]) is Point
        return 0, {"point": Point()}


def train():
    env = ProcessVectorEnv([Env] * 2, context=sys.argv[1], num_workers=1)
    for options in (None, {"point": Point()}):
        infos = env.reset(options=options)[1]
        assert all(type(point) is Point for point in infos["point"]), infos
    env.close()
    print("all is well")


if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=train)
    child.start()
    child.join()
"""


@pytest.mark.parametrize(
    ("method", "source"),
    [("fork", PROGRAM), ("spawn", PROGRAM), ("forkserver", PROGRAM), ("forkserver", CHILD)],
    ids=["fork", "spawn", "forkserver", "child"],
)
def test_definitions_of_main_are_sent_both_ways(tmp_path: Path, method: str, source: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(source)
    done = subprocess.run(
        [sys.executable, str(program), method],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.stdout == "all is well\n", done.stderr
