"""Checks of environments."""

from __future__ import annotations

from typing import assert_type

import gymnasium

import parallel_pool
from parallel_pool.testing import NATIVE_CHECKS, PYTHON_CHECKS, Check, ContractError, check

assert_type(NATIVE_CHECKS, tuple[Check, ...])
assert_type(PYTHON_CHECKS[0], Check)
NATIVE_CHECKS[0]("CartPole-v1", options={"gravity": 9.8})
check(lambda: gymnasium.make("CartPole-v1"))
parallel_pool.testing.check("CartPole-v1")
try:
    check("CartPole-v1")
except ContractError as error:
    wrong: AssertionError = error
