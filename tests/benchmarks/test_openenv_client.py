"""The client of the study of OpenEnv servers plays whole sessions, and notices wrong answers."""

from __future__ import annotations

import socket
import threading
from typing import Any

import gymnasium
import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs the extra openenv")

from benchmarks.studies import openenv, openenv_client
from benchmarks.studies.openenv_client import Players, Stream
from parallel_pool.compat.openenv import OpenEnvApp
from parallel_pool.leases import LeasePool
from tests.support.openenv_server import serving
from tests.support.timeouts import wait_for

pytestmark = pytest.mark.usefixtures("alarm")


class Counting(gymnasium.Env[Any, Any]):
    """Observes the number of its steps, or miscounts."""

    observation_space = gymnasium.spaces.Box(0, 1e9, (4,), np.float64)
    action_space: Any = gymnasium.spaces.Discrete(2)

    def __init__(self, wrong_after: int = 1 << 30) -> None:
        self.steps, self.wrong_after = 0, wrong_after

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.steps = 0
        return np.zeros(4), {}

    def step(self, action: Any) -> Any:
        self.steps += 1 + (self.steps == self.wrong_after)
        return np.full(4, self.steps, np.float64), 1.0, False, False, {}


def url_of(url: str) -> str:
    return url.replace("http", "ws") + "/ws"


@pytest.mark.slow
def test_sessions_are_played_and_counted() -> None:
    with (
        LeasePool([Counting] * 4, start_method="fork") as pool,
        serving(OpenEnvApp(pool, token=None)) as url,
    ):
        players = Players(url_of(url), 5)
        players.play(2, 1.0)
        assert players.sessions > 0 and len(players.latencies) >= 5 * players.sessions
        assert all(0 < seconds < 30 for seconds in players.latencies)
        wait_for(lambda: pool.num_free == 4)


@pytest.mark.slow
def test_a_wrong_answer_is_noticed() -> None:
    with (
        LeasePool([lambda: Counting(3)], start_method="fork") as pool,
        serving(OpenEnvApp(pool, token=None)) as url,
        pytest.raises(AssertionError, match="expected an observation of 4"),
    ):
        Players(url_of(url), 5).play(1, 5.0)


@pytest.mark.slow
def test_a_refusal_is_noticed() -> None:
    with (
        LeasePool("CartPole-v1") as pool,
        serving(OpenEnvApp(pool)) as url,
        pytest.raises(ConnectionError, match="401"),
    ):
        Players(url_of(url), 5).play(1, 5.0)


def test_large_and_split_frames_are_read() -> None:
    opening = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
    large = b"\x81\x7e" + (300).to_bytes(2, "big") + b"x" * 300
    huge = b"\x81\x7f" + (70000).to_bytes(8, "big") + b"y" * 70000
    wanted = [(0, b""), (0x81, b"x" * 300), (0x81, b"y" * 70000), (0x88, b"")]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stream = Stream(f"ws://127.0.0.1:{listener.getsockname()[1]}/ws")
        peer, _ = listener.accept()
        with stream.socket, peer:
            found: list[tuple[int, bytes]] = []
            for piece in (opening[:9], opening[9:] + large[:1], large[1:3], large[3:200]):
                peer.sendall(piece)
                found += stream.read()
            assert found == wanted[:1]
            sending = threading.Thread(target=peer.sendall, args=[large[200:] + huge + b"\x88\x00"])
            sending.start()
            while len(found) < len(wanted):
                found += stream.read()
            sending.join()
    assert found == wanted


def test_the_echo_has_the_form_of_our_answers() -> None:
    found = openenv_client.NUMBER.search((openenv.Echo.answer % 7).encode())
    assert found is not None and float(found[1]) == 7
