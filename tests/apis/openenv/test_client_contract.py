"""The contract of every API holds for `OpenEnvEnv`: the same checks, against a server.

Calls beside another thread and Ctrl-C are tests of their own: the checks hold them in the engine,
which another thread calls here.
"""

from __future__ import annotations

import gc
import json
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import gymnasium
import pytest

from parallel_pool.errors import BusyError, ClosedError, NotResetError
from parallel_pool.leases import LeasePool
from tests.apis.openenv.served_envs import pool_of
from tests.contract import test_copies, test_refused_calls, test_results
from tests.contract.api_cases import CARTPOLES, Case
from tests.contract.kinds.kind import Calls
from tests.contract.kinds.single import Single
from tests.faults.lease_envs import Gate
from tests.support.same import assert_same
from tests.support.timeouts import TEST_TIMEOUT, wait_for

pytest.importorskip("uvicorn", reason="needs the extra openenv")

from parallel_pool._apis.openenv import client
from parallel_pool.compat.openenv import OpenEnvApp, OpenEnvEnv
from tests.support.openenv_server import serving

pytestmark = pytest.mark.usefixtures("alarm")


class OfServer(Single):
    """`OpenEnvEnv`."""

    def wrong(self, env: Any) -> Calls:
        calls = super().wrong(env)
        # fields of the request, of which a server ignores those that it does not know
        del calls["options"]
        return calls


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of more environments than one test uses."""
    with LeasePool("CartPole-v1", 16) as pool, serving(OpenEnvApp(pool, token=None)) as url:
        yield url


@pytest.fixture
def case(url: str) -> Case:
    return Case("OpenEnvEnv", OfServer(), CARTPOLES, lambda g: OpenEnvEnv(url))


@pytest.mark.parametrize(
    "check",
    [
        test_refused_calls.test_wrong_arguments,
        test_refused_calls.test_calls_after_close,
        test_refused_calls.test_calls_in_a_forked_child,
        test_refused_calls.test_close_in_a_forked_child_closes_nothing,
        test_copies.test_copies_and_pickles_are_refused,
        test_results.test_no_later_call_changes_a_result,
        test_results.test_what_is_written_into_a_result_changes_no_later_one,
    ],
    ids=lambda check: check.__name__,
)
def test_calls(check: Callable[..., Any], case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """The gate of the action "gate"."""
    monkeypatch.setenv("TEST_GATE", str(tmp_path / "gate"))
    return Gate(tmp_path / "gate")


@pytest.mark.slow
def test_calls_beside_another_thread(gate: Gate) -> None:
    """They are refused, and send nothing: the next step is the one that would have followed."""
    results: list[Any] = []
    with pool_of(1) as pool, serving(OpenEnvApp(pool, token=None)) as url, OpenEnvEnv(url) as env:
        env.reset()
        thread = threading.Thread(target=lambda: results.append(env.step("gate")))
        thread.start()
        wait_for(lambda: gate.is_reached)
        seed = env.np_random_seed
        for call in (lambda: env.reset(seed=77), lambda: env.step("on")):
            with pytest.raises(BusyError, match="another thread is in a call"):
                call()
        assert env.np_random_seed == seed
        gate.open()
        thread.join(TEST_TIMEOUT)
        assert [result[1] for result in results] == [1]
        assert env.step("on")[1] == 2


@pytest.mark.slow
def test_close_in_another_thread_ends_a_step(gate: Gate) -> None:
    errors: list[BaseException] = []
    with pool_of(1) as pool, serving(OpenEnvApp(pool, token=None)) as url:
        env = OpenEnvEnv(url)
        env.reset()

        def step() -> None:
            with pytest.raises(ClosedError, match="another thread has closed") as refused:
                env.step("gate")
            errors.append(refused.value)

        thread = threading.Thread(target=step)
        thread.start()
        wait_for(lambda: gate.is_reached)
        env.close()
        thread.join(TEST_TIMEOUT)
        assert len(errors) == 1
        with pytest.raises(ClosedError, match="make a new one"):
            env.reset()


@pytest.mark.slow
def test_close_while_another_thread_connects_leaves_no_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect = client.connect

    def connect_and_close(*args: Any, **kwargs: Any) -> Any:
        made = connect(*args, **kwargs)
        env.close()
        return made

    # one environment, which only one session can have
    with pool_of(1) as pool, serving(OpenEnvApp(pool, token=None)) as url:
        env = OpenEnvEnv(url)
        with monkeypatch.context() as patch:
            patch.setattr(client, "connect", connect_and_close)
            with pytest.raises(ClosedError, match="make a new one"):
                env.reset()
        with OpenEnvEnv(url) as other:
            other.reset()


@pytest.mark.slow
def test_an_environment_that_is_dropped_leaves_no_session() -> None:
    with pool_of(1) as pool, serving(OpenEnvApp(pool, token=None)) as url:
        env = OpenEnvEnv(url)
        env.reset()
        del env
        gc.collect()
        with OpenEnvEnv(url) as other:
            other.reset()


# ------------------------------------------------------------------------------------- Ctrl-C --


class Alarm(Exception):
    """What a program's own handler of a signal raises."""


