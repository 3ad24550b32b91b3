"""Ctrl-C at every place where Python looks for it, in the calls of several agents."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from parallel_pool import Pool, PoolParallelEnv
from parallel_pool.compat.pettingzoo import AgentVectorEnv
from parallel_pool.errors import StateError
from tests.apis.pettingzoo.test_pettingzoo import Relay
from tests.support.interrupts import Interrupter
from tests.support.parallel_loop import sample
from tests.support.row_loop import Herd
from tests.support.same import assert_same
from tests.support.sampling import sampled

pytestmark = [
    pytest.mark.usefixtures("alarm"),
    # `Interrupter` also raises where a generator is closed: no Ctrl-C arrives there
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SAME_STEP = AutoresetMode.SAME_STEP


def rows(
    *arguments: Any, mode: AutoresetMode = SAME_STEP, chosen: Any = None, **options: Any
) -> Any:
    """Makes environments with a row for each agent, or for those that are chosen."""
    envs = PoolParallelEnv(*arguments, autoreset_mode=mode, **options)
    return envs.as_vector_env(chosen, None if chosen is None else follow)


def follow(seen: dict[Any, Any]) -> dict[Any, Any]:
    """Chooses actions that say what was seen."""
    return {
        agent: (np.abs(part).reshape(len(part), -1).sum(1) * 1000).astype(np.int64) % 3
        for agent, part in seen.items()
    }


WORKERS: dict[str, Any] = {"num_workers": 2, "context": "fork"}
GAME = "test/Elimination-v0"
MAKERS: dict[str, Callable[..., Any]] = {
    "process": partial(PoolParallelEnv, [Relay] * 3, autoreset_mode=SAME_STEP, **WORKERS),
    "native": partial(PoolParallelEnv, GAME, 3, autoreset_mode=SAME_STEP, num_threads=1),
    "rows of processes": partial(rows, [Herd] * 3, **WORKERS),
    "some rows of processes": partial(rows, [Herd] * 3, chosen=["cow_2", "cow_0"], **WORKERS),
    "native rows": partial(rows, GAME, 3, num_threads=1),
    "native rows, next step": partial(rows, GAME, 3, mode=AutoresetMode.NEXT_STEP, num_threads=1),
}


def of_rows(envs: Any, each: Any) -> Any:
    """Returns an array of environments as one of their rows, if they have rows."""
    return np.repeat(each, len(envs.agents)) if isinstance(envs, AgentVectorEnv) else each


def drawn(envs: Any, rng: np.random.Generator) -> Any:
    """Returns actions for a step."""
    if not isinstance(envs, AgentVectorEnv):
        return sample(envs, rng)
    return rng.integers(0, envs.single_action_space.n, envs.num_envs)


def shown(envs: Any) -> Any:
    """Returns what the environments say of themselves beside their results."""
    if isinstance(envs, AgentVectorEnv):
        return [envs.envs.live, envs.restarted.copy()]
    return envs.live


def stride(envs: Any) -> int:
    """Returns from how many places one is tried: rows of Herd have a thousand."""
    return 1 if isinstance(envs.pool, Pool) or not isinstance(envs, AgentVectorEnv) else 13


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_a_step_that_ctrl_c_ends_is_in_flight_or_was_not_begun(make: Any) -> None:
    """Its results are never lost as they are converted."""
    rng = np.random.default_rng(1)
    calm = place = pending = 0
    with closing(make()) as envs, closing(make()) as twin:
        assert_same(envs.reset(seed=1), twin.reset(seed=1), "reset")
        # steps that end episodes, and those that do not, have other places
        while calm < 8:
            place += stride(envs)
            for turn in range(2):
                calm += 1
                where = f"place {place}, turn {turn}"
                actions = drawn(twin, rng)
                before = shown(envs)
                try:
                    result = Interrupter(place).run(envs.step, actions)
                except KeyboardInterrupt:
                    calm = 0
                    assert_same(shown(envs), before, where)
                    if envs.pool.in_flight:
                        pending += 1
                        with pytest.raises(StateError, match="call reset"):
                            envs.step(actions)
                        assert_same(envs.reset(seed=place), twin.reset(seed=place), where)
                        continue
                    result = envs.step(actions)
                assert_same(result, twin.step(actions), where)
                assert_same(shown(envs), shown(twin), where)
    assert place > 20 and pending > 3


@pytest.mark.quick(1)
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("make", sampled(MAKERS.values(), [MAKERS["native"]]), ids=MAKERS.keys())
def test_a_reset_that_ctrl_c_ends_is_in_flight_or_was_not_begun(make: Any, is_masked: bool) -> None:
    """So who acts next is never that of other episodes."""
    mask = np.array([True, False, True])
    rng = np.random.default_rng(1)
    calm = place = pending = 0

    def options() -> Any:
        return {"reset_mask": of_rows(envs, mask)} if is_masked else None

    with closing(make()) as envs, closing(make()) as twin:
        assert_same(envs.reset(seed=1), twin.reset(seed=1), "reset")
        while calm < 4:
            place += stride(envs)
            calm += 1
            # without seeds: a second reset would be seen
            reset = partial(envs.reset, options=options())
            try:
                result = Interrupter(place).run(reset)
            except KeyboardInterrupt:
                calm = 0
                if envs.pool.in_flight:
                    pending += 1
                    with pytest.raises(StateError, match="call reset"):
                        envs.step(drawn(twin, rng))
                    assert_same(envs.reset(seed=place), twin.reset(seed=place), "again")
                    continue
                result = envs.reset(options=options())
            assert_same(result, twin.reset(options=options()), f"place {place}")
            assert_same(shown(envs), shown(twin), f"place {place}, shown")
            actions = drawn(twin, rng)
            assert_same(envs.step(actions), twin.step(actions), f"place {place}, step")
    assert place > 20 and pending > 3
