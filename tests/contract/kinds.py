"""Kinds of APIs: how each is called, rightly and wrongly, and whose the rows of its results are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from parallel_pool.errors import EnvError, StateError
from tests.contract.episodes import (
    DISABLED,
    NEXT_STEP,
    SAME_STEP,
    Rows,
)
from tests.contract.reading import agent_finals, by_agent, by_env, chosen, plain, rows

Calls = dict[str, Callable[[], Any]]
# returns an action for each of these environments
Choose = Callable[[Any], Any]
# resets the environments that the options' mask names, with a seed for each environment or None
Masked = Callable[[Any, dict[str, Any], Any], Rows]
# resets these environments, with a seed for each of them or None
Reset = Callable[[Any, Sequence[int], Sequence[int] | None], Rows]


class Kind:
    """How the APIs of one family are called.

    Attributes:
        copies_are_new: whether a copy is a new environment with the same options.
        plays_in_halves: whether `play` sends first, and then waits for results in another call.
        modes: by autoreset mode, the options of `Case.make` that choose it.
        removes_mask: whether a reset removes the mask from the caller's options, as Gymnasium's.
        allows_empty_mask: whether a mask may name no environment, and then resets nothing.
        allows_lists: whether a mask may be a list.
        returns_all: whether the reset of some environments returns rows of all.
        begins_by_itself: whether a step begins an episode where one has to begin.
    """

    copies_are_new = False
    plays_in_halves = False
    modes: Mapping[str, dict[str, Any]] = {}
    removes_mask = False
    allows_empty_mask = False
    allows_lists = False
    returns_all = False
    begins_by_itself = False

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

    def after_interrupt(self, env: Any) -> None:
        """Does what must come before a reset after Ctrl-C; for most APIs nothing."""

    # ------------------------------------------------------------- of APIs that step many --

    def count(self, env: Any) -> int:
        """The number of environments."""
        return int(env.num_envs)

    def at_once(self, env: Any) -> int:
        """The number of environments that a reset must name, or a multiple of it."""
        return 1

    def begin(self, env: Any, seed: int = 7) -> Rows:
        """Resets all; returns what the first result has."""
        raise NotImplementedError

    def turn(self, env: Any, ids: Sequence[int], choose: Choose) -> Rows:
        """Acts for the environments of the last result, and returns the next one."""
        raise NotImplementedError

    def mask(self, named: Any) -> Any:
        """Returns a mask of environments as the API takes it."""
        return named

    def spread(self, ids: Sequence[int], seeds: Sequence[int], count: int) -> Any:
        """Returns seeds of some environments as a reset with a mask takes them."""
        by_id = dict(zip(ids, seeds, strict=True))
        return [by_id.get(i) for i in range(count)]

    def masked(self) -> dict[str, Masked]:
        """The calls that take a mask."""
        return {}

    def resets(self) -> dict[str, Reset]:
        """The ways to reset some environments."""

        def reset(call: Masked, env: Any, ids: Sequence[int], seeds: Any) -> Rows:
            count = self.count(env)
            seed = None if seeds is None else self.spread(ids, seeds, count)
            return call(env, {"reset_mask": self.mask(np.isin(np.arange(count), ids))}, seed)

        return {f"{name} with a mask": partial(reset, call) for name, call in self.masked().items()}


def receive_all(env: Any) -> None:
    """Drops the results that are in flight."""
    while True:
        try:
            env.recv()
        except EnvError:
            # Ctrl-C came to an environment itself
            continue
        except StateError:
            return


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


MODE_NAMES = {NEXT_STEP: "NextStep", SAME_STEP: "SameStep", DISABLED: "Disabled"}
VECTOR_MODES = {mode: {"autoreset_mode": name} for mode, name in MODE_NAMES.items()}


class Vector(Kind):
    """Gymnasium's vector environments; with `agents`, each environment has that many rows."""

    modes = VECTOR_MODES
    returns_all = True

    def __init__(self, actions: Any = (1, 0, 1), *, agents: int = 1) -> None:
        self.actions = np.repeat(np.asarray(actions), agents)
        self.agents = agents

    def play(self, env: Any) -> Any:
        return env.step(self.actions)

    def acts(self, env: Any) -> Calls:
        mask = self.mask(np.arange(self.count(env)) > 0)
        return {
            "step": lambda: self.play(env),
            "reset": lambda: env.reset(seed=1),
            "masked reset": lambda: env.reset(options={"reset_mask": mask}),
        }

    def count(self, env: Any) -> int:
        return int(env.num_envs) // self.agents

    def begin(self, env: Any, seed: int = 7) -> Rows:
        return self.first(env.reset(seed=seed))

    def turn(self, env: Any, ids: Sequence[int], choose: Choose) -> Rows:
        return self.rows(env.step(np.repeat(choose(ids), self.agents)))

    def mask(self, named: Any) -> Any:
        return np.repeat(named, self.agents)

    def masked(self) -> dict[str, Masked]:
        return {"reset": lambda env, opts, seed: self.first(env.reset(seed=seed, options=opts))}

    def first(self, result: Any) -> Rows:
        """Reads the result of a reset."""
        observations = by_env(plain(result)[0], self.agents)
        return rows(range(len(observations)), observations)

    def rows(self, result: Any) -> Rows:
        """Reads the result of a step."""
        *arrays, infos = plain(result)
        arrays = [by_env(array, self.agents) for array in arrays]
        return rows(range(len(arrays[0])), *arrays, last=self._last(infos))

    def _last(self, infos: Any) -> Any:
        if "final_obs" not in infos:
            return None
        return agent_finals(chosen(infos["final_obs"], infos["_final_obs"]), self.agents)

    def wrong(self, env: Any) -> Calls:
        return {
            **wrong_actions(env.step, self.actions),
            "seeds of no number": lambda: env.reset(seed=["x"] * env.num_envs),
            "too many seeds": lambda: env.reset(seed=np.arange(99)),
            "no mask": lambda: env.reset(seed=3, options={"reset_mask": np.ones(99, bool)}),
        }


