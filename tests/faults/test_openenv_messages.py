"""Random messages of strangers: every one is answered, and no session or server ends."""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from parallel_pool._apis.openenv import messages, rpc
from parallel_pool._apis.openenv.json_reader import from_json
from parallel_pool._apis.openenv.messages import RequestError
from parallel_pool.compat.openenv import OpenEnvApp
from parallel_pool.leases import LeasePool
from tests.apis.openenv.test_json_forms import SPACES
from tests.support.asgi import Peer, exchange, request

pytestmark = pytest.mark.usefixtures("alarm")

CODES = {"INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR", "EXECUTION_ERROR"}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
FIELDS = "type data action seed episode_id options base64 dtype shape id method jsonrpc split index"
NAMES = st.sampled_from(FIELDS.split())
VALUES = st.recursive(
    SCALARS | st.sampled_from(["reset", "step", "state", "mcp", "<f4", "AAAA", "2.0"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(["reset", "step", "state", "mcp", "fly"])
REQUESTS = st.fixed_dictionaries({"type": KINDS}, optional={"data": VALUES})
TEXTS = st.text() | st.text('{}[]",:0\\u', max_size=200) | VALUES.map(json.dumps)
PATHS = ("/reset", "/step", "/mcp", "/environment/task", "/environment/num_tasks", "/health")


@pytest.mark.slow
def test_a_session_answers_every_message() -> None:
    @settings(max_examples=150, deadline=None, derandomize=True, database=None)
    @given(st.lists(REQUESTS.map(json.dumps) | TEXTS | st.binary(max_size=40), max_size=6))
    def check(texts: list[Any]) -> None:
        async def play() -> None:
            async with Peer(app) as peer:
                for text in texts:
                    answer = await peer.ask(text)
                    assert answer["type"] in ("observation", "state", "mcp", "error")
                    if answer["type"] == "error":
                        assert answer["data"]["code"] in CODES
                assert (await peer.reset(seed=1))["type"] == "observation"
                assert (await peer.step(0))["type"] == "observation"

        loop.run_until_complete(play())

    with LeasePool("CartPole-v1") as pool, asyncio.Runner() as runner:
        app, loop = OpenEnvApp(pool, token=None), runner.get_loop()
        check()


@pytest.mark.slow
def test_every_request_is_answered() -> None:
    @settings(max_examples=120, deadline=None, derandomize=True, database=None)
    @given(st.sampled_from(PATHS), st.binary(max_size=60) | TEXTS.map(str.encode))
    def check(path: str, body: bytes) -> None:
        status, _ = loop.run_until_complete(request(app, "POST", path, body))
        assert status in (200, 400, 405, 409, 422, 500, 501)

    with LeasePool("CartPole-v1") as pool, asyncio.Runner() as runner:
        app, loop = OpenEnvApp(pool, token=None), runner.get_loop()
        check()


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(VALUES, st.sampled_from(SPACES))
def test_any_value_is_an_action_or_refused(value: Any, space: Any) -> None:
    try:
        found = from_json(value, space, "action")
    except ValueError:
        return
    # of a Box all but its bounds is checked
    if type(space).__name__ in ("Discrete", "MultiDiscrete", "MultiBinary", "Text"):
        assert space.contains(found)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(TEXTS)
def test_any_text_is_read_or_refused(text: str) -> None:
    assert "error" in rpc.answer(text)
    try:
        assert isinstance(messages.read(text), dict)
    except RequestError as error:
        assert error.code in CODES


HALF = 1 << 19
LONG = [
    "[" * 2 * HALF,
    "[" * HALF + "]" * HALF,
    '{"a":' * (HALF // 3),
    '"' + '\\"' * HALF,
    '[[[["' + '\\"' * HALF + "[" * 99 + "\\",
    '"' * HALF + "[" * HALF,
    '"[' * HALF,
    "[" + "1," * HALF + "1]",
    "[" * 65 + "\\" * HALF,
    "1" * HALF,
    '{"type": "' + "x" * HALF + '"}',
]


def least_seconds(call: Callable[[], None]) -> float:
    """Returns the processor's seconds of a call: a virtual machine may count what others took."""

    def once() -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    return min(once() for _ in range(3))


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_messages_take_no_long_time(text: str) -> None:
    """A second of a core for a megabyte would let one client stop all sessions."""

    def read() -> None:
        with pytest.raises(RequestError):
            raise RequestError("", str(messages.read(text)))

    assert least_seconds(read) < 2


BOX = spaces.Box(-1, 1, (3,), np.float32)
LARGE_ACTIONS: list[Any] = [
    ["a" * 50_000] + [""] * 200,
    [["a" * 50_000]] + [[""]] * 200,
    [1, ["a" * 50_000] + [""] * 200],
    {"base64": "", "dtype": "f4," * 300_000, "shape": [1]},
    {"base64": "", "dtype": "f4", "shape": [9] * 150_000},
]


@pytest.mark.parametrize("value", LARGE_ACTIONS, ids=range(len(LARGE_ACTIONS)))
def test_large_actions_take_no_long_time_and_no_memory(value: Any) -> None:
    tracemalloc.start()
    try:

        def read() -> None:
            with pytest.raises(ValueError, match="action is"):
                from_json(value, BOX, "action")

        assert least_seconds(read) < 0.5
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def no_memory(*_: Any, **__: Any) -> Any:
    raise MemoryError


@pytest.mark.parametrize("name", ["messages.json.loads", "session.from_json"])
def test_no_memory_for_a_message_is_an_error_of_that_message(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = '{"type": "step", "data": {"action": 0}}'

    async def play(app: OpenEnvApp) -> None:
        async with Peer(app) as peer:
            await peer.reset()
            with monkeypatch.context() as patch:
                patch.setattr(f"parallel_pool._apis.openenv.{name}", no_memory)
                peer.send(step)
                answer = await peer.receive()
            error = json.loads(answer["text"])["data"]
            assert error["code"] == "EXECUTION_ERROR" and "no memory" in error["message"]
            assert (await peer.ask(step))["type"] == "observation"

    with LeasePool("CartPole-v1") as pool:
        asyncio.run(play(OpenEnvApp(pool, token=None)))


def test_no_memory_for_a_request_is_an_error_of_that_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(messages.json, "loads", no_memory)
    with LeasePool("CartPole-v1") as pool:
        app = OpenEnvApp(pool, token=None)
        status, _, answer = asyncio.run(exchange(app, "POST", "/reset", b"{}"))
    assert status == 503 and b"no memory" in answer


def test_brackets_in_texts_are_not_nested() -> None:
    text = "[" * 500 + '\\"' + "{" * 500
    assert messages.read(json.dumps({"a": text, "b": [text]})) == {"a": text, "b": [text]}
    wide = {"a": [[1]] * 500}
    assert messages.read(json.dumps(wide)) == wide
