"""Kinds of `PoolParallelEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parallel_pool import Pool
from tests.contract.episodes import Rows
from tests.contract.kinds.kind import (
    VECTOR_MODES,
    Calls,
    Choose,
    Kind,
    Masked,
    Reset,
    receive_all,
    wrong_actions,
)
from tests.contract.reading import by_agent, chosen, rows


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
        block = np.full((env.num_envs, len(env.possible_agents)), self.action)
        return {
            "step": lambda: self.play(env),
            "reset": lambda: env.reset(seed=1),
            "step_arrays": lambda: env.step_arrays(block),
            "reset_arrays": lambda: env.reset_arrays(seed=1),
        }

    def others(self, env: Any) -> Calls:
        calls = {
            "render": env.render,
            "call": lambda: env.call("metadata"),
            "get_attr": lambda: env.get_attr("metadata"),
        }
        # native environments refuse it at any time
        if not isinstance(env.pool, Pool):
            calls["set_attr"] = lambda: env.set_attr("knob", 1)
        return calls

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

    def start(self, env: Any, seed: int | None = 7) -> Any:
        env.async_reset(seed=seed)
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
