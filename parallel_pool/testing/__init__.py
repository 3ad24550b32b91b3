"""Tests that an environment keeps the contract: the checks that parallel_pool's own ones pass.

With pytest, for an environment of your own:

    @pytest.mark.parametrize("check", parallel_pool.testing.NATIVE_CHECKS, ids=str)
    def test_contract(check):
        check("mine/MyEnv-v0")

`PYTHON_CHECKS` are those for a function that makes a `gymnasium.Env`. `check` runs all of them.
`inspect` returns what a pool and its workers are doing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool.testing.inspection import Inspection as Inspection
    from parallel_pool.testing.inspection import inspect as inspect
    from parallel_pool.testing.play import ContractError as ContractError
    from parallel_pool.testing.suite import NATIVE_CHECKS as NATIVE_CHECKS
    from parallel_pool.testing.suite import PYTHON_CHECKS as PYTHON_CHECKS
    from parallel_pool.testing.suite import Check as Check
    from parallel_pool.testing.suite import check as check

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Check": f"{__name__}.suite",
        "ContractError": f"{__name__}.play",
        "Inspection": f"{__name__}.inspection",
        "NATIVE_CHECKS": f"{__name__}.suite",
        "PYTHON_CHECKS": f"{__name__}.suite",
        "check": f"{__name__}.suite",
        "inspect": f"{__name__}.inspection",
    },
)