class Tensors(Vector):
    """`TorchEnv` of a vector environment."""

    def mask(self, named: Any) -> Any:
        import torch

        return torch.tensor(named)


class OfAtari(Vector):
    """`AtariVectorEnv`."""

    modes: ClassVar[Any] = {mode: VECTOR_MODES[mode] for mode in (NEXT_STEP, SAME_STEP)}
    allows_empty_mask = True

    def spread(self, ids: Sequence[int], seeds: Sequence[int], count: int) -> Any:
        return np.array(seeds)

    def first(self, result: Any) -> Rows:
        observations, infos = result
        return rows(infos["env_id"], observations)

    def rows(self, result: Any) -> Rows:
        *arrays, infos = result
        # where no episode has ended, it is the current one
        last = chosen(infos["final_obs"], arrays[2] | arrays[3]) if "final_obs" in infos else None
        return rows(infos["env_id"], *arrays, last=last)


class OfAsyncAtari(OfAtari):
    """`AtariVectorEnv` with batch_size < num_envs, which resets all environments or none."""

    def acts(self, env: Any) -> Calls:
        return {"step": lambda: self.play(env), "reset": lambda: env.reset(seed=1)}

    def wrong(self, env: Any) -> Calls:
        mask = np.arange(env.num_envs) > 0
        return {
            **super().wrong(env),
            "mask of some": lambda: env.reset(seed=3, options={"reset_mask": mask}),
        }

    def masked(self) -> dict[str, Masked]:
        return {}


