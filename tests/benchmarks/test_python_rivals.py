"""The players on worker processes: how they start, step and end."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.scenes import newest_envpool, python_rivals
from parallel_pool._bench import python_players, race, rivals, tree
from tests.benchmarks.made_up import TASK, named


def test_started_processes_are_found() -> None:
    before = tree.descendants(os.getpid())
    with subprocess.Popen(["sleep", "1000"]) as process:
        assert python_players.started_since(before) == [process.pid]
        process.kill()


class Part:
    """A player that counts steps."""

    children = ()

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def play(self, batches: int) -> int:
        return batches * self.steps

    def close(self) -> None:
        pass


def test_parts_play_in_processes_of_their_own() -> None:
    player = python_rivals.AtOnce([lambda: Part(3), lambda: Part(5)])
    children = player.children
    assert len({os.getpid(), *children}) == 3
    assert [player.play(2), player.play(10)] == [16, 80]
    player.close()
    assert not set(children) & set(tree.descendants(os.getpid()))


def test_the_makefile_makes_the_rivals_folders() -> None:
    text = (race.ROOT / "Makefile").read_text()
    newest = newest_envpool.newest_envpool.folder
    for folder in (python_rivals.TIANSHOU, python_rivals.PUFFERLIB, newest):
        name, version = folder.rsplit("-", 1)
        assert f"$(VENV)/{folder}" in text
        assert f"$(VENV)/{name}-%:" in text
        assert version


def test_a_process_pool_is_idle_between_plays() -> None:
    calls: list[str] = []
    in_flight = ["a", "b", "c"]

    class Pool:
        columns = (named("obs"), named("env_id"))

        def recv(self) -> tuple[object, str]:
            calls.append(f"recv {in_flight[0]}")
            return 0, in_flight.pop(0)

        def send(self, action: int, env_id: str) -> None:
            calls.append(f"send {action} {env_id}")
            in_flight.append(env_id)

    player = python_rivals.SendingPool(Pool(), [0, 1, 2, 3, 4], 6, 2)
    assert (player.play(2), in_flight) == (4, [])
    calls.clear()
    assert (player.play(5), in_flight) == (10, [])
    assert calls == [
        *("send 2 c", "send 3 a", "send 4 b"),
        *("recv c", "send 0 c", "recv a", "send 1 a"),
        *("recv b", "recv c", "recv a"),
    ]


def test_tianshous_ended_environments_are_reset_and_counted() -> None:
    calls: list[tuple[str, list[int]]] = []
    answers = [[2, 0, 1], [3, 2]]

    class Shmem:
        def step(self, actions: Sequence[int], ids: Sequence[int]) -> tuple[object, ...]:
            assert len(actions) == len(ids)
            calls.append(("step", list(ids)))
            ready = answers.pop(0)
            ended = rivals.np.array([i == 2 for i in ready])
            return 0, 0, ended, ~ended & False, [{"env_id": i} for i in ready]

        def reset(self, ids: Sequence[int]) -> None:
            calls.append(("reset", list(ids)))

    player = python_rivals.SteppingShmem(Shmem(), replace(TASK, num_envs=4, batch_size=2), ())
    assert player.play(2) == 3 + 1 + 2 + 1
    assert calls == [
        ("step", [0, 1, 2, 3]),
        ("reset", [2]),
        ("step", [2, 0, 1]),
        ("reset", [2]),
    ]
