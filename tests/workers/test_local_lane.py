"""Pools without worker processes (num_workers=0) return what pools with workers do."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from parallel_pool import PoolVectorEnv
from parallel_pool._apis.common.vector_errors import PendingCallError
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._workers.data.messages import INFO
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.run.local_lane import LocalLane
from parallel_pool.errors import BusyError, EnvError, ForkedError, StateError
from tests.support.forked import in_child
from tests.support.same import assert_same
from tests.support.timeouts import TEST_TIMEOUT

ZEROS = np.zeros(4, np.int64)


class Odd(gymnasium.Env[Any, Any]):
    """Shows its index and its steps; does something odd in its third step."""

    observation_space = spaces.Box(0, 1e6, (2,), np.float32)
    action_space = spaces.Discrete(3)

    def __init__(self, index: int, third: Any = None) -> None:
        self.index, self.third = index, third
        self.steps = self.episodes = 0
        self.is_closed = False

    def show(self) -> Any:
        return np.array([self.index, self.steps], np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.steps = 0
        self.episodes += 1
        return self.show(), {"seed": seed if seed is not None else -1}

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.steps == 3 and self.third is not None:
            self.third()
        ends = self.steps == 4 + self.index
        return self.show(), float(action), ends, False, {"steps": self.steps}

    def close(self) -> None:
        self.is_closed = True


def fail() -> None:
    raise ArithmeticError("third step")


def functions(third: Any = None, odd: int = 1, count: int = 4) -> list[Any]:
    return [partial(Odd, i, third if i == odd else None) for i in range(count)]


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("task_id", ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1"])
def test_it_returns_what_sync_vector_env_does(task_id: str, mode: AutoresetMode) -> None:
    fns = [lambda: gymnasium.make(task_id, max_episode_steps=25)] * 3
    ours = PoolVectorEnv(fns, num_workers=0, autoreset_mode=mode)
    theirs = SyncVectorEnv(fns, autoreset_mode=mode)
    assert type(ours) is ProcessVectorEnv and ours.pool.num_workers == 0
    assert_same(ours.reset(seed=3), theirs.reset(seed=3), "reset")
    theirs.action_space.seed(0)
    for step in range(80):
        actions = theirs.action_space.sample()
        found, expected = ours.step(actions), theirs.step(actions)
        assert_same(found, expected, f"step {step}")
        ended = expected[2] | expected[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            options = [{"reset_mask": ended.copy()} for _ in range(2)]
            assert_same(ours.reset(options=options[0]), theirs.reset(options=options[1]), "mask")
    ours.close()
    theirs.close()


def test_it_starts_no_process_and_closes_its_environments() -> None:
    made: list[Odd] = []

    def make() -> Odd:
        made.append(Odd(len(made)))
        return made[-1]

    with ProcessPool([make] * 3, num_workers=0) as pool:
        pool.reset()
        assert pool.apply(lambda env: os.getpid()) == [os.getpid()] * 3
        # this process's own objects
        assert [env.episodes for env in made] == [1] * 3
        assert pool.get_attr("episodes") == [1] * 3
        pool.set_attr("episodes", [7, 8, 9])
        assert [env.episodes for env in made] == [7, 8, 9]
        assert pool.call("show")[2].tolist() == [2, 0]
    assert all(env.is_closed for env in made)


def test_a_pool_that_is_dropped_closes_its_environments() -> None:
    made: list[Odd] = []

    def make() -> Odd:
        made.append(Odd(0))
        return made[-1]

    # of earlier tests
    gc.collect()
    before, others = mappings(), lanes()
    pool = ProcessPool([make], num_workers=0)
    own = lanes() - others
    assert len(own) == 1
    batch = pool.reset()
    del pool
    gc.collect()
    assert made[0].is_closed and not own
    # its results stay
    assert batch.obs.tolist() == [[0, 0]]
    del batch
    gc.collect()
    assert mappings() == before


def lanes() -> weakref.WeakSet[LocalLane]:
    """Returns the local lanes of this process, without keeping them."""
    return weakref.WeakSet(each for each in gc.get_objects() if type(each) is LocalLane)


def mappings() -> int:
    """Returns how often this process maps the memory of pools."""
    return Path("/proc/self/maps").read_text(errors="replace").count("parallel_pool")


@pytest.mark.sanitizers
def test_environments_are_closed_at_exit() -> None:
    program = """
        import gymnasium
        from parallel_pool import PoolVectorEnv

        class Loud(gymnasium.Wrapper):
            def close(self):
                print("closed")
                super().close()

        envs = PoolVectorEnv([lambda: Loud(gymnasium.make("CartPole-v1"))] * 2, num_workers=0)
        envs.reset()
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TEST_TIMEOUT)
    assert (done.stdout.split(), done.stderr, done.returncode) == (["closed"] * 2, "", 0)


