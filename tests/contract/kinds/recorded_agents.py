"""The kind of `AgentDataCollector`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.contract.episodes import Rows
from tests.contract.kinds.kind import Calls, Choose, Masked
from tests.contract.kinds.parallel import Parallel


class RecordedAgents(Parallel):
    """`AgentDataCollector`, which has `step`, `reset` and `close`; its `env` has all else."""

    def count(self, env: Any) -> int:
        return int(env.env.num_envs)

    def turn(self, env: Any, ids: Sequence[int], choose: Choose) -> Rows:
        return super().turn(_WithAgents(env), ids, choose)

    def masked(self) -> dict[str, Masked]:
        return {"reset": super().masked()["reset"]}

    def acts(self, env: Any) -> Calls:
        return {"step": lambda: self.play(env), "reset": lambda: env.reset(seed=1)}

    def others(self, env: Any) -> Calls:
        return {}

    def wrong(self, env: Any) -> Calls:
        calls = super().wrong(_WithAgents(env))
        del calls["blocks"]
        return calls

    def _first(self, env: Any, result: Any) -> Rows:
        return super()._first(_WithAgents(env), result)

    def _actions(self, env: Any) -> dict[Any, Any]:
        return super()._actions(_WithAgents(env))


class _WithAgents:
    """A collector with the attributes of its environments."""

    def __init__(self, collector: Any) -> None:
        self.step, self.reset = collector.step, collector.reset
        # one of these has them itself
        envs = getattr(collector, "env", collector)
        self.possible_agents, self.num_envs = envs.possible_agents, envs.num_envs
