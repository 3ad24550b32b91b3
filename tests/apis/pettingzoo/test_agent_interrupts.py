"""Ctrl-C at every place where Python looks for it, in the calls of several agents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from parallel_pool import PoolParallelEnv
from parallel_pool.errors import StateError
from tests.apis.pettingzoo.test_pettingzoo import Relay
from tests.faults.test_interrupt import Interrupter
from tests.support.parallel_loop import sample
from tests.support.same import assert_same
from tests.support.sampling import sampled

pytestmark = [
    pytest.mark.usefixtures("alarm"),
    # `Interrupter` also raises where a generator is closed: no Ctrl-C arrives there
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

MAKERS: dict[str, Callable[..., Any]] = {
    "process": partial(PoolParallelEnv, [Relay] * 3, num_workers=2, context="fork"),
    "native": partial(PoolParallelEnv, "test/Elimination-v0", 3, num_threads=1),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("make", sampled(MAKERS.values(), [MAKERS["native"]]), ids=MAKERS.keys())
def test_a_reset_that_ctrl_c_ends_is_in_flight_or_was_not_begun(make: Any, is_masked: bool) -> None:
    """So who acts next is never that of other episodes."""
    mask = np.array([True, False, True])
    rng = np.random.default_rng(1)
    calm = place = pending = 0

    def options() -> Any:
        return {"reset_mask": mask.copy()} if is_masked else None

    same: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}
    with make(**same) as envs, make(**same) as twin:
        assert_same(envs.reset(seed=1), twin.reset(seed=1), "reset")
        while calm < 4:
            place += 1
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
                        envs.step(sample(twin, rng))
                    assert_same(envs.reset(seed=place), twin.reset(seed=place), "again")
                    continue
                result = envs.reset(options=options())
            assert_same(result, twin.reset(options=options()), f"place {place}")
            assert_same(envs.live, twin.live, f"place {place}, live")
            actions = sample(twin, rng)
            assert_same(envs.step(actions), twin.step(actions), f"place {place}, step")
    assert place > 20 and pending > 3
