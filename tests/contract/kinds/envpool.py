"""Kinds of EnvPool's pools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tests.contract.episodes import NEXT_STEP, Rows
from tests.contract.kinds.kind import Calls, Choose, Kind, Masked, Reset, receive_all, wrong_actions
from tests.contract.reading import rows


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
            # one thread steps environments as they were named
            return rows(ids[: len(result)], result)
        observations, infos = result
        return rows(infos["env_id"], observations)

    def rows(self, result: Any) -> Rows:
        *arrays, infos = result
        return rows(infos["env_id"], *arrays)

    def start(self, env: Any, seed: int | None = 7) -> Any:
        env.async_reset(seed=seed)
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
