"""Play: runs pools with fixed actions and compares what they return, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.pool import Pool
from parallel_pool._prover.contract_error import ContractError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Column
    from parallel_pool._engine.specs import Definition

SEED = 11
# columns that contain the number of an environment, and no results
ID_COLUMNS = ("env_id", "players.env_id")

Row = tuple[bytes, ...]


def require(condition: Any, message: str) -> None:
    """Raises ContractError unless the condition holds."""
    if not condition:
        raise ContractError(message)


class Run:
    """A pool, and the rows that it has returned.

    Each environment has its own sequence of actions. Its next action depends only on how many steps
    it has taken, so its results are the same whatever the others do, and in every autoreset mode.

    Attributes:
        made: for each environment, the rows that it has returned, column by column.
        ends: for each row, whether it ended an episode.
        steps: how many steps each environment has taken.
    """

    def __init__(self, env: str | Definition, num_envs: int = 5, **settings: Any) -> None:
        extras = {"step_type": True, "discount": True, "players": True, "statistics": True}
        self.pool = Pool(env, num_envs, **{"seed": SEED, **extras, **settings})
        space = self.pool.spec.action_space()
        space.seed(1)
        self.actions = np.stack([space.sample() for _ in range(101)])
        self.steps = np.zeros(num_envs, np.int64)
        # of each environment of a mixture
        own = self.pool.spec.row_actions
        is_discrete = bool(own) and own[0].space_kind == "discrete"
        self._choices = np.array([each.n for each in own]) if is_discrete else None
        self.made: list[list[Row]] = []
        self.ends: list[list[bool]] = []
        self.forget()

    def forget(self) -> None:
        """Forgets the rows."""
        self.made = [[] for _ in range(self.pool.num_envs)]
        self.ends = [[] for _ in range(self.pool.num_envs)]

    def engine(self, batch: tuple[Any, ...], name: str) -> Any:
        """Returns one of the engine's columns, even if an environment's info has the same name."""
        for column, array in zip(self.pool.columns, batch, strict=True):
            if column.name == name and column.field < 0:
                return array
        raise KeyError(name)

    def flags(self, batch: tuple[Any, ...]) -> dict[int, tuple[bool, bool]]:
        """Returns (terminated, truncated) of each environment of a batch."""
        columns = [self.engine(batch, name) for name in ("env_id", "terminated", "truncated")]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {env_id: (terminated, truncated) for env_id, terminated, truncated in rows}

    def action(self, env_ids: Any) -> Any:
        """Returns the next actions of these environments."""
        env_ids = np.asarray(env_ids)
        actions = self.actions[(7 * self.steps[env_ids] + 13 * env_ids) % len(self.actions)]
        return actions if self._choices is None else actions % self._choices[env_ids]

    def take(self, batch: tuple[Any, ...]) -> tuple[Any, ...]:
        """Adds the rows of a batch to `made`; returns the batch."""
        ended = self.engine(batch, "terminated") | self.engine(batch, "truncated")
        stepped = self.engine(batch, "step_type") != 0
        for row, env_id in enumerate(self.engine(batch, "env_id").tolist()):
            self.made[env_id].append(
                tuple(
                    array[row].tobytes() if ended[row] or not column.is_final else b""
                    for column, array in zip(self.pool.columns, batch, strict=True)
                )
            )
            self.ends[env_id].append(bool(ended[row]))
            self.steps[env_id] += stepped[row]
        return batch

    def step(self, env_ids: Any = None) -> tuple[Any, ...]:
        """Makes one row of every environment, or of each of env_ids.

        With autoreset "disabled" it resets those that need it. Their rows come first.
        """
        pool = self.pool
        ids = np.arange(pool.num_envs) if env_ids is None else env_ids
        if pool.autoreset != "disabled":
            return self.take(pool.step(self.action(ids), env_ids))
        reset = np.array([pool.needs_reset(env_id) for env_id in ids.tolist()])
        if reset.any():
            pool.send_reset(ids[reset])
        if not reset.all():
            pool.send(self.action(ids[~reset]), ids[~reset])
        return self.take(pool.recv())

    def step_some(self, env_ids: Sequence[int]) -> tuple[Any, ...]:
        """Makes rows of some environments, which lie where rows of others were before."""
        if self.pool.autoreset == "disabled" and any(map(self.pool.needs_reset, env_ids)):
            return self.take(self.pool.reset(env_ids))
        return self.take(self.pool.step(self.action(env_ids), env_ids))

    def play(self, rounds: int) -> Run:
        """Makes so many rows of every environment."""
        for _ in range(rounds):
            self.step()
        return self

    def play_async(self, rounds: int) -> Run:
        """Plays an unordered pool until at least one environment has this many rows."""
        pool = self.pool
        pool.send_reset()
        for _ in range(pool.num_envs * rounds // pool.batch_size):
            env_ids = self.engine(self.take(pool.recv()), "env_id").copy()
            pool.send(self.action(env_ids), env_ids)
        pool.recv()
        return self

    def without_ids(self, rows: list[Row]) -> list[Row]:
        """Returns rows without the columns that contain the environment's number."""
        keep = [i for i, column in enumerate(self.pool.columns) if column.name not in ID_COLUMNS]
        return [tuple(row[i] for i in keep) for row in rows]

    def columns(self, *, with_ids: bool) -> list[Column]:
        """Returns the columns of rows with or without those that `without_ids` removes."""
        return [it for it in self.pool.columns if with_ids or it.name not in ID_COLUMNS]


def same(run: Run, ours: Any, theirs: Any, what: str) -> None:
    """Raises ContractError if all environments' rows differ between two runs; names the place."""
    for env_id, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        same_rows(run, mine, other, f"{what}: environment {env_id}")


def same_rows(
    run: Run, ours: list[Row], theirs: list[Row], what: str, *, with_ids: bool = True
) -> None:
    """Raises ContractError if rows differ; names the first row and column that do."""
    if ours == theirs:
        return
    for at, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        columns = run.columns(with_ids=with_ids)
        for column, a, b in zip(columns, mine, other, strict=False):
            if a != b:
                values = [_value(column, each) for each in (a, b)]
                raise ContractError(
                    f"{what}, row {at}: {column.name} is {values[0]}, and should be {values[1]}"
                )
    raise ContractError(f"{what}: {len(ours)} rows, and should be {len(theirs)}")


def _value(column: Column, data: bytes) -> str:
    if not data:
        return "not there"
    values = np.frombuffer(data, column.dtype).reshape(column.shape)
    text = np.array2string(values, threshold=8, precision=9)
    return text if len(text) <= 120 else f"{text[:120]}..."
