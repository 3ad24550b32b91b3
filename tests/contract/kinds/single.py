"""Kinds of single environments and games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tests.contract.episodes import NEXT_STEP, Row, Rows
from tests.contract.kinds.kind import Calls, Choose, Kind


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

    def start(self, env: Any, seed: int | None = 7) -> Any:
        env.reset(seed=seed)
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


class Rounds(Turns):
    """One game whose agents act at the same time, in PettingZoo's own conversion to the AEC API.

    As PettingZoo's it keeps actions until the last agent has acted, and looks at nothing before.
    """

    def __init__(self, *, judges_actions: bool) -> None:
        """
        Args:
            judges_actions: whether one more wrapper judges each action at once.
        """
        self.judges_actions = judges_actions

    def acts(self, env: Any) -> Calls:
        return {**super().acts(env), "step": lambda: self.play(env)}

    def wrong(self, env: Any) -> Calls:
        calls = super().wrong(env)
        if not self.judges_actions:
            for name in ("out of range", "text", "NaN"):
                del calls[name]
        return calls


class DM(Kind):
    """One environment of dm_env's API."""

    modes: ClassVar[Any] = {NEXT_STEP: {}}
    begins_by_itself = True
    shows_one_flag = True

    def count(self, env: Any) -> int:
        return 1

    def begin(self, env: Any, seed: int = 7) -> Rows:
        return self._row(env.reset(seed=seed))

    def turn(self, env: Any, ids: Sequence[int], choose: Choose) -> Rows:
        return self._row(env.step(choose(ids)[0]))

    def _row(self, step: Any) -> Rows:
        terminated = step.last() and step.discount == 0
        truncated = step.last() and not terminated
        return {0: Row(step.observation, step.reward or 0, terminated, truncated)}

    def play(self, env: Any) -> Any:
        return tuple(env.step(1)), env.info

    def start(self, env: Any, seed: int | None = 7) -> Any:
        return tuple(env.reset(seed=seed))

    def acts(self, env: Any) -> Calls:
        return {"step": lambda: env.step(1), "reset": lambda: env.reset(seed=1)}

    def wrong(self, env: Any) -> Calls:
        return {
            "an axis": lambda: env.step([1]),
            "out of range": lambda: env.step(99),
            "text": lambda: env.step("x"),
            "seed": lambda: env.reset(seed="x"),
            "options": lambda: env.reset(seed=5, options=7),
            "unknown option": lambda: env.reset(seed=5, options={"no_such_option": 1}),
        }


OF_ONE = Single | Game | Turns | DM