@pytest.mark.parametrize("batch_size", [1, 2, 4])
def test_asynchronous_pools_step_what_is_sent(batch_size: int) -> None:
    with ProcessPool(functions(), num_workers=0, batch_size=batch_size) as pool:
        pool.send_reset(seed=5)
        steps = [0] * 4
        for _ in range(40 // batch_size):
            batch = pool.recv()
            replies = pool.replies()
            for i, (index, shown) in zip(batch.env_id, batch.obs, strict=True):
                assert index == i
                assert replies[int(i)][INFO] in ({"seed": 5 + i}, {"steps": shown}, {"seed": -1})
                steps[i] += 1
            pool.send(np.zeros(batch_size, np.int64), batch.env_id)
        assert min(steps) == max(steps) == 10


def test_an_exception_is_that_of_the_environment() -> None:
    envs = PoolVectorEnv(functions(fail), num_workers=0)
    envs.reset()
    for _ in range(2):
        envs.step(ZEROS)
    with pytest.raises(ArithmeticError, match="third step") as caught:
        envs.step(ZEROS)
    assert isinstance(caught.value.__cause__, EnvError)
    assert caught.value.__cause__.env_ids == (1,)
    text = str(caught.value.__cause__)
    assert "In the environment:\nTraceback" in text and "worker process" not in text
    # it starts another episode, the others go on
    assert envs.step(ZEROS)[0][:, 1].tolist() == [4, 0, 4, 4]
    envs.close()


def test_an_environment_that_raises_is_made_again() -> None:
    envs = PoolVectorEnv(functions(fail), num_workers=0, on_error="restart")
    envs.reset()
    for _ in range(2):
        envs.step(ZEROS)
    _, _, terminated, truncated, infos = envs.step(ZEROS)
    assert truncated.tolist() == [False, True, False, False] and not terminated.any()
    assert infos["worker_restarted"].tolist() == truncated.tolist()
    envs.close()


def test_environments_that_end_the_program_do_not() -> None:
    with ProcessPool(functions(partial(exit, 3)), num_workers=0) as pool:
        pool.reset()
        for _ in range(2):
            pool.step(ZEROS)
        with pytest.raises(EnvError, match="SystemExit: 3"):
            pool.step(ZEROS)


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("on_error", ["raise", "restart"])
def test_ctrl_c_ends_a_step(on_error: str) -> None:
    envs = PoolVectorEnv(functions(interrupt), num_workers=0, on_error=on_error)
    envs.reset()
    for _ in range(2):
        envs.step(ZEROS)
    with pytest.raises(KeyboardInterrupt):
        envs.step(ZEROS)
    with pytest.raises(PendingCallError):
        envs.step(ZEROS)
    assert envs.reset(seed=1)[0][:, 1].tolist() == [0] * 4
    assert envs.step(ZEROS)[0][:, 1].tolist() == [1] * 4
    envs.close()


def test_ctrl_c_ends_a_step_of_an_asynchronous_pool() -> None:
    with ProcessPool(functions(interrupt, 2), num_workers=0, batch_size=1) as pool:
        pool.send_reset()
        with pytest.raises(KeyboardInterrupt):
            step_until_interrupted(pool)
        failed = []
        while pool.in_flight:
            try:
                pool.recv()
            except EnvError as error:
                failed += error.env_ids
        assert failed == [2]


def step_until_interrupted(pool: ProcessPool) -> None:
    for _ in range(40):
        pool.send(ZEROS[:1], pool.recv().env_id)


@pytest.mark.parametrize("line", ["take", "deliver"])
def test_ctrl_c_beside_a_step_loses_no_turn(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """An exception between any two lines leaves a pool that answers."""
    with ProcessPool(functions(), num_workers=0) as pool:
        pool.reset()
        inner = LocalLane.work

        def work(self: LocalLane, count: int) -> None:
            if line == "deliver":
                inner(self, count)
            monkeypatch.undo()
            raise KeyboardInterrupt

        monkeypatch.setattr(LocalLane, "work", work)
        with pytest.raises(KeyboardInterrupt):
            pool.step(ZEROS)
        if line == "take":
            with pytest.raises(EnvError, match="Ctrl-C"):
                pool.recv()
            assert pool.step(ZEROS).obs[:, 1].tolist() == [0] * 4
        else:
            assert pool.recv().obs[:, 1].tolist() == [1] * 4
            assert pool.step(ZEROS).obs[:, 1].tolist() == [2] * 4


def test_ctrl_c_before_the_work_leaves_it_to_the_next_receive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ProcessPool(functions(), num_workers=0) as pool:
        pool.reset()

        def serve(self: LocalLane) -> None:
            monkeypatch.undo()
            raise KeyboardInterrupt

        monkeypatch.setattr(LocalLane, "serve", serve)
        with pytest.raises(KeyboardInterrupt):
            pool.step(ZEROS)
        assert pool.recv().obs[:, 1].tolist() == [1] * 4


def test_ctrl_c_ends_a_call() -> None:
    with ProcessPool(functions(), num_workers=0) as pool:
        pool.reset()
        with pytest.raises(KeyboardInterrupt):
            pool.apply(lambda env: interrupt())
        assert pool.get_attr("steps") == [0] * 4
        assert pool.step(ZEROS).obs[:, 1].tolist() == [1] * 4


def test_an_environment_may_not_use_its_own_pool() -> None:
    pools: list[ProcessPool] = []
    fns = functions(lambda: pools[0].send_reset([0]), 3)
    with ProcessPool(fns, num_workers=0, batch_size=1) as pool:
        pools.append(pool)
        pool.send_reset()
        for _ in range(4):
            pool.recv()
        for _ in range(3):
            pool.send(ZEROS[:1], [3])
            if pool.in_flight == 1:
                pool.recv()
        # its step has failed, and the reset was sent
        with pytest.raises(BusyError, match="use another one"):
            pool.recv()
        assert pool.recv().env_id == [0]


def test_an_environment_may_close_its_own_pool() -> None:
    pools: list[ProcessPool] = []
    made: list[Odd] = []

    def make(function: Any) -> Odd:
        made.append(function())
        return made[-1]

    fns = [partial(make, function) for function in functions(lambda: pools[0].close())]
    with ProcessPool(fns, num_workers=0) as pool:
        pools.append(pool)
        pool.reset()
        for _ in range(2):
            pool.step(ZEROS)
        with pytest.raises(RuntimeError, match="closed"):
            pool.step(ZEROS)
        assert len(made) == 4 and all(env.is_closed for env in made)


def test_threads_take_turns() -> None:
    """Each thread's environments are stepped, whichever thread works first."""
    with ProcessPool(functions(count=8), num_workers=0, batch_size=1) as pool:
        pool.send_reset()
        for _ in range(8):
            pool.recv()

        def send(env_id: int) -> None:
            for _ in range(20):
                try:
                    pool.send(ZEROS[:1], [env_id])
                except StateError:  # in flight
                    continue

        threads = [threading.Thread(target=send, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(int(pool.recv().env_id[0]) for _ in range(pool.in_flight)) == list(range(8))


class Holder(gymnasium.Env[Any, Any]):
    """Has infos that can't be pickled, in every second step beside others."""

    observation_space = spaces.Box(0, 1, (1,))
    action_space = spaces.Discrete(2)
    steps = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return np.zeros(1, np.float32), {"holder": self, "lock": threading.Lock()}

    def step(self, action: Any) -> Any:
        self.steps += 1
        more = {"steps": self.steps} if self.steps % 2 else {}
        ends = self.steps % 3 == 0
        return np.zeros(1, np.float32), 0.0, ends, False, {"holder": self, **more}


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
def test_infos_are_the_objects_that_environments_return(mode: AutoresetMode) -> None:
    holders: list[Holder] = []

    def make() -> Holder:
        holders.append(Holder())
        return holders[-1]

    envs = PoolVectorEnv([make] * 3, num_workers=0, autoreset_mode=mode)
    infos = envs.reset()[1]
    assert [*infos["holder"]] == holders
    assert len({id(lock) for lock in infos["lock"]}) == 3
    for _ in range(8):
        infos = envs.step([0, 1, 0])[4]
        assert [*infos["holder"]] == holders
        if "final_info" in infos:
            assert [*infos["final_info"]["holder"]] == holders
    envs.close()


def test_infos_can_be_kept_and_written_to() -> None:
    shared = {"value": 1.5, "text": "a"}

    class Sharing(Holder):
        def step(self, action: Any) -> Any:
            self.steps += 1
            shared["value"] = float(self.steps)
            return np.zeros(1, np.float32), 0.0, False, False, shared

    envs = PoolVectorEnv([Sharing] * 2, num_workers=0)
    envs.reset()
    kept = [envs.step([0, 1])[4] for _ in range(3)]
    assert [infos["value"].tolist() for infos in kept] == [[1, 1], [2, 2], [3, 3]]
    arrays = [array for infos in kept for array in infos.values()]
    assert all(array.flags.writeable and array.flags.owndata for array in arrays)
    # one dict of one environment is not changed by the pool either
    single = ProcessPool([Sharing], num_workers=0)
    single.reset()
    single.step([0])
    single.replies()[0][INFO]["value"] = -1.0
    assert shared["value"] == 1.0
    envs.close()
    single.close()


def test_a_forked_child_can_not_step() -> None:
    envs = PoolVectorEnv(functions(), num_workers=0)
    envs.reset()

    def step() -> None:
        with pytest.raises(ForkedError):
            envs.step(ZEROS)

    in_child(step)
    assert envs.step(ZEROS)[0][:, 1].tolist() == [1] * 4
    envs.close()


@pytest.mark.parametrize("option", ["timeout", "start_timeout", "start_method"])
def test_options_of_worker_processes_are_refused(option: str) -> None:
    value = "fork" if option == "start_method" else 10.0
    with pytest.raises(ValueError, match=f"{option}=.*num_workers=0"):
        ProcessPool(functions(), num_workers=0, **{option: value})


def test_an_environment_that_can_not_be_made_closes_the_others() -> None:
    made: list[Odd] = []

    def make() -> Any:
        if len(made) == 2:
            raise ArithmeticError("third")
        made.append(Odd(0))
        return made[-1]

    with pytest.raises(ArithmeticError, match="third") as caught:
        ProcessPool([make] * 4, num_workers=0)
    assert caught.value.__notes__ == ["environment 2 can't be made"]
    assert all(env.is_closed for env in made)
    with pytest.raises(TypeError, match="no observation_space"):
        ProcessPool([object], num_workers=0)


@pytest.mark.sanitizers
def test_stable_baselines3_steps_here() -> None:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    from parallel_pool.compat.sb3 import PoolVecEnv

    fns = [lambda: gymnasium.make("CartPole-v1")] * 3
    ours, theirs = PoolVecEnv(fns, num_workers=0), vec_env.DummyVecEnv(fns)
    for env in (ours, theirs):
        env.seed(4)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    for step in range(60):
        actions = np.full(3, step % 3 == 0, np.int64)
        assert_same(ours.step(actions), theirs.step(actions), f"step {step}")
    assert ours.env_method("get_wrapper_attr", "spec") == theirs.env_method(
        "get_wrapper_attr", "spec"
    )
    ours.close()
    theirs.close()
