"""Kind: how the APIs of one family are called, rightly and wrongly, and whose rows results have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from parallel_pool.errors import EnvError, StateError
from tests.contract.episodes import DISABLED, NEXT_STEP, SAME_STEP, Rows

Calls = dict[str, Callable[[], Any]]
# returns an action for each of these environments
Choose = Callable[[Any], Any]
# resets the environments that the options' mask names, with a seed for each environment or None
Masked = Callable[[Any, dict[str, Any], Any], Rows]
# resets these environments, with a seed for each of them or None
Reset = Callable[[Any, Sequence[int], Sequence[int] | None], Rows]


class Kind:
    """How the APIs of one family are called.

    Attributes:
        copies_are_new: whether a copy is a new environment with the same options.
        plays_in_halves: whether `play` sends first, and then waits for results in another call.
        modes: by autoreset mode, the options of `Case.make` that choose it.
        removes_mask: whether a reset removes the mask from the caller's options, as Gymnasium's.
        allows_empty_mask: whether a mask may name no environment, and then resets nothing.
        allows_lists: whether a mask may be a list.
        returns_all: whether the reset of some environments returns rows of all.
        begins_by_itself: whether a step begins an episode where one has to begin.
        shows_one_flag: whether a step that terminates and truncates shows only that it terminates.
        waits: calls of `others` that wait for what another call has begun. In a forked child
            nothing can be begun, and so they may say that nothing is pending.
    """

    copies_are_new = False
    plays_in_halves = False
    modes: Mapping[str, dict[str, Any]] = {}
    removes_mask = False
    allows_empty_mask = False
    allows_lists = False
    returns_all = False
    begins_by_itself = False
    shows_one_flag = False
    waits: Collection[str] = ()

    def start(self, env: Any, seed: int | None = 7) -> Any:
        """Resets once, and returns the result; None continues the generators."""
        return env.reset(seed=seed)

    def play(self, env: Any) -> Any:
        """Does a good call, which waits for results."""
        raise NotImplementedError

    def acts(self, env: Any) -> Calls:
        """Good calls, each of which is refused while another thread is in `play`."""
        raise NotImplementedError

    def others(self, env: Any) -> Calls:
        """Good calls that are refused too after close, and in a forked child."""
        return {}

    def wrong(self, env: Any) -> Calls:
        """Calls with wrong arguments."""
        raise NotImplementedError

    def after_interrupt(self, env: Any) -> None:
        """Does what must come before a reset after Ctrl-C; for most APIs nothing."""

    # ------------------------------------------------------------- of APIs that step many --

    def count(self, env: Any) -> int:
        """The number of environments."""
        return int(env.num_envs)

    def at_once(self, env: Any) -> int:
        """The number of environments that a reset must name, or a multiple of it."""
        return 1

    def begin(self, env: Any, seed: int = 7) -> Rows:
        """Resets all; returns what the first result has."""
        raise NotImplementedError

    def turn(self, env: Any, ids: Sequence[int], choose: Choose) -> Rows:
        """Acts for the environments of the last result, and returns the next one."""
        raise NotImplementedError

    def mask(self, named: Any) -> Any:
        """Returns a mask of environments as the API takes it."""
        return named

    def spread(self, ids: Sequence[int], seeds: Sequence[int], count: int) -> Any:
        """Returns seeds of some environments as a reset with a mask takes them."""
        by_id = dict(zip(ids, seeds, strict=True))
        return [by_id.get(i) for i in range(count)]

    def masked(self) -> dict[str, Masked]:
        """The calls that take a mask."""
        return {}

    def resets(self) -> dict[str, Reset]:
        """The ways to reset some environments."""

        def reset(call: Masked, env: Any, ids: Sequence[int], seeds: Any) -> Rows:
            count = self.count(env)
            seed = None if seeds is None else self.spread(ids, seeds, count)
            return call(env, {"reset_mask": self.mask(np.isin(np.arange(count), ids))}, seed)

        return {f"{name} with a mask": partial(reset, call) for name, call in self.masked().items()}


def receive_all(env: Any) -> None:
    """Drops the results that are in flight."""
    while True:
        try:
            env.recv()
        except EnvError:
            # Ctrl-C came to an environment itself
            continue
        except StateError:
            return


# what only an environment can know to be wrong
VALUES = ("of no number", "no actions", "out of range", "NaN", "another axis")


def wrong_actions(call: Callable[[Any], Any], good: Any) -> Calls:
    """Calls with one argument that is no good batch of actions."""
    array = np.asarray(good)
    return {
        "too few actions": lambda: call(array[:-1]),
        "too many actions": lambda: call(np.concatenate([array, array])),
        "actions of no number": lambda: call(["x"] * len(array)),
        "no actions": lambda: call(None),
        "actions out of range": lambda: call(np.full_like(array, 99)),
        "NaN": lambda: call(np.full(array.shape, np.nan)),
        "another axis": lambda: call(np.stack([array] * 2, -1)),
    }


MODE_NAMES = {NEXT_STEP: "NextStep", SAME_STEP: "SameStep", DISABLED: "Disabled"}
VECTOR_MODES = {mode: {"autoreset_mode": name} for mode, name in MODE_NAMES.items()}
