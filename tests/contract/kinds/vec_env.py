"""The kind of Stable-Baselines3's vector environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tests.contract.episodes import SAME_STEP, Rows
from tests.contract.kinds.kind import Calls, Choose, Kind, wrong_actions
from tests.contract.reading import agent_finals, by_env, rows


class OfVecEnv(Kind):
    """Stable-Baselines3's vector environments; with `agents`, each has that many rows."""

    plays_in_halves = True
    waits = ("step_wait",)
    modes: ClassVar[Any] = {SAME_STEP: {}}

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

    def start(self, env: Any, seed: int | None = 7) -> Any:
        if seed is not None:
            env.seed(seed)
        return env.reset()

    def play(self, env: Any) -> Any:
        return env.step(self.actions)

    def acts(self, env: Any) -> Calls:
        return {"step": lambda: self.play(env), "reset": env.reset}

    def others(self, env: Any) -> Calls:
        calls = {
            "step_async": lambda: env.step_async(self.actions),
            "step_wait": env.step_wait,
        }
        # native environments have neither attribute, and refuse these calls at any time; of theirs,
        # which are constants, get_attr tells after close, too, as DummyVecEnv's does
        if env.has_attr("knob"):
            calls["get_attr"] = lambda: env.get_attr("spec")
            calls["set_attr"] = lambda: env.set_attr("knob", 1)
        if env.has_attr("twice"):
            calls["env_method"] = lambda: env.env_method("twice", 2)
        return calls

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