class AsyncCallsKind(Vector):
    """Vector environments with the halves of calls."""

    removes_mask = True

    def masked(self) -> dict[str, Masked]:
        def in_halves(env: Any, options: dict[str, Any], seed: Any) -> Rows:
            env.reset_async(seed=seed, options=options)
            return self.first(env.reset_wait())

        return {**super().masked(), "reset_async": in_halves}

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
    """`Pool` and `ProcessPool`."""

    modes: ClassVar[Any] = {mode: {"autoreset": mode} for mode in MODE_NAMES}

    def __init__(self, actions: Any = (1, 0, 1)) -> None:
        self.actions = np.asarray(actions)

    def play(self, env: Any) -> Any:
        batch = env.step(self.actions[: env.batch_size], np.arange(env.batch_size))
        return tuple(batch)

    def start(self, env: Any) -> Any:
        env.send_reset(seed=7)
        return [tuple(env.recv()) for _ in range(env.num_envs // env.batch_size)]

    def at_once(self, env: Any) -> int:
        return int(env.batch_size) if env.is_async else 1

    def begin(self, env: Any, seed: int = 7) -> Rows:
        env.send_reset(seed=seed)
        return self._received(env, env.num_envs)

    def turn(self, env: Any, ids: Sequence[int], choose: Choose) -> Rows:
        env.send(choose(ids), ids)
        return self._received(env, len(ids))

    def resets(self) -> dict[str, Reset]:
        def in_halves(env: Any, ids: Sequence[int], seeds: Sequence[int] | None) -> Rows:
            env.send_reset(ids, seed=seeds)
            return self._received(env, len(ids))

        def reset(env: Any, ids: Sequence[int], seeds: Sequence[int] | None) -> Rows:
            found = self._rows(env, env.reset(ids, seed=seeds))
            return found | self._received(env, len(ids) - len(found))

        return {"reset": reset, "send_reset": in_halves}

    def _received(self, env: Any, count: int) -> Rows:
        found: Rows = {}
        while len(found) < count:
            found |= self._rows(env, env.recv())
        return found

    def _rows(self, env: Any, batch: Any) -> Rows:
        arrays = batch.obs, batch.reward, batch.terminated, batch.truncated
        last = None
        if env.autoreset == SAME_STEP:
            last = chosen(batch.final_obs, batch.terminated | batch.truncated)
        return rows(batch.env_id, *arrays, last=last)

    def after_interrupt(self, env: Any) -> None:
        receive_all(env)

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
            "reset: no id": lambda: env.reset([], seed=4),
            "send_reset: no id": lambda: env.send_reset([], seed=4),
            "timeout": lambda: env.step(self.actions, timeout="x"),
            "reset: timeout": lambda: env.reset(seed=4, timeout="x"),
            "recv of nothing": env.recv,
        }


class OfEnvPool(Kind):
    """EnvPool's pools; asynchronous if batch_size < num_envs."""

    modes: ClassVar[Any] = {NEXT_STEP: {}}
    allows_lists = True

    def __init__(self, actions: Any = (1, 0, 1)) -> None:
        self.actions = np.asarray(actions)

    def count(self, env: Any) -> int:
        return len(env)

    def at_once(self, env: Any) -> int:
        return int(env.config["batch_size"]) if env.is_async else 1

    def begin(self, env: Any, seed: int = 7) -> Rows:
        env.async_reset(seed=seed)
        return self._received(env, len(env))

    def turn(self, env: Any, ids: Sequence[int], choose: Choose) -> Rows:
        env.send(choose(ids), np.array(ids))
        return self._received(env, len(ids))

    def resets(self) -> dict[str, Reset]:
        def in_halves(env: Any, ids: Sequence[int], seeds: Sequence[int] | None) -> Rows:
            env.async_reset(ids, seed=seeds)
            return self._received(env, len(ids))

        def reset(env: Any, ids: Sequence[int], seeds: Sequence[int] | None) -> Rows:
            return self._first(env, env.reset(ids, seed=seeds), ids)

        return {"reset": reset, "async_reset": in_halves, **super().resets()}

    def masked(self) -> dict[str, Masked]:
        def in_halves(env: Any, options: dict[str, Any], seed: Any) -> Rows:
            env.async_reset(seed=seed, options=options)
            return self._received(env, int(np.sum(options["reset_mask"])))

        def reset(env: Any, options: dict[str, Any], seed: Any) -> Rows:
            result = env.reset(seed=seed, options=options)
            return self._first(env, result, np.flatnonzero(options["reset_mask"]))

        return {"reset": reset, "async_reset": in_halves}

    def _received(self, env: Any, count: int) -> Rows:
        found: Rows = {}
        while len(found) < count:
            found |= self.rows(env.recv())
        return found

    def _first(self, env: Any, result: Any, ids: Any) -> Rows:
        """Reads the result of a reset of these environments."""
        # make_gym returns observations only, and those of gym before 0.26 say not whose they are
        found = self.first(result, ids)
        return found | self._received(env, len(ids) - len(found))

    def first(self, result: Any, ids: Any) -> Rows:
        if not isinstance(result, tuple):
            return rows(ids, result)
        observations, infos = result
        return rows(infos["env_id"], observations)

    def rows(self, result: Any) -> Rows:
        *arrays, infos = result
        return rows(infos["env_id"], *arrays)

    def start(self, env: Any) -> Any:
        env.async_reset(seed=7)
        rows = env.config["batch_size"] or env.config["num_envs"]
        if rows == len(env):
            return [env.recv()]
        return [env.recv(), env.recv()]

    def play(self, env: Any) -> Any:
        rows = env.config["batch_size"] or len(env)
        return env.step(self.actions[:rows], np.arange(rows))

    def after_interrupt(self, env: Any) -> None:
        receive_all(env)

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
            "reset: no id": lambda: env.reset([], seed=4),
            "async_reset: no id": lambda: env.async_reset([], seed=4),
            "async_reset: unknown id": lambda: env.async_reset([99], seed=4),
            "reset: seeds": lambda: env.reset(seed=["x"] * len(env)),
            "reset: options": lambda: env.reset(seed=4, options=7),
            "unknown key": lambda: env.send({"actions": self.actions}),
            "recv of nothing": env.recv,
        }


