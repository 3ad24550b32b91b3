"""Tests that an environment keeps the contract: the checks that parallel_pool's own ones pass.

With pytest, for an environment of your own:

    @pytest.mark.parametrize("check", parallel_pool.testing.NATIVE_CHECKS, ids=str)
    def test_contract(check):
        check("mine/MyEnv-v0")

`PYTHON_CHECKS` are those for a function that makes a `gymnasium.Env`. `check` runs all of them.
`prove` compares a port with the environment that it is a port of.
`inspect` returns what a pool and its workers are doing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parallel_pool._lazy import lazy

if TYPE_CHECKING:
    from parallel_pool._contract.suite import NATIVE_CHECKS, PYTHON_CHECKS, Check, check
    from parallel_pool._prover.contract_error import ContractError
    from parallel_pool._prover.proof import Proof
    from parallel_pool._prover.prove import prove
    from parallel_pool._testing.inspection import Inspection, inspect

__all__ = [
    "NATIVE_CHECKS",
    "PYTHON_CHECKS",
    "Check",
    "ContractError",
    "Inspection",
    "Proof",
    "check",
    "inspect",
    "prove",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "parallel_pool._prover.contract_error": ("ContractError",),
        "parallel_pool._prover.proof": ("Proof",),
        "parallel_pool._prover.prove": ("prove",),
        "parallel_pool._testing.inspection": ("Inspection", "inspect"),
        "parallel_pool._contract.suite": (
            "Check",
            "NATIVE_CHECKS",
            "PYTHON_CHECKS",
            "check",
        ),
    },
)
