"""The error of an environment that breaks a rule, or differs from its reference."""

from parallel_pool._lazy import public


@public("testing")
class ContractError(AssertionError):
    """An environment breaks a rule that the engine relies on; the message says which, and where."""
