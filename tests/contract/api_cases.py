"""Every API on small environments, for contract tests: a new API is one line in `CASES`.

A `Kind` says how the APIs of one family are called, and how they can be called wrongly.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from tests.timeouts import wait_for

Calls = dict[str, Callable[[], Any]]


class Gate:
    """A file that holds the steps and resets of Python environments while it exists."""

    def __init__(self, folder: Path) -> None:
        self._path, self._reached = folder / "gate", folder / "reached"

    def pass_through(self) -> None:
        """Called by the environment."""
        if self._path.exists():
            self._reached.touch()
            wait_for(lambda: not self._path.exists())

    @contextlib.contextmanager
    def held(self) -> Iterator[Callable[[], None]]:
        """Closes the gate; yields a function that waits until an environment is there."""
        self._reached.unlink(missing_ok=True)
        self._path.touch()
        try:
            yield lambda: wait_for(self._reached.exists)
        finally:
            self._path.unlink()


class Walker(gymnasium.Env[Any, Any]):
    """Adds up its actions and random numbers; an episode has four steps."""

    observation_space: ClassVar[Any] = spaces.Box(-1e6, 1e6, (3,), np.float64)
    action_space: ClassVar[Any] = spaces.Discrete(3)

    def __init__(self, gate: Gate | None = None, is_boxed: bool = False) -> None:
        self.gate, self.knob = gate, 0
        if is_boxed:
            # an action without a fixed size travels as an object
            self.action_space = spaces.Sequence(spaces.Discrete(3))

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if self.gate is not None:
            self.gate.pass_through()
        self.count, self.sum = 0, 0.0
        return self._seen(), {"options": len(options or {})}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.gate is not None:
            self.gate.pass_through()
        self.count += 1
        self.sum += float(np.sum(action))
        return self._seen(), self.sum, self.count == 4, False, {"count": self.count}

    def _seen(self) -> Any:
        return np.array([self.sum, self.count, self.np_random.random()])

    def twice(self, number: int) -> int:
        return 2 * number + self.knob


def walkers(gate: Gate, **options: Any) -> list[Any]:
    return [partial(Walker, gate, **options)] * 3


class Talkers:
    """A PettingZoo parallel environment of two agents, made like `Walker`."""

    possible_agents: ClassVar[list[str]] = ["a", "b"]
    metadata: ClassVar[dict[str, Any]] = {}
    render_mode = None

    def __init__(self, gate: Gate) -> None:
        self.envs = {"a": Walker(gate), "b": Walker()}
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        return Walker.observation_space

    def action_space(self, agent: str) -> Any:
        return Walker.action_space

    def reset(self, seed: Any = None, options: Any = None) -> tuple[Any, Any]:
        self.agents = self.possible_agents[:]
        found = {agent: env.reset(seed=seed) for agent, env in self.envs.items()}
        return {a: found[a][0] for a in found}, {a: found[a][1] for a in found}

    def step(self, actions: Mapping[str, Any]) -> Any:
        found = {agent: self.envs[agent].step(actions[agent]) for agent in self.agents}
        self.agents = [] if any(result[2] for result in found.values()) else self.agents
        return tuple({agent: found[agent][i] for agent in found} for i in range(5))

    def state(self) -> Any:
        return np.zeros(2)

    def twice(self, number: int) -> int:
        return 2 * number

    def close(self) -> None:
        pass


# ---------------------------------------------------------------------------------- kinds --


class Kind:
    """How the APIs of one family are called.

    Attributes:
        copies_are_new: whether a copy is a new environment with the same options.
    """

    copies_are_new = False

    def start(self, env: Any) -> Any:
        """Resets with a seed, once, and returns the result."""
        return env.reset(seed=7)

    def play(self, env: Any) -> Any:
        """Does a good call, which waits for results."""
        raise NotImplementedError

    def acts(self, env: Any) -> Calls:
        """Good calls, each of which is refused while another thread is in `play`."""
        raise NotImplementedError

    def others(self, env: Any) -> Calls:
        """Good calls that are refused too after close, and in a forked child."""
        return {}

    def wrong(self, env: Any) -> Calls:
        """Calls with wrong arguments."""
        raise NotImplementedError


# what only an environment can know to be wrong
VALUES = ("of no number", "no actions", "out of range", "NaN", "another axis")


def wrong_actions(call: Callable[[Any], Any], good: Any) -> Calls:
    """Calls with one argument that is no good batch of actions."""
    array = np.asarray(good)
    return {
        "too few actions": lambda: call(array[:-1]),
        "too many actions": lambda: call(np.concatenate([array, array])),
        "actions of no number": lambda: call(["x"] * len(array)),
        "no actions": lambda: call(None),
        "actions out of range": lambda: call(np.full_like(array, 99)),
        "NaN": lambda: call(np.full(array.shape, np.nan)),
        "another axis": lambda: call(np.stack([array] * 2, -1)),
    }


class Vector(Kind):
    """Gymnasium's vector environments."""

    def __init__(self, actions: Any = (1, 0, 1), *, masks: bool = True, extra: str = "") -> None:
        self.actions = np.asarray(actions)
        self.masks, self.extra = masks, extra

    def play(self, env: Any) -> Any:
        return env.step(self.actions)

    def acts(self, env: Any) -> Calls:
        calls = {"step": lambda: self.play(env), "reset": lambda: env.reset(seed=1)}
        if self.masks:
            mask = np.arange(env.num_envs) > 0
            calls["masked reset"] = lambda: env.reset(options={"reset_mask": mask})
        return calls

    def others(self, env: Any) -> Calls:
        return {"render": env.render} if self.masks else {}

    def wrong(self, env: Any) -> Calls:
        return {
            **wrong_actions(env.step, self.actions),
            "seeds of no number": lambda: env.reset(seed=["x"] * env.num_envs),
            "too many seeds": lambda: env.reset(seed=np.arange(99)),
            "no mask": lambda: env.reset(seed=3, options={"reset_mask": np.ones(99, bool)}),
        }


