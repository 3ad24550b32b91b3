"""Chunk: some environments of a loop, which are stepped together, and where they are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gymnasium.error import NoAsyncCallError
from gymnasium.spaces import Tuple

from parallel_pool._apis.common.vector_errors import NotResetError
from parallel_pool._apis.turns.turn import NO_EXTRAS, Turn
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.env_errors import env_error_of
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Observations

# what a chunk's environments must have
METHODS = ("reset", "step_async", "step_wait", "close")
# seconds that `close` waits for a step in flight before it closes the environments all the same
PATIENCE = 1.0


class Decision(NamedTuple):
    """What a policy has returned.

    Attributes:
        actions: for the environments.
        extras: all else.
    """

    actions: Any
    extras: Mapping[str, Any]


class Chunk:
    """Environments of a loop that are stepped together.

    It is idle, with observations for the policy, or in flight. Finished turns stay here until the
    loop has delivered them, so that no exception loses one.

    Attributes:
        envs: the vector environment.
        rows: its environments in the loop.
        is_in_flight: whether a step was sent and not received.
        turns: the values of those that were received and not delivered yet, in order.
        observations: for the policy; None if there are none.
    """

    def __init__(self, envs: Any, rows: range) -> None:
        """Takes over a vector environment; raises TypeError or ValueError if it is none for
        `rows`."""
        for name in METHODS:
            if not callable(getattr(envs, name, None)):
                raise TypeError(
                    f"make returned {quote(envs)}, {a_type(envs)} without {name}(): return a vector"
                    " environment such as parallel_pool.make_vec's"
                )
        if envs.num_envs != len(rows):
            raise ValueError(
                f"make({rows}) returned {envs.num_envs} environments: return {len(rows)}"
            )
        self.envs = envs
        self.rows = slice(rows.start, rows.stop)
        self.is_in_flight = False
        self.turns: tuple[tuple[Any, ...], ...] = ()
        self.observations: Observations | None = None
        self._decision = Decision(None, NO_EXTRAS)
        # whether a step in flight was sent for certain: Ctrl-C may come in the middle of a send
        self._is_sure = True
        # the result of the step in flight, until it is among the turns
        self._result: Any = None
        self._acts_are_tuples = isinstance(envs.single_action_space, Tuple)

    def reset(self, seed: Any, options: dict[str, Any] | None) -> None:
        """Starts new episodes; nothing may be in flight."""
        self.observations = None
        self.observations, _ = self.envs.reset(seed=seed, options=options)

    def drop(self) -> None:
        """Waits for the turn in flight, and drops it and those that were not delivered."""
        while self.is_in_flight:
            try:
                self.receive()
            except Exception:
                # environments failed, or the step can't be waited for
                if self.is_in_flight:
                    raise
        self.turns = ()

    def act(self, policy: Callable[[Any], Any]) -> None:
        """Asks the policy for actions, and sends them; after an exception nothing has changed."""
        if self.observations is None:
            raise NotResetError(
                f"environments {self.rows.start} to {self.rows.stop - 1} have no observations: call"
                " reset() first, or reset(only_failed=True) after an error of environments"
            )
        self._decision = self._read(policy(self.observations))
        self._is_sure, self.is_in_flight = False, True
        try:
            self.envs.step_async(self._decision.actions)
        except Exception:
            self.is_in_flight = False
            raise
        self._is_sure = True

    def _read(self, result: Any) -> Decision:
        """Returns what a policy returned: actions, or actions and a dict."""
        is_pair = isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)
        if is_pair and not self._acts_are_tuples:
            return Decision(*result)
        return Decision(result, NO_EXTRAS)

    def receive(self) -> None:
        """Waits for the step in flight; its turn is then here.

        It is not if Ctrl-C has come before the step was sent; then nothing is in flight. After an
        exception that is not about environments, such as Ctrl-C, the step is still in flight.
        """
        try:
            if self._result is None:
                self._result = self.envs.step_wait()
            received, rewards, terminations, truncations, infos = self._result
        except NoAsyncCallError:
            self.is_in_flight = False
            if self._is_sure:
                # Ctrl-C has come when the result was about to be stored
                self.observations = None
                raise
            return
        except Exception as error:
            # an exception of an environment may be a StateError, too
            if env_error_of(error) is not None or not isinstance(error, StateError):
                self._result, self.is_in_flight, self.observations = None, False, None
            raise
        outcome = (rewards, terminations, truncations, infos)
        turn = (self.rows, self.observations, *self._decision, *outcome, received)
        # no function call from here on: Ctrl-C could come in it
        self.turns, self.observations = (*self.turns, turn), received
        self._result, self.is_in_flight = None, False

    def deliver(self) -> Turn:
        """Returns the first turn that was received, which then is the caller's."""
        turn = Turn._make(self.turns[0])
        # no function call from here on: Ctrl-C would lose the turn
        self.turns = self.turns[1:]
        return turn

    def close(self) -> None:
        """Closes the environments."""
        if self.is_in_flight:
            # `close` of a vector environment warns of a step that is pending
            with contextlib.suppress(Exception):
                self.envs.step_wait(timeout=PATIENCE)
        self.envs.close()
