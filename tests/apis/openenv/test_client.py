"""OpenEnvEnv against our server: what it returns equals what the served environment returns."""

from __future__ import annotations

import socket
import threading
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool.errors import ClosedError, NotResetError
from parallel_pool.leases import LeasePool
from tests.apis.openenv.served_envs import pool_of
from tests.support.same import assert_same
from tests.support.timeouts import TEST_TIMEOUT

pytest.importorskip("uvicorn", reason="needs the extra openenv")

from websockets.sync.client import ClientConnection

from parallel_pool.compat.openenv import OpenEnvApp, OpenEnvEnv
from tests.support.openenv_server import port_of, serving

pytestmark = pytest.mark.usefixtures("alarm")


class Mixed(gymnasium.Env[Any, Any]):
    """Observes its action, values of many spaces, and numbers that are not finite."""

    action_space: Any = spaces.Dict(
        {"move": spaces.Box(-1, 1, (2,), np.float32), "say": spaces.Text(5)}
    )
    observation_space: Any = spaces.Dict(
        {
            "move": action_space["move"],
            "said": spaces.Text(40),
            "picture": spaces.Box(0, 255, (8, 8, 3), np.uint8),
            "odd": spaces.Box(-np.inf, np.inf, (50,), np.float32),
            "count": spaces.Discrete(1000, start=-3),
            "pair": spaces.Tuple([spaces.MultiBinary(3), spaces.MultiDiscrete([4, 5])]),
        }
    )

    def _show(self, action: Any) -> Any:
        picture = self.np_random.integers(0, 256, (8, 8, 3), np.uint8)
        odd = self.np_random.normal(size=50).astype(np.float32)
        odd[:4] = np.nan, np.inf, -np.inf, -0.0
        pair = (np.array([1, 0, 1], np.int8), np.array([self.at % 4, 0]))
        shown = {"move": action["move"], "said": action["say"], "picture": picture, "odd": odd}
        return {**shown, "count": np.int64(self.at), "pair": pair}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = -3
        shown = self._show({"move": np.zeros(2, np.float32), "say": "-"})
        return shown, {"options": options, "nothing": None}

    def step(self, action: Any) -> Any:
        self.at += 1
        return self._show(action), 0.1 * self.at, self.at == 5, self.at == 5, {"at": [self.at]}


def play(env: Any, other: Any, seeds: range) -> None:
    """Compares all results of some episodes."""
    env.action_space.seed(0)
    for seed in seeds:
        one, two = env.reset(seed=seed), other.reset(seed=seed)
        assert_same(one[0], two[0], f"reset {seed}", ordered=False)
        assert one[1] == two[1]
        is_over, steps = False, 0
        while not is_over:
            action = env.action_space.sample()
            one, two = env.step(action), other.step(action)
            assert_same(one, two, f"step {steps} of {seed}", ordered=False)
            is_over, steps = one[2] or one[3], steps + 1


@pytest.mark.slow
@pytest.mark.parametrize("make", [Mixed, partial(gymnasium.make, "CartPole-v1")])
def test_results_equal_those_of_the_environment(make: Any) -> None:
    with LeasePool([make], start_method="fork") as pool:
        app = OpenEnvApp(pool)
        with serving(app) as url, make() as other, OpenEnvEnv(url, token=app.token) as env:
            assert env.observation_space == other.observation_space
            assert env.action_space == other.action_space
            play(env, other, range(3))


@pytest.mark.slow
def test_a_lease_steps_an_environment_of_a_server() -> None:
    """A pool of clients: both ends are ours, so the results are those of the environment."""
    with (
        LeasePool("CartPole-v1", 2) as served,
        serving(OpenEnvApp(served, token=None)) as url,
        LeasePool([partial(OpenEnvEnv, url)] * 2) as pool,
        pool.lease() as env,
        pool.lease() as second,
        gymnasium.make("CartPole-v1") as other,
    ):
        second.reset(seed=5)
        play(env, other, range(2))
        second.step(0)


