"""The kind of `Pool` and `ProcessPool`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tests.contract.episodes import SAME_STEP, Rows
from tests.contract.kinds.kind import (
    MODE_NAMES,
    Calls,
    Choose,
    Kind,
    Reset,
    receive_all,
    wrong_actions,
)
from tests.contract.reading import chosen, rows


class OfPool(Kind):
    """`Pool` and `ProcessPool`."""

    modes: ClassVar[Any] = {mode: {"autoreset": mode} for mode in MODE_NAMES}

    def __init__(self, actions: Any = (1, 0, 1)) -> None:
        self.actions = np.asarray(actions)

    def play(self, env: Any) -> Any:
        batch = env.step(self.actions[: env.batch_size], np.arange(env.batch_size))
        return tuple(batch)

    def start(self, env: Any, seed: int | None = 7) -> Any:
        env.send_reset(seed=seed)
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
