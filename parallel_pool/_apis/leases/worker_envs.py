"""WorkerEnvs: the environments of a pool of leases in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.leases.slot import BRANCH, RESET, STEP, Row
from parallel_pool._engine.base_pool import recv_rows
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._workers import single_turns
from parallel_pool._workers.branches import Branches
from parallel_pool._workers.data.messages import ANSWER, FAILURE, INFO, OBSERVATION, TurnCall
from parallel_pool._workers.data.spaces import Reader
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.replies import replies_of
from parallel_pool._workers.watch import failures

if TYPE_CHECKING:
    from parallel_pool._apis.leases.slot import Call, Copies
    from parallel_pool._engine.views import Views
    from parallel_pool._workers.data.messages import Reply
    from parallel_pool._workers.watch.failures import Death


NO_REPLY: Reply = {}
# most rows that one receive takes
MAX_ROWS = 64


class WorkerEnvs:
    """Environments in worker processes, each by default in its own.

    Attributes:
        pool: the `ProcessPool`.
        can_kill: whether `kill` can end a step.
    """

    can_kill = True

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any]],
        *,
        num_workers: int | None,
        start_method: str | None,
        start_timeout: float | None,
        python: Any,
        max_branches: int,
    ) -> None:
        """Starts the workers; for arguments and errors see `LeasePool`."""
        self.pool = pool = ProcessPool(
            env_fns,
            num_workers=len(env_fns) if num_workers is None else num_workers,
            # fewer than all, so that a row can be received before others are there
            batch_size=max(1, min(len(env_fns) + max_branches - 1, MAX_ROWS)),
            autoreset="disabled",
            start_method=start_method,
            start_timeout=start_timeout,
            python=python,
            on_error="replace",
            keeps_types=True,
            max_branches=max_branches,
        )
        self._branches = Branches(pool) if max_branches else None
        engine = engine_indices(pool.columns)
        self._ends = engine["reward"], engine["terminated"], engine["truncated"]
        self._env_id = engine["env_id"]
        self._reader = None if pool.leaves is None else Reader(pool.single_observation_space)
        self._leaves = range(len(pool.leaves or ()))

    @property
    def observation_space(self) -> Any:
        """The space of one observation."""
        return self.pool.single_observation_space

    @property
    def action_space(self) -> Any:
        """The space of one action."""
        return self.pool.single_action_space

    def send(self, env_id: int, call: Call) -> bool:
        """Sends a call to its environment; raises if it is refused. Returns whether it is over."""
        if self._branches is not None:
            self._branches.wake(env_id)
        if call.kind == STEP:
            single_turns.send_step(self.pool, env_id, call.argument)
        elif call.kind == BRANCH:
            self._send_branch(env_id, call.argument)
        else:
            single_turns.send_reset(self.pool, env_id, call.argument)
        return False

    def _send_branch(self, env_id: int, copies: Copies) -> None:
        assert self._branches is not None
        needs_episode = copies.needs_episode
        # known before the row can arrive
        copies.order = order = self._branches.prepare(env_id, copies.env_ids, needs_episode)
        self._branches.send(order, copies.seeds, needs_episode)

    def receive(self, timeout: float) -> Sequence[Row]:
        """Returns the rows that have arrived; waits for the first, 50 ms at most."""
        return recv_rows(self.pool, self._rows, timeout) or ()

    def _rows(self, views: Views, count: int, failed: Sequence[int]) -> list[Row]:
        leaves = [views[i]() for i in self._leaves]
        ends = [views[i]()[:count].tolist() for i in self._ends]
        replied = set(replies_of(self.pool).ids())
        rows = []
        for at, env_id in enumerate(views[self._env_id]()[:count].tolist()):
            if env_id in failed:
                rows.append(Row(env_id, None, single_turns.failure_of(self.pool, env_id), True))
                continue
            try:
                reply = self._reply(env_id) if env_id in replied else NO_REPLY
                if ANSWER in reply:
                    rows.append(Row(env_id, reply[ANSWER]))
                    continue
                if OBSERVATION in reply:
                    observation = reply[OBSERVATION]
                else:
                    observation = self._reader and self._reader.row(leaves, at)
                info = reply.get(INFO, {})
                rows.append(Row(env_id, (observation, *[end[at] for end in ends], info)))
            except Exception as error:
                rows.append(Row(env_id, None, error))
        return rows

    def _reply(self, env_id: int) -> Reply:
        """Returns the reply of an environment; raises what a method has raised."""
        reply = replies_of(self.pool).one(env_id)
        if FAILURE in reply:
            what = f"a call of environment {env_id} failed"
            failures.raise_failure(reply[FAILURE], what, (env_id,), ())
        return reply

    def result(self, call: Call, row: Any) -> Any:
        """Returns what a call returns for its row; makes the branches that it asked for."""
        if call.kind == BRANCH:
            assert self._branches is not None
            self._branches.adopt(call.argument.order)
            return None
        return (row[0], row[4]) if call.kind == RESET else row

    def turn_call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns the argument of a call of kind CALL, of a method or attribute."""
        return TurnCall("call", (name, args, kwargs))

    def end_branch(self, env_id: int, *, is_idle: bool) -> None:
        """Ends the process of a branch; `is_idle`: nothing of it is in flight."""
        if self._branches is not None:
            self._branches.end(env_id, is_idle)

    def is_vacant(self, env_id: int) -> bool:
        """Returns whether a branch has no process any more."""
        return self._branches is None or self._branches.is_vacant(env_id)

    def report_vacant(self, callback: Callable[[int], None]) -> None:
        """Has a method called when a branch has no process any more, in a thread of the pool's."""
        if self._branches is not None:
            self._branches.report_vacant(callback)

    def kill(self, env_id: int, reason: str) -> bool:
        """Kills the environment's worker; returns whether it has one at the moment."""
        return single_turns.kill_worker(self.pool, env_id, reason)

    def death(self, env_id: int) -> Death | None:
        """Returns how its last worker died that has died."""
        return single_turns.death_of(self.pool, env_id)

    def loss(self, env_id: int) -> str | None:
        """Returns why the environment can't be used any more; None if it can."""
        return single_turns.loss_of(self.pool, env_id)
