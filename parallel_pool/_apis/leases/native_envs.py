"""NativeEnvs: the environments of a pool of leases that threads of this process step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.gymnasium.single_results import SingleResults
from parallel_pool._apis.leases.slot import BRANCH, STEP, Row
from parallel_pool._engine.base_pool import has_batch, recv_soon
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.turns import stop_spinning
from parallel_pool._engine.views import all_arrays
from parallel_pool._native import ffi, lib
from parallel_pool.errors import EnvError, StateError

if TYPE_CHECKING:
    from parallel_pool._apis.leases.slot import Call, Copies
    from parallel_pool._engine.views import Views


# rows that are taken one after another before their results are delivered
MAX_ROWS = 64


class NativeEnvs:
    """Native environments, which threads step.

    Attributes:
        pool: the `Pool`, whose batches have one row.
        can_kill: whether `kill` can end a step: a thread can't be ended.
    """

    can_kill = False

    def __init__(
        self, task_id: str, num_envs: int, num_threads: int, max_branches: int, **options: Any
    ) -> None:
        """Makes the environments; for arguments and errors see `LeasePool`."""
        limit = options.pop("max_episode_steps", None)
        self.pool = Pool(
            task_id,
            # with a single one the thread that receives would step it
            max(2, num_envs + max_branches),
            batch_size=1,
            num_threads=num_threads or lib.pp_usable_cores(ffi.NULL),
            autoreset="disabled",
            max_episode_steps=limit,
            reward_dtype="float64",
            options=options,
        )
        if self.pool.spec.num_players != 1:
            self.pool.close()
            raise ValueError(
                f"{task_id} has {self.pool.spec.num_players} players, and a lease is for one: use"
                " parallel_pool.PoolParallelEnv"
            )
        # rows come one at a time, and the cores are for what Python does with each
        stop_spinning(self.pool)
        self._env_id = engine_indices(self.pool.columns)["env_id"]
        self._results = SingleResults(self.pool)
        self.observation_space = self.pool.spec.observation_space()
        self.action_space = self.pool.spec.action_space()

    def send(self, env_id: int, call: Call) -> bool:
        """Sends a call to its environment; raises if it is refused. Returns whether it is over."""
        if call.kind == STEP:
            self.pool.send(np.asarray(call.argument)[None], [env_id])
        elif call.kind == BRANCH:
            self._copy(env_id, call.argument)
            return True
        else:
            self.pool.send_reset([env_id], **call.argument)
        return False

    def _copy(self, env_id: int, copies: Copies) -> None:
        if any(seed is not None for seed in copies.seeds):
            raise StateError(
                f"seed={copies.seeds}: the generators of native environments are seeded by their"
                " resets alone: leave it out, or give functions that make the environments"
            )
        self.pool.clone(env_id, copies.env_ids)

    def receive(self, timeout: float) -> list[Row]:
        """Returns the rows that have arrived; waits for the first, 50 ms at most."""
        rows: list[Row] = []
        while len(rows) < MAX_ROWS and (not rows or has_batch(self.pool)):
            try:
                found = recv_soon(self.pool, self._row, 0.0 if rows else timeout)
            except EnvError as error:
                rows.append(Row(error.env_ids[0], None, error, True))
                continue
            if found is None:
                break
            rows.append(found)
        return rows

    def _row(self, views: Views) -> Row:
        arrays = all_arrays(views)
        return Row(int(arrays[self._env_id][0]), arrays)

    def result(self, call: Call, row: Any) -> Any:
        """Returns what a call returns for its row."""
        if call.kind == BRANCH:
            return None
        if call.kind != STEP:
            return self._results.reset(row, call.argument.get("seed"))
        dtype = None
        if self._results.follows:
            dtype = self.pool.action_dtypes(np.asarray(call.argument)[None])
        return self._results.step(row, dtype)

    def turn_call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Refuses calls of methods, which native environments do not have."""
        raise StateError(
            f"call({name!r}): native environments have no methods: give functions that make the"
            " environments instead of an id"
        )

    def end_branch(self, env_id: int, *, is_idle: bool) -> None:
        """Does nothing: the next branch overwrites it."""

    def is_vacant(self, env_id: int) -> bool:
        """Returns True: there is no process that must have ended."""
        return True

    def report_vacant(self, callback: Callable[[int], None]) -> None:
        """Does nothing: no branch has a process."""

    def kill(self, env_id: int, reason: str) -> bool:
        """Returns False: a thread can't be ended."""
        return False

    def death(self, env_id: int) -> None:
        """Returns None: no environment loses its worker."""

    def loss(self, env_id: int) -> None:
        """Returns None: no environment loses its worker."""