class OfDMEnvPool(OfEnvPool):
    """EnvPool's pools with dm_env's API."""

    def first(self, result: Any, ids: Any) -> Rows:
        return self.rows(result)

    def rows(self, result: Any) -> Rows:
        state = result.observation
        is_last = result.step_type == 2
        terminated = is_last & (result.discount == 0)
        return rows(state.env_id, state.obs, result.reward, terminated, is_last & ~terminated)


class OfVecEnv(Kind):
    """Stable-Baselines3's vector environments; with `agents`, each has that many rows."""

    modes: ClassVar[Any] = {SAME_STEP: {}}
    # `step` is step_async and step_wait
    plays_in_halves = True

    def __init__(self, actions: Any = (1, 0, 1), *, agents: int = 1) -> None:
        self.actions = np.repeat(np.asarray(actions), agents)
        self.agents = agents

    def count(self, env: Any) -> int:
        return int(env.num_envs) // self.agents

    def begin(self, env: Any, seed: int = 7) -> Rows:
        env.seed(seed)
        return rows(range(self.count(env)), by_env(env.reset(), self.agents))

    def turn(self, env: Any, ids: Sequence[int], choose: Choose) -> Rows:
        observations, rewards, dones, infos = env.step(np.repeat(choose(ids), self.agents))
        truncated = dones & [info["TimeLimit.truncated"] for info in infos]
        arrays = observations, rewards, dones & ~truncated, truncated
        last = [info.get("terminal_observation") for info in infos]
        arrays = tuple(by_env(array, self.agents) for array in arrays)
        return rows(range(len(arrays[0])), *arrays, last=agent_finals(last, self.agents))

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

    modes = VECTOR_MODES
    removes_mask = True
    returns_all = True

    def __init__(self, action: Any = 1) -> None:
        self.action = action

    def begin(self, env: Any, seed: int = 7) -> Rows:
        return self._first(env, env.reset(seed=seed))

    def turn(self, env: Any, ids: Sequence[int], choose: Choose) -> Rows:
        agents = env.possible_agents
        *found, infos = env.step(dict.fromkeys(agents, choose(ids)))
        last = None
        if "final_obs" in infos:
            last = chosen(by_agent(infos["final_obs"], agents), infos["_final_obs"])
        return rows(ids, *(by_agent(values, agents) for values in found), last=last)

    def masked(self) -> dict[str, Masked]:
        def in_arrays(env: Any, options: dict[str, Any], seed: Any) -> Rows:
            (observations,) = env.reset_arrays(seed=seed, options=options).observations
            return rows(range(env.num_envs), observations)

        return {
            "reset": lambda env, opts, seed: self._first(env, env.reset(seed, opts)),
            "reset_arrays": in_arrays,
        }

    def _first(self, env: Any, result: Any) -> Rows:
        return rows(range(env.num_envs), by_agent(result[0], env.possible_agents))

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
    """`PoolParallelEnv` with batch_size < num_envs, which resets all environments or none."""

    modes = VECTOR_MODES
    plays_in_halves = True

    def at_once(self, env: Any) -> int:
        return int(env.num_envs)

    def begin(self, env: Any, seed: int = 7) -> Rows:
        env.async_reset(seed=seed)
        return self._received(env)

    def turn(self, env: Any, ids: Sequence[int], choose: Choose) -> Rows:
        agents = len(env.possible_agents)
        env.send(np.repeat(choose(ids)[:, None], agents, axis=1), ids)
        return self._received(env)

    def resets(self) -> dict[str, Reset]:
        def reset(env: Any, ids: Sequence[int], seeds: Sequence[int] | None) -> Rows:
            env.async_reset(seed=seeds)
            return self._received(env)

        return {"async_reset of all": reset}

    def _received(self, env: Any) -> Rows:
        found: Rows = {}
        while len(found) < env.num_envs:
            arrays = env.recv()
            (observations,) = arrays.observations
            last = None
            if "final_obs" in arrays.infos:
                finals = by_agent(arrays.infos["final_obs"], env.possible_agents)
                last = chosen(finals, arrays.infos["_final_obs"])
            found |= rows(arrays.env_ids, observations, *arrays[1:4], last=last)
        return found

    def _send(self, env: Any, env_ids: Any) -> None:
        env.send(np.ones((len(env_ids), len(env.possible_agents)), np.int64), env_ids)

    def start(self, env: Any) -> Any:
        env.async_reset(seed=7)
        return [env.recv() for _ in range(env.num_envs // env.batch_size)]

    def play(self, env: Any) -> Any:
        self._send(env, np.arange(env.batch_size))
        return env.recv()

    def after_interrupt(self, env: Any) -> None:
        receive_all(env)

    def acts(self, env: Any) -> Calls:
        return {"recv": lambda: env.recv(timeout=1)}

    def others(self, env: Any) -> Calls:
        return {"send": lambda: self._send(env, [0]), "async_reset": env.async_reset}

    def wrong(self, env: Any) -> Calls:
        ids = np.arange(env.batch_size)
        good = np.ones((len(ids), len(env.possible_agents)), np.int64)
        mask = np.arange(env.num_envs) > 0
        return {
            **wrong_actions(lambda actions: env.send(actions, ids), good),
            "unknown id": lambda: env.send(good, ids + 99),
            "negative id": lambda: env.send(good, ids - 1),
            "id twice": lambda: env.send(good, ids * 0),
            "seed": lambda: env.async_reset(seed=-1),
            "mask": lambda: env.async_reset(seed=4, options={"reset_mask": mask}),
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

    begins_by_itself = True

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
