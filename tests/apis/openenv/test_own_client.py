"""OpenEnv's own client and validator against our server, and its server under our client.

Importing OpenEnv takes three seconds, so they do it when they run, and make check leaves them out.
"""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool.compat.openenv import OpenEnvApp
from parallel_pool.leases import LeasePool
from tests.apis.openenv.served_envs import pool_of

pytest.importorskip("uvicorn", reason="needs the extra openenv")

import uvicorn

from parallel_pool.compat.openenv import OpenEnvEnv
from tests.support.openenv_server import serving, token_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("openenv") is None, reason="needs the package openenv"
    ),
    pytest.mark.usefixtures("alarm"),
]


@pytest.fixture(scope="module")
def client_class() -> Any:
    from openenv.core import GenericEnvClient

    return GenericEnvClient


def test_its_synchronous_client_plays_an_episode(client_class: Any) -> None:
    env = gymnasium.make("CartPole-v1")
    with (
        LeasePool("CartPole-v1") as pool,
        serving(app := OpenEnvApp(pool)) as url,
        client_class(base_url=url, headers=token_of(app)).sync() as client,
    ):
        result = client.reset(seed=3, episode_id="mine")
        observation, _ = env.reset(seed=3)
        assert np.float32(result.observation["observation"]).tobytes() == observation.tobytes()
        assert (result.reward, result.done) == (None, False)
        steps = 0
        while not result.done:
            result = client.step({"action": steps % 2})
            observation, reward, terminated, truncated, _ = env.step(steps % 2)
            steps += 1
            found = np.float32(result.observation["observation"])
            assert found.tobytes() == observation.tobytes()
            assert (result.reward, result.done) == (reward, terminated or truncated)
        assert client.state() == {"episode_id": "mine", "step_count": steps}
        with pytest.raises(RuntimeError, match=r"call reset\(\) first.*EXECUTION_ERROR"):
            client.step({"action": 0})
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            client.step({"action": 2})
        client.reset()


def test_its_asynchronous_client_and_its_sessions(client_class: Any) -> None:
    async def play(url: str, app: OpenEnvApp) -> None:
        async with client_class(base_url=url, headers=token_of(app)) as client:
            await client.reset(split="odd", index=0)
            other = await client.new_session()
            result = await other.reset(seed=5)
            assert result.metadata == {"seed": 5, "options": None}
            for steps in range(1, 4):
                results = await asyncio.gather(
                    client.step({"action": "on"}), other.step({"action": "on"})
                )
                assert [each.reward for each in results] == [steps, steps]
            third = client_class(base_url=url, headers=token_of(app))
            with pytest.raises(RuntimeError, match="CAPACITY_REACHED"):
                await third.reset()
            await third.close()

    with pool_of(2) as pool, serving(app := OpenEnvApp(pool)) as url:
        asyncio.run(play(url, app))


def test_its_client_goes_on_after_its_own_timeout(client_class: Any) -> None:
    """It closes the connection and opens another, for which the environment must be free."""

    async def play(url: str) -> None:
        async with client_class(base_url=url) as client:
            await client.reset()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.step({"action": "sleep"}), 0.2)
            result = await client.reset()
            assert result.observation["observation"] == [0, 0]
            assert (await client.step({"action": "on"})).reward == 1

    # a worker that is forked when its predecessor was killed would hold the connection open
    with pool_of(1, start_method=None) as pool, serving(OpenEnvApp(pool, token=None)) as url:
        asyncio.run(play(url))


def test_its_client_reads_numbers_that_are_not_finite(client_class: Any) -> None:
    class Odd(gymnasium.Env[Any, Any]):
        observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
        action_space: Any = spaces.Discrete(2)

        def reset(self, **kwargs: Any) -> Any:
            return np.array([np.nan, np.inf, -np.inf]), {"big": 2**63 - 1}

    with (
        LeasePool([Odd], start_method="fork") as pool,
        serving(OpenEnvApp(pool, token=None)) as url,
        client_class(base_url=url).sync() as client,
    ):
        result = client.reset()
    np.testing.assert_array_equal(result.observation["observation"], [np.nan, np.inf, -np.inf])
    assert result.metadata == {"big": 2**63 - 1}


def test_its_validator_passes() -> None:
    from openenv.cli._validation import validate_running_environment

    with LeasePool("CartPole-v1") as pool, serving(OpenEnvApp(pool, token=None)) as url:
        report = validate_running_environment(url)
    assert report["passed"], report


# ---------------------------------------------------------------------------- its own server --


@pytest.fixture(scope="module")
def its_url() -> Iterator[str]:
    """Serves an environment by OpenEnv itself."""
    import socket

    from openenv.core import create_app

    from tests.apis.openenv.echo import Echo, Move, Seen

    app = create_app(Echo, Move, Seen, max_concurrent_envs=2)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(30)


def test_its_server_is_an_environment(its_url: str) -> None:
    with OpenEnvEnv(its_url) as env:
        assert list(env.action_space) == ["text", "count"]
        assert list(env.observation_space) == ["said", "steps", "parts"]
        observation, info = env.reset(seed=2, options={"split": "a"})
        assert observation["said"] == "seed 2 split a" and info == {"extra": {"at": 0}}
        found = env.step({"text": "hello", "count": np.int64(2)})
        observation, reward, terminated, truncated, info = found
        assert observation["steps"] == 2 and observation["steps"].dtype == np.int64
        assert [float(each) for each in observation["parts"]] == [0.2, 2.0]
        assert (reward, terminated, truncated, info) == (0.5, False, False, {"extra": {"at": 2}})
        with pytest.raises(RuntimeError, match=r"as asked \(EXECUTION_ERROR\)"):
            env.step({"text": "raise"})
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            env.step({"said": "hello"})
        assert env.step({"text": "hello"})[2] is True


def test_a_pool_of_sessions_of_its_server(its_url: str) -> None:
    with (
        LeasePool([lambda: OpenEnvEnv(its_url)] * 2, start_method="fork") as pool,
        pool.lease() as one,
        pool.lease() as two,
    ):
        one.reset(seed=1)
        two.reset(seed=2)
        for steps in (1, 2):
            for env in (one, two):
                observation, *_ = env.step({"text": "on", "count": 1})
                assert observation["steps"] == steps
