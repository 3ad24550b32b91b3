"""Measures our OpenEnv server beside OpenEnv's own: `python -m benchmarks.studies.openenv`.

Both serve an environment whose step takes a millisecond: "wait" sleeps, "compute" takes a core. The
same client, in this process, plays whole sessions with both, in turn: it connects, resets, makes
some steps and closes. "echo" is our server's connection alone, an application that answers at once
without any environment: what uvicorn and the system cost. Questions:

- throughput: how many sessions and steps per second?
- costs: how much CPU time takes a step, in the server's process, in its workers, in the client?
- faults: how long do steps of the others take (median, p99) while one session spins for ever?

OpenEnv must be installed: `pip install openenv==0.10.0`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np

from benchmarks.studies.openenv_client import Players, spin
from parallel_pool._bench import machine
from parallel_pool._command import until_interrupted

KINDS, SERVERS = ("wait", "compute"), ("ours", "theirs")
ECHO = "echo"
STEP = 1e-3
# an action that spins for ever
SPIN = 1
TICKS = os.sysconf("SC_CLK_TCK")


def work(kind: str) -> None:
    """Takes a millisecond."""
    if kind == "wait":
        time.sleep(STEP)
        return
    end = time.thread_time() + STEP
    while time.thread_time() < end:
        pass


class Timed(gymnasium.Env[Any, Any]):
    """Observes the number of its steps."""

    observation_space = gymnasium.spaces.Box(0, 1e9, (4,), np.float64)
    action_space: Any = gymnasium.spaces.Discrete(2)

    def __init__(self, kind: str) -> None:
        self.kind, self.steps = kind, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.steps = 0
        return np.zeros(4), {}

    def step(self, action: Any) -> Any:
        while action == SPIN:
            pass
        work(self.kind)
        self.steps += 1
        return np.full(4, self.steps, np.float64), 1.0, False, False, {}


# --------------------------------------------------------------------------------- servers --


def serve_ours(kind: str, sessions: int) -> None:
    from functools import partial

    from parallel_pool._serve import raise_limit
    from parallel_pool.compat.openenv import OpenEnvApp, serve
    from parallel_pool.leases import LeasePool

    raise_limit(sessions)
    with LeasePool([partial(Timed, kind)] * sessions, grace=1.0) as pool:
        app = OpenEnvApp(pool, token=None, step_timeout=math.inf)
        serve(app, port=0, on_start=lambda url: print(url, flush=True))


def serve_theirs(kind: str, sessions: int) -> None:
    import socket

    import uvicorn
    from openenv.core import Action, Environment, Observation, State, create_app

    # their names are looked up when the routes are made
    class Move(Action):
        action: int

    class Seen(Observation):
        observation: list[float]

    class TimedEnvironment(Environment):  # type: ignore[misc, type-arg]
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self.env = Timed(kind)

        def reset(self, seed: Any = None, episode_id: Any = None, **kwargs: Any) -> Seen:
            observation, _ = self.env.reset()
            return Seen(observation=observation.tolist())

        def step(self, action: Any, timeout_s: Any = None, **kwargs: Any) -> Seen:
            observation, reward, *_ = self.env.step(action.action)
            return Seen(observation=observation.tolist(), reward=reward)

        @property
        def state(self) -> State:
            return State(step_count=self.env.steps)

    app = create_app(TimedEnvironment, Move, Seen, max_concurrent_envs=sessions)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


class Echo:
    """Answers each message with the number of the step: as much text as ours, and nothing else."""

    token = None
    max_message = 1 << 20
    answer = (
        '{"type":"observation","data":{"observation":{"observation":[%d.0,1.0,1.0,1.0],'
        '"metadata":{},"terminated":false,"truncated":false},"reward":1.0,"done":false}}'
    )

    def __init__(self, sessions: int) -> None:
        self.pool = SimpleNamespace(num_envs=sessions)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        number = 0
        while "close" not in (await receive()).get("text", "close"):
            await send({"type": "websocket.send", "text": self.answer % number})
            number += 1
        await send({"type": "websocket.close"})


def serve_echo(kind: str, sessions: int) -> None:
    from parallel_pool._apis.openenv.server import Server

    app: Any = Echo(sessions)
    server = Server(app, "127.0.0.1", 0)
    print(server.url, flush=True)
    server.run()


SERVE = {"ours": serve_ours, "theirs": serve_theirs, ECHO: serve_echo}


@contextlib.contextmanager
def server(name: str, kind: str, sessions: int) -> Iterator[tuple[str, int]]:
    """Runs a server in a process of its own; the block has its URL and process id."""
    command = [sys.executable, "-m", "benchmarks.studies.openenv", "--serve", name]
    command += ["--kinds", kind, "--sessions", str(sessions)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            yield line.replace("http", "ws") + "/ws", process.pid
        finally:
            # a thread of theirs that spins can't be ended
            process.kill()


def cpu_seconds(pid: int) -> tuple[float, float]:
    """Returns the CPU time of a process, and of those below it and what they have waited for."""
    own, waited = ticks_of(pid)
    below = waited
    waiting = children_of(pid)
    while waiting:
        child = waiting.pop()
        with contextlib.suppress(OSError):
            waiting += children_of(child)
            below += sum(ticks_of(child))
    return own / TICKS, below / TICKS


def ticks_of(pid: int) -> tuple[int, int]:
    """Returns the CPU time of a process, and of the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system, waited_user, waited_system = (int(field) for field in fields[11:15])
    return user + system, waited_user + waited_system


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    for children in Path(f"/proc/{pid}").glob("task/*/children"):
        found += [int(word) for word in children.read_text().split()]
    return found


