"""The server's port: clients that are slow, gone, too large or too many, and signals."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra openenv")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from parallel_pool._apis.openenv import asgi, connection, server
from parallel_pool._apis.openenv.server import Server
from parallel_pool.compat.openenv import OpenEnvApp
from parallel_pool.leases import LeasePool
from tests.apis.openenv.served_envs import pool_of
from tests.faults.lease_envs import Gate
from tests.support.openenv_server import port_of, serving, token_of
from tests.support.timeouts import has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")

ROOT = Path(__file__).resolve().parents[2]


def ask(web_socket: Any, kind: str, **data: Any) -> Any:
    web_socket.send(json.dumps({"type": kind, "data": data}))
    return json.loads(web_socket.recv(timeout=30))


def ws(url: str) -> str:
    return url.replace("http", "ws") + "/ws"


def works(url: str, app: OpenEnvApp) -> None:
    with connect(ws(url), additional_headers=token_of(app), proxy=None) as good:
        assert ask(good, "reset", seed=1)["type"] == "observation"


def read_all(peer: socket.socket) -> bytes:
    found = b""
    while piece := peer.recv(1 << 16):
        found += piece
    return found


HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
SLOW = [
    b"",
    b"GET /health HTT",
    b"GET /health HTTP/1.1\r\nHost: x\r\nX-More:",
    b"POST /reset HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
    # the second request of a connection
    b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /hea",
]


@pytest.mark.slow
@pytest.mark.parametrize("start", SLOW)
def test_a_slow_request_is_ended(start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    if start.startswith(b"POST"):
        monkeypatch.setattr(asgi, "BODY_TIMEOUT", 0.3)
    else:
        monkeypatch.setattr(connection, "HEAD_TIMEOUT", 1.0)
    with pool_of(1) as pool, serving(app := OpenEnvApp(pool, token=None)) as url:
        with socket.create_connection(port_of(url), timeout=30) as peer:
            peer.sendall(start)
            begun = time.monotonic()
            answer = read_all(peer)
            assert time.monotonic() - begun < 10
            assert (b"408" in answer) == start.startswith(b"POST")
        monkeypatch.undo()
        works(url, app)


@pytest.mark.slow
def test_a_client_that_takes_no_answers_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some sixty of them would be all that the server allows, and others be refused for ever."""
    monkeypatch.setattr(connection, "HEAD_TIMEOUT", 0.2)
    monkeypatch.setattr(connection, "SEND_TIMEOUT", 0.2)
    with pool_of(1) as pool, serving(app := OpenEnvApp(pool, token=None)) as url:
        with socket.socket() as peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.settimeout(0.5)
            peer.connect(port_of(url))
            with contextlib.suppress(OSError):
                while True:
                    peer.sendall(b"GET /web HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
            ends = select.poll()
            ends.register(peer, 0)
            wait_for(lambda: ends.poll(0))
        monkeypatch.undo()
        works(url, app)


@pytest.mark.slow
def test_a_client_that_takes_no_message_loses_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PING", 3.0)
    large = 8 << 20
    with (
        pool_of(1) as pool,
        serving(app := OpenEnvApp(pool, token=None, max_message=large)) as url,
        socket.socket() as peer,
    ):
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect(port_of(url))
        peer.sendall(HANDSHAKE)
        assert peer.recv(1) == b"H"
        wait_for(lambda: pool.num_free == 0)
        # the answer shows it twice
        message = json.dumps({"type": "reset", "data": {"more": "x" * (large - 100)}}).encode()
        peer.sendall(b"\x81\xff%b\0\0\0\0%b" % (len(message).to_bytes(8), message))
        wait_for(lambda: pool.num_free == 1)
        works(url, app)


@pytest.mark.slow
def test_a_slow_step_is_not_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither as a WebSocket, nor as a request."""
    monkeypatch.setattr(connection, "HEAD_TIMEOUT", 2.0)
    gates = [Gate(tmp_path / name) for name in ("step", "reset")]

    def open_late(gate: Gate) -> None:
        wait_for(lambda: gate.is_reached)
        time.sleep(2.5)
        gate.open()

    monkeypatch.setenv("TEST_GATE", str(tmp_path / "step"))
    for gate in gates:
        threading.Thread(target=open_late, args=(gate,), daemon=True).start()
    with pool_of(1) as pool, serving(OpenEnvApp(pool, token=None)) as url:
        with connect(ws(url), proxy=None) as peer:
            ask(peer, "reset")
            assert ask(peer, "step", action="gate")["type"] == "observation"
        wait_for(lambda: pool.num_free == 1)
        with socket.create_connection(port_of(url), timeout=30) as slow:
            body = json.dumps({"trouble": gates[1].trouble}).encode()
            head = b"POST /reset HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
            slow.sendall(head % len(body) + body)
            assert slow.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_messages_that_are_too_large() -> None:
    with pool_of(1) as pool, serving(app := OpenEnvApp(pool, token=None, max_message=1000)) as url:
        with connect(ws(url), proxy=None) as peer, pytest.raises(ConnectionClosed, match="1009"):
            ask(peer, "reset", more="x" * 1001)
        wait_for(lambda: pool.num_free == 1)
        with connect(ws(url), proxy=None) as peer, pytest.raises(ConnectionClosed, match="1009"):
            peer.send(["x" * 600, "x" * 600])
            peer.recv(timeout=30)
        wait_for(lambda: pool.num_free == 1)
        with socket.create_connection(port_of(url), timeout=30) as large:
            large.sendall(b"GET /health HTTP/1.1\r\nX-More: " + b"x" * (1 << 15))
            assert read_all(large).startswith(b"HTTP/1.1 4")
        works(url, app)


@pytest.mark.slow
def test_bytes_that_are_no_protocol() -> None:
    with pool_of(1) as pool, serving(app := OpenEnvApp(pool, token=None)) as url:
        with socket.create_connection(port_of(url), timeout=30) as peer:
            peer.sendall(bytes(range(256)) * 8)
            assert b"400" in read_all(peer)
        with connect(ws(url), proxy=None) as broken:
            broken.socket.sendall(b"\xff" * 64)
            with pytest.raises(ConnectionClosed):
                broken.recv(timeout=30)
        wait_for(lambda: pool.num_free == 1)
        works(url, app)


@pytest.mark.slow
def test_a_connection_that_is_cut_in_a_step(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    monkeypatch.setenv("TEST_GATE", str(tmp_path / "gate"))
    with pool_of(1) as pool, serving(app := OpenEnvApp(pool, token=None)) as url:
        with connect(ws(url), proxy=None, close_timeout=0) as peer:
            ask(peer, "reset")
            pid = pool.worker_pids[0]
            assert pid is not None
            peer.send('{"type": "step", "data": {"action": "gate"}}')
            wait_for(lambda: gate.is_reached)
            peer.socket.shutdown(socket.SHUT_RDWR)
            wait_for(lambda: has_ended(pid))
        wait_for(lambda: pool.num_free == 1)
        works(url, app)


@pytest.mark.sanitizers
def test_a_client_that_closes_in_a_step_is_answered_at_once() -> None:
    """OpenEnv's client waits for that before it opens another session."""
    with pool_of(1) as pool, serving(app := OpenEnvApp(pool, token=None)) as url:
        with connect(ws(url), proxy=None, close_timeout=30) as peer:
            ask(peer, "reset")
            peer.send('{"type": "step", "data": {"action": "sleep"}}')
            start = time.monotonic()
        assert time.monotonic() - start < 20
        wait_for(lambda: pool.num_free == 1)
        works(url, app)


@pytest.mark.slow
def test_a_client_without_the_token() -> None:
    with LeasePool("CartPole-v1") as pool, serving(app := OpenEnvApp(pool)) as url:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            with pytest.raises(InvalidStatus, match="401"):
                connect(ws(url), additional_headers=headers, proxy=None)
        works(url, app)


@pytest.mark.slow
def test_many_connections() -> None:
    """Those beyond the sessions are refused, and those that send nothing are no session."""
    with LeasePool("CartPole-v1", 2) as pool, serving(app := OpenEnvApp(pool, token=None)) as url:
        idle = [socket.create_connection(port_of(url), timeout=30) for _ in range(40)]
        with connect(ws(url), proxy=None) as one, connect(ws(url), proxy=None) as two:
            ask(one, "reset")
            ask(two, "reset")
            for _ in range(40):
                with connect(ws(url), proxy=None) as more:
                    assert json.loads(more.recv(timeout=30))["data"]["code"] == "CAPACITY_REACHED"
            ask(one, "step", action=0)
        for peer in idle:
            peer.close()
        wait_for(lambda: pool.num_free == 2)
        works(url, app)


@pytest.mark.parametrize("host", ["0.0.0.0", "example.com"])
def test_without_a_token_only_this_machine(host: str) -> None:
    with LeasePool("CartPole-v1") as pool, pytest.raises(ValueError, match="give the app a token"):
        Server(OpenEnvApp(pool, token=None), host, 0)


def test_a_port_that_is_taken() -> None:
    with (
        LeasePool("CartPole-v1") as pool,
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(OSError, match="in use"),
    ):
        Server(OpenEnvApp(pool), "127.0.0.1", other.getsockname()[1])


def command(*arguments: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "parallel_pool", "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **more},
    )


SERVED = "tests.apis.openenv.served_envs:Served"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_command_and_its_workers(number: int, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    more = {"TEST_GATE": str(tmp_path / "gate")}
    with command(SERVED, "--sessions", "2", "--port", "0", **more) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        found = re.fullmatch(
            r"serving (\S+) to 2 sessions at (http://127\.0\.0\.1:\d+)  token (\S+)\n", line
        )
        assert found, (line, process.stderr.read())
        name, url, token = found.groups()
        assert name == SERVED
        headers = {"Authorization": f"Bearer {token}"}
        with connect(ws(url), additional_headers=headers, proxy=None) as peer:
            pid = ask(peer, "reset", seed=1)["data"]["observation"]
            peer.send('{"type": "step", "data": {"action": "gate"}}')
            wait_for(lambda: gate.is_reached)
            children = children_of(process.pid)
            assert len(children) >= 2 and pid
            process.send_signal(number)
            with pytest.raises(ConnectionClosed):
                peer.recv(timeout=30)
        assert process.wait(30) == (130 if number == signal.SIGINT else 143)
        for child in children:
            wait_for(lambda child=child: has_ended(child))
        shown = process.stderr.read()
        assert shown == ("interrupted\n" if number == signal.SIGINT else "")


@pytest.mark.slow
def test_a_command_with_a_token_and_a_name_of_its_own() -> None:
    options = ("--backend", "process", "--option", "max_episode_steps=2", "--name", "cart")
    more = {"PARALLEL_POOL_TOKEN": "secret"}
    with command("CartPole-v1", "--sessions", "1", "--port", "0", *options, **more) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        # the token is known already
        found = re.fullmatch(r"serving cart to 1 sessions at (http://127\.0\.0\.1:\d+)\n", line)
        assert found, line
        headers = {"Authorization": "Bearer secret"}
        with connect(ws(found[1]), additional_headers=headers, proxy=None) as peer:
            ask(peer, "reset", seed=1)
            ends = [ask(peer, "step", action=0)["data"]["observation"] for _ in range(2)]
            assert [each["truncated"] for each in ends] == [False, True]
        process.terminate()


def children_of(pid: int) -> list[int]:
    """Returns the processes below a process, at any depth."""
    found, waiting = [], [pid]
    while waiting:
        for task in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            waiting += (more := [int(word) for word in task.read_text().split()])
            found += more
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["NoSuch-v0"], "NoSuch"),
        (["no_such_module:Env"], "no_such_module"),
        (["CartPole-v1", "--host", "0.0.0.0", "--no-token"], "give the app a token"),
        (["CartPole-v1", "--option", "nothing=1"], "nothing"),
        ([SERVED, "--option", "a=1"], "is for ids"),
        (["CartPole-v1", "--port", "99999"], "port"),
        (["CartPole-v1", "--backend", "process", "--option", "nothing=1"], "nothing"),
    ],
)
def test_a_command_that_cant_serve(arguments: list[str], text: str) -> None:
    with command(*arguments) as process:
        _, shown = process.communicate(timeout=60)
        assert process.returncode == 1 and shown.startswith("serve: ") and text in shown, shown
        assert "parallel_pool/__main__.py" not in shown
