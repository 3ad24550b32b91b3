"""The players on threads: their actions, their settings, and how they step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parallel_pool._bench import race, rivals, tasks
from parallel_pool._bench.contender import ROWS, Contender
from tests.benchmarks.made_up import TASK


def test_all_players_get_the_same_actions() -> None:
    ours, theirs = TASK.actions(rivals.np.int64), TASK.actions(rivals.np.int32)
    assert len(ours) == ROWS
    assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))
    assert {len(row) for row in replace(TASK, batch_size=4).actions(rivals.np.int32)} == {4}


def test_box_actions_are_within_bounds_and_rounded_for_all() -> None:
    task = replace(TASK, num_actions=0, action_size=3, action_bound=0.4)
    ours, theirs = task.actions(rivals.np.int64), task.actions(rivals.np.int32, rivals.np.float64)
    assert ours[0].shape == (8, 3)
    assert (ours[0].dtype, theirs[0].dtype) == (rivals.np.float32, rivals.np.float64)
    assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))
    assert 0.39 < max(abs(row).max() for row in theirs) <= rivals.np.float32(0.4)


def test_settings_are_threads_times_batches() -> None:
    found = [(task.num_threads, task.batch_size) for task in TASK.settings()]
    assert found == [(t, b) for t in (1, 2, 3) for b in (8, 4, 2)]
    one = replace(TASK, num_envs=1, batch_size=1)
    assert [(task.num_threads, task.batch_size) for task in one.settings()] == [
        (1, 1),
        (2, 1),
        (3, 1),
    ]


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "who",
    [rivals.gymnasium_numpy, rivals.gymnasium_sync, rivals.gymnasium_async, rivals.gymnasium_loop],
    ids=lambda who: who.name,
)
def test_gymnasium_plays(who: Contender) -> None:
    task = tasks.cart_pole(2, 1)
    with race.playing(who, task) as player:
        assert len(player.children) == (2 if who is rivals.gymnasium_async else 0)
        # long enough for episodes to end
        assert player.play(60) == 120


def test_an_asynchronous_pool_is_idle_between_plays() -> None:
    calls: list[str] = []
    in_flight = ["a", "b", "c"]

    class Pool:
        def recv(self) -> tuple[object, ...]:
            calls.append(f"recv {in_flight[0]}")
            return 0, 0, 0, 0, {"env_id": in_flight.pop(0)}

        def send(self, action: int, env_id: str) -> None:
            calls.append(f"send {action} {env_id}")
            in_flight.append(env_id)

    player = rivals.SendingEnvPool(Pool(), [0, 1, 2, 3, 4], 6, 2)
    assert (player.play(2), in_flight) == (4, [])
    calls.clear()
    assert (player.play(5), in_flight) == (10, [])
    assert calls == [
        *("send 2 c", "send 3 a", "send 4 b"),
        *("recv c", "send 0 c", "recv a", "send 1 a"),
        *("recv b", "recv c", "recv a"),
    ]


def test_looping_resets_what_has_ended_and_counts_it() -> None:
    calls: list[str] = []

    class Short:
        def reset(self) -> None:
            calls.append("reset")

        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, int]]:
            calls.append(f"step {action}")
            return 0, 0.0, len(calls) % 3 == 0, False, {}

        def close(self) -> None:
            calls.append("close")

    player = rivals.Looping([Short()], [[0], [1], [2], [3]])
    assert player.play(5) == 5
    player.close()
    assert calls == ["reset", "step 1", "step 2", "reset", "step 0", "close"]
