"""What a class derived from BasePool must define, and what BasePool then does."""

from __future__ import annotations

import pickle
import re
from functools import partial
from typing import NoReturn

import gymnasium
import numpy as np
import pytest

from parallel_pool._engine import registry
from parallel_pool._engine.actions import ActionReader
from parallel_pool._engine.base_pool import BasePool
from parallel_pool._engine.pool import Pool
from parallel_pool._native import ffi, lib, new_error
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.worlds_pool import WorldsPool
from parallel_pool.errors import ClosedError, StateError


class Broken(Exception):
    """What OwnKind raises for failed environments."""


class OwnKind(BasePool):
    """A pool that makes its `pp_pool` itself and raises its own exception."""

    _name = "mine"
    _holds = "test environments"

    def __init__(self, num_envs: int, batch_size: int, **options: object) -> None:
        super().__init__()
        definition = registry.find("test/Fault-v0")
        self.spec = definition.configure(registry.fill_options(definition, options))
        raw = ffi.new("pp_pool_options *")
        raw.num_envs, raw.batch_size, raw.num_threads = num_envs, batch_size, 1
        raw.thread_affinity_offset = raw.max_episode_steps = -1
        raw.autoreset, raw.reward_dtype = lib.PP_NEXT_STEP, lib.PP_FLOAT32
        out = ffi.new("pp_pool **")
        values = self.spec.values.raw
        assert lib.pp_pool_create(definition.raw, values, raw, out, new_error()) == 0
        handle = ffi.gc(out[0], lib.pp_pool_destroy)
        self._adopt(handle, batch_size, num_envs, ActionReader(self.spec))

    def _raise_failed(self) -> NoReturn:
        env_ids, rows = self._failed()
        raise self._result_as(lambda views: Broken(env_ids, self._to_named(views)), rows)


def test_a_handle_and_an_action_reader_are_enough() -> None:
    with OwnKind(3, 3) as pool:
        assert repr(pool) == "OwnKind('mine', num_envs=3)"
        assert (pool.num_envs, pool.batch_size, pool.is_async, pool.closed) == (3, 3, False, False)
        env_id_at = [column.name for column in pool.columns].index("env_id")
        # the first step of an environment is a reset
        assert pool.step([0, 0, 0])[env_id_at].tolist() == [0, 1, 2]
        assert pool.step([0, 0], [2, 0], timeout=100)[env_id_at].tolist() == [2, 0]
        pool.send([0], [1])
        assert pool.in_flight == 1
        with pytest.raises(StateError, match="environment 1 is already in flight"):
            pool.send([0], [1])
        assert pool.recv()[env_id_at].tolist() == [1]
        with pytest.raises(TypeError, match="holds test environments and cannot be pickled"):
            pickle.dumps(pool)
    assert pool.closed
    with pytest.raises(ClosedError):
        pool.step([0, 0, 0])


def test_the_hooks_are_those_that_are_listed() -> None:
    """Of BasePool's own names, its docstring has those that derived pools define otherwise."""
    own = {name for name in vars(BasePool) if re.match("_[a-z]", name)}
    own = {name for name in own if callable(vars(BasePool)[name])}
    derived = {cls for pool in (Pool, WorldsPool) for cls in pool.mro()} - set(BasePool.mro())
    replaced = {name for cls in derived for name in own & set(vars(cls))}
    listed = re.findall(r"`(_\w+)`", BasePool.__doc__ or "")
    assert ProcessPool in derived and sorted(listed) == sorted({"_adopt", *replaced})


def test_ids_out_of_range_are_refused() -> None:
    """Where Python checks ids, it refuses those that C refuses in `step`."""
    fns = [lambda: gymnasium.make("CartPole-v1")] * 3
    with Pool("CartPole-v1", 3, seed=1) as native, ProcessPool(fns, num_workers=0) as python:
        native.reset()
        for ask in (native.get_state, partial(python.apply, id)):
            all_three = ask(None)
            assert len(set(all_three)) == 3
            for named in ([2, 0], np.array([2, 0], np.int32), np.array([2, 9, 0], np.int32)[::2]):
                assert ask(named) == [all_three[2], all_three[0]]
            for dtype in (np.int32, np.int64, np.uint8):
                for wrong in (3, 255) if dtype is np.uint8 else (-1, 3, 2**31 - 1):
                    with pytest.raises(ValueError, match=f"env_id {wrong}: choose 0 to 2"):
                        ask(np.array([0, wrong], dtype))


def test_an_asynchronous_pool_returns_the_first_to_finish() -> None:
    with OwnKind(4, 2) as pool:
        assert pool.is_async
        env_id_at = [column.name for column in pool.columns].index("env_id")
        pool.send([0, 0, 0, 0])
        first, second = pool.recv()[env_id_at], pool.recv()[env_id_at]
        assert sorted(np.concatenate([first, second])) == [0, 1, 2, 3]


def test_a_derived_class_raises_its_own_exception_for_failures() -> None:
    with OwnKind(3, 3, fail_on="step", fail_at_step=1, fail_env=1) as pool:
        env_id_at = [column.name for column in pool.columns].index("env_id")
        pool.step([0, 0, 0])
        with pytest.raises(Broken) as raised:
            pool.step([0, 0, 0])
        env_ids, batch = raised.value.args
        assert env_ids == [1]
        assert batch[env_id_at].tolist() == [0, 1, 2]
        # the step has ended: nothing is pending
        assert pool.in_flight == 0
        assert pool.step([0, 0, 0])[env_id_at].tolist() == [0, 1, 2]


def test_a_pool_without_a_handle_can_be_closed() -> None:
    pool = BasePool()
    assert pool.closed
    pool.close()
