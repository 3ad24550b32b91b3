"""Environments that raise with on_error="restart": they are made again, and rows report it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._workers.data.messages import FINAL_INFO, INFO, MAX_RESTARTS, OBSERVATION
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.errors import EnvError, StateError
from tests.faults.life_envs import (
    ALL,
    MODES,
    ONE,
    Life,
    Lost,
    first_of,
    flags,
    lives,
    lose,
    pool_of,
    quote,
    texts,
)

pytestmark = pytest.mark.usefixtures("alarm")

# ------------------------------------------------------------------------------------ restarts --


@pytest.mark.quick(1)
@pytest.mark.parametrize("envs", [lives, texts], ids=["arrays", "objects"])
@pytest.mark.parametrize("autoreset", MODES)
def test_an_environment_that_raises_is_made_again(autoreset: str, envs: Any) -> None:
    with pool_of(envs(partial(Life, lose)), autoreset=autoreset) as pool:
        pids = pool.apply(lambda env: os.getpid())
        quote(pool, pool.reset(seed=3))
        for _ in range(3):
            before = quote(pool, pool.step(ALL))
            batch = pool.step(ONE)
            info = pool.replies()[1][INFO]
            now = quote(pool, batch)
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
                    first = quote(pool, batch)[1]
            assert first == first_of(info["restart_seed"])
            batch = pool.step(ALL)
            assert quote(pool, batch)[1] == (1, first[1])
            assert flags(pool, batch)[1] == (1, False, False)
        # the worker processes are the same as before
        assert pool.apply(lambda env: os.getpid()) == pids


def shown_of_one(pool: ProcessPool, batch: Any) -> Any:
    """Returns the observation of environment 1 in a batch that has only its row."""
    if pool.leaves is not None:
        return tuple(map(int, batch[0][0]))
    return tuple(map(int, pool.replies()[1][OBSERVATION].split(",")))


def test_an_environment_that_raises_in_an_unordered_pool_is_made_again() -> None:
    with pool_of(lives(partial(Life, lose)), batch_size=1) as pool:
        names = [c.name for c in pool.columns]
        id_column, truncated = names.index("env_id"), names.index("truncated")
        pool.send_reset(seed=0)
        last = {}
        for _ in range(4):
            batch = pool.recv()
            last[int(batch[id_column][0])] = batch[0][0]
        for round_ in range(3):
            pool.send(ONE)
            for _ in range(4):
                batch = pool.recv()
                i = int(batch[id_column][0])
                if i == 1 and round_ % 2 == 0:
                    info = pool.replies()[1][INFO]
                    assert batch[truncated][0]
                    assert batch[0][0].tolist() == last[1].tolist()
                elif i == 1:
                    assert tuple(batch[0][0]) == first_of(info["restart_seed"])
                else:
                    assert batch[0][0][0] == round_ + 1 and not batch[truncated][0]
                last[i] = batch[0][0]


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_a_reset_that_raises_between_episodes_is_a_restart(autoreset: str) -> None:
    """The reset was an autoreset, so its row is that of a step."""

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


def test_a_reset_that_raises_is_repeated_by_a_new_environment() -> None:
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


@pytest.mark.slow
def test_a_reset_that_always_raises_fails() -> None:
    def fail(env: Life) -> None:
        raise Lost("whatever comes")

    for autoreset in MODES:
        with pool_of(lives(partial(Life, at_reset=fail)), autoreset=autoreset) as pool:
            for _ in range(3):
                with pytest.raises(Lost, match="whatever comes") as caught:
                    pool.reset()
                assert caught.value.__cause__.env_ids == (1,)  # type: ignore[union-attr]


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", MODES)
def test_an_environment_that_raises_at_each_first_step_fails(autoreset: str) -> None:
    def fail(env: Life) -> None:
        if env.steps == 0:
            raise Lost("at once")

    with pool_of(lives(partial(Life, fail)), autoreset=autoreset) as pool:
        (truncated,) = [i for i, c in enumerate(pool.columns) if c.name == "truncated"]

        def step(actions: Any) -> bool:
            # returns whether the environment was truncated; then the next step works again
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
            # it is made again nevertheless, and one successful step resets its count to 0
            assert [step(ALL) for _ in range(2)] == [True, False]
            pool.reset(seed=0)


def test_an_environment_that_raises_before_its_first_reset_fails() -> None:
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


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_making_an_environment_again_is_tried_at_each_turn(tmp_path: Path, autoreset: str) -> None:
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
        # the turn that failed first, and so caused the restart, was a step
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


@pytest.mark.quick(1)
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


@pytest.mark.quick(1)
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
        with pytest.raises(StateError, match="environment 1 has ended its episode"):
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


def test_an_action_that_cannot_be_unpickled_causes_no_restart() -> None:
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
