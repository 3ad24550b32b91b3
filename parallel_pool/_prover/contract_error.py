"""The error of an environment that breaks a rule, or differs from its reference."""


class ContractError(AssertionError):
    """An environment breaks a rule that the engine relies on; the message says which, and where."""