@contextmanager
def interrupted_at(
    is_there: Callable[[], Any], error: type[BaseException] = KeyboardInterrupt
) -> Iterator[None]:
    """Sends Ctrl-C to this thread once a condition is true."""

    def interrupt() -> None:
        wait_for(is_there)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(error):
        yield
    thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["step", "reset"])
def test_ctrl_c_while_an_answer_is_awaited(name: str, gate: Gate) -> None:
    with pool_of(2) as pool, serving(OpenEnvApp(pool, token=None)) as url, OpenEnvEnv(url) as env:
        env.reset()
        with interrupted_at(lambda: gate.is_reached):
            env.step("gate") if name == "step" else env.reset(options={"trouble": gate.trouble})
        with pytest.raises(NotResetError, match=rf"the {name} was interrupted: call reset\(\)"):
            env.step("on")
        gate.open()
        env.reset()
        assert env.step("on")[1] == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, Alarm])
def test_ctrl_c_while_a_server_lets_it_wait_for_a_connection(error: type[BaseException]) -> None:
    """The connection that was not open yet is closed."""

    def handle(*_: Any) -> None:
        raise error

    schema = {"properties": {}}
    body = json.dumps({"action": schema, "observation": schema}).encode()
    accepted: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with listener.accept()[0] as one:
                one.recv(1 << 16)
                one.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
            accepted.append(listener.accept()[0])

        thread = threading.Thread(target=serve)
        thread.start()
        env = OpenEnvEnv(f"http://127.0.0.1:{listener.getsockname()[1]}", connect_timeout=99)
        usual = signal.signal(signal.SIGINT, handle)
        try:
            with interrupted_at(lambda: accepted, error):
                env.reset()
        finally:
            signal.signal(signal.SIGINT, usual)
        thread.join()
        with accepted[0] as silent:
            silent.settimeout(9)
            while silent.recv(1 << 16):
                pass


@contextmanager
def interrupted(count: int) -> Iterator[list[int]]:
    """Raises KeyboardInterrupt at one of the places of the client where Python looks for signals,
    of which there are `count` before it; what it calls may have been interrupted at its end."""
    seen: list[int] = []

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        own, caller = frame.f_code.co_filename, frame.f_back
        is_ours = own == client.__file__
        is_called = caller is not None and caller.f_code.co_filename == client.__file__
        at = {"call": is_ours or is_called, "return": is_called and not is_ours}
        if at.get(event, event == "c_return" and is_ours):
            seen.append(1)
            if len(seen) == count + 1:
                raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        yield seen
    finally:
        sys.setprofile(None)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["step", "reset"])
def test_ctrl_c_anywhere_in_a_call(name: str, url: str) -> None:
    """Either nothing was sent, and the episode goes on, or a reset is needed."""
    with gymnasium.make("CartPole-v1") as alone:
        first = alone.reset(seed=3)[0]
        steps = [alone.step(1)[0] for _ in range(2)]
    count = refused = 0
    with closing(OpenEnvEnv(url)) as env:
        while True:
            assert_same(env.reset(seed=3)[0], first, f"place {count}: reset")
            assert_same(env.step(1)[0], steps[0], f"place {count}: step")
            try:
                with interrupted(count) as seen:
                    env.step(0) if name == "step" else env.reset(seed=4)
            except KeyboardInterrupt:
                pass
            if len(seen) <= count:
                break
            try:
                assert_same(env.step(1)[0], steps[1], f"place {count}: goes on")
            except NotResetError as error:
                refused += 1
                assert re.search(r"interrupted: call reset\(\) first", str(error))
            count += 1
    assert 5 < refused < count
