"""Kinds of vector environments with Gymnasium's API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tests.contract.episodes import NEXT_STEP, SAME_STEP, Rows
from tests.contract.kinds.kind import VECTOR_MODES, Calls, Choose, Kind, Masked, wrong_actions
from tests.contract.reading import agent_finals, by_env, chosen, plain, rows


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


class Wrapped(Vector):
    """Wrappers around a vector environment, which have `step` and `reset` only."""

    removes_mask = True


class Statistics(Wrapped):
    """`RecordTaskStatistics`."""

    def play(self, env: Any) -> Any:
        result = super().play(env)
        # the time that an episode has taken
        result[-1].get("episode", {}).pop("t", None)
        return result


class OfAtari(Vector):
    """`AtariVectorEnv`."""

    modes: ClassVar[Any] = {mode: VECTOR_MODES[mode] for mode in (NEXT_STEP, SAME_STEP)}
    allows_empty_mask = True

    def acts(self, env: Any) -> Calls:
        return {**super().acts(env), "recv": env.recv}

    def others(self, env: Any) -> Calls:
        return {"send": lambda: env.send(self.actions)}

    def wrong(self, env: Any) -> Calls:
        send = wrong_actions(env.send, self.actions)
        return {
            **super().wrong(env),
            **{f"send: {name}": call for name, call in send.items()},
            "recv of nothing": env.recv,
        }

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
    """`AtariVectorEnv` with batch_size < num_envs, which resets all environments or none.

    A mask that names all is no mask, and the rows that do not fit into the first batch never come:
    so it has no masked reset that the tests could follow, but one that is refused.
    """

    def acts(self, env: Any) -> Calls:
        calls = super().acts(env)
        del calls["masked reset"]
        return calls

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
    waits = ("step_wait", "reset_wait", "call_wait")

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


class Tensors(AsyncCallsKind):
    """`TorchEnv` of a vector environment."""

    # the environments get a copy of the options, in which tensors are arrays
    removes_mask = False

    def mask(self, named: Any) -> Any:
        import torch

        return torch.tensor(named)
