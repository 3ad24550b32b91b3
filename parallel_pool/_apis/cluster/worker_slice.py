"""WorkerSlice: the rows of one worker, and what becomes of them when the worker is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, iterate

from parallel_pool._apis.cluster.group import Lost, WorkerGroup
from parallel_pool._apis.cluster.worker import Raised
from parallel_pool._apis.common.vector_infos import finals_of
from parallel_pool._engine import seeds
from parallel_pool._workers.data import messages

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from parallel_pool._engine.buffers import Array, Observations

    Step = tuple[Observations, Array, Array, Array, dict[str, Any]]

# What a worker was asked for:
# - STEP: a step;
# - AUTORESET: a step, of new environments that must be reset in its place;
# - REPORT: a step, whose rows say that the worker was lost before; nothing is sent for it;
# - CUT: with SAME_STEP, the reset in the step in which the worker was lost;
# - RESET: a reset.
STEP, AUTORESET, REPORT, CUT, RESET = "step", "autoreset", "report", "cut", "reset"

# in place of a result: another request was sent
AGAIN = object()


class WorkerSlice:
    """The rows of one worker.

    Attributes:
        index: of the worker.
        rows: of the environments, a slice.
        asked: what it was asked for; None for nothing.
    """

    def __init__(
        self,
        index: int,
        rows: slice,
        group: WorkerGroup,
        mode: AutoresetMode,
        observation_space: Space[Any],
        raises: bool,
    ) -> None:
        """Takes the rows over.

        Args:
            index, rows, group: of the worker.
            mode: of the environments.
            observation_space: of one environment.
            raises: whether a lost worker is raised, and not reported in its rows.
        """
        self.index, self.rows = index, rows
        self.count = rows.stop - rows.start
        self.asked: str | None = None
        self._group, self._mode, self._raises = group, mode, raises
        self._space = observation_space
        # the last observations; None before the first reset
        self._last: Any = None
        # seeds that new environments start with, from a restart to their first reset
        self._fresh: list[int] | None = None
        self._is_unreported = False
        # the seeds and options of the reset in flight, and whether a worker was lost with it
        self._reset: tuple[Any, Any] = (None, None)
        self._lost_reset = False

    @property
    def env_ids(self) -> tuple[int, ...]:
        return tuple(range(self.rows.start, self.rows.stop))

    # ------------------------------------------------------------------------------ requests --

    def step(self, actions: Any) -> None:
        """Sends a step, or what new environments do in its place."""
        if self._is_unreported:
            self.asked = REPORT
        elif self._fresh is not None:
            self._send_reset(AUTORESET, self._fresh, None)
        else:
            self.asked = STEP
            self._group.submit(self.index, "step", actions)

    def reset(self, given: Sequence[int | None], options: dict[str, Any] | None) -> None:
        """Sends a reset. New environments are all reset, whatever the mask says."""
        self._lost_reset = self._is_unreported
        self._send_reset(RESET, *self._for_new(given, options))

    def _for_new(self, given: Sequence[int | None], options: Any) -> tuple[Any, Any]:
        """Returns the arguments of a reset as they fit the environments that there are."""
        if self._fresh is None:
            return (None if all(seed is None for seed in given) else list(given)), options
        pairs = zip(given, self._fresh, strict=True)
        drawn = [own if own is not None else new for own, new in pairs]
        without_mask = {k: v for k, v in (options or {}).items() if k != "reset_mask"}
        return drawn, without_mask or None

    def _send_reset(self, asked: str, given: Any, options: Any) -> None:
        self.asked, self._reset = asked, (given, options)
        self._group.submit(self.index, "reset", given, options)

    def restored(self) -> None:
        """Notes that all environments go on from snapshots: new ones need no reset any more, and
        whoever restores them knows that a worker was lost."""
        self._fresh, self._is_unreported = None, False

    # ------------------------------------------------------------------------------- results --

    def take(self, outcome: Any) -> Any:
        """Returns the result of what the worker was asked for, from the group's outcome.

        Returns:
            What `VectorEnv.step` returns for these rows (a reset has zeros as rewards); `Raised`,
            or `Lost` if that is to be raised; AGAIN if another request was sent.
        """
        if isinstance(outcome, Lost):
            return self._take_loss(outcome)
        asked, self.asked = self.asked, None
        if isinstance(outcome, Raised):
            return outcome
        if asked == REPORT:
            return self._report()
        if asked == STEP:
            self._last = outcome[0]
            return outcome
        return self._take_reset(asked, *outcome)

    def _take_reset(self, asked: str | None, observations: Any, infos: dict[str, Any]) -> Step:
        before, fresh = self._last, self._fresh
        self._last, self._fresh = observations, None
        zeros, nobody = np.zeros(self.count), np.zeros(self.count, np.bool_)
        if asked == CUT:
            infos = self._finals(before) | infos | self._restart_infos(fresh)
            return observations, zeros, nobody, ~nobody, infos
        if asked == RESET and self._lost_reset:
            self._is_unreported = self._lost_reset = False
            infos |= self._restart_infos(self._reset[0])
        return observations, zeros, nobody, nobody.copy(), infos

    # -------------------------------------------------------------------------------- losses --

    def lose(self, lost: Lost) -> None:
        """Starts a new worker; its environments get fresh seeds, and the next rows say so."""
        self._fresh = [seeds.entropy(messages.SEED_BITS) for _ in range(self.count)]
        self._is_unreported = self._last is not None
        self.asked = None
        if not lost.is_final:
            self._group.restart(self.index)

    def _take_loss(self, lost: Lost) -> Any:
        asked, (given, options) = self.asked, self._reset
        self.lose(lost)
        if lost.is_final or self._raises:
            # the exception reports the loss, so infos need not
            self._is_unreported = False
            return lost
        if asked == RESET:
            self._lost_reset = True
            self._send_reset(RESET, *self._for_new(given or [None] * self.count, options))
            return AGAIN
        if self._mode is not AutoresetMode.SAME_STEP:
            return self._report()
        self._is_unreported = False
        self._send_reset(CUT, self._fresh, None)
        return AGAIN

    def _report(self) -> Any:
        """Returns rows that repeat the last observations, truncated."""
        if self._mode is AutoresetMode.SAME_STEP:
            self._is_unreported = False
            self._send_reset(CUT, self._fresh, None)
            return AGAIN
        self._is_unreported = False
        zeros, nobody = np.zeros(self.count), np.zeros(self.count, np.bool_)
        return self._last, zeros, nobody, ~nobody, self._restart_infos(self._fresh)

    def _restart_infos(self, drawn: Any) -> dict[str, Any]:
        """Returns the infos of environments that were made again with these seeds."""
        every = np.ones(self.count, np.bool_)
        found: dict[str, Any] = {}
        for name in messages.RESTARTED:
            own = np.array(drawn) if name == "restart_seed" else every.copy()
            found |= {name: own, f"_{name}": every.copy()}
        return found

    def _finals(self, observations: Any) -> dict[str, Any]:
        """Returns the infos of episodes that ended with these observations."""
        finals: Array = np.full(self.count, None, object)
        for row, final in enumerate(iterate(batch_space(self._space, self.count), observations)):
            finals[row] = final.copy() if isinstance(final, np.ndarray) else final
        every = np.ones(self.count, np.bool_)
        return finals_of(finals, every, {})
