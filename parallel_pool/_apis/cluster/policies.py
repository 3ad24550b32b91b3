"""Policies: checks of what a user's policy is, and of what its methods return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.actions import described, unreadable

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

ACT = "return actions (n, ...), log probabilities (n,), and a dict of arrays (n, ...)"


def check_policy(what: str, policy: Any, methods: Sequence[str]) -> None:
    """Raises TypeError if an object lacks methods of a policy.

    Args:
        what: the object, in a message.
        policy: the object.
        methods: that it needs.
    """
    for name in methods:
        if not callable(getattr(policy, name, None)):
            raise TypeError(
                f"{what} is {described(policy)}, which has no {name}(): give an object with the"
                " methods act, log_prob, state and load"
            )


def acted(result: Any, count: int) -> tuple[Any, Array, Mapping[str, Any]]:
    """Returns what `act` returned for `count` observations.

    Raises:
        TypeError, ValueError: it has another form.
    """
    if not isinstance(result, tuple | list):
        raise TypeError(f"act() of the policy returned {described(result)}: {ACT}")
    if len(result) != 3:
        raise ValueError(f"act() of the policy returned {len(result)} values: {ACT}")
    actions, log_probs, extras = result
    if actions is None:
        raise TypeError(f"act() of the policy returned None as actions: {ACT}")
    numbers = _array("the log probabilities of act()", log_probs)
    if numbers.shape != (count,) or numbers.dtype.kind not in "fiu":
        raise ValueError(
            f"act() of the policy returned {described(numbers)} as log probabilities of"
            f" {count} observations: {ACT}"
        )
    if not isinstance(extras, Mapping):
        raise TypeError(f"act() of the policy returned {described(extras)} as extras: {ACT}")
    for name, value in extras.items():
        if np.shape(value)[:1] != (count,):
            raise ValueError(
                f"act() of the policy returned {name!r} of shape {np.shape(value)} for {count}"
                f" observations: {ACT}"
            )
    return actions, numbers, extras


def weights(policy: Any) -> dict[str, Array]:
    """Returns copies of the arrays of a policy's `state`.

    Raises:
        TypeError: it returned something else.
    """
    state = policy.state()
    if not isinstance(state, Mapping):
        raise TypeError(
            f"state() of the policy returned {described(state)}: return a dict of arrays"
        )
    copies = {name: np.array(_array(f"state()[{name!r}]", each)) for name, each in state.items()}
    for name, array in copies.items():
        if array.dtype == object:
            raise TypeError(
                f"state()[{name!r}] of the policy is {described(state[name])}: return an array of"
                " numbers"
            )
    return copies


def log_probs(policy: Any, observations: Any, actions: Any, count: int) -> Array:
    """Returns what `log_prob` returns for `count` observations.

    Raises:
        TypeError, ValueError: it has another form.
    """
    found = _array("log_prob()", policy.log_prob(observations, actions))
    if found.shape != (count,) or found.dtype.kind not in "fiu":
        raise ValueError(
            f"log_prob() of the policy returned {described(found)} for {count} observations:"
            " return log probabilities (n,)"
        )
    return found


def _array(name: str, value: Any) -> Array:
    try:
        return np.asarray(value)
    except Exception as error:
        raise unreadable(name, value, error) from error
