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
    from parallel_pool._testing.inspection import Inspection, inspect
    from parallel_pool._testing.play import ContractError
    from parallel_pool._testing.suite import NATIVE_CHECKS, PYTHON_CHECKS, Check, check

__all__ = [
    "NATIVE_CHECKS",
    "PYTHON_CHECKS",
    "Check",
    "ContractError",
    "Inspection",
    "check",
    "inspect",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._testing.inspection": ("Inspection", "inspect"),
        "parallel_pool._testing.play": ("ContractError",),
        "parallel_pool._testing.suite": (
            "Check",
            "NATIVE_CHECKS",
            "PYTHON_CHECKS",
            "check",
        ),
    },
)
