"""The application without a network: sessions, requests, tasks, and who may use them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import gymnasium
import pytest

from parallel_pool._apis.openenv.messages import reason
from parallel_pool._workers.watch.failures import IN_ENVIRONMENT, IN_WORKER
from parallel_pool.compat.openenv import OpenEnvApp
from parallel_pool.errors import EnvError
from parallel_pool.leases import LeasePool
from tests.apis.openenv.served_envs import Served, run
from tests.support.asgi import LOCAL, Peer, request

pytestmark = pytest.mark.usefixtures("alarm")


def test_an_episode_equals_that_of_the_environment() -> None:
    """To the last bit, as JSON has all digits of a double."""

    async def play(app: OpenEnvApp) -> None:
        env = gymnasium.make("CartPole-v1")
        async with Peer(app) as peer:
            for seed in range(3):
                answer = await peer.reset(seed=seed)
                observation, _ = env.reset(seed=seed)
                shown = {"observation": observation.tolist(), "metadata": {}}
                ends = {"terminated": False, "truncated": False}
                data = {"observation": {**shown, **ends}, "reward": None, "done": False}
                assert answer == {"type": "observation", "data": data}
                is_over, steps = False, 0
                while not is_over:
                    answer = await peer.step(steps % 2)
                    observation, reward, terminated, truncated, _ = env.step(steps % 2)
                    is_over, steps = terminated or truncated, steps + 1
                    shown = answer["data"]["observation"]
                    assert shown["observation"] == observation.tolist()
                    assert (shown["terminated"], shown["truncated"]) == (terminated, truncated)
                    assert (answer["data"]["reward"], answer["data"]["done"]) == (reward, is_over)
                assert (await peer.ask({"type": "state"}))["data"]["step_count"] == steps

    with LeasePool("CartPole-v1") as pool:
        asyncio.run(play(OpenEnvApp(pool, token=None)))


def test_reset_has_a_seed_a_name_and_options() -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            state = await peer.ask({"type": "state"})
            assert state == {"type": "state", "data": {"episode_id": None, "step_count": 0}}
            answer = await peer.reset(seed=3, episode_id="mine", split="odd", index=0)
            options = {"split": "odd", "index": 0}
            assert answer["data"]["metadata"] == {"seed": 3, "options": options}
            assert answer["data"]["observation"]["metadata"] == {"seed": 3, "options": options}
            await peer.step("on")
            state = await peer.ask({"type": "state"})
            assert state["data"] == {"episode_id": "mine", "step_count": 1}
            answer = await peer.reset(options={"a": 1}, b=2, seed=None)
            assert answer["data"]["metadata"] == {"seed": None, "options": {"a": 1, "b": 2}}
            state = await peer.ask({"type": "state"})
            assert len(state["data"]["episode_id"]) == 32 and state["data"]["step_count"] == 0

    run(play)


def test_the_ends_of_an_episode() -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            for action, ends in (("end", (True, False)), ("cut", (False, True))):
                await peer.reset()
                data = (await peer.step(action))["data"]
                found = data["observation"]["terminated"], data["observation"]["truncated"]
                assert found == ends and data["done"]
                error = (await peer.step("on"))["data"]
                assert (
                    error["code"] == "EXECUTION_ERROR" and "call reset() first" in error["message"]
                )

    run(play)


WRONG: list[tuple[Any, str, str]] = [
    ("", "UNKNOWN_TYPE", "''"),
    ("{", "INVALID_JSON", "Expecting"),
    (b"\xff\xfe", "INVALID_JSON", "utf-8"),
    ("[]", "VALIDATION_ERROR", "give an object"),
    ("1" * 5000, "INVALID_JSON", "digits"),
    ('{"type":' + "[" * 65 + "]" * 65 + "}", "INVALID_JSON", "in each other"),
    ('{"type": "\\ud800"}', "UNKNOWN_TYPE", "ud800"),
    ({"type": "fly"}, "UNKNOWN_TYPE", "'fly'"),
    ({"type": ["step"]}, "UNKNOWN_TYPE", "step"),
    ({"type": "step"}, "VALIDATION_ERROR", "data is missing: give an object"),
    ({"type": "step", "data": None}, "VALIDATION_ERROR", "data is None: give an object"),
    ({"type": "step", "data": {}}, "VALIDATION_ERROR", "action is missing"),
    ({"type": "step", "data": {"action": 3}}, "VALIDATION_ERROR", "action is 3: give a text"),
    ({"type": "step", "data": {"action": "on", "more": 1}}, "VALIDATION_ERROR", "'more'"),
    ({"type": "step", "data": {"action": "on"}, "more": 1}, "VALIDATION_ERROR", "'more'"),
    ({"type": "reset", "data": {"seed": -1}}, "VALIDATION_ERROR", "give 0 or more"),
    ({"type": "reset", "data": {"seed": True}}, "VALIDATION_ERROR", "seed is True"),
    ({"type": "reset", "data": {"seed": 1.0}}, "VALIDATION_ERROR", "seed is 1.0"),
    ({"type": "reset", "data": {"episode_id": "x" * 256}}, "VALIDATION_ERROR", "255"),
    ({"type": "reset", "data": {"options": 1}}, "VALIDATION_ERROR", "options is 1"),
    ({"type": "state", "data": {}}, "VALIDATION_ERROR", "'data'"),
]


def test_wrong_messages_are_errors_and_the_episode_goes_on() -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            await peer.reset()
            for number, (message, code, text) in enumerate(WRONG, 1):
                answer = await peer.ask(message)
                assert answer["type"] == "error", message
                data = answer["data"]
                assert data["code"] == code and text in data["message"], (message, data)
                assert ("errors" in data) == (code == "VALIDATION_ERROR")
                shown = (await peer.step("on"))["data"]["observation"]["observation"]
                assert shown == [0, number]

    run(play)


def test_sessions_beyond_the_last_are_refused_until_one_ends() -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as one:
            async with Peer(app) as two:
                # both have environments of their own
                first, second = await one.reset(), await two.reset()
                numbers = {
                    each["data"]["observation"]["observation"][0] for each in (first, second)
                }
                assert numbers == {0, 1}
                async with Peer(app) as third:
                    error = json.loads((await third.receive())["text"])["data"]
                    assert error["code"] == "CAPACITY_REACHED"
                    assert (error["active_sessions"], error["max_sessions"]) == (2, 2)
                    assert (await third.receive())["type"] == "websocket.close"
                assert (await request(app, "POST", "/reset"))[0] == 503
                two.send('{"type": "close"}')
                assert (await two.receive())["type"] == "websocket.close"
            async with Peer(app) as four:
                assert (await four.reset())["type"] == "observation"

    run(play)


def test_requests() -> None:
    async def play(app: OpenEnvApp) -> None:
        assert await request(app, "GET", "/health") == (200, {"status": "healthy"})
        status, found = await request(app, "GET", "/metadata")
        assert status == 200 and found["name"] == "environment" and found["description"]
        status, found = await request(app, "GET", "/schema")
        assert found.keys() == {"action", "observation", "state", "reset_observation"}
        assert found["action"]["properties"]["action"]["type"] == "string"
        status, found = await request(app, "GET", "/openapi.json")
        assert found["info"]["version"] and "post" in found["paths"]["/reset"]
        status, found = await request(app, "POST", "/reset", b'{"seed": 4}')
        assert status == 200 and found["observation"]["metadata"]["seed"] == 4
        assert await request(app, "GET", "/state") == (200, {"episode_id": None, "step_count": 0})
        status, found = await request(app, "POST", "/step", b'{"action": {"action": "on"}}')
        assert status == 409 and "/ws" in found["detail"]
        assert (await request(app, "GET", "/nothing"))[0] == 404
        assert (await request(app, "GET", "/reset"))[0] == 405
        assert (await request(app, "POST", "/reset", b"{"))[0] == 400
        assert (await request(app, "POST", "/reset", b'{"seed": "a"}'))[0] == 422
        status, found = await request(app, "POST", "/reset", b'{"trouble": "raise"}')
        assert status == 500 and "ValueError: as asked" in found["detail"]
        status, found = await request(app, "POST", "/reset", b" " * 1001)
        assert status == 413 and "1000" in found["detail"]

    run(play, max_message=1000)


def test_the_task_api() -> None:
    async def ask(app: OpenEnvApp, path: str, **body: Any) -> Any:
        return await request(app, "POST", path, json.dumps(body).encode())

    async def play(app: OpenEnvApp) -> None:
        assert await request(app, "GET", "/list_environments") == (200, ["Mine"])
        splits = [{"name": "train", "type": "train"}, {"name": "odd", "type": "test"}]
        assert await request(app, "GET", "/Mine/splits") == (200, splits)
        assert (await request(app, "GET", "/other/splits"))[0] == 404
        tasks = [{"id": "a"}, {"id": "b"}]
        found = await ask(app, "/mine/tasks", split="train")
        assert found == (200, {"tasks": tasks, "env_name": "Mine"})
        assert await ask(app, "/mine/num_tasks", split="odd") == (200, {"num_tasks": 1})
        found = await ask(app, "/mine/task", split="train", index=1)
        assert found == (200, {"task": {"id": "b"}})
        assert (await ask(app, "/mine/task", split="train", index=2))[0] == 400
        found = await ask(app, "/mine/task_range", split="train", start=1)
        assert found == (200, {"tasks": tasks[1:]})
        assert (await ask(app, "/mine/task", split="train"))[0] == 422
        status, found = await ask(app, "/mine/num_tasks", split="none")
        assert status == 500 and "KeyError" in found["detail"]

    run(play, name="Mine")


class Odd(Served):
    """Has tasks that fail, and no splits."""

    def list_splits(self) -> Any:
        return None

    def list_tasks(self, split: str) -> Any:
        raise SystemExit(split)


def test_splits_that_are_no_list_are_an_error_of_the_environment() -> None:
    async def play(app: OpenEnvApp) -> None:
        status, found = await request(app, "GET", "/environment/splits")
        detail = "list_splits returned None: it must return a list"
        assert (status, found) == (500, {"detail": detail})

    with LeasePool([Odd], start_method="fork") as pool:
        asyncio.run(play(OpenEnvApp(pool, token=None)))


def test_clients_get_no_traceback_of_an_environment() -> None:
    async def play(app: OpenEnvApp) -> None:
        status, found = await request(app, "POST", "/environment/tasks", b'{"split": "train"}')
        assert status == 500 and "SystemExit: train" in found["detail"]
        assert "Traceback" not in found["detail"] and ".py" not in found["detail"]

    with LeasePool([Odd], start_method="fork") as pool:
        asyncio.run(play(OpenEnvApp(pool, token=None)))


@pytest.mark.parametrize("where", [IN_WORKER, IN_ENVIRONMENT])
def test_a_reason_ends_before_the_traceback(where: str) -> None:
    error = EnvError(f"step: ValueError: as asked{where}Traceback ...", [0], ())
    assert reason(error) == "EnvError: step: ValueError: as asked"


def test_environments_without_tasks() -> None:
    async def play(app: OpenEnvApp) -> None:
        status, found = await request(app, "GET", "/environment/splits")
        assert status == 501 and found["detail"].startswith("list_splits is not supported")

    for envs, options in (("CartPole-v1", {}), ([lambda: gymnasium.make("CartPole-v1")], {})):
        with LeasePool(envs, **options) as pool:  # type: ignore[arg-type]
            asyncio.run(play(OpenEnvApp(pool, token=None)))


def test_mcp_has_no_tools() -> None:
    async def play(app: OpenEnvApp) -> None:
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
        status, found = await request(app, "POST", "/mcp", json.dumps(call).encode())
        assert (status, found["id"], found["error"]["code"]) == (200, 7, -32603)
        for path in ("/mcp", "/ws"):
            async with Peer(app, path) as peer:
                found = await peer.ask(call if path == "/mcp" else {"type": "mcp", "data": call})
                found = found if path == "/mcp" else found["data"]
                assert found["error"]["message"] == "Environment does not support MCP"
        for body, code in ((b"{", -32700), (b"[]", -32600), (b"{}", -32600)):
            assert (await request(app, "POST", "/mcp", body))[1]["error"]["code"] == code
        other = json.dumps({**call, "method": "openenv/session/create"}).encode()
        assert (await request(app, "POST", "/mcp", other))[1]["error"]["code"] == -32601

    run(play)


BEARER = {**LOCAL, "authorization": "Bearer secret"}
# the protocols of a browser's WebSocket
OFFERED, SECRET = "sec-websocket-protocol", "parallel-pool.bearer.c2VjcmV0"


@pytest.mark.parametrize(
    ("headers", "token", "status"),
    [
        (BEARER, "secret", 200),
        ({**BEARER, "host": "example.com", "origin": "http://x"}, "secret", 200),
        (LOCAL, "secret", 401),
        ({**LOCAL, "authorization": "secret"}, "secret", 401),
        ({**LOCAL, "authorization": "Bearer secrets"}, "secret", 401),
        ({**LOCAL, "authorization": "Bearer sécret"}, "secret", 401),
        ({**LOCAL, OFFERED: f"parallel-pool, {SECRET}"}, "secret", 200),
        ({**LOCAL, OFFERED: f"{SECRET},"}, "secret", 200),
        ({**LOCAL, OFFERED: f"parallel-pool, {SECRET}="}, "secret", 401),
        ({**LOCAL, OFFERED: "parallel-pool"}, "secret", 401),
        ({**LOCAL, OFFERED: "parallel-pool.bearer."}, "secret", 401),
        ({**LOCAL, OFFERED: SECRET, "origin": "http://x"}, None, 403),
        (LOCAL, None, 200),
        ({"host": "localhost:8000"}, None, 200),
        ({"host": "[::1]:8000", "origin": "http://[::1]:8000"}, None, 200),
        ({**LOCAL, "origin": "http://127.0.0.1:8000"}, None, 200),
        ({**LOCAL, "origin": "http://127.0.0.1:9000"}, None, 403),
        ({**LOCAL, "origin": "null"}, None, 403),
        ({**LOCAL, "origin": "http://["}, None, 403),
        ({**LOCAL, "sec-fetch-site": "cross-site"}, None, 403),
        ({**LOCAL, "sec-fetch-site": "same-site"}, None, 403),
        ({**LOCAL, "sec-fetch-site": "same-origin"}, None, 200),
        ({**LOCAL, "sec-fetch-site": "none"}, None, 200),
        ({"host": "example.com"}, None, 403),
        ({"host": "127.0.0.1.example.com"}, None, 403),
        ({"host": "["}, None, 403),
        ({}, None, 403),
    ],
)
def test_who_may_use_it(headers: dict[str, str], token: str | None, status: int) -> None:
    async def play(app: OpenEnvApp) -> None:
        assert (await request(app, "GET", "/health", headers=headers))[0] == 200
        assert (await request(app, "GET", "/schema", headers=headers))[0] == status
        assert (await request(app, "GET", "/nothing", headers=headers))[0] in (status, 404)
        for path in ("/ws", "/mcp"):
            async with Peer(app, path, headers) as peer:
                kind = "websocket.accept" if status == 200 else "websocket.http.response.start"
                assert peer.first["type"] == kind and peer.first.get("status", 200) == status

    with LeasePool("CartPole-v1") as pool:
        asyncio.run(play(OpenEnvApp(pool, token=token)))


def test_an_unknown_socket() -> None:
    async def play(app: OpenEnvApp) -> None:
        async with Peer(app, "/wss") as peer:
            assert peer.first["status"] == 404
        async with Peer(app, "/ws?session_id=1") as peer:
            error = json.loads((await peer.receive())["text"])["data"]
            assert error["code"] == "SESSION_ERROR" and "session_id" in error["message"]

    run(play)


def test_arrays_in_base64() -> None:
    class Seen(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(0, 255, (4, 8), "uint8")
        action_space: Any = gymnasium.spaces.Discrete(2)

        def reset(self, **kwargs: Any) -> Any:
            return self.observation_space.low + 7, {}

    async def play(app: OpenEnvApp) -> None:
        async with Peer(app, "/ws?arrays=base64") as peer:
            shown = (await peer.reset())["data"]["observation"]["observation"]
            assert shown == {"base64": "BwcH" * 10 + "Bwc=", "dtype": "|u1", "shape": [4, 8]}
        async with Peer(app) as peer:
            shown = (await peer.reset())["data"]["observation"]["observation"]
            assert shown == [[7] * 8] * 4

    with LeasePool([Seen], start_method="fork") as pool:
        asyncio.run(play(OpenEnvApp(pool, token=None)))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"name": "a/b"}, ValueError, "without a slash"),
        ({"name": ""}, ValueError, "without a slash"),
        ({"token": ""}, ValueError, "choose a secret"),
        ({"max_message": 0}, ValueError, "max_message"),
        ({"rate": 0}, ValueError, "rate=0: choose more than 0"),
        ({"step_timeout": -1}, ValueError, "step_timeout=-1"),
        ({"idle_timeout": None}, ValueError, "idle_timeout=None"),
        ({"reset_timeout": "1"}, TypeError, "reset_timeout='1'"),
    ],
)
def test_wrong_arguments(options: Any, error: type[Exception], text: str) -> None:
    with LeasePool("CartPole-v1") as pool, pytest.raises(error, match=text):
        OpenEnvApp(pool, **options)


def test_a_token_is_drawn() -> None:
    with LeasePool("CartPole-v1") as pool:
        first, second = OpenEnvApp(pool).token, OpenEnvApp(pool).token
    assert first and second and first != second and len(first) == 32
