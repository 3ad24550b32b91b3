"""Snapshots of worlds: what follows is the same, bit by bit; other bytes are refused."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from parallel_pool._families.mujoco_batch import cursors
from parallel_pool.errors import StateError
from parallel_pool.mujoco_batch import BatchVectorEnv
from tests.apis.mujoco_batch.quadrupeds import LIMIT, Quadrupeds
from tests.contract.sliders import Sliders
from tests.support.same import assert_same

COUNT = 3


def actions(steps: int) -> Any:
    return np.random.default_rng(4).uniform(-1, 1, (steps, COUNT, 8)).astype(np.float32)


@pytest.mark.quick(2, sanitizers=True)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("begun", [0, 7, LIMIT, LIMIT + 1])
def test_what_follows_a_snapshot_is_the_same(mode: str, begun: int) -> None:
    """Through resets: masses, own values, outputs and generators are in it."""
    with closing(BatchVectorEnv(Quadrupeds, COUNT, autoreset_mode=mode)) as envs:
        envs.reset(seed=2)
        for action in actions(begun):
            envs.step(action)
        states = envs.pool.get_state()
        seen = envs.pool.observe()
        plays = []
        for _ in range(2):
            plays.append([envs.step(action) for action in actions(2 * LIMIT)])
            envs.pool.set_state(states)
            assert_same(envs.pool.observe(), seen, "results")
            assert envs.pool.get_state() == states
        for one, other in zip(*plays, strict=True):
            assert_same(one[:-1], other[:-1], "results")


def test_a_snapshot_may_be_of_another_world_and_pool() -> None:
    with (
        closing(BatchVectorEnv(Quadrupeds, COUNT)) as envs,
        closing(BatchVectorEnv(Quadrupeds, 1)) as alone,
    ):
        envs.reset(seed=2)
        for action in actions(9):
            envs.step(action)
        alone.pool.set_state(envs.pool.get_state([1]))
        # and over a neighbour, which plays the same from here on
        envs.pool.set_state(envs.pool.get_state([1]), [0])
        for action in actions(2 * LIMIT):
            action[0] = action[1]
            seen, rewards, *_ = envs.step(action)
            own, reward, *_ = alone.step(action[1:2])
            assert_same({key: seen[key][1:2] for key in seen}, own, "results")
            assert_same({key: seen[key][:1] for key in seen}, own, "results")
            assert rewards[0] == rewards[1] == reward[0]


def test_snapshots_with_autoreset_disabled_know_whether_an_episode_is_over() -> None:
    with closing(BatchVectorEnv(Sliders, 1, autoreset_mode="Disabled")) as envs:
        envs.reset(seed=1)
        running = envs.pool.get_state()
        while not envs.step([2])[2].all():
            pass
        over = envs.pool.get_state()
        envs.pool.set_state(running)
        envs.step([2])
        envs.pool.set_state(over)
        with pytest.raises(RuntimeError, match="has ended its episode"):
            envs.step([2])


def test_persistent_worlds_have_no_snapshots() -> None:
    with closing(BatchVectorEnv(Sliders, 2, persistent=True)) as envs:
        envs.reset(seed=1)
        envs.step([1, 1])
        with pytest.raises(StateError, match="no snapshots: leave persistent out"):
            envs.pool.get_state()


def damaged(state: bytes) -> dict[str, Any]:
    return {
        "nothing": b"",
        "short": state[:-1],
        "long": state + b"0",
        "another phase": b"\7" + state[1:],
        "another header": state[:30] + b"?" + state[31:],
        "no header": bytes(len(state)),
        "text": "state",
        "array": np.frombuffer(state, np.uint8),
        "none": None,
    }


def test_wrong_snapshots_change_nothing() -> None:
    with (
        closing(BatchVectorEnv(Quadrupeds, COUNT)) as envs,
        closing(BatchVectorEnv(Sliders, COUNT)) as others,
    ):
        envs.reset(seed=2)
        others.reset(seed=2)
        before = envs.pool.get_state()
        wrong = {**damaged(before[0]), "another task": others.pool.get_state()[0]}
        for name, state in wrong.items():
            with pytest.raises((TypeError, ValueError)):
                envs.pool.set_state([before[1], state], [0, 1])
                pytest.fail(f"not refused: {name}")
            assert envs.pool.get_state() == before, name
        with pytest.raises(ValueError, match="1 states for 3 environments"):
            envs.pool.set_state(before[:1])


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_any_bytes_after_the_header_do_no_harm() -> None:
    rng = np.random.default_rng(0)
    with closing(BatchVectorEnv(Quadrupeds, COUNT, num_threads=2)) as envs:
        envs.reset(seed=2)
        good = envs.pool.get_state([0])[0]
        for _ in range(30):
            raw = bytearray(good)
            for at in rng.integers(len(raw) // 2, len(raw), 40):
                raw[at] = rng.integers(256)
            try:
                envs.pool.set_state([bytes(raw)] * COUNT)
            except ValueError:
                continue
            envs.step(np.zeros((COUNT, 8), np.float32))
        assert envs.reset(seed=1)[0]["seen"].shape == (COUNT, 41)


DELAYED = """
<mujoco>
  <worldbody>
    <body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/></body>
  </worldbody>
  <actuator><motor joint="x" delay="0.01" nsample="4"/></actuator>
</mujoco>
"""


def test_a_cursor_that_mujoco_would_use_as_an_index_is_checked() -> None:
    with closing(BatchVectorEnv(Sliders, 1, model=DELAYED)) as envs:
        envs.reset(seed=1)
        envs.step([1])
        (state,) = envs.pool.get_state()
        row = envs.batch.state[0].copy()
        place = state.index(row.tobytes())
        ((cursor, length),) = cursors(envs.batch.model)
        assert row[cursor] in range(length)
        for value in (-1.0, float(length), 0.5, np.nan, 1e300):
            row[cursor] = value
            forged = state[:place] + row.tobytes() + state[place + row.nbytes :]
            with pytest.raises(ValueError, match="damaged"):
                envs.pool.set_state([forged])


def test_snapshots_say_which_field_is_bound_in_one_of_the_two() -> None:
    with closing(BatchVectorEnv(Sliders, 1)) as envs:
        envs.reset(seed=1)
        states = envs.pool.get_state()
        _ = envs.batch.xquat
        with pytest.raises(ValueError, match=r"lacks output xquat.*bind the same fields"):
            envs.pool.set_state(states)
