"""`trace` of every API records every step of the block, and its file is whole."""

from __future__ import annotations

import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from parallel_pool._tracing import opened
from tests.contract.api_cases import CASES, Case, of_each
from tests.contract.kinds.recorded_agents import RecordedAgents
from tests.contract.kinds.single import Game, Single, Turns
from tests.contract.small_envs import Gate
from tests.tools.test_trace import assert_valid, assert_whole

# those of one environment do not go on after an episode's end
CALLS, FEW_CALLS = 20, 6


# that one always has steps in flight, which a trace shows in part: test_trace.py has it
WHOLE = [case for case in CASES if case.name != "AtariVectorEnv, async"]


@pytest.mark.quick(4, sanitizers=9)
@of_each(WHOLE)
def test_a_trace_is_whole(case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pools: list[Any] = []
    monkeypatch.setattr(opened, "listeners", [pools.append])
    path = tmp_path / "trace.json"
    with closing(case.make(Gate(tmp_path))) as env:
        (pool,) = pools
        is_wrapper = isinstance(env, gymnasium.Wrapper | gymnasium.vector.VectorWrapper)
        is_alone = isinstance(case.kind, Single | Game | Turns)
        own = env.unwrapped if is_wrapper or is_alone else env
        if isinstance(case.kind, RecordedAgents):
            own = env.env
        case.kind.start(env)
        before = pool.stats()["env_steps"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with own.trace(path, max_spans=100_000) as trace:
                for _ in range(FEW_CALLS if is_alone else CALLS):
                    case.kind.play(env)
        assert_whole(trace.record, pool.stats()["env_steps"] - before)
        assert_valid(path)
