"""Texts: codes in C, and in each API strings or codes; the strings equal Gymnasium's own."""

from __future__ import annotations

import pickle
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

import parallel_pool
from parallel_pool._engine.texts import Texts
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.sb3 import PoolVecEnv
from tests.support.same import assert_same

ID = "test/Orders-v0"
MAX_LETTERS, CHARSET = 24, frozenset("presand0123456789, ")


class Orders(gymnasium.Env[Any, Any]):
    """The same task in Python."""

    def __init__(self) -> None:
        self.action_space = spaces.Discrete(6)
        self.observation_space = spaces.Dict(
            {
                "order": spaces.Text(MAX_LETTERS, min_length=0, charset=CHARSET),
                "done": spaces.Discrete(4),
            }
        )

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        count = int(self.np_random.integers(1, 4))
        self.digits = [int(self.np_random.integers(0, 6)) for _ in range(count)]
        self.done = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
        self.done += int(action) == self.digits[self.done]
        ended = self.done == len(self.digits)
        return self._seen(), float(ended), ended, False, {}

    def _seen(self) -> Any:
        *first, last = map(str, self.digits)
        words = f"{', '.join(first)} and {last}" if first else last
        return {"order": f"press {words}", "done": np.int64(self.done)}


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_strings_are_those_of_gymnasium(mode: AutoresetMode) -> None:
    theirs = SyncVectorEnv([lambda: TimeLimit(Orders(), 40)] * 4, autoreset_mode=mode)
    ours = PoolVectorEnv(ID, 4, autoreset_mode=mode)
    with closing(theirs), closing(ours):
        assert ours.single_observation_space == theirs.single_observation_space
        assert ours.observation_space == theirs.observation_space
        assert_same(ours.reset(seed=5), theirs.reset(seed=5), "reset")
        theirs.action_space.seed(2)
        for step in range(150):
            action = theirs.action_space.sample()
            expected = theirs.step(action)
            assert_same(ours.step(action), expected, f"step {step}")
            ended = expected[2] | expected[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                mask = {"reset_mask": ended}
                again = theirs.reset(options=dict(mask))
                assert_same(ours.reset(options=dict(mask)), again, f"reset at {step}")


def test_a_single_environment_returns_a_string() -> None:
    with closing(gymnasium.make(f"parallel_pool/{ID.replace('/', '.')}")) as env:
        expected = Orders().reset(seed=3)[0]
        observation, _ = env.reset(seed=3)
        assert observation["order"] == expected["order"]
        assert env.observation_space.contains(observation)
        assert env.step(0)[0]["order"] == expected["order"]


def test_other_apis_have_codes() -> None:
    with parallel_pool.Pool(ID, 3, seed=1) as pool:
        batch = pool.reset()
        assert (batch.order.dtype, batch.order.shape) == (np.int32, (3, 3))
        texts = pool.texts("order", batch.order)
        assert all(text.startswith("press ") for text in texts)
        batch.order[:] = -1
        assert pool.texts("order", batch.order) == ("", "", "")
        assert pool.texts("order", pool.observe().order) == texts
        with pytest.raises(ValueError, match="has no text 'obs': its texts are: order"):
            pool.texts("obs", batch.order)
        with pytest.raises(ValueError, match=r"codes have shape \(3,\): give \(rows, 3\)"):
            pool.texts("order", batch.order[0])
    envs = parallel_pool.make_gymnasium(ID, num_envs=2, seed=1)
    observation, _ = envs.reset()
    assert observation["order"].dtype == np.int32
    assert envs.observation_space["order"].contains(observation["order"][0])
    envs.close()
    envs = parallel_pool.make_dm(ID, num_envs=2, seed=1)
    assert envs.observation_spec().order.shape == (3,)
    envs.close()
    with pytest.raises(ValueError, match=r"a text among its observations \(order\), which Stable"):
        PoolVecEnv(ID, 2)


def test_tensors_beside_strings() -> None:
    torch = pytest.importorskip("torch")
    with parallel_pool.make_vec(ID, 2).torch() as envs:
        observation, _ = envs.reset(seed=1)
        assert isinstance(observation["done"], torch.Tensor)
        assert [type(text) for text in observation["order"]] == [str, str]


def test_snapshots_hold_codes() -> None:
    with closing(PoolVectorEnv(ID, 2)) as envs:
        observation, _ = envs.reset(seed=4)
        states = pickle.loads(pickle.dumps(envs.pool.get_state()))
        envs.reset(seed=99)
        envs.pool.set_state(states)
        assert envs.pool.texts("order", envs.pool.observe().order) == observation["order"]


def test_a_text_that_is_too_long_is_refused() -> None:
    texts = Texts(lambda code, out: 9, 8, "a")
    with pytest.raises(ValueError, match="the text of the code 7 has 9 bytes: write at most"):
        texts.of_rows(np.array([7]))


def test_texts_are_remembered_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parallel_pool._engine.texts.MAX_KNOWN_TEXTS", 4)
    calls = []

    def write(code: Any, out: Any) -> int:
        calls.append(1)
        out[0] = b"x"
        return 1

    texts = Texts(write, 8, "x")
    codes = np.arange(6)
    assert texts.of_rows(codes) == texts.of_rows(codes) == ("x",) * 6
    assert len(calls) == 6
    # those of the last call are still known, the others were forgotten
    texts.of_rows(codes[:2])
    assert len(calls) == 8
