"""Agents: those of n environments of one pool; what native ones and those in workers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.common import reset_mask
from parallel_pool._apis.common.vector_errors import explain_step
from parallel_pool._apis.pettingzoo.failures import failure_of, without_failed, without_steps
from parallel_pool._engine import seeds
from parallel_pool._engine.env_ids import id_list
from parallel_pool._engine.interrupted import drain
from parallel_pool._engine.pool_checks import check_reset
from parallel_pool._engine.views import convert_batch
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._apis.common.renderer import Renderer
    from parallel_pool._apis.pettingzoo.groups import AgentArrays, AgentGroup
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.views import Views

    # makes the result of arrays; None: they are the result
    MakeResult = Callable[[AgentArrays], Any] | None
    # the result of a batch, None if it could not be made; which agents act next; what failed
    Outcome = tuple[Any, Array, Exception | None]
    # makes the outcome of a reset's views; the function returns arrays of all environments
    ConvertReset = Callable[[Callable[[Views], AgentArrays], Views], Outcome]


# for a step after the end of an episode
ENDED_CURE = (
    'reset(options={"reset_mask": mask}), with True for each environment in which no agent is live'
)


class NoRows:
    """Stands for a `ReplyReader` where the pool has the last observations."""

    latest = upcoming = None


class Agents:
    """The agents of n environments of one pool, behind `PoolParallelEnv`.

    A synchronous pool has `reset` and `step`; an asynchronous one `send_reset`, `send` and `recv`.
    A derived class makes the pool, and converts actions and batches: the methods below that raise
    NotImplementedError.

    Attributes:
        pool: the `Pool` or `ProcessPool`.
        possible_agents: a list of all agents.
        groups: of the agents.
        metadata: of the first environment.
        render_mode: of the first environment.
    """

    metadata: dict[str, Any]
    render_mode: str | None
    # draws resets and steps; None if nothing is drawn
    _renderer: Renderer | None = None
    # whether all environments were reset
    _was_reset = False
    # whose `upcoming` becomes `latest` with each batch that the pool hands over
    _rows: Any = NoRows()

    def __init__(self, pool: Any, agents: list[Any], groups: tuple[AgentGroup, ...]) -> None:
        """Takes over a pool, none of whose environments was reset."""
        self.pool, self.possible_agents, self.groups = pool, agents, groups
        self._live: Array = np.zeros((pool.num_envs, len(agents)), np.bool_)

    @property
    def live(self) -> Array:
        """Which agents act in the next step of their environment, bool (n, k)."""
        return self._live

    # ----------------------------------------------------------------------------- synchronous --

    def reset(
        self, seed: seeds.Seed, options: dict[str, Any] | None, make_result: MakeResult = None
    ) -> Any:
        """Starts new episodes; rewards are 0, and no agent is terminated or truncated."""
        every = seeds.spread(seed, self.pool.num_envs)
        mask, own = reset_mask.split(options, self.pool.num_envs, self._has_begun())
        if self.pool.in_flight:
            # of a call that an exception such as Ctrl-C has ended
            check_reset(self.pool, seed=every, options=own)
            for batch, failed in drain(self.pool):
                if mask is not None:
                    self._take_failed(batch, failed)
        try:
            convert = partial(self._first_outcome, mask, make_result)
            outcome = self._reset(None if seed is None else every, own, mask, convert)
        except Exception as error:
            self._note_failure(error, is_reset=True)
            raise
        # no function call from here on, as in `_receive`
        result, self._live, failure = outcome
        self._rows.latest = self._rows.upcoming
        if result is not None:
            self._was_reset = True
            if options and reset_mask.KEY in options:
                del options[reset_mask.KEY]
        if failure is not None:
            raise failure
        return result

    def _first_outcome(
        self,
        mask: Array | None,
        make_result: MakeResult,
        whole: Callable[[Views], AgentArrays],
        views: Views,
    ) -> Outcome:
        """Converts the batch of a reset, as `_outcome` does that of a step.

        Args:
            mask: which environments were reset, bool (n,); None for all.
            make_result: of the arrays; None: they are the result.
            whole: returns arrays of all environments.
            views: of the batch.
        """
        result, live = None, self._live
        try:
            arrays = whole(views)
            if mask is not None:
                lives = np.where(mask[:, np.newaxis], arrays.live, self.live)
                arrays = arrays._replace(live=lives)
            live = arrays.live.copy()
            first = without_steps(arrays)
            result = first if make_result is None else make_result(first)
            if self._renderer is not None:
                self._renderer.after_reset(np.ones(len(live), np.bool_) if mask is None else mask)
        except Exception as error:
            return result, live, error
        return result, live, None

    def step(self, blocks: Sequence[Any], make_result: MakeResult = None) -> Any:
        """Steps with the actions of each group: `send` and `recv` in one call of the pool."""
        try:
            actions = self._actions(blocks, self.live)
            return self._receive(self.pool.step_as, actions, actions, make_result)
        except StateError as error:
            is_over = self.pool.autoreset == "disabled" and not self._live.any(1).all()
            explain_step(error, self.pool, ENDED_CURE if is_over else None)
            raise

    def finish(self, blocks: Sequence[Any], make_result: MakeResult = None) -> Any:
        """Receives the step with these actions, which an exception such as Ctrl-C has ended."""
        actions = self._actions(blocks, self.live)
        return self._receive(self.pool.recv_as, None, actions, make_result)

    # ---------------------------------------------------------------------------- asynchronous --

    def send_reset(self, seed: seeds.Seed, options: dict[str, Any] | None) -> None:
        """Queues resets of all environments."""
        self.pool.send_reset(seed=seed, options=options)

    def send(self, blocks: Sequence[Any], env_ids: Any) -> None:
        """Queues the actions of these environments."""
        ids = id_list(env_ids, self.pool.num_envs)
        self.pool.send(self._actions(blocks, self.live[ids]), ids)

    def recv(self, timeout: float | None) -> AgentArrays:
        """Returns the next batch."""
        arrays: AgentArrays = self._receive(self.pool.recv_as, timeout)
        return arrays

    # --------------------------------------------------------------------------------- results --

    def _receive(
        self,
        receive: Callable[[Callable[[Views], Outcome], Any], Outcome],
        argument: Any,
        actions: Any = None,
        make_result: MakeResult = None,
    ) -> Any:
        """Returns the result of `receive(convert, argument)`, a method of the pool.

        Args:
            receive: the method.
            argument: for it.
            actions: that it sends; None if it sends none.
            make_result: of the arrays; None: they are the result.
        """
        try:
            outcome = receive(partial(self._outcome, actions, make_result), argument)
        except Exception as error:
            self._note_failure(error)
            raise
        # No function call from here on: Python handles signals after each, and the pool has handed
        # over the batch.
        result, self._live, failure = outcome
        self._rows.latest = self._rows.upcoming
        if failure is not None:
            raise failure
        return result

    def _outcome(self, actions: Any, make_result: MakeResult, views: Views) -> Outcome:
        """Converts a batch; changes nothing that a second call, after Ctrl-C, would notice.

        What fails is raised once the batch is taken, so that the next step is not refused.
        """
        result, live = None, self._live
        try:
            arrays = self._arrays(views, actions)
            live = self._live_after(arrays)
            result = arrays if make_result is None else make_result(arrays)
            if self._renderer is not None:
                self._draw(views, actions)
        except Exception as error:
            return result, live, error
        return result, live, None

    def _live_after(self, arrays: AgentArrays) -> Array:
        """Returns which agents of all environments act next, bool (n, k)."""
        if len(arrays.live) == len(self._live):
            return arrays.live.copy()
        live = self._live.copy()
        live[arrays.env_ids] = arrays.live
        return live

    def _note_failure(self, error: Exception, *, is_reset: bool = False) -> None:
        """Takes over who acts next, and gives the failure the arrays that it has prevented."""
        failure = failure_of(error)
        if failure is not None:
            arrays = self._take_failed(failure.batch, failure.env_ids)
            failure.batch = without_steps(arrays) if is_reset else arrays

    def _take_failed(self, batch: Any, failed: Sequence[int]) -> AgentArrays:
        """Takes over who acts after a batch in which environments failed; returns its arrays."""
        arrays = without_failed(convert_batch(self._arrays, batch), failed)
        self._live, self._rows.latest = self._live_after(arrays), self._rows.upcoming
        return arrays

    # -------------------------------------------------------------------- of the derived class --

    def _has_begun(self) -> bool:
        """Returns whether all environments have a state from which they can go on."""
        return self._was_reset

    def _actions(self, blocks: Sequence[Any], live: Array) -> Any:
        """Returns the actions of each group as the pool takes them.

        Args:
            blocks: (rows, agents of the group, ...) each.
            live: bool (rows, k): which agents act.
        """
        raise NotImplementedError

    def _arrays(self, views: Views, actions: Any = None) -> AgentArrays:
        """Returns the arrays of a batch; `_live` says who acted in it.

        Args:
            views: of the pool's columns.
            actions: that led to it; None if they are not known.
        """
        raise NotImplementedError

    def present(self) -> AgentArrays:
        """Returns the present states in the form of a step's result, with rewards of 0.

        Asked after `set_state` of the pool, which pools of worker processes do not have.
        """
        raise NotImplementedError

    def _draw(self, views: Views, actions: Any) -> None:
        """Draws a batch, with `_renderer`."""
        raise NotImplementedError

    def _reset(
        self,
        seed: list[int | None] | None,
        options: Any,
        mask: Array | None,
        convert: ConvertReset,
    ) -> Outcome:
        """Resets the environments of a mask (None: all).

        Args:
            seed: one for each environment; None: no new seeds.
            options: of the environments.
            mask: bool (n,).
            convert: gets a function whose arrays have the last observations of environments outside
                the mask.
        """
        raise NotImplementedError

    def close(self, timeout: float | None) -> None:
        """Ends the threads or worker processes; see `PoolParallelEnv.close`."""
        self.pool.close(timeout=timeout)