@pytest.mark.slow
def test_options_are_fields_of_the_request() -> None:
    with pool_of(1) as pool, serving(OpenEnvApp(pool, token=None)) as url, OpenEnvEnv(url) as env:
        _, info = env.reset(seed=2, options={"split": "train", "index": np.int64(1)})
        assert info == {"seed": 2, "options": {"split": "train", "index": 1}}


@pytest.mark.slow
def test_errors_of_the_environment() -> None:
    with pool_of(1) as pool:
        with (
            serving(OpenEnvApp(pool, token=None, step_timeout=2.0)) as url,
            OpenEnvEnv(url) as env,
        ):
            env.reset()
            with pytest.raises(RuntimeError, match=r"2\.0 s"):
                env.step("spin")
            env.reset()
        # the others have time, whatever the machine is doing
        with serving(OpenEnvApp(pool, token=None)) as url, OpenEnvEnv(url) as env:
            with pytest.raises(NotResetError, match="it was not reset"):
                env.step("on")
            for trouble, text in (("raise", "as asked"), ("kill", "SIGKILL")):
                env.reset()
                with pytest.raises(RuntimeError, match=text):
                    env.step(trouble)
            env.reset()
            with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
                env.step("x" * 99)
            assert env.step("on")[0].tolist() == [0, 1]
            with OpenEnvEnv(url) as second, pytest.raises(RuntimeError, match="CAPACITY_REACHED"):
                second.reset()
            env.close()
            with OpenEnvEnv(url) as third:
                third.reset()


@pytest.mark.slow
def test_a_late_answer_ends_the_episode_but_not_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recv = ClientConnection.recv
    limits: list[float | None] = []

    def patient(self: ClientConnection, timeout: float | None = None) -> Any:
        """Only the late answer is not waited for: others may be late on a busy machine."""
        limits.append(timeout)
        return recv(self, timeout if is_late else TEST_TIMEOUT)

    monkeypatch.setattr(ClientConnection, "recv", patient)
    is_late = False
    with (
        pool_of(2) as pool,
        serving(OpenEnvApp(pool, token=None)) as url,
        OpenEnvEnv(url, timeout=0.3) as env,
    ):
        env.reset()
        is_late = True
        with pytest.raises(TimeoutError, match=r"the step took longer than timeout=0.3 s"):
            env.step("sleep")
        is_late = False
        with pytest.raises(NotResetError, match=r"timeout=0.3 s: call reset\(\) first"):
            env.step("on")
        env.reset()
        env.step("on")
    assert limits == [0.3] * 4


@pytest.mark.slow
def test_a_server_that_was_restarted() -> None:
    with pool_of(1) as pool:
        app = OpenEnvApp(pool, token=None)
        with serving(app) as url:
            env = OpenEnvEnv(url)
            env.reset()
        with pytest.raises(ConnectionError, match="the connection to the server was lost"):
            env.step("on")
        with pytest.raises(ConnectionError, match="refused"):
            env.reset()
        with serving(app, port_of(url)[1]):
            env.reset()
            env.step("on")
        # between two episodes, of which the second needs no other attempt of the user's
        with serving(app, port_of(url)[1]):
            env.reset()
            env.step("on")
            env.close()
            with pytest.raises(ClosedError, match="the environment is closed: make a new one"):
                env.step("on")


@pytest.mark.slow
def test_a_server_that_needs_a_token() -> None:
    with pool_of(1) as pool, serving(OpenEnvApp(pool)) as url:
        for token in (None, "wrong"):
            with pytest.raises(ConnectionError, match="401"):
                OpenEnvEnv(url, token=token)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\n\r\n[]", b"HTTP/1.1 200 OK\r\n\r\n{}"]
)
def test_something_that_is_no_server(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        with pytest.raises(ConnectionError, match=f"http://127.0.0.1:{port}/schema"):
            OpenEnvEnv(f"http://127.0.0.1:{port}")
        thread.join()


@pytest.mark.slow
def test_a_server_that_never_answers() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(ConnectionError, match="timed out"),
    ):
        OpenEnvEnv(f"http://127.0.0.1:{listener.getsockname()[1]}", connect_timeout=0.2)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://x", "http://"])
def test_wrong_urls(url: str) -> None:
    with pytest.raises(ValueError, match="give one that begins with http"):
        OpenEnvEnv(url)