class AsyncCallsKind(Vector):
    """Vector environments with the halves of calls."""

    def others(self, env: Any) -> Calls:
        return {
            "render": env.render,
            "call": lambda: env.call("spec"),
            "step_async": lambda: env.step_async(self.actions),
            "step_wait": env.step_wait,
            "reset_async": env.reset_async,
            "reset_wait": env.reset_wait,
            "call_async": lambda: env.call_async("spec"),
            "call_wait": env.call_wait,
        }

    def wrong(self, env: Any) -> Calls:
        return {
            **super().wrong(env),
            "negative seed": lambda: env.reset(seed=-1),
            "options of no dict": lambda: env.reset(seed=3, options=7),
            **{
                f"step_async: {name}": call
                for name, call in wrong_actions(env.step_async, self.actions).items()
            },
            "reset_async: seed": lambda: env.reset_async(seed=-1),
            "reset_async: mask": lambda: env.reset_async(options={"reset_mask": 7}),
            "call_async: reset": lambda: env.call_async("reset"),
            "set_attr: too many": lambda: env.set_attr("knob", [1] * 99),
            "call: unknown": lambda: env.call("no_such_name"),
            "step_wait without step": env.step_wait,
            "reset_wait without reset": env.reset_wait,
            "call_wait without call": env.call_wait,
        }