# --------------------------------------------------------------------------------- rounds --


def play(url: str, options: argparse.Namespace, connections: int, seconds: float = 0) -> Players:
    """Plays with a server, for a round's time if none is given."""
    players = Players(url, options.steps)
    players.play(connections, seconds or options.seconds)
    return players


def one_round(url: str, pid: int, options: argparse.Namespace) -> dict[str, float]:
    """Plays with one server for a round."""
    start, before, client = time.perf_counter(), cpu_seconds(pid), time.process_time()
    played = play(url, options, options.clients)
    took, steps = time.perf_counter() - start, len(played.latencies)
    server_us, workers_us = (
        1e6 * (after - earlier) / steps
        for after, earlier in zip(cpu_seconds(pid), before, strict=True)
    )
    return {
        "sessions_per_s": played.sessions / took,
        "steps_per_s": steps / took,
        "cpu_us_per_step": server_us + workers_us,
        "server_us_per_step": server_us,
        "client_us_per_step": 1e6 * (time.process_time() - client) / steps,
    }


def spinning(url: str, options: argparse.Namespace) -> dict[str, float]:
    """Returns latencies of the others while one session spins."""
    stream = spin(url, SPIN)
    found = play(url, options, options.clients - 1).latencies
    # who waits for the close of a session whose thread spins would wait for ever
    stream.socket.close()
    return milliseconds(found)


def milliseconds(seconds: list[float]) -> dict[str, float]:
    p99 = float(np.percentile(seconds, 99))
    found = {"steps": len(seconds), "median_ms": round(1e3 * statistics.median(seconds), 2)}
    return {**found, "p99_ms": round(1e3 * p99, 2), "max_ms": round(1e3 * max(seconds), 2)}


def measure(kind: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measures the servers with one kind of steps, in turn."""
    names = (*SERVERS, ECHO)
    found: dict[str, Any] = {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        run = {name: stack.enter_context(server(name, kind, options.sessions)) for name in names}
        for url, _ in run.values():
            play(url, options, options.clients, 1.0)
        for _ in range(options.rounds):
            for name, (url, pid) in run.items():
                found[name].append(one_round(url, pid, options))
        results = {name: medians(rounds) for name, rounds in found.items()}
        for name in SERVERS:
            calm = play(run[name][0], options, options.clients - 1)
            results[name]["calm"] = milliseconds(calm.latencies)
    for name in SERVERS:
        # one after the other: what spins in one would slow down the other
        with server(name, kind, options.sessions) as (url, _):
            results[name]["one_spins"] = spinning(url, options)
    ours, theirs = found["ours"], found["theirs"]
    results["ratios"] = {
        key: round(statistics.median(one[key] / max(two[key], 1e-9) for one, two in pairs), 2)
        for pairs in [list(zip(ours, theirs, strict=True))]
        for key in ours[0]
    }
    return results


def medians(rounds: list[dict[str, float]]) -> dict[str, Any]:
    return {key: round(statistics.median(each[key] for each in rounds), 1) for key in rounds[0]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--sessions", type=int, default=80, help="that servers allow")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20, help="of a session")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="of a round")
    parser.add_argument("--serve", choices=SERVE, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="write the results as JSON, too")
    options = parser.parse_args()
    if options.serve is not None:
        SERVE[options.serve](options.kinds[0], options.sessions)
        return 0
    found: dict[str, Any] = {**machine.facts(), **machine.moment(), "clients": options.clients}
    for kind in options.kinds:
        found[kind] = measure(kind, options)
        print(kind, json.dumps(found[kind], indent=1), flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