class OfPool(Kind):
    """`Pool` and `ProcessPool`; with `sends`, actions of single environments are sent too."""

    def __init__(self, actions: Any = (1, 0, 1)) -> None:
        self.actions = np.asarray(actions)

    def play(self, env: Any) -> Any:
        batch = env.step(self.actions[: env.batch_size], np.arange(env.batch_size))
        return tuple(batch)

    def start(self, env: Any) -> Any:
        env.send_reset(seed=7)
        return [tuple(env.recv()) for _ in range(env.num_envs // env.batch_size)]

    def acts(self, env: Any) -> Calls:
        ids = np.arange(env.batch_size)
        return {
            "step": lambda: self.play(env),
            "step with a timeout": lambda: env.step(self.actions[ids], ids, timeout=1),
            "reset": lambda: env.reset(seed=1),
            "reset of one": lambda: env.reset([0], timeout=1),
            "recv": lambda: env.recv(timeout=1),
        }

    def others(self, env: Any) -> Calls:
        return {"send": lambda: env.send(self.actions), "send_reset": env.send_reset}

    def wrong(self, env: Any) -> Calls:
        calls = wrong_actions(env.step, self.actions)
        calls |= {f"send: {name}": c for name, c in wrong_actions(env.send, self.actions).items()}
        every = np.arange(env.num_envs)
        for name, ids in (("unknown id", every + 1), ("id twice", every * 0), ("text", ["x"] * 3)):
            calls[f"step: {name}"] = partial(env.step, self.actions, ids)
            calls[f"send: {name}"] = partial(env.send, self.actions, ids)
            calls[f"reset: {name}"] = partial(env.reset, ids, seed=4)
            calls[f"send_reset: {name}"] = partial(env.send_reset, ids, seed=4)
        return {
            **calls,
            "seed": lambda: env.reset(seed=-1),
            "timeout": lambda: env.step(self.actions, timeout="x"),
            "reset: timeout": lambda: env.reset(seed=4, timeout="x"),
            "recv of nothing": env.recv,
        }


class OfEnvPool(Kind):
    """EnvPool's pools; asynchronous if batch_size < num_envs."""

    def __init__(self, actions: Any = (1, 0, 1)) -> None:
        self.actions = np.asarray(actions)

    def start(self, env: Any) -> Any:
        env.async_reset(seed=7)
        rows = env.config["batch_size"] or env.config["num_envs"]
        if rows == len(env):
            return [env.recv()]
        return [env.recv(), env.recv()]

    def play(self, env: Any) -> Any:
        rows = env.config["batch_size"] or len(env)
        return env.step(self.actions[:rows], np.arange(rows))

    def acts(self, env: Any) -> Calls:
        return {
            "step": lambda: self.play(env),
            "reset": lambda: env.reset(seed=1),
            "recv": lambda: env.recv(timeout=1),
        }

    def others(self, env: Any) -> Calls:
        return {
            "send": lambda: env.send(self.actions, np.arange(len(env))),
            "async_reset": env.async_reset,
        }

    def wrong(self, env: Any) -> Calls:
        ids = np.arange(len(env))
        step = wrong_actions(lambda actions: env.step(actions, ids), self.actions)
        send = wrong_actions(lambda actions: env.send(actions, ids), self.actions)
        return {
            **step,
            **{f"send: {name}": call for name, call in send.items()},
            "unknown id": lambda: env.send(self.actions, ids + 1),
            "id twice": lambda: env.send(self.actions, ids * 0),
            "reset: unknown id": lambda: env.reset([99], seed=4),
            "async_reset: unknown id": lambda: env.async_reset([99], seed=4),
            "reset: seeds": lambda: env.reset(seed=["x"] * len(env)),
            "reset: options": lambda: env.reset(seed=4, options=7),
            "unknown key": lambda: env.send({"actions": self.actions}),
            "recv of nothing": env.recv,
        }


class OfVecEnv(Kind):
    """Stable-Baselines3's vector environments."""

    def __init__(self, actions: Any = (1, 0, 1)) -> None:
        self.actions = np.asarray(actions)

    def start(self, env: Any) -> Any:
        env.seed(7)
        return env.reset()

    def play(self, env: Any) -> Any:
        return env.step(self.actions)

    def acts(self, env: Any) -> Calls:
        return {"step": lambda: self.play(env), "reset": env.reset}

    def others(self, env: Any) -> Calls:
        return {"step_async": lambda: env.step_async(self.actions), "step_wait": env.step_wait}

    def wrong(self, env: Any) -> Calls:
        def reset_with(options: Any) -> None:
            try:
                env.set_options(options)
                env.reset()
            finally:
                env._reset_options()

        return {
            **wrong_actions(env.step, self.actions),
            "seed": lambda: env.seed("x"),
            "negative seed": lambda: env.seed(-1),
            "options": lambda: env.set_options(7),
            "too few options": lambda: env.set_options([{}]),
            "options of the last that can't be sent": lambda: reset_with(
                [{}] * (env.num_envs - 1) + [{"x": lambda: (yield)} | {"y": open(__file__)}]
            ),
            "step_wait without step": env.step_wait,
            "attribute": lambda: env.get_attr("no_such_name"),
            "method": lambda: env.env_method("no_such_name"),
            "index": lambda: env.get_attr("spec", indices=99),
        }


class Parallel(Kind):
    """`PoolParallelEnv`, by agent."""

    def __init__(self, action: Any = 1) -> None:
        self.action = action

    def _actions(self, env: Any) -> dict[Any, Any]:
        return {agent: np.full(env.num_envs, self.action) for agent in env.possible_agents}

    def play(self, env: Any) -> Any:
        return env.step(self._actions(env))

    def acts(self, env: Any) -> Calls:
        return {"step": lambda: self.play(env), "reset": lambda: env.reset(seed=1)}

    def wrong(self, env: Any) -> Calls:
        good, first = self._actions(env), env.possible_agents[0]
        each = wrong_actions(lambda actions: env.step({**good, first: actions}), good[first])
        return {
            **each,
            "unknown agent": lambda: env.step({**good, "nobody": good[first]}),
            "no dict": lambda: env.step(7),
            "seed": lambda: env.reset(seed=-1),
            "mask": lambda: env.reset(seed=4, options={"reset_mask": np.ones(99, bool)}),
            "blocks": lambda: env.step_arrays(np.zeros((9, 9, 9))),
        }


class AsyncParallel(Kind):
    """`PoolParallelEnv` with batch_size < num_envs."""

    def _send(self, env: Any, env_ids: Any) -> None:
        env.send(np.ones((len(env_ids), len(env.possible_agents)), np.int64), env_ids)

    def start(self, env: Any) -> Any:
        env.async_reset(seed=7)
        return [env.recv() for _ in range(env.num_envs // env.batch_size)]

    def play(self, env: Any) -> Any:
        self._send(env, np.arange(env.batch_size))
        return env.recv()

    def acts(self, env: Any) -> Calls:
        return {"recv": lambda: env.recv(timeout=1)}

    def others(self, env: Any) -> Calls:
        return {"send": lambda: self._send(env, [0]), "async_reset": env.async_reset}

    def wrong(self, env: Any) -> Calls:
        ids = np.arange(env.batch_size)
        good = np.ones((len(ids), len(env.possible_agents)), np.int64)
        return {
            **wrong_actions(lambda actions: env.send(actions, ids), good),
            "unknown id": lambda: env.send(good, ids + 99),
            "negative id": lambda: env.send(good, ids - 1),
            "id twice": lambda: env.send(good, ids * 0),
            "seed": lambda: env.async_reset(seed=-1),
            "recv of nothing": env.recv,
        }


class Single(Kind):
    """One environment of Gymnasium's API."""

    def play(self, env: Any) -> Any:
        return env.step(1)

    def acts(self, env: Any) -> Calls:
        return {"step": lambda: self.play(env), "reset": lambda: env.reset(seed=1)}

    def wrong(self, env: Any) -> Calls:
        return {
            "an axis": lambda: env.step([1]),
            "out of range": lambda: env.step(99),
            "text": lambda: env.step("x"),
            "None": lambda: env.step(None),
            "NaN": lambda: env.step(np.nan),
            "seed": lambda: env.reset(seed=-1),
            "options": lambda: env.reset(seed=5, options={"no_such_option": 1}),
        }


class Game(Kind):
    """One game of PettingZoo's parallel API."""

    copies_are_new = True

    def _actions(self, env: Any) -> dict[Any, Any]:
        return dict.fromkeys(env.agents, 1)

    def play(self, env: Any) -> Any:
        return env.step(self._actions(env))

    def acts(self, env: Any) -> Calls:
        return {"step": lambda: self.play(env), "reset": lambda: env.reset(seed=1)}

    def wrong(self, env: Any) -> Calls:
        first, *_, last = env.possible_agents
        return {
            "first": lambda: env.step({**self._actions(env), first: 99}),
            "last": lambda: env.step({**self._actions(env), last: 99}),
            "missing": lambda: env.step({first: 1}),
            "unknown": lambda: env.step({**self._actions(env), "nobody": 1}),
            "no dict": lambda: env.step(1),
            "seed": lambda: env.reset(seed=-1),
            "seeds": lambda: env.reset(seed=[5]),
        }


class Turns(Kind):
    """One game of PettingZoo's AEC API."""

    copies_are_new = True

    def start(self, env: Any) -> Any:
        env.reset(seed=7)
        return self._seen(env)

    def _seen(self, env: Any) -> Any:
        return env.last(), dict(env.rewards), dict(env._cumulative_rewards), env.agent_selection

    def play(self, env: Any) -> Any:
        # a whole round, as some games act after the last agent's turn
        for _ in env.possible_agents:
            self._move(env)
        return self._seen(env)

    def _move(self, env: Any) -> None:
        """Makes a legal move for the agent whose turn it is; begins a game after the end."""
        if not env.agents:
            env.reset(seed=8)
        seen, _, terminated, truncated, _ = env.last()
        legal = int(np.argmax(seen["action_mask"])) if isinstance(seen, dict) else 1
        env.step(None if terminated or truncated else legal)

    def acts(self, env: Any) -> Calls:
        return {"step": lambda: self._move(env), "reset": lambda: env.reset(seed=1)}

    def wrong(self, env: Any) -> Calls:
        return {
            "out of range": lambda: env.step(99),
            "text": lambda: env.step("x"),
            "NaN": lambda: env.step(np.nan),
            "unwrapped": lambda: env.unwrapped.step("x"),
            "unwrapped, out of range": lambda: env.unwrapped.step(99),
            "seed": lambda: env.reset(seed=-1),
            "seeds": lambda: env.reset(seed=[5]),
        }


class DM(Kind):
    """One environment of dm_env's API."""

    def play(self, env: Any) -> Any:
        return tuple(env.step(1)), env.info

    def start(self, env: Any) -> Any:
        return tuple(env.reset(seed=7))

    def acts(self, env: Any) -> Calls:
        return {"step": lambda: env.step(1), "reset": lambda: env.reset(seed=1)}

    def wrong(self, env: Any) -> Calls:
        return {
            "an axis": lambda: env.step([1]),
            "out of range": lambda: env.step(99),
            "text": lambda: env.step("x"),
            "seed": lambda: env.reset(seed="x"),
            "options": lambda: env.reset(seed=5, options=7),
        }


# ---------------------------------------------------------------------------------- cases --


@dataclass(frozen=True)
class Case:
    """One API.

    Attributes:
        name: for reports.
        kind: how it is called.
        make: of a gate; makes it. Native environments ignore the gate.
        is_python: whether its environments wait at the gate.
    """

    name: str
    kind: Kind
    make: Callable[[Gate], Any]
    is_python: bool = False


def _pool(*args: Any, **kwargs: Any) -> Any:
    from parallel_pool import Pool

    return Pool(*args, **kwargs)


def _process_pool(gate: Gate, **kwargs: Any) -> Any:
    from parallel_pool._workers.process_pool import ProcessPool

    boxed = kwargs.pop("is_boxed", False)
    if kwargs.get("num_workers"):
        kwargs["start_method"] = "forkserver"
    return ProcessPool(walkers(gate, is_boxed=boxed), **kwargs)


def _vector(env: Any, *args: Any, **kwargs: Any) -> Any:
    from parallel_pool import PoolVectorEnv

    if kwargs.get("num_workers"):
        kwargs["context"] = "forkserver"
    return PoolVectorEnv(env, *args, **kwargs)


def _envpool(kind: str, **kwargs: Any) -> Any:
    import parallel_pool

    make = getattr(parallel_pool, f"make_{kind}")
    return make("CartPole-v1", num_envs=kwargs.pop("num_envs", 3), num_threads=1, **kwargs)


def _vec_env(*args: Any, **kwargs: Any) -> Any:
    from parallel_pool import PoolVecEnv

    if kwargs.get("num_workers"):
        kwargs["start_method"] = "forkserver"
    return PoolVecEnv(*args, **kwargs)


def _parallel(env: Any, *args: Any, **kwargs: Any) -> Any:
    from parallel_pool import PoolParallelEnv

    if kwargs.get("num_workers"):
        kwargs["context"] = "forkserver"
    return PoolParallelEnv(env, *args, **kwargs)


def _agent_vec_env(*args: Any, **kwargs: Any) -> Any:
    from parallel_pool.compat.sb3 import AgentVecEnv

    return AgentVecEnv(*args, **kwargs)


def _atari(**kwargs: Any) -> Any:
    from parallel_pool.compat.ale import AtariVectorEnv

    return AtariVectorEnv("pong", 3, num_threads=1, noop_max=1, **kwargs)


def _game(api: str, env_id: str) -> Any:
    import parallel_pool.compat.pettingzoo as games

    return getattr(games, api)(env_id)


SPREAD, RPS, FOUR = "mpe/simple_spread_v3", "classic/rps_v2", "classic/connect_four_v3"

CASES = [
    Case("Pool", OfPool(), lambda gate: _pool("CartPole-v1", 3)),
    Case(
        "Pool, async",
        OfPool((1, 0, 1, 0)),
        lambda gate: _pool("CartPole-v1", 4, batch_size=2, num_threads=1),
    ),
    Case("ProcessPool", OfPool(), lambda gate: _process_pool(gate, num_workers=2), True),
    Case("ProcessPool, here", OfPool(), lambda gate: _process_pool(gate, num_workers=0), True),
    Case("PoolVectorEnv", AsyncCallsKind(), lambda gate: _vector("CartPole-v1", 3)),
    Case(
        "PoolVectorEnv with infos",
        AsyncCallsKind(),
        lambda gate: _vector("CartPole-v1", 3, autoreset_mode="SameStep"),
    ),
    Case("ProcessVectorEnv", AsyncCallsKind(), lambda g: _vector(walkers(g), num_workers=2), True),
    Case(
        "ProcessVectorEnv, here",
        AsyncCallsKind(),
        lambda gate: _vector(walkers(gate), num_workers=0),
        True,
    ),
    Case(
        "gymnasium.make_vec",
        AsyncCallsKind(),
        lambda gate: gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="parallel_pool"),
    ),
    Case("make_gym", OfEnvPool(), lambda gate: _envpool("gym")),
    Case("make_gymnasium", OfEnvPool(), lambda gate: _envpool("gymnasium")),
    Case(
        "make_gymnasium, async",
        OfEnvPool((1, 0, 1, 0)),
        lambda gate: _envpool("gymnasium", num_envs=4, batch_size=2),
    ),
    Case("make_dm", OfEnvPool(), lambda gate: _envpool("dm")),
    Case(
        "make_dm, async",
        OfEnvPool((1, 0, 1, 0)),
        lambda g: _envpool("dm", num_envs=4, batch_size=2),
    ),
    Case("PoolVecEnv", OfVecEnv(), lambda gate: _vec_env("CartPole-v1", 3)),
    Case("PoolVecEnv, workers", OfVecEnv(), lambda g: _vec_env(walkers(g), num_workers=2), True),
    Case("PoolVecEnv, here", OfVecEnv(), lambda g: _vec_env(walkers(g), num_workers=0), True),
    Case("PoolParallelEnv", Parallel(), lambda gate: _parallel(SPREAD, 3)),
    Case(
        "PoolParallelEnv, workers",
        Parallel(),
        lambda gate: _parallel([partial(Talkers, gate)] * 3, num_workers=2),
        True,
    ),
    Case(
        "PoolParallelEnv, here",
        Parallel(),
        lambda gate: _parallel([partial(Talkers, gate)] * 3, num_workers=0),
        True,
    ),
    Case(
        "PoolParallelEnv, async",
        AsyncParallel(),
        lambda gate: _parallel(SPREAD, 4, batch_size=2, num_threads=1),
    ),
    Case(
        "AgentVectorEnv",
        Vector([1] * 6, masks=False),
        lambda g: _parallel(SPREAD, 2).as_vector_env(),
    ),
    Case(
        "AgentVectorEnv, here",
        Vector([1] * 6, masks=False),
        lambda gate: _parallel([partial(Talkers, gate)] * 3, num_workers=0).as_vector_env(),
        True,
    ),
    Case("AgentVecEnv", OfVecEnv([1] * 6), lambda gate: _agent_vec_env(SPREAD, 2)),
    Case("AtariVectorEnv", Vector(masks=False), lambda gate: _atari()),
    Case("AtariVectorEnv, async", Vector((1, 0), masks=False), lambda gate: _atari(batch_size=2)),
    Case("gymnasium.make", Single(), lambda gate: gymnasium.make("parallel_pool/CartPole-v1")),
    Case("parallel_env", Game(), lambda gate: _game("parallel_env", SPREAD)),
    Case("parallel_env of a game in rounds", Game(), lambda gate: _game("parallel_env", RPS)),
    Case("parallel_env of Atari", Game(), lambda gate: _game("parallel_env", "atari/pong_v3")),
    Case("env", Turns(), lambda gate: _game("env", SPREAD)),
    Case("env of a game in rounds", Turns(), lambda gate: _game("env", RPS)),
    Case("env of a game in turns", Turns(), lambda gate: _game("env", FOUR)),
    Case("make_dm(batched=False)", DM(), lambda g: _envpool("dm", num_envs=1, batched=False)),
    Case("TorchEnv", Vector(masks=False), lambda gate: _vector("CartPole-v1", 3).torch()),
]
